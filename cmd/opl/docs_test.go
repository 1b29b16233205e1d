//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"opl/testdata/long"
)

const root = "../.."

// pages are the Markdown files of docs and the README, by their paths from the root.
func pages(t *testing.T, more ...string) []string {
	found := append([]string{"README.md"}, more...)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			path, err = filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil || len(found) < 20 {
		t.Fatal(found, err)
	}
	return found
}

func readPage(t *testing.T, path string) string {
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPagesRun runs every page that has ```console blocks, as one session of a shell in an empty folder with opl and
// testdata/loop in its path. After a line "$ COMMAND" come lines that the command prints, in this order, others
// between them; "…" alone stands for such lines. Numbers may differ by 3 %, since learners' last digits depend on
// the processor.
func TestPagesRun(t *testing.T) {
	long.Test(t)
	bin := t.TempDir()
	for _, program := range []string{"loop", "router", "own"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, program), root+"/testdata/"+program).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	numpy := exec.Command("/usr/bin/python3", "-c", "import numpy").Run() == nil
	data, err := filepath.Abs(filepath.Join(root, "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		steps := console(readPage(t, page))
		if len(steps) == 0 {
			// TestHowToScript_NeedsOnlyJSONAndExitStatuses runs the script of scripts.md, and examples the code of library.md.
			if strings.HasPrefix(page, "docs/how-to/") && !slices.Contains([]string{"README", "scripts", "library"}, strings.TrimSuffix(filepath.Base(page), ".md")) {
				t.Errorf("%s: a how-to page without a session that runs", page)
			}
			continue
		}
		t.Run(strings.TrimSuffix(strings.TrimPrefix(page, "docs/"), ".md"), func(t *testing.T) {
			if !numpy && strings.Contains(readPage(t, page), "$ /usr/bin/python3") {
				t.Skip("no /usr/bin/python3 with numpy")
			}
			t.Parallel()
			runPage(t, steps, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "OPL_DATA="+data)
		})
	}
}

// step is a command of a page and the lines that the page shows of its output.
type step struct {
	command string
	shown   []string
}

func console(page string) (steps []step) {
	in := false
	for _, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			in = line == "```console"
		case in && strings.HasPrefix(line, "$ "):
			steps = append(steps, step{command: line[2:]})
		case in && strings.HasPrefix(line, "> "): // the command goes on
			last := &steps[len(steps)-1]
			last.command += "\n" + line[2:]
		case in && strings.Trim(line, " …") != "":
			last := &steps[len(steps)-1]
			last.shown = append(last.shown, line)
		}
	}
	return steps
}

const mark = "=== step "

