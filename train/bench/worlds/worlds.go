// Package worlds draws decision logs from worlds whose truth is known: what each action earns on
// average in each context, and with which probability the logging policy takes it. Learners are
// judged by the true reward of what they learn from such a log. No figure of a learner was tuned
// into a world. Use it to judge a learner before you believe it on a log.
package worlds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"opl/graph/kernel"
	"opl/policies/features"
	"opl/policies/numeric"
	"opl/policies/propensity"
	"opl/train/logs"
)

// Visit holds a context with what is true of it.
type Visit struct {
	Context []features.Value // named values, as logs have them; a category v of column c is "c=v"
	Mean    []float64        // [K] E[r | x, a], rewards are 0 or 1
	Logging []float64        // [K] π₀(a|x)

	*Curve // where actions are numbers; Logging is nil
}

// World is a population of contexts, drawn independently.
type World struct {
	Name, About string
	K           int
	Numbers     *numeric.Actions // that actions stand for; nil: they are names
	Visits      int              // that there are, each drawn once; 0: as many as are asked for
	// Make draws the world's own numbers (effects, thresholds) and returns how a visit is drawn.
	Make func(r *rand.Rand) func(r *rand.Rand) Visit
}

// Actions names the actions of a world, "a0" and so on.
func (w World) Actions() []string {
	if w.Numbers != nil {
		return w.Numbers.Names()
	}
	names := make([]string, w.K)
	for a := range names {
		names[a] = "a" + strconv.Itoa(a)
	}
	return names
}

// Draw draws a log of n decisions, and m further visits by which policies are judged. Both are fixed by the
// seed, which also draws the world's own numbers. Of a world's Visits at most half are decisions.
func (w World) Draw(n, m int, seed uint64) (log []logs.Decision, test []Visit) {
	if w.Visits > 0 {
		n = min(n, w.Visits/2)
		m = min(m, w.Visits-n)
	}
	stream := func(what uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, what)) }
	next := w.Make(stream(1))
	r := stream(2)
	for range n {
		v := next(r)
		if v.Curve != nil {
			log = append(log, v.decide(r))
			continue
		}
		a := propensity.Draw(v.Logging, r)
		d := logs.Decision{Context: v.Context, Action: a, Propensity: v.Logging[a], Propensities: v.Logging}
		if r.Float64() < v.Mean[a] {
			d.Cost = -1
		}
		log = append(log, d)
	}
	r = stream(3)
	for range m {
		test = append(test, next(r))
	}
	return log, test
}

// Values returns the mean true reward on visits of the logging policy, and of the best policy.
func Values(test []Visit) (logging, best float64) {
	for _, v := range test {
		most := 0.0
		for a, m := range v.Mean {
			if v.Curve == nil {
				logging += v.Logging[a] * m
			}
			most = max(most, m)
		}
		if best += most; v.Curve != nil {
			logging += v.logged()
		}
	}
	n := float64(len(test))
	return logging / n, best / n
}

// numbers names values x0, x1 and so on.
func numbers(x ...float64) []features.Value {
	values := make([]features.Value, len(x))
	for j, v := range x {
		values[j] = features.Value{Name: "x" + strconv.Itoa(j), Number: v}
	}
	return values
}

