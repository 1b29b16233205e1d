package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"opl/train"
	"opl/train/library"
	"opl/train/report"
)

// drawOptions say how results are shown.
type drawOptions struct {
	lib         library.Library
	command     string // that made them
	pdf, curves bool
}

// draw writes figures, tables and the report of records into a folder.
func draw(cmd *cobra.Command, dir string, recs []train.Record, o drawOptions) error {
	page := report.PageOptions{Library: o.lib, Formats: []string{"png", "svg"}, Command: o.command, Curves: o.curves}
	if o.pdf {
		page.Formats = append(page.Formats, "pdf")
	}
	if err := report.WriteAll(dir, recs, page); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, report.PageFile))
	return nil
}
