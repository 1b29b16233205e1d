package logs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"

	"opl/policies/wholefile"
)

const (
	maxNames = 1 << 24
	// actions that numbers alone may stand for, in a log that has fewer rows
	manyActions = 1 << 16
	maxBad      = 1 << 22 // bad rows that are remembered
	maxRow      = 1 << 24 // bytes of a row
)

// rowError is what is wrong with a row. Reading can go on after it.
type rowError struct{ column, text string }

func (e *rowError) Error() string {
	if e.column == "" {
		return e.text
	}
	return "column " + e.column + ": " + e.text
}

func bad(column, format string, args ...any) error {
	return &rowError{column, fmt.Sprintf(format, args...)}
}

// reader reads one format. next reads a row into b.row and returns io.EOF after the
// last; after a *rowError it can go on. raw is the row as it was read.
type reader interface {
	next(b *builder) error
	raw() []byte
	close() error
}

// row is one row as a reader gives it.
type row struct {
	id, group, action, policy                          []byte
	time                                               int64
	cost, p, weight                                    float64
	props                                              []float64 // in the order of builder.slots
	hasID, hasGroup, hasAction, hasTime, hasCost, hasP bool
	hasProps, hasWeight, hasSet, listed                bool          // listed: props are those of all in their order
	form                                               jsontext.Kind // of action, see table.cell
	ids                                                jsontext.Kind // as builder.idForm, of the row's
	unrewarded                                         int           // decisions without a reward that were left out with it
	list                                               int           // numbers of a context that is a list of them; 0: it is none
}

// kind is what the values of a context column are.
type kind int8

const (
	undecided kind = iota
	number
	category
)

// builder makes columns of rows, checking them, in temporary files. One pass over a
// file is one builder; what a pass learns for the next is in memory.
type builder struct {
	o      *Options
	path   string
	local  string // where the file is that is called path; "": there
	ends   bool   // the last line of a text must have its end
	files  places // of which the rows are, if there are several
	memory *memory
	row    row
	at     int // the number of the row being read, from 1

	lo, hi     float64 // of rewards
	costColumn string

	contexts, items bag
	into            *bag // of these, that values go into

	offers       offers        // of the row
	serial       int           // of the row, that marks what it offers
	catalogue    *Catalogue    // of all actions; nil: there is none
	describes    bool          // the file is a catalogue, and rows are actions
	idForm       jsontext.Kind // of ids of actions, '0' or '"', of the rows before; 0: not known yet
	byPlace      bool          // actions have no ids
	described    bool          // actions have features
	mayLack      bool          // of features, some actions of a row
	off, differs bool          // the row's propensities were divided by their sum; the logged one is rounded
	seeds        [2]maphash.Seed
	itemNumbers  map[itemKey]int32
	itemHash     []uint64

	actions  []action
	actionID map[string]int32
	groups   set
	policies set

	slotHash   []uint64
	slots      []string // names of the propensities' actions
	added      int      // of them, the last ones: actions that setting actions lists and the log does not name, of propensity 0
	listed     bool     // they are numbers 0 to K−1
	base       int      // actions are numbers from here; −1: to be found out
	actionsMin int      // there are at least so many
	sums       bool     // values that come twice are added up
	lightly    bool     // a row without a weight has 1, even where others have one

	columns []*column // of all files
	byName  map[string]*column
	folders [][2]string       // columns that the folders of the file stand for
	joined  bool              // and some of these are of the context
	table   *table            // of the file that is read; nil: it has none
	renamed map[string]string // names of the schema, by the file's
	taken   map[string]bool   // names that a column has by renamed alone
	fields  bool              // rows are no log's: their cells are kept in the columns, see Rows

	typesOnly  bool
	first      row // its flags are those of every row
	listLen    int // numbers of every context that is a list of them; 0: none so far
	n          int
	rounded    int
	apart      int
	support    int
	match      [2]int // rows whose propensity is the entry of their action counted from 0, 1
	skipped    int
	unrewarded int
	among      string // see Log.Among
	notes      []string
	hash       *xxhash.Digest
	scratch    []byte

	cache     *wholefile.File // that is written; nil: none is
	cachePath string          // where it will be
	own       *os.File        // the cache, or a temporary file of the same
	written   *cacheWriter    // to it
	abandon   func() error    // of own; nil: it is in use

	acts, costs, ps, props, weights, times, group, logger, rowIDs, contextHash, rows, badRows spill
	optionFirst, optionCount, optionAt, optionActs, optionItems, itemActs                     spill
	decisionIDs                                                                               texts
}

