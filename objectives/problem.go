package objectives

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/policies"
)

// Objective builds the scalar that learning minimizes. It is a plain function:
// options are the arguments of the function that returns it.
type Objective func(p Problem) graph.Expr

// The inputs of an objective's graph, by name. Only those that the objective
// reads are part of a program; see [graph.Program.Has].
const (
	InputContext      = "context"      // φ(x) [B×d]
	InputNorm         = "norm"         // ‖φ(x)‖ [B]
	InputAction       = "action"       // a, from 0; of sets its place among those offered; of lists those [B·L]
	InputCost         = "cost"         // c in [−1, 0] [B]
	InputPropensity   = "propensity"   // π₀(a|x) of the logged action [B]
	InputPropensities = "propensities" // π₀(·|x) of all actions [B×K], of sets of those offered and Beyond after them
	InputOffered      = "offered"      // of sets: the item of each action offered, −1 beyond [B×K]
	InputOutcome      = "outcome "     // before a name: the cost of another outcome in [−1, 0] [B]
)

// Beyond is π₀ where a set offers no action: there π is 0, and all that weights make of it is 0 or nearly so.
const Beyond = 1e-30

// Params are the parameters that an objective learns. They live outside of the
// graphs that use them.
type Params struct {
	Dtype    tensor.Dtype   // of all parameters: tensor.Float32 or tensor.Float64
	Mu       *graph.Param   // θ or μ [K×m]; m = d without a representation; W [p×m] of actions with features
	LogSigma *graph.Param   // log σ (), of policies with a posterior, else nil
	Own      []*graph.Param // an objective's own, in order of first use
	Layers   []*graph.Param // a representation's, likewise
	Seed     uint64         // of the values that the layers start at
}

// NewParams returns the parameters at which learning starts: the prior's mean,
// and its scale for policies with a posterior. prior.Mean is [K×d].
func NewParams(dt tensor.Dtype, pol policies.Policy, prior policies.Prior, k, d int) *Params {
	ps := &Params{Dtype: dt, Mu: graph.NewParam("mu", dt, prior.Mean, k, d)}
	if pol.HasPosterior() {
		ps.LogSigma = graph.NewParam("log sigma", dt, []float64{math.Log(cmp.Or(prior.Scale, 1))})
	}
	return ps
}

// All returns the parameters in a fixed order.
func (ps *Params) All() []*graph.Param {
	all := []*graph.Param{ps.Mu}
	if ps.LogSigma != nil {
		all = append(all, ps.LogSigma)
	}
	return slices.Concat(all, ps.Layers, ps.Own)
}

// As returns a copy of the parameters in another element type.
func (ps *Params) As(dt tensor.Dtype) *Params {
	copyOf := func(p *graph.Param) *graph.Param {
		if p == nil {
			return nil
		}
		return p.As(dt)
	}
	q := &Params{Dtype: dt, Mu: copyOf(ps.Mu), LogSigma: copyOf(ps.LogSigma), Seed: ps.Seed}
	for _, p := range ps.Own {
		q.Own = append(q.Own, copyOf(p))
	}
	for _, p := range ps.Layers {
		q.Layers = append(q.Layers, copyOf(p))
	}
	return q
}

// Setup says what a problem is made of.
type Setup struct {
	N       int             // rows that the objective is over, not the minibatch
	Delta   float64         // δ in (0, 1); 0 means 0.05
	Policy  policies.Policy // nil means policies.Softmax
	Weight  Weight          // none means IPS
	Prior   policies.Prior  // its mean is where Mu starts; with a scale, the prior of the bounds
	Params  *Params         // learned so far, shared by programs of several batch sizes; see NewParams
	Actions int             // K; of sets the largest number that a row offers
	Dim     int             // d
	// Items are the vectors z(a) [p] of actions that have features, for scores s(x, a) = h(x)ᵀWᵀz(a) of
	// policies without a posterior; nil: each action has parameters θ_a of its own, s = h(x)ᵀθ_a. Params.Mu
	// and Prior.Mean are then W [p×m].
	Items *graph.Items
	// Sets says that rows offer sets of items, see InputOffered, and not all of them.
	Sets bool
	// Slots, if above 0, is L: a batch is of B lists in one context and from one set each, whose slots a softmax policy
	// fills one after the other ([graph.Expr.PlackettLuce]), and R = B·L. Costs, actions, propensities and outcomes are
	// by slot, the slots of a list next to each other; actions are places in the list's set. 0: rows are decisions.
	Slots int
	// LoggedOnly says that the log has π₀ of the logged action alone. Objectives
	// that need the propensities of all actions then fail.
	LoggedOnly bool
	// Representation makes the features that the policy is linear in, of policies without
	// a posterior; nil: φ(x) itself. Params.Mu and Prior.Mean are then [K×m].
	Representation Representation
	Training       bool // dropout is on
	// Inputs are what programs that run in turns share; nil: each has its own.
	Inputs *graph.Inputs
}

