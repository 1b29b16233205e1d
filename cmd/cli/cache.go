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
		Use:   "cache [FOLDER or FILE...]",
		Short: "list what logs were read into, and remove it",
		Long: `cache lists the caches of logs in folders, in folders in them, and beside files: their size,
whether the log is still as it was, and the log. Without an argument it lists those in the user's cache
folder, where the caches of logs are beside which nothing can be written, and of URLs. Whatever is removed is
made again when it is needed.`,
		Example: `  opl cache logs
  opl cache logs --stale --clean`,
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
	cmd.Flags().BoolVar(&clean, "clean", false, "remove them")
	cmd.Flags().BoolVar(&stale, "stale", false, "those alone that nothing reads any more")
	return cmd
}
