package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"

	"opl/objectives"
	"opl/policies"
	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
	"opl/train/regress"
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
	// Teaching and Certifying, if not nil, are the rows that teach and those that certify,
	// in place of a random share.
	Teaching, Certifying []int
	// Learners are the names of those that may be candidates, of [Learners]; nil: all that fit the log.
	Learners []string
	// Direct, if not nil, learns models of the reward, of tables: it comes first among the candidates.
	Direct *Direct
	// Linear, if not nil, learns logistic regressions as the kind linear of Direct does: a candidate like others, of
	// tables that are too wide for the rest of Direct.
	Linear *Direct
	// Rules, if not nil, are shallow trees, a candidate if Learners names them.
	Rules *Rules
	// Simple makes shallow trees of depth 1 to 3 candidates, and the first that is within a standard error of the best
	// is taken.
	Simple bool
	// Start are the policies that play now, of argmax with these scores or drawn by them, one anew for every decision:
	// together, with the recipe's floor, they are a candidate. nil: the prior's mean is, unless it is 0.
	Start []Component
	// Largest says that the largest score is played, where else actions would be drawn by scores: of many, too little
	// could be guaranteed of a policy that plays one.
	Largest bool

	kept       string // the candidate to learn by, chosen before; "": none is
	certifying int    // rows of all chunks
}

// mostPairs is how many pairs of a row and an action of a catalogue candidates are compared on: of more rows some are
// left out of the comparison, and the candidate of the first chunk is kept for the others. mostJoint is likewise of
// joint scores.
const mostPairs, mostJoint = 1 << 28, 1 << 25

// tried are the rows that candidates are compared on, of those that teach: all of a small log, some of a large table.
func (r *Recipe) tried(log *logs.Log, rows []int) []int {
	most := len(rows)
	switch {
	case r.Direct != nil && log.Choices != nil:
		most = min(r.Direct.sample(), max(1000, mostJoint/log.MostOptions()))
	case r.Direct != nil:
		most = min(r.Direct.sample(), mostTable/max(1, log.Dim()))
	case log.Choices != nil && !log.Sets():
		most = max(1000, mostPairs/log.K())
	}
	return wholeGroups(log, rows, most)
}

// Component is a policy of a mixture, drawn with a probability: the argmax of scores that are linear in
// the contexts, or in learned features of them.
type Component struct {
	Weight float64         // probability of this policy in the mixture
	Theta  []float64       // [K×m]
	In     *Representation // nil: the contexts
	Drawn  bool            // actions are drawn by the softmax of the scores: it is no argmax
}

// alone is a mixture of one.
func alone(theta []float64, in *Representation) []Component {
	return []Component{{Weight: 1, Theta: theta, In: in}}
}

// ChunkPolicy is what a Recipe learned before a chunk of rows, which certifies it.
type ChunkPolicy struct {
	Policy     policies.Policy    // argmax, with the floor
	Posterior  policies.Posterior // its scores Mu, Sigma 0, and in Prior.Taught who learned them
	Components []Component        // of the mixture that the policy is, mostly one; Posterior is the last
	Rows       []int              // that certify
	Models     []RewardModel      // of the doubly robust bound
	Learner    string             // name of the candidate that won, see [Learners]; start: what plays now
	Seconds    float64            // of the training alone

	seen struct { // what view gave last
		in        *Representation
		log, view *logs.Log
	}
}

// RewardModel is a model of the reward that is linear in the features of the policy's last share, h(x)ᵀθ_a
// through a link.
type RewardModel struct {
	Kind  string    // softmax or logistic
	Theta []float64 // θ [K×m]
	// Dispersion is φ of the rewards that taught, about r̂, see [regress.Dispersion]. 0: 1.
	Dispersion float64
}

