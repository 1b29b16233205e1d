package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/policyfile"
	"opl/train"
	"opl/train/inspect"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/report/render"
)

type evaluateFlags struct {
	readFlags
	targets    []string
	estimators []string
	o          ope.Options
	model      string // name of one to learn, or policy file
	shape      string // of r̂ as a function of the number, see [ope.Model.Shaped]
	loggers    []string
	format     string
	plot       plotFlag
	force      bool
	part       shardFlags
	page       reportFlag
	models     modelsByName
	outcomes   outcomeFlags
}

// modelsByName finds a way to learn a model of the reward.
type modelsByName func(ctx context.Context, name string) (ope.RewardModel, error)

// modelsOf finds the models of ope, and one for each representation of the library.
func modelsOf(lib library.Library) modelsByName {
	return func(ctx context.Context, name string) (ope.RewardModel, error) {
		for _, m := range ope.RewardModels() {
			if m.Name == name {
				learn := m.Learn
				m.Learn = func(log *logs.Log, o ope.ModelOptions) (ope.Model, error) {
					o.Context = ctx
					return learn(log, o)
				}
				return m, nil
			}
		}
		h, err := lib.Representation(name)
		if err == nil && h == nil {
			err = fmt.Errorf("%w model of the reward", library.ErrUnknown)
		}
		return train.LayeredModel(ctx, name, h), err
	}
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

func methodName(m ope.Method) string { return m.Name }

func aboutEstimator(e ope.Estimator) (name, about string) {
	if e.Biased {
		return e.Name, e.About + "; biased"
	}
	return e.Name, e.About
}

func evaluateCommand(lib library.Library) *cobra.Command {
	f := evaluateFlags{models: modelsOf(lib), readFlags: reading(lib)}
	estimators := estimatorsOf(lib)
	cmd, fl := command("evaluate", some("a file"), func(cmd *cobra.Command, args []string) error {
		return evaluate(cmd, estimators, f, args)
	})
	repeated(fl, &f.targets, "target")
	bind(fl, &f.estimators, "estimators", nil)
	bind(fl, &f.o.HalfWidth, "half-width", 0)
	f.plot.add(fl)
	f.part.add(fl)
	f.addTargets(fl)
	return cmd
}

// addTargets adds the flags of evaluate and select.
func (f *evaluateFlags) addTargets(fl *pflag.FlagSet) {
	addProbability(fl, &f.o.Delta, "delta", 0.05)
	addGamma(fl, &f.o.Gamma)
	bind(fl, &f.o.Seed, "seed", 1)
	oneOf(fl, &f.o.Interval, "interval", texts(ope.Methods(), methodName)...)
	bind(fl, &f.o.MaxWeight, "max-weight", 0)
	bind(fl, &f.model, "reward-model", "ridge")
	oneOf(fl, &f.shape, "reward-shape", ope.Shapes()...)
	repeated(fl, &f.loggers, "logger")
	addTableFormat(fl, &f.format)
	addVerbose(fl)
	bind(fl, &f.force, "force", false)
	f.page.add(fl)
	f.outcomes.add(fl)
	f.add(fl)
}

func evaluate(cmd *cobra.Command, estimators []ope.Estimator, f evaluateFlags, paths []string) error {
	o, err := f.options(estimators)
	if err != nil {
		return err
	}
	if err := f.part.check(cmd, "format", "plot", "report"); err != nil {
		return err
	}
	if f.part.shard.Of > 0 && f.outcomes.asked() {
		return errors.New("--shard does not go together with --guardrail, --guardrail-by and --budget: evaluate the files as one log")
	}
	if err := cmp.Or(writable("plot", f.plot.path, paths...), f.page.check(cmd)); err != nil {
		return err
	}
	f.Share = f.part.shard
	log, targets, err := f.read(cmd, &o, paths)
	if err != nil {
		return err
	}
	defer log.Close()
	if f.part.shard.Of > 0 {
		of, err := f.identity(o)
		if err != nil {
			return err
		}
		p, err := ope.EvaluatePartial(log, targets, o, f.part.shard, of)
		if err != nil {
			return err
		}
		return f.part.write(cmd, f.Bucket, "evaluate", p)
	}
	show := newStages(cmd.ErrOrStderr(), "estimating")
	result, err := ope.Evaluate(log, targets, o)
	show.stop()
	if err != nil {
		return err
	}
	var short func(w io.Writer) error // without estimators that were asked for
	if !cmd.Flags().Changed("estimators") {
		short = shown(render.BriefEvaluation, result)
	}
	return conclusion{answer: result.InUnits(), text: tabled(render.Evaluation, f.format, result), brief: short,
		plot: plotted(f.plot, render.EvaluationFigure, result),
		page: checked(render.EvaluationPage, result, o.Judge)}.write(cmd, f.format, &f.page)
}

// read opens and inspects the log, reads the targets, and learns the model of the reward that estimators
// want.
func (f *evaluateFlags) read(cmd *cobra.Command, o *ope.Options, paths []string) (_ *logs.Log, targets []ope.Target,
	err error) {
	path := strings.Join(paths, ", ")
	told, mapped := f.scaled(), f.set.Changed("reward-map")
	var before []*provenance.Reward
	var limits []provenance.Limit // of the targets' files, which hold for all targets
	var played []*policyfile.File
	for _, arg := range f.targets { // a policy file knows the log's names of columns, and the range of its rewards
		if name := arg[strings.Index(arg, "=")+1:]; filepath.Ext(name) == ".json" {
			if p, err := policyfile.Load(name); err == nil { // else it is told where it is opened
				f.readColumnsLike(p)
				played = append(played, p.File())
				own := provenance.RewardOf(p.File())
				for _, other := range before {
					remaps := own.Remaps(other)
					if own.Differs(other) && !remaps && !told || remaps && !mapped {
						return nil, nil, fmt.Errorf("--target %s: its rewards are %s, those of another target %s: say by "+
							"--reward-min and --reward-max, or by --reward, or by --reward-map, what the log's are", arg,
							own, other)
					}
				}
				before = append(before, own)
				if f.part.shard.Of > 0 {
					continue
				}
				for _, limit := range f.limitsOf(p, o.Requirements) {
					switch same := slices.IndexFunc(limits, limit.Same); {
					case same < 0:
						limits = append(limits, limit)
					case limits[same].Requirement != limit.Requirement:
						return nil, nil, fmt.Errorf("--target %s: its file asks for %s, that of another target for %s: say by "+
							"--guardrail or --budget which holds", arg, limit, limits[same])
					}
				}
			}
		}
	}
	show := newStages(cmd.ErrOrStderr(), "reading "+path)
	defer func() { show.stop() }()
	f.Progress = show.read
	f.LoggedByFile = f.loggers != nil
	log, err := f.open(cmd, paths...)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			log.Close()
		}
	}()
	for _, of := range played { // before the log is unusable for want of a catalogue
		if err := provenance.Fits(of, log); err != nil {
			return nil, nil, fmt.Errorf("--target: %w", err)
		}
	}
	o.Requirements = append(slices.Clip(o.Requirements), asBefore(cmd, provenance.Testable(limits, log))...)
	show.next("inspecting")
	o.Judge = provenance.Within(log, f.o.Gamma)
	found := o.Judge.Found()
	show.stop()
	fmt.Fprintf(cmd.ErrOrStderr(), "opl: %s: %s\n", path, found.Summary())
	if found.Severity == inspect.Unusable && !f.force {
		return nil, nil, fmt.Errorf("%s is unusable: see opl inspect; --force goes on anyway", path)
	}
	o.Notes = remarks(log, found)
	show = newStages(cmd.ErrOrStderr(), "reading the targets")
	if targets, err = openTargets("target", f.targets, log); err != nil {
		return nil, nil, err
	}
	if o.Loggers, err = openTargets("logger", f.loggers, log); err != nil {
		return nil, nil, err
	}
	rows := func(t ope.Target) bool { return t.Row == nil } // of a file with the logged action's probability alone
	if slices.ContainsFunc(o.Estimators, reads) && (f.part.shard.Of == 0 || filepath.Ext(f.model) != "") &&
		!slices.ContainsFunc(targets, rows) {
		show.next("learning a model of the reward")
		err = f.predict(cmd.Context(), o, log)
	}
	if err == nil {
		err = f.shaped(o, log)
	}
	return log, targets, err
}

