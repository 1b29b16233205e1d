package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel/simd"
	"opl/objectives"
	"opl/policies"
	"opl/policies/features"
	"opl/policies/propensity"
	"opl/train/logs"
)

// scaled is contexts times a factor.
type scaled struct {
	logs.Contexts
	by float64
}

func (s scaled) Norm(i int) float64 { return s.by * s.Contexts.Norm(i) }

func (s scaled) Row64(i int, dst []float64) {
	s.Contexts.Row64(i, dst)
	floats.Scale(s.by, dst)
}

func (s scaled) Row32(i int, dst []float32) {
	if x, ok := s.Contexts.(logs.PlacedContexts); ok {
		if row := x.Placed32(i); row != nil {
			simd.Affine(dst, row, float32(s.by), 0)
			return
		}
	}
	s.Contexts.Row32(i, dst)
	simd.Affine(dst, dst, float32(s.by), 0)
}

// Ahead asks memory for row i.
func (s scaled) Ahead(i int) { logs.Ahead(s.Contexts, i) }

// sparselyScaled is scaled of contexts without their zeros.
type sparselyScaled struct {
	scaled
	x logs.SparseContexts
}

func (s sparselyScaled) Sparse32(i int, val []float32, at []int32) int {
	n := s.x.Sparse32(i, val, at)
	simd.Affine(val[:n], val[:n], float32(s.by), 0)
	return n
}

// Scaled returns contexts times a factor, as [Fit] feeds them to layers.
func Scaled(x logs.Contexts, by float64) logs.Contexts {
	if x, ok := x.(logs.SparseContexts); ok {
		return sparselyScaled{scaled{x, by}, x}
	}
	return scaled{x, by}
}

// inputScale is the factor that layers see contexts by: with it the mean of ‖φ(x)‖² over the
// log is d/2, and a unit of relu starts at values of variance 1. It is 1 if all φ(x) are 0.
func inputScale(log *logs.Log) float64 {
	var s float64
	for i := range log.Len() {
		n := log.X.Norm(log.Context(i))
		s += n * n
	}
	if s == 0 {
		return 1
	}
	return math.Sqrt(float64(log.Dim()) / 2 * float64(log.Len()) / s)
}

// Representation is one that was learned: of contexts φ(x) it makes the features h(x) that
// scores are linear in. A nil one leaves contexts as they are.
type Representation struct {
	ready []features.Layer // if not nil, all that there is
	joint bool             // they are of contexts and actions together

	build  objectives.Representation
	params *objectives.Params
	scale  float64
	d      int
}

// Layered returns the representation by layers that are known, such as a policy file's; nil for none.
func Layered(layers []features.Layer) *Representation {
	if len(layers) == 0 {
		return nil
	}
	return &Representation{ready: layers}
}

// Jointly is Layered of layers that score contexts and actions together, see [logs.Log.Jointly].
func Jointly(layers []features.Layer) *Representation {
	return &Representation{ready: layers, joint: true}
}

// Joint reports that the layers are of contexts and actions together.
func (r *Representation) Joint() bool { return r != nil && r.joint }

// Layers returns the layers of the representation, for a policy file, with the scale of the contexts in
// the first; nil of nil. Another representation is an error.
func (r *Representation) Layers() ([]features.Layer, error) {
	switch {
	case r == nil:
		return nil, nil
	case r.ready != nil:
		return r.ready, nil
	}
	layers, err := r.params.FeatureLayers(r.build, r.d)
	if err != nil {
		return nil, err
	}
	for _, row := range layers[0].Weights {
		floats.Scale(r.scale, row)
	}
	return layers, nil
}

// Of makes h(x) of contexts, as [logs.Through]; representations that are no chain of layers are
// computed by their graph.
func (r *Representation) Of(x logs.Contexts, threads int) (logs.Contexts, error) {
	if r == nil {
		return x, nil
	}
	if layers, err := r.Layers(); err == nil {
		return logs.Through(x, layers, threads)
	}
	if x.Dim() != r.d {
		return nil, fmt.Errorf("train: contexts of %d features for a representation of %d", x.Dim(), r.d)
	}
	const batch = 256
	h := logs.Rows64{Width: r.params.Mu.Value.Shape()[1]}
	h.Data = make([]float64, x.Len()*h.Width)
	for from := 0; from < x.Len(); from += batch {
		n := min(batch, x.Len()-from)
		forward, err := r.params.Forward(r.build, r.d, n)
		if err != nil {
			return nil, err
		}
		in := make([]float64, n*r.d)
		for i := range n {
			scaled{x, r.scale}.Row64(from+i, in[i*r.d:(i+1)*r.d])
		}
		if err := forward(h.Data[from*h.Width:(from+n)*h.Width], in); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// View is a log of which some rows have h(x) as contexts, and the others, nil for none, must not
// be asked for.
func (r *Representation) View(log *logs.Log, rows []int, threads int) (*logs.Log, error) {
	switch {
	case r == nil:
		return log, nil
	case r.joint:
		return log.Jointly(r.ready)
	}
	return log.View(rows, func(x logs.Contexts) (logs.Contexts, error) { return r.Of(x, threads) })
}

// deepLog is a log whose contexts are scaled for layers.
func deepLog(log *logs.Log, by float64) *logs.Log {
	return log.WithContexts(Scaled(log.X, by), nil)
}

// Represent learns c's representation from some rows of a log, along with a softmax policy, by the
// likelihood of the rewards, at a learning rate that falls linearly to 0, with c's epochs. It returns
// what it learned, and a prior at the softmax policy's parameters, which notes the rows. None of
// them may certify what is made of it.
func Represent(ctx context.Context, log *logs.Log, rows []int, c Config, rate float64) (*Representation,
	policies.Prior, error) {
	c.Policy, c.Objective, c.Weight, c.stage = policies.Softmax{}, objectives.Likelihood(0), objectives.Weight{},
		"representation"
	c.Prior, c.LearningRate, c.Schedule, c.Epoch = policies.Prior{}, rate, Linear, nil
	res, err := Fit(ctx, log.Subset(rows), c)
	if err != nil {
		return nil, policies.Prior{}, fmt.Errorf("learning a representation: %w", err)
	}
	return res.Represented, policies.Prior{Mean: res.Posterior.Mu, Taught: propensity.NewRowSet(log.Hashes(rows))}, nil
}

var errPosterior = errors.New("train: a posterior needs a representation that was learned on rows that never " +
	"certify, and is then fixed: learn it with a policy without a posterior, on other rows")
