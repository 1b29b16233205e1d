package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"opl/policies/features"
	"opl/policies/policyfile"
)

const (
	maxID   = 256 // bytes that the id of a decision, or of an action, may have
	deepest = 32  // how deep contexts may be nested
)

// Limits of what a request may offer and ask for.
const (
	maxOffered = 4096 // actions
	maxTop     = 100
)

// columns knows the names that contexts, or actions, may have, and where an encoder has their values.
type columns struct {
	encoder *features.Encoder
	of      map[string]int32 // calls, by what is called
	calls   []call
	width   int      // features, and what categories are of
	quoted  [][]byte // the encoder's names as JSON
	names   int      // that a context may have
	bytes   int      // that it may take, flat
	group   []int    // the column of each feature
	strict  bool     // objects must have all of them, and no other

	policy *policyfile.Policy // whose actions have features; nil: they have none
	items  *columns           // of these
}

// call is a name by which a request may call a column: the policy's own, or one that the log's file had.
type call struct {
	called string
	name   []byte // the policy's
	quoted []byte // as JSON; nil: as called
	col    int    // a feature by its place, or after these what categories are of
}

// add adds a name.
func (c *columns) add(l call) {
	c.of[l.called] = int32(len(c.calls))
	c.calls = append(c.calls, l)
}

// called adds the names that columns of the log had: NAME for x_NAME, and those that the policy file keeps, so that
// clients send the fields that they logged. The policy's own names take precedence.
func (c *columns) called(kept map[string]string) {
	own := slices.Clone(c.calls)
	add := func(short string, of call) {
		if at, is := c.of[short]; is && int(at) < len(own) || short == "" || short == of.called {
			return
		}
		of.quoted, _ = json.Marshal(of.called) // a string is never refused
		of.called = short
		c.add(of)
	}
	for _, of := range own {
		if short, ok := strings.CutPrefix(of.called, "x_"); ok {
			add(short, of)
		}
	}
	for name, column := range kept {
		if at, is := c.of[name]; is && int(at) < len(own) {
			add(column, own[at])
		}
	}
}

// A context may have twice the policy's names and so many more.
const moreNames = 4096

var hashSeed = maphash.MakeSeed()

// newColumns takes the names of an encoder's features, and of the columns that its categories are of.
func newColumns(e *features.Encoder, bytes int) *columns {
	c := &columns{encoder: e, of: make(map[string]int32, len(e.Names)),
		names: 2*len(e.Names) + moreNames, bytes: bytes}
	for j, name := range e.Names {
		c.add(call{called: name, name: []byte(name), col: j})
		quoted, _ := json.Marshal(name) // a string is never refused
		c.quoted = append(c.quoted, quoted)
	}
	for _, name := range e.Names {
		col, _, ok := strings.Cut(name, "=")
		if !ok || col == "" {
			continue
		}
		if _, known := c.of[col]; !known {
			c.add(call{called: col, name: []byte(col), col: len(c.calls)})
		}
	}
	c.width = len(c.calls)
	for j, name := range e.Names {
		c.group = append(c.group, j)
		if col, _, ok := strings.Cut(name, "="); ok && col != "" {
			c.group[j] = c.calls[c.of[col]].col
		}
	}
	return c
}

// columnsOf returns the names by which a policy knows contexts and actions.
func columnsOf(p *policyfile.Policy, bytes int, strict bool) *columns {
	c := newColumns(p.Inputs(), bytes)
	c.called(p.File().Columns)
	c.strict = strict
	if p.HasItems() {
		c.policy, c.items = p, newColumns(p.ItemInputs(), bytes)
		c.items.strict = strict
	}
	return c
}

// some lists a few of the names that contexts may have, for errors.
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

