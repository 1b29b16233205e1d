package logs

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// tempFile is a file that is gone once it is closed.
type tempFile struct{ *os.File }

func (f tempFile) Close() error {
	err := f.File.Close()
	if e := os.Remove(f.Name()); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// temporary makes a temporary file in dir, or in the user's cache, or where temporary
// files go, wherever it can. Where the system can, it has no name from the start.
func temporary(dir string) (tempFile, error) {
	dirs := []string{dir, os.TempDir()}
	if user, err := os.UserCacheDir(); err == nil {
		dirs = slices.Insert(dirs, 1, filepath.Join(user, "opl"))
	}
	var failed error
	for _, d := range dirs {
		f, err := os.CreateTemp(d, ".opl-*.tmp")
		if err == nil {
			_ = os.Remove(f.Name()) // where it cannot be removed while open, Close does it
			return tempFile{f}, nil
		}
		failed = errors.Join(failed, err)
	}
	return tempFile{}, failed
}

// stream opens a file for reading, uncompressed; end closes it.
func stream(path, compression string) (r io.Reader, end func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r, end = f, f.Close
	switch compression {
	case "gz":
		if r, err = gzip.NewReader(bufio.NewReaderSize(f, 1<<16)); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: not a gzip file: %w", path, err), f.Close())
		}
	case "zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28))
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: not a zstd file: %w", path, err), f.Close())
		}
		r, end = z, func() error { z.Close(); return f.Close() }
	}
	return r, end, nil
}
