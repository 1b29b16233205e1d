package features

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel"
	"opl/graph/kernel/simd"
)

// The activations of a layer.
const (
	Linear = ""     // h
	ReLU   = "relu" // max(0, h)
	Tanh   = "tanh"
	Cos    = "cos" // in radians
	// Odds are log(p_a/(1 − p_a)), p = softmax(h): of outputs exactly one of which is right.
	Odds = "odds"
)

// Layer is a learned map of features, h = activation(W·x + b), x [in], h [out]. With an image it is a
// convolution: x is an image, W kernels, and h the activations of the largest of W·x in squares
// of places:
//
//	h[r, s, o] = activation(max_{i,j < pool} Σ_{u,v,c} W[o, (u, v, c)]·x[pool·r + i + u − pad, pool·s + j + v − pad, c] + b[o])
//
// where x is 0 outside of the image, and pixels are row by row, the channels of each together.
//
// A layer of another kind has one of the last four fields and none of the others.
type Layer struct {
	Weights    [][]float64 `json:"weights"`            // W [out][in]; of kernels [m][size·size·channels]
	Bias       []float64   `json:"bias,omitempty"`     // b [out], [m] of kernels; none: zero
	Activation string      `json:"activation"`         // "", relu, tanh or cos
	Image      *Image      `json:"image,omitempty"`    // the layer is a convolution; nil: x is no image
	Trees      *Forest     `json:"trees,omitempty"`    // features by trees
	Pieces     *Pieces     `json:"pieces,omitempty"`   // features by pieces of single numbers
	Products   *Products   `json:"products,omitempty"` // products of pairs of features
	Clip       *Clip       `json:"clip,omitempty"`     // features within ranges
	Branches   *Branches   `json:"branches,omitempty"` // several chains side by side
}

// special is what layers that are no product with weights do.
type special interface {
	check(in int) error
	out() int
	stage() stage // ready to compute, after check
}

// special returns what the layer is where it is no product with weights, else nil.
func (l *Layer) special() special {
	switch {
	case l.Trees != nil:
		return l.Trees
	case l.Pieces != nil:
		return l.Pieces
	case l.Products != nil:
		return l.Products
	case l.Clip != nil:
		return l.Clip
	case l.Branches != nil:
		return l.Branches
	}
	return nil
}

// IsSpecial reports that the layer is of trees, pieces, products, clip or branches.
func (l *Layer) IsSpecial() bool { return l.special() != nil }

// MarshalJSON writes the fields of the layer's kind alone.
func (l Layer) MarshalJSON() ([]byte, error) {
	type plain Layer
	if !l.IsSpecial() {
		return json.Marshal(plain(l))
	}
	return json.Marshal(struct {
		Trees    *Forest   `json:"trees,omitempty"`
		Pieces   *Pieces   `json:"pieces,omitempty"`
		Products *Products `json:"products,omitempty"`
		Clip     *Clip     `json:"clip,omitempty"`
		Branches *Branches `json:"branches,omitempty"`
	}{l.Trees, l.Pieces, l.Products, l.Clip, l.Branches})
}

// UnmarshalJSON reads a layer. A field that it does not know and null among its numbers are errors.
func (l *Layer) UnmarshalJSON(b []byte) error {
	var p struct {
		Weights    json.RawMessage `json:"weights"`
		Bias       json.RawMessage `json:"bias"`
		Activation *string         `json:"activation"`
		Image      *Image          `json:"image"`
		Trees      *Forest         `json:"trees"`
		Pieces     *Pieces         `json:"pieces"`
		Products   *Products       `json:"products"`
		Clip       *Clip           `json:"clip"`
		Branches   *Branches       `json:"branches"`
	}
	if nested(b) > mostNested {
		return fmt.Errorf("features: a layer is nested too deep")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return err
	}
	*l = Layer{Image: p.Image, Trees: p.Trees, Pieces: p.Pieces, Products: p.Products, Clip: p.Clip, Branches: p.Branches}
	if l.IsSpecial() && (bytes.Contains(b, []byte("null")) || p.Activation != nil) {
		return fmt.Errorf("features: null, or an activation, in a layer of trees, pieces, products, clip or branches")
	}
	if p.Activation != nil {
		l.Activation = *p.Activation
	}
	for _, of := range []struct {
		raw json.RawMessage
		to  any
	}{{p.Weights, &l.Weights}, {p.Bias, &l.Bias}} {
		if of.raw == nil || string(of.raw) == "null" {
			continue
		}
		if bytes.IndexByte(of.raw, 'n') >= 0 { // of null: no number has one
			return fmt.Errorf("features: null among the numbers of a layer")
		}
		if err := json.Unmarshal(of.raw, of.to); err != nil {
			return err
		}
	}
	return nil
}

// Image makes a layer a convolution and gives the sizes of what it reads.
type Image struct {
	kernel.Convolution
	Pool int `json:"pool,omitempty"` // the side of squares; 0: 1
}

