package policyfile

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"opl/graph/kernel/simd"
	"opl/policies/features"
	"opl/policies/propensity"
)

// Nodes of the quadrature: those that certificates use at least, and what is
// taken for a mistake.
const (
	defaultNodes = 65
	maxNodes     = 4096
)

// Policy is a policy that serves, π = (1 − ε)·Σ_m w_m π_m + ε/K. Where actions have features K is
// the number of those that are offered: some, see PropensitiesOffered, or all of the catalogue. It
// is safe for many goroutines; its methods allocate nothing once warm.
type Policy struct {
	file    *File
	hash    string
	actions []string
	inputs  *features.Encoder // the names that contexts may have, as they are
	parts   []part
	pool    *sync.Pool // of *scratch

	// Where actions have features:
	items     *features.Encoder // the names that actions may be described by, as they are
	catalogue *Catalogue        // of actions; nil: there is none
	find      map[string]int32  // actions of the catalogue
}

// part is a component that is ready to compute.
type part struct {
	*Component
	family propensity.Family
	place  []int // of the encoder's names among the inputs; nil: they are these
	net    *features.Net
	mu     []float64 // [K×m], or [p×m]

	itemPlace []int    // of the items' names among those of all
	z         *encoded // of the catalogue

	pairs *features.Pairs // joint scores; nil: they are not
	known features.Halves // what they need of the catalogue's actions
}

// scratch is what one choice needs.
type scratch struct {
	raw, x, h, net, g, z, pi, sum []float64         // x: features
	pairs                         []features.Halves // of each component with joint scores: x and one z(a)
	offered                       *Offered
}

func newPolicy(f *File, digest string) (*Policy, error) {
	p := &Policy{file: f, hash: digest, actions: f.Actions}
	var contexts, items []*features.Encoder
	for i := range f.Components {
		c := &f.Components[i]
		if contexts = append(contexts, c.Encoder); c.Items != nil {
			items = append(items, c.Items.Encoder)
		}
	}
	var err error
	if p.inputs, err = features.Vocabulary(contexts); err != nil {
		return nil, err
	}
	if p.items, err = features.Vocabulary(items); err != nil {
		return nil, err
	}
	most := 0
	wide, deep, net := 0, 0, 0
	for i := range f.Components {
		c := &f.Components[i]
		q := part{Component: c, family: f.Family(c), mu: slices.Concat(c.Weights...)}
		if c.Joint {
			q.pairs = features.NewPairs(c.Layers, q.mu, c.Encoder.Dim(), c.Items.Dim())
			net = max(net, q.pairs.Scratch())
		} else {
			q.net = features.NewNet(c.Layers)
			net = max(net, q.net.Scratch())
		}
		if len(f.Components) > 1 {
			for _, name := range c.Encoder.Names {
				q.place = append(q.place, p.inputs.Feature(name))
			}
		}
		if c.Items != nil {
			most = max(most, c.Items.Dim())
			for _, name := range c.Items.Encoder.Names {
				q.itemPlace = append(q.itemPlace, p.items.Feature(name))
			}
		}
		wide, deep = max(wide, c.Encoder.Dim()), max(deep, c.Dim())
		p.parts = append(p.parts, q)
	}
	p.pool = &sync.Pool{New: func() any {
		s := &scratch{raw: make([]float64, p.inputs.Dim()), x: make([]float64, wide), h: make([]float64, deep),
			net: make([]float64, net), g: make([]float64, most), pairs: make([]features.Halves, len(p.parts))}
		for i := range p.parts {
			if q := p.parts[i].pairs; q != nil {
				s.pairs[i] = q.Halves(2)
			}
		}
		return s
	}}
	if f.Catalogue == nil {
		return p, nil
	}
	return p.WithCatalogue(f.Catalogue, f.Actions)
}

// Family returns the family of the component's kind, without the floor and the window of its file;
// nil where no file can have the kind.
func (c *Component) Family() propensity.Family {
	switch c.Kind {
	case Softmax:
		return propensity.Softmax{}
	case Gaussian:
		return propensity.Gaussian{Nodes: c.Nodes}
	case ArgMax:
		return propensity.ArgMax{}
	}
	return nil
}

