package ope

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"opl/graph/kernel"
	"opl/train/logs"
)

// Part is what a shard of the rows of a log says of targets: sums of columns over its groups, see [EvaluatePart].
// With G_g the vector of the columns' sums over group g, all estimates are ratios of ΣG, and their
// standard errors quadratic forms of ΣGGᵀ.
type Part struct {
	Shard   logs.Shard   `json:"shard"`
	Of      string       `json:"of"`    // what all parts must share: the log's hash, the options, and what the caller adds
	Whole   int          `json:"whole"` // rows of all shards
	Rows    int          `json:"rows"`
	Groups  int          `json:"groups"`
	Delta   float64      `json:"delta"`
	Targets []targetPart `json:"targets"`
	Sum     []float64    `json:"sum"`    // ΣG [C]; none without rows
	Square  []float64    `json:"square"` // ΣGGᵀ, its rows from the diagonal on [C(C+1)/2]
	Missing []string     `json:"missing,omitempty"`
	Notes   []string     `json:"notes,omitempty"`
}

// The first columns are of no target: ω, ω r.
const (
	columnOne = iota
	columnReward
	columnFirst
)

type targetPart struct {
	Name    string         `json:"name"`
	Weight  int            `json:"weight"` // column of ωw
	Methods []estimatePart `json:"methods"`
	Spread  spread         `json:"spread"`
}

// estimatePart is an estimate Σωx/Σωy.
type estimatePart struct {
	Name   string  `json:"name"`
	Hyper  float64 `json:"hyper"`
	Biased bool    `json:"biased"`
	Model  bool    `json:"model"`
	X      int     `json:"x"` // columns
	Y      int     `json:"y"`
}

// EvaluatePart computes what a shard of the rows adds to the sums of [Evaluate]; groups are whole in a shard. The
// number of rows, which hyperparameters hang on, and a model are of the whole log. Estimators must be a
// Mean or a Ratio of their Data; others, and those of which a target has no part here, are errors. Nothing is
// guaranteed by parts. of is what else parts must share, such as what the targets are.
func EvaluatePart(log *logs.Log, targets []Target, o Options, shard logs.Shard, of string) (Part, error) {
	o.Delta = cmp.Or(o.Delta, 0.05)
	switch {
	case !(o.Delta > 0 && o.Delta < 1):
		return Part{}, fmt.Errorf("ope: delta %v is outside (0, 1)", o.Delta)
	case len(targets) == 0:
		return Part{}, errors.New("ope: no target policy")
	}
	whole, err := newSample(log, o.Delta)
	if err == nil {
		err = whole.enough()
	}
	if err != nil {
		return Part{}, err
	}
	chosen, missing, err := choose(o, targets, log.Len())
	if err != nil {
		return Part{}, err
	}
	out := Part{Shard: shard, Of: strings.Join([]string{log.Hash(), fmt.Sprint(o.Delta), of}, " "), Whole: log.Len(), Delta: o.Delta, Missing: missing, Notes: o.Notes}
	var rows []int
	for i := range log.Len() {
		unit := i
		if log.Group != nil && log.Group[i] >= 0 {
			unit = int(log.Group[i])
		}
		if shard.Has(unit) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return out, nil
	}
	t, err := newSample(log.Subset(rows), o.Delta)
	if err != nil {
		return out, err
	}
	t.rows, t.whole = rows, log.Len()
	var columns [][]float64
	add := func(f func(i int) float64) int {
		c := make([]float64, t.n)
		for i := range c {
			c[i] = t.weight(i) * f(i)
		}
		columns = append(columns, c)
		return len(columns) - 1
	}
	add(func(int) float64 { return 1 })
	add(func(i int) float64 { return t.r[i] })
	for _, target := range targets {
		_, d, err := t.policy(target, o.Model, slices.ContainsFunc(chosen, func(e Estimator) bool { return e.Model }))
		if err != nil {
			return out, err
		}
		p := targetPart{Name: target.Name, Spread: t.spread, Weight: add(func(i int) float64 { return d.W[i] })}
		for _, c := range chosen {
			at, _ := c.hyper(log.Len())
			e := estimatePart{Name: c.Name, Hyper: at, Biased: c.Biased, Model: c.Model, X: -1}
			var noted Value
			t.note = func(x, y func(i int) float64, v Value) {
				if noted, e.X = v, add(x); y != nil {
					e.Y = add(y)
				}
			}
			before := len(columns)
			v := c.Of(d, at)
			t.note = nil
			if e.X < 0 || len(columns) > before+2 || len(v.Influence) != t.n || &v.Influence[0] != &noted.Influence[0] || v.Value != noted.Value && v.Value == v.Value {
				return out, fmt.Errorf("ope: estimator %s is not a Mean or a Ratio of its data, and shards cannot be merged: leave it out", c.Name)
			}
			p.Methods = append(p.Methods, e)
		}
		out.Targets = append(out.Targets, p)
	}
	out.Rows, out.Groups = t.n, t.groups
	out.Sum, out.Square = t.moments(columns)
	return out, nil
}

