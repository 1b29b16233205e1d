//go:build !purego

package simd

import "golang.org/x/sys/cpu"

// written is what each routine is written in beside Go.
var written = func() (t [routines][]isa) {
	for r := range t {
		t[r] = []isa{avx2}
	}
	return t
}()

// processor is the most that this processor has.
var processor = func() isa {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return avx2
	}
	return plain
}()

// Extensions are those of the processor on which the last bits of results hang: of the vector
// kernels, and of Go's own math.Exp, which fuses products and sums where it can.
func Extensions() (names []string) {
	if cpu.X86.HasAVX && cpu.X86.HasFMA {
		names = append(names, "fma")
	}
	if level[kGemm] > plain {
		names = append(names, "avx2")
	}
	return names
}
