package decisions

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// write puts a file into a folder of the test's own.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t testing.TB, path string, o Options) *Log {
	t.Helper()
	l, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestOpenBanditDataset(t *testing.T) {
	for _, name := range []string{"random-men", "bts-men"} {
		l := mustOpen(t, "/work/shared/obd/"+name+".csv.gz", Options{Preset: "obd", Cache: filepath.Join(t.TempDir(), "c")})
		t.Log(l.Len(), l.Actions(), len(l.Names()), l.Notes(), l.Hash(), l.width)
		var d Decision
		l.Decision(0, &d)
		t.Logf("%+v", d)
	}
}
