// Package provenance records which rows taught which part of a policy, and judges which
// rows may certify it. It alone turns the bounds of package certify into a [Certificate].
// Use it wherever a policy file meets a log: a [Judge] refuses rows that had a part in
// the policy, and logs that contradict what the bounds assume.
//
// A bound assumes that the prior, the encoder, the layers and the reward model, or a whole
// policy, were fixed before the rows that certify were seen. It also assumes that these rows
// are independent and alike, and that their propensities are true. A [Judge] checks the
// three assumptions for a log, whichever way a policy came to it:
//
//	Judge.Posterior      a posterior that was learned in memory, on rows of the log
//	Judge.Chunks         a mixture of policies, each taught by rows before those that certify it
//	Judge.File           the policy of a file, on the log it was learned from or a later one
//	Judge.Target         a fixed policy, known by its probabilities, of the logged actions alone if need be
//	Pool.File            the policy of a file, on several logs together, at any time
//
// # What a policy file records
//
// Rows are told apart by a 64-bit number, see [logs.Log.Identity]; a file has the xxHash64
// of 16 bytes, the seed and that number, little-endian: of the rows that taught what must be
// fixed, and of those that the posterior was trained or chosen on. Policies that logged
// these rows are its ancestors: a log that taught π₁, which logged what taught π₂, had a
// part in π₂.
package provenance