// openTargets opens the targets that a flag lists.
func openTargets(flag string, args []string, log *logs.Log) (targets []ope.Target, err error) {
	for _, arg := range args {
		t, err := ope.Open(arg, log)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		if flag == "target" && (t.Name == "logging" || t.Name == "what plays") {
			if strings.HasPrefix(arg, t.Name+"=") {
				return nil, fmt.Errorf("--target %s: tables call %s what logged the rows; name it otherwise, by NAME=FILE",
					arg, t.Name)
			}
			t.Name = filepath.Base(arg)
		}
		if slices.ContainsFunc(targets, func(u ope.Target) bool { return u.Name == t.Name }) {
			return nil, fmt.Errorf("--%s %s: there is already a %s %s; name it by NAME=%s", flag, arg, flag, t.Name,
				arg)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// identity hashes what was asked for: targets, estimators and model, by the content of their files. Partial results of
// different questions must not be merged.
func (f evaluateFlags) identity(o ope.Options) (string, error) {
	var all []string
	learned := f.regresses()
	for _, arg := range append(slices.Clone(f.targets), f.model) {
		path := arg[strings.Index(arg, "=")+1:]
		text, err := os.ReadFile(path)
		if err != nil && path != "uniform" && !(arg == f.model && (learned || o.Model == nil)) {
			return "", err
		}
		all = append(all, arg, fmt.Sprintf("%x", sha256.Sum256(text)))
	}
	all = append(all, fmt.Sprint(f.o.Seed), strings.Join(f.estimators, ","), f.shape)
	all = append(all, texts(o.Estimators, func(e ope.Estimator) string { return e.Name })...)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(all, "\x00")))), nil
}