// memory is what later passes over a file know of it.
type memory struct {
	kinds  map[string]kind
	reject map[int]string

	multi            []uint64 // of dsjson: the actions of the first row, of a file before; nil: those of this one
	varied, untagged bool     // of dsjson: the actions are not those of the first row; some have no id
}

// action is a distinct action, as logged.
type action struct {
	text   string
	number int // −1: none
	row    int // that had it first
	rows   int
	hash   uint64

	offered int // the serial of the row that offered it last
	offers  int // rows that did
}

// texts are a column of strings.
type texts struct{ ends, text spill }

func (t *texts) add(s []byte) {
	t.text.bytes(s)
	put(&t.ends, t.text.size)
}

// set numbers strings in the order in which they come.
type set struct {
	texts
	places map[string]int32
}

func (s *set) number(text []byte) int32 {
	i, ok := s.places[string(text)]
	if !ok {
		i = int32(len(s.places))
		s.places[string(text)] = i
		s.add(text)
	}
	return i
}

// spill is a column in a temporary file once it is long, and in memory before, or always if it has no folder.
type spill struct {
	dir   string
	file  tempFile
	buf   []byte  // all of it in memory, or what is not written yet
	most  int     // bytes of buf
	later *behind // of a file that is written while rows are read; nil: it is written at once
	size  int64
	err   error // of writing
}

// spillBytes is how much of a column is in memory.
const spillBytes = 1 << 16

// open begins a column in a folder, or in memory if that is "".
func (s *spill) open(dir string) {
	s.dir, s.most = dir, math.MaxInt
	if dir != "" {
		s.most = spillBytes
	}
}

// flush writes what is left.
func (s *spill) flush() error {
	if s.file.File != nil || s.later != nil {
		s.drain()
	}
	if s.later != nil {
		s.err = cmp.Or(s.err, s.later.end())
	}
	return s.err
}

// drain writes the buffer.
func (s *spill) drain() {
	switch {
	case len(s.buf) == 0:
	case s.later != nil:
		s.buf = s.later.hand(s.buf)
	default:
		if s.create(); s.err == nil {
			_, s.err = s.file.Write(s.buf)
		}
		s.buf = s.buf[:0]
	}
}

// create makes the file, if there is none.
func (s *spill) create() {
	if s.file.File == nil && s.err == nil {
		s.file, s.err = temporary(s.dir)
	}
}

func (s *spill) bytes(b []byte) {
	s.size += int64(len(b))
	if s.buf = append(s.buf, b...); len(s.buf) >= s.most {
		s.drain() // an error stays until flush
	}
}

// resize makes a column of size bytes, zeros where there was nothing.
func (s *spill) resize(size int64) error {
	if s.size = size; size >= int64(s.most) {
		s.create()
		s.drain()
	}
	if s.err != nil {
		return s.err
	}
	if s.file.File != nil {
		return s.file.Truncate(size)
	}
	s.buf = append(s.buf, make([]byte, int(size)-len(s.buf))...)
	return nil
}

// copyTo writes the column to w.
func (s *spill) copyTo(w io.Writer) error {
	var from io.Reader = bytes.NewReader(s.buf)
	if s.file.File != nil {
		from = io.NewSectionReader(s.file, 0, s.size)
	}
	n, err := io.Copy(w, from)
	if err == nil && n != s.size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// mapped is the column as bytes that can be changed in place, until the function is called.
func (s *spill) mapped() ([]byte, func() error, error) {
	if s.file.File == nil {
		return s.buf, func() error { return nil }, nil
	}
	return mapFile(s.file.File, int(s.size), true)
}

func put[T int32 | int64 | uint32 | uint64 | float64](s *spill, v ...T) {
	s.bytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0]))))
}

