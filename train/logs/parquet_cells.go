package logs

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
)

// The functions of this file make cells of the values that leaves have in a row.

// wrong is a cell that could not be read, with the reason.
func (k *rowBlock) wrong(format string, args ...any) blockCell {
	from := len(k.text)
	k.text = fmt.Appendf(k.text, format, args...)
	return blockCell{form: '!', from: from, to: len(k.text)}
}

// scalarCell is the value of a leaf that has one in each row.
func scalarCell(k *rowBlock, leaves []*leaf, values [][]parquet.Value) blockCell {
	l, v := leaves[0], values[0][0]
	c := l.column
	if v.IsNull() {
		return blockCell{form: 'n'}
	}
	kind := v.Kind()
	if c.role == roleTime && (kind == parquet.Int96 || l.unit != 0) {
		nanos, ok := l.nanos(v)
		if !ok {
			return k.wrong("%v is no time", v)
		}
		return blockCell{form: 'T', number: math.Float64frombits(uint64(nanos))}
	}
	form, s, x := l.value(v)
	switch {
	case c.role == roleField && form != '0' && form != 't':
		form = '"'
		if s == nil {
			s = []byte(v.String())
		}
	case form == 0:
		return k.wrong("%s is none of what the column may have", v)
	case form == '"' && !utf8.Valid(s):
		return k.wrong("the text is not UTF-8")
	case form == '0' && s == nil && (kind == parquet.Int32 || kind == parquet.Int64) &&
		(c.role == roleField || c.textual() && (c.role != roleContext || math.Abs(x) >= 1<<53)): // it may be none of float64
		s = l.appendDigits(nil, v, x)
	}
	cell := blockCell{form: form, from: len(k.text), number: x}
	k.text = append(k.text, s...)
	cell.to = len(k.text)
	return cell
}

const day = 86400e9 // nanoseconds

// nanos is a time in the leaf's unit, or of 96 bits.
func (l *leaf) nanos(v parquet.Value) (nanos int64, ok bool) {
	x, unit := int64(0), max(l.unit, 1)
	switch v.Kind() {
	case parquet.Int96:
		t := v.Int96()
		const julian = 2440588 // of 1970-01-01
		x, nanos, unit = int64(t[2])-julian, int64(t[0])|int64(t[1])<<32, day
	case parquet.Int32:
		x = int64(v.Int32())
	default:
		x = v.Int64()
	}
	return x*unit + nanos, x <= 9.2e18/unit && x >= -9.2e18/unit
}

// listCell is a list of numbers; one that is null or empty is none of a log's.
func listCell(k *rowBlock, leaves []*leaf, values [][]parquet.Value) blockCell {
	l, field := leaves[0], leaves[0].column.role == roleField
	cell := blockCell{form: '[', from: len(k.lists)}
	for _, v := range values[0] {
		form, _, x := l.value(v)
		switch {
		case v.IsNull() && v.DefinitionLevel() < l.entry: // the list
		case v.IsNull() && field:
			return blockCell{form: 'n'}
		case v.IsNull():
			return k.wrong("null among the numbers of a list")
		case form != '0' && field:
			return blockCell{form: '"'}
		case form != '0':
			return k.wrong("%s is not a number", v)
		default:
			k.lists = append(k.lists, x)
		}
	}
	if cell.to = len(k.lists); cell.from == cell.to && !field {
		return blockCell{form: 'n'}
	}
	return cell
}

// mapCell is numbers by name.
func mapCell(k *rowBlock, leaves []*leaf, values [][]parquet.Value) blockCell {
	keys := values[0]
	if len(keys) != len(values[1]) {
		return k.wrong("a map with %d keys and %d values", len(keys), len(values[1]))
	}
	cell := blockCell{form: '{', from: len(k.pairs)}
	for i, v := range values[1] {
		form, _, x := leaves[1].value(v)
		switch {
		case keys[i].IsNull(): // the map is
			continue
		case v.IsNull():
			return k.wrong("null among the numbers of a map")
		case form != '0':
			return k.wrong("%s is not a number", v)
		}
		from := len(k.text)
		k.text = append(k.text, keys[i].ByteArray()...)
		k.pairs = append(k.pairs, pair{from, len(k.text), x})
	}
	cell.to = len(k.pairs)
	return cell
}

