//go:build !amd64

package simd

func gemm6x16(c *float32, ldc int, a *float32, ars, acs int, b *float32, ldb, k int, add bool) {
	panic(noKernels)
}

func transpose8(dst *float32, ldd int, src *float32, lds int, n int)  { panic(noKernels) }
func spmm64(dst *float32, rows int, ptr, idx *int32, val, p *float32) { panic(noKernels) }
func spmm16(dst *float32, rows int, ptr, idx *int32, val, p *float32) { panic(noKernels) }
func compress32(val *float32, idx *int32, x *float32, n int, lanes *[256][8]uint8) int {
	panic(noKernels)
}
