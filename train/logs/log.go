// Package logs reads, holds and writes logs of decisions: context, action, propensity
// and cost, as columns. Use [Open] for files, [Collect] for decisions in memory, and
// [Create] to write a log. Every package that learns, inspects, certifies or evaluates
// reads a [Log], wherever its rows came from.
package logs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"opl/graph/kernel/simd"
	"opl/policies/features"
	"opl/policies/numeric"
)

// Log is a log of n decisions among K actions, as columns. Only Actions, Action and
// Cost must be there. Its slices are shared by all who read it and must not change;
// many goroutines may read it.
//
// A log that [Open] or [Collect] made has named contexts, which Names, FitEncoder, Known,
// Encode and Decision read; Encode gives it the vectors X, which learning needs. One that
// was put together by hand, or by [FromLabels], has vectors alone: FitEncoder, Known and
// Encode refuse it, Decision leaves out context and ID, and all else works.
type Log struct {
	Actions      []string  // names of the K actions
	Action       []int32   // a, from 0
	Cost         []float64 // c in [−1, 0]
	Propensity   []float64 // π₀(a|x) in (0, 1]; nil: not known
	Propensities []float64 // π₀(·|x) [n×K], of sets [options], see Pi0; nil: not known
	Least        float64   // of π₀(a|x) for all a and x, as whoever logged the rows says; 0: it is not said
	Weight       []float64 // ω ≥ 0 of rows; nil: all 1
	Time         []int64   // nanoseconds since 1970; nil: not known
	Group        []int32   // of rows that may depend on one another, negative: none; nil: none
	Logger       []int32   // which of Policies logged the row, negative: not known; nil: none is
	Policies     []string  // names or hashes of policies that logged rows
	Keys         []uint64  // what tells rows apart, wherever they are copied to; nil: their content, see Identity

	X    Contexts // φ(x); nil: contexts are not encoded
	Rows []int    // the context of each row, by its place in X; nil: row i

	Outcomes []Outcome // other numbers that decisions led to, beside the reward
	Numbers  *Numbers  // that actions stand for; nil: actions are names

	// Choices say what rows offer and what actions are described by; nil: all K actions,
	// by their names alone.
	Choices *Choices

	Lists *Lists // rows are slots of lists; nil: each is a decision of its own

	// Rewards that are cost 0 and cost −1, in the units of whoever logged them: cost c is
	// the reward RewardMin − c·(RewardMax − RewardMin). Both 0: 0 and 1.
	RewardMin, RewardMax float64

	Origin

	*store             // of a log with named contexts; nil: it has vectors alone
	simulated bool     // see Simulated
	derived   bool     // see Derived
	paired    bool     // see Paired
	identity  []uint64 // of a subset: what told its rows apart before
	source    *Log     // see WithContexts; nil: the log itself
}

// Origin says what a log was made of, and what is missing or estimated.
type Origin struct {
	Estimated  bool       // propensities are estimates: nothing may be certified
	Estimates  *Estimates // how good the estimates are; nil: propensities were logged
	Skipped    int        // bad rows, which were left out
	LeftOut    int        // files of several that could not be read, and were left out with all their rows
	Files      int        // of several: how many there are, those that were left out among them
	Unrewarded int        // decisions without a reward, which were left out: nothing may be certified
	FromRows   bool       // the actions are those that rows have: nothing says which others could be drawn

	// Among is the hash of the catalogue that the rows say they were decided among, as policy files and served logs
	// know it; "": they do not.
	Among string
	// FilesHash says which files there are and how they are read, if the log is of a share of them, see [Options]. It
	// is the same in every share.
	FilesHash string
	Formula   *Formula // that its rewards were computed by; nil: they were read
	Snapshots []string // URLs of the snapshots of tables that were read; each gives the same rows later
	Notes     []string // what reading found out and a user should know
	Pressing  []string // of the notes those that short reports show, too
	Doubts    []string // how columns were read, if that may not be what was meant
	Bare      string   // says that no column is read as context, and which are not read; "": some is, or all are
	Cut       []string // says of last rows that their last value seems to be cut
}

// Contexts are feature vectors φ(x), dense or sparse, however many. They are safe
// for concurrent use.
type Contexts interface {
	Len() int
	Dim() int
	Norm(i int) float64 // ‖φ(x_i)‖₂
	// Row64 and Row32 write φ(x_i) to dst, which has Dim elements.
	Row64(i int, dst []float64)
	Row32(i int, dst []float32)
}

