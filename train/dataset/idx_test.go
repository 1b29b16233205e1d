package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// idx is an IDX file, uncompressed: magic number, sizes, body.
func idx(magic uint32, body []byte, sizes ...int) []byte {
	b := binary.BigEndian.AppendUint32(nil, magic)
	for _, n := range sizes {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return append(b, body...)
}

func labels(y []byte) []byte { return idx(labelMagic, y, len(y)) }

// compress is gzip -9, the same bytes for the same content.
func compress(b []byte) []byte {
	var buf bytes.Buffer
	z, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	z.Write(b)
	z.Close()
	return buf.Bytes()
}

// write writes b as it is, or compressed where the name ends in .gz and b is not.
func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if strings.HasSuffix(path, ".gz") && !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		b = compress(b)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// small is a data set of 2x3 pixels, four training and two test examples, three classes. The
// last training image is blank.
func small() [4][]byte {
	train := []byte{
		3, 0, 0, 0, 4, 0,
		0, 255, 0, 0, 0, 0,
		1, 2, 3, 4, 5, 6,
		0, 0, 0, 0, 0, 0,
	}
	return [4][]byte{
		idx(imageMagic, train, 4, 2, 3), labels([]byte{0, 1, 0, 1}),
		idx(imageMagic, train[:12], 2, 2, 3), labels([]byte{2, 1}),
	}
}

// writeSet writes the four files; nil leaves one out.
func writeSet(t testing.TB, dir string, content [4][]byte) {
	t.Helper()
	for i, b := range content {
		if b != nil {
			write(t, filepath.Join(dir, files[i]), b)
		}
	}
}

func TestOpen_RefusesBadFiles(t *testing.T) {
	good := small()
	zipped := compress(good[0])
	flipped := bytes.Clone(zipped)
	flipped[len(flipped)-6] ^= 1 // the checksum
	broken := bytes.Clone(zipped)
	broken[10] = 0xff // the first block of data
	for _, c := range []struct {
		name string
		file int // the one replaced
		by   []byte
		want string // part of the message, beside the file's name
	}{
		{"missing", 3, nil, "missing"},
		{"empty", 0, []byte{0x1f, 0x8b}, "truncated"},
		{"truncated gzip", 0, zipped[:len(zipped)-9], "truncated"},
		{"truncated trailer", 0, zipped[:len(zipped)-2], "truncated"},
		{"wrong checksum", 0, flipped, "corrupt gzip"},
		{"corrupt gzip", 0, broken, "corrupt gzip"},
		{"followed by garbage", 0, append(bytes.Clone(zipped), "garbage garbage"...), "not a gzip"},
		{"no magic", 1, []byte{}, "truncated"},
		{"half a header", 2, good[2][:10], "truncated"},
		{"labels for images", 0, good[1], "0x00000803 (images)"},
		{"images for labels", 1, good[0], "0x00000801 (labels)"},
		{"floats", 0, idx(0x0d03, good[0][16:], 4, 2, 3), "magic number 0x00000d03"},
		{"too many images", 0, idx(imageMagic, good[0][16:], 5, 2, 3), "only 24 follow"},
		{"too few images", 0, idx(imageMagic, good[0][16:], 3, 2, 3), "more follow"},
		{"too many labels", 3, idx(labelMagic, []byte{2, 1}, 9), "only 2 follow"},
		{"too few labels", 3, idx(labelMagic, []byte{2, 1}, 1), "more follow"},
		{"hostile count", 0, idx(imageMagic, good[0][16:], 1<<32-1, 2, 3), "over the limit"},
		{"hostile sizes", 0, idx(imageMagic, good[0][16:], 4, 1<<32-1, 1<<32-1), "over the limit"},
		{"overflow to true size", 0, idx(imageMagic, nil, 1<<16, 1<<24, 1<<24), "over the limit"},
		{"large claim", 0, idx(imageMagic, good[0][16:], 1<<20, 32, 32), "only 24 follow"},
		{"hostile label count", 1, idx(labelMagic, []byte{0, 1, 0, 1}, 1<<31), "over the limit"},
		{"bomb", 1, idx(labelMagic, make([]byte, 1<<24), 4), "more follow"},
		{"no images", 0, idx(imageMagic, nil, 0, 2, 3), "nothing to read"},
		{"no rows", 0, idx(imageMagic, nil, 4, 0, 3), "nothing to read"},
		{"no columns", 2, idx(imageMagic, nil, 2, 2, 0), "nothing to read"},
		{"no labels", 1, labels(nil), "nothing to read"},
		{"counts differ", 0, idx(imageMagic, good[0][16:34], 3, 2, 3), "3 images, but 4 labels"},
		{"test images of another size", 2, idx(imageMagic, good[2][16:], 2, 3, 2), "test images are 3x2 pixels, training images 2x3"},
		{"single class", 1, labels([]byte{7, 7, 7, 7}), "single class"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			content := small()
			content[c.file] = c.by
			writeSet(t, dir, content)
			wantError(t, dir, files[c.file], c.want)
		})
	}
	t.Run("not compressed", func(t *testing.T) {
		dir := t.TempDir()
		writeSet(t, dir, small())
		if err := os.WriteFile(filepath.Join(dir, files[0]), good[0], 0o666); err != nil {
			t.Fatal(err)
		}
		wantError(t, dir, files[0], "not a gzip file")
	})
	t.Run("folder for a file", func(t *testing.T) {
		dir := t.TempDir()
		content := small()
		content[2] = nil
		writeSet(t, dir, content)
		if err := os.Mkdir(filepath.Join(dir, files[2]), 0o777); err != nil {
			t.Fatal(err)
		}
		wantError(t, dir, files[2], "not a regular file")
	})
}

// wantError opens dir and expects one line that has all of want.
func wantError(t *testing.T, dir string, want ...string) {
	t.Helper()
	d, err := Open("small", dir)
	if err == nil {
		t.Fatalf("no error, but %+v", d)
	}
	for _, w := range append(want, "data set small: ") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error lacks %q: %v", w, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
}

// FuzzOpen opens sets of any two files, used for both parts: as they are, and as the content of
// a proper gzip stream. What opens must be whole.
func FuzzOpen(f *testing.F) {
	good := small()
	f.Add(good[0], good[1], true)
	f.Add(compress(good[0]), compress(good[1]), false)
	f.Add(idx(imageMagic, nil, 1<<32-1, 1<<16, 1<<16), labels(nil), true)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, images, labels []byte, zip bool) {
		if zip {
			images, labels = compress(images), compress(labels)
		}
		for i, b := range [][]byte{images, labels, images, labels} {
			if err := os.WriteFile(filepath.Join(dir, files[i]), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Open("fuzz", dir)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
			return
		}
		if d.Train.Dim() != d.ImageRows*d.ImageCols || len(d.Train.Labels) != d.Train.Len() || d.Classes < 2 {
			t.Errorf("inconsistent: %+v", d)
		}
		x := make([]float64, d.Train.Dim())
		for i := range d.Train.Len() {
			d.Train.Row64(i, x)
		}
	})
}