// about is the model with the dispersion of the rewards of some rows, of 10,000 at most.
func (m RewardModel) about(log *logs.Log, rows []int) RewardModel {
	rows = evenly(rows, mostTuning)
	y, model, r := logs.Pick(log.Cost, rows), m.on(log, propensity.RowSet{}), make([]float64, log.MostOptions())
	floats.Scale(-1, y)
	m.Dispersion = regress.Dispersion(y, func(at int) float64 {
		model.Predict(r[:log.Options(rows[at])], rows[at])
		return r[log.Chosen(rows[at])]
	})
	if m.Dispersion == 1 { // which files need not say
		m.Dispersion = 0
	}
	return m
}

// on is the model for bounds on rows of a log.
func (m RewardModel) on(log *logs.Log, taught propensity.RowSet) *certify.RewardModel {
	link := certify.SoftmaxLink
	if m.Kind == "logistic" {
		link = certify.LogisticLink
	}
	r := certify.Linear(m.Kind, m.Theta, log, link)
	r.Taught, r.Dispersion = taught, m.Dispersion
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
	if log.Choices != nil {
		l := []learner{
			{"weighted", objectives.WeightedLikelihood(penalty)},
			{"likelihood", objectives.Likelihood(penalty)},
		}
		if log.Sets() { // of a catalogue its gradient is lost among the many actions that no row speaks of
			l = append(l, learner{"implicit", objectives.Implicit(objectives.DefaultHyper(log.Len(), 0))})
		}
		return l
	}
	l := []learner{
		{"heuristic", objectives.Heuristic(objectives.Penalties{Distance: 1e-5, Variance: 1e-5, Bias: 1e-5})},
		{"likelihood", objectives.Likelihood(penalty)},
	}
	if log.LoggedOnly() {
		l[0] = learner{"l2", objectives.L2(1e-5)}
	}
	return l
}

// learnsPrior is the stage in which the prior's mean is learned.
const learnsPrior = "prior"

// candidate learns scores from rows of a log. trial says that they are to be compared alone.
type candidate struct {
	name  string
	model string // the kind of [RewardModel] that its scores are; "": none
	deep  bool   // it learns layers by Fit
	// late says that it must win over those before it by more than chance.
	late   bool
	simple int // > 0: it is taken if it is within a standard error of the best; the lowest first
	learn  func(stage string, rows []int, trial bool) ([]Component, error)
}

// gradientCandidates are the learners from c's prior on, at c's learning rate falling linearly to 0,
// with c's epochs. The likelihoods have a penalty.
func gradientCandidates(ctx context.Context, log *logs.Log, c Config, penalty float64) (all []candidate) {
	c.Policy, c.Schedule, c.Representation = policies.Softmax{}, Linear, nil
	c.Prior.Scale = 0
	for _, l := range learners(log, penalty) {
		learn := func(stage string, rows []int, _ bool) ([]Component, error) {
			c.stage = stage
			c.Objective, c.Weight = l.objective, objectives.Clip(objectives.DefaultHyper(len(rows), 0))
			res, err := Fit(ctx, log.Subset(rows), c)
			if err != nil {
				return nil, fmt.Errorf("learning by %s: %w", l.name, err)
			}
			return alone(res.Posterior.Mu, nil), nil
		}
		t := candidate{name: l.name, learn: learn}
		if l.name == likelihood {
			t.model = softmaxModel
		}
		all = append(all, t)
	}
	return all
}

// Layers learn from so many minibatches: enough for small logs, and no more than large ones
// need. Trials take a third of the passes, and no more than trialSteps. Layers of tables that nobody asked for are
// learned by as many passes as in their trial: more of them fit the noise.
const (
	leastSteps = 1_000
	mostSteps  = 20_000
	mostPasses = 100
	trialSteps = 2_500
)

