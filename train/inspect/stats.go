package inspect

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// mean is a mean over n rows with its standard error and skewness, see log.mean.
type mean struct {
	value, se, skew float64
	n               int
}

// against is Hall's (1992) transformation of the t statistic of the mean against
// μ, which is near normal for skewed columns too:
//
//	T + γT²/(3√n) + γ²T³/(27n) + γ/(6√n)
//
// A column without spread is infinitely far from what it is not.
func (m mean) against(mu float64) float64 {
	d := m.value - mu
	if math.Abs(d) <= 1e-9*(1+math.Abs(mu)) {
		return 0
	}
	if m.se <= 1e-12*math.Abs(d) {
		return math.Copysign(math.Inf(1), d)
	}
	t, g := d/m.se, m.skew/math.Sqrt(float64(m.n))
	return t + g*t*t/3 + g*g*t*t*t/27 + g/6
}

// threshold is the |z| that one of m two-sided tests exceeds by chance with
// probability alpha.
func threshold(m int) float64 {
	return distuv.UnitNormal.Quantile(1 - alpha/2/float64(max(m, 1)))
}

// counted is the z of a count against its mean and variance: normal where at least 20
// are expected to be and not to be; otherwise Chernoff's, which is valid however small m
// is, the signed root of 2(x log(x/m) − x + m).
func counted(x, m, variance float64) float64 {
	switch {
	case variance >= 20:
		return (x - m) / math.Sqrt(variance)
	case x <= 0:
		return -math.Sqrt(2 * max(0, m))
	case m <= 0:
		return math.Inf(1)
	}
	return math.Copysign(math.Sqrt(2*max(0, m-x+x*math.Log(x/m))), x-m)
}

// percent writes a share in per cent with three digits.
func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }

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
