package certify_test

import (
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
)

// world is one so small that all of its logs can be listed: two contexts, which are
// features of their own, and rewards of 0 and 1.
type world struct {
	k      int
	nu     [2]float64
	pi0    [][]float64 // by context
	reward [][]float64 // mean, by context and action
}

func two() world {
	return world{k: 2, nu: [2]float64{.6, .4}, pi0: [][]float64{{.7, .3}, {.2, .8}}, reward: [][]float64{{.9, .3}, {.2, .6}}}
}

func three() world {
	return world{k: 3, nu: [2]float64{.5, .5}, pi0: [][]float64{{.5, .3, .2}, {.1, .3, .6}}, reward: [][]float64{{.1, .8, .4}, {.7, .2, .5}}}
}

// risks are R(π) and R(π₀).
func (w world) risks(pi [][]float64) (risk, logging float64) {
	for x, nu := range w.nu {
		for a, r := range w.reward[x] {
			risk -= nu * pi[x][a] * r
			logging -= nu * w.pi0[x][a] * r
		}
	}
	return risk, logging
}

// logs calls f for every log of n draws, with its probability. Each draw is written copies
// times: a group if grouped.
func (w world) logs(n, copies int, grouped bool, f func(p float64, l *logs.Log, rows []int)) {
	outcomes := 2 * w.k * 2
	total := int(math.Pow(float64(outcomes), float64(n)))
	rows := make([]int, n*copies)
	for i := range rows {
		rows[i] = i
	}
	for number := range total {
		l := &logs.Log{Actions: logs.Numbered(w.k), X: logs.Rows64{Width: 2, Data: make([]float64, 0, 4*n*copies)}}
		data := make([]float64, 0, 2*n*copies)
		p, code := 1., number
		for i := range n {
			x, a, r := code%2, code/2%w.k, code/2/w.k%2
			code /= outcomes
			chance := w.reward[x][a]
			if r == 0 {
				chance = 1 - chance
			}
			p *= w.nu[x] * w.pi0[x][a] * chance
			for range copies {
				data = append(data, 1-float64(x), float64(x))
				l.Action, l.Cost = append(l.Action, int32(a)), append(l.Cost, -float64(r))
				l.Propensity, l.Propensities = append(l.Propensity, w.pi0[x][a]), append(l.Propensities, w.pi0[x]...)
				if grouped {
					l.Group = append(l.Group, int32(i))
				}
			}
		}
		l.X = logs.Rows64{Width: 2, Data: data}
		f(p, l, rows)
	}
}

// play is a policy by context.
func play(l *logs.Log, pi [][]float64) func(dst []float64, i int) error {
	return func(dst []float64, i int) error {
		x := make([]float64, 2)
		l.X.Row64(i, x)
		copy(dst, pi[int(x[1])])
		return nil
	}
}

// models are rough and wrong in different ways.
func models(l *logs.Log) []*certify.RewardModel {
	sure := certify.Linear("logistic", []float64{1, -2, -1, 3, 0, .5}[:2*l.K()], l, certify.LogisticLink)
	sure.Dispersion = .1
	return []*certify.RewardModel{
		certify.Linear("softmax", []float64{2, 0, 1, 1, .3, -1}[:2*l.K()], l, certify.SoftmaxLink), sure}
}

