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
	var out, format string
	var curves bool
	cmd, fl := command("plot", operands("a folder or file of results"), func(cmd *cobra.Command, args []string) (err error) {
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
		return draw(cmd, report.PageOptions{Library: lib, Curves: curves}, dir, store.Records())
	})
	bind(fl, &out, "out", "")
	addFormat(fl, &format)
	bind(fl, &curves, "curves", false)
	return cmd
}

// draw writes figures, tables and report of records to a folder, and prints the report's path or the answer in JSON.
func draw(cmd *cobra.Command, page report.PageOptions, dir string, recs []train.Record) error {
	page.Command = commandLine(cmd)
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
