package worlds_test

import (
	"fmt"
	"strings"
	"testing"

	"opl/train/bench/worlds"
)

func TestReadClasses_SplitsRowsAndRefusesOtherFiles(t *testing.T) {
	var b strings.Builder
	b.WriteString("size,class,colour\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%d,%s,%s\n", i, []string{"yes", "no", "perhaps"}[i%3], []string{"red", ""}[i%2])
	}
	w, err := worlds.ReadClasses("toy", strings.NewReader(b.String()), 0)
	if err != nil || w.K != 3 || w.Visits != 40 {
		t.Fatalf("%d classes, %d visits, %v", w.K, w.Visits, err)
	}
	log, test := w.Draw(1000, 1000, 7)
	if len(log) != 20 || len(test) != 20 {
		t.Fatalf("%d rows and %d visits, want half of 40 each", len(log), len(test))
	}
	seen := map[float64]bool{}
	for _, d := range log {
		seen[d.Context[0].Number] = true
	}
	for _, v := range test {
		if seen[v.Context[0].Number] {
			t.Fatalf("size %v is in the log and in the test", v.Context[0].Number)
		}
		if v.Mean[int(v.Context[0].Number)%3] != 1 || v.Logging[0] != 1./3 {
			t.Fatalf("a visit of size %v: means %v, logging %v", v.Context[0].Number, v.Mean, v.Logging)
		}
	}
	for _, bad := range []string{"", "a,b\n1,2\n", "class,a\nx,1\nx,2\nx,3\nx,4\n", "class,a\nx,1\ny,inf\nx,1\ny,2\n", "class,a\nx,1,3\n"} {
		if _, err := worlds.ReadClasses("bad", strings.NewReader(bad), 1); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
