package ope

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"opl/train/logs"
)

// RidgeOptions says how rewards are learned. The zero value is useful.
type RidgeOptions struct {
	Folds   int     // parts of the log, each predicted by the others; 0 means 5
	Penalty float64 // λ; 0 means 1
	Seed    uint64  // of the parts
}

// largest is the size of the largest system of equations that Ridge solves.
const largest = 2000

// Ridge learns rewards by one linear model an action and predicts each row by a
// model that has not seen it (cross-fitting), so that the doubly robust estimate
// stays unbiased. Over the rows of action a outside of the fold of row i,
//
//	r̂(x,a) = m + θ_aᵀφ(x),   θ_a = argmin Σ ω(r − m − θᵀφ(x))² + λ‖θ‖²
//
// where m is the mean reward outside of the fold: an action without rows is
// predicted by m. Predictions may leave [0, 1]: to clip them would raise the mean of
// rare rewards. Rows of one group are in one fold.
//
// φ(x) is log.X. A log of named values that are not encoded is encoded here,
// standardized and with an intercept, as φ should have; it must stay open. Where both
// features and rows of an action exceed 2000 it is an error. The Model keeps a scratch
// row and is for one goroutine.
func Ridge(log *logs.Log, o RidgeOptions) (Model, error) {
	o.Folds, o.Penalty = cmp.Or(o.Folds, 5), cmp.Or(o.Penalty, 1)
	if log.X == nil {
		if log.Path() == "" {
			return nil, errors.New("ope: the log has no contexts")
		}
		enc, err := log.FitEncoder(nil, logs.Scaling{Kind: "standard", Intercept: true})
		if err != nil {
			return nil, err
		}
		if log, err = log.Encode(enc); err != nil {
			return nil, err
		}
	}
	t, err := newSample(log, 0.5)
	if err != nil {
		return nil, err
	}
	x := log.X
	switch {
	case o.Folds < 2 || o.Folds > 255:
		return nil, fmt.Errorf("ope: %d folds, want 2 to 255", o.Folds)
	case !(o.Penalty > 0) || math.IsInf(o.Penalty, 0):
		return nil, fmt.Errorf("ope: penalty %v, want a number above 0", o.Penalty)
	}
	fold := t.folds(o.Folds, o.Seed)
	mean := t.foldMeans(fold, o.Folds)

	byAction := make([][]int, t.k)
	for i, a := range log.Action {
		byAction[a] = append(byAction[a], i)
	}
	d := x.Dim()
	theta := make([]float64, o.Folds*t.k*d) // [F×K×d]
	for a, mine := range byAction {
		if len(mine) == 0 {
			continue
		}
		if min(d, len(mine)) > largest {
			return nil, fmt.Errorf("ope: %d features and %d rows of action %d: too many for the reward model, which solves for at most %d", d, len(mine), a, largest)
		}
		phi := make([]float64, len(mine)*d) // √ω φ(x)
		for j, i := range mine {
			row := phi[j*d : j*d+d]
			x.Row64(log.Context(i), row)
			for c, root := 0, math.Sqrt(t.weight(i)); c < d; c++ {
				row[c] *= root
			}
		}
		s := system{t: t, mine: mine, fold: fold, phi: phi, d: d, penalty: o.Penalty}
		solve := s.primal
		if len(mine) < d {
			solve = s.dual
		}
		if err := solve(mean, func(f int) []float64 { return theta[(f*t.k+a)*d : (f*t.k+a+1)*d] }); err != nil {
			return nil, fmt.Errorf("ope: reward model of action %d: %w", a, err)
		}
	}
	scratch := make([]float64, d)
	return func(dst []float64, i int) {
		x.Row64(log.Context(i), scratch)
		f := int(fold[i])
		for a := range dst[:t.k] {
			r := mean[f]
			for c, v := range theta[(f*t.k+a)*d : (f*t.k+a+1)*d] {
				r += v * scratch[c]
			}
			dst[a] = r
		}
	}, nil
}

// folds deals rows out, those of a group together.
func (t *sample) folds(folds int, seed uint64) []uint8 {
	r := rand.New(rand.NewPCG(seed, 0xf01d))
	deal := make([]uint8, t.groups)
	for j, at := range r.Perm(t.groups) {
		deal[at] = uint8(j % folds)
	}
	fold := make([]uint8, t.n)
	for i := range fold {
		g := i
		if t.place != nil {
			g = int(t.place[i])
		}
		fold[i] = deal[g]
	}
	return fold
}

// foldMeans is the mean reward outside of each fold, 0 where there is no row.
func (t *sample) foldMeans(fold []uint8, folds int) []float64 {
	sum, total := make([]float64, folds), make([]float64, folds)
	for i, f := range fold {
		sum[f] += t.weight(i) * t.r[i]
		total[f] += t.weight(i)
	}
	mean := make([]float64, folds)
	for f := range mean {
		var rewards, rest float64
		for g := range folds {
			if g != f {
				rewards += sum[g]
				rest += total[g]
			}
		}
		if rest > 0 {
			mean[f] = rewards / rest
		}
	}
	return mean
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
