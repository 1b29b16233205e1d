// Package policies holds what is learned: families of stochastic policies over K actions with
// linear scores φ(x)ᵀθ_a, their Gaussian posteriors, and the noise that sampled families are
// estimated with. Use it to choose the family that an objective learns; to play a learned policy
// use package policyfile.
//
//	softmax             π_θ(a|x) = softmax(φ(x)ᵀθ)_a, one parameter θ
//	gaussian            π_Q(a|x) = P(a = argmax φ(x)ᵀθ_k), θ ~ N(μ, σ²I)
//	softmax-posterior   softmax policies under θ ~ N(μ, σ²I), draw by draw
//	mixedlogit          their average π_Q(a|x) = E_θ[softmax(φ(x)ᵀθ)_a]
//
// A [Policy] builds its probabilities as a graph, for learning, and computes
// them in plain float64, for evaluation and serving. A [Posterior] is the value
// that is learned: mean and scale, with the prior that it is measured against.
package policies
