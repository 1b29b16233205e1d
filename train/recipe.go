package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"opl/objectives"
	"opl/policies"
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
	// Teaching and Certifying, if not nil, are the rows that teach and those that certify,
	// in place of a random share.
	Teaching, Certifying []int
	// Start, if there are several, are the policies that play now, of argmax with these scores, drawn anew
	// for every decision: together, with the recipe's floor, they are a candidate in place of the prior's mean.
	Start []Share
}

// Share is a policy of a mixture, drawn with a probability.
type Share struct {
	Weight float64
	Theta  []float64 // [K×d]
}

// Certified is what a Recipe gives.
type Certified struct {
	Policy      policies.Policy    // argmax, with the floor
	Posterior   policies.Posterior // its scores Mu, Sigma 0, and in Prior.Taught who learned them
	Mixture     []Share            // not nil: the policy is Recipe.Start, and Posterior the last of it
	Bounds      certify.Bounds
	Certificate *provenance.Certificate // nil: there was no judge
	Rows        []int                   // that certify
	Models      []RewardModel           // of the doubly robust bound
	Learner     string                  // heuristic (l2 on logs with logged propensities alone), likelihood, logistic, or start
	Seconds     float64
}

// RewardModel is a model of the reward that is linear in the features, φ(x)ᵀθ_a through a
// link.
type RewardModel struct {
	Kind  string    // softmax or logistic
	Theta []float64 // θ [K×d]
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

// teacher learns scores from rows of a log.
type teacher struct {
	name  string
	learn func(stage string, rows []int) (theta []float64, err error)
}

// teachers are the learners from c's prior on, at c's learning rate falling linearly to 0,
// with c's epochs. The likelihood has a penalty.
func teachers(ctx context.Context, log *logs.Log, c Config, penalty float64) (all []teacher) {
	c.Policy, c.Schedule = policies.Softmax{}, Linear
	c.Prior.Scale = 0
	for _, l := range learners(log, penalty) {
		all = append(all, teacher{l.name, func(stage string, rows []int) ([]float64, error) {
			c.stage = stage
			c.Objective, c.Weight = l.objective, objectives.Clip(objectives.DefaultHyper(len(rows), 0))
			res, err := Fit(ctx, log.Subset(rows), c)
			if err != nil {
				return nil, fmt.Errorf("learning by %s: %w", l.name, err)
			}
			return res.Posterior.Mu, nil
		}})
	}
	return all
}

// teach takes the teacher whose argmax policy, learned on four fifths of the rows, has the
// lowest risk on the last fifth, where risk may use what all of them learned; then it learns from
// all rows.
func teach(rows []int, all []teacher, risk func(name string, theta []float64, learned map[string][]float64, rows []int) (float64, error)) (theta []float64, name string, err error) {
	if len(rows) < 5 {
		return nil, "", fmt.Errorf("train: %d rows to learn from, want at least 5", len(rows))
	}
	cut := len(rows) * 4 / 5
	learned := map[string][]float64{}
	for _, t := range all {
		if learned[t.name], err = t.learn("trial of "+t.name, rows[:cut]); err != nil {
			return nil, "", err
		}
	}
	var best teacher
	least := math.Inf(1)
	for _, t := range all {
		r, err := risk(t.name, learned[t.name], learned, rows[cut:])
		if err != nil {
			return nil, "", err
		}
		if r < least {
			best, least = t, r
		}
	}
	theta, err = best.learn("prior", rows)
	return theta, best.name, err
}

// LearnPrior learns the mean of a prior from some rows of a log, starting at c's
// prior, at c's learning rate falling linearly to 0, with c's epochs. Of two ways,
// the heuristic with Clip(n^(−1/4)) and the likelihood of the rewards, it takes the
// one whose policy, learned on four fifths of the rows, has the lower risk on the
// last fifth by logarithmic smoothing; then it learns from all of them. The prior
// notes its rows; its scale is left to be chosen. It returns the learner's name.
func LearnPrior(ctx context.Context, log *logs.Log, rows []int, c Config) (policies.Prior, string, error) {
	mean, name, err := teach(rows, teachers(ctx, log, c, 1e-6), func(_ string, theta []float64, _ map[string][]float64, rows []int) (float64, error) {
		return smoothedRisk(theta, log, rows), nil
	})
	if err != nil {
		return policies.Prior{}, "", err
	}
	return policies.Prior{Mean: mean, Taught: propensity.NewRowSet(log.Hashes(rows))}, name, nil
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
// and of the start if it is not 0.
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
	c.Epochs = (c.Epochs + 1) / 2 // more of them fit the noise of large models
	all := teachers(ctx, log, c, penalty)
	logistic := teacher{"logistic", func(_ string, rows []int) ([]float64, error) { return Logistic(ctx, log, rows, c.Threads) }}
	all = append(all, logistic)
	start := c.Prior.Mean
	if n := len(r.Start); n > 1 {
		start = r.Start[n-1].Theta
	}
	if slices.ContainsFunc(start, func(v float64) bool { return v != 0 }) {
		all = append(all, teacher{"start", func(string, []int) ([]float64, error) { return start, nil }})
	}
	policy := policies.Floor{Policy: policies.ArgMax{}, Epsilon: r.Floor}
	o := certify.Options{Delta: c.Delta, Gamma: r.Gamma, Threads: c.Threads}
	mixture := func(name string) []Share {
		if name != "start" || len(r.Start) < 2 {
			return nil
		}
		return r.Start
	}
	theta, name, err := teach(teaching, all, func(name string, theta []float64, learned map[string][]float64, rows []int) (float64, error) {
		o.Models = nil
		for _, kind := range []string{"softmax", "logistic"} {
			m := RewardModel{kind, learned[map[string]string{"softmax": "likelihood", "logistic": "logistic"}[kind]]}
			o.Models = append(o.Models, m.on(log, propensity.RowSet{}))
		}
		b, err := certify.Fixed(play(policy, theta, mixture(name), log), nil, log, rows, o)
		if err != nil {
			return 0, err
		}
		if b.Reward() <= 0 { // too few rows to bound anything: behind all that are bounded
			return math.Exp(smoothedRisk(theta, log, rows)), nil
		}
		return b.Best().Risk, nil
	})
	if err != nil {
		return nil, err
	}
	out := &Certified{Policy: policy, Rows: rest, Learner: name, Mixture: mixture(name), Posterior: policies.Posterior{Actions: log.K(), Dim: log.Dim(), Mu: theta}}
	// Models of the reward for the doubly robust bounds, from the same rows.
	softmax, values := theta, theta
	if name != "likelihood" {
		c.Prior = policies.Prior{}
		if softmax, err = teachers(ctx, log, c, penalty)[1].learn("reward model", teaching); err != nil {
			return nil, err
		}
	}
	if name != logistic.name {
		if values, err = logistic.learn("", teaching); err != nil {
			return nil, err
		}
	}
	out.Models = []RewardModel{{"softmax", softmax}, {"logistic", values}}
	taught := propensity.NewRowSet(log.Hashes(teaching))
	out.Posterior.Prior.Taught = taught
	o.Models = nil
	for _, m := range out.Models {
		o.Models = append(o.Models, m.on(log, taught))
	}
	pi := out.Play(log)
	if judge == nil {
		out.Bounds, err = certify.Fixed(pi, nil, log, rest, o)
	} else if out.Certificate, err = judge.Fixed(pi, provenance.TaughtBy(taught), rest, o); err == nil {
		out.Bounds = out.Certificate.Statement().Bounds
	}
	out.Seconds = time.Since(begin).Seconds()
	return out, err
}

// Play is the policy on rows of the log, for [certify.Fixed].
func (c *Certified) Play(log *logs.Log) func(dst []float64, i int) error {
	return play(c.Policy, c.Posterior.Mu, c.Mixture, log)
}

func play(policy policies.Policy, theta []float64, mixture []Share, log *logs.Log) func(dst []float64, i int) error {
	if mixture == nil {
		return certify.Play(policy, theta, log)
	}
	var all []func(dst []float64, i int) error
	for _, m := range mixture {
		all = append(all, certify.Play(policy, m.Theta, log))
	}
	one := make([]float64, log.K())
	return func(dst []float64, i int) error {
		clear(dst)
		for m, pi := range all {
			if err := pi(one, i); err != nil {
				return err
			}
			floats.AddScaled(dst, mixture[m].Weight, one)
		}
		return nil
	}
}