// Family returns the family that component c plays, without the floor.
func (f *File) Family(c *Component) propensity.Family {
	if c.Kind == ArgMax && f.Numbers != nil {
		return propensity.ArgMax{Window: f.Numbers.Window, Bins: f.Numbers.Bins()}
	}
	return c.Family()
}

// File returns the content of the policy's file, which callers must not change.
func (p *Policy) File() *File { return p.file }

// Hash returns the digest of the policy's file, 64 hexadecimal digits.
func (p *Policy) Hash() string { return p.hash }

// Actions returns the names of the K actions, from action 0: with a catalogue those of it; none
// where actions have features and there is none.
func (p *Policy) Actions() []string { return slices.Clone(p.actions) }

// Len returns K, the number of actions of Actions.
func (p *Policy) Len() int { return len(p.actions) }

// Name returns the name of action a.
func (p *Policy) Name(a int) string { return p.actions[a] }

// Inputs returns the names of the values in contexts that the policy knows: an encoder
// that leaves them as they are.
func (p *Policy) Inputs() *features.Encoder { return p.inputs }

// Propensities writes π(·|x) to dst [K]. Names that the policy does not know are
// left out; values that are not finite or come twice are an error.
func (p *Policy) Propensities(dst []float64, x []features.Value) error {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	return p.propensities(dst, x, nil, s)
}

func (p *Policy) propensities(dst []float64, x []features.Value, o *Offered, s *scratch) error {
	if _, err := p.inputs.Encode(s.raw, x); err != nil {
		return err
	}
	return p.of(dst, nil, s.raw, o, nil, s)
}

// PropensitiesOf writes π(·|x) to dst [K] for the values of the names of Inputs, in their
// order, as Inputs().Clear leaves them where the context lacks the name.
func (p *Policy) PropensitiesOf(dst, values []float64) error {
	return p.PropensitiesOn(dst, nil, values, nil)
}

// PropensitiesOn writes what PropensitiesOf does, for the actions that are offered. nil offers
// all K, or the whole catalogue. scores, if it is not nil, takes Σ_m w_m s_m of each.
func (p *Policy) PropensitiesOn(dst, scores, values []float64, o *Offered) error {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	return p.of(dst, scores, values, o, nil, s)
}

// Scores writes Σ_m w_m s_m of the actions that PropensitiesOn is of to dst. They may not be finite.
func (p *Policy) Scores(dst, values []float64, o *Offered) error {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	return p.of(nil, dst, values, o, nil, s)
}

// PropensitiesAfter is PropensitiesOn of what the slots of a list above left: those of the actions above, by their
// places, are 0, and the others' are of the policy among these alone, as if they were all that is offered.
func (p *Policy) PropensitiesAfter(dst, values []float64, o *Offered, above []int) error {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	gone := slices.Clone(above)
	slices.Sort(gone)
	return p.of(dst, nil, values, o, gone, s)
}

// Largest returns the places of the n actions of largest scores of each component, from the largest on, the first of
// equals before the others: what argmax policies play when those before are gone.
func (p *Policy) Largest(values []float64, o *Offered, n int) ([][]int, error) {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	k := len(p.actions)
	if o != nil {
		k = o.Len()
	}
	s.z = slices.Grow(s.z[:0], k)[:k]
	top := make([][]int, len(p.parts))
	for i := range p.parts {
		if err := p.parts[i].scores(s.z, values, i, o, s); err != nil {
			return nil, err
		}
		if a := simd.NonFinite(s.z); a >= 0 {
			return nil, p.tooLarge(o, a, s.z[a])
		}
		top[i] = Top(make([]int, n), s.z, s.z)
	}
	return top, nil
}

// without takes entries out, by their places in order, and returns the others.
func without(z []float64, gone []int) []float64 {
	if len(gone) == 0 {
		return z
	}
	n := gone[0]
	for j, at := range gone {
		end := len(z)
		if j+1 < len(gone) {
			end = gone[j+1]
		}
		n += copy(z[n:], z[at+1:end])
	}
	return z[:n]
}

