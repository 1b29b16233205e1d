package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"opl/train"
	"opl/train/experiment"
)

// problemFlags choose the problems of a grid, and how many runs go side by side.
type problemFlags struct {
	datasets []string
	data     string
	seeds    int
	seed     uint64
	jobs     int
}

func (f *problemFlags) add(fl *pflag.FlagSet, datasets []string) {
	bind(fl, &f.datasets, "dataset", datasets)
	bind(fl, &f.data, "data", "")
	bind(fl, &f.seeds, "seeds", 1)
	want(fl, "seeds", fmt.Sprintf("at least 1, at most %d", experiment.MostRuns), func() bool {
		return f.seeds >= 1 && f.seeds <= experiment.MostRuns
	})
	bind(fl, &f.seed, "seed", 1)
	addCount(fl, &f.jobs, "jobs", runtime.GOMAXPROCS(0))
}

func (f problemFlags) list() []uint64 {
	seeds := make([]uint64, f.seeds)
	for i := range seeds {
		seeds[i] = f.seed + uint64(i)
	}
	return seeds
}

// addSettings adds the flags of settings, whose values are the defaults: all of them for
// grids, or those of a single training.
func addSettings(fl *pflag.FlagSet, s *train.Settings, grid bool) {
	for _, e := range train.AllSettings() {
		if e.Grid && !grid {
			continue
		}
		add(fl, e.Field(s), e.Name, e.Help)
	}
}

// override replaces the settings of g whose flags were given. A noise that was given replaces those of the
// entries, too.
func override(fl *pflag.FlagSet, given train.Settings, g *experiment.Grid) {
	for _, e := range train.AllSettings() {
		if fl.Changed(e.Name) {
			e.Copy(&g.Settings, &given)
		}
	}
	if fl.Changed("noise") {
		g.Entries = slices.Clone(g.Entries)
		for i := range g.Entries {
			g.Entries[i].Noise = ""
		}
	}
}

// numbers reads the values of a flag, each once.
func numbers(flag string, values []string) ([]float64, error) {
	var xs []float64
	for _, s := range values {
		x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("--%s %q: want a number", flag, s)
		}
		if !slices.Contains(xs, x) {
			xs = append(xs, x)
		}
	}
	return xs, nil
}

// flagError names the flag of a setting out of range.
func flagError(err error) error {
	if bad, is := errors.AsType[*train.SettingError](err); is {
		return fmt.Errorf("--%w", bad)
	}
	return err
}

// leftOut collects what is not run. It is printed once all else is known to be right, so that an error stays one line.
type leftOut []string

// add adds what is not run to the line before if that has the same reason.
func (l *leftOut) add(what string, why error) {
	tail := fmt.Sprintf(": %v\n", why)
	if last := len(*l) - 1; last >= 0 {
		if before, same := strings.CutSuffix((*l)[last], tail); same {
			(*l)[last] = before + ", " + what + tail
			return
		}
	}
	*l = append(*l, "opl: left out "+what+tail)
}

func (l leftOut) print(w io.Writer) { fmt.Fprint(w, strings.Join(l, "")) }