// SparseContexts are Contexts that are stored without their zeros.
type SparseContexts interface {
	Contexts
	// Sparse32 writes the elements of φ(x_i) that are not 0, those of Row32, to val and their places, ascending, to
	// at, both of Dim elements, and returns how many they are.
	Sparse32(i int, val []float32, at []int32) int
}

// Rows64 is a matrix as Contexts: row i of Data, Width numbers.
type Rows64 struct {
	Width int       // features of a row
	Data  []float64 // row by row
}

var _ Contexts = Rows64{}

// Len returns the number of rows.
func (m Rows64) Len() int { return len(m.Data) / max(1, m.Width) }

// Dim returns the width.
func (m Rows64) Dim() int { return m.Width }

// Norm returns the Euclidean norm of row i.
func (m Rows64) Norm(i int) float64 {
	row := m.Data[i*m.Width : (i+1)*m.Width]
	return math.Sqrt(features.Dot(row, row))
}

// Row64 copies row i.
func (m Rows64) Row64(i int, dst []float64) { copy(dst, m.Data[i*m.Width:(i+1)*m.Width]) }

// Row32 copies row i, rounded.
func (m Rows64) Row32(i int, dst []float32) {
	simd.Narrow32(dst, m.Data[i*m.Width:(i+1)*m.Width])
}

// Ahead asks memory for row i.
func (m Rows64) Ahead(i int) { simd.Prefetch(m.Data[i*m.Width : (i+1)*m.Width]) }

// Ahead asks memory for what training reads of row i but its context, and for where that is; pi0 says whether it reads
// the propensities of all actions.
func (l *Log) Ahead(i int, pi0 bool) {
	simd.Prefetch(l.Action[i : i+1])
	simd.Prefetch(l.Cost[i : i+1])
	if l.Propensity != nil {
		simd.Prefetch(l.Propensity[i : i+1])
	}
	if l.Rows != nil {
		simd.Prefetch(l.Rows[i : i+1])
	}
	if pi0 && !l.Sets() {
		simd.Prefetch(l.Pi0(i))
	}
}

// Soon asks memory for where the contexts of rows are, and for where contexts with a method Soon find theirs.
func (l *Log) Soon(rows []int) {
	if l.Rows != nil {
		for _, r := range rows {
			simd.Prefetch(l.Rows[r : r+1])
		}
	}
	if x, ok := l.X.(interface{ Soon(i int) }); ok {
		for _, r := range rows {
			x.Soon(l.Context(r))
		}
	}
}

// Ahead asks memory for φ(x_i), if x has a method Ahead: in random order each context would wait for memory
// when it is read.
func Ahead(x Contexts, i int) {
	if x, ok := x.(interface{ Ahead(i int) }); ok {
		x.Ahead(i)
	}
}

// Len returns n, the number of rows.
func (l *Log) Len() int { return len(l.Action) }

// K returns the number of actions.
func (l *Log) K() int { return len(l.Actions) }

// Undrawn estimates from the rows that each action has how many actions could be drawn and have none:
// f₁(f₁ − 1)/(2(f₂ + 1)) by Chao (1984), where f₁ actions have one row and f₂ have two. It is 0 unless the
// actions are FromRows.
func (l *Log) Undrawn(rows []int) int {
	if !l.FromRows {
		return 0
	}
	var of [3]int
	for _, n := range rows {
		of[min(n, 3)%3]++
	}
	return of[1] * (of[1] - 1) / (2 * (of[2] + 1))
}

// Dim returns d, the number of features, 0 if contexts are not encoded.
func (l *Log) Dim() int {
	if l.X == nil {
		return 0
	}
	return l.X.Dim()
}

// LoggedOnly reports that only the logged actions' propensities are known.
func (l *Log) LoggedOnly() bool { return l.Propensities == nil }

// Numbered names k actions by their numbers from 0.
func Numbered(k int) []string {
	names := make([]string, k)
	for a := range names {
		names[a] = strconv.Itoa(a)
	}
	return names
}

// name returns what errors begin with.
func (l *Log) name() string {
	if path := l.Path(); path != "" {
		return path
	}
	return "log"
}

