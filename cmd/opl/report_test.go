package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// readers opens each page at three widths, and tells what is wrong with it.
const readers = `<!doctype html><link rel="icon" href="data:,"><body><script>
const names = NAMES, dark = DARK, told = [];
const wait = ms => new Promise(done => setTimeout(done, ms));
(async () => {
  for (const name of names) for (const width of [360, 800, 1400]) {
    const want = (ok, what) => { if (!ok) told.push(name + ' at ' + width + ': ' + what); };
    const frame = document.createElement('iframe');
    frame.width = width; frame.height = 900; frame.src = '/' + name;
    const loaded = new Promise(done => { frame.onload = done; });
    document.body.append(frame);
    await loaded;
    const w = frame.contentWindow, d = frame.contentDocument, at = s => d.querySelector(s);
    want(w.innerWidth === width, 'a width of ' + w.innerWidth);
    want(d.documentElement.scrollWidth <= width, 'it is ' + d.documentElement.scrollWidth + ' wide');
    want(d.images.length === 0 && d.scripts.length === 2 && d.forms.length === 0, 'elements that are not its own');
    want(![...d.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on') || a.name === 'style' && !e.closest('.tip'))), 'attributes that run');
    want(w.getComputedStyle(d.body).backgroundColor === (dark ? 'rgb(20, 23, 27)' : 'rgb(255, 255, 255)'), 'its background is ' + w.getComputedStyle(d.body).backgroundColor);
    want(at('h1').textContent && at('.verdict').textContent.length > 10, 'no question or verdict');
    try { want(JSON.parse(at('#data').textContent).result, 'no result in its JSON'); } catch (e) { want(false, e); }
    want([...d.querySelectorAll('table')].every(t => t.tHead && [...t.tHead.rows[0].cells].every(c => c.scope === 'col')), 'a table without heads');
    const table = at('table.sorts'), b = table && table.querySelector('th:last-child button'), th = b && b.parentNode;
    if (want(b, 'no table sorts'), b) {
      const before = table.tBodies[0].rows.length;
      b.click(); want(th.ariaSort === 'ascending', 'aria-sort ' + th.ariaSort);
      b.click(); want(th.ariaSort === 'descending' && table.tBodies[0].rows.length === before, 'it does not sort back');
    }
    const plot = at('.plot[tabindex]'), tip = at('.tip');
    if (want(plot, 'no figure answers'), plot) {
      plot.scrollIntoView();
      plot.dispatchEvent(new w.KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
      want(!tip.hidden && /\d/.test(tip.textContent) && plot.closest('figure').querySelector('.said').textContent === tip.textContent, 'arrow keys: ' + tip.textContent);
      const first = tip.getBoundingClientRect();
      want(first.left >= 0 && first.right <= width, 'what it tells is not in sight');
      plot.dispatchEvent(new w.KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));
      want(tip.hidden, 'Escape');
      const r = plot.querySelector('.mark,.bar').getBoundingClientRect();
      plot.dispatchEvent(new w.PointerEvent('pointermove', {clientX: r.left + r.width / 2, clientY: r.top + r.height / 2, bubbles: true}));
      want(!tip.hidden && tip.textContent, 'the mouse is told nothing');
    }
    const key = at('.legend button');
    if (key) {
      key.click();
      want(key.getAttribute('aria-pressed') === 'false' && at('.curve.off'), 'a legend hides nothing');
    }
    const ids = [...d.querySelectorAll('[id]')].map(e => e.id);
    want(new Set(ids).size === ids.length && [...d.querySelectorAll('nav a')].every(a => d.getElementById(a.hash.slice(1))), 'links that lead nowhere');
    frame.remove();
  }
  await wait(100);
  await fetch('/done', {method: 'POST', body: told.join('\n')});
})().catch(e => fetch('/done', {method: 'POST', body: 'the reader failed: ' + e + ' ' + told.join('\n')}));
</script>`