// outputs is the number of rows of Params.Mu.
func (s Setup) outputs() int {
	if s.Items != nil {
		return s.Items.Dim()
	}
	return s.Actions
}

// Problem is what an objective is a function of: one batch of the log, the
// policy that is learned and the weight, as expressions of a graph. R is the
// number of rows, B·S for policies whose noise draws are folded in, B·L of lists.
type Problem struct {
	// Cost is c [R].
	Cost graph.Expr
	// N is n, the rows of the log.
	N float64
	// Delta is δ.
	Delta float64

	*problem
}

// problem is the state that copies of a Problem share.
type problem struct {
	s     Setup
	g     *graph.Graph
	b     int // examples
	draws int // S
	memo  map[string]graph.Expr
	chain []link // layers, in the order of their making
	// Of evaluation on a whole log: the means known from earlier passes, and
	// those that this pass computes. nil in training.
	means *means
}

// New returns the problem of a batch of b examples, in a graph of its own.
func New(s Setup, b int) (Problem, error) {
	s.Policy = cmp.Or[policies.Policy](s.Policy, policies.Softmax{})
	if s.Weight.None() {
		s.Weight = IPS()
	}
	d := cmp.Or(s.Delta, 0.05)
	if err := s.Weight.Check(); err != nil && (s.Weight.H != nil || s.Weight.Of != nil) {
		return Problem{}, &UnfitError{err.Error()}
	}
	switch {
	case s.Params == nil:
		return Problem{}, fmt.Errorf("objectives: no parameters")
	case s.Items == nil && s.Sets:
		return Problem{}, fmt.Errorf("objectives: sets of actions without Items")
	case s.Items != nil && (s.Actions < 1 || s.Items.Dim() < 1 || !s.Sets && s.Items.Len() != s.Actions):
		return Problem{}, fmt.Errorf("objectives: %d items of %d features for %d actions", s.Items.Len(),
			s.Items.Dim(), s.Actions)
	case b < 1 || s.N < 1 || s.Actions < 2 && s.Items == nil || s.Dim < 1:
		return Problem{}, fmt.Errorf("objectives: %d examples of a log of %d rows, %d actions, %d features: want "+
			"at least 1, 1, 2, 1", b, s.N, s.Actions, s.Dim)
	case !(d > 0 && d < 1):
		return Problem{}, fmt.Errorf("objectives: delta %v is outside (0, 1)", d)
	case s.Prior.Scale < 0 || math.IsNaN(s.Prior.Scale):
		return Problem{}, fmt.Errorf("objectives: prior scale %v, want a positive number", s.Prior.Scale)
	case len(s.Prior.Mean) != s.Params.Mu.Len() || s.Params.Mu.Value.Shape()[0] != s.outputs():
		return Problem{}, fmt.Errorf("objectives: prior mean of %d numbers for parameters of shape %v and %d "+
			"actions, or features of actions", len(s.Prior.Mean), s.Params.Mu.Value.Shape(), s.outputs())
	case s.Representation == nil && len(s.Prior.Mean) != s.outputs()*s.Dim:
		return Problem{}, fmt.Errorf("objectives: prior mean of %d numbers for %d actions, or features of actions, "+
			"and %d features", len(s.Prior.Mean), s.outputs(), s.Dim)
	case s.Items != nil && s.Policy.HasPosterior():
		return Problem{}, unfit("%s", Correlated)
	case s.Slots > 0 && (!s.Sets || !isSoftmax(s.Policy)):
		return Problem{}, unfit("the probabilities of lists are those of softmax policies over sets")
	case s.Representation != nil && s.Policy.HasPosterior():
		return Problem{}, unfit("the divergence of a posterior says nothing of layers that are learned on the same " +
			"rows: take a representation learned on other rows, or a policy without a posterior")
	}
	s.Prior.Scale = cmp.Or(s.Prior.Scale, 1)
	p := Problem{N: float64(s.N), Delta: d, problem: &problem{
		s: s, g: graph.New(s.Params.Dtype), b: b, draws: s.Policy.Draws(), memo: map[string]graph.Expr{},
	}}
	p.g.Share(s.Inputs)
	p.Cost = p.byRow(InputCost)
	return p, nil
}