// layeredCandidates learn c's representation along with scores, with epochs passes over the rows, a
// third of them in trials, or always.
func layeredCandidates(ctx context.Context, log *logs.Log, c Config, rate float64, epochs int,
	always bool) (all []candidate) {
	c.Policy, c.Schedule, c.LearningRate, c.Weight, c.Epoch = policies.Softmax{}, Linear, rate, objectives.Weight{}, nil
	c.Prior = policies.Prior{}
	for i, l := range []learner{{likelihood, objectives.Likelihood(0)}, {"logistic", objectives.Logistic(0)}} {
		model := []string{softmaxModel, logisticModel}[i]
		all = append(all, candidate{name: "layered " + l.name, model: model, deep: true, late: true})
		all[i].learn = func(stage string, rows []int, trial bool) ([]Component, error) {
			passes := float64(len(rows)) / float64(cmp.Or(c.BatchSize, 128)) // steps of an epoch, about
			c := c
			c.Epochs = max(1, min(max(epochs, int(leastSteps/passes)), mostPasses, int(mostSteps/passes)))
			if trial || always {
				c.Epochs = max(1, min((c.Epochs+2)/3, int(trialSteps/passes)))
			}
			c.stage, c.Objective = stage, l.objective
			res, err := Fit(ctx, log.Subset(rows), c)
			if err != nil {
				return nil, fmt.Errorf("learning layers by %s: %w", l.name, err)
			}
			return alone(res.Posterior.Mu, res.Represented), nil
		}
	}
	return all
}

// The kinds of a [RewardModel], and the learner by the likelihood of the rewards.
const (
	softmaxModel  = "softmax"
	logisticModel = "logistic"
	likelihood    = "likelihood"
	direct        = "direct" // see [Direct]
)

// choose takes the candidate whose argmax policy, learned on four fifths of the rows that are tried, has the lowest
// risk on the last fifth; then it learns from all rows, or from those that are enough. risk judges the one at a place,
// and may use what all of them learned.
func choose(ctx context.Context, log *logs.Log, rows, tried []int, all []candidate,
	risk func(learned [][]Component, at int, rows []int) (float64, error),
	enough func(ctx context.Context, rows []int, best candidate, learned []Component) ([]int, error)) (of []Component,
	best candidate, err error) {
	if len(rows) < 5 {
		return nil, best, fmt.Errorf("train: the log is too small: %d rows are left to learn from, want at least 5",
			len(rows))
	}
	if len(all) == 0 {
		return nil, best, errors.New("train: none of the learners named fits this log: those of tables take at most " +
			"4,096 columns, and a fixed list of at most 10,000 actions, 2²⁰ coefficients in all, or actions whose features " +
			"have at most 1000 products with each other and those of contexts, of which 256 are offered at once, or more " +
			"where rows offer 500 million in all")
	}
	if len(all) == 1 && enough == nil { // nothing to choose
		of, err = all[0].learn(learnsPrior, rows, false)
		return of, all[0], err
	}
	cut := cutGroups(log, tried)
	learned := make([][]Component, len(all))
	for i, t := range all {
		if learned[i], err = t.learn("trial of "+t.name, tried[:cut], true); err != nil {
			return nil, best, err
		}
	}
	least, at := math.Inf(1), 0
	for i, t := range all {
		r, err := risk(learned, i, tried[cut:])
		if err != nil {
			return nil, best, err
		}
		if r < least {
			best, least, at = t, r, i
		}
	}
	if enough != nil {
		if rows, err = enough(ctx, rows, best, learned[at]); err != nil {
			return nil, best, err
		}
	}
	of, err = best.learn(learnsPrior, rows, false)
	return of, best, err
}

// LearnPrior learns the mean of a prior from some rows of a log, starting at c's
// prior, at c's learning rate falling linearly to 0, with c's epochs. It compares two
// ways on four fifths of the rows: the heuristic with Clip(n^(−1/4)) and the likelihood
// of the rewards. It takes the way whose policy has the lower risk on the last fifth by
// logarithmic smoothing, and learns from all rows. The prior
// notes its rows; its scale is left to be chosen. It returns the learner's name.
func LearnPrior(ctx context.Context, log *logs.Log, rows []int, c Config) (policies.Prior, string, error) {
	risk := func(learned [][]Component, at int, rows []int) (float64, error) {
		return smoothedRisk(learned[at][0].Theta, log, rows), nil
	}
	mean, by, err := choose(ctx, log, rows, wholeGroups(log, rows, len(rows)), gradientCandidates(ctx, log, c, 1e-6),
		risk, nil)
	if err != nil {
		return policies.Prior{}, "", err
	}
	return policies.Prior{Mean: mean[0].Theta, Taught: propensity.NewRowSet(log.Hashes(rows))}, by.name, nil
}