// Out counts the pixels that a layer makes of an image, as rows and columns.
func (i Image) Out() (height, width int) { return i.Pooling(1).Out() }

// Pooling returns the pooling that follows the kernels.
func (i Image) Pooling(kernels int) kernel.Pooling {
	h, w := i.Convolution.Out()
	return kernel.Pooling{Height: h, Width: w, Channels: kernels, Size: max(1, i.Pool)}
}

// Check reports what is wrong with an image.
func (i Image) Check() error {
	if err := i.Convolution.Check(); err != nil {
		return err
	}
	h, w := i.Convolution.Out()
	if i.Pool < 0 || i.Pool > min(h, w) {
		return fmt.Errorf("squares of %d×%d in an image of %d×%d pixels", i.Pool, i.Pool, h, w)
	}
	return nil
}

// Out returns the number of features that the layer gives.
func (l *Layer) Out() int {
	if s := l.special(); s != nil {
		return s.out()
	}
	if l.Image != nil {
		h, w := l.Image.Out()
		return h * w * len(l.Weights)
	}
	return len(l.Weights)
}

// Check reports what is wrong with a layer of in features: sizes that do not fit, numbers
// that are not finite, an activation that is not known.
func (l *Layer) Check(in int) error {
	if s := l.special(); s != nil {
		kinds := 0
		for _, is := range []bool{l.Trees != nil, l.Pieces != nil, l.Products != nil, l.Clip != nil, l.Branches != nil} {
			if is {
				kinds++
			}
		}
		if kinds > 1 || l.Weights != nil || l.Bias != nil || l.Activation != "" || l.Image != nil {
			return fmt.Errorf("features: a layer of two kinds")
		}
		if err := s.check(in); err != nil {
			return fmt.Errorf("features: %w", err)
		}
		return nil
	}
	switch {
	case len(l.Weights) == 0:
		return fmt.Errorf("features: a layer without weights")
	case l.Bias != nil && len(l.Bias) != len(l.Weights):
		return fmt.Errorf("features: a layer of %d rows with %d biases", len(l.Weights), len(l.Bias))
	case l.Activation == Odds && (len(l.Weights) < 2 || l.Image != nil):
		return fmt.Errorf("features: odds of %d outputs, want at least 2, and no image", len(l.Weights))
	case !slices.Contains([]string{Linear, ReLU, Tanh, Cos, Odds}, l.Activation):
		return fmt.Errorf("features: activation %q: want none, %s, %s, %s or %s", l.Activation, ReLU, Tanh, Cos,
			Odds)
	}
	if l.Image != nil {
		if err := l.Image.Check(); err != nil {
			return fmt.Errorf("features: %w", err)
		}
		if l.Image.In() != in {
			return fmt.Errorf("features: an image of %d numbers, %d×%d pixels of %d channels, for %d features",
				l.Image.In(), l.Image.Height, l.Image.Width, l.Image.Channels, in)
		}
		in = l.Image.Patch()
	}
	for i, row := range l.Weights {
		if len(row) != in {
			return fmt.Errorf("features: row %d of a layer has %d numbers for %d features", i, len(row), in)
		}
		for _, v := range row {
			if v-v != 0 {
				return fmt.Errorf("features: row %d of a layer has the number %v", i, v)
			}
		}
	}
	for i, v := range l.Bias {
		if v-v != 0 {
			return fmt.Errorf("features: bias %d of a layer is %v", i, v)
		}
	}
	return nil
}

// Net is a chain of layers that is ready to compute. It is safe for many goroutines.
type Net struct {
	stages  []stage
	outs    []int // features that each gives
	wide    int   // the most of these
	scratch int   // of a stage
}

// stage is a layer that is ready to compute.
type stage interface {
	// apply writes h(x) to h, another slice than x; it may write to scratch.
	apply(h, x, scratch []float64)
	scratch() int
}

// NewNet makes a chain of layers, each of which takes what the one before gives. They must
// have passed Check.
func NewNet(layers []Layer) *Net {
	n := &Net{}
	for i := range layers {
		var s stage
		if of := layers[i].special(); of != nil {
			s = of.stage()
		} else {
			s = newDense(&layers[i])
		}
		out := layers[i].Out()
		n.stages, n.outs = append(n.stages, s), append(n.outs, out)
		n.wide, n.scratch = max(n.wide, out), max(n.scratch, s.scratch())
	}
	return n
}

// Out returns the number of features that the chain gives of in.
func (n *Net) Out(in int) int {
	if len(n.outs) == 0 {
		return in
	}
	return n.outs[len(n.outs)-1]
}

// Scratch returns how many numbers Apply needs beside its result.
func (n *Net) Scratch() int { return 2*n.wide + n.scratch }

// Apply writes h(x) to dst [Out], another slice than x, in scratch of its own. Terms are added in
// the order of x: zeros of x cost nothing.
func (n *Net) Apply(dst, x, scratch []float64) {
	a, b := scratch[:n.wide], scratch[n.wide:2*n.wide]
	for i, s := range n.stages {
		h := a[:n.outs[i]]
		if i == len(n.stages)-1 {
			h = dst[:n.outs[i]]
		}
		s.apply(h, x, scratch[2*n.wide:])
		x = h
		a, b = b, a
	}
	if len(n.stages) == 0 {
		copy(dst, x)
	}
}

