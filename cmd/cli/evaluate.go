package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/policies/wholefile"
	"opl/train/inspect"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/report/table"
)

type evaluateFlags struct {
	readFlags
	targets    []string
	estimators []string
	delta      float64
	seed       uint64
	model      string // policy file
	format     string
	plot       string
	force      bool
	part       partFlags
}

// estimatorsOf lists the estimators of the library, then one for each weight of another name.
func estimatorsOf(lib library.Library) []ope.Estimator {
	list := slices.Clone(lib.Estimators)
	for _, w := range lib.Weights {
		if !slices.ContainsFunc(list, func(e ope.Estimator) bool { return e.Name == w.Name }) {
			list = append(list, ope.FromWeight(w.Name, w.About, w.IPSAt, w.Make))
		}
	}
	return list
}

func evaluateCommand(lib library.Library) *cobra.Command {
	var f evaluateFlags
	estimators := estimatorsOf(lib)
	cmd := &cobra.Command{
		Use:   "evaluate --target TARGET [--target TARGET...] FILE",
		Short: "estimate from a log what other policies would have earned",
		Long: `evaluate estimates the mean reward of target policies from the log of another, with
standard errors, intervals, effective sample sizes, differences on the same rows,
and what is guaranteed of targets that were fixed before the log was seen. The log
is inspected first; an unusable one is refused.

TARGET is uniform, a policy file (.json), or a file of probabilities (CSV or JSON
lines, also .gz or .zst, or Parquet) with the columns action and probability (the
same policy everywhere), or with one row for each row of the log: p_0 to p_{K-1}, a
column NAME or p_NAME for each action, a list probabilities, or probability (of the
logged action alone). Rows are joined by decision_id if both files have it.
NAME=TARGET names the policy in tables.

Estimators (name or name=hyperparameter, in (0, 1]; default n^(-1/4) away from
unregularized), with rewards r and weights w = π/π₀:
` + described(estimators, func(e ope.Estimator) (string, string) { return e.Name, e.About }) + `
r̂ is learned by ridge regression an action on the other folds of five, or is that of a
policy file, --reward-model, with its layers: the logistic one if it has several, of the
last component of a mixture. A log that had a part in that file is predicted by none, as
its rows flatter it. The r̂ of the guarantee is learned by logistic regression on the rows
before, in a fixed random order.

` + readHelp,
		Example: `  opl evaluate --target uniform logs.csv
  opl evaluate --target new.csv --target old=last.csv --plot values.png logs.csv
  opl evaluate --target new.json --reward-model new.json later.csv
  opl evaluate --preset obd --target bts.csv --estimators ips,snips,clip=0.01,dr random.csv.gz`,
		Args: operands("a file"),
		RunE: func(cmd *cobra.Command, args []string) error { return evaluate(cmd, estimators, f, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.targets, "target", nil, "policy to evaluate: uniform, a policy file or a file of probabilities; may be repeated")
	fl.StringSliceVar(&f.estimators, "estimators", nil, "estimators, such as snips,clip=0.1 (default: all that can be had)")
	fl.Float64Var(&f.delta, "delta", 0.05, "δ: intervals at level 1-δ, guarantees with probability 1-δ")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the folds of dm and dr")
	fl.StringVar(&f.model, "reward-model", "", "policy `file` whose reward model is r̂ of dm and dr (default: ridge regression)")
	fl.StringVar(&f.format, "format", "table", "output: "+strings.Join(table.Formats(), ", "))
	fl.StringVar(&f.plot, "plot", "", "also draw the estimates to this `file`: .png, .svg or .pdf")
	fl.BoolVar(&f.force, "force", false, "evaluate on a log that is unusable too")
	f.part.add(fl)
	f.add(fl)
	return cmd
}

func evaluate(cmd *cobra.Command, estimators []ope.Estimator, f evaluateFlags, path string) error {
	o, err := f.options(estimators)
	if err != nil {
		return err
	}
	if err := f.part.check(cmd, "format", "plot"); err != nil {
		return err
	}
	if err := writable("plot", f.plot, path); err != nil {
		return err
	}
	log, err := f.open(cmd.Context(), path)
	if err != nil {
		return err
	}
	defer log.Close()
	o.Judge = provenance.New(log)
	found := o.Judge.Found()
	fmt.Fprintf(cmd.ErrOrStderr(), "opl: %s: %s\n", path, found.Summary())
	if found.Severity == inspect.Unusable && !f.force {
		return fmt.Errorf("%s is unusable: see opl inspect; --force evaluates it anyway", path)
	}
	o.Notes = remarks(log, found, f.readFlags)
	var targets []ope.Target
	for _, arg := range f.targets {
		t, err := ope.Open(arg, log)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(targets, func(u ope.Target) bool { return u.Name == t.Name }) {
			return fmt.Errorf("--target %s: there is already a target %s; name it by NAME=%s", arg, t.Name, arg)
		}
		targets = append(targets, t)
	}
	if slices.ContainsFunc(o.Estimators, reads) && !slices.ContainsFunc(targets, func(t ope.Target) bool { return t.Row == nil }) {
		if err := f.predict(&o, log); err != nil {
			return err
		}
	}
	if f.part.shard.Of > 0 {
		of, err := f.identity(o)
		if err != nil {
			return err
		}
		p, err := ope.EvaluatePart(log, targets, o, f.part.shard, of)
		if err != nil {
			return err
		}
		return f.part.write(cmd, "evaluate", p)
	}
	result, err := ope.Evaluate(log, targets, o)
	if err != nil {
		return err
	}
	if err := result.Write(cmd.OutOrStdout(), table.Format(f.format)); err != nil {
		return err
	}
	if f.plot != "" {
		err = wholefile.Write(f.plot, 0, func(to *os.File) error { return result.Plot(to, strings.TrimPrefix(filepath.Ext(f.plot), ".")) })
		if err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
	}
	return nil
}

// identity is of the targets, estimators and model that are asked for, by what is in the files.
func (f evaluateFlags) identity(o ope.Options) (string, error) {
	var all []string
	for _, arg := range append(slices.Clone(f.targets), f.model) {
		path := arg[strings.Index(arg, "=")+1:]
		text, err := os.ReadFile(path)
		if err != nil && path != "uniform" && path != "" {
			return "", err
		}
		all = append(all, arg, fmt.Sprintf("%x", sha256.Sum256(text)))
	}
	all = append(all, fmt.Sprint(f.seed), strings.Join(f.estimators, ","))
	for _, e := range o.Estimators {
		all = append(all, e.Name)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(all, "\x00")))), nil
}

