package logs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"opl/policies/features"
)

// world draws decisions: x ~ N(0, 1)^d, π₀ a softmax of random scores, a reward that
// depends on both.
type world struct {
	r       *rand.Rand
	d, k    int
	theta   []float64
	names   []string
	actions []string
	row     int
}

func newWorld(d, k int, seed uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 1)), d: d, k: k}
	for range d * k {
		w.theta = append(w.theta, w.r.NormFloat64()/math.Sqrt(float64(d)))
	}
	for j := range d {
		w.names = append(w.names, fmt.Sprintf("x_%d", j))
	}
	for a := range k {
		w.actions = append(w.actions, fmt.Sprint(a))
	}
	return w
}

// next writes a decision, whose slices it uses again.
func (w *world) next(d *Decision) {
	w.row++
	x := d.Context[:0]
	for j := range w.d {
		x = append(x, features.Value{Name: w.names[j], Number: math.Round(w.r.NormFloat64()*1e6) / 1e6})
	}
	pi := append(d.Propensities[:0], make([]float64, w.k)...)
	var sum float64
	for a := range pi {
		var s float64
		for j, v := range x {
			s += w.theta[a*w.d+j] * v.Number
		}
		pi[a] = math.Exp(s)
		sum += pi[a]
	}
	a, u := 0, w.r.Float64()
	for b := range pi {
		if pi[b] /= sum; u >= 0 {
			a = b
		}
		u -= pi[b]
	}
	cost := 0.0
	if w.r.Float64() < 0.2+0.6*pi[a] {
		cost = -1
	}
	*d = Decision{ID: fmt.Sprintf("id-%d", w.row), Time: time.Unix(1700000000, int64(w.row)*1e6).UTC(), Group: fmt.Sprintf("g%d", w.row/3),
		Context: x, Action: a, Cost: cost, Propensity: pi[a], Propensities: pi, Weight: 1, Row: w.row}
}
