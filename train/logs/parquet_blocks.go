package logs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// parquetBlock is rows of a Parquet file that were read ahead, column by column.
type parquetBlock struct {
	from, n int         // rows from on, of a row group
	columns []float64   // numbers as they are read, one column after the other
	numbers []float64   // row after row
	sums    []sums      // of a row's numbers
	even    []bool      // the row's numbers are all there, and finite
	singles [][]float64 // numbers of leaves beside the context
	values  []leafValues
	byValue []bool // leaves of numbers that are in values
	err     error  // the file is damaged
}

// leafValues are a leaf's values in rows.
type leafValues struct {
	values []parquet.Value
	ends   []int // of each row's
	text   []byte
}

// leafReader reads a leaf of a row group.
type leafReader struct {
	*leaf
	chunk   *pageChunk
	pages   parquet.Pages
	page    parquet.Page // nil: none is open
	byValue bool         // not all numbers are float64's, or one stands for a missing one

	levels []byte // of a page's rows that are left; nil: all have a number
	rows   int    // that are left of the page
	data   pageNumbers
	dict   []float64
	of     parquet.Dictionary // dict is of
	some   []float64          // that are there

	reader parquet.ValueReader // of the page
	buf    []parquet.Value
	held   []parquet.Value
}

// pageNumbers are numbers of a page that are left: one of these.
type pageNumbers struct {
	doubles []float64
	floats  []float32
	ints    []int32
	longs   []int64
	places  []int32 // in a dictionary

	exact bool // see leaf
}

var (
	errUneven = errors.New("columns of different lengths")
	errExact  = errors.New("a number that is to be read as a value")
)

// plain reports whether the leaf's values can be read ahead as numbers of the context.
func (l *leaf) plain() bool {
	return l.column.role == roleContext && l.column.kind != category && l.numeric()
}

func (l *leaf) numeric() bool {
	switch l.parquet {
	case parquet.Double, parquet.Float, parquet.Int32, parquet.Int64:
		return !l.list && l.inner == "" && !l.unsigned
	}
	return false
}

// alone reports whether the leaf's values can be read ahead as numbers beside the context.
func (l *leaf) alone() bool {
	switch l.column.role {
	case roleReward, roleCost, rolePropensity, roleEach, roleWeight, roleOutcome:
		return l.numeric()
	case roleAction:
		return l.numeric() && (l.parquet == parquet.Int32 || l.parquet == parquet.Int64)
	case roleTime:
		return l.numeric() && (l.unit == 0 || l.parquet == parquet.Int64)
	}
	return false
}

// begin begins to read ahead. Columns that are not read are left out, unless rows may have to be written as they are.
func (r *parquetReader) begin(b *builder, groups []parquet.RowGroup, chunks [][]*pageChunk) {
	w := &r.table.wide
	for i, l := range r.leaves {
		byColumn := readers > 0 && !b.fields && !b.describes
		l.single = byColumn && l.alone()
		l.exact = l.single && l.column.role == roleTime && l.unit != 0
		switch {
		case byColumn && l.plain():
			l.place = len(w.columns)
			w.add(l.column)
			continue
		case l.column.role == roleContext || l.column.role == roleContexts:
			w.alone = false
		}
		if l.column.role != roleIgnored {
			r.others = append(r.others, i)
		}
	}
	skip := b.o.BadRows == ""
	most := max(64, min(4096, blockValues/max(1, len(w.columns))))
	r.ahead = begin([]*parquetBlock{{}, {}, {}}, func(get func() (*parquetBlock, bool), put func(*parquetBlock)) {
		for g, group := range groups {
			all := make([]*leafReader, len(r.leaves))
			total, from, err := int(group.NumRows()), 0, error(nil)
			for more := true; more; more = from < total && err == nil {
				block, ok := get()
				if !ok {
					err = io.EOF
					break
				}
				block.from, block.n = from, max(0, min(most, total-from))
				block.err = guard(func() error {
					for i, c := range chunks[g] {
						if l := r.leaves[i]; from == 0 && (l.column.role != roleIgnored || !skip) {
							all[i] = &leafReader{leaf: l, chunk: c, pages: c.pages()}
						}
					}
					return nil
				})
				if from += block.n; block.err == nil {
					block.read(w, all, from == total)
				}
				if err = block.err; err != nil || block.n > 0 {
					put(block)
				}
			}
			for _, l := range all {
				if l != nil && l.close() != nil && err == nil {
					err = io.EOF // nothing was lost
				}
			}
			if err != nil {
				return
			}
		}
	})
}

// guard turns a panic, which the library has for some damaged files, into an error.
func guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return do()
}

