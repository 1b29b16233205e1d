package train

import (
	"cmp"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
)

// Adam updates parameters by the method of Kingma & Ba (2015), with the weight
// decay wd coupled into the gradient:
//
//	g ← g + wd·x
//	m ← β₁m + (1−β₁)g,   v ← β₂v + (1−β₂)g²
//	x ← x − lr·m/(1−β₁ᵗ) / (√(v/(1−β₂ᵗ)) + ε)
//
// or decoupled from it (AdamW, Loshchilov & Hutter 2019): x ← (1 − lr·wd)·x first, and wd = 0 then.
//
// The bias corrections are computed in float64 whatever the element type, which
// Gorgonia's own AdamSolver does not do. It is a gorgonia.Solver. The zero value
// is ready for use but for the learning rate; keep the order of the parameters
// from step to step.
type Adam struct {
	LearningRate float64 // lr; may be changed between steps
	Beta1, Beta2 float64 // 0 means 0.9 and 0.999
	Epsilon      float64 // 0 means 1e-8
	WeightDecay  float64 // wd
	Decoupled    bool    // weight decay is decoupled (AdamW)
	// Rates are factors of the learning rate of single parameters, by their
	// place; missing ones are 1.
	Rates []float64
	// Threads is how many threads a step of many parameters may use; 0: one. The
	// result is the same for any number.
	Threads int

	steps   int
	moments []gorgonia.Value // m and v of each parameter, next to each other
}

// Step updates each value by its gradient.
func (a *Adam) Step(model []gorgonia.ValueGrad) error {
	a.Beta1, a.Beta2, a.Epsilon = cmp.Or(a.Beta1, 0.9), cmp.Or(a.Beta2, 0.999), cmp.Or(a.Epsilon, 1e-8)
	a.steps++
	for i, p := range model {
		g, err := p.Grad()
		if err != nil {
			return err
		}
		x, ok := p.Value().(*tensor.Dense)
		d, ok2 := g.(*tensor.Dense)
		if !ok || !ok2 {
			return fmt.Errorf("train: Adam wants dense tensors, not %T with gradient %T", p.Value(), g)
		}
		a.update(i, x, d)
	}
	return nil
}

// Step updates the parameters of a program, in the order in which its graph
// declares them, by the gradients of its last run.
func Step(s gorgonia.Solver, p *graph.Program) error { return stepOf(s, p, p.Params()) }

// stepOf is Step with an order of its own.
func stepOf(s gorgonia.Solver, p *graph.Program, params []*graph.Param) error {
	model := make([]gorgonia.ValueGrad, len(params))
	for i, q := range params {
		model[i] = valueGrad{q.Value, p.Grad(q)}
	}
	return s.Step(model)
}

// valueGrad is a parameter and its gradient, as solvers of Gorgonia take them.
type valueGrad struct{ x, grad *tensor.Dense }

func (v valueGrad) Value() gorgonia.Value         { return v.x }
func (v valueGrad) Grad() (gorgonia.Value, error) { return v.grad, nil }

func (a *Adam) update(i int, x, g *tensor.Dense) {
	for len(a.moments) <= 2*i+1 {
		a.moments = append(a.moments, tensor.New(tensor.Of(x.Dtype()), tensor.WithShape(x.Shape()...)))
	}
	m, v := a.moments[2*i].(*tensor.Dense), a.moments[2*i+1].(*tensor.Dense)
	lr := a.LearningRate
	if i < len(a.Rates) {
		lr *= a.Rates[i]
	}
	decay := a.WeightDecay
	if a.Decoupled {
		if k := 1 - lr*decay; x.Dtype() == tensor.Float64 {
			simd.Affine(x.Float64s(), x.Float64s(), k, 0)
		} else {
			simd.Affine(x.Float32s(), x.Float32s(), float32(k), 0)
		}
		decay = 0
	}
	t := float64(a.steps)
	c1, c2 := 1-math.Pow(a.Beta1, t), 1-math.Pow(a.Beta2, t)
	rate, root := lr/c1, 1/math.Sqrt(c2)
	if x.Dtype() == tensor.Float64 {
		a.update64(decay, rate, root, x.Float64s(), g.Float64s(), m.Float64s(), v.Float64s())
	} else {
		a.update32(decay, rate, root, x.Float32s(), g.Float32s(), m.Float32s(), v.Float32s())
	}
}

func (a *Adam) update64(decay, rate, root float64, x, g, m, v []float64) {
	g, m, v = g[:len(x)], m[:len(x)], v[:len(x)]
	for i := range x {
		d := unless(g[i]+decay*x[i], 0x1p-960)
		m[i] = unless(a.Beta1*m[i]+(1-a.Beta1)*d, 0x1p-960)
		d = unless(d, 0x1p-480)
		v[i] = unless(a.Beta2*v[i]+(1-a.Beta2)*d*d, 0x1p-980)
		x[i] -= rate * m[i] / (math.Sqrt(v[i])*root + a.Epsilon)
	}
}

// unless returns x, 0 if |x| is below least: moments of what has no gradient any more do not end as
// subnormal numbers, see [simd.Adam32].
func unless(x, least float64) float64 {
	if x > -least && x < least {
		return 0
	}
	return x
}

func (a *Adam) update32(decay, rate, root float64, x, g, m, v []float32) {
	s := simd.AdamStep{
		Beta1: float32(a.Beta1), Beta2: float32(a.Beta2), Rest1: float32(1 - a.Beta1), Rest2: float32(1 - a.Beta2),
		Decay: float32(decay), Rate: float32(rate), Root: float32(root), Epsilon: float32(a.Epsilon),
	}
	workers.Do(max(1, a.Threads), (len(x)+adamElements-1)/adamElements, func(_, part int) {
		i, j := part*adamElements, min(len(x), (part+1)*adamElements)
		simd.Adam32(s, x[i:j], g[i:j], m[i:j], v[i:j])
	})
}

// adamElements is how many parameters a thread updates at a time.
const adamElements = 1 << 13
