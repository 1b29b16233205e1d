package learn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"opl/objectives"
	"opl/policies"
	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/library"
	"opl/train/logs"
)

// The priors by name; any other is a policy file.
const (
	ZeroPrior    = "zero"    // mean 0
	LearnedPrior = "learned" // from the rows that teach, see train.LearnPrior
)

// Options says how a policy is learned. The zero value is the certified recipe on
// halves of the log.
type Options struct {
	Objective string   // of the library; empty: certified
	Weight    string   // of objectives that bring none; empty: clip
	Hyper     *float64 // of the weight, or of an objective that takes one; nil: the default
	Policy    string   // family; empty: the objective's own, gaussian in place of those known by draws alone
	Lambda    string   // star, authors or a number; empty: star
	Penalty   *float64 // nil: the objective's own
	Floor     float64  // ε of every propensity, see policies.Floor; in [0, 1)
	Tune      int      // epochs that the recipe trains the posterior for; see train.Recipe

	// Settings of the training; zero values: train for 20 epochs at 0.1 in
	// minibatches of 128, float32, δ = 0.05, and the recipe's prior scales, or 1.
	// Limit, PriorSplit and Certify are not used.
	Settings train.Settings
	Seed     uint64

	Split   string  // random, group or time; empty: group where the log has groups, else random
	Share   float64 // of the rows that teach; 0: 0.5, and 0.1 with a prior of zero, where they teach the encoder alone
	Scaling logs.Scaling
	// Prior is zero or learned; empty: learned for the recipe, zero for others.
	Prior string
	// PriorFile, if not nil, is a policy whose weights are the prior's mean, or
	// where the recipe starts, and whose encoder is used. Rows that it was learned
	// from do not certify.
	PriorFile *policyfile.Policy
	// Fresh says that the log has no row that PriorFile was learned from, where
	// that cannot be seen.
	Fresh bool

	MinEffective float64 // rows that the weights must be worth; 0: 30, negative: none
	Force        bool    // learn from a log that cannot be used, too
	RewardMin    float64 // the rewards in the log's units that are 0 and 1; both 0: 0 and 1
	RewardMax    float64
	Progress     func(train.Progress)
}

// Learned is a policy learned from a log, and what is known of it.
type Learned struct {
	File      *policyfile.File
	Policy    policies.Policy
	Posterior policies.Posterior
	Training  Training
	Log       inspect.Report
	// Guarantee is nil where nothing could be certified; Unproven then says why.
	Guarantee *Guarantee
	Unproven  string
	// Worse says that by the estimate the policy earns less than the logging policy.
	Worse bool
}

// Learn learns a policy from a log. It divides the rows, fits the encoder (and
// learns the prior) on those that teach, trains on the rest, and certifies on it.
// Errors: a log that cannot be used, unless forced; combinations that have no
// meaning or that the log lacks columns for; rows that cannot be divided.
func Learn(ctx context.Context, lib library.Library, log *logs.Log, o Options) (*Learned, error) {
	l, err := prepare(lib, log, o)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if l.objective.Recipe {
		err = l.recipe(ctx)
	} else {
		err = l.fit(ctx)
	}
	var unfit *objectives.UnfitError
	if errors.As(err, &unfit) {
		err = fmt.Errorf("%s: %w", l.objective.Name, unfit)
	}
	if err != nil {
		return nil, err
	}
	l.out.Training.Seconds = time.Since(begin).Seconds()
	if err := l.finish(); err != nil {
		return nil, err
	}
	return l.out, nil
}

// learning is Learn on its way.
type learning struct {
	o         Options
	log       *logs.Log
	objective library.Objective
	config    train.Config
	id        identity
	seed      uint64 // of the hashes
	before    past   // of the prior's file

	teach, rest []int // rest: those that may certify
	encoder     *features.Encoder
	rows        *logs.Log
	prior       policies.Prior // where learning starts
	baseline    *certify.RewardModel
	cert        *certify.Certificate
	out         *Learned
}

