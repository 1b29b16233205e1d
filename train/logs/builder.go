package logs

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxNames = 1 << 24
	// actions that numbers alone may stand for, in a log that has fewer rows
	manyActions = 1 << 16
	maxBad      = 1 << 22 // bad rows that are remembered
	maxRow      = 1 << 24 // bytes of a row
)

// rowError says what is wrong with a row. Reading can go on after it.
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

// row holds one row as a reader gives it.
type row struct {
	id, group, action, policy                          []byte
	time                                               int64
	cost, p, weight                                    float64
	props                                              []float64 // in the order of builder.propsOf
	outcomes                                           []float64 // of builder.outcomes; NaN, or none: missing
	hasID, hasGroup, hasAction, hasTime, hasCost, hasP bool
	hasProps, hasWeight, hasSet, listed                bool          // listed: props are those of all in their order
	form                                               jsontext.Kind // of action, see table.cell
	ids                                                jsontext.Kind // as builder.idForm, of the row's
	// decisions without a reward that were left out with it
	unrewarded int
	// numbers of a context that is a list of them; 0: it is none
	list int
	drawn
}

// kind says what the values of a context column are.
type kind int8

const (
	undecided kind = iota
	number
	category
)

// builder reads rows, checks them, and appends them to columns. One pass over the files is one builder; what a pass
// learns for the next is in memory.
type builder struct {
	*plan
	path   string
	memory *memory
	row    row
	at     int  // the number of the row being read, from 1
	n      int  // rows that are kept
	into   *bag // contexts or items, that values go into

	input               // what is read
	common              // what rows must agree in
	actionNumbers       // the actions that rows took
	optionSets          // the actions that rows offer
	shown         shown // the list of the row
	numbering           // the numbers that actions are
	findings            // what is to be said of the rows
	output              // the columns
	target              // the file that the columns go into
}

// input holds the file that is read, and the columns of all files.
type input struct {
	local     string    // where the file is; "": at its name
	ends      bool      // the last line of a text must have its end
	files     places    // of which the rows are, if there are several
	columns   []*column // of all files
	byName    map[string]*column
	folders   [][2]string // columns that the folders of the file stand for
	joined    bool        // and some of these are of the context
	table     *table      // of the file that is read; nil: it has none
	fields    bool        // rows are no log's: their cells are kept in the columns, see Rows
	describes bool        // the file is a catalogue, and rows are actions
	typesOnly bool        // this pass only finds the kinds of columns
}

// common holds what rows must agree in, or must have.
type common struct {
	lo, hi     float64 // of rewards
	costColumn string
	first      row           // its flags are those of every row
	listLen    int           // numbers of every context that is a list of them; 0: none so far
	idForm     jsontext.Kind // of ids of actions, '0' or '"', of the rows before; 0: not known yet
	sums       bool          // values that come twice are added up
	lightly    bool          // a row without a weight has 1, even where others have one
	mayLack    bool          // of features, some actions of a row

	columnsOfLists [4]string // of lists, see shown
	whole, joint   bool      // rewards, propensities are of the list, see Lists
	lastSlot       struct {  // of the row before, if rows are slots
		slate string
		at    int32    // 0: none
		above [][]byte // the actions of its list so far
	}
}

// findings holds counts of rows, and notes.
type findings struct {
	off, differs bool // the row's propensities were divided by their sum; the logged one is rounded
	rounded      int  // rows that were off
	apart        int  // and that differed
	support      int  // rows in which an action has propensity 0
	Origin
}

// output holds the columns that a cache has, and the bad rows.
type output struct {
	contexts, items  bag
	groups, policies set
	hash             *xxhash.Digest
	scratch          []byte

	decisionIDs                    texts
	costs, ps, props, weights      stored[float64]
	numbers, densities, transforms stored[float64] // see Numbers
	acts, group, logger            stored[int32]
	rowIDs, contextHash            stored[uint64]
	times, rows                    stored[int64]
	outcomes                       []*outcome
	badRows                        spill
	optionColumns
}

// optionColumns holds what rows offer.
type optionColumns struct {
	optionFirst                                                           stored[int64]
	optionCount, optionAt, optionActs, optionItems, itemActs, slotNumbers stored[int32]
}