// Context returns the context of row i, by its place.
func (l *Log) Context(i int) int { return at(l.Rows, i, i) }

// at returns what a column has in row i; none of no column.
func at[T any](column []T, i int, none T) T {
	if column == nil {
		return none
	}
	return column[i]
}

// contexts returns how many contexts there are, −1 if the log has none.
func (l *Log) contexts() int {
	switch {
	case l.X != nil:
		return l.X.Len()
	case l.store != nil:
		return l.store.n
	}
	return -1
}

// Subset returns the log of some of the rows, which shares the contexts and keeps
// what tells its rows apart.
func (l *Log) Subset(rows []int) *Log {
	s := *l
	_, keys := l.Identity()
	s.identity = Pick(keys, rows)
	if l.source != nil {
		s.source = l.source.Subset(rows)
	}
	s.Choices, s.Lists, s.Numbers = cloned(l.Choices), cloned(l.Lists), cloned(l.Numbers)
	s.Outcomes = slices.Clone(l.Outcomes)
	for _, c := range s.byRow() {
		c.pick(rows)
	}
	if l.Rows == nil {
		s.Rows = append([]int{}, rows...) // of no rows not nil, which is all
	}
	if k := l.K(); l.Propensities != nil && !l.Sets() {
		s.Propensities = make([]float64, 0, len(rows)*k)
		for _, r := range rows {
			s.Propensities = append(s.Propensities, l.Propensities[r*k:(r+1)*k]...)
		}
	}
	return &s
}

// byRow is a column with an entry for each row, by the name that errors call it.
type byRow struct {
	name string
	len  int
	pick func(rows []int) // leaves the entries of some rows
}

func byRowOf[T any](name string, c *[]T) byRow {
	return byRow{name, len(*c), func(rows []int) { *c = Pick(*c, rows) }}
}

// byRow lists the columns that have an entry for each row. A column is listed here alone: [Log.Subset] and [Log.Check]
// follow. TestLog_SubsetHasEachColumn finds one that is not.
func (l *Log) byRow() []byRow {
	all := []byRow{byRowOf("actions", &l.Action), byRowOf("costs", &l.Cost), byRowOf("propensities", &l.Propensity),
		byRowOf("weights", &l.Weight), byRowOf("times", &l.Time), byRowOf("groups", &l.Group),
		byRowOf("loggers", &l.Logger), byRowOf("keys", &l.Keys), byRowOf("rows of contexts", &l.Rows)}
	if c := l.Choices; c != nil {
		all = append(all, byRowOf("first options", &c.First), byRowOf("numbers of options", &c.Count),
			byRowOf("places among options", &c.At))
	}
	if s := l.Lists; s != nil {
		all = append(all, byRowOf("lists", &s.Of), byRowOf("slots", &s.Slot))
	}
	if n := l.Numbers; n != nil {
		all = append(all, byRowOf("numbers", &n.Value), byRowOf("densities", &n.Density),
			byRowOf("transforms of numbers", &n.Transform))
	}
	for i := range l.Outcomes {
		all = append(all, byRowOf(l.Outcomes[i].Column, &l.Outcomes[i].Values))
	}
	return all
}

// cloned is a copy of what p points to; nil of nil.
func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	of := *p
	return &of
}

// WithContexts returns the log with other vectors of its contexts, the row's by its place in rows; nil:
// as they were. Hashes and what tells rows apart stay those of the contexts as they were.
func (l *Log) WithContexts(x Contexts, rows []int) *Log {
	out := *l
	if out.X, out.source = x, cmp.Or(l.source, l); rows != nil {
		out.Rows = rows
	}
	return &out
}

// View is a log of which some rows have the vectors that of makes of their contexts, and the
// others, nil for none, must not be asked for.
func (l *Log) View(rows []int, of func(Contexts) (Contexts, error)) (*Log, error) {
	if rows == nil || len(rows) > 1<<24 { // places of so many take more memory than time
		x, err := of(l.X)
		return l.WithContexts(x, nil), err
	}
	contexts, at := make([]int, len(rows)), slices.Repeat([]int{-1}, l.Len())
	for i, r := range rows {
		contexts[i], at[r] = l.Context(r), i
	}
	x, err := of(picked{l.X, contexts})
	return l.WithContexts(x, at), err
}

// picked is a selection of contexts.
type picked struct {
	Contexts
	rows []int
}

