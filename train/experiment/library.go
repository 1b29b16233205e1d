// Package experiment runs grids of configurations: names become objectives,
// weights and policies by a [Library], runs share data and logs, and go side by
// side without touching one another's results.
package experiment

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/internal/spelling"
)

// Library is what runs can be made of, by name. It is a value: append to the
// slices of [Standard] to add one's own.
type Library struct {
	Objectives []Objective
	Weights    []Weight
	Policies   []Policy
	Noises     []Noise
}

// Objective is a named constructor.
type Objective struct {
	Name       string
	Policy     string  // the family that it is meant for
	Recipe     bool    // is train.Recipe, and Make is nil
	OwnWeight  bool    // brings its own weight; runs once, not once per weight
	Hyper      string  // of objectives with their own weight: the weight whose hyperparameter they take
	HasLambda  bool    // has the three choices of λ
	HasPenalty bool    // takes --penalty
	Penalty    float64 // where none is given
	Make       func(a Args) objectives.Objective
	About      string // one line for --help
}

// Args are what an objective is made with.
type Args struct {
	Lambda  objectives.Lambda
	Penalty float64
	Hyper   float64
}

// Weight is a named constructor.
type Weight struct {
	Name  string
	Plain float64 // where it is IPS, 0 or 1, which its default n^(−1/4) or 1−n^(−1/4) is near; NaN: no hyperparameter
	Make  func(hyper float64) objectives.Weight
	About string
}

// Policy is a named constructor. samples is S, 0 for the default; mc asks for
// Monte Carlo where there is an exact form.
type Policy struct {
	Name  string
	Make  func(samples int, noise policies.Noise, mc bool) policies.Policy
	About string
}

// Noise is a named source.
type Noise struct {
	Name  string
	Make  policies.Noise // nil: quadrature, of the policies that have it
	About string
}

// Standard returns the objectives, weights, policies and noise sources of opl.
func Standard() Library {
	return Library{
		Objectives: []Objective{
			{Name: "heuristic", Policy: "softmax", HasPenalty: true, Penalty: 1e-5, About: "R̂ + λ₁‖θ−θ₀‖² + λ₂Ṽ + λ₃B̃, the paper's heuristic",
				Make: func(a Args) objectives.Objective {
					return objectives.Heuristic(objectives.Penalties{Distance: a.Penalty, Variance: a.Penalty, Bias: a.Penalty})
				}},
			{Name: "theorem1", Policy: "softmax-posterior", HasLambda: true, About: "the bound of Theorem 1, any weight",
				Make: func(a Args) objectives.Objective { return objectives.Theorem1(a.Lambda) }},
			{Name: "corollary1", Policy: "gaussian", HasLambda: true, About: "the bound of Corollary 1, linear weights",
				Make: func(a Args) objectives.Objective { return objectives.Corollary1(a.Lambda) }},
			{Name: "certified", Policy: "gaussian", Recipe: true, OwnWeight: true, About: "the recipe for the best guarantee: half of the log learns a prior, the other half certifies"},
			{Name: "london", Policy: "gaussian", About: "the bound of London & Sandler 2019, clip alone",
				Make: func(Args) objectives.Objective { return objectives.London() }},
			{Name: "sakhi1", Policy: "gaussian", About: "the Catoni bound of Sakhi et al. 2022, clip alone",
				Make: func(Args) objectives.Objective { return objectives.Sakhi1() }},
			{Name: "sakhi2", Policy: "gaussian", About: "the Bernstein bound of Sakhi et al. 2022, clip alone",
				Make: func(Args) objectives.Objective { return objectives.Sakhi2() }},
			{Name: "ixbound", Policy: "gaussian", OwnWeight: true, About: "the bound behind implicit pessimism, one-sided",
				Make: func(Args) objectives.Objective { return objectives.IXBound() }},
			{Name: "ls", Policy: "gaussian", OwnWeight: true, About: "the logarithmic-smoothing bound of Sakhi et al. 2024",
				Make: func(Args) objectives.Objective { return objectives.LogSmoothing() }},
			{Name: "risk", Policy: "softmax", About: "the estimated risk R̂ alone",
				Make: func(Args) objectives.Objective { return objectives.Risk() }},
			{Name: "l2", Policy: "softmax", HasPenalty: true, Penalty: 1e-5, About: "R̂ + λ‖θ−θ₀‖², the heuristic of London & Sandler 2019",
				Make: func(a Args) objectives.Objective { return objectives.L2(a.Penalty) }},
			{Name: "variance", Policy: "softmax", HasPenalty: true, Penalty: 1, About: "R̂ + λ√(Var(ŵc)/n), Swaminathan & Joachims 2015",
				Make: func(a Args) objectives.Objective { return objectives.SampleVariance(a.Penalty) }},
			{Name: "likelihood", Policy: "softmax", OwnWeight: true, HasPenalty: true, Penalty: 1e-6, About: "π as a model of the reward, by maximum likelihood",
				Make: func(a Args) objectives.Objective { return objectives.Likelihood(a.Penalty) }},
			{Name: "pseudoloss", Policy: "softmax", OwnWeight: true, HasPenalty: true, Penalty: 1e-5, About: "R̂_IPS + β mean Σ π/π₀, Wang et al. 2023",
				Make: func(a Args) objectives.Objective { return objectives.PseudoLoss(a.Penalty) }},
			{Name: "implicit", Policy: "softmax", OwnWeight: true, Hyper: "ix", About: "R̂ with IX and nothing else, Gabbianelli et al. 2023",
				Make: func(a Args) objectives.Objective { return objectives.Implicit(a.Hyper) }},
		},
		Weights: []Weight{
			{Name: "clip", Plain: 0, Make: objectives.Clip, About: "π/max(π₀, τ)"},
			{Name: "es", Plain: 1, Make: objectives.ES, About: "π/π₀^α"},
			{Name: "ix", Plain: 0, Make: objectives.IX, About: "π/(π₀+γ)"},
			{Name: "har", Plain: 1, Make: objectives.Har, About: "w/((1−λ)w+λ), w = π/π₀"},
			{Name: "ips", Plain: math.NaN(), Make: func(float64) objectives.Weight { return objectives.IPS() }, About: "π/π₀"},
		},
		Policies: []Policy{
			{Name: "softmax", About: "softmax(φᵀθ), one parameter",
				Make: func(int, policies.Noise, bool) policies.Policy { return policies.Softmax{} }},
			{Name: "gaussian", About: "P(a = argmax φᵀθ), θ ~ N(μ, σ²I)",
				Make: func(s int, n policies.Noise, mc bool) policies.Policy {
					if !mc {
						return policies.Gaussian{}
					}
					if s == 0 {
						s = policies.DefaultSamples
					}
					return policies.Gaussian{Samples: s, Noise: n}
				}},
			{Name: "softmax-posterior", About: "softmax policies under θ ~ N(μ, σ²I), draw by draw",
				Make: func(s int, n policies.Noise, _ bool) policies.Policy {
					return policies.SoftmaxPosterior{Samples: s, Noise: n}
				}},
			{Name: "mixedlogit", About: "their average",
				Make: func(s int, n policies.Noise, _ bool) policies.Policy {
					return policies.MixedLogit{Samples: s, Noise: n}
				}},
		},
		Noises: []Noise{
			{Name: "lowdiscrepancy", Make: policies.LowDiscrepancy, About: "scrambled Sobol' points, above 21 dimensions a Latin hypercube"},
			{Name: "iid", Make: policies.IID, About: "independent draws, the paper's Monte Carlo"},
			{Name: "antithetic", Make: policies.Antithetic, About: "pairs of opposite draws"},
		},
	}
}

