package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"opl/objectives"
	"opl/policies"
	"opl/policies/features"
	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Recipe is how a policy with the best guarantee is learned from a log: one part of the
// rows learns scores, of which the largest is played, and two models of the reward; the others
// certify that policy, which they had no part in.
type Recipe struct {
	Share float64 // of the rows that teach; 0: 0.5
	Floor float64 // ε of every propensity, see propensity.Floor; in [0, 1)
	Gamma float64 // Γ, the factor that propensities are known up to; 0: 1
	// LayerRate is the learning rate of layers, see Config.Representation; 0: 0.002.
	LayerRate float64
	// StartLayers are those that the start is linear in the features of; nil: in the contexts.
	StartLayers []features.Layer
	// Teaching and Certifying, if not nil, are the rows that teach and those that certify,
	// in place of a random share.
	Teaching, Certifying []int
}

// Certified is what a Recipe gives.
type Certified struct {
	Policy      policies.Policy    // argmax, with the floor
	Posterior   policies.Posterior // its scores Mu, Sigma 0, and in Prior.Taught who learned them
	Bounds      certify.Bounds
	Certificate *provenance.Certificate // nil: there was no judge
	Rows        []int                   // that certify
	Models      []RewardModel           // of the doubly robust bound
	Learner     string                  // heuristic (l2 on logs with logged propensities alone), likelihood, logistic, or start; "layered likelihood" and "layered logistic"
	Seconds     float64

	Represented *Representation // what the policy and the models are linear in; nil: the contexts
}

// RewardModel is a model of the reward that is linear in the features of the policy, h(x)ᵀθ_a
// through a link.
type RewardModel struct {
	Kind  string    // softmax or logistic
	Theta []float64 // θ [K×m]
}

// on is the model for bounds on rows of a log.
func (m RewardModel) on(log *logs.Log, taught propensity.RowSet) *certify.RewardModel {
	link := certify.SoftmaxLink
	if m.Kind == "logistic" {
		link = certify.LogisticLink
	}
	r := certify.Linear(m.Kind, m.Theta, log, link)
	r.Taught = taught
	return r
}

// SplitPrior divides the rows of a log of n at random into those that learn a
// prior, a share of them, and those that certify.
func SplitPrior(n int, share float64, seed uint64) (prior, rest []int, err error) {
	order := Stream(seed, "prior split").Perm(n)
	m := int(share * float64(n))
	if !(share > 0 && share < 1) || m == 0 || m == n {
		return nil, nil, fmt.Errorf("train: a share of %v of %d rows leaves none to learn the prior, or none to certify", share, n)
	}
	return order[:m], order[m:], nil
}

// learner is a way to learn the mean of a prior.
type learner struct {
	name      string
	objective objectives.Objective
}

func learners(log *logs.Log, penalty float64) []learner {
	l := []learner{
		{"heuristic", objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: 1e-5, Bias: 1e-5})},
		{"likelihood", objectives.Likelihood(penalty)},
	}
	if log.LoggedOnly() {
		l[0] = learner{"l2", objectives.L2(1e-5)}
	}
	return l
}

// scores are what a policy is the argmax of: linear in the contexts, or in learned features.
type scores struct {
	theta []float64
	in    *Representation
}

// teacher learns scores from rows of a log. trial says that they are to be compared alone.
type teacher struct {
	name  string
	learn func(stage string, rows []int, trial bool) (scores, error)
}

// teachers are the learners from c's prior on, at c's learning rate falling linearly to 0,
// with c's epochs. The likelihood has a penalty.
func teachers(ctx context.Context, log *logs.Log, c Config, penalty float64) (all []teacher) {
	c.Policy, c.Schedule, c.Representation = policies.Softmax{}, Linear, nil
	c.Prior.Scale = 0
	for _, l := range learners(log, penalty) {
		all = append(all, teacher{l.name, func(stage string, rows []int, _ bool) (scores, error) {
			c.stage = stage
			c.Objective, c.Weight = l.objective, objectives.Clip(objectives.DefaultHyper(len(rows), 0))
			res, err := Fit(ctx, log.Subset(rows), c)
			if err != nil {
				return scores{}, fmt.Errorf("learning by %s: %w", l.name, err)
			}
			return scores{theta: res.Posterior.Mu}, nil
		}})
	}
	return all
}

// Layers learn from so many minibatches: enough for small logs, and no more than large ones
// need.
const (
	leastSteps = 1_000
	mostSteps  = 20_000
	mostPasses = 100
)

