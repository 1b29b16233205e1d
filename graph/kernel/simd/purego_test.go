//go:build purego

package simd

// The tests run the bodies in Go of the kernels of which there is no other Go path, as if they were vectors.
func init() {
	for _, r := range []routine{kGemm, kWindows, kSparse, kItems, kRows, kStrata, kSoftmax, kLogSoftmax} {
		written[r] = []isa{avx2}
	}
	processor = avx2
	level = upTo(processor)
}
