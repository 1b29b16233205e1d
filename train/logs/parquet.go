package logs

import (
	"encoding/json"

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

// parquetReader reads a Parquet file, row group by row group. Columns of the schema are
// scalars, nullable or not; context and propensities may be lists of numbers, context also
// a map of numbers by name or a group of named values; a field of rows that are no log's may
// be a scalar or a list.
type parquetReader struct {
	*table
	leaves []*leaf
	ahead  *ahead[*parquetBlock]
	block  *parquetBlock // with the row; nil: none yet
	at     int           // the row's place there
	every  []int         // the places of leaves
	others []int         // of those that are no numbers of contexts read ahead
	set    []option      // what the row offers
	text   []byte        // scratch, of an action
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
	file, chunks, err := openParquet(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: not a Parquet file, or damaged: %w", l.path, err)
	}
	r := &parquetReader{table: newTable(l, b)}
	for _, top := range file.Root().Columns() {
		if _, twice := r.index[top.Name()]; twice {
			return nil, fmt.Errorf("%s: column %q twice", l.path, top.Name())
		}
		c, err := r.column(b, []byte(top.Name()))
		if err != nil {
			return nil, err
		}
		if c.role == roleOutcome && !plainNumber(top) {
			b.outcomes[c.slot].text, c.role = l.path+" has values of type "+top.String(), roleIgnored
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
	r.begin(b, file.RowGroups(), chunks)
	return r, nil
}

// plainNumber reports a column of numbers, or of true and false.
func plainNumber(p *parquet.Column) bool {
	if !p.Leaf() || p.Repeated() {
		return false
	}
	if t := p.Type().LogicalType(); t != nil {
		if _, integer := t.Value.(*logical.IntType); !integer {
			return false
		}
	}
	switch p.Type().Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		return true
	}
	return false
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
	l := &leaf{column: c, path: strings.Join(path, "."), list: p.MaxRepetitionLevel() > 0, entry: entry,
		parquet: p.Type().Kind(), level: p.MaxDefinitionLevel(), place: -1}
	r.every, r.leaves = append(r.every, len(r.leaves)), append(r.leaves, l)
	ofLog := c.role != roleIgnored && c.role != roleField
	many := c.role == roleContexts || c.role == rolePropensities
	switch {
	case !ofLog:
	case c.role == roleActions && l.list && p.MaxRepetitionLevel() <= 2 && element != p, c.role == roleOffered &&
		p.MaxRepetitionLevel() == 1 && element == p:
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
			return fmt.Errorf("%s: column %s: values of type %s cannot be read: write numbers or texts", r.path,
				l.path, p.Type())
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
	return r.lines.close()
}

// step goes to the next row.
func (r *parquetReader) step(b *builder) error {
	if r.block != nil {
		if r.at++; r.at < r.block.n {
			return nil
		}
		r.ahead.used <- r.block
	}
	block, ok := <-r.ahead.made
	r.block, r.at = block, 0
	switch {
	case !ok:
		r.wide.settle()
		return io.EOF
	case block.err != nil:
		return b.fatal("damaged: %w", block.err)
	}
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

// parquetRow is what the leaves of a row have given so far.
type parquetRow struct {
	sets   string          // the column that says what is offered; "": none yet
	keys   []parquet.Value // of a context that is a map
	listed bool            // propensities are a list
	at     int             // numbers of a context that is a list or a map
}

func (r *parquetReader) next(b *builder) (err error) {
	defer damaged(b, &err)
	if err := r.step(b); err != nil {
		return err
	}
	var w parquetRow
	r.set = r.set[:0]
	k, width := r.block, len(r.wide.columns)
	numbers := k.numbers[r.at*width : (r.at+1)*width]
	even, leaves := k.even[r.at] && r.wide.alone && r.wide.known(), r.every
	if even {
		leaves = r.others
	}
	for _, i := range leaves {
		l := r.leaves[i]
		var err error
		switch {
		case l.place < 0 && !l.single || k.byValue[i]:
			err = r.take(b, &w, l, k.values[i].row(r.at))
		case l.single:
			err = r.number(b, l, k.singles[i][r.at])
		default:
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
	if even {
		r.wide.row(b, numbers, k.sums[r.at])
	}
	if w.keys != nil && w.at != len(w.keys) {
		return bad("context", "a map with %d keys and %d values", len(w.keys), w.at)
	}
	if w.keys == nil {
		b.row.list = w.at
	}
	if w.sets != "" {
		if err := r.offers(b, w.sets); err != nil {
			return err
		}
	}
	if w.listed {
		b.row.hasProps, b.row.listed = true, true
	}
	return nil
}

// take takes the values of a leaf in a row.
func (r *parquetReader) take(b *builder, w *parquetRow, l *leaf, values []parquet.Value) error {
	c := l.column
	place, nth := -1, 0 // of an action among the offered, and that in the leaf's list
	for _, v := range values {
		var err error
		switch {
		case c.role == roleIgnored:
		case c.role == roleField:
			r.field(b, l, v)
		case (c.role == roleOffered || c.role == roleActions) && l.list:
			if w.sets = c.name; v.DefinitionLevel() < l.outer { // no action at all
				continue
			}
			if v.RepetitionLevel() < 2 {
				place, nth = place+1, 0
			}
			err = r.option(l, v, place, nth)
			nth++
		case l.key && v.IsNull():
		case l.key:
			w.keys = append(w.keys, v)
		case v.IsNull() && l.list && v.DefinitionLevel() >= l.entry:
			err = bad(c.name, "null among the numbers of a list")
		case v.IsNull() && c.role == roleContext:
			c.missing++
		case v.IsNull():
		case l.list:
			err = w.entry(b, l, v)
		default:
			err = r.scalar(b, l, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry takes an entry of a list of numbers, or of a map.
func (w *parquetRow) entry(b *builder, l *leaf, v parquet.Value) (err error) {
	c, row := l.column, &b.row
	form, _, x := l.value(v)
	switch {
	case form != '0':
		return bad(c.name, "%s is not a number", v)
	case c.role == rolePropensities:
		row.props, w.listed = append(row.props, x), true
		return nil
	case w.keys == nil:
		var id uint32
		if id, err = b.indexed(w.at); err == nil {
			err = b.value(c.name, id, x)
		}
	case w.at >= len(w.keys):
		err = bad(c.name, "a map of more values than keys")
	default:
		err = b.named(c.name, w.keys[w.at].ByteArray(), false, x)
	}
	w.at++
	return err
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
