package logs

import (
	"slices"
	"testing"

	"opl/policies/features"
)

// A set is part of the context: rows that differ in it alone are not one, in whatever order a set is.
func TestContextHash_IncludesWhatIsOffered(t *testing.T) {
	l := &Log{Actions: Numbered(4), Action: []int32{0, 0, 0}, Cost: make([]float64, 3), X: Rows64{Width: 1, Data: []float64{1, 1, 1}},
		Choices: &Choices{First: []int64{0, 2, 4}, Count: []int32{2, 2, 3}, At: []int32{0, 1, 0}, Actions: []int32{0, 3, 3, 0, 0, 1, 2}}}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	h := l.ContextHashes()
	if h[0] != h[1] || h[0] == h[2] {
		t.Errorf("hashes %x", h)
	}
	if some := l.Subset([]int{2, 1}).ContextHashes(); some[0] != h[2] || some[1] != h[1] {
		t.Errorf("hashes %x of a subset, want those of its rows in %x", some, h)
	}
}

// The vectors of a log are those of Items, to the bit.
func TestVectors_EqualItemsToTheBit(t *testing.T) {
	var d []Decision
	for i := range 50 {
		v := float64(i)
		d = append(d, Decision{Action: i % 2, Propensity: .5, Offered: []Offer{{Action: "a", Features: []features.Value{{Name: "n", Number: v / 7}}}, {Action: "b", Features: []features.Value{{Name: "n", Number: v / 3}}}}})
	}
	l, err := Collect(nil, d)
	if err != nil {
		t.Fatal(err)
	}
	it, err := l.FitItems(nil, Scaling{Kind: "standard", Intercept: true}, 3)
	if err != nil {
		t.Fatal(err)
	}
	e, err := l.EncodeItems(it)
	if err != nil {
		t.Fatal(err)
	}
	got, want := make([]float64, it.Dim()), make([]float64, it.Dim())
	for i := range d {
		for j, o := range d[i].Offered {
			if _, err := it.Encode(want, o.Action, o.Features); err != nil {
				t.Fatal(err)
			}
			_, item := e.Option(i, j)
			if e.Choices.Z.Row64(item, got); !slices.Equal(got, want) {
				t.Fatalf("row %d: %v, want %v", i, got, want)
			}
		}
	}
}