// read reads the block's rows, the last of their group.
func (k *parquetBlock) read(w *wide, all []*leafReader, last bool) {
	width := len(w.columns)
	long := k.n + 8 // no power of 2, of which a processor remembers few at a time
	k.columns, k.numbers, k.sums, k.even = grown(k.columns, long*width), grown(k.numbers, k.n*width), grown(k.sums,
		k.n), grown(k.even, k.n)
	k.values, k.singles, k.byValue = grown(k.values, len(all)), grown(k.singles, len(all)), grown(k.byValue, len(all))
	errs := make([]error, len(all))
	each(len(all), func(i int) {
		l := all[i]
		if l == nil {
			k.values[i].none(k.n)
			return
		}
		errs[i] = guard(func() error { return k.leaf(i, l, long, last) })
	})
	k.err = cmp.Or(errs...)
	if k.err != nil || width == 0 {
		return
	}
	eachBlock(k.n, 256, func(from, to int) {
		for i := from; i < to; i++ {
			row := k.numbers[i*width : (i+1)*width]
			for j, at := 0, i; j < len(row); j, at = j+1, at+long {
				row[j] = k.columns[at]
			}
			k.sums[i], k.even[i] = w.sum(row)
		}
	})
}

// leaf reads the rows of a leaf: its numbers, to a column or as singles, or its values.
func (k *parquetBlock) leaf(i int, l *leafReader, long int, last bool) (err error) {
	var column []float64
	numbers := l.place >= 0 || l.single
	switch {
	case l.place >= 0:
		column = k.columns[l.place*long:][:k.n]
	case l.single:
		k.singles[i] = grown(k.singles[i], k.n)
		column = k.singles[i]
	}
	if numbers && !l.byValue {
		if err = l.numbers(column); err == errExact {
			err, l.byValue = l.again(k.from), true
		}
	}
	if k.byValue[i] = numbers && l.byValue; err == nil && (k.byValue[i] || !numbers) {
		err = l.all(&k.values[i], k.n)
	}
	for j := range column {
		if k.byValue[i] {
			column[j] = absent
		}
	}
	if err == nil && last {
		err = l.ended()
	}
	return err
}

// again begins once more, at a row.
func (l *leafReader) again(row int) error {
	if err := l.close(); err != nil {
		return err
	}
	l.pages, l.rows, l.levels, l.data, l.reader, l.held = l.chunk.pages(), 0, nil, pageNumbers{}, nil, nil
	return l.pages.SeekToRow(int64(row))
}

// none makes rows without values.
func (v *leafValues) none(n int) {
	v.values, v.ends = v.values[:0], grown(v.ends, n)
	clear(v.ends)
}

// row are the values of row i.
func (v *leafValues) row(i int) []parquet.Value {
	from := 0
	if i > 0 {
		from = v.ends[i-1]
	}
	return v.values[from:v.ends[i]]
}

func (l *leafReader) close() error {
	l.release()
	return l.pages.Close()
}

func (l *leafReader) release() {
	if l.page != nil {
		parquet.Release(l.page)
		l.page = nil
	}
}

// ended reports values after the last row.
func (l *leafReader) ended() error {
	if l.rows > 0 || len(l.held) > 0 {
		return errUneven
	}
	for {
		if l.reader != nil {
			if n, err := l.reader.ReadValues(make([]parquet.Value, 1)); n > 0 || err != io.EOF {
				return errUneven
			}
		}
		l.release()
		page, err := l.pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if l.page = page; page.NumValues() > 0 {
			return errUneven
		}
	}
}

// open opens the next page.
func (l *leafReader) open() error {
	l.release()
	page, err := l.pages.ReadPage()
	if err == io.EOF {
		return errUneven
	}
	if err != nil {
		return err
	}
	if l.page = page; l.place < 0 && !l.single || l.byValue {
		l.reader = page.Values()
		return nil
	}
	l.rows, l.levels = int(page.NumValues()), nil
	if page.NumNulls() > 0 {
		l.levels = page.DefinitionLevels()
	}
	l.data = pageNumbers{exact: l.exact}
	dict, data := page.Dictionary(), page.Data()
	if dict == nil {
		l.data.of(l.parquet, page)
		return nil
	}
	if l.data.places = data.Int32(); l.of != dict {
		all := pageNumbers{exact: l.exact}
		all.of(l.parquet, dict.Page())
		l.of, l.dict = dict, make([]float64, dict.Len())
		return all.take(l.dict, nil)
	}
	return nil
}

// of are the numbers of a page that has no dictionary.
func (p *pageNumbers) of(kind parquet.Kind, page parquet.Page) {
	switch data := page.Data(); kind {
	case parquet.Double:
		p.doubles = data.Double()
	case parquet.Float:
		p.floats = data.Float()
	case parquet.Int32:
		p.ints = data.Int32()
	case parquet.Int64:
		p.longs = data.Int64()
	}
}

