package logs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cespare/xxhash/v2"
)

// wholeHash is the size up to which a file is hashed whole on each opening; of a larger one its times and samples tell
// a change, where the file system sets the time of the last change itself.
const wholeHash = 64 << 20

// source says which content a file has.
type source struct {
	Name string `json:"name"` // its path from the root, or its URL
	stamp
	Sample uint64 `json:"sample"`        // hash of blocks spread over it
	Whole  uint64 `json:"whole"`         // hash of all of it
	Tag    string `json:"tag,omitempty"` // of an object, whose content it tells
}

// stamp changes with every change of a file that the system knows of, but perhaps its size and Time, which
// can be set.
type stamp struct {
	Size int64 `json:"size"` // negative: there is no such file
	Time int64 `json:"time"` // of its last change, unix nanoseconds
	// when its content, name, owner or mode last changed; 0: not known, or it can be set
	Changed int64  `json:"changed"`
	File    uint64 `json:"file"` // its number in its file system
}

// fileHash hashes a file: all of it if it is small or that is asked for, else 256 blocks.
func fileHash(path string, all bool) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	h := xxhash.New()
	if all || info.Size() <= wholeHash {
		_, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 1<<20))
		return h.Sum64(), err
	}
	buf := make([]byte, 1<<16)
	for i := range int64(256) {
		n, err := f.ReadAt(buf, (info.Size()-int64(len(buf)))/255*i)
		if err != nil && err != io.EOF {
			return 0, err
		}
		h.Write(buf[:n])
	}
	return h.Sum64(), nil
}

// fresh reports whether a file still has the content it had. Where changes are not told, all is read.
func fresh(path string, was source) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != was.Size {
		return err != nil && was.Size < 0
	}
	touched, want := was.Changed == 0 || stampOf(path, info) != was.stamp, was.Sample
	if touched {
		want = was.Whole
	}
	h, err := fileHash(path, touched)
	return err == nil && h == want
}

// sourceOf is the content of a file that was read, which is as info had it before.
func sourceOf(path string, info os.FileInfo) (src source, err error) {
	src.stamp = stampOf(path, info)
	if src.Whole, err = fileHash(path, true); err != nil {
		return src, err
	}
	if src.Sample = src.Whole; info.Size() > wholeHash {
		if src.Sample, err = fileHash(path, false); err != nil {
			return src, err
		}
	}
	if after, err := os.Stat(path); err != nil || stampOf(path, after) != src.stamp {
		return src, errors.Join(err, fmt.Errorf("%s: the file changed while it was read", path))
	}
	return src, nil
}

// key is what of the options matters to the cache, with the hash of the catalogue's file; 0:
// there is none.
func key(format string, o *Options, catalogue uint64) string {
	offered := ""
	if o.Offered && format == "dsjson" {
		offered = " offered"
	}
	return fmt.Sprintf("9 %q %q %v %v %q %q %q %x columns %q %q as %q %q values %s %v %v reward %v gaps %v numbers %v",
		format, o.Preset, o.RewardMin, o.RewardMax, o.Actions, o.categories(), o.BadRows, catalogue, o.Columns,
		o.ColumnsBefore, o.Delimiter, o.Dates, o.PropensityForm, o.RewardMap, o.NoRewards, o.formula, o.Estimate,
		o.Numbers) + offered
}