// late puts the value of row n, if it has one, into a column that rows before may not have
// had: those without have none.
func late[T int32 | float64](s *spill, n int, none T, has bool, v T) {
	if !has && s.size == 0 {
		return
	}
	for s.size < int64(n)*int64(unsafe.Sizeof(v)) {
		put(s, none)
	}
	if !has {
		v = none
	}
	put(s, v)
}

func newBuilder(path, dir string, o *Options, m *memory) (*builder, error) {
	b := &builder{o: o, path: path, memory: m, lo: o.RewardMin, hi: o.RewardMax,
		actionID: map[string]int32{}, byName: map[string]*column{}, base: -1, hash: xxhash.New()}
	b.contexts.vocabulary.places, b.items.vocabulary.places = map[string]int32{}, map[string]int32{}
	b.itemNumbers, b.seeds = map[itemKey]int32{}, [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	b.groups.places, b.policies.places, b.into = map[string]int32{}, map[string]int32{}, &b.contexts
	if b.lo == 0 && b.hi == 0 {
		b.hi = 1
	}
	if !(b.lo < b.hi) || math.IsInf(b.hi-b.lo, 0) {
		return nil, fmt.Errorf("%s: setting reward-min %v is not below setting reward-max %v", path, b.lo, b.hi)
	}
	for _, s := range b.spills() {
		in := dir
		if s == &b.contexts.values { // see begins
			in = ""
		}
		s.open(in)
	}
	return b, nil
}

// spills are the columns that a cache has, in its order, and the bad rows.
func (b *builder) spills() []*spill {
	own := []*spill{&b.contexts.values, &b.acts, &b.costs, &b.ps, &b.props, &b.weights, &b.times, &b.group, &b.logger, &b.rowIDs, &b.contextHash, &b.rows,
		&b.decisionIDs.ends, &b.decisionIDs.text, &b.groups.ends, &b.groups.text, &b.policies.ends, &b.policies.text}
	own = append(own, &b.optionFirst, &b.optionCount, &b.optionAt, &b.optionActs, &b.optionItems, &b.itemActs)
	return append(slices.Concat(own, b.contexts.spills()[1:], b.items.spills()), &b.badRows)
}

func (b *builder) close() error {
	var err error
	for _, s := range b.spills() {
		if s.later != nil {
			_ = s.later.end() // flush has said what went wrong, or something else did before
		}
		if s.file.File != nil {
			err = errors.Join(err, s.file.Close())
		}
	}
	if b.abandon != nil {
		err = errors.Join(err, b.abandon())
	}
	return err
}

// begin begins a row.
func (b *builder) begin() {
	r := &b.row
	*r = row{props: r.props[:0], id: r.id[:0], group: r.group[:0], action: r.action[:0], policy: r.policy[:0]}
	b.into = &b.contexts
	b.into.begin()
	b.offers = offers{ids: b.offers.ids[:0], ends: b.offers.ends[:0], starts: b.offers.starts[:0], numbers: b.offers.numbers, hashes: b.offers.hashes}
}

// fill reads all rows. again: the pass must be made once more, with what the memory
// has learned.
func (b *builder) fill(ctx context.Context, rd reader) (err error) {
	dropped := 0
	for b.at = 1; ; b.at++ {
		if b.at%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if b.o.Progress != nil && b.at%(1<<14) == 0 {
				b.o.Progress(b.at)
			}
		}
		r := &b.row
		b.begin()
		err := rd.next(b)
		if err == io.EOF {
			break
		}
		if err == errNoDecision {
			dropped++
			continue
		}
		var wrong *rowError
		if err != nil && !errors.As(err, &wrong) {
			return err
		}
		if b.typesOnly {
			continue
		}
		b.unrewarded += r.unrewarded
		if reason, ok := b.memory.reject[b.at]; ok {
			err = &rowError{text: reason}
		} else if err == nil {
			err = b.add()
		}
		if err != nil {
			if b.o.BadRows == "" {
				return fmt.Errorf("%s, %w", b.where(b.at), err)
			}
			b.skip(rd.raw(), err)
		}
	}
	if dropped > 0 {
		b.note("", dropped, "lines without a label, or with _skipLearn, were left out")
	}
	switch {
	case b.n > 0 || b.typesOnly:
		return nil
	case b.skipped > 0:
		return fmt.Errorf("%s: all %d rows are bad, see %s", b.path, b.skipped, b.o.BadRows)
	case dropped > 0:
		return fmt.Errorf("%s: none of its %d lines is a decision with a label", b.path, dropped)
	}
	return fmt.Errorf("%s: no rows", b.path)
}

