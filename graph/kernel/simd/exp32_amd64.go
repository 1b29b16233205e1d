package simd

//go:noescape
func exp32(dst, x *float32, n int)
