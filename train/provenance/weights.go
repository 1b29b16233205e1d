package provenance

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"opl/graph/kernel"
	"opl/train/logs"
)

// weights are sums of the weights π/π₀ of rows that certify, by which they are tested to average 1. Those of
// shards are added.
type weights struct {
	Rows     float64 `json:"rows"`
	Clusters float64 `json:"clusters"`
	Sum      float64 `json:"sum"`    // Σ m over clusters, m the mean of a cluster's weights
	Square   float64 `json:"square"` // Σ m²
	Known    float64 `json:"known"`  // what Σ m² − 1 must be at least, see sample.spread
	All      bool    `json:"all"`    // π and π₀ of all actions are known of some row
	Least    float64 `json:"least"`  // propensity that was logged; 0: no row
	// Of rows of which π is known and π₀ is not, by ⌊log₂ e⌋, see sample.missing: how many there are, and Σ e.
	Rare [64]struct {
		Rows float64 `json:"n,omitempty"`
		Sum  float64 `json:"sum,omitempty"`
	} `json:"rare"`
}

// weigh sums the weights of the clusters of samples; none where π is not known of logged actions.
func weigh(samples ...sample) (out weights) {
	var sum, square, known kernel.Sum
	for _, s := range samples {
		if s.logged == nil {
			continue
		}
		clusters := s.Clusters()
		place := map[int32]int{} // of a cluster among those below, from 1
		var order [][3]float64   // a cluster's rows, Σ w and Σ of what is known
		add := func(at [3]float64) {
			m := at[1] / at[0]
			sum.Add(m)
			square.Add(m * m)
			known.Add(at[2] / (at[0] * at[0])) // of rows that do not depend on one another
			out.Clusters++
		}
		for _, r := range s.rows {
			p := s.log.Propensity[r]
			row := [3]float64{1, s.logged[r] / p}
			if s.spread != nil {
				row[2] = max(0, s.spread[r]-1)
				out.All = out.All || s.spread[r] > 0
			}
			if clusters == nil {
				add(row)
			} else if u := clusters[r]; place[u] == 0 {
				order = append(order, row)
				place[u] = len(order)
			} else {
				for i, v := range row {
					order[place[u]-1][i] += v
				}
			}
			if out.Rows++; out.Least == 0 || p < out.Least {
				out.Least = p
			}
			if s.missing != nil && s.missing[r] > 0 {
				bin := &out.Rare[max(0, min(63, math.Ilogb(s.missing[r])))]
				bin.Rows++
				bin.Sum += s.missing[r]
			}
		}
		for _, at := range order {
			add(at)
		}
	}
	out.Sum, out.Square, out.Known = sum.Value(), square.Value(), known.Value()
	return out
}

// add adds those of other clusters.
func (w *weights) add(v weights) {
	w.Rows, w.Clusters = w.Rows+v.Rows, w.Clusters+v.Clusters
	w.Sum, w.Square, w.Known = w.Sum+v.Sum, w.Square+v.Square, w.Known+v.Known
	w.All = w.All || v.All
	if w.Least == 0 || v.Least > 0 && v.Least < w.Least {
		w.Least = v.Least
	}
	for i := range w.Rare {
		w.Rare[i].Rows += v.Rare[i].Rows
		w.Rare[i].Sum += v.Rare[i].Sum
	}
}

// farFromOne says that the weights, whose mean is 1 for true propensities and a policy
// that the rows had no part in, and from 1/Γ to Γ for those known up to Γ, are far from it: by more than 5 standard
// errors, and 5 %. Means over clusters count as one. Few rows have the largest weights, and those that have none know
// nothing of the error: it is at least what π and π₀ of all actions say, or, where these are not known, what it is
// if the weight that is missing is that of the rarest actions that the policy plays, as often as it plays them. An
// action is as rare as the least propensity with which it was logged, or 1/n; where π is not known of all actions,
// any may be as rare as the rarest that was logged.
func (w *weights) farFromOne(gamma float64) string {
	if w.Clusters < 100 {
		return ""
	}
	n, m := w.Clusters, w.Sum/w.Clusters
	least := w.Known
	if !w.All && m < 1 {
		missing, squares := w.Rows*(1-m), 0.
		fill := func(rows, each float64) {
			take := min(rows, missing)
			missing -= take
			squares += take * each
		}
		rows := w.Rows
		for _, bin := range w.Rare {
			rows -= bin.Rows
		}
		fill(rows, 1/w.Least)
		for _, bin := range slices.Backward(w.Rare[:]) {
			if bin.Rows > 0 {
				fill(bin.Rows, bin.Sum/bin.Rows)
			}
		}
		least = squares * n / w.Rows
	}
	se := math.Sqrt(max(w.Square-n*m*m, least)) / n
	if off := math.Abs(m - max(1/gamma, min(gamma, m))); !(off > 0.05 && off > 5*se) {
		return ""
	}
	return fmt.Sprintf("the weights π/π₀ of the rows that certify average %.3g ± %.2g, not 1: their propensities "+
		"are wrong, or these rows had a part in the policy", m, logs.Half(se))
}

// thin reports that the weight that is missing may be of draws as rare as the rarest that was logged, in whatever row:
// fewer of these would be expected than five standard errors, and so they may be missing by chance.
func (w *weights) thin() bool {
	missing := w.Clusters - w.Sum
	return missing > 0 && missing*w.Least <= 25
}

// rarities are 1 over how rare each action of a log is taken to be.
func rarities(log *logs.Log) []float64 {
	of := make([]float64, log.K())
	for i, a := range log.Action {
		of[a] = max(of[a], 1/log.Propensity[i])
	}
	most := max(float64(log.Len()), slices.Max(of))
	for a := range of {
		of[a] = cmp.Or(of[a], most)
	}
	return of
}