// smoothedRisk is the risk of the argmax policy of mu on some rows, by logarithmic
// smoothing with ℓ = 1/√n.
func smoothedRisk(mu []float64, log *logs.Log, rows []int) float64 {
	l := 1 / math.Sqrt(float64(len(rows)))
	pi := make([]float64, log.MostOptions())
	var risk float64
	log.ScoreRows(rows, mu, func(i int, scores []float64) {
		policies.Gaussian{}.AtMean(pi[:len(scores)], scores)
		r := rows[i]
		risk -= pi[log.Chosen(r)] * math.Log1p(-l*log.Cost[r]/log.Propensity[r]) / l
	})
	return risk / float64(len(rows))
}

// Learn runs the recipe on a log, with the rows that certify as the only chunk of [Recipe.LearnChunks].
func (r Recipe) Learn(ctx context.Context, judge *provenance.Judge, log *logs.Log, c Config) (*Chunked, error) {
	if r.Teaching == nil {
		var err error
		if r.Teaching, r.Certifying, err = splitLists(log, cmp.Or(r.Share, 0.5), c.Seed); err != nil {
			return nil, err
		}
	}
	return r.LearnChunks(ctx, judge, log, c, [][]int{r.Certifying})
}

// learn learns the policy and the models that the rows of one chunk certify. It compares the candidates of
// [Recipe.candidates] on the last fifth of the rows that teach.
func (r Recipe) learn(ctx context.Context, log *logs.Log, c Config) (*ChunkPolicy, error) {
	begin, teaching := time.Now(), r.Teaching
	r.LayerRate = cmp.Or(r.LayerRate, 0.002)
	all := r.candidates(ctx, log, &c)
	again := r.Direct != nil && len(teaching) < 2*r.Direct.won // as on the rows before, of which these are not many more
	if again {
		all = all[:1]
	}
	if r.kept != "" {
		all = slices.DeleteFunc(all, func(t candidate) bool {
			return t.name != r.kept && !(t.name == direct && strings.HasPrefix(r.kept, direct))
		})
	}
	out := &ChunkPolicy{Policy: policies.Floor{Policy: argmaxOf(log), Epsilon: r.Floor}, Rows: r.Certifying}
	t := comparison{Recipe: r, log: log, c: c, all: all, policy: out.Policy, views: map[*Representation]*logs.Log{},
		least: math.Inf(1)}
	tried, enough := r.tried(log, teaching), t.enough
	if again || !t.limited(len(teaching), tried) {
		enough = nil
	}
	chosen, by, err := choose(ctx, log, teaching, tried, all, t.risk, enough)
	if err != nil {
		return nil, err
	}
	last := chosen[len(chosen)-1]
	if out.Learner, out.Components = by.name, chosen; by.name == direct {
		out.Learner = r.Direct.String()
		r.Direct.won = len(teaching)
	}
	out.Learner += t.curve
	if out.Models, err = r.models(ctx, log, teaching, c, last, by); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(log.Cost, func(c float64) bool { return c != 0 && c != -1 }) { // else φ is 1
		taught, err := last.In.View(log, evenly(teaching, mostTuning), c.Threads)
		if err != nil {
			return nil, err
		}
		for i, m := range out.Models {
			out.Models[i] = m.about(taught, teaching)
		}
	}
	if tau := r.temperature(by); tau > 0 {
		out.Components = spreads(chosen, tau)
		last = out.Components[len(chosen)-1]
		out.Learner += fmt.Sprintf(" at temperature %g", tau)
	}
	certifying, err := out.view(last.In, log, c.Threads)
	if err != nil {
		return nil, err
	}
	out.Posterior = policies.Posterior{Actions: c.items.outputs(log), Dim: certifying.Dim(), Mu: last.Theta}
	if last.In.Joint() {
		out.Posterior.Actions, out.Posterior.Dim = 1, len(last.Theta)
	}
	out.Posterior.Prior.Taught = propensity.NewRowSet(log.Hashes(teaching))
	out.Seconds = time.Since(begin).Seconds()
	return out, nil
}

