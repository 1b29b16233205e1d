package graph_test

import (
	"errors"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
)

func TestRows_SlowFunctionsOfInputsAreComputedOnceARowOfTheLog(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		g := graph.New(dt)
		x, q := g.Input("x", 2, 2), graph.NewParam("q", dt, []float64{1, 1, 1, 1}, 2, 2)
		theta := g.Param(q)
		g.Input("lists", 4).Sqrt().Named("of more rows")
		x.AtLeast(0).Sqrt().Named("of an input")
		theta.Mul(x).Sqrt().Named("of a parameter")
		p, err := g.Compile(theta.Sum())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			rows             []int
			x, input, others []float64
		}{
			{nil, []float64{1, 4, 9, 16}, []float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}},
			{[]int{2, 0}, []float64{1, 4, 9, 16}, []float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}},
			{[]int{1, 2}, []float64{25, 36, 0, 0}, []float64{5, 6, 1, 2}, []float64{5, 6, 0, 0}}, // row 2 as it was
			{[]int{0, 1}, []float64{0, 0, 0, 0}, []float64{3, 4, 5, 6}, []float64{0, 0, 0, 0}},
		} {
			feed := func() error { return errors.Join(p.Feed("x", c.x), p.Feed("lists", c.x)) }
			if err := feed(); err != nil {
				t.Fatal(err)
			}
			if c.rows != nil {
				if err := p.Rows("log", c.rows, 3, feed); err != nil {
					t.Fatal(err)
				}
			}
			mustRun(t, p)
			for name, want := range map[string][]float64{"of an input": c.input, "of a parameter": c.others,
				"of more rows": c.others} {
				if got := p.Read(name); !slices.Equal(got, want) {
					t.Errorf("%v, rows %v: %s is %v, want %v", dt, c.rows, name, got, want)
				}
			}
		}
		if err := p.Rows("log", []int{0, 1}, 1<<22, func() error { return nil }); err != nil { // too many to be remembered
			t.Fatal(err)
		}
		mustRun(t, p)
		if got := p.Read("of an input"); !slices.Equal(got, make([]float64, 4)) {
			t.Errorf("%v: of a large log %v, want zeros", dt, got)
		}
	}
}
