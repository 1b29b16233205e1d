package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/report/render"
)

func curveCommand(lib library.Library) *cobra.Command {
	f := reading(lib)
	o := ope.CurveOptions{Model: ope.RewardModels()[0]}
	var format, policy string
	var bins int
	var plot plotFlag
	cmd, fl := command("curve", some("a file"), func(cmd *cobra.Command, paths []string) error {
		if err := writable("plot", plot.path, paths...); err != nil {
			return err
		}
		if policy != "" {
			p, err := policyfile.Load(policy)
			if err != nil {
				return fmt.Errorf("--policy: %w", err)
			}
			f.readLike(p)
			o.Policy = p
		}
		log, err := f.open(cmd, paths...)
		if err != nil {
			return err
		}
		defer log.Close()
		o.By = f.called(o.By)
		if log.Numbers != nil {
			if log, err = log.Divided(bins); err != nil {
				return err
			}
		}
		judge := provenance.Within(log, o.Gamma)
		c, err := ope.Curve(log, judge, o)
		if err != nil {
			return flagError(err)
		}
		c.Notes = remarks(log, judge.Found())
		return conclusion{answer: c, plot: plotted(plot, render.CurveFigure, c), text: tabled(render.Curve, format, c),
			brief: shown(render.BriefCurve, c)}.write(cmd, format, nil)
	})
	addProbability(fl, &o.Delta, "delta", 0.05)
	addGamma(fl, &o.Gamma)
	addCount(fl, &bins, "bins", 16)
	bind(fl, &o.By, "by", "")
	oneOf(fl, &o.Shape, "reward-shape", ope.Shapes()...)
	bind(fl, &policy, "policy", "")
	bind(fl, &o.Fresh, "fresh", false)
	addTableFormat(fl, &format)
	addVerbose(fl)
	plot.add(fl)
	f.add(fl)
	return cmd
}
