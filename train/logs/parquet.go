package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"opl/train/internal/parquetfile"
)

// parquetRows is how many rows are asked for at a time.
const parquetRows = 256

// parquetReader reads Parquet files, row group by row group. Columns of the schema are
// scalars, nullable or not; context and propensities may be lists of numbers, context
// also a map of numbers by name or a group of named values.
type parquetReader struct {
	*table
	file   *os.File
	leaves []*leaf
	groups []parquet.RowGroup
	rows   parquet.Rows
	buf    []parquet.Row
	have   []parquet.Row
	row    parquet.Row
	begun  bool
}

// leaf is a column of the file that holds values.
type leaf struct {
	column   *column
	path     string
	list     bool
	entry    int    // definition level from which a null is one of the list's, and not the list
	key      bool   // of a map
	inner    string // its name within the context, if that is a group
	unit     int64  // nanoseconds, of a timestamp; 0: none
	unsigned bool
	err      error // why it cannot be read
}

func newParquet(path string, o *Options) (_ *parquetReader, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &parquetReader{table: newTable(path, o.Preset), file: f, buf: make([]parquet.Row, parquetRows)}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: damaged: %v", path, p)
		}
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquetfile.Open(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: not a Parquet file, or damaged: %w", path, err)
	}
	for _, top := range file.Root().Columns() {
		if err := r.leavesOf(top); err != nil {
			return nil, err
		}
	}
	r.groups = file.RowGroups()
	return r, r.check()
}

// leavesOf finds the leaves of a column at the top.
func (r *parquetReader) leavesOf(top *parquet.Column) error {
	if _, twice := r.index[top.Name()]; twice {
		return fmt.Errorf("%s: column %q twice", r.path, top.Name())
	}
	c, err := r.column(nil, []byte(top.Name()))
	if err != nil {
		return err
	}
	var walk func(p *parquet.Column, entry int)
	walk = func(p *parquet.Column, entry int) {
		if p.Repeated() {
			entry = p.MaxDefinitionLevel()
		}
		if !p.Leaf() {
			for _, child := range p.Columns() {
				walk(child, entry)
			}
			return
		}
		path := p.Path()
		l := &leaf{column: c, path: strings.Join(path, "."), list: p.MaxRepetitionLevel() == 1, entry: entry}
		many := c.role == roleContexts || c.role == rolePropensities
		switch {
		case c.role == roleIgnored:
		case p.MaxRepetitionLevel() > 1 || l.list && !many || !l.list && len(path) > 1 && c.role != roleContexts:
			l.err = fmt.Errorf("%s: column %s: a nested column cannot be read here", r.path, l.path)
		case l.list && len(path) == 3 && path[2] == "key":
			l.key = true
		case !l.list && len(path) > 1:
			l.inner = strings.Join(path[1:], ".")
		}
		if t := p.Type().LogicalType(); t != nil {
			switch t := t.Value.(type) {
			case *format.TimestampType:
				switch t.Unit.Value.(type) {
				case *format.MilliSeconds:
					l.unit = 1e6
				case *format.MicroSeconds:
					l.unit = 1e3
				default:
					l.unit = 1
				}
			case *format.DateType:
				l.unit = 86400e9
			case *format.IntType:
				l.unsigned = !t.IsSigned
			case *format.DecimalType, *format.TimeType, *format.UUIDType, *format.Float16Type:
				if c.role != roleIgnored {
					l.err = fmt.Errorf("%s: column %s: values of type %s cannot be read: write numbers or texts", r.path, l.path, p.Type())
				}
			}
		}
		r.leaves = append(r.leaves, l)
	}
	walk(top, 0)
	for _, l := range r.leaves {
		if l.err != nil {
			return l.err
		}
	}
	return nil
}

func (r *parquetReader) close() error {
	var err error
	if r.rows != nil {
		err = r.rows.Close()
	}
	return errors.Join(err, r.file.Close())
}

// raw is the row as a JSON object.
func (r *parquetReader) raw() []byte {
	m := map[string]any{}
	for _, v := range r.row {
		l := r.leaves[v.Column()]
		var x any
		if !v.IsNull() {
			x = v.String()
		}
		if !l.list {
			m[l.path] = x
			continue
		}
		some, _ := m[l.path].([]any)
		m[l.path] = append(some, x)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return []byte(err.Error())
	}
	return b
}

func (r *parquetReader) next(b *builder) (err error) {
	// The library panics on some damaged files.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: row %d: damaged: %v", r.path, b.at, p)
		}
	}()
	if !r.begun {
		for _, c := range r.columns {
			r.begin(b, c)
		}
		if b.slots != nil {
			b.listed = numbered(b.slots)
		}
		r.begun = true
	}
	for len(r.have) == 0 {
		if r.rows == nil {
			if len(r.groups) == 0 {
				return io.EOF
			}
			r.rows, r.groups = r.groups[0].Rows(), r.groups[1:]
		}
		n, err := r.rows.ReadRows(r.buf)
		r.have = r.buf[:n]
		if err == nil {
			if n == 0 {
				return fmt.Errorf("%s: row %d: damaged: no rows where there should be some", r.path, b.at)
			}
			continue
		}
		closed := r.rows.Close()
		r.rows = nil
		if err != io.EOF {
			return fmt.Errorf("%s: row %d: damaged: %w", r.path, b.at, err)
		}
		if closed != nil {
			return closed
		}
	}
	r.row, r.have = r.have[0], r.have[1:]
	return r.cells(b)
}