// argmaxOf is the policy that plays the largest score, or window of scores, of a log's actions.
func argmaxOf(log *logs.Log) (p policies.ArgMax) {
	if n := log.Numbers; n != nil {
		p.Window, p.Bins = n.Of.Window, n.Of.Bins()
	}
	return p
}

// likelihoodPenalty is λ of the likelihoods.
const likelihoodPenalty = 1e-7

// candidates are the learners that are compared. Of a table ([Recipe.Direct]) the models of the reward come first, and
// the others must win over them by more than chance; where 1,000 rows teach only layers of large tables are tried,
// unless somebody asked for others. Where actions have too many features for models, the logistic one comes first.
// Elsewhere all compete, but for layers, which must win by more than chance. The policy that plays now is always a
// candidate, if it is known. c becomes the settings that the learners have in common.
func (r *Recipe) candidates(ctx context.Context, log *logs.Log, c *Config) (all []candidate) {
	var layered []candidate
	if c.Representation != nil && !(r.Direct != nil && log.Len() < r.Direct.Layers) {
		layered = layeredCandidates(ctx, log, *c, r.LayerRate, (3*c.Epochs+3)/4, r.unasked())
	}
	c.Representation = nil
	if r.Start == nil && slices.ContainsFunc(c.Prior.Mean, func(v float64) bool { return v != 0 }) {
		r.Start = alone(c.Prior.Mean, nil)
	}
	c.Epochs = (c.Epochs + 1) / 2 // more of them fit the noise of large models
	settings := *c
	all = gradientCandidates(ctx, log, settings, likelihoodPenalty)
	first := candidate{name: "logistic", model: logisticModel}
	first.learn = func(stage string, rows []int, _ bool) ([]Component, error) {
		theta, err := logisticModels(ctx, log, rows, settings, stage, likelihoodPenalty)
		return alone(theta, nil), err
	}
	if r.Direct != nil {
		if r.Learners != nil {
			r.Direct.may = r.may
		}
		if log.Choices != nil {
			all = append(all, first)
		}
		first.name = direct
		progress := c.Progress
		first.learn = func(stage string, rows []int, _ bool) ([]Component, error) {
			if progress != nil {
				progress(Progress{Stage: stage})
			}
			s, err := r.Direct.Learn(ctx, log, rows)
			return []Component{s}, err
		}
	}
	switch {
	case r.Direct != nil && log.Numbers != nil && r.Learners == nil: // weights of narrow bins cannot tell them apart
		all = nil
	case r.unasked() && len(r.Teaching) >= fewTeaching: // they would win by chance
		all = nil
	}
	if r.Direct != nil || log.Choices != nil {
		for i := range all {
			all[i].late = true
		}
		all = slices.Insert(all, 0, first)
	} else {
		all = append(all, first)
	}
	if r.Linear != nil {
		r.Linear.may = func(name string) bool { return name == linearName }
		all = append(all, candidate{name: linearName, learn: func(_ string, rows []int, _ bool) ([]Component, error) {
			s, err := r.Linear.Learn(ctx, log, rows)
			return []Component{s}, err
		}})
	}
	all = append(append(all, layered...), r.trees(ctx, log)...)
	if r.Learners != nil {
		all = slices.DeleteFunc(all, func(t candidate) bool { return !slices.ContainsFunc(r.Learners, t.goesBy) })
	}
	if r.Start != nil {
		all = append(all, candidate{name: start, late: log.Choices != nil && r.Direct == nil,
			learn: func(string, []int, bool) ([]Component, error) { return r.Start, nil }})
	}
	return all
}

// unasked reports that candidates are of a table, and that nobody asked for learners or layers.
func (r *Recipe) unasked() bool {
	return r.Direct != nil && r.Direct.Layers > 0 && r.Learners == nil
}

