package logs

import "testing"

// A set is part of the context: rows that differ in it alone are not one, in whatever order a set is.
func TestOfferedHashes(t *testing.T) {
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
