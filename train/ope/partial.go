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
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
)

// Partial is the partial result of a shard that has read its own files: sums of columns over its
// groups, see [EvaluatePartial]. With G_g the vector of the columns' sums over group g, all
// estimates are sums of ratios of ΣG, and their standard errors quadratic forms of ΣGGᵀ, so that
// partial results add up.
type Partial struct {
	Shard   logs.Shard      `json:"shard"`             // which part of the files this is
	Of      string          `json:"of"`                // what all shards must share: files, the options, and what the caller adds
	Rows    int             `json:"rows"`              // of the shard
	Groups  int             `json:"groups"`            // of the shard, or rows that have none
	Delta   float64         `json:"delta"`             // as in a Result
	Half    float64         `json:"half_width"`        // as of Options, as a share of the range of rewards
	Targets []partialTarget `json:"targets"`           // in the order of the columns of Sum
	Sum     []float64       `json:"sum"`               // ΣG [C]
	Square  []float64       `json:"square"`            // ΣGGᵀ, its rows from the diagonal on [C(C+1)/2]
	Missing []string        `json:"missing,omitempty"` // estimators that shards cannot give, and why
	Notes   []string        `json:"notes,omitempty"`   // what reading the shard found out

	RewardMin float64 `json:"reward_min"` // as in a Result
	RewardMax float64 `json:"reward_max"`
}

// The first columns are of no target: ω, ω r.
const (
	columnOne = iota
	columnReward
	columnFirst
)

type partialTarget struct {
	Name    string            `json:"name"`
	Weight  int               `json:"weight"` // column of ωw
	Methods []partialEstimate `json:"methods"`
	Spread  spread            `json:"spread"`
	Unread  string            `json:"unread,omitempty"`  // see provenance.Unread
	Learned string            `json:"learned,omitempty"` // see provenance.Judge.Learned
}

// partialEstimate is an estimate that is a sum of terms Σωx/Σωy.
type partialEstimate struct {
	Name   string   `json:"name"`
	Hyper  float64  `json:"hyper"`
	Biased bool     `json:"biased"`
	Model  bool     `json:"model"`
	Terms  [][2]int `json:"terms"` // columns x and y
}

// indivisible says why shards cannot compute an estimator; "": they can, if it is a sum of means and ratios.
func indivisible(e Estimator, o Options) string {
	byCount := func(n int) float64 { return e.Hyper.Default(&Data{N: n, Delta: o.Delta}) }
	switch {
	case e.ByLogger:
		return "in shards, it weighs rows by those of all loggers"
	case e.Teach != nil:
		return "in shards, its model of the reward is learned by a target's weights in all rows"
	case e.Hyper != nil && !e.Hyper.ByCount:
		return fmt.Sprintf("in shards, its hyperparameter is chosen from all rows: give one, by %s=NUMBER", e.Name)
	case e.Hyper != nil && byCount(1) != byCount(1<<40):
		return "in shards by files, no shard knows the number of all rows, by which its hyperparameter is " +
			"chosen: " +
			fmt.Sprintf("give one, by %s=NUMBER", e.Name)
	case e.Model && o.Model == nil:
		return "in shards by files, no shard has the rows that r̂ is learned from: " +
			"give a policy file that holds one, by setting reward-model"
	case e.Marginal:
		return "in shards by files, no shard has the rows that actions are put together by"
	}
	return ""
}