// trees are the candidates of [Recipe.Rules].
func (r *Recipe) trees(ctx context.Context, log *logs.Log) (all []candidate) {
	add := func(name string, simple, depth int) {
		of := *r.Rules
		of.Depth = depth
		learn := func(_ string, rows []int, trial bool) ([]Component, error) {
			s, err := of.Learn(ctx, log, rows, trial)
			return []Component{s}, err
		}
		all = append(all, candidate{name: name, late: true, simple: simple, learn: learn})
	}
	switch {
	case r.Rules == nil:
	case r.Simple:
		for depth := 1; depth <= 3; depth++ {
			add(fmt.Sprintf("%s of depth %d", rulesName, depth), depth, depth)
		}
	case slices.Contains(r.Learners, rulesName):
		add(rulesName, 0, r.Rules.Depth)
	}
	return all
}

// may reports that a learner of a name may be a candidate.
func (r *Recipe) may(name string) bool { return r.Learners == nil || slices.Contains(r.Learners, name) }

// goesBy reports that [Recipe.Learners] may have the learner by a name.
func (t *candidate) goesBy(name string) bool {
	return name == t.name || t.simple > 0 || t.name == direct && IsDirect(name) || t.deep && name == layers
}

// IsDirect reports that a name is that of a kind of scores that [Direct] learns.
func IsDirect(name string) bool {
	return slices.ContainsFunc(kinds(), func(k kind) bool { return k.name == name })
}

// start is the name of what plays now.
const start = "start"

// layers is the name of learners of a representation by gradients.
const layers = "layers"

// Learners lists the names that [Recipe.Learners] may have, and what they stand for.
func Learners() (names, about []string) {
	for _, k := range kinds() {
		names, about = append(names, k.name), append(about, k.about)
	}
	return append(names, "logistic", "heuristic", "l2", likelihood, layers, rulesName), append(about,
		"a logistic regression an action", "the paper's heuristic", "the risk and the distance from the start, of logs with logged propensities alone",
		"the likelihood of the rewards, of a softmax policy", "a representation, by gradients",
		"a shallow tree, which people can read: only where it is named")
}

// comparison compares what candidates learned, on rows that they did not learn from.
type comparison struct {
	Recipe
	log    *logs.Log
	c      Config
	all    []candidate
	policy policies.Policy
	views  map[*Representation]*logs.Log
	least  float64   // risk of those that are not late
	logged []float64 // π(a_i|x_i) of the one that has it
	earned []float64 // and what it earns in each row by the first model of the reward, doubly robust
	curve  string    // of learning from larger samples, where it saturated
	held   []int     // rows that candidates are compared on
}

// view is the log as a representation sees it.
func (t *comparison) view(in *Representation, rows []int) (*logs.Log, error) {
	var err error
	if t.views[in] == nil {
		t.views[in], err = in.View(t.log, rows, t.c.Threads)
	}
	return t.views[in], err
}

