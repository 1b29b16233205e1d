package cli

import (
	"cmp"
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
	cmd, fl := command("run", operands("a grid file"), func(cmd *cobra.Command, args []string) error {
		grid, err := f.file(cmd, lib, args[0])
		if err != nil {
			return err
		}
		f.submit.grid = args[0]
		return f.run(cmd, lib, []namedGrid{grid}, nil)
	})
	f.add(fl, []string{"mnist"}, "")
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
	f.out = cmp.Or(f.out, name)
	return namedGrid{name, f.adapt(cmd, g)}, nil
}
