package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpAll asks for the help with all flags, in place of --help.
const helpAll = "--help-all"

// common are the flags that --help shows of commands with many: those that most users need.
var common = map[string][]string{
	"train": {"out", "overwrite", "objective", "floor", "prior", "logged-by", "columns", "reward-min", "reward-max",
		"delta", "report", "verbose"},
	"certify": {"any-time", "delta", "propensity-error", "fresh", "write", "columns", "catalogue", "format", "report",
		"verbose"},
	"evaluate": {"target", "estimators", "logger", "interval", "delta", "propensity-error", "columns", "plot", "format",
		"report", "verbose"},
	"select": {"target", "estimator", "delta", "propensity-error", "columns", "format", "report", "verbose"},
	"inspect": {"columns", "actions", "reward-min", "reward-max", "logging-policy", "propensity-error", "dates",
		"skip-bad", "format", "report", "verbose"},
	"explain": {"by", "delta", "propensity-error", "depth", "fresh", "columns", "format", "report", "verbose"},
	"monitor": {"claim", "delta", "columns", "reward-min", "reward-max", "format"},
	"score":   {"out", "overwrite", "columns", "actions", "catalogue", "logging-policy"},
	"curve":   {"action-range", "intervals", "delta", "propensity-error", "columns", "plot", "format", "verbose"},
	"frontier": {"budget", "guardrail", "range", "points", "out", "overwrite", "policy", "floor", "delta", "plot",
		"format", "report"},
	"serve": {"listen", "log", "fsync", "log-max-bytes", "canary", "canary-share", "catalogue", "strict", "token-file",
		"tls-cert", "tls-key", "admin", "check", "watch"},
	"compare": {"objectives", "weights", "dataset", "data", "eta0", "seeds", "epochs", "limit", "representation",
		"format", "report", "certify"},
	"reproduce": {"dataset", "data", "seeds", "out", "jobs", "dry-run", "shard", "submit", "epochs", "limit", "report"},
	"run":       {"dataset", "data", "seeds", "out", "jobs", "dry-run", "shard", "submit", "epochs", "limit", "report"},
}

// shorten makes --help of commands with many flags show the first paragraph and the common flags.
func shorten(root *cobra.Command) {
	whole := root.HelpFunc()
	for _, c := range root.Commands() {
		shown := common[c.Name()]
		if shown == nil {
			continue
		}
		c.SetHelpFunc(func(c *cobra.Command, args []string) {
			var hidden []*pflag.Flag
			c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && f.Name != "help" && !slices.Contains(shown, f.Name) {
					f.Hidden, hidden = true, append(hidden, f)
				}
			})
			long := c.Long
			first, _, _ := strings.Cut(long, "\n\n")
			c.Long = fmt.Sprintf("%s\n\nopl %s %s explains more, and shows %d more flags.", first, c.Name(), helpAll,
				len(hidden))
			whole(c, args)
			c.Long = long
			for _, f := range hidden {
				f.Hidden = false // completions know them
			}
		})
	}
}
