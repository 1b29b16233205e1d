package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"opl/train/experiment"
	"opl/train/library"
	"opl/train/report"
)

func mergeCommand(lib library.Library) *cobra.Command {
	var (
		out, format string
		partial     bool
		curves      bool
	)
	cmd, fl := command("merge", some("the folders of shards"), func(cmd *cobra.Command, args []string) (err error) {
		if out == "" {
			return errors.New("--out: want the folder for the results")
		}
		far := remotes(cmd, lib.Bucket)
		defer func() { err = far.close(err) }()
		dirs := make([]string, len(args))
		for i, a := range args {
			if dirs[i], err = far.from(a); err != nil {
				return err
			}
		}
		dir, err := far.to(out)
		if err != nil {
			return err
		}
		kind, paths, err := partialsIn(dirs)
		switch {
		case err != nil:
			return err
		case paths != nil && partial:
			return errors.New("--partial: sums over a part of the rows say nothing of all: run the shards that " +
				"are missing")
		case paths != nil:
			return mergePartials(cmd, kind, paths, dir, format)
		case cmd.Flags().Changed("format"):
			return errors.New("--format is for the sums of evaluate, certify and inspect, of which these " +
				"folders have none")
		}
		store, m, err := experiment.Merge(dirs, dir, partial)
		stderr := cmd.ErrOrStderr()
		for _, n := range m.Notes {
			fmt.Fprintf(stderr, "opl: %s\n", n)
		}
		if m.Damaged > 0 {
			fmt.Fprintf(stderr, "opl: %d lines could not be used\n", m.Damaged)
		}
		if err != nil {
			return err
		}
		defer store.Close()
		for _, what := range m.Missing {
			fmt.Fprintf(stderr, "opl: not all: %s\n", what)
		}
		fmt.Fprintf(stderr, "opl: %d results of %d folders in %s, %d that came twice\n", m.Records, m.Sources,
			store.Path(), m.Repeats)
		return draw(cmd, report.PageOptions{Library: lib, Curves: curves}, dir, store.Records())
	})
	bind(fl, &out, "out", "")
	addTableFormat(fl, &format)
	bind(fl, &partial, "partial", false)
	bind(fl, &curves, "curves", false)
	return cmd
}
