package simd_test

import (
	"math"
	"testing"

	"opl/graph/kernel/internal/mxcsr"
	"opl/graph/kernel/simd"
)

// Parameters whose gradient is tiny, or has ended, do not cost Adam subnormal numbers.
func TestAdam_ComputesNoSubnormals(t *testing.T) {
	paths(func(path string) {
		const n = 75
		x, d, m, v := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
		s := simd.AdamStep{Beta1: .9, Beta2: .99, Rest1: .1, Rest2: .01, Rate: 1e-3, Root: 1, Epsilon: 1e-8}
		operand, result := mxcsr.Subnormal(func() {
			for step := range 20000 {
				for i := range d {
					d[i] = 0
					if step < 10 {
						d[i] = float32(math.Ldexp(1, -2*i)) // to 2⁻¹⁴⁸, which is 0 from 2⁻¹²⁶ on
						if 2*i >= 126 {
							d[i] = 0
						}
					}
				}
				simd.Adam32(s, x, d, m, v)
			}
		})
		if operand || result {
			t.Errorf("%s: subnormal operand %v, result %v", path, operand, result)
		}
		for i := range m {
			if m[i] != 0 || v[i] != 0 {
				t.Fatalf("%s: moments %v and %v of a gradient of 2^%d after 20,000 steps", path, m[i], v[i], -2*i)
			}
		}
		if !(x[0] < -.01) {
			t.Errorf("%s: x = %v", path, x[0])
		}
	})
}
