//go:build !purego

package simd

import "golang.org/x/sys/cpu"

// written is what each routine is written in beside Go.
var written = func() (t [routines][]isa) {
	for r := range t {
		t[r] = []isa{avx2}
	}
	for _, r := range []routine{kAdd, kSub, kMul, kDiv, kAffine, kAtLeast, kAbove, kAbs, kExp, kRepeat, kSoftmax, kSoftmaxGrad, kLogSoftmax, kAdam, kGemm, kWindows, kPanels, kScatter, kRows, kNormal, kHazards32, kPulls32} {
		t[r] = append(t[r], avx512)
	}
	return t
}()

// processor is the most that this processor has.
var processor = func() isa {
	switch {
	case !cpu.X86.HasAVX2 || !cpu.X86.HasFMA:
		return plain
	case !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512VL || !cpu.X86.HasAVX512DQ || !cpu.X86.HasAVX512BW:
		return avx2
	}
	return avx512
}()

// Extensions names the processor's extensions that decide the last bits of results: the vector
// kernels use them, and so does Go's math.Exp, which fuses products and sums where it can.
func Extensions() (names []string) {
	if cpu.X86.HasAVX && cpu.X86.HasFMA {
		names = append(names, "fma")
	}
	if level[kGemm] > plain {
		names = append(names, "avx2")
	}
	return names
}
