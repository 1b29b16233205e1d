package ope

import (
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
// With G_g the vector of the columns' sums over group g, all estimates are sums of ratios of ΣG, and their
// standard errors quadratic forms of ΣGGᵀ.
type Part struct {
	Shard   logs.Shard   `json:"shard"`
	Of      string       `json:"of"`                 // what all parts must share: the log's hash, the options, and what the caller adds
	ByFiles bool         `json:"by_files,omitempty"` // the shard has read its own files alone
	Whole   int          `json:"whole"`              // rows of all shards; by files, its own
	Rows    int          `json:"rows"`
	Groups  int          `json:"groups"`
	Delta   float64      `json:"delta"`
	Half    float64      `json:"half_width"`
	Targets []targetPart `json:"targets"`
	Sum     []float64    `json:"sum"`    // ΣG [C]; none without rows
	Square  []float64    `json:"square"` // ΣGGᵀ, its rows from the diagonal on [C(C+1)/2]
	Missing []string     `json:"missing,omitempty"`
	Notes   []string     `json:"notes,omitempty"`

	RewardMin float64 `json:"reward_min"` // as in a Result
	RewardMax float64 `json:"reward_max"`
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
	Unread  string         `json:"unread,omitempty"` // see provenance.Unread
}

// estimatePart is an estimate that is a sum of terms Σωx/Σωy.
type estimatePart struct {
	Name   string   `json:"name"`
	Hyper  float64  `json:"hyper"`
	Biased bool     `json:"biased"`
	Model  bool     `json:"model"`
	Terms  [][2]int `json:"terms"` // columns x and y
}

// indivisible says why an estimator cannot be had of shards; "": it can, if it is a sum of means and ratios.
func indivisible(e Estimator) string {
	switch {
	case e.ByLogger:
		return "in shards, it weighs rows by those of all loggers"
	case e.Teach != nil:
		return "in shards, its model of the reward is learned by a target's weights in all rows"
	case e.Hyper != nil && !e.Hyper.ByCount:
		return fmt.Sprintf("in shards, its hyperparameter is chosen from all rows: give one, by %s=NUMBER", e.Name)
	}
	return ""
}

// EvaluatePart computes what a shard of the rows adds to the sums of [Evaluate]; groups are whole in a shard. The
// number of rows, which hyperparameters hang on, a model and clusters of actions are of the whole log. Estimators must be a
// Mean or a Ratio of their Data, or some of these by Plus; others are errors. Those that are ByLogger, Teach, or choose a
// hyperparameter by more than the number of rows are left out, and named in Missing. Intervals are normal. Nothing is
// guaranteed by parts. of is what else parts must share, such as what the targets are.
//
// Of a log that is the shard's share of files ([logs.Options.Share]) the part is of all its rows. No shard knows what stands in the
// others' files, so that what is learned or counted in all rows is left out, too: a model that is not given, hyperparameters that are not,
// estimators that are Marginal. The actions and the range of rewards must be the same in all shards. A row that comes twice, or a
// group, in files of two shards counts as two; an action that a shard's files never took is uncovered there.
func EvaluatePart(log *logs.Log, targets []Target, o Options, shard logs.Shard, of string) (Part, error) {
	if err := o.check(targets); err != nil {
		return Part{}, err
	}
	whole, err := newSample(log, o.Delta)
	if err != nil {
		return Part{}, err
	}
	if whole.method, err = method(o.Interval); err != nil {
		return Part{}, err
	}
	if normal := Methods()[0]; whole.method.Name != normal.Name {
		return Part{}, fmt.Errorf("ope: setting interval: %s reads all rows, shards have %s intervals alone", whole.method.Name, normal.Name)
	}
	whole.seed = o.Seed
	asked := o.Estimators
	if asked == nil {
		asked = Default(Estimators(), false)
	}
	var missing []string
	o.Estimators = make([]Estimator, 0, len(asked))
	byFiles := log.FilesHash != ""
	for _, e := range asked {
		why := indivisible(e)
		switch {
		case why != "" || !byFiles:
		case e.Hyper != nil && e.Hyper.Default(&Data{N: 1, Delta: o.Delta}) != e.Hyper.Default(&Data{N: 1 << 40, Delta: o.Delta}):
			why = fmt.Sprintf("in shards by files, no shard knows the number of all rows, by which its hyperparameter is chosen: give one, by %s=NUMBER", e.Name)
		case e.Model && o.Model == nil:
			why = "in shards by files, no shard has the rows that r̂ is learned from: give a policy file that holds one, by setting reward-model"
		case e.Marginal:
			why = "in shards by files, no shard has the rows that actions are put together by"
		}
		if why != "" {
			missing = append(missing, e.Name+": "+why)
		} else {
			o.Estimators = append(o.Estimators, e)
		}
	}
	if len(o.Estimators) == 0 {
		return Part{}, fmt.Errorf("ope: no estimator is left: %v", missing)
	}
	chosen, left, err := whole.choose(o, targets, nil)
	if err != nil {
		return Part{}, err
	}
	missing = append(missing, left...)
	models := slices.ContainsFunc(chosen, func(e Estimator) bool { return e.Model })
	if models && o.Model == nil {
		if o.Model, err = o.Learn(nil); err != nil {
			return Part{}, err
		}
	}
	if slices.ContainsFunc(chosen, func(e Estimator) bool { return e.Marginal }) && whole.of == nil {
		whole.of = map[int][]int32{}
	}
	known, all := log.Hash(), log.Len() // all: rows by which the largest weights are chosen
	if byFiles {
		low, high := log.RewardRange()
		known, all = fmt.Sprint(log.FilesHash, low, high, len(log.Actions), strings.Join(log.Actions, "\x00")), log.Len()*shard.Of
	}
	out := Part{Shard: shard, ByFiles: byFiles, Of: strings.Join([]string{known, fmt.Sprint(o.Delta, o.HalfWidth, o.Seed), of}, " "), Whole: log.Len(), Delta: o.Delta, Missing: missing, Notes: o.Notes}
	out.RewardMin, out.RewardMax = log.RewardRange()
	out.Half = o.HalfWidth / (out.RewardMax - out.RewardMin)
	var rows []int
	for i := range log.Len() {
		unit := i
		if log.Group != nil && log.Group[i] >= 0 {
			unit = int(log.Group[i])
		}
		if byFiles || shard.Has(unit) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return out, nil
	}
	t, err := sampleOf(log.Subset(rows), o.Delta)
	if err != nil {
		return out, err
	}
	t.rows, t.taken, t.seed, t.items, t.of = rows, whole.taken, whole.seed, whole.items, whole.of
	var model Model
	if o.Model != nil {
		model = func(dst []float64, i int) { o.Model(dst, rows[i]) }
	}
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
		if target.Row == nil && len(target.Logged) != log.Len() {
			return out, fmt.Errorf("ope: target %s has %d probabilities for %d rows", target.Name, len(target.Logged), log.Len())
		}
		target = target.of(rows)
		d, spread, err := t.policy(target, all)
		if err == nil && models {
			err = t.predict(d, target, model)
		}
		if err != nil {
			return out, err
		}
		d.Marginal, d.Delta = t.marginal(target), o.Delta
		p := targetPart{Name: target.Name, Spread: spread, Unread: target.unread(log), Weight: add(func(i int) float64 { return d.W[i] })}
		for _, c := range chosen {
			at, err := c.hyper(&Data{N: log.Len(), Delta: o.Delta})
			if err != nil {
				return out, fmt.Errorf("ope: estimator %w", err)
			}
			v := c.Of(d, at)
			if !d.sums(v) {
				return out, fmt.Errorf("ope: estimator %s is not a Mean or a Ratio of its data, or a sum of such, and shards cannot be merged: leave it out", c.Name)
			}
			e := estimatePart{Name: c.Name, Hyper: at, Biased: c.Biased, Model: c.Model}
			for _, m := range v.terms {
				xy := [2]int{add(m.x), columnOne}
				if m.y != nil {
					xy[1] = add(m.y)
				}
				e.Terms = append(e.Terms, xy)
			}
			p.Methods = append(p.Methods, e)
		}
		out.Targets = append(out.Targets, p)
	}
	out.Rows, out.Groups = t.n, t.groups
	out.Sum, out.Square = t.moments(columns)
	return out, nil
}

