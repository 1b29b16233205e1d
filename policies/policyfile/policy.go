package policyfile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"opl/graph/kernel"
	"opl/policies/features"
	"opl/policies/propensity"
)

// Nodes of the quadrature: those that certificates use at least, and what is
// taken for a mistake.
const (
	defaultNodes = 65
	maxNodes     = 4096
)

// Policy is a policy that serves, π = (1 − ε)·π_Q + ε/K. It is safe for many
// goroutines; its methods allocate nothing once warm.
type Policy struct {
	file  *File
	hash  string
	k, d  int
	nodes int
	mu    []float64 // [K×d]
	pool  sync.Pool // of *scratch
}

// scratch is what one choice needs.
type scratch struct{ phi, z, pi []float64 }

func newPolicy(f *File, digest string) *Policy {
	p := &Policy{file: f, hash: digest, k: len(f.Actions), d: f.Encoder.Dim(), mu: f.Weights.flat()}
	if p.nodes = f.Nodes; p.nodes == 0 {
		p.nodes = max(defaultNodes, kernel.DefaultNodes(p.k))
	}
	p.pool.New = func() any {
		return &scratch{make([]float64, p.d), make([]float64, p.k), make([]float64, p.k)}
	}
	return p
}

// File is the content of the policy's file. It must not be changed.
func (p *Policy) File() *File { return p.file }

// Hash is the digest of the policy's file, 64 hexadecimal digits.
func (p *Policy) Hash() string { return p.hash }

// Actions returns the names of the K actions, from action 0.
func (p *Policy) Actions() []string { return slices.Clone(p.file.Actions) }

// Dim is the number of features, d.
func (p *Policy) Dim() int { return p.d }

// Encoder is what turns contexts into features.
func (p *Policy) Encoder() *features.Encoder { return p.file.Encoder }

// Propensities writes π(·|x) to dst [K]. Names that the encoder does not have are
// left out; values that are not finite or come twice are an error.
func (p *Policy) Propensities(dst []float64, x []features.Value) error {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	return p.propensities(dst, x, s)
}

func (p *Policy) propensities(dst []float64, x []features.Value, s *scratch) error {
	if _, err := p.file.Encoder.Encode(s.phi, x); err != nil {
		return err
	}
	return p.of(dst, s.phi, s)
}

// PropensitiesOf writes π(·|x) to dst [K] for a feature vector phi [d].
func (p *Policy) PropensitiesOf(dst, phi []float64) error {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	return p.of(dst, phi, s)
}

func (p *Policy) of(dst, phi []float64, s *scratch) error {
	if len(dst) != p.k || len(phi) != p.d {
		return fmt.Errorf("serve: %d features and room for %d propensities, want %d and %d", len(phi), len(dst), p.d, p.k)
	}
	for a := range s.z {
		s.z[a] = dot(phi, p.mu[a*p.d:(a+1)*p.d])
		if s.z[a]-s.z[a] != 0 {
			return fmt.Errorf("serve: the score of action %q is %v", p.file.Actions[a], s.z[a])
		}
	}
	switch p.file.Kind {
	case Softmax:
		kernel.Softmax(dst, s.z, p.k)
	case Gaussian:
		if scale := p.file.Sigma * math.Sqrt(dot(phi, phi)); scale > 0 {
			for a := range s.z {
				s.z[a] /= scale
			}
		} else {
			clear(s.z) // a tie
		}
		kernel.GaussianPropensities(dst, s.z, p.k, p.nodes)
	}
	if floor := p.file.Floor; floor > 0 {
		for a := range dst {
			dst[a] = (1-floor)*dst[a] + floor/float64(p.k)
		}
	}
	return nil
}

func dot(x, y []float64) float64 {
	var s float64
	y = y[:len(x)]
	for j, v := range x {
		s += v * y[j]
	}
	return s
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
