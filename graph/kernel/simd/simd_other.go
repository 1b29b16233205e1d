//go:build !amd64

package simd

// avx2 is a constant, so that no call of a vector kernel is linked.
const avx2 = false

// Use does nothing, for there are no vector kernels.
func Use(bool) bool { return false }

// Extensions are none: there are no vector kernels.
func Extensions() []string { return nil }