// EvaluatePartial computes what a shard adds to the sums of [Evaluate]. The log is the shard's
// share of files ([logs.Options.Share]), and no shard knows what stands in the files of the others.
// Left out, and named in Missing, is what is learned or counted in all rows: a model that is not
// given, hyperparameters that are not, estimators that are ByLogger, Teach or Marginal. The others
// must be a Mean or a Ratio of their Data, or some of these by Plus; else it is an error. Intervals
// are normal, and nothing is guaranteed.
//
// The actions and the range of rewards must be the same in all shards. A row that comes twice, or a
// group, in files of two shards counts as two; an action that a shard's files never took is
// uncovered there. of is what else shards must share, such as what the targets are.
func EvaluatePartial(log *logs.Log, targets []Target, o Options, shard logs.Shard, of string) (Partial, error) {
	none := Partial{}
	if log.Lists != nil {
		return none, errors.New("ope: lists are evaluated as one log, and not by shards")
	}
	if err := o.check(targets); err != nil {
		return none, err
	}
	normal := Methods()[0].Name
	switch m, err := method(o.Interval); {
	case err != nil:
		return none, err
	case m.Name != normal:
		return none, fmt.Errorf("ope: setting interval: %s reads all rows, shards have %s intervals alone", m.Name,
			normal)
	}
	asked := o.Estimators
	if asked == nil {
		asked = Default(Estimators(), false)
	}
	var missing []string
	o.EstimatesAlone, o.Estimators = true, nil
	for _, e := range asked {
		if why := indivisible(e, o); why != "" {
			missing = append(missing, e.Name+": "+why)
		} else {
			o.Estimators = append(o.Estimators, e)
		}
	}
	if o.Estimators == nil {
		return none, fmt.Errorf("ope: no estimator is left: %v", missing)
	}
	e, err := prepare(log, targets, o)
	if err != nil {
		return none, err
	}
	out := Partial{Shard: shard, Rows: e.n, Groups: e.groups, Delta: e.Delta,
		Missing: append(missing, e.missing...), Notes: o.Notes}
	out.RewardMin, out.RewardMax = log.RewardRange()
	out.Half = o.HalfWidth / (out.RewardMax - out.RewardMin)
	out.Of = strings.Join([]string{fmt.Sprint(log.FilesHash, out.RewardMin, out.RewardMax, len(log.Actions),
		strings.Join(log.Actions, "\x00")), fmt.Sprint(e.Delta, o.HalfWidth, o.Seed), of}, " ")
	var columns [][]float64
	add := func(f func(i int) float64) int {
		c := make([]float64, e.n)
		for i := range c {
			c[i] = e.weight(i) * f(i)
		}
		columns = append(columns, c)
		return len(columns) - 1
	}
	add(func(int) float64 { return 1 })
	add(func(i int) float64 { return e.r[i] })
	for _, target := range targets {
		var methods []partialEstimate
		// there are about as many rows as all shards have
		d, spread, err := e.estimate(target, e.n*shard.Of, func(d *Data, made []estimated) error {
			for _, v := range made {
				if !d.sums(v.Value) {
					return fmt.Errorf("ope: estimator %s is not a Mean or a Ratio of its data, or a sum of such, "+
						"and shards cannot be merged: leave it out", v.Name)
				}
				m := partialEstimate{Name: v.Name, Hyper: v.hyper, Biased: v.Biased, Model: v.Model}
				for _, t := range v.terms {
					xy := [2]int{add(t.x), columnOne}
					if t.y != nil {
						xy[1] = add(t.y)
					}
					m.Terms = append(m.Terms, xy)
				}
				methods = append(methods, m)
			}
			return nil
		})
		if err != nil {
			return none, err
		}
		_, learned := e.learned(target)
		p := partialTarget{Name: target.Name, Spread: spread, Unread: target.unread(log), Learned: learned,
			Methods: methods, Weight: add(func(i int) float64 { return d.W[i] })}
		out.Targets = append(out.Targets, p)
	}
	out.Sum, out.Square = e.moments(columns)
	return out, nil
}

// sums reports that a value is the sum of its terms.
func (d *Data) sums(v Value) bool {
	if v.terms == nil || len(v.Influence) != d.N {
		return false
	}
	want := Value{Influence: make([]float64, d.N)}
	for _, m := range v.terms {
		y := m.y
		if y == nil {
			y = func(int) float64 { return 1 }
		}
		want = want.Plus(d.Ratio(m.x, y))
	}
	close := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }
	return want.Value != want.Value && v.Value != v.Value || close(v.Value, want.Value) &&
		slices.EqualFunc(v.Influence, want.Influence,
			func(a, b float64) bool { return close(a*float64(d.N), b*float64(d.N)) })
}

// moments are ΣG and ΣGGᵀ of columns over groups.
func (t *sample) moments(columns [][]float64) (first, second []float64) {
	c := len(columns)
	g := make([]float64, t.groups*c) // [G×C]
	for k, x := range columns {
		for i, v := range x {
			g[t.group(i)*c+k] += v
		}
	}
	sum, square, row := make(kernel.Sums, c), make(kernel.Sums, c*(c+1)/2), make([]float64, 0, c*(c+1)/2)
	for ; len(g) > 0; g = g[c:] {
		sum.Add(g[:c])
		row = row[:0]
		for k, v := range g[:c] {
			for _, w := range g[k:c] {
				row = append(row, v*w)
			}
		}
		square.Add(row)
	}
	return sum.Values(), square.Values()
}

