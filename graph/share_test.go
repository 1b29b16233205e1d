package graph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
)

// Programs that share inputs and take turns compute what each computes with inputs of its own, also where one needs in
// full what another reads without zeros.
func TestShare_ChangesNoResult(t *testing.T) {
	alone := func(_, _ graph.Expr, s func() graph.Expr) graph.Expr { return s().Softmax().Square().Mean() }
	noisy := func(_, e graph.Expr, s func() graph.Expr) graph.Expr { return s().Add(e).Softmax().Mul(e).Mean() }
	both := func(x, e graph.Expr, s func() graph.Expr) graph.Expr { return s().Mul(e).Mean().Add(x.Square().Mean()) }
	elements := func(x, e graph.Expr, _ func() graph.Expr) graph.Expr { return x.Square().Mean().Add(e.Square().Mean()) }
	for i, formulas := range [][]costOf{{alone, noisy, both, alone}, {elements, noisy, alone, both},
		{noisy, noisy, alone}} {
		want, got := takeTurns(t, nil, formulas), takeTurns(t, &graph.Inputs{}, formulas)
		for k := range want {
			if !slices.Equal(got[k], want[k]) {
				t.Fatalf("%d: run %d gives %v, with inputs of its own %v", i, k, got[k], want[k])
			}
		}
	}
}

// costOf is a cost of contexts, noise and scores.
type costOf func(x, e graph.Expr, s func() graph.Expr) graph.Expr

// takeTurns runs programs on minibatches, another program from every third step on, and returns their costs and gradients.
func takeTurns(t *testing.T, shared *graph.Inputs, formulas []costOf) (all [][]float64) {
	const rows, cols, log = 24, 70, 96
	rng := rand.New(rand.NewPCG(3, 4))
	x, values := make([]float64, log*cols), make([]float64, 3*cols)
	for i := range x {
		if rng.Float64() < .2 {
			x[i] = rng.NormFloat64()
		}
	}
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	var programs []*graph.Program
	var params []*graph.Param
	var sources []*rand.PCG
	common := rand.NewPCG(1, 2)
	for step := range 15 {
		fed, source := rng.Perm(log)[:rows], *common
		for k := 0; k < len(formulas) && k <= step/3; k++ {
			if k == len(programs) { // while the others have been fed
				g := graph.New(tensor.Float32)
				g.Share(shared)
				q := graph.NewParam("theta", tensor.Float32, values, 3, cols)
				in := g.Input("x", rows, cols)
				noise := g.NoiseOf("gaussian", "noise", graph.Gaussian, nil, rows, 3)
				p, err := g.Compile(formulas[k](in, noise, func() graph.Expr { return in.MatMulT(g.Param(q)) }))
				if err != nil {
					t.Fatal(err)
				}
				of := source
				programs, params, sources = append(programs, p), append(params, q), append(sources, &of)
			}
			p := programs[k]
			err := p.Rows("log", fed, log, func() error {
				if p.FeedSparse("x", func(i int, val []float32, columns []int32) (n int) {
					for j, v := range x[fed[i]*cols : (fed[i]+1)*cols] {
						if v != 0 {
							val[n], columns[n] = float32(v), int32(j)
							n++
						}
					}
					return n
				}) {
					return nil
				}
				var dense []float64
				for _, r := range fed {
					dense = append(dense, x[r*cols:(r+1)*cols]...)
				}
				return p.Feed("x", dense)
			})
			if err != nil {
				t.Fatal(err)
			}
			if p.Has("noise") {
				p.RefillFrom(sources[k])
				*common = *sources[k]
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			all = append(all, append(p.Gradient(params[k]), p.Cost()))
			switch { // what the next program must not take for its own
			case step == 5 && p.Has("noise"):
				err = p.Feed("noise", make([]float64, 3*rows))
			case step == 7:
				err = p.Feed("x", make([]float64, rows*cols))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}
