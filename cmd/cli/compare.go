package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
	"opl/train/report"
)

// compareFlags are the flags of compare, as given.
type compareFlags struct {
	datasets   []string
	data       string
	eta0       []string
	objectives []string
	weights    []string
	policy     string
	lambda     string
	delta      float64
	penalty    float64
	noise      string
	samples    int
	seeds      int
	seed       uint64
	epochs     int
	lr         float64
	batch      int
	limit      int
	jobs       int
	dtype      string
	sampled    bool
	format     string
	schedule   string
	split      float64
	scales     []float64
	certify    bool
	terms      bool
}

func compareCommand(lib experiment.Library) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "train objectives side by side and print what their policies earn",
		Long: `compare turns a labelled data set into the log of a softmax policy (a cost of
-1 for the right label, 0 otherwise), trains a policy for every objective and
weight on the same log, and prints the reward of each on the test set, exact
unless said otherwise. The reward is that of the policy the objective speaks of:
the mixture under the posterior for bounds, the policy itself for heuristics;
"at mean" is that of the single policy at the posterior's mean.

Objectives:
` + objectiveList(lib) + `
Weights (name or name=hyperparameter, in [0, 1]; default n^(-1/4) away from
unregularized):
` + weightList(lib) + `
Policies: ` + policyNames(lib) + `.
Noise: ` + noiseNames(lib) + `.`,
		Example: `  opl compare
  opl compare --eta0 0,0.5,1 --seeds 3
  opl compare --objectives heuristic,l2 --weights clip=0.1,har=0.5 --dataset fashion
  opl compare --objectives corollary1 --lambda authors --lr 0.001 --format csv
  opl compare --epochs 1 --limit 5000      a first look in seconds`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return compare(cmd, lib, f)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.datasets, "dataset", []string{"mnist"}, "data sets: mnist, fashion")
	fl.StringVar(&f.data, "data", "", "folder of the data set's four files (default: $OPL_DATA, then the usual places)")
	fl.StringSliceVar(&f.eta0, "eta0", []string{"0.5"}, "η₀ of the logging policy: 0 is uniform, 1 as fitted")
	fl.StringSliceVar(&f.objectives, "objectives", []string{"certified", "heuristic", "theorem1", "corollary1"}, "objectives")
	fl.StringSliceVar(&f.weights, "weights", []string{"clip", "es", "ix", "har"}, "weights, such as clip=0.1,har=0.5")
	fl.StringVar(&f.policy, "policy", "", "policy of all objectives (default: each objective's own)")
	fl.StringVar(&f.lambda, "lambda", "star", "λ of theorem1 and corollary1: star minimizes the bound, authors as in their code, or a number fixed beforehand")
	fl.Float64Var(&f.delta, "delta", 0.05, "failure probability δ of the bounds")
	fl.Float64Var(&f.penalty, "penalty", math.NaN(), "penalty of the heuristics (default 1e-5; variance 1)")
	fl.StringVar(&f.noise, "noise", "", "noise of sampled policies (default: "+lib.Noises[0].Name+", and quadrature for gaussian)")
	fl.IntVar(&f.samples, "samples", 32, "noise draws an example, S")
	fl.IntVar(&f.seeds, "seeds", 1, "number of seeds, counted from --seed")
	fl.Uint64Var(&f.seed, "seed", 1, "first seed")
	fl.IntVar(&f.epochs, "epochs", 20, "passes over the log")
	fl.Float64Var(&f.lr, "lr", 0.1, "learning rate of Adam")
	fl.IntVar(&f.batch, "batch-size", 128, "rows of a minibatch")
	fl.IntVar(&f.limit, "limit", 0, "use this many training examples, 0: all")
	fl.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "runs side by side")
	fl.StringVar(&f.dtype, "dtype", "float32", "element type of training: float32 or float64")
	fl.StringVar(&f.schedule, "schedule", "constant", "learning rate over the training: constant or linear, which falls to 0")
	fl.Float64Var(&f.split, "prior-split", 0, "share of the log that learns the prior, which the bounds then do not see (certified: 0.5)")
	fl.Float64SliceVar(&f.scales, "prior-scale", nil, "scales s of the prior N(·, s²I), fixed in advance; the best guarantee chooses (default 1; certified: 1,0.5,0.3,0.2,0.1,0.05)")
	fl.BoolVar(&f.certify, "certify", false, "guarantee of each policy with a posterior, with probability 1-δ")
	fl.BoolVar(&f.terms, "terms", false, "also the terms of every objective and bound")
	fl.BoolVar(&f.sampled, "sampled-reward", false, "also the reward of one sampled action an example (Algorithm 2)")
	fl.StringVar(&f.format, "format", "table", "output: "+strings.Join(report.Formats(), ", "))
	return cmd
}

func objectiveList(lib experiment.Library) string {
	var b strings.Builder
	for _, o := range lib.Objectives {
		fmt.Fprintf(&b, "  %-11s %s (%s)\n", o.Name, o.About, o.Policy)
	}
	return b.String()
}

