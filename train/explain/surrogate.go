package explain

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/portable"
	"opl/train"

	"gonum.org/v1/gonum/floats"
)

// Surrogate is a shallow tree that plays like the policy, or the policy itself if it is one.
type Surrogate struct {
	Exact bool   `json:"exact"` // it is the policy
	Rules string `json:"rules"` // as text
	// Fidelity is the share of rows in which it plays the policy's most likely action, by rows that it was not
	// learned from.
	Fidelity float64 `json:"fidelity"`
	Leaves   []Leaf  `json:"leaves"` // where policy and logging policy differ most first
}

// Leaf says what the policy plays in the rows of a leaf.
type Leaf struct {
	Where   string  `json:"where"`   // conditions in words
	Share   float64 `json:"share"`   // of the rows
	Action  string  `json:"action"`  // that the tree plays
	Policy  float64 `json:"policy"`  // mean probability of the action
	Logging float64 `json:"logging"` // mean probability of the action under the logging policy
	Gain    float64 `json:"gain"`    // of the policy over the logging policy, in reward per row
	SE      float64 `json:"se"`      // standard error of Gain
}

// readableLeaves bounds the leaves of a policy that is its own surrogate.
const readableLeaves = 32

// surrogate learns the tree from every other row, and judges it on the others.
func (e *Explanation) surrogate(ctx context.Context, encoder *features.Encoder, depth, threads int) error {
	k := e.policy.Len()
	tree, err := portable.Within(e.policy, 4*readableLeaves)
	if e.Surrogate.Exact = err == nil && tree.Root.Leaves() <= readableLeaves; !e.Surrogate.Exact {
		var learn []int
		var pi []float64
		for i := 0; i < len(e.rows); i += 2 {
			learn, pi = append(learn, e.rows[i]), append(pi, e.pi[i*k:(i+1)*k]...)
		}
		node, err := train.Surrogate(ctx, e.log, encoder, learn, pi, depth, threads)
		if err != nil {
			return err
		}
		f := &policyfile.File{Actions: e.policy.Actions(), RewardMax: 1, Components: []policyfile.Component{{Weight: 1,
			Kind: policyfile.ArgMax, Encoder: encoder, Layers: []features.Layer{{Trees: node.Forest(encoder.Dim(), k)}},
			Weights: identity(k)}}}
		p, err := policyfile.New(f)
		if err != nil {
			return err
		}
		if tree, err = portable.New(p); err != nil {
			return err
		}
	}
	var text strings.Builder
	if err := tree.Write(&text, "text", ""); err != nil {
		return err
	}
	e.Surrogate.Rules = text.String()
	e.leaves(tree)
	return nil
}

func identity(k int) policyfile.Matrix {
	m := make(policyfile.Matrix, k)
	for a := range m {
		m[a] = make([]float64, k)
		m[a][a] = 1
	}
	return m
}

// leaves counts what is played in each leaf of a tree.
func (e *Explanation) leaves(tree *portable.Tree) {
	type found struct {
		Leaf
		action, rows, logged int
		pi                   float64
		gain                 moments
	}
	k, of := e.policy.Len(), map[*portable.Node]*found{}
	var order []*found
	same, judged := 0, 0
	for i, r := range e.rows {
		node, way := tree.Root.Walk(func(c portable.Condition) bool { return e.holds(c, r) })
		f := of[node]
		if f == nil {
			f = &found{action: floats.MaxIdx(node.Propensities)}
			f.Where, f.Action = strings.Join(way, ", "), e.policy.Name(f.action)
			of[node], order = f, append(order, f)
		}
		pi := e.pi[i*k : (i+1)*k]
		if f.rows++; int(e.log.Action[r]) == f.action {
			f.logged++
		}
		f.pi += pi[f.action]
		e.add(&f.gain, e.span*(e.value(pi, i)-e.reward(r)), r)
		if e.Surrogate.Exact || i%2 == 1 {
			if judged++; floats.MaxIdx(pi) == f.action {
				same++
			}
		}
	}
	e.Surrogate.Fidelity = float64(same) / float64(max(1, judged))
	for _, f := range order {
		n := float64(f.rows)
		f.Share, f.Policy, f.Logging = n/float64(len(e.rows)), f.pi/n, float64(f.logged)/n
		f.Gain, f.SE = f.gain.mean(), f.gain.se()
		e.Surrogate.Leaves = append(e.Surrogate.Leaves, f.Leaf)
	}
	slices.SortStableFunc(e.Surrogate.Leaves, func(a, b Leaf) int {
		return cmp.Compare(b.Share*math.Abs(b.Policy-b.Logging), a.Share*math.Abs(a.Policy-a.Logging))
	})
}

// holds answers a condition in a row.
func (e *Explanation) holds(c portable.Condition, row int) bool {
	if c.In != nil {
		return slices.ContainsFunc(c.In, func(v string) bool { return e.x.at(row, c.Column+"="+v) == 1 })
	}
	v := e.x.at(row, c.Column)
	switch {
	case c.Missing:
		return v != v
	case v != v:
		return c.OrMissing
	}
	return v <= c.AtMost
}
