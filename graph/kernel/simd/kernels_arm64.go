//go:build !purego

package simd

//go:noescape
func gemm6x16(c *float32, ldc int, a *float32, ars, acs int, b *float32, ldb, k int, add bool)

//go:noescape
func spmm64(dst *float32, rows int, ptr, idx *int32, val, p *float32)

//go:noescape
func spmm16(dst *float32, rows int, ptr, idx *int32, val, p *float32)