func weightList(lib experiment.Library) string {
	var b strings.Builder
	for _, w := range lib.Weights {
		plain := ""
		if w.Plain == w.Plain {
			plain = fmt.Sprintf("; unregularized at %v", w.Plain)
		}
		fmt.Fprintf(&b, "  %-11s %s%s\n", w.Name, w.About, plain)
	}
	return b.String()
}

func policyNames(lib experiment.Library) string {
	var names []string
	for _, p := range lib.Policies {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

func noiseNames(lib experiment.Library) string {
	names := []string{experiment.Quadrature + " (gaussian alone)"}
	for _, n := range lib.Noises {
		names = append(names, n.Name)
	}
	return strings.Join(names, ", ")
}

// check validates the flags that are not names of the library.
func (f compareFlags) check() error {
	switch {
	case !(f.delta > 0 && f.delta < 1):
		return fmt.Errorf("--delta %v: want a number in (0, 1)", f.delta)
	case f.penalty < 0 || math.IsInf(f.penalty, 0):
		return fmt.Errorf("--penalty %v: want a number of at least 0", f.penalty)
	case f.samples < 1:
		return fmt.Errorf("--samples %d: want at least 1", f.samples)
	case f.schedule != "constant" && f.schedule != "linear":
		return fmt.Errorf("--schedule %q: want constant or linear", f.schedule)
	case !(f.split >= 0 && f.split < 1):
		return fmt.Errorf("--prior-split %v: want a share in [0, 1)", f.split)
	case slices.ContainsFunc(f.scales, func(s float64) bool { return !(s > 0) || math.IsInf(s, 0) }):
		return fmt.Errorf("--prior-scale %v: want positive numbers", f.scales)
	case f.seeds < 1:
		return fmt.Errorf("--seeds %d: want at least 1", f.seeds)
	case f.limit > 0 && f.limit < 20:
		return fmt.Errorf("--limit %d: use at least 20: 5 %% are for the logging policy, the rest for the log", f.limit)
	case f.epochs < 0:
		return fmt.Errorf("--epochs %d: want 0 or more", f.epochs)
	case !(f.lr > 0) || math.IsInf(f.lr, 0):
		return fmt.Errorf("--lr %v: want a positive number", f.lr)
	case f.batch < 1:
		return fmt.Errorf("--batch-size %d: want at least 1", f.batch)
	case f.limit < 0:
		return fmt.Errorf("--limit %d: want 0 (all) or more", f.limit)
	case f.jobs < 1:
		return fmt.Errorf("--jobs %d: want at least 1", f.jobs)
	case f.dtype != "float32" && f.dtype != "float64":
		return fmt.Errorf("--dtype %q: want float32 or float64", f.dtype)
	case !slices.Contains(report.Formats(), f.format):
		return fmt.Errorf("--format %q%s (known: %s)", f.format, experiment.Suggest(f.format, report.Formats()), strings.Join(report.Formats(), ", "))
	case len(f.datasets) == 0 || len(f.eta0) == 0 || len(f.objectives) == 0 || len(f.weights) == 0:
		return errors.New("--dataset, --eta0, --objectives and --weights want at least one value each")
	}
	return nil
}

// runs lists what is to be run, every problem's logging policy first. What has
// no meaning is left out, with a word to left.
func (f compareFlags) runs(lib experiment.Library, left func(what string, why error)) ([]train.Run, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if _, err := experiment.ParseLambda(f.lambda); err != nil {
		return nil, fmt.Errorf("--lambda %w", err)
	}
	var etas []float64
	for _, s := range f.eta0 {
		eta, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsNaN(eta) || math.IsInf(eta, 0) {
			return nil, fmt.Errorf("--eta0 %q: want a number", s)
		}
		if !slices.Contains(etas, eta) {
			etas = append(etas, eta)
		}
	}
	learned, err := f.learned(lib, left)
	if err != nil {
		return nil, err
	}
	var runs []train.Run
	var datasets []string
	for _, data := range f.datasets {
		if slices.Contains(datasets, data) {
			continue
		}
		datasets = append(datasets, data)
		for _, eta := range etas {
			for s := range f.seeds {
				problem := train.Run{Dataset: data, Eta0: eta, Seed: f.seed + uint64(s), Limit: f.limit}
				logging := problem
				logging.Objective, logging.Policy = experiment.LoggingPolicy, "softmax"
				logging.Hyper, logging.Penalty = train.None(), train.None()
				runs = append(runs, logging)
				for _, r := range learned {
					r.Dataset, r.Eta0, r.Seed, r.Limit = problem.Dataset, problem.Eta0, problem.Seed, problem.Limit
					runs = append(runs, r)
				}
			}
		}
	}
	return runs, nil
}

// learned lists the configurations of one problem.
func (f compareFlags) learned(lib experiment.Library, left func(what string, why error)) ([]train.Run, error) {
	type weight struct {
		name  string
		hyper train.Number
	}
	var weights []weight
	for _, s := range f.weights {
		name, value, given := strings.Cut(strings.TrimSpace(s), "=")
		w, err := lib.Weight(name)
		if err != nil {
			return nil, fmt.Errorf("--weights: %w", err)
		}
		hyper := train.None()
		if given {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil || !(v >= 0 && v <= 1) {
				return nil, fmt.Errorf("--weights %s: the hyperparameter %q is not a number in [0, 1]", s, value)
			}
			if math.IsNaN(w.Plain) {
				return nil, fmt.Errorf("--weights %s: %s has no hyperparameter", s, name)
			}
			hyper = train.Number(v)
		}
		weights = append(weights, weight{name, hyper})
	}
	var runs []train.Run
	var why error
	seen := map[string]bool{}
	add := func(r train.Run, what string) error {
		err := lib.Check(r)
		var unfit *objectives.UnfitError
		if errors.As(err, &unfit) {
			why = unfit
			left(what, unfit)
			return nil
		}
		key := fmt.Sprintf("%+v", r) // hyperparameters may be NaN
		if err == nil && !seen[key] {
			seen[key] = true
			runs = append(runs, r)
		}
		return err
	}
	for _, name := range f.objectives {
		o, err := lib.Objective(strings.TrimSpace(name))
		if err != nil {
			return nil, fmt.Errorf("--objectives: %w", err)
		}
		r := train.Run{
			Objective: o.Name, Policy: o.Policy, Hyper: train.None(), Penalty: train.None(),
			Delta: f.delta, Epochs: f.epochs, LearningRate: f.lr, BatchSize: f.batch,
			Dtype: f.dtype, Noise: f.noise, Samples: f.samples,
			Schedule: f.schedule, PriorSplit: f.split, PriorScales: f.scales, Certify: f.certify,
		}
		if o.Recipe {
			r.Noise, r.Certify, r.Schedule = "", true, "linear"
		}
		if f.policy != "" {
			if _, err := lib.Policy(f.policy); err != nil {
				return nil, fmt.Errorf("--policy: %w", err)
			}
			r.Policy = f.policy
		}
		if r, err = lib.Settle(r); err != nil {
			return nil, fmt.Errorf("--noise: %w", err)
		}
		if o.HasLambda {
			r.Lambda = f.lambda
		}
		if o.HasPenalty {
			r.Penalty = train.Number(o.Penalty)
			if !math.IsNaN(f.penalty) {
				r.Penalty = train.Number(f.penalty)
			}
		}
		if o.OwnWeight {
			for _, w := range weights {
				if w.name == o.Hyper {
					r.Hyper = w.hyper
				}
			}
			if err := add(r, r.Objective); err != nil {
				return nil, err
			}
			continue
		}
		for _, w := range weights {
			r.Weight, r.Hyper = w.name, w.hyper
			what := o.Name + " × " + w.name
			if w.hyper.Valid() {
				what += "=" + w.hyper.String()
			}
			if err := add(r, what); err != nil {
				return nil, err
			}
		}
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("nothing is left to run: %w", why)
	}
	return runs, nil
}

func compare(cmd *cobra.Command, lib experiment.Library, f compareFlags) error {
	stderr := cmd.ErrOrStderr()
	var left []string
	runs, err := f.runs(lib, func(what string, why error) {
		left = append(left, fmt.Sprintf("opl: left out %s: %v\n", what, why))
	})
	if err != nil {
		return err
	}
	e := &experiment.Runner{Library: lib, DataDir: f.data, Jobs: f.jobs}
	for _, name := range f.datasets {
		d, err := e.Data(name)
		if err != nil {
			return err
		}
		if n := d.Train.Len(); f.limit > n {
			return fmt.Errorf("--limit %d: data set %s has %d training examples", f.limit, name, n)
		}
		if _, _, err := train.Split(d.Train.Len(), f.limit, f.seed); err != nil {
			return fmt.Errorf("--limit %d: %w", f.limit, err)
		}
	}
	fmt.Fprint(stderr, strings.Join(left, ""))
	p := newProgress(stderr, runs)
	e.Progress = p.at
	var recs []train.Record
	err = e.All(cmd.Context(), runs, func(i int, rec train.Record) error {
		p.done(i)
		if !f.sampled {
			rec.SampledReward = train.None()
		}
		recs = append(recs, rec)
		return nil
	})
	p.stop()
	if len(recs) > 0 {
		if err := report.Write(cmd.OutOrStdout(), report.Format(f.format), recs); err != nil {
			return err
		}
		if f.terms && (f.format == "table" || f.format == "markdown") {
			if err := report.WriteTerms(cmd.OutOrStdout(), report.Format(f.format), recs); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(stderr, "opl: interrupted: %d of %d runs finished\n", len(recs), len(runs))
	}
	return err
}