// of is the target in some rows of its log.
func (t Target) of(rows []int) Target {
	out := t
	if t.Row == nil {
		out.Logged = make([]float64, len(rows))
		for i, r := range rows {
			out.Logged[i] = t.Logged[r]
		}
		return out
	}
	out.Row = func(dst []float64, i int) error { return t.Row(dst, rows[i]) }
	return out
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
	return want.Value != want.Value && v.Value != v.Value || close(v.Value, want.Value) && slices.EqualFunc(v.Influence, want.Influence, func(a, b float64) bool { return close(a*float64(d.N), b*float64(d.N)) })
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
		if p.Shard.Of != first.Shard.Of || p.Of != first.Of || p.ByFiles != first.ByFiles || !p.ByFiles && p.Whole != first.Whole || p.Delta != first.Delta {
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
	rows, groups, whole := 0, 0, first.Whole
	if first.ByFiles {
		whole = 0
		for _, p := range all {
			if p != nil {
				whole += p.Whole
			}
		}
	}
	for i, p := range all {
		switch {
		case p == nil:
			lost = append(lost, fmt.Sprintf("%d/%d", i+1, len(all)))
			continue
		case p.Rows == 0:
			continue
		case sum == nil:
			q := *p
			sum, q.Targets, q.Notes = &q, slices.Clone(p.Targets), slices.Clone(p.Notes)
			s, square = make([]kernel.Sum, len(p.Sum)), make([]kernel.Sum, len(p.Square))
		case len(p.Sum) != len(sum.Sum) || len(p.Targets) != len(sum.Targets):
			return none, fmt.Errorf("shards %s and %s have other estimates", sum.Shard, p.Shard)
		default:
			for j, t := range p.Targets {
				sum.Targets[j].Spread.add(t.Spread, whole)
			}
			for _, n := range p.Notes {
				if !slices.Contains(sum.Notes, n) {
					sum.Notes = append(sum.Notes, n)
				}
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
	case sum == nil || rows != whole:
		return none, fmt.Errorf("the shards have %d rows together, not %d: their logs differ", rows, whole)
	}
	for j := range sum.Targets { // that have more than are the largest of all
		if s := &sum.Targets[j].Spread; first.ByFiles {
			s.Top = top(s.Top, whole)
		}
	}
	if first.ByFiles {
		sum.Notes = append(sum.Notes, "shards have read their own files alone: rows that come twice, and groups, in files of two shards are counted twice")
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
		bad = bad || !is(t.Weight) || len(t.Spread.Top) == 0 || slices.ContainsFunc(t.Methods, func(e estimatePart) bool {
			return len(e.Terms) == 0 || slices.ContainsFunc(e.Terms, func(xy [2]int) bool { return !is(xy[0]) || !is(xy[1]) })
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

func (m moments) result(p Part, rows, groups int) (Result, error) {
	on := m.ratio([2]int{columnReward, columnOne})
	res := Result{Rows: rows, Groups: groups, Delta: p.Delta, Interval: Methods()[0].Name, Logging: m.gain(on, ratio{}), Missing: p.Missing, Notes: p.Notes, RewardMin: p.RewardMin, RewardMax: p.RewardMax}
	estimates := make([]map[string]ratio, len(p.Targets))
	for j, t := range p.Targets {
		w := m.gain(m.ratio([2]int{t.Weight, columnOne}), ratio{})
		q := Policy{Name: t.Name, MeanWeight: w.Value, MeanWeightSE: w.SE,
			Uncertified: "parts are merged without a guarantee: opl certify --any-time --shard gives one of a policy file, evaluate without --shard of any target"}
		estimates[j] = map[string]ratio{}
		for _, e := range t.Methods {
			v := m.ratio(e.Terms...)
			if math.IsNaN(v.value) {
				res.Missing = append(res.Missing, fmt.Sprintf("%s: it has no value for target %s", e.Name, t.Name))
				continue
			}
			q.Estimates = append(q.Estimates, Estimate{e.Name, e.Hyper, m.gain(v, ratio{}), m.gain(v, on), e.Biased, e.Model})
			if len(p.Targets) > 1 {
				estimates[j][e.Name] = v
			}
		}
		if t.Unread != "" {
			q.Warnings = append(q.Warnings, t.Unread)
		}
		t.Spread.say(&q, m.sum[columnOne], rows, groups)
		q.believe(on.value, p.Half, m.z, rows)
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