// category is the value of a category.
func category(column string, level int) features.Value {
	return features.Value{Name: fmt.Sprintf("%s=%c%d", column, 'k', level), Number: 1}
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// softmax is the policy of scores, mixed with a share of the uniform one.
func softmax(scores []float64, uniform float64) []float64 {
	p := make([]float64, len(scores))
	kernel.Softmax(p, scores, len(scores))
	propensity.AddFloor(p, uniform)
	return p
}

// flat is the uniform policy.
func flat(k int) []float64 { return softmax(make([]float64, k), 1) }

// normals are n standard normal numbers times a scale.
func normals(r *rand.Rand, n int, scale float64) []float64 {
	x := make([]float64, n)
	for j := range x {
		x[j] = scale * r.NormFloat64()
	}
	return x
}

// All lists the worlds.
func All() []World {
	return []World{
		{"linear", "effects linear in ordinary numbers", 4, nil, 0, linear},
		{"amounts", "lognormal amounts, effects linear in the logarithm", 5, nil, 0, amounts},
		{"far", "features far from 0: a year, a postcode, a price", 4, nil, 0, far},
		{"peaks", "each action best near its own value of a feature", 6, nil, 0, peaks},
		{"rules", "rules with thresholds, a stale logging policy", 5, nil, 0, rules},
		{"wide", "60 features, 5 of which matter", 4, nil, 0, wide},
		{"many", "30 actions whose effects share a part", 30, nil, 0, many},
		{"greedy", "a good, greedy logging policy", 4, nil, 0, greedy},
		{"crossed", "crossed categories", 5, nil, 0, crossed},
		{"missing", "missing values that tell", 4, nil, 0, missing},
		{"periodic", "an hour of the day, beside a category of 40 levels", 4, nil, 0, periodic},
		{"products", "effects of products of two features", 4, nil, 0, products},
		{"clicks", "rewards of 1 in 50", 5, nil, 0, clicks},
		{"nothing", "no effect of any feature", 4, nil, 0, nothing},
	}
}

// sloped makes a world of k actions, played alike, whose effects are linear in d numbers z, which draw gives beside
// those that are logged.
func sloped(k, d int, scale, level float64,
	draw func(r *rand.Rand) (x, z []float64)) func(*rand.Rand) func(*rand.Rand) Visit {
	return func(r *rand.Rand) func(*rand.Rand) Visit {
		theta := make([][]float64, k)
		for a := range theta {
			theta[a] = normals(r, d, scale)
		}
		return func(r *rand.Rand) Visit {
			x, z := draw(r)
			v := Visit{Context: numbers(x...), Logging: flat(k)}
			for a := range theta {
				v.Mean = append(v.Mean, sigmoid(features.Dot(theta[a], z)+level))
			}
			return v
		}
	}
}

// ordinary draws n standard normal numbers, of which the first d matter.
func ordinary(n, d int) func(*rand.Rand) (x, z []float64) {
	return func(r *rand.Rand) (x, z []float64) {
		x = normals(r, n, 1)
		return x, x[:d]
	}
}

var (
	linear = sloped(4, 6, .6, -.3, ordinary(6, 6))
	wide   = sloped(4, 5, .8, -.2, ordinary(60, 5))
	clicks = sloped(5, 4, .5, -4.2, ordinary(4, 4))
	far    = sloped(4, 4, .8, -.2, func(r *rand.Rand) (x, z []float64) {
		u := []float64{r.Float64(), r.Float64(), r.NormFloat64(), r.Float64()}
		x = []float64{1990 + math.Floor(35*u[0]), 10000 + math.Floor(80000*u[1]), 500 + 60*u[2], 40 + 5*u[3]}
		return x, []float64{3.4 * (u[0] - .5), 3.4 * (u[1] - .5), u[2], 3.4 * (u[3] - .5)}
	})
)

func amounts(r *rand.Rand) func(*rand.Rand) Visit {
	var scores []float64
	next := sloped(5, 6, 1.2, -.2, func(r *rand.Rand) (x, z []float64) {
		z = normals(r, 6, 1)
		for _, v := range z {
			x = append(x, math.Round(100*math.Exp(3+1.5*v))/100)
		}
		scores = z[:5]
		return x, z
	})(r)
	return func(r *rand.Rand) Visit {
		v := next(r)
		v.Logging = softmax(scores, .3)
		return v
	}
}

func peaks(r *rand.Rand) func(*rand.Rand) Visit {
	at := r.Perm(6)
	return func(r *rand.Rand) Visit {
		x := []float64{r.Float64(), r.NormFloat64(), r.Float64()}
		v := Visit{Context: numbers(10*x[0], x[1], x[2]), Logging: flat(6)}
		for a := range at {
			d := (x[0] - (float64(at[a])+.5)/6) / .12
			v.Mean = append(v.Mean, .1+.6*math.Exp(-d*d/2))
		}
		return v
	}
}

func rules(r *rand.Rand) func(*rand.Rand) Visit {
	type rule struct {
		i, j int
		s, t float64
	}
	var of [5][2]rule
	for a := range of {
		for m := range of[a] {
			of[a][m] = rule{r.IntN(5), r.IntN(5), r.NormFloat64() * .6, r.NormFloat64() * .6}
		}
	}
	stale := make([][]float64, 5)
	for a := range stale {
		stale[a] = normals(r, 5, .7)
	}
	return func(r *rand.Rand) Visit {
		x := normals(r, 5, 1)
		v := Visit{Context: numbers(x...)}
		scores := make([]float64, 5)
		for a := range of {
			m := .25
			for _, c := range of[a] {
				if x[c.i] > c.s && x[c.j] > c.t {
					m += .25
				}
			}
			v.Mean, scores[a] = append(v.Mean, m), features.Dot(stale[a], x)
		}
		v.Logging = softmax(scores, .2)
		return v
	}
}

func many(r *rand.Rand) func(*rand.Rand) Visit {
	shared, theta := normals(r, 5, .8), make([][]float64, 30)
	level := normals(r, 30, 1)
	for a := range theta {
		theta[a] = normals(r, 5, .35)
	}
	return func(r *rand.Rand) Visit {
		x := normals(r, 5, 1)
		v := Visit{Context: numbers(x...), Logging: flat(30)}
		for a := range theta {
			v.Mean = append(v.Mean, sigmoid(features.Dot(shared, x)+features.Dot(theta[a], x)+level[a]-.4))
		}
		return v
	}
}

func greedy(r *rand.Rand) func(*rand.Rand) Visit {
	next := linear(r)
	return func(r *rand.Rand) Visit {
		v := next(r)
		best := 0
		for a, m := range v.Mean {
			if m+.08*r.NormFloat64() > v.Mean[best] {
				best = a
			}
		}
		v.Logging = flat(4)
		for a := range v.Logging {
			v.Logging[a] *= .2
		}
		v.Logging[best] += .8
		return v
	}
}

func crossed(r *rand.Rand) func(*rand.Rand) Visit {
	effect := make([][][]float64, 5)
	for a := range effect {
		effect[a] = make([][]float64, 6)
		for i := range effect[a] {
			effect[a][i] = normals(r, 5, 1.1)
		}
	}
	return func(r *rand.Rand) Visit {
		i, j := r.IntN(6), r.IntN(5)
		v := Visit{Context: []features.Value{category("city", i), category("device", j), category("day", r.IntN(7))},
			Logging: flat(5)}
		for a := range effect {
			v.Mean = append(v.Mean, sigmoid(effect[a][i][j]-.9))
		}
		return v
	}
}

func missing(r *rand.Rand) func(*rand.Rand) Visit {
	var theta [4][]float64
	absent := make([][]float64, 4)
	for a := range theta {
		theta[a], absent[a] = normals(r, 5, .7), normals(r, 5, .9)
	}
	return func(r *rand.Rand) Visit {
		x := normals(r, 5, 1)
		v := Visit{Logging: flat(4)}
		lost := make([]bool, 5)
		for j, u := range x {
			if lost[j] = j > 0 && r.Float64() < .25; !lost[j] {
				v.Context = append(v.Context, features.Value{Name: "x" + strconv.Itoa(j), Number: 30 + 10*u})
			}
		}
		for a := range theta {
			z := -.2
			for j, u := range x {
				if lost[j] {
					z += absent[a][j]
				} else {
					z += theta[a][j] * u
				}
			}
			v.Mean = append(v.Mean, sigmoid(z))
		}
		return v
	}
}

func periodic(r *rand.Rand) func(*rand.Rand) Visit {
	phase, level := normals(r, 4, 6), make([][]float64, 4)
	for a := range level {
		level[a] = normals(r, 40, .7)
	}
	return func(r *rand.Rand) Visit {
		hour, shop := r.Float64()*24, int(40*math.Pow(r.Float64(), 2))
		v := Visit{Context: []features.Value{{Name: "hour", Number: math.Floor(hour*60) / 60}, category("shop", shop),
			{Name: "age", Number: 20 + 50*r.Float64()}}, Logging: flat(4)}
		for a := range phase {
			v.Mean = append(v.Mean, sigmoid(1.3*math.Sin(2*math.Pi*(hour-phase[a])/24)+level[a][shop]-.4))
		}
		return v
	}
}

func products(r *rand.Rand) func(*rand.Rand) Visit {
	theta := make([][]float64, 4)
	for a := range theta {
		theta[a] = normals(r, 10, .6)
	}
	return func(r *rand.Rand) Visit {
		x := normals(r, 5, 1)
		v := Visit{Context: numbers(x...), Logging: flat(4)}
		for a := range theta {
			z, m := -.2, 0
			for i := range x {
				for j := range i {
					z += theta[a][m] * x[i] * x[j]
					m++
				}
			}
			v.Mean = append(v.Mean, sigmoid(z))
		}
		return v
	}
}

func nothing(r *rand.Rand) func(*rand.Rand) Visit {
	return func(r *rand.Rand) Visit {
		return Visit{Context: numbers(normals(r, 8, 1)...), Mean: []float64{.3, .32, .28, .3},
			Logging: softmax([]float64{0, .5, 0, -.5}, .2)}
	}
}
