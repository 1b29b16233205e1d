package inspect

import (
	"fmt"
	"math"
	"slices"
)

// Where rows offer sets of actions, K stands for the number that a row offers: the uniform policy
// draws one of them, and the set is part of the row's context.

// even reports, of sets, that all propensities are within 0.0101 of uniform's as a share of it, and the largest such
// distance.
func (l *log) even() (off float64, ok bool) {
	if !l.Sets() || l.MostOptions() < 2 {
		return 0, false
	}
	for i, p := range l.Propensity {
		off = max(off, math.Abs(p*float64(l.Options(i))-1))
	}
	return off, off <= 0.0101
}

// evenly returns the mean of 1/K.
func (l *log) evenly() float64 {
	if !l.Sets() {
		return 1 / float64(l.k)
	}
	return l.mean("1/K", func(i int) float64 { return 1 / float64(l.Options(i)) }).value
}

// sets says how many actions rows offer. Rows that offer one leave nothing to decide: all of them are
// unusable, more than half doubtful.
func (l *log) sets() {
	if !l.Sets() {
		return
	}
	size, single, sum := make([]int, l.n), 0, 0.
	for i := range size {
		size[i] = l.Options(i)
		sum += float64(size[i])
		if size[i] == 1 {
			single++
		}
	}
	mean := sum / float64(l.n)
	slices.Sort(size)
	f := Finding{Check: "sets", Measured: fmt.Sprintf("rows offer %d to %d actions, %d in the middle, %.4g on "+
		"average; %s offer a single one",
		size[0], size[l.n-1], size[l.n/2], mean, percent(float64(single)/float64(l.n))),
		Numbers: []Number{{"least", float64(size[0])}, {"median", float64(size[l.n/2])}, {"mean", mean},
			{"most", float64(size[l.n-1])}, {"single", float64(single)}}}
	severity := Doubtful
	if single == l.n {
		severity = Unusable
	}
	l.judge(f, 2*single > l.n, severity, "where one action is offered there is nothing to decide, and nothing to "+
		"learn", "log all actions that could have been taken")
}

// uniform returns Σ_i 1{a ∈ S_i}/|S_i| by action, and Σ_i |S_i|.
func (l *log) uniform() (e []float64, options float64) {
	if !l.Sets() {
		return slices.Repeat([]float64{float64(l.n) / float64(l.k)}, l.k), float64(l.n) * float64(l.k)
	}
	e = make([]float64, l.k)
	for i := range l.n {
		k := l.Options(i)
		options += float64(k)
		for j := range k {
			a, _ := l.Option(i, j)
			e[a] += 1 / float64(k)
		}
	}
	return e, options
}

// turnover says which actions are offered in the first or in the second half of the rows alone, in the
// order of time. An action that n_a rows offer is so by chance with probability 2^(1−n_a); the variance is that of
// independent actions, times the mean size of a set. More than chance, at level alpha and by a hundredth of
// what is offered, is doubtful. Not where actions are called by their places.
func (l *log) turnover() {
	if !l.Sets() || l.n < 200 || l.ByPlace() {
		return
	}
	var in [2][]float64
	in[0], in[1] = make([]float64, l.k), make([]float64, l.k)
	options := 0.
	for t, i := range l.inTime(0, l.n) {
		h := 2 * t / l.n
		for j := range l.Options(i) {
			a, _ := l.Option(i, j)
			in[h][a]++
			options++
		}
	}
	var fresh, gone, one, chance, variance, expected float64 // one, expected: options of them
	for a, first := range in[0] {
		n := first + in[1][a]
		if n == 0 {
			continue
		}
		p := math.Pow(2, 1-n)
		chance, variance, expected = chance+p, variance+p*(1-p), expected+n*p
		switch {
		case first == 0:
			fresh, one = fresh+1, one+n
		case in[1][a] == 0:
			gone, one = gone+1, one+n
		}
	}
	z := counted(fresh+gone, chance, max(variance, 1)*options/float64(l.n))
	f := Finding{Check: "new and vanished actions", Numbers: []Number{{"new", fresh}, {"vanished", gone},
		{"share", one / options}, {"z", z}},
		Measured: fmt.Sprintf("%.0f actions are offered in the second half of the rows alone, %.0f in the first "+
			"alone, %.4g of both by chance, %s of what is offered", fresh, gone, chance, percent(one/options))}
	l.judge(f, z > threshold(1) && one-expected > 0.01*options, Doubtful,
		"what is on offer changes: rows are not identically distributed, and guarantees speak of the mixture of "+
			"times; what is learned of an action alone is lost when it goes",
		"learn from the features of actions, not of each alone")
}
