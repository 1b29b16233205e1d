package cli

import (
	"io"

	"github.com/spf13/cobra"

	"opl/policies/python"
)

func pythonCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,

		Use:   "python",
		Short: "print the file by which Python reads policies",
		Long: `python prints opl_policy.py, a file that needs numpy alone: it reads policy files, gives
their propensities within 1e-12, and asks the server. Copy it beside the program that
imports it.`,
		Example: `  opl python > opl_policy.py`,
		Args:    operands(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), python.Source)
			return err
		},
	}
}
