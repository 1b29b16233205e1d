// Package bench measures estimators of package ope on classification data turned into logs, where
// what a policy earns is known. Use it to judge an estimator before you believe it on a log.
//
// Classes are actions, and the reward of an action is 1 for the right class, flipped with
// probability Noise. On one half of the training set a linear classifier A is learned, on the other
// B, on images averaged over at most 8×8 fields. The target plays argmax A with probability .95,
// else uniformly; B makes the logging policies ([Loggings]). The population is the test set: a log
// is n images drawn from it with replacement, with an action of the logging policy each. So the
// value
//
//	V = mean over the population of Σ_a π(a|x) E[r|x, a]
//
// is a sum, and the error v − V of an estimate is known. Dudík et al. (2011) and Su et al. (2020) do alike.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"opl/graph/kernel/workers"
	"opl/policies/propensity"
	"opl/train/dataset"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/regress"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Logging is a logging policy: Greedy is the probability of argmax B, Wrong that of the class after it, and the
// rest is uniform.
type Logging struct {
	Name, About   string
	Greedy, Wrong float64
}

// Loggings lists the logging policies, from much overlap with the target to little.
func Loggings() []Logging {
	return []Logging{
		{Name: "near", About: "argmax B with probability .6, else uniform", Greedy: .6},
		{Name: "uniform", About: "all actions alike"},
		{Name: "far", About: "the class after argmax B with probability .8, else uniform", Wrong: .8},
	}
}

// Options says what is measured. The zero value is useful.
type Options struct {
	Estimators []ope.Estimator // nil: those that [ope.Default] keeps
	Loggings   []Logging       // nil: all
	Rows       []int           // n of logs; nil: 250, 1,000 and 4,000
	Seeds      int             // logs of each logging policy and n; 0: 100
	Seed       uint64          // of the first
	Noise      float64         // in [0, 1/2), share of rewards that are flipped
	Delta      float64         // intervals are at level 1 − δ; 0: 0.05
	Interval   string          // one of [ope.Methods]; "": the first
	Model      ope.RewardModel // r̂; nil Learn: the first of [ope.RewardModels]
	Threads    int             // 0: 1; the result is the same for any number
}

// Measured holds a number with its standard error over seeds.
type Measured struct {
	Value float64 `json:"value"`
	SE    float64 `json:"se"`
}

// Cell holds what was measured of an estimator on logs of one logging policy and number of rows.
type Cell struct {
	Logging   string    `json:"logging"`
	Rows      int       `json:"rows"`
	Estimator string    `json:"estimator"`
	Biased    bool      `json:"biased,omitempty"`
	Logs      int       `json:"logs"` // in which it has a value
	Bias      Measured  `json:"bias"` // mean of v − V
	Variance  Measured  `json:"variance"`
	MSE       Measured  `json:"mse"`      // mean of (v − V)²
	Coverage  Measured  `json:"coverage"` // share of intervals that hold V
	Half      float64   `json:"half_width"`
	Errors    []float64 `json:"-"` // v − V by log, NaN where there is none: those of a log are of the same rows
}

// Result is a table of cells, those of a logging policy and a number of rows next to each other.
type Result struct {
	Data       string   `json:"data"`
	Actions    int      `json:"actions"`
	Population int      `json:"population"`
	Value      float64  `json:"value"` // V
	Seeds      int      `json:"seeds"`
	Seed       uint64   `json:"seed"`
	Noise      float64  `json:"noise"`
	Delta      float64  `json:"delta"`
	Interval   string   `json:"interval"`
	Model      string   `json:"reward_model"`
	Logged     []Logged `json:"logged"`
	Cells      []Cell   `json:"cells"`
	Missing    []string `json:"missing,omitempty"` // estimators left out, and why
}

// Logged describes the logs of a logging policy.
type Logged struct {
	Logging string  `json:"logging"`
	Value   float64 `json:"value"` // of the logging policy
	ESS     float64 `json:"ess"`   // effective share of rows, 1/E w²
}

// world is a population with a target.
type world struct {
	x      logs.Rows64
	label  []int
	k      int
	target []float64 // [n×k]
	b      []int     // argmax B
	noise  float64
	value  float64
}

