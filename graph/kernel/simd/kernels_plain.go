//go:build (!amd64 && !arm64) || purego

package simd

// What is written in assembly for arm64, too.

func gemm6x16(c *float32, ldc int, a *float32, ars, acs int, b *float32, ldb, k int, add bool) {
	for r := range tileRows {
		var sum [tileCols]float32
		for t := range k {
			v := *after(a, r*ars+t*acs)
			for j, w := range of(after(b, t*ldb), tileCols) {
				sum[j] += v * w
			}
		}
		for j, to := 0, of(after(c, r*ldc), tileCols); j < tileCols; j++ {
			if !add {
				to[j] = 0
			}
			to[j] += sum[j]
		}
	}
}

func spmm64(dst *float32, rows int, ptr, idx *int32, val, p *float32) {
	multiply(dst, 64, false, rows, ptr, idx, val, p)
}

func spmm16(dst *float32, rows int, ptr, idx *int32, val, p *float32) {
	multiply(dst, 16, false, rows, ptr, idx, val, p)
}