// memory holds what a pass over the files learns for later passes.
type memory struct {
	kinds  map[string]kind
	reject map[int]string

	multi            []uint64 // of dsjson: the actions of the first row, of a file before; nil: those of this one
	names            []string // and what they are called; nil: by their numbers
	varied, untagged bool     // of dsjson: the actions are not those of the first row; some have no id
	lists            bool     // of dsjson: rows are lists
}

func newBuilder(path, dir string, p *plan, m *memory) (*builder, error) {
	b, o := &builder{plan: p, path: path, memory: m}, p.o
	b.lo, b.hi, b.base, b.hash = o.RewardMin, o.RewardMax, -1, xxhash.New()
	b.actionID, b.byName, b.into = map[string]int32{}, map[string]*column{}, &b.contexts
	b.itemNumbers, b.seeds = map[itemKey]int32{}, [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	for _, s := range []*set{&b.contexts.vocabulary, &b.items.vocabulary, &b.groups, &b.policies} {
		s.places = map[string]int32{}
	}
	if b.lo == 0 && b.hi == 0 {
		b.hi = 1
	}
	if !(b.lo < b.hi) || math.IsInf(b.hi-b.lo, 0) {
		return nil, fmt.Errorf("%s: setting reward-min %v is not below setting reward-max %v", path, b.lo, b.hi)
	}
	for _, s := range b.spills() {
		s.open(dir)
	}
	b.contexts.values.open("") // see beginCache
	if p.catalogue != nil {
		b.use(p.catalogue)
	}
	return b, b.startNumbers()
}

// spills lists the columns that a cache has, in its order, and the bad rows.
func (b *builder) spills() (all []*spill) {
	for _, s := range sections(&b.output, emptyLog()) {
		all = append(all, s.spill)
	}
	return append(all, &b.badRows)
}

func (b *builder) close() error {
	var err error
	for _, s := range b.spills() {
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
	*r = row{props: r.props[:0], outcomes: r.outcomes[:0], id: r.id[:0], group: r.group[:0], action: r.action[:0],
		policy: r.policy[:0], drawn: drawn{family: r.family[:0]}}
	b.into = &b.contexts
	b.into.begin()
	b.shown = shown{}
	b.offers = offers{options: b.offers.options[:0], text: b.offers.text[:0]}
}

// fill reads all rows.
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
		b.Unrewarded += r.unrewarded
		if reason, ok := b.memory.reject[b.at]; ok {
			err = &rowError{text: reason}
		} else if err == nil {
			err = b.add()
		}
		if err != nil {
			if b.o.BadRows == "" {
				return fmt.Errorf("%s, %w%s", b.where(b.at), err, b.unranged(err))
			} else if b.lastSlot.at > 0 {
				return b.fatal("%w; bad rows are not left out of lists that have a row a slot, as a list would lose a "+
					"slot and be valued as another: mend the row, or leave out its list", err)
			}
			b.Skipped++
			name, row := b.files.place(b.at)
			b.aside(name, row, err, rd.raw())
		}
	}
	if dropped > 0 {
		b.note("", dropped, "lines without a label, or with _skipLearn, were left out")
	}
	switch {
	case b.n > 0 || b.typesOnly:
		return nil
	case b.Skipped > 0:
		return fmt.Errorf("%s: all %d rows are bad, see %s", b.path, b.Skipped, b.o.BadRows)
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

// errAgain ends a pass, wherever the memory has learned what the pass should have known: the kind of a column, that the
// actions vary, which rows contradict themselves. The files must be read again.
var errAgain = errors.New("again")

// errNoDecision says that a line is no decision, and no error either.
var errNoDecision = errors.New("no decision")

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
		return bad(column, "cost %v is outside [%v, %v]: setting reward-min and setting reward-max say what "+
			"rewards can be, cost = −reward", -r, 0-b.hi, 0-b.lo)
	case r > b.hi && column == "reward" && (b.lo != 0 || b.hi != 1):
		return bad(column, "reward %v is outside [%v, %v]: setting reward-min and setting reward-max say what rewards can "+
			"be; setting reward \"min(reward, %v)\" with setting range reward=%[2]v:%[3]v cuts larger ones", r, b.lo, b.hi, b.hi)
	case !(r >= b.lo && r <= b.hi):
		return bad(column, "reward %v is outside [%v, %v]: setting reward-min and setting reward-max say what "+
			"rewards can be", r, b.lo, b.hi)
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

// optional lists the columns that either all rows have, or none.
var optional = [...]string{"decision_id", "timestamp", "group", "propensity", "propensities", "weight", "offered"}

// has says which of the optional columns the row has.
func (r *row) has() [len(optional)]bool {
	return [...]bool{r.hasID, r.hasTime, r.hasGroup, r.hasP, r.hasProps, r.hasWeight, r.hasSet}
}

// add checks the row and appends it to the columns.
func (b *builder) add() error {
	if b.describes {
		return b.describe()
	}
	if b.shown.column[0] != "" {
		return b.addList()
	} else if b.shown.rows {
		return b.addSlot()
	} else if b.slotNumbers.len() > 0 {
		return bad("slots", "missing, while the rows before have it")
	}
	action, err := b.sound()
	if err == nil {
		b.keep(action)
	}
	return err
}

// sound checks the row, and returns the number of its action if it offers what all rows do.
func (b *builder) sound() (action int32, err error) {
	r := &b.row
	r.hasSet = b.offers.column != ""
	if f := b.o.formula; f != nil {
		if err := b.compute(f); err != nil {
			return 0, err
		}
	}
	if err := b.reduce(); err != nil {
		return 0, err
	}
	if err := cmp.Or(b.mustHave(), b.agrees()); err != nil {
		return 0, err
	}
	b.off, b.differs = false, false
	if r.hasSet {
		return 0, b.checkOffers()
	}
	return b.fixed()
}

// keep appends the row, which is sound.
func (b *builder) keep(action int32) {
	r := &b.row
	b.count()
	b.contexts.add()
	values := b.contexts.content()
	content, logged := values.content, uint64(0)
	if r.hasSet {
		var offered uint64
		logged, offered = b.appendOffers()
		content, action = content+offered, b.offers.options[b.offers.at].action
	} else {
		logged = b.actions[action].hash
		content += b.propsSum()
	}
	b.actions[action].rows++
	b.contextHash.put(values.context)
	b.acts.put(action)
	b.costs.put(r.cost)
	b.rowIDs.put(b.identity(content, logged))
	b.appendRow()
	b.n++
}

// agrees checks that the row has the columns that the rows before have.
func (b *builder) agrees() error {
	r, was := &b.row, b.first.has()
	gaps := b.o.Estimate && !r.hasSet && b.catalogue == nil
	for i, has := range r.has() {
		name := optional[i]
		switch {
		case b.n == 0 || has == was[i] || name == "weight" && b.lightly:
		case gaps && (name == "propensity" || name == "propensities"):
		case has:
			return bad(name, "given, while the rows before have none")
		case name == "propensity":
			return bad(name, "missing, while the rows before have it: setting estimate-propensity estimates it, "+
				"and nothing is certified then")
		default:
			return bad(name, "missing, while the rows before have it")
		}
	}
	if r.list > 0 && b.listLen > 0 && r.list != b.listLen {
		return bad("context", "%d numbers, while the rows before have %d", r.list, b.listLen)
	}
	return nil
}

// count counts the row, which is good, among those of its kind.
func (b *builder) count() {
	r := &b.row
	if b.idForm = cmp.Or(b.idForm, r.ids); b.n == 0 {
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
}

// propsSum returns what the propensities of all actions add to the hash of the row.
func (b *builder) propsSum() (sum uint64) {
	props := b.row.props
	for len(b.propsHash) < len(props) {
		b.propsHash = append(b.propsHash, ^xxhash.Sum64String(b.propsOf[len(b.propsHash)]))
	}
	for i, p := range props[:max(0, len(props)-b.added)] {
		sum += mix(b.propsHash[i] + mix(math.Float64bits(p)))
	}
	return sum
}

// identity adds the row to the hash of the log, and returns what tells it apart: its id, or its content, of which the
// hashes of values and of the logged action are known.
func (b *builder) identity(values, logged uint64) uint64 {
	r, bits, buf := &b.row, math.Float64bits, b.scratch[:0]
	p := r.p
	if r.hasDensity { // whatever the intervals are
		p, logged = r.density, bits(r.number)
	}
	for _, v := range []uint64{values, bits(r.cost), bits(p), bits(r.weight), logged, uint64(r.time)} {
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
		return xxhash.Sum64(r.id)
	}
	return content
}

// appendRow appends what not every log has.
func (b *builder) appendRow() {
	r := &b.row
	if b.rows.len() > 0 || b.at != b.n+1 {
		for b.rows.len() < b.n { // the rows before had the numbers that one expects
			b.rows.put(int64(b.rows.len() + 1))
		}
		b.rows.put(int64(b.at))
	}
	if r.hasID {
		b.decisionIDs.add(r.id)
	}
	b.ps.late(b.n, 0, r.hasP || r.hasProps, r.p) // of all actions', the logged one's is set in the end
	if r.hasSet && r.hasProps {
		b.props.put(r.props...)
	}
	// 0 where they are to be estimated
	for k := len(b.propsOf); !r.hasSet && (r.hasProps || b.props.len() > 0) && b.props.len() < (b.n+1)*k; {
		if r.hasProps && b.props.len() == b.n*k {
			b.props.put(r.props...)
		} else {
			b.props.put(0)
		}
	}
	b.weights.late(b.n, 1, r.hasWeight, r.weight)
	if r.hasTime {
		b.times.put(r.time)
	}
	if r.hasGroup {
		name := groupName(r.group) // identity hashes what was read, as files of policies have it
		g := b.groups.number(name)
		if len(name) == 0 { // the group without a name is none
			g = -1
		}
		b.group.put(g)
	}
	var p int32
	if len(r.policy) > 0 {
		p = b.policies.number(r.policy)
	}
	b.logger.late(b.n, -1, len(r.policy) > 0, p)
	if b.numbering.of != nil {
		b.numbers.put(r.number)
		b.densities.put(r.density)
		b.transforms.late(b.n, math.NaN(), r.transform == r.transform, r.transform)
	}
	b.appendOutcomes()
}

// propensityForms converts propensities that files write in another form.
var propensityForms = map[string]func(v float64) float64{
	"log":     math.Exp,
	"percent": func(v float64) float64 { return v / 100 },
	"inverse": func(v float64) float64 { return 1 / v },
}

// mustHave checks what a row must have, whatever the others have.
func (b *builder) mustHave() error {
	r, form := &b.row, b.o.PropensityForm
	if of := propensityForms[form]; of != nil {
		if r.hasP && !r.hasDensity {
			r.p = of(r.p)
		}
		for i, p := range r.props {
			r.props[i] = of(p)
		}
	}
	switch {
	case !r.hasAction || len(r.action) == 0:
		return bad(cmp.Or(b.columnsOfLists[0], "action"), "missing")
	case !r.hasCost && !b.o.NoRewards:
		return bad(cmp.Or(b.costColumn, "reward"), "missing")
	case r.hasP && !(r.p > 0 && (r.p <= 1 || r.hasDensity && !math.IsInf(r.p, 0))):
		hint := ""
		switch {
		case form != "":
			hint = ", read by setting propensity-form " + form
		case b.n > 0 && r.p > 1:
			hint = ": is it 1/p, or a percentage, where rows before have probabilities? write all in one way"
		case b.n > 0: // propensities of the rows before were
		case r.p > 1:
			hint = ": is it 1/p, or a percentage? setting propensity-form inverse, or percent, reads such"
		case r.p < 0:
			hint = ": is it log p? setting propensity-form log reads such"
		}
		return bad("propensity", "%v is outside (0, 1]%s", r.p, hint)
	case r.hasWeight && !(r.weight >= 0 && r.weight-r.weight == 0):
		return bad("weight", "%v is negative or not finite", r.weight)
	case r.hasID && len(r.id) == 0:
		return bad("decision_id", "empty")
	}
	return nil
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
	b.Notes = append(b.Notes, text)
}

// press notes what short reports show, too.
func (b *builder) press(format string, args ...any) {
	b.note("", 0, format, args...)
	b.Pressing = append(b.Pressing, b.Notes[len(b.Notes)-1])
}

// finish names the actions, renumbers the columns that speak of them, in place, and finds the rows that contradict
// themselves. errAgain: there are some, which another pass must leave out.
func (b *builder) finish() (names []string, err error) {
	for _, s := range b.spills() {
		if err := s.flush(); err != nil {
			return nil, b.unwritten(err)
		}
	}
	names, number, props, err := b.decide()
	if err != nil {
		return nil, err
	}
	if b.props.len() > 0 && !b.first.hasSet && len(names) != len(b.propsOf) {
		return nil, fmt.Errorf("%s: %d actions, but %d propensities in a row", b.path, len(names), len(b.propsOf))
	}
	r := rearranged{Log: emptyLog(), row: make([]float64, len(names))}
	for _, s := range sections(&b.output, r.Log) {
		data, unmap, err := s.mapped()
		if err != nil {
			return nil, err
		}
		defer unmap()
		s.take(data)
	}
	r.options = r.Choices.Actions
	for i, a := range r.Choices.items.acts {
		if a >= 0 {
			r.Choices.items.acts[i] = number[a]
		}
	}
	var again error
	for i := range b.n {
		wrong := b.rearrange(&r, i, names, number, props)
		if wrong == nil {
			continue
		}
		at := i + 1
		if len(r.fileRows) > 0 {
			at = int(r.fileRows[i])
		}
		if b.o.BadRows == "" {
			return nil, fmt.Errorf("%s, %w", b.where(at), wrong)
		}
		if b.memory.reject[at] = wrong.Error(); len(b.memory.reject) > maxBad {
			return nil, fmt.Errorf("%s: more than %d bad rows", b.path, maxBad)
		}
		again = errAgain
	}
	b.noteRows()
	return names, again
}

// rearranged holds the columns, which finish changes, and the options that are left for the rows that follow.
type rearranged struct {
	*Log
	options []int32
	row     []float64
}

// rearrange brings row i into the order of the names, by the numbers of its actions and of those of its
// propensities. It returns what is wrong with the row.
func (b *builder) rearrange(r *rearranged, i int, names []string, number, props []int32) error {
	k, logged := len(names), b.actions[r.Action[i]].text
	a := number[r.Action[i]]
	if a < 0 && !b.first.hasSet {
		all := ""
		if b.o.Actions != nil { // a policy's, mostly
			all = ": setting actions must name all that can be drawn; opl select judges policies that lack some of them"
		}
		return bad("action", "%q is none of the %d actions %s to %s%s", logged, k, names[0], names[k-1], all)
	}
	r.Action[i] = a
	if b.first.hasSet { // among which the logged one is
		var wrong error
		row := r.options[:r.Choices.Count[i]]
		r.options = r.options[r.Choices.Count[i]:]
		for j, a := range row {
			if row[j] = number[a]; row[j] < 0 {
				wrong = bad("offered", "%q is none of the %d actions that setting actions lists", b.actions[a].text, k)
			}
		}
		return wrong
	}
	if r.Propensities == nil {
		return nil
	}
	pi := r.Propensities[i*k : i*k+k]
	for s, p := range pi {
		r.row[props[s]] = p
	}
	copy(pi, r.row)
	switch p, q := r.Propensity[i], pi[a]; {
	case b.o.Estimate && slices.Max(pi) == 0: // to be estimated
	case q <= 0:
		return bad("propensities", "that of the logged action %s is 0", logged)
	case p > 0 && !Near(p, q, Agreement):
		return bad("propensity", "%v, but %v among those of all actions", p, q)
	default:
		if p > 0 && !Near(p, q, Exact) {
			b.apart++
		}
		r.Propensity[i] = q
	}
	return nil
}

// noteRows says how many rows are not as they should be.
func (b *builder) noteRows() {
	for _, n := range []struct {
		rows         int
		column, text string
	}{
		{b.rounded, "propensities", "rows of propensities are rounded: each was divided by its sum"},
		{b.apart, "propensity", "the logged propensity is a rounded one: that among all actions was taken"},
		{b.support, "propensities", "some action has propensity 0: the log says nothing about policies that take " +
			"it there"},
		{b.Skipped, "", "bad rows are in " + b.o.BadRows + ": guarantees speak of the rows that were kept"},
	} {
		if n.rows > 0 {
			b.note(n.column, n.rows, "%s", n.text)
		}
	}
}
