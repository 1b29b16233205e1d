package logs

import (
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
)

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
	case form == '0':
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
