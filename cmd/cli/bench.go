package cli

import (
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"opl/train/bench"
	"opl/train/bench/worlds"
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
		Use:   "bench",
		Short: "measure estimators of a policy's value on classification data turned into logs",
		Long: `bench measures bias, variance, mean squared error and coverage of the estimators of
evaluate, and of one's own, where the value of the target is known. Classes of a labelled
data set are actions, and the reward is 1 for the right one, flipped with probability --noise.
A classifier A of one half of the training set is the target (with probability .95, else all
actions alike); B, of the other half, makes the logging policies; a log is --rows
images drawn from the test set with replacement.

Logging policies:
` + described(bench.Loggings(), func(l bench.Logging) (string, string) { return l.Name, l.About }) + `
Estimators, as of evaluate (all: every one that can be had):
` + described(list, aboutEstimator) + `
The data set is mnist, fashion, or any folder of four such files, --data.

With --learning it measures what policies learned by train truly earn, in worlds whose truth is known:
` + described(worlds.All(), func(w worlds.World) (string, string) { return w.Name, w.About }) + `
A --peer is a command that gets two CSV files as arguments, the log and contexts with the mean reward of each action
(mean_a), and prints {"method": {"reward": number}, …}.`,
		Example: `  opl bench
  opl bench --dataset fashion --estimators all --seeds 300 --plot bench.png
  opl bench --estimators dr,switch,dros --logging far --rows 250,500,1000,2000 --format csv
  opl bench --learning --worlds amounts,rules --rows 1000 --seeds 5`,
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
	fl.StringVar(&f.dataset, "dataset", "mnist", "data set: mnist, fashion, or the name of one in --data")
	fl.StringSliceVar(&f.estimators, "estimators", nil, "estimators, such as dr,clip=0.1 (default: those of evaluate)")
	fl.StringSliceVar(&f.loggings, "logging", nil, "logging policies (default: all)")
	fl.IntSliceVar(&f.Rows, "rows", []int{250, 1000, 4000}, "numbers of rows of a log")
	fl.IntVar(&f.Seeds, "seeds", 100, "number of logs, seeds counted from --seed")
	want(fl, "seeds", "at least 2, at most a million", func() bool { return f.Seeds >= 2 && f.Seeds <= 1e6 })
	fl.Uint64Var(&f.Seed, "seed", 1, "first seed")
	fl.Float64Var(&f.Noise, "noise", 0.1, "probability of flipping a reward")
	want(fl, "noise", "a number in [0, 0.5)", func() bool { return f.Noise >= 0 && f.Noise < 0.5 })
	addProbability(fl, &f.Delta, "delta", 0.05, "δ: intervals at level 1-δ")
	oneOf(fl, &f.Interval, "interval", "how intervals are made: "+listed(ope.Methods(), methodName),
		names(ope.Methods(), methodName)...)
	fl.StringVar(&f.model, "reward-model", ope.RewardModels()[0].Name,
		"r̂: "+rewardModels()+", or a representation such as mlp=64")
	addTableFormat(fl, &f.format)
	f.plot.add(fl, "errors by rows")
	f.learning.add(cmd)
	addCount(fl, &f.Threads, "jobs", runtime.GOMAXPROCS(0), "logs side by side")
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
	if err := f.plot.draw(render.BenchFigure(r)); err != nil {
		return err
	}
	text := func(w io.Writer) error { return render.Bench(w, table.Format(f.format), r) }
	return conclusion{answer: r, text: text}.write(cmd, f.format, nil)
}