func prepare(lib library.Library, log *logs.Log, o Options) (*learning, error) {
	l := &learning{o: o, log: log, id: identify(log), out: &Learned{}}
	run, err := l.configure(lib)
	if err != nil {
		return nil, err
	}
	l.out.Log = inspect.Inspect(inspect.FromLog(log))
	if l.out.Log.Severity == inspect.Unusable && !o.Force {
		f := l.out.Log.Findings[0]
		return nil, fmt.Errorf("the log cannot be used: %s: %s: %s; %s, or learn from it all the same by --force", f.Check, f.Measured, f.Means, f.Do)
	}
	if log.Propensity == nil {
		return nil, errors.New("the log has no propensities: name what drew the actions by --logging-policy, or take --estimate-propensity and do without guarantees")
	}
	if log.LoggedOnly() {
		if err := lib.CheckLoggedOnly(run); err != nil {
			return nil, fmt.Errorf("%s: %w", run.Objective, err)
		}
	}
	l.out.Training = Training{Run: run, Rows: log.Len(), Tune: o.Tune, Estimated: log.Estimated, RewardMin: o.RewardMin, RewardMax: o.RewardMax, Tried: 1}
	if o.RewardMin == 0 && o.RewardMax == 0 {
		l.out.Training.RewardMax = 1
	}
	if n := log.Skipped; n > 0 {
		l.warn("%s", leftOut(n))
	}
	for _, f := range l.out.Log.Findings {
		if f.Severity > inspect.Fine {
			l.warn("%s: %s: %s", f.Check, f.Measured, f.Means)
		}
	}
	if err := l.divide(); err != nil {
		return nil, err
	}
	if err := l.encode(); err != nil {
		return nil, err
	}
	if l.config, l.out.Training.Run, err = lib.Config(run, len(l.rest)); err != nil {
		return nil, err
	}
	l.config.Policy = floored(l.config.Policy, o.Floor)
	l.config.Progress = o.Progress
	return l, nil
}

func (l *learning) warn(format string, args ...any) {
	l.out.Training.Warnings = append(l.out.Training.Warnings, fmt.Sprintf(format, args...))
}

// configure settles the options' defaults and checks what does not need the log.
func (l *learning) configure(lib library.Library) (train.Run, error) {
	o, none := &l.o, train.Run{}
	if o.Objective == "" {
		o.Objective = "certified"
	}
	objective, err := lib.Objective(o.Objective)
	if err != nil {
		return none, err
	}
	l.objective = objective
	o.Settings = o.Settings.Filled()
	s := &o.Settings
	s.Limit, s.PriorSplit, s.Certify = 0, 0, false
	if err := s.Check(); err != nil {
		return none, err
	}
	if s.Noise != "" && s.Noise != library.Quadrature { // policies without noise do not ask for it
		if _, err := lib.Noise(s.Noise); err != nil {
			return none, err
		}
	}
	switch {
	case !(o.Floor >= 0 && o.Floor < 1):
		return none, fmt.Errorf("floor %v: want a number in [0, 1)", o.Floor)
	case !(o.Share >= 0 && o.Share < 1):
		return none, fmt.Errorf("share %v: want one in (0, 1)", o.Share)
	case o.Tune < 0:
		return none, fmt.Errorf("%d epochs of tuning: want 0 or more", o.Tune)
	case o.PriorFile != nil && o.Prior != "":
		return none, errors.New("a prior from a file is neither zero nor learned")
	case !slices.Contains([]string{"", ZeroPrior, LearnedPrior}, o.Prior):
		return none, fmt.Errorf("prior %q: want %s, %s or a policy file", o.Prior, ZeroPrior, LearnedPrior)
	case objective.Recipe && o.Prior == ZeroPrior:
		return none, fmt.Errorf("the %s recipe learns its prior", objective.Name)
	case o.Penalty != nil && (!(*o.Penalty >= 0) || math.IsInf(*o.Penalty, 0)):
		return none, fmt.Errorf("penalty %v: want a number of at least 0", *o.Penalty)
	case o.Hyper != nil && !(*o.Hyper >= 0 && *o.Hyper <= 1):
		return none, fmt.Errorf("hyperparameter %v: want a number in [0, 1]", *o.Hyper)
	case o.Penalty != nil && !objective.HasPenalty:
		return none, fmt.Errorf("objective %s takes no penalty", objective.Name)
	case o.Lambda != "" && !objective.HasLambda:
		return none, fmt.Errorf("objective %s has no λ", objective.Name)
	case o.Weight != "" && objective.OwnWeight && o.Weight != objective.Hyper:
		return none, fmt.Errorf("objective %s brings its own weight", objective.Name)
	case o.Tune > 0 && !objective.Recipe:
		return none, fmt.Errorf("tuning is of the certified recipe, not of %s", objective.Name)
	}
	if o.MinEffective == 0 {
		o.MinEffective = 30
	}
	if o.PriorFile == nil && o.Prior == "" {
		o.Prior = ZeroPrior
		if objective.Recipe {
			o.Prior = LearnedPrior
		}
	}
	run := train.Run{
		Objective: objective.Name, Policy: o.Policy, Hyper: train.None(), Penalty: train.None(), Lambda: o.Lambda, Seed: o.Seed, Settings: *s,
	}
	if objective.HasLambda && run.Lambda == "" {
		run.Lambda = "star"
	}
	if objective.HasPenalty {
		run.Penalty = train.Number(objective.Penalty)
		if o.Penalty != nil {
			run.Penalty = train.Number(*o.Penalty)
		}
	}
	if !objective.OwnWeight {
		if run.Weight = o.Weight; run.Weight == "" {
			run.Weight = "clip"
		}
	}
	if o.Hyper != nil {
		name := run.Weight
		if objective.OwnWeight {
			name = objective.Hyper
		}
		if name == "" {
			return none, fmt.Errorf("objective %s has no hyperparameter", objective.Name)
		}
		w, err := lib.Weight(name)
		if err != nil {
			return none, err
		}
		if !w.Tunable() {
			return none, fmt.Errorf("weight %s has no hyperparameter", name)
		}
		run.Hyper = train.Number(*o.Hyper)
	}
	if run.Policy == "" {
		if run.Policy = objective.Policy; run.Policy != "softmax" {
			run.Policy = "gaussian"
		}
	}
	p, err := lib.Policy(run.Policy)
	if err != nil {
		return none, err
	}
	if _, err := kindOf(p.Make(0, nil, false)); err != nil {
		return none, err
	}
	if objective.Recipe {
		run.Noise, run.Schedule, run.Certify = "", "linear", true
	}
	if run, err = lib.Settle(run); err != nil {
		return none, err
	}
	if err := lib.Check(run); err != nil {
		var unfit *objectives.UnfitError
		if errors.As(err, &unfit) {
			err = unfit
		}
		return none, fmt.Errorf("%s: %w", objective.Name, err)
	}
	return run, nil
}

