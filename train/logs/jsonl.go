package logs

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// deepest is how far a context may be nested, and the footer of a Parquet file.
const deepest = 32

// decoder reads JSON into the row of a builder.
type decoder struct {
	*jsontext.Decoder
	in   bytes.Reader
	hide bool // names that begin with "_"
	slot int  // that an action belongs to, which is hidden
	text []byte
	name []byte // of an action's value
}

func newDecoder() *decoder {
	d := &decoder{}
	d.Decoder = jsontext.NewDecoder(&d.in)
	return d
}

// whole reads a text that is one JSON value, and says what is wrong with it without the
// library's name.
func (d *decoder) whole(column string, text []byte, read func() error) error {
	d.in.Reset(text)
	d.Reset(&d.in)
	err := read()
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			return bad("", "text after the end of the JSON value")
		}
	}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax) && bytes.HasPrefix(text, []byte("{")) && !bytes.Contains(text, []byte(":")):
		return bad(column, `want a JSON list, such as ["a","b"] or [0.5,0.5]: arrays of PostgreSQL, such as {a,b}, are none`)
	case errors.As(err, &syntax) && syntax.Err != nil:
		return bad(column, "broken JSON after %d bytes: %v", syntax.ByteOffset, syntax.Err)
	case err == io.EOF:
		return bad(column, "broken JSON: %v", err)
	}
	return err
}

// read reads a value, of a string its text. It is gone with the next call.
func (d *decoder) read() (form jsontext.Kind, s []byte, err error) {
	v, err := d.ReadValue()
	if err != nil {
		return 0, nil, err
	}
	form, s = v.Kind(), v
	if form == '"' && bytes.IndexByte(v, '\\') < 0 {
		s = v[1 : len(v)-1]
	} else if form == '"' {
		d.text, err = jsontext.AppendUnquote(d.text[:0], v)
		s = d.text
	}
	return form, s, err
}

// object calls field for each name of an object; it must read the value.
func (d *decoder) object(column string, field func(name []byte) error) error {
	return d.each(column, '{', "not an object", func(int) error {
		_, name, err := d.read()
		if err != nil {
			return err
		}
		return field(name)
	})
}

// list calls element for each element of a list; it must read the value.
func (d *decoder) list(column string, element func(i int) error) error {
	return d.each(column, '[', "not a list", element)
}

