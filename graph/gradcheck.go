package graph

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/tensor"
)

// GradReport is the worst disagreement that GradCheck found.
type GradReport struct {
	Error    float64 // |symbolic − numeric| / max(1, largest gradient entry)
	Param    string  // name of the parameter with the worst entry
	Index    []int   // of the entry in the parameter
	Symbolic float64 // derivative by the graph
	Numeric  float64 // derivative by central differences
	Checked  int     // entries compared
}

func (r GradReport) String() string {
	return fmt.Sprintf("worst error %.2g at %s%v: symbolic %.10g, numeric %.10g (%d entries)",
		r.Error, r.Param, r.Index, r.Symbolic, r.Numeric, r.Checked)
}

// GradCheck compares the symbolic gradient of p with central differences
//
//	(f(x + h) − f(x − h)) / 2h,   h = 6e-6·max(1, |x|),
//
// one parameter entry at a time (at most the given number of entries of each
// parameter, spread evenly; 0: all). Feed the inputs and fill the noise before:
// neither is changed in between, and what [Expr.StopGradient] holds is kept at
// its value, as the symbolic gradient has it. Use float64: float32 has too few
// digits to tell. The parameters are as before when it returns.
//
// The error is relative to the largest entry of the gradient, or to 1 where
// that is smaller. Rounding alone gives 1e-9 or so; a wrong derivative gives
// more than 1e-5 unless it is wrong by little. At a kink (|x| at 0, a clipped
// value at its bound) the two differ rightly.
func GradCheck(p *Program, entries int) (GradReport, error) {
	var r GradReport
	if p.g.dt != tensor.Float64 {
		return r, errors.New("graph: GradCheck needs a graph of float64")
	}
	if p.grads == nil {
		return r, errors.New("graph: GradCheck of a program without gradients")
	}
	if err := p.Run(); err != nil {
		return r, err
	}
	symbolic := make([][]float64, len(p.g.params))
	scale := 1.0
	for i, q := range p.g.params {
		symbolic[i] = floats(p.Grad(q.p))
		for _, d := range symbolic[i] {
			scale = math.Max(scale, math.Abs(d))
		}
	}
	p.g.frozen = true
	defer func() { p.g.frozen = false }()
	for i, q := range p.g.params {
		x := elems[float64](q.p.Value)
		step := 1
		if entries > 0 {
			step = (len(x) + entries - 1) / entries
		}
		for j := 0; j < len(x); j += step {
			at := x[j]
			h := 6e-6 * math.Max(1, math.Abs(at))
			x[j] = at + h
			above, err := p.value()
			if err == nil {
				x[j] = at - h
				var below float64
				below, err = p.value()
				numeric := (above - below) / (2 * h)
				e := math.Abs(symbolic[i][j]-numeric) / scale
				r.Checked++
				if r.Checked == 1 || e > r.Error || math.IsNaN(e) {
					r.Error, r.Param, r.Index = e, q.p.Name, unravel(j, q.p)
					r.Symbolic, r.Numeric = symbolic[i][j], numeric
				}
			}
			x[j] = at
			if err != nil {
				return r, fmt.Errorf("graph: %s%v: %w", q.p.Name, unravel(j, q.p), err)
			}
		}
	}
	p.g.frozen = false
	return r, p.Run()
}

func (p *Program) value() (float64, error) {
	err := p.Run()
	return p.Cost(), err
}

// unravel turns the position of an element into its index along each axis.
func unravel(i int, p *Param) []int {
	if p.scalar {
		return []int{}
	}
	s := p.Value.Shape()
	index := make([]int, len(s))
	for k := len(s) - 1; k >= 0; k-- {
		index[k] = i % s[k]
		i /= s[k]
	}
	return index
}
