package graph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel/simd"
)

// A program that is fed without zeros has the bits of one that is fed in full, for any number of rows, columns of the
// product and threads, also when the kernels are turned off after the feeding; one that reads the zeros refuses.
func TestFeedSparse_GivesTheBitsOfFullFeeding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 21))
	const d = 70
	// run computes cost and gradient of a program of x, and reports whether x was fed without zeros.
	run := func(dt tensor.Dtype, rows, k, threads int, x []float32, sparse, off bool, more func(x, z graph.Expr) graph.Expr) ([]float64, bool) {
		t.Helper()
		r := rand.New(rand.NewPCG(2, 2))
		values := make([]float64, k*d)
		for i := range values {
			values[i] = r.NormFloat64()
		}
		w := graph.NewParam("w", dt, values, k, d)
		g := graph.New(dt)
		in := g.Input("x", rows, d)
		z := in.MatMulT(g.Param(w)).Square()
		if more != nil {
			z = more(in, z)
		}
		p, err := g.Compile(z.Sum(), graph.Threads(threads))
		if err != nil {
			t.Fatal(err)
		}
		full := make([]float64, len(x))
		for i, v := range x {
			full[i] = float64(v)
		}
		if err := p.Feed("x", make([]float64, len(x))); err != nil { // another matrix before
			t.Fatal(err)
		}
		fed := sparse && p.FeedSparse("x", func(i int, val []float32, at []int32) (n int) {
			for j, v := range x[i*d : (i+1)*d] {
				if v != 0 {
					val[n], at[n] = v, int32(j)
					n++
				}
			}
			return n
		})
		if !fed {
			if p.FeedSparse("x", func(i int, val []float32, at []int32) int { val[0], at[0] = 3, int32(i%d); return 1 }) { // another matrix before
				mustRun(t, p)
			}
			if err := p.Feed("x", full); err != nil {
				t.Fatal(err)
			}
		}
		if off {
			defer simd.Use(simd.Use(false))
		}
		mustRun(t, p)
		mustRun(t, p) // again, of the same rows
		return append(p.Gradient(w), p.Cost()), fed
	}
	matrix := func(rows int, share float64) []float32 {
		x := make([]float32, rows*d)
		for i := range x {
			if r.Float64() < share {
				x[i] = float32(r.NormFloat64())
			}
		}
		return x
	}
	can := simd.Scatters() // of any number of columns
	for _, rows := range []int{1, 16, 17, 900} {
		x := matrix(rows, .1)
		for _, k := range []int{1, 10, 63, 64, 100, 300} {
			for _, threads := range []int{1, 2, 3} {
				want, _ := run(tensor.Float32, rows, k, threads, x, false, false, nil)
				got, fed := run(tensor.Float32, rows, k, threads, x, true, false, nil)
				if can && !fed || !slices.Equal(got, want) {
					t.Errorf("%d rows, %d columns, %d threads: fed without zeros: %v; not the same bits", rows, k, threads, fed)
				}
			}
		}
		want, _ := run(tensor.Float32, rows, 10, 2, x, false, true, nil)
		if got, _ := run(tensor.Float32, rows, 10, 2, x, true, true, nil); !slices.Equal(got, want) {
			t.Errorf("%d rows: other bits when the kernels are turned off between", rows)
		}
	}
	x := matrix(20, .1)
	for name, f := range map[string]func() bool{
		"float64": func() bool { _, fed := run(tensor.Float64, 20, 10, 1, x, true, false, nil); return fed },
		"dense":   func() bool { _, fed := run(tensor.Float32, 20, 10, 1, matrix(20, .5), true, false, nil); return fed },
		"read elsewhere": func() bool {
			_, fed := run(tensor.Float32, 20, 10, 1, x, true, false, func(x, z graph.Expr) graph.Expr { return z.Sum().Add(x.Sum()) })
			return fed
		},
		"on both sides": func() bool {
			_, fed := run(tensor.Float32, 20, 10, 1, x, true, false, func(x, z graph.Expr) graph.Expr { return z.Sum().Add(x.MatMulT(x).Sum()) })
			return fed
		},
	} {
		t.Run(name, func(t *testing.T) {
			if f() {
				t.Errorf("%s: fed without zeros", name)
			}
		})
	}
}
