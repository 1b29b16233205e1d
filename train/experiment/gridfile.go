package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"opl/train"
	"opl/train/library"
)

// ParseGrid reads a grid from YAML. name, that of the file, is in errors, which
// say the line. Keys are named as the flags of the command line:
//
//	dataset: [mnist, fashion]       # default: mnist
//	eta0: [0, 0.5]                  # default: 0.5
//	seeds: 3                        # default: 1
//	seed: 1                         # the first; default: 1
//	runs:                           # every list by every other
//	  - objectives: [heuristic, l2]
//	    weights: [clip, har]        # default: clip
//	    hyper: [0.1, 0.5, default]  # default: default
//	    penalty: [1e-5, 1e-3]       # default: the objective's own
//	  - objectives: corollary1
//	    weights: clip
//	    lambda: [star, authors]     # default: star
//	    policy: gaussian            # default: the objective's own
//	    noise: quadrature           # default: that of the file
//	epochs: 5                       # and the other settings: delta, lr, batch-size, limit, dtype,
//	                                # noise, samples, schedule, prior-split, prior-scale, certify
//
// A single value stands for a list of one. Names are those of lib.
func ParseGrid(name string, text []byte, lib library.Library) (Grid, error) {
	p := gridParser{name: name, lib: lib}
	g, err := p.grid(text)
	if err != nil {
		return Grid{}, err
	}
	return g, nil
}

type gridParser struct {
	name string
	lib  library.Library
}

func (p gridParser) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.name, n.Line, fmt.Sprintf(format, args...))
}

// pair is a key of a mapping with its value.
type pair struct{ key, value *yaml.Node }

// pairs reads a mapping whose keys are all known and given once.
func (p gridParser) pairs(n *yaml.Node, where string, known []string) ([]pair, error) {
	if n.Kind != yaml.MappingNode {
		return nil, p.errorf(n, "%s: want keys and values, such as %s: ...", where, known[0])
	}
	var pairs []pair
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if !slices.Contains(known, key.Value) {
			return nil, p.errorf(key, "%v", library.Unknown("key", key.Value, known))
		}
		if line, twice := seen[key.Value]; twice {
			return nil, p.errorf(key, "%s is given twice, first in line %d", key.Value, line)
		}
		seen[key.Value] = key.Line
		pairs = append(pairs, pair{key, value})
	}
	return pairs, nil
}

func (p gridParser) grid(text []byte) (Grid, error) {
	g := Grid{Datasets: []string{"mnist"}, Eta0: []float64{.5}, Settings: train.DefaultSettings()}
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return g, fmt.Errorf("%s: the file is empty: give at least a list of runs", p.name)
	case err != nil:
		return g, p.syntax(err)
	}
	switch err := d.Decode(&more); {
	case err == nil:
		return g, p.errorf(&more, "a second document: want one grid a file")
	case !errors.Is(err, io.EOF):
		return g, p.syntax(err)
	}
	top := &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		top = doc.Content[0]
	}
	known := []string{"runs", "dataset", "eta0", "seeds", "seed"}
	settings := map[string]train.Setting{}
	for _, e := range train.AllSettings() {
		known, settings[e.Name] = append(known, e.Name), e
	}
	pairs, err := p.pairs(top, "grid", known)
	if err != nil {
		return g, err
	}
	seeds, first := 1, 1
	lines := map[string]*yaml.Node{}
	for _, kv := range pairs {
		v := kv.value
		lines[kv.key.Value] = v
		switch key := kv.key.Value; key {
		case "runs":
			g.Entries, err = p.entries(v)
		case "dataset":
			g.Datasets, err = p.words(key, v)
		case "eta0":
			g.Eta0, err = p.numbers(key, v, math.Inf(-1), math.Inf(1), "a number")
		case "seeds":
			if seeds, err = p.integer(key, v); err == nil && (seeds < 1 || seeds > MostRuns) {
				err = p.errorf(v, "seeds %d: want 1 to %d", seeds, MostRuns)
			}
		case "seed":
			if first, err = p.integer(key, v); err == nil && first < 0 {
				err = p.errorf(v, "seed %d: want 0 or more", first)
			}
		default:
			err = p.setting(settings[key], v, &g.Settings)
		}
		if err != nil {
			return g, err
		}
	}
	var bad *train.SettingError
	if err := g.Settings.Check(); errors.As(err, &bad) {
		return g, p.errorf(lines[bad.Key], "%v", bad)
	}
	if len(g.Entries) == 0 {
		return g, p.errorf(top, "no runs: want a list of objectives, such as runs: [{objectives: heuristic}]")
	}
	for s := range seeds {
		g.Seeds = append(g.Seeds, uint64(first+s))
	}
	return g, nil
}

// setting reads the value of a setting into s.
func (p gridParser) setting(e train.Setting, v *yaml.Node, s *train.Settings) (err error) {
	switch at := e.Field(s).(type) {
	case *int:
		*at, err = p.integer(e.Name, v)
	case *float64:
		*at, err = p.number(e.Name, v)
	case *[]float64:
		*at, err = p.numbers(e.Name, v, math.Inf(-1), math.Inf(1), "a number")
	case *string:
		if *at, err = p.word(e.Name, v); err == nil && at == &s.Noise {
			err = p.noise(v)
		}
	case *bool:
		if *at = v.Value == "true"; v.Kind != yaml.ScalarNode || !*at && v.Value != "false" {
			err = p.errorf(v, "%s: want true or false", e.Name)
		}
	}
	return err
}