// Whatever the kinds and groups, the e-value of a fixed policy has the mean 1 exactly, at
// its true risk and gain, over all logs there are: nothing is left out, and nothing wasted.
func TestEValue_HasMeanOne(t *testing.T) {
	for _, c := range []struct {
		name      string
		w         world
		pi        [][]float64
		n, copies int
		models    bool
	}{
		{"argmax", two(), [][]float64{{1, 0}, {0, 1}}, 4, 1, false},
		{"with models", two(), [][]float64{{1, 0}, {0, 1}}, 3, 1, true},
		{"randomized, with models", three(), [][]float64{{.1, .7, .2}, {.6, .1, .3}}, 3, 1, true},
		{"groups of equal rows", two(), [][]float64{{.2, .8}, {.9, .1}}, 3, 2, true},
		{"another action", three(), [][]float64{{0, 0, 1}, {1, 0, 0}}, 3, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			risk, logging := c.w.risks(c.pi)
			var mean, gain, total float64
			c.w.logs(c.n, c.copies, c.copies > 1, func(p float64, l *logs.Log, rows []int) {
				o := certify.Options{Delta: .2}
				if c.models {
					o.Models = models(l)
				}
				e, err := certify.FixedAt(play(l, c.pi), l, rows, o, risk, risk-logging)
				if err != nil {
					t.Fatal(err)
				}
				if e.Share != .1 {
					t.Fatalf("the risk has %v of δ = 0.2, want half", e.Share)
				}
				total += p
				mean += p * math.Exp(e.Risk)
				gain += p * math.Exp(e.Gain)
			})
			near(t, c.name+": probabilities", total, 1)
			near(t, c.name+": mean e-value of the risk", mean, 1)
			near(t, c.name+": mean e-value of the gain", gain, 1)
		})
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The promise itself: the probability that either bound fails is at most δ, and that of each
// at most half of it; equal rows that are not known to be a group break it.
func TestBounds_ViolationsAreAsRareAsPromised(t *testing.T) {
	w := two()
	pi := [][]float64{{0, 1}, {1, 0}} // hardly logged
	risk, logging := w.risks(pi)
	for _, delta := range []float64{.2, .5, .9} {
		for _, c := range []struct {
			copies  int
			grouped bool
			holds   bool
		}{{1, false, true}, {3, true, true}, {12, false, false}} {
			var value, gain, any float64
			w.logs(3, c.copies, c.grouped, func(p float64, l *logs.Log, rows []int) {
				b, err := certify.Fixed(play(l, pi), nil, l, rows, certify.Options{Delta: delta})
				if err != nil {
					t.Fatal(err)
				}
				v, g := risk > b.Best().Risk+1e-12, risk-logging > b.Gain.Risk+1e-12
				if v {
					value += p
				}
				if g {
					gain += p
				}
				if v || g {
					any += p
				}
			})
			if holds := value <= delta/2 && gain <= delta/2 && any <= delta; holds != c.holds && (c.holds || delta == .2) {
				t.Errorf("δ = %v, each row %d times, grouped: %v: the bounds fail with probability %.4f (risk), %.4f (gain), %.4f (either)", delta, c.copies, c.grouped, value, gain, any)
			}
		}
	}
}

// A bound is where the e-value is 1/δ of its share, and never outside what rewards are.
func TestBound_IsWhereTheEValueIsItsShare(t *testing.T) {
	w := three()
	pi := [][]float64{{0, 1, 0}, {1, 0, 0}}
	inside := 0
	w.logs(3, 8, true, func(p float64, l *logs.Log, rows []int) {
		if p < 2e-4 {
			return
		}
		o := certify.Options{Delta: .5, Models: models(l)}
		b, err := certify.Fixed(play(l, pi), nil, l, rows, o)
		if err != nil {
			t.Fatal(err)
		}
		r, g := b.Best().Risk, b.Gain.Risk
		if !(r >= -1 && r <= 0 && g >= -1 && g <= 1) {
			t.Fatalf("bounds %v and %v", r, g)
		}
		e, _ := certify.FixedAt(play(l, pi), l, rows, o, r, g)
		for _, x := range []struct{ at, low, high, e float64 }{{r, -1, 0, e.Risk}, {g, -1, 1, e.Gain}} {
			if x.at > x.low && x.at < x.high {
				inside++
				near(t, "log E at the bound", x.e, -math.Log(.25))
			}
		}
	})
	if inside < 100 {
		t.Errorf("%d bounds were inside of what rewards are", inside)
	}
}

// posterior is a Gaussian around a prior of the same scale, which plays a policy by context
// almost surely.
func around(k int, best [2]int, scale float64) propensity.Posterior {
	mean := make([]float64, 2*k)
	for x, a := range best {
		mean[2*a+x] = 10 * scale
	}
	return propensity.Posterior{Actions: k, Dim: 2, Mu: mean, Sigma: scale, Prior: propensity.Prior{Mean: mean, Scale: scale}}
}

// shrunk is the r̂' ≤ r̂ of s > 1/2, by its definition: Y = 1 − s r̂' with φ(r̂/(Y + s) + (1 − r̂)/Y) + (1 − φ)/(Y + s r̂) = 1.
func shrunk(r, s, phi float64) float64 {
	if s <= .5 {
		return r
	}
	low, high := 0., min(r, .99/s)
	for range 60 {
		mid := (low + high) / 2
		if y := 1 - s*mid; phi*(r/(y+s)+(1-r)/y)+(1-phi)/(y+s*r) < 1 {
			low = mid
		} else {
			high = mid
		}
	}
	return max(low, r/(2*s))
}

// By hand: log of the mixture, as section 8 of the mathematics has it.
func TestPosterior_IsThePlainFormula(t *testing.T) {
	w := three()
	fam := propensity.Gaussian{}
	q := around(3, [2]int{1, 0}, .5)
	q.Mu = append([]float64(nil), q.Mu...)
	q.Mu[0], q.Sigma = 1.5, .4
	var kl float64
	for i, m := range q.Mu {
		kl += (m-q.Prior.Mean[i])*(m-q.Prior.Mean[i])/(2*.25) + .5*(.16/.25-1-math.Log(.16/.25))
	}
	done := 0
	w.logs(3, 1, false, func(p float64, l *logs.Log, rows []int) {
		if done++; done%97 != 1 {
			return
		}
		o := certify.Options{Delta: .1, Models: models(l), Priors: 4}
		const risk, gain = -.4, -.1
		e, err := certify.PosteriorAt(fam, q, l, rows, o, risk, gain)
		if err != nil {
			t.Fatal(err)
		}
		if e.Share != .05 {
			t.Fatalf("share %v", e.Share)
		}
		var sums [2]float64
		for side, most := range []float64{1, .5} {
			value := []float64{risk, gain}[side]
			for ell, weight := range byHand(most) {
				for kind := range 3 {
					s := -3*math.Log(1-ell*value) - kl - math.Log(4)
					for i := range 3 {
						x, scores, pi, r := make([]float64, 2), make([]float64, 3), make([]float64, 3), make([]float64, 3)
						l.X.Row64(i, x)
						for a := range 3 {
							scores[a] = q.Mu[2*a]*x[0] + q.Mu[2*a+1]*x[1]
						}
						fam.At(pi, scores, q.Sigma, nil)
						phi := 1.
						if kind > 0 {
							o.Models[kind-1].Predict(r, i)
						}
						if kind == 2 {
							phi = o.Models[1].Dispersion
						}
						for a := range 3 {
							p0 := l.Propensities[3*i+a]
							v := -shrunk(r[a], ell/p0, phi)
							if a == int(l.Action[i]) {
								v += (l.Cost[i] - v) / p0
							}
							if side == 1 {
								v -= l.Cost[i]
							}
							s += pi[a] * math.Log(1-ell*v)
						}
					}
					sums[side] += weight / 3 * math.Exp(s)
				}
			}
		}
		near(t, "log E of the risk", e.Risk, math.Log(sums[0]))
		near(t, "log E of the gain", e.Gain, math.Log(sums[1]))
	})
}

// A group of equal rows is one row to a posterior, too: exact or drawn, with models or not.
func TestPosterior_CountsAGroupAsOneRow(t *testing.T) {
	w := two()
	q := around(2, [2]int{0, 1}, .5)
	for _, fam := range []propensity.Family{propensity.Gaussian{}, sampled{}} {
		var want []certify.EValues
		for _, copies := range []int{1, 3} {
			i := 0
			w.logs(2, copies, copies > 1, func(_ float64, l *logs.Log, rows []int) {
				e, err := certify.PosteriorAt(fam, q, l, rows, certify.Options{Models: models(l), Draws: 300 / copies}, -.4, -.1) // each row has its own
				if err != nil {
					t.Fatal(err)
				}
				if copies == 1 {
					want = append(want, e)
				} else {
					near(t, "log E of the risk", e.Risk, want[i].Risk)
					near(t, "log E of the gain", e.Gain, want[i].Gain)
				}
				i++
			})
		}
	}
}

// Who chooses among priors after seeing the rows must say how many: without, the mean of the
// largest e-value is above 1, with it is not.
func TestPosterior_PaysForTheChoiceAmongPriors(t *testing.T) {
	w := two()
	fam := propensity.Gaussian{}
	var free, paid, freeGain, paidGain float64
	w.logs(4, 1, false, func(p float64, l *logs.Log, rows []int) {
		most, pays, mostGain, paysGain := math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1)
		for _, best := range [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
			q := around(2, best, 1)
			pi := make([][]float64, 2)
			for x := range pi {
				pi[x] = make([]float64, 2)
				fam.At(pi[x], []float64{q.Mu[x], q.Mu[2+x]}, 1, nil)
			}
			risk, logging := w.risks(pi)
			for _, priors := range []int{1, 4} {
				e, err := certify.PosteriorAt(fam, q, l, rows, certify.Options{Priors: priors}, risk, risk-logging)
				if err != nil {
					t.Fatal(err)
				}
				if priors == 1 {
					most, mostGain = max(most, e.Risk), max(mostGain, e.Gain)
				} else {
					pays, paysGain = max(pays, e.Risk), max(paysGain, e.Gain)
				}
			}
		}
		free, paid = free+p*math.Exp(most), paid+p*math.Exp(pays)
		freeGain, paidGain = freeGain+p*math.Exp(mostGain), paidGain+p*math.Exp(paysGain)
	})
	if !(free > 1.05 && freeGain > 1.05 && paid <= 1 && paidGain <= 1) {
		t.Errorf("mean of the best e-value: unpaid %.4f (gain %.4f), want more than 1; paid %.4f (%.4f), want at most 1", free, freeGain, paid, paidGain)
	}
}