func (p picked) Len() int                   { return len(p.rows) }
func (p picked) Norm(i int) float64         { return p.Contexts.Norm(p.rows[i]) }
func (p picked) Row64(i int, dst []float64) { p.Contexts.Row64(p.rows[i], dst) }
func (p picked) Row32(i int, dst []float32) { p.Contexts.Row32(p.rows[i], dst) }
func (p picked) Ahead(i int)                { Ahead(p.Contexts, p.rows[i]) }

// Every returns 0 … n − 1.
func Every(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// Marked reports of each of n rows whether it is in one of some lists of rows.
func Marked(n int, lists ...[]int) []bool {
	in := make([]bool, n)
	for _, r := range slices.Concat(lists...) {
		in[r] = true
	}
	return in
}

// Pick returns the elements of some rows, nil of nil.
func Pick[T any](column []T, rows []int) []T {
	if column == nil {
		return nil
	}
	some := make([]T, len(rows))
	for i, r := range rows {
		some[i] = column[r]
	}
	return some
}

// Logger names a policy that logged rows.
type Logger struct {
	Policy string `json:"policy"` // its name or hash
	Rows   int    `json:"rows"`   // that it logged
}

// Loggers returns the policies that logged rows, in the order of their first rows.
func (l *Log) Loggers() []Logger {
	var loggers []Logger
	place := make([]int, len(l.Policies)) // in loggers, from 1; 0: not yet
	for _, p := range l.Logger {
		if p < 0 {
			continue
		}
		if place[p] == 0 {
			loggers = append(loggers, Logger{Policy: l.Policies[p]})
			place[p] = len(loggers)
		}
		loggers[place[p]-1].Rows++
	}
	return loggers
}

// ActionsOf returns the place among other actions, such as a policy's, of each of the
// log's. One that is not among them is an error.
func (l *Log) ActionsOf(others []string) ([]int32, error) {
	index := make(map[string]int32, len(others))
	for a, name := range others {
		index[name] = int32(a)
	}
	to := make([]int32, l.K())
	for a, name := range l.Actions {
		at, ok := index[name]
		if !ok {
			return nil, fmt.Errorf("the log has an action %q that the policy does not know: it knows %s; "+
				"opl select judges it, as it never plays others, or train with all of them, by setting actions", name,
				some(others))
		}
		to[a] = at
	}
	return to, nil
}

// WithActions returns the log with its actions among others, in their order. Those that the
// log does not have were never played there; rows that offer sets go on offering what they
// did. Among the actions of a catalogue, of which rows offer all, there are no others: an error. A log of numbers can
// have any intervals of them.
func (l *Log) WithActions(others []string) (*Log, error) {
	if slices.Equal(l.Actions, others) {
		return l, nil
	}
	if of, ok := numeric.Parse(others); ok && l.Numbers != nil {
		return l.into(of, others)
	}
	to, err := l.ActionsOf(others)
	if err != nil {
		return nil, err
	}
	out, k, wide := *l, l.K(), len(others)
	if l.Choices != nil {
		if out.Choices, err = l.Choices.among(to, k, wide); err != nil {
			return nil, fmt.Errorf("%s: %w", l.name(), err)
		}
	}
	out.Actions, out.Action = others, make([]int32, l.Len())
	for i, a := range l.Action {
		out.Action[i] = to[a]
	}
	if wide > k { // which these rows did not offer
		out.Least = 0
	}
	if l.paired && wide > k { // beside a third action the other has less
		out.Propensities, out.paired = nil, false
	} else if l.Propensities != nil && !l.Sets() {
		out.Propensities = slices.Repeat([]float64{LeastPropensity}, l.Len()*wide)
		for i := range l.Len() {
			for a, b := range to {
				out.Propensities[i*wide+int(b)] = l.Propensities[i*k+a]
			}
		}
	}
	return &out, nil
}

// Simulated reports that the actions were drawn here, by [FromLabels], from propensities
// that are known and for rows that are independent.
func (l *Log) Simulated() bool { return l.simulated }

// RewardRange returns the rewards, in the log's units, that are cost 0 and cost −1.
func (l *Log) RewardRange() (low, high float64) {
	if l.RewardMin == 0 && l.RewardMax == 0 {
		return 0, 1
	}
	return l.RewardMin, l.RewardMax
}
