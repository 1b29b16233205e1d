package ope

import (
	"fmt"
	"math"

	"opl/graph/kernel"
	"opl/objectives/weights"
)

// Estimator is a way to estimate the value of a policy. It is a value: one's own
// stands in a list beside those of [Estimators], such as
//
//	ope.Estimator{Name: "short", About: "mean of min(w, 20) r", Biased: true,
//		Of: func(d *ope.Data, _ float64) ope.Value {
//			return d.Mean(func(i int) float64 { return min(d.W[i], 20) * d.R[i] })
//		}}
type Estimator struct {
	Name   string
	About  string // its formula in one line, for helps
	Biased bool   // its interval is one of its own expectation, not of the policy's value
	Model  bool   // reads Direct and Predicted: needs Options.Model, and targets whose probabilities of all actions are known
	Hyper  *Hyper // nil: no hyperparameter
	// Of estimates the value from n rows; hyper is 0 where there is none. NaN says that
	// these rows give no value, and leaves the estimate out.
	Of func(d *Data, hyper float64) Value

	check func(hyper float64) error // more that must hold of it; nil: nothing
}

// Hyper is a hyperparameter in (Low, High].
type Hyper struct {
	Default   func(n int) float64 // for n rows
	Low, High float64
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
		LS(),
		DM(),
		DR(),
	}
}

// With returns the estimator with a hyperparameter in place of its default. It is an
// error where h is outside of its domain, or where the estimator has none.
func (e Estimator) With(h float64) (Estimator, error) {
	if e.Hyper == nil {
		return e, fmt.Errorf("%s has no hyperparameter", e.Name)
	}
	hyper := *e.Hyper
	hyper.Default = func(int) float64 { return h }
	e.Hyper = &hyper
	_, err := e.hyper(0)
	return e, err
}

// hyper is the hyperparameter for n rows, 0 if there is none.
func (e Estimator) hyper(n int) (h float64, err error) {
	if e.Hyper != nil {
		if h = e.Hyper.Default(n); !(h > e.Hyper.Low && h <= e.Hyper.High) {
			return h, fmt.Errorf("%s=%v: want a number in (%v, %v]", e.Name, h, e.Hyper.Low, e.Hyper.High)
		}
	}
	if e.check != nil {
		err = e.check(h)
	}
	return h, err
}

// Data is what an estimator reads of one target, as columns of n rows that it must
// not change.
type Data struct {
	N         int
	R         []float64 // rewards r = −c in [0, 1]
	Pi0       []float64 // π₀(a_i|x_i) in (0, 1]
	Pi        []float64 // π(a_i|x_i) in [0, 1]
	W         []float64 // w = π/π₀, at most 1e100
	Direct    []float64 // Σ_a π(a|x_i) r̂(x_i, a), for estimators that need a Model
	Predicted []float64 // r̂(x_i, a_i), likewise
	Weight    []float64 // ω ≥ 0 of rows, which Mean and Ratio take into account; nil: all 1

	rows *sample
}

// Value is an estimate with the influence of each row on it, u_i [n], from which
// come standard errors, gains and differences.
type Value struct {
	Value     float64
	Influence []float64
}

// Mean is Σω s/Σω, with u_i = ω_i(s_i − mean)/Σω.
func (d *Data) Mean(s func(i int) float64) Value {
	v := d.rows.mean(s)
	if d.rows.note != nil {
		d.rows.note(s, nil, v)
	}
	return v
}

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
	if d.rows.note != nil {
		d.rows.note(x, y, Value{v, u})
	}
	return Value{v, u}
}
