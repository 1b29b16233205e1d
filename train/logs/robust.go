package logs

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"opl/policies/features"
)

const (
	robustRows = 20_000 // rows that quantiles are of
	leastRows  = 3      // that a category needs to have a feature
)

// sampled is what a number of contexts is like: its values in some of the rows, and of how many rows those are.
type sampled struct {
	values []float64
	rows   int
}

// robust fits an encoder for tables as they come. A number that most rows have is centred and divided by its
// standard deviation, first bent by asinh(v/width) if that makes it less skewed, or if its tails are heavy. A
// number that most rows lack, or that is mostly 0, keeps its zeros and is divided by the root of the mean
// square of the others. Everything is of at most robustRows of the n rows, evenly spaced.
func (v *named) robust(rows []int, n int, how Scaling, read rowReader) (*features.Encoder, error) {
	step := max(1, n/robustRows)
	of := make([]sampled, len(v.names))
	forRows(rows, v.n, func(i, row int) {
		ids, values := read(row)
		for j, id := range ids {
			of[id].rows++
			if i%step == 0 && v.category[id] == 0 {
				of[id].values = append(of[id].values, values[j])
			}
		}
	})
	e := features.Encoder{Intercept: how.Intercept, Unit: how.Unit, Impute: true}
	for id, name := range v.names {
		c := &of[id]
		switch {
		case c.rows == 0 || v.category[id] != 0 && c.rows < min(leastRows, n/100):
			continue
		case v.category[id] != 0:
			e.Names, e.Scale, e.Center, e.Width = append(e.Names, name), append(e.Scale, 1), append(e.Center, 0),
				append(e.Width, 0)
			continue
		}
		center, scale, width := c.fit(n)
		if center-center != 0 || scale-scale != 0 {
			center, scale, width = 0, 1, 0
			for _, v := range c.values {
				scale = min(scale, inverse(math.Abs(v)))
			}
		}
		e.Names, e.Scale, e.Center, e.Width = append(e.Names, name), append(e.Scale, scale), append(e.Center, center),
			append(e.Width, width)
		if lack := n - c.rows; 2*c.rows >= n && lack >= max(5, n/1000) {
			e.Missing = append(e.Missing, name)
		}
	}
	if !slices.ContainsFunc(e.Width, func(w float64) bool { return w != 0 }) {
		e.Width = nil
	}
	return features.New(e)
}

// fit is how a number is scaled, in a log of n rows.
func (c *sampled) fit(n int) (center, scale, width float64) {
	x := slices.Clone(c.values)
	slices.Sort(x)
	if len(x) == 0 || x[0] == x[len(x)-1] && x[0] != 0 && 2*c.rows >= n { // as in every row that was looked at
		if len(x) > 0 {
			center = x[0]
		}
		return center, 1, 0
	}
	zeros := 0
	var square float64
	for _, v := range x {
		if v == 0 {
			zeros++
		}
		square += v / math.Abs(x[len(x)-1]-x[0]) * v // without overflow
	}
	if 2*c.rows < n || 2*zeros >= len(x) { // zeros are where it is at home
		rms := math.Sqrt(square / float64(max(1, len(x)-zeros)) * math.Abs(x[len(x)-1]-x[0]))
		if x[0] == x[len(x)-1] {
			rms = math.Abs(x[0])
		}
		return 0, inverse(rms), 0
	}
	width = bend(x)
	b := x
	if width > 0 {
		for i, v := range b {
			b[i] = math.Asinh(v / width)
		}
	}
	mean, sd := stat.MeanStdDev(b, nil)
	if sd-sd != 0 { // of numbers beyond 1e150
		return mean, math.NaN(), width
	}
	if !(sd > 1e-12*max(math.Abs(b[0]), math.Abs(b[len(b)-1]))) {
		return mean, 1, width
	}
	return mean, inverse(sd), width
}

// inverse is 1/v, or 1 where that is no number.
func inverse(v float64) float64 {
	if s := 1 / v; s-s == 0 && v > 0 {
		return s
	}
	return 1
}

// bend is the width of asinh for sorted values: 0 for those that are best left alone.
func bend(x []float64) float64 {
	skew := func(low, middle, high float64) float64 {
		if high <= low {
			return 0
		}
		return (high - 2*middle + low) / (high - low)
	}
	q := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, x, nil) }
	low, middle, high := q(.05), q(.5), q(.95)
	raw := skew(low, middle, high)
	if width := math.Abs(low); x[0] >= 0 && raw > .4 {
		if width == 0 {
			width = middle / 4
		}
		if width == 0 {
			return 0
		}
		f := func(v float64) float64 { return math.Asinh(v / width) }
		if math.Abs(skew(f(low), f(middle), f(high))) < raw {
			return width
		}
		return 0
	}
	// Tails far beyond the middle half, on both sides of 0.
	quarter := q(.75) - q(.25)
	if quarter > 0 && x[0] < 0 && math.Abs(middle) < quarter && x[len(x)-1]-x[0] > 40*quarter {
		return quarter
	}
	return 0
}
