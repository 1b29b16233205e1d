package learn

import (
	"encoding/json"
	"fmt"
	"slices"

	"opl/policies"
	"opl/policies/policyfile"
	"opl/train"
)

// policyOf rebuilds the policy and the posterior of a policy file. Without a prior
// in the file the posterior's has no mean.
func policyOf(f *policyfile.File) (policies.Policy, policies.Posterior) {
	q := policies.Posterior{Actions: len(f.Actions), Dim: f.Encoder.Dim(), Mu: slices.Concat(f.Weights...), Sigma: f.Sigma}
	if f.Prior != nil {
		q.Prior = policies.Prior{Mean: slices.Concat(f.Prior.Mean...), Scale: f.Prior.Scale}
	}
	var pol policies.Policy = policies.Softmax{}
	if f.Kind == policyfile.Gaussian {
		pol = policies.Gaussian{Nodes: f.Nodes}
	}
	return floored(pol, f.Floor), q
}

// floored is the policy above a floor.
func floored(pol policies.Policy, floor float64) policies.Policy {
	if floor == 0 {
		return pol
	}
	return policies.Floor{Policy: pol, Epsilon: floor}
}

// kindOf is the kind of a policy in files, or why it has none.
func kindOf(pol policies.Policy) (string, error) {
	switch pol.(type) {
	case policies.Softmax:
		return policyfile.Softmax, nil
	case policies.Gaussian:
		return policyfile.Gaussian, nil
	}
	return "", fmt.Errorf("a %s policy has no propensities in closed form, which serving and the next log need: learn a gaussian or a softmax one", pol.Name())
}

// matrix is [k×d] as rows.
func matrix(flat []float64, k int) policyfile.Matrix {
	d := len(flat) / k
	m := make(policyfile.Matrix, k)
	for a := range m {
		m[a] = flat[a*d : (a+1)*d : (a+1)*d]
	}
	return m
}

// versions are those of the running program.
func versions() policyfile.Versions {
	return train.ThisVersion()
}

// object is JSON of a value that has some.
func object(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	return b, nil
}
