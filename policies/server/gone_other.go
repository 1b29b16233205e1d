//go:build !unix

package server

import "os"

// state returns the size of an open file. Its name stays, as open files cannot be removed here.
func state(f *os.File) (size int64, gone bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	return info.Size(), false, nil
}

// writeOut does nothing: fsync writes everything.
func writeOut(*os.File, int64, int64) {}
