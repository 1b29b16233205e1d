package server

import "bytes"

// scanner reads JSON that needs no decoder: ASCII without escapes.
type scanner struct {
	body []byte
	at   int
}

// next is the first byte that is no white space; 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.body); s.at++ {
		if b := s.body[s.at]; b > ' ' || b != ' ' && b != '\n' && b != '\t' && b != '\r' {
			return b
		}
	}
	return 0
}

// take goes past the byte, if it is next.
func (s *scanner) take(b byte) bool {
	if s.next() != b {
		return false
	}
	s.at++
	return true
}

// text is a string with its quotes; nil if it is none, or not a plain one.
func (s *scanner) text() []byte {
	if s.next() != '"' {
		return nil
	}
	for i, b := range s.body[s.at+1:] {
		switch {
		case b == '"':
			from := s.at
			s.at += i + 2
			return s.body[from:s.at]
		case b == '\\' || b < ' ' || b > '~':
			return nil
		}
	}
	return nil
}

// exact are the powers of ten that are float64 numbers.
var exact = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// number is a number and its value; nil: it is none. Where 15 digits at most have no exponent they are exact,
// as the power of ten is, so their quotient is rounded once, as strconv does.
func (s *scanner) number() (raw []byte, v float64) {
	b, at := s.body, s.at
	var sum uint64
	digits := func() (n int) {
		from := at
		for at < len(b) && b[at]-'0' <= 9 {
			sum = 10*sum + uint64(b[at]-'0')
			at++
		}
		return at - from
	}
	minus := at < len(b) && b[at] == '-'
	if minus {
		at++
	}
	first := at
	whole, places, long := digits(), 0, false
	good := whole == 1 || whole > 1 && b[first] != '0'
	if at < len(b) && b[at] == '.' {
		at++
		places = digits()
		good = good && places > 0
	}
	if at < len(b) && b[at]|' ' == 'e' {
		if at++; at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		long = true
		good = good && digits() > 0
	}
	raw, s.at = b[s.at:at], at
	switch {
	case !good:
		return nil, 0
	case long || whole+places > 15:
		v, err := number(raw)
		if err != nil {
			return nil, 0
		}
		return raw, v
	}
	if v = float64(sum) / exact[places]; minus {
		v = -v
	}
	return raw, v
}

var words = [...][]byte{[]byte("true"), []byte("false"), []byte("null")}

// word is true, false or null; nil: another.
func (s *scanner) word() []byte {
	for _, word := range words {
		if from := s.at; bytes.HasPrefix(s.body[from:], word) {
			s.at += len(word)
			return s.body[from:s.at]
		}
	}
	return nil
}

// quick is parse of what most requests are: a flat context of plain names with numbers, plain
// strings, true, false and null, and perhaps a plain id. Whatever else it meets, and every error, is for parse to read,
// from the start.
func (q *request) quick(body []byte, c *columns) bool {
	s := scanner{body: body}
	for more := s.take('{'); more; more = s.take(',') {
		switch key := s.text(); {
		case !s.take(':'):
			return false
		case string(key) == `"context"` && len(q.context) == 0:
			if !q.quickContext(&s, c) {
				return false
			}
		case string(key) == `"decision_id"` && len(q.id) == 0:
			id := s.text()
			if len(id) < 3 || len(id) > maxID+2 {
				return false
			}
			q.id = append(q.id, id...)
		case string(key) == `"group"` && len(q.group) == 0:
			group := s.text()
			if len(group) < 3 || len(group) > maxID+2 {
				return false
			}
			q.group = append(q.group, group...)
		default:
			return false
		}
	}
	return s.take('}') && len(q.context) > 0 && s.next() == 0 && s.at == len(body)
}

func (q *request) quickContext(s *scanner, c *columns) bool {
	q.begin(c)
	q.beginObject(c)
	i := 0
	for more := s.take('{'); more; more = s.take(',') {
		path := s.text()
		if path == nil || !s.take(':') {
			return false
		}
		// Most clients give their names in one order.
		if i == len(q.order) {
			q.order = append(q.order, 0)
		}
		name, col := path[1:len(path)-1], -1
		at, known := q.order[i], true
		if int(at) >= len(c.calls) || c.calls[at].called != string(name) {
			at, known = c.of[string(name)]
		}
		if known {
			q.order[i] = at
			name, path, col = c.calls[at].as(name, path)
		}
		if i++; q.name(c, name, path, col) != nil {
			return false
		}
		var raw []byte
		var v float64
		kind := s.next()
		switch kind {
		case '"':
			raw = s.text()
		case 't', 'f', 'n':
			raw = s.word()
		default:
			kind = '0'
			raw, v = s.number()
		}
		if raw == nil || q.value(c, name, path, col, raw, kind, v) != nil {
			return false
		}
	}
	if i == 0 || !s.take('}') || q.endObject(c) != nil {
		return false
	}
	q.closeContext()
	return true
}
