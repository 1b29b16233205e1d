package logs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"opl/train/logs"
)

// same checks that two logs are equal to the bit, in all that they say of rows.
func same(t *testing.T, got, want *logs.Log) {
	t.Helper()
	if got.Len() != want.Len() || got.Hash() != want.Hash() || !reflect.DeepEqual(got.Actions, want.Actions) || !reflect.DeepEqual(got.Names(), want.Names()) ||
		!reflect.DeepEqual(got.Notes, want.Notes) || got.Skipped != want.Skipped || got.Unrewarded != want.Unrewarded || got.HasIDs() != want.HasIDs() {
		t.Fatalf("%d rows, hash %s, actions %q, names %q, notes %q, %d skipped; want %d, %s, %q, %q, %q, %d", got.Len(), got.Hash(), got.Actions, got.Names(), got.Notes, got.Skipped,
			want.Len(), want.Hash(), want.Actions, want.Names(), want.Notes, want.Skipped)
	}
	for name, of := range map[string]func(l *logs.Log) any{
		"actions": func(l *logs.Log) any { return l.Action }, "costs": func(l *logs.Log) any { return l.Cost }, "propensities": func(l *logs.Log) any { return l.Propensity },
		"all propensities": func(l *logs.Log) any { return l.Propensities }, "weights": func(l *logs.Log) any { return l.Weight }, "times": func(l *logs.Log) any { return l.Time },
		"groups": func(l *logs.Log) any { return l.Group }, "loggers": func(l *logs.Log) any { return l.Logger }, "policies": func(l *logs.Log) any { return l.Policies },
		"keys": func(l *logs.Log) any { return l.Keys }, "contexts": func(l *logs.Log) any { return l.ContextHashes() }, "groups' names": func(l *logs.Log) any { return l.GroupHashes() },
	} {
		if !reflect.DeepEqual(of(got), of(want)) {
			t.Errorf("%s differ", name)
		}
	}
	var a, b logs.Decision
	for i := range want.Len() {
		got.Decision(i, &a)
		want.Decision(i, &b)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("row %d is %+v, want %+v", i+1, a, b)
		}
	}
}

