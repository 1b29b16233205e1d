// Package library turns names into objectives, weights, policies, noise sources and estimators, and
// says of each what it is called in tables and figures. Whatever is in a [Library] is known to
// every command, grid file and figure. Use Standard and append your own entries.
package library

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"opl/objectives"
	"opl/objectives/weights"
	"opl/policies"
	"opl/train"
	"opl/train/internal/spelling"
	"opl/train/logs"
	"opl/train/ope"
)

// Library maps names to the things that runs are made of. It is a value: append to the
// slices of [Standard] to add one's own.
type Library struct {
	Objectives []Objective     // of --objectives
	Weights    []Weight        // of --weights
	Policies   []Policy        // of --policy
	Noises     []Noise         // of --noise
	Estimators []ope.Estimator // of evaluate; weights of other names are estimators too
	// Representations are what policies can be linear in, beside the context itself.
	Representations []Representation
	// Bucket opens the bucket of a URL such as s3://name?region=x, in which logs and folders of runs are;
	// nil: they are local.
	Bucket func(ctx context.Context, url string) (logs.Bucket, error)
	Unpack map[string]logs.Unpack // formats that the program adds, by the ending of their files
	// Around wraps what answers the requests of serve, as tracing does; nil: nothing does.
	Around func(http.Handler) http.Handler
}

// Representation is a named constructor, of arguments that stand behind the name: "mlp=256,256".
type Representation struct {
	Name  string                                                 // in flags and tables
	Make  func(args []string) (objectives.Representation, error) // of no arguments: the default
	Check string                                                 // arguments of a small one, for gradient checks
	About string                                                 // one line of help
}

// Objective is a named constructor.
type Objective struct {
	Name       string                            // in flags and tables
	Label      string                            // in figures; empty: the name
	Policy     string                            // the family that it is meant for
	Recipe     bool                              // is train.Recipe, and Make is nil
	OwnWeight  bool                              // brings its own weight; runs once, not once per weight
	Hyper      string                            // of objectives with their own weight: the weight whose hyperparameter they take
	HasLambda  bool                              // has the three choices of λ
	HasPenalty bool                              // takes a penalty
	Penalty    float64                           // where none is given
	Make       func(a Args) objectives.Objective // constructor, of the arguments that flags set
	About      string                            // one line of help
}

// Args are the arguments of an objective's constructor.
type Args struct {
	Lambda  objectives.Lambda // star, authors or a number
	Penalty float64           // how large the objective's penalty is
	Hyper   float64           // of the weight
}

// Weight is a named constructor.
type Weight struct {
	Name   string // in flags and tables
	Label  string // in figures; empty: the name
	Symbol string // of its hyperparameter, such as τ; empty: h
	// the hyperparameter at which it is IPS, 0 or 1, which its default n^(−1/4) or 1−n^(−1/4) is near; NaN:
	// no hyperparameter
	IPSAt float64
	Make  func(hyper float64) objectives.Weight
	About string
}

// Tunable reports whether the weight has a hyperparameter.
func (w Weight) Tunable() bool { return !math.IsNaN(w.IPSAt) }

// Policy is a named constructor. samples is S, 0 for the default; mc asks for
// Monte Carlo where there is an exact form.
type Policy struct {
	Name  string                                                           // in flags and tables
	Make  func(samples int, noise policies.Noise, mc bool) policies.Policy // noise nil: independent draws
	Plays bool                                                             // is what a recipe gives, and has no gradient
	About string                                                           // one line of help
}

// Noise is a source, named by itself.
type Noise struct {
	policies.Noise
	About string // one line of help
}

