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
		part   partFlags
		gamma  float64
		format string
	)
	cmd := &cobra.Command{
		Use:   "inspect FILE [FILE...]",
		Short: "say whether a log of decisions can be trusted",
		Long: `inspect says whether a log can be trusted, before anything is learned from it.

It checks whether rows are well formed, whether actions were drawn with the propensities
that the log states, how few rows carry the weight, and whether rows look independent
and identically distributed. Every guarantee assumes that. Each finding says what was
measured, what it means and what to do. Several FILEs are one log. --shard i/n inspects
an n-th of the files, for opl merge.

Exit status 0: fine. 3: doubtful. 4: unusable. 1: the log cannot be read.

` + readHelp,
		Example: `  opl inspect decisions.csv
  opl inspect 'logs/dt=2026-11-*/*.parquet'
  opl inspect --preset obd bts.csv.gz --format json`,
		Args: some("a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
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
			return conclusion{report, shown(render.Inspection, report), shown(render.BriefInspection, report), draw,
				inspectedStatus(report)}.write(cmd, format, &page)
		},
	}
	addFormat(cmd.Flags(), &format)
	addVerbose(cmd.Flags())
	addGamma(cmd.Flags(), &gamma, "propensities are known up to this factor, and refuted where they are further off")
	part.add(cmd.Flags())
	page.add(cmd.Flags())
	f.add(cmd.Flags())
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
