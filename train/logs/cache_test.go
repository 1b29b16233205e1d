//go:build unix

package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// cacheOf opens a log and returns where its cache is.
func cacheOf(t *testing.T, path string) string {
	t.Helper()
	mustOpen(t, path, Options{})
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".opl-cache")
}

// A change between the blocks that are sampled is seen, although size and time are kept: in place, and
// in a file that takes the other's place.
func TestCache_SeesAChangeThatKeepsSizeAndTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.csv")
	row := "a,0.25," + string(bytes.Repeat([]byte("x"), 1000)) + "\n"
	var b bytes.Buffer
	b.WriteString("action,reward,group\nb,1,y\n")
	for b.Len() < wholeHash+1<<20 {
		b.WriteString(row)
	}
	text := b.Bytes()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	was := statOf(t, path).ModTime()
	first := mustOpen(t, path, Options{}).Hash()
	if again := mustOpen(t, path, Options{}).Hash(); again != first {
		t.Fatal("a log differs from itself")
	}
	sampled, err := fileHash(path, false)
	if err != nil {
		t.Fatal(err)
	}
	// Where the system tells no change but the time, which can be set, all is read.
	whole, err := fileHash(path, true)
	if err != nil {
		t.Fatal(err)
	}
	plain := stampOf(path, statOf(t, path))
	plain.Changed = 0
	if !fresh(path, source{stamp: plain, Sample: sampled, Whole: whole}) || fresh(path, source{stamp: plain, Sample: sampled, Whole: whole + 1}) {
		t.Error("the samples were believed, or the whole was not")
	}
	for i, replace := range []bool{false, true} {
		for at := len(text) / 2; ; at++ { // a reward that no sample holds
			at += bytes.Index(text[at:], []byte("0.25"))
			before := text[at+2]
			text[at+2] = byte('3' + i)
			to := path
			if replace {
				to = path + ".new"
			}
			if err := errors.Join(os.WriteFile(to, text, 0o600), os.Chtimes(to, was, was), os.Rename(to, path)); err != nil {
				t.Fatal(err)
			}
			if h, err := fileHash(path, false); err != nil {
				t.Fatal(err)
			} else if h == sampled {
				break
			}
			text[at+2] = before
		}
		if again := mustOpen(t, path, Options{}).Hash(); again == first {
			t.Errorf("replaced %t: another reward is read from the old cache", replace)
		} else {
			first = again
		}
	}
}

// A cache has no more readers than its log.
func TestCache_HasNoMoreReadersThanItsLog(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	for _, c := range []struct{ log, want fs.FileMode }{{0o600, 0o600}, {0o640, 0o600}, {0o644, 0o644}, {0o444, 0o644}, {0o666, 0o644}} {
		path := write(t, "l.csv", "action,reward\n0,1\n1,0\n")
		if err := os.Chmod(path, c.log); err != nil {
			t.Fatal(err)
		}
		if got := statOf(t, cacheOf(t, path)).Mode(); got != c.want {
			t.Errorf("of a log %v: %v, want %v", c.log, got, c.want)
		}
	}
}

// A cache that others own, or may write to, is not read.
func TestCache_ThatOthersMayWriteIsNotRead(t *testing.T) {
	path := write(t, "l.csv", "action,reward\n0,1\n1,0\n")
	cache := cacheOf(t, path)
	log, k := statOf(t, path), key("csv", &Options{}, 0)
	if l, _, err := load(cache, k, log); err != nil {
		t.Fatal(err)
	} else if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(cache, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := load(cache, k, log); err == nil {
		t.Error("a cache that all may write to is read")
	}
	if err := os.Chmod(cache, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Log("not the administrator: the owner cannot be changed")
		return
	}
	if err := os.Chown(cache, 4242, -1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := load(cache, k, log); err == nil {
		t.Error("a cache that another user owns is read")
	}
	if err := os.Chown(path, 4242, -1); err != nil {
		t.Fatal(err)
	}
	if l, _, err := load(cache, k, statOf(t, path)); err != nil {
		t.Errorf("the cache of the log's owner: %v", err)
	} else if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// Who has opened a log keeps its cache as it was when another takes its place.
func TestCache_StaysReadableWhenReplaced(t *testing.T) {
	text := func(first int) string {
		var b bytes.Buffer
		b.WriteString("action,reward,x_0\n")
		for i := range 20_000 {
			fmt.Fprintf(&b, "%d,%d,%d\n", i%3, i%2, first+i)
		}
		return b.String()
	}
	path := write(t, "l.csv", text(0))
	cache := cacheOf(t, path)
	was := statOf(t, cache)
	l, err := Open(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text(7)), 0o600); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path, Options{})
	if os.SameFile(was, statOf(t, cache)) {
		t.Error("the cache was written over")
	}
	l.pages.release()
	for i := range l.Len() {
		i = i * 7919 % l.Len()
		if _, values := l.Values(i); l.Action[i] != int32(i%3) || values[0] != float64(i) {
			t.Fatalf("row %d: action %d, context %v", i, l.Action[i], values)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Actions that a policy file names, and the log has, need no other cache; others do.
func TestCache_ServesActionsThatAPolicyNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.csv")
	if err := os.WriteFile(path, []byte("action,reward,propensity\nb,1,.5\na,0,.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := cacheOf(t, path)
	was := statOf(t, cache)
	for _, c := range []struct {
		actions []string
		kept    bool
	}{{[]string{"a", "b"}, true}, {nil, true}, {[]string{"a", "b", "c"}, false}, {[]string{"b", "a"}, false}} {
		l := mustOpen(t, path, Options{Actions: c.actions})
		if kept := os.SameFile(was, statOf(t, cache)); kept != c.kept || c.actions != nil && !slices.Equal(l.Actions, c.actions) {
			t.Errorf("%v: read from the cache %v, want %v: %v", c.actions, kept, c.kept, l.Actions)
		}
	}
}
