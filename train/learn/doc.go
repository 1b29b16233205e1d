// Package learn goes the way from a decision log to a policy file: it divides the
// rows, fits the encoder, learns, certifies, and certifies again on other logs.
//
// What a bound assumes fixed, the prior, the encoder and the reward model, is
// learned from rows that do not certify. A policy file records those rows, by
// hashes, and the rows that its posterior was chosen or trained on. [Certify] reads
// from it which rows of a log may certify.
//
// # The object "training" of a policy file
//
// See [Training]. Rows are told apart by a 64-bit number: xxHash64 of their
// decision_id or, where the log has none, of their content, which is hashed once
// more with its place among rows of equal content, from the second on. What a file
// records is the xxHash64 of 16 bytes, the seed and that number, little-endian.
package learn
