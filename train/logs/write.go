package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"opl/policies/features"
	"opl/policies/wholefile"
	distinct "opl/train/internal/keys"
)

// WriterOptions say how a log is written, in the format of the file's ending, see Writable.
type WriterOptions struct {
	// Names of all actions, in their order. Nil of a log whose rows all have Offered.
	Actions []string
	// Numbers says that actions are numbers: Number is written, with Density or Propensity. Actions are not read.
	Numbers bool
	// Catalogue says that Actions, which may be one alone, are some of a catalogue's, that
	// whoever reads the log must give.
	Catalogue bool
	// Names of the context's values that may occur. If all begin with "x_", each is a
	// column; if they are "0", "1", … in order, the column context is a list. nil, or
	// others: the column context has values by name.
	Names      []string
	Outcomes   []string // columns of the outcomes that decisions have, in their order
	Weight     bool     // write weights, which must all be 1 otherwise
	Unrewarded bool     // write how many decisions without a reward were left out, which must be none otherwise
	NoRewards  bool     // write none: they are computed from outcomes, see Options.Reward
	New        bool     // a file that is there, or appears meanwhile, is an fs.ErrExist
	// RewardMin and RewardMax are the rewards, in units of their own, that are cost 0 and cost −1, and that are
	// written for them, to 15 digits. Both 0: 0 and 1.
	RewardMin, RewardMax float64
}

// Writer writes a log in the schema that Open reads. Whether there are decision ids,
// times, groups, policies and propensities is as in the first row, for all rows, but for
// single rows without a policy. The file is there
// once Close has succeeded, whole, or not at all.
type Writer struct {
	path      string
	o         WriterOptions
	file      *wholefile.File
	out       *bufio.Writer
	compress  io.WriteCloser
	encoder   encoder
	first     *Decision
	described bool // offered actions have features
	layout    layout
	index     map[string]int
	values    []float64
	buf       []byte
	n         int
	err       error
}

// encoder writes rows in one format, by what the Writer that it is of has: see
// Writer.columns and Writer.nested. One may have an end() error after the last.
type encoder interface{ row(d *Decision) error }

type layout int8

const (
	asObject layout = iota
	asList
	asColumns
)

