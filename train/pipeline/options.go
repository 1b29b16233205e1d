package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"opl/objectives"
	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train"
	"opl/train/certify"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/provenance"
)

// The priors by name; any other is a policy file.
const (
	ZeroPrior    = "zero"    // mean 0
	LearnedPrior = "learned" // from the rows that teach, see train.LearnPrior
)

// Options says how a policy is learned. The zero value is the certified recipe.
type Options struct {
	Objective string   // of the library; empty: certified
	Weight    string   // of objectives that bring none; empty: clip
	Hyper     *float64 // of the weight, or of an objective that takes one; nil: the default
	Policy    string   // family; empty: the objective's own, gaussian in place of those that have no file
	Lambda    string   // star, authors or a number; empty: star
	Penalty   *float64 // nil: the objective's own
	Floor     float64  // ε of every propensity, see policies.Floor; in [0, 1)
	Gamma     float64  // Γ, the factor that propensities are known up to; 0: 1

	// Settings of the training; zero values: train for 20 epochs at 0.1 in
	// minibatches of 128, float32, δ = 0.05, and the recipe's prior scales, or 1.
	// Limit, PriorSplit and Certify are not used.
	Settings train.Settings
	Seed     uint64 // of everything random

	Split string // random, group or time; empty: group where the log has groups, else random
	// Share is the part of the rows that teach alone. 0: before chunks 0.55 to 0.75, of actions that are numbers 0.35 to
	// 0.55, of more than 50,000 rows 0.5 to 0.75, more where there are more actions times features for the rows; 0.67 for
	// rules; 0.1 with a prior of zero, where these rows teach the encoder alone; else 0.5.
	Share float64
	// Chunks is the number of parts that the rows which certify are divided into, each of which certifies a
	// policy that the parts before it taught, too, see train.LearnChunks. It needs rows that are alike. 0: 6,
	// after the share that only teaches, for the recipe on logs of 50 to 200,000 units (groups, or rows that
	// have none) which are not divided by time and do not drift, without PriorFile; of more than 50,000 only with at
	// most 4,096 names in the contexts; else 1.
	Chunks int
	// Scaling of features; Kind empty: robust, or standard for actions with features, for which Unit is not used.
	Scaling logs.Scaling
	// Own is how often the rows that teach must have logged an action for it to have a row of its
	// own in W, beside what it is described by, where rows offer sets or actions have features. 0:
	// 100, or 1 where actions have no features; negative: none has.
	Own int
	// Bins are how many windows of one width a range of actions that are numbers may be divided into, from which one
	// is chosen on rows that teach; the range is divided into as many bins as the most. nil: 4, 8, 16 and 32.
	Bins []int
	Trading
	// Learners of the recipe that may be candidates, of [train.Learners]; nil: all.
	Learners []string
	Readable
	// PriorFile, if not nil, is a policy whose weights are the prior's mean, or
	// where the recipe starts, and whose encoder is used. Rows that it was learned
	// from do not certify.
	PriorFile *policyfile.Policy
	Ancestry

	// the log's own names of columns, by the schema's, which the policy file keeps; see
	// [logs.Options]
	Columns map[string]string

	MinESS   float64              // effective sample size that the weights must have; 0: 30, negative: any
	Force    bool                 // learn from a log that cannot be used, too
	Progress func(train.Progress) // is told how far the training is; nil: nobody
}

// Trading says how other outcomes count.
type Trading struct {
	// Requirements of other outcomes: the policy is learned for the goal and them, weighed by rows that teach, and its
	// certificate has a decision.
	Requirements []provenance.Requirement
	Trade        []float64 // their weights λ beside the reward's 1; nil: chosen on rows that teach
}

// Ancestry names the policies that came before.
type Ancestry struct {
	// Prior is zero or learned; empty: learned for the recipe, zero for others.
	Prior string
	// Fresh says that the log has no row that PriorFile was learned from, where
	// that cannot be seen.
	Fresh bool
	// Loggers are policies that logged rows of the log, as far as their files are at
	// hand: what taught them had a part in what is learned from the log.
	Loggers []*policyfile.Policy
}

