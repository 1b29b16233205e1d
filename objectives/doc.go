// Package objectives defines what training minimizes: pessimistic objectives of
// off-policy learning. An [Objective] is a function from a [Problem] to a scalar graph;
// a [Weight] is a regularized importance weight, a function too. Use it to take a
// published objective, or to write one of your own in ten lines (see the example).
//
// Symbols are the paper's (Aouali, Brunel, Rohde, Korba, UAI 2024): costs c in
// [−1, 0], n rows of the log, logging policy π₀, weight ŵ = g(π, π₀), prior P
// and posterior Q, failure probability δ. Letters of shapes: B examples of a
// minibatch, R = B·S rows with noise draws folded in, K actions, d features.
//
// A new weight or objective is a function of about ten lines and needs no
// registration; see the package example. [Check] tells whether an objective, a
// weight and a policy fit together, [Evaluate] computes an objective on a whole
// log piece by piece.
package objectives
