package cli

import (
	"io"

	"github.com/spf13/cobra"

	"opl/policies/python"
)

func pythonCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,

		Use:  "python",
		Args: operands(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), python.Source)
			return err
		},
	}
}
