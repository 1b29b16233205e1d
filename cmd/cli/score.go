package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/ope"
	"opl/train/provenance"
)

func scoreCommand(lib library.Library) *cobra.Command {
	f := reading(lib)
	var o ope.ScoreOptions
	var out string
	var overwrite bool
	cmd, fl := command("score", operands("a policy file", "a file"), func(cmd *cobra.Command, args []string) error {
		if out == "" {
			return fmt.Errorf("--out: say where to write the propensities, to a file that ends in .parquet, " +
				".csv or .jsonl")
		}
		check := func() error {
			return writable("out", out, append(filesOf(cmd, args[1]), args[0], f.Catalogue, f.Cache, f.BadRows)...)
		}
		if err := cmp.Or(check(), absent("out", out, overwrite)); err != nil {
			return err
		}
		p, err := policyfile.Load(args[0])
		if err != nil {
			return err
		}
		f.readLike(p)
		log, err := f.open(cmd, args[1])
		if err != nil && cmd.Context().Err() == nil && !cmd.Flags().Changed("reward") { // which may be missing
			bare := f
			bare.NoRewards, bare.NoCache, bare.Cache, bare.ranged, bare.unclear, bare.formula, bare.Reward = true, true, "",
				false, false, nil, ""
			log, err = bare.open(cmd, args[1])
		}
		if err != nil {
			return err
		}
		defer log.Close()
		if err := check(); err != nil { // the cache and the bad rows are there now
			return err
		}
		if texts := provenance.Texts(p.File(), log); texts != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "opl: warning: %s: %s\n", args[1], texts)
		}
		o.New = !overwrite
		columns, err := ope.WriteScores(cmd.Context(), out, p, log, o)
		if err != nil {
			return kept("out", out, fmt.Errorf("policy %s, %s: %w", args[0], args[1], err))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%d rows written to %s: %s\n", log.Len(), out, strings.Join(columns, ", "))
		if n := log.LeftOut; n > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%d files were left out\n", n)
		}
		if n := log.Skipped; n > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%d bad rows were left out\n", n)
		}
		return nil
	})
	bind(fl, &out, "out", "")
	bind(fl, &overwrite, "overwrite", false)
	bind(fl, &o.All, "all", false)
	f.add(fl)
	return cmd
}