// take takes as many numbers out of a page as dst has. Integers that are none of float64's are an error, and so is
// what stands for no number.
func (p *pageNumbers) take(dst []float64, dict []float64) error {
	n := len(dst)
	switch {
	case n == 0:
	case p.places != nil:
		for i, at := range p.places[:n] {
			dst[i] = dict[at]
		}
		p.places = p.places[n:]
	case p.doubles != nil:
		copy(dst, p.doubles[:n])
		if slices.ContainsFunc(dst, isAbsent) {
			return errExact
		}
		p.doubles = p.doubles[n:]
	case p.floats != nil:
		for i, v := range p.floats[:n] {
			dst[i] = float64(v)
		}
		p.floats = p.floats[n:]
	case p.ints != nil:
		for i, v := range p.ints[:n] {
			dst[i] = float64(v)
		}
		p.ints = p.ints[n:]
	case p.longs != nil && p.exact:
		for i, v := range p.longs[:n] {
			if dst[i] = math.Float64frombits(uint64(v)); isAbsent(dst[i]) {
				return errExact
			}
		}
		p.longs = p.longs[n:]
	case p.longs != nil:
		for i, v := range p.longs[:n] {
			if dst[i] = float64(v); v > 1<<53 || v < -1<<53 {
				return errExact
			}
		}
		p.longs = p.longs[n:]
	default:
		return errUneven
	}
	return nil
}

// numbers writes those of the next rows to dst, as many as it has.
func (l *leafReader) numbers(dst []float64) error {
	for len(dst) > 0 {
		for l.rows == 0 {
			if err := l.open(); err != nil {
				return err
			}
		}
		m := min(len(dst), l.rows)
		l.rows -= m
		to := dst[:m]
		dst = dst[m:]
		if l.levels == nil {
			if err := l.data.take(to, l.dict); err != nil {
				return err
			}
			continue
		}
		levels, there := l.levels[:m], 0
		for _, d := range levels {
			if int(d) == l.level {
				there++
			}
		}
		l.levels, l.some = l.levels[m:], grown(l.some, there)
		if err := l.data.take(l.some, l.dict); err != nil {
			return err
		}
		left := l.some
		for i, d := range levels {
			if int(d) != l.level {
				to[i] = absent
				continue
			}
			to[i], left = left[0], left[1:]
		}
	}
	return nil
}

// all reads the values of the next n rows.
func (l *leafReader) all(to *leafValues, n int) error {
	to.values, to.ends, to.text = to.values[:0], to.ends[:0], to.text[:0]
	if l.buf == nil {
		l.buf = make([]parquet.Value, 256)
	}
	rows := 0
	for {
		for len(l.held) == 0 {
			if l.reader == nil {
				err := l.open()
				if err == errUneven && rows == n && l.list {
					to.ends = append(to.ends, len(to.values))
					return nil // the last row's values have no end but the column's
				}
				if err != nil {
					return err
				}
			}
			m, err := l.reader.ReadValues(l.buf)
			if l.held = l.buf[:m]; err == io.EOF {
				l.reader = nil
			} else if err != nil {
				return err
			} else if m == 0 {
				return errUneven
			}
		}
		for i, v := range l.held {
			if v.RepetitionLevel() == 0 {
				if rows > 0 {
					to.ends = append(to.ends, len(to.values))
				}
				if rows == n {
					l.held = l.held[i:]
					return nil
				}
				rows++
			} else if rows == 0 {
				return errUneven
			}
			switch v.Kind() {
			case parquet.ByteArray:
				at := len(to.text)
				to.text = append(to.text, v.ByteArray()...)
				v = parquet.ByteArrayValue(to.text[at:len(to.text):len(to.text)]).Level(v.RepetitionLevel(),
					v.DefinitionLevel(), v.Column())
			case parquet.FixedLenByteArray:
				v = v.Clone()
			}
			to.values = append(to.values, v)
		}
		if l.held = nil; !l.list && rows == n {
			to.ends = append(to.ends, len(to.values))
			return nil
		}
	}
}

// whole are all values of the row.
func (r *parquetReader) whole() parquet.Row {
	var row parquet.Row
	k := r.block
	for i, l := range r.leaves {
		var x float64
		switch {
		case l.place < 0 && !l.single || k.byValue[i]:
			row = append(row, k.values[i].row(r.at)...)
			continue
		case l.single:
			x = k.singles[i][r.at]
		default:
			x = k.numbers[r.at*len(r.wide.columns)+l.place]
		}
		var v parquet.Value
		switch {
		case isAbsent(x):
			v = parquet.NullValue()
		case l.exact:
			v = parquet.Int64Value(int64(math.Float64bits(x)))
		case l.parquet == parquet.Double:
			v = parquet.DoubleValue(x)
		case l.parquet == parquet.Float:
			v = parquet.FloatValue(float32(x))
		case l.parquet == parquet.Int32:
			v = parquet.Int32Value(int32(x))
		default:
			v = parquet.Int64Value(int64(x))
		}
		row = append(row, v.Level(0, 0, i))
	}
	return row
}
