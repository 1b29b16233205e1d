package server

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

var noPath [1]byte

// state returns the size of an open file, and whether its name was removed. It does not ask for times: once they were
// asked for, Linux stores finer ones with the next write, which doubles the time of the write.
func state(f *os.File) (size int64, gone bool, err error) {
	var x unix.Statx_t // unix.Statx allocates
	if _, _, failed := unix.Syscall6(unix.SYS_STATX, f.Fd(), uintptr(unsafe.Pointer(&noPath)), unix.AT_EMPTY_PATH,
		unix.STATX_SIZE|unix.STATX_NLINK, uintptr(unsafe.Pointer(&x)), 0); failed == 0 {
		return int64(x.Size), x.Nlink == 0, nil
	}
	var s unix.Stat_t // some containers have no statx
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return 0, false, &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return s.Size, s.Nlink == 0, nil
}

// writeOut starts writing a stretch of a file to the disk, so that the next fsync has little left to do.
func writeOut(f *os.File, from, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), from, n, unix.SYNC_FILE_RANGE_WRITE) // what fails is told by fsync
}