// request is a decision that a client asks for. Later requests use its slices again.
type request struct {
	id      []byte    // as JSON, in quotes; empty: none
	group   []byte    // of decisions that may depend on one another, likewise
	context []byte    // as JSON, an object without spaces
	values  []float64 // raw values of the features [d], as Encoder.Finish takes them
	unknown int       // names that are none of the policy's

	set     *policyfile.Offered // what is offered; nil: all of the policy's actions
	setText []byte              // "actions":[…] or "offered":[…], in one line; empty: nothing
	top     int                 // of how many actions the propensities are asked for
	slots   int                 // of the list that is asked for; 0: an action is
	late    error               // an action that the catalogue lacks

	field        string // that errors of what is being read begin with
	item         item   // the action that is being read
	spare        *policyfile.Offered
	inSet        bool
	names, known int // leaves of the context, and those of the policy
	given        int // leaves that have a value
	// what is wrong with the first name or category that the policy does not know, if columns are strict
	stranger     string
	seen, filled []bool              // columns, features
	other        map[uint64]struct{} // hashes of names that are not the policy's
	path, joined []byte

	in   bytes.Buffer
	json jsontext.Decoder
}

// item is an action that a request describes.
type item struct {
	flat, id []byte // as JSON: its values, led by commas, and its id
	values   []float64
}

// repeated lets the decoder pass names that come twice: name finds them, once nested objects are flat.
var repeated = jsontext.AllowDuplicateNames(true)

// parse reads
//
//	{"context": {name: value, …} or [value, …], "decision_id": "…"}
//
// and, where actions have features, "actions": [{"id": "…", name: value, …}, …] or "offered":
// ["id", …], and "top" or "slots": a number,
//
// as the reader of decision logs does. A value is a number, or a string, the category
// of a column; null and "" are no value. true and false are 1 and 0 where the policy
// reads a number, else categories, as a number is where the policy has but
// categories. Nested objects and lists are flattened: {"a":{"b":1}} is "a.b", 1. A
// list instead of the context has the values of all the encoder's names in order.
// Errors start with the field that is wrong.
func (q *request) parse(body []byte, c *columns) error {
	// What the request before left is forgotten, and its memory kept.
	q.id, q.group, q.context, q.unknown = q.id[:0], q.group[:0], q.context[:0], 0
	q.set, q.setText, q.top, q.slots, q.late = nil, q.setText[:0], 0, 0, nil
	q.in = *bytes.NewBuffer(body)
	q.json.Reset(&q.in, repeated)
	err := q.fields(c)
	wrong, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return err
	}
	field := strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
	if err = wrong.Err; err == io.ErrUnexpectedEOF {
		err = errors.New("the JSON ends")
	}
	return fmt.Errorf("%s: %w, after %d bytes", cmp.Or(field, "the body"), err, wrong.ByteOffset)
}

// fields reads the members of the body.
func (q *request) fields(c *columns) error {
	if q.json.PeekKind() != '{' {
		return errors.New("the body: want a JSON object with the field context")
	}
	_, err := q.json.ReadToken()
	for err == nil && q.json.PeekKind() != '}' {
		var key jsontext.Value
		if key, err = q.json.ReadValue(); err != nil {
			return err
		}
		switch string(key) {
		case `"context"`:
			if len(q.context) > 0 {
				return errors.New("context: comes twice")
			}
			err = q.parseContext(c)
		case `"decision_id"`:
			err = q.parseText("decision_id", &q.id)
		case `"group"`:
			err = q.parseText("group", &q.group)
		case `"actions"`, `"offered"`, `"top"`, `"slots"`:
			field := string(key[1 : len(key)-1])
			switch {
			case c.policy == nil:
				return fmt.Errorf("%s: the policy's actions have no features: it chooses among all of its own, and "+
					"answers the propensities of all", field)
			case field == "top":
				err = q.parseCount("top", "actions", maxTop, &q.top)
			case field == "slots":
				err = q.parseCount("slots", "slots", maxSlots, &q.slots)
			case len(q.setText) > 0:
				return fmt.Errorf("%s: comes twice, or both of actions and offered are there", field)
			default:
				err = q.parseSet(field, c)
			}
		default:
			err = fmt.Errorf("%s: unknown field, want context, decision_id and group, and where actions have features "+
				"actions or offered, and top or slots", key)
		}
	}
	if err == nil {
		_, err = q.json.ReadToken()
	}
	if err != nil {
		return err
	}
	if len(q.context) == 0 {
		return errors.New("context: missing")
	}
	if c.policy != nil && q.set == nil && c.policy.Catalogue() == nil {
		return errors.New("actions: missing, and the policy has no catalogue: say which are offered")
	}
	if _, err := q.json.ReadToken(); err != io.EOF {
		return errors.New("the body: more follows the JSON object")
	}
	return nil
}

