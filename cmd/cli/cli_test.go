package cli

import (
	"opl/train/library"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The help of every command: each flag states one default at most, and none that is empty.
func TestHelp_StatesEachDefaultOnce(t *testing.T) {
	twice := regexp.MustCompile(`\(default[^\n]*\(default|\(default:? *\)|NaN`)
	flag := regexp.MustCompile(`\n +(-\w, )?--`)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		_, flags, _ := strings.Cut(c.UsageString(), "Flags:")
		for _, f := range flag.Split(flags, -1) {
			if f = strings.Join(strings.Fields(f), " "); twice.MatchString(f) {
				t.Errorf("%s: --%s", c.CommandPath(), f)
			}
		}
		for _, sub := range c.Commands() {
			if c.Parent() == nil && sub.GroupID == "" {
				t.Errorf("%s is in no group", sub.CommandPath())
			}
			walk(sub)
		}
	}
	walk(rootCommand(library.Standard()))
}