func standardObjectives() []Objective {
	return []Objective{
		{Name: "heuristic", Policy: "softmax", HasPenalty: true, Penalty: 1e-5,
			About: "R̂ + λ₁‖θ−θ₀‖² + λ₂Ṽ + λ₃B̃, the paper's heuristic",
			Make: func(a Args) objectives.Objective {
				return objectives.Heuristic(objectives.Penalties{Distance: a.Penalty, Variance: a.Penalty,
					Bias: a.Penalty})
			}},
		{Name: "theorem1", Label: "Theorem 1", Policy: "softmax-posterior", HasLambda: true,
			About: "the bound of Theorem 1, any weight",
			Make:  func(a Args) objectives.Objective { return objectives.Theorem1(a.Lambda) }},
		{Name: "corollary1", Label: "Corollary 1", Policy: "gaussian", HasLambda: true,
			About: "the bound of Corollary 1, linear weights",
			Make:  func(a Args) objectives.Objective { return objectives.Corollary1(a.Lambda) }},
		{Name: "certified", Policy: "argmax", Recipe: true, OwnWeight: true,
			About: "the recipe for the best guarantee: rows certify a policy that other rows taught"},
		{Name: "london", Label: "London et al.", Policy: "gaussian",
			About: "the bound of London & Sandler 2019, clip alone",
			Make:  func(Args) objectives.Objective { return objectives.London() }},
		{Name: "sakhi1", Label: "Sakhi et al. 1", Policy: "gaussian",
			About: "the Catoni bound of Sakhi et al. 2022, clip alone",
			Make:  func(Args) objectives.Objective { return objectives.Sakhi1() }},
		{Name: "sakhi2", Label: "Sakhi et al. 2", Policy: "gaussian",
			About: "the Bernstein bound of Sakhi et al. 2022, clip alone",
			Make:  func(Args) objectives.Objective { return objectives.Sakhi2() }},
		{Name: "ixbound", Policy: "gaussian", OwnWeight: true, About: "the bound behind implicit pessimism, " +
			"one-sided",
			Make: func(Args) objectives.Objective { return objectives.IXBound() }},
		{Name: "ls", Policy: "gaussian", OwnWeight: true, About: "the logarithmic-smoothing bound of Sakhi et " +
			"al. 2024",
			Make: func(Args) objectives.Objective { return objectives.LogSmoothing() }},
		{Name: "risk", Policy: "softmax", About: "the estimated risk R̂ alone",
			Make: func(Args) objectives.Objective { return objectives.Risk() }},
		{Name: "l2", Label: "L₂ heuristic", Policy: "softmax", HasPenalty: true, Penalty: 1e-5,
			About: "R̂ + λ‖θ−θ₀‖², the heuristic of London & Sandler 2019",
			Make:  func(a Args) objectives.Objective { return objectives.L2(a.Penalty) }},
		{Name: "variance", Policy: "softmax", HasPenalty: true, Penalty: 1,
			About: "R̂ + λ√(Var(ŵc)/n), Swaminathan & Joachims 2015",
			Make:  func(a Args) objectives.Objective { return objectives.SampleVariance(a.Penalty) }},
		{Name: "likelihood", Policy: "softmax", OwnWeight: true, HasPenalty: true, Penalty: 1e-6,
			About: "π as a model of the reward, by maximum likelihood",
			Make:  func(a Args) objectives.Objective { return objectives.Likelihood(a.Penalty) }},
		{Name: "logistic", Policy: "softmax", OwnWeight: true, HasPenalty: true, Penalty: 1e-6,
			About: "σ(φᵀθ_a) as a model of the reward, by maximum likelihood",
			Make:  func(a Args) objectives.Objective { return objectives.Logistic(a.Penalty) }},
		{Name: "weighted", Label: "weighted likelihood", Policy: "softmax", HasPenalty: true, Penalty: 1e-6,
			About: "mean of r/h(π₀)·log π for linear weights π/h, for many actions, Aouali & Sakhi 2025",
			Make:  func(a Args) objectives.Objective { return objectives.WeightedLikelihood(a.Penalty) }},
		{Name: "pseudoloss", Policy: "softmax", OwnWeight: true, HasPenalty: true, Penalty: 1e-5,
			About: "R̂_IPS + β mean Σ π/π₀, Wang et al. 2023",
			Make:  func(a Args) objectives.Objective { return objectives.PseudoLoss(a.Penalty) }},
		{Name: "implicit", Policy: "softmax", OwnWeight: true, Hyper: "ix",
			About: "R̂ with IX and nothing else, Gabbianelli et al. 2023",
			Make:  func(a Args) objectives.Objective { return objectives.Implicit(a.Hyper) }},
	}
}

