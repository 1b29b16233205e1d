package regress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel/workers"
)

// ByActionOptions says how one logistic regression an action is fitted. The zero value is useful: its defaults are in
// parentheses.
type ByActionOptions struct {
	Weight    []float64 // ≥ 0 of rows; nil: all 1
	Penalties []float64 // λ to choose from, by held-out loss (0.1, 1, 10, 100, 1000)
	// Intercept is 1 + the column that is 1 in all rows; 0: there is none. Its coefficients are penalized by
	// 0.1, around the mean of all rows, whatever λ is.
	Intercept int
	// Standardize penalizes coefficients as if columns had the mean 0 and the variance 1 in these rows. It needs an
	// intercept. θ is of columns as they are.
	Standardize bool
	// Shared adds coefficients that all actions share, so that what one lacks in rows it takes from the others:
	// scores are xᵀ(θ_0 + θ_a), with λ_0 of θ_0 and λ of each θ_a.
	Shared  bool
	Base    float64 // λ_0 (1)
	Each    bool    // a λ is chosen for each action; else one for all. Not with Shared
	Fold    []uint8 // held-out part of each row, below Folds; nil: drawn by Seed
	Folds   int     // of cross-validation (5); of 20,000 rows or more only the first is held out
	Seed    uint64
	Threads int
}

// ByAction is one logistic regression an action: r̂(x, a) = σ(xᵀθ_a).
type ByAction struct {
	Theta   []float64 // [k×d]; what is shared is in each
	Penalty []float64 // λ of each action
	Loss    float64   // mean held-out loss at these; NaN: λ was not chosen
	// HeldOut are the scores of rows by the fits that have not seen them; of rows that no fit held out those of
	// Theta.
	HeldOut []float64
}

// LogisticByAction fits one logistic regression an action on the rows of its own, of rewards y in [0, 1]:
//
//	minimize Σ_i ω_i ℓ(y_i, x_iᵀ(θ_0 + θ_{a_i})) + ½ λ_0 ‖θ_0‖² + ½ λ Σ_a ‖θ_a‖²
//
// where ℓ is the log-loss and θ_0 is 0 unless [ByActionOptions.Shared]. λ is that of the least log-loss of
// rows held out.
// An action without rows has θ_a = θ_0.
func LogisticByAction(ctx context.Context, x Rows, action []int32, k int, y []float64,
	o ByActionOptions) (ByAction, error) {
	s, err := newByAction(x, action, k, y, o)
	if err != nil {
		return ByAction{}, err
	}
	out := ByAction{Penalty: slices.Repeat([]float64{s.o.Penalties[0]}, k), Loss: math.NaN()}
	if len(s.o.Penalties) > 1 {
		if err := s.choose(ctx, &out); err != nil {
			return ByAction{}, err
		}
	}
	out.Theta, err = s.fit(ctx, s.weight, out.Penalty, nil, s.o.Threads)
	if err != nil {
		return ByAction{}, err
	}
	for a := range k {
		if j := s.o.Intercept - 1; j >= 0 {
			s.theta(out.Theta, a)[j] += s.offset[0]
		}
	}
	all := make([]float64, 0, k*s.d)
	for a := range k {
		all = append(all, s.theta(out.Theta, a)...)
	}
	if s.o.Shared {
		for j := range all {
			all[j] += out.Theta[j%s.d]
		}
	}
	out.Theta = all
	scores := make([]float64, len(s.y)) // before columns are as they are again
	for i, a := range s.group {
		scores[i] = floats.Dot(s.x.row(i), all[int(a)*s.d:(int(a)+1)*s.d])
	}
	for a := range k {
		for j := range s.mean {
			theta := all[a*s.d : (a+1)*s.d]
			theta[j] *= s.over[j]
			theta[s.o.Intercept-1] -= theta[j] * s.mean[j]
		}
	}
	held := out.HeldOut
	out.HeldOut = make([]float64, len(s.y))
	for i, at := range s.place {
		if held != nil && int(s.fold[at]) < s.folds() {
			out.HeldOut[i] = held[at]
			continue
		}
		out.HeldOut[i] = scores[at]
	}
	return out, nil
}

// byAction is the rows by action.
type byAction struct {
	o                 ByActionOptions
	k, d              int
	x                 Matrix
	ends              []int // of the rows of each action
	group             []int32
	place             []int // of each row of the caller's
	y, weight, offset []float64
	mean, over        []float64 // of columns: the mean, and 1 over the standard deviation; nil: not standardized
	fold              []uint8
}

