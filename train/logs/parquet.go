package logs

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	logical "github.com/parquet-go/parquet-go/format"
)

// parquetReader reads a Parquet file, row group by row group. Columns of the schema are
// scalars, nullable or not. Context and propensities may be lists of numbers. Context may also
// be a map of numbers by name or a group of named values. In rows that are no log's a field
// may be a scalar or a list.
type parquetReader struct {
	*table
	leaves []*leaf
	cells  []parquetCell
	halves []bool // leaves of numbers of 16 bits, of which the library says that they are texts
}

// leaf describes a column of the file that holds values.
type leaf struct {
	column   *column
	list     bool
	entry    int      // definition level from which a null is one of the list's, and not the list
	unit     int64    // nanoseconds, of a time; 0: none
	places   int      // of a decimal
	scale    *big.Int // 10 to the power of places; nil: no decimal
	unsigned bool
	uuid     bool
	parquet  parquet.Kind
	level    int // definition level of a value
	place    int // among the numbers of contexts; negative: it is none of them

	leafPages
	buf     []parquet.Value
	numbers []float64  // of a block's rows, if the leaf is of numbers,
	values  leafValues // or else their values
}

func newParquet(l *lines, b *builder) (rd reader, err error) {
	if damaged := guard(func() error { rd, err = openReader(l, b); return nil }); damaged != nil {
		return nil, b.fatal("damaged: %w", damaged)
	}
	return rd, err
}

func openReader(l *lines, b *builder) (reader, error) {
	f, err := os.Open(l.local)
	if err != nil {
		return nil, err
	}
	l.end = f.Close
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, chunks, err := openParquet(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: not a Parquet file, or damaged: %w", l.path, err)
	}
	r := &parquetReader{table: newTable(l, b)}
	for _, e := range file.Metadata().Schema {
		if _, half := e.LogicalType.Value.(*logical.Float16Type); e.Type.Valid {
			r.halves = append(r.halves, half)
		}
	}
	for _, top := range file.Root().Columns() {
		if _, twice := r.index[top.Name()]; twice {
			return nil, fmt.Errorf("%s: column %q twice", l.path, top.Name())
		}
		c, err := r.column(b, []byte(top.Name()))
		if err != nil {
			return nil, err
		}
		if c.role == roleOutcome && !plainNumber(top) {
			b.outcomes[c.slot].Text, c.role = l.path+" has values of type "+top.String(), roleIgnored
		}
		if err := r.add(c, top); err != nil {
			return nil, err
		}
	}
	if err := b.absent(l.path, r.table); err != nil {
		return nil, err
	}
	if err := r.check(b); err != nil {
		return nil, err
	}
	r.begin(b, file.RowGroups(), chunks)
	return r, nil
}

// plainNumber reports a column of numbers, or of true and false.
func plainNumber(p *parquet.Column) bool {
	if !p.Leaf() || p.Repeated() {
		return false
	}
	if t := p.Type().LogicalType(); t != nil {
		switch t.Value.(type) {
		case *logical.DecimalType:
			return true
		case *logical.IntType:
		default:
			return false
		}
	}
	switch p.Type().Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		return true
	}
	return false
}

// add adds a column of the file, whose leaves are the next.
func (r *parquetReader) add(c *column, p *parquet.Column) error {
	var leaves []*parquet.Column
	n := nodeOf(p, &leaves)
	cell := parquetCell{column: c, first: len(r.leaves), make: n.cell}
	for _, p := range leaves {
		if err := r.leaf(c, p); err != nil {
			return err
		}
	}
	cell.leaves = r.leaves[cell.first:]
	list := n.form == '[' && n.parts[0].form == 'v'
	switch {
	case c.role == roleField && len(cell.leaves) != 1:
		c.role = roleIgnored
	case p.Leaf() && !list:
		cell.make = scalarCell
	case list && (c.role == roleContexts || c.role == rolePropensities || c.role == roleField):
		cell.make = listCell
	case c.role == roleContexts && n.ofNumbers(cell.leaves):
		cell.make = mapCell
	case c.role != roleIgnored && c.role != roleContexts && c.role != roleActions &&
		!((c.role == roleOffered || c.role >= roleSlots && c.role <= roleSlotRewards) && list):
		return fmt.Errorf("%s: column %s: a nested column cannot be read here: want plain values, or a list of them; "+
			"structs of actions are column actions", r.path, c.name)
	}
	r.cells = append(r.cells, cell)
	return nil
}

