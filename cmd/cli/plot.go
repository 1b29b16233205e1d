package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/report"
)

func plotCommand(lib library.Library) *cobra.Command {
	var (
		out, format string
		curves, pdf bool
	)
	cmd := &cobra.Command{
		Use:   "plot DIR|" + experiment.ResultsFile,
		Short: "draw figures and write tables and report from stored results",
		Long: `plot does what reproduce and run do at their end, from the results of a folder or
of a file (compressed by gzip if its name ends in .gz), or of the URL of such a folder, without running anything.`,
		Example: `  opl plot reproduction
  opl plot results/runs.jsonl --out figures --pdf`,
		Args: operands("a folder or file of results"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			far := remotes(cmd, lib.Bucket)
			defer func() { err = far.close(err) }()
			at, err := far.from(args[0])
			if err != nil {
				return err
			}
			dir, err := far.to(out)
			if err != nil {
				return err
			}
			store, err := experiment.ReadStore(at)
			if err != nil {
				return err
			}
			notes(cmd, store)
			if len(store.Records()) == 0 {
				return fmt.Errorf("no results in %s", store.Path())
			}
			if out == "" {
				dir = filepath.Dir(store.Path())
				far.writes(dir)
			}
			return draw(cmd, lib, dir, store.Records(), "", pdf, curves)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`folder` to write to, or its URL (default: that of the results)")
	addFormat(cmd.Flags(), &format)
	cmd.Flags().BoolVar(&curves, "curves", false, "draw learning curves, of runs that have them")
	cmd.Flags().BoolVar(&pdf, "pdf", false, "figures as PDF as well")
	return cmd
}

func draw(cmd *cobra.Command, lib library.Library, dir string, recs []train.Record, grid string, pdf,
	curves bool) error {
	page := report.PageOptions{Library: lib, Formats: []string{"png", "svg"}, Command: commandLine(cmd), Grid: grid,
		Curves: curves}
	if pdf {
		page.Formats = append(page.Formats, "pdf")
	}
	if err := report.WriteAll(dir, recs, page); err != nil {
		return err
	}
	at := filepath.Join(dir, report.PageFile)
	if f := cmd.Flags().Lookup("format"); f != nil && f.Value.String() == "json" {
		return writeAnswer(cmd.OutOrStdout(), cmd.Name(), drawnOf(at, recs), nil)
	}
	fmt.Fprintln(cmd.OutOrStdout(), at)
	return nil
}
