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
		Use:   "select --target TARGET [--target TARGET...] FILE [FILE...]",
		Short: "say from a log which of several policies to ship, if any",
		Long: `select says which of several policies to ship, if any.

It orders the targets by the lower bound on what they earn, selects the first, and says
in the first line what to do: ship it, keep what plays, or log more rows. All bounds
hold together with probability 1-δ, because δ is divided among the targets. So the choice
costs nothing more. If you add targets and look again at the same rows, divide δ among
all of them.

TARGET and FILE are those of evaluate. Differences to what plays and to the runner-up
are estimates by --estimator on the same rows. Their intervals guarantee nothing. The
strength is the largest Γ for which the decision to ship stands if propensities are wrong
by a factor of at most Γ; --propensity-error asks for all bounds at one Γ. A policy that
rows of this log taught is never selected, because nothing is guaranteed of it. A file of
probabilities and uniform are believed to be fixed before the log was seen.

Exit status 0: ship the selected target. 3: one is selected, and not to be shipped. 4:
none is selected. 1: an error.

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
				short = shown(render.BriefSelection, s)
			}
			text := func(w io.Writer) error { return render.Selection(w, table.Format(f.format), s) }
			page := checked(render.SelectionPage, s, o.Judge)
			return conclusion{s.InUnits(), text, short, page, end}.write(cmd, f.format, &f.page)
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