// each calls read for each entry of a value that begins with a bracket; it must read it.
func (d *decoder) each(column string, bracket jsontext.Kind, not string, read func(i int) error) error {
	if d.PeekKind() != bracket {
		if err := d.SkipValue(); err != nil {
			return err
		}
		return bad(column, "%s", not)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for i := 0; d.PeekKind() != bracket+2; i++ { // the closing one in ASCII
		if err := read(i); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// number reads a number.
func (d *decoder) number(column string) (float64, error) {
	v, err := d.ReadValue()
	if err != nil {
		return 0, err
	}
	if v.Kind() != '0' {
		return 0, bad(column, "%s is not a number", quote(v))
	}
	return numberIn(column, v)
}

// context reads a list of numbers, or of "index:value", or an object of values by name.
func (d *decoder) context(b *builder, column string) error {
	if d.PeekKind() == '{' {
		return d.flatten(b, column, nil, 0)
	}
	numbers := 0
	defer func() { b.row.list = numbers }()
	return d.each(column, '[', "neither a list nor an object", func(i int) error {
		if d.PeekKind() == '"' {
			_, entry, err := d.read()
			if err != nil {
				return err
			}
			return sparse(b, column, entry)
		}
		v, err := d.number(column)
		if err != nil {
			return err
		}
		id, err := b.indexed(i)
		if err != nil {
			return err
		}
		numbers++
		return b.value(column, id, v)
	})
}

// flatten reads a value, nested in others whose names are in front of its own: a number
// v is name = v; a text or truth value s is the category name=s, and so is a number where it was said; null and "" are
// nothing.
func (d *decoder) flatten(b *builder, column string, name []byte, depth int) error {
	if depth > deepest {
		return bad(column, "nested deeper than %d", deepest)
	}
	full := func(part []byte) []byte {
		if depth == 0 {
			return bytes.Clone(part)
		}
		return slices.Concat(name, []byte("."), part)
	}
	switch d.PeekKind() {
	case '{':
		return d.object(column, func(part []byte) error {
			if d.hide && len(part) > 0 && part[0] == '_' {
				return d.SkipValue()
			}
			return d.flatten(b, column, full(part), depth+1)
		})
	case '[':
		return d.list(column, func(i int) error {
			return d.flatten(b, column, full(strconv.AppendInt(nil, int64(i),
				10)), depth+1)
		})
	}
	form, s, err := d.read()
	switch {
	case err != nil || form == 'n' || len(s) == 0:
		return err
	case form != '0' || b.categorical(name):
		name, err := categoryName(column, name, s)
		if err != nil {
			return err
		}
		return b.named(column, name, true, 1)
	}
	v, err := numberIn(column, s)
	if err != nil {
		return err
	}
	return b.named(column, name, false, v)
}

// propensities reads those of all actions: a list in their order, or an object by name.
func (d *decoder) propensities(b *builder, column string) error {
	r := &b.row
	if r.hasProps {
		return bad(column, "given twice")
	}
	if d.PeekKind() != '{' {
		err := d.list(column, func(int) error {
			v, err := d.number(column)
			r.props = append(r.props, v)
			return err
		})
		if err != nil {
			return err
		}
		r.hasProps, r.listed = true, true
		return err
	}
	if r.hasProps = true; b.unlisted() {
		b.propsOf, b.added = b.propsOf[:0], 0
	}
	err := d.object(column, func(name []byte) error {
		i := slices.Index(b.propsOf, string(name))
		if i < 0 && !b.unlisted() {
			return bad(column, "action %s is none of those of the rows before", quote(name))
		}
		if i < 0 {
			i = len(b.propsOf)
			b.propsOf = append(b.propsOf, string(name))
		}
		v, err := d.number(column)
		b.propensity(i, v)
		return err
	})
	if b.unlisted() {
		b.listed = numbered(b.propsOf)
	}
	return err
}

// propensity sets that of an action of builder.propsOf, by its place.
func (b *builder) propensity(at int, v float64) {
	r := &b.row
	for r.hasProps = true; len(r.props) < len(b.propsOf); {
		r.props = append(r.props, math.NaN()) // missing so far
	}
	r.props[at] = v
}

// unlisted reports that no row before has propensities of all actions.
func (b *builder) unlisted() bool { return b.n == 0 || b.o.Estimate && b.props.len() == 0 }

// offers reads what the row offers: a list of ids, or of objects with an id and features.
func (d *decoder) offers(b *builder, c *column) error {
	if err := b.beginOffers(c.name); err != nil {
		return err
	}
	return d.list(c.name, func(int) error {
		if k := d.PeekKind(); k == '{' && c.role == roleActions {
			form, id, err := d.offer(b, c.name, "id")
			if err != nil {
				return err
			}
			return b.optionID(form, id)
		} else if k == '{' {
			return bad(c.name, "an object among ids: actions with features are column actions")
		} else if c.role == roleActions {
			return bad(c.name, "an entry is no object: a list of ids is column offered")
		}
		form, s, err := d.read()
		if err != nil {
			return err
		}
		b.option()
		return b.optionID(form, s)
	})
}

// offer reads an action with its features, and returns its field of the name id; nil: it has none.
func (d *decoder) offer(b *builder, column, id string) (form jsontext.Kind, text []byte, err error) {
	b.option()
	err = d.object(column, func(name []byte) (err error) {
		switch {
		case string(name) == id:
			form, text, err = d.read()
			text = append([]byte{}, text...)
			return err
		case d.hide && string(name) == "_slot_id" && d.PeekKind() == '0':
			v, err := d.number(column)
			d.slot = int(min(max(v, -1), maxNames))
			return err
		case d.hide && len(name) > 0 && name[0] == '_':
			return d.SkipValue()
		}
		d.name = append(d.name[:0], name...)
		return d.flatten(b, column, d.name, 1)
	})
	return form, text, err
}

// indexed returns the number of the name that index i of a list has.
func (b *builder) indexed(i int) (uint32, error) {
	g := b.into
	for len(g.indices) <= i {
		id, err := b.name(strconv.AppendInt(nil, int64(len(g.indices)), 10), false)
		if err != nil {
			return 0, err
		}
		g.indices = append(g.indices, id)
	}
	return g.indices[i], nil
}

// jsonl reads JSON Lines: an object with the columns of the schema in each line. A blank line is none.
type jsonl struct {
	*table
	decoder *decoder
	within  map[string]bool // objects that have values which are columns
}

func newJSONL(l *lines, b *builder) (reader, error) {
	j := &jsonl{newTable(l, b), newDecoder(), map[string]bool{}}
	for name := range b.renamed {
		for i, c := range name {
			j.within[name[:i]] = j.within[name[:i]] || c == '.'
		}
	}
	return j, nil
}

func (j *jsonl) next(b *builder) error {
	if there, err := j.table.next(b, func() { j.readAhead(b) }); there {
		return err
	}
	if err := j.lines.next(); err != nil {
		return err
	}
	if t := bytes.TrimSpace(j.text); j.rows == 1 && (t[0] == '[' || len(t) == 1) {
		return bad("", "begins with %s: want JSON Lines, an object in each line", quote(t))
	}
	err := j.object(func(name []byte) error { return j.field(b, name) })
	if err == nil && b.n == 0 {
		err = j.check(b)
	}
	return err
}

// field reads a column of the line, or an object that has some within, by the names of both.
func (j *jsonl) field(b *builder, name []byte) error {
	if j.within[string(name)] {
		object := string(name)
		if name = []byte(object); j.decoder.PeekKind() == '{' {
			return j.decoder.object(object, func(part []byte) error {
				return j.field(b, slices.Concat(name, []byte("."), part))
			})
		}
	}
	c, err := j.column(b, name)
	if err != nil {
		return err
	}
	if numberedRoles[strings.TrimRight(c.as, "0123456789")] == c.role { // lines have lists
		c.role = roleIgnored
	}
	return j.value(b, c)
}

// object reads the line, an object.
func (j *jsonl) object(field func(name []byte) error) error {
	return j.decoder.whole("", j.text, func() error { return j.decoder.object("", field) })
}

// value reads a value of a column.
func (j *jsonl) value(b *builder, c *column) error {
	d := j.decoder
	switch k := d.PeekKind(); {
	case c.role == roleIgnored:
		return d.SkipValue()
	case c.role == roleField:
	case k == 'n':
		if c.role == roleContext {
			c.missing++
		}
		return d.SkipValue()
	case c.role == roleOutcome && (k == '{' || k == '['):
		b.outcome(c, '"', []byte("a list or an object"), 0)
		return d.SkipValue()
	case c.role == roleContexts && k != '"':
		return d.context(b, c.name)
	case c.role == rolePropensities && k != '"':
		return d.propensities(b, c.name)
	case (c.role == roleOffered || c.role == roleActions) && k != '"':
		return d.offers(b, c)
	case c.role >= roleSlots && c.role <= roleSlotRewards && k != '"':
		return d.slots(b, c)
	}
	form, s, err := d.read()
	x := 0.0
	switch {
	case err != nil:
		return err
	case form == '0':
		if x, err = numberIn(c.name, s); err != nil {
			return err
		}
	case form == 'f':
		form = 't'
	case form != '"' && form != 't' && c.role != roleField:
		if c.role == roleAction && len(s) > 0 && s[0] == '[' {
			return bad(c.name, "%s is a list: the actions shown in a list are column slots", quote(s))
		}
		return bad(c.name, "%s is none of what the column may have", quote(s))
	}
	return j.cell(b, c, form, s, x)
}

// jsonWriter writes JSON Lines.
type jsonWriter struct{ *Writer }

func (w jsonWriter) row(d *Decision) error {
	w.buf = append(w.buf[:0], '{')
	w.columns(d, func(name, s string) {
		w.key(name)
		w.quote(s)
		w.buf = append(w.buf, ',')
	}, func(name string, v float64) {
		if v != v { // an outcome that is missing
			return
		}
		w.key(name)
		w.number(v)
		w.buf = append(w.buf, ',')
	})
	w.nested(d, w.key, func() { w.buf = append(w.buf, ',') })
	w.buf = append(w.buf[:len(w.buf)-1], "}\n"...)
	return w.flush()
}
