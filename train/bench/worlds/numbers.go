package worlds

import (
	"math"
	"math/rand/v2"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/train/logs"
)

// Curve holds what is true of a visit where actions are numbers.
type Curve struct {
	Reward func(a float64) float64 // E[r | x, a]
	Family string                  // of the numbers that are drawn, see numeric.ParseFamily
	Atom   float64                 // a number that is drawn with a probability of its own
	Often  float64                 // that probability; 0: there is none
}

// finest is how many bins there are in worlds of numbers: best is the best policy that draws evenly in one.
const finest = 32

// points of a bin that integrals are sums over.
const points = 10

// decide draws a decision.
func (v Visit) decide(r *rand.Rand) logs.Decision {
	d := logs.Decision{Context: v.Context, Number: v.Atom, Propensity: v.Often}
	if r.Float64() >= v.Often {
		f, _ := numeric.ParseFamily(v.Family)
		d.Number, d.Propensity = f.Quantile(r.Float64()), 0
		d.Density = (1 - v.Often) * f.Prob(d.Number)
	}
	if r.Float64() < v.Reward(d.Number) {
		d.Cost = -1
	}
	return d
}

// logged is what the logging policy earns.
func (v Visit) logged() float64 {
	f, _ := numeric.ParseFamily(v.Family)
	sum := 0.0
	for i := range finest {
		sum += v.Reward(f.Quantile((float64(i)+.5)/finest)) / finest
	}
	return (1-v.Often)*sum + v.Often*v.Reward(v.Atom)
}

// Collect draws a log of decisions from the world.
func (w World) Collect(decisions []logs.Decision) (*logs.Log, error) {
	if w.Numbers != nil {
		return logs.CollectNumbers(*w.Numbers, decisions)
	}
	return logs.Collect(w.Actions(), decisions)
}

// numbersWorld is a world of numbers from 0 to high, and maybe an atom, from visits that have a curve.
func numbersWorld(name, about string, high float64, atoms []float64,
	visits func(r *rand.Rand) func(r *rand.Rand) Visit) World {
	of := numeric.Even(0, high, finest)
	of.Atoms = atoms
	return World{name, about, of.K(), &of, 0, func(r *rand.Rand) func(*rand.Rand) Visit {
		next := visits(r)
		return func(r *rand.Rand) Visit {
			v := next(r)
			v.Mean = make([]float64, of.K())
			for c := range v.Mean {
				if c >= of.Bins() {
					v.Mean[c] = v.Reward(of.Center(c))
					continue
				}
				for i := range points {
					v.Mean[c] += v.Reward(of.Edges[c]+of.Width(c)*(float64(i)+.5)/points) / points
				}
			}
			return v
		}
	}}
}

// OfNumbers lists the worlds whose actions are numbers.
func OfNumbers() []World {
	return []World{
		numbersWorld("smooth", "a price that sells the less the higher it is", 40, nil, smooth),
		numbersWorld("peaked", "a dose that helps near a value of its own for each context", 10, nil, peaked),
		numbersWorld("cliff", "a price above which nobody buys, and one that is often 20", 40, []float64{20}, cliff),
	}
}

// smooth prices sell with a probability that falls with the price; the reward is 1 as often as the share of the
// highest price that is earned.
func smooth(r *rand.Rand) func(*rand.Rand) Visit {
	theta := normals(r, 3, .9)
	return func(r *rand.Rand) Visit {
		x := normals(r, 3, 1)
		worth := .3 + .6*sigmoid(features.Dot(theta, x))
		mean := 12 + 6*sigmoid(x[0])
		return Visit{Context: numbers(x...), Curve: &Curve{
			Reward: func(a float64) float64 { u := a / 40; return min(1, 1.5*u*sigmoid((worth-u)/.08)) },
			Family: "truncated " + number(mean) + " 12 0 40"}}
	}
}

// peaked doses help the most near one that grows with a weight and differs between two groups.
func peaked(r *rand.Rand) func(*rand.Rand) Visit {
	shift := .2 * (r.Float64() - .5)
	return func(r *rand.Rand) Visit {
		weight, age, group := r.Float64(), r.NormFloat64(), r.IntN(2)
		at := .2 + .6*weight + shift*float64(2*group-1)
		return Visit{Context: append(numbers(50+50*weight, age), category("group", group)), Curve: &Curve{
			Reward: func(a float64) float64 { d := (a/10 - at) / .15; return .1 + .6*math.Exp(-d*d/2) },
			Family: "uniform 0 10"}}
	}
}

// cliff prices are paid up to what a segment has at most.
func cliff(r *rand.Rand) func(*rand.Rand) Visit {
	var most [4]float64
	for s := range most {
		most[s] = .3 + .65*r.Float64()
	}
	return func(r *rand.Rand) Visit {
		segment := r.IntN(len(most))
		return Visit{Context: append(numbers(normals(r, 2, 1)...), category("segment", segment)), Curve: &Curve{
			Atom: 20, Often: .2, Family: "uniform 0 40",
			Reward: func(a float64) float64 {
				if a/40 > most[segment] {
					return .05
				}
				return .1 + .8*a/40
			}}}
	}
}
