package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/wholefile"
	"opl/train/bench"
	"opl/train/dataset"
	"opl/train/library"
	"opl/train/ope"
	"opl/train/report/render"
	"opl/train/report/table"
)

func benchCommand(lib library.Library) *cobra.Command {
	var (
		o                     bench.Options
		name, dir, format     string
		plot, model           string
		estimators, loggings  []string
		list, models, methods = estimatorsOf(lib), modelsOf(lib), ope.Methods()
	)
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
The data set is mnist, fashion, or any folder of four such files, --data.`,
		Example: `  opl bench
  opl bench --dataset fashion --estimators all --seeds 300 --plot bench.png
  opl bench --estimators dr,switch,dros --logging far --rows 250,500,1000,2000 --format csv`,
		Args: operands(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Estimators, err = pickEstimators(estimators, list); err != nil {
				return err
			}
			if estimators == nil {
				o.Estimators = ope.Default(list, false)
			}
			for _, want := range loggings {
				all := bench.Loggings()
				i := slices.IndexFunc(all, func(l bench.Logging) bool { return l.Name == want })
				if i < 0 {
					return fmt.Errorf("--logging %s: want %s", want, listed(all, func(l bench.Logging) string { return l.Name }))
				}
				o.Loggings = append(o.Loggings, all[i])
			}
			learned, err := models(cmd.Context(), model)
			switch {
			case err != nil:
				return fmt.Errorf("--reward-model %s: want %s, or a representation such as mlp=64: %w", model, listed(ope.RewardModels(), func(m ope.RewardModel) string { return m.Name }), err)
			case !slices.ContainsFunc(methods, func(m ope.Method) bool { return m.Name == o.Interval }):
				return fmt.Errorf("--interval %s: want %s", o.Interval, listed(methods, func(m ope.Method) string { return m.Name }))
			case !(o.Delta > 0 && o.Delta < 1):
				return fmt.Errorf("--delta %v: want a number in (0, 1)", o.Delta)
			case o.Seeds < 2 || o.Seeds > 1e6:
				return fmt.Errorf("--seeds %d: want at least 2, at most a million", o.Seeds)
			case !(o.Noise >= 0 && o.Noise < 0.5):
				return fmt.Errorf("--noise %v: want a number in [0, 0.5)", o.Noise)
			case o.Threads < 1:
				return fmt.Errorf("--jobs %d: want at least 1", o.Threads)
			case len(o.Rows) == 0 || slices.Min(o.Rows) < 20 || slices.Max(o.Rows) > 1e7:
				return fmt.Errorf("--rows %v: want numbers of at least 20, at most ten million", o.Rows)
			case !slices.Contains(table.Formats(), format):
				return fmt.Errorf("--format %s: want %s", format, strings.Join(table.Formats(), ", "))
			case plot != "" && !slices.Contains([]string{".png", ".svg", ".pdf"}, filepath.Ext(plot)):
				return fmt.Errorf("--plot %s: want a name ending in .png, .svg or .pdf", plot)
			}
			o.Model = learned
			if err := writable("plot", plot, ""); err != nil {
				return err
			}
			data, err := dataset.Open(name, dir)
			if err != nil {
				return err
			}
			r, err := bench.Run(cmd.Context(), data, o)
			if err != nil {
				return err
			}
			if format == string(table.JSON) {
				err = writeAnswer(cmd.OutOrStdout(), "bench", r, nil)
			} else {
				err = render.Bench(cmd.OutOrStdout(), table.Format(format), r)
			}
			if err != nil {
				return err
			}
			if plot != "" {
				err = wholefile.Write(plot, 0, func(to *os.File) error { return render.Plot(to, filepath.Ext(plot)[1:], render.BenchFigure(r)) })
				if err != nil {
					return fmt.Errorf("--plot: %w", err)
				}
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&name, "dataset", "mnist", "data set: mnist, fashion, or the name of one in --data")
	fl.StringVar(&dir, "data", "", "folder of the data set's four files (default: $OPL_DATA, then the usual places)")
	fl.StringSliceVar(&estimators, "estimators", nil, "estimators, such as dr,clip=0.1 (default: those of evaluate)")
	fl.StringSliceVar(&loggings, "logging", nil, "logging policies (default: all)")
	fl.IntSliceVar(&o.Rows, "rows", []int{250, 1000, 4000}, "numbers of rows of a log")
	fl.IntVar(&o.Seeds, "seeds", 100, "number of logs, seeds counted from --seed")
	fl.Uint64Var(&o.Seed, "seed", 1, "first seed")
	fl.Float64Var(&o.Noise, "noise", 0.1, "probability of flipping a reward")
	fl.Float64Var(&o.Delta, "delta", 0.05, "δ: intervals at level 1-δ")
	fl.StringVar(&o.Interval, "interval", methods[0].Name, "how intervals are made: "+listed(methods, func(m ope.Method) string { return m.Name }))
	fl.StringVar(&model, "reward-model", ope.RewardModels()[0].Name, "r̂: "+listed(ope.RewardModels(), func(m ope.RewardModel) string { return m.Name })+", or a representation such as mlp=64")
	fl.StringVar(&format, "format", "table", "output: "+strings.Join(table.Formats(), ", "))
	fl.StringVar(&plot, "plot", "", "also draw errors by rows to this `file`: .png, .svg or .pdf")
	fl.IntVar(&o.Threads, "jobs", runtime.GOMAXPROCS(0), "logs side by side")
	return cmd
}
