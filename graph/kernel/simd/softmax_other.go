//go:build !amd64

package simd

func softmax32(dst, x *float32, rows, k int) int     { panic(noKernels) }
func softmaxGrad32(dst, y, dy *float32, rows, k int) { panic(noKernels) }
