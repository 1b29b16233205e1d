package cli

import (
	"github.com/spf13/cobra"

	"opl/train/library"
	"opl/train/ope"
	"opl/train/report/render"
)

func selectCommand(lib library.Library) *cobra.Command {
	var (
		f         = evaluateFlags{models: modelsOf(lib), readFlags: reading(lib)}
		estimator string
	)
	estimators := estimatorsOf(lib)
	cmd, fl := command("select", some("a file"), func(cmd *cobra.Command, args []string) error {
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
		return conclusion{answer: s.InUnits(), text: tabled(render.Selection, f.format, s),
			brief: shown(render.BriefSelection, s), page: checked(render.SelectionPage, s, o.Judge),
			end: end}.write(cmd, f.format, &f.page)
	})
	repeated(fl, &f.targets, "target")
	bind(fl, &estimator, "estimator", "")
	f.addTargets(fl)
	return cmd
}