// A posterior that was chosen on the rows pays by its divergence. Of 1,000 actions that all earn
// the same, it goes to the one that happened to earn in a log of one row: the mean of the largest
// e-value is at most 1, and above it where only half of the divergence is paid.
func TestPosterior_PaysByItsDivergence(t *testing.T) {
	const k, reward = 1000, .3
	fam := propensity.Gaussian{}
	prior := propensity.Prior{Mean: make([]float64, k), Scale: 1}
	uniform := make([]float64, k)
	for a := range uniform {
		uniform[a] = 1. / k
	}
	var paid, half [2]float64                // of the risk and of the gain
	for _, earned := range []float64{0, 1} { // action 0 stands for all: e-values do not depend on which it was
		l := &logs.Log{Actions: logs.Numbered(k), X: logs.Rows64{Width: 1, Data: []float64{1}}, Action: []int32{0}, Cost: []float64{-earned},
			Propensity: []float64{1. / k}, Propensities: uniform}
		p := 1 - reward
		if earned == 1 {
			p = reward
		}
		most, cheap := [2]float64{}, [2]float64{}
		for m := 0.; m <= 5; m += .25 {
			q := propensity.Posterior{Actions: k, Dim: 1, Sigma: 1, Prior: prior, Mu: make([]float64, k)}
			q.Mu[0] = m * (2*earned - 1)
			e, err := certify.PosteriorAt(fam, q, l, []int{0}, certify.Options{}, -reward, 0)
			if err != nil {
				t.Fatal(err)
			}
			for side, v := range []float64{e.Risk, e.Gain} {
				most[side], cheap[side] = max(most[side], math.Exp(v)), max(cheap[side], math.Exp(v+q.KL()/2))
			}
		}
		for side := range paid {
			paid[side], half[side] = paid[side]+p*most[side], half[side]+p*cheap[side]
		}
	}
	for side, what := range []string{"risk", "gain"} {
		if !(paid[side] <= 1 && half[side] > 1.1) {
			t.Errorf("%s: mean of the best e-value %.4f, want at most 1; with half of the divergence %.4f, want more", what, paid[side], half[side])
		}
	}
}

