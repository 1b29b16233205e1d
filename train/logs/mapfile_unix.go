//go:build unix

package logs

import (
	"os"
	"syscall"

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

// trusted reports that a cache belongs to the user who reads it, to the owner of the log, or to the administrator. It
// also asks that nobody can write to the cache who cannot write to the log.
func trusted(cache, log os.FileInfo) bool {
	c, ok := cache.Sys().(*syscall.Stat_t)
	l, also := log.Sys().(*syscall.Stat_t)
	if !ok || !also {
		return false
	}
	return (c.Uid == 0 || c.Uid == l.Uid || int(c.Uid) == os.Geteuid()) &&
		cache.Mode().Perm()&^log.Mode().Perm()&0o022 == 0
}

// release has the system drop the pages of a shared mapping, which stay readable.
func release(b []byte) {
	_ = unix.Madvise(b, unix.MADV_DONTNEED) // advice: it may fail
}
