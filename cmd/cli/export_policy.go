package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/policies/portable"
	"opl/policies/wholefile"
)

func exportPolicyCommand() *cobra.Command {
	var as, out, draw string
	cmd := &cobra.Command{
		Use:   "export-policy POLICY",
		Short: "write a policy that is a shallow tree as SQL, Python, Go, JSON or text",
		Long: `export-policy writes a policy of rules, see opl train --policy rules, for where it is to be
read or run: without opl, without a server.

  text     indented rules, to read
  sql      a select list of CASE expressions in standard SQL: the action, and its propensity
           where actions are drawn, as they are with a floor; it reads a column of uniform
           draws, --draw
  json     nested conditions, for feature flags
  python   a module of functions without dependencies
  go       a package of functions without dependencies
  dot      a drawing by Graphviz

Answers are those of the policy file. Names of columns, categories and actions are
quoted. A policy that is no small tree is refused: opl train --distil learns one.`,
		Example: `  opl export-policy rules.json
  opl export-policy rules.json --as sql --draw u > rules.sql`,
		Args: operands("POLICY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(portable.Formats(), as) {
				return fmt.Errorf("--as %q: want one of %s", as, strings.Join(portable.Formats(), ", "))
			}
			p, err := policyfile.Load(args[0])
			if err != nil {
				return err
			}
			tree, err := portable.New(p)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			var b bytes.Buffer
			if err := cmp.Or(tree.Write(&b, as, draw), writable("out", out, args[0])); err != nil {
				return fmt.Errorf("--as %s: %w", as, err)
			}
			if out == "" {
				_, err = b.WriteTo(cmd.OutOrStdout())
				return err
			}
			return wholefile.Write(out, 0, func(to *os.File) error {
				_, err := b.WriteTo(to)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", "text", strings.Join(portable.Formats(), ", "))
	cmd.Flags().StringVar(&out, "out", "", "write to this `file`, and not to standard output")
	cmd.Flags().StringVar(&draw, "draw", "u", "the column of uniform draws in [0, 1) that SQL reads")
	return cmd
}
