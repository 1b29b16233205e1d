package wholefile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// unnamed makes a file in a folder that has no name until link gives it one.
func unnamed(path string, mode fs.FileMode) (*os.File, error) {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return nil, err // a file of a temporary name is tried next
	}
	f := os.NewFile(uintptr(fd), path)
	if _, err := os.Stat(place(f)); err != nil { // no /proc: it could never get a name
		f.Close()
		return nil, err
	}
	return f, nil
}

func place(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// link fails if there is a file at path.
func link(f *os.File, path string) error {
	if err := unix.Linkat(unix.AT_FDCWD, place(f), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: "a new file", New: path, Err: err}
	}
	return nil
}
