package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/wholefile"
	"opl/train/estimate"
	"opl/train/inspect"
	"opl/train/learn"
	"opl/train/logs"
	"opl/train/report"
	"opl/train/report/table"
)

// evaluateFlags are the flags of evaluate, as given.
type evaluateFlags struct {
	readFlags
	targets    []string
	estimators []string
	delta      float64
	seed       uint64
	format     string
	plot       string
	force      bool
}

func evaluateCommand() *cobra.Command {
	var f evaluateFlags
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

Estimators: ips, snips; clip, ix, es, har (name=hyperparameter in (0, 1], default
n^(-1/4) away from unregularized); ls (logarithmic smoothing, default 1/√n); dm and
dr, the direct method and the doubly robust estimate, whose rewards are learned by
ridge regression an action on the other folds of five.

` + readHelp,
		Example: `  opl evaluate --target uniform logs.csv
  opl evaluate --target new.csv --target old=last.csv --plot values.png logs.csv
  opl evaluate --preset obd --target bts.csv --estimators ips,snips,clip=0.01,dr random.csv.gz`,
		Args: operands("a file"),
		RunE: func(cmd *cobra.Command, args []string) error { return evaluate(cmd, f, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.targets, "target", nil, "policy to evaluate: uniform, a policy file or a file of probabilities; may be repeated")
	fl.StringSliceVar(&f.estimators, "estimators", nil, "estimators, such as snips,clip=0.1 (default: all that can be had)")
	fl.Float64Var(&f.delta, "delta", 0.05, "δ: intervals at level 1-δ, guarantees with probability 1-δ")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the folds of dm and dr")
	fl.StringVar(&f.format, "format", "table", "output: "+strings.Join(table.Formats(), ", "))
	fl.StringVar(&f.plot, "plot", "", "also draw the estimates to this `file`: .png, .svg or .pdf")
	fl.BoolVar(&f.force, "force", false, "evaluate on a log that is unusable too")
	f.add(fl)
	return cmd
}

func evaluate(cmd *cobra.Command, f evaluateFlags, path string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	if err := writable(f.plot, path); err != nil {
		return fmt.Errorf("--plot %s: %w", f.plot, err)
	}
	log, err := f.open(cmd.Context(), path)
	if err != nil {
		return err
	}
	defer log.Close()
	found := inspect.Inspect(inspect.FromLog(log))
	fmt.Fprintf(cmd.ErrOrStderr(), "opl: %s: %s\n", path, found.Summary())
	if found.Severity == inspect.Unusable && !f.force {
		return fmt.Errorf("%s is unusable: see opl inspect; --force evaluates it anyway", path)
	}
	o.Notes = remarks(log, found, f.readFlags)
	var targets []estimate.Target
	for _, arg := range f.targets {
		t, err := estimate.Open(arg, log)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(targets, func(u estimate.Target) bool { return u.Name == t.Name }) {
			return fmt.Errorf("--target %s: there is already a target %s; name it by NAME=%s", arg, t.Name, arg)
		}
		if t.Policy != nil {
			t.Uncertified = learn.Flatters(t.Policy.File(), log)
		}
		if found.Severity == inspect.Unusable {
			t.Uncertified = "the log is unusable"
		}
		targets = append(targets, t)
	}
	columns := estimate.FromLog(log)
	model := o.Methods == nil || slices.Contains(o.Methods, estimate.DM) || slices.Contains(o.Methods, estimate.DR)
	if model && !slices.ContainsFunc(targets, func(t estimate.Target) bool { return t.Row == nil }) {
		if o.Model, err = estimate.Learn(log, columns, estimate.RidgeOptions{Seed: f.seed}); err != nil {
			if o.Methods != nil {
				return err
			}
			o.Notes = append(o.Notes, err.Error())
		}
	}
	result, err := estimate.Evaluate(columns, targets, o)
	if err != nil {
		return err
	}
	if err := result.Write(cmd.OutOrStdout(), report.Format(f.format)); err != nil {
		return err
	}
	if f.plot == "" {
		return nil
	}
	var b bytes.Buffer
	if err := result.Plot(&b, strings.TrimPrefix(filepath.Ext(f.plot), ".")); err != nil {
		return err
	}
	if err := wholefile.WriteBytes(f.plot, b.Bytes()); err != nil {
		return fmt.Errorf("--plot: %w", err)
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

// options checks the flags and turns them into options.
func (f evaluateFlags) options() (estimate.Options, error) {
	o := estimate.Options{Delta: f.delta}
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
	for _, s := range f.estimators {
		name, value, given := strings.Cut(s, "=")
		m := estimate.Method(name)
		if !slices.Contains(estimate.Methods(), m) {
			return o, fmt.Errorf("--estimators %s: want %s", s, methodNames())
		}
		o.Methods = append(o.Methods, m)
		if !given {
			continue
		}
		at, ok := map[estimate.Method]*float64{estimate.Clip: &o.Tau, estimate.IX: &o.Gamma, estimate.ES: &o.Alpha, estimate.Har: &o.Lambda, estimate.LS: &o.Ell}[m]
		if !ok {
			return o, fmt.Errorf("--estimators %s: %s has no hyperparameter", s, m)
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v > 0 && v <= 1) {
			return o, fmt.Errorf("--estimators %s: want a number in (0, 1]", s)
		}
		if *at != 0 {
			return o, fmt.Errorf("--estimators: %s comes twice", m)
		}
		*at = v
	}
	return o, nil
}

func methodNames() string {
	var names []string
	for _, m := range estimate.Methods() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}
