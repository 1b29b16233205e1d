package regress

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"opl/graph/kernel"
	"opl/graph/kernel/workers"
)

const (
	tolerance  = 1e-9 // of partial derivatives of the mean loss, without one of the caller's
	iterations = 200  // without a limit of the caller's
	BlockRows  = 256  // that are read together
	passRows   = 64   // whose scores are computed together; the second cache has them until they add to the gradient
	chunkRows  = 8192 // of which each has a gradient of its own, so that results do not depend on threads
	mostChunks = 16
)

// Options says what is minimized, and for how long. The zero value fits without a penalty.
type Options struct {
	Weight []float64 // ω_i ≥ 0 of rows (of sets, where rows are options); nil: all 1
	Offset []float64 // added to the scores [n×k]; nil: 0
	// Penalties λ_j of coefficients, [Dim], or one for all. None: 0.
	Penalties  []float64
	Start      []float64 // θ to begin with; nil: 0
	Units      []float64 // [k×Dim], > 0, in which coefficients are searched for: near 1/√curvature it takes fewer iterations; nil: 1
	Tolerance  float64   // of partial derivatives of the mean loss, in units; 0: 1e-9
	Iterations int       // at most; 0: 200
	Threads    int       // 0: 1
}

// Logistic fits P(y_i = 1) = σ(o_i + x_iᵀθ) to rewards y_i in [0, 1], which may be fractions:
//
//	minimize Σ_i ω_i (log(1 + exp(z_i)) − y_i z_i) + ½ Σ_j λ_j θ_j²,   z_i = o_i + x_iᵀθ
//
// It returns θ [Dim].
func Logistic(ctx context.Context, x Design, y []float64, o Options) ([]float64, error) {
	if len(y) != x.Len() {
		return nil, fmt.Errorf("regress: %d rewards for %d rows", len(y), x.Len())
	}
	return minimize(ctx, x, 1, blocks(x.Len()), o, func(z []float64, b block) (loss float64) {
		for i, v := range z {
			e := math.Exp(-math.Abs(v))
			p := 1 / (1 + e)
			if v < 0 {
				p = e * p
			}
			r, w := y[b.from+i], o.weight(b.from+i)
			loss += w * (max(v, 0) + math.Log1p(e) - r*v)
			z[i] = w * (p - r)
		}
		return loss
	})
}

// Multinomial fits P(class_i = a) = exp(z_ia)/Σ_b exp(z_ib), z_ia = o_ia + x_iᵀθ_a, to classes 0 … k−1:
//
//	minimize −Σ_i ω_i log P(class_i) + ½ Σ_a Σ_j λ_j θ_aj²
//
// It returns θ [k×Dim].
func Multinomial[C ~int32 | ~uint8](ctx context.Context, x Design, class []C, k int, o Options) ([]float64, error) {
	if len(class) != x.Len() {
		return nil, fmt.Errorf("regress: %d classes for %d rows", len(class), x.Len())
	}
	return minimize(ctx, x, k, blocks(x.Len()), o, func(z []float64, b block) (loss float64) {
		kernel.Softmax(z, z, k)
		for i := b.from; i < b.to; i++ {
			loss += choice(z[(i-b.from)*k:][:k], int(class[i]), o.weight(i))
		}
		return loss
	})
}

// Exclusive fits a softmax p_ia = exp(x_iᵀθ_a)/Σ_b exp(x_iᵀθ_b) over k actions, exactly one of which is right in
// each row, to rewards y_i in [0, 1] of the actions g_i that were played, θ_aj ~ N(0, σ²_j):
//
//	minimize −Σ_i (y_i log p_i,g_i + (1 − y_i) log(1 − p_i,g_i)) + ½ Σ_a Σ_j θ_aj²/σ²_j
//
// So a reward of 0 speaks for the other actions. It returns θ [k×Dim], near its mode after at most 40 iterations.
func Exclusive(ctx context.Context, x Matrix, y []float64, action []int32, k int, scales []float64, threads int) (
	[]float64, error) {
	if len(y) != x.Len() || len(action) != x.Len() || len(scales) != x.Width {
		return nil, fmt.Errorf("regress: %d rewards, %d actions and %d scales for %d rows of %d columns", len(y),
			len(action), len(scales), x.Len(), x.Width)
	}
	square := x.squares()
	o := Options{Iterations: 40, Threads: threads}
	for j, s := range scales {
		o.Penalties = append(o.Penalties, 1/(s*s))
		o.Units = append(o.Units, 1/math.Sqrt(square[j]/float64(k)+1/(s*s)))
	}
	o.Units = slices.Repeat(o.Units, k)
	return minimize(ctx, x, k, blocks(x.Len()), o, func(z []float64, b block) (loss float64) {
		kernel.Softmax(z, z, k)
		for i := b.from; i < b.to; i++ {
			p, a, r := z[(i-b.from)*k:][:k], action[i], y[i]
			of := p[a]
			p[a] = 0
			rest := max(floats.Sum(p), math.SmallestNonzeroFloat64)
			loss -= r*math.Log(max(of, math.SmallestNonzeroFloat64)) + (1-r)*math.Log(rest)
			floats.Scale((r-of)/rest, p)
			p[a] = of - r
		}
		return loss
	})
}