// reads reports an estimator that needs a model of the reward.
func reads(e ope.Estimator) bool { return e.Model }

// predict takes the model of the reward from a policy file, or learns one. Why there is none is
// said below the results, if nobody asked for what needs it.
func (f evaluateFlags) predict(o *ope.Options, log *logs.Log) error {
	if f.model == "" {
		var err error
		if o.Model, err = ope.Ridge(log, ope.RidgeOptions{Seed: f.seed}); err != nil && f.estimators == nil {
			o.Notes = append(o.Notes, oneLine(err))
			return nil
		}
		return err
	}
	p, err := policyfile.Load(f.model)
	if err != nil {
		return fmt.Errorf("--reward-model: %w", err)
	}
	m, err := o.Judge.RewardModel(p.File())
	var withheld *provenance.Withheld
	switch {
	case errors.As(err, &withheld):
		reason := fmt.Sprintf("--reward-model %s: %s: take a later log or another file, or leave the flag out for ridge regression", f.model, withheld.Reason)
		if f.estimators != nil {
			return errors.New(reason)
		}
		o.Notes = append(o.Notes, reason)
	case err != nil:
		return fmt.Errorf("--reward-model %s: %w", f.model, err)
	default:
		o.Model = m.Predict
		o.Notes = append(o.Notes, fmt.Sprintf("r̂ of dm and dr is the %s model of the reward in %s", m.Name, f.model))
	}
	return nil
}

// remarks are what the reading and the inspection leave to be said.
func remarks(log *logs.Log, found inspect.Report, f readFlags) []string {
	var notes []string
	if n := log.Skipped; n > 0 {
		notes = append(notes, fmt.Sprintf("%d rows were left out: all of this, guarantees too, speaks of the rows kept", n))
	}
	if f.scaled() {
		notes = append(notes, fmt.Sprintf("a value v stands for the reward %v + %v v", f.RewardMin, f.RewardMax-f.RewardMin))
	}
	var doubts []string
	for _, d := range found.Findings {
		if d.Severity > inspect.Fine {
			doubts = append(doubts, d.Check)
		}
	}
	if doubts != nil {
		notes = append(notes, "the log gives reason for doubt: "+strings.Join(doubts, ", "))
	}
	return notes
}

func (f evaluateFlags) options(estimators []ope.Estimator) (ope.Options, error) {
	o := ope.Options{Delta: f.delta}
	switch {
	case len(f.targets) == 0:
		return o, errors.New("--target: want a policy to evaluate: uniform, or a file")
	case !(f.delta > 0 && f.delta < 1):
		return o, fmt.Errorf("--delta %v: want a number in (0, 1)", f.delta)
	case !slices.Contains(table.Formats(), f.format):
		return o, fmt.Errorf("--format %s: want %s", f.format, strings.Join(table.Formats(), ", "))
	case f.plot != "" && !slices.Contains([]string{".png", ".svg", ".pdf"}, filepath.Ext(f.plot)):
		return o, fmt.Errorf("--plot %s: want a name ending in .png, .svg or .pdf", f.plot)
	}
	if f.estimators == nil {
		o.Estimators = estimators
	}
	for _, s := range f.estimators {
		name, value, given := strings.Cut(s, "=")
		named := func(e ope.Estimator) bool { return e.Name == name }
		i := slices.IndexFunc(estimators, named)
		if i < 0 {
			return o, fmt.Errorf("--estimators %s: want %s", s, listed(estimators, func(e ope.Estimator) string { return e.Name }))
		}
		if slices.ContainsFunc(o.Estimators, named) {
			return o, fmt.Errorf("--estimators: %s comes twice", name)
		}
		e := estimators[i]
		if given {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return o, fmt.Errorf("--estimators %s: want a number for the hyperparameter", s)
			}
			if e, err = e.With(v); err != nil {
				return o, fmt.Errorf("--estimators %s: %w", s, err)
			}
		}
		o.Estimators = append(o.Estimators, e)
	}
	if f.model != "" && !slices.ContainsFunc(o.Estimators, reads) {
		return o, errors.New("--reward-model: none of the --estimators reads a model of the reward, as dm and dr do")
	}
	return o, nil
}
