// Package propensity computes the propensities π(a|x) of policy families over K actions in plain
// float64, from scores φ(x)ᵀθ_a, and holds what is learned of them: a [Posterior] with the [Prior]
// that it is measured against. It is what certificates, evaluation and serving speak of, and needs
// no Gorgonia; package policies builds the same families as graphs, for learning. Use it to
// evaluate a family at given scores, without learning.
package propensity