// appendDigits appends a number as an id is written.
func (l *leaf) appendDigits(text []byte, v parquet.Value, x float64) []byte {
	switch k := v.Kind(); {
	case k == parquet.Int64 && l.unsigned:
		return strconv.AppendUint(text, v.Uint64(), 10)
	case k == parquet.Int64:
		return strconv.AppendInt(text, v.Int64(), 10)
	case x == math.Trunc(x) && math.Abs(x) < 1<<53 && (x != 0 || !math.Signbit(x)):
		return strconv.AppendInt(text, int64(x), 10)
	}
	return strconv.AppendFloat(text, x, 'g', -1, 64)
}

// value is a value as a table's cell takes it; of form 0 if it is none that it can take.
func (l *leaf) value(v parquet.Value) (form jsontext.Kind, s []byte, x float64) {
	kind := v.Kind()
	switch timed := l.unit != 0 || kind == parquet.Int96; {
	case v.IsNull():
		return 0, nil, 0
	case timed: // the unit is the file's, and the number would mean something else in the next one
		layout := time.RFC3339Nano
		if l.unit == day {
			layout = time.DateOnly
		}
		if nanos, ok := l.nanos(v); ok {
			return '"', time.Unix(0, nanos).UTC().AppendFormat(nil, layout), 0
		}
		return 0, nil, 0
	case l.scale != nil:
		return l.decimal(v)
	case l.uuid:
		b := v.ByteArray()
		return '"', fmt.Appendf(nil, "%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16]), 0
	}
	switch kind {
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

// decimal is a value of as many places as the leaf has, without zeros at its end.
func (l *leaf) decimal(v parquet.Value) (form jsontext.Kind, s []byte, x float64) {
	n := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default: // the two's complement
		b := v.ByteArray()
		if n.SetBytes(b); len(b) > 0 && b[0] > 127 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	r := new(big.Rat).SetFrac(n, l.scale)
	if s = []byte(r.FloatString(l.places)); l.places > 0 {
		s = bytes.TrimRight(bytes.TrimRight(s, "0"), ".")
	}
	x, _ = r.Float64()
	return '0', s, x
}

// node is a nested column, or what is within one.
type node struct {
	name     string
	key      []byte  // the name as JSON has it
	form     byte    // of JSON: '[' a list, '{' a group, 'm' a map, 'v' a value
	def, rep int     // definition level from which there is one, repetition level of a list's further entries
	from, to int     // leaves within it
	parts    []*node // of a list what it is of, of a map key and value
}

// nodeOf is the node of a column, whose leaves it appends.
func nodeOf(c *parquet.Column, leaves *[]*parquet.Column) *node {
	n := &node{name: c.Name(), key: quoted(nil, []byte(c.Name())), form: '{', def: c.MaxDefinitionLevel(),
		from: len(*leaves)}
	if c.Leaf() {
		n.form = 'v'
		*leaves = append(*leaves, c)
	}
	for _, child := range c.Columns() {
		n.parts = append(n.parts, nodeOf(child, leaves))
	}
	n.to = len(*leaves)
	switch {
	case c.Repeated():
		list := *n
		list.form, list.rep, list.parts = '[', c.MaxRepetitionLevel(), []*node{n}
		return &list
	case len(n.parts) == 1 && n.parts[0].form == '[': // a group that the format has around lists and maps
		list := n.parts[0]
		of := list.parts[0]
		list.name, list.key = n.name, n.key
		switch {
		case len(of.parts) == 2 && of.parts[0].name == "key" && of.parts[1].name == "value":
			list.form, list.parts = 'm', of.parts
		case len(of.parts) == 1 && of.name != "array" && of.name != n.name+"_tuple":
			list.parts = of.parts
		}
		return list
	}
	return n
}

// ofNumbers reports a map of numbers by texts.
func (n *node) ofNumbers(leaves []*leaf) bool {
	return n.form == 'm' && len(leaves) == 2 && leaves[0].parquet == parquet.ByteArray &&
		leaves[1].parquet != parquet.ByteArray
}

// nested makes JSON of the values of a nested column. Maps that are within a group have no name of their own.
type nested struct {
	text   []byte
	values [][]parquet.Value // that are left, by leaf
	leaves []*leaf
	wrong  string // why there is none
}

func (w *nested) write(n *node) {
	first := w.values[n.from][0]
	switch there := first.DefinitionLevel() >= n.def; {
	case n.form == 'v':
		w.values[n.from] = w.values[n.from][1:]
		w.value(w.leaves[n.from], first)
	case !there:
		for i := n.from; i < n.to; i++ {
			w.values[i] = w.values[i][1:]
		}
		w.text = append(w.text, map[byte]string{'[': "[]", 'm': "{}", '{': "null"}[n.form]...)
	case n.form == '[':
		w.text = append(w.text, '[')
		w.each(n, func() { w.write(n.parts[0]) })
		w.end(']')
	default:
		w.text = append(w.text, '{')
		w.members(n)
		w.end('}')
	}
}

// each writes the entries of a list, or of a map, with a comma behind each.
func (w *nested) each(n *node, entry func()) {
	for more := true; more; {
		entry()
		w.text = append(w.text, ',')
		left := w.values[n.from]
		more = len(left) > 0 && left[0].RepetitionLevel() >= n.rep
	}
}

// members writes those of a map or a group, with a comma behind each.
func (w *nested) members(n *node) {
	if n.form == 'm' {
		w.each(n, func() {
			if key := w.values[n.from][0]; key.Kind() != parquet.ByteArray {
				w.wrong = fmt.Sprintf("the key %s of a map is no text", key)
			}
			w.write(n.parts[0])
			w.text = append(w.text, ':')
			w.write(n.parts[1])
		})
		return
	}
	for _, p := range n.parts {
		if p.form == 'm' && w.values[p.from][0].DefinitionLevel() >= p.def {
			w.members(p)
			continue
		}
		before := len(w.text)
		w.text = append(append(w.text, p.key...), ':')
		if w.write(p); p.form == 'm' {
			w.text = w.text[:before]
			continue
		}
		w.text = append(w.text, ',')
	}
}

// end ends a list or an object.
func (w *nested) end(bracket byte) {
	if last := len(w.text) - 1; w.text[last] == ',' {
		w.text = w.text[:last]
	}
	w.text = append(w.text, bracket)
}

func (w *nested) value(l *leaf, v parquet.Value) {
	form, s, x := l.value(v)
	switch {
	case v.IsNull():
		w.text = append(w.text, "null"...)
	case form == '0' && x-x != 0:
		w.wrong = fmt.Sprintf("%v is not finite", x)
	case form == '0' && s == nil:
		w.text = l.appendDigits(w.text, v, x)
	case form == '"' && utf8.Valid(s):
		w.text = quoted(w.text, s)
	case form == '"':
		w.wrong = "the text is not UTF-8"
	case form == 0:
		w.wrong = fmt.Sprintf("%s is none of what the column may have", v)
	default:
		w.text = append(w.text, s...)
	}
}

// quoted appends a text that is UTF-8 as JSON.
func quoted(text, s []byte) []byte {
	text, _ = jsontext.AppendQuote(text, s)
	return text
}

// cell makes a cell of the values of a nested column in a row.
func (n *node) cell(k *rowBlock, leaves []*leaf, values [][]parquet.Value) blockCell {
	cell := blockCell{from: len(k.text)}
	w := nested{text: k.text, values: values, leaves: leaves}
	if w.write(n); w.wrong != "" {
		return k.wrong("%s", w.wrong)
	}
	k.text = w.text
	cell.to = len(k.text)
	return cell
}
