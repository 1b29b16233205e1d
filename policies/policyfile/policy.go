package policyfile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"opl/policies/features"
	"opl/policies/propensity"
)

// Nodes of the quadrature: those that certificates use at least, and what is
// taken for a mistake.
const (
	defaultNodes = 65
	maxNodes     = 4096
)

// Policy is a policy that serves, π = (1 − ε)·Σ_m w_m π_m + ε/K. It is safe for many
// goroutines; its methods allocate nothing once warm.
type Policy struct {
	file   *File
	hash   string
	k      int
	inputs *features.Encoder // the names that contexts may have, as they are
	parts  []part
	pool   sync.Pool // of *scratch
}

// part is a component that is ready to compute.
type part struct {
	*Component
	family propensity.Family
	place  []int // of the encoder's names among the inputs; nil: they are these
	net    *features.Net
	mu     []float64 // [K×m]
}

// scratch is what one choice needs.
type scratch struct{ raw, x, h, room, z, pi, sum []float64 }

func newPolicy(f *File, digest string) (*Policy, error) {
	p := &Policy{file: f, hash: digest, k: len(f.Actions)}
	if err := p.vocabulary(); err != nil {
		return nil, err
	}
	wide, deep, room := 0, 0, 0
	for i := range f.Components {
		c := &f.Components[i]
		q := part{Component: c, family: c.Family(), net: features.NewNet(c.Layers), mu: c.Weights.flat()}
		if len(f.Components) > 1 {
			for _, name := range c.Encoder.Names {
				q.place = append(q.place, p.inputs.Feature(name))
			}
		}
		wide, deep, room = max(wide, c.Encoder.Dim()), max(deep, c.Dim()), max(room, q.net.Room())
		p.parts = append(p.parts, q)
	}
	p.pool.New = func() any {
		return &scratch{make([]float64, p.inputs.Dim()), make([]float64, wide), make([]float64, deep), make([]float64, room), make([]float64, p.k), make([]float64, p.k), make([]float64, p.k)}
	}
	return p, nil
}

// vocabulary collects the names that the components know, in the order of the first.
func (p *Policy) vocabulary() error {
	var e features.Encoder
	seen := map[string]bool{}
	for i := range p.file.Components {
		for _, name := range p.file.Components[i].Encoder.Names {
			if !seen[name] {
				seen[name] = true
				e.Names, e.Scale = append(e.Names, name), append(e.Scale, 1)
			}
		}
	}
	e.Intercept = len(e.Names) == 0 // an encoder has some feature
	var err error
	p.inputs, err = features.New(e)
	return err
}

// Family is the family of the component's kind, without the floor of its file; nil where
// no file can have the kind.
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

// File is the content of the policy's file. It must not be changed.
func (p *Policy) File() *File { return p.file }

// Hash is the digest of the policy's file, 64 hexadecimal digits.
func (p *Policy) Hash() string { return p.hash }

// Actions returns the names of the K actions, from action 0.
func (p *Policy) Actions() []string { return slices.Clone(p.file.Actions) }

// Inputs are the names of the values in contexts that the policy knows: an encoder that
// leaves them as they are.
func (p *Policy) Inputs() *features.Encoder { return p.inputs }

// Propensities writes π(·|x) to dst [K]. Names that the policy does not know are
// left out; values that are not finite or come twice are an error.
func (p *Policy) Propensities(dst []float64, x []features.Value) error {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	return p.propensities(dst, x, s)
}

func (p *Policy) propensities(dst []float64, x []features.Value, s *scratch) error {
	if _, err := p.inputs.Encode(s.raw, x); err != nil {
		return err
	}
	return p.of(dst, s.raw, s)
}

// PropensitiesOf writes π(·|x) to dst [K] for the values of the names of Inputs, in their
// order, 0 where the context lacks the name.
func (p *Policy) PropensitiesOf(dst, values []float64) error {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	return p.of(dst, values, s)
}

func (p *Policy) of(dst, values []float64, s *scratch) error {
	if len(dst) != p.k || len(values) != p.inputs.Dim() {
		return fmt.Errorf("policyfile: %d values and room for %d propensities, want %d and %d", len(values), len(dst), p.inputs.Dim(), p.k)
	}
	for i := range p.parts {
		q := &p.parts[i]
		if err := q.scores(s.z, values, s, p.file.Actions); err != nil {
			return err
		}
		if len(p.parts) == 1 {
			q.family.At(dst, s.z, q.Sigma*s.x[0], nil)
			break
		}
		q.family.At(s.sum, s.z, q.Sigma*s.x[0], nil)
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
	return nil
}

// scores writes φ(x)ᵀμ_a to z [K], and ‖φ(x)‖ to s.x[0].
func (q *part) scores(z, values []float64, s *scratch, actions []string) error {
	x, h := s.x[:q.Encoder.Dim()], s.h[:q.Dim()]
	if q.place == nil {
		copy(x, values)
	} else {
		for j, at := range q.place {
			x[j] = values[at]
		}
	}
	if err := q.Encoder.Finish(x); err != nil {
		return err
	}
	if len(q.Layers) > 0 {
		q.net.Apply(h, x, s.room)
		x = h
	}
	d := len(x)
	for a := range z {
		z[a] = features.Dot(x, q.mu[a*d:(a+1)*d])
		if z[a]-z[a] != 0 {
			return fmt.Errorf("policyfile: the score of action %q is %v", actions[a], z[a])
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
	if err := p.propensities(s.pi, x, s); err != nil {
		return 0, 0, err
	}
	action = propensity.Draw(s.pi, r)
	return action, s.pi[action], nil
}
