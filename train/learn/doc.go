// Package learn goes the way from a decision log to a policy file: it divides the
// rows, fits the encoder, learns, certifies, and certifies again on other logs.
package learn