// Create begins a log at path.
func Create(path string, o WriterOptions) (*Writer, error) {
	f, packed := formatOf(path)
	i, twice := distinct.Twice(o.Actions)
	j, named := distinct.Twice(o.Names)
	switch {
	case f == nil || f.write == nil:
		return nil, fmt.Errorf("%s: logs are written as %s", path, Writable())
	case f.whole && packed != "":
		return nil, fmt.Errorf("%s: a file of format %s is compressed within: leave out .%s", path, f.name, packed)
	case o.Actions != nil && len(o.Actions) < 2 && !(o.Catalogue && len(o.Actions) == 1):
		return nil, fmt.Errorf("%s: %d actions, want at least 2", path, len(o.Actions))
	case twice:
		return nil, fmt.Errorf("%s: action %s twice", path, o.Actions[i])
	case named:
		return nil, fmt.Errorf("%s: name %s twice", path, o.Names[j])
	case o.RewardMin > o.RewardMax || math.IsNaN(o.RewardMax-o.RewardMin) || math.IsInf(o.RewardMax-o.RewardMin, 0):
		return nil, fmt.Errorf("%s: rewards from %v to %v are no range", path, o.RewardMin, o.RewardMax)
	}
	w := &Writer{path: path, o: o, index: map[string]int{}, values: make([]float64, len(o.Names))}
	w.encoder = f.write(w)
	list, columns := len(o.Names) > 0, len(o.Names) > 0
	for i, name := range o.Names {
		w.index[name] = i
		columns = columns && strings.HasPrefix(name, "x_")
		list = list && name == strconv.Itoa(i)
	}
	if columns {
		w.layout = asColumns
	} else if list {
		w.layout = asList
	}
	var err error
	if w.file, err = wholefile.Create(path, 0); err != nil {
		return nil, err
	}
	w.file.New = o.New
	w.out = bufio.NewWriterSize(w.file, 1<<20)
	switch packed {
	case "gz":
		w.compress = gzip.NewWriter(w.out)
	case "zst":
		if w.compress, err = zstd.NewWriter(w.out, zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
	}
	return w, nil
}

// Write appends a row. Its Row is not written. After an error there is no log: Close
// removes what there is.
func (w *Writer) Write(d *Decision) error {
	if w.err == nil {
		if err := w.write(d); err != nil {
			w.err = err
		}
	}
	return w.err
}

func (w *Writer) write(d *Decision) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: row %d: %s", w.path, w.n+1, fmt.Sprintf(format, args...))
	}
	if w.first == nil {
		first := *d
		w.first = &first
		if d.Offered != nil {
			w.first.Offered = []Offer{} // they are the caller's
			w.described = slices.ContainsFunc(d.Offered, func(o Offer) bool {
				return o.Features != nil ||
					o.Action == ""
			})
		}
	}
	f, k := w.first, len(w.o.Actions)
	if d.Offered != nil {
		k = len(d.Offered)
	}
	switch {
	case (d.Offered == nil) != (f.Offered == nil):
		return fail("offered actions must be there in all rows or in none")
	case !w.o.Numbers && (d.Action < 0 || d.Action >= k):
		return fail("action %d is outside 0 to %d", d.Action, k-1)
	case !(d.Cost >= -1 && d.Cost <= 0):
		return fail("cost %v is outside [-1, 0]", d.Cost)
	case (d.ID == "") != (f.ID == ""), d.Time.IsZero() != f.Time.IsZero(), (d.Group == "") != (f.Group == ""),
		(d.Propensity == 0) != (f.Propensity == 0), (d.Slot == 0) != (f.Slot == 0), (d.Propensities == nil) != (f.Propensities == nil):
		return fail("id, time, group, slot and propensities must be there in all rows or in none")
	case d.Policy != "" && f.Policy == "":
		return fail("policy %q, but the first row has none", d.Policy)
	case d.Catalogue != f.Catalogue:
		return fail("decided among the catalogue %.12s, the first row among %.12s", d.Catalogue, f.Catalogue)
	case d.Propensity != 0 && !(d.Propensity > 0 && (d.Propensity <= 1 || d.Density > 0)):
		return fail("propensity %v is outside (0, 1]", d.Propensity)
	case d.Propensities != nil && len(d.Propensities) != k:
		return fail("%d propensities for %d actions", len(d.Propensities), k)
	case len(w.o.Outcomes) > 0 && len(d.Outcomes) != len(w.o.Outcomes):
		return fail("%d outcomes, want %d", len(d.Outcomes), len(w.o.Outcomes))
	case !w.o.Weight && d.Weight != 0 && d.Weight != 1:
		return fail("weight %v, but the log has none", d.Weight)
	case !w.o.Unrewarded && d.Unrewarded != 0:
		return fail("%d decisions without a reward were left out, and the log has no column unrewarded", d.Unrewarded)
	}
	for _, p := range d.Propensities {
		if !(p >= 0 && p <= 1) {
			return fail("propensity %v is outside [0, 1]", p)
		}
	}
	if err := w.offers(d); err != nil {
		return fail("%v", err)
	}
	clear(w.values)
	for _, v := range d.Context {
		i, ok := w.index[v.Name]
		switch {
		case v.Number-v.Number != 0:
			return fail("%s is %v", v.Name, v.Number)
		case w.layout == asObject:
		case !ok:
			return fail("the context has %s, which is none of the names", v.Name)
		default:
			w.values[i] = v.Number
		}
	}
	w.n++
	return w.encoder.row(d)
}

// columns calls text or number for each column in order, but for a context in one.
func (w *Writer) columns(d *Decision, text func(name, s string), number func(name string, v float64)) {
	if d.ID != "" {
		text("decision_id", d.ID)
	}
	if !d.Time.IsZero() {
		text("timestamp", d.Time.UTC().Format(time.RFC3339Nano))
	}
	if d.Group != "" {
		text("group", d.Group)
	}
	if w.first.Policy != "" {
		text("policy", d.Policy)
	}
	if w.first.Catalogue != "" {
		text("catalogue_hash", d.Catalogue)
	}
	if d.Slot > 0 {
		text("slate_id", d.Slate)
		number("slot", float64(d.Slot))
	}
	if w.o.Numbers {
		number("action", d.Number)
	} else {
		text("action", w.name(d))
	}
	if !w.o.NoRewards {
		number("reward", w.reward(0-d.Cost)) // not −0
	}
	for i, column := range w.o.Outcomes {
		number(column, d.Outcomes[i])
	}
	switch none := math.NaN(); {
	case w.o.Numbers && d.Density > 0:
		number("density", d.Density)
		number("propensity", none)
	case w.o.Numbers:
		number("density", none)
		number("propensity", d.Propensity)
	case d.Propensity != 0:
		number("propensity", d.Propensity)
	}
	for a, p := range d.Propensities {
		if d.Offered != nil {
			break
		}
		number("p_"+w.o.Actions[a], p)
	}
	if w.o.Weight {
		number("weight", d.Weight)
	}
	if w.o.Unrewarded {
		number("unrewarded", float64(d.Unrewarded))
	}
	if w.layout == asColumns {
		for i, name := range w.o.Names {
			number(name, w.values[i])
		}
	}
}

