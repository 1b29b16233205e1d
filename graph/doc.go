// Package graph is the language in which objectives are written: a thin, checked layer
// over Gorgonia, in which a formula reads like the paper. Use it to build a scalar from
// named inputs and parameters, and to get its value and exact gradients.
//
// # Three phases
//
// Build: a [Graph] hands out named inputs, parameters and noise as [Expr]
// values, and methods on Expr put formulas together. An Expr holds a node or
// the first error, with the file and line that caused it, so that formulas
// need no error handling; [Expr.Node] or [Graph.Compile] reports it.
//
// Compile: [Graph.Compile] differentiates one cost symbolically with respect
// to the parameters, drops whatever neither the cost, its gradients nor a
// named term needs, and returns a [Program].
//
// The program is a plan of steps over Gorgonia's graph. Rowwise operations over the
// same number of rows form one step, elementwise operations and reductions of rows
// included. A step takes a few rows at a time through all its operations, so that
// what passes between them stays in the processor's cache. Equal operations on equal
// operands are computed once. What is cheap to compute again is not kept. Float32 runs on
// the vector kernels of the package simd. Neither plan nor threads change the
// result: sums are never reordered.
//
// Run: feed the inputs, refill the noise, [Program.Run], read the cost, the
// gradients and the named terms. A value that is not finite is an error that
// names the term or the parameter.
//
//	g := graph.New(tensor.Float64)
//	x := g.Input("x", 2, 3)
//	theta := g.Param(graph.NewParam("theta", tensor.Float64, []float64{0, 0, 0}, 1, 3))
//	cost := x.MatMulT(theta).LogSoftmax().Mean()
//	p, err := g.Compile(cost)
//
// # Shapes
//
// An Expr is a scalar (), a vector [n] or a matrix [r×c]. Letters in comments
// are the paper's: B examples of a minibatch, S noise draws, K actions, d
// features; R = B·S rows where draws are folded into rows, the draws of one
// example next to each other. Operands of a binary operation have the same
// shape, or one is a scalar; a vector meets a matrix only after
// [Expr.Across] or [Expr.Down] has said along which axis.
//
// # What is shielded
//
// Gorgonia v0.9.18 has defects that give wrong numbers silently. Nothing above
// this package can meet them:
//
//   - Every operation used by Expr is an operation of this package with its own
//     symbolic derivative (the numbers are in the package kernel): Gorgonia's
//     softmax, broadcasts, reshapes, slices, powers and some sums are wrong in
//     value or gradient, alone or in combination.
//   - Gorgonia merges nodes whose 32-bit hashes agree. Operations here have a
//     number of their own, and one whose hash is taken gets another, so nothing
//     is ever merged; names of inputs are unique or refused.
//   - gorgonia.Grad remembers the first cost of a graph and sums gradients in
//     nodes that can be merged. Compile walks the graph itself, over the same
//     symbolic derivatives (SDOp), and adds with an operation of this package.
//   - Parameters are not bound as dual values, so gradients neither accumulate
//     over runs nor overwrite Gorgonia's shared constants.
//   - Gorgonia's machines, which reuse the memory of values that are still read
//     and do nothing on a second run without a reset, do not run: a program calls
//     the operations itself, in memory of its own. Values are read by copy.
//
// What comes in through [Apply] is Gorgonia's own and is not shielded.
package graph
