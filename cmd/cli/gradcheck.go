package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
)

// tolerance is the error above which gradcheck fails.
const tolerance = 1e-5

func gradcheckCommand(lib library.Library) *cobra.Command {
	var seed uint64
	var only []string
	cmd, fl := command("gradcheck", operands(), func(cmd *cobra.Command, _ []string) error {
		return gradcheck(cmd, lib, only, seed)
	})
	bind(fl, &seed, "seed", 1)
	bind(fl, &only, "objectives", nil)
	addVerbose(fl)
	return cmd
}

func gradcheck(cmd *cobra.Command, lib library.Library, only []string, seed uint64) error {
	if only != nil {
		all := lib
		lib.Objectives = nil
		for _, name := range only {
			o, err := all.Objective(name)
			if err != nil {
				return fmt.Errorf("--objectives: %w", err)
			}
			lib.Objectives = append(lib.Objectives, o)
		}
	}
	runs, err := combinations(lib)
	if err != nil {
		return err
	}
	verbose, _ := cmd.Flags().GetBool("verbose")
	checked, failed := 0, 0
	largest, of := 0., "none"
	var lines strings.Builder
	for _, r := range runs {
		c, _, err := lib.Config(r, 1)
		if err != nil {
			return err
		}
		for _, offering := range objectives.Offerings() {
			name := combination(r)
			if offering != objectives.Plain {
				name += ", of " + string(offering)
				if c.Policy.HasPosterior() {
					break
				}
			}
			rep, err := objectives.GradCheckItems(offering, c.Representation, c.Objective, c.Weight, c.Policy, seed)
			if _, unfit := errors.AsType[*objectives.UnfitError](err); unfit {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if checked++; rep.Error >= largest {
				largest, of = rep.Error, name
			}
			right := rep.Error <= tolerance
			if !right {
				failed++
				name += "  WRONG: " + rep.String()
			}
			if verbose || !right {
				fmt.Fprintf(&lines, "%8.1e  %s\n", rep.Error, name)
			}
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d combinations checked, %d above %v; the largest error is %.1e, of %s\n%s",
		checked, failed, tolerance, largest, of, lines.String())
	if failed > 0 {
		return fmt.Errorf("%d of %d gradients are off by more than %v", failed, checked, tolerance)
	}
	return nil
}

// combinations are every objective × choice of λ × weight (at 0, 0.3 and 1) × policy × noise
// of a library that has a meaning, with the few draws that a check needs.
func combinations(lib library.Library) ([]train.Run, error) {
	g := experiment.Grid{Datasets: []string{""}, Eta0: []float64{0}, Seeds: []uint64{0},
		Settings: train.DefaultSettings()}
	g.Settings.Samples = 3
	e := experiment.Entry{Hypers: []float64{0, 0.3, 1}, Lambdas: []string{"star", "authors", "0.01"}}
	for _, o := range lib.Objectives {
		if o.Recipe { // which is made of others
			continue
		}
		for _, w := range lib.Weights {
			for _, p := range lib.Policies {
				if p.Plays {
					continue
				}
				e.Objective, e.Weight, e.Policy, e.Noise = o.Name, w.Name, p.Name, library.Quadrature
				if !p.Make(0, nil, false).Noisy() {
					g.Entries = append(g.Entries, e)
				}
				for _, n := range lib.Noises {
					e.Noise = n.Name()
					g.Entries = append(g.Entries, e)
				}
			}
		}
	}
	runs, err := g.Runs(lib, func(string, error) {})
	if err != nil {
		return nil, err
	}
	// Through layers: every objective and weight with point policies.
	g.Entries = slices.DeleteFunc(g.Entries, func(e experiment.Entry) bool {
		p, _ := lib.Policy(e.Policy)
		return p.Make(0, nil, false).HasPosterior()
	})
	for i := range g.Entries {
		g.Entries[i].Hypers = []float64{0.3}
	}
	for _, r := range lib.Representations {
		g.Settings.Representation = strings.TrimSuffix(r.Name+"="+r.Check, "=")
		layered, err := g.Runs(lib, func(string, error) {})
		if unfit := (*objectives.UnfitError)(nil); err != nil && !errors.As(err, &unfit) { // of posteriors alone
			return nil, err
		}
		runs = append(runs, layered...)
	}
	return slices.DeleteFunc(runs, func(r train.Run) bool { return r.Objective == train.LoggingPolicy }), err
}

func combination(r train.Run) string {
	s := r.Objective
	if r.Lambda != "" {
		s += " (λ " + r.Lambda + ")"
	}
	if r.Weight != "" {
		s += " × " + r.Weight
		if r.Hyper.Valid() {
			s += "=" + r.Hyper.String()
		}
	}
	s += " × " + r.Policy
	if r.Representation != "" {
		s += " of " + r.Representation
	}
	if r.Noise != "" {
		s += ", " + r.Noise
	}
	return s
}