// dense is a layer of weights: a product with a matrix, or a convolution.
type dense struct {
	*Layer
	turned []float64    // Wᵀ [in×out]
	runs   []kernel.Run // of an image
	places int          // numbers of an image's patches, and of what kernels make of one
}

func newDense(l *Layer) *dense {
	in, out := len(l.Weights[0]), len(l.Weights)
	d := &dense{Layer: l, turned: make([]float64, in*out)}
	for o, row := range l.Weights {
		for j, v := range row {
			d.turned[j*out+o] = v
		}
	}
	if l.Image != nil {
		h, w := l.Image.Convolution.Out()
		d.runs, d.places = l.Image.Runs(), h*w*in+out
	}
	return d
}

func (l *dense) scratch() int { return l.places }

func (l *dense) apply(h, x, scratch []float64) {
	if l.Image != nil {
		l.convolve(h, x, scratch)
	} else {
		times(h, x, l.turned)
	}
	if l.Bias != nil {
		for at := 0; at < len(h); at += len(l.Bias) {
			for o, v := range l.Bias {
				h[at+o] += v
			}
		}
	}
	switch l.Activation {
	case Linear:
	case Odds:
		odds(h)
	default:
		for o, v := range h {
			h[o] = l.activate(v)
		}
	}
}

// odds replaces scores z_a by z_a − log Σ_{b≠a} exp(z_b).
func odds(z []float64) {
	at := floats.MaxIdx(z)
	first, second := z[at], math.Inf(-1)
	var all, rest float64 // Σ_b exp(z_b − first); without the largest Σ_b exp(z_b − second)
	for b, v := range z {
		if all += math.Exp(v - first); b != at {
			second = max(second, v)
		}
	}
	for b, v := range z {
		if b == at {
			continue
		}
		rest += math.Exp(v - second)
		z[b] = v - first - math.Log(max(all-math.Exp(v-first), 1))
	}
	z[at] = first - second - math.Log(rest)
}

// times writes Wᵀ·x to h, for W [in×out]. It leaves out eight zeros in a row.
func times(h, x, w []float64) {
	const block = 8
	clear(h)
	for from := 0; from < len(x); {
		to := from
		for to < len(x) && anyOf(x[to:min(to+block, len(x))]) {
			to = min(to+block, len(x))
		}
		simd.AddRowsTimes(h, w[from*len(h):to*len(h)], x[from:to])
		from = to + block
	}
}

// anyOf reports that one of some numbers is not 0.
func anyOf(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return true
		}
	}
	return false
}

// convolve writes what the kernels make of an image to h.
func (l *dense) convolve(h, x, scratch []float64) {
	rows, cols := l.Image.Convolution.Out()
	size, m, pool := l.Image.Patch(), len(l.Weights), l.Image.Pooling(1).Size
	patches, z := scratch[:rows*cols*size], scratch[rows*cols*size:][:m]
	if l.Image.Pad > 0 {
		clear(patches)
	}
	kernel.Unfold(patches, x, l.runs)
	for r := range rows / pool {
		for s := range cols / pool {
			for k := range pool * pool {
				at := (r*pool+k/pool)*cols + s*pool + k%pool
				times(z, patches[at*size:(at+1)*size], l.turned)
				if k == 0 {
					copy(h, z)
					continue
				}
				for o, v := range z {
					h[o] = max(h[o], v)
				}
			}
			h = h[m:]
		}
	}
}

func (l *Layer) activate(h float64) float64 {
	switch l.Activation {
	case ReLU:
		return max(h, 0)
	case Tanh:
		return math.Tanh(h)
	case Cos:
		if h == 0 { // as most are of [Pairs]
			return 1
		}
		return math.Cos(h)
	}
	return h
}

// Dot is xᵀy, for y at least as long as x. Terms are rounded and added in their order: it is
// the same number wherever it is computed.
func Dot(x, y []float64) float64 {
	var s float64
	y = y[:len(x)]
	for j, v := range x {
		s += float64(v * y[j])
	}
	return s
}

// Dots writes the products Wx, for W [len(dst)×len(x)], to dst: those of Dot, and faster.
func Dots(dst, w, x []float64) {
	d := len(x)
	for ; len(dst) >= 4; dst, w = dst[4:], w[4*d:] {
		var s, t, u, v float64
		p, q, r, last := w[:d], w[d:2*d], w[2*d:3*d], w[3*d:4*d]
		for j, x := range x {
			s += float64(x * p[j])
			t += float64(x * q[j])
			u += float64(x * r[j])
			v += float64(x * last[j])
		}
		dst[0], dst[1], dst[2], dst[3] = s, t, u, v
	}
	for i := range dst {
		dst[i] = Dot(x, w[i*d:(i+1)*d])
	}
}
