package cli

import (
	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train/explain"
	"opl/train/library"
	"opl/train/provenance"
	"opl/train/report/render"
)

func explainCommand(lib library.Library) *cobra.Command {
	f := reading(lib)
	var o explain.Options
	var format string
	var page reportFlag
	cmd := &cobra.Command{
		Use:   "explain POLICY FILE [FILE...]",
		Short: "say what a policy does, where it differs from what was logged, and whom it serves",
		Long: `explain shows what the policy of a file does on a log:

  how often it plays each action, beside the logging policy
  a shallow tree that plays like it, with the share of rows in which both play the same; a
  policy that is such a tree is shown itself
  where it differs most from the logging policy, and what that gains
  what it loses if it reads a column's values from other rows
  with --by, the gain by segment, with lower bounds that hold together with probability 1-δ
  contexts unlike those that it learned from

Numbers with ± are doubly robust estimates, with two standard errors, and guarantee nothing. Rows
that had a part in the policy are left out; where none is left they flatter it, and a note says
so. Which row is of which segment must not depend on its action or reward.

` + readHelp,
		Example: `  opl explain policy.json later.csv --by x_country
  opl explain policy.json later.csv --by x_country,x_age --report policy.html`,
		Args: some("a policy file", "a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := page.check(cmd); err != nil {
				return err
			}
			p, err := policyfile.Load(args[0])
			if err != nil {
				return err
			}
			f.known(p)
			log, err := f.open(cmd, args[1:]...)
			if err != nil {
				return err
			}
			defer log.Close()
			show := newStages(cmd.ErrOrStderr(), "explaining")
			judge := provenance.Within(log, o.Gamma)
			e, err := explain.Policy(cmd.Context(), p, log, judge, o)
			show.stop()
			if err != nil {
				return flagError(err)
			}
			return conclusion{answer: e, text: shown(render.Explanation, e),
				brief: shown(render.BriefExplanation, e),
				page:  checked(render.ExplanationPage, e, judge)}.write(cmd, format, &page)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&o.By, "by", nil, "columns of contexts whose values are segments")
	addProbability(fl, &o.Delta, "delta", .05, "failure probability δ, which the bounds of all segments share")
	addGamma(fl, &o.Gamma, "bounds hold for all propensities within this factor of those logged")
	fl.IntVar(&o.Depth, "depth", 3, "of the tree that plays like the policy, 1 to 5")
	want(fl, "depth", "1 to 5", func() bool { return o.Depth >= 1 && o.Depth <= 5 })
	fl.BoolVar(&o.Fresh, "fresh", false, "no row of the log had a part in the policy, where that cannot be seen")
	addFormat(fl, &format)
	addVerbose(fl)
	page.add(fl)
	f.add(fl)
	return cmd
}
