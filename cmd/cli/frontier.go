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
	cmd, fl := command("frontier", some("a file"), func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, lib, args)
	})
	addCount(fl, &f.points, "points", 6)
	bind(fl, &f.out, "out", "")
	bind(fl, &f.overwrite, "overwrite", false)
	bind(fl, &f.o.Policy, "policy", "")
	bind(fl, &f.o.Floor, "floor", defaultFloor)
	addProbability(fl, &f.o.Settings.Delta, "delta", 0.05)
	bind(fl, &f.o.Settings.Epochs, "epochs", f.o.Settings.Epochs)
	bind(fl, &f.o.Seed, "seed", 1)
	bind(fl, &f.o.Force, "force", false)
	f.plot.add(fl)
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
	return conclusion{answer: path, plot: plotted(f.plot, render.FrontierFigure, path),
		page: func() (html.Page, error) { return render.FrontierPage(path, files), nil },
		text: func(w io.Writer) error { return render.FrontierText(w, table.Format(f.format), path, files) },
	}.write(cmd, f.format, &f.page)
}