// Conditional fits choices among sets of options, which are rows of x, one set after the other:
// P(option j of set i) = exp(z_ij)/Σ_l exp(z_il), z_ij = o_ij + x_ijᵀθ. Set i has sizes[i] options, of which
// chosen[i] was taken:
//
//	minimize −Σ_i ω_i log P(chosen_i) + ½ Σ_j λ_j θ_j²
//
// It returns θ [Dim].
func Conditional(ctx context.Context, x Design, sizes, chosen []int, o Options) ([]float64, error) {
	var all []block
	b := block{}
	for i, size := range sizes {
		if i == len(chosen) {
			break // an error, below
		}
		if size < 1 || chosen[i] < 0 || chosen[i] >= size {
			return nil, fmt.Errorf("regress: set %d has %d options, of which number %d is chosen", i, size, chosen[i])
		}
		if b.to += size; b.to-b.from >= BlockRows || i == len(sizes)-1 {
			b.sets = i + 1
			all, b = append(all, b), block{from: b.to, to: b.to, first: i + 1}
		}
	}
	if n := len(all); len(chosen) != len(sizes) || n > 0 && all[n-1].to != x.Len() || n == 0 && x.Len() > 0 {
		return nil, fmt.Errorf("regress: %d sets and %d choices do not fit %d options", len(sizes), len(chosen),
			x.Len())
	}
	return minimize(ctx, x, 1, all, o, func(z []float64, b block) (loss float64) {
		for i := b.first; i < b.sets; i++ {
			set := z[:sizes[i]]
			z = z[sizes[i]:]
			kernel.Softmax(set, set, len(set))
			loss += choice(set, chosen[i], o.weight(i))
		}
		return loss
	})
}

// choice is −ω log p_c, and puts its derivatives by the scores in place of the probabilities p.
func choice(p []float64, c int, w float64) float64 {
	loss := -w * math.Log(max(p[c], math.SmallestNonzeroFloat64))
	p[c]--
	if w != 1 {
		floats.Scale(w, p)
	}
	return loss
}

func (o *Options) weight(i int) float64 {
	if o.Weight == nil {
		return 1
	}
	return o.Weight[i]
}

// block is some rows of a design; of options also the sets.
type block struct{ from, to, first, sets int }

func blocks(n int) []block {
	all := make([]block, 0, n/passRows+1)
	for from := 0; from < n; from += passRows {
		all = append(all, block{from: from, to: min(n, from+passRows), first: from, sets: min(n, from+passRows)})
	}
	return all
}

// objective is the penalized mean loss, with a gradient of its own for each chunk of rows.
type objective struct {
	x      Design
	k      int
	blocks []block
	o      Options
	loss   func(z []float64, b block) float64 // replaces scores by derivatives

	n             float64 // rows, or sets
	losses        []float64
	grads, scores [][]float64 // by chunk, by thread
	at, grad      []float64   // what was asked for last, in units
	theta         []float64
	value         float64
}

// minimize is the one minimizer, with the one stopping rule: see the package's comment.
func minimize(ctx context.Context, x Design, k int, all []block, o Options, loss func(z []float64,
	b block) float64) ([]float64, error) {
	d := k * x.Dim()
	f := &objective{x: x, k: k, blocks: all, o: o, loss: loss, n: 1, at: make([]float64, d), grad: make([]float64, d)}
	if len(all) > 0 {
		f.n = float64(all[len(all)-1].sets)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	start := make([]float64, d)
	copy(start, o.Start)
	if f.theta = f.at; o.Units != nil {
		f.theta = make([]float64, d)
		floats.Div(start, o.Units)
	}
	if d == 0 {
		return start, ctx.Err()
	}
	chunks, widest := min(mostChunks, 1+x.Len()/chunkRows), 0
	for _, b := range all {
		widest = max(widest, b.to-b.from)
	}
	f.losses, f.grads = make([]float64, chunks), make([][]float64, chunks)
	for c := range f.grads {
		f.grads[c] = make([]float64, d)
	}
	f.scores = make([][]float64, max(1, min(o.Threads, chunks)))
	for thread := range f.scores {
		f.scores[thread] = make([]float64, widest*k)
	}
	if f.o.Tolerance == 0 {
		f.o.Tolerance = tolerance
	}
	f.compute(start)
	least := f.value
	if floats.Norm(f.grad, math.Inf(1)) <= f.o.Tolerance {
		return slices.Clone(f.theta), ctx.Err()
	}
	visit := func(at []float64) {
		if ctx.Err() == nil && !slices.Equal(at, f.at) {
			f.compute(at)
		}
	}
	limit := iterations
	if o.Iterations > 0 {
		limit = o.Iterations
	}
	result, err := optimize.Minimize(optimize.Problem{
		Func:   func(at []float64) float64 { visit(at); return f.value },
		Grad:   func(grad, at []float64) { visit(at); copy(grad, f.grad) },
		Status: func() (optimize.Status, error) { return optimize.NotTerminated, ctx.Err() },
	}, start, &optimize.Settings{GradientThreshold: f.o.Tolerance, MajorIterations: limit},
		&optimize.LBFGS{Linesearcher: &search{}})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// The line search reports an error where the loss no longer falls in its last digits.
	if result == nil || !(result.F <= least) || floats.HasNaN(result.X) {
		return nil, fmt.Errorf("regress: the regression has no solution (%v); are features finite, and is none far "+
			"beyond the others?", err)
	}
	if o.Units != nil {
		floats.Mul(result.X, o.Units)
	}
	return result.X, nil
}

// check reports options that do not fit the design.
func (f *objective) check() error {
	d, n := f.x.Dim(), int(f.n)
	switch {
	case f.k < 1:
		return errors.New("regress: no outputs")
	case f.o.Weight != nil && len(f.o.Weight) < n, f.o.Offset != nil && len(f.o.Offset) != f.k*f.x.Len():
		return fmt.Errorf("regress: %d weights and %d offsets for %d rows and %d outputs", len(f.o.Weight),
			len(f.o.Offset), n, f.k)
	case len(f.o.Penalties) > 1 && len(f.o.Penalties) != d:
		return fmt.Errorf("regress: %d penalties for %d coefficients", len(f.o.Penalties), d)
	case f.o.Units != nil && len(f.o.Units) != f.k*d:
		return fmt.Errorf("regress: units of %d coefficients, want %d", len(f.o.Units), f.k*d)
	case f.o.Start != nil && len(f.o.Start) != f.k*d:
		return fmt.Errorf("regress: %d coefficients to start with, want %d", len(f.o.Start), f.k*d)
	}
	for _, v := range f.o.Penalties {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("regress: penalty %v, want a number that is not negative", v)
		}
	}
	for i, w := range f.o.Weight {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("regress: row %d has the weight %v, want a number that is not negative", i, w)
		}
	}
	return nil
}

// compute sets value and grad to those at θ, in units.
func (f *objective) compute(at []float64) {
	copy(f.at, at)
	if f.o.Units != nil {
		floats.MulTo(f.theta, f.at, f.o.Units)
	}
	chunks := len(f.grads)
	workers.Do(len(f.scores), chunks, func(thread, c int) {
		clear(f.grads[c])
		f.losses[c] = 0
		for _, b := range f.blocks[c*len(f.blocks)/chunks : (c+1)*len(f.blocks)/chunks] {
			z := f.scores[thread][:(b.to-b.from)*f.k]
			f.x.Pass(f.grads[c], f.theta, z, f.k, b.from, b.to, func() {
				if f.o.Offset != nil {
					floats.Add(z, f.o.Offset[b.from*f.k:b.to*f.k])
				}
				f.losses[c] += f.loss(z, b)
			})
		}
	})
	f.value = 0
	clear(f.grad)
	for c, grad := range f.grads {
		f.value += f.losses[c]
		floats.Add(f.grad, grad)
	}
	d := f.x.Dim()
	for j, v := range f.theta {
		if len(f.o.Penalties) > 0 {
			penalty := f.o.Penalties[j%d%len(f.o.Penalties)]
			f.value += penalty / 2 * v * v
			f.grad[j] += penalty * v
		}
		f.grad[j] /= f.n
	}
	if f.o.Units != nil {
		floats.Mul(f.grad, f.o.Units)
	}
	f.value /= f.n
}

// search is a line search by bisection that gives up where the loss changes in its last digits alone, which
// bisection notices after fifty halvings.
type search struct {
	optimize.Bisection
	start float64
	tries int
}

func (s *search) Init(f, g, step float64) optimize.Operation {
	s.start, s.tries = f, 0
	return s.Bisection.Init(f, g, step)
}

func (s *search) Iterate(f, g float64) (optimize.Operation, float64, error) {
	op, step, err := s.Bisection.Iterate(f, g)
	if s.tries++; s.tries > 3 && op != optimize.MajorIteration && math.Abs(f-s.start) <= 1e-15*math.Abs(s.start) {
		return optimize.NoOperation, step, optimize.ErrLinesearcherFailure
	}
	return op, step, err
}
