package policies

import (
	"math/bits"
	"slices"

	"opl/graph/kernel/simd"
)

// LowDiscrepancy spreads the draws of an example evenly over the space: up to
// 21 dimensions by the points of Sobol' (1967) under a random scrambling of
// Owen's kind (1995), which is best at powers of two, above that by a Latin
// hypercube. Each example and each refill is scrambled anew, each point is
// standard normal by itself.
//
// The direction numbers are by Joe & Kuo (2008). The scrambling is the hash of
// Laine & Karras (2011) in the form of Vegdahl (2021), after a random digital
// shift. The shift makes each point exactly uniform on the multiples of 2⁻³²
// before it is mapped to a normal one. Above 21 dimensions pairs of Sobol'
// coordinates repeat each other and a Latin hypercube measures better; so it
// does for few draws by a little, see BenchmarkNoise in package objectives.
type LowDiscrepancy struct{}

func (LowDiscrepancy) Name() string { return "lowdiscrepancy" }

func (LowDiscrepancy) New(draws, dim int) Points {
	if dim > sobolDims {
		return &pointNoise{size: draws * dim, set: newLatinHypercube(draws, dim)}
	}
	return &pointNoise{size: draws * dim, set: newScrambledSobol(draws, dim)}
}

// scrambledSobol is one set of points, scrambled anew for each example, by a key
// for each dimension.
type scrambledSobol struct {
	net    []uint32 // [draws×dim]
	dim    int
	period int // a multiple of dim and of the lanes of a vector
}

func newScrambledSobol(draws, dim int) scrambledSobol {
	period := dim
	for period%simd.Lanes > 0 {
		period += dim
	}
	return scrambledSobol{sobol(draws, dim), dim, period}
}

func (s scrambledSobol) keys() int { return s.dim }

func (s scrambledSobol) points(dst []uint32, keys []uint64, scratch []uint32) []uint32 {
	if len(scratch) == 0 {
		scratch = make([]uint32, 2*s.period)
	}
	seeds, shifts := scratch[:s.period], scratch[s.period:]
	for i, key := range keys {
		seeds[i], shifts[i] = uint32(key), uint32(key>>32)
	}
	for i := s.dim; i < s.period; i += s.dim {
		copy(seeds[i:], seeds[:s.dim])
		copy(shifts[i:], shifts[:s.dim])
	}
	simd.Scramble(dst, s.net, seeds, shifts)
	return scratch
}

// sobol returns the first n points of the Sobol' sequence, [n×dim], as
// bit-reversed multiples of 2⁻³².
func sobol(n, dim int) []uint32 {
	points := make([]uint32, n*dim)
	for j := range dim {
		v := directions(j)
		for i := 1; i < n; i++ {
			points[i*dim+j] = points[(i&(i-1))*dim+j] ^ v[bits.TrailingZeros(uint(i))]
		}
	}
	return points
}

// sobolDims is the number of coordinates that sobolTable serves.
const sobolDims = 21

// sobolTable has, for each coordinate, the coefficients of a primitive polynomial
// over GF(2) without its first and last, as the bits of a number, and the initial
// m_1, m_2, … as many as its degree. Joe & Kuo (2008), new-joe-kuo-6.21201. The first
// coordinate has all m = 1.
var sobolTable = [sobolDims]struct {
	poly uint32
	m    []uint32
}{
	{0, slices.Repeat([]uint32{1}, 32)},
	{0, []uint32{1}},
	{1, []uint32{1, 3}},
	{1, []uint32{1, 3, 1}},
	{2, []uint32{1, 1, 1}},
	{1, []uint32{1, 1, 3, 3}},
	{4, []uint32{1, 3, 5, 13}},
	{2, []uint32{1, 1, 5, 5, 17}},
	{4, []uint32{1, 1, 5, 5, 5}},
	{7, []uint32{1, 1, 7, 11, 19}},
	{11, []uint32{1, 1, 5, 1, 1}},
	{13, []uint32{1, 1, 1, 3, 11}},
	{14, []uint32{1, 3, 5, 5, 31}},
	{1, []uint32{1, 3, 3, 9, 7, 49}},
	{13, []uint32{1, 1, 1, 15, 21, 21}},
	{16, []uint32{1, 3, 1, 13, 27, 49}},
	{19, []uint32{1, 1, 1, 15, 7, 5}},
	{22, []uint32{1, 3, 1, 15, 13, 25}},
	{25, []uint32{1, 1, 5, 5, 19, 61}},
	{1, []uint32{1, 3, 7, 11, 23, 15, 103}},
	{4, []uint32{1, 3, 7, 13, 13, 15, 69}},
}

// directions returns the direction numbers of coordinate j, bit-reversed.
func directions(j int) (v [32]uint32) {
	t := sobolTable[j]
	s := len(t.m)
	for i := range v {
		if i < s {
			v[i] = t.m[i] << (31 - i)
			continue
		}
		v[i] = v[i-s] ^ v[i-s]>>s
		for k := 1; k < s; k++ {
			v[i] ^= t.poly >> (s - 1 - k) & 1 * v[i-k]
		}
	}
	for i := range v {
		v[i] = bits.Reverse32(v[i])
	}
	return v
}