// reads reports an estimator that needs a model of the reward.
func reads(e ope.Estimator) bool { return e.Model }

// regresses reports that the model of the reward is one of ope's own.
func (f evaluateFlags) regresses() bool {
	return slices.ContainsFunc(ope.RewardModels(), func(m ope.RewardModel) bool { return m.Name == f.model })
}

// predict takes the model of the reward from a policy file, or learns one. Why there is none is
// said below the results, if nobody asked for what needs it.
func (f evaluateFlags) predict(ctx context.Context, o *ope.Options, log *logs.Log) error {
	learned, unknown := f.models(ctx, f.model)
	if f.regresses() { // which costs little
		learned = learned.Averaged(ope.FoldSeeds)
	}
	if unknown == nil {
		o.Learn = func(weight []float64) (ope.Model, error) {
			return learned.Learn(log, ope.ModelOptions{Seed: f.o.Seed, Weight: weight})
		}
		if f.model != ope.RewardModels()[0].Name {
			o.Notes = append(o.Notes, "r̂ is learned: "+learned.About)
		}
		var err error
		if o.Model, err = o.Learn(nil); err != nil && f.estimators == nil && ctx.Err() == nil {
			o.Notes, o.Learn = append(o.Notes, oneLine(err)), nil
			return nil
		}
		return err
	}
	if _, err := os.Stat(f.model); err == nil && filepath.Ext(f.model) != ".json" {
		rows, err := logs.OpenRows(f.model, logs.Options{})
		if err != nil {
			return fmt.Errorf("--reward-model: %w", err)
		}
		defer rows.Close()
		if o.Model, err = ope.ReadModel(rows, log); err != nil {
			return fmt.Errorf("--reward-model: %w", err)
		}
		o.Notes = append(o.Notes, fmt.Sprintf("r̂ is what %s predicts: where it has seen these rewards, dm and dr flatter",
			f.model))
		return nil
	}
	p, err := policyfile.Load(f.model)
	if err != nil {
		if !errors.Is(unknown, library.ErrUnknown) {
			return fmt.Errorf("--reward-model: %w", unknown)
		}
		return fmt.Errorf("--reward-model: want %s, a representation such as mlp=64, or a policy file: %w",
			rewardModels(), err)
	}
	m, err := o.Judge.RewardModel(p.File())
	if own, is := provenance.RewardOf(p.File()), provenance.RewardIn(log); err == nil && own.Differs(is) {
		return fmt.Errorf("--reward-model %s: its rewards are %s, those of the log %s", f.model, own, is)
	}
	var withheld *provenance.Withheld
	switch {
	case errors.As(err, &withheld):
		reason := fmt.Sprintf("--reward-model %s: %s: take a later log or another file, or leave the flag out for "+
			"ridge regression",
			f.model, withheld.Reason)
		if f.estimators != nil {
			return errors.New(reason)
		}
		o.Notes = append(o.Notes, reason)
	case err != nil:
		return fmt.Errorf("--reward-model %s: %w", f.model, err)
	default:
		o.Model = m.Predict
		o.Notes = append(o.Notes, fmt.Sprintf("r̂ is the %s model of the reward in %s", m.Name, f.model))
	}
	return nil
}

