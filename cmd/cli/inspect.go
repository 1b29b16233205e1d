package cli

import (
	"cmp"
	"io"
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
		Long: `inspect checks the log of a contextual bandit before anything is learned from it:
whether its rows are well formed, whether the actions were drawn with the
propensities it states, how few rows carry the weight, and whether rows look
independent and identically distributed, which every guarantee assumes. Each
finding says what was measured, what it means and what to do. Several FILEs are one log, of
which --shard i/n inspects the files of an n-th, for opl merge.

The exit status is 0 if all is fine, 3 if the log is doubtful, 4 if it is unusable,
1 if it cannot be read.

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
			text := func(w io.Writer) error { return render.Inspection(w, report) }
			short := func(w io.Writer) error { return render.BriefInspection(w, report) }
			draw := func() (html.Page, error) { return render.InspectionPage(report), nil }
			return conclusion{report, text, short, draw, inspectedStatus(report)}.write(cmd, format, &page)
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
