package cli

import (
	"context"
	"errors"
	"io"
	"opl/train/library"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What was interrupted says nothing and leaves no file, however far it had come.
func TestCommands_ThatWereInterruptedSayNothing(t *testing.T) {
	dir := t.TempDir()
	at := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	served := at("served.jsonl", `{"decision_id":"d1","timestamp":"2026-01-01T00:00:00Z","context":{"age":1},"actions":["a","b"],"action":"a",`+
		`"propensity":0.5,"propensities":[0.5,0.5],"policy_hash":"ab"}`+"\n")
	log, out := at("log.csv", "action,reward,propensity,x_a\na,1,0.5,1\nb,0,0.5,2\n"), filepath.Join(dir, "out.csv")
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for _, args := range [][]string{{"join", served, at("r.csv", "decision_id,reward\nd1,1\n"), "--out", out}, {"inspect", log, "--no-cache"}} {
		var said strings.Builder
		root := rootCommand(library.Standard())
		root.SetArgs(args)
		root.SetOut(&said)
		root.SetErr(io.Discard)
		_, gone := os.Stat(out)
		if err := root.ExecuteContext(ctx); !errors.Is(err, context.Canceled) || said.Len() > 0 || gone == nil {
			t.Errorf("%s: %v, %q, %v", args[0], err, said.String(), gone)
		}
	}
}

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
