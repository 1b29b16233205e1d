package ope

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/policies/numeric"
	"opl/train/logs"
)

// nearest is a projection by its own small program: cyclic projections on what neighbours must obey (Dykstra 1983).
func nearest(v, width []float64, peak int) []float64 {
	n := len(v)
	q, lift := append([]float64(nil), v...), make([][2]float64, n)
	for range 20_000 {
		for c := range n - 1 {
			a, b := q[c]+lift[c][0], q[c+1]+lift[c][1]
			x, y := a, b
			if c+1 < peak && a > b || c >= peak && a < b {
				x = (a*width[c] + b*width[c+1]) / (width[c] + width[c+1])
				y = x
			}
			q[c], q[c+1], lift[c] = x, y, [2]float64{a - x, b - y}
		}
	}
	return q
}

func TestModel_ShapedIsTheNearestOfItsShape(t *testing.T) {
	edges := []float64{0, 1, 3, 3.5, 5, 6, 6.2, 8}
	n := len(edges) - 1
	log := &logs.Log{Numbers: &logs.Numbers{Of: numeric.Actions{Edges: edges, Atoms: []float64{2, 4}}}}
	width := make([]float64, n)
	for c := range width {
		width[c] = log.Numbers.Of.Width(c)
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		v := make([]float64, n+2)
		for c := range v {
			v[c] = r.Float64()
		}
		loss := func(q []float64) (sum float64) {
			for c := range width {
				sum += width[c] * (q[c] - v[c]) * (q[c] - v[c])
			}
			return sum
		}
		for _, shape := range Shapes()[1:] {
			least := math.Inf(1)
			for peak := range n {
				if shape == "unimodal" || shape == "decreasing" && peak == 0 {
					least = min(least, loss(nearest(v[:n], width, peak)))
				} else if shape == "increasing" && peak == n-1 {
					least = loss(nearest(v[:n], width, n))
				}
			}
			m, err := Model(func(dst []float64, _ int) { copy(dst, v) }).Shaped(shape, log)
			if err != nil {
				t.Fatal(err)
			}
			q := make([]float64, n+2)
			m(q, 0)
			turned := false
			for c := 1; c < n; c++ {
				falls := q[c] < q[c-1]-1e-12
				if turned = turned || falls || shape == "decreasing"; turned && q[c] > q[c-1]+1e-12 || falls && shape == "increasing" {
					t.Errorf("%s: %v", shape, q[:n])
				}
			}
			if got := loss(q); math.Abs(got-least) > 1e-9 || q[n] != v[n] || q[n+1] != v[n+1] {
				t.Errorf("%s: %v at a distance of %.12g, and the nearest has %.12g", shape, q, got, least)
			}
		}
	}
	for shape, want := range map[string]string{"convex": "want one of", "unimodal": "actions are names"} {
		t.Run(shape, func(t *testing.T) {
			if _, err := Model(nil).Shaped(shape, &logs.Log{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of names: %v", shape, err)
			}
		})
	}
}
