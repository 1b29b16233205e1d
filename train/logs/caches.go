package logs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// CacheFile is a file that holds what was read of a log.
type CacheFile struct {
	Path  string
	Log   string // that it is of, as it was called; "": not known, or the file is what writing was killed in
	Bytes int64
	Stale bool // nothing reads it any more: the log is gone or another, or it is of another version, or not whole
}

// Caches are the caches in folders, in folders in them, and beside files; of none: in the user's cache folder. A file that only has the name of one is none.
func Caches(paths ...string) (found []CacheFile, err error) {
	if len(paths) == 0 {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		if paths = []string{filepath.Join(user, "opl")}; !isFolder(paths[0]) {
			return nil, nil
		}
	}
	for _, path := range paths {
		if !isFolder(path) {
			if _, err := os.Stat(path); err != nil {
				return nil, err
			}
			for _, ending := range []string{cacheEnding, partEnding} {
				if c, ok := cacheAt(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+ending)); ok {
					found = append(found, c)
				}
			}
			continue
		}
		err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if c, ok := cacheAt(p); ok {
				found = append(found, c)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

const cacheEnding, partEnding = ".opl-cache", ".opl-part"

// cacheAt looks at a file that may be a cache.
func cacheAt(path string) (c CacheFile, ok bool) {
	half, _ := filepath.Match(unplaced, filepath.Base(path))
	if !half && !strings.HasSuffix(path, cacheEnding) && !strings.HasSuffix(path, partEnding) {
		return c, false
	}
	f, err := os.Open(path)
	if err != nil {
		return c, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return c, false
	}
	c = CacheFile{Path: path, Bytes: info.Size(), Stale: true}
	if half {
		return c, time.Since(info.ModTime()) > time.Hour // else somebody is writing it
	}
	var first [16]byte
	if _, err := f.ReadAt(first[:], 0); err != nil {
		return c, false
	}
	var h struct {
		Log    string `json:"log"`
		Source source `json:"source"`
		Tag    string `json:"tag"`
	}
	at, length := int64(0), int64(binary.NativeEndian.Uint64(first[8:]))
	switch {
	case binary.NativeEndian.Uint64(first[:])>>16 == magic>>16:
		if binary.NativeEndian.Uint64(first[:]) != magic {
			return c, true
		}
		at, length = length, info.Size()-8-length
	case binary.LittleEndian.Uint64(first[:])>>8 == partMagic>>8:
		if binary.LittleEndian.Uint64(first[:]) != partMagic || info.Size() < 24 {
			return c, true
		}
		var end [8]byte
		if _, err := f.ReadAt(end[:], info.Size()-16); err != nil {
			return c, true
		}
		length = int64(binary.LittleEndian.Uint64(end[:]))
		at = info.Size() - 16 - length
	default:
		return c, false
	}
	if length < 0 || at < 0 || length > info.Size()-at {
		return c, true
	}
	text := make([]byte, length)
	if _, err := f.ReadAt(text, at); err != nil || json.Unmarshal(text, &h) != nil {
		return c, true
	}
	if c.Log = h.Log; filepath.Base(path)[0] == '.' { // it is beside the log, wherever both were moved
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path)[1:], cacheEnding), partEnding)
		c.Log = filepath.Join(filepath.Dir(path), name)
	}
	h.Log = c.Log
	if strings.Contains(h.Log, "://") { // whether the object is as it was is not asked
		c.Stale = false
		return c, true
	}
	now, err := os.Stat(h.Log)
	c.Stale = errors.Is(err, fs.ErrNotExist) || err == nil && stampOf(h.Log, now) != h.Source.stamp
	return c, true
}
