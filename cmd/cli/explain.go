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
	cmd, fl := command("explain", some("a policy file", "a file"), func(cmd *cobra.Command, args []string) error {
		if err := page.check(cmd); err != nil {
			return err
		}
		p, err := policyfile.Load(args[0])
		if err != nil {
			return err
		}
		f.readLike(p)
		log, err := f.open(cmd, args[1:]...)
		if err != nil {
			return err
		}
		defer log.Close()
		for i, name := range o.By {
			o.By[i] = f.called(name)
		}
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
	})
	bind(fl, &o.By, "by", nil)
	addProbability(fl, &o.Delta, "delta", .05)
	addGamma(fl, &o.Gamma)
	bind(fl, &o.Depth, "depth", 3)
	want(fl, "depth", "1 to 5", func() bool { return o.Depth >= 1 && o.Depth <= 5 })
	bind(fl, &o.Fresh, "fresh", false)
	addFormat(fl, &format)
	addVerbose(fl)
	page.add(fl)
	f.add(fl)
	return cmd
}