// fatal is an error that ends the reading, whatever is to be done with bad rows.
func (b *builder) fatal(format string, args ...any) error {
	where := b.path
	if b.at > 0 {
		where = b.where(b.at)
	}
	return fmt.Errorf("%s: "+format, append([]any{where}, args...)...)
}

// errAgain ends a pass: the file must be read again, with what the memory has learned.
var errAgain = errors.New("again")

// errNoDecision is a line that is none, and no error either.
var errNoDecision = errors.New("no decision")

// skip puts a row aside.
func (b *builder) skip(raw []byte, reason error) {
	b.skipped++
	name, row := b.files.place(b.at)
	b.aside(name, row, reason, raw)
}

// aside writes what is left out to the bad rows: a row, or of row 0 a whole file.
func (b *builder) aside(name string, row int, reason error, raw []byte) {
	line, _ := json.Marshal(struct { // of texts it cannot fail
		File   string `json:"file,omitempty"`
		Row    int    `json:"row"`
		Reason string `json:"reason"`
		Raw    string `json:"raw"`
	}{name, row, reason.Error(), string(raw)})
	b.badRows.bytes(append(line, '\n'))
}

// where names file and row for errors.
func (b *builder) where(at int) string { return b.files.where(b.path, at) }

// reward sets the cost of the row from its reward, which the column may have as a cost, −reward.
func (b *builder) reward(column string, r float64, isCost bool) error {
	switch {
	case !(r >= b.lo && r <= b.hi) && isCost:
		return bad(column, "cost %v is outside [%v, %v]: setting reward-min and setting reward-max say what rewards can be, cost = −reward", -r, 0-b.hi, 0-b.lo)
	case !(r >= b.lo && r <= b.hi):
		return bad(column, "reward %v is outside [%v, %v]: setting reward-min and setting reward-max say what rewards can be", r, b.lo, b.hi)
	case b.row.hasCost:
		return bad(column, "the row has a reward and a cost: exactly one must be there")
	case b.costColumn == "":
		b.costColumn = column
	case b.costColumn != column:
		return bad(column, "rows before have %s instead: exactly one must be there", b.costColumn)
	}
	b.row.cost, b.row.hasCost = 0-(r-b.lo)/(b.hi-b.lo), true
	return nil
}

// optional are the columns that all rows have or none.
var optional = [...]string{"decision_id", "timestamp", "group", "propensity", "propensities", "weight", "offered"}

// has says which of them the row has.
func (r *row) has() [len(optional)]bool {
	return [...]bool{r.hasID, r.hasTime, r.hasGroup, r.hasP, r.hasProps, r.hasWeight, r.hasSet}
}

