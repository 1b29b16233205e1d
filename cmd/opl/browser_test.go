package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"opl/policies/features"
	"opl/policies/policyfile"
)

// hostile tries all by which a page can send a POST to SERVER, and tells what came of it.
const hostile = `<!doctype html><body><script>
const body = '{"context":{"age":1},"decision_id":"mine"}', told = [];
const attempt = async (name, f) => { try { const r = await f(); told.push(name + ': ' + (r && r.status !== undefined ? r.type + ' ' + r.status : r)); } catch (e) { told.push(name + ': ' + e); } };
const form = (type, method) => new Promise(done => {
  const frame = document.createElement('iframe'); frame.name = 'f' + Math.random(); document.body.append(frame);
  const f = document.createElement('form'); f.action = 'SERVER/decide'; f.method = method; f.enctype = type; f.target = frame.name;
  const i = document.createElement('input'); i.name = '{"context":{"age":1},"a":"'; i.value = '"}'; f.append(i); document.body.append(f);
  frame.onload = () => done('sent'); setTimeout(() => done('late'), 1000); f.submit();
});
(async () => {
  for (const mode of ['cors', 'no-cors', 'same-origin'])
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded', ''])
      await attempt(mode + ' ' + type, () => fetch('SERVER/decide', {method: 'POST', mode, body, headers: type ? {'Content-Type': type} : {}}));
  await attempt('bytes', () => fetch('SERVER/decide', {method: 'POST', mode: 'no-cors', body: new Uint8Array([...body].map(c => c.charCodeAt(0)))}));
  await attempt('with cookies', () => fetch('SERVER/decide', {method: 'POST', mode: 'no-cors', credentials: 'include', body: new Blob([body], {type: 'text/plain'})}));
  await attempt('no referrer', () => fetch('SERVER/decide', {method: 'POST', mode: 'no-cors', referrerPolicy: 'no-referrer', body}));
  await attempt('beacon', async () => navigator.sendBeacon('SERVER/decide', body));
  await attempt('beacon json', async () => navigator.sendBeacon('SERVER/decide', new Blob([body], {type: 'application/json'})));
  await attempt('xhr', () => new Promise(done => { const x = new XMLHttpRequest(); x.open('POST', 'SERVER/decide'); x.onloadend = () => done(x.status + ' ' + x.responseText); x.send(body); }));
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) await attempt('form ' + type, () => form(type, 'post'));
  await attempt('form get', () => form('text/plain', 'get'));
  const sandboxed = document.createElement('iframe'); sandboxed.sandbox = 'allow-scripts allow-forms'; // its origin is null
  sandboxed.srcdoc = '<script>fetch("SERVER/decide", {method: "POST", mode: "no-cors", body: ' + JSON.stringify(body) + '})<\/script>';
  document.body.append(sandboxed);
  await new Promise(done => setTimeout(done, 1000));
  await fetch('/done', {method: 'POST', body: told.join('\n')});
})();
</script>`

// A page in a real browser cannot have decisions logged by a server on this machine, neither from another
// site nor by a name that is made to resolve to the server once the page is there. Without a browser there is
// nothing to try it with.
func TestHostilePage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium")
	}
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	e, err := features.New(features.Encoder{Names: []string{"age"}, Scale: []float64{1}, Intercept: true})
	must(err)
	must(policyfile.Save(filepath.Join(dir, "policy.json"), &policyfile.File{Floor: 0.1, RewardMax: 1, Actions: []string{"l", "r"}, Components: []policyfile.Component{
		{Weight: 1, Kind: policyfile.Softmax, Encoder: e, Weights: policyfile.Matrix{{0, 1}, {0, 0}}}}}))
	cmd, stderr := opl(t, dir, "serve", "policy.json", "--listen", "127.0.0.1:0", "--address-file", "addr", "--log", "served.jsonl")
	must(cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	var addr string
	for end := time.Now().Add(30 * time.Second); addr == ""; time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(filepath.Join(dir, "addr")); err == nil {
			addr = strings.TrimSpace(string(b))
		} else if time.Now().After(end) {
			t.Fatalf("no server: %s", stderr)
		}
	}
	_, port, err := net.SplitHostPort(addr)
	must(err)
	server := &url.URL{Scheme: "http", Host: addr}

	// The attacker's site, which for the rebound name is the server itself once the page has been given. Each is
	// a listener of this machine.
	attack := func(address, name, target string) {
		done := make(chan string, 1)
		var once sync.Once
		l, err := net.Listen("tcp", address)
		must(err)
		host, at, err := net.SplitHostPort(l.Addr().String())
		must(err)
		rebound := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server); r.Out.Host = r.In.Host }}
		site := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/":
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, strings.ReplaceAll(hostile, "SERVER", target))
			case r.URL.Path == "/done":
				b, _ := io.ReadAll(r.Body)
				once.Do(func() { done <- string(b) })
			default:
				rebound.ServeHTTP(w, r)
			}
		})}
		go site.Serve(l)
		defer site.Close()
		chrome := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
			"--user-data-dir="+t.TempDir(), "--host-resolver-rules=MAP *.test "+host, "http://"+name+":"+at+"/")
		chrome.Env = append(os.Environ(), "HOME="+t.TempDir())
		var out bytes.Buffer
		chrome.Stderr = &out
		must(chrome.Start())
		defer func() { _ = chrome.Process.Kill(); _ = chrome.Wait() }()
		select {
		case told := <-done:
			t.Logf("%s to %s:\n%s", name, target, told)
		case <-time.After(2 * time.Minute):
			t.Fatalf("the page does not end: %s", &out)
		}
	}
	attack("127.0.0.1:0", "hostile.test", "http://"+addr)
	attack("127.0.0.1:0", "hostile.test", "http://localhost:"+port)
	attack("127.0.0.1:0", "localhost", "http://localhost:"+port) // another port: a page of the same site
	attack("127.0.0.2:"+port, "rebound.test", "")

	resp, err := http.Get("http://" + addr + "/metrics")
	must(err)
	metrics, err := io.ReadAll(resp.Body)
	must(err)
	must(resp.Body.Close())
	for _, kind := range []string{"origin", "host"} { // the requests did come
		_, n, _ := strings.Cut(string(metrics), `opl_errors_total{kind="`+kind+`"} `)
		if n, _, _ = strings.Cut(n, "\n"); n == "" || n == "0" {
			t.Errorf("nothing was refused for its %s", kind)
		}
		t.Logf("%s requests refused for their %s", n, kind)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "served.jsonl")); err != nil || len(b) > 0 {
		t.Errorf("a page has decisions logged: %s, %v", b, err)
	}
	resp, err = http.Post("http://"+addr+"/decide", "application/json", strings.NewReader(`{"context":{"age":1}}`))
	must(err)
	must(resp.Body.Close())
	if b, err := os.ReadFile(filepath.Join(dir, "served.jsonl")); err != nil || len(b) == 0 {
		t.Errorf("a client's decision is not logged: %v", err)
	}
}