// parseText reads an id or a group: a string of 1 to maxID bytes that comes once.
func (q *request) parseText(field string, to *[]byte) error {
	if len(*to) > 0 {
		return fmt.Errorf("%s: comes twice", field)
	}
	raw, err := q.json.ReadValue()
	if err == nil {
		_, err = short(field, raw)
	}
	*to = append(*to, raw...)
	return err
}

// short returns the text of a JSON string of 1 to maxID bytes.
func short(field string, raw jsontext.Value) ([]byte, error) {
	switch {
	case raw.Kind() != '"':
		return nil, fmt.Errorf("%s: want a string", field)
	case len(raw) == 2 || len(raw) > maxID+2:
		return nil, fmt.Errorf("%s: %d bytes, want 1 to %d", field, len(raw)-2, maxID)
	}
	text, err := plain(raw)
	if err != nil {
		err = fmt.Errorf("%s: %w", field, err)
	}
	return text, err
}

// parseCount reads a number from 1 on, which only one of the fields top and slots has.
func (q *request) parseCount(field, of string, most int, to *int) error {
	raw, err := q.json.ReadValue()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 || n > most || *to > 0 {
		return fmt.Errorf("%s: want a number of %s, 1 to %d, once", field, of, most)
	}
	if *to = n; q.top > 0 && q.slots > 0 {
		return errors.New("slots: a list has the propensities of its slots: leave out top")
	}
	return nil
}

// parseSet reads the actions that are offered: objects with id and values, or ids of the catalogue.
func (q *request) parseSet(field string, c *columns) error {
	if q.spare == nil {
		q.spare = c.policy.NewOffered()
	}
	q.set = q.spare
	q.set.Reset(c.policy)
	if kind := q.json.PeekKind(); kind != '[' {
		if _, err := q.json.ReadValue(); err != nil {
			return err
		}
		return fmt.Errorf("%s: want a list", field)
	}
	_, err := q.json.ReadToken()
	q.setText = append(append(append(q.setText, '"'), field...), `":[`...)
	for i := 0; err == nil && q.json.PeekKind() != ']'; i++ {
		if i == maxOffered {
			return fmt.Errorf("%s: more than %d", field, maxOffered)
		}
		if i > 0 {
			q.setText = append(q.setText, ',')
		}
		q.field = field + "[" + strconv.Itoa(i) + "]"
		if field == "offered" {
			err = q.offeredID(c)
		} else {
			err = q.describedAction(c)
		}
		if err != nil {
			return err
		}
		if len(q.setText) > 2*c.bytes {
			return fmt.Errorf("%s: flat, they have more than %d bytes", field, 2*c.bytes)
		}
	}
	if err == nil {
		_, err = q.json.ReadToken()
	}
	if err == nil && len(q.setText) == len(field)+4 {
		err = fmt.Errorf("%s: no action is offered", field)
	}
	q.setText = append(q.setText, ']')
	return err
}

// offeredID reads an id of the catalogue. One that it lacks is told when the request turns out to be
// none that was answered before.
func (q *request) offeredID(c *columns) error {
	raw, err := q.json.ReadValue()
	if err != nil {
		return err
	}
	id, err := short("id", raw)
	if err != nil {
		return q.wrong(err)
	}
	q.setText = append(q.setText, raw...)
	if a := c.policy.Find(string(id)); a >= 0 {
		return q.wrong(q.set.AddAt(a))
	}
	if err := q.set.Add(features.Offer{Action: string(id)}); err != nil && q.late == nil {
		q.late = fmt.Errorf("offered: %w", err)
	}
	return nil
}

