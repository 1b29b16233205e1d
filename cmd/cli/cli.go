// Package cli is the command line of opl, over a library of objectives, weights and policies. Use
// it to build a command line with entries of your own. With one's own added to the library, a main
// of a few lines is a command line that knows them:
//
//	func main() {
//		lib := library.Standard()
//		lib.Objectives = append(lib.Objectives, mine)
//		os.Exit(cli.Run(lib, os.Args[1:], os.Stdout, os.Stderr))
//	}
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/wholefile"
	"opl/train"
	"opl/train/library"
)

// interrupted is the exit status after Ctrl-C.
const interrupted = 130

// The exit statuses of commands that answer a question.
const (
	notShown = 3 // not, or not for sure
	nothing  = 4 // nothing can be said
)

// exitStatus is the error of a command that has said what it had to say, and leaves
// with this status.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Run runs one command and returns the exit status of the process: 0, 1 after an
// error, 130 when interrupted, 3 or 4 from commands that answer a question, see the help of
// opl. Results go to stdout, one line an error and the progress of long work to stderr.
func Run(lib library.Library, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := lib.Validate(); err != nil {
		fmt.Fprintf(stderr, "opl: %s\n", oneLine(err))
		return 1
	}
	go watchMemory(ctx, memory(os.ReadFile), func(sentence string) {
		fmt.Fprintf(stderr, "opl: %s\n", sentence)
		os.Exit(1)
	})
	root := rootCommand(lib)
	if i := slices.Index(args, helpAll); i >= 0 {
		args = slices.Replace(slices.Clone(args), i, i+1, "--help")
	} else {
		shorten(root)
	}
	root.SetArgs(args)
	flags := flagsOf(root.Commands())
	out := flagWriter(stdout, flags)
	root.SetOut(out)
	said := flagWriter(stderr, flags)
	plain := said.text
	said.text = func(text string) string { return public(plain(text)) }
	root.SetErr(said)
	err := root.ExecuteContext(context.WithValue(ctx, argsKey{}, args))
	if out.failed != nil { // whatever the command did, nobody has read it
		err = out.failed
	}
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return interrupted
	case errors.As(err, &status):
		return int(status)
	}
	if _, _, unknown := root.Find(args); unknown != nil {
		err = fmt.Errorf("%w: %s", unknown, hint(root, args))
	}
	fmt.Fprintf(said, "opl: %s\n", oneLine(err))
	return 1
}

// hint says where the command may be that args do not name.
func hint(root *cobra.Command, args []string) string {
	i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if like := root.SuggestionsFor(args[max(i, 0)]); len(like) > 0 {
		return "did you mean " + strings.Join(like, " or ") + "?"
	}
	return "opl --help lists the commands"
}

// valuesOf says which flag has a flag for its value, as one that was forgotten makes it.
func valuesOf(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		value, is := strings.CutPrefix(strings.Trim(f.Value.String(), "[]"), "--")
		if name, _, _ := strings.Cut(value, "="); is && c.Flags().Lookup(name) != nil {
			err = fmt.Errorf("--%s: its value is missing, and --%s is a flag", f.Name, name)
		}
	})
	return err
}

func rootCommand(lib library.Library) *cobra.Command {
	root := &cobra.Command{
		DisableSuggestions:         true, // of cobra's lines: see hint
		SuggestionsMinimumDistance: 2,

		Use:           "opl",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cobra.EnableCommandSorting = false
	root.PersistentFlags().Bool("quiet", false, "only errors on stderr: neither progress nor remarks")
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "intervals" { // what bins were called
			name = "bins"
		}
		return pflag.NormalizedName(name)
	})
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if err := valuesOf(c); err != nil {
			return err
		}
		switch quiet, err := c.Flags().GetBool("quiet"); {
		case err != nil || !quiet:
			return err
		case c.Name() == "serve":
			return errors.New("serve: --quiet: what befalls the server is told on stderr, and it matters")
		}
		root.SetErr(io.Discard)
		return nil
	}
	known := words(lib)
	shared := documentOf("shared", known)
	tell(root, shared, known)
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Your own log", []*cobra.Command{inspectCommand(lib), trainCommand(lib), certifyCommand(lib),
			evaluateCommand(lib), curveCommand(lib), selectCommand(lib), frontierCommand(lib), scoreCommand(lib),
			serveCommand(lib), joinCommand(lib),
			monitorCommand(lib), explainCommand(lib), exportPolicyCommand()}},
		{"Research", []*cobra.Command{compareCommand(lib), reproduceCommand(lib), runCommand(lib), mergeCommand(lib),
			plotCommand(lib), exportCommand(lib), benchCommand(lib), gradcheckCommand(lib)}},
		{"Other", []*cobra.Command{pythonCommand(), versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			tell(c, shared, known)
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetCompletionCommandGroupID("Other")
	root.SetHelpCommandGroupID("Other")
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100"))
	root.SetFlagErrorFunc(flagFault)
	completions(root, lib)
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Short = "print the completion script of a shell"
			c.RunE = func(c *cobra.Command, _ []string) error { return usage(c, "want bash, zsh, fish or powershell") }
		case "help":
			c.Short = "help for a command"
		}
		c.Flags().VisitAll(plainDefault)
	}
	return root
}

