package logs

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

func smallParquet(t testing.TB) []byte {
	t.Helper()
	type row struct {
		A int       `parquet:"a"`
		B string    `parquet:"b,optional"`
		C []float64 `parquet:"c,list"`
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{1, "x", []float64{1, 2}}, {2, "", nil}}, parquet.KeyValueMetadata("k", "v")); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFooter_RefusesDamagedEndsOfParquet(t *testing.T) {
	good := smallParquet(t)
	if err := checkFooter(bytes.NewReader(good), int64(len(good))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"short":         {"PAR1", "it has no end"},
		"long footer":   {"PAR1\x00\x00\x00\xf0PAR1", "a footer of 4026531840 bytes in a file of 12"},
		"long list":     {"PAR1\x29\xfc\xff\xff\xff\xff\x07\x07\x00\x00\x00PAR1", "damaged"},
		"long text":     {"PAR1\x18\xff\xff\x03\x04\x00\x00\x00PAR1", "damaged"},
		"long map":      {"PAR1\x1b\xff\xff\x03\x88\x05\x00\x00\x00PAR1", "damaged"},
		"unknown type":  {"PAR1\x1e\x01\x00\x00\x00PAR1", "damaged"},
		"without end":   {"PAR1\x15\x02\x02\x00\x00\x00PAR1", "damaged"},
		"nested":        {"PAR1" + strings.Repeat("\x1c", 40) + strings.Repeat("\x00", 41) + "\x51\x00\x00\x00PAR1", "damaged"},
		"lists in list": {"PAR1\x19" + strings.Repeat("\x19", 40) + "\x00\x2a\x00\x00\x00PAR1", "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkFooter(strings.NewReader(c.text), int64(len(c.text))); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	for i := range good { // a byte lost, or another: an error or not, no panic
		other := bytes.Clone(good)
		other[i] ^= 0x55
		for _, b := range [][]byte{slices.Delete(bytes.Clone(good), i, i+1), other} {
			_ = checkFooter(bytes.NewReader(b), int64(len(b)))
		}
	}
}

func checkFooter(f io.ReaderAt, size int64) error {
	b := make([]byte, 8)
	if _, err := f.ReadAt(b, max(0, size-8)); err != nil {
		_, _, err := openParquet(f, size)
		return err
	}
	_, err := readFooter(f, size, int64(binary.LittleEndian.Uint32(b)))
	return err
}