// add checks the row and appends it to the columns.
func (b *builder) add() error {
	if b.describes {
		return b.describe()
	}
	r := &b.row
	r.hasSet = b.offers.column != ""
	if err := b.whole(); err != nil {
		return err
	}
	was := b.first.has()
	for i, has := range r.has() {
		switch {
		case b.n == 0 || has == was[i] || optional[i] == "weight" && b.lightly || b.o.Estimate && !r.hasSet && b.catalogue == nil && (optional[i] == "propensity" || optional[i] == "propensities"):
		case has:
			return bad(optional[i], "given, while the rows before have none")
		case optional[i] == "propensity":
			return bad(optional[i], "missing, while the rows before have it: setting estimate-propensity estimates it, and nothing is certified then")
		default:
			return bad(optional[i], "missing, while the rows before have it")
		}
	}
	if r.list > 0 && b.listLen > 0 && r.list != b.listLen {
		return bad("context", "%d numbers, while the rows before have %d", r.list, b.listLen)
	}
	b.off, b.differs = false, false
	var id int32
	var err error
	if r.hasSet {
		err = b.options()
	} else {
		id, err = b.fixed()
	}
	if err != nil {
		return err
	}

	// The row is good: nothing below can refuse it.
	b.idForm = cmp.Or(b.idForm, r.ids)
	if b.n == 0 {
		b.first = *r
	}
	if r.list > 0 {
		b.listLen = r.list
	}
	if b.off {
		b.rounded++
	}
	if b.differs {
		b.apart++
	}
	if slices.Contains(r.props, 0) {
		b.support++
	}
	if b.rows.size > 0 || b.at != b.n+1 {
		for b.rows.size/8 < int64(b.n) { // the rows before had the numbers that one expects
			put(&b.rows, b.rows.size/8+1)
		}
		put(&b.rows, int64(b.at))
	}
	b.contexts.add()
	values := b.contexts.content()
	sum := values.content
	put(&b.contextHash, values.context)
	logged := uint64(0)
	if r.hasSet {
		var offered uint64
		logged, offered = b.offer()
		sum, id = sum+offered, b.offers.numbers[b.offers.at]
	} else {
		logged = b.actions[id].hash
	}
	put(&b.acts, id)
	b.actions[id].rows++
	put(&b.costs, r.cost)
	bits := math.Float64bits
	if !r.hasSet {
		for len(b.slotHash) < len(r.props) {
			b.slotHash = append(b.slotHash, ^xxhash.Sum64String(b.slots[len(b.slotHash)]))
		}
		for i, p := range r.props[:max(0, len(r.props)-b.added)] {
			sum += mix(b.slotHash[i] + mix(bits(p)))
		}
	}
	buf := b.scratch[:0]
	for _, v := range []uint64{sum, bits(r.cost), bits(r.p), bits(r.weight), logged, uint64(r.time)} {
		buf = binary.LittleEndian.AppendUint64(buf, v)
	}
	buf = append(buf, r.group...)
	if r.hasID {
		buf = append(append(buf, 0), r.id...)
	}
	b.scratch = buf
	content := xxhash.Sum64(buf)
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], content)
	b.hash.Write(word[:])
	if r.hasID {
		content = xxhash.Sum64(r.id)
		b.decisionIDs.add(r.id)
	}
	put(&b.rowIDs, content)
	late(&b.ps, b.n, 0, r.hasP || r.hasSet && r.hasProps, r.p)
	if r.hasSet && r.hasProps {
		put(&b.props, r.props...)
	}
	for k := len(b.slots); !r.hasSet && (r.hasProps || b.props.size > 0) && b.props.size < 8*int64((b.n+1)*k); { // 0 where they are to be estimated
		if r.hasProps && b.props.size == 8*int64(b.n*k) {
			put(&b.props, r.props...)
		} else {
			put(&b.props, 0.)
		}
	}
	late(&b.weights, b.n, 1, r.hasWeight, r.weight)
	if r.hasTime {
		put(&b.times, r.time)
	}
	if r.hasGroup {
		put(&b.group, b.groups.number(r.group))
	}
	var p int32
	if len(r.policy) > 0 {
		p = b.policies.number(r.policy)
	}
	late(&b.logger, b.n, -1, len(r.policy) > 0, p)
	b.n++
	return nil
}

// whole checks what a row must have, whatever the others have.
func (b *builder) whole() error {
	r := &b.row
	switch {
	case !r.hasAction || len(r.action) == 0:
		return bad("action", "missing")
	case !r.hasCost:
		return bad(cmp.Or(b.costColumn, "reward"), "missing")
	case r.hasP && !(r.p > 0 && r.p <= 1):
		hint := ""
		switch {
		case b.n > 0: // propensities of the rows before were
		case r.p > 1:
			hint = ": is it 1/p, or a percentage?"
		case r.p < 0:
			hint = ": is it log p?"
		}
		return bad("propensity", "%v is outside (0, 1]%s", r.p, hint)
	case r.hasWeight && !(r.weight >= 0 && r.weight-r.weight == 0):
		return bad("weight", "%v is negative or not finite", r.weight)
	case r.hasID && len(r.id) == 0:
		return bad("decision_id", "empty")
	}
	return nil
}

