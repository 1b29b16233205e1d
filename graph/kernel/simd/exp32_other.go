//go:build !amd64

package simd

func exp32(dst, x *float32, n int) { panic(noKernels) }