func (p *Policy) of(dst, mean, values []float64, o *Offered, above []int, s *scratch) error {
	k := len(p.actions)
	if o != nil {
		k = o.Len()
	}
	switch {
	case k == 0 && o == nil:
		return errors.New("policyfile: the policy has no catalogue: say which actions are offered")
	case k == 0:
		return errors.New("policyfile: no action is offered")
	case dst != nil && len(dst) != k || mean != nil && len(mean) != k || len(values) != p.inputs.Dim():
		return fmt.Errorf("policyfile: %d values and space for %d propensities, want %d and %d", len(values), len(dst),
			p.inputs.Dim(), k)
	}
	if k == len(above) {
		return errors.New("policyfile: no action is left for the slot")
	}
	s.z = slices.Grow(s.z[:0], k)[:k]
	all := dst
	dst = dst[:max(0, len(dst)-len(above))]
	if len(p.parts) > 1 {
		s.sum = slices.Grow(s.sum[:0], k)[:len(dst)]
	}
	for i := range p.parts {
		q := &p.parts[i]
		z := s.z
		if dst == nil && len(p.parts) == 1 {
			z = mean
		}
		if err := q.scores(z, values, i, o, s); err != nil {
			return err
		}
		if dst == nil && len(p.parts) == 1 {
			return nil
		}
		if a := simd.NonFinite(z); a >= 0 {
			return p.tooLarge(o, a, z[a])
		}
		if mean != nil {
			if i == 0 {
				clear(mean)
			}
			for a, v := range s.z {
				mean[a] += q.Weight * v
			}
		}
		if dst == nil {
			continue
		}
		z = without(z, above)
		if len(p.parts) == 1 {
			q.family.At(dst, z, q.Sigma*s.x[0], nil)
			break
		}
		q.family.At(s.sum, z, q.Sigma*s.x[0], nil)
		for a, v := range s.sum {
			if i == 0 {
				dst[a] = 0
			}
			dst[a] += q.Weight * v
		}
	}
	if p.file.Floor > 0 {
		propensity.AddFloor(dst, p.file.Floor)
	}
	for j, at := range slices.Backward(above) { // each back to its place
		copy(all[at+1:], all[at-j:len(dst)])
		all[at], dst = 0, all[:at-j]
	}
	return nil
}

// scores writes the scores s_a to z, and ‖φ(x)‖ to s.x[0].
func (q *part) scores(z, values []float64, at int, o *Offered, s *scratch) error {
	x, h := s.x[:q.Encoder.Dim()], s.h[:q.Dim()]
	if q.place == nil {
		copy(x, values)
	} else {
		for j, at := range q.place {
			if x[j] = values[at]; x[j] != x[j] && !q.Encoder.Impute {
				x[j] = 0 // only another component can tell that it is missing
			}
		}
	}
	if err := q.Encoder.Finish(x); err != nil {
		return err
	}
	if len(q.Layers) > 0 && !q.Joint {
		q.net.Apply(h, x, s.net)
		x = h
	}
	switch {
	case q.Joint:
		q.joint(z, x, at, o, s)
	case q.Items == nil:
		features.Dots(z, q.mu[:len(z)*len(x)], x)
	default:
		n := q.Items.Encoder.Dim()
		g := s.g[:n]
		if o == nil {
			g = s.g[:q.Items.Dim()]
		}
		features.Dots(g, q.mu[:len(g)*len(x)], x)
		if j := slices.IndexFunc(g[:n], func(v float64) bool { return v-v != 0 }); j >= 0 {
			return fmt.Errorf("policyfile: what the scores take of feature %d of actions is %v", j, g[j])
		}
		if o == nil {
			q.z.scores(z, g)
		} else {
			o.scores(z, g, x, at)
		}
	}
	s.x[0] = math.Sqrt(features.Dot(x, x))
	return nil
}

// Choose draws an action from π(·|x) and returns it with its propensity π(a|x). r
// is the caller's: one shared by goroutines needs a source that may be.
func (p *Policy) Choose(x []features.Value, r *rand.Rand) (action int, pi float64, err error) {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	return p.choose(x, nil, r, s)
}

func (p *Policy) choose(x []features.Value, o *Offered, r *rand.Rand, s *scratch) (action int, pi float64, err error) {
	k := len(p.actions)
	if o != nil {
		k = o.Len()
	}
	s.pi = slices.Grow(s.pi[:0], k)[:k]
	if err := p.propensities(s.pi, x, o, s); err != nil {
		return 0, 0, err
	}
	action = propensity.Draw(s.pi, r)
	return action, s.pi[action], nil
}