// Standard returns the objectives, weights, policies, noise sources and estimators of opl.
func Standard() Library {
	return Library{
		Objectives: standardObjectives(),
		Weights: []Weight{
			{Name: "clip", Label: "Clip", Symbol: "τ", IPSAt: 0, Make: weights.Clip, About: "π/max(π₀, τ)"},
			{Name: "es", Label: "ES", Symbol: "α", IPSAt: 1, Make: weights.ES, About: "π/π₀^α"},
			{Name: "ix", Label: "IX", Symbol: "γ", IPSAt: 0, Make: weights.IX, About: "π/(π₀+γ)"},
			{Name: "har", Label: "Har", Symbol: "λ", IPSAt: 1, Make: weights.Har, About: "w/((1−λ)w+λ), w = π/π₀"},
			{Name: "ips", Label: "IPS", IPSAt: math.NaN(), Make: func(float64) objectives.Weight {
				return weights.IPS()
			}, About: "π/π₀"},
		},
		Policies: []Policy{
			{Name: "argmax", Plays: true, About: "the largest φᵀθ, of the recipe",
				Make: func(int, policies.Noise, bool) policies.Policy { return policies.ArgMax{} }},
			{Name: "softmax", About: "softmax(φᵀθ), one parameter",
				Make: func(int, policies.Noise, bool) policies.Policy { return policies.Softmax{} }},
			{Name: "gaussian", About: "P(a = argmax φᵀθ), θ ~ N(μ, σ²I)",
				Make: func(s int, n policies.Noise, mc bool) policies.Policy {
					if !mc {
						return policies.Gaussian{}
					}
					s = cmp.Or(s, policies.DefaultSamples)
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
			{policies.LowDiscrepancy{}, "scrambled Sobol' points, above 21 dimensions a Latin hypercube"},
			{policies.IID{}, "independent draws, the paper's Monte Carlo"},
			{policies.Antithetic{}, "pairs of opposite draws"},
		},
		Estimators: ope.Estimators(),
		Representations: []Representation{
			{Name: "mlp", Make: mlp, Check: "4,3,tanh,dropout=0.3", About: "layers of these widths (512), relu or " +
				"tanh, dropout=0…1 (0), such as mlp=256,256,dropout=0.2"},
			{Name: "conv", Make: conv, Check: "3x3,2,pad,dropout=0.3",
				About: "convolutions of images, such as conv=16x5,32x5,128 (default): 16 and 32 kernels of 5×5 " +
					"pixels, a layer; pad, image=28x28x1, dropout"},
			{Name: "fourier", Make: fourier, Check: "3", About: "so many random Fourier features (512), " +
				"bandwidth=1; nothing is learned"},
		},
	}
}

// Validate reports names that are used twice or not at all, entries without a
// formula, and objectives for policies or weights that the library does not
// have.
func (l Library) Validate() error {
	seen := map[string]bool{train.LoggingPolicy: true}
	var errs []error
	add := func(kind, name string, made bool) {
		switch {
		case name == "":
			errs = append(errs, fmt.Errorf("library: a %s has no name", kind))
		case seen[kind+name] || seen[name] && kind == "objective":
			errs = append(errs, fmt.Errorf("library: two entries are the %s %q", kind, name))
		case !made:
			errs = append(errs, fmt.Errorf("library: the %s %q has no formula", kind, name))
		}
		seen[kind+name] = true
	}
	for _, p := range l.Policies {
		add("policy", p.Name, p.Make != nil)
	}
	for _, w := range l.Weights {
		add("weight", w.Name, w.Make != nil)
	}
	for _, n := range l.Noises {
		if n.Noise == nil {
			return errors.New("library: a noise has no name")
		}
		add("noise", n.Name(), true)
	}
	for _, e := range l.Estimators {
		add("estimator", e.Name, e.Of != nil)
	}
	for _, r := range l.Representations {
		add("representation", r.Name, r.Make != nil)
	}
	for _, o := range l.Objectives {
		add("objective", o.Name, o.Make != nil || o.Recipe)
		_, err := l.Policy(o.Policy)
		if err == nil && o.Hyper != "" {
			_, err = l.Weight(o.Hyper)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("library: objective %s: %w", o.Name, err))
		}
	}
	return cmp.Or(errs...)
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
func (l Library) Noise(name string) (Noise, error) { return find("noise", name, l.Noises, Noise.Name) }

func find[T any](kind, name string, items []T, nameOf func(T) string) (T, error) {
	names := make([]string, len(items))
	for i, x := range items {
		if names[i] = nameOf(x); names[i] == name {
			return x, nil
		}
	}
	var none T
	return none, Unknown(kind, name, names)
}

// ErrUnknown says that nothing has a name.
var ErrUnknown = errors.New("unknown")

// Unknown returns an [ErrUnknown], that a name is not one of those that are known, with the
// nearest of them if one is near.
func Unknown(kind, name string, known []string) error {
	return fmt.Errorf("%w %s %q%s (known: %s)", ErrUnknown, kind, name, spelling.Suggest(name, known), strings.Join(known,
		", "))
}

// ObjectiveLabel returns the name of an objective in figures; of a name that the library
// does not have, the name.
func (l Library) ObjectiveLabel(name string) string {
	o, _ := l.Objective(name)
	return cmp.Or(o.Label, name)
}

// WeightLabel returns the name of a weight in figures.
func (l Library) WeightLabel(name string) string {
	w, _ := l.Weight(name)
	return cmp.Or(w.Label, name)
}

// Symbol returns the letter of the hyperparameter of an objective with a weight, or, where
// the objective brings its own, with none.
func (l Library) Symbol(objective, weight string) string {
	o, _ := l.Objective(objective)
	w, _ := l.Weight(cmp.Or(weight, o.Hyper))
	return cmp.Or(w.Symbol, "h")
}
