package logs

import "io"

// behindBytes is what is handed over at a time.
const behindBytes = 1 << 18

// behind writes what it is given in a goroutine, in order. An error is known in the end, and what comes after it is
// lost.
type behind struct {
	full, free chan []byte
	ended      chan error
	over       bool
	err        error
}

func newBehind(to io.Writer) *behind {
	b := &behind{full: make(chan []byte, 4), free: make(chan []byte, 4), ended: make(chan error, 1)}
	for range cap(b.free) {
		b.free <- nil
	}
	go func() { // end waits for it
		var err error
		for p := range b.full {
			if err == nil {
				_, err = to.Write(p)
			}
			b.free <- p
		}
		b.ended <- err
	}()
	return b
}

// hand hands over what is to be written, and returns room for more. It never fails: end does.
func (b *behind) hand(p []byte) []byte {
	b.full <- p
	return (<-b.free)[:0]
}

// end writes what is left, and returns the first error.
func (b *behind) end() error {
	if !b.over {
		close(b.full)
		b.over, b.err = true, <-b.ended
	}
	return b.err
}
