package wholefile

import (
	"bufio"
	"fmt"
	"io"
)

// maxLine is how long a line may be.
const maxLine = 1 << 26

// Lines reads sealed lines, one after the other. It passes over zeros that lines begin with, which a program that
// truncates a file leaves while another writes to it, and over a last line without an end, which a death leaves.
type Lines struct {
	Raw         []byte // the line that Next read, with its end
	Object      []byte // the same without end and seal
	Sealed      bool   // it has a seal
	Torn, Zeros int    // bytes that were passed over of each
	in          *bufio.Reader
}

// NewLines reads lines from r.
func NewLines(r io.Reader) *Lines { return &Lines{in: bufio.NewReaderSize(r, 1<<16)} }

// Next reads a line; io.EOF after the last. If something is wrong with the line, reading can go on after it.
func (l *Lines) Next() (wrong, err error) {
	zeros, err := SkipZeros(l.in)
	l.Raw, l.Zeros = l.Raw[:0], l.Zeros+zeros
	for more := err == nil; more; more = err == bufio.ErrBufferFull {
		var part []byte
		if part, err = l.in.ReadSlice('\n'); len(l.Raw) <= maxLine {
			l.Raw = append(l.Raw, part...)
		}
	}
	switch {
	case err == io.EOF:
		l.Torn = len(l.Raw)
	case err == nil && len(l.Raw) > maxLine:
		wrong = fmt.Errorf("a line is longer than %d bytes", maxLine)
	case err == nil:
		l.Object, l.Sealed, wrong = Unseal(append(l.Object[:0], l.Raw[:len(l.Raw)-1]...))
	}
	return wrong, err
}

// SkipZeros moves to the first byte that is not 0, and returns how many it passed.
func SkipZeros(r *bufio.Reader) (n int, err error) {
	for b := byte(0); ; n++ {
		if b, err = r.ReadByte(); err != nil {
			return n, err
		}
		if b != 0 {
			return n, r.UnreadByte()
		}
	}
}
