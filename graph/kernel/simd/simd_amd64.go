package simd

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// avx2 says whether the vector kernels are in use.
var avx2 = hasAVX2

// Use turns the vector kernels on or off for tests; it reports whether they
// were on. Where the processor has none they stay off. Not for concurrent use.
func Use(on bool) bool {
	was := avx2
	avx2 = on && hasAVX2
	return was
}

// Extensions are those of the processor on which the last bits of results hang: of the vector
// kernels, and of Go's own math.Exp, which fuses products and sums where it can.
func Extensions() (names []string) {
	if cpu.X86.HasAVX && cpu.X86.HasFMA {
		names = append(names, "fma")
	}
	if avx2 {
		names = append(names, "avx2")
	}
	return names
}
