package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"opl/train/experiment"
	"opl/train/library"
)

func runCommand(lib library.Library) *cobra.Command {
	f := newGridFlags()
	cmd := &cobra.Command{
		Use:   "run grid.yaml",
		Short: "run a grid of experiments of one's own",
		Long: `run is reproduce for a grid that a file declares: every result is stored in
OUT/` + experiment.ResultsFile + ` as soon as it is there, and started again with the same settings run
runs only what is missing. Flags that are given replace what the file says.

` + experiment.GridExample + `
Objectives, weights, policies and noises are those of opl compare --help.`,
		Example: `  opl run my-grid.yaml --dry-run
  opl run my-grid.yaml --jobs 4 --out results`,
		Args: operands("a grid file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			grid, err := f.file(cmd, lib, args[0])
			if err != nil {
				return err
			}
			f.submit.grid = args[0]
			return f.run(cmd, lib, []namedGrid{grid}, nil)
		},
	}
	f.add(cmd.Flags(), lib, []string{"mnist"}, "")
	cmd.Flags().Lookup("out").Usage = "folder of results and report, or its URL (default: the file's name without " +
		".yaml)"
	return cmd
}

// file is the grid of a file, with what flags replace in it.
func (f *gridFlags) file(cmd *cobra.Command, lib library.Library, path string) (namedGrid, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return namedGrid{}, fmt.Errorf("grid: %w", err)
	}
	f.own = string(text)
	g, err := experiment.ParseGrid(path, text, lib)
	if err != nil {
		return namedGrid{}, err
	}
	if err := f.check(); err != nil {
		return namedGrid{}, err
	}
	given := cmd.Flags().Changed
	if given("dataset") {
		g.Datasets = f.datasets
	}
	if given("eta0") {
		if g.Eta0, err = numbers("eta0", f.eta0); err != nil {
			return namedGrid{}, err
		}
	}
	if !given("seeds") {
		f.seeds = len(g.Seeds)
	}
	if !given("seed") {
		f.seed = g.Seeds[0]
	}
	g.Seeds = f.list()
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if f.out == "" {
		f.out = name
	}
	return namedGrid{name, f.adapt(cmd, g)}, nil
}