// plainDefault keeps a default out of the help that says nothing, or that the flag's text
// says.
func plainDefault(f *pflag.Flag) {
	f.Usage = strings.ReplaceAll(f.Usage, "(default: ", "(default ")
	switch {
	case f.DefValue == "NaN":
		f.DefValue = "0"
	case f.DefValue == "[]" && f.Value.Type() == "float64Slice":
		f.DefValue = ""
	}
}

// command makes a command that takes such arguments and returns it with its flags. What it says of itself stands in
// help/NAME.txt.
func command(name string, args cobra.PositionalArgs,
	run func(cmd *cobra.Command, args []string) error) (*cobra.Command, *pflag.FlagSet) {
	c := &cobra.Command{Use: name, Args: args, RunE: run}
	return c, c.Flags()
}

// operands wants one argument for each description, such as "a log", and says otherwise
// what is missing or too much, with the command's usage.
func operands(want ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(want):
			return usage(c, "want "+strings.Join(want[len(args):], " and "))
		case len(args) > len(want):
			return usage(c, fmt.Sprintf("%q is an argument too many", args[len(want)]))
		}
		return nil
	}
}

// some wants what is described, and perhaps more of the last kind.
func some(want ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		return operands(want...)(c, args[:min(len(want), len(args))])
	}
}

// usage is the error of a command that is not called as it should be.
func usage(c *cobra.Command, what string) error {
	return fmt.Errorf("%s: %s: %s; see %s --help", c.Name(), what, c.UseLine(), c.CommandPath())
}

// oneLine keeps an error to one line, and several errors apart.
// A file's error begins with its name, not with the call that failed.
func oneLine(err error) string {
	text := err.Error()
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		text = strings.Replace(text, at.Error(), at.Path+": "+at.Err.Error(), 1)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", "; ")), " ")
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,

		Use:  "version",
		Args: operands(),
		Run:  func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version()) },
	}
}

func version() string {
	v := train.ThisVersion()
	if v.Commit != "" {
		v.Opl += " (" + v.Commit + ")"
	}
	return fmt.Sprintf("opl %s, %s, %s", v.Opl, v.Go, v.System)
}

// absent refuses a file that is there already, unless it may be replaced.
func absent(flag, path string, overwrite bool) error {
	if _, err := os.Stat(path); err == nil && !overwrite {
		return fmt.Errorf("--%s %s: there is such a file; replace it by --overwrite", flag, path)
	}
	return nil
}

// kept explains the error of a file that appeared during the work, and was not replaced.
func kept(flag, path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--%s %s: such a file has appeared meanwhile, and is kept; replace it by --overwrite", flag,
			path)
	}
	return err
}

// writable refuses, before the work, a file that cannot be written: its folder is missing or cannot be written,
// it is a folder, or the command reads it. An empty name is no file, and fine.
func writable(flag, path string, read ...string) error {
	if path == "" {
		return nil
	}
	wrong := func(why string) error { return fmt.Errorf("--%s %s: %s", flag, path, why) }
	if path == "-" {
		return wrong("want the name of a file: nothing but reports goes to standard output")
	}
	if folder, err := os.Stat(filepath.Dir(path)); err != nil || !folder.IsDir() {
		return wrong("there is no such folder")
	}
	to, err := os.Stat(path)
	switch {
	case err != nil: // none yet
	case to.IsDir():
		return wrong("a folder, want a file")
	case !to.Mode().IsRegular():
		return wrong("a pipe or a device, want a file")
	}
	for _, name := range read {
		if from, e := os.Stat(name); e == nil && err == nil && os.SameFile(from, to) {
			return wrong("it would be written over what is read")
		}
	}
	f, err := wholefile.Create(path, 0)
	if err != nil {
		return fmt.Errorf("--%s %w", flag, err)
	}
	return f.Abort()
}
