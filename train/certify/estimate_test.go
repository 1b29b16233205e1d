package certify_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/train/certify"
)

// Of rewards that are 0 or 1 the normal interval holds the truth as often as it says. Near 1 that of the rows'
// spread alone held it in 40 to 90 of 100 logs. Other rewards keep that of their spread.
func TestSelfNormalized_CoversNearOne(t *testing.T) {
	const logs = 1500
	r := rand.New(rand.NewPCG(62, 13))
	for _, weight := range []struct {
		name string
		draw func() float64
		ess  float64 // of a row
	}{
		{"one of four", func() float64 {
			if r.Float64() < .25 {
				return .9625 * 4
			}
			return .0125 * 4
		}, .27},
		{"one of two, by context", func() float64 {
			p := []float64{.2, .8}[r.IntN(2)]
			if r.Float64() < p {
				return .975 / p
			}
			return .025 / (1 - p)
		}, .335},
	} {
		for _, ess := range []float64{60, 100, 200, 500} {
			for _, truth := range []float64{.5, .9, .95, .99} {
				n := int(ess / weight.ess)
				in, all, before, half := 0, 0, 0, 0.
				pi, pi0, cost := make([]float64, n), make([]float64, n), make([]float64, n)
				for range logs {
					for i := range n {
						pi[i], pi0[i], cost[i] = weight.draw(), 1, 0
						if r.Float64() < truth {
							cost[i] = -1
						}
					}
					e := certify.SelfNormalized(pi, pi0, cost)
					if e.Effective < certify.Few {
						continue
					}
					spread, sum := 0., 0.
					for i, w := range pi {
						spread, sum = spread+w*w*(-cost[i]-e.Reward)*(-cost[i]-e.Reward), sum+w
					}
					all, half = all+1, half+1.96*e.SE
					off := math.Abs(e.Reward - truth)
					if off <= 1.96*e.SE {
						in++
					}
					if off <= 1.96*math.Sqrt(spread)/sum {
						before++
					}
				}
				percent := func(n int) float64 { return 100 * float64(n) / float64(all) }
				t.Logf("%s, worth %v rows, %v: %.1f %% ± %.3f, by spread alone %.1f %%", weight.name, ess, truth,
					percent(in), half/float64(all), percent(before))
				if percent(in) < 93 {
					t.Errorf("%s, worth %v rows, %v: %.1f %% of intervals hold it", weight.name, ess, truth, percent(in))
				}
			}
		}
	}
	// √(Σ w²(r − .75)²)/Σ w
	e := certify.SelfNormalized([]float64{1, 1}, []float64{1, 1}, []float64{-.5, -1})
	if want := math.Sqrt(2*.25*.25) / 2; math.Abs(e.SE-want) > 1e-15 {
		t.Errorf("%v, want %v", e.SE, want)
	}
}

// Weights of a Pareto tail of shape 1 give no normal interval, and those of shape 1/3 do if their mean is 1.
func TestEstimate_DoubtsIntervalsOfLongTails(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct {
		k, pi0 float64
		doubt  string
	}{{1, 10, "the tail k = 1"}, {1. / 3, 1.5, ""}, {1. / 3, 1, "weights average 1."}} {
		var pi, pi0, cost []float64
		for range 20000 {
			pi, pi0, cost = append(pi, math.Pow(1-r.Float64(), -c.k)), append(pi0, c.pi0), append(cost, -r.Float64())
		}
		if e := certify.SelfNormalized(pi, pi0, cost); math.Abs(e.Tail-c.k) > .2 || e.Effective < certify.Few ||
			(e.Doubt() == "") != (c.doubt == "") || !strings.Contains(e.Doubt(), c.doubt) {
			t.Errorf("%+v: %+v, %q", c, e, e.Doubt())
		}
	}
}

// Top keeps the largest weights of many in little memory.
func TestTop_KeepsTheLargestInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, n := range []int{0, 3, 100, 5000, 100_000} {
		w := make([]float64, n)
		for i := range w {
			w[i] = math.Floor(1000 * r.ExpFloat64())
		}
		got := certify.Top(slices.Values(w), n)
		if slices.Sort(w); !slices.Equal(got, w[len(w)-len(got):]) || n > 100 && len(got) < int(3*math.Sqrt(float64(n))) {
			t.Errorf("%d weights: the largest %d are others", n, len(got))
		}
	}
}
