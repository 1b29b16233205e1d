// Package wholefile writes files whole or not at all.
package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces the file at path by what write writes: into a temporary file in its
// folder, which takes its name once write has succeeded and the disk has it. After an
// error the file that was there is still there, and no other. The name, too, survives a
// power cut.
func Write(path string, write func(f *os.File) error) (err error) {
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*.tmp")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncFolder(folder)
}

// WriteBytes is Write of bytes.
func WriteBytes(path string, b []byte) error {
	return Write(path, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// SyncFolder makes the names of new files in a folder last.
func SyncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SetAside appends what was torn off the end of a file, and a line end, to the file at path,
// and returns when the disk has it.
func SetAside(path string, torn io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.MultiReader(torn, strings.NewReader("\n")))
	return errors.Join(err, f.Sync(), f.Close())
}
