// Package kernel holds the numbers themselves, without Gorgonia: softmax, the normal distribution
// and the propensities of a Gaussian policy, with their vector-Jacobian products. Use it for values
// where no gradient is asked for, and to add a differentiable operation to package graph.
//
// The differentiable operations, the certificates and serving all call it, so
// a propensity is the same number in each of them.
//
// Conventions:
//
//   - A matrix is a row-major slice with k columns; it has len(x)/k rows. A
//     length that does not fit is a bug in the caller, and panics.
//   - The destination may be the very slice of an argument (each row is read
//     before it is written), but not a shifted part of it.
//   - Arithmetic is float64 inside, whatever T is, but for the quadrature of a
//     Gaussian policy, which computes in T.
//   - Softmaxes and propensities neither compute nor return subnormal numbers, over which
//     some processors take a hundred times as long: what is nearer to 0 is 0. Products of Φ
//     and hazards φ/Φ count as 0 below 2⁻¹⁰⁰, in float64 products below 2⁻⁶⁰⁰.
//   - NaN comes out as NaN, in its own row only.
//   - No function allocates once warm, starts a goroutine or keeps state: all
//     are safe for concurrent use.
package kernel

import (
	"fmt"
	"sync"
)

// Float is the type of the numbers in a matrix.
type Float interface{ ~float32 | ~float64 }

// rowsOf returns the number of rows of k columns in a slice of length n, and
// panics unless they fit. The other lengths must equal n.
func rowsOf(name string, n, k int, others ...int) int {
	if k <= 0 || n%k != 0 {
		panic(fmt.Sprintf("kernel.%s: %d elements are not rows of %d", name, n, k))
	}
	for _, o := range others {
		if o != n {
			panic(fmt.Sprintf("kernel.%s: lengths %d and %d differ", name, n, o))
		}
	}
	return n / k
}

// allEqual says whether the entries of a row are one and the same number.
func allEqual[T Float](row []T) bool {
	for _, v := range row {
		if v != row[0] {
			return false
		}
	}
	return true
}

// leastNormal is the least positive number of T that is not subnormal.
func leastNormal[T Float]() float64 {
	if single[T]() {
		return 0x1p-126
	}
	return 0x1p-1022
}

// fill sets every entry of a row to v.
func fill[T Float](row []T, v T) {
	for i := range row {
		row[i] = v
	}
}

// pool lends scratch memory, so that hot functions do not allocate.
var pool = sync.Pool{New: func() any { return new([]float64) }}

// borrow returns scratch of n float64 with arbitrary contents; give it back
// with pool.Put.
func borrow(n int) *[]float64 {
	s := pool.Get().(*[]float64)
	if cap(*s) < n {
		*s = make([]float64, n)
	}
	*s = (*s)[:n]
	return s
}
