package logs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
	logical "github.com/parquet-go/parquet-go/format"
)

// parquetRows is how many rows are asked for at a time.
const parquetRows = 256

// parquetReader reads a Parquet file, row group by row group. Columns of the schema are
// scalars, nullable or not; context and propensities may be lists of numbers, context also
// a map of numbers by name or a group of named values; a field of rows that are no log's may
// be a scalar or a list.
type parquetReader struct {
	*table
	leaves []*leaf
	groups []parquet.RowGroup
	rows   parquet.Rows // of the group before groups; nil: not open
	buf    []parquet.Row
	have   []parquet.Row // read and not used
	row    parquet.Row
	set    []option // what the row offers

	ahead       *ahead[*parquetBlock] // nil: rows are read one by one
	block       *parquetBlock         // with the row; nil: it is in row
	at          int                   // the row's place there
	group, from int                   // after the blocks before
	every       []int                 // the places of leaves
	others      []int                 // of those that are no numbers of contexts read ahead
	text        []byte                // room for an action's
}

// option is an action that a row offers, as its columns have it.
type option struct {
	id     []byte
	form   jsontext.Kind
	has    bool // an id
	keyed  int  // values of a map that have both key and number
	values []optionValue
}

type optionValue struct {
	name     []byte
	category bool
	number   float64
}

// leaf is a column of the file that holds values.
type leaf struct {
	column   *column
	path     string
	list     bool
	entry    int    // definition level from which a null is one of the list's, and not the list
	key      bool   // of a map
	inner    string // its name within the context, if that is a group, or within an action
	outer    int    // of an action's, definition level from which there is one
	deep     bool   // it is a list or a map within an action
	unit     int64  // nanoseconds, of a timestamp; 0: none
	unsigned bool

	parquet parquet.Kind
	level   int // definition level of a value
	place   int // among the numbers of contexts that are read ahead; negative: it is none of them

	single bool // a number beside the context, which is read ahead
	exact  bool // an int64, whose bits stand for the number
}

// damaged turns a panic, which the library has for some damaged files, into an error.
func damaged(b *builder, err *error) {
	if p := recover(); p != nil {
		*err = b.fatal("damaged: %v", p)
	}
}

func newParquet(l *lines, b *builder) (_ reader, err error) {
	f, err := os.Open(l.local)
	if err != nil {
		return nil, err
	}
	l.end = f.Close
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	defer damaged(b, &err)
	file, err := openParquet(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: not a Parquet file, or damaged: %w", l.path, err)
	}
	r := &parquetReader{table: newTable(l, b), groups: file.RowGroups(), buf: make([]parquet.Row, parquetRows)}
	for _, top := range file.Root().Columns() {
		if _, twice := r.index[top.Name()]; twice {
			return nil, fmt.Errorf("%s: column %q twice", l.path, top.Name())
		}
		c, err := r.column(b, []byte(top.Name()))
		if err != nil {
			return nil, err
		}
		before := len(r.leaves)
		if err := r.walk(c, top, 0, nil); err != nil {
			return nil, err
		}
		if b.fields && len(r.leaves) != before+1 {
			c.role = roleIgnored
		}
	}
	if err := b.absent(l.path, r.table); err != nil {
		return nil, err
	}
	if err := r.check(b); err != nil {
		return nil, err
	}
	r.begin(b)
	return r, nil
}

