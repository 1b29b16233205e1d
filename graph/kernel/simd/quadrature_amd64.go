package simd

//go:noescape
func hazards32(r, p, all, table *float32, plane int, at *int32, delta, up *float32, k int)

//go:noescape
func hazards64(r, p, all, table *float64, plane int, at *int32, delta, up *float64, k int)

//go:noescape
func dots32(dst, r, p *float32, k int)

//go:noescape
func dots64(dst, r, p *float64, k int)

//go:noescape
func pulls32(dst, r, p, all, t, gap, up *float32, k int)

//go:noescape
func pulls64(dst, r, p, all, t, gap, up *float64, k int)
