package cli

import (
	"io"

	"github.com/spf13/cobra"

	"opl/train/library"
	"opl/train/ope"
	"opl/train/report/html"
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
		Use:   "select --target TARGET [--target TARGET...] FILE [FILE...]",
		Short: "say from a log which of several policies to ship, if any",
		Long: `select orders target policies by the lower bound on what they earn, selects the first, and
says in a line whether to ship it: it is shown to earn more than the policy that logged
the rows, or what plays is to be kept, or there are not enough rows. All bounds hold
together with probability 1-δ, as δ is shared among the targets. So the choice costs nothing
more; but who adds targets, and looks again at the same rows, must share δ among all.

TARGET and FILE are those of evaluate. The differences to what plays and to the runner-up
are estimates by --estimator, on the same rows; their intervals guarantee nothing. The
strength is the largest Γ for which the decision to ship stands if propensities are known up to
a factor Γ; --propensity-error asks for all bounds at one. Of a policy that rows of this log
taught nothing is guaranteed, and so it is never selected; a file of probabilities or uniform is
believed to be fixed before the log was seen.

The exit status is 0 if the selected target is to be shipped, 3 if one is selected and not to
be shipped, 4 if none is selected, and 1 after an error.

` + readHelp,
		Example: `  opl select --target new.json --target bolder=floor1.json later.csv
  opl select --target a.csv --target b.csv --target uniform --format json log.csv | jq .selected`,
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
				short = func(w io.Writer) error { return render.BriefSelection(w, s) }
			}
			return conclusion{
				answer: s.InUnits(), brief: short,
				text: func(w io.Writer) error { return render.Selection(w, table.Format(f.format), s) },
				page: func() (html.Page, error) {
					page := render.SelectionPage(s)
					page.Sections = append(page.Sections, render.Checks(o.Judge.Found()))
					return page, nil
				},
				end: end,
			}.write(cmd, f.format, &f.page)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.targets, "target", nil,
		"policy to choose among: uniform, a policy file or a file of probabilities; may be repeated")
	fl.StringVar(&estimator, "estimator", "",
		"estimator of the differences, such as clip=0.1 (default: sndr, or snips where it cannot be had)")
	f.addTargets(fl)
	return cmd
}