// leaf adds a leaf of a column.
func (r *parquetReader) leaf(c *column, p *parquet.Column) error {
	l := &leaf{column: c, list: p.MaxRepetitionLevel() > 0, parquet: p.Type().Kind(), level: p.MaxDefinitionLevel(),
		place: -1}
	if l.entry = l.level; p.Optional() {
		l.entry--
	}
	r.leaves = append(r.leaves, l)
	t, half := p.Type().LogicalType(), len(r.leaves) <= len(r.halves) && r.halves[len(r.leaves)-1]
	if half && c.role != roleIgnored && c.role != roleField {
		return fmt.Errorf("%s: column %s: numbers of 16 bits cannot be read: write doubles", r.path,
			strings.Join(p.Path(), "."))
	} else if t == nil {
		return nil
	}
	switch t := t.Value.(type) {
	case *logical.TimestampType:
		switch t.Unit.Value.(type) {
		case *logical.MilliSeconds:
			l.unit = 1e6
		case *logical.MicroSeconds:
			l.unit = 1e3
		default:
			l.unit = 1
		}
	case *logical.DateType:
		l.unit = day
	case *logical.IntType:
		l.unsigned = !t.IsSigned
	case *logical.DecimalType:
		if t.Scale < 0 || t.Scale > 76 {
			return fmt.Errorf("%s: column %s: decimals of %d places cannot be read: write doubles or texts", r.path,
				strings.Join(p.Path(), "."), t.Scale)
		}
		l.places, l.scale = int(t.Scale), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)
	case *logical.UUIDType:
		l.uuid = true
	case *logical.TimeType:
		if c.role != roleIgnored && c.role != roleField {
			return fmt.Errorf("%s: column %s: values of type %s cannot be read: write doubles or texts", r.path,
				strings.Join(p.Path(), "."), p.Type())
		}
	}
	return nil
}

func (r *parquetReader) next(b *builder) error {
	k, row := r.blocks.next()
	switch {
	case k == nil:
		r.wide.settle()
		return io.EOF
	case k.err != nil:
		return b.fatal("damaged: %w", k.err)
	}
	return r.row(b, k, row)
}

// raw returns the row as a JSON object.
func (r *parquetReader) raw() []byte {
	m := map[string]any{}
	k, at := r.blocks.block, r.blocks.at-1
	cells, numbers := k.cells[at*r.blocks.others:], k.numbers[at*len(r.wide.columns):]
	for _, s := range r.blocks.columns {
		name := s.column.name
		if s.place < 0 {
			m[name] = k.plain(&cells[0])
			cells = cells[1:]
		} else if m[name] = nil; !isAbsent(numbers[s.place]) {
			m[name] = fmt.Sprint(numbers[s.place])
		}
	}
	b, _ := json.Marshal(m) // of texts it cannot fail
	return b
}

// plain is a cell as raw rows have it: null, a text or a list of texts.
func (k *rowBlock) plain(c *blockCell) any {
	var list []string
	switch {
	case c.form == 'n':
		return nil
	case c.form == 'T':
		return time.Unix(0, int64(math.Float64bits(c.number))).UTC().Format(time.RFC3339Nano)
	case c.form == '[':
		for _, v := range k.lists[c.from:c.to] {
			list = append(list, fmt.Sprint(v))
		}
		return list
	case c.form == '{':
		for _, p := range k.pairs[c.from:c.to] {
			list = append(list, fmt.Sprintf("%s:%v", k.text[p.from:p.to], p.number))
		}
		return list
	case c.form == '0' && c.from == c.to:
		return fmt.Sprint(c.number)
	}
	return string(k.text[c.from:c.to])
}
