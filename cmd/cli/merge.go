package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"opl/train/experiment"
	"opl/train/library"
	"opl/train/report"
	"opl/train/report/table"
)

func mergeCommand(lib library.Library) *cobra.Command {
	var (
		out, format string
		partial     bool
		drawing     drawFlags
	)
	cmd := &cobra.Command{
		Use:   "merge DIR... --out DIR",
		Short: "put the results of shards together",
		Long: `merge puts together what run and reproduce stored with --shard, on one machine or many: DIR is the folder
of a shard, or a folder of such folders, or the URL of one. OUT gets the report and
` + experiment.ResultsFile + `, equal to the byte with what one machine stores, on processors
with the same extensions, which each record names; how long the runs took is in ` + experiment.TimesFile + `,
apart. It is written whole or not at all, and again without harm.

Shards that lack runs are named, and nothing is written, unless with --partial; run them again with the
same --shard. A result that comes twice counts once; two results of a run, and shards of different
grids, are an error. Lines that are damaged are named and counted.

Of evaluate, certify and inspect with --shard it adds the sums up, prints what the command prints of all rows, equal to
1e-12, and writes it to OUT as JSON. The exit status is that of certify or inspect.`,
		Example: `  opl run grid.yaml --shard 1/2 --out a
  opl run grid.yaml --shard 2/2 --out b         on another machine
  opl merge a b --out results
  opl certify policy.json --any-time log.parquet --shard 1/4 --out sums
  opl merge sums --out certified`,
		Args: some("the folders of shards"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
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
			kind, paths, err := partsIn(dirs)
			switch {
			case err != nil:
				return err
			case paths != nil && partial:
				return errors.New("--partial: sums over a part of the rows say nothing of all: run the shards that " +
					"are missing")
			case paths != nil:
				return mergeParts(cmd, kind, paths, dir, format)
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
			return drawing.draw(cmd, report.PageOptions{Library: lib}, dir, store.Records())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&out, "out", "", "`folder` for the results, or its URL")
	addTableFormat(fl, &format)
	fl.Lookup("format").Usage = "of the sums of evaluate: " + strings.Join(table.Formats(), ", ") +
		"; of certify and inspect: json, else text"
	fl.BoolVar(&partial, "partial", false, "take what there is, though shards lack runs")
	drawing.add(fl, "draw learning curves, of runs that have them")
	return cmd
}
