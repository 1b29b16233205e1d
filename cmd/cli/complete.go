package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/train/bench"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/report/table"
)

// names are values of a flag, each with a description after a tab, and whether it takes a file as well.
type names struct {
	all   []string
	files bool
}

// namesOf are those of items.
func namesOf[T any](items []T, of func(T) (name, about string)) names {
	var n names
	for _, x := range items {
		name, about := of(x)
		n.all = append(n.all, name+"\t"+about)
	}
	return n
}

// listedIn are the names in a sentence that lists them, the first word of each item.
func listedIn(sentence string) names {
	var n names
	for _, item := range strings.Split(strings.ReplaceAll(sentence, " or ", ", "), ", ") {
		if words := strings.Fields(item); len(words) > 0 {
			n.all = append(n.all, words[0])
		}
	}
	return n
}

func (n names) orFile(more ...string) names { return names{append(slices.Clone(n.all), more...), true} }

// completions registers what the shell's completion knows of values of flags, of all commands or of one. A flag that is not here takes a
// file or what nobody can guess.
func completions(root *cobra.Command, lib library.Library) {
	formats, file := names{all: table.Formats()}, names{files: true}
	objectives := namesOf(lib.Objectives, func(o library.Objective) (string, string) { return o.Name, o.About })
	weights := namesOf(lib.Weights, func(w library.Weight) (string, string) { return w.Name, w.About })
	policies := namesOf(lib.Policies, func(p library.Policy) (string, string) { return p.Name, "" })
	estimators := namesOf(estimatorsOf(lib), aboutEstimator)
	representations := namesOf(lib.Representations, func(r library.Representation) (string, string) { return r.Name, r.About })
	models := namesOf(ope.RewardModels(), func(m ope.RewardModel) (string, string) { return m.Name, m.About })
	models.all, models.files = append(models.all, representations.all...), true
	uniform, textual := file.orFile("uniform"), names{all: []string{"text", "json"}}
	of := map[string]names{
		"objective": objectives, "objectives": objectives, "weight": weights, "weights": weights,
		"estimator": estimators, "estimators": {all: append([]string{"all"}, estimators.all...)},
		"representation": representations, "reward-model": models,
		"interval":    namesOf(ope.Methods(), func(m ope.Method) (string, string) { return m.Name, m.About }),
		"noise":       namesOf(lib.Noises, func(n library.Noise) (string, string) { return n.Name(), "" }).orQuadrature(),
		"bench noise": {}, "policy": policies, "train policy": listedIn("softmax, gaussian"), "join policy": file, "export policy": file,
		"format": formats, "inspect format": textual, "train format": textual, "certify format": textual, "join format": textual, "plot format": textual, "reproduce format": textual, "run format": textual, "monitor format": textual,
		"input-format": listedIn(logs.Formats()), "preset": listedIn(logs.Presets()),
		"logging":        namesOf(bench.Loggings(), func(l bench.Logging) (string, string) { return l.Name, l.About }),
		"logging-policy": uniform, "target": uniform, "logger": file, "logged-by": file, "prior": file.orFile("zero", "learned"),
		"lambda": listedIn("star, authors"), "split": listedIn("random, group, time"), "scale": listedIn("max, none, standard"),
		"schedule": listedIn("constant, linear"), "dtype": listedIn("float32, float64"), "dataset": listedIn("mnist, fashion"),
		"dates": listedIn("us, eu"), "missing-reward": listedIn("drop"), "duplicates": listedIn("error, first, last"),
		"delimiter": {all: []string{",", ";", "|"}}, "fsync": listedIn("each, interval, never"), "messages": textual, "submit": listedIn("slurm, kubernetes"),
	}
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			n, ok := of[c.Name()+" "+f.Name]
			if !ok {
				n, ok = of[f.Name]
			}
			if !ok {
				return
			}
			_, list := f.Value.(pflag.SliceValue)
			list = list && f.Value.Type() != "stringArray"
			_ = c.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return n.complete(begun, list)
			})
		})
	}
}

// orQuadrature adds the noise that is none of the library's list.
func (n names) orQuadrature() names {
	return names{all: append([]string{library.Quadrature}, n.all...)}
}

// complete are the names that go on from what was begun; of a list from what stands after the last comma, but for those that
// stand before.
func (n names) complete(begun string, list bool) ([]string, cobra.ShellCompDirective) {
	before, begins := "", begun
	if at := strings.LastIndexByte(begun, ','); list && at >= 0 {
		before, begins = begun[:at+1], begun[at+1:]
	}
	var found []string
	for _, item := range n.all {
		name, _, _ := strings.Cut(item, "\t")
		taken := slices.ContainsFunc(strings.Split(before, ","), func(s string) bool { s, _, _ = strings.Cut(s, "="); return s == name })
		if strings.HasPrefix(name, begins) && !taken {
			found = append(found, before+strings.TrimSuffix(item, "\t"))
		}
	}
	if n.files {
		return found, cobra.ShellCompDirectiveDefault
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
