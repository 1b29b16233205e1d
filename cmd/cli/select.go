package cli

import (
	"io"

	"github.com/spf13/cobra"

	"opl/train/library"
	"opl/train/ope"
	"opl/train/report/render"
	"opl/train/report/table"
)

func selectCommand(lib library.Library) *cobra.Command {
	var (
		f         = evaluateFlags{models: modelsOf(lib), readFlags: reading(lib)}
		estimator string
	)
	estimators := estimatorsOf(lib)
	cmd := &cobra.Command{
		Use:  "select",
		Args: some("a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			estimators := estimators
			if estimator != "" {
				f.estimators = []string{estimator}
			} else { // sndr, and snips where it cannot be had
				estimators = []ope.Estimator{ope.SNDR()}
			}
			o, err := f.options(estimators)
			if err != nil {
				return err
			}
			if err := f.page.check(cmd); err != nil {
				return err
			}
			log, targets, err := f.read(cmd, &o, args)
			if err != nil {
				return err
			}
			defer log.Close()
			if estimator == "" {
				o.Estimators = nil
			}
			show := newStages(cmd.ErrOrStderr(), "estimating")
			s, err := ope.Select(log, targets, o)
			show.stop()
			if err != nil {
				return err
			}
			var end error
			switch {
			case s.Selected == nil:
				end = exitStatus(nothing)
			case !s.Ship:
				end = exitStatus(notShown)
			}
			var short func(w io.Writer) error
			if f.format == string(table.Text) {
				short = shown(render.BriefSelection, s)
			}
			text := func(w io.Writer) error { return render.Selection(w, table.Format(f.format), s) }
			page := checked(render.SelectionPage, s, o.Judge)
			return conclusion{answer: s.InUnits(), text: text, brief: short, page: page, end: end}.write(cmd, f.format, &f.page)
		},
	}
	fl := cmd.Flags()
	repeated(fl, &f.targets, "target")
	bind(fl, &estimator, "estimator", "")
	f.addTargets(fl)
	return cmd
}