func read(t *testing.T, o logs.Options, paths ...string) *logs.Log {
	t.Helper()
	l, err := logs.OpenAll(context.Background(), paths, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// cut writes the lines of a log to files of so many, each with the header, if there is one, and returns the folder, and a file
// of all.
func cut(t *testing.T, ending, header string, lines []string, every int) (dir, whole string) {
	t.Helper()
	dir = t.TempDir()
	whole = filepath.Join(dir, "whole."+ending)
	write(t, whole, header+strings.Join(lines, ""))
	dir = filepath.Join(dir, "logs")
	for i := 0; i < len(lines); i += every {
		write(t, filepath.Join(dir, fmt.Sprintf("dt=2026-11-%02d", 1+i/every/3), fmt.Sprintf("part-%04d.%s", i/every, ending)), header+strings.Join(lines[i:min(len(lines), i+every)], ""))
	}
	return dir, whole
}

// Whatever is decided by all rows, of one file or of several: kinds of columns, dictionaries, names of actions, what rows may
// have, the order of propensities, groups, what is left out.
func TestFiles_AreReadAsOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	catalogue := filepath.Join(t.TempDir(), "items.csv")
	write(t, catalogue, "action,z_price,z_kind\ni0,1,a\ni1,2,a\ni2,3,b\ni3,1,b\ni4,1,c\n")
	rows := func(n int, row func(i int) string) (lines []string) {
		for i := range n {
			lines = append(lines, row(i)+"\n")
		}
		return lines
	}
	for name, c := range map[string]struct {
		ending, header string
		lines          []string
		o              logs.Options
		bad            bool // some rows are
	}{
		"names": {ending: "csv", header: "decision_id,action,reward,propensity,x_age,x_city,group,timestamp\n", lines: rows(150, func(i int) string {
			return fmt.Sprintf("d%d,%c,%d,0.5,%v,%s,g%d,%d", i, "bac"[min(2, i*r.IntN(3)/100)], r.IntN(2), r.Float64(), []string{"Oslo", "Rome", "Ålesund"}[r.IntN(3)], i/7, 1700000000+i)
		})},
		"numbers":           {ending: "csv", header: "action,reward,propensity,x_1\n", lines: rows(150, func(i int) string { return fmt.Sprintf("%d,%d,0.25,%d", 1+r.IntN(4), r.IntN(2), r.IntN(9)) })},
		"numbers, then not": {ending: "csv", header: "action,reward,propensity,x_1\n", lines: rows(150, func(i int) string { return fmt.Sprintf("%d,1,0.25,%s", r.IntN(4), []string{"1", "a"}[i/75]) })},
		"texts are errors": {ending: "csv", header: "action,reward,propensity,x_1\n", bad: true, lines: rows(150, func(i int) string {
			return fmt.Sprintf("%d,1,0.25,%s", r.IntN(4), map[bool]string{true: "unknown", false: "3"}[i < 12])
		})},
		"numbers that are names": {ending: "csv", header: "action,reward,propensity,x_1\n", o: logs.Options{Categories: []string{"x_1"}}, lines: rows(90, func(i int) string { return fmt.Sprintf("%d,1,0.25,%d", r.IntN(4), i%5) })},
		"an action comes late":   {ending: "csv", header: "action,reward,propensity\n", lines: rows(100, func(i int) string { return fmt.Sprintf("%d,1,0.25", map[bool]int{true: 1, false: 2 + i%2}[i < 60]) })},
		"bad rows": {ending: "csv", header: "action,reward,p_a,p_b,x_1\n", bad: true, lines: rows(100, func(i int) string {
			return fmt.Sprintf("%s,%s,%s,%d", []string{"a", "b"}[i%2], []string{"1", "0", "2"}[min(2, i%9)], []string{"0.5,0.5", "1,0", "0.3,0.7", "0.2,0.2"}[i%4], i)
		})},
		"json": {ending: "jsonl", lines: rows(100, func(i int) string {
			return fmt.Sprintf(`{"action":%d,"cost":-%d,"propensities":[0.1,0.9],"context":{"u":{"n":%d,"t":"v%d"},"l":[1,%v]},"weight":%d,"policy":"p%d"}`, i%2, i%2, i%3, i%5, r.Float64(), i%3, i/90)
		})},
		"propensities by name": {ending: "jsonl", lines: rows(100, func(i int) string {
			if i < 50 {
				return fmt.Sprintf(`{"action":"b","reward":1,"propensities":{"b":0.2,"a":0.8},"context":[%d,2]}`, i)
			}
			return fmt.Sprintf(`{"action":"a","reward":1,"propensities":{"a":0.75,"b":0.25},"context":[%d,3]}`, i)
		})},
		"sets": {ending: "jsonl", lines: rows(100, func(i int) string {
			return fmt.Sprintf(`{"action":"a%d","reward":0,"propensity":0.5,"x_1":%d,"actions":[{"id":"a%d","price":%d},{"id":"b","price":3,"kind":"k%d"}]}`, i%5, i, i%5, i%7, i%3)
		})},
		"vw": {ending: "vw", lines: rows(100, func(i int) string {
			return fmt.Sprintf("%d:%d:0.25 'id%d |u age:%d city%d", 1+i%4, -(i % 2), i, i%50, i%3)
		}), o: logs.Options{Preset: "vw"}},
		"dsjson": {ending: "dsjson", lines: rows(100, func(i int) string {
			multi := []string{`{"id":"a"},{"id":"b"}`, `{"id":"b"},{"id":"a"}`}[i/50]
			return fmt.Sprintf(`{"_label_cost":-%d,"_label_probability":0.5,"_label_Action":%d,"_labelIndex":%d,"a":[1,2],"p":[0.5,0.5],"EventId":"e%d","c":{"u":{"n":%d},"_multi":[%s]}}`, i%2, 1, 0, i, i%7, multi)
		}), o: logs.Options{Preset: "dsjson"}},
		"dsjson that varies": {ending: "dsjson", lines: rows(100, func(i int) string {
			multi := []string{`{"_tag":"a","v":1},{"_tag":"b","v":2}`, `{"_tag":"b","v":2},{"_tag":"c","v":1},{"_tag":"d","v":0}`}[i/60]
			return fmt.Sprintf(`{"_label_cost":-%d,"_label_probability":0.5,"_label_Action":%d,"_labelIndex":%d,"EventId":"e%d","c":{"u":{"n":%d},"_multi":[%s]}}`, i%2, 1+i%2, i%2, i, i%7, multi)
		}), o: logs.Options{Preset: "dsjson"}},
	} {
		for _, every := range []int{17} {
			t.Run(fmt.Sprintf("%s/%d", name, every), func(t *testing.T) {
				dir, whole := cut(t, c.ending, c.header, c.lines, every)
				o, o1 := c.o, c.o
				if c.bad {
					o.BadRows, o1.BadRows = filepath.Join(t.TempDir(), "bad"), filepath.Join(t.TempDir(), "bad")
				}
				want := read(t, o1, whole)
				for i, note := range want.Notes {
					want.Notes[i] = strings.ReplaceAll(note, o1.BadRows, o.BadRows)
				}
				same(t, read(t, o, dir), want)
				same(t, read(t, o, filepath.Join(dir, "**", "part-*")), want) // by the cache
				o.NoCache = true
				same(t, read(t, o, filepath.Join(dir, "dt=2026-*")), want)
				if !c.bad {
					return
				}
				n := len(strings.Split(contents(t, o.BadRows), "\n"))
				if m := len(strings.Split(contents(t, o1.BadRows), "\n")); n != m || want.Skipped != n-1 {
					t.Errorf("%d bad rows of several files, %d of one, %d counted", n, m, want.Skipped)
				}
			})
		}
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
