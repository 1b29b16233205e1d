//go:build unix

package logs

import (
	"os"

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

// forget lets the system drop the pages of a shared mapping, which stay readable.
func forget(b []byte) {
	_ = unix.Madvise(b, unix.MADV_DONTNEED) // advice: it may fail
}