// For propensities wrong by up to Γ, the mean is at most 1 at that Γ, and above 1 without it.
func TestGamma_CoversWrongPropensities(t *testing.T) {
	for _, c := range []struct{ w world }{{two()}, {three()}} {
		w := c.w
		pi := make([][]float64, 2)
		for x := range pi {
			pi[x] = make([]float64, w.k)
			pi[x][w.k-1] = 1
		}
		risk, logging := w.risks(pi)
		const gamma = 1.3
		for _, with := range []bool{false, true} {
			var mean, without, gain float64
			w.logs(3, 1, false, func(p float64, l *logs.Log, rows []int) {
				for i := range l.Propensity { // those of the last action are logged too small
					f := gamma
					if int(l.Action[i]) == w.k-1 {
						f = 1 / gamma
					}
					l.Propensity[i] = min(1, l.Propensity[i]*f)
					last := l.Propensities[i*w.k+w.k-1]
					for a := range w.k {
						if f := (1 - last/gamma) / (1 - last); a < w.k-1 {
							l.Propensities[i*w.k+a] *= f
						}
					}
					l.Propensities[i*w.k+w.k-1] = last / gamma
					l.Propensity[i] = l.Propensities[i*w.k+int(l.Action[i])]
				}
				o := certify.Options{Gamma: gamma}
				if with {
					o.Models = models(l)
				}
				e, err := certify.FixedAt(play(l, pi), l, rows, o, risk, risk-logging)
				if err != nil {
					t.Fatal(err)
				}
				mean, gain = mean+p*math.Exp(e.Risk), gain+p*math.Exp(e.Gain)
				o.Gamma = 1
				e, _ = certify.FixedAt(play(l, pi), l, rows, o, risk, risk-logging)
				without += p * math.Exp(e.Risk)
			})
			if !(mean <= 1+1e-12 && gain <= 1+1e-12 && without > 1.05) {
				t.Errorf("%d actions, models: %v: mean %.4f, gain %.4f, want at most 1; without Γ %.4f, want more", w.k, with, mean, gain, without)
			}
		}
	}
}