// wrong prefixes an error with its place in the request.
func (q *request) wrong(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", q.field, err)
}

// describedAction reads an action with its values.
func (q *request) describedAction(c *columns) (err error) {
	if q.json.PeekKind() != '{' {
		if _, err := q.json.ReadValue(); err != nil {
			return err
		}
		return q.wrong(errors.New("want an object of id, names and values; ids of the catalogue are a list offered"))
	}
	d := c.items.encoder.Dim()
	q.item.values = slices.Grow(q.item.values[:0], d)[:d]
	clear(q.item.values)
	q.inSet, q.item.id = true, q.item.id[:0]
	context, values := q.context, q.values
	q.context, q.values = q.item.flat[:0], q.item.values
	err = q.parseObject(c.items)
	q.item.flat, q.item.values = q.context, q.values
	q.context, q.values, q.inSet = context, values, false
	if err != nil {
		return err
	}
	if len(q.item.id) == 0 {
		return q.wrong(errors.New("id: missing"))
	}
	if q.given == 0 && len(c.items.quoted) > 0 { // logs have features of every action: what is missing is 0
		q.item.flat = append(append(append(q.item.flat[:0], ','), c.items.quoted[0]...), ":0"...)
	}
	q.setText = append(append(q.setText, `{"id":`...), q.item.id...)
	q.setText = append(append(q.setText, q.item.flat...), '}')
	id, err := plain(q.item.id)
	if err != nil {
		return q.wrong(err)
	}
	return q.wrong(q.set.AddRaw(string(id), q.item.values))
}

// missing returns a name of the policy's, or a column of its categories, that an object did not have, or "".
func (q *request) missing(c *columns) string {
	for j, of := range c.group {
		q.seen[of] = q.seen[of] || q.seen[j]
	}
	for j, of := range c.group {
		if !q.seen[of] {
			name, _, _ := strings.Cut(c.encoder.Names[j], "=")
			return cmp.Or(name, c.encoder.Names[j])
		}
	}
	return ""
}

// parseContext reads the context: names and values, or all values in order.
func (q *request) parseContext(c *columns) error {
	q.field = "context"
	d := c.encoder.Dim()
	q.values = slices.Grow(q.values[:0], d)[:d]
	c.encoder.Clear(q.values)
	switch q.json.PeekKind() {
	case '{':
		err := q.parseObject(c)
		q.closeContext()
		return err
	case '[':
		return q.parseList(c)
	}
	if _, err := q.json.ReadValue(); err != nil {
		return err
	}
	return errors.New("context: want an object of names and values, or a list of all values")
}

// parseList reads a context that is a list of the values of all features, in their order.
func (q *request) parseList(c *columns) error {
	_, err := q.json.ReadToken()
	n, i := len(c.encoder.Names), 0
	for ; err == nil && q.json.PeekKind() != ']'; i++ {
		raw, err := q.json.ReadValue()
		if err != nil {
			return err
		}
		if raw.Kind() != '0' {
			return fmt.Errorf("context[%d]: want a number", i)
		}
		v, err := number(raw)
		if err != nil {
			return fmt.Errorf("context[%d]: %w", i, err)
		}
		if i < n { // else counted
			q.context = append(append(append(append(q.context, ','), c.quoted[i]...), ':'), raw...)
			q.values[i] = v
		}
	}
	if _, err = q.json.ReadToken(); err == nil && i != n {
		err = fmt.Errorf("context: a list of %d values, the policy has %d names", i, n)
	}
	q.closeContext()
	return err
}

// closeContext makes a JSON object of members that begin with commas.
func (q *request) closeContext() {
	if len(q.context) == 0 {
		q.context = append(q.context, ',')
	}
	q.context[0] = '{'
	q.context = append(q.context, '}')
}

