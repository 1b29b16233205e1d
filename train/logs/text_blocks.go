package logs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
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

// digits reads the decimal digits, point and exponent of a number that begins at s[at], as JSON has them, and returns
// its end. exact is false where the number is to be read by strconv, or if there is none.
//
// An integer below 2⁵³ and a power of ten up to 10²² are float64's, so that their quotient is rounded once, and
// correctly (Clinger 1990); of longer ones see quotient.
func digits(s []byte, at int) (v float64, end int, exact bool) {
	negative := at < len(s) && s[at] == '-'
	if negative {
		at++
	}
	from := at
	var m uint64
	for at < len(s) && s[at]-'0' < 10 {
		m = m*10 + uint64(s[at]-'0')
		at++
	}
	n, point := at-from, 0
	if n == 0 || n > 1 && s[from] == '0' {
		return 0, at, false
	}
	if n == 1 && m == 0 {
		n = 0
	}
	if at < len(s) && s[at] == '.' {
		at++
		first := at
		for at+8 <= len(s) && s[at+3]-'0' < 10 { // most are short, or long
			eight, ok := eightDigits(binary.LittleEndian.Uint64(s[at:]))
			if !ok {
				break
			}
			m, at = m*1e8+eight, at+8
		}
		for at < len(s) && s[at]-'0' < 10 {
			m = m*10 + uint64(s[at]-'0')
			at++
		}
		if point = at - first; point == 0 {
			return 0, at, false
		}
	}
	if n+point > 19 || at < len(s) && (s[at] == 'e' || s[at] == 'E') {
		return 0, at, false
	}
	if m < 1<<53 {
		v = float64(m)
		if point > 0 {
			v /= powers[point]
		}
	} else if v, exact = quotient(m, point); !exact {
		return 0, at, false
	}
	if negative {
		v = -v
	}
	return v, at, true
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19}

// eightDigits is the number of eight decimal digits, the first in the lowest byte; false: some are none.
func eightDigits(x uint64) (uint64, bool) {
	const high, six = 0xf0f0f0f0f0f0f0f0, 0x0606060606060606
	if x&high|(x+six)&high>>4 != 0x3333333333333333 {
		return 0, false
	}
	x &= ^uint64(high)
	x = x*10 + x>>8 // of pairs, in every other byte
	const pair = 0x000000ff000000ff
	return (x&pair*(100+1e6<<32) + x>>16&pair*(1+1e4<<32)) >> 32, true
}

// inverses are 10⁻ᵏ as 128 bits, the first of which is 1, rounded down.
var inverses = func() (all [len(powers)][2]uint64) {
	all[0][1] = 1 << 63
	ten := big.NewInt(1)
	for k := 1; k < len(all); k++ {
		ten.Mul(ten, big.NewInt(10))
		q := new(big.Int).Lsh(big.NewInt(1), uint(127+ten.BitLen()))
		q.Quo(q, ten)
		all[k] = [2]uint64{new(big.Int).And(q, new(big.Int).SetUint64(math.MaxUint64)).Uint64(), new(big.Int).Rsh(q,
			64).Uint64()}
	}
	return all
}()

// quotient is m/10ᵏ, rounded correctly, for m ≥ 2⁵³ and k < 20; false where 128 bits of 10⁻ᵏ do not tell.
// Lemire (2021), Number parsing at a gigabyte per second, section 5.
func quotient(m uint64, k int) (v float64, ok bool) {
	shift := bits.LeadingZeros64(m)
	m <<= shift
	high, low := bits.Mul64(m, inverses[k][1])
	if high&0x1ff == 0x1ff && low+m < m {
		next, rest := bits.Mul64(m, inverses[k][0])
		var carry uint64
		low, carry = bits.Add64(low, next, 0)
		if high += carry; high&0x1ff == 0x1ff && low == math.MaxUint64 && rest+m < m {
			return 0, false
		}
	}
	top := high >> 63
	mantissa := high >> (top + 9)
	if low == 0 && high&0x1ff == 0 && mantissa&3 == 1 { // in the middle
		return 0, false
	}
	mantissa = (mantissa + mantissa&1) >> 1
	exponent := (-217706*k)>>16 + 64 + 1023 - shift - int(1^top)
	if mantissa == 1<<53 {
		mantissa, exponent = mantissa>>1, exponent+1
	}
	return math.Float64frombits(uint64(exponent)<<52 | mantissa&(1<<52-1)), true
}

// jsonNumber reads a number of JSON that begins at s[at].
func jsonNumber(s []byte, at int) (v float64, end int, ok bool) {
	if v, end, ok = digits(s, at); ok {
		return v, end, true
	}
	text := s[at : len(s)-len(bytes.TrimLeft(s[at:], "+-.0123456789eE"))]
	if len(text) > 400 || !jsontext.Value(text).IsValid() {
		return 0, at, false
	}
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	return v, at + len(text), err == nil
}