// Propensities that are logged too large mislead where a model promises more than is earned: with Γ
// the mean is at most 1, and without it above. At a large Γ the clip keeps 1 − ℓX above 0.
func TestGamma_CoversModelsThatPromiseTooMuch(t *testing.T) {
	w := two()
	w.reward = [][]float64{{.5, .05}, {.5, .1}}
	pi := [][]float64{{0, 1}, {0, 1}}
	for _, c := range []struct {
		gamma float64
		rare  float64 // π₀ of the action that is played
	}{{1.5, .6}, {3, .3}} {
		w.pi0 = [][]float64{{1 - c.rare, c.rare}, {1 - c.rare, c.rare}}
		risk, logging := w.risks(pi)
		var mean, gain, without float64
		w.logs(3, 1, false, func(p float64, l *logs.Log, rows []int) {
			for i, a := range l.Action {
				l.Propensities[2*i], l.Propensities[2*i+1] = 1-c.gamma*c.rare, c.gamma*c.rare // the other action is never played
				l.Propensity[i] = l.Propensities[2*i+int(a)]
			}
			sure := certify.Linear("sure", []float64{3, 3, 3, 3}, l, certify.LogisticLink)
			o := certify.Options{Gamma: c.gamma, Models: []*certify.RewardModel{sure, sure, sure, sure}}
			e, err := certify.FixedAt(play(l, pi), l, rows, o, risk, risk-logging)
			if err != nil {
				t.Fatal(err)
			}
			mean, gain = mean+p*math.Exp(e.Risk), gain+p*math.Exp(e.Gain)
			o.Gamma = 1
			e, _ = certify.FixedAt(play(l, pi), l, rows, o, risk, risk-logging)
			without += p * math.Exp(e.Risk)
		})
		if !(mean <= 1 && gain <= 1 && without > 1.02) {
			t.Errorf("Γ = %v: mean %.4f, gain %.4f, want at most 1; without Γ %.4f, want more", c.gamma, mean, gain, without)
		}
	}
}