func isSoftmax(p policies.Policy) bool {
	_, ok := p.(policies.Softmax)
	return ok
}

// byRow is an input of a number for each row of the log, [R].
func (p Problem) byRow(input string) graph.Expr {
	return p.g.Input(input, p.b*max(1, p.s.Slots)).RepeatRows(p.draws)
}

// Graph returns the graph that the problem is built in.
func (p Problem) Graph() *graph.Graph { return p.g }

// once builds an expression the first time and returns it again after.
func (p Problem) once(name string, build func() graph.Expr) graph.Expr {
	if x, ok := p.memo[name]; ok {
		return x
	}
	x := build()
	p.memo[name] = x
	return x
}

// Correlated is why a policy of actions with features has no posterior.
const Correlated = "actions with features share their parameters, so that under a posterior their scores are " +
	"correlated, which its propensities do not allow for: take a softmax policy, or the certified recipe"

// K returns the number of actions; of sets the largest number that a row offers.
func (p Problem) K() int { return p.s.Actions }

// Pi returns the probabilities of all actions under the policy, [R×K]; of sets those of the
// actions offered, in their order, and 0 beyond.
func (p Problem) Pi() graph.Expr {
	if p.s.Slots > 0 {
		return p.Unfit("the objective needs the probabilities of all actions at each slot, and lists have those of theirs")
	}
	return p.once("pi", func() graph.Expr { return p.s.Policy.Probs(p.scores()) })
}

// logLists is log π(a_l|x, a_1…a_{l−1}) of the actions of lists, [R].
func (p Problem) logLists() graph.Expr {
	return p.once("log lists", func() graph.Expr {
		return p.scores().Mean.PlackettLuce(p.action().Reshape(p.b, p.s.Slots)).Reshape(p.b * p.s.Slots)
	})
}

func (p Problem) scores() policies.Scores {
	return policies.Scores{
		Mean: p.once("scores", func() graph.Expr {
			if p.s.Items == nil {
				return p.outputs()
			}
			return p.outputs().ItemScores(p.s.Items, p.offered())
		}),
		Share: p.share(),
		Norm: p.once("norm", func() graph.Expr {
			if p.s.Representation != nil {
				return p.Features().Square().SumOver(1).Sqrt()
			}
			return p.g.Input(InputNorm, p.b)
		}),
		Sigma: p.sigma(),
	}
}

// outputs is h(x)ᵀMuᵀ: the scores [B×K] themselves, or what scores of items are products with [B×p].
func (p Problem) outputs() graph.Expr {
	return p.once("outputs", func() graph.Expr { return p.Features().MatMulT(p.Mu()) })
}

// offered are the items that sets offer, nothing for all.
func (p Problem) offered() graph.Expr {
	if !p.s.Sets {
		return graph.Expr{}
	}
	return p.once("offered", func() graph.Expr { return p.g.Input(InputOffered, p.b, p.s.Actions) })
}

// share is 1/|offered| at each action that a set offers, 0 beyond [B×K].
func (p Problem) share() graph.Expr {
	if !p.s.Sets {
		return graph.Expr{}
	}
	return p.once("share", func() graph.Expr {
		some := p.offered().Above(-.5)
		return some.Div(some.SumOver(1).Across(p.s.Actions))
	})
}

// catalogue reports that π of the logged action can be had without all others, and the floor that it has.
func (p Problem) catalogue() (floor float64, ok bool) {
	if p.s.Items == nil || p.s.Sets {
		return 0, false
	}
	pol := p.s.Policy
	if f, is := pol.(policies.Floor); is {
		floor, pol = f.Epsilon, f.Policy
	}
	_, ok = pol.(policies.Softmax)
	return floor, ok
}

// logSoftmaxLogged is the logarithm of the softmax over a catalogue at the logged action, [R].
func (p Problem) logSoftmaxLogged() graph.Expr {
	return p.once("log softmax logged", func() graph.Expr { return p.outputs().ItemLogProb(p.s.Items, p.action()) })
}

// ScoreLogged returns the score s(x_i, a_i), [R], of policies without draws.
func (p Problem) ScoreLogged() graph.Expr {
	return p.once("score logged", func() graph.Expr {
		if p.s.Items == nil || p.s.Sets {
			return p.scores().Mean.RepeatRows(max(1, p.s.Slots)).Gather(p.action())
		}
		return p.outputs().ItemScores(p.s.Items, p.action().Reshape(p.b, 1)).Reshape(p.b)
	})
}