func runPage(t *testing.T, steps []step, env ...string) {
	var script strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&script, "was=$?; echo '%s%d'; (exit $was)\n%s\n", mark, i, s.command)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // pages say :8080
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(script.String(), "127.0.0.1:8080", address))
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "HOME="+dir), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := os.Create(filepath.Join(dir, "out.of.page"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out // files: a server that was left behind does not keep Wait
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(8*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	_ = cmd.Wait() // statuses are what pages show by echo $?
	late.Stop()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	printed := regexp.MustCompile(`(?m)^`+mark+`\d+\n`).Split(strings.ReplaceAll(string(text), address, "127.0.0.1:8080"), -1)[1:]
	for i, s := range steps {
		if i >= len(printed) {
			t.Fatalf("$ %s\nwas not reached", s.command)
		}
		lines := strings.Split(printed[i], "\n")
		for _, want := range s.shown {
			for len(lines) > 0 && !alike(want, lines[0]) {
				lines = lines[1:]
			}
			if len(lines) == 0 {
				t.Errorf("$ %s\nthe page shows\n\t%s\nwhich is not printed, in this order:\n%s", s.command, want, printed[i])
				break
			}
			lines = lines[1:]
		}
	}
}

var number = regexp.MustCompile(`\d+(?:\.\d+)?|\.\d+`)

// alike reports that a printed line begins as a shown one does; "…" stands for anything.
func alike(shown, printed string) bool {
	pattern, numbers := "^\\s*", []float64{}
	parts := strings.Split(strings.Join(strings.Fields(shown), " "), "…")
	for i, part := range parts {
		if i > 0 {
			pattern += ".*"
		}
		at := 0
		for _, m := range number.FindAllStringIndex(part, -1) {
			if m[1] == len(part) && i+1 < len(parts) { // "0.7…": how a number begins
				break
			}
			x, _ := strconv.ParseFloat(part[m[0]:m[1]], 64)
			numbers = append(numbers, x)
			pattern += regexp.QuoteMeta(part[at:m[0]]) + `(\d+(?:\.\d+)?|\.\d+)`
			at = m[1]
		}
		pattern += regexp.QuoteMeta(part[at:])
	}
	found := regexp.MustCompile(pattern).FindStringSubmatch(strings.Join(strings.Fields(printed), " "))
	if found == nil {
		return false
	}
	for i, x := range numbers {
		y, _ := strconv.ParseFloat(found[i+1], 64)
		if math.Abs(x-y) > .03*max(1, math.Abs(x)) {
			return false
		}
	}
	return true
}

// TestProse holds the pages to what CONTRIBUTING.md says of sentences: at most 18 words on average by page, none above
// 40, lines of 100 columns, 18,000 words outside of reference and evidence. Exempt are the generated pages, which are
// as the code has them.
func TestProse(t *testing.T) {
	total := 0
	for _, page := range pages(t, "CONTRIBUTING.md") {
		reference := strings.HasPrefix(page, "docs/reference/") || strings.HasPrefix(page, "docs/evidence/")
		text := readPage(t, page)
		free := strings.HasPrefix(text, "<!-- Written by go generate")
		words, sentences := 0, 0
		for _, s := range sentencesOf(text) {
			n := len(strings.Fields(s))
			words, sentences = words+n, sentences+1
			if n > 40 && !free {
				t.Errorf("%s: a sentence of %d words: %s", page, n, s)
			}
		}
		if mean := float64(words) / float64(max(1, sentences)); mean > 18 && !free {
			t.Errorf("%s: sentences have %.1f words on average", page, mean)
		}
		if !reference && page != "CONTRIBUTING.md" {
			total += len(strings.Fields(text))
		}
		code := false
		for i, line := range strings.Split(text, "\n") {
			code = code != strings.HasPrefix(line, "```")
			if n := len([]rune(line)); n > 100 && !code && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "|") && !free {
				t.Errorf("%s:%d: %d columns", page, i+1, n)
			}
		}
	}
	if t.Logf("%d words outside of reference and evidence", total); total > 18000 {
		t.Errorf("%d words outside of reference and evidence", total)
	}
}

// sentencesOf are those of a page's paragraphs and lists: no headings, code or tables.
func sentencesOf(page string) (all []string) {
	var paragraph []string
	flush := func() {
		text := strings.Join(paragraph, " ")
		text = regexp.MustCompile("`[^`]*`").ReplaceAllString(text, "code")
		text = regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(text, "]")
		start := 0
		for _, m := range regexp.MustCompile(`[.!?][)*"]*\s`).FindAllStringIndex(text, -1) {
			next := strings.TrimLeft(text[m[1]:], `*[("`)
			if next != "" && (unicode.IsUpper(rune(next[0])) || strings.HasPrefix(next, "code") || strings.HasPrefix(next, "opl")) {
				all = append(all, text[start:m[1]])
				start = m[1]
			}
		}
		if strings.TrimSpace(text[start:]) != "" {
			all = append(all, text[start:])
		}
		paragraph = nil
	}
	code := false
	for _, line := range strings.Split(page, "\n") {
		trimmed := strings.TrimSpace(line)
		item := regexp.MustCompile(`^([-*]|\d+\.) `).FindString(trimmed)
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
			flush()
		case code, strings.HasPrefix(line, "    "), strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "#"), trimmed == "", strings.HasPrefix(trimmed, "!["):
			flush()
		case item != "":
			flush()
			paragraph = []string{strings.TrimPrefix(trimmed, item)}
		default:
			paragraph = append(paragraph, trimmed)
		}
	}
	flush()
	return all
}