// What cannot be bounded is refused, with the row.
func TestFixed_RefusesWhatItCannotBound(t *testing.T) {
	w := two()
	var l *logs.Log
	w.logs(2, 1, false, func(_ float64, log *logs.Log, _ []int) { l = log })
	pi := play(l, [][]float64{{1, 0}, {0, 1}})
	all := []int{0, 1}
	for want, f := range map[string]func() error{
		"is given twice": func() error { _, err := certify.Fixed(pi, nil, l, []int{0, 0}, certify.Options{}); return err },
		"the dispersion NaN": func() error {
			m := &certify.RewardModel{Name: "unsure", Dispersion: math.NaN(), Predict: func([]float64, int) {}}
			_, err := certify.Fixed(pi, nil, l, all, certify.Options{Models: []*certify.RewardModel{m}})
			return err
		},
		"there is no row 2":           func() error { _, err := certify.Fixed(pi, nil, l, []int{2}, certify.Options{}); return err },
		"no rows are left":            func() error { _, err := certify.Fixed(pi, nil, l, nil, certify.Options{}); return err },
		"delta 1 is outside":          func() error { _, err := certify.Fixed(pi, nil, l, all, certify.Options{Delta: 1}); return err },
		"want a number of at least 1": func() error { _, err := certify.Fixed(pi, nil, l, all, certify.Options{Gamma: .5}); return err },
		"row 0: the probabilities sum to 2": func() error {
			_, err := certify.Fixed(play(l, [][]float64{{1, 1}, {1, 1}}), nil, l, all, certify.Options{})
			return err
		},
		"1 probabilities for 2 rows":   func() error { _, err := certify.Fixed(nil, []float64{1}, l, all, certify.Options{}); return err },
		"the probability 2 is outside": func() error { _, err := certify.Fixed(nil, []float64{2, 1}, l, all, certify.Options{}); return err },
		"predicts the reward 1.5": func() error {
			_, err := certify.Fixed(pi, nil, l, all, certify.Options{Models: []*certify.RewardModel{{Predict: func(dst []float64, _ int) { dst[0], dst[1] = 1.5, 0 }}}})
			return err
		},
		"infinite KL": func() error {
			_, err := certify.Posterior(propensity.Softmax{}, around(2, [2]int{}, 1), l, all, certify.Options{})
			return err
		},
	} {
		t.Run(want, func(t *testing.T) {
			if err := f(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// sampled is a Gaussian that is not known to be exact.
type sampled struct{ propensity.Gaussian }

func (sampled) Noisy() bool { return true }

// By hand: draws have half of each share of δ, and a sum falls short of their mean by
// √(log(9/δ) Σ(range)²/(2·draws)) at most, for all of the 9 values of ℓ.
func TestDraws_PayForTheirError(t *testing.T) {
	w := two()
	q := around(2, [2]int{0, 1}, .5)
	done := 0
	w.logs(3, 1, false, func(_ float64, l *logs.Log, rows []int) {
		if done++; done%61 != 1 {
			return
		}
		const risk, gain, draws = -.4, -.1, 7
		e, err := certify.PosteriorAt(sampled{}, q, l, rows, certify.Options{Delta: .2, Draws: draws}, risk, gain)
		if err != nil {
			t.Fatal(err)
		}
		if e.Share != .05 {
			t.Fatalf("share %v of δ = 0.2, want a quarter", e.Share)
		}
		var sums [2]float64
		for side, most := range []float64{1, .5} {
			value := []float64{risk, gain}[side]
			for ell, weight := range byHand(most) {
				s, square, pi := -3*math.Log(1-ell*value), 0., make([]float64, 2)
				for i, a := range l.Action {
					x := make([]float64, 2)
					l.X.Row64(i, x)
					propensity.Gaussian{}.At(pi, []float64{q.Mu[0]*x[0] + q.Mu[1]*x[1], q.Mu[2]*x[0] + q.Mu[3]*x[1]}, q.Sigma, nil)
					shift := float64(side) * l.Cost[i]
					at, rest := math.Log(1-ell*(l.Cost[i]/l.Propensity[i]-shift)), math.Log(1+ell*shift)
					s += pi[a]*at + (1-pi[a])*rest
					square += (at - rest) * (at - rest)
				}
				sums[side] += weight * math.Exp(s-math.Sqrt(math.Log(10/.05)*square/(2*draws)))
			}
		}
		near(t, "log E of the risk", e.Risk, math.Log(sums[0]))
		near(t, "log E of the gain", e.Gain, math.Log(sums[1]))
	})
}

// Whatever π, π₀, r̂ and ℓ, extreme ones too, factors are above 0, and their means over actions and
// rewards those of the risk and the gain.
func TestFactors_ArePositiveAndUnbiased(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	simplex := func(k int) []float64 {
		p, sum := make([]float64, k), 0.
		for a := range p {
			p[a] = math.Pow(r.Float64(), []float64{1, 8, 40}[r.IntN(3)])
			sum += p[a]
		}
		for a := range p {
			p[a] /= sum
		}
		return p
	}
	for range 20000 {
		k := 2 + r.IntN(4)
		pi, pi0, model, mean := simplex(k), simplex(k), make([]float64, k), make([]float64, k)
		for a := range model {
			model[a], mean[a] = min(1, 1.2*r.Float64()), r.Float64()
		}
		ell := math.Pow(10, -3*r.Float64())
		half := min(ell, .5)
		var risk, gain, wantRisk, wantGain float64
		for a, p0 := range pi0 {
			for _, c := range []float64{0, -1} {
				p := p0 * mean[a]
				if c == 0 {
					p = p0 * (1 - mean[a])
				}
				f, _ := certify.FactorsAt(pi, pi0, model, a, c, ell)
				_, g := certify.FactorsAt(pi, pi0, model, a, c, half)
				if !(f > 0 && g > 0) {
					t.Fatalf("factors %v and %v: π %v, π₀ %v, r̂ %v, action %d, cost %v, ℓ %v", f, g, pi, pi0, model, a, c, ell)
				}
				risk, gain = risk+p*f, gain+p*g
			}
			wantRisk, wantGain = wantRisk+ell*pi[a]*mean[a], wantGain+half*(pi[a]-p0)*mean[a]
		}
		near(t, "mean factor of the risk", risk, 1+wantRisk)
		near(t, "mean factor of the gain", gain, 1+wantGain)
	}
}

// byHand are the values of ℓ for three clusters and their weights.
func byHand(most float64) iter.Seq2[float64, float64] {
	return func(yield func(ell, weight float64) bool) {
		root := 1 / math.Sqrt(3)
		low := min(.3*root, most/10)
		ok := yield(min(root, most), .15) && yield(min(4*root, most), .45)
		for g := 0; ok && g < 8; g++ {
			ok = yield(low*math.Pow(most/low, float64(g)/7), .4/8)
		}
	}
}
