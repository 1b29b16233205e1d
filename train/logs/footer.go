package logs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// checkFooter refuses a Parquet file, which may be damaged, whose footer claims more than
// there is: a length beyond the file's, or lists and texts beyond its own end, for which
// the library would take memory before anything else, up to gigabytes.
func checkFooter(f io.ReaderAt, size int64) error {
	var end [8]byte
	if _, err := f.ReadAt(end[:], max(0, size-8)); err != nil {
		return fmt.Errorf("no footer in %d bytes", size)
	}
	n := int64(binary.LittleEndian.Uint32(end[:4]))
	if n > size-12 {
		return fmt.Errorf("a footer of %d bytes in a file of %d", n, size)
	}
	text := make([]byte, n)
	if _, err := f.ReadAt(text, size-8-n); err != nil {
		return err
	}
	t := thrift{left: text}
	t.structure(0)
	return t.err
}

// thrift goes through a structure in Thrift's compact protocol. See
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
type thrift struct {
	left []byte
	err  error
}

// fail ends the reading: nothing is left.
func (t *thrift) fail() { t.left, t.err = nil, errors.New("its footer is damaged") }

// structure goes through a structure inside so many others.
func (t *thrift) structure(depth int) {
	for t.err == nil {
		field := t.octet()
		if field == 0 {
			return
		}
		if field>>4 == 0 {
			t.number() // of the field
		}
		if kind := field & 15; kind != 1 && kind != 2 { // true and false have no more bytes
			t.values(1, depth, kind)
		}
	}
}

// values goes through n times values of the kinds, none of which is shorter than a byte.
func (t *thrift) values(n uint64, depth int, kinds ...byte) {
	if n > uint64(len(t.left)) || depth > deepest {
		t.fail()
		return
	}
	for i := uint64(0); i < n*uint64(len(kinds)) && t.err == nil; i++ {
		switch kinds[i%uint64(len(kinds))] {
		case 1, 2, 3: // true, false and a byte
			t.skip(1)
		case 4, 5, 6: // integers
			t.number()
		case 7: // a number of 64 bits
			t.skip(8)
		case 8: // bytes
			t.skip(t.number())
		case 9, 10: // a list, a set
			head := t.octet()
			n := uint64(head >> 4)
			if n == 15 {
				n = t.number()
			}
			t.values(n, depth+1, head&15)
		case 11: // a map
			if n := t.number(); n > 0 {
				kinds := t.octet()
				t.values(n, depth+1, kinds>>4, kinds&15)
			}
		case 12:
			t.structure(depth + 1)
		case 13: // a UUID
			t.skip(16)
		default:
			t.fail()
		}
	}
}

func (t *thrift) octet() byte {
	if len(t.left) == 0 {
		t.fail()
		return 0
	}
	b := t.left[0]
	t.left = t.left[1:]
	return b
}

func (t *thrift) number() uint64 {
	v, n := binary.Uvarint(t.left)
	if n <= 0 {
		t.fail()
		return math.MaxUint64
	}
	t.left = t.left[n:]
	return v
}

func (t *thrift) skip(n uint64) {
	if n > uint64(len(t.left)) {
		t.fail()
		return
	}
	t.left = t.left[n:]
}