// walk finds the leaves of a column. element is the one that holds an entry of its list; nil:
// it is not below one.
func (r *parquetReader) walk(c *column, p *parquet.Column, entry int, element *parquet.Column) error {
	if p.Repeated() {
		if entry = p.MaxDefinitionLevel(); element == nil {
			if element = p; !p.Leaf() && len(p.Columns()) == 1 && p.Name() != "array" && p.Name() != c.name+"_tuple" {
				element = p.Columns()[0] // the group that is repeated is but that of the format's lists
			}
		}
	}
	if !p.Leaf() {
		for _, child := range p.Columns() {
			if err := r.walk(c, child, entry, element); err != nil {
				return err
			}
		}
		return nil
	}
	path := p.Path()
	l := &leaf{column: c, path: strings.Join(path, "."), list: p.MaxRepetitionLevel() > 0, entry: entry, parquet: p.Type().Kind(), level: p.MaxDefinitionLevel(), place: -1}
	r.every, r.leaves = append(r.every, len(r.leaves)), append(r.leaves, l)
	ofLog := c.role != roleIgnored && c.role != roleField
	many := c.role == roleContexts || c.role == rolePropensities
	switch {
	case !ofLog:
	case c.role == roleActions && l.list && p.MaxRepetitionLevel() <= 2 && element != p, c.role == roleOffered && p.MaxRepetitionLevel() == 1 && element == p:
		l.within(p, element)
	case p.MaxRepetitionLevel() > 1 || l.list && !many || !l.list && len(path) > 1 && c.role != roleContexts:
		return fmt.Errorf("%s: column %s: a nested column cannot be read here", r.path, l.path)
	case l.list && len(path) == 3 && path[2] == "key":
		l.key = true
	case !l.list && len(path) > 1:
		l.inner = strings.Join(path[1:], ".")
	}
	t := p.Type().LogicalType()
	if t == nil {
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
		l.unit = 86400e9
	case *logical.IntType:
		l.unsigned = !t.IsSigned
	case *logical.DecimalType, *logical.TimeType, *logical.UUIDType, *logical.Float16Type:
		if ofLog {
			return fmt.Errorf("%s: column %s: values of type %s cannot be read: write numbers or texts", r.path, l.path, p.Type())
		}
	}
	return nil
}

// within finds out what the leaf p is within an action.
func (l *leaf) within(p, element *parquet.Column) {
	path := p.Path()[len(element.Path()):]
	l.outer = element.MaxDefinitionLevel()
	if element.Optional() {
		l.outer-- // an action that is null is there
	}
	if l.deep = p.MaxRepetitionLevel() > 1; l.deep {
		if l.key = path[len(path)-1] == "key"; l.key || path[len(path)-1] == "value" {
			path = nil // names are the map's keys
		} else {
			path = path[:max(0, len(path)-2)] // list.element
		}
	}
	l.inner = strings.Join(path, ".")
}

func (r *parquetReader) close() error {
	r.ahead.end()
	var err error
	if r.rows != nil {
		err = r.rows.Close()
	}
	return errors.Join(err, r.lines.close())
}

// step reads a row.
func (r *parquetReader) step() error {
	if there, err := r.nextAhead(); there || err != nil {
		return err
	}
	for len(r.have) == 0 {
		if r.rows == nil {
			if len(r.groups) == 0 {
				return io.EOF
			}
			r.rows, r.groups = r.groups[0].Rows(), r.groups[1:]
		}
		m, err := r.rows.ReadRows(r.buf)
		if r.have = r.buf[:m]; err == nil && m == 0 {
			err = errors.New("no rows where there should be some")
		}
		if err == nil {
			continue
		}
		closed := r.rows.Close()
		if r.rows = nil; err != io.EOF {
			return err
		}
		if closed != nil {
			return closed
		}
	}
	r.row, r.have = r.have[0], r.have[1:]
	return nil
}

