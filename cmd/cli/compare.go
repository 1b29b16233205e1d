package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/report"
	"opl/train/report/html"
	"opl/train/report/table"
)

type compareFlags struct {
	problemFlags
	settings   train.Settings
	eta0       []string
	objectives []string
	weights    []string
	policy     string
	lambda     string
	penalty    float64
	sampled    bool
	format     string
	terms      bool
	page       reportFlag
}

func compareCommand(lib library.Library) *cobra.Command {
	f := compareFlags{settings: train.DefaultSettings()}
	cmd, fl := command("compare", operands(), func(cmd *cobra.Command, _ []string) error {
		return compare(cmd, lib, f)
	})
	f.problemFlags.add(fl, []string{"mnist"})
	addSettings(fl, &f.settings, true)
	bind(fl, &f.eta0, "eta0", []string{"0.5"})
	bind(fl, &f.objectives, "objectives", []string{"certified", "heuristic", "theorem1", "corollary1"})
	bind(fl, &f.weights, "weights", []string{"clip", "es", "ix", "har"})
	bind(fl, &f.policy, "policy", "")
	bind(fl, &f.lambda, "lambda", "star")
	bind(fl, &f.penalty, "penalty", math.NaN())
	bind(fl, &f.terms, "terms", false)
	bind(fl, &f.sampled, "sampled-reward", false)
	bind(fl, &f.format, "format", "table")
	limit(fl, "format", func(text string) error {
		if _, err := table.Parse(text); err != nil {
			return fmt.Errorf("--format %w", err)
		}
		return nil
	}, table.Formats()...)
	f.page.add(fl)
	return cmd
}

// described lists names and what is said of them, a line each.
func described[T any](items []T, text func(T) (name, about string)) string {
	var b strings.Builder
	for _, x := range items {
		name, about := text(x)
		fmt.Fprintf(&b, "  %-11s %s\n", name, about)
	}
	return b.String()
}

// texts lists what is said of items.
func texts[T any](items []T, text func(T) string) (all []string) {
	for _, x := range items {
		all = append(all, text(x))
	}
	return all
}

// listed joins what is said of items, nothing of some.
func listed[T any](items []T, text func(T) string) string {
	said := slices.DeleteFunc(texts(items, text), func(s string) bool { return s == "" })
	return strings.Join(said, ", ")
}

func noiseNames(lib library.Library) string {
	exact := listed(lib.Policies, func(p library.Policy) string {
		family := p.Make(0, nil, false)
		return map[bool]string{true: p.Name}[family.HasPosterior() && !family.Noisy()]
	})
	return library.Quadrature + " (" + exact + " alone), " + listed(lib.Noises, library.Noise.Name)
}

// check validates the flags that are neither names of the library nor settings.
func (f compareFlags) check() error {
	switch {
	case f.penalty < 0 || math.IsInf(f.penalty, 0):
		return fmt.Errorf("--penalty %v: want a number of at least 0", f.penalty)
	case len(f.datasets) == 0 || len(f.eta0) == 0 || len(f.objectives) == 0 || len(f.weights) == 0:
		return errors.New("--dataset, --eta0, --objectives and --weights want at least one value each")
	}
	if _, err := library.ParseLambda(f.lambda); err != nil {
		return fmt.Errorf("--lambda %w", err)
	}
	return nil
}

func (f compareFlags) grid(lib library.Library) (experiment.Grid, error) {
	g := experiment.Grid{Datasets: f.datasets, Seeds: f.list(), Settings: f.settings}
	if err := f.check(); err != nil {
		return g, err
	}
	var err error
	if g.Eta0, err = numbers("eta0", f.eta0); err != nil {
		return g, err
	}
	var weights []experiment.Entry
	for _, s := range f.weights {
		w, hyper, err := weightOf(lib, "weights", s)
		if err != nil {
			return g, err
		}
		e := experiment.Entry{Weight: w.Name}
		if hyper != nil {
			e.Hypers = []float64{*hyper}
		}
		weights = append(weights, e)
	}
	common := experiment.Entry{Policy: f.policy, Lambdas: []string{f.lambda}}
	if f.policy != "" {
		if _, err := lib.Policy(f.policy); err != nil {
			return g, fmt.Errorf("--policy: %w", err)
		}
	}
	if !math.IsNaN(f.penalty) {
		common.Penalties = []float64{f.penalty}
	}
	for _, name := range f.objectives {
		o, err := lib.Objective(strings.TrimSpace(name))
		if err != nil {
			return g, fmt.Errorf("--objectives: %w", err)
		}
		own := common
		own.Objective = o.Name
		for _, w := range weights {
			switch e := own; {
			case !o.OwnWeight:
				e.Weight, e.Hypers = w.Weight, w.Hypers
				g.Entries = append(g.Entries, e)
			case w.Weight == o.Hyper:
				own.Hypers = append(own.Hypers, w.Hypers...)
			}
		}
		if o.OwnWeight {
			g.Entries = append(g.Entries, own)
		}
	}
	return g, nil
}

func compare(cmd *cobra.Command, lib library.Library, f compareFlags) error {
	stderr := cmd.ErrOrStderr()
	g, err := f.grid(lib)
	if err != nil {
		return err
	}
	if err := f.page.check(cmd); err != nil {
		return err
	}
	var left leftOut
	runs, err := g.Runs(lib, left.add)
	if err != nil {
		return flagError(err)
	}
	format := table.Format(f.format)
	e := &experiment.Runner{Library: lib, DataDir: f.data, Jobs: f.jobs,
		Brief: f.page.path == "" && !f.terms && format != table.CSV && format != table.JSON}
	if runs, err = e.Plan(runs); err != nil {
		return flagError(err)
	}
	left.print(stderr)
	p := newProgress(stderr, lib, runs, false)
	e.Progress = p.at
	ended := make([][]train.Record, len(runs)) // none of a run that failed
	err = e.Each(cmd.Context(), runs, func(i int, rec train.Record, failure error) error {
		if failure != nil { // Each returns it
			return nil
		}
		p.done(i, rec, nil)
		if !f.sampled {
			rec.SampledReward = train.None()
		}
		ended[i] = []train.Record{rec}
		return nil
	})
	p.stop()
	recs := append([]train.Record{}, slices.Concat(ended...)...)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(stderr, "opl: interrupted: %d of %d runs finished\n", len(recs), len(runs))
	}
	text := func(w io.Writer) error {
		if len(recs) == 0 {
			return nil
		}
		if format == table.Text {
			next := "opl train, on a log of your own"
			if f.seeds <= 1 {
				next = "--seeds 3, to see how much of a difference is chance"
			}
			said := strings.TrimSuffix(report.Best(lib, recs), ".") + "; next: " + next
			fmt.Fprintln(w, strings.Join(table.Wrap(table.Width(w), said), "\n"))
		}
		if err := report.Write(w, format, recs); err != nil || !f.terms || format == table.CSV {
			return err
		}
		return report.WriteTerms(w, format, recs)
	}
	if err != nil && format == table.JSON { // no answer after an error
		return err
	}
	if err != nil {
		return cmp.Or(text(cmd.OutOrStdout()), err)
	}
	page := func() (html.Page, error) { return report.RewardsPage(recs, report.PageOptions{Library: lib}) }
	return conclusion{answer: compared{recs}, text: text, page: page}.write(cmd, f.format, &f.page)
}
