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

	"opl/train/experiment"
)

// problemFlags say which problems are run, and how many at a time.
type problemFlags struct {
	datasets []string
	data     string
	seeds    int
	seed     uint64
	jobs     int
}

func (f *problemFlags) add(fl *pflag.FlagSet, datasets []string) {
	fl.StringSliceVar(&f.datasets, "dataset", datasets, "data sets: mnist, fashion")
	fl.StringVar(&f.data, "data", "", "folder of the data set's four files (default: $OPL_DATA, then the usual places)")
	fl.IntVar(&f.seeds, "seeds", 1, "number of seeds, counted from --seed")
	fl.Uint64Var(&f.seed, "seed", 1, "first seed")
	fl.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "runs side by side")
}

func (f problemFlags) check() error {
	switch {
	case f.seeds < 1 || f.seeds > experiment.MostRuns:
		return fmt.Errorf("--seeds %d: want at least 1, at most %d", f.seeds, experiment.MostRuns)
	case f.jobs < 1:
		return fmt.Errorf("--jobs %d: want at least 1", f.jobs)
	}
	return nil
}

// list lists the seeds.
func (f problemFlags) list() []uint64 {
	seeds := make([]uint64, f.seeds)
	for i := range seeds {
		seeds[i] = f.seed + uint64(i)
	}
	return seeds
}

// addSettings adds the flags of settings, whose values are the defaults.
func addSettings(fl *pflag.FlagSet, s *experiment.Settings, lib experiment.Library) {
	addTraining(fl, s, lib)
	fl.IntVar(&s.Limit, "limit", s.Limit, "use this many training examples, 0: all")
	fl.Float64Var(&s.PriorSplit, "prior-split", s.PriorSplit, "share of the log that learns the prior, which the bounds then do not see (certified: 0.5)")
	fl.BoolVar(&s.Certify, "certify", s.Certify, "guarantee of each policy with a posterior, with probability 1-δ")
}

// addTraining adds those of one training.
func addTraining(fl *pflag.FlagSet, s *experiment.Settings, lib experiment.Library) {
	fl.Float64Var(&s.Delta, "delta", s.Delta, "failure probability δ of the bounds")
	fl.StringVar(&s.Noise, "noise", s.Noise, "noise of sampled policies (default: "+lib.Noises[0].Name+", and quadrature for gaussian)")
	fl.IntVar(&s.Samples, "samples", s.Samples, "noise draws an example, S")
	fl.IntVar(&s.Epochs, "epochs", s.Epochs, "passes over the log")
	fl.Float64Var(&s.LearningRate, "lr", s.LearningRate, "learning rate of Adam")
	fl.IntVar(&s.BatchSize, "batch-size", s.BatchSize, "rows of a minibatch")
	fl.StringVar(&s.Dtype, "dtype", s.Dtype, "element type of training: float32 or float64")
	fl.StringVar(&s.Schedule, "schedule", s.Schedule, "learning rate over the training: constant or linear, which falls to 0")
	fl.Float64SliceVar(&s.PriorScales, "prior-scale", s.PriorScales, "scales s of the prior N(·, s²I), fixed in advance; the best guarantee chooses (default 1; certified: 1,0.5,0.3,0.2,0.1,0.05)")
}

// override puts the settings whose flags were given into g.
func override(fl *pflag.FlagSet, given experiment.Settings, g *experiment.Grid) {
	s := &g.Settings
	fl.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "delta":
			s.Delta = given.Delta
		case "noise":
			s.Noise = given.Noise
			g.Entries = slices.Clone(g.Entries)
			for i := range g.Entries {
				g.Entries[i].Noise = ""
			}
		case "samples":
			s.Samples = given.Samples
		case "epochs":
			s.Epochs = given.Epochs
		case "lr":
			s.LearningRate = given.LearningRate
		case "batch-size":
			s.BatchSize = given.BatchSize
		case "limit":
			s.Limit = given.Limit
		case "dtype":
			s.Dtype = given.Dtype
		case "schedule":
			s.Schedule = given.Schedule
		case "prior-split":
			s.PriorSplit = given.PriorSplit
		case "prior-scale":
			s.PriorScales = given.PriorScales
		case "certify":
			s.Certify = given.Certify
		}
	})
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
	var bad *experiment.SettingError
	if errors.As(err, &bad) {
		return fmt.Errorf("--%w", bad)
	}
	return err
}

// leftOut collects what is not run, to be said once all else is known to be right.
type leftOut []string

func (l *leftOut) add(what string, why error) {
	*l = append(*l, fmt.Sprintf("opl: left out %s: %v\n", what, why))
}

func (l leftOut) print(w io.Writer) { fmt.Fprint(w, strings.Join(l, "")) }
