package logs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// parquetBlock is rows of a Parquet file that were read ahead, column by column.
type parquetBlock struct {
	group, from, n int       // rows from on, of a row group
	columns        []float64 // numbers as they are read, one column after the other
	numbers        []float64 // row after row
	sums           []sums    // of a row's numbers
	even           []bool    // the row's numbers are all there, and finite
	values         []leafValues
	singles        [][]float64 // numbers of leaves beside the context; nil: the leaf has values
	err            error       // the rows cannot be read so
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
	pages parquet.Pages
	page  parquet.Page // nil: none is open

	levels []byte // of a page's rows that are left; nil: all have a number
	rows   int    // that are left of the page
	data   pageNumbers
	dict   []float64
	of     parquet.Dictionary // dict is of
	room   []float64

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

var errUneven = errors.New("columns of different lengths")

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
	case roleReward, roleCost, rolePropensity, roleEach, roleWeight:
		return l.numeric()
	case roleAction:
		return l.numeric() && (l.parquet == parquet.Int32 || l.parquet == parquet.Int64)
	case roleTime:
		return l.numeric() && (l.unit == 0 || l.parquet == parquet.Int64)
	}
	return false
}

// begin begins to read ahead. Columns that are not read are left out, unless rows may have to be written as they are.
func (r *parquetReader) begin(b *builder) {
	if readers == 0 || b.fields || b.describes {
		return
	}
	w := &r.table.wide
	for i, l := range r.leaves {
		if l.place = -1; !l.plain() && l.column.role != roleIgnored {
			r.others = append(r.others, i)
		}
		l.single = l.alone()
		l.exact = l.single && l.column.role == roleTime && l.unit != 0
		switch {
		case l.plain():
			l.place = len(w.columns)
			w.add(l.column)
		case l.column.role == roleContext || l.column.role == roleContexts:
			w.alone = false
		}
	}
	skip, width := b.o.BadRows == "", max(1, len(w.columns))
	most := max(64, min(4096, blockValues/width))
	groups := r.groups
	r.ahead = begin([]*parquetBlock{{}, {}, {}}, func(get func() (*parquetBlock, bool), put func(*parquetBlock)) {
		for g, group := range groups {
			total, from := int(group.NumRows()), 0
			if total < 0 {
				return
			}
			all := make([]*leafReader, len(r.leaves))
			err := guard(func() error {
				for i, c := range group.ColumnChunks() {
					if l := r.leaves[i]; l.column.role != roleIgnored || !skip {
						all[i] = &leafReader{leaf: l, pages: c.Pages()}
					}
				}
				return nil
			})
			for from < total && err == nil {
				block, ok := get()
				if !ok {
					err = io.EOF
					break
				}
				block.group, block.from, block.n = g, from, min(most, total-from)
				from += block.n
				block.read(w, all, from == total)
				err = block.err
				put(block)
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
	k.columns, k.numbers, k.sums, k.even = grown(k.columns, long*width), grown(k.numbers, k.n*width), grown(k.sums, k.n), grown(k.even, k.n)
	k.values, k.singles = grown(k.values, len(all)), grown(k.singles, len(all))
	errs := make([]error, len(all))
	each(len(all), func(i int) {
		l := all[i]
		if l == nil {
			k.values[i].none(k.n)
			return
		}
		errs[i] = guard(func() error {
			var err error
			switch {
			case l.place >= 0:
				err = l.numbers(k.columns[l.place*long:][:k.n])
			case l.single:
				k.singles[i] = grown(k.singles[i], k.n)
				err = l.numbers(k.singles[i])
			default:
				err = l.all(&k.values[i], k.n)
			}
			if err != nil {
				return err
			}
			if last {
				return l.ended()
			}
			return nil
		})
	})
	k.err = errors.Join(errs...)
	if k.err != nil || width == 0 {
		return
	}
	const part = 256
	each((k.n+part-1)/part, func(p int) {
		for i := p * part; i < min(k.n, (p+1)*part); i++ {
			row := k.numbers[i*width : (i+1)*width]
			for j, at := 0, i; j < len(row); j, at = j+1, at+long {
				row[j] = k.columns[at]
			}
			k.sums[i], k.even[i] = w.sum(row)
		}
	})
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
	if l.page = page; l.place < 0 && !l.single {
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

// take takes as many numbers out of a page as dst has. Integers that are none of float64's are an error, and so is what stands
// for no number.
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
			return errors.New("a number that is none")
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
				return errors.New("a number that is none")
			}
		}
		p.longs = p.longs[n:]
	case p.longs != nil:
		for i, v := range p.longs[:n] {
			if dst[i] = float64(v); v > 1<<53 || v < -1<<53 {
				return errors.New("an integer beyond 2^53")
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
		l.levels, l.room = l.levels[m:], grown(l.room, there)
		if err := l.data.take(l.room, l.dict); err != nil {
			return err
		}
		room := l.room
		for i, d := range levels {
			if int(d) != l.level {
				to[i] = absent
				continue
			}
			to[i], room = room[0], room[1:]
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
				v = parquet.ByteArrayValue(to.text[at:len(to.text):len(to.text)]).Level(v.RepetitionLevel(), v.DefinitionLevel(), v.Column())
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

// nextAhead goes to the next row that was read ahead; false: there is none, and what is left is to be read row by row.
func (r *parquetReader) nextAhead() (bool, error) {
	if r.ahead == nil {
		return false, nil
	}
	if k := r.block; k != nil {
		if r.at++; r.at < k.n {
			return true, nil
		}
		r.group, r.from = k.group, k.from+k.n
		r.ahead.used <- k
	}
	block, ok := <-r.ahead.made
	if ok && block.err == nil {
		r.block, r.at = block, 0
		return true, nil
	}
	r.ahead.end()
	r.ahead, r.block = nil, nil
	r.wide.settle()
	if ok {
		r.group, r.from = block.group, block.from
	}
	r.groups = r.groups[r.group:]
	if len(r.groups) == 0 || r.from == 0 {
		return false, nil
	}
	if r.from < int(r.groups[0].NumRows()) {
		r.rows = r.groups[0].Rows()
		if err := r.rows.SeekToRow(int64(r.from)); err != nil {
			return false, err
		}
	}
	r.groups = r.groups[1:]
	return false, nil
}

// whole are all values of the row.
func (r *parquetReader) whole() parquet.Row {
	k := r.block
	if k == nil {
		return r.row
	}
	row := r.row[:0]
	for i, l := range r.leaves {
		var x float64
		switch {
		case l.single:
			x = k.singles[i][r.at]
		case l.place < 0:
			row = append(row, k.values[i].row(r.at)...)
			continue
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
	r.row = row
	return row
}