// moments are ΣG and ΣGGᵀ of columns over groups.
func (t *sample) moments(columns [][]float64) (first, second []float64) {
	c := len(columns)
	g := make([]float64, t.groups*c) // [G×C]
	for k, x := range columns {
		for i, v := range x {
			at := i
			if t.place != nil {
				at = int(t.place[i])
			}
			g[at*c+k] += v
		}
	}
	sum, square := make([]kernel.Sum, c), make([]kernel.Sum, c*(c+1)/2)
	for ; len(g) > 0; g = g[c:] {
		at := 0
		for k, v := range g[:c] {
			sum[k].Add(v)
			for _, w := range g[k:c] {
				square[at].Add(v * w)
				at++
			}
		}
	}
	return values(sum), values(square)
}

func values(xs []kernel.Sum) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = x.Value()
	}
	return out
}

// Combine is the Result of [Evaluate] on all rows, but for guarantees, of the parts of all shards, to within the
// rounding of sums: a standard error that is below it is 0. A part that comes twice counts once.
// Errors: parts of other logs, targets, options or numbers of shards; parts of one shard that differ; shards
// that are not there.
func Combine(parts []Part) (Result, error) {
	none := Result{}
	if len(parts) == 0 {
		return none, errors.New("there are no parts to merge")
	}
	first := parts[0]
	all := make([]*Part, first.Shard.Of)
	for i := range parts {
		p := &parts[i]
		if p.Shard.Number < 1 || p.Shard.Number > p.Shard.Of || len(p.Square) != len(p.Sum)*(len(p.Sum)+1)/2 {
			return none, fmt.Errorf("part %d of an evaluation is none", i+1)
		}
		if p.Shard.Of != first.Shard.Of || p.Of != first.Of || p.Whole != first.Whole || p.Delta != first.Delta {
			return none, fmt.Errorf("shards %s and %s are of different targets, logs or options, or of another number of shards: merge those of one command", first.Shard, p.Shard)
		}
		at := &all[p.Shard.Number-1]
		if *at != nil && !near(**at, *p) {
			return none, fmt.Errorf("shard %s comes twice with different sums: make it again", p.Shard)
		}
		*at = p
	}
	var lost []string
	var sum *Part
	var s, square []kernel.Sum
	rows, groups := 0, 0
	for i, p := range all {
		switch {
		case p == nil:
			lost = append(lost, fmt.Sprintf("%d/%d", i+1, len(all)))
			continue
		case p.Rows == 0:
			continue
		case sum == nil:
			q := *p
			sum, q.Targets = &q, slices.Clone(p.Targets)
			s, square = make([]kernel.Sum, len(p.Sum)), make([]kernel.Sum, len(p.Square))
		case len(p.Sum) != len(sum.Sum) || len(p.Targets) != len(sum.Targets):
			return none, fmt.Errorf("shards %s and %s have other estimates", sum.Shard, p.Shard)
		default:
			for j, t := range p.Targets {
				a := &sum.Targets[j].Spread
				*a = spread{a.Square + t.Spread.Square, max(a.Most, t.Spread.Most), max(a.Largest, t.Spread.Largest), a.Paid + t.Spread.Paid}
			}
		}
		rows, groups = rows+p.Rows, groups+p.Groups
		for i, v := range p.Sum {
			s[i].Add(v)
		}
		for i, v := range p.Square {
			square[i].Add(v)
		}
	}
	switch {
	case lost != nil:
		return none, fmt.Errorf("%s missing: run these shards", strings.Join(lost, ", ")+map[bool]string{true: " is", false: " are"}[len(lost) == 1])
	case sum == nil || rows != first.Whole:
		return none, fmt.Errorf("the shards have %d rows together, not %d: their logs differ", rows, first.Whole)
	}
	m := moments{values(s), values(square), float64(groups), distuv.UnitNormal.Quantile(1 - first.Delta/2)}
	if err := m.check(sum.Targets); err != nil {
		return none, err
	}
	return m.result(*sum, rows, groups)
}

