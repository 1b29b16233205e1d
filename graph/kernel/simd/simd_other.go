//go:build !amd64

package simd

const hasAVX2 = false

var avx2 = false

const noKernels = "simd: no vector kernels on this processor"
