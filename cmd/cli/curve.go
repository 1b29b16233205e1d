package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/report/render"
	"opl/train/report/table"
)

func curveCommand(lib library.Library) *cobra.Command {
	f := reading(lib)
	o := ope.CurveOptions{Model: ope.RewardModels()[0]}
	var format, policy string
	var intervals int
	var plot plotFlag
	cmd := &cobra.Command{
		Use:   "curve FILE [FILE...]",
		Short: "show what each number, a price or a dose, would earn",
		Long: `curve shows the dose-response curve of a log whose actions are numbers: what the log would
have earned if every row had drawn a number evenly in one interval. The band holds for all
intervals together with probability 1-δ; with --by, for all intervals of all segments.

The value of a single number is estimated by kernels, with a bandwidth by Lepski's rule. It has
a bias and no guarantee. With --policy, a policy is valued alike, as if it played one number in
each context: the middle of its most probable interval.

` + readHelp,
		Example: `  opl curve prices.csv --action-range 0:40
  opl curve prices.csv --action-range 0:40 --intervals 8 --plot curve.svg
  opl curve later.csv --policy policy.json --by x_country`,
		Args: some("a file"),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := writable("plot", plot.path, paths...); err != nil {
				return err
			}
			if policy != "" {
				p, err := policyfile.Load(policy)
				if err != nil {
					return fmt.Errorf("--policy: %w", err)
				}
				f.known(p)
				o.Policy = p
			}
			log, err := f.open(cmd, paths...)
			if err != nil {
				return err
			}
			defer log.Close()
			if log.Numbers != nil {
				if log, err = log.Divided(intervals); err != nil {
					return err
				}
			}
			judge := provenance.Within(log, o.Gamma)
			c, err := ope.Curve(log, judge, o)
			if err == nil {
				c.Notes = remarks(log, judge.Found())
				err = plot.draw(render.CurveFigure(c))
			}
			if err != nil {
				return flagError(err)
			}
			said := conclusion{answer: c, text: func(w io.Writer) error {
				return render.Curve(w, table.Format(format), c)
			}}
			if format == string(table.Text) {
				said.brief = shown(render.BriefCurve, c)
			}
			return said.write(cmd, format, nil)
		},
	}
	fl := cmd.Flags()
	addProbability(fl, &o.Delta, "delta", 0.05, "δ: the band holds with probability 1-δ")
	addGamma(fl, &o.Gamma, "the band holds for all densities within this factor of those logged")
	addCount(fl, &intervals, "intervals", 16, "intervals of the range, up to 1024")
	fl.StringVar(&o.By, "by", "", "column of contexts whose values are segments, each with a curve of its own")
	fl.StringVar(&policy, "policy", "", "the `file` of a policy to value as if it played a single number in each context")
	fl.BoolVar(&o.Fresh, "fresh", false, "no row of the log had a part in the policy, where that cannot be seen")
	addTableFormat(fl, &format)
	addVerbose(fl)
	plot.add(fl, "the curve")
	f.add(fl)
	return cmd
}
