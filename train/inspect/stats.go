package inspect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// mean is the weighted mean Σω s/Σω of a column with its standard error by
// linearization, and the skewness of the terms ω(s − mean).
type mean struct {
	value, se, skew float64
	n               int
}

func (l *log) mean(s func(i int) float64) mean {
	column := l.room()
	for i := range column {
		column[i] = s(i)
	}
	return l.meanOf(column)
}

// room is a column, which is gone with the next call.
func (l *log) room() []float64 {
	l.column = slices.Grow(l.column[:0], l.n)[:l.n]
	return l.column
}

func (l *log) meanOf(column []float64) mean {
	var sum, total float64
	for i, v := range column {
		w := l.rowWeight(i)
		sum += w * v
		total += w
	}
	m := mean{value: sum / total, n: l.n}
	var two, three float64
	for i, v := range column {
		d := l.rowWeight(i) * (v - m.value)
		two += d * d
		three += d * d * d
	}
	n := float64(l.n)
	m.se = math.Sqrt(two) / total
	if l.n > 1 {
		m.se *= math.Sqrt(n / (n - 1))
	}
	if two > 0 {
		m.skew = three / n / math.Pow(two/n, 1.5)
	}
	return m
}

func (l *log) meanReward() mean {
	m := l.meanOf(l.Cost)
	m.value, m.skew = 0-m.value, -m.skew
	return m
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

func join(s []string) string { return strings.Join(s, ", ") }

// percent is a share in per cent with three digits.
func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }
