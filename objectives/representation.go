package objectives

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/policies"
	"opl/policies/features"
)

// Representation builds features h(x) [B×m] of the contexts φ(x) [B×d], from parameters
// that it asks the problem for by name. The policy is linear in them, s(x, a) = h(x)ᵀθ_a.
// Like an objective it is a plain function, and it must build the same graph for the same
// problem whatever the size of the batch.
//
// Learned along with a policy it is for policies without a posterior: the divergence of a
// posterior from its prior says nothing of layers that were chosen on the same rows. Those
// take a representation that was learned on other rows, see [opl/train.Config].
type Representation func(p Problem, context graph.Expr) graph.Expr

// Start sets the values of a parameter from which learning starts.
type Start func(r *rand.Rand, dst []float64)

// Zeros starts a parameter at 0.
func Zeros(_ *rand.Rand, dst []float64) { clear(dst) }

// Spread starts each entry at an independent draw of N(0, s²).
func Spread(s float64) Start {
	return func(r *rand.Rand, dst []float64) {
		for i := range dst {
			dst[i] = s * r.NormFloat64()
		}
	}
}

// Learned returns a parameter of a representation, of a shape of one or two dimensions.
// The first who asks for the name makes it, by a stream of random numbers of its own: that
// of the parameters' seed and the name.
func (p Problem) Learned(name string, start Start, shape ...int) graph.Expr {
	size := 1
	for _, n := range shape {
		if size *= n; n < 1 {
			return graph.Fail("objectives: parameter %q of shape %v", name, shape)
		}
	}
	ps := p.s.Params
	for _, q := range ps.Layers {
		if q.Name != name {
			continue
		}
		if got := q.Value.Shape(); len(got) != len(shape) || q.Len() != size || got[0] != shape[0] {
			return graph.Fail("objectives: parameter %q of shape %v has the shape %v already", name, shape, got)
		}
		return p.g.Param(q)
	}
	q := graph.NewParam(name, ps.Dtype, startAt(start, ps.Seed, name, size), shape...)
	ps.Layers = append(ps.Layers, q)
	return p.g.Param(q)
}

// Drawn returns fixed numbers that are drawn once, by the parameters' seed and the name.
func (p Problem) Drawn(name string, draw Start, shape ...int) graph.Expr {
	size := 1
	for _, n := range shape {
		size *= n
	}
	return p.g.Const(name, startAt(draw, p.s.Params.Seed, name, size), shape...)
}

func startAt(start Start, seed uint64, name string, size int) []float64 {
	h := fnv.New64a()
	h.Write([]byte("layers " + name))
	values := make([]float64, size)
	start(rand.New(rand.NewPCG(seed, h.Sum64())), values)
	return values
}

// Layer returns f(x·Wᵀ + b) [B×m] for x [B×d], with the activation f of package features: none,
// relu, tanh or cos. W [m×d] starts at N(0, 2/d) (He et al. 2015) before a relu, at N(0, 1/d)
// before others, and b at 0. A representation that is a chain of layers, from the context on,
// can be kept in a policy file.
func (p Problem) Layer(name string, x graph.Expr, m int, activation string) graph.Expr {
	if len(x.Shape()) != 2 {
		return graph.Fail("objectives: layer %q wants a matrix, not %s", name, x)
	}
	w, b := p.weights(name, m, x.Shape()[1], activation)
	return p.link(link{from: x, w: w, b: b, activation: activation})
}

// Conv returns what [features.Layer] makes of images x [B×height·width·channels], with m kernels,
// as a link of the chain like that of [Problem.Layer]: W [m×size·size·channels] starts at N(0, 2/d), for
// d what a kernel sees, before a relu, at N(0, 1/d) before others, and b [m] at 0.
func (p Problem) Conv(name string, x graph.Expr, in features.Image, m int, activation string) graph.Expr {
	if err := in.Check(); err != nil {
		return p.Unfit("layer %q: %v", name, err)
	}
	if s := x.Shape(); len(s) != 2 || s[1] != in.In() {
		return graph.Fail("objectives: layer %q of %d×%d pixels of %d channels wants rows of %d numbers, not %s", name,
			in.Height, in.Width, in.Channels, in.In(), x)
	}
	w, b := p.weights(name, m, in.Patch(), activation)
	return p.link(link{from: x, w: w, b: b, activation: activation, image: &in})
}

// weights are W [m×d] and b [m].
func (p Problem) weights(name string, m, d int, activation string) (w, b graph.Expr) {
	variance := 1 / float64(d)
	if activation == features.ReLU {
		variance *= 2
	}
	return p.Learned(name+" weights", Spread(math.Sqrt(variance)), m, d), p.Learned(name+" bias", Zeros, m)
}

// link adds a link to the chain, and returns what it makes.
func (p Problem) link(l link) graph.Expr {
	var y graph.Expr
	if l.image == nil {
		y = l.from.MatMulT(l.w).AddRow(l.b)
	} else {
		y = l.from.Conv(l.w, l.image.Convolution)
		pool := l.image.Pooling(l.w.Shape()[0])
		if pool.Size > 1 {
			y = y.MaxPool(pool)
		}
		h, w := pool.Out()
		y = y.AddRow(l.b.Down(h * w).Reshape(h * w * pool.Channels))
	}
	switch l.activation {
	case features.Linear:
	case features.ReLU:
		y = y.ReLU()
	case features.Tanh:
		y = y.Tanh()
	case features.Cos:
		y = y.Cos()
	default:
		return graph.Fail("objectives: activation %q: want none, %s, %s or %s", l.activation, features.ReLU,
			features.Tanh, features.Cos)
	}
	if l.to = y; y.Err() == nil {
		p.chain = append(p.chain, l)
	}
	return y
}

