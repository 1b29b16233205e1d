package simd

//go:noescape
func gemm6x16(c *float32, ldc int, a *float32, ars, acs int, b *float32, ldb, k int, add bool)

//go:noescape
func transpose8(dst *float32, ldd int, src *float32, lds int, n int)

//go:noescape
func spmm64(dst *float32, rows int, ptr, idx *int32, val, p *float32)

//go:noescape
func spmm16(dst *float32, rows int, ptr, idx *int32, val, p *float32)

//go:noescape
func compress32(val *float32, idx *int32, x *float32, n int, lanes *[256][8]uint8) int
