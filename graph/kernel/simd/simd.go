// Package simd holds vector kernels in assembly with a pure Go path beside
// each: AVX2 with FMA on amd64 where the processor has them, Go elsewhere. The
// kernels are declared everywhere, and called where avx2 is true alone.
package simd

import "unsafe"

// Float is the type of elements. Vector kernels are for float32, but for those of
// the quadrature.
type Float interface{ ~float32 | ~float64 }

// Vector reports whether the vector kernels are in use.
func Vector() bool { return avx2 }

// vector reports whether a vector kernel is to compute on x.
func vector[T Float](x []T) bool {
	var z T
	return avx2 && len(x) > 0 && unsafe.Sizeof(z) == 4
}

// at returns where the elements of x are, which are float32.
func at[T Float](x []T) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }
