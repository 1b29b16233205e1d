package simd

import (
	"math"
	"unsafe"
)

// AdamStep holds the numbers of one step of Adam, see [Adam32]; the kernel reads them in this order.
type AdamStep struct {
	Beta1, Beta2 float32
	Rest1, Rest2 float32 // 1 − β₁, 1 − β₂
	Decay        float32
	Rate         float32 // lr/(1 − β₁ᵗ)
	Root         float32 // 1/√(1 − β₂ᵗ)
	Epsilon      float32
}

// Adam32 takes a step of Adam with gradient d; all slices have len(x) elements.
// The result is the same bits with vector kernels and without.
//
//	d ← d + decay·x,  m ← β₁m + (1−β₁)d,  v ← β₂v + (1−β₂)d²
//	x ← x − rate·m/(√v·root + ε)
//
// The moments of what has no gradient any more would end as subnormal numbers, over which many
// processors are slow: d and m below 2⁻¹¹⁰ count as 0, so do v below 2⁻¹²⁰ and d below 2⁻⁵⁵ in d².
func Adam32(s AdamStep, x, d, m, v []float32) {
	d, m, v = d[:len(x)], m[:len(x)], v[:len(x)]
	n := 0
	switch {
	case level[kAdam] >= avx512 && len(x) >= 16:
		n = len(x) &^ 15
		adam32x16(&x[0], &d[0], &m[0], &v[0], n, (*[8]float32)(unsafe.Pointer(&s)))
	case has(kAdam) && len(x) >= 8:
		n = len(x) &^ 7
		adam32(&x[0], &d[0], &m[0], &v[0], n, (*[8]float32)(unsafe.Pointer(&s)))
	}
	for i := n; i < len(x); i++ {
		g := unless(d[i]+float32(s.Decay*x[i]), 0x1p-110)
		m[i] = unless(float32(s.Beta1*m[i])+float32(s.Rest1*g), 0x1p-110)
		g = unless(g, 0x1p-55)
		v[i] = unless(float32(s.Beta2*v[i])+float32(s.Rest2*g*g), 0x1p-120)
		x[i] -= float32(s.Rate*m[i]) / (float32(float32(math.Sqrt(float64(v[i])))*s.Root) + s.Epsilon)
	}
}

// unless returns x, 0 if |x| is below least.
func unless(x, least float32) float32 {
	if x > -least && x < least {
		return 0
	}
	return x
}
