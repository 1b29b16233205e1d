package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"opl/train/inspect"
	"opl/train/library"
	"opl/train/report/html"
	"opl/train/report/render"
)

func inspectCommand(lib library.Library) *cobra.Command {
	var (
		f      = reading(lib)
		page   reportFlag
		part   shardFlags
		gamma  float64
		format string
	)
	cmd, fl := command("inspect", some("a file"), func(cmd *cobra.Command, args []string) error {
		if err := cmp.Or(page.check(cmd), part.check(cmd, "format", "report")); err != nil {
			return err
		}
		f.Share = part.shard
		show := newStages(cmd.ErrOrStderr(), "reading "+strings.Join(args, ", "))
		defer show.stop()
		f.Progress = show.read
		log, err := f.open(cmd, args...)
		if err != nil {
			return err
		}
		defer log.Close()
		show.next("inspecting")
		if part.shard.Of > 0 {
			p, err := inspect.OfShard(log, gamma, part.shard)
			if err != nil {
				return err
			}
			return part.write(cmd, f.Bucket, "inspect", p)
		}
		report := inspect.Within(log, gamma)
		show.stop()
		draw := func() (html.Page, error) { return render.InspectionPage(report), nil }
		return conclusion{answer: report, text: shown(render.Inspection, report),
			brief: shown(render.BriefInspection, report), page: draw, end: inspectedStatus(report)}.write(cmd, format, &page)
	})
	addFormat(fl, &format)
	addVerbose(fl)
	addGamma(fl, &gamma)
	part.add(fl)
	page.add(fl)
	f.add(fl)
	return cmd
}

// inspectedStatus is the exit status of an inspection.
func inspectedStatus(r inspect.Report) error {
	switch r.Severity {
	case inspect.Doubtful:
		return exitStatus(notShown)
	case inspect.Unusable:
		return exitStatus(nothing)
	}
	return nil
}
