package logs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"opl/train/logs"
)

// A file that has the rows of another, under whatever folder and with whatever rows after them, is found where no ids tell rows apart;
// what is alike by chance is not.
func TestCopies_AreFoundWithoutIDs(t *testing.T) {
	rows := func(seed, n int, p float64) (s string) {
		for i := range n {
			seed = seed * 69621 % (1<<31 - 1)
			s += fmt.Sprintf("%c,%d,%v,u\n", "ab"[seed>>16&1], i%2, p)
		}
		return s
	}
	const header = "action,reward,propensity,x_u\n"
	for _, c := range []struct {
		name, header, a, b string
		copied             bool
	}{
		{"the same", header, rows(1, 60, 0.5), rows(1, 60, 0.5), true},
		{"goes on", header, rows(1, 60, 0.5), rows(1, 60, 0.5) + rows(2, 9, 0.5), true},
		{"others", header, rows(1, 60, 0.5), rows(2, 60, 0.5), false},
		{"few", header, rows(1, 9, 0.5), rows(1, 9, 0.5), false},
		{"drawn by no chance", header, rows(1, 60, 1), rows(1, 60, 1), false},
		{"groups", "action,reward,propensity,group\n", rows(1, 60, 0.5), rows(1, 60, 0.5), false},
		{"bad rows", header, "a,7,0.5,u\n" + rows(1, 60, 0.5), rows(1, 60, 0.5) + "a,7,0.5,u\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "logs/x_d=1/a.csv"), c.header+c.a)
			write(t, filepath.Join(dir, "logs/x_d=2/b.csv"), c.header+c.b)
			write(t, filepath.Join(dir, "logs/x_d=3/c.csv"), c.header+rows(3, 70, 0.5))
			o := logs.Options{NoCache: true}
			if c.name == "bad rows" {
				o.BadRows = filepath.Join(dir, "bad")
			}
			l, err := logs.Open(context.Background(), filepath.Join(dir, "logs"), o)
			if copied := err != nil && strings.Contains(err.Error(), "a.csv: its 60 rows are those with which "); copied != c.copied || !copied && err != nil {
				t.Errorf("%v", err)
			}
			if err == nil {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
