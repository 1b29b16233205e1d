//go:build !amd64

package simd

func adam32(x, d, m, v *float32, n int, c *[8]float32) { panic(noKernels) }