func newByAction(x Rows, action []int32, k int, y []float64, o ByActionOptions) (*byAction, error) {
	n, d := x.Len(), x.Dim()
	o.Penalties, o.Base, o.Folds, o.Threads = slices.Clone(o.Penalties), cmp.Or(o.Base, 1), cmp.Or(o.Folds, 5),
		max(1, o.Threads)
	if len(o.Penalties) == 0 {
		o.Penalties = []float64{0.1, 1, 10, 100, 1000}
	}
	slices.Sort(o.Penalties)
	slices.Reverse(o.Penalties) // each fit begins where a simpler one ended
	switch {
	case len(action) != n, len(y) != n, o.Weight != nil && len(o.Weight) != n, o.Fold != nil && len(o.Fold) != n:
		return nil, fmt.Errorf("regress: %d actions, %d rewards, %d weights and folds of %d for %d rows",
			len(action), len(y), len(o.Weight), len(o.Fold), n)
	case k < 1 || o.Intercept < 0 || o.Intercept > d || o.Folds < 2 || o.Folds > 255:
		return nil, fmt.Errorf("regress: %d actions, intercept %d of %d columns, %d folds", k, o.Intercept, d, o.Folds)
	case o.Standardize && o.Intercept == 0:
		return nil, errors.New("regress: columns are standardized where there is an intercept")
	case o.Shared && o.Each:
		return nil, errors.New("regress: penalties of each action, and coefficients that are shared: choose one")
	}
	s := &byAction{o: o, k: k, d: d, ends: make([]int, k)}
	for i, a := range action {
		switch {
		case a < 0 || int(a) >= k:
			return nil, fmt.Errorf("regress: row %d has action %d of %d", i, a, k)
		case !(y[i] >= 0 && y[i] <= 1):
			return nil, fmt.Errorf("regress: row %d has the reward %v, want one in [0, 1]", i, y[i])
		case o.Fold != nil && int(o.Fold[i]) >= o.Folds:
			return nil, fmt.Errorf("regress: row %d is in fold %d of %d", i, o.Fold[i], o.Folds)
		}
		s.ends[a]++
	}
	at := make([]int, k)
	s.place = make([]int, n)
	for a := 1; a < k; a++ {
		s.ends[a] += s.ends[a-1]
		at[a] = s.ends[a-1]
	}
	s.x = Matrix{Width: d, Data: make([]float64, n*d)}
	s.y, s.weight, s.group, s.fold = make([]float64, n), make([]float64, n), make([]int32, n), make([]uint8, n)
	draw := rand.New(rand.NewPCG(o.Seed, 0xf01d)).Perm(n)
	var sum, total float64
	for i, a := range action {
		to := at[a]
		s.place[i] = to
		at[a]++
		x.Row64(i, s.x.row(to))
		s.y[to], s.group[to], s.weight[to], s.fold[to] = y[i], a, 1, uint8(draw[i]%o.Folds)
		if o.Weight != nil {
			s.weight[to] = o.Weight[i]
		}
		if o.Fold != nil {
			s.fold[to] = o.Fold[i]
		}
		sum, total = sum+s.weight[to]*y[i], total+s.weight[to]
	}
	mean := (sum + 0.5) / (total + 1) // inside of (0, 1)
	if o.Standardize {
		s.standardize()
	}
	s.offset = make([]float64, max(1, n))
	if o.Intercept > 0 {
		for i := range s.offset {
			s.offset[i] = math.Log(mean) - math.Log1p(-mean)
		}
	}
	return s, nil
}

// standardize brings all columns but the intercept to the mean 0 and the variance 1; one that is constant becomes 0.
func (s *byAction) standardize() {
	n := len(s.y)
	s.mean, s.over = make([]float64, s.d), make([]float64, s.d)
	for i := range n {
		floats.AddScaled(s.mean, 1/float64(n), s.x.row(i))
	}
	for i := range n {
		for j, v := range s.x.row(i) {
			s.over[j] += (v - s.mean[j]) * (v - s.mean[j]) / float64(n)
		}
	}
	for j, v := range s.over {
		if s.over[j] = 0; v > 1e-24*s.mean[j]*s.mean[j] {
			s.over[j] = 1 / math.Sqrt(v)
		}
	}
	s.mean[s.o.Intercept-1], s.over[s.o.Intercept-1] = 0, 1
	for i := range n {
		for j, v := range s.x.row(i) {
			s.x.row(i)[j] = (v - s.mean[j]) * s.over[j]
		}
	}
}

// theta is what a fit has of an action alone.
func (s *byAction) theta(of []float64, a int) []float64 {
	if s.o.Shared {
		a++
	}
	return of[a*s.d : (a+1)*s.d]
}

func (s *byAction) rows(a int) (from, to int) {
	if a > 0 {
		from = s.ends[a-1]
	}
	return from, s.ends[a]
}

