package graph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel/simd"
)

// A program that reads rows where they lie has the bits of one that is fed in full, for dense and sparse ones, any number of threads,
// also when the kernels are turned off after the feeding; it reads no row again once it is fed in full, and refuses what it cannot read there.
func TestFeedRows_GivesTheBitsOfFullFeeding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 22))
	const d, n = 300, 40
	matrix := func(share float64) (rows [][]float32, all []float64) {
		for range n {
			row := make([]float32, d)
			for j := range row {
				if r.Float64() < share {
					row[j] = float32(r.NormFloat64())
				}
				all = append(all, float64(row[j]))
			}
			rows = append(rows, row)
		}
		return rows, all
	}
	// run computes cost and gradient of a program of the matrix, fed where it lies if it may be.
	run := func(dt tensor.Dtype, k, threads int, all []float64, rows [][]float32, off bool, more func(x, z graph.Expr) graph.Expr) ([]float64, bool) {
		t.Helper()
		r := rand.New(rand.NewPCG(2, 3))
		values := make([]float64, k*d)
		for i := range values {
			values[i] = r.NormFloat64()
		}
		w := graph.NewParam("w", dt, values, k, d)
		g := graph.New(dt)
		in := g.Input("x", n, d)
		z := in.MatMulT(g.Param(w)).Square()
		if more != nil {
			z = more(in, z)
		}
		p, err := g.Compile(z.Sum(), graph.Threads(threads))
		if err != nil {
			t.Fatal(err)
		}
		fed := rows != nil && p.FeedRows("x", func(i int) []float32 { return rows[i] })
		if !fed {
			if p.FeedRows("x", func(int) []float32 { return slices.Repeat([]float32{3}, d) }) { // another matrix before
				mustRun(t, p)
			}
			if err := p.Feed("x", all); err != nil {
				t.Fatal(err)
			}
		}
		if off {
			defer simd.Use(simd.Use(false))
		}
		mustRun(t, p)
		mustRun(t, p)
		return append(p.Gradient(w), p.Cost()), fed
	}
	for _, share := range []float64{1, .5, .1} {
		rows, all := matrix(share)
		for _, k := range []int{1, 2, 10, 17, 100, 256, 257} {
			for _, threads := range []int{1, 2, 3} {
				for _, off := range []bool{false, true} {
					want, _ := run(tensor.Float32, k, threads, all, nil, off, nil)
					got, fed := run(tensor.Float32, k, threads, all, rows, off, nil)
					thin := simd.Vector() && share < .3 && (k >= 64 || simd.Scatters())
					if can := thin || simd.ReadsRows() && k <= 256; fed != can || !slices.Equal(got, want) {
						t.Errorf("%v not 0, %d columns, %d threads, kernels turned off %v: fed where they lie %v, want %v; the same bits %v", share, k, threads, off, fed, can, slices.Equal(got, want))
					}
				}
			}
		}
	}
	rows, all := matrix(1)
	for name, f := range map[string]func() bool{
		"float64": func() bool { _, fed := run(tensor.Float64, 10, 1, all, rows, false, nil); return fed },
		"not in memory": func() bool {
			some := slices.Clone(rows)
			some[n-1] = nil
			_, fed := run(tensor.Float32, 10, 1, all, some, false, nil)
			return fed
		},
		"read elsewhere": func() bool {
			_, fed := run(tensor.Float32, 10, 1, all, rows, false, func(x, z graph.Expr) graph.Expr { return z.Sum().Add(x.Sum()) })
			return fed
		},
		"another product": func() bool {
			_, fed := run(tensor.Float32, 10, 1, all, rows, false, func(x, z graph.Expr) graph.Expr { return z.Sum().Add(x.MatMulT(x).Sum()) })
			return fed
		},
	} {
		t.Run(name, func(t *testing.T) {
			if f() {
				t.Errorf("%s: fed where they lie", name)
			}
		})
	}
}

// What a feeding that fails leaves is the full one before it, or nothing that a run would take for fed.
func TestFeed_ThatFailsLeavesNoPartOfIt(t *testing.T) {
	if !simd.Vector() {
		return
	}
	const n, d, k = 40, 300, 70
	w := graph.NewParam("w", tensor.Float32, slices.Repeat([]float64{.5}, k*d), k, d)
	g := graph.New(tensor.Float32)
	p, err := g.Compile(g.Input("x", n, d).MatMulT(g.Param(w)).Sum())
	if err != nil {
		t.Fatal(err)
	}
	few := func(_ int, val []float32, at []int32) int { val[0], at[0] = 1, 7; return 1 }
	many := func(_ int, val []float32, at []int32) int {
		for j := range val {
			val[j], at[j] = 1, int32(j)
		}
		return len(val)
	}
	sparse := slices.Repeat([]float32{0}, d)
	sparse[7] = 1
	upTo := func(end int) func(i int) []float32 { // rows from end on are nil
		return func(i int) []float32 {
			if i >= end {
				return nil
			}
			return sparse
		}
	}
	for name, again := range map[string]func() bool{
		"rows with few zeros": func() bool { return p.FeedSparse("x", many) },
		"no row in place":     func() bool { return p.FeedRows("x", upTo(0)) },
		"some rows in place":  func() bool { return p.FeedRows("x", upTo(n/2)) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, first := range []func() bool{func() bool { return p.FeedSparse("x", few) }, func() bool { return p.FeedRows("x", upTo(n)) }} {
				if !first() {
					t.Fatal("not fed")
				}
				mustRun(t, p)
				if again() {
					t.Fatalf("%s: fed", name)
				}
				if err := p.Run(); err == nil {
					t.Errorf("%s, after rows without their zeros: run as if fed", name)
				}
			}
			if err := p.Feed("x", slices.Repeat([]float64{2}, n*d)); err != nil {
				t.Fatal(err)
			}
			if again() {
				t.Fatalf("%s: fed", name)
			}
			if mustRun(t, p); p.Cost() != 2*.5*n*d*k {
				t.Errorf("%s, after a full feeding: %v, want %v", name, p.Cost(), 2*.5*n*d*k)
			}
		})
	}
}
