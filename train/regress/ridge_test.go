package regress_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/train/regress"
)

func TestRidge(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 20))
	const n, d, k = 700, 4, 2
	x, y, w := random(r, n, d), numbers(n*k, r.NormFloat64), numbers(n, r.Float64)
	penalties := []float64{0.1, 3, 1, 20}
	theta, err := regress.Ridge(x, y, k, w, penalties)
	if err != nil {
		t.Fatal(err)
	}
	minimal(t, "ridge", func(theta []float64) (loss float64) {
		for i := range n {
			for a := range k {
				e := y[i*k+a] - dot(x.Data[i*d:(i+1)*d], theta[a*d:(a+1)*d])
				loss += w[i] * e * e
			}
		}
		for j, v := range theta {
			loss += penalties[j%d] * v * v
		}
		return loss
	}, theta, n)
	for _, p := range [][]float64{nil, {1, 2}} {
		if _, err := regress.Ridge(x, y, k, w, p); err == nil {
			t.Errorf("penalties %v are no error", p)
		}
	}
	x.Data[3] = math.NaN()
	if _, err := regress.Ridge(x, y, k, w, penalties); err == nil {
		t.Error("NaN is no error")
	}
}

// One regression an action is the least of its objective; with what is shared, too.
func TestLogisticByAction(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 21))
	const n, d, k = 400, 3, 3
	x, y, w, action := random(r, n, d), numbers(n, r.Float64), numbers(n, r.Float64), make([]int32, n)
	var sum, total float64
	for i := range action {
		x.Data[i*d+1] = 1
		action[i] = int32(r.IntN(k))
		sum, total = sum+w[i]*y[i], total+w[i]
	}
	offset := math.Log((sum + .5) / (total - sum + .5))
	for _, shared := range []bool{false, true} {
		o := regress.ByActionOptions{Weight: w, Penalties: []float64{2}, Intercept: 2, Shared: shared, Base: .7}
		got, err := regress.LogisticByAction(context.Background(), x, action, k, y, o)
		if err != nil {
			t.Fatal(err)
		}
		if !math.IsNaN(got.Loss) || !slices.Equal(got.Penalty, []float64{2, 2, 2}) {
			t.Errorf("%v, %v", got.Loss, got.Penalty)
		}
		// θ_0 is least given the sums θ_0 + θ_a.
		minimal(t, "by action", func(theta []float64) (loss float64) {
			for i, a := range action {
				p := 1 / (1 + math.Exp(-dot(x.Data[i*d:(i+1)*d], theta[int(a)*d:(int(a)+1)*d])))
				loss -= w[i] * (y[i]*math.Log(p) + (1-y[i])*math.Log(1-p))
			}
			for j := range d {
				own, base, less := 2., .7, 0.
				if j == 1 {
					own, base, less = .1, .1, offset
				}
				var u, v float64 // Σ (t_a − θ_0)² and θ_0 = own Σ t_a/(base + k own)
				for a := range k {
					u += theta[a*d+j] - less
				}
				if u *= own / (base + k*own); !shared {
					u = 0
				}
				for a := range k {
					v += (theta[a*d+j] - less - u) * (theta[a*d+j] - less - u)
				}
				loss += (base*u*u + own*v) / 2
			}
			return loss
		}, got.Theta, n)
	}
}

// The penalty is chosen by held-out loss: large where actions do not differ, small where they do; of each
// action its own.
func TestPenaltyChosen(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 22))
	const n, d, k = 3000, 6, 2
	x, action, y := random(r, n, d), make([]int32, n), make([]float64, n)
	for i := range action {
		x.Data[i*d] = 1
		action[i] = int32(i % k)
		z := 0.
		if action[i] == 1 {
			z = 2 * x.Data[i*d+1]
		}
		if r.Float64() < 1/(1+math.Exp(-z)) {
			y[i] = 1
		}
	}
	var want regress.ByAction
	for threads := range 4 {
		got, err := regress.LogisticByAction(context.Background(), x, action, k, y,
			regress.ByActionOptions{Intercept: 1, Each: true, Threads: threads})
		if err != nil || got.Penalty[0] < 100 || got.Penalty[1] > 10 || !(got.Loss > .3 && got.Loss < .69) {
			t.Fatalf("%v: %+v", err, got)
		}
		if threads == 0 {
			want = got
		}
		if !slices.Equal(got.Theta, want.Theta) {
			t.Errorf("%d threads: %v, want %v", threads, got.Theta, want.Theta)
		}
	}
	one, err := regress.LogisticByAction(context.Background(), x, action, k, y, regress.ByActionOptions{Intercept: 1})
	if err != nil || one.Penalty[0] != one.Penalty[1] || one.Loss < want.Loss {
		t.Errorf("%v: %+v", err, one)
	}
	// Many actions of few rows that are alike: what is shared tells more than each alone.
	const many = 40
	for i := range action {
		action[i], y[i] = int32(r.IntN(many)), 0
		if r.Float64() < 1/(1+math.Exp(-x.Data[i*d+1]-.1*float64(action[i])*x.Data[i*d+2])) {
			y[i] = 1
		}
	}
	alone, err := regress.LogisticByAction(context.Background(), x, action, many, y,
		regress.ByActionOptions{Intercept: 1})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := regress.LogisticByAction(context.Background(), x, action, many, y,
		regress.ByActionOptions{Intercept: 1, Shared: true})
	if err != nil || shared.Loss > alone.Loss-.005 {
		t.Errorf("%v: alone %v, shared %v of λ %v", err, alone.Loss, shared.Loss, shared.Penalty[0])
	}
}
