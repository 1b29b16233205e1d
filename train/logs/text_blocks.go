package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
)

// lineReader understands lines that are as most are.
type lineReader interface {
	// line appends the numbers and the other cells of a line that begins at a place of the block's text, in their
	// order. If the line is not as most are, it is false, and may have appended anything.
	line(k *rowBlock, line []byte, at int) bool
	// blank reports whether a line is none.
	blank(line []byte) bool
}

// begin begins to read lines ahead.
func (t *table) begin(r lineReader, slots []slot) {
	blocks := 2*readers + 1
	w, a := &t.wide, newRowsAhead(slots, blocks)
	a.in, a.rest = t.lines.r, bytes.Clone(t.lines.back)
	t.blocks, t.lines.back = a, nil
	a.begin(func() {
		var all sync.WaitGroup
		work := make(chan *rowBlock, blocks)
		for range readers {
			all.Go(func() {
				for k := range work {
					k.read(w, r, a.others)
					close(k.done)
				}
			})
		}
		defer all.Wait()
		defer close(work)
		for a.err == nil {
			k, ok := a.get()
			if !ok {
				return
			}
			a.fill(k)
			k.done = make(chan struct{})
			work <- k
			a.made <- k
		}
	})
}

// errLong is a line longer than a row may be, which is read by itself.
var errLong = errors.New("a long line")

// fill reads whole lines into a block.
func (a *rowsAhead) fill(k *rowBlock) {
	k.text = append(k.text[:0], a.rest...)
	for size := blockBytes; a.err == nil; size *= 2 {
		k.text = slices.Grow(k.text, max(0, size-len(k.text)))
		whole := false
		for len(k.text) < size && a.err == nil {
			n, err := a.in.Read(k.text[len(k.text):size])
			whole = whole || bytes.IndexByte(k.text[len(k.text):len(k.text)+n], '\n') >= 0
			k.text, a.err = k.text[:len(k.text)+n], err
		}
		if whole {
			break
		}
		if a.err == nil && size > maxRow {
			a.err = errLong
		}
	}
	last := bytes.LastIndexByte(k.text, '\n') + 1 // one without an end is read by itself
	a.rest = append(a.rest[:0], k.text[last:]...)
	k.text = k.text[:last]
}

// read reads the rows of a block.
func (k *rowBlock) read(w *wide, r lineReader, others int) {
	k.rows, k.numbers, k.cells, k.sums, k.lists = k.rows[:0], k.numbers[:0], k.cells[:0], k.sums[:0], k.lists[:0]
	sound := checkText(k.text) == nil
	for at, place := 0, 0; at < len(k.text); {
		end := bytes.IndexByte(k.text[at:], '\n') + 1
		if end == 0 {
			end = len(k.text) - at
		}
		row := blockRow{from: at, to: at + end, place: -1}
		line := k.text[at:row.to]
		if at = row.to; r.blank(line) {
			continue
		}
		numbers, cells := len(k.numbers), len(k.cells)
		if len(line) <= maxRow && (sound || checkText(line) == nil) && r.line(k, line, row.from) &&
			len(k.numbers) == numbers+len(w.columns) && len(k.cells) == cells+others {
			row.place = place
			place++
			var sum sums
			sum, row.even = w.sum(k.numbers[numbers:])
			k.sums = append(k.sums, sum)
		} else {
			k.numbers, k.cells = k.numbers[:numbers], k.cells[:cells]
		}
		k.rows = append(k.rows, row)
	}
}

// next takes the next row, if lines are read ahead, which begin does once the columns are known, and it was understood.
// If it was not there, the row is the next line.
func (t *table) next(b *builder, begin func()) (there bool, err error) {
	if t.rows++; t.rows == readAfter+1 && b.n > 0 && readers > 0 && !b.fields && !b.describes {
		begin()
	}
	if t.blocks == nil {
		return false, nil
	}
	k, row := t.blocks.next()
	switch {
	case k == nil:
		t.alone(nil)
	case row.to-row.from > maxRow:
		t.alone(k.text[row.from:])
	case row.place < 0:
		t.lines.back = k.text[row.from:row.to:row.to]
	default:
		t.lines.text = k.text[row.from:row.to:row.to]
		return true, t.row(b, k, row)
	}
	return false, nil
}

// alone ends reading ahead. The lines that follow are those of text, then what was read after it, then the rest.
func (t *table) alone(text []byte) {
	a := t.blocks
	t.blocks = nil
	a.end()
	t.wide.settle()
	text = bytes.Clone(text)
	for k := range a.made {
		<-k.done
		text = append(text, k.text...)
	}
	tail := a.in
	if a.err != nil && a.err != errLong {
		tail = broken{a.err}
	}
	t.lines.back, t.lines.r = nil, bufio.NewReaderSize(io.MultiReader(bytes.NewReader(append(text, a.rest...)), tail),
		1<<20)
}

// broken is a reader of an error.
type broken struct{ err error }

func (r broken) Read([]byte) (int, error) { return 0, r.err }

// close ends what reads ahead, and closes the file.
func (t *table) close() error {
	if t.blocks != nil {
		t.blocks.end()
	}
	return t.lines.close()
}
