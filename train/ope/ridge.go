package ope

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"opl/train/logs"
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
	return crossFit(log, o, func(mean, score float64) float64 { return mean + score }, func(s system, mean []float64, at func(f int) []float64) error {
		if len(s.mine) < s.d {
			return s.dual(mean, at)
		}
		return s.primal(mean, at)
	}, largest)
}

// system is the regression of one action.
type system struct {
	t       *sample
	mine    []int // its rows
	fold    []uint8
	phi     []float64 // [rows×d]
	d       int
	penalty float64
}

// primal solves (Σ φφᵀ + λI)θ = Σ φ(r − m) from sums by fold.
func (s system) primal(mean []float64, at func(f int) []float64) error {
	d, folds := s.d, len(mean)
	gram := make([]*mat.SymDense, folds)
	reward, ones := make([][]float64, folds), make([][]float64, folds) // Σφr, Σφ
	for f := range folds {
		var part []float64
		reward[f], ones[f] = make([]float64, d), make([]float64, d)
		for j, i := range s.mine {
			if int(s.fold[i]) != f {
				continue
			}
			row := s.phi[j*d : j*d+d]
			part = append(part, row...)
			root := math.Sqrt(s.t.weight(i))
			for c, v := range row {
				reward[f][c] += root * v * s.t.r[i]
				ones[f][c] += root * v
			}
		}
		gram[f] = mat.NewSymDense(d, nil)
		if part != nil {
			gram[f].SymOuterK(1, mat.NewDense(len(part)/d, d, part).T())
		}
	}
	for f := range folds {
		left, right := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
		for c := range d {
			left.SetSym(c, c, s.penalty)
		}
		for g := range folds {
			if g == f {
				continue
			}
			left.AddSym(left, gram[g])
			for c := range d {
				right.SetVec(c, right.AtVec(c)+reward[g][c]-mean[f]*ones[g][c])
			}
		}
		if err := solve(mat.NewVecDense(d, at(f)), left, right); err != nil {
			return err
		}
	}
	return nil
}

// dual solves the same through the rows, θ = Φᵀ(ΦΦᵀ + λI)⁻¹(r − m), where they
// are fewer than the features.
func (s system) dual(mean []float64, at func(f int) []float64) error {
	d, n := s.d, len(s.mine)
	all := mat.NewDense(n, d, s.phi)
	kernel := mat.NewSymDense(n, nil)
	kernel.SymOuterK(1, all)
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
		left, right := mat.NewSymDense(len(keep), nil), mat.NewVecDense(len(keep), nil)
		for c, j := range keep {
			i := s.mine[j]
			right.SetVec(c, math.Sqrt(s.t.weight(i))*(s.t.r[i]-mean[f]))
			for e := c; e < len(keep); e++ {
				left.SetSym(c, e, kernel.At(j, keep[e]))
			}
			left.SetSym(c, c, left.At(c, c)+s.penalty)
		}
		var alpha mat.VecDense
		if err := solve(&alpha, left, right); err != nil {
			return err
		}
		theta := at(f)
		for c, j := range keep {
			for e, v := range s.phi[j*d : j*d+d] {
				theta[e] += alpha.AtVec(c) * v
			}
		}
	}
	return nil
}

// solve solves left·x = right. Digits may be lost: the penalty bounds how many.
func solve(x *mat.VecDense, left *mat.SymDense, right *mat.VecDense) error {
	var chol mat.Cholesky
	var lost mat.Condition
	err := errors.New("its equations have no solution; are features finite?")
	if chol.Factorize(left) {
		err = chol.SolveVecTo(x, right)
	}
	if errors.As(err, &lost) {
		return nil
	}
	return err
}
