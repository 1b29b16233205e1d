// Package mxcsr reads the processor's flags of floating-point exceptions, for tests that no
// subnormal number is computed. Only tests import it.
package mxcsr

import "runtime"

const (
	denormal  = 1 << 1 // an operand was subnormal
	underflow = 1 << 4 // a result was, or 0 in place of one
)

// Subnormal runs f on a thread of its own and reports whether an operand of its
// arithmetic was subnormal, and whether a result was or was rounded from below the
// least normal number. Where the processor has no such flags both are false.
func Subnormal(f func()) (operand, result bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	was := get()
	set(was &^ 0x3f)
	f()
	now := get()
	set(was)
	return now&denormal != 0, now&underflow != 0
}