// posterior reports that what is learned has one.
func (l *learning) posterior() bool { return l.out.Training.Policy == "gaussian" }

// divide chooses the rows that teach and those that may certify.
func (l *learning) divide() error {
	o, t := &l.o, &l.out.Training
	l.seed = o.Seed
	n := l.log.Len()
	var open []int // rows that the prior's file did not see
	for i := range n {
		open = append(open, i)
	}
	if o.PriorFile != nil {
		f := o.PriorFile.File()
		if !slices.Equal(f.Actions, l.log.Actions) {
			return fmt.Errorf("the prior's actions are %s, the log's %s: name them in the prior's order by --actions", names(f.Actions), names(l.log.Actions))
		}
		l.before = pastOf(f)
		old, err := l.before.compare(l.log, l.id, o.Fresh)
		if err != nil {
			return fmt.Errorf("the prior's file: %w", err)
		}
		if old.relation != Fresh {
			open = open[:0]
			for i := range n {
				if old.seen(i) {
					l.teach = append(l.teach, i)
				} else {
					open = append(open, i)
				}
			}
			if len(open) == 0 {
				return errors.New("every row of the log had a part in the prior's file, and none is left to certify: use a later log, or learn the prior anew")
			}
			l.warn("%d rows had a part in the prior's file and do not certify", len(l.teach))
		}
		if l.before.known && l.before.how == l.id.how {
			l.seed = l.before.seed // so that its hashes can be kept
		} else if l.before.known && l.before.how != l.id.how {
			return errors.New("the prior's file tells rows apart by another key than this log has (decision_id or content): its rows could not be recorded")
		}
	}
	teaches := o.Prior == LearnedPrior || l.objective.Recipe // the prior
	switch {
	case !teaches && (o.PriorFile != nil || !l.posterior()): // none has to
		l.rest = open
		if !l.posterior() && o.PriorFile == nil {
			l.rest = nil
			for i := range n {
				l.rest = append(l.rest, i)
			}
		}
		return nil
	case o.Share == 0 && teaches:
		o.Share = 0.5
	case o.Share == 0:
		o.Share = 0.1
	}
	if o.Split == "" {
		o.Split = Random
		if l.log.Group != nil {
			o.Split = ByGroup
		}
	}
	t.Split, t.Share = o.Split, o.Share
	if l.log.Time != nil && o.Split != ByTime && slices.ContainsFunc(l.out.Log.Findings, func(f inspect.Finding) bool {
		return f.Severity > inspect.Fine && strings.Contains(f.Measured, "in the order of time")
	}) {
		l.warn("the log drifts: --split time teaches by the earlier rows and certifies on the later ones, which are nearer to what comes")
	}
	teach, rest, err := Split(o.Split, o.Share, o.Seed, len(open), columns(l.log, l.id, open))
	if err != nil {
		return err
	}
	if o.Split != ByTime {
		// A prior is chosen on the last of the rows that teach: they come in no order.
		train.Stream(o.Seed, "order of teaching").Shuffle(len(teach), func(i, j int) { teach[i], teach[j] = teach[j], teach[i] })
	}
	for _, i := range teach {
		l.teach = append(l.teach, open[i])
	}
	for _, i := range rest {
		l.rest = append(l.rest, open[i])
	}
	return nil
}

