// Package simd holds vector kernels in assembly with a pure Go path beside
// each: AVX2 with FMA on amd64 where the processor has them, Go elsewhere.
package simd

// Use turns the vector kernels on or off for tests; it reports whether they
// were on. Where the processor has none they stay off. Not for concurrent use.
func Use(on bool) bool {
	was := avx2
	avx2 = on && hasAVX2
	return was
}
