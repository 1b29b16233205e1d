package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log from standard input is that of the file, in every format, which its first bytes tell, packed or not; it leaves
// neither copy nor cache.
func TestStandardInput_EqualsTheFileInEveryFormat(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, name := range []string{"csv", "jsonl", "parquet", "dsjson", "vw"} {
		path := filepath.Join(t.TempDir(), "l."+name)
		writeAs(t, path, name, newWorld(3, 4, 1), 90)
		o := Options{}
		if findFormat(func(f *format) bool { return f.name == name }).row == "" {
			o.Preset = name
		}
		want := mustOpen(t, path, o)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(text)
		_ = z.Close()
		for _, b := range [][]byte{text, packed.Bytes()} {
			if o.Input = bytes.NewReader(b); name == "parquet" && &b[0] != &text[0] {
				continue // never packed
			}
			l, err := Open(context.Background(), "-", o)
			if err != nil {
				t.Fatal(name, err)
			}
			if l.Hash() != want.Hash() || l.Len() != want.Len() || l.Path() != "standard input" {
				t.Errorf("%s: %d rows of %s, hash %s, want %s", name, l.Len(), l.Path(), l.Hash(), want.Hash())
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	_, err := Open(context.Background(), "-", Options{Input: strings.NewReader("action,reward\n1,2\n")})
	if err == nil || !strings.Contains(err.Error(), "standard input: row 1, column reward") {
		t.Error(err)
	}
	// A stream that ends in the middle, of a number that could be whole.
	_, err = Open(context.Background(), "-", Options{Input: strings.NewReader("action,reward,propensity\n1,1,.5\n0,1,.25")})
	if err == nil || !strings.Contains(err.Error(), "standard input: row 2, the last line has no end") {
		t.Error(err)
	}
	for _, dir := range []string{os.TempDir(), os.Getenv("XDG_CACHE_HOME")} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}
