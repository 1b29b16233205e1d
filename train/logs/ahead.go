package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// Rows are read ahead of the builder in blocks, by several goroutines, where they are as most are: numbers of the
// context in columns that are known. Whatever is not goes through the reader's next, value by value, in its place:
// what comes out is the same, bit by bit, whatever the number of goroutines, and so are errors.

// readers is the number of goroutines that read ahead, 0 for none.
var readers = min(runtime.GOMAXPROCS(0), 8)

// readAfter is the number of rows after which the columns of a text are taken as known.
var readAfter = 64

const (
	blockValues = 1 << 15 // numbers of a block
	blockBytes  = 1 << 18 // of a block of text
)

// absent stands in a block for a number that the row does not have. Other NaN of a file never stand beside it.
var absent = math.Float64frombits(0x7ff86d697373696e)

func isAbsent(v float64) bool { return math.Float64bits(v) == math.Float64bits(absent) }

// rowBlock holds rows that were read ahead.
type rowBlock struct {
	rows    []blockRow
	numbers []float64   // of contexts, row after row
	sums    []sums      // of a row's numbers
	cells   []blockCell // the others, row after row
	text    []byte
	lists   []float64
	pairs   []pair
	code    bool          // a number that begins with 0 was left to be read by itself
	done    chan struct{} // closed when a text's rows are read
	err     error         // the file is damaged
}

// blockRow describes a row, or a line that is not blank.
type blockRow struct {
	from, to int  // of a line in the text, with its end
	place    int  // among rows that were understood; negative: it is to be read by itself
	even     bool // its numbers are all there, and finite
}

// blockCell is a cell as table.cell takes it, its text between from and to; or of form
//
//	'['  a list, whose numbers are there in the block's lists
//	'{'  numbers by name, there in its pairs
//	'T'  a time, whose nanoseconds since 1970 are the bits of the number
//	'!'  none that the column may have, for the reason in the text
type blockCell struct {
	form     jsontext.Kind
	from, to int
	number   float64
}

// pair holds a number and its name in the text.
type pair struct {
	from, to int
	number   float64
}

// blockColumn describes a column of rows that are read ahead.
type blockColumn struct {
	column *column // nil: numbers of a context
	place  int     // among the numbers; negative: it is a cell
}

// rowsAhead hands over rows of blocks that a goroutine reads ahead, into those that have been used.
type rowsAhead struct {
	made, used chan *rowBlock
	quit       chan struct{}
	all        sync.WaitGroup

	columns []blockColumn
	others  int       // columns that are cells
	block   *rowBlock // nil: none yet
	at      int       // the next row of the block

	// of a text
	in   io.Reader
	rest []byte // what was read, and is in no block, once none is made
	err  error  // what came after it; nil: more
}

// newRowsAhead returns rows of the given columns, and keeps so many blocks in memory.
func newRowsAhead(columns []blockColumn, blocks int) *rowsAhead {
	a := &rowsAhead{columns: columns, made: make(chan *rowBlock, blocks), used: make(chan *rowBlock, blocks),
		quit: make(chan struct{})}
	for range blocks {
		a.used <- &rowBlock{}
	}
	for _, s := range columns {
		if s.place < 0 {
			a.others++
		}
	}
	return a
}

// begin calls read in a goroutine.
func (a *rowsAhead) begin(read func()) {
	a.all.Go(func() {
		defer close(a.made)
		read()
	})
}

// get returns a block to read into, and false if nobody wants more.
func (a *rowsAhead) get() (*rowBlock, bool) {
	select {
	case <-a.quit:
		return nil, false
	case k := <-a.used:
		return k, true
	}
}

// end ends the goroutine, and waits until it has ended.
func (a *rowsAhead) end() {
	close(a.quit)
	a.all.Wait()
}

// next returns the next row and its block, nil after the last. A block with an error has no row.
func (a *rowsAhead) next() (*rowBlock, *blockRow) {
	for a.block == nil || a.at == len(a.block.rows) {
		if a.block != nil {
			a.used <- a.block
			a.block = nil
		}
		k, ok := <-a.made
		if !ok {
			return nil, nil
		}
		if k.done != nil {
			<-k.done
		}
		if a.block, a.at = k, 0; k.err != nil {
			return k, nil
		}
	}
	a.at++
	return a.block, &a.block.rows[a.at-1]
}

// row takes a row that was read ahead.
func (t *table) row(b *builder, k *rowBlock, row *blockRow) error {
	a, w := t.blocks, &t.wide
	width := len(w.columns)
	numbers, cells := k.numbers[row.place*width:(row.place+1)*width], k.cells[row.place*a.others:]
	even := row.even && w.alone && w.known()
	for i := range a.columns {
		s := &a.columns[i]
		var err error
		switch {
		case s.place < 0:
			err = t.take(b, s, k, &cells[0])
			cells = cells[1:]
		case !even:
			err = w.number(t, b, s.place, numbers[s.place])
		}
		if err == nil {
			continue
		}
		for _, before := range a.columns[:i] {
			if even && before.place >= 0 && before.column != nil {
				before.column.numbers++
			}
		}
		return err
	}
	if even {
		w.row(b, numbers, k.sums[row.place])
	} else if w.list > 0 {
		b.row.list = w.list
	}
	return nil
}