// Reports of all commands, of a log whose names are hostile, in a real browser: nothing in its console, light and
// dark, at three widths, by mouse and keyboard, and printed. It is long, and wants Debian's chromium: OPL_LONG=1.
func TestReportPages(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if os.Getenv("OPL_LONG") == "" || err != nil {
		t.Skip("OPL_LONG=1 and chromium")
	}
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.ReadFile("../../testdata/logs/sound.csv")
	must(err)
	text := strings.NewReplacer(",red,", `,"<script>document.title='mine'</script>",`, ",green,", `,"</script><img src=x onerror=alert(2)>"" onmouseover=""alert(3)",`,
		",blue,", ","+strings.Repeat("W", 3000)+"\u202eb,").Replace(string(log))
	must(os.WriteFile(filepath.Join(dir, "log.csv"), []byte(text), 0o666))
	must(os.WriteFile(filepath.Join(dir, "grid.yaml"), []byte("eta0: [0, 0.5]\nseeds: 2\nlimit: 200\nepochs: 2\nruns:\n  - objectives: [heuristic, risk] # </script><script>alert(5)</script>\n    weights: [clip, har, ix, es]\n"), 0o666))
	const target = `<i>u</i></script>=uniform`
	small := []string{"--epochs", "1", "--limit", "200", "--eta0", "0,0.5"}
	var names []string
	for _, c := range [][]string{
		{"inspect", "log.csv"},
		{"train", "log.csv", "--out", "p.json", "--epochs", "3", "--floor", "0.1"},
		{"certify", "p.json", "log.csv"},
		{"evaluate", "--target", target, "--target", "p.json", "--estimators", "all", "log.csv"},
		{"select", "--target", target, "--target", "p.json", "log.csv"},
		append([]string{"compare"}, small...),
		append([]string{"reproduce", "fig1", "fig5", "--dataset", "mnist", "--out", "paper", "--curves"}, small...),
		{"run", "grid.yaml", "--curves"},
	} {
		name := c[0] + ".html"
		names = append(names, name)
		cmd, stderr := opl(t, dir, append(c, "--report", name)...)
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 3 && cmd.ProcessState.ExitCode() != 4 {
			t.Fatalf("%s: %v: %s", c[0], err, stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(names)
	must(err)
	chrome := func(args ...string) (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.Command(browser, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
			"--disable-sync", "--enable-logging=stderr", "--user-data-dir=" + t.TempDir()}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		var out bytes.Buffer
		cmd.Stderr = &out
		return cmd, &out
	}
	silent := func(out *bytes.Buffer) {
		t.Helper()
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "CONSOLE") {
				t.Errorf("the console: %s", line)
			}
		}
	}
	for _, dark := range []string{"false", "true"} {
		done := make(chan string, 1)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		site := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, strings.NewReplacer("NAMES", string(list), "DARK", dark).Replace(readers))
			case "/done":
				b, _ := io.ReadAll(r.Body)
				done <- string(b)
			default:
				http.ServeFileFS(w, r, os.DirFS(dir), strings.TrimPrefix(r.URL.Path, "/"))
			}
		})}
		go site.Serve(l)
		scheme := map[string]string{"false": "1", "true": "0"}[dark]
		cmd, out := chrome("--window-size=1600,1000", "--blink-settings=preferredColorScheme="+scheme, "http://"+l.Addr().String()+"/")
		must(cmd.Start())
		select {
		case told := <-done:
			if told != "" {
				t.Errorf("dark %s: %s", dark, told)
			}
		case <-time.After(3 * time.Minute):
			t.Errorf("the reader does not end: %s", out)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		must(site.Close())
		silent(out)
	}
	for _, name := range names {
		pdf := filepath.Join(dir, name+".pdf")
		cmd, out := chrome("--print-to-pdf="+pdf, "file://"+filepath.Join(dir, name))
		must(cmd.Run())
		silent(out)
		if b, err := os.ReadFile(pdf); err != nil || !bytes.HasPrefix(b, []byte("%PDF")) || len(b) < 20000 {
			t.Errorf("%s: %d bytes printed, %v", name, len(b), err)
		}
	}
}
