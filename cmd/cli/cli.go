// Package cli is the command line of opl, over a library of objectives, weights
// and policies. With one's own added to the library, a main of a few lines is a
// command line that knows them:
//
//	func main() {
//		lib := experiment.Standard()
//		lib.Objectives = append(lib.Objectives, mine)
//		os.Exit(cli.Run(lib, os.Args[1:], os.Stdout, os.Stderr))
//	}
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/train"
	"opl/train/experiment"
)

// interrupted is the exit status after Ctrl-C.
const interrupted = 130

// exitStatus is the error of a command that has said what it had to say, and leaves
// with this status.
type exitStatus int

// Error is for callers that do not know it.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Run runs one command and returns the exit status of the process: 0, 1 after an
// error, 130 when interrupted, 3 or 4 after inspect has found something. Results go
// to stdout, one line an error and the progress of long work to stderr.
func Run(lib experiment.Library, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := lib.Validate(); err != nil {
		fmt.Fprintf(stderr, "opl: %s\n", oneLine(err))
		return 1
	}
	root := &cobra.Command{
		Use:   "opl",
		Short: "pessimistic off-policy learning in contextual bandits",
		Long: `opl learns policies from logs of a contextual bandit and compares the ways
to do it: PAC-Bayes bounds and heuristics over regularized importance weights.`,
		Example: `  opl compare                              every weight on MNIST, one reward table
  opl compare --eta0 0,0.5,1 --seeds 3     several logging policies, error bars
  opl reproduce all --dry-run              the paper's experiments: what they would run
  opl gradcheck                            every gradient against central differences`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(compareCommand(lib), reproduceCommand(lib), runCommand(lib), plotCommand(), inspectCommand(), evaluateCommand(), trainCommand(lib), certifyCommand(),
		gradcheckCommand(lib), serveCommand(), joinCommand(), exportCommand(lib), versionCommand())
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.DefValue == "NaN" || f.DefValue == "[]" {
				f.DefValue = map[string]string{"NaN": "0"}[f.DefValue] // says nothing in the help; the text of the flag does
			}
		})
	}
	root.SetArgs(args)
	flags := flagsOf(root.Commands())
	root.SetOut(flagWriter{stdout, flags})
	root.SetErr(flagWriter{stderr, flags})
	err := root.ExecuteContext(ctx)
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return interrupted
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintf(stderr, "opl: %s\n", flags.of(oneLine(err)))
	return 1
}

// oneLine keeps an error to one line.
func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", " ")), " ")
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			v := train.ThisVersion()
			commit := ""
			if v.Commit != "" {
				commit = " (" + v.Commit + ")"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "opl %s%s, %s, %s\n", v.Opl, commit, v.Go, v.System)
		},
	}
}
