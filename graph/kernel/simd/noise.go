package simd

import (
	"math"
	"math/bits"
	"unsafe"
)

// Lanes is the number of columns that Strata draws at a time.
const Lanes = 8

// Strata draws random orders of n strata of the numbers below 2³², with a point
// at random in each: n equal intervals but for rounding by 2⁻³². It is the same
// with vector kernels and without. It is safe for concurrent use.
type Strata struct {
	n           int
	mask, width uint32
	pairs       []uint32 // a sorting network: pairs of offsets in bytes
}

// NewStrata returns the strata for n draws.
func NewStrata(n int) *Strata {
	s := &Strata{n: n, mask: 1<<bits.Len(uint(n-1)) - 1, width: uint32(min(1<<32/uint64(n), math.MaxUint32))}
	// Batcher's merge sort of odd and even places (Knuth, 5.2.2, algorithm M).
	for p := 1; p < n; p *= 2 {
		for k := p; k >= 1; k /= 2 {
			for j := k % p; j+k < n; j += 2 * k {
				for i := j; i < min(j+k, n-k); i++ {
					if i/(2*p) == (i+k)/(2*p) {
						s.pairs = append(s.pairs, uint32(i*Lanes*4), uint32((i+k)*Lanes*4))
					}
				}
			}
		}
	}
	return s
}

// Points fills columns of dst [n×stride]: each of at most Lanes columns, from the
// given one on, gets one point in each stratum, in an order of its own. Equal keys
// and columns give equal points. buf is scratch memory of n·Lanes.
//
// The strata are ordered by hashes, sorted with the number of the stratum in the
// last bits, where it decides between equals.
func (s *Strata) Points(dst []uint32, stride int, buf []uint32, key uint64, column int) {
	buf = buf[:s.n*Lanes]
	width := uint32((stride + Lanes - 1) &^ (Lanes - 1)) // of the hashed counters' rows
	first, second := uint32(column), uint32(s.n)*width+uint32(column)
	lanes := min(Lanes, stride-column)
	if has(kStrata) {
		strataKeys(&buf[0], s.n, key, first, width, s.mask)
		if s.n > 1 {
			sortLanes(&buf[0], &s.pairs[0], len(s.pairs)/2)
		}
		if lanes == Lanes {
			_ = dst[(s.n-1)*stride+column+Lanes-1]
			strataPoints(&dst[column], stride, &buf[0], s.n, key, second, width, s.mask, s.width)
			return
		}
		strataPoints(&buf[0], Lanes, &buf[0], s.n, key, second, width, s.mask, s.width)
	} else {
		for i := range buf {
			draw, lane := i/Lanes, i%Lanes
			buf[i] = hash(key, first+uint32(draw)*width+uint32(lane))&^s.mask | uint32(draw)
		}
		for i := 0; i < len(s.pairs); i += 2 {
			a, b := buf[s.pairs[i]/4:][:Lanes], buf[s.pairs[i+1]/4:][:Lanes]
			for l := range a {
				a[l], b[l] = min(a[l], b[l]), max(a[l], b[l])
			}
		}
		for i := range buf {
			draw, lane := i/Lanes, i%Lanes
			h := hash(key, second+uint32(draw)*width+uint32(lane))
			buf[i] = buf[i]&s.mask*s.width + uint32(uint64(h)*uint64(s.width)>>32)
		}
	}
	for d := range s.n {
		copy(dst[d*stride+column:][:lanes], buf[d*Lanes:])
	}
}

// hash is a random number of a counter, for each key: two rounds of a mixer of 32
// bits (Wellons 2018, Ettinger 2019), with half of the key before each.
func hash(key uint64, counter uint32) uint32 {
	x := counter + uint32(key)
	x ^= x >> 16
	x *= 0x21f0aaad
	x ^= x >> 15
	x += uint32(key >> 32)
	x *= 0xd35a2d97
	x ^= x >> 15
	return x
}

// Scramble writes the points [n] of a net, in bit-reversed order, scrambled by
// Owen's kind of hash and shifted: dst = reverse(scramble(point, seed)) ⊕ shift.
// Seeds and shifts repeat after len(seeds) numbers, a multiple of Lanes.
func Scramble(dst, points, seeds, shifts []uint32) {
	points = points[:len(dst)]
	n := 0
	if has(kScramble) && len(dst) >= Lanes {
		n = len(dst) &^ (Lanes - 1)
		scramble32(&dst[0], &points[0], n, &seeds[0], &shifts[0], len(seeds))
	}
	for i := n; i < len(dst); i++ {
		j := i % len(seeds)
		dst[i] = bits.Reverse32(owen(points[i], seeds[j])) ^ shifts[j]
	}
}

// owen permutes 32-bit numbers so that a bit of the result depends on the bits of
// x below it alone: on bit-reversed numbers, a random nested permutation of their
// binary digits.
func owen(x, seed uint32) uint32 {
	x ^= x * 0x3d20adea
	x += seed
	x *= seed>>16 | 1
	x ^= x * 0x05526c56
	x ^= x * 0x53a22864
	return x
}

// Bits returns the memory of x as whole numbers, for Normal32 in place.
func Bits(x []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// Normal32 writes Φ⁻¹((x + ½)/2³²), never infinite, with a relative error below
// 5e-7; dst may be the memory of x.
func Normal32(dst []float32, x []uint32) {
	x = x[:len(dst)]
	n := 0
	if has(kNormal) {
		done := 0
		if level[kNormal] >= avx512 {
			if done = len(dst) &^ 15; done > 0 {
				normal32x16(&dst[0], &x[0], done)
			}
		}
		if n = len(dst) &^ (Lanes - 1); n > done {
			normal32(&dst[done], &x[done], n-done)
		}
		if n < len(dst) { // the same arithmetic for the rest
			var from [Lanes]uint32
			var to [Lanes]float32
			copy(from[:], x[n:])
			normal32(&to[0], &from[0], Lanes)
			copy(dst[n:], to[:])
		}
		return
	}
	for i, u := range x {
		dst[i] = normal(u)
	}
}

// normal is Giles' form of Φ⁻¹ (2012), with coefficients fitted anew: v·P(w − 2.5)
// for w < 5, v·Q(√w − 3.44) above, where w = −log 4p(1−p) and v = 2p − 1.
func normal(x uint32) float32 {
	low := x
	if x>>31 == 1 {
		low = ^x
	}
	p := (float64(low) + .5) * 0x1p-32
	v := (float64(int32(x^1<<31)) + .5) * 0x1p-31
	w := -math.Log(4 * p * (1 - p))
	t, c := w-2.5, normalCentre[:]
	if w >= 5 {
		t, c = math.Sqrt(w)-3.44, normalTail[:]
	}
	y := 0.0
	for _, a := range c {
		y = y*t + a
	}
	return float32(v * y)
}

var (
	normalCentre = [...]float64{4.035429057580586e-08, 4.861034881287196e-07, -4.990561137674376e-06,
		-6.217987902346067e-06, 0.00030915020033717155, -0.0017730101244524121, -0.005908171180635691,
		0.3488026559352875, 2.1233136653900146}
	normalTail = [...]float64{6.285065319389105e-05, -2.7204680463910336e-06, -0.00046173608279787004,
		0.0008981622522696853, -0.001138171530328691, 0.0017973874928429723, -0.003348331432789564,
		0.005207735579460859, 1.4240477085113525, 4.631628036499023}
)