// Run measures estimators on logs whose truth is known. Errors: numbers outside of their domains,
// data of fewer than 20 training examples, those of [ope.Evaluate], and that of ctx.
func Run(ctx context.Context, data *dataset.Data, o Options) (Result, error) {
	if o.Estimators == nil {
		o.Estimators = ope.Default(ope.Estimators(), false)
	}
	if o.Loggings == nil {
		o.Loggings = Loggings()
	}
	if o.Rows == nil {
		o.Rows = []int{250, 1000, 4000}
	}
	if o.Model.Learn == nil {
		o.Model = ope.RewardModels()[0]
	}
	o.Seeds, o.Threads = cmp.Or(o.Seeds, 100), max(1, o.Threads)
	o.Delta, o.Interval = cmp.Or(o.Delta, 0.05), cmp.Or(o.Interval, ope.Methods()[0].Name)
	switch {
	case o.Seeds < 2:
		return Result{}, fmt.Errorf("bench: %d seeds, want at least 2", o.Seeds)
	case !(o.Noise >= 0 && o.Noise < 0.5):
		return Result{}, fmt.Errorf("bench: a share of %v of rewards that are flipped, want a number in [0, 1/2)",
			o.Noise)
	case slices.Min(o.Rows) < 20:
		return Result{}, fmt.Errorf("bench: logs of %d rows, want at least 20", slices.Min(o.Rows))
	case data.Train.Len() < 20:
		return Result{}, fmt.Errorf("bench: %d training examples, want at least 20", data.Train.Len())
	}
	w, err := newWorld(ctx, data, o.Noise)
	if err != nil {
		return Result{}, err
	}
	r := Result{Data: data.Name, Actions: w.k, Population: len(w.label), Value: w.value, Seeds: o.Seeds,
		Seed: o.Seed, Noise: o.Noise, Delta: o.Delta, Interval: o.Interval, Model: o.Model.Name}
	for _, l := range o.Loggings {
		r.Logged = append(r.Logged, w.logged(l))
		for _, n := range o.Rows {
			results, errs := make([]ope.Result, o.Seeds), make([]error, o.Seeds)
			workers.Do(o.Threads, o.Seeds, func(_, s int) {
				if ctx.Err() == nil {
					results[s], errs[s] = w.trial(l, n, o.Seed+uint64(s), o)
				}
			})
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			if err := cmp.Or(errs...); err != nil {
				return Result{}, fmt.Errorf("logging policy %s, %d rows: %w", l.Name, n, err)
			}
			for _, e := range o.Estimators {
				if c := measure(results, e, w.value); c.Logs > 1 {
					c.Logging, c.Rows = l.Name, n
					r.Cells = append(r.Cells, c)
				}
			}
			for _, m := range results[0].Missing {
				if !slices.Contains(r.Missing, m) {
					r.Missing = append(r.Missing, m)
				}
			}
		}
	}
	return r, nil
}

// measure gathers an estimator's errors.
func measure(results []ope.Result, e ope.Estimator, value float64) Cell {
	c := Cell{Estimator: e.Name, Biased: e.Biased}
	var covered, half []float64
	for _, r := range results {
		v, in := math.NaN(), 0.
		for _, x := range r.Policies[0].Estimates {
			if x.Estimator == e.Name {
				if v = x.Value - value; x.Low <= value && value <= x.High {
					in = 1
				}
				covered, half = append(covered, in), append(half, (x.High-x.Low)/2)
			}
		}
		c.Errors = append(c.Errors, v)
	}
	known := slices.DeleteFunc(slices.Clone(c.Errors), math.IsNaN)
	if c.Logs = len(known); c.Logs < 2 {
		return c
	}
	c.Bias = average(known, func(v float64) float64 { return v })
	n := float64(c.Logs)
	c.Variance = average(known,
		func(v float64) float64 { return (v - c.Bias.Value) * (v - c.Bias.Value) * n / (n - 1) })
	c.MSE = average(known, func(v float64) float64 { return v * v })
	c.Coverage = average(covered, func(v float64) float64 { return v })
	share := (c.Coverage.Value*n + 2) / (n + 4) // Agresti & Coull (1998): not 0 where all or none are covered
	c.Coverage.SE = math.Sqrt(share * (1 - share) / (n + 4))
	c.Half = average(half, func(v float64) float64 { return v }).Value
	return c
}

