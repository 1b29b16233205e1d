//go:build (!amd64 && !arm64) || purego

package simd

// written is what each routine is written in beside Go.
var written [routines][]isa

// processor is the most that this processor has.
var processor = plain

// Extensions names none: there are no vector kernels.
func Extensions() []string { return nil }
