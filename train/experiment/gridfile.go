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

type gridParser struct {
	name string
	lib  library.Library
}

func (p gridParser) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.name, n.Line, fmt.Sprintf(format, args...))
}

type pair struct{ key, value *yaml.Node }

type reader func(key string, value *yaml.Node) error

// mapping reads a mapping whose keys are known, in the order of known for messages, and
// given once, and returns them.
func (p gridParser) mapping(n *yaml.Node, where string, known []string, readers map[string]reader) (map[string]pair,
	error) {
	if n.Kind != yaml.MappingNode {
		return nil, p.errorf(n, "%s: want keys and values, such as %s: ...", where, known[0])
	}
	given := map[string]pair{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if !slices.Contains(known, key.Value) {
			return nil, p.errorf(key, "%v", library.Unknown("key", key.Value, known))
		}
		if first, twice := given[key.Value]; twice {
			return nil, p.errorf(key, "%s is given twice, first in line %d", key.Value, first.key.Line)
		}
		given[key.Value] = pair{key, value}
		if err := readers[key.Value](key.Value, value); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// ParseGrid reads a grid from YAML, such as testdata/grid.yaml, with the names of lib. A single value stands for a list
// of one. name, that of the file, is in errors, which say the line. Keys are named as the flags of the command line.
func ParseGrid(name string, text []byte, lib library.Library) (Grid, error) {
	p := gridParser{name, lib}
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
	seeds, first := 1, 1
	known := []string{"runs", "dataset", "eta0", "seeds", "seed"}
	readers := map[string]reader{
		"runs":    p.entries(&g.Entries),
		"dataset": many(p, &g.Datasets, word),
		"eta0":    many(p, &g.Eta0, finite),
		"seeds":   one(p, &seeds, whole),
		"seed":    one(p, &first, whole),
	}
	for _, e := range train.AllSettings() {
		known, readers[e.Name] = append(known, e.Name), p.setting(e, &g.Settings)
	}
	given, err := p.mapping(top, "grid", known, readers)
	if err != nil {
		return g, err
	}
	var bad *train.SettingError
	switch err := g.Settings.Check(); {
	case errors.As(err, &bad):
		return g, p.errorf(given[bad.Key].value, "%v", bad)
	case seeds < 1 || seeds > MostRuns:
		return g, p.errorf(given["seeds"].value, "seeds %d: want 1 to %d", seeds, MostRuns)
	case first < 0:
		return g, p.errorf(given["seed"].value, "seed %d: want 0 or more", first)
	case len(g.Entries) == 0:
		return g, p.errorf(top, "no runs: want a list of objectives, such as runs: [{objectives: heuristic}]")
	}
	for s := range seeds {
		g.Seeds = append(g.Seeds, uint64(first+s))
	}
	return g, nil
}

func (p gridParser) setting(e train.Setting, s *train.Settings) reader {
	switch at := e.Field(s).(type) {
	case *int:
		return one(p, at, whole)
	case *float64:
		return one(p, at, finite)
	case *[]float64:
		return many(p, at, finite)
	case *bool:
		return one(p, at, truth)
	case *string:
		if at == &s.Noise {
			return one(p, at, name(p.noise))
		}
		return one(p, at, word)
	}
	panic("experiment: a setting of another type")
}

// syntax names the file and the line of an error of the YAML reader.
func (p gridParser) syntax(err error) error {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	if at, rest, ok := strings.Cut(strings.TrimPrefix(s, "line "), ": "); ok && strings.HasPrefix(s, "line ") {
		return fmt.Errorf("%s:%s: %s", p.name, at, rest)
	}
	return fmt.Errorf("%s: %s", p.name, s)
}

func (p gridParser) entries(entries *[]Entry) reader {
	return func(key string, n *yaml.Node) error {
		items, err := p.list(key, n)
		if err != nil {
			return err
		}
		for _, item := range items {
			var (
				e          Entry
				objectives []string
				weights    = []string{"clip"}
			)
			hyper := number(func(x float64) bool { return x >= 0 && x <= 1 }, "a number in [0, 1], or default")
			known := []string{"objectives", "weights", "hyper", "lambda", "penalty", "policy", "noise",
				"representation"}
			given, err := p.mapping(item, key, known, map[string]reader{
				"objectives": many(p, &objectives, name(p.lib.Objective)),
				"weights":    many(p, &weights, name(p.lib.Weight)),
				"hyper": many(p, &e.Hypers, func(key, text string) (float64, error) {
					if text == "default" {
						return math.NaN(), nil
					}
					return hyper(key, text)
				}),
				"lambda": many(p, &e.Lambdas, name(library.ParseLambda)),
				"penalty": many(p, &e.Penalties, number(func(x float64) bool { return x >= 0 },
					"a number of at least 0")),
				"policy":         one(p, &e.Policy, name(p.lib.Policy)),
				"noise":          one(p, &e.Noise, name(p.noise)),
				"representation": many(p, &e.Representations, name(p.lib.Representation)),
			})
			if err != nil {
				return err
			}
			if len(objectives) == 0 {
				return p.errorf(item, "runs: an entry without objectives")
			}
			takes := map[string]bool{}
			for _, name := range objectives {
				o, _ := p.lib.Objective(name)
				takes["lambda"], takes["penalty"] = takes["lambda"] || o.HasLambda, takes["penalty"] || o.HasPenalty
			}
			for _, key := range []string{"lambda", "penalty"} {
				if at, is := given[key]; is && !takes[key] {
					return p.errorf(at.key, "%s: none of the objectives (%s) takes one", key,
						strings.Join(objectives, ", "))
				}
			}
			for _, e.Objective = range objectives {
				for _, e.Weight = range weights {
					*entries = append(*entries, e)
				}
			}
		}
		return nil
	}
}

// noise finds a noise of the library, or none.
func (p gridParser) noise(name string) (library.Noise, error) {
	if name == library.Quadrature {
		return library.Noise{}, nil
	}
	return p.lib.Noise(name)
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

// one reads a single value, whose text parse understands.
func one[T any](p gridParser, to *T, parse func(key, text string) (T, error)) reader {
	return func(key string, n *yaml.Node) (err error) {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return p.errorf(n, "%s: want a single value", key)
		}
		if *to, err = parse(key, n.Value); err != nil {
			return p.errorf(n, "%v", err)
		}
		return nil
	}
}

// many reads a list of such values, or one of them.
func many[T any](p gridParser, to *[]T, parse func(key, text string) (T, error)) reader {
	return func(key string, n *yaml.Node) error {
		items, err := p.list(key, n)
		*to = make([]T, len(items))
		for i, item := range items {
			if err == nil {
				err = one(p, &(*to)[i], parse)(key, item)
			}
		}
		return err
	}
}

func word(_, text string) (string, error) { return text, nil }

// name reads a name that find knows.
func name[T any](find func(string) (T, error)) func(key, text string) (string, error) {
	return func(key, text string) (string, error) {
		if _, err := find(text); err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
		return text, nil
	}
}

func whole(key, text string) (int, error) {
	i, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s %s: want a whole number", key, text)
	}
	return i, nil
}

func truth(key, text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, fmt.Errorf("%s: want true or false", key)
	}
	return text == "true", nil
}

var finite = number(func(float64) bool { return true }, "a number")

// number reads a finite number that is ok.
func number(ok func(float64) bool, want string) func(key, text string) (float64, error) {
	return func(key, text string) (float64, error) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || !ok(x) {
			return 0, fmt.Errorf("%s %s: want %s", key, text, want)
		}
		return x, nil
	}
}
