package inspect

import "math"

// Histogram counts the values of a column by classes of equal width, or of equal
// ratio where values span more than a factor of 50.
type Histogram struct {
	Title  string    `json:"title"`  // what the column holds
	Edges  []float64 `json:"edges"`  // one more than Counts
	Counts []int     `json:"counts"` // rows by class
}

// bins counts the classes of a histogram.
const bins = 8

// histogram counts n values from low to high.
func histogram(title string, n int, value func(i int) float64, low, high float64) Histogram {
	h := Histogram{Title: title}
	if high-low <= 1e-9*math.Abs(high) {
		h.Edges, h.Counts = []float64{low, high}, []int{n}
		return h
	}
	scale, back := func(v float64) float64 { return v }, func(v float64) float64 { return v }
	if low > 0 && high/low > 50 {
		scale, back = math.Log, math.Exp
	}
	a, b := scale(low), scale(high)
	h.Counts = make([]int, bins)
	for j := range bins + 1 {
		h.Edges = append(h.Edges, back(a+(b-a)*float64(j)/bins))
	}
	h.Edges[0], h.Edges[bins] = low, high
	for i := range n {
		h.Counts[max(0, min(bins-1, int((scale(value(i))-a)/(b-a)*bins)))]++
	}
	return h
}