// raw is the row as a JSON object.
func (r *parquetReader) raw() []byte {
	m := map[string]any{}
	for _, v := range r.whole() {
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
	b, _ := json.Marshal(m) // of texts it cannot fail
	return b
}

func (r *parquetReader) next(b *builder) (err error) {
	defer damaged(b, &err)
	if err := r.step(); err == io.EOF {
		return err
	} else if err != nil {
		return b.fatal("damaged: %w", err)
	}
	row, values := &b.row, r.row
	r.set = r.set[:0]
	sets := ""
	var keys []parquet.Value
	listed, at := false, 0
	take := func(l *leaf, values []parquet.Value) error {
		c := l.column
		place, nth := -1, 0 // of an action among the offered, and that in the leaf's list
		for _, v := range values {
			switch {
			case c.role == roleIgnored:
				continue
			case c.role == roleField:
				r.field(b, l, v)
				continue
			case (c.role == roleOffered || c.role == roleActions) && l.list:
				if sets = c.name; v.DefinitionLevel() < l.outer { // no action at all
					continue
				}
				if v.RepetitionLevel() < 2 {
					place, nth = place+1, 0
				}
				if err := r.option(l, v, place, nth); err != nil {
					return err
				}
				nth++
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
				form, _, x := l.value(v)
				if form != '0' {
					return bad(c.name, "%s is not a number", v)
				}
				if c.role == rolePropensities {
					row.props, listed = append(row.props, x), true
					continue
				}
				var err error
				switch {
				case keys == nil:
					var id uint32
					if id, err = b.indexed(at); err == nil {
						err = b.value(c.name, id, x)
					}
				case at >= len(keys):
					err = bad(c.name, "a map of more values than keys")
				default:
					err = b.named(c.name, keys[at].ByteArray(), false, x)
				}
				if at++; err != nil {
					return err
				}
				continue
			}
			if err := r.scalar(b, l, v); err != nil {
				return err
			}
		}
		return nil
	}
	var numbers []float64
	even := false
	if k := r.block; k != nil {
		width := len(r.wide.columns)
		numbers = k.numbers[r.at*width : (r.at+1)*width]
		even = k.even[r.at] && r.wide.alone && r.wide.known()
	}
	leaves := r.every
	if even {
		leaves = r.others
	}
	for _, i := range leaves {
		l := r.leaves[i]
		var err error
		switch {
		case r.block == nil:
			n := 0
			for n < len(values) && values[n].Column() == i {
				n++
			}
			err = take(l, values[:n])
			values = values[n:]
		case l.single:
			err = r.number(b, l, r.block.singles[i][r.at])
		case l.place < 0:
			err = take(l, r.block.values[i].row(r.at))
		case !even:
			err = r.wide.number(r.table, b, l.place, numbers[l.place])
		}
		if err == nil {
			continue
		}
		for _, before := range r.leaves[:i] {
			if even && before.place >= 0 {
				before.column.numbers++
			}
		}
		return err
	}
	if r.block == nil && len(values) > 0 {
		return b.fatal("damaged: no column %d", values[0].Column())
	}
	if even {
		r.wide.row(b, numbers, r.block.sums[r.at])
	}
	if keys != nil && at != len(keys) {
		return bad("context", "a map with %d keys and %d values", len(keys), at)
	}
	if keys == nil {
		row.list = at
	}
	if sets != "" {
		if err := r.offers(b, sets); err != nil {
			return err
		}
	}
	if listed {
		row.hasProps, row.listed = true, true
	}
	return nil
}

// option takes the value of a leaf for the action at a place, the i-th of the leaf there.
func (r *parquetReader) option(l *leaf, v parquet.Value, place, i int) error {
	for len(r.set) <= place {
		if len(r.set) < cap(r.set) {
			r.set = r.set[:len(r.set)+1]
		} else {
			r.set = append(r.set, option{})
		}
		o := &r.set[len(r.set)-1]
		*o = option{id: o.id[:0], values: o.values[:0]}
	}
	o, column := &r.set[place], l.column.name
	if v.IsNull() {
		if l.column.role == roleOffered || l.deep && v.DefinitionLevel() >= l.entry && !l.key {
			return bad(column, "null among the entries of a list")
		}
		return nil
	}
	form, s, x := l.value(v)
	switch {
	case form == 0:
		return bad(column, "%s is none of what the column may have", v)
	case form == '"' && !utf8.Valid(s):
		return bad(column, "the text is not UTF-8")
	case l.column.role == roleOffered || l.inner == "id" && !l.deep:
		if form == '0' {
			s = l.digits(v, x)
		}
		o.id, o.form, o.has = append(o.id, s...), form, true
	case l.key && form != '"':
		return bad(column, "the key %s of a map is no text", v)
	case l.key:
		o.values = append(o.values, optionValue{name: s, number: math.NaN()})
	case l.deep && l.inner == "": // of a map, whose keys are there
		for o.keyed < len(o.values) && o.values[o.keyed].number == o.values[o.keyed].number {
			o.keyed++
		}
		if form != '0' || o.keyed == len(o.values) {
			return bad(column, "%s: want a map of numbers by name", v)
		}
		if x != x {
			return bad(column, "%v is not finite", x)
		}
		o.values[o.keyed].number = x
	case form == '0':
		name := []byte(l.inner)
		if l.deep {
			name = strconv.AppendInt(append(name, '.'), int64(i), 10)
		}
		o.values = append(o.values, optionValue{name: name, number: x})
	case len(s) > 0:
		name := []byte(l.inner)
		if l.deep {
			name = strconv.AppendInt(append(name, '.'), int64(i), 10)
		}
		o.values = append(o.values, optionValue{name: slices.Concat(name, []byte("="), s), category: true, number: 1})
	}
	return nil
}

// digits is a number as an id is written.
func (l *leaf) digits(v parquet.Value, x float64) []byte {
	switch k := v.Kind(); {
	case k == parquet.Int64 && l.unsigned:
		return strconv.AppendUint(nil, v.Uint64(), 10)
	case k == parquet.Int64:
		return strconv.AppendInt(nil, v.Int64(), 10)
	}
	return strconv.AppendFloat(nil, x, 'g', -1, 64)
}

// offers hands over what the row offers.
func (r *parquetReader) offers(b *builder, column string) error {
	if err := b.offering(column); err != nil {
		return err
	}
	for i := range r.set {
		o := &r.set[i]
		b.option()
		for _, v := range o.values {
			if err := b.named(column, v.name, v.category, v.number); err != nil {
				return err
			}
		}
		var id []byte
		if o.has {
			id = append([]byte{}, o.id...)
		}
		if err := b.optionID(o.form, id); err != nil {
			return err
		}
	}
	return nil
}

// field reads a value of a field.
func (r *parquetReader) field(b *builder, l *leaf, v parquet.Value) {
	f := &l.column.field
	if f.row != b.at {
		*f = field{row: b.at, form: '0', text: f.text[:0], numbers: f.numbers[:0]}
		if l.list {
			f.form = '['
		}
	}
	form, _, x := l.value(v)
	switch {
	case form == '0':
		f.numbers = append(f.numbers, x)
	case v.IsNull() && l.list && v.DefinitionLevel() < l.entry: // the list
	case v.IsNull():
		f.form = 'n'
	default:
		f.form = '"'
	}
	if k := v.Kind(); !l.list && (form != '0' || k == parquet.Int32 || k == parquet.Int64) {
		f.text = append(f.text, v.String()...)
	}
}

// scalar reads a value of a log.
func (r *parquetReader) scalar(b *builder, l *leaf, v parquet.Value) error {
	c := l.column
	form, s, x := l.value(v)
	switch k := v.Kind(); {
	case c.role == roleTime && k == parquet.Int96:
		t := v.Int96()
		const julian = 2440588 // of 1970-01-01
		day, nanos := int64(t[2])-julian, int64(t[0])|int64(t[1])<<32
		if day < -100000 || day > 100000 {
			return bad(c.name, "day %d is no time", day)
		}
		b.row.time, b.row.hasTime = day*86400e9+nanos, true
		return nil
	case c.role == roleTime && l.unit != 0:
		x := v.Int64()
		if k == parquet.Int32 {
			x = int64(v.Int32())
		}
		return l.time(b, x)
	case form == 0:
		return bad(c.name, "%s is none of what the column may have", v)
	case form == '"' && !utf8.Valid(s):
		return bad(c.name, "the text is not UTF-8")
	case l.inner != "" && form == '0':
		return b.named(c.name, []byte(l.inner), false, x)
	case l.inner != "" && len(s) == 0:
		return nil
	case l.inner != "":
		return b.named(c.name, append([]byte(l.inner+"="), s...), true, 1)
	case k == parquet.Int64 && c.textual() && c.role != roleContext: // it may be none of float64
		s = []byte(v.String())
	}
	return r.cell(b, c, form, s, x)
}

// number takes a number that was read ahead, as scalar does.
func (r *parquetReader) number(b *builder, l *leaf, v float64) error {
	switch {
	case isAbsent(v):
		return nil
	case l.exact:
		return l.time(b, int64(math.Float64bits(v)))
	case l.column.role == roleAction:
		r.text = strconv.AppendInt(r.text[:0], int64(v), 10)
		return r.cell(b, l.column, '0', r.text, v)
	}
	return r.cell(b, l.column, '0', nil, v)
}

// time takes a time in the leaf's unit.
func (l *leaf) time(b *builder, x int64) error {
	if x > 9.2e18/l.unit || x < -9.2e18/l.unit {
		return bad(l.column.name, "%d is no time", x)
	}
	b.row.time, b.row.hasTime = x*l.unit, true
	return nil
}

// value is a value as a table's cell takes it; of form 0 if it is none that it can take.
func (l *leaf) value(v parquet.Value) (form jsontext.Kind, s []byte, x float64) {
	switch v.Kind() {
	case parquet.Int32:
		if x = float64(v.Int32()); l.unsigned {
			x = float64(v.Uint32())
		}
	case parquet.Int64:
		if x = float64(v.Int64()); l.unsigned {
			x = float64(v.Uint64())
		}
	case parquet.Float:
		x = float64(v.Float())
	case parquet.Double:
		x = v.Double()
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return '"', v.ByteArray(), 0
	case parquet.Boolean:
		return 't', []byte(v.String()), 0
	default:
		return 0, nil, 0
	}
	return '0', nil, x
}

// parquetWriter writes Parquet.
type parquetWriter struct {
	*Writer
	to    *parquet.GenericWriter[any]
	place map[string]int // of leaves
	cells parquet.Row
}

func newParquetWriter(w *Writer) encoder { return &parquetWriter{Writer: w} }

// begin makes the schema, that of the first row.
func (w *parquetWriter) begin(d *Decision) {
	g := parquet.Group{}
	w.columns(d, func(name, _ string) {
		g[name] = parquet.String()
		if name == "timestamp" {
			g[name] = parquet.Timestamp(parquet.Nanosecond)
		}
	}, func(name string, _ float64) { g[name] = parquet.Leaf(parquet.DoubleType) })
	if d.Offered != nil {
		g["offered"] = parquet.List(parquet.String())
		if d.Propensities != nil {
			g["propensities"] = parquet.List(parquet.Leaf(parquet.DoubleType))
		}
	}
	if w.described {
		delete(g, "offered")
		action := parquet.Group{"features": parquet.Map(parquet.String(), parquet.Leaf(parquet.DoubleType))}
		if d.Offered[0].Action != "" {
			action["id"] = parquet.String()
		}
		g["actions"] = parquet.List(action)
	}
	switch w.layout {
	case asList:
		g["context"] = parquet.List(parquet.Leaf(parquet.DoubleType))
	case asObject:
		g["context"] = parquet.Map(parquet.String(), parquet.Leaf(parquet.DoubleType))
	}
	schema := parquet.NewSchema("log", g)
	w.place = map[string]int{}
	for i, path := range schema.Columns() {
		name := path[0]
		if end := path[len(path)-1]; end == "value" && len(path) > 1 || name == "actions" {
			name += "." + end
		}
		w.place[name] = i
	}
	w.to = parquet.NewGenericWriter[any](w.out, schema, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(1<<16))
}

func (w *parquetWriter) end() error { return w.to.Close() }

func (w *parquetWriter) row(d *Decision) error {
	if w.to == nil {
		w.begin(d)
	}
	row := w.cells[:0]
	put := func(name string, v parquet.Value, repetition, definition int) {
		row = append(row, v.Level(repetition, definition, w.place[name]))
	}
	w.columns(d, func(name, s string) {
		if name != "timestamp" {
			put(name, parquet.ByteArrayValue([]byte(s)), 0, 0)
			return
		}
		at, ok := unixNano(d.Time)
		if !ok {
			w.err = fmt.Errorf("%s: row %d: %s is outside 1678 to 2261", w.path, w.n, d.Time)
		}
		put(name, parquet.Int64Value(at), 0, 0)
	}, func(name string, v float64) { put(name, parquet.DoubleValue(v), 0, 0) })
	switch w.layout {
	case asList:
		for i, v := range w.values {
			put("context", parquet.DoubleValue(v), min(i, 1), 1)
		}
	case asObject:
		for i, v := range d.Context {
			put("context", parquet.ByteArrayValue([]byte(v.Name)), min(i, 1), 1)
			put("context.value", parquet.DoubleValue(v.Number), min(i, 1), 1)
		}
		if len(d.Context) == 0 {
			put("context", parquet.NullValue(), 0, 0)
			put("context.value", parquet.NullValue(), 0, 0)
		}
	}
	for j, o := range d.Offered {
		if !w.described {
			put("offered", parquet.ByteArrayValue([]byte(o.Action)), min(j, 1), 1)
			continue
		}
		if o.Action != "" {
			put("actions.id", parquet.ByteArrayValue([]byte(o.Action)), min(j, 1), 1)
		}
		for i, v := range o.Features {
			level := min(j, 1)
			if i > 0 {
				level = 2
			}
			put("actions.key", parquet.ByteArrayValue([]byte(v.Name)), level, 2)
			put("actions.value", parquet.DoubleValue(v.Number), level, 2)
		}
		if len(o.Features) == 0 {
			put("actions.key", parquet.NullValue(), min(j, 1), 1)
			put("actions.value", parquet.NullValue(), min(j, 1), 1)
		}
	}
	if d.Offered != nil {
		for j, p := range d.Propensities {
			put("propensities", parquet.DoubleValue(p), min(j, 1), 1)
		}
	}
	slices.SortStableFunc(row, func(a, b parquet.Value) int { return a.Column() - b.Column() })
	w.cells = row
	_, err := w.to.WriteRows([]parquet.Row{row})
	return err
}

// checkFooter refuses a Parquet file, which may be damaged, whose footer claims more than
// there is: a length beyond the file's, or lists and texts beyond its own end, for which
// the library would take memory before anything else, up to gigabytes.
func checkFooter(f io.ReaderAt, size int64) error {
	var end [8]byte
	if _, err := f.ReadAt(end[:], max(0, size-8)); err != nil {
		return fmt.Errorf("no footer in %d bytes", size)
	}
	n := int64(binary.LittleEndian.Uint32(end[:4]))
	if n > size-12 {
		return fmt.Errorf("a footer of %d bytes in a file of %d", n, size)
	}
	text := make([]byte, n)
	if _, err := f.ReadAt(text, size-8-n); err != nil {
		return err
	}
	t := thrift{left: text}
	t.structure(0)
	return t.err
}

// thrift goes through a structure in Thrift's compact protocol. See
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
type thrift struct {
	left []byte
	err  error
}

// fail ends the reading: nothing is left.
func (t *thrift) fail() { t.left, t.err = nil, errors.New("its footer is damaged") }

// structure goes through a structure inside so many others.
func (t *thrift) structure(depth int) {
	for t.err == nil {
		field := t.octet()
		if field == 0 {
			return
		}
		if field>>4 == 0 {
			t.number() // of the field
		}
		if kind := field & 15; kind != 1 && kind != 2 { // true and false have no more bytes
			t.values(1, depth, kind)
		}
	}
}

// values goes through n times values of the kinds, none of which is shorter than a byte.
func (t *thrift) values(n uint64, depth int, kinds ...byte) {
	if n > uint64(len(t.left)) || depth > deepest {
		t.fail()
		return
	}
	for i := uint64(0); i < n*uint64(len(kinds)) && t.err == nil; i++ {
		switch kinds[i%uint64(len(kinds))] {
		case 1, 2, 3: // true, false and a byte
			t.skip(1)
		case 4, 5, 6: // integers
			t.number()
		case 7: // a number of 64 bits
			t.skip(8)
		case 8: // bytes
			t.skip(t.number())
		case 9, 10: // a list, a set
			head := t.octet()
			n := uint64(head >> 4)
			if n == 15 {
				n = t.number()
			}
			t.values(n, depth+1, head&15)
		case 11: // a map
			if n := t.number(); n > 0 {
				kinds := t.octet()
				t.values(n, depth+1, kinds>>4, kinds&15)
			}
		case 12:
			t.structure(depth + 1)
		case 13: // a UUID
			t.skip(16)
		default:
			t.fail()
		}
	}
}

func (t *thrift) octet() byte {
	if len(t.left) == 0 {
		t.fail()
		return 0
	}
	b := t.left[0]
	t.left = t.left[1:]
	return b
}

func (t *thrift) number() uint64 {
	v, n := binary.Uvarint(t.left)
	if n <= 0 {
		t.fail()
		return math.MaxUint64
	}
	t.left = t.left[n:]
	return v
}

func (t *thrift) skip(n uint64) {
	if n > uint64(len(t.left)) {
		t.fail()
		return
	}
	t.left = t.left[n:]
}