// columns are what some rows of a log are divided by.
func columns(log *logs.Log, id identity, rows []int) Columns {
	var c Columns
	for _, r := range rows {
		c.IDs = append(c.IDs, id.ids[r])
		if g := log.Group; g != nil {
			c.Group = append(c.Group, g[r])
		}
		if t := log.Time; t != nil {
			c.Time = append(c.Time, t[r])
		}
	}
	return c
}

// encode fits the encoder and reads the log by it.
func (l *learning) encode() (err error) {
	t := &l.out.Training
	if f := l.o.PriorFile; f != nil {
		l.encoder = f.Encoder()
		known, err := l.log.Known(l.encoder)
		if err != nil {
			return err
		}
		if n := len(l.log.Names()); known < n {
			l.warn("the prior's file does not know %d of the %d names and categories in the contexts: they are left out", n-known, n)
		}
		l.prior = policies.Prior{Mean: slices.Concat(f.File().Weights...)}
		t.Prior = f.Hash()
	} else {
		rows := l.teach
		if rows == nil { // nothing is certified
			rows = l.rest
		}
		if l.encoder, err = l.log.FitEncoder(rows, l.o.Scaling); err != nil {
			return err
		}
		t.Prior, t.Scaling = l.o.Prior, l.o.Scaling.Kind
		if t.Scaling == "" {
			t.Scaling = "max"
		}
		l.prior = policies.Prior{Mean: make([]float64, len(l.log.Actions)*l.encoder.Dim())}
	}
	if l.rows, err = read(l.log, l.encoder, l.id); err == nil {
		l.rows.X = hold(l.rows.X, room)
	}
	t.Teach, t.Rest = len(l.teach), len(l.rest)
	return err
}

// read is the whole log as learning reads it, with rows told apart by id.
func read(log *logs.Log, e *features.Encoder, id identity) (*logs.Log, error) {
	b, err := log.Encode(e)
	if err != nil {
		return nil, err
	}
	b.Keys = id.ids
	return b, nil
}

// recipe runs train.Recipe.
func (l *learning) recipe(ctx context.Context) error {
	t, c := &l.out.Training, l.config
	w := newWatch(l.rows, l.teach, l.o.Seed, math.Inf(-1))
	softmax, gaussian := w.epoch(policies.Softmax{}), w.epoch(l.config.Policy)
	c.Epoch = func(p train.Epoch) bool {
		switch p.Stage {
		case "prior":
			return softmax(p)
		case "tuning":
			return gaussian(p)
		}
		return true
	}
	c.Prior = l.prior
	got, err := train.Recipe{Scales: t.PriorScales, Floor: l.o.Floor, Teach: l.teach, Rest: l.rest, Tune: l.o.Tune}.Learn(ctx, l.rows, c)
	if err != nil {
		return err
	}
	if t.PriorScales == nil {
		t.PriorScales = train.PriorScales()
	}
	t.Learner, t.Curve, t.Tried = got.Learner, w.curve, got.Certificate.Priors
	l.out.Policy, l.out.Posterior = got.Policy, got.Posterior
	l.baseline, l.cert = &got.Baseline, &got.Certificate
	return nil
}

// fit trains an objective, at each prior scale, and keeps the one of the best
// guarantee.
func (l *learning) fit(ctx context.Context) error {
	t, c := &l.out.Training, l.config
	prior := l.prior
	if l.o.Prior == LearnedPrior {
		learned, name, err := train.LearnPrior(ctx, l.rows, l.teach, c)
		if err != nil {
			return err
		}
		prior, t.Learner = learned, name
	}
	scales := t.PriorScales
	if len(scales) == 0 || !l.posterior() {
		scales = []float64{1}
	}
	t.PriorScales, t.Tried = scales, len(scales)
	part := l.rows.Subset(l.rest)
	for i, s := range scales {
		prior.Scale = s
		c.Prior = prior
		w := newWatch(l.rows, l.rest, l.o.Seed, l.o.MinEffective)
		c.Epoch = w.epoch(c.Policy)
		res, err := train.Fit(ctx, part, c)
		if err != nil {
			return err
		}
		q := res.Posterior
		if w.stopped != "" && w.last != nil {
			q = *w.last
		}
		better := i == 0
		if l.posterior() {
			cert, err := certify.Certify(c.Policy, q, l.rows, l.rest, certify.Options{Delta: c.Delta, Weight: c.Weight, Priors: len(scales), Seed: c.Seed, Threads: runtime.GOMAXPROCS(0)})
			if err != nil {
				return err
			}
			if better = better || cert.Guaranteed() > l.cert.Guaranteed(); better {
				l.cert = &cert
			}
		}
		if better {
			l.out.Policy, l.out.Posterior, t.Curve, t.Stopped = c.Policy, q, w.curve, w.stopped
			if w.stopped != "" && w.last != nil {
				t.Stopped += "; the policy of the epoch before is kept"
			}
		}
	}
	return nil
}

