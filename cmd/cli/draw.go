package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"opl/train"
	"opl/train/report"
)

// drawOptions say how results are shown.
type drawOptions struct {
	command     string // that made them
	pdf, curves bool
}

// draw writes figures, tables and the report of records into a folder.
func draw(cmd *cobra.Command, dir string, recs []train.Record, o drawOptions) error {
	if len(recs) == 0 {
		return errors.New("no results to draw")
	}
	var b bytes.Buffer
	if err := report.Write(&b, report.CSV, recs); err != nil {
		return err
	}
	path := filepath.Join(dir, "results.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), path)
	return nil
}
