package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train"
	"opl/train/explain"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
	"opl/train/report/html"
	"opl/train/report/render"
)

// defaultFloor is ε of the policies of train.
const defaultFloor = 0.05

type trainFlags struct {
	readFlags
	o           pipeline.Options
	outcomes    outcomeFlags
	out         string
	overwrite   bool
	weight      string
	penalty     float64
	distil      string
	noIntercept bool
	unit        bool
	noUnit      bool
	format      string
	loggers     []string
	page        reportFlag
}

func trainCommand(lib library.Library) *cobra.Command {
	f := trainFlags{readFlags: reading(lib), o: pipeline.Options{Settings: train.DefaultSettings()}}
	cmd, fl := command("train", some("a file"), func(cmd *cobra.Command, args []string) error {
		return trainPolicy(cmd, lib, f, args)
	})
	bind(fl, &f.out, "out", "")
	bind(fl, &f.overwrite, "overwrite", false)
	bind(fl, &f.o.Objective, "objective", "certified")
	bind(fl, &f.weight, "weight", "clip")
	bind(fl, &f.o.Policy, "policy", "")
	bind(fl, &f.o.Depth, "depth", 0)
	bind(fl, &f.o.Simple, "simple", false)
	bind(fl, &f.distil, "distil", "")
	bind(fl, &f.o.Lambda, "lambda", "star")
	bind(fl, &f.penalty, "penalty", math.NaN())
	bind(fl, &f.o.Floor, "floor", defaultFloor)
	addGamma(fl, &f.o.Gamma)
	addSettings(fl, &f.o.Settings, false)
	bind(fl, &f.o.Seed, "seed", 1)
	bind(fl, &f.o.Split, "split", "")
	addProbability(fl, &f.o.Share, "share", 0)
	addCount(fl, &f.o.Chunks, "chunks", 0)
	bind(fl, &f.o.Prior, "prior", "")
	bind(fl, &f.o.Scaling.Kind, "scale", "")
	bind(fl, &f.noIntercept, "no-intercept", false)
	bind(fl, &f.o.Bins, "bins", nil)
	bind(fl, &f.o.Learners, "learner", nil)
	bind(fl, &f.unit, "unit", false)
	bind(fl, &f.noUnit, "no-unit", false)
	bind(fl, &f.o.Own, "own", 0)
	bind(fl, &f.o.MinESS, "min-ess", 30)
	want(fl, "min-ess", "0 or more", func() bool { return f.o.MinESS >= 0 })
	addFormat(fl, &f.format)
	addVerbose(fl)
	bind(fl, &f.o.Fresh, "fresh", false)
	repeated(fl, &f.loggers, "logged-by")
	bind(fl, &f.o.Force, "force", false)
	f.page.add(fl)
	f.outcomes.add(fl)
	f.add(fl)
	return cmd
}

func trainPolicy(cmd *cobra.Command, lib library.Library, f trainFlags, paths []string) error {
	if err := cmp.Or(f.fillOptions(cmd, lib, paths), f.page.check(cmd)); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // large logs: memory before speed
	}
	reading := newStages(cmd.ErrOrStderr(), "reading "+strings.Join(paths, ", "))
	f.Progress = reading.read
	var err error
	if f.o.Requirements, err = f.outcomes.read(&f.readFlags); err != nil {
		return err
	}
	var limits []provenance.Limit
	before := cmp.Or(f.o.PriorFile, f.o.Distil)
	if before != nil {
		limits = f.limitsOf(before, f.o.Requirements)
	}
	log, err := f.open(cmd, paths...)
	reading.stop()
	if err != nil {
		return err
	}
	defer log.Close()
	stderr := cmd.ErrOrStderr()
	f.o.Requirements = append(f.o.Requirements, asBefore(cmd, provenance.Testable(limits, log))...)
	if before != nil {
		for _, name := range provenance.Untested(before.File(), f.o.Requirements) {
			fmt.Fprintf(stderr, "opl: %s, which the policy's file asks for, is not kept: the log does not have it\n", name)
		}
	}
	for _, n := range append(slices.Clip(log.Notes), pipeline.Foretold(log)...) {
		fmt.Fprintf(stderr, "opl: %s: %s\n", strings.Join(paths, ", "), n)
	}
	show := newTicker(stderr)
	f.o.Progress = show.training
	f.o.Columns = f.columns()
	learned, err := pipeline.Learn(cmd.Context(), lib, log, f.o)
	show.stop()
	if err != nil {
		return flagError(err)
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	written, err := f.save(learned)
	if err != nil {
		return err
	}
	var e *explain.Explanation
	if f.format != "json" || f.page.path != "" {
		if e, err = explained(cmd, log, learned); err != nil {
			return err
		}
	}
	text := func(w io.Writer) error { return render.Training(w, learned, e, written) }
	short := func(w io.Writer) error { return render.BriefTraining(w, learned, e, written) }
	var end error
	if learned.Worse || learned.Harms() {
		end = exitStatus(notShown)
	}
	page := func() (html.Page, error) { return render.TrainingPage(learned, e), nil }
	return conclusion{answer: trainedOf(learned, written), text: text, brief: short, page: page,
		end: end}.write(cmd, f.format, &f.page)
}

