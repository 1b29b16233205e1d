package logs

import (
	"bytes"
	"errors"
	"strconv"
)

// jsonLine reads lines with the fields of one that was read, in their order, whose contexts are numbers.
type jsonLine []jsonField

// jsonField is a field of a line.
type jsonField struct {
	key   []byte // in quotes
	is    byte   // '0' a number of the context, '[' a list of them, '{' numbers by name; 0: any other
	list  bool   // it may be a list of numbers
	text  bool   // or must be a text
	inner jsonLine
	many  int // numbers in a list
}

// readAhead begins to read lines ahead that are as the last one, if it is one of a context of numbers.
func (j *jsonl) readAhead(b *builder) {
	w, d := wide{alone: j.wide.alone}, j.decoder
	var columns []blockColumn
	var line jsonLine
	other := errors.New("another line") // to be read by itself
	known := func(name []byte) error {
		id, ok := b.contexts.vocabulary.places[string(name)]
		if !ok {
			return other
		}
		columns = append(columns, blockColumn{place: len(w.columns)})
		w.columns, w.hashes = append(w.columns, nil), append(w.hashes, b.contexts.nameHash[id])
		w.ids = append(w.ids, uint32(id))
		return d.SkipValue()
	}
	if j.object(func(name []byte) (err error) {
		i, there := j.index[string(name)]
		if !there {
			return other
		}
		f, c := jsonField{key: quoted(nil, name)}, j.columns[i]
		switch first := d.PeekKind(); {
		case c.role == roleOffered || c.role == roleActions || c.role >= roleSlots:
			return other
		case c.role == roleContext && c.kind == number && c.hasID:
			f.is = '0'
			columns = append(columns, blockColumn{c, len(w.columns)})
			w.add(c)
			w.ids = append(w.ids, c.id)
			err = d.SkipValue()
		case c.role == roleContexts && first == '{':
			f.is = '{'
			err = d.object(c.name, func(name []byte) error {
				f.inner = append(f.inner, jsonField{key: quoted(nil, name), is: '0'})
				return known(name)
			})
		case c.role == roleContexts && first == '[':
			f.is = '['
			err = d.list(c.name, func(i int) error {
				if f.many++; i >= len(b.contexts.indices) {
					return other
				}
				return known([]byte(b.contexts.names[b.contexts.indices[i]]))
			})
			w.list = f.many
		default:
			if c.role == roleContext || c.role == roleContexts {
				w.alone = false
			}
			f.list, f.text = c.role == rolePropensities, c.role == rolePropensities || c.role == roleContexts
			columns = append(columns, blockColumn{c, -1})
			err = d.SkipValue()
		}
		line = append(line, f)
		return err
	}) == nil && line.line(&rowBlock{}, j.text, 0) && len(w.columns) > 0 {
		j.wide = w
		j.begin(line, columns)
	}
}

func (l jsonLine) blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

func (l jsonLine) line(k *rowBlock, line []byte, at int) bool {
	end, ok := l.object(k, line, blanks(line, 0), at)
	return ok && blanks(line, end) == len(line)
}

// object reads an object that begins at s[at].
func (l jsonLine) object(k *rowBlock, s []byte, at, base int) (int, bool) {
	at, ok := mark(s, at, '{')
	if !ok {
		return at, false
	}
	for i := range l {
		f := &l[i]
		if i > 0 {
			at, ok = mark(s, at, ',')
		}
		if at = blanks(s, at); !ok || !bytes.HasPrefix(s[at:], f.key) {
			return at, false
		}
		if at, ok = mark(s, at+len(f.key), ':'); !ok {
			return at, false
		}
		at = blanks(s, at)
		switch f.is {
		case '0':
			var v float64
			if bytes.HasPrefix(s[at:], []byte("null")) {
				v, at, ok = absent, at+4, true
			} else {
				v, at, ok = jsonNumber(s, at)
			}
			k.numbers = append(k.numbers, v)
		case '[':
			n := len(k.numbers)
			at, ok = jsonList(s, at, func(v float64) { k.numbers = append(k.numbers, v) })
			ok = ok && len(k.numbers)-n == f.many
		case '{':
			at, ok = f.inner.object(k, s, at, base)
		default:
			at, ok = f.other(k, s, at, base)
		}
		if !ok {
			return at, false
		}
	}
	return mark(s, at, '}')
}

// mark returns the place behind a mark, before which there may be blanks.
func mark(s []byte, at int, c byte) (int, bool) {
	if at = blanks(s, at); at < len(s) && s[at] == c {
		return at + 1, true
	}
	return at, false
}

// other reads a cell that begins at s[at].
func (f *jsonField) other(k *rowBlock, s []byte, at, base int) (int, bool) {
	if at >= len(s) {
		return at, false
	}
	cell := blockCell{from: base + at}
	end, ok := at, false
	switch c := s[at]; {
	case c == '"':
		end, ok = jsonText(s, at)
		cell = blockCell{'"', base + at + 1, base + end - 1, 0}
	case c == '[' && f.list:
		cell.from = len(k.lists)
		end, ok = jsonList(s, at, func(v float64) { k.lists = append(k.lists, v) })
		cell.form, cell.to = '[', len(k.lists)
	case bytes.HasPrefix(s[at:], []byte("null")):
		end, ok = at+4, true
		cell.form, cell.to = 'n', base+end
	case f.text:
	case c == 't' || c == 'f':
		word := []byte(strconv.FormatBool(c == 't'))
		end, ok = at+len(word), bytes.HasPrefix(s[at:], word)
		cell.form, cell.to = 't', base+end
	default:
		cell.form = '0'
		cell.number, end, ok = jsonNumber(s, at)
		cell.to = base + end
	}
	k.cells = append(k.cells, cell)
	return end, ok
}

// jsonList goes through a list of numbers that begins at s[at].
func jsonList(s []byte, at int, use func(v float64)) (int, bool) {
	for at, ok := mark(s, at, '['); ok; at, ok = mark(s, at, ',') {
		var v float64
		if v, at, ok = jsonNumber(s, blanks(s, at)); !ok {
			break
		}
		use(v)
		if end, last := mark(s, at, ']'); last {
			return end, true
		}
	}
	return at, false
}

// jsonText finds the end of a text without escapes that begins at s[at].
func jsonText(s []byte, at int) (int, bool) {
	if at >= len(s) || s[at] != '"' {
		return at, false
	}
	for i, c := range s[at+1:] {
		switch {
		case c == '"':
			return at + i + 2, true
		case c < ' ' || c == '\\':
			return at, false
		}
	}
	return at, false
}

// blanks is the first place from at on that is none.
func blanks(s []byte, at int) int {
	for at < len(s) && (s[at] == ' ' || s[at] == '\t' || s[at] == '\n' || s[at] == '\r') {
		at++
	}
	return at
}
