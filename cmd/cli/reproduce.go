package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opl/train/experiment"
	"opl/train/library"
)

func reproduceCommand(lib library.Library) *cobra.Command {
	figures := texts(experiment.Figures(), func(f experiment.Figure) string { return f.Name })
	f := newGridFlags()
	cmd, fl := command("reproduce", some("figures"), func(cmd *cobra.Command, args []string) error {
		grids, left, err := f.figures(cmd, args)
		if err != nil {
			return err
		}
		return f.run(cmd, lib, grids, left)
	})
	cmd.ValidArgs = append([]string{"all"}, figures...)
	f.add(fl, experiment.PaperDatasets(), "reproduction")
	return cmd
}

// figures are the grids of the figures of the given names.
func (f *gridFlags) figures(cmd *cobra.Command, names []string) (grids []namedGrid, left leftOut, err error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if !slices.Contains(cmd.ValidArgs, name) {
			return nil, nil, library.Unknown("figure", name, cmd.ValidArgs)
		}
	}
	eta0, err := numbers("eta0", f.eta0)
	if err != nil {
		return nil, nil, err
	}
	used := map[float64]bool{}
	for _, fig := range experiment.Figures() {
		if !slices.Contains(names, "all") && !slices.Contains(names, fig.Name) {
			continue
		}
		g := fig.Grid
		if g.Datasets = f.datasets; fig.Grid.Datasets != nil {
			g.Datasets = both(f.datasets, fig.Grid.Datasets)
		}
		if len(eta0) > 0 {
			g.Eta0 = both(eta0, g.Eta0)
		}
		switch {
		case len(g.Datasets) == 0:
			left.add(fig.Name, fmt.Errorf("it is of %s alone", strings.Join(fig.Grid.Datasets, ", ")))
			continue
		case len(g.Eta0) == 0:
			left.add(fig.Name, fmt.Errorf("its η₀ are %v", fig.Grid.Eta0))
			continue
		}
		for _, eta := range g.Eta0 {
			used[eta] = true
		}
		g.Seeds = f.list()
		grids = append(grids, namedGrid{fig.Name, f.adapt(cmd, g)})
	}
	for _, eta := range eta0 {
		if !used[eta] {
			return nil, nil, fmt.Errorf("--eta0 %v: no figure asked for has it", eta)
		}
	}
	if len(grids) == 0 {
		return nil, nil, fmt.Errorf("nothing is left to run: %s", strings.TrimPrefix(strings.Join(left, ""), "opl: "))
	}
	return grids, left, nil
}

// both lists what is in a and b, in the order of a.
func both[T comparable](a, b []T) []T {
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool { return !slices.Contains(b, x) })
}

// adapt puts the settings and hyperparameters that were given into a grid.
func (f *gridFlags) adapt(cmd *cobra.Command, g experiment.Grid) experiment.Grid {
	override(cmd.Flags(), f.settings, &g)
	if len(f.hypers) > 0 {
		g = g.WithHypers(f.hypers)
	}
	return g
}

func (f *gridFlags) check() error {
	for _, h := range f.hypers {
		if math.IsNaN(h) || h < 0 || h > 1 {
			return fmt.Errorf("--hyper %v: want numbers in [0, 1]", h)
		}
	}
	if len(f.datasets) == 0 {
		return fmt.Errorf("--dataset wants at least one value")
	}
	return nil
}