// take takes a cell that was read ahead.
func (t *table) take(b *builder, s *blockColumn, k *rowBlock, cell *blockCell) error {
	c := s.column
	switch {
	case c.role == roleIgnored:
		return nil
	case cell.form == 'n' && c.role == roleSlots && c.slot >= 0:
		return t.ofSlot(b, c, 0, nil, 0)
	case cell.form == 'n' && c.role != roleField:
		if c.role == roleContext {
			c.missing++
		}
		return nil
	}
	switch cell.form {
	case '!':
		return bad(c.name, "%s", k.text[cell.from:cell.to])
	case 'T':
		b.row.time, b.row.hasTime = int64(math.Float64bits(cell.number)), true
		return nil
	case '[':
		return t.list(b, c, k.lists[cell.from:cell.to])
	case '{':
		for _, p := range k.pairs[cell.from:cell.to] {
			if err := b.named(c.name, k.text[p.from:p.to], false, p.number); err != nil {
				return err
			}
		}
		return nil
	}
	text := k.text[cell.from:cell.to]
	if cell.form == '0' && len(text) == 0 {
		text = nil
	}
	return t.cell(b, c, cell.form, text, cell.number)
}

// list takes a list of numbers.
func (t *table) list(b *builder, c *column, values []float64) error {
	r := &b.row
	switch c.role {
	case roleField:
		c.field = field{row: b.at, form: '[', text: c.text[:0], numbers: append(c.field.numbers[:0], values...)}
	case rolePropensities:
		if r.hasProps {
			return bad(c.name, "given twice")
		}
		r.props, r.hasProps, r.listed = append(r.props, values...), true, true
	default:
		for i, v := range values {
			id, err := b.indexed(i)
			if err == nil {
				err = b.value(c.name, id, v)
			}
			if err != nil {
				return err
			}
		}
		r.list = len(values)
	}
	return nil
}

// wide reads the numbers of contexts ahead, by their places in a block's rows.
type wide struct {
	columns []*column // nil of a number within a context
	hashes  []uint64  // of their names
	ids     []uint32  // of their names; nil: not all are known yet
	alone   bool      // nothing else is in a context
	list    int       // as row.list
	rows    int       // in which each of the columns had a number, and none has counted it
}

func (w *wide) add(c *column) {
	w.columns, w.hashes = append(w.columns, c), append(w.hashes, xxhash.Sum64String(c.as))
}

// known reports that the names of all columns are known, which are then all of numbers.
func (w *wide) known() bool {
	if w.ids != nil || len(w.columns) == 0 {
		return w.ids != nil
	}
	for _, c := range w.columns {
		if c.kind != number || !c.hasID {
			return false
		}
	}
	for _, c := range w.columns {
		w.ids = append(w.ids, c.id)
	}
	return true
}

// row takes a row of numbers that are all there, and their sums.
func (w *wide) row(b *builder, values []float64, sum sums) {
	if w.rows++; b.typesOnly {
		return
	}
	g := &b.contexts
	g.ids, g.vals = append(g.ids[:0], w.ids...), append(g.vals[:0], values...)
	g.sum, g.summed = sum, true
	b.row.list = w.list
}

// number takes number j of a row by itself.
func (w *wide) number(t *table, b *builder, j int, v float64) error {
	c := w.columns[j]
	switch {
	case isAbsent(v):
		if c != nil {
			c.missing++
		}
		return nil
	case c == nil:
		return b.value("context", w.ids[j], v)
	case c.kind == number && c.hasID && !b.typesOnly && v-v == 0:
		c.numbers++
		return b.value(c.name, c.id, v)
	}
	return t.cell(b, c, '0', nil, v)
}

// settle counts the numbers of rows.
func (w *wide) settle() {
	for _, c := range w.columns {
		if c != nil {
			c.numbers += w.rows
		}
	}
	w.rows = 0
}

// sum returns the sums of the numbers of a row; even reports that all are there and finite.
func (w *wide) sum(values []float64) (sums, bool) {
	var none float64
	var content, context uint64
	names := w.hashes[:len(values)]
	for j, v := range values {
		none += v - v
		bits := math.Float64bits(v)
		content += mix(names[j] + mix(bits))
		context += contextHash(names[j], bits)
	}
	return sums{content, context}, none == 0
}

// each calls do for each i < n, in as many goroutines as there are readers.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	for range min(n, readers) - 1 {
		all.Go(work)
	}
	work()
	all.Wait()
}

// eachBlock calls do for each block of so many of n rows, likewise.
func eachBlock(n, size int, do func(from, to int)) {
	each((n+size-1)/size, func(i int) { do(i*size, min(n, (i+1)*size)) })
}

// grown returns a slice of length n, s itself if it is long enough.
func grown[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// lineReader understands lines that are as most are.
type lineReader interface {
	// line appends the numbers and the other cells of a line that begins at a place of the block's text, in their
	// order. If the line is not as most are, it is false, and may have appended anything.
	line(k *rowBlock, line []byte, at int) bool
	// blank reports whether a line is none.
	blank(line []byte) bool
}

// begin begins to read lines ahead.
func (t *table) begin(r lineReader, columns []blockColumn) {
	blocks := 2*readers + 1
	w, a := &t.wide, newRowsAhead(columns, blocks)
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

func (k *rowBlock) read(w *wide, r lineReader, others int) {
	k.rows, k.numbers, k.cells, k.sums, k.lists = k.rows[:0], k.numbers[:0], k.cells[:0], k.sums[:0], k.lists[:0]
	sound := checkText(k.text) == nil
	for at, place := 0, 0; at < len(k.text); {
		end := cmp.Or(bytes.IndexByte(k.text[at:], '\n')+1, len(k.text)-at)
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