// risk is the upper bound on the risk of what candidate at learned; of one that is late, with the error of its
// difference from the best before it. Where many rows of a table teach, a late one comes last unless it also earns more
// than that by two standard errors of the doubly robust difference: by one error alone each wins one time in six by
// chance.
func (t *comparison) risk(learned [][]Component, at int, rows []int) (float64, error) {
	o, all := certify.Options{Delta: t.c.Delta, Gamma: t.Gamma, Threads: t.c.Threads}, t.all
	for i, of := range all {
		if of.model != "" {
			on, err := t.view(learned[i][0].In, rows)
			if err != nil {
				return 0, err
			}
			o.Models = append(o.Models, RewardModel{Kind: of.model, Theta: learned[i][0].Theta}.about(on, rows).
				on(on, propensity.RowSet{}))
		}
	}
	s := learned[at]
	t.held = rows
	pi, err := play(t.policy, s, func(in *Representation) (*logs.Log, error) { return t.view(in, rows) })
	if err != nil {
		return 0, err
	}
	played, earned := map[int]float64{}, map[int]float64{} // π(a_i|x_i), and what is earned
	rewards := make([]float64, t.log.MostOptions())
	b, err := certify.Fixed(func(dst []float64, i int) error {
		err := pi(dst, i)
		at := t.log.Chosen(i)
		if played[i] = dst[at]; err == nil && (t.beyondDoubt() || t.wide()) {
			r := rewards[:len(dst)]
			o.Models[0].Predict(r, i)
			earned[i] = floats.Dot(dst, r) - dst[at]*(t.log.Cost[i]+r[at])/t.log.Propensity[i]
		}
		return err
	}, nil, t.log, rows, o)
	if err != nil {
		return 0, err
	}
	risk := b.Best().Risk
	if risk >= 0 { // too few rows to bound anything: behind all that are bounded
		last := s[len(s)-1]
		on, err := t.view(last.In, rows)
		if err != nil {
			return 0, err
		}
		risk = math.Exp(smoothedRisk(last.Theta, on, rows))
	}
	logged, earns := make([]float64, len(rows)), make([]float64, len(rows))
	for i, row := range rows {
		logged[i], earns[i] = played[row], earned[row]
	}
	se := func() float64 {
		_, se := riskDifference(logged, t.logged, t.log, rows)
		return se
	}
	switch {
	case all[at].simple > 0 && t.logged != nil && risk <= t.least+se():
		return -1e3 + float64(all[at].simple), nil // before all others, which have risks from −1 on
	case all[at].late && t.logged != nil && t.wide():
		mean, se := t.gain(earns, rows)
		risk = t.least - mean + se
	case all[at].late && t.logged != nil && t.Direct != nil:
		if risk += se(); t.beyondDoubt() {
			if mean, se := t.gain(earns, rows); mean <= 2*se {
				risk = 1
			}
		}
	case all[at].late && t.logged != nil:
		risk += se() / (1 + float64(len(rows))/1000)
	case risk < t.least:
		t.least, t.logged, t.earned = risk, logged, earns
	}
	return risk, nil
}

// fewTeaching is below how many rows models of the reward may be much worse than what is learned by gradients.
const fewTeaching = 1000

// gain is what a policy earns more than the first, doubly robust, and its standard error.
func (t *comparison) gain(earns []float64, rows []int) (mean, se float64) {
	return meanByGroup(floats.SubTo(make([]float64, len(rows)), earns, t.earned), t.log, rows)
}

// wide reports that a table has as many features as embeddings and images have, that layers are a candidate, and that
// nobody named learners. There a late one counts with the lower end, by a standard error, of its doubly robust gain
// over the first.
func (t *comparison) wide() bool {
	return t.Direct != nil && t.Direct.Layers == 0 && t.log.Choices == nil && t.log.Dim() > mostDense && t.Learners == nil
}

// beyondDoubt says that the first candidate is left only for one that earns more by two standard errors.
func (t *comparison) beyondDoubt() bool {
	return t.Direct != nil && t.log.Lists != nil || t.unasked() && len(t.Teaching) >= fewTeaching
}

// riskDifference is the mean difference of two policies' risks on some rows, by importance weights of π(a_i|x_i), and
// its standard error.
func riskDifference(p, q []float64, log *logs.Log, rows []int) (mean, se float64) {
	d := make([]float64, len(rows))
	for i, r := range rows {
		d[i] = (p[i] - q[i]) * log.Cost[r] / log.Propensity[r]
	}
	return meanByGroup(d, log, rows)
}

// meanByGroup is the mean of d, of rows, and its standard error, where rows of a group depend on one another.
func meanByGroup(d []float64, log *logs.Log, rows []int) (mean, se float64) {
	n := float64(len(rows))
	mean = floats.Sum(d) / n
	group, square := map[int]float64{}, 0.
	for i, r := range rows {
		if log.Group == nil {
			square += (d[i] - mean) * (d[i] - mean)
			continue
		}
		g := groupOf(log, r)
		v := group[g]
		group[g] = v + d[i] - mean
		square += group[g]*group[g] - v*v
	}
	return mean, math.Sqrt(max(0, square)) / n
}