// average is a mean with its standard error.
func average(xs []float64, of func(v float64) float64) Measured {
	values := make([]float64, len(xs))
	for i, x := range xs {
		values[i] = of(x)
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	return Measured{mean, stat.StdErr(deviation, float64(len(xs)))}
}

// trial evaluates the target on one log.
func (w *world) trial(l Logging, n int, seed uint64, o Options) (ope.Result, error) {
	r := rand.New(rand.NewPCG(seed, 0xbe7c4+uint64(n)<<20))
	log := &logs.Log{Actions: logs.Numbered(w.k), X: w.x, Propensities: make([]float64, n*w.k)}
	for i := range n {
		x := r.IntN(len(w.label))
		pi0 := log.Propensities[i*w.k : (i+1)*w.k]
		w.logging(l, x, pi0)
		a := propensity.Draw(pi0, r)
		c := 0.
		if (a == w.label[x]) != (r.Float64() < w.noise) {
			c = -1
		}
		log.Rows, log.Action, log.Cost, log.Propensity = append(log.Rows, x), append(log.Action, int32(a)),
			append(log.Cost, c), append(log.Propensity, pi0[a])
	}
	target := ope.Target{Name: "target", Origin: provenance.FixedBefore(), Row: func(dst []float64, i int) error {
		copy(dst[:w.k], w.target[log.Rows[i]*w.k:])
		return nil
	}}
	return ope.Evaluate(log, []ope.Target{target}, ope.Options{Delta: o.Delta, Estimators: o.Estimators,
		Interval: o.Interval, Seed: seed, EstimatesAlone: true,
		Learn: func(weight []float64) (ope.Model, error) {
			return o.Model.Learn(log, ope.ModelOptions{Seed: seed, Weight: weight})
		}})
}

// logging writes π₀(·|x) of an example of the population.
func (w *world) logging(l Logging, x int, dst []float64) {
	for a := range dst {
		dst[a] = (1 - l.Greedy - l.Wrong) / float64(w.k)
	}
	dst[w.b[x]] += l.Greedy
	dst[(w.b[x]+1)%w.k] += l.Wrong
}

// logged is what logs of a logging policy are like.
func (w *world) logged(l Logging) Logged {
	out, square, pi0 := Logged{Logging: l.Name}, 0., make([]float64, w.k)
	n := float64(len(w.label))
	for x, y := range w.label {
		w.logging(l, x, pi0)
		for a, p := range pi0 {
			t := w.target[x*w.k+a]
			square += t * t / p / n
		}
		out.Value += (pi0[y]*(1-w.noise) + (1-pi0[y])*w.noise) / n
	}
	out.ESS = 1 / square
	return out
}

// newWorld learns the classifiers.
func newWorld(ctx context.Context, data *dataset.Data, noise float64) (*world, error) {
	half := data.Train.Len() / 2
	w := &world{k: data.Classes, noise: noise}
	w.x = pooled(data, data.Test)
	train := pooled(data, data.Train)
	n, k := data.Test.Len(), w.k
	w.target, w.b = make([]float64, n*k), make([]int, n)
	for part := range 2 {
		theta, err := classifier(ctx, train, data.Train.Labels, part*half, part*half+min(half, most), k)
		if err != nil {
			return nil, err
		}
		logs.Scores(w.x, nil, theta, k, func(i int, s []float64) {
			at := floats.MaxIdx(s)
			if part == 1 {
				w.b[i] = at
				return
			}
			for a := range k {
				w.target[i*k+a] = .05 / float64(k)
			}
			w.target[i*k+at] += .95
		})
	}
	for i, y := range data.Test.Labels {
		w.label = append(w.label, int(y))
		p := w.target[i*k+int(y)]
		w.value += (p*(1-noise) + (1-p)*noise) / float64(n)
	}
	return w, nil
}

const (
	most  = 5000 // examples that teach a classifier
	side  = 8    // of what images are averaged to
	ridge = 1e-3
)

// pooled are images averaged over at most 8×8 fields, of norm 1, and 1 for the intercept.
func pooled(data *dataset.Data, s *dataset.Set) logs.Rows64 {
	high, wide := min(side, data.ImageRows), min(side, data.ImageCols)
	d := high*wide + 1
	out := logs.Rows64{Width: d, Data: make([]float64, s.Len()*d)}
	x := make([]float64, s.Dim())
	for i := range s.Len() {
		s.Row64(i, x)
		row := out.Data[i*d : (i+1)*d]
		for j, v := range x {
			row[j/data.ImageCols*high/data.ImageRows*wide+j%data.ImageCols*wide/data.ImageCols] += v
		}
		norm := 0.
		for _, v := range row {
			norm += v * v
		}
		if norm > 0 {
			for j := range row {
				row[j] /= math.Sqrt(norm)
			}
		}
		row[d-1] = 1
	}
	return out
}

// classifier is θ [k×d] of a multinomial logistic regression on some examples.
func classifier(ctx context.Context, x logs.Rows64, labels []uint8, from, to, k int) ([]float64, error) {
	some := regress.Matrix{Width: x.Width, Data: x.Data[from*x.Width : to*x.Width]}
	return regress.Multinomial(ctx, some, labels[from:to], k,
		regress.Options{Penalties: []float64{ridge * float64(to-from)}, Threads: runtime.GOMAXPROCS(0)})
}
