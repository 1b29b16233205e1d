package ope

import (
	"fmt"
	"math"
	"slices"

	"opl/graph/kernel"
	"opl/objectives/weights"
	"opl/train/certify"
)

// Estimator is a way to estimate the value of a policy. It is a value: one's own
// stands in a list beside those of [Estimators], such as
//
//	ope.Estimator{Name: "short", About: "mean of min(w, 20) r", Biased: true,
//		Of: func(d *ope.Data, _ float64) ope.Value {
//			return d.Mean(func(i int) float64 { return min(d.W[i], 20) * d.R[i] })
//		}}
type Estimator struct {
	Name      string // as --estimators takes it
	About     string // its formula in one line, for helps
	Biased    bool   // its interval is one of its own expectation, not of the policy's value
	OnRequest bool   // not among those that [Default] keeps
	// reads Direct and Predicted: needs Options.Model or Learn, and targets whose probabilities of
	// all actions are known
	Model bool
	// a mean of rows in [0, max(1, M)] for weights in [0, M]: it has the intervals that ask for
	// bounds
	Bounded  bool
	ByLogger bool // reads Logger: needs a log that says which of its policies logged each row
	Balanced bool // reads Balanced: needs Options.Loggers
	// calls Marginal: needs actions that are described, with the propensities of all that is
	// offered
	Marginal bool
	Hyper    *Hyper // nil: no hyperparameter
	// Teach is the weight of a row of importance weight w and propensity π₀ in the regression of
	// a model of the reward that is learned for the estimator and the target, by Options.Learn; nil:
	// the model is that of all.
	Teach func(w, pi0 float64) float64
	// Of estimates the value from n rows; hyper is 0 where there is none. NaN says that
	// these rows give no value, and leaves the estimate out. The bootstrap calls it with other
	// Weights, and the same hyper.
	Of func(d *Data, hyper float64) Value

	check   func(hyper float64) error // more that must hold of it; nil: nothing
	assumes certify.Assumption        // of lists, see listEstimators; "": it is not of lists
	learns  bool                      // it is of lists, and reads a model
	adds    bool                      // it is of lists, and assumes no more than that their rewards add up over slots
	ratio   bool                      // it is of lists, and by the sum of the weights: what selections take
	direct  bool                      // it is of lists, and the model's word alone, without weights
}

// Hyper is a hyperparameter in (Low, High].
type Hyper struct {
	Default   func(d *Data) float64 // for these rows
	Low, High float64               // bounds of the domain (Low, High]
	// ByCount says that Default reads N and Delta alone: shards of the rows can take it for all rows.
	ByCount bool
}

// Estimators lists the estimators of opl in the order of tables.
func Estimators() []Estimator {
	return []Estimator{
		IPS(),
		SNIPS(),
		FromWeight("clip", "π/max(π₀, τ)", 0, weights.Clip),
		FromWeight("ix", "π/(π₀+γ)", 0, weights.IX),
		FromWeight("es", "π/π₀^α", 1, weights.ES),
		FromWeight("har", "w/((1−λ)w+λ), w = π/π₀", 1, weights.Har),
		SubGaussian(),
		LS(),
		DM(),
		DR(),
		SNDR(),
		SwitchDR(),
		DRos(),
		MRDR(),
		Balanced(),
		Weighted(),
		MIPS(),
	}
}

// Default keeps the estimators that are shown where none are asked for: those that are not
// OnRequest, and where the policies of the loggers are given, those that read them.
func Default(list []Estimator, loggers bool) []Estimator {
	return slices.DeleteFunc(slices.Clone(list), func(e Estimator) bool {
		return e.OnRequest &&
			!(loggers && e.ByLogger)
	})
}