// save writes the policy file and returns its path, "" where none is written: of a policy that is clearly worse
// than what plays, or one that may be and would replace another, unless forced.
func (f *trainFlags) save(l *pipeline.Learned) (path string, err error) {
	doubted := l.Worse && !f.o.Force
	if doubted && !l.Undecided {
		return "", nil
	}
	if f.overwrite && !doubted {
		return f.out, policyfile.Save(f.out, l.File)
	}
	err = policyfile.SaveNew(f.out, l.File)
	if doubted && errors.Is(err, fs.ErrExist) {
		return "", nil
	}
	return f.out, kept("out", f.out, err)
}

// explained says what the learned policy does. It returns nil where [explain.Policy] cannot, and for logs of more than
// 100,000 rows or 30 features, whose search for a tree takes long, and for which opl explain does it.
func explained(cmd *cobra.Command, log *logs.Log, l *pipeline.Learned) (*explain.Explanation, error) {
	if log.Len() > 100_000 || log.Numbers != nil || l.File.Components[0].Encoder.Dim() > 30 {
		return nil, nil
	}
	show := newStages(cmd.ErrOrStderr(), "explaining")
	defer show.stop()
	e, err := explain.Policy(cmd.Context(), l.Served, log, l.Judge, explain.Options{Depth: 2})
	if err != nil {
		e = nil
	}
	return e, cmd.Context().Err()
}

// fillOptions completes the options of learning, checks the paths, and loads the policy files that flags name.
func (f *trainFlags) fillOptions(cmd *cobra.Command, lib library.Library, read []string) error {
	changed := cmd.Flags().Changed
	switch {
	case f.out == "":
		return errors.New("--out: want the policy file to write")
	case f.o.Settings.Epochs < 1:
		return fmt.Errorf("--epochs %d: want at least 1", f.o.Settings.Epochs)
	}
	if err := f.o.Settings.Check(); err != nil {
		return flagError(err)
	}
	var files []string
	for _, arg := range read {
		files = append(files, filesOf(cmd, arg)...)
	}
	if err := writable("out", f.out, files...); err != nil {
		return err
	}
	if err := absent("out", f.out, f.overwrite); err != nil {
		return err
	}
	f.o.MinESS = cmp.Or(f.o.MinESS, -1)
	if !changed("lambda") {
		f.o.Lambda = ""
	}
	if changed("penalty") {
		f.o.Penalty = &f.penalty
	}
	if changed("weight") {
		w, hyper, err := weightOf(lib, "weight", f.weight)
		if err != nil {
			return err
		}
		f.o.Weight, f.o.Hyper = w.Name, hyper
	}
	objective, err := lib.Objective(cmp.Or(f.o.Objective, "certified"))
	f.o.Scaling.Intercept, f.o.Scaling.Unit = !f.noIntercept, f.unit || !f.noUnit && err == nil && !objective.Recipe
	if !slices.Contains([]string{"", pipeline.ZeroPrior, pipeline.LearnedPrior}, f.o.Prior) {
		p, err := policyfile.Load(f.o.Prior)
		if err != nil {
			return fmt.Errorf("--prior: %w", err)
		}
		f.o.Prior, f.o.PriorFile = "", p
		f.readLike(p)
	}
	if f.distil != "" {
		p, err := policyfile.Load(f.distil)
		if err != nil {
			return fmt.Errorf("--distil: %w", err)
		}
		f.o.Distil = p
		f.readLike(p)
	}
	loggers := f.loggers
	if f.LoggingPolicy != "" && f.LoggingPolicy != "uniform" {
		loggers = append(loggers, f.LoggingPolicy)
	}
	for _, path := range loggers {
		p, err := policyfile.Load(path)
		if err != nil {
			return fmt.Errorf("--logged-by: %w", err)
		}
		f.o.Loggers = append(f.o.Loggers, p)
	}
	return nil
}

// weightOf reads a weight and its hyperparameter, if one is given.
func weightOf(lib library.Library, flag, text string) (library.Weight, *float64, error) {
	name, value, given := strings.Cut(strings.TrimSpace(text), "=")
	w, unknown := lib.Weight(name)
	h, err := strconv.ParseFloat(value, 64)
	switch {
	case unknown != nil:
		return w, nil, fmt.Errorf("--%s: %w", flag, unknown)
	case !given:
		return w, nil, nil
	case err != nil || !(h >= 0 && h <= 1):
		return w, nil, fmt.Errorf("--%s %s: the hyperparameter %q is not a number in [0, 1]", flag, text, value)
	case !w.Tunable():
		return w, nil, fmt.Errorf("--%s %s: %s has no hyperparameter", flag, text, name)
	}
	return w, &h, nil
}
