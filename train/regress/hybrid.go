package regress

import (
	"context"

	"opl/policies/features"
)

// Hybrid is a logistic regression an action, and trees of what it lacks: r̂(x, a) = σ(xᵀθ_a + forest_a(x)). It loses
// little to the better of both alone where one of them is right, and wins where neither is.
type Hybrid struct {
	Linear ByAction
	Trees  Boosted
	d      int
}

// HybridByAction fits the regression, and then trees on its scores of rows that it has not seen, so that they learn no
// noise that it fitted. The folds of both should be given where rows depend on one another.
func HybridByAction(ctx context.Context, x Rows, action []int32, k int, y []float64, linear ByActionOptions,
	trees BoostOptions) (Hybrid, error) {
	h := Hybrid{d: x.Dim()}
	var err error
	if h.Linear, err = LogisticByAction(ctx, x, action, k, y, linear); err != nil {
		return h, err
	}
	trees.Offset, trees.Squared = h.Linear.HeldOut, false
	h.Trees, err = BoostByAction(ctx, x, action, k, y, linear.Weight, trees)
	return h, err
}

// Layers are those of a policy, whose outputs are the scores of actions.
func (h Hybrid) Layers() []features.Layer {
	linear := features.Layer{}
	for a := range h.Trees.Base {
		linear.Weights = append(linear.Weights, h.Linear.Theta[a*h.d:(a+1)*h.d])
	}
	return features.Sum(h.d, len(linear.Weights), []features.Layer{linear}, []features.Layer{h.Trees.Layer()})
}
