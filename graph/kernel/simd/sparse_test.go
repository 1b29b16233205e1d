package simd_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/graph/kernel/simd"
)

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// A product that is scattered and gathered has the bits of that of the dense matrix, also where the sum is over
// several blocks, and whatever the rest of the rows of a holds.
func TestScatter_GivesTheBitsOfTheDenseProduct(t *testing.T) {
	if !simd.Scatters() {
		return
	}
	r := rand.New(rand.NewPCG(1, 8))
	var s simd.Sparse
	for _, c := range [][3]int{{1, 1, 1}, {30, 9, 8}, {385, 31, 10}, {384, 70, 16}, {100, 64, 33}, {1000, 100, 21}, {9, 30, 63}} {
		rows, cols, n := c[0], c[1], c[2]
		x, a := random(r, rows*cols, .3), random(r, rows*n, 1)
		s.Reset(rows, cols)
		for _, part := range [][2]int{{rows / 2, rows}, {0, rows / 2}} {
			s.SetRows(part[0], part[1], func(i int, val []float32, at []int32) (n int) {
				for j, v := range x[i*cols : (i+1)*cols] {
					if v != 0 {
						val[n], at[n] = v, int32(j)
						n++
					}
				}
				return n
			})
		}
		parts, numbers := s.Scattered(n)
		sums, got, want := make([]float32, numbers), make([]float32, n*cols), make([]float32, n*cols)
		for i := range sums {
			sums[i] = float32(math.NaN()) // of another product
		}
		for part := range parts {
			s.Scatter(sums, a, n, parts-1-part)
		}
		for place := range cols {
			for _, bad := range []int32{int32(cols), -1, math.MaxInt32} {
				var s simd.Sparse
				s.Reset(1, cols)
				if !panics(func() {
					s.SetRows(0, 1, func(_ int, _ []float32, at []int32) int { clear(at); at[place] = bad; return cols })
				}) {
					t.Errorf("%v: column %d is taken at %d", c, bad, place)
				}
			}
		}
		full := make([]float32, rows*cols)
		if s.Dense(full); !slices.Equal(full, x) {
			t.Fatalf("%v: the matrix in full is another", c)
		}
		s.Gather(got, sums, n)
		simd.Gemm32(want, simd.RowMajor(rows, n, a).T(), simd.RowMajor(rows, cols, x), 0, 1)
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Fatalf("%v: element %d is %v, of the dense product %v", c, i, got[i], want[i])
			}
		}
	}
}