// shaped gives the model of the reward its shape, and those that are learned by other weights.
func (f evaluateFlags) shaped(o *ope.Options, log *logs.Log) (err error) {
	learn := o.Learn
	switch {
	case f.shape == ope.Shapes()[0]:
		return nil
	case o.Model == nil:
		return errors.New("--reward-shape: no model of the reward is read: it takes an estimator such as dr, targets " +
			"with the probabilities of all actions, and no --shard")
	}
	if learn != nil {
		o.Learn = func(weight []float64) (ope.Model, error) {
			m, err := learn(weight)
			if err != nil {
				return nil, err
			}
			return m.Shaped(f.shape, log)
		}
	}
	o.Model, err = o.Model.Shaped(f.shape, log)
	return flagError(err)
}

// remarks says what reading and inspection found that concerns every result.
func remarks(log *logs.Log, found inspect.Report) []string {
	var notes []string
	if n := log.LeftOut; n > 0 {
		notes = append(notes, fmt.Sprintf("%d files were left out: all of this, guarantees too, speaks of the others",
			n))
	}
	if n := log.Skipped; n > 0 {
		notes = append(notes, fmt.Sprintf("%d rows were left out: all of this, guarantees too, speaks of the rows "+
			"kept", n))
	}
	if log.Estimates != nil {
		notes = append(notes, log.Estimates.String())
	}
	if doubts := listed(found.Against(), func(d inspect.Finding) string { return d.Check }); doubts != "" {
		notes = append(notes, "the log gives reason for doubt: "+doubts)
	}
	return notes
}

func (f *evaluateFlags) options(estimators []ope.Estimator) (ope.Options, error) {
	o := f.o
	switch {
	case len(f.targets) == 0:
		return o, errors.New("--target: want a policy to evaluate: uniform, or a file")
	case f.set.Changed("max-weight") && !(f.o.MaxWeight > 0), f.set.Changed("half-width") && !(f.o.HalfWidth > 0):
		return o, errors.New("--max-weight and --half-width: want numbers above 0")
	}
	var err error
	if o.Requirements, err = f.outcomes.read(&f.readFlags); err != nil {
		return o, err
	}
	o.Estimators = ope.Default(estimators, f.loggers != nil)
	if f.estimators != nil {
		if o.Estimators, err = pickEstimators(f.estimators, estimators); err != nil {
			return o, err
		}
		all := slices.Equal(f.estimators, []string{"all"})
		if f.set.Changed("reward-model") && !all && !slices.ContainsFunc(o.Estimators, reads) {
			return o, errors.New("--reward-model: none of the --estimators reads a model of the reward, as dr does")
		}
	}
	return o, nil
}

// pickEstimators returns the estimators that --estimators lists.
func pickEstimators(asked []string, estimators []ope.Estimator) (chosen []ope.Estimator, err error) {
	if slices.Equal(asked, []string{"all"}) {
		return estimators, nil
	}
	for _, s := range asked {
		name, value, given := strings.Cut(s, "=")
		named := func(e ope.Estimator) bool { return e.Name == name }
		i := slices.IndexFunc(estimators, named)
		if i < 0 {
			return nil, fmt.Errorf("--estimators %s: want all, or some of %s", s,
				listed(estimators, func(e ope.Estimator) string { return e.Name }))
		}
		if slices.ContainsFunc(chosen, named) {
			return nil, fmt.Errorf("--estimators: %s comes twice", name)
		}
		e := estimators[i]
		if given {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, fmt.Errorf("--estimators %s: want a number for the hyperparameter", s)
			}
			if e, err = e.With(v); err != nil {
				return nil, fmt.Errorf("--estimators %s: %w", s, err)
			}
		}
		chosen = append(chosen, e)
	}
	return chosen, nil
}