// TestDocs_ShowCodeThatIsBuilt: all Go that pages show is from files that are built, and testdata/own/main.go is shown whole.
func TestDocs_ShowCodeThatIsBuilt(t *testing.T) {
	flat := func(text string) string { // without indentation
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = strings.TrimSpace(line)
		}
		return strings.Join(lines, "\n")
	}
	if !strings.Contains(readPage(t, "docs/how-to/own-objective.md"), "```go\n"+readPage(t, "testdata/own/main.go")+"```\n") {
		t.Error("the example of docs/how-to/own-objective.md is not testdata/own/main.go")
	}
	var built string
	for _, path := range []string{"testdata/own/main.go", "testdata/entropic/main.go", "testdata/loop/main.go", "testdata/loop/shop.go", "testdata/router/main.go",
		"train/example_test.go", "objectives/example_test.go", "policies/policyfile/example_test.go", "train/report/html/example_test.go"} {
		built += flat(readPage(t, path))
	}
	for _, page := range pages(t, "CONTRIBUTING.md") {
		for i, part := range strings.Split(readPage(t, page), "```go\n") {
			code, below, _ := strings.Cut(part, "```")
			if i > 0 && !strings.Contains(built, flat(code)) {
				t.Errorf("%s shows code that no test builds:\n%s", page, code)
			}
			_, prints, shown := strings.Cut(below, "It prints\n\n")
			prints, _, _ = strings.Cut(prints, "\n\n")
			if i > 0 && shown && !strings.Contains(built, "// "+strings.ReplaceAll(flat(prints), "\n", "\n// ")) {
				t.Errorf("%s says that code prints what no example does:\n%s", page, prints)
			}
		}
	}
}

// TestDocsLinks: every file that pages link to is there, and every heading, once.
func TestDocsLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	heading := regexp.MustCompile(`(?m)^##+ .*$`)
	for _, page := range pages(t, "CONTRIBUTING.md", "CHANGELOG.md") {
		seen := map[string]bool{}
		for _, h := range heading.FindAllString(readPage(t, page), -1) {
			if seen[h] {
				t.Errorf("%s has two sections %s", page, h)
			}
			seen[h] = true
		}
		for _, m := range link.FindAllStringSubmatch(readPage(t, page), -1) {
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if m[2] != "" && !anchors(readPage(t, to))[m[2]] {
				t.Errorf("%s links to %s#%s, a heading that is not there", page, to, m[2])
			}
		}
	}
}

// anchors are those that GitHub gives headings.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		var a strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				a.WriteRune('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				a.WriteRune(r)
			}
		}
		all[a.String()] = true
	}
	return all
}

// TestDocs_NameTestsThatAreThere: the tests that pages and the gate name are there. Go runs none, and passes, where one was renamed.
func TestDocs_NameTestsThatAreThere(t *testing.T) {
	tests := make(map[string][]string) // by folder
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w*)`).FindAllSubmatch(text, -1) {
			tests[dir] = append(tests[dir], string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := func(page, pattern string, folders []string) {
		for _, p := range strings.Split(strings.ReplaceAll(pattern, `\|`, "|"), "|") {
			p, _, _ = strings.Cut(p, "/")
			is := regexp.MustCompile(p).MatchString
			found := strings.EqualFold(p, "xxx") || p == "^$"
			for dir, all := range tests {
				found = found || (folders == nil || slices.Contains(folders, dir)) && slices.ContainsFunc(all, is)
			}
			if !found {
				t.Errorf("%s names the test %s, which is not there", page, p)
			}
		}
	}
	for _, page := range append(pages(t, "CONTRIBUTING.md"), ".ci/run") {
		text := readPage(t, page)
		for _, m := range regexp.MustCompile(`go test [^`+"`"+`\n]*`).FindAllString(text, -1) {
			var folders []string
			for _, f := range regexp.MustCompile(` \./([\w/]+)`).FindAllStringSubmatch(m, -1) {
				folders = append(folders, f[1])
			}
			for _, p := range regexp.MustCompile(`-(?:run|bench|skip)[ =]'?([\w^$|\\/]+)`).FindAllStringSubmatch(m, -1) {
				if !strings.HasPrefix(p[1], "$") {
					named(page, p[1], folders)
				}
			}
		}
		for _, m := range regexp.MustCompile(`(?m)^simulations='\^\((.*)\)\$'$`).FindAllStringSubmatch(text, -1) {
			for _, p := range strings.Split(m[1], "|") {
				named(page, "^"+p+"$", nil)
			}
		}
	}
}
