package logs

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Contexts that are held give the numbers of those that they hold, with room and without, and rows of 32 bits are not copied.
func TestHold_KeepsTheNumbersOfContexts(t *testing.T) {
	x := Rows64{Width: 3, Data: []float64{.1, 2, -3, 0, 0, 0, math.Pi, 1e-300, 7}}
	single := Rows32{Width: 3, Data: []float32{.1, 2, -3, 0, 0, 0, math.Pi, 1, 7}}
	for _, c := range []struct {
		of     Contexts
		bytes  int
		placed bool
	}{{x, 36, true}, {x, 35, false}, {single, 0, true}} {
		h := Hold(c.of, c.bytes).(PlacedContexts)
		for i := range 3 {
			want, got := make([]float32, 3), make([]float32, 3)
			want64, got64 := make([]float64, 3), make([]float64, 3)
			c.of.Row32(i, want)
			h.Row32(i, got)
			c.of.Row64(i, want64)
			h.Row64(i, got64)
			if !slices.Equal(got, want) || !slices.Equal(got64, want64) || h.Norm(i) != c.of.Norm(i) {
				t.Errorf("%T, %d bytes: row %d is %v, %v, norm %v", c.of, c.bytes, i, got, got64, h.Norm(i))
			}
			switch row := h.Placed32(i); {
			case (row != nil) != c.placed || row != nil && !slices.Equal(row, want):
				t.Errorf("%T, %d bytes: row %d lies as %v", c.of, c.bytes, i, row)
			case c.bytes == 0 && &row[0] != &single.Data[3*i]:
				t.Errorf("row %d was copied", i)
			}
		}
	}
	if want := math.Sqrt(.25 + 4); (Rows32{2, []float32{.5, -2}}).Norm(0) != want {
		t.Errorf("norm %v, want %v", (Rows32{2, []float32{.5, -2}}).Norm(0), want)
	}
	for _, bad := range []Contexts{Rows32{3, make([]float32, 7)}, Rows32{0, make([]float32, 2)}} {
		l := &Log{Actions: Numbered(2), Action: []int32{0, 1}, Cost: []float64{0, -1}, X: bad}
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), "no rows of width") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// Vectors of some rows are read where there was no room for those of all.
func TestRead_VectorsOfSomeRows(t *testing.T) {
	x := Rows32{Width: 2, Data: []float32{0, 1, 2, 3, 4, 5, 6, 7}}
	log := &Log{X: Hold(struct{ Contexts }{x}, 0), Rows: []int{3, 0, 2}, Action: make([]int32, 3)}
	if same := log.Read(3*2*4 - 1); same != log {
		t.Error("vectors without room are read")
	}
	read := log.Read(3 * 2 * 4)
	placed, ok := read.X.(PlacedContexts)
	if !ok || read == log {
		t.Fatal("vectors are not read")
	}
	row := make([]float32, 2)
	for i := range 3 {
		log.X.Row32(log.Context(i), row)
		if got := placed.Placed32(read.Context(i)); !slices.Equal(got, row) || placed.Norm(read.Context(i)) != log.X.Norm(log.Context(i)) {
			t.Errorf("row %d is %v, want %v", i, got, row)
		}
	}
}
