package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"opl/policies/features"
)

func clone(d Decision) Decision {
	d.Context, d.Propensities = slices.Clone(d.Context), slices.Clone(d.Propensities)
	return d
}

func draw(w *world, n int) []Decision {
	var all []Decision
	for range n {
		var d Decision
		w.next(&d)
		all = append(all, d)
	}
	return all
}

func save(t testing.TB, path string, o WriterOptions, rows []Decision) {
	t.Helper()
	w, err := Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// same compares decisions, the values of a context in whatever order.
func same(t testing.TB, l *Log, want []Decision) {
	t.Helper()
	if l.Len() != len(want) {
		t.Fatalf("%d rows, want %d", l.Len(), len(want))
	}
	byName := func(a, b features.Value) int { return strings.Compare(a.Name, b.Name) }
	var got Decision
	for i := range want {
		l.Decision(i, &got)
		a, b := clone(got), clone(want[i])
		a.Row, b.Row = 0, 0
		if len(b.Context) == 0 {
			a.Context, b.Context = append([]features.Value{}, a.Context...), []features.Value{}
		}
		slices.SortFunc(a.Context, byName)
		slices.SortFunc(b.Context, byName)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("row %d:\n got %+v\nwant %+v", i, a, b)
		}
	}
}

// What is written is read again, bit by bit, from every format and in every layout of the
// context, and has one hash.
func TestWriter_IsReadAgainInEveryFormat(t *testing.T) {
	w := newWorld(12, 5, 1)
	dense := draw(w, 300)
	named := []string{"red", "green, or \"so\"", "blue", "10", "9"}
	sparse := draw(w, 300)
	for i := range sparse {
		sparse[i].Context = slices.Delete(sparse[i].Context, i%5, i%5+i%7)
		if i%10 == 3 {
			sparse[i].Context = append(sparse[i].Context, features.Value{Name: "x_c=ä\n\"", Number: 1})
		}
		if i == 0 || i == 77 {
			sparse[i].Context = nil
		}
	}
	list := draw(w, 20)
	var indices []string
	for j := range 12 {
		indices = append(indices, fmt.Sprint(j))
	}
	for i := range list {
		for j := range list[i].Context {
			list[i].Context[j].Name = indices[j]
		}
	}
	bare := draw(w, 50)
	for i := range bare {
		bare[i] = Decision{Context: bare[i].Context, Action: bare[i].Action, Cost: bare[i].Cost, Weight: float64(i%3) / 2}
	}
	for name, c := range map[string]struct {
		rows []Decision
		o    WriterOptions
	}{
		"columns": {dense, WriterOptions{Actions: w.actions, Names: w.names}},
		"objects": {sparse, WriterOptions{Actions: w.actions}},
		"list":    {list, WriterOptions{Actions: w.actions, Names: indices}},
		"named":   {sparse, WriterOptions{Actions: named}},
		"bare":    {bare, WriterOptions{Actions: w.actions, Weight: true}},
	} {
		hash := ""
		for _, ending := range []string{"csv", "csv.gz", "csv.zst", "jsonl", "jsonl.gz", "parquet"} {
			t.Run(name+"/"+ending, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "log."+ending)
				save(t, path, c.o, c.rows)
				l := mustOpen(t, path, Options{})
				names := slices.Clone(c.o.Actions)
				if name == "named" {
					slices.SortFunc(names, byValue)
				}
				if !slices.Equal(l.Actions, names) {
					t.Fatalf("actions %q, want %q", l.Actions, names)
				}
				want := slices.Clone(c.rows)
				if name == "named" { // in another order
					for i := range want {
						want[i].Action = slices.Index(names, c.o.Actions[want[i].Action])
						moved := make([]float64, len(names))
						for a, p := range want[i].Propensities {
							moved[slices.Index(names, c.o.Actions[a])] = p
						}
						want[i].Propensities = moved
					}
				}
				same(t, l, want)
				if hash == "" {
					hash = l.Hash()
				}
				if l.Hash() != hash {
					t.Errorf("hash %s, elsewhere %s", l.Hash(), hash)
				}
				again := mustOpen(t, path, Options{})
				same(t, again, want)
			})
		}
	}
}

