package dataset

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePages asks the system for large pages for x, which is not written to yet: rows are read in random order, and
// each of them would wait for the address of its page.
func hugePages[T any](x []T) {
	const size = 2 << 20
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
	if skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (size - 1); len(b) >= skip+size {
		_ = unix.Madvise(b[skip:skip+(len(b)-skip)&^(size-1)], unix.MADV_HUGEPAGE) // advice: it may fail
	}
}