// fixed checks the propensities of a row that offers what all rows do, and returns the number
// of its action.
func (b *builder) fixed() (int32, error) {
	r := &b.row
	if r.listed && b.unlisted() {
		if len(r.props) < 2 {
			return 0, bad("propensities", "%d of them: there must be at least 2 actions", len(r.props))
		}
		b.list()
	}
	if r.hasProps && !r.listed && b.catalogue == nil {
		if b.unlisted() {
			b.extend()
		}
		for j := len(b.slots) - b.added; j <= len(r.props) && j < len(b.slots); j++ {
			r.props = append(r.props[:j], 0)
		}
	}
	if r.hasProps {
		if b.catalogue != nil {
			return 0, bad("propensities", "those of all actions of a catalogue are not read: want the logged action's, or column offered")
		}
		if len(r.props) != len(b.slots) {
			return 0, bad("propensities", "%d of them, while the rows before have %d", len(r.props), len(b.slots))
		}
		if i := slices.IndexFunc(r.props, math.IsNaN); i >= 0 {
			return 0, bad("p_"+b.slots[i], "missing")
		}
		sum, err := Distribution(r.props, b.slots, Rounding)
		if err != nil {
			return 0, bad("propensities", "%v", err)
		}
		if b.off = !Near(sum, 1, Exact) || slices.Max(r.props) > 1; b.off {
			for i := range r.props {
				r.props[i] /= sum
			}
		}
	}
	text := r.action
	if b.catalogue != nil {
		var err error
		if text, err = b.idText("action", r.form, text); err != nil {
			return 0, err
		}
	}
	id, err := b.action(text)
	if err != nil {
		return 0, err
	}
	a := b.actions[id].number
	if r.hasProps && r.hasP && a >= 0 {
		for base := range 2 {
			if j := a - base; j >= 0 && j < len(r.props) && Near(r.props[j], r.p, Agreement) {
				b.match[base]++
			}
		}
	}
	return id, nil
}

// extend adds the actions that setting actions lists to those that propensities are named by, if it lists all of these.
func (b *builder) extend() {
	for j, s := range b.slots {
		if at := slices.Index(b.o.Actions, s); at < 0 || b.listed && at != j {
			return
		}
	}
	for _, s := range b.o.Actions {
		if !slices.Contains(b.slots, s) {
			b.slots = append(b.slots, s)
			b.added++
		}
	}
}

// action returns the number of an action by its text. An integer that is written as
// a fraction, 2.0, is that integer.
func (b *builder) action(text []byte) (int32, error) {
	if id, ok := b.actionID[string(text)]; ok {
		return id, nil
	}
	if b.catalogue != nil {
		return 0, bad("action", "%s is none of the %d of the catalogue %s: it must have all actions that the log speaks of", quote(text), len(b.actions), b.o.Catalogue)
	}
	if len(b.actionID) == maxNames {
		return 0, b.fatal("more than %d actions", maxNames)
	}
	s, n := string(text), -1
	if b.offers.column == "" && strings.ContainsAny(s, ".eE") {
		if v, ok := parseNumber(text); ok && v == math.Trunc(v) && math.Abs(v) < 1<<31 {
			s = strconv.Itoa(int(v))
		}
	}
	if v, err := strconv.ParseUint(s, 10, 31); err == nil && strconv.Itoa(int(v)) == s {
		n = int(v)
	}
	id, ok := b.actionID[s]
	if !ok {
		id = int32(len(b.actions))
		b.actionID[s] = id
		b.actions = append(b.actions, action{text: s, number: n, row: b.at, hash: xxhash.Sum64String(s)})
	}
	b.actionID[string(text)] = id
	return id, nil
}

// decide finds the names of all actions in their order, the number of each action that
// was logged (−1: it is none of them, which makes its rows bad), and the number of each
// slot's action.
func (b *builder) decide() (names []string, number, slot []int32, err error) {
	fail := func(format string, args ...any) ([]string, []int32, []int32, error) {
		return nil, nil, nil, fmt.Errorf("%s: "+format, append([]any{b.path}, args...)...)
	}
	if b.catalogue != nil || b.first.hasSet {
		return b.decideSets()
	}
	// The least and the largest of the actions that are integers from 0, the place of the
	// first that is none, −1: they all are, and whether most rows have one that is none.
	lo, hi, other, rows := math.MaxInt, 0, -1, 0
	for i, a := range b.actions {
		if a.number >= 0 {
			lo, hi = min(lo, a.number), max(hi, a.number)
			continue
		}
		if rows += a.rows; other < 0 {
			other = i
		}
	}
	named := 2*rows > b.n
	k := 0 // actions, that are logged by number; 0: by name
	switch {
	case len(b.o.Actions) > 0:
		names = slices.Clone(b.o.Actions)
		if len(b.slots) > 0 && len(b.slots) != len(names) {
			return fail("%d propensities in a row, but setting actions lists %d: a list has all of them in their order, columns p_NAME only those that are not 0", len(b.slots), len(names))
		}
		if i, twice := duplicate(names); twice {
			return fail("setting actions has %s twice", names[i])
		}
		if !named && !slices.ContainsFunc(b.actions, func(a action) bool { return slices.Contains(names, a.text) }) {
			k = len(names)
		}
	case len(b.slots) > 0 && !b.listed:
		names = slices.Clone(b.slots)
		slices.SortStableFunc(names, byValue)
	case len(b.slots) > 0 || b.base >= 0:
		if named {
			a := b.actions[other]
			return fail("row %d, column action: %q is a name, and the propensities are those of numbers: setting actions must give the names in their order", a.row, a.text)
		}
		if k = max(len(b.slots), b.actionsMin); len(b.slots) == 0 {
			k = max(k, hi+1-b.base)
		}
		if k > max(manyActions, b.n) {
			return fail("actions are numbered up to %d in %d rows: are they identifiers? setting actions lists those that were possible", k-1+b.base, b.n)
		}
	case other < 0 && lo <= 1 && hi+1-lo <= 2*len(b.actions):
		k = hi + 1 - lo
	default:
		for _, a := range b.actions {
			names = append(names, a.text)
		}
		slices.SortFunc(names, byValue)
		if other < 0 {
			b.note("action", 0, "the %d distinct actions between %d and %d are taken for names", len(names), lo, hi)
		} else if !named {
			a := b.actions[other]
			b.note("action", a.rows, "%q, first in row %d, is no number and most actions are: all are taken for names", a.text, a.row)
		}
	}
	base := max(0, b.base)
	if b.base < 0 && lo != 0 && (hi >= k || len(b.slots) == 0 && len(b.o.Actions) == 0 || b.match[1] == b.n && b.match[0] < b.n) {
		base = 1
	}
	if k > 0 && base == 1 {
		b.note("action", 0, "actions are the numbers 1 to %d: they are counted from 1", k)
	} else if k > 0 {
		b.note("action", 0, "actions are the numbers 0 to %d", k-1)
	}
	for a := len(names); a < k; a++ {
		names = append(names, strconv.Itoa(a+base))
	}
	place := make(map[string]int32, len(names))
	for i, s := range names {
		place[s] = int32(i)
	}
	taken := 0
	for _, a := range b.actions {
		n, ok := place[a.text]
		if k > 0 {
			n, ok = int32(a.number-base), a.number >= base && a.number < base+k
		}
		if !ok {
			n = -1
		} else {
			taken++
		}
		number = append(number, n)
	}
	if taken < k {
		b.note("action", 0, "%d of the %d actions were never logged", k-taken, k)
	}
	for _, s := range b.slots {
		j, ok := place[s]
		if b.listed {
			v, _ := strconv.Atoi(s)
			j = int32(v)
		} else if !ok {
			return fail("there is a propensity of action %s, which setting actions does not list", s)
		}
		slot = append(slot, j)
	}
	if len(names) < 2 {
		return fail("column action: %s is the only action, and there is nothing to learn: setting actions lists those that were possible", names[0])
	}
	return names, number, slot, nil
}