// PiLogged returns π(a_i|x_i), [R]. Of a softmax over a catalogue it takes no [R×K].
func (p Problem) PiLogged() graph.Expr {
	return p.once("pi logged", func() graph.Expr {
		if p.s.Slots > 0 {
			return p.logLists().Exp()
		}
		if floor, ok := p.catalogue(); ok {
			pi := p.logSoftmaxLogged().Exp()
			if floor > 0 {
				pi = pi.Scale(1 - floor).Plus(floor / float64(p.s.Actions))
			}
			return pi
		}
		return p.Pi().Gather(p.action())
	})
}

// LogPiLogged returns log π(a_i|x_i), [R], of the softmax without underflow, of
// other policies at least log 1e-30.
func (p Problem) LogPiLogged() graph.Expr {
	return p.once("log pi logged", func() graph.Expr {
		if p.s.Slots > 0 {
			return p.logLists()
		}
		if q, ok := p.s.Policy.(policies.Softmax); ok {
			if _, ok := p.catalogue(); ok {
				return p.logSoftmaxLogged()
			}
			return q.LogProbs(p.scores()).Gather(p.action())
		}
		return p.PiLogged().AtLeast(1e-30).Log()
	})
}

// Pi0 returns the logging propensities of all actions, [R×K]; of sets those of the actions offered, and [Beyond]
// after them. An objective that calls it needs a log that has them.
func (p Problem) Pi0() graph.Expr {
	if p.s.LoggedOnly || p.s.Slots > 0 {
		return p.Unfit("the objective needs the logging propensities of all actions, and the log has only those of " +
			"the logged ones")
	}
	return p.once("pi0", func() graph.Expr {
		return p.g.Input(InputPropensities, p.b, p.s.Actions).RepeatRows(p.draws)
	})
}

// Pi0Logged returns π₀(a_i|x_i), [R].
func (p Problem) Pi0Logged() graph.Expr {
	return p.once("pi0 logged", func() graph.Expr { return p.byRow(InputPropensity) })
}

// Outcome returns the cost c in [−1, 0] of another outcome of the log, −1 where it is best, and 0 where it is worst
// or missing, [R]: p.Weight().Mul(p.Outcome(name)) is to it what [Problem.Loss] is to the reward. A trade-off of one's
// own is a sum of their means.
func (p Problem) Outcome(name string) graph.Expr {
	return p.once(InputOutcome+name, func() graph.Expr { return p.byRow(InputOutcome + name) })
}

func (p Problem) action() graph.Expr {
	return p.once("action", func() graph.Expr { return p.byRow(InputAction) })
}

// W returns the weight as it was given.
func (p Problem) W() GraphWeight { return GraphWeight{p.s.Weight} }

// Weight returns ŵ(x_i, a_i), [R].
func (p Problem) Weight() graph.Expr { return p.W().Value(p.PiLogged(), p.Pi0Logged()) }

// Loss returns ŵ(x_i, a_i)·c_i, [R], whose mean is the estimated risk R̂. For a
// mixture it is that of π_Q, which for weights that are not linear is not
// E_{θ~Q}[R̂(π_θ)]; see [Problem.Expect].
func (p Problem) Loss() graph.Expr { return p.Weight().Mul(p.Cost) }

// Expect returns E_{θ~Q}[f(π_θ, π₀)], elementwise for propensities π of the
// policy and π₀ of the same shape. For policies that are given by draws, and for
// point policies, that is f itself, and the expectation is in the mean over
// rows. For mixtures of deterministic policies π_θ is 0 or 1, hence exactly
//
//	E[f(π_θ, π₀)] = (1 − π_Q)·f(0, π₀) + π_Q·f(1, π₀)
func (p Problem) Expect(f func(pi, pi0 graph.Expr) graph.Expr, pi, pi0 graph.Expr) graph.Expr {
	if !p.s.Policy.Mixture() {
		return f(pi, pi0)
	}
	zero := pi0.Scale(0)
	f0, f1 := f(zero, pi0), f(zero.Plus(1), pi0)
	return f0.Add(pi.Mul(f1.Sub(f0)))
}

// Mean returns the mean over the rows of the log: of a vector [R], a scalar; of
// a matrix [R×m], a vector [m]. The name makes the term visible in tables, and
// lets the objective be evaluated on a whole log, where means are taken over all
// its rows before they are combined. Take every mean over rows by it.
func (p Problem) Mean(name string, rows graph.Expr) graph.Expr {
	if p.means != nil {
		return p.means.mean(p.g, name, rows)
	}
	return meanRows(rows).Named(name)
}

