package cli

import (
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"opl/train/bench"
	"opl/train/dataset"
	"opl/train/library"
	"opl/train/ope"
	"opl/train/report/render"
	"opl/train/report/table"
)

type benchFlags struct {
	bench.Options
	dataset, data, format, model string
	estimators, loggings         []string
	plot                         plotFlag
	learning                     learningFlags
}

func benchCommand(lib library.Library) *cobra.Command {
	var f benchFlags
	list := estimatorsOf(lib)
	cmd := &cobra.Command{
		Use:  "bench",
		Args: operands(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.learning.learning {
				return f.learning.run(cmd, lib, &f)
			}
			return f.run(cmd, list, modelsOf(lib))
		},
	}
	fl := cmd.Flags()
	addData(fl, &f.data)
	bind(fl, &f.dataset, "dataset", "mnist")
	bind(fl, &f.estimators, "estimators", nil)
	bind(fl, &f.loggings, "logging", nil)
	bind(fl, &f.Rows, "rows", []int{250, 1000, 4000})
	bind(fl, &f.Seeds, "seeds", 100)
	want(fl, "seeds", "at least 2, at most a million", func() bool { return f.Seeds >= 2 && f.Seeds <= 1e6 })
	bind(fl, &f.Seed, "seed", 1)
	bind(fl, &f.Noise, "noise", 0.1)
	want(fl, "noise", "a number in [0, 0.5)", func() bool { return f.Noise >= 0 && f.Noise < 0.5 })
	addProbability(fl, &f.Delta, "delta", 0.05)
	oneOf(fl, &f.Interval, "interval", names(ope.Methods(), methodName)...)
	bind(fl, &f.model, "reward-model", ope.RewardModels()[0].Name)
	addTableFormat(fl, &f.format)
	f.plot.add(fl)
	f.learning.add(cmd)
	addCount(fl, &f.Threads, "jobs", runtime.GOMAXPROCS(0))
	return cmd
}

func rewardModels() string {
	return listed(ope.RewardModels(), func(m ope.RewardModel) string { return m.Name })
}

func (f *benchFlags) run(cmd *cobra.Command, list []ope.Estimator, models modelsByName) (err error) {
	f.Estimators = ope.Default(list, false)
	if f.estimators != nil {
		if f.Estimators, err = pickEstimators(f.estimators, list); err != nil {
			return err
		}
	}
	for _, want := range f.loggings {
		all := bench.Loggings()
		i := slices.IndexFunc(all, func(l bench.Logging) bool { return l.Name == want })
		if i < 0 {
			return fmt.Errorf("--logging %s: want %s", want, listed(all, func(l bench.Logging) string {
				return l.Name
			}))
		}
		f.Loggings = append(f.Loggings, all[i])
	}
	if f.Model, err = models(cmd.Context(), f.model); err != nil {
		return fmt.Errorf("--reward-model %s: want %s, or a representation such as mlp=64: %w", f.model,
			rewardModels(), err)
	}
	if len(f.Rows) == 0 || slices.Min(f.Rows) < 20 || slices.Max(f.Rows) > 1e7 {
		return fmt.Errorf("--rows %v: want numbers of at least 20, at most ten million", f.Rows)
	}
	if err := writable("plot", f.plot.path, ""); err != nil {
		return err
	}
	data, err := dataset.Open(f.dataset, f.data)
	if err != nil {
		return err
	}
	r, err := bench.Run(cmd.Context(), data, f.Options)
	if err != nil {
		return err
	}
	text := func(w io.Writer) error { return render.Bench(w, table.Format(f.format), r) }
	return conclusion{answer: r, text: text, plot: plotted(f.plot, render.BenchFigure, r)}.write(cmd, f.format, nil)
}