// cells reads a row.
func (r *parquetReader) cells(b *builder) error {
	row := &b.row
	var keys []parquet.Value
	listed, at := false, 0
	for _, v := range r.row {
		i := v.Column()
		if i < 0 || i >= len(r.leaves) {
			return fmt.Errorf("%s: row %d: damaged: no column %d", r.path, b.at, i)
		}
		l := r.leaves[i]
		c := l.column
		switch {
		case c.role == roleIgnored:
			continue
		case l.key:
			if !v.IsNull() {
				keys = append(keys, v)
			}
			continue
		case v.IsNull() && l.list && v.DefinitionLevel() >= l.entry:
			return bad(c.name, "null among the numbers of a list")
		case v.IsNull():
			if c.role == roleContext {
				c.missing++
			}
			continue
		case l.list:
			x, ok := asNumber(v, l)
			if !ok {
				return bad(c.name, "%s is not a number", v)
			}
			if c.role == rolePropensities {
				row.props, listed = append(row.props, x), true
				continue
			}
			var id uint32
			var err error
			if keys != nil {
				if at >= len(keys) {
					return bad(c.name, "a map of more values than keys")
				}
				id, err = b.name(keys[at].ByteArray(), false)
			} else {
				id, err = b.indexed(at)
			}
			at++
			if err == nil {
				err = b.value(c.name, id, x, false)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := r.cell(b, l, v); err != nil {
			return err
		}
	}
	if keys != nil && at != len(keys) {
		return bad("context", "a map with %d keys and %d values", len(keys), at)
	}
	if keys == nil {
		row.list = at
	}
	if listed {
		if err := b.list("propensities"); err != nil {
			return err
		}
	}
	return r.done(b)
}

// cell reads a scalar.
func (r *parquetReader) cell(b *builder, l *leaf, v parquet.Value) error {
	c := l.column
	if l.inner != "" {
		if x, ok := asNumber(v, l); ok {
			id, err := b.name([]byte(l.inner), false)
			if err == nil {
				err = b.value(c.name, id, x, false)
			}
			return err
		}
		s, err := asText(c, v)
		if err != nil || len(s) == 0 {
			return err
		}
		id, err := b.name(append([]byte(l.inner+"="), s...), true)
		if err == nil {
			err = b.value(c.name, id, 1, false)
		}
		return err
	}
	if c.role == roleTime {
		switch {
		case v.Kind() == parquet.Int96:
			t := v.Int96()
			const julian = 2440588 // of 1970-01-01
			day, nanos := int64(t[2])-julian, int64(t[0])|int64(t[1])<<32
			if day < -100000 || day > 100000 {
				return bad(c.name, "day %d is no time", day)
			}
			b.row.time, b.row.hasTime = day*86400e9+nanos, true
			return nil
		case l.unit != 0:
			x := v.Int64()
			if v.Kind() == parquet.Int32 {
				x = int64(v.Int32())
			}
			if x > 9.2e18/l.unit || x < -9.2e18/l.unit {
				return bad(c.name, "%d is no time", x)
			}
			b.row.time, b.row.hasTime = x*l.unit, true
			return nil
		}
	}
	if x, ok := asNumber(v, l); ok {
		if v.Kind() == parquet.Int64 && (c.role == roleID || c.role == roleGroup || c.role == roleAction) {
			return r.table.string(b, c, []byte(v.String()))
		}
		return r.table.number(b, c, x)
	}
	s, err := asText(c, v)
	if err != nil {
		return err
	}
	switch c.role {
	case roleReward, roleCost, rolePropensity, roleEach, roleWeight:
		if v.Kind() == parquet.Boolean && c.role == roleReward {
			x := 0.0
			if v.Boolean() {
				x = 1
			}
			return r.table.number(b, c, x)
		}
		return bad(c.name, "%s is a text, not a number", quote(s))
	}
	return r.table.string(b, c, s)
}

// asNumber returns the number that a value is.
func asNumber(v parquet.Value, l *leaf) (float64, bool) {
	switch v.Kind() {
	case parquet.Int32:
		if l.unsigned {
			return float64(v.Uint32()), true
		}
		return float64(v.Int32()), true
	case parquet.Int64:
		if l.unsigned {
			return float64(v.Uint64()), true
		}
		return float64(v.Int64()), true
	case parquet.Float:
		return float64(v.Float()), true
	case parquet.Double:
		return v.Double(), true
	}
	return 0, false
}

// asText returns the text that a value is.
func asText(c *column, v parquet.Value) ([]byte, error) {
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		if s := v.ByteArray(); utf8.Valid(s) {
			return s, nil
		}
		return nil, bad(c.name, "the text is not UTF-8")
	case parquet.Boolean:
		return []byte(v.String()), nil
	}
	return nil, bad(c.name, "%s is none of what the column may have", v)
}
