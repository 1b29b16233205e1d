package ope

import (
	"context"
	"math"
	"runtime"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"opl/graph/kernel/workers"
	"opl/train/logs"
	"opl/train/regress"
)

// Ridge learns rewards by one linear model an action, as [ModelOptions] say: over the rows of action a
// outside of the fold of row i,
//
//	r̂(x,a) = m + θ_aᵀφ(x),   θ_a = argmin Σ ω(r − m − θᵀφ(x))² + λ‖θ‖²
//
// where m is the mean reward outside of the fold: an action without rows is
// predicted by m. Predictions may leave [0, 1]: to clip them would raise the mean of
// rare rewards. Where both features and rows of an action exceed 2000 it is an error.
func Ridge(log *logs.Log, o ModelOptions) (Model, error) {
	solve := func(s system, mean []float64, at func(f int) []float64) error {
		if len(s.mine) < s.d {
			return s.dual(mean, at)
		}
		return s.primal(mean, at)
	}
	return crossFit(log, o, func(mean, score float64) float64 { return mean + score }, solve, largest)
}

// system is the regression of one action.
type system struct {
	t       *sample
	mine    []int32 // its rows
	fold    []uint8
	read    func(i int, phi []float64) // writes φ(x) of a row
	d       int
	penalty float64
	ctx     context.Context
}

// row writes √ω φ(x) of a row, and returns √ω.
func (s system) row(i int32, phi []float64) (root float64) {
	s.read(int(i), phi)
	root = math.Sqrt(s.t.weight(int(i)))
	floats.Scale(root, phi)
	return root
}

// rows are √ω φ(x) of the rows, [rows×d].
func (s system) rows() []float64 {
	phi := make([]float64, len(s.mine)*s.d)
	for j, i := range s.mine {
		s.row(i, phi[j*s.d:(j+1)*s.d])
	}
	return phi
}

// primal solves (Σ φφᵀ + λI)θ = Σ φ(r − m) from sums by fold.
func (s system) primal(mean []float64, at func(f int) []float64) error {
	d, folds := s.d, len(mean)
	moments := make([]*regress.Moments, folds) // Σ φφᵀ, Σ φr and Σ φ
	part, y := make([][]float64, folds), make([][]float64, folds)
	for f := range folds {
		moments[f] = regress.NewMoments(d, 2)
	}
	add := func(f int) {
		moments[f].AddRows(regress.Matrix{Width: d, Data: part[f]}, y[f], nil)
		part[f], y[f] = part[f][:0], y[f][:0]
	}
	phi := make([]float64, d)
	for _, i := range s.mine {
		f := int(s.fold[i])
		root := s.row(i, phi)
		part[f], y[f] = append(part[f], phi...), append(y[f], root*s.t.r[i], root)
		if len(y[f]) == 2*regress.BlockRows {
			add(f)
		}
	}
	for f := range folds {
		add(f)
	}
	for f := range folds {
		others := regress.NewMoments(d, 2)
		for g := range folds {
			if g != f {
				others.Add(moments[g])
			}
		}
		theta, err := others.Solve([]float64{s.penalty})
		if err != nil {
			return err
		}
		floats.AddScaledTo(at(f), theta[:d], -mean[f], theta[d:])
	}
	return nil
}

// dual solves the same through the rows, θ = Φᵀ(ΦΦᵀ + λI)⁻¹(r − m), where they
// are fewer than the features.
func (s system) dual(mean []float64, at func(f int) []float64) error {
	d, n, phi := s.d, len(s.mine), s.rows()
	kernel := mat.NewSymDense(n, nil)
	const tile = 16 // rows, which stay in the processor's cache
	workers.Do(runtime.GOMAXPROCS(0), (n+tile-1)/tile, func(_, at int) {
		for j := at * tile; j < n; j++ {
			for i := at * tile; i < min(at*tile+tile, j+1); i++ {
				kernel.SetSym(i, j, floats.Dot(phi[i*d:i*d+d], phi[j*d:j*d+d]))
			}
		}
	})
	for f := range mean {
		var keep []int
		for j, i := range s.mine {
			if int(s.fold[i]) != f {
				keep = append(keep, j)
			}
		}
		if keep == nil {
			continue
		}
		left, right := mat.NewSymDense(len(keep), nil), mat.NewDense(len(keep), 1, nil)
		for c, j := range keep {
			i := int(s.mine[j])
			right.Set(c, 0, math.Sqrt(s.t.weight(i))*(s.t.r[i]-mean[f]))
			for e := c; e < len(keep); e++ {
				left.SetSym(c, e, kernel.At(j, keep[e]))
			}
			left.SetSym(c, c, left.At(c, c)+s.penalty)
		}
		var alpha mat.Dense
		if err := regress.SolveSym(&alpha, left, right); err != nil {
			return err
		}
		theta := at(f)
		for c, j := range keep {
			floats.AddScaled(theta, alpha.At(c, 0), phi[j*d:j*d+d])
		}
	}
	return nil
}

// Logistic learns rewards by one logistic regression an action, as [ModelOptions] say: over the rows of
// action a outside of the fold of row i,
//
//	r̂(x,a) = σ(logit m + θ_aᵀφ(x)),   θ_a = argmin −Σ ω(r log r̂ + (1 − r) log(1 − r̂)) + λ/2 ‖θ‖²
//
// where m is the mean reward outside of the fold, kept 1e-9 away from 0 and 1. Rewards may be fractions.
// Predictions are in (0, 1).
func Logistic(log *logs.Log, o ModelOptions) (Model, error) {
	return crossFit(log, o, func(mean, score float64) float64 { return 1 / (1 + math.Exp(-logit(mean)-score)) },
		system.logistic, math.MaxInt)
}

func logit(p float64) float64 {
	p = min(max(p, 1e-9), 1-1e-9)
	return math.Log(p) - math.Log1p(-p)
}

// logistic minimizes for each fold, whose rows have weight 0 there.
func (s system) logistic(mean []float64, at func(f int) []float64) error {
	n := len(s.mine)
	y, offset, weight := make([]float64, n), make([]float64, n), make([]float64, n)
	x := regress.Matrix{Width: s.d, Data: s.rows()}
	for j, i := range s.mine {
		y[j] = s.t.r[i]
		if root := math.Sqrt(s.t.weight(int(i))); root > 0 && root != 1 { // by which they are multiplied
			floats.Scale(1/root, x.Data[j*s.d:(j+1)*s.d])
		}
	}
	for f := range mean {
		for j, i := range s.mine {
			offset[j], weight[j] = logit(mean[f]), s.t.weight(int(i))
			if int(s.fold[i]) == f {
				weight[j] = 0
			}
		}
		theta, err := regress.Logistic(s.ctx, x, y,
			regress.Options{Offset: offset, Weight: weight, Penalties: []float64{s.penalty}})
		if err != nil {
			return err
		}
		copy(at(f), theta)
	}
	return nil
}
