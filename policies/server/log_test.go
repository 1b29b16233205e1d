package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"opl/policies/wholefile"
)

// Lines of many goroutines are whole and in the order of each; a second process's
// open is refused while the first has the log.
func TestLog_KeepsLinesWholeAndRefusesASecondProcess(t *testing.T) {
	for _, fsync := range []Fsync{FsyncEach, FsyncInterval, FsyncNever} {
		path := filepath.Join(t.TempDir(), "log")
		l, err := OpenLog(path, LogOptions{Fsync: fsync})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OpenLog(path, LogOptions{Fsync: fsync}); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("opened twice: %v", err)
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 50 {
					if err := l.Append(fmt.Appendf(nil, "%d %d\n", g, i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if fsync == FsyncEach && l.fsyncs.Load() != l.writes.Load() {
			t.Errorf("%d fsyncs of %d writes", l.fsyncs.Load(), l.writes.Load())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Append([]byte("x\n")); err == nil {
			t.Error("a closed log takes lines")
		}
		b, _ := os.ReadFile(path)
		var next [8]int
		for s := range strings.Lines(string(b)) {
			var g, i int
			if n, _ := fmt.Sscanf(s, "%d %d\n", &g, &i); n != 2 || next[g] != i {
				t.Fatalf("line %q, want %d", s, next[g])
			}
			next[g]++
		}
		if next != [8]int{50, 50, 50, 50, 50, 50, 50, 50} {
			t.Errorf("lines: %v", next)
		}
	}
}

// sealed is a sealed line that was damaged since.
func sealed(object, from, to string) string {
	return strings.Replace(string(wholefile.Seal([]byte(object))), from, to, 1) + "\n"
}

func TestOpenLog_SetsATornLastLineAside(t *testing.T) {
	long := strings.Repeat("z", 200_000)
	const a = `{"decision_id":"d","actions":["x","y"],"policy_hash":"ab"}` + "\n"
	for _, c := range []struct{ before, after, torn string }{
		{"", "", ""},
		{a + "b\n", a + "b\n", ""},
		{a + "b", a, "b\n"},
		{`{"deci`, "", `{"deci` + "\n"},
		{"\x00\x00", "", ""},
		{"\x00\x00x", "", "x\n"},
		{"\x00\x00" + a + "\x00b", "\x00\x00" + a, "b\n"},
		{sealed(`{"decision_id":"d","actions":["x","y"],"policy_hash":"ab"}`, "y", "z") + a, sealed(`{"decision_id":"d","actions":["x","y"],"policy_hash":"ab"}`, "y", "z") + a, ""},
		{"damaged\n" + a, "damaged\n" + a, ""},
		{a + long, a, long + "\n"},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(c.before), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := OpenLog(path, LogOptions{Fsync: FsyncNever})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append([]byte("c\n")); err != nil {
			t.Error(err)
		}
		l.Close()
		b, _ := os.ReadFile(path)
		torn, _ := os.ReadFile(path + ".torn")
		if !slices.Equal(l.actions, []string{"x", "y"}) && strings.Contains(c.before, a) {
			t.Errorf("%.60q: actions %q", c.before, l.actions)
		}
		if string(b) != c.after+"c\n" || string(torn) != c.torn || l.Torn() != int64(len(c.before)-len(c.after)) {
			t.Errorf("%.20q: %.20q, %.20q aside, %d bytes torn", c.before, b, torn, l.Torn())
		}
	}
}

func TestOpenLog_RefusesWhatIsNoLog(t *testing.T) {
	if _, err := OpenLog(filepath.Join(t.TempDir(), "log"), LogOptions{Fsync: "sometimes"}); err == nil {
		t.Error("an unknown fsync is taken")
	}
	if _, err := OpenLog("/dev/null", LogOptions{Fsync: FsyncNever}); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("/dev/null: %v", err)
	}
	if _, err := OpenLog(t.TempDir(), LogOptions{Fsync: FsyncNever}); err == nil {
		t.Error("a folder is taken")
	}
	for _, text := range []string{"notes", "notes\n", "{}\n", `{"format":"opl policy"}` + "\n", `{"decision_id":"d","reward":1}` + "\n"} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenLog(path, LogOptions{Fsync: FsyncNever}); err == nil || !strings.Contains(err.Error(), "does not begin with a decision") {
			t.Errorf("%q: %v", text, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q became %q, %v", text, b, err)
		}
	}
}
