//go:build !amd64

package simd

// The vector kernels are never called where avx2 is false.

func add32(dst, x, y *float32, n int)                { panic(noKernels) }
func sub32(dst, x, y *float32, n int)                { panic(noKernels) }
func mul32(dst, x, y *float32, n int)                { panic(noKernels) }
func div32(dst, x, y *float32, n int)                { panic(noKernels) }
func scale32(dst, x *float32, n int, c, d float32)   { panic(noKernels) }
func affine32(dst, x *float32, n int, c, d float32)  { panic(noKernels) }
func atLeast32(dst, x *float32, n int, c, d float32) { panic(noKernels) }
func abs32(dst, x *float32, n int, c, d float32)     { panic(noKernels) }
func fill32(dst *float32, n int, c float32)          { panic(noKernels) }
func across32(dst, x *float32, rows, k int)          { panic(noKernels) }
func rowSums32(dst, x *float32, rows, k int)         { panic(noKernels) }
func sum32(x *float32, n int) float64                { panic(noKernels) }
func finite32(x *float32, n int) bool                { panic(noKernels) }

func repeat32(dst, x *float32, rows, k, s, left int) { panic(noKernels) }
func sumRows32(dst, x *float32, rows, k int)         { panic(noKernels) }
func narrow32(dst *float32, x *float64, n int)       { panic(noKernels) }