// Readable says how rules are learned that people can read.
type Readable struct {
	Depth  int  // of the trees of the learner rules, at most; 0: 2
	Simple bool // shallow trees are candidates, too, and are taken if they are within a standard error of the best
	// Distil, if not nil, is a policy that the rules are to play like: they are learned from what it plays on rows
	// that do not certify. It is in place of PriorFile.
	Distil *policyfile.Policy
}

// configure fills in what the options leave open, checks what does not need the rows of the log, and
// says which run they are.
func (l *learning) configure(lib library.Library) (run train.Run, err error) {
	o := &l.o
	if l.objective, err = lib.Objective(cmp.Or(o.Objective, "certified")); err != nil {
		return run, err
	}
	objective := l.objective
	if err := l.readable(); err != nil {
		return run, err
	}
	for _, name := range o.Learners {
		if known, _ := train.Learners(); !slices.Contains(known, name) {
			return run, fmt.Errorf("learner %q: want some of %s", name, strings.Join(known, ", "))
		}
	}
	o.Settings = o.Settings.Filled()
	s := &o.Settings
	s.Limit, s.PriorSplit, s.Certify = 0, 0, false
	if err := s.Check(); err != nil {
		return run, err
	}
	if s.Noise != "" && s.Noise != library.Quadrature { // policies without noise do not ask for it
		if _, err := lib.Noise(s.Noise); err != nil {
			return run, err
		}
	}
	if err := o.check(objective); err != nil {
		return run, err
	}
	o.MinESS = cmp.Or(o.MinESS, 30)
	switch {
	case o.PriorFile != nil || o.Prior != "":
	case objective.Recipe:
		o.Prior = LearnedPrior
	default:
		o.Prior = ZeroPrior
	}
	if run, err = o.run(lib, objective); err != nil {
		return run, err
	}
	if err := l.settleFamily(lib, &run); err != nil {
		return run, err
	}
	if objective.Recipe {
		run.Noise, run.Schedule, run.Certify = "", "linear", true
	}
	if run, err = lib.Settle(run); err != nil {
		return run, err
	}
	if err := lib.Check(run); err != nil {
		var unfit *objectives.UnfitError
		if errors.As(err, &unfit) {
			err = unfit
		}
		return run, fmt.Errorf("%s: %w", objective.Name, err)
	}
	return run, nil
}

// check refuses values out of their domain, and combinations that have no meaning for an objective.
func (o *Options) check(objective library.Objective) error {
	s := &o.Settings
	switch {
	case !(o.Floor >= 0 && o.Floor < 1):
		return fmt.Errorf("floor %v: want a number in [0, 1)", o.Floor)
	case !(o.Share >= 0 && o.Share < 1):
		return fmt.Errorf("share %v: want one in (0, 1)", o.Share)
	case o.Learners != nil && !objective.Recipe:
		return fmt.Errorf("objective %s learns in its own way: learners are of the certified recipe",
			objective.Name)
	case !(o.Chunks >= 0 && o.Chunks <= 100):
		return fmt.Errorf("chunks %d: want 1 to 100", o.Chunks)
	case o.Chunks > 1 && !objective.Recipe:
		return fmt.Errorf("objective %s learns from all rows that certify: chunks are of the certified recipe",
			objective.Name)
	case o.Chunks > 1 && o.Split == ByTime:
		return errors.New("chunks need rows that are alike at all times: they cannot be divided by setting " +
			"split of time")
	case certify.CheckGamma(cmp.Or(o.Gamma, 1)) != nil:
		return fmt.Errorf("propensities are known up to a factor of %w", certify.CheckGamma(o.Gamma))
	case o.PriorFile != nil && s.Representation != "" && s.Representation != library.NoRepresentation &&
		!objective.Recipe:
		return errors.New("a prior from a file is of its own features, and a representation makes others: " +
			"give one of them")
	case o.PriorFile != nil && o.Prior != "":
		return errors.New("a prior from a file is neither zero nor learned")
	case !slices.Contains([]string{"", ZeroPrior, LearnedPrior}, o.Prior):
		return fmt.Errorf("prior %q: want %s, %s or a policy file", o.Prior, ZeroPrior, LearnedPrior)
	case objective.Recipe && o.Prior == ZeroPrior:
		return fmt.Errorf("the %s recipe learns its prior", objective.Name)
	case o.Penalty != nil && (!(*o.Penalty >= 0) || math.IsInf(*o.Penalty, 0)):
		return fmt.Errorf("penalty %v: want a number of at least 0", *o.Penalty)
	case o.Hyper != nil && !(*o.Hyper >= 0 && *o.Hyper <= 1):
		return fmt.Errorf("hyperparameter %v: want a number in [0, 1]", *o.Hyper)
	case o.Penalty != nil && !objective.HasPenalty:
		return fmt.Errorf("objective %s takes no penalty", objective.Name)
	case o.Lambda != "" && !objective.HasLambda:
		return fmt.Errorf("objective %s has no λ", objective.Name)
	case o.Weight != "" && objective.OwnWeight && o.Weight != objective.Hyper:
		return fmt.Errorf("objective %s brings its own weight", objective.Name)
	case len(s.PriorScales) > 0 && objective.Recipe:
		return fmt.Errorf("the %s recipe has no prior, nor a scale of one", objective.Name)
	}
	return nil
}

// run is the configuration of the training, but for the policy's family.
func (o *Options) run(lib library.Library, objective library.Objective) (train.Run, error) {
	none := train.Run{}
	run := train.Run{
		Objective: objective.Name, Policy: o.Policy, Hyper: train.None(), Penalty: train.None(), Lambda: o.Lambda,
		Seed: o.Seed, Settings: o.Settings,
	}
	if objective.HasLambda {
		run.Lambda = cmp.Or(run.Lambda, "star")
	}
	if objective.HasPenalty {
		run.Penalty = train.Number(objective.Penalty)
		if o.Penalty != nil {
			run.Penalty = train.Number(*o.Penalty)
		}
	}
	if !objective.OwnWeight {
		run.Weight = cmp.Or(o.Weight, "clip")
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
	return run, nil
}

// settleFamily chooses the policy's family, and refuses one that does not fit the log or has no policy file.
func (l *learning) settleFamily(lib library.Library, run *train.Run) error {
	family := func() propensity.Family { return (&policyfile.Component{Kind: run.Policy}).Family() }
	if run.Policy == "" {
		if run.Policy = l.objective.Policy; family() == nil {
			run.Policy = policyfile.Gaussian
		}
	}
	if _, err := lib.Policy(run.Policy); err != nil {
		return fmt.Errorf("%w, or %s", err, Rules)
	}
	if l.family = family(); l.family == nil {
		return fmt.Errorf("a %s policy has no propensities in closed form that a policy file knows, which "+
			"serving and the next log need: learn a gaussian or a softmax one", run.Policy)
	}
	switch {
	case l.o.Own != 0 && l.log.Choices == nil:
		return errors.New("setting own: every action of the log has a row of its own, for none has features " +
			"nor is missing from a row")
	case l.log.Choices != nil && l.family.HasPosterior():
		return fmt.Errorf("%s: %s", l.objective.Name, objectives.Correlated)
	case l.o.PriorFile != nil && l.o.PriorFile.File().HasItems() != (l.log.Choices != nil):
		return errors.New("the prior's policy and the log differ in whether actions have features, or rows " +
			"offer sets of them")
	}
	if r := l.o.Settings.Representation; l.o.Prior == LearnedPrior && r != "" && r != library.NoRepresentation &&
		!l.objective.Recipe && !l.family.HasPosterior() {
		return errors.New("a prior that is learned beforehand is of other features than a representation " +
			"that is learned along: leave one of them out")
	}
	return nil
}