func meanRows(rows graph.Expr) graph.Expr {
	if len(rows.Shape()) == 2 {
		return rows.MeanOver(0)
	}
	return rows.Mean()
}

// Term names a scalar that is no mean of rows, to be seen in tables.
func (p Problem) Term(name string, x graph.Expr) graph.Expr { return x.Named(name) }

// Mu returns μ or θ, [K×m], or W [p×m].
func (p Problem) Mu() graph.Expr { return p.g.Param(p.s.Params.Mu) }

func (p Problem) sigma() graph.Expr {
	if p.s.Params.LogSigma == nil {
		return graph.Expr{}
	}
	return p.once("sigma", func() graph.Expr { return p.g.Param(p.s.Params.LogSigma).Exp() })
}

func (p Problem) priorMean() graph.Expr {
	return p.once("prior mean", func() graph.Expr {
		k := p.s.outputs()
		return p.g.Const("prior mean", p.s.Prior.Mean, k, len(p.s.Prior.Mean)/k)
	})
}

// KL returns KL(Q‖P) in nats, (). It fails for policies without a posterior.
func (p Problem) KL() graph.Expr {
	if p.s.Params.LogSigma == nil {
		return p.Unfit("the objective needs a posterior, and policy %s has none", p.s.Policy.Name())
	}
	return p.once("kl", func() graph.Expr {
		return policies.KL(p.Mu(), p.g.Param(p.s.Params.LogSigma), p.priorMean(), p.s.Prior.Scale).Named("KL")
	})
}

// SquaredDistance returns ‖θ − θ₀‖², (), with θ₀ the prior's mean.
func (p Problem) SquaredDistance() graph.Expr {
	return p.once("distance", func() graph.Expr {
		return p.Mu().Sub(p.priorMean()).Square().Sum().Named("distance")
	})
}

// withDistance returns x + λ‖θ − θ₀‖², x alone where λ is 0: reading all of θ is then saved.
func (p Problem) withDistance(x graph.Expr, lambda float64) graph.Expr {
	if lambda == 0 {
		return x
	}
	return x.Add(p.SquaredDistance().Scale(lambda))
}

// Param returns a parameter of the objective's own, a scalar that starts at
// init. Its gradient is checked and it is trained like the others.
func (p Problem) Param(name string, init float64) graph.Expr {
	for _, q := range p.s.Params.Own {
		if q.Name == name {
			return p.g.Param(q)
		}
	}
	q := graph.NewParam(name, p.s.Params.Dtype, []float64{init})
	p.s.Params.Own = append(p.s.Params.Own, q)
	return p.g.Param(q)
}

// Numbers returns fixed numbers as a vector, such as a grid to choose from.
func (p Problem) Numbers(name string, values []float64) graph.Expr {
	return p.g.Const(name, values, len(values))
}

// Number returns a fixed number as a scalar.
func (p Problem) Number(name string, value float64) graph.Expr {
	return p.g.Const(name, []float64{value})
}

// UnfitError says that an objective, a weight, a policy or a log do not go
// together, or that a hyperparameter is outside of its domain.
type UnfitError struct{ Reason string }

func (e *UnfitError) Error() string { return e.Reason }

func unfit(format string, args ...any) error {
	return &UnfitError{fmt.Sprintf(format, args...)}
}

// Unfit returns the failed expression by which an objective says that it has no
// meaning for the problem's weight, policy or hyperparameters.
func (p Problem) Unfit(format string, args ...any) graph.Expr {
	return graph.Fail("%w", unfit(format, args...))
}

// Check reports whether an objective can be built for a weight and a policy; if
// not, the error is an [*UnfitError].
func Check(o Objective, w Weight, pol policies.Policy) error { return check(o, w, pol, false) }

// CheckLoggedOnly checks like Check, for logs that have π₀ of the logged actions alone.
func CheckLoggedOnly(o Objective, w Weight, pol policies.Policy) error { return check(o, w, pol, true) }

func check(o Objective, w Weight, pol policies.Policy, loggedOnly bool) error {
	prior := policies.Prior{Mean: make([]float64, 4)}
	p, err := New(Setup{
		N: 2, Policy: pol, Weight: w, Prior: prior, Actions: 2, Dim: 2,
		Params: NewParams(tensor.Float64, pol, prior, 2, 2), LoggedOnly: loggedOnly,
	}, 1)
	if err != nil {
		return err
	}
	return o(p).Err()
}
