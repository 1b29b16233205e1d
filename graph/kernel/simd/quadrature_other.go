//go:build !amd64

package simd

func hazards32(r, p, all, table *float32, plane int, at *int32, delta, up *float32, k int) {
	panic(noKernels)
}

func hazards64(r, p, all, table *float64, plane int, at *int32, delta, up *float64, k int) {
	panic(noKernels)
}

func dots32(dst, r, p *float32, k int) { panic(noKernels) }

func dots64(dst, r, p *float64, k int) { panic(noKernels) }

func pulls32(dst, r, p, all, t, gap, up *float32, k int) { panic(noKernels) }

func pulls64(dst, r, p, all, t, gap, up *float64, k int) { panic(noKernels) }
