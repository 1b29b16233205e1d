//go:build !purego

package simd

// neon stands where AVX2 does on amd64: the products are written in it with the same order of sums, and what
// surrounds them is in Go.
const neon = avx2

// written is what each routine is written in beside Go.
var written = func() (t [routines][]isa) {
	for _, r := range []routine{kGemm, kSparse, kItems, kSoftmax} {
		t[r] = []isa{neon}
	}
	return t
}()

// processor is the most that this processor has.
var processor = isa(neon)

// Extensions names the processor's extensions that decide the last bits of results.
func Extensions() []string {
	if level[kGemm] == plain {
		return nil
	}
	return []string{"neon"}
}
