package cli

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/portable"
	"opl/train"
	"opl/train/bench"
	"opl/train/bench/worlds"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/report/table"
)

// helpAll asks for the help with all flags, in place of --help.
const helpAll = "--help-all"

// documents has what the help says, apart from the code that does it: of each command in NAME.txt how it is called, a
// line, a text, examples, the flags that --help shows, and what each flag is for. Flags of several commands are in
// shared.txt. {{NAME}} stands for what the code knows, see [words].
//
//go:embed help/*.txt
var documents embed.FS

// document is a page of documents.
type document struct {
	use, short, long, example string
	common                    string
	flags                     map[string]string // usages by name
}

// common is the annotation of a command that lists the flags that --help shows.
const common = "common flags"

func page(name string) string {
	text, err := documents.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // each command has one: a test holds that
	}
	return strings.TrimRight(string(text), "\n")
}

// documentOf reads the document of a command.
func documentOf(name string, known *strings.Replacer) (d document) {
	text, flags, _ := strings.Cut("\n"+page(name), "\nFlags:\n")
	text, d.common, _ = strings.Cut(text, "\nCommon:\n")
	text, d.example, _ = strings.Cut(known.Replace(text), "\nExamples:\n")
	d.use, text, _ = strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	d.short, d.long, _ = strings.Cut(text, "\n\n")
	d.example, d.flags = strings.TrimRight(d.example, "\n"), map[string]string{}
	of := ""
	for line := range strings.Lines(flags) {
		line = strings.TrimSpace(line)
		if name, usage, begins := strings.Cut(strings.TrimPrefix(line, "--"), "  "); begins {
			of, line = name, usage
		}
		d.flags[of] = strings.TrimSpace(d.flags[of] + " " + known.Replace(line))
	}
	return d
}

// tell gives a command, and its flags that say nothing themselves, what their documents say of them.
func tell(c *cobra.Command, shared document, known *strings.Replacer) {
	d := documentOf(c.Name(), known)
	c.Use, c.Short, c.Long, c.Example = d.use, d.short, d.long, d.example
	c.Annotations = map[string]string{common: d.common}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		f.Usage = cmp.Or(f.Usage, d.flags[f.Name], shared.flags[f.Name])
	})
}

// words are what documents leave to the code.
func words(lib library.Library) *strings.Replacer {
	estimators := estimatorsOf(lib)
	onRequest := slices.DeleteFunc(slices.Clone(estimators), func(e ope.Estimator) bool { return !e.OnRequest })
	learners, _ := train.Learners()
	aboutModel := func(m ope.RewardModel) (string, string) { return m.Name, m.About }
	aboutMethod := func(m ope.Method) (string, string) { return m.Name, m.About }
	aboutWorld := func(w worlds.World) (string, string) { return w.Name, w.About }
	return strings.NewReplacer(
		"{{log}}", page("log"), "{{statuses}}", page("statuses"),
		"{{objectives}}", described(lib.Objectives, func(o library.Objective) (string, string) {
			return o.Name, o.About + " (" + o.Policy + ")"
		}),
		"{{weights}}", described(lib.Weights, func(w library.Weight) (string, string) {
			if !w.Tunable() {
				return w.Name, w.About
			}
			return w.Name, fmt.Sprintf("%s; unregularized at %v", w.About, w.IPSAt)
		}),
		"{{noises}}", noiseNames(lib),
		"{{representations}}", described(lib.Representations, func(r library.Representation) (string, string) {
			return r.Name, r.About
		}),
		"{{policies}}", listed(lib.Policies, func(p library.Policy) string { return p.Name }),
		"{{estimators}}", described(ope.Default(estimators, false), aboutEstimator),
		"{{requested}}", described(onRequest, aboutEstimator), "{{all-estimators}}", described(estimators, aboutEstimator),
		"{{models}}", described(ope.RewardModels(), aboutModel), "{{methods}}", described(ope.Methods(), aboutMethod),
		"{{loggings}}", described(bench.Loggings(), func(l bench.Logging) (string, string) { return l.Name, l.About }),
		"{{worlds}}", described(worlds.All(), aboutWorld),
		"{{figures}}", described(experiment.Figures(), func(f experiment.Figure) (string, string) {
			return f.Name, f.Title
		}),
		"{{method-names}}", listed(ope.Methods(), methodName),
		"{{with-lambda}}", listed(lib.Objectives, func(o library.Objective) string {
			return map[bool]string{true: o.Name}[o.HasLambda]
		}),
		"{{penalties}}", listed(lib.Objectives, func(o library.Objective) string {
			return map[bool]string{true: fmt.Sprintf("%s %v", o.Name, o.Penalty)}[o.HasPenalty]
		}),
		"{{formats}}", strings.Join(table.Formats(), ", "),
		"{{tree-formats}}", strings.Join(portable.Formats(), ", "), "{{writable}}", logs.Writable(),
		"{{world-names}}", listed(worlds.All(), worldName), "{{number-worlds}}", listed(worlds.OfNumbers(), worldName),
		"{{presets}}", logs.Presets(), "{{log-formats}}", logs.Formats(), "{{learners}}", strings.Join(learners, ", "))
}

// shorten makes --help of commands with many flags show the first paragraph and the common flags.
func shorten(root *cobra.Command) {
	whole := root.HelpFunc()
	for _, c := range root.Commands() {
		shown := strings.Fields(c.Annotations[common])
		if len(shown) == 0 {
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
