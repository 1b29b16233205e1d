package simd

//go:noescape
func softmax32(dst, x *float32, rows, k int) int

//go:noescape
func softmaxGrad32(dst, y, dy *float32, rows, k int)
