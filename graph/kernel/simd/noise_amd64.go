package simd

//go:noescape
func strataKeys(buf *uint32, n int, key uint64, counter, step, mask uint32)

//go:noescape
func sortLanes(buf *uint32, pairs *uint32, n int)

//go:noescape
func strataPoints(dst *uint32, stride int, buf *uint32, n int, key uint64, counter, step, mask, width uint32)

//go:noescape
func scramble32(dst, points *uint32, n int, seeds, shifts *uint32, period int)

//go:noescape
func normal32(dst *float32, x *uint32, n int)
