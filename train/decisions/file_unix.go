//go:build unix

package decisions

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappable: files can be mapped, so that what is large need not be on the heap.
const mappable = true

// mapFile maps the first n bytes of f into memory.
func mapFile(f *os.File, n int, writable bool) ([]byte, func() error, error) {
	if n == 0 {
		return nil, func() error { return nil }, nil
	}
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	b, err := unix.Mmap(int(f.Fd()), 0, n, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	return b, func() error { return unix.Munmap(b) }, nil
}

// forget lets the system drop pages of a read-only mapping, which stay readable.
func forget[T any](s []T) {
	if len(s) == 0 {
		return
	}
	page := uintptr(os.Getpagesize())
	p := unsafe.Pointer(unsafe.SliceData(s))
	skip := (page - uintptr(p)%page) % page
	size := uintptr(len(s)) * unsafe.Sizeof(s[0])
	if size <= skip+page {
		return
	}
	b := unsafe.Slice((*byte)(unsafe.Add(p, skip)), (size-skip)/page*page)
	_ = unix.Madvise(b, unix.MADV_DONTNEED) // advice: it may fail
}
