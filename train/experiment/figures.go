package experiment

import (
	"math"
	"slices"

	"opl/objectives"
	"opl/train"
	"opl/train/library"
)

// Figure is one of the paper's, as the grid of runs that it is drawn from. A grid
// without data sets is for any.
type Figure struct {
	Name  string // fig1 to fig6
	Title string
	Grid  Grid
}

// PaperDatasets lists the data sets of the paper.
func PaperDatasets() []string { return []string{"mnist", "fashion"} }

// Figures declares the figures of Unified PAC-Bayesian Study of Pessimism for
// Offline Policy Learning (UAI 2024). The first seed alone is in the grids.
//
// fig1 has Corollary 1 under both choices of λ. fig2 has the paper's independent
// draws. The η₀ of fig5 and fig6 are not in the paper: fig5 has those of fig2, fig6
// those of all others.
func Figures() []Figure {
	def := []float64{math.NaN()}
	open := []float64{.1, .3, .5, .7, .9} // for the values in [0, 1] that the paper leaves open
	grid := func(from, to float64, entries ...Entry) Grid {
		return Grid{Eta0: steps(from, to), Seeds: []uint64{1}, Entries: entries, Settings: train.DefaultSettings()}
	}
	each := func(e Entry, weights ...string) (entries []Entry) {
		e.Hypers = open
		for _, e.Weight = range weights {
			entries = append(entries, e)
		}
		return entries
	}
	tight := grid(-5, 10, Entry{Objective: "corollary1", Weight: "clip", Hypers: slices.Concat(open, def)})
	tight.Datasets = []string{"mnist"}
	penalties := []float64{1e-5, 1e-4, 1e-3}
	return []Figure{
		{"fig1", "Reward of policies learned by PAC-Bayes bounds, Clip", grid(0, 10,
			Entry{Objective: "london", Weight: "clip", Hypers: def},
			Entry{Objective: "sakhi1", Weight: "clip", Hypers: def},
			Entry{Objective: "sakhi2", Weight: "clip", Hypers: def},
			Entry{Objective: "corollary1", Weight: "clip", Hypers: def, Lambdas: []string{"star", "authors"}})},
		{"fig2", "Reward of policies learned by the bound of Theorem 1", grid(-5, 5,
			each(Entry{Objective: "theorem1", Noise: "iid"}, "clip", "har", "ix", "es")...)},
		{"fig3", "Reward of policies learned by the heuristic", grid(-5, 5,
			each(Entry{Objective: "heuristic"}, "clip", "har", "ix", "es")...)},
		{"fig4", "Reward of policies learned by the bound of Corollary 1", grid(-5, 5,
			each(Entry{Objective: "corollary1"}, "clip", "ix", "es")...)},
		{"fig5", "The heuristic and the L2 heuristic, Clip", grid(-5, 5,
			Entry{Objective: "heuristic", Weight: "clip", Hypers: def, Penalties: penalties},
			Entry{Objective: "l2", Weight: "clip", Hypers: def, Penalties: penalties})},
		{"fig6", "Corollary 1's bound at the learned policy and its true risk, Clip", tight},
	}
}

// steps returns tenths, from and to included.
func steps(from, to float64) (xs []float64) {
	for i := from; i <= to; i++ {
		xs = append(xs, i/10)
	}
	return xs
}

// WithHypers returns the grid with other hyperparameters in place of its numbers;
// defaults stay.
func (g Grid) WithHypers(hypers []float64) Grid {
	g.Entries = slices.Clone(g.Entries)
	for i, e := range g.Entries {
		defaults := slices.DeleteFunc(slices.Clone(e.Hypers), func(h float64) bool { return !math.IsNaN(h) })
		if len(defaults) < len(e.Hypers) {
			g.Entries[i].Hypers = slices.Concat(hypers, defaults)
		}
	}
	return g
}

// Covers reports whether a run is on a data set and at an η₀ of the grid.
func (g Grid) Covers(r train.Run) bool {
	return (len(g.Datasets) == 0 || slices.Contains(g.Datasets, r.Dataset)) &&
		slices.ContainsFunc(g.Eta0, func(eta float64) bool { return math.Abs(eta-r.Eta0) < 1e-9 })
}

// Match reports whether a record belongs to the figure. The training settings,
// the seed and the noise may be any, and so may a number for a hyperparameter that
// the figure varies.
func (f Figure) Match(rec train.Record) bool {
	return f.Grid.Covers(rec.Run) && (rec.Objective == train.LoggingPolicy ||
		slices.ContainsFunc(f.Grid.Entries, func(e Entry) bool { return e.match(rec) }))
}

// match reports whether a record is of an entry: of its default hyperparameter, or of
// any number where one is given.
func (e Entry) match(rec train.Record) bool {
	lambda := slices.Contains(e.Lambdas, rec.Lambda)
	if len(e.Lambdas) == 0 {
		lambda = rec.Lambda == "star" || rec.Lambda == ""
	}
	penalty := len(e.Penalties) == 0 || slices.Contains(e.Penalties, float64(rec.Penalty))
	return rec.Objective == e.Objective && rec.Weight == e.Weight && lambda && penalty &&
		slices.ContainsFunc(e.Hypers, func(h float64) bool { return math.IsNaN(h) == HasDefaultHyper(rec) })
}

// Has reports whether records suffice to draw the figure: on some data set, at
// two η₀ or more, each of its entries.
func (f Figure) Has(recs []train.Record) bool {
	etas := map[string]map[float64]bool{} // by data set
	for _, r := range recs {
		if r.Objective != train.LoggingPolicy && f.Match(r) {
			if etas[r.Dataset] == nil {
				etas[r.Dataset] = map[float64]bool{}
			}
			etas[r.Dataset][r.Eta0] = true
		}
	}
	for data, at := range etas {
		if len(at) > 1 && !slices.ContainsFunc(f.Grid.Entries, func(e Entry) bool { return !e.in(recs, data) }) {
			return true
		}
	}
	return false
}

// in reports whether records of a data set show an entry: every λ and penalty, the
// default hyperparameter and a number if it has such.
func (e Entry) in(recs []train.Record, data string) bool {
	for _, e.Lambdas = range each(e.Lambdas) {
		for _, e.Penalties = range each(e.Penalties) {
			for _, e.Hypers = range each(e.Hypers) {
				shows := func(r train.Record) bool { return r.Dataset == data && e.match(r) }
				if !slices.ContainsFunc(recs, shows) {
					return false
				}
			}
		}
	}
	return true
}

// each makes a list of each value. Without values it makes one empty list.
func each[T any](xs []T) [][]T {
	if len(xs) == 0 {
		return [][]T{nil}
	}
	return slices.Collect(slices.Chunk(xs, 1))
}

// HasDefaultHyper reports whether a record's weight, one of opl's own, has its
// default hyperparameter n^(−1/4), or 1 − n^(−1/4).
func HasDefaultHyper(rec train.Record) bool {
	w, err := library.Standard().Weight(rec.Weight)
	return err == nil && math.Abs(float64(rec.Hyper)-objectives.DefaultHyper(rec.N, w.IPSAt)) < 1e-9
}