// Dropout sets entries of x to 0 with probability rate in training, and divides the others
// by 1 − rate; else it returns x. The noise is that of the program, see [graph.Program.Refill].
func (p Problem) Dropout(name string, x graph.Expr, rate float64) graph.Expr {
	if !p.s.Training && rate >= 0 && rate < 1 {
		return x
	}
	y := x.Dropout(name, rate)
	for i := range p.chain {
		if l := &p.chain[i]; same(l.to, x) {
			l.to = y
		}
	}
	return y
}

// link is a layer that a problem was asked for.
type link struct {
	from, to, w, b graph.Expr
	activation     string
	image          *features.Image // of a convolution
}

// same reports whether two expressions are one node.
func same(x, y graph.Expr) bool {
	a, err := x.Node()
	b, err2 := y.Node()
	return err == nil && err2 == nil && a == b
}

// Context returns φ(x) [B×d], whatever the representation.
func (p Problem) Context() graph.Expr {
	return p.once("context", func() graph.Expr { return p.g.Input(InputContext, p.b, p.s.Dim) })
}

// Features returns what the policy is linear in, [B×m]: h(x), or φ(x) without a
// representation.
func (p Problem) Features() graph.Expr {
	return p.once("features", func() graph.Expr {
		if p.s.Representation == nil {
			return p.Context()
		}
		h := p.s.Representation(p, p.Context())
		if h.Err() != nil {
			return h
		}
		if s := h.Shape(); len(s) != 2 || s[0] != p.b {
			return graph.Fail("objectives: a representation of shape %v for %d contexts, want [%d×m]", s, p.b, p.b)
		}
		return h
	})
}

// Width returns m, the number of features that a representation makes of d features; without a representation it is
// d. Its parameters are made on the way, in ps. Features that it cannot read are an [*UnfitError].
func (ps *Params) Width(r Representation, d int) (int, error) {
	if r == nil {
		return d, nil
	}
	p, err := ps.dry(r, d, 1)
	if err != nil {
		return 0, err
	}
	h := p.Features()
	if err := h.Err(); err != nil {
		if bad := (*UnfitError)(nil); errors.As(err, &bad) {
			return 0, bad
		}
		return 0, err
	}
	return h.Shape()[1], nil
}

// dry is a problem of a representation alone.
func (ps *Params) dry(r Representation, d, b int) (Problem, error) {
	if d < 1 {
		return Problem{}, fmt.Errorf("objectives: %d features, want at least 1", d)
	}
	return Problem{problem: &problem{
		s: Setup{Params: ps, Dim: d, Representation: r,
			Policy: policies.Softmax{}}, g: graph.New(ps.Dtype), b: b, draws: 1, memo: map[string]graph.Expr{},
	}}, nil
}

// Forward returns a function that writes h(x) [m] of a batch of contexts, b·d numbers row by
// row, to dst, b·m, in float64. It is not safe for many goroutines.
func (ps *Params) Forward(r Representation, d, b int) (func(dst, x []float64) error, error) {
	p, err := ps.As(tensor.Float64).dry(r, d, b)
	if err != nil {
		return nil, err
	}
	h := p.Features().Named("features")
	if err := h.Err(); err != nil {
		return nil, err
	}
	prog, err := p.g.Compile(p.Number("nothing", 0), graph.WithoutGradients())
	if err != nil {
		return nil, err
	}
	return func(dst, x []float64) error {
		if err := prog.Feed(InputContext, x); err != nil {
			return err
		}
		if err := prog.Run(); err != nil {
			return err
		}
		copy(dst, prog.Read("features"))
		return nil
	}, nil
}

// FeatureLayers returns the layers of a representation, with their present parameters,
// for a policy file. A representation that is no chain of layers is an error.
func (ps *Params) FeatureLayers(r Representation, d int) ([]features.Layer, error) {
	if r == nil {
		return nil, nil
	}
	p, err := ps.As(tensor.Float64).dry(r, d, 1)
	if err != nil {
		return nil, err
	}
	h := p.Features()
	if err := h.Err(); err != nil {
		return nil, err
	}
	var layers []features.Layer
	for at := h; !same(at, p.Context()) || layers == nil; {
		i := slices.IndexFunc(p.chain, func(l link) bool { return same(l.to, at) })
		if i < 0 {
			return nil, unfit("the representation is no chain of layers, and a policy file can hold nothing else")
		}
		layer, err := p.valuesOf(p.chain[i])
		if err != nil {
			return nil, err
		}
		layers, at = slices.Insert(layers, 0, layer), p.chain[i].from
	}
	return layers, nil
}

// valuesOf is a layer as numbers.
func (p Problem) valuesOf(l link) (features.Layer, error) {
	out := features.Layer{Activation: l.activation, Image: l.image}
	w, err := p.numbers(l.w)
	if err != nil {
		return out, err
	}
	if out.Bias, err = p.numbers(l.b); err != nil {
		return out, err
	}
	d := l.w.Shape()[1]
	for i := 0; i < len(w); i += d {
		out.Weights = append(out.Weights, w[i:i+d:i+d])
	}
	return out, nil
}

// numbers are the values of a parameter or of fixed numbers.
func (p Problem) numbers(x graph.Expr) ([]float64, error) {
	n, err := x.Node()
	if err != nil {
		return nil, err
	}
	switch v := n.Value().(type) {
	case *tensor.Dense:
		return append([]float64{}, v.Float64s()...), nil
	}
	return nil, fmt.Errorf("objectives: a layer of %T", n.Value())
}