// near reports parts of one shard that agree but for what processors differ in.
func near(a, b Part) bool {
	close := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y), 1e-9) }
	return a.Rows == b.Rows && a.Groups == b.Groups && slices.EqualFunc(a.Sum, b.Sum, close) && slices.EqualFunc(a.Square, b.Square, close)
}

// moments are sums of columns over all groups.
type moments struct {
	sum, square []float64
	groups, z   float64
}

func (m moments) check(targets []targetPart) error {
	bad := slices.ContainsFunc(slices.Concat(m.sum, m.square), func(v float64) bool { return v-v != 0 })
	is := func(c int) bool { return c >= 0 && c < len(m.sum) }
	for _, t := range targets {
		bad = bad || !is(t.Weight) || slices.ContainsFunc(t.Methods, func(e estimatePart) bool { return !is(e.X) || !is(e.Y) })
	}
	if bad || len(m.sum) < columnFirst {
		return errors.New("a shard has sums that are not finite, or of other columns")
	}
	return nil
}

// ratio is S_x/S_y with its influence as a linear form of the columns, a_x = 1/S_y, a_y = −v/S_y.
type ratio struct {
	value float64
	form  map[int]float64
}

func (m moments) ratio(x, y int) ratio {
	if m.sum[y] == 0 {
		return ratio{value: math.NaN()}
	}
	v := m.sum[x] / m.sum[y]
	form := map[int]float64{x: 1 / m.sum[y]}
	form[y] -= v / m.sum[y]
	return ratio{v, form}
}

// gain is v, or v − w, with its interval: se² = aᵀ(ΣGGᵀ)a·G/(G−1).
func (m moments) gain(v, w ratio) Interval {
	a := make([]float64, len(m.sum))
	for c, x := range v.form {
		a[c] += x
	}
	for c, x := range w.form {
		a[c] -= x
	}
	var form, size kernel.Sum
	at := 0
	for i := range a {
		for j := i; j < len(a); j++ {
			x := a[i] * a[j] * m.square[at]
			if at++; i != j {
				x *= 2
			}
			form.Add(x)
			size.Add(math.Abs(x))
		}
	}
	variance := form.Value()
	if !(variance > 1e-15*size.Value()) { // rounding
		variance = 0
	}
	d, se := v.value-w.value, math.Sqrt(variance*m.groups/(m.groups-1))
	return Interval{d, se, d - m.z*se, d + m.z*se}
}

func (m moments) result(p Part, rows, groups int) (Result, error) {
	on := m.ratio(columnReward, columnOne)
	res := Result{Rows: rows, Groups: groups, Delta: p.Delta, Logging: m.gain(on, ratio{}), Missing: p.Missing, Notes: p.Notes}
	estimates := make([]map[string]ratio, len(p.Targets))
	for j, t := range p.Targets {
		w := m.gain(m.ratio(t.Weight, columnOne), ratio{})
		q := Policy{Name: t.Name, MeanWeight: w.Value, MeanWeightSE: w.SE,
			Uncertified: "parts are merged without a guarantee: opl certify --any-time --shard gives one of a policy file, evaluate without --shard of any target"}
		estimates[j] = map[string]ratio{}
		for _, e := range t.Methods {
			v := m.ratio(e.X, e.Y)
			if math.IsNaN(v.value) {
				res.Missing = append(res.Missing, fmt.Sprintf("%s: it has no value for target %s", e.Name, t.Name))
				continue
			}
			q.Estimates = append(q.Estimates, Estimate{e.Name, e.Hyper, m.gain(v, ratio{}), m.gain(v, on), e.Biased, e.Model})
			if len(p.Targets) > 1 {
				estimates[j][e.Name] = v
			}
		}
		t.Spread.say(&q, m.sum[t.Weight], rows, groups)
		res.Policies = append(res.Policies, q)
	}
	for a := range p.Targets {
		for b := a + 1; b < len(p.Targets); b++ {
			for _, e := range res.Policies[a].Estimates {
				if v, ok := estimates[b][e.Estimator]; ok {
					res.Pairs = append(res.Pairs, Pair{p.Targets[a].Name, p.Targets[b].Name, e.Estimator, m.gain(estimates[a][e.Estimator], v), e.Biased})
				}
			}
		}
	}
	return res, nil
}