// syntax names the file and the line of an error of the YAML reader.
func (p gridParser) syntax(err error) error {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	if at, rest, ok := strings.Cut(strings.TrimPrefix(s, "line "), ": "); ok && strings.HasPrefix(s, "line ") {
		return fmt.Errorf("%s:%s: %s", p.name, at, rest)
	}
	return fmt.Errorf("%s: %s", p.name, s)
}

// entries reads the list under runs.
func (p gridParser) entries(n *yaml.Node) ([]Entry, error) {
	items, err := p.list("runs", n)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, item := range items {
		pairs, err := p.pairs(item, "runs", []string{"objectives", "weights", "hyper", "lambda", "penalty", "policy", "noise"})
		if err != nil {
			return nil, err
		}
		var (
			e          Entry
			objectives []string
			weights    = []string{"clip"}
		)
		for _, kv := range pairs {
			v := kv.value
			switch key := kv.key.Value; key {
			case "objectives":
				objectives, err = p.names(key, v, func(s string) error { _, err := p.lib.Objective(s); return err })
			case "weights":
				weights, err = p.names(key, v, func(s string) error { _, err := p.lib.Weight(s); return err })
			case "hyper":
				e.Hypers, err = p.numbers(key, v, 0, 1, "a number in [0, 1], or default")
			case "lambda":
				e.Lambdas, err = p.names(key, v, func(s string) error { _, err := library.ParseLambda(s); return err })
			case "penalty":
				e.Penalties, err = p.numbers(key, v, 0, math.MaxFloat64, "a number of at least 0")
			case "policy":
				if e.Policy, err = p.word(key, v); err == nil {
					if _, unknown := p.lib.Policy(e.Policy); unknown != nil {
						err = p.errorf(v, "%v", unknown)
					}
				}
			case "noise":
				if e.Noise, err = p.word(key, v); err == nil {
					err = p.noise(v)
				}
			}
			if err != nil {
				return nil, err
			}
		}
		if len(objectives) == 0 {
			return nil, p.errorf(item, "runs: an entry without objectives")
		}
		for _, kv := range pairs {
			takes := map[string]func(library.Objective) bool{
				"lambda":  func(o library.Objective) bool { return o.HasLambda },
				"penalty": func(o library.Objective) bool { return o.HasPenalty },
			}[kv.key.Value]
			if takes == nil || slices.ContainsFunc(objectives, func(s string) bool { o, _ := p.lib.Objective(s); return takes(o) }) {
				continue
			}
			return nil, p.errorf(kv.key, "%s: none of the objectives (%s) takes one", kv.key.Value, strings.Join(objectives, ", "))
		}
		for _, e.Objective = range objectives {
			for _, e.Weight = range weights {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}

// list reads a list that is not empty, or a single value as a list of one.
func (p gridParser) list(key string, n *yaml.Node) ([]*yaml.Node, error) {
	items := []*yaml.Node{n}
	switch {
	case n.Kind == yaml.SequenceNode:
		items = slices.Clone(n.Content)
	case n.Tag == "!!null":
		items = nil
	}
	if len(items) == 0 {
		return nil, p.errorf(n, "%s is empty: give at least one value, or leave the key out", key)
	}
	for i, item := range items {
		if item.Kind == yaml.AliasNode {
			items[i] = item.Alias
		}
	}
	return items, nil
}

func (p gridParser) scalar(key string, n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return p.errorf(n, "%s: want a single value", key)
	}
	return nil
}

func (p gridParser) word(key string, n *yaml.Node) (string, error) { return n.Value, p.scalar(key, n) }

func (p gridParser) words(key string, n *yaml.Node) ([]string, error) {
	return p.names(key, n, func(string) error { return nil })
}

// names reads a list of names that check knows.
func (p gridParser) names(key string, n *yaml.Node, check func(string) error) ([]string, error) {
	items, err := p.list(key, n)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, item := range items {
		if err := p.scalar(key, item); err != nil {
			return nil, err
		}
		if err := check(item.Value); err != nil {
			return nil, p.errorf(item, "%s: %v", key, err)
		}
		if !slices.Contains(names, item.Value) {
			names = append(names, item.Value)
		}
	}
	return names, nil
}

// noise reports a noise that the library does not have.
func (p gridParser) noise(n *yaml.Node) error {
	if n.Value != library.Quadrature {
		if _, err := p.lib.Noise(n.Value); err != nil {
			return p.errorf(n, "%v", err)
		}
	}
	return nil
}

func (p gridParser) number(key string, n *yaml.Node) (float64, error) {
	if err := p.scalar(key, n); err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(n.Value, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, p.errorf(n, "%s %s: want a number", key, n.Value)
	}
	return x, nil
}

func (p gridParser) integer(key string, n *yaml.Node) (int, error) {
	if err := p.scalar(key, n); err != nil {
		return 0, err
	}
	i, err := strconv.Atoi(n.Value)
	if err != nil {
		return 0, p.errorf(n, "%s %s: want a whole number", key, n.Value)
	}
	return i, nil
}

// numbers reads a list of numbers in [least, most]; of the key hyper, default is
// NaN.
func (p gridParser) numbers(key string, n *yaml.Node, least, most float64, want string) ([]float64, error) {
	items, err := p.list(key, n)
	if err != nil {
		return nil, err
	}
	var xs []float64
	for _, item := range items {
		if err := p.scalar(key, item); err != nil {
			return nil, err
		}
		x, err := strconv.ParseFloat(item.Value, 64)
		switch {
		case key == "hyper" && item.Value == "default":
			x = math.NaN()
		case err != nil || !(x >= least && x <= most) || math.IsInf(x, 0):
			return nil, p.errorf(item, "%s %s: want %s", key, item.Value, want)
		}
		xs = append(xs, x)
	}
	return xs, nil
}
