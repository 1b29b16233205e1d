// Package regress fits the regressions that opl needs: ridge, logistic, multinomial and conditional
// logistic regression, and gradient boosted trees. Use it for reward models and calibration;
// policies are learned by package train.
//
// All logistic regressions share one minimizer, L-BFGS of gonum/optimize, and one stopping rule:
// a fit ends where no partial derivative of the mean loss exceeds [Options.Tolerance], where the loss no
// longer falls in its last digits, or after [Options.Iterations]. A fit that ends early is a valid, less exact
// regression. An error
// means that there is no fit: the input was refused, the context was cancelled, or the loss is not finite.
//
// Results are the same for any number of threads.
package regress