// Validate reports names that are used twice or not at all, entries without a
// constructor, and objectives for policies or weights that the library does not
// have.
func (l Library) Validate() error {
	seen := map[string]bool{LoggingPolicy: true}
	add := func(kind, name string, made bool) error {
		switch {
		case name == "":
			return fmt.Errorf("library: a %s has no name", kind)
		case seen[kind+name] || seen[name] && kind == "objective":
			return fmt.Errorf("library: two entries are the %s %q", kind, name)
		case !made:
			return fmt.Errorf("library: the %s %q has no Make", kind, name)
		}
		seen[kind+name] = true
		return nil
	}
	for _, p := range l.Policies {
		if err := add("policy", p.Name, p.Make != nil); err != nil {
			return err
		}
	}
	for _, w := range l.Weights {
		if err := add("weight", w.Name, w.Make != nil); err != nil {
			return err
		}
	}
	for _, n := range l.Noises {
		if err := add("noise", n.Name, n.Make != nil); err != nil {
			return err
		}
	}
	for _, o := range l.Objectives {
		if err := add("objective", o.Name, o.Make != nil || o.Recipe); err != nil {
			return err
		}
		if _, err := l.Policy(o.Policy); err != nil {
			return fmt.Errorf("library: objective %s: %w", o.Name, err)
		}
		if o.Hyper != "" {
			if _, err := l.Weight(o.Hyper); err != nil {
				return fmt.Errorf("library: objective %s: %w", o.Name, err)
			}
		}
	}
	return nil
}

// Objective finds an objective by name.
func (l Library) Objective(name string) (Objective, error) {
	return find("objective", name, l.Objectives, func(o Objective) string { return o.Name })
}

// Weight finds a weight by name.
func (l Library) Weight(name string) (Weight, error) {
	return find("weight", name, l.Weights, func(w Weight) string { return w.Name })
}

// Policy finds a policy by name.
func (l Library) Policy(name string) (Policy, error) {
	return find("policy", name, l.Policies, func(p Policy) string { return p.Name })
}

// Noise finds a noise source by name.
func (l Library) Noise(name string) (Noise, error) {
	return find("noise", name, l.Noises, func(n Noise) string { return n.Name })
}