// byValue orders names, integers among them by their value and first.
func byValue(a, b string) int {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	switch {
	case errA == nil && errB == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

func duplicate(names []string) (int, bool) {
	seen := make(map[string]bool, len(names))
	for i, s := range names {
		if seen[s] {
			return i, true
		}
		seen[s] = true
	}
	return 0, false
}

// note says what a user should know of reading: of a column, "" none, and so many rows, 0 all.
func (b *builder) note(column string, rows int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch {
	case column != "" && rows > 0:
		text = fmt.Sprintf("column %s, %d rows: %s", column, rows, text)
	case column != "":
		text = fmt.Sprintf("column %s: %s", column, text)
	case rows > 0:
		text = fmt.Sprintf("%d rows: %s", rows, text)
	}
	b.notes = append(b.notes, text)
}

// finish brings actions and propensities into the order of the names, in place, and
// finds the rows that contradict themselves. It reports whether there are some, which
// must be left out in another pass.
func (b *builder) finish() (names []string, again bool, err error) {
	for _, s := range b.spills() {
		if err := s.flush(); err != nil {
			return nil, false, fmt.Errorf("%s: no room for the cache: %w", b.path, err)
		}
	}
	names, number, slot, err := b.decide()
	if err != nil {
		return nil, false, err
	}
	k := len(names)
	sets := b.first.hasSet
	listed := b.props.size > 0 && !sets
	if listed && k != len(b.slots) {
		return nil, false, fmt.Errorf("%s: %d actions, but %d propensities in a row", b.path, k, len(b.slots))
	}
	if listed && b.ps.size == 0 {
		if err := b.ps.resize(8 * int64(b.n)); err != nil {
			return nil, false, err
		}
	}
	var acts, options, count, described []int32
	var all, ps []float64
	var numbers []int64
	for s, see := range map[*spill]func([]byte) bool{&b.acts: to(&acts), &b.props: to(&all), &b.ps: to(&ps), &b.rows: to(&numbers),
		&b.optionActs: to(&options), &b.optionCount: to(&count), &b.itemActs: to(&described)} {
		data, unmap, err := s.mapped()
		if err != nil {
			return nil, false, err
		}
		defer unmap()
		see(data)
	}

	for i, a := range described {
		if a >= 0 {
			described[i] = number[a]
		}
	}
	move := make([]float64, k)
	for i := range b.n {
		at := i + 1
		if len(numbers) > 0 {
			at = int(numbers[i])
		}
		logged := b.actions[acts[i]]
		a := number[acts[i]]
		var wrong error
		if a < 0 && !sets {
			wrong = bad("action", "%q is none of the %d actions %s to %s", logged.text, k, names[0], names[k-1])
		} else if acts[i] = a; sets { // among which the logged one is
			row := options[:count[i]]
			options = options[count[i]:]
			for j, a := range row {
				if row[j] = number[a]; row[j] < 0 {
					wrong = bad("offered", "%q is none of the %d actions that setting actions lists", b.actions[a].text, k)
				}
			}
		} else if all != nil {
			pi := all[i*k : i*k+k]
			for s, p := range pi {
				move[slot[s]] = p
			}
			copy(pi, move)
			q := pi[a]
			switch {
			case b.o.Estimate && slices.Max(pi) == 0: // to be estimated
			case q <= 0:
				wrong = bad("propensities", "that of the logged action %s is 0", logged.text)
			case ps[i] > 0 && !Near(ps[i], q, Agreement):
				wrong = bad("propensity", "%v, but %v among those of all actions", ps[i], q)
			default:
				if ps[i] > 0 && !Near(ps[i], q, Exact) {
					b.apart++
				}
				ps[i] = q
			}
		}
		if wrong == nil {
			continue
		}
		if b.o.BadRows == "" {
			return nil, false, fmt.Errorf("%s, %w", b.where(at), wrong)
		}
		if b.memory.reject[at] = wrong.Error(); len(b.memory.reject) > maxBad {
			return nil, false, fmt.Errorf("%s: more than %d bad rows", b.path, maxBad)
		}
		again = true
	}
	for _, n := range []struct {
		rows         int
		column, text string
	}{
		{b.rounded, "propensities", "rows of propensities are rounded: each was divided by its sum"},
		{b.apart, "propensity", "the logged propensity is a rounded one: that among all actions was taken"},
		{b.support, "propensities", "some action has propensity 0: the log says nothing about policies that take it there"},
		{b.skipped, "", "bad rows are in " + b.o.BadRows + ": guarantees speak of the rows that were kept"},
	} {
		if n.rows > 0 {
			b.note(n.column, n.rows, "%s", n.text)
		}
	}
	return names, again, nil
}

// list makes the slots of propensities those of a list.
func (b *builder) list() {
	b.slots, b.listed = b.slots[:0], true
	for i := range b.row.props {
		b.slots = append(b.slots, strconv.Itoa(i))
	}
}