// parseObject reads the names and values of a context, or of an action.
func (q *request) parseObject(c *columns) error {
	q.seen = slices.Grow(q.seen[:0], c.width)[:c.width]
	q.filled = slices.Grow(q.filled[:0], len(q.values))[:len(q.values)]
	clear(q.seen)
	clear(q.filled)
	clear(q.other)
	q.names, q.known, q.given, q.stranger, q.path = 0, 0, 0, "", append(q.path[:0], '"')
	if err := q.members(c, 0); err != nil {
		return err
	}
	if q.unknown += q.names - q.known; q.names > 0 && q.known == 0 {
		return fmt.Errorf("%s: none of its %d names is one of the policy's: %s", q.field, q.names, c.some())
	}
	if c.strict && q.stranger != "" {
		return errors.New(q.stranger)
	}
	if c.strict {
		if name := q.missing(c); name != "" {
			return fmt.Errorf("%s.%s: missing, the policy reads it; null says that there is none", q.field, name)
		}
	}
	return nil
}

// members reads an object, or a list in it, whose members' names begin with q.path.
func (q *request) members(c *columns, depth int) error {
	if depth > deepest {
		return fmt.Errorf("%s: nested deeper than %d", q.field, deepest)
	}
	begin, list := len(q.path), q.json.PeekKind() == '['
	_, err := q.json.ReadToken()
	for i := int64(0); err == nil; i++ {
		switch kind := q.json.PeekKind(); {
		case kind == ']' || kind == '}':
			_, err = q.json.ReadToken()
			return err
		case list:
			q.path = strconv.AppendInt(q.path, i, 10)
		default:
			name, err := q.json.ReadValue()
			if err != nil {
				return err
			}
			if q.inSet && depth == 0 {
				if is, err := q.readID(name); err != nil {
					return q.wrong(err)
				} else if is {
					continue
				}
			}
			q.path = append(q.path, name[1:len(name)-1]...)
		}
		if kind := q.json.PeekKind(); kind == '{' || kind == '[' {
			q.path = append(q.path, '.')
			err = q.members(c, depth+1)
		} else {
			q.path = append(q.path, '"')
			err = q.leaf(c)
		}
		q.path = q.path[:begin]
	}
	return err
}

// readID reads the id of an action, if name is "id".
func (q *request) readID(name jsontext.Value) (is bool, err error) {
	if word, err := plain(name); err != nil || string(word) != "id" {
		return false, nil // leaf tells what is wrong
	}
	raw, err := q.json.ReadValue()
	switch {
	case err != nil:
	case len(q.item.id) > 0:
		err = errors.New("id: comes twice")
	default:
		if _, err = short("id", raw); err == nil {
			q.item.id = append(q.item.id, raw...)
		}
	}
	return true, err
}

// leaf reads the value of the name q.path.
func (q *request) leaf(c *columns) error {
	name, err := plain(q.path)
	if err != nil {
		return fmt.Errorf("%s: %w", q.field, err)
	}
	path, col := q.path, -1
	if at, known := c.of[string(name)]; known {
		as := &c.calls[at]
		if col = as.col; as.quoted != nil {
			name, path = as.name, as.quoted
		}
	}
	if err := q.name(c, name, path, col); err != nil {
		return err
	}
	raw, err := q.json.ReadValue()
	if err != nil {
		return err
	}
	return q.value(c, name, path, col, raw)
}

// name counts a name of a column, or of none (−1), and checks that it comes once and within the limits.
func (q *request) name(c *columns, name, path []byte, col int) error {
	twice := false
	if col >= 0 {
		twice, q.seen[col] = q.seen[col], true
		q.known++
	} else {
		twice = q.again(name)
		if c.strict && q.stranger == "" {
			q.stranger = fmt.Sprintf("%s.%.100s: the policy does not know the name; it has %s", q.field, name, c.some())
		}
	}
	switch q.names++; {
	case len(name) == 0: // what is logged could not be read
		return fmt.Errorf("%s: a value without a name", q.field)
	case twice:
		return fmt.Errorf("%s.%.100s: comes twice", q.field, name)
	case q.names > c.names:
		return fmt.Errorf("%s: more than %d names, the policy has %d", q.field, c.names, len(c.encoder.Names))
	case len(q.context)+len(path) > c.bytes: // names of nested objects are written out
		return fmt.Errorf("%s: flat, it has more than %d bytes", q.field, c.bytes)
	}
	return nil
}

