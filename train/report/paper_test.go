package report

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"opl/train/experiment"
)

// The stored results of the whole reproduction are redrawn: points and verdicts are
// those that were stored beside them, and the figures are there.
func TestPaper_IsRedrawnAsItWasStored(t *testing.T) {
	const kept = "../../testdata/paper"
	store, err := experiment.ReadStore(filepath.Join(kept, "runs.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	recs := store.Records()
	dir := t.TempDir()
	if err := WriteAll(dir, recs, PageOptions{DPI: smallDPI}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{PointsFile, VerdictsFile} {
		got, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(kept, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from the stored one: redraw it with opl plot testdata/paper/runs.jsonl.gz", file)
		}
	}
	for _, f := range experiment.Figures() {
		if info, err := os.Stat(filepath.Join(dir, f.Name+".png")); f.Has(recs) != (err == nil && info.Size() > 1000) {
			t.Errorf("%s: records suffice: %v, drawn: %v", f.Name, f.Has(recs), err)
		}
	}
}