// layeredTeachers learn c's representation along with scores, with epochs passes over the rows, a
// third of them in trials.
func layeredTeachers(ctx context.Context, log *logs.Log, c Config, rate float64, epochs int) (all []teacher) {
	c.Policy, c.Schedule, c.LearningRate, c.Weight, c.Epoch = policies.Softmax{}, Linear, rate, objectives.Weight{}, nil
	c.Prior = policies.Prior{}
	for _, l := range []learner{{"likelihood", objectives.Likelihood(0)}, {"logistic", objectives.Logistic(0)}} {
		all = append(all, teacher{layeredPrefix + l.name, func(stage string, rows []int, trial bool) (scores, error) {
			passes := float64(len(rows)) / float64(cmp.Or(c.BatchSize, 128)) // steps of an epoch, about
			c := c
			c.Epochs = max(1, min(max(epochs, int(leastSteps/passes)), mostPasses, int(mostSteps/passes)))
			if trial {
				c.Epochs = (c.Epochs + 2) / 3
			}
			c.stage, c.Objective = stage, l.objective
			res, err := Fit(ctx, log.Subset(rows), c)
			if err != nil {
				return scores{}, fmt.Errorf("learning layers by %s: %w", l.name, err)
			}
			return scores{res.Posterior.Mu, res.Represented}, nil
		}})
	}
	return all
}

const layeredPrefix = "layered "

// teach takes the teacher whose argmax policy, learned on four fifths of the rows, has the
// lowest risk on the last fifth, where risk may use what all of them learned; then it learns from
// all rows.
func teach(rows []int, all []teacher, risk func(s scores, learned map[string]scores, rows []int) (float64, error)) (of scores, name string, err error) {
	if len(rows) < 5 {
		return scores{}, "", fmt.Errorf("train: %d rows to learn from, want at least 5", len(rows))
	}
	cut := len(rows) * 4 / 5
	learned := map[string]scores{}
	for _, t := range all {
		if learned[t.name], err = t.learn("trial of "+t.name, rows[:cut], true); err != nil {
			return scores{}, "", err
		}
	}
	var best teacher
	least := math.Inf(1)
	for _, t := range all {
		r, err := risk(learned[t.name], learned, rows[cut:])
		if err != nil {
			return scores{}, "", err
		}
		if r < least {
			best, least = t, r
		}
	}
	of, err = best.learn("prior", rows, false)
	return of, best.name, err
}

// LearnPrior learns the mean of a prior from some rows of a log, starting at c's
// prior, at c's learning rate falling linearly to 0, with c's epochs. Of two ways,
// the heuristic with Clip(n^(−1/4)) and the likelihood of the rewards, it takes the
// one whose policy, learned on four fifths of the rows, has the lower risk on the
// last fifth by logarithmic smoothing; then it learns from all of them. The prior
// notes its rows; its scale is left to be chosen. It returns the learner's name.
func LearnPrior(ctx context.Context, log *logs.Log, rows []int, c Config) (policies.Prior, string, error) {
	mean, name, err := teach(rows, teachers(ctx, log, c, 1e-6), func(s scores, _ map[string]scores, rows []int) (float64, error) {
		return smoothedRisk(s.theta, log, rows), nil
	})
	if err != nil {
		return policies.Prior{}, "", err
	}
	return policies.Prior{Mean: mean.theta, Taught: propensity.NewRowSet(log.Hashes(rows))}, name, nil
}

// smoothedRisk is the risk of the argmax policy of mu on some rows, by logarithmic
// smoothing with ℓ = 1/√n.
func smoothedRisk(mu []float64, log *logs.Log, rows []int) float64 {
	contexts := make([]int, len(rows))
	for i, r := range rows {
		contexts[i] = log.Context(r)
	}
	l := 1 / math.Sqrt(float64(len(rows)))
	pi := make([]float64, log.K())
	var risk float64
	logs.Scores(log.X, contexts, mu, log.K(), func(i int, scores []float64) {
		policies.Gaussian{}.AtMean(pi, scores)
		r := rows[i]
		risk -= pi[log.Action[r]] * math.Log1p(-l*log.Cost[r]/log.Propensity[r]) / l
	})
	return risk / float64(len(rows))
}

