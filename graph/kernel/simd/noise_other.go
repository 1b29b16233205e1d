//go:build !amd64

package simd

func strataKeys(buf *uint32, n int, key uint64, counter, step, mask uint32) { panic(noKernels) }
func sortLanes(buf *uint32, pairs *uint32, n int)                           { panic(noKernels) }
func strataPoints(dst *uint32, stride int, buf *uint32, n int, key uint64, counter, step, mask, width uint32) {
	panic(noKernels)
}
func scramble32(dst, points *uint32, n int, seeds, shifts *uint32, period int) { panic(noKernels) }
func normal32(dst *float32, x *uint32, n int)                                  { panic(noKernels) }
