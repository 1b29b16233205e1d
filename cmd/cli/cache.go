package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"opl/train/logs"
)

func cacheCommand() *cobra.Command {
	var clean, stale bool
	cmd := &cobra.Command{
		Use:  "cache",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := logs.Caches(args...)
			if err != nil {
				return err
			}
			var n int
			var bytes int64
			var failed error
			for _, c := range found {
				if stale && !c.Stale {
					continue
				}
				if clean {
					if err := os.Remove(c.Path); err != nil {
						failed = errors.Join(failed, err)
						continue
					}
				}
				state := "fresh"
				if c.Stale {
					state = "stale"
				}
				n, bytes = n+1, bytes+c.Bytes
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%10s  %s  %s  %s\n", amount(c.Bytes), state, c.Path,
					c.Log); err != nil {
					return err
				}
			}
			done := "in"
			if clean {
				done = "removed:"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%10s  %s %d caches\n", amount(bytes), done, n)
			return failed
		},
	}
	bind(cmd.Flags(), &clean, "clean", false)
	bind(cmd.Flags(), &stale, "stale", false)
	return cmd
}