// Combine puts together the partial results of all shards: the [Result] of [Evaluate] on all rows,
// but for guarantees, to within the rounding of sums, so that a standard error below it is 0. A
// partial result that comes twice counts once. Errors: partial results of other logs, targets,
// options or numbers of shards; those of one shard that differ; shards that are not there.
func Combine(partials []Partial) (Result, error) {
	none := Result{}
	all, err := inspect.ByNumber(partials, func(p *Partial) inspect.Part {
		return inspect.Part{Shard: p.Shard, Kind: "an evaluation", Sound: len(p.Square) == len(p.Sum)*(len(p.Sum)+1)/2,
			Of: []any{p.Of, p.Delta}, Named: "targets, logs or options: merge those of one command",
			Sums: slices.Concat([]float64{float64(p.Rows), float64(p.Groups)}, p.Sum, p.Square)}
	})
	if err != nil {
		return none, err
	}
	sum := *all[0]
	sum.Targets, sum.Notes = slices.Clone(sum.Targets), slices.Clone(sum.Notes)
	s, square := make(kernel.Sums, len(sum.Sum)), make(kernel.Sums, len(sum.Square))
	sum.Rows, sum.Groups = 0, 0
	for _, p := range all {
		sum.Rows, sum.Groups = sum.Rows+p.Rows, sum.Groups+p.Groups
	}
	for k, p := range all {
		if len(p.Sum) != len(s) || len(p.Targets) != len(sum.Targets) {
			return none, fmt.Errorf("shards %s and %s have other estimates", sum.Shard, p.Shard)
		}
		for j, t := range p.Targets {
			if k > 0 {
				sum.Targets[j].Spread.add(t.Spread, sum.Rows)
				sum.Targets[j].Learned = cmp.Or(sum.Targets[j].Learned, t.Learned)
			}
		}
		for _, n := range p.Notes {
			if !slices.Contains(sum.Notes, n) {
				sum.Notes = append(sum.Notes, n)
			}
		}
		s.Add(p.Sum)
		square.Add(p.Square)
	}
	for j := range sum.Targets { // that have more than are the largest of all
		t := &sum.Targets[j].Spread
		t.Top = certify.Top(slices.Values(t.Top), sum.Rows)
	}
	sum.Notes = append(sum.Notes, "shards have read their own files alone: rows that come twice, and groups, in "+
		"files of two shards are counted twice")
	m := moments{s.Values(), square.Values(), float64(sum.Groups), distuv.UnitNormal.Quantile(1 - sum.Delta/2)}
	if err := m.check(sum.Targets); err != nil {
		return none, err
	}
	return m.result(sum), nil
}

// moments are sums of columns over all groups.
type moments struct {
	sum, square []float64
	groups, z   float64
}

func (m moments) check(targets []partialTarget) error {
	bad := slices.ContainsFunc(slices.Concat(m.sum, m.square), func(v float64) bool { return v-v != 0 })
	is := func(c int) bool { return c >= 0 && c < len(m.sum) }
	for _, t := range targets {
		bad = bad || !is(t.Weight) || len(t.Spread.Top) == 0 ||
			slices.ContainsFunc(t.Methods, func(e partialEstimate) bool {
				return len(e.Terms) == 0 || slices.ContainsFunc(e.Terms, func(xy [2]int) bool {
					return !is(xy[0]) ||
						!is(xy[1])
				})
			})
	}
	if bad || len(m.sum) < columnFirst {
		return errors.New("a shard has sums that are not finite, or of other columns")
	}
	return nil
}

// ratio is ΣS_x/S_y with its influence as a linear form of the columns, a_x = 1/S_y, a_y = −v/S_y.
type ratio struct {
	value float64
	form  map[int]float64
}

func (m moments) ratio(terms ...[2]int) ratio {
	out := ratio{form: map[int]float64{}}
	for _, t := range terms {
		x, y := t[0], t[1]
		if m.sum[y] == 0 {
			return ratio{value: math.NaN()}
		}
		v := m.sum[x] / m.sum[y]
		out.value += v
		out.form[x] += 1 / m.sum[y]
		out.form[y] -= v / m.sum[y]
	}
	return out
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

// result is that of all rows.
func (m moments) result(p Partial) Result {
	on := m.ratio([2]int{columnReward, columnOne})
	res := Result{Rows: p.Rows, Groups: p.Groups, Delta: p.Delta, Interval: Methods()[0].Name,
		Logging: m.gain(on, ratio{}), Missing: p.Missing, Notes: p.Notes, RewardMin: p.RewardMin,
		RewardMax: p.RewardMax}
	estimates := make([]map[string]ratio, len(p.Targets))
	for j, t := range p.Targets {
		w := m.gain(m.ratio([2]int{t.Weight, columnOne}), ratio{})
		q := Policy{
			Name:         t.Name,
			MeanWeight:   w.Value,
			MeanWeightSE: w.SE,
			Uncertified: "partial results are merged without a guarantee: " +
				"opl certify --any-time --shard gives one of a policy file, evaluate without --shard of any target",
		}
		estimates[j] = map[string]ratio{}
		for _, e := range t.Methods {
			v := m.ratio(e.Terms...)
			if math.IsNaN(v.value) {
				res.Missing = append(res.Missing, fmt.Sprintf("%s: it has no value for target %s", e.Name, t.Name))
				continue
			}
			q.Estimates = append(q.Estimates, Estimate{e.Name, e.Hyper, m.gain(v, ratio{}), m.gain(v, on), e.Biased,
				e.Model})
			estimates[j][e.Name] = v
		}
		q.flattered(t.Learned)
		if t.Unread != "" {
			q.Warnings = append(q.Warnings, t.Unread)
		}
		t.Spread.say(&q, m.sum[columnOne], p.Rows, p.Groups)
		q.believe(on.value, p.Half, m.z, p.Rows)
		res.Policies = append(res.Policies, q)
	}
	res.Pairs = pairs(res.Policies, func(a, b int, name string) (Interval, bool) {
		first, ok := estimates[a][name]
		second, both := estimates[b][name]
		return m.gain(first, second), ok && both
	})
	return res
}
