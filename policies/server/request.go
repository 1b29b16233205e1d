package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"opl/policies/features"
)

// maxID is the length in bytes that a decision id may have.
const maxID = 256

// deepest is how deep contexts may be nested.
const deepest = 32

// columns are the names that contexts may have, by those of an encoder.
type columns struct {
	encoder *features.Encoder
	of      map[string]column
	quoted  [][]byte // the encoder's names as JSON
}

// column is a name of contexts: a feature itself, or what categories are of.
type column struct {
	id      int
	feature int // −1: none
}

func newColumns(e *features.Encoder) *columns {
	c := &columns{encoder: e, of: make(map[string]column, len(e.Names))}
	for j, name := range e.Names {
		c.of[name] = column{len(c.of), j}
		quoted, _ := json.Marshal(name) // a string is never refused
		c.quoted = append(c.quoted, quoted)
	}
	for _, name := range e.Names {
		if col, _, ok := strings.Cut(name, "="); ok && col != "" {
			if _, known := c.of[col]; !known {
				c.of[col] = column{len(c.of), -1}
			}
		}
	}
	return c
}

// some lists a few of the names that contexts may have, as an encoder of theirs has them.
func (c *columns) some() string {
	var names []string
	for _, name := range c.encoder.Names {
		if col, _, ok := strings.Cut(name, "="); ok && col != "" {
			name = col
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(names) > 3 {
			return strings.Join(names[:3], ", ") + ", …"
		}
	}
	return strings.Join(names, ", ")
}

// request is a decision that is asked for. Its slices are used again.
type request struct {
	id      []byte    // as JSON, in quotes; empty: none
	context []byte    // as JSON, an object without spaces
	values  []float64 // raw values of the features [d], as Encoder.Finish takes them
	unknown int       // names that are none of the policy's

	names, known int    // leaves of the context, and those of the policy
	seen         []bool // columns
	set          []bool // features
	other        map[string]struct{}
	path, name   []byte
}

// parse reads
//
//	{"context": {name: value, …} or [value, …], "decision_id": "…"}
//
// as the reader of decision logs does. A value is a number, or a string, the category
// of a column; null and "" are no value. true and false are 1 and 0 where the policy
// reads a number, else categories, as a number is where the policy has but
// categories. Nested objects and lists are flattened: {"a":{"b":1}} is "a.b", 1. A
// list instead of the context has the values of all the encoder's names in order.
// Errors start with the field that is wrong.
func (q *request) parse(body []byte, c *columns) error {
	q.id, q.context, q.unknown = q.id[:0], q.context[:0], 0
	if !utf8.Valid(body) {
		return errors.New("the body is not UTF-8")
	}
	p := parser{b: body}
	if p.next() != '{' {
		return p.fail("the body", "want a JSON object with the field context")
	}
	p.at++
	hasContext, hasID := false, false
	for first := true; ; first = false {
		key, more, err := p.key(first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		switch string(key) {
		case `"context"`:
			if hasContext {
				return errors.New("context: comes twice")
			}
			hasContext = true
			err = q.parseContext(&p, c)
		case `"decision_id"`:
			if hasID {
				return errors.New("decision_id: comes twice")
			}
			hasID = true
			err = q.parseID(&p)
		default:
			err = fmt.Errorf("%s: unknown field, want context and decision_id", key)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case p.next() != 0:
		return p.fail("the body", "more follows the JSON object")
	case !hasContext:
		return errors.New("context: missing")
	}
	return nil
}

func (q *request) parseID(p *parser) error {
	if p.next() != '"' {
		return p.fail("decision_id", "want a string")
	}
	id, err := p.string("decision_id")
	if err != nil {
		return err
	}
	if len(id) == 2 || len(id) > maxID+2 {
		return fmt.Errorf("decision_id: %d bytes, want 1 to %d", len(id)-2, maxID)
	}
	q.id = append(q.id, id...)
	return nil
}

func (q *request) parseContext(p *parser, c *columns) error {
	d := c.encoder.Dim()
	if cap(q.values) < d {
		q.values = make([]float64, d)
	}
	q.values = q.values[:d]
	clear(q.values)
	switch p.next() {
	case '{':
		return q.parseObject(p, c)
	case '[':
		return q.parseList(p, c)
	}
	return p.fail("context", "want an object of names and values, or a list of all values")
}

func (q *request) parseList(p *parser, c *columns) error {
	n := len(c.encoder.Names)
	q.context = append(q.context, '{')
	i := 0
	for p.at++; ; i++ {
		ch := p.next()
		if ch == ']' {
			break
		}
		if i > 0 {
			if ch != ',' {
				return p.fail("context", "want , or ]")
			}
			p.at++
			ch = p.next()
		}
		if ch != '-' && (ch < '0' || ch > '9') {
			return p.fail(fmt.Sprintf("context[%d]", i), "want a number")
		}
		raw, v, err := p.number()
		if err != nil {
			return fmt.Errorf("context[%d]: %w", i, err)
		}
		if i >= n {
			continue // counted
		}
		if i > 0 {
			q.context = append(q.context, ',')
		}
		q.context = append(append(append(q.context, c.quoted[i]...), ':'), raw...)
		q.values[i] = v
	}
	if p.at++; i != n {
		return fmt.Errorf("context: a list of %d values, the policy has %d names", i, n)
	}
	q.context = append(q.context, '}')
	return nil
}

func (q *request) parseObject(p *parser, c *columns) error {
	if cap(q.seen) < len(c.of) {
		q.seen = make([]bool, len(c.of))
	}
	if cap(q.set) < len(q.values) {
		q.set = make([]bool, len(q.values))
	}
	q.seen, q.set = q.seen[:len(c.of)], q.set[:len(q.values)]
	clear(q.seen)
	clear(q.set)
	clear(q.other)
	q.names, q.known = 0, 0
	q.context = append(q.context, '{')
	q.path = append(q.path[:0], '"')
	if err := q.members(p, c, 0); err != nil {
		return err
	}
	q.context = append(q.context, '}')
	if q.unknown += q.names - q.known; q.names > 0 && q.known == 0 {
		return fmt.Errorf("context: none of its %d names is one of the policy's: %s", q.names, c.some())
	}
	return nil
}

// members reads an object, or a list in it, whose members' names begin with q.path.
func (q *request) members(p *parser, c *columns, depth int) error {
	if depth > deepest {
		return fmt.Errorf("context: nested deeper than %d", deepest)
	}
	list := p.b[p.at] == '['
	p.at++
	for i := 0; ; i++ {
		if list {
			switch ch := p.next(); {
			case ch == ']':
				p.at++
				return nil
			case i > 0 && ch != ',':
				return p.fail("context", "want , or ]")
			case i > 0:
				p.at++
			}
			if err := q.member(p, c, strconv.AppendInt(nil, int64(i), 10), depth); err != nil {
				return err
			}
			continue
		}
		key, more, err := p.key(i == 0)
		if err != nil {
			return fmt.Errorf("context: %w", err)
		}
		if !more {
			return nil
		}
		if err := q.member(p, c, key[1:len(key)-1], depth); err != nil {
			return err
		}
	}
}

// member reads the value of a name, of which part is the last part.
func (q *request) member(p *parser, c *columns, part []byte, depth int) (err error) {
	begin := len(q.path)
	q.path = append(q.path, part...)
	if ch := p.next(); ch == '{' || ch == '[' {
		q.path = append(q.path, '.')
		err = q.members(p, c, depth+1)
	} else {
		q.path = append(q.path, '"')
		err = q.leaf(p, c, q.path)
	}
	q.path = q.path[:begin]
	return err
}

// leaf reads the value of a name, given in quotes.
func (q *request) leaf(p *parser, c *columns, key []byte) error {
	name, err := plain(key)
	if err != nil {
		return fmt.Errorf("context: %w", err)
	}
	col, ok := c.of[string(name)]
	switch {
	case ok && q.seen[col.id]:
		return fmt.Errorf("context.%s: comes twice", name)
	case ok:
		q.seen[col.id] = true
		q.known++
	default:
		if _, twice := q.other[string(name)]; twice {
			return fmt.Errorf("context.%s: comes twice", name)
		}
		if q.other == nil {
			q.other = make(map[string]struct{})
		}
		q.other[string(name)] = struct{}{}
	}
	if q.names++; q.names > 1 {
		q.context = append(q.context, ',')
	}
	q.context = append(append(q.context, key...), ':')
	return q.leafValue(p, c, name, col, ok)
}

// leafValue reads the value of a name, logs what it was taken for, and puts it into
// its place. known says that the policy has the column.
func (q *request) leafValue(p *parser, c *columns, name []byte, col column, known bool) error {
	var raw []byte
	var err error
	var number float64
	text := false
	ch := p.next()
	switch {
	case ch == '"':
		if raw, err = p.string("context." + string(name)); err != nil {
			return err
		}
		text = true
	case ch == '-' || ch >= '0' && ch <= '9':
		if raw, number, err = p.number(); err != nil {
			return fmt.Errorf("context.%s: %w", name, err)
		}
	case p.word("true"):
		raw, number = wordTrue, 1
	case p.word("false"):
		raw = wordFalse
	case p.word("null"):
		q.context = append(q.context, "null"...)
		return nil
	default:
		return p.fail("context."+string(name), "want a number, a string, true, false or null")
	}
	switch {
	case !known || text && len(raw) == 2: // "" is no value
		q.context = append(q.context, raw...)
		return nil
	case !text && col.feature >= 0:
		if ch == 't' || ch == 'f' {
			raw = strconv.AppendInt(nil, int64(number), 10)
		}
		q.context = append(q.context, raw...)
		return q.put(name, col.feature, number)
	}
	category := raw
	switch {
	case !text && ch != 't' && ch != 'f': // a number that names a category
		q.context = append(append(append(q.context, '"'), raw...), '"')
	default:
		q.context = append(q.context, raw...)
	}
	if text {
		if category, err = plain(raw); err != nil {
			return fmt.Errorf("context.%s: %w", name, err)
		}
	}
	q.name = append(append(append(q.name[:0], name...), '='), category...)
	switch j := c.encoder.FeatureOf(q.name); {
	case j >= 0:
		return q.put(q.name, j, 1)
	case col.feature >= 0:
		return fmt.Errorf("context.%s: a string, where the policy reads a number", name)
	}
	q.unknown++ // a category that training did not see
	return nil
}

var wordTrue, wordFalse = []byte("true"), []byte("false")

// put sets a feature, which a name and a category may both mean.
func (q *request) put(name []byte, feature int, v float64) error {
	if q.set[feature] {
		return fmt.Errorf("context.%s: comes twice", name)
	}
	q.set[feature], q.values[feature] = true, v
	return nil
}

// parser reads JSON from left to right.
type parser struct {
	b  []byte
	at int
}

// next is the next byte that is no space, 0 at the end.
func (p *parser) next() byte {
	for ; p.at < len(p.b); p.at++ {
		switch c := p.b[p.at]; c {
		case ' ', '\t', '\n', '\r':
		case 0:
			return 1 // no end
		default:
			return c
		}
	}
	return 0
}

// fail says what is wrong with a field at the present place.
func (p *parser) fail(field, want string) error {
	if p.next() == 0 {
		return fmt.Errorf("%s: the JSON ends after %d bytes: %s", field, len(p.b), want)
	}
	return fmt.Errorf("%s: %s, at byte %d", field, want, p.at+1)
}

// key reads the next key of an object, in its quotes, and the colon; more is false
// at the object's end.
func (p *parser) key(first bool) (key []byte, more bool, err error) {
	c := p.next()
	if c == '}' {
		p.at++
		return nil, false, nil
	}
	if !first {
		if c != ',' {
			return nil, false, p.fail("the object", "want , or }")
		}
		p.at++
		c = p.next()
	}
	if c != '"' {
		return nil, false, p.fail("the object", "want a name in quotes")
	}
	if key, err = p.string("a name"); err != nil {
		return nil, false, err
	}
	if p.next() != ':' {
		return nil, false, p.fail(string(key), "want a colon")
	}
	p.at++
	return key, true, nil
}

// string reads a string and returns it in its quotes.
func (p *parser) string(field string) ([]byte, error) {
	start := p.at
	for i := start + 1; i < len(p.b); i++ {
		switch c := p.b[i]; {
		case c == '"':
			p.at = i + 1
			return p.b[start:p.at], nil
		case c < ' ':
			return nil, fmt.Errorf("%s: a control character in a string, at byte %d", field, i+1)
		case c == '\\':
			if i++; i >= len(p.b) {
				break
			}
			switch p.b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				switch u := p.escaped(i + 1); {
				case u < 0:
					return nil, fmt.Errorf("%s: an escape that JSON does not have, at byte %d", field, i+1)
				case u == 0: // not every format that logs are joined to can hold it
					return nil, fmt.Errorf("%s: the character zero in a string, at byte %d", field, i+1)
				case utf16.IsSurrogate(u):
					if !strings.HasPrefix(string(p.b[i+5:min(i+7, len(p.b))]), `\u`) || utf16.DecodeRune(u, p.escaped(i+7)) == utf8.RuneError {
						return nil, fmt.Errorf("%s: half of a surrogate pair in a string, at byte %d", field, i+1)
					}
					i += 6
				}
				i += 4
			default:
				return nil, fmt.Errorf("%s: an escape that JSON does not have, at byte %d", field, i+1)
			}
		}
	}
	return nil, fmt.Errorf("%s: the JSON ends within a string", field)
}

// escaped is the number that four hexadecimal digits from a place are, −1 if they are not
// there.
func (p *parser) escaped(at int) rune {
	if at+4 > len(p.b) {
		return -1
	}
	u, err := strconv.ParseUint(string(p.b[at:at+4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(u)
}

// plain is what a string in quotes means.
func plain(quoted []byte) ([]byte, error) {
	for _, c := range quoted {
		if c == '\\' {
			var s string
			err := json.Unmarshal(quoted, &s)
			return []byte(s), err
		}
	}
	return quoted[1 : len(quoted)-1], nil
}

// number reads a number and returns its text as well.
func (p *parser) number() (raw []byte, v float64, err error) {
	start := p.at
	i := start
	digits := func() bool {
		from := i
		for i < len(p.b) && p.b[i] >= '0' && p.b[i] <= '9' {
			i++
		}
		return i > from
	}
	is := func(set string) bool { return i < len(p.b) && strings.IndexByte(set, p.b[i]) >= 0 }
	if is("-") {
		i++
	}
	ok := true
	if is("0") {
		i++
	} else {
		ok = digits()
	}
	if ok && is(".") {
		i++
		ok = digits()
	}
	if ok && is("eE") {
		i++
		if is("+-") {
			i++
		}
		ok = digits()
	}
	if !ok || is("0123456789.eE+-") {
		return nil, 0, fmt.Errorf("no JSON number, at byte %d", start+1)
	}
	p.at, raw = i, p.b[start:i]
	if v, err = strconv.ParseFloat(string(raw), 64); err != nil || math.IsInf(v, 0) {
		return nil, 0, fmt.Errorf("%s is out of range", raw)
	}
	return raw, v, nil
}

// word reads a given word, if it comes next.
func (p *parser) word(w string) bool {
	if strings.HasPrefix(string(p.b[p.at:min(p.at+len(w), len(p.b))]), w) {
		p.at += len(w)
		return true
	}
	return false
}