// Play returns the policy on the rows of the log that certify, for [certify.Fixed].
func (c *ChunkPolicy) Play(log *logs.Log, threads int) (certify.Policy, error) {
	return play(c.Policy, c.Components, func(in *Representation) (*logs.Log, error) { return c.view(in, log, threads) })
}

// view is the log whose rows that certify are seen through a representation. The last one is kept.
func (c *ChunkPolicy) view(in *Representation, log *logs.Log, threads int) (of *logs.Log, err error) {
	if s := &c.seen; s.in != in || s.log != log || s.view == nil {
		s.in, s.log = in, log
		s.view, err = in.View(log, c.Rows, threads)
	}
	return c.seen.view, err
}

// epsilon is the floor of a policy.
func epsilon(policy policies.Policy) float64 {
	f, _ := policy.(policies.Floor)
	return f.Epsilon
}

func play(policy policies.Policy, components []Component,
	view func(*Representation) (*logs.Log, error)) (certify.Policy, error) {
	var all []certify.Policy
	for _, s := range components {
		log, err := view(s.In)
		if err != nil {
			return nil, err
		}
		plays := policy
		if s.Drawn {
			plays = policies.Floor{Policy: policies.Softmax{}, Epsilon: epsilon(policy)}
		}
		all = append(all, certify.Play(plays, s.Theta, log))
	}
	if len(all) == 1 {
		return all[0], nil
	}
	var one []float64
	return func(dst []float64, i int) error {
		one = slices.Grow(one[:0], len(dst))[:len(dst)]
		clear(dst)
		for m, pi := range all {
			if err := pi(one, i); err != nil {
				return err
			}
			floats.AddScaled(dst, components[m].Weight, one)
		}
		return nil
	}, nil
}

// models are models of the reward for the doubly robust bounds, from the rows that taught the
// policy, linear in its features. A policy that was learned as one is that one.
func (r Recipe) models(ctx context.Context, log *logs.Log, rows []int, c Config, s Component,
	by candidate) ([]RewardModel, error) {
	switch {
	case log.Choices != nil && log.LoggedOnly(): // no bound can use them
		return nil, nil
	case r.Direct != nil && by.model == logisticModel, s.In.Joint(): // scores of pairs are logits of rewards
		return []RewardModel{{Kind: logisticModel, Theta: s.Theta}}, nil
	}
	softmax, values := s.Theta, s.Theta
	log, err := s.In.View(log, rows, c.Threads)
	if err != nil {
		return nil, err
	}
	if c.Prior = (policies.Prior{}); s.In != nil {
		c.LearningRate, c.checked = r.LayerRate, false
	}
	if r.Direct == nil && by.model != softmaxModel {
		l, err := gradientCandidates(ctx, log, c, likelihoodPenalty)[1].learn("reward model", rows, false)
		if err != nil {
			return nil, err
		}
		softmax = l[0].Theta
	}
	if by.model != logisticModel {
		if values, err = logisticModels(ctx, log, rows, c, "reward model", likelihoodPenalty); err != nil {
			return nil, err
		}
	}
	if r.Direct != nil { // chunks have as many models each
		return []RewardModel{{Kind: logisticModel, Theta: values}}, nil
	}
	return []RewardModel{{Kind: softmaxModel, Theta: softmax}, {Kind: logisticModel, Theta: values}}, nil
}

// logisticModels is [Logistic], or of actions with features one model for all of them, W by Adam, at c's learning rate
// falling linearly to 0, with c's epochs and a penalty.
func logisticModels(ctx context.Context, log *logs.Log, rows []int, c Config, stage string,
	penalty float64) ([]float64, error) {
	if log.Choices == nil {
		return Logistic(ctx, log, rows, c.Threads)
	}
	c.Policy, c.Schedule, c.Representation, c.stage = policies.Softmax{}, Linear, nil, stage
	c.Objective, c.Weight, c.Epoch = objectives.Logistic(penalty), objectives.Weight{}, nil
	res, err := Fit(ctx, log.Subset(rows), c)
	if err != nil {
		return nil, fmt.Errorf("learning by logistic: %w", err)
	}
	return res.Posterior.Mu, nil
}
