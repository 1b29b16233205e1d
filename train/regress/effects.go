package regress

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"opl/graph/kernel/workers"
)

// effect is a coefficient of a column of 0 and 1, and the rows that it changes, of a group or of all. Laplace's method
// takes effects of few rows for smaller than they are: with one reward of 0 or 1 an effect, which tells nothing of
// scales, it finds scales of 0.
type effect struct {
	column, group    int // group everyGroup: the shared effect
	rows             []int32
	square, variance float64 // what [effect.moments] adds to Laplace's
}

const everyGroup = -1

// effects are those of the strata of which a row has one column at most, and no value but 0 and 1: categories, and
// products of two.
func (h *Hierarchy) effects() (all []effect) {
	columns := map[int]int{} // by stratum
	for _, s := range h.Stratum {
		columns[s]++
	}
	in := map[int][]int32{} // by stratum, the column of each row; none: -1
	for s, count := range columns {
		if count > 1 {
			in[s] = slices.Repeat([]int32{-1}, len(h.Group))
		}
	}
	put := func(i, j int, v float64) {
		switch column := in[h.Stratum[j]]; {
		case column == nil:
		case v == 1 && column[i] < 0:
			column[i] = int32(j)
		default:
			delete(in, h.Stratum[j])
		}
	}
	for i := range h.Group {
		for j, v := range h.X.row(i) {
			if v != 0 {
				put(i, j, v)
			}
		}
		for _, c := range h.Codes.row(i) {
			if c >= 0 {
				put(i, h.X.Width+int(c), 1)
			}
		}
	}
	for _, column := range in {
		rows := make([]int32, 0, len(h.Group))
		for i, j := range column {
			if j >= 0 {
				rows = append(rows, int32(i))
			}
		}
		slices.SortStableFunc(rows, func(a, b int32) int {
			return cmp.Or(cmp.Compare(column[a], column[b]), cmp.Compare(h.Group[a], h.Group[b]))
		})
		split := func(rows []int32, same func(a, b int32) bool, give func(rows []int32)) {
			for from, to := 0, 1; to <= len(rows); to++ {
				if to == len(rows) || !same(rows[from], rows[to]) {
					give(rows[from:to])
					from = to
				}
			}
		}
		split(rows, func(a, b int32) bool { return column[a] == column[b] }, func(rows []int32) {
			all = append(all, effect{column: int(column[rows[0]]), group: everyGroup, rows: rows})
			split(rows, func(a, b int32) bool { return h.Group[a] == h.Group[b] }, func(rows []int32) {
				all = append(all, effect{column: int(column[rows[0]]), group: int(h.Group[rows[0]]), rows: rows})
			})
		})
	}
	return all
}

// exactly gives each of the effects with its moments, given all others.
func (h *Hierarchy) exactly(all []effect, y, theta []float64, s Scales, give func(*effect)) {
	if len(all) == 0 {
		return
	}
	scores := make([]float64, len(y))
	for i := range scores {
		scores[i] = h.score(theta, i)
	}
	x, weights := make([]float64, nodes), make([]float64, nodes)
	quad.Hermite{}.FixedLocations(x, weights, math.Inf(-1), math.Inf(1))
	for q, v := range x {
		x[q], weights[q] = math.Sqrt2*v, math.Log(weights[q])+v*v
	}
	workers.Do(max(1, h.Threads), len(all), func(_, part int) {
		e := &all[part]
		scale := s.Own
		if e.group == everyGroup {
			scale = s.Shared
		}
		e.moments(x, weights, scores, y, theta[(e.group+1)*h.Dim()+e.column], scale[e.column], s.Dispersion)
	})
	for i := range all {
		give(&all[i])
	}
}

const nodes = 9 // of a quadrature

// moments sets what the posterior of an effect θ of the prior N(0, σ²), given all others, differs by from Laplace's:
//
//	(E θ)² − θ̂²,   Var θ − τ²,   τ² = 1/(1/σ² + Σ_i p_i(1 − p_i)/φ),   p_i = σ(z_i) at the mode θ̂
//
// by Gauss-Hermite quadrature with nodes θ̂ + τx_q.
func (e *effect) moments(x, weights, scores, y []float64, mode, scale, dispersion float64) {
	precision := 1 / (scale * scale)
	curved := precision
	for _, i := range e.rows {
		p := 1 / (1 + math.Exp(-scores[i]))
		curved += p * (1 - p) / dispersion
	}
	tau := 1 / math.Sqrt(curved)
	var logs [nodes]float64
	for q, v := range x {
		for _, i := range e.rows {
			z := scores[i] + tau*v
			logs[q] += y[i]*z - max(z, 0) - math.Log1p(math.Exp(-math.Abs(z)))
		}
		t := mode + tau*v
		logs[q] = logs[q]/dispersion - precision*t*t/2 + weights[q]
	}
	most := slices.Max(logs[:])
	var sum, first, second float64 // of t − θ̂
	for q, v := range x {
		w := math.Exp(logs[q] - most)
		sum, first, second = sum+w, first+w*tau*v, second+w*tau*v*tau*v
	}
	first, second = first/sum, second/sum
	e.square, e.variance = (mode+first)*(mode+first)-mode*mode, second-first*first-tau*tau
}