// again reports that a name that is not the policy's was there before: of a value, or of a category.
func (q *request) again(name []byte) bool {
	if q.other == nil {
		q.other = make(map[uint64]struct{})
	}
	before := len(q.other)
	q.other[maphash.Bytes(hashSeed, name)] = struct{}{}
	return len(q.other) == before
}

// value puts a value into its feature, and into the log as what it was taken for: a number, or a category. So the log
// teaches what the policy has seen.
func (q *request) value(c *columns, name, path []byte, col int, raw jsontext.Value) (err error) {
	category, known, kind, v := []byte(raw), col >= 0, raw.Kind(), 0.0
	switch kind {
	case '"':
		category, err = plain(raw)
	case '0':
		v, err = number(raw)
	case 't':
		v = 1
	}
	if err != nil {
		return fmt.Errorf("%s.%s: %w", q.field, name, err)
	}
	none := kind == 'n' || kind == '"' && len(raw) == 2 // "" is no value
	if !none {
		q.given++
	}
	q.context = append(append(append(q.context, ','), path...), ':')
	isFeature := known && col < len(c.encoder.Names)
	switch {
	case !known && kind == '0', none:
		q.context = append(q.context, raw...)
		return nil
	case isFeature && kind == '0':
		q.context = append(q.context, raw...)
		return q.put(name, col, v)
	case isFeature && kind != '"':
		q.context = strconv.AppendInt(q.context, int64(v), 10)
		return q.put(name, col, v)
	}
	if !isFeature && bytes.IndexByte(name, '=') >= 0 { // logs refuse it, as they could not tell where the name ends
		return fmt.Errorf("%s.%.100s: the value is no number: want a name without =", q.field, name)
	}
	q.joined = append(append(append(q.joined[:0], name...), '='), category...)
	j := c.encoder.FeatureOf(q.joined)
	if !known {
		j = -1
	}
	if j >= 0 { // by its text, or else by the number or truth value
		q.joined = append(q.joined[:0], c.encoder.Names[j]...)
	}
	_, truth := features.Truth(string(category))
	if kind == '0' || truth && j >= 0 && !bytes.Equal(category, q.joined[len(name)+1:]) {
		q.context = append(append(append(q.context, '"'), q.joined[len(name)+1:]...), '"')
	} else {
		q.context = append(q.context, raw...)
	}
	switch {
	case j >= 0:
		return q.put(q.joined, j, 1)
	case isFeature:
		return fmt.Errorf("%s.%s: a string, where the policy reads a number", q.field, name)
	case q.again(q.joined): // as the name of a value, which no log can have beside
		return fmt.Errorf("%s.%.100s: comes twice", q.field, q.joined)
	case !known:
		return nil
	}
	q.unknown++ // a category that training did not see
	if c.strict && q.stranger == "" {
		q.stranger = fmt.Sprintf("%s.%.100s: the policy does not know the category %.100q", q.field, name, category)
	}
	return nil
}

// put sets a feature. A name and a category may mean the same one, which is an error.
func (q *request) put(name []byte, feature int, v float64) error {
	if q.filled[feature] {
		return fmt.Errorf("%s.%s: comes twice", q.field, name)
	}
	q.filled[feature], q.values[feature] = true, v
	return nil
}

// plain returns the text of a string in quotes.
func plain(quoted []byte) ([]byte, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	s, err := jsontext.AppendUnquote(nil, quoted)
	if err == nil && bytes.IndexByte(s, 0) >= 0 { // not every format that logs are joined to can hold it
		err = errors.New("the character zero in a string")
	}
	return s, err
}

// number returns a finite number.
func number(raw []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s is out of range", raw)
	}
	return v, nil
}