// Learn runs the recipe on a log. Of c it uses the prior's mean as the start, the epochs
// (half of them) and learning rate of the learners, batch size, seed, element type, δ and progress. The
// scores are those of the best of the learners of a prior, of the logistic model of the reward,
// of the start if it is not 0, and, with a representation, of layers that learn by either model
// of the reward, with three quarters of the epochs.
//
// The judge is that of the log; nil: bounds are computed, and nothing is certified.
func (r Recipe) Learn(ctx context.Context, judge *provenance.Judge, log *logs.Log, c Config) (*Certified, error) {
	if r.Share == 0 {
		r.Share = 0.5
	}
	if !(r.Floor >= 0 && r.Floor < 1) {
		return nil, fmt.Errorf("train: floor %v is outside [0, 1)", r.Floor)
	}
	if err := log.Learnable(); err != nil {
		return nil, err
	}
	teaching, rest := r.Teaching, r.Certifying
	if teaching == nil {
		var err error
		if teaching, rest, err = SplitPrior(log.Len(), r.Share, c.Seed); err != nil {
			return nil, err
		}
	}
	const penalty = 1e-7
	begin := time.Now()
	var layered []teacher
	if c.Representation != nil {
		layered = layeredTeachers(ctx, log, c, cmp.Or(r.LayerRate, 0.002), (3*c.Epochs+3)/4)
	}
	c.Representation = nil
	start, before := c.Prior.Mean, Layered(r.StartLayers)
	if before != nil { // the start is no start of linear scores
		c.Prior.Mean = nil
	}
	c.Epochs = (c.Epochs + 1) / 2 // more of them fit the noise of large models
	all := teachers(ctx, log, c, penalty)
	logistic := teacher{"logistic", func(_ string, rows []int, _ bool) (scores, error) {
		theta, err := Logistic(ctx, log, rows, c.Threads)
		return scores{theta: theta}, err
	}}
	all = append(append(all, logistic), layered...)
	if slices.ContainsFunc(start, func(v float64) bool { return v != 0 }) {
		all = append(all, teacher{"start", func(string, []int, bool) (scores, error) { return scores{start, before}, nil }})
	}
	policy := policies.Floor{Policy: policies.ArgMax{}, Epsilon: r.Floor}
	o := certify.Options{Delta: c.Delta, Gamma: r.Gamma, Threads: c.Threads}
	views := map[*Representation]*logs.Log{} // of what trials learned
	view := func(s scores, rows []int) (*logs.Log, error) {
		var err error
		if views[s.in] == nil {
			views[s.in], err = s.in.View(log, rows, c.Threads)
		}
		return views[s.in], err
	}
	chosen, name, err := teach(teaching, all, func(s scores, learned map[string]scores, rows []int) (float64, error) {
		o.Models = nil
		for _, m := range []struct{ kind, learner string }{{"softmax", "likelihood"}, {"logistic", "logistic"}, {"softmax", layeredPrefix + "likelihood"}, {"logistic", layeredPrefix + "logistic"}} {
			if by, ok := learned[m.learner]; ok {
				on, err := view(by, rows)
				if err != nil {
					return 0, err
				}
				o.Models = append(o.Models, RewardModel{m.kind, by.theta}.on(on, propensity.RowSet{}))
			}
		}
		on, err := view(s, rows)
		if err != nil {
			return 0, err
		}
		b, err := certify.Fixed(certify.Play(policy, s.theta, on), nil, log, rows, o)
		if err != nil {
			return 0, err
		}
		if b.Reward() <= 0 { // too few rows to bound anything: behind all that are bounded
			return math.Exp(smoothedRisk(s.theta, on, rows)), nil
		}
		return b.Best().Risk, nil
	})
	if err != nil {
		return nil, err
	}
	clear(views)
	out := &Certified{Policy: policy, Rows: rest, Learner: name, Represented: chosen.in}
	taught, err := chosen.in.View(log, teaching, c.Threads)
	if err != nil {
		return nil, err
	}
	if out.Models, err = models(ctx, taught, teaching, c, chosen, name, penalty); err != nil {
		return nil, err
	}
	certifying, err := chosen.in.View(log, rest, c.Threads)
	if err != nil {
		return nil, err
	}
	taughtBy := propensity.NewRowSet(log.Hashes(teaching))
	out.Posterior = policies.Posterior{Actions: log.K(), Dim: certifying.Dim(), Mu: chosen.theta}
	out.Posterior.Prior.Taught = taughtBy
	o.Models = nil
	for _, m := range out.Models {
		o.Models = append(o.Models, m.on(certifying, taughtBy))
	}
	pi := certify.Play(policy, chosen.theta, certifying)
	if judge == nil {
		out.Bounds, err = certify.Fixed(pi, nil, log, rest, o)
	} else if out.Certificate, err = judge.Fixed(pi, provenance.TaughtBy(taughtBy), rest, o); err == nil {
		out.Bounds = out.Certificate.Statement().Bounds
	}
	out.Seconds = time.Since(begin).Seconds()
	return out, err
}

// models are models of the reward for the doubly robust bounds, from the rows that taught the
// policy, linear in its features. A policy that was learned as one is that one.
func models(ctx context.Context, log *logs.Log, rows []int, c Config, s scores, name string, penalty float64) ([]RewardModel, error) {
	softmax, values := s.theta, s.theta
	c.Prior = policies.Prior{}
	if s.in != nil {
		c.LearningRate = 0.002
	}
	kind := strings.TrimPrefix(name, layeredPrefix)
	if kind != "likelihood" {
		l, err := teachers(ctx, log, c, penalty)[1].learn("reward model", rows, false)
		if err != nil {
			return nil, err
		}
		softmax = l.theta
	}
	if kind != "logistic" {
		var err error
		if values, err = Logistic(ctx, log, rows, c.Threads); err != nil {
			return nil, err
		}
	}
	return []RewardModel{{"softmax", softmax}, {"logistic", values}}, nil
}
