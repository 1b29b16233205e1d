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

// parquetCell is a column of the file.
type parquetCell struct {
	column *column
	first  int // of its leaves
	leaves []*leaf
	make   func(k *rowBlock, leaves []*leaf, values [][]parquet.Value) blockCell
}

// leafPages are a leaf's pages in a row group, and what is left of the one that is open.
type leafPages struct {
	chunk *pageChunk
	pages parquet.Pages // of it; nil: none was asked for
	page  parquet.Page  // nil: none is open

	levels []byte    // of a page's rows that are left; nil: all have a number
	rows   int       // that are left of the page
	data   []float64 // numbers of the page that are left
	dict   []float64
	of     parquet.Dictionary // dict is of

	reader parquet.ValueReader // of the page
	held   []parquet.Value
}

// leafValues holds a leaf's values, row by row.
type leafValues struct {
	values []parquet.Value
	ends   []int // of each row's
	text   []byte
}

var errUneven = errors.New("columns of different lengths")

// isNumber reports whether the leaf's values are read as numbers of 64 bits of the context.
func (l *leaf) isNumber() bool {
	switch l.parquet {
	case parquet.Double, parquet.Float, parquet.Int32, parquet.Int64:
		return l.column.role == roleContext && l.column.kind != category && !l.list && !l.unsigned &&
			l.unit == 0 && l.scale == nil
	}
	return false
}

// begin begins to read ahead. Columns that are not read are left out, unless rows may have to be written as they are.
func (r *parquetReader) begin(b *builder, groups []parquet.RowGroup, chunks [][]*pageChunk) {
	w := &r.table.wide
	for _, l := range r.leaves {
		if l.isNumber() && !b.describes {
			l.place = len(w.columns)
			w.add(l.column)
		} else if l.column.role == roleContext || l.column.role == roleContexts {
			w.alone = false
		}
	}
	r.cells = slices.DeleteFunc(r.cells, func(c parquetCell) bool {
		return c.column.role == roleIgnored && b.o.BadRows == ""
	})
	var columns []blockColumn
	for _, c := range r.cells {
		columns = append(columns, blockColumn{c.column, c.leaves[0].place})
	}
	most := max(64, min(4096, blockValues/max(1, len(r.leaves))))
	r.blocks = newRowsAhead(columns, 3)
	r.blocks.begin(func() {
		for g, group := range groups {
			if err := r.group(group, chunks[g], most); err != nil {
				return
			}
		}
	})
}

// group reads the rows of a group. An error ends the reading; that of a damaged file is in the last block.
func (r *parquetReader) group(group parquet.RowGroup, chunks []*pageChunk, most int) (err error) {
	var open []*leaf
	for _, c := range r.cells {
		for i, l := range c.leaves {
			l.leafPages = leafPages{chunk: chunks[c.first+i]}
			open = append(open, l)
		}
	}
	defer func() {
		for _, l := range open {
			l.close()
		}
	}()
	total := int(group.NumRows())
	for from, more := 0, true; more && err == nil; more = from < total {
		k, ok := r.blocks.get()
		if !ok {
			return io.EOF
		}
		n := max(0, min(most, total-from))
		from += n
		k.err = k.columns(&r.table.wide, open, r.cells, n, from == total)
		err = k.err
		r.blocks.made <- k
	}
	return err
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

// columns reads n rows from their columns, the last of their group.
func (k *rowBlock) columns(w *wide, leaves []*leaf, cells []parquetCell, n int, last bool) error {
	errs := make([]error, len(leaves))
	each(len(leaves), func(i int) {
		l := leaves[i]
		errs[i] = guard(func() (err error) {
			if l.place >= 0 {
				l.numbers = grown(l.numbers, n)
				err = l.take(l.numbers)
			} else {
				err = l.all(&l.values, n)
			}
			if err == nil && last {
				err = l.ended()
			}
			return err
		})
	})
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	width := len(w.columns)
	k.rows, k.sums, k.numbers = grown(k.rows, n), grown(k.sums, n), grown(k.numbers, n*width)
	of := make([][]float64, width) // columns of the contexts' numbers
	for _, l := range leaves {
		if l.place >= 0 {
			of[l.place] = l.numbers
		}
	}
	eachBlock(n, 256, func(from, to int) {
		for i := from; i < to; i++ {
			row := k.numbers[i*width : (i+1)*width]
			for j, column := range of {
				row[j] = column[i]
			}
			k.rows[i].place = i
			k.sums[i], k.rows[i].even = w.sum(row)
		}
	})
	k.text, k.lists, k.pairs, k.cells = k.text[:0], k.lists[:0], k.pairs[:0], k.cells[:0]
	return guard(func() error {
		var values [][]parquet.Value
		for i := range n {
			for j := range cells {
				c := &cells[j]
				if c.leaves[0].place >= 0 {
					continue
				}
				values = values[:0]
				for _, l := range c.leaves {
					values = append(values, l.values.row(i))
				}
				k.cells = append(k.cells, c.make(k, c.leaves, values))
			}
		}
		return nil
	})
}

func (v *leafValues) row(i int) []parquet.Value {
	from := 0
	if i > 0 {
		from = v.ends[i-1]
	}
	return v.values[from:v.ends[i]]
}

func (l *leaf) close() {
	if l.release(); l.pages != nil {
		_ = l.pages.Close() // what was wanted of them has been read
	}
}

func (l *leaf) release() {
	if l.page != nil {
		parquet.Release(l.page)
		l.page = nil
	}
}

// ended reports values after the last row.
func (l *leaf) ended() error {
	if l.rows > 0 || len(l.held) > 0 {
		return errUneven
	}
	for {
		if l.reader != nil {
			if n, err := l.reader.ReadValues(make([]parquet.Value, 1)); n > 0 || err != io.EOF {
				return errUneven
			}
		}
		err := l.step()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case l.page.NumValues() > 0:
			return errUneven
		}
	}
}