func find[T any](kind, name string, items []T, nameOf func(T) string) (T, error) {
	names := make([]string, len(items))
	for i, x := range items {
		if names[i] = nameOf(x); names[i] == name {
			return x, nil
		}
	}
	var none T
	return none, fmt.Errorf("unknown %s %q%s (known: %s)", kind, name, Suggest(name, names), strings.Join(names, ", "))
}

// Suggest returns ": did you mean X?" for the nearest of the names, or nothing
// if none is near.
func Suggest(name string, names []string) string {
	best, least := "", len(name)/2+1
	for _, n := range names {
		if d := spelling.Distance(name, n); d <= least && (best == "" || d < least) {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// parts turns a run's names into what Fit takes.
func (l Library) parts(r train.Run) (train.Config, error) {
	var c train.Config
	o, err := l.Objective(r.Objective)
	if err != nil {
		return c, err
	}
	args := Args{Penalty: o.Penalty, Hyper: float64(r.Hyper)}
	if r.Penalty.Valid() {
		args.Penalty = float64(r.Penalty)
	}
	if o.HasLambda {
		if args.Lambda, err = ParseLambda(r.Lambda); err != nil {
			return c, err
		}
	}
	if !o.Recipe {
		c.Objective = o.Make(args)
	}
	if r.Weight != "" && !o.OwnWeight {
		w, err := l.Weight(r.Weight)
		if err != nil {
			return c, err
		}
		c.Weight = w.Make(float64(r.Hyper))
	}
	p, err := l.Policy(r.Policy)
	if err != nil {
		return c, err
	}
	var noise policies.Noise
	if r.Noise != "" && r.Noise != Quadrature {
		source, err := l.Noise(r.Noise)
		if err != nil {
			return c, err
		}
		noise = source.Make
	}
	c.Policy = p.Make(r.Samples, noise, noise != nil)
	return c, nil
}

// Quadrature is the name of the noise that is none.
const Quadrature = "quadrature"

// ParseLambda reads star, authors or a positive number.
func ParseLambda(s string) (objectives.Lambda, error) {
	switch s {
	case "star", "":
		return objectives.LambdaStar, nil
	case "authors":
		return objectives.LambdaAuthors, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("%q: want star, authors or a positive number", s)
	}
	return objectives.LambdaFixed(v), nil
}

// Settle fills in what follows from a run's policy: the noise and the number of
// draws of policies that are sampled in training, nothing for the others. It is
// an error to ask for a noise that is not known, or for quadrature where there
// is none.
func (l Library) Settle(r train.Run) (train.Run, error) {
	p, err := l.Policy(r.Policy)
	if err != nil {
		return r, err
	}
	exact := p.Make(0, nil, false)
	switch {
	case !exact.HasPosterior():
		r.Noise, r.Samples = "", 0
	case r.Noise == Quadrature && exact.Noisy():
		return r, fmt.Errorf("policy %s has no quadrature", r.Policy)
	case r.Noise == Quadrature || r.Noise == "" && !exact.Noisy():
		r.Noise, r.Samples = Quadrature, 0
	case r.Noise == "":
		r.Noise = l.Noises[0].Name
	default:
		if _, err := l.Noise(r.Noise); err != nil {
			return r, err
		}
	}
	if r.Samples == 0 && r.Noise != "" && r.Noise != Quadrature {
		r.Samples = policies.DefaultSamples
	}
	return r, nil
}

// Combinations calls f with every objective × choice of λ × weight (at 0, 0.3 and
// 1) × policy × noise of the library, whether it has a meaning or not, with the
// few draws that a check of gradients needs. It stops at f's first error.
func (l Library) Combinations(f func(r train.Run, o objectives.Objective, c train.Config) error) error {
	for _, o := range l.Objectives {
		if o.Recipe {
			continue // made of others
		}
		lambdas := []string{""}
		if o.HasLambda {
			lambdas = []string{"star", "authors", "0.01"}
		}
		type weight struct {
			name  string
			hyper train.Number
		}
		weights := []weight{{"", train.None()}}
		if o.OwnWeight && o.Hyper != "" {
			weights = []weight{{"", 0}, {"", 0.3}, {"", 1}}
		}
		if !o.OwnWeight {
			weights = nil
			for _, w := range l.Weights {
				if math.IsNaN(w.Plain) {
					weights = append(weights, weight{w.Name, train.None()})
					continue
				}
				for _, h := range []train.Number{0, 0.3, 1} {
					weights = append(weights, weight{w.Name, h})
				}
			}
		}
		for _, lambda := range lambdas {
			for _, w := range weights {
				for _, p := range l.Policies {
					noises := []string{""}
					if exact := p.Make(0, nil, false); exact.HasPosterior() {
						noises = nil
						if !exact.Noisy() {
							noises = []string{Quadrature}
						}
						for _, n := range l.Noises {
							noises = append(noises, n.Name)
						}
					}
					for _, n := range noises {
						r := train.Run{Objective: o.Name, Policy: p.Name, Weight: w.name, Hyper: w.hyper,
							Lambda: lambda, Penalty: train.None(), Noise: n, Samples: 3}
						c, err := l.parts(r)
						if err != nil {
							return err
						}
						if err := f(r, c.Objective, c); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}
