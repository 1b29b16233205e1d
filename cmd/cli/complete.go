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
)

// nameList is values of a flag, each with a description after a tab, and whether it takes a file as well.
type nameList struct {
	all   []string
	files bool
}

// namesOf takes the names of items.
func namesOf[T any](items []T, of func(T) (name, about string)) nameList {
	var n nameList
	for _, x := range items {
		name, about := of(x)
		n.all = append(n.all, name+"\t"+about)
	}
	return n
}

func (n nameList) orFile(more ...string) nameList {
	return nameList{append(slices.Clone(n.all), more...), true}
}

// completions registers what the shell's completion knows of values of flags, of all commands or of one. A flag that is
// neither here nor one of several names takes a file or what nobody can guess.
func completions(root *cobra.Command, lib library.Library) {
	file := nameList{files: true}
	objectives := namesOf(lib.Objectives, func(o library.Objective) (string, string) { return o.Name, o.About })
	weights := namesOf(lib.Weights, func(w library.Weight) (string, string) { return w.Name, w.About })
	estimators := namesOf(estimatorsOf(lib), aboutEstimator)
	representations := namesOf(lib.Representations, func(r library.Representation) (string, string) {
		return r.Name, r.About
	})
	models := namesOf(ope.RewardModels(), func(m ope.RewardModel) (string, string) { return m.Name, m.About })
	formats, presets := logs.Names()
	noises := namesOf(lib.Noises, func(n library.Noise) (string, string) { return n.Name(), "" })
	of := map[string]nameList{
		"objective": objectives, "objectives": objectives, "weight": weights, "weights": weights,
		"estimator": estimators, "estimators": {all: append([]string{"all"}, estimators.all...)},
		"representation": representations, "reward-model": models.orFile(representations.all...),
		"interval":       namesOf(ope.Methods(), func(m ope.Method) (string, string) { return m.Name, m.About }),
		"noise":          {all: append([]string{library.Quadrature}, noises.all...)},
		"bench noise":    {},
		"policy":         namesOf(lib.Policies, func(p library.Policy) (string, string) { return p.Name, "" }),
		"train policy":   {all: []string{"softmax", "gaussian", "rules"}},
		"join policy":    file,
		"export policy":  file,
		"input-format":   {all: formats},
		"preset":         {all: presets},
		"logging":        namesOf(bench.Loggings(), func(l bench.Logging) (string, string) { return l.Name, l.About }),
		"logging-policy": file.orFile("uniform"),
		"target":         file.orFile("uniform"),
		"logger":         file,
		"logged-by":      file,
		"prior":          file.orFile("zero", "learned"),
		"lambda":         {all: []string{"star", "authors"}},
		"split":          {all: []string{"random", "group", "time"}},
		"scale":          {all: []string{"max", "none", "standard"}},
		"schedule":       {all: []string{"constant", "linear"}},
		"dtype":          {all: []string{"float32", "float64"}},
		"dataset":        {all: []string{"mnist", "fashion"}},
		"dates":          {all: []string{"us", "eu"}},
		"missing-reward": {all: []string{"drop"}},
		"delimiter":      {all: []string{",", ";", "|"}},
		"submit":         {all: []string{"slurm", "kubernetes"}},
	}
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			n, ok := of[c.Name()+" "+f.Name]
			if !ok {
				n, ok = of[f.Name]
			}
			if v, is := f.Value.(limited); !ok && is && v.all != nil {
				n, ok = nameList{all: v.all}, true
			}
			if !ok {
				return
			}
			_, list := f.Value.(pflag.SliceValue)
			list = list && f.Value.Type() != "stringArray"
			_ = c.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, begun string) ([]string,
				cobra.ShellCompDirective) {
				return n.complete(begun, list)
			})
		})
	}
}

// complete returns the names that begin with what was typed. In a list that is the text after the last comma, and names
// that stand before it are left out.
func (n nameList) complete(begun string, list bool) ([]string, cobra.ShellCompDirective) {
	before, begins := "", begun
	if at := strings.LastIndexByte(begun, ','); list && at >= 0 {
		before, begins = begun[:at+1], begun[at+1:]
	}
	var found []string
	for _, item := range n.all {
		name, _, _ := strings.Cut(item, "\t")
		taken := slices.ContainsFunc(strings.Split(before, ","), func(s string) bool {
			s, _, _ = strings.Cut(s, "=")
			return s == name
		})
		if strings.HasPrefix(name, begins) && !taken {
			found = append(found, before+strings.TrimSuffix(item, "\t"))
		}
	}
	if n.files {
		return found, cobra.ShellCompDirectiveDefault
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
