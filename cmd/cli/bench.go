package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/features"
	"opl/train/bench"
	"opl/train/bench/worlds"
	"opl/train/dataset"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/pipeline"
	"opl/train/report/render"
)

type benchFlags struct {
	bench.Options
	dataset, data, format, model string
	estimators, loggings         []string
	plot                         plotFlag
	learning                     learningFlags
}

func benchCommand(lib library.Library) *cobra.Command {
	var f benchFlags
	list := estimatorsOf(lib)
	cmd, fl := command("bench", operands(), func(cmd *cobra.Command, _ []string) error {
		if f.learning.learning {
			return f.learning.run(cmd, lib, &f)
		}
		return f.run(cmd, list, modelsOf(lib))
	})
	bind(fl, &f.data, "data", "")
	bind(fl, &f.dataset, "dataset", "mnist")
	bind(fl, &f.estimators, "estimators", nil)
	bind(fl, &f.loggings, "logging", nil)
	bind(fl, &f.Rows, "rows", []int{250, 1000, 4000})
	bind(fl, &f.Seeds, "seeds", 100)
	want(fl, "seeds", "at least 2, at most a million", func() bool { return f.Seeds >= 2 && f.Seeds <= 1e6 })
	bind(fl, &f.Seed, "seed", 1)
	bind(fl, &f.Noise, "noise", 0.1)
	want(fl, "noise", "a number in [0, 0.5)", func() bool { return f.Noise >= 0 && f.Noise < 0.5 })
	addProbability(fl, &f.Delta, "delta", 0.05)
	oneOf(fl, &f.Interval, "interval", texts(ope.Methods(), methodName)...)
	bind(fl, &f.model, "reward-model", ope.RewardModels()[0].Name)
	addTableFormat(fl, &f.format)
	f.plot.add(fl)
	f.learning.add(cmd)
	addCount(fl, &f.Threads, "jobs", runtime.GOMAXPROCS(0))
	return cmd
}

func rewardModels() string {
	return listed(ope.RewardModels(), func(m ope.RewardModel) string { return m.Name })
}

func (f *benchFlags) run(cmd *cobra.Command, list []ope.Estimator, models modelsByName) (err error) {
	f.Estimators = ope.Default(list, false)
	if f.estimators != nil {
		if f.Estimators, err = pickEstimators(f.estimators, list); err != nil {
			return err
		}
	}
	for _, want := range f.loggings {
		all := bench.Loggings()
		i := slices.IndexFunc(all, func(l bench.Logging) bool { return l.Name == want })
		if i < 0 {
			return fmt.Errorf("--logging %s: want %s", want, listed(all, func(l bench.Logging) string {
				return l.Name
			}))
		}
		f.Loggings = append(f.Loggings, all[i])
	}
	if f.Model, err = models(cmd.Context(), f.model); err != nil {
		return fmt.Errorf("--reward-model %s: want %s, or a representation such as mlp=64: %w", f.model,
			rewardModels(), err)
	}
	if len(f.Rows) == 0 || slices.Min(f.Rows) < 20 || slices.Max(f.Rows) > 1e7 {
		return fmt.Errorf("--rows %v: want numbers of at least 20, at most ten million", f.Rows)
	}
	if err := writable("plot", f.plot.path, ""); err != nil {
		return err
	}
	data, err := dataset.Open(f.dataset, f.data)
	if err != nil {
		return err
	}
	r, err := bench.Run(cmd.Context(), data, f.Options)
	if err != nil {
		return err
	}
	return conclusion{answer: r, text: tabled(render.Bench, f.format, r),
		plot: plotted(f.plot, render.BenchFigure, r)}.write(cmd, f.format, nil)
}

// learningFlags are those of bench --learning.
type learningFlags struct {
	learning         bool
	worlds, learners []string
	classes          []string
	temperature      float64
	peer             string
}

func (f *learningFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	bind(fl, &f.learning, "learning", false)
	bind(fl, &f.worlds, "worlds", nil)
	bind(fl, &f.classes, "classes", nil)
	bind(fl, &f.temperature, "temperature", 1)
	want(fl, "temperature", "a number in [0, 100]", func() bool { return f.temperature >= 0 && f.temperature <= 100 })
	bind(fl, &f.learners, "learner", nil)
	bind(fl, &f.peer, "peer", "")
}

func worldName(w worlds.World) string { return w.Name }

// run measures learners on logs of the worlds.
func (f *learningFlags) run(cmd *cobra.Command, lib library.Library, b *benchFlags) error {
	o := worlds.Options{Seeds: b.Seeds, Seed: b.Seed, Rows: b.Rows, Threads: b.Threads, Peer: strings.Fields(f.peer)}
	if !cmd.Flags().Changed("seeds") {
		o.Seeds = 10
	}
	if !cmd.Flags().Changed("rows") {
		o.Rows = nil
	}
	for _, name := range f.worlds {
		all := slices.Concat(worlds.All(), worlds.OfNumbers())
		i := slices.IndexFunc(all, func(w worlds.World) bool { return w.Name == name })
		if i < 0 {
			return fmt.Errorf("--worlds %s: want %s", name, listed(all, worldName))
		}
		o.Worlds = append(o.Worlds, all[i])
	}
	for _, path := range f.classes {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		w, err := worlds.ReadClasses(path, file, f.temperature)
		file.Close()
		if err != nil {
			return err
		}
		o.Worlds = append(o.Worlds, w)
	}
	o.Learners = []worlds.Learner{learner(lib, "opl", nil)}
	for _, name := range f.learners {
		o.Learners = append(o.Learners, learner(lib, name, []string{name}))
	}
	cells, err := worlds.Measure(cmd.Context(), o)
	if err != nil {
		return err
	}
	return conclusion{answer: map[string]any{"cells": cells},
		text: tabled(render.Worlds, b.format, cells)}.write(cmd, b.format, nil)
}

// learner learns as train does by default, or with some of its learners alone.
func learner(lib library.Library, name string, only []string) worlds.Learner {
	learn := func(ctx context.Context, log *logs.Log, seed uint64) (l worlds.Learned, err error) {
		got, err := pipeline.Learn(ctx, lib, log, pipeline.Options{Floor: defaultFloor, Seed: seed, Learners: only,
			Scaling: logs.Scaling{Intercept: true}})
		if err != nil {
			return l, err
		}
		l = worlds.Learned{Guaranteed: math.NaN(), Gain: math.NaN(), How: got.Training.Learner}
		if got.Worse && !got.Undecided {
			return l, nil // train writes no policy: what plays goes on
		}
		p := got.Served
		if l.Policy = p.Propensities; log.Numbers != nil {
			l.How = fmt.Sprintf("%d bins, %s", p.File().Numbers.Bins(), l.How)
			l.Policy = func(dst []float64, x []features.Value) error {
				pi := make([]float64, p.Len())
				err := p.Propensities(pi, x)
				p.File().Numbers.Spread(dst, pi, log.Numbers.Of)
				return err
			}
		}
		if c := got.Certificate; c != nil {
			l.Guaranteed, l.Gain = c.Guaranteed(), c.Statement().GainAtLeast()
		}
		return l, nil
	}
	return worlds.Learner{Name: name, Learn: learn}
}
