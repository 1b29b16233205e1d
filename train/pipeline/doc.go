// Package pipeline makes a policy file from a log: it divides the rows, fits the
// encoder, learns and certifies ([Learn]). Use it if you want what opl train does in
// your own program. The log may come from a file or be collected in memory. The example
// goes from decisions in memory to a file, and plays it.
//
// A bound takes the prior, the encoder and the reward model as fixed. Rows that do not
// certify teach them. In chunks, rows that certify one policy teach the next one, and the
// mixture of these policies is certified. The policy file records these rows, and the
// rows that its posterior was chosen or trained on (package provenance).
package pipeline
