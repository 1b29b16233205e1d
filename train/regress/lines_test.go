package regress

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/policies/features"
)

// predicted learns lines of n rewards and returns the means of the forest at numbers.
func predicted(t *testing.T, n int, draw func(r *rand.Rand) (x []float64, v, p float64), groups [][]int32,
	numbers []float64) (*features.Forest, func(x ...float64) []float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	x, v, y := Matrix{}, make([]float64, n), make([]float64, n)
	for i := range n {
		row, u, p := draw(r)
		x.Width, x.Data, v[i] = len(row), append(x.Data, row...), u
		if r.Float64() < p {
			y[i] = 1
		}
	}
	var at [][]float64
	for _, u := range numbers {
		at = append(at, []float64{u})
	}
	f, err := Lines(x, groups, v, y, at, 1)
	if err != nil {
		t.Fatal(err)
	}
	net := features.NewNet([]features.Layer{{Trees: f}})
	return f, func(x ...float64) []float64 {
		p := make([]float64, len(numbers))
		net.Apply(p, x, make([]float64, net.Scratch()))
		for i, s := range p {
			p[i] = 1 / (1 + math.Exp(-s))
		}
		return p
	}
}

// Where two categories together decide where rewards fall each pair has the fall in its place, and lines rise up to it.
func TestLines_FallWhereTwoCategoriesCross(t *testing.T) {
	most := func(a, b int) float64 { return []float64{.4, .8, .7, .6}[2*a+b] }
	numbers := []float64{.1, .37, .43, .57, .63, .77, .83}
	f, at := predicted(t, 2000, func(r *rand.Rand) ([]float64, float64, float64) {
		a, b, v := r.IntN(2), r.IntN(2), r.Float64()
		x := []float64{float64(a), float64(1 - a), float64(b), float64(1 - b), r.NormFloat64()}
		if v > most(a, b) {
			return x, v, .05
		}
		return x, v, .1 + .8*v
	}, [][]int32{{0, 1}, {2, 3}}, numbers)
	for a := range 2 {
		for b := range 2 {
			for i, p := range at(float64(a), float64(1-a), float64(b), float64(1-b), 0) {
				want := .1 + .8*numbers[i]
				if numbers[i] > most(a, b) {
					want = .05
				}
				if math.Abs(p-want) > .12 {
					t.Errorf("categories %d and %d, number %v: %.2f, want %.2f", a, b, numbers[i], p, want)
				}
			}
		}
	}
	if slices.Contains(f.Feature, 4) {
		t.Error("the tree splits by a feature that says nothing")
	}
}

// Where rewards do not depend on anything there is one leaf, and a line that is flat.
func TestLines_AreFlatWithoutEvidence(t *testing.T) {
	f, at := predicted(t, 1000, func(r *rand.Rand) ([]float64, float64, float64) {
		return []float64{r.NormFloat64(), r.NormFloat64()}, r.Float64(), .3
	}, nil, []float64{.05, .5, .95})
	if len(f.Feature) != 3 {
		t.Errorf("%d nodes of three trees, want a leaf each", len(f.Feature))
	}
	for i, p := range at(0, 0) {
		if math.Abs(p-.3) > .06 {
			t.Errorf("number %d: %.2f, want .3", i, p)
		}
	}
}

// Of few rows the place of a fall is uncertain: the mean falls over several numbers in place of at one.
func TestLines_AverageOverThePlaceOfAFall(t *testing.T) {
	numbers := []float64{.3, .45, .475, .5, .525, .55, .7}
	steepest := func(n int) float64 {
		_, at := predicted(t, n, func(r *rand.Rand) ([]float64, float64, float64) {
			v := r.Float64()
			if v > .5 {
				return []float64{1}, v, .1
			}
			return []float64{1}, v, .6
		}, nil, numbers)
		p, most := at(1), 0.
		for i := range p[1:] {
			most = max(most, p[i]-p[i+1])
		}
		return most
	}
	if few, many := steepest(60), steepest(6000); !(few < .3 && many > .4) {
		t.Errorf("the steepest fall is %.2f of 60 rows and %.2f of 6000, want below .3 and above .4", few, many)
	}
}

// Rows that the most likely curve is computed from may be some of no cell, or all of one.
func TestLines_OfOneNumber(t *testing.T) {
	_, at := predicted(t, 100, func(*rand.Rand) ([]float64, float64, float64) {
		return []float64{0}, 1, 1
	}, nil, []float64{0, 1})
	if p := at(0); !(p[0] > .5 && p[1] > .95) {
		t.Errorf("means %v, want almost 1 where the rows are", p)
	}
}