// step reads the next page.
func (l *leaf) step() (err error) {
	if l.release(); l.pages == nil {
		l.pages = l.chunk.pages()
	}
	l.page, err = l.pages.ReadPage()
	return err
}

// open opens the next page.
func (l *leaf) open() error {
	err := l.step()
	page := l.page
	switch {
	case err == io.EOF:
		return errUneven
	case err != nil:
		return err
	case l.place < 0:
		l.reader = page.Values()
		return nil
	}
	l.rows, l.levels = int(page.NumValues()), nil
	if page.NumNulls() > 0 {
		l.levels = page.DefinitionLevels()
	}
	dict := page.Dictionary()
	if dict == nil {
		l.data = l.floats(page)
		return nil
	}
	if l.of != dict {
		l.of, l.dict = dict, l.floats(dict.Page())
	}
	data := page.Data()
	places := data.Int32()
	l.data = make([]float64, len(places))
	for i, at := range places {
		l.data[i] = l.dict[at]
	}
	return nil
}

// floats returns the numbers of a page without a dictionary, those of 64 bits in the page's memory.
func (l *leaf) floats(page parquet.Page) []float64 {
	data := page.Data()
	switch l.parquet {
	case parquet.Double:
		all := data.Double()
		for i, v := range all {
			if isAbsent(v) {
				all[i] = math.NaN()
			}
		}
		return all
	case parquet.Float:
		return widened(data.Float())
	case parquet.Int32:
		return widened(data.Int32())
	}
	return widened(data.Int64())
}

func widened[T float32 | int32 | int64](all []T) []float64 {
	wide := make([]float64, len(all))
	for i, v := range all {
		wide[i] = float64(v)
	}
	return wide
}

// take takes the numbers of the next rows, as many as dst has.
func (l *leaf) take(dst []float64) error {
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
			copy(to, l.data[:m])
			l.data = l.data[m:]
			continue
		}
		there := 0
		for i, level := range l.levels[:m] {
			if int(level) != l.level {
				to[i] = absent
				continue
			}
			to[i] = l.data[there]
			there++
		}
		l.levels, l.data = l.levels[m:], l.data[there:]
	}
	return nil
}

// all reads the values of the next n rows.
func (l *leaf) all(to *leafValues, n int) error {
	to.values, to.ends, to.text = to.values[:0], to.ends[:0], to.text[:0]
	if l.buf == nil {
		l.buf = make([]parquet.Value, 256)
	}
	rows := 0
	for {
		for len(l.held) == 0 {
			if l.reader == nil {
				err := l.open()
				if err == errUneven && rows == n && (l.list || n == 0) {
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
