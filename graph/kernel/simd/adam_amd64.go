package simd

//go:noescape
func adam32(x, d, m, v *float32, n int, c *[8]float32)