// A log that cannot be written leaves nothing behind.
func TestWriter_LeavesNothingAfterAnError(t *testing.T) {
	good := draw(newWorld(2, 3, 1), 2)
	for name, change := range map[string]func(d *Decision){
		"is outside 0 to 2":                               func(d *Decision) { d.Action = 3 },
		"cost 0.5 is outside":                             func(d *Decision) { d.Cost = 0.5 },
		"in all rows or in none":                          func(d *Decision) { d.ID = "" },
		"propensity 2 is outside":                         func(d *Decision) { d.Propensity = 2 },
		"2 propensities for 3":                            func(d *Decision) { d.Propensities = d.Propensities[:2] },
		"weight 2, but":                                   func(d *Decision) { d.Weight = 2 },
		"3 decisions without a reward were left out, and": func(d *Decision) { d.Unrewarded = 3 },
		"none of the names":                               func(d *Decision) { d.Context[0].Name = "other" },
		"row 2: x_0 is":                                   func(d *Decision) { d.Context[0].Number /= 0 },
		"propensity -1 is outside [0, ":                   func(d *Decision) { d.Propensities[1] = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			for _, ending := range []string{"csv", "jsonl.gz", "parquet"} {
				dir := t.TempDir()
				w, err := Create(filepath.Join(dir, "log."+ending), WriterOptions{Actions: []string{"0", "1", "2"}, Names: []string{"x_0", "x_1"}})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Write(&good[0]); err != nil {
					t.Fatal(err)
				}
				d := clone(good[1])
				change(&d)
				if err := w.Write(&d); err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: %v, want %q", ending, err, name)
				}
				if err := w.Close(); err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: close: %v", ending, err)
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%s: left behind: %v %v", ending, left, err)
				}
			}
		})
	}
}

// Decisions that are missing are counted in every format, and a log that lacks some certifies nothing.
func TestUnrewardedDecisions_CertifyNothing(t *testing.T) {
	for _, ending := range []string{"csv", "jsonl", "parquet", "csv.gz"} {
		path := filepath.Join(t.TempDir(), "l."+ending)
		w, err := Create(path, WriterOptions{Actions: []string{"a", "b"}, Unrewarded: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if err := w.Write(&Decision{Action: i % 2, Cost: -float64(i % 2), Propensity: .5, Propensities: []float64{.5, .5}, Unrewarded: i}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // read, and from the cache
			l := mustOpen(t, path, Options{})
			if l.Unrewarded != 6 || l.Subset([]int{1}).Unrewarded != 6 {
				t.Errorf("%s: %d are missing, want 6", ending, l.Unrewarded)
			}
		}
	}
	for _, v := range []string{"-1", "0.5", "1e300"} {
		if _, err := Open(context.Background(), write(t, "l.csv", "action,reward,unrewarded\n0,1,"+v+"\n1,0,0\n"), Options{}); err == nil || !strings.Contains(err.Error(), "column unrewarded") {
			t.Errorf("%s: %v", v, err)
		}
	}
}

// A group of 2¹⁶ wide rows of zeros, which are packed to little, would take more memory than the reader gives it.
func TestWriter_GroupsFewWideRowsOfParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.parquet")
	d, o := Decision{Propensity: .5, Context: make([]features.Value, 16_000)}, WriterOptions{Actions: []string{"a", "b"}}
	for j := range d.Context {
		d.Context[j].Name = strconv.Itoa(j)
		o.Names = append(o.Names, d.Context[j].Name)
	}
	w, err := Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	const n = 530
	for i := range n {
		d.Action = i % 2
		if err := w.Write(&d); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	of, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	if groups := of.RowGroups(); len(groups) != 2 || groups[0].NumRows() != groupValues/16_001 {
		t.Errorf("%d groups of rows, the first of %d", len(groups), groups[0].NumRows())
	}
}
