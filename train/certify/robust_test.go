package certify_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"opl/policies"
	"opl/train"
	"opl/train/certify"
	"opl/train/logs"
)

// The doubly robust bound by hand, from its formula.
func TestRobust(t *testing.T) {
	const n, k, d, delta = 60, 3, 2, 0.1
	r := train.Stream(4, "robust")
	x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
	rows, labels := make([]int, n), make([]uint8, n)
	for i := range x.Data {
		x.Data[i] = r.NormFloat64()
	}
	for i := range rows {
		rows[i], labels[i] = i, uint8(r.IntN(k))
	}
	theta, model, mu := make([]float64, k*d), make([]float64, k*d), make([]float64, k*d)
	for j := range mu {
		theta[j], model[j], mu[j] = 2*r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
	}
	log := logs.FromLabels(x, labels, rows, theta, k, r)
	q := policies.Posterior{Actions: k, Dim: d, Mu: mu, Sigma: 0.5, Prior: policies.Prior{Mean: make([]float64, k*d)}}
	base := &certify.RewardModel{Theta: model}
	singles, err := certify.Singles(policies.Gaussian{}, q, log, rows, certify.Options{RewardModel: base}, delta)
	if err != nil {
		t.Fatal(err)
	}
	again, err := certify.Singles(policies.Gaussian{}, q, log, rows, certify.Options{RewardModel: base, Threads: 3}, delta)
	if err != nil || !reflect.DeepEqual(again, singles) {
		t.Errorf("other bounds on three threads: %v, want %v (%v)", again, singles, err)
	}
	var got certify.Bound
	for _, b := range singles[0] {
		if b.Name == "ls-dr" {
			got = b
		}
	}

	best := math.Inf(1)
	for g := range 100 {
		l := math.Pow(0.1/math.Sqrt(n), 1-float64(g)/99)
		var mean float64
		for i := range n {
			scores, z := make([]float64, k), 0.0
			own := make([]float64, k)
			for a := range k {
				m := 0.0
				for j := range d {
					m += x.Data[i*d+j] * model[a*d+j]
					own[a] += x.Data[i*d+j] * mu[a*d+j]
				}
				scores[a] = math.Exp(m)
				z += scores[a]
			}
			pi := make([]float64, k)
			policies.Gaussian{}.At(pi, own, q.Sigma*x.Norm(i), nil)
			for a := range k {
				p0 := log.Propensities[i*k+a]
				cost := -scores[a] / z * math.Min(1, p0/(2*l))
				if a == int(log.Action[i]) {
					cost += (log.Cost[i] - cost) / p0
				}
				if cost > 1/(2*l)+1e-9 {
					t.Fatalf("X = %v above 1/(2ℓ) = %v", cost, 1/(2*l))
				}
				mean -= pi[a] * math.Log(1-l*cost) / l / n
			}
		}
		kappa := (q.KL() + math.Log(100/delta)) / n
		best = math.Min(best, (1-math.Exp(-l*(mean+kappa/l)))/l)
	}
	if math.Abs(got.Risk-best) > 1e-12 {
		t.Errorf("bound %v, by hand %v", got.Risk, best)
	}

	for _, bad := range []*certify.RewardModel{{Theta: model[1:]}, {Theta: append([]float64{math.NaN()}, model[1:]...)}, nil} {
		c, err := certify.Posterior(policies.Gaussian{}, q, log, rows, certify.Options{RewardModel: bad})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(c.Missing, "\n"), "ls-dr: ") {
			t.Errorf("baseline %v: nothing is missing: %v", bad, c.Missing)
		}
	}
}
