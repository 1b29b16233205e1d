// Package policyfile turns what was learned into a policy file, and back.
package policyfile

import (
	"encoding/json"
	"fmt"

	"opl/policies"
	"opl/policies/features"
	"opl/policies/serve"
	"opl/train"
	"opl/train/certify"
)

// About is what a file says beside the policy itself.
type About struct {
	Actions  []string // names, K of them
	Encoder  *features.Encoder
	Floor    float64 // ε of π = (1 − ε)·π_Q + ε/K
	DataHash string  // of the log
	// The rows that taught the prior, if any did: how their hashes are taken, with
	// which seed.
	TaughtHow   string
	TaughtSeed  uint64
	Training    any // how it was trained, an object in JSON; nil: not said
	Certificate *certify.Certificate
	Versions    train.Versions // of the program
}

// File gives the content of the file of a learned policy. Families that are known
// by draws alone have none.
func File(pol policies.Policy, q policies.Posterior, a About) (*serve.File, error) {
	f := &serve.File{
		Kind: pol.Name(), Actions: a.Actions, Encoder: a.Encoder, Floor: a.Floor,
		Created: serve.Versions(a.Versions), DataHash: a.DataHash,
	}
	switch p := pol.(type) {
	case policies.Gaussian:
		f.Sigma, f.Nodes = q.Sigma, max(65, p.Nodes) // as Given has them
	case policies.Softmax:
	default:
		return nil, fmt.Errorf("policyfile: a %s policy is known by draws alone, and the log of what it does would lack exact propensities: learn a gaussian or a softmax one", pol.Name())
	}
	var err error
	if f.Weights, err = matrix("mean", q.Mu, q); err != nil {
		return nil, err
	}
	if q.Prior.Mean != nil {
		f.Prior = &serve.Prior{Scale: q.Prior.Scale}
		if f.Prior.Scale == 0 {
			f.Prior.Scale = 1
		}
		if f.Prior.Mean, err = matrix("prior mean", q.Prior.Mean, q); err != nil {
			return nil, err
		}
		if n := q.Prior.Taught.Len(); n > 0 {
			f.Prior.Taught = &serve.Taught{Count: n, Seed: a.TaughtSeed, How: a.TaughtHow, DataHash: a.DataHash, Rows: q.Prior.Taught.Hashes()}
		}
	}
	if a.Training != nil {
		if f.Training, err = json.Marshal(a.Training); err != nil {
			return nil, fmt.Errorf("policyfile: the training's configuration: %w", err)
		}
	}
	if a.Certificate != nil {
		if f.Certificate, err = json.Marshal(a.Certificate); err != nil {
			return nil, fmt.Errorf("policyfile: the certificate: %w", err)
		}
	}
	return f, nil
}

// matrix is [K×d] as rows, which share memory with flat.
func matrix(name string, flat []float64, q policies.Posterior) (serve.Matrix, error) {
	if len(flat) != q.Actions*q.Dim {
		return nil, fmt.Errorf("policyfile: a %s of %d numbers for %d actions and %d features", name, len(flat), q.Actions, q.Dim)
	}
	m := make(serve.Matrix, q.Actions)
	for a := range m {
		m[a] = flat[a*q.Dim : (a+1)*q.Dim : (a+1)*q.Dim]
	}
	return m, nil
}

// Posterior gives the policy of a file as it is learned and certified, without its
// floor. A file without a prior gives one without a mean.
func Posterior(p *serve.Policy) (policies.Policy, policies.Posterior, error) {
	f := p.File()
	q := policies.Posterior{Actions: len(f.Actions), Dim: p.Dim(), Mu: flat(f.Weights), Sigma: f.Sigma}
	if f.Prior != nil {
		q.Prior = policies.Prior{Mean: flat(f.Prior.Mean), Scale: f.Prior.Scale}
		if t := f.Prior.Taught; t != nil {
			q.Prior.Taught = policies.NewRowSet(t.Rows)
		}
	}
	switch f.Kind {
	case serve.Gaussian:
		return policies.Gaussian{Nodes: f.Nodes}, q, nil
	case serve.Softmax:
		return policies.Softmax{}, q, nil
	}
	return nil, q, fmt.Errorf("policyfile: kind %q is none of a learned policy", f.Kind)
}

// Certificate gives the certificate of a file, nil if it has none.
func Certificate(p *serve.Policy) (*certify.Certificate, error) {
	raw := p.File().Certificate
	if raw == nil {
		return nil, nil
	}
	c := new(certify.Certificate)
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("policyfile: the certificate: %w", err)
	}
	return c, nil
}

func flat(m serve.Matrix) []float64 {
	var all []float64
	for _, row := range m {
		all = append(all, row...)
	}
	return all
}
