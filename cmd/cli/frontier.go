package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train"
	"opl/train/library"
	"opl/train/pipeline"
	"opl/train/report/html"
	"opl/train/report/render"
	"opl/train/report/table"
)

type frontierFlags struct {
	readFlags
	o        pipeline.Options
	outcomes outcomeFlags
	points   int

	out       string
	overwrite bool
	format    string
	plot      plotFlag
	page      reportFlag
}

func frontierCommand(lib library.Library) *cobra.Command {
	f := frontierFlags{readFlags: reading(lib), o: pipeline.Options{Settings: train.DefaultSettings()}}
	cmd := &cobra.Command{
		Use:   "frontier FILE [FILE...]",
		Short: "learn policies between the reward and another outcome, with bounds that hold for all of them",
		Long: `frontier learns --points policies, from the one that earns the most to the one that keeps
the outcome of --guardrail or --budget the best, and certifies each.

Point m learns from the reward plus λ times the outcome, as train does. λ is fixed before
the rows are seen. Each point states two bounds: the gain of the reward, and the change of
the guardrail or the mean of the budget. All bounds of all points hold together with
probability 1-δ. So pick any point, and serve its file of --out. The answer beside a point
is that of the limit: ship, harm shown, or undecided.

` + readHelp,
		Example: `  opl frontier log.csv --budget spend=0.35 --range spend=0:1 --out points
  opl frontier log.csv --guardrail complaints:-0.01 --points 9 --plot path.png`,
		Args: some("a file"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, lib, args) },
	}
	fl := cmd.Flags()
	addCount(fl, &f.points, "points", 6, "policies on the path")
	fl.StringVar(&f.out, "out", "", "write the policies to this folder, as point-1.json and so on")
	fl.BoolVar(&f.overwrite, "overwrite", false, "replace files there")
	fl.StringVar(&f.o.Policy, "policy", "", "rules: shallow trees that people can read (default: what train learns)")
	fl.Float64Var(&f.o.Floor, "floor", defaultFloor, "ε: every action is played with at least ε/K")
	addProbability(fl, &f.o.Settings.Delta, "delta", 0.05, "failure probability δ of all bounds together")
	fl.IntVar(&f.o.Settings.Epochs, "epochs", f.o.Settings.Epochs, "passes over the rows")
	fl.Uint64Var(&f.o.Seed, "seed", 1, "seed of the division, the order of rows and the noise")
	fl.BoolVar(&f.o.Force, "force", false, "learn from a log that is unusable, too")
	f.plot.add(fl, "the path")
	addTableFormat(fl, &f.format)
	f.page.add(fl)
	f.outcomes.add(fl)
	f.add(fl)
	return cmd
}

func (f *frontierFlags) run(cmd *cobra.Command, lib library.Library, paths []string) (err error) {
	if f.o.Requirements, err = f.outcomes.read(&f.readFlags); err != nil {
		return err
	}
	if err := f.page.check(cmd); err != nil {
		return err
	}
	var files []string
	for i := range f.points {
		if f.out == "" {
			break
		}
		files = append(files, filepath.Join(f.out, fmt.Sprintf("point-%d.json", i+1)))
		if err := absent("out", files[i], f.overwrite); err != nil {
			return err
		}
	}
	f.o.Scaling.Intercept = true
	log, err := f.open(cmd, paths...)
	if err != nil {
		return err
	}
	defer log.Close()
	show := newStages(cmd.ErrOrStderr(), "learning")
	defer show.stop()
	f.o.Columns = f.columns()
	path, err := pipeline.Trace(cmd.Context(), lib, log, f.points, f.o, func(point int) {
		show.next(fmt.Sprintf("learning point %d of %d", point, f.points))
	})
	show.stop()
	if err != nil {
		return flagError(err)
	}
	for i, name := range files {
		if err := cmp.Or(os.MkdirAll(f.out, 0o777), policyfile.Save(name, path.Points[i].File)); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if err := f.plot.draw(render.FrontierFigure(path)); err != nil {
		return err
	}
	return conclusion{answer: path, page: func() (html.Page, error) { return render.FrontierPage(path), nil },
		text: func(w io.Writer) error { return render.FrontierText(w, table.Format(f.format), path, files) },
	}.write(cmd, f.format, &f.page)
}