// reward is one in [0, 1] in units of its own, as a decimal number of them was before.
func (w *Writer) reward(r float64) float64 {
	low, high := w.o.RewardMin, w.o.RewardMax
	if low == 0 && high == 0 {
		return r
	}
	v, _ := strconv.ParseFloat(strconv.FormatFloat(low+r*(high-low), 'g', 15, 64), 64)
	return max(low, min(high, v))
}

// name is what the logged action is called.
func (w *Writer) name(d *Decision) string {
	switch {
	case d.Offered == nil:
		return w.o.Actions[d.Action]
	case d.Offered[d.Action].Action == "":
		return strconv.Itoa(d.Action + 1)
	}
	return d.Offered[d.Action].Action
}

// offers checks what a decision offers.
func (w *Writer) offers(d *Decision) error {
	seen := make(map[string]bool, len(d.Offered))
	for i, o := range d.Offered {
		switch {
		case !w.described && len(o.Features) > 0:
			return fmt.Errorf("action %q has features, and those of the first row have none", o.Action)
		case (o.Action == "") != (d.Offered[0].Action == ""):
			return fmt.Errorf("some of the actions have ids, and others have none")
		case !w.described && o.Action == "":
			return fmt.Errorf("action %d has neither an id nor features", i+1)
		case seen[o.Action]:
			return fmt.Errorf("action %q is offered twice", o.Action)
		}
		seen[o.Action] = o.Action != ""
		for _, v := range o.Features {
			if v.Name == "id" || v.Number-v.Number != 0 {
				return fmt.Errorf("action %q: its feature %s is %v: want a finite number, and another name than id",
					o.Action, v.Name, v.Number)
			}
		}
	}
	return nil
}

// nested appends what a decision offers, their propensities, and the context if it is one column, as JSON in columns
// that key begins and next ends.
func (w *Writer) nested(d *Decision, key func(name string), next func()) {
	if d.Offered != nil {
		w.offered(d, key)
		next()
	}
	if d.Offered != nil && d.Propensities != nil {
		key("propensities")
		w.list(d.Propensities)
		next()
	}
	if w.layout == asList {
		key("context")
		w.list(w.values)
		next()
	} else if w.layout == asObject {
		key("context")
		w.buf = append(w.buf, '{')
		w.members(d.Context)
		next()
	}
}

// offered appends what a decision offers.
func (w *Writer) offered(d *Decision, key func(name string)) {
	name := "offered"
	if w.described {
		name = "actions"
	}
	key(name)
	w.buf = append(w.buf, '[')
	for i, o := range d.Offered {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		if !w.described {
			w.quote(o.Action)
			continue
		}
		w.buf = append(w.buf, '{')
		if o.Action != "" {
			w.key("id")
			w.quote(o.Action)
			w.buf = append(w.buf, ',')
		}
		w.members(o.Features)
	}
	w.buf = append(w.buf, ']')
}

// list appends numbers as JSON.
func (w *Writer) list(values []float64) {
	w.buf = append(w.buf, '[')
	for i, v := range values {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.number(v)
	}
	w.buf = append(w.buf, ']')
}

// flush hands over what is in the buffer.
func (w *Writer) flush() error {
	var to io.Writer = w.out
	if w.compress != nil {
		to = w.compress
	}
	_, err := to.Write(w.buf)
	return err
}

func (w *Writer) number(v float64) { w.buf = strconv.AppendFloat(w.buf, v, 'g', -1, 64) }

// quote appends a text as JSON.
func (w *Writer) quote(s string) {
	var err error
	if w.buf, err = jsontext.AppendQuote(w.buf, s); err != nil {
		w.err = fmt.Errorf("%s: row %d: %q: %w", w.path, w.n, s, err)
	}
}

// key appends a name in a JSON object.
func (w *Writer) key(name string) {
	w.quote(name)
	w.buf = append(w.buf, ':')
}

// members appends the last members of a JSON object, and its end.
func (w *Writer) members(values []features.Value) {
	for _, v := range values {
		w.key(v.Name)
		w.number(v.Number)
		w.buf = append(w.buf, ',')
	}
	w.buf = append(bytes.TrimSuffix(w.buf, []byte(",")), '}')
}

// Close ends the log and gives it its name; or removes it, if Write failed.
func (w *Writer) Close() error {
	if w.err == nil && w.n == 0 {
		w.err = fmt.Errorf("%s: a log without rows is not written", w.path)
	}
	steps := []func() error{w.out.Flush}
	if w.compress != nil {
		steps = slices.Insert(steps, 0, w.compress.Close)
	}
	if e, ok := w.encoder.(interface{ end() error }); ok {
		steps = slices.Insert(steps, 0, e.end)
	}
	for _, step := range steps {
		if w.err == nil {
			w.err = step()
		}
	}
	if w.err != nil {
		return errors.Join(w.err, w.Abort())
	}
	return w.file.Commit()
}

// Abort removes what was written; no log is left.
func (w *Writer) Abort() error { return w.file.Abort() }