// penalties are those of n blocks of coefficients, λ_0 of the first where there is more than one.
func (s *byAction) penalties(lambda float64, blocks int) []float64 {
	all := slices.Repeat([]float64{lambda}, blocks*s.d)
	if blocks > 1 {
		for j := range s.d {
			all[j] = s.o.Base
		}
	}
	if s.o.Intercept > 0 {
		for b := range blocks {
			all[b*s.d+s.o.Intercept-1] = 0.1
		}
	}
	return all
}

// fit is the coefficients by action, after those that are shared.
func (s *byAction) fit(ctx context.Context, weight, lambda, start []float64, threads int) ([]float64, error) {
	if s.o.Shared {
		x := &Grouped{Shared: s.x, Own: s.x, Group: s.group, Groups: s.k}
		return Logistic(ctx, x, s.y, Options{Weight: weight, Offset: s.offset[:len(s.y)],
			Penalties: s.penalties(lambda[0], s.k+1), Start: start, Threads: threads})
	}
	theta, errs := make([]float64, s.k*s.d), make([]error, s.k)
	workers.Do(threads, s.k, func(_, a int) {
		from, to := s.rows(a)
		if from == to {
			return
		}
		o := Options{Weight: weight[from:to], Offset: s.offset[from:to], Penalties: s.penalties(lambda[a], 1),
			Threads: threads}
		if start != nil {
			o.Start = s.theta(start, a)
		}
		x := Matrix{Width: s.d, Data: s.x.Data[from*s.d : to*s.d]}
		own, err := Logistic(ctx, x, s.y[from:to], o)
		if err != nil {
			errs[a] = fmt.Errorf("action %d: %w", a, err)
		}
		copy(s.theta(theta, a), own)
	})
	return theta, errors.Join(errs...)
}

// choose sets the penalties to those of the least held-out loss.
func (s *byAction) choose(ctx context.Context, out *ByAction) error {
	folds, grid, n := s.folds(), len(s.o.Penalties), len(s.y)
	scores := make([]float64, grid*n)  // of held-out rows
	losses := make([][]float64, folds) // [grid×k] of each fold
	errs := make([]error, folds)
	workers.Do(s.o.Threads, folds, func(_, f int) {
		losses[f], errs[f] = s.heldOut(ctx, uint8(f), scores)
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	sum := make([]float64, grid*s.k)
	var total float64
	for _, of := range losses {
		for i, v := range of {
			sum[i] += v
		}
	}
	for i, w := range s.weight {
		if int(s.fold[i]) < folds {
			total += w
		}
	}
	best := func(actions []int) (least float64) {
		at := 0
		for g := range grid {
			var loss float64
			for _, a := range actions {
				loss += sum[g*s.k+a]
			}
			if g == 0 || loss < least {
				least, at = loss, g
			}
		}
		for _, a := range actions {
			out.Penalty[a] = s.o.Penalties[at]
		}
		return least
	}
	all := make([]int, s.k)
	out.Loss = 0
	for a := range all {
		all[a] = a
		if s.o.Each {
			out.Loss += best([]int{a})
		}
	}
	if !s.o.Each {
		out.Loss = best(all)
	}
	out.Loss /= total
	out.HeldOut = make([]float64, n)
	for i, a := range s.group {
		out.HeldOut[i] = scores[slices.Index(s.o.Penalties, out.Penalty[a])*n+i]
	}
	return nil
}

// folds is how many folds are held out in turn.
func (s *byAction) folds() int {
	if len(s.y) >= manyRows {
		return 1
	}
	return s.o.Folds
}

// heldOut is the loss of the rows of a fold, by penalty and action. It writes their scores, by penalty and row.
func (s *byAction) heldOut(ctx context.Context, fold uint8, scores []float64) ([]float64, error) {
	weight := slices.Clone(s.weight)
	for i, f := range s.fold {
		if f == fold {
			weight[i] = 0
		}
	}
	out := make([]float64, len(s.o.Penalties)*s.k)
	var theta []float64
	for g, lambda := range s.o.Penalties {
		var err error
		if theta, err = s.fit(ctx, weight, slices.Repeat([]float64{lambda}, s.k), theta, 1); err != nil {
			return nil, err
		}
		for i, a := range s.group {
			if s.fold[i] != fold {
				continue
			}
			x := s.x.row(i)
			z := s.offset[i]
			for j, v := range s.theta(theta, int(a)) {
				if s.o.Shared {
					v += theta[j]
				}
				z += v * x[j]
			}
			scores[g*len(s.y)+i] = z
			out[g*s.k+int(a)] += s.weight[i] * (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - s.y[i]*z)
		}
	}
	return out, nil
}
