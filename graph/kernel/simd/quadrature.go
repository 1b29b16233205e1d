package simd

import "math"

// The quadrature of a Gaussian policy evaluates, for every action k of a row
// and a block of nodes t_0, t_1, … (lanes of a vector),
//
//	Φ(u_kj) and r_kj = φ(u_kj)/Φ(u_kj),   u_kj = t_j + gap_k
//
// Nodes are equally spaced by a whole number of cells of a table, so all u_kj
// of an action lie at the same distance delta_k from the centres of their
// cells: one polynomial in delta_k whose coefficients are vectors. The table
// holds them by planes, coefficient n of node j for action k at
//
//	table[at_k + n·plane + j]

const (
	Lanes32  = 32 // nodes of a block in float32
	Lanes64  = 8  // nodes of a block in float64
	Planes32 = 5  // log Φ(c+δ) = Σ c_n δⁿ, n < 5; the derivative is r
	Planes64 = 9  // Φ(c+δ) = Σ c_n δⁿ, n < 9; the derivative is φ
)

// Lift32 is the factor of the products that [Hazards32] writes. With products and hazards 0
// or at least 2⁻¹⁰⁰, and hazards at most 7, no product of the two is subnormal in float32.
const Lift32 = 0x1p74

// Hazards32 writes the block's hazards r [k×32], the products P_j = Lift32·∏_k Φ(u_kj),
// 0 where ∏ is below 2⁻¹⁰⁰, and the sums all_j = Σ_k up_k r_kj, k = len(at). The products are
// exp(Σ log Φ), the sums over k carried to float64 every 16 terms.
func Hazards32(r, p, all, table []float32, plane int, at []int32, delta, up []float32) {
	k := len(at)
	r, p, all, delta, up = r[:k*Lanes32], p[:Lanes32], all[:Lanes32], delta[:k], up[:k]
	if has(kHazards32) && k > 0 {
		if level[kHazards32] >= avx512 {
			hazards32x16(&r[0], &p[0], &all[0], &table[0], plane, &at[0], &delta[0], &up[0], k)
		} else {
			hazards32(&r[0], &p[0], &all[0], &table[0], plane, &at[0], &delta[0], &up[0], k)
		}
		return
	}
	var logs, sums [Lanes32]float64
	for i, o := range at {
		δ, out := delta[i], r[i*Lanes32:][:Lanes32]
		c := table[o:]
		c0, c1, c2 := c[:Lanes32], c[plane:][:Lanes32], c[2*plane:][:Lanes32]
		c3, c4 := c[3*plane:][:Lanes32], c[4*plane:][:Lanes32]
		for j := range out {
			v := c4[j]
			d := v
			v = v*δ + c3[j]
			d = d*δ + v
			v = v*δ + c2[j]
			d = d*δ + v
			v = v*δ + c1[j]
			d = d*δ + v
			out[j] = d
			logs[j] += float64(v*δ + c0[j])
			sums[j] += float64(up[i] * d)
		}
	}
	for j := range p {
		p[j], all[j] = 0, float32(sums[j])
		if l := float32(logs[j]); !(l < -100*math.Ln2) {
			p[j] = Lift32 * float32(math.Exp(logs[j]))
		}
	}
}

// Hazards64 does in float64 what Hazards32 does. Its blocks have 8 nodes, it
// multiplies directly, takes products below 2⁻⁶⁰⁰ as 0, and has no factor.
func Hazards64(r, p, all, table []float64, plane int, at []int32, delta, up []float64) {
	k := len(at)
	r, p, all, delta, up = r[:k*Lanes64], p[:Lanes64], all[:Lanes64], delta[:k], up[:k]
	if has(kHazards64) && k > 0 {
		hazards64(&r[0], &p[0], &all[0], &table[0], plane, &at[0], &delta[0], &up[0], k)
		return
	}
	for j := range p {
		p[j], all[j] = 1, 0
	}
	for i, o := range at {
		δ, out := delta[i], r[i*Lanes64:][:Lanes64]
		for j := range out {
			c := table[int(o)+j:]
			v := c[8*plane]
			d := v
			for n := 7 * plane; n > 0; n -= plane {
				v = v*δ + c[n]
				d = d*δ + v
			}
			cdf := c[0] + δ*v
			d /= cdf
			out[j] = d
			if p[j] *= cdf; p[j] < 0x1p-600 {
				p[j] = 0
			}
			all[j] += up[i] * d
		}
	}
}

// Dots32 adds Σ_j p_j r_kj to every dst_k. r is len(dst)×32.
func Dots32(dst, r, p []float32) {
	r, p = r[:len(dst)*Lanes32], p[:Lanes32]
	if has(kDots32) && len(dst) > 0 {
		dots32(&dst[0], &r[0], &p[0], len(dst))
		return
	}
	dots(dst, r, p)
}

// Dots64 does in float64 what Dots32 does, with blocks of 8 nodes.
func Dots64(dst, r, p []float64) {
	r, p = r[:len(dst)*Lanes64], p[:Lanes64]
	if has(kDots64) && len(dst) > 0 {
		dots64(&dst[0], &r[0], &p[0], len(dst))
		return
	}
	dots(dst, r, p)
}

func dots[T float32 | float64](dst, r, p []T) {
	for i := range dst {
		var s T
		for j, v := range r[i*len(p):][:len(p)] {
			s += p[j] * v
		}
		dst[i] += s
	}
}

// Pulls32 adds to every dst_k its share of the block in the vector-Jacobian
// product,
//
//	Σ_j p_j r_kj [up_k (r_kj + t_j + gap_k) − all_j]
//
// but for the terms of ∏Φ·r below 2⁻¹⁰⁰. r is len(dst)×32.
func Pulls32(dst, r, p, all, t, gap, up []float32) {
	k := len(dst)
	r, p, all, t, gap, up = r[:k*Lanes32], p[:Lanes32], all[:Lanes32], t[:Lanes32], gap[:k], up[:k]
	if has(kPulls32) && k > 0 {
		if level[kPulls32] >= avx512 {
			pulls32x16(&dst[0], &r[0], &p[0], &all[0], &t[0], &gap[0], &up[0], k)
		} else {
			pulls32(&dst[0], &r[0], &p[0], &all[0], &t[0], &gap[0], &up[0], k)
		}
		return
	}
	pulls(dst, r, p, all, t, gap, up, 0x1p-100*Lift32)
}

// Pulls64 does in float64 what Pulls32 does, with blocks of 8 nodes and all terms.
func Pulls64(dst, r, p, all, t, gap, up []float64) {
	k := len(dst)
	r, p, all, t, gap, up = r[:k*Lanes64], p[:Lanes64], all[:Lanes64], t[:Lanes64], gap[:k], up[:k]
	if has(kPulls64) && k > 0 {
		pulls64(&dst[0], &r[0], &p[0], &all[0], &t[0], &gap[0], &up[0], k)
		return
	}
	pulls(dst, r, p, all, t, gap, up, math.Inf(-1))
}

func pulls[T float32 | float64](dst, r, p, all, t, gap, up []T, low T) {
	for i := range dst {
		var s T
		for j, v := range r[i*len(p):][:len(p)] {
			if w := p[j] * v; !(w < low) {
				s += w * (up[i]*(v+gap[i]+t[j]) - all[j])
			}
		}
		dst[i] += s
	}
}
