package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"opl/objectives"
	"opl/policies"
	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// PriorScales is the grid that the scale s of a learned prior is chosen from. It
// is fixed in advance, and the choice is paid for by a union bound.
func PriorScales() []float64 { return []float64{1, .5, .3, .2, .1, .05} }

// Recipe is how a policy with the best guarantee is learned from a log: one part
// of the rows learns a prior, and the others certify a Gaussian policy around it
// (and tune it, which a posterior may be).
type Recipe struct {
	Share  float64   // of the rows that learn the prior; 0: 0.5
	Scales []float64 // of the prior, fixed in advance; nil: PriorScales
	Floor  float64   // ε of every propensity, see propensity.Floor; in [0, 1)
	// Teaching and Certifying, if not nil, are the rows that learn the prior and those
	// that certify, in place of a random share.
	Teaching, Certifying []int
	// Tune, if positive, is the number of epochs in which the posterior is
	// trained on the logarithmic-smoothing bound, from the best prior. It rarely
	// gains more than 0.0002.
	Tune int
}

// Certified is what a Recipe gives.
type Certified struct {
	Policy      policies.Policy // gaussian, with the floor
	Posterior   policies.Posterior
	Bounds      certify.Bounds
	Certificate *provenance.Certificate // nil: there was no judge
	Rows        []int                   // that certify
	RewardModel certify.RewardModel     // of the doubly robust bound
	Learner     string                  // of the prior: heuristic (l2 on logs with logged propensities alone) or likelihood
	Seconds     float64
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

func learners(log *logs.Log) []learner {
	l := []learner{
		{"heuristic", objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: 1e-5, Bias: 1e-5})},
		{"likelihood", objectives.Likelihood(1e-6)},
	}
	if log.LoggedOnly() {
		l[0] = learner{"l2", objectives.L2(1e-5)}
	}
	return l
}

// LearnPrior learns the mean of a prior from some rows of a log, starting at c's
// prior, at c's learning rate falling linearly to 0, with c's epochs. Of two ways,
// the heuristic with Clip(n^(−1/4)) and the likelihood of the rewards, it takes the
// one whose policy, learned on four fifths of the rows, has the lower risk on the
// last fifth by logarithmic smoothing; then it learns from all of them. The prior
// notes its rows; its scale is left to be chosen. It returns the learner's name.
func LearnPrior(ctx context.Context, log *logs.Log, rows []int, c Config) (policies.Prior, string, error) {
	if len(rows) < 5 {
		return policies.Prior{}, "", fmt.Errorf("train: %d rows to learn the prior from, want at least 5", len(rows))
	}
	c.Policy, c.Schedule = policies.Softmax{}, Linear
	c.Prior.Scale = 0
	fit := func(stage string, l learner, rows []int) (*Result, error) {
		c.stage = stage
		c.Objective, c.Weight = l.objective, objectives.Clip(objectives.DefaultHyper(len(rows), 0))
		res, err := Fit(ctx, log.Subset(rows), c)
		if err != nil {
			return nil, fmt.Errorf("learning the prior by %s: %w", l.name, err)
		}
		return res, nil
	}
	cut := len(rows) * 4 / 5
	var best learner
	least := math.Inf(1)
	for _, l := range learners(log) {
		res, err := fit("trial of "+l.name, l, rows[:cut])
		if err != nil {
			return policies.Prior{}, "", err
		}
		if r := smoothedRisk(res.Posterior.Mu, log, rows[cut:]); r < least {
			best, least = l, r
		}
	}
	res, err := fit("prior", best, rows)
	if err != nil {
		return policies.Prior{}, "", err
	}
	return policies.Prior{Mean: res.Posterior.Mu, Taught: propensity.NewRowSet(log.Hashes(rows))}, best.name, nil
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

// Learn runs the recipe on a log. Of c it uses the prior's mean as the start, the
// epochs and learning rate of the prior's learner, batch size, seed, element type,
// δ and progress. The certificate's δ pays for the choice of the scale.
//
// The judge is that of the log; nil: the best is chosen by bounds, and nothing is
// certified.
func (r Recipe) Learn(ctx context.Context, judge *provenance.Judge, log *logs.Log, c Config) (*Certified, error) {
	if r.Share == 0 {
		r.Share = 0.5
	}
	if r.Scales == nil {
		r.Scales = PriorScales()
	}
	for _, s := range r.Scales {
		if !(s > 0) || math.IsInf(s, 1) {
			return nil, fmt.Errorf("train: prior scale %v, want a positive number", s)
		}
	}
	if len(r.Scales) == 0 {
		return nil, errors.New("train: no prior scale")
	}
	if !(r.Floor >= 0 && r.Floor < 1) {
		return nil, fmt.Errorf("train: floor %v is outside [0, 1)", r.Floor)
	}
	if err := log.Learnable(); err != nil {
		return nil, err
	}
	teach, rest := r.Teaching, r.Certifying
	if teach == nil {
		var err error
		if teach, rest, err = SplitPrior(log.Len(), r.Share, c.Seed); err != nil {
			return nil, err
		}
	}
	policy := policies.Floor{Policy: policies.Gaussian{}, Epsilon: r.Floor}
	out := &Certified{Policy: policy, Rows: rest}
	begin := time.Now()
	prior, name, err := LearnPrior(ctx, log, teach, c)
	if err != nil {
		return nil, err
	}
	out.Learner = name
	// The reward model of the doubly robust bound, from the prior's rows as well.
	out.RewardModel = certify.RewardModel{Theta: prior.Mean, Taught: prior.Taught}
	if name != "likelihood" {
		model := c
		model.Objective, model.Policy, model.Weight, model.Schedule = objectives.Likelihood(1e-6), policies.Softmax{}, objectives.Weight{}, Linear
		model.Prior, model.stage = policies.Prior{}, "reward model"
		res, err := Fit(ctx, log.Subset(teach), model)
		if err != nil {
			return nil, fmt.Errorf("learning the reward model: %w", err)
		}
		out.RewardModel.Theta = res.Posterior.Mu
	}
	search := Search{Log: log, Judge: judge, Policy: policy, Rows: rest, Options: certify.Options{
		Delta: c.Delta, RewardModel: &out.RewardModel, Priors: len(r.Scales), Seed: c.Seed, Threads: c.Threads}}
	for _, s := range r.Scales {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		prior.Scale = s
		q := policies.Posterior{Actions: log.K(), Dim: log.Dim(), Mu: prior.Mean, Sigma: s, Prior: prior}
		if _, err := search.Consider(q); err != nil {
			return nil, err
		}
	}
	if r.Tune > 0 {
		c.Objective, c.Policy, c.Prior = objectives.LogSmoothing(), policy, search.Best.Prior
		c.Epochs, c.LearningRate, c.Schedule, c.stage = r.Tune, 1e-3, Linear, "tuning"
		res, err := Fit(ctx, log.Subset(rest), c)
		if err != nil {
			return nil, fmt.Errorf("tuning the posterior: %w", err)
		}
		if _, err := search.Consider(res.Posterior); err != nil {
			return nil, err
		}
	}
	out.Posterior, out.Bounds, out.Certificate = search.Best, *search.Bounds, search.Certificate
	out.Seconds = time.Since(begin).Seconds()
	return out, nil
}
