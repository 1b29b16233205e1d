package graph_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
)

// Dropout is 0 at its rate and has mean 1, in both element types; its gradient is right with
// the noise frozen, and the draws follow the seed.
func TestDropout_ZeroesAtItsRateAndKeepsTheMean(t *testing.T) {
	for _, dt := range dtypes {
		for _, rate := range []float64{0.01, 0.3, 0.5, 0.9} {
			const n = 40_000
			build := func() *graph.Program {
				g := graph.New(dt)
				x := g.Param(graph.NewParam("x", dt, slices.Repeat([]float64{1}, n), n/4, 4))
				p, err := g.Compile(x.Dropout("mask", rate).Named("y").Square().Sum())
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			p := build()
			run := func(seed uint64) []float64 {
				p.Refill(rand.New(rand.NewPCG(seed, 0)))
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				return p.Read("y")
			}
			y := run(1)
			zeros, mean := 0, 0.0
			for _, v := range y {
				if v == 0 {
					zeros++
				}
				mean += v / n
			}
			if z := (float64(zeros)/n - rate) / math.Sqrt(rate*(1-rate)/n); math.Abs(z) > 4 {
				t.Errorf("%v: %d of %d are 0 at rate %v", dt, zeros, n, rate)
			}
			if z := (mean - 1) / math.Sqrt(rate/(1-rate)/n); math.Abs(z) > 4 {
				t.Errorf("%v: mean %v at rate %v", dt, mean, rate)
			}
			if slices.Equal(run(2), y) || !slices.Equal(run(1), y) {
				t.Error("the mask does not follow the seed")
			}
			for i, g := range p.Gradient(p.Params()[0]) {
				if want := 2 * y[i] * y[i]; math.Abs(g-want) > 1e-6*want {
					t.Fatalf("gradient %v, want %v", g, want)
				}
			}
		}
	}
	g := graph.New(tensor.Float64)
	x := g.Input("x", 2, 2)
	for _, rate := range []float64{-.1, 1, math.NaN()} {
		if err := x.Dropout("a", rate).Err(); err == nil || !strings.Contains(err.Error(), "want a rate in [0, 1)") {
			t.Errorf("rate %v: %v", rate, err)
		}
	}
	if y := x.Dropout("b", 0); y.Err() != nil || y.String() != x.String() {
		t.Errorf("rate 0 makes %v", y)
	}
}

func TestAddRow_RefusesShapesThatDoNotFit(t *testing.T) {
	g := graph.New(tensor.Float64)
	x, b := g.Input("x", 2, 3), g.Input("b", 2)
	for _, y := range []graph.Expr{x.AddRow(b), b.AddRow(b), x.AddRow(x)} {
		if err := y.Err(); err == nil || !strings.Contains(err.Error(), "layer_test.go") {
			t.Errorf("error %v", err)
		}
	}
}