// With returns the estimator with a hyperparameter in place of its default. It is an
// error where h is outside of its domain, or where the estimator has none.
func (e Estimator) With(h float64) (Estimator, error) {
	if e.Hyper == nil {
		return e, fmt.Errorf("%s has no hyperparameter", e.Name)
	}
	hyper := *e.Hyper
	hyper.Default, hyper.ByCount = func(*Data) float64 { return h }, true
	e.Hyper = &hyper
	_, err := e.hyper(nil)
	return e, err
}

// hyper is the hyperparameter for rows, 0 if there is none.
func (e Estimator) hyper(d *Data) (h float64, err error) {
	if e.Hyper != nil {
		if h = e.Hyper.Default(d); !(h > e.Hyper.Low && h <= e.Hyper.High) {
			return h, fmt.Errorf("%s=%v: want a number in (%v, %v]", e.Name, h, e.Hyper.Low, e.Hyper.High)
		}
	}
	if e.check != nil {
		err = e.check(h)
	}
	return h, err
}

// Data holds what an estimator reads about one target, as columns of n rows that it must
// not change.
type Data struct {
	N         int       // rows
	Delta     float64   // δ of the intervals
	R         []float64 // rewards r = −c in [0, 1]
	Pi0       []float64 // π₀(a_i|x_i) in (0, 1]
	Pi        []float64 // π(a_i|x_i) in [0, 1]
	W         []float64 // w = π/π₀, at most 1e100
	Direct    []float64 // Σ_a π(a|x_i) r̂(x_i, a), for estimators that need a Model
	Predicted []float64 // r̂(x_i, a_i), likewise
	Logger    []int32   // which policy logged the row, from 0, for estimators ByLogger
	Balanced  []float64 // π(a_i|x_i)/π̄(a_i|x_i), π̄ the mean policy of the rows' loggers, for Balanced ones
	// Marginal gives w(x_i, e_i), see [MIPS], for a number of classes of actions, for Marginal estimators.
	Marginal func(clusters int) []float64
	Weight   []float64 // ω ≥ 0 of rows, which Mean and Ratio take into account; nil: all 1

	rows  *sample
	lists *listed // that the rows are; nil: they are decisions of their own
}

// Value is an estimate with the influence of each row on it, u_i [n], from which
// come standard errors, gains and differences.
type Value struct {
	Value     float64   // the estimate
	Influence []float64 // of each row, u_i

	terms []term // whose sum it is; nil: it is made by other means
}

// term is Σω x/Σω y; y nil is 1.
type term struct{ x, y func(i int) float64 }

// Mean is Σω s/Σω, with u_i = ω_i(s_i − mean)/Σω.
func (d *Data) Mean(s func(i int) float64) Value {
	v := d.rows.mean(s)
	v.terms = []term{{s, nil}}
	return v
}

// SE returns the standard error of a value, from its influences by group.
func (d *Data) SE(v Value) float64 { return d.rows.se(v.Influence) }

// Ratio is Σω x/Σω y, with the influences of the delta method,
//
//	u_i = ω_i(x_i − ratio·y_i)/Σω y
//
// It is NaN where Σω y is 0.
func (d *Data) Ratio(x, y func(i int) float64) Value {
	u := make([]float64, d.N)
	var over, under kernel.Sum
	for i := range u {
		over.Add(d.rows.weight(i) * x(i))
		under.Add(d.rows.weight(i) * y(i))
	}
	above, below := over.Value(), under.Value()
	v := math.NaN()
	if below != 0 {
		v = above / below
		for i := range u {
			u[i] = d.rows.weight(i) * (x(i) - v*y(i)) / below
		}
	}
	return Value{v, u, []term{{x, y}}}
}

// Plus adds two values of the same rows, with their influences, so that the sum has a standard error, too.
func (v Value) Plus(w Value) Value {
	u := slices.Clone(v.Influence)
	for i := range u {
		u[i] += w.Influence[i]
	}
	out := Value{Value: v.Value + w.Value, Influence: u}
	if v.terms != nil && w.terms != nil {
		out.terms = slices.Concat(v.terms, w.terms)
	}
	return out
}
