// Package pipeline goes the way from a log to a policy file: it divides the rows, fits
// the encoder, learns and certifies ([Learn]). The log may come from a file or be
// collected in memory.
//
// The example goes from decisions in memory to a file, and plays it.
//
// What a bound assumes fixed, the prior, the encoder and the reward model, is learned
// from rows that do not certify; in chunks, rows that certify one policy teach the next, and what is
// certified is their mixture. The policy file records those rows, and the rows that
// its posterior was chosen or trained on, see package provenance.
package pipeline