// finish certifies, warns, and makes the file.
func (l *learning) finish() error {
	t, q, out := &l.out.Training, l.out.Posterior, l.out
	t.Estimate = judge(out.Policy, q, l.rows, l.rest)
	if t.Stopped != "" {
		l.warn("training stopped: %s; a floor, a stronger penalty or another weight keeps the policy nearer to the log", t.Stopped)
	}
	if t.Estimate.Effective < l.o.MinEffective && t.Stopped == "" {
		l.warn("the weights π/π₀ of the %d rows are worth %.1f rows: what the log says of the policy rests on a handful of rows", t.Estimate.Rows, t.Estimate.Effective)
	}
	if out.Worse = t.Estimate.Reward < -mean(l.log.Cost); out.Worse {
		l.warn("by the estimate the policy earns less than the logging policy: there was too little to learn from, or too much was learned from it; take fewer epochs or a stronger penalty, or keep the logging policy")
	}
	switch {
	case l.log.Estimated:
		out.Unproven = "the propensities are estimates: no guarantee holds"
	case !l.posterior():
		out.Unproven = "a softmax policy is one parameter chosen from the data: nothing can be guaranteed of it on this log; a gaussian policy has a posterior"
	default:
		g := &Guarantee{Certificate: *l.cert, Relation: Same, Rows: l.log.Len(), Refused: len(l.teach), Estimate: t.Estimate}
		g.of(l.log, out.Log, t.RewardMin, t.RewardMax)
		out.Guarantee = g
	}
	if l.baseline != nil {
		t.HasModel = true
		if !slices.Equal(l.baseline.Theta, q.Prior.Mean) {
			t.RewardModel = matrix(l.baseline.Theta, q.Actions)
		}
	}
	t.Chosen = l.id.hashes(l.seed, l.rest)
	t.Witnesses = witnesses(l.log, l.id, l.seed, slices.Concat(l.teach, l.rest))
	taught := l.id.hashes(l.seed, l.teach)
	if l.before.known {
		taught = append(taught, l.before.taught.Hashes()...)
		taught = append(taught, l.before.chosen.Hashes()...)
		slices.Sort(taught)
		taught = slices.Compact(taught)
	}
	kind, err := kindOf(l.bare())
	if err != nil {
		return err
	}
	scale := q.Prior.Scale
	if scale == 0 {
		scale = 1
	}
	f := &policyfile.File{
		Kind: kind, Actions: l.log.Actions, Sigma: q.Sigma, Floor: l.o.Floor, Encoder: l.encoder, Created: versions(), DataHash: l.log.Hash(),
		Weights: matrix(q.Mu, q.Actions),
		Prior: &policyfile.Prior{Scale: scale, Mean: matrix(q.Prior.Mean, q.Actions),
			Taught: &policyfile.Taught{Count: len(taught), Seed: l.seed, How: l.id.how, DataHash: l.log.Hash(), Rows: taught}},
	}
	if f.Training, err = object(t); err != nil {
		return err
	}
	if out.Guarantee != nil {
		if f.Certificate, err = object(out.Guarantee); err != nil {
			return err
		}
	}
	out.File = f
	return nil
}

// mean is 0 of nothing.
func mean(xs []float64) (m float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return m
}

// bare is the policy without its floor.
func (l *learning) bare() policies.Policy {
	if p, ok := l.out.Policy.(policies.Floor); ok {
		return p.Policy
	}
	return l.out.Policy
}

// names lists actions in messages.
func names(actions []string) string {
	if len(actions) > 5 {
		return fmt.Sprintf("%s, … (%d)", strings.Join(actions[:5], ", "), len(actions))
	}
	return strings.Join(actions, ", ")
}
