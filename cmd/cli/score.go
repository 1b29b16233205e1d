package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/ope"
)

func scoreCommand(lib library.Library) *cobra.Command {
	f := reading(lib)
	var o ope.ScoreOptions
	var out string
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "score POLICY FILE --out SCORES",
		Short: "write the propensities of a policy for each row of a log",
		Long: `score writes what a policy would have done in each row of a log, to a file.

The file is .parquet, .csv or .jsonl and has the columns

  row            place in the log's file, from 1
  decision_id    if the log has it
  logged_action  what was done
  probability    of the logged action under the policy
  probabilities  of all actions of the policy in their order, or of what the row
                 offers in its order: a list

The file may be larger than memory. It is written whole or not at all. "opl evaluate"
takes it as --target but guarantees nothing: only the policy file says which rows taught
the policy. A policy whose actions or columns are not those of the log is refused.

` + readHelp,
		Example: `  opl score policy.json decisions.parquet --out scores.parquet
  opl evaluate --target scores.parquet decisions.parquet`,
		Args: operands("a policy file", "a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
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
			f.known(p)
			log, err := f.open(cmd, args[1])
			if err != nil {
				return err
			}
			defer log.Close()
			if err := check(); err != nil { // the cache and the bad rows are there now
				return err
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
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&out, "out", "", "the `file` to write: .parquet, .csv or .jsonl")
	fl.BoolVar(&overwrite, "overwrite", false, "replace the file if there is one")
	fl.BoolVar(&o.All, "all", false, "write probabilities of more than 100 actions, too")
	fl.BoolVar(&o.Missing, "missing-as-zero", false, "count columns that the policy reads and the log lacks as 0")
	f.add(fl)
	return cmd
}
