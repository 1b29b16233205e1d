// Package join turns what a server logged, and the rewards that came later, into a log to learn
// from. Use it before opl train, when decisions and rewards lie in two files.
package join

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"

	"opl/policies/features"
	distinct "opl/train/internal/keys"
	"opl/train/logs"
)

// Duplicates says how ids that come more than once are treated.
type Duplicates string

// Ways to treat ids that come more than once.
const (
	Refuse Duplicates = "error"
	First  Duplicates = "first" // the others are left out
	Last   Duplicates = "last"
)

// Options says how decisions and rewards are joined.
type Options struct {
	// Missing, if not nil, is the reward of decisions that have none; nil drops
	// them.
	Missing *float64
	// Duplicates is of rewards, and of decisions: a client that asks again with
	// the same id gets, and may act on, another answer. With Mature it is of rewards that came in
	// time. Empty: Refuse.
	Duplicates Duplicates
	// Policy, unless empty, is the hash of the policy whose decisions are joined, or
	// how it begins.
	Policy string
	// Catalogue, unless empty, is the hash of the catalogue that decisions are among, or how it
	// begins; others are left out. Decisions among several are an error, as a log is read with one.
	Catalogue string
	// Mature, if above 0, is how old a decision must be at the newest time to be joined, and how long after it a
	// reward counts, where rewards have times: all decisions then have had as long to earn something.
	Mature time.Duration
	// Computed are outcomes that a policy's reward is computed from, by their columns; where no file has rewards, a
	// decision with all of these needs none, and is dropped without. nil: rewards are read.
	Computed []string
	// Min and Max are the range of rewards, mapped to costs from 0 to −1; both 0:
	// 0 and 1.
	Min, Max float64
}

// Summary counts what was joined.
type Summary struct {
	Decisions  int           `json:"decisions"`   // of the served log, without duplicates left out
	Joined     int           `json:"written"`     // those filled in included
	Others     int           `json:"others"`      // of other policies or catalogues than the one asked for: left out
	Young      int           `json:"young"`       // decisions that are not old enough: left out
	Late       int           `json:"late"`        // rewards that came too late to count: as if there were none
	Early      int           `json:"early"`       // rewards whose times are more than a second before the decision
	Waits      *Waits        `json:"waits"`       // between decisions and rewards; nil: rewards have no times
	Missing    int           `json:"missing"`     // without a reward: dropped, or filled in
	Orphans    int           `json:"orphans"`     // rewards without a decision
	Left       int           `json:"duplicates"`  // left out
	Torn       int           `json:"torn_bytes"`  // of last lines without an end
	Zeros      int           `json:"zero_bytes"`  // left out
	Copies     int           `json:"copies"`      // lines equal to others, left out
	Bad        int           `json:"bad"`         // lines that could not be read, left out
	Plain      int           `json:"unchecked"`   // lines without a checksum
	NoChance   int           `json:"no_chance"`   // decisions with an action of propensity 0
	Policies   []logs.Logger `json:"policies"`    // that decided, by their hashes, with the number of their logs
	From       time.Time     `json:"from"`        // time of the first decision
	To         time.Time     `json:"to"`          // time of the last decision
	MeanReward float64       `json:"mean_reward"` // of the decisions with a reward
	// MeanWritten is that of the decisions that were written, those filled in included.
	MeanWritten float64  `json:"mean_reward_written"`
	Outcomes    []Known  `json:"outcomes,omitempty"` // other outcomes
	Notes       []string `json:"notes,omitempty"`    // of reading the rewards
}

// Known is how many of the decisions that were written have an outcome, by its column.
type Known struct {
	Column string   `json:"column"` // with its prefix, such as cost_latency
	Rows   int      `json:"rows"`   // decisions that have a value, those that were given one left out
	Given  *float64 `json:"given"`  // what the others were given, see [Rewards.Fill]; nil: they lack it
}

// Waits are seconds between decisions and their rewards: half, 99 % and all came within them.
type Waits struct {
	Half float64 `json:"half"` // seconds
	Most float64 `json:"most"` // within which 99 % of the rewards came
	All  float64 `json:"all"`  // within which every reward came
}

// line is a line of a served log.
type line struct {
	ID           string         `json:"decision_id"`
	Time         time.Time      `json:"timestamp"`
	Context      jsontext.Value `json:"context"`
	Group        string         `json:"group"` // of decisions that may depend on one another; empty: none
	Action       string         `json:"action"`
	Propensity   float64        `json:"propensity"`
	Number       *float64       `json:"number"`  // that the action played
	Density      float64        `json:"density"` // of it; 0: it is an atom
	Propensities []float64      `json:"propensities"`
	Actions      jsontext.Value `json:"actions"` // names of all, or what was offered: objects
	Offered      []string       `json:"offered"` // ids of a catalogue; neither: all of it
	Top          jsontext.Value `json:"top"`
	Unknown      int            `json:"unknown"`
	Catalogue    string         `json:"catalogue"`
	Hash         string         `json:"policy_hash"`
	Slots        []string       `json:"slots"` // a list in place of an action
	Chances      []float64      `json:"slot_propensities"`

	slate string // the decision that the line is a slot of; empty: of none
	slot  int    // from 1

	kind  string       // of what a decision is among
	names []string     // of actions, in the order of the propensities; none of a whole catalogue
	set   []logs.Offer // what was offered; nil: all actions
	at    int          // the action's place among the names
}

// What decisions are among, which must be the same for all of a log.
const (
	fixed     = "the same actions"
	numbers   = "numbers"
	offered   = "offered actions of a catalogue"
	described = "offered actions with features"
	whole     = "all actions of a catalogue"
)

// among finds out what the decision is among.
func (l *line) among() error {
	l.kind = fixed
	switch {
	case l.Actions != nil && l.Offered != nil:
		return errors.New("actions and offered are both there")
	case l.Offered != nil:
		l.kind = offered
		for _, id := range l.Offered {
			l.set = append(l.set, logs.Offer{Action: id})
		}
	case l.Actions == nil && l.Catalogue != "":
		l.kind = whole
	case l.Actions == nil:
		return nil
	default:
		d := decoder(l.Actions)
		if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
			return errors.New("actions: no list")
		}
		for d.PeekKind() == '"' {
			t, err := d.ReadToken()
			if err != nil {
				return fmt.Errorf("actions: %w", err)
			}
			l.names = append(l.names, t.String())
		}
		for i := len(l.names); d.PeekKind() != ']'; i++ {
			var a logs.Offer
			var err error
			if a.Features, err = values(d, fmt.Sprintf("actions[%d]", i), &a.Action); err != nil {
				return err
			}
			l.set = append(l.set, a)
		}
		if l.set == nil {
			return nil
		}
		if l.names != nil {
			return errors.New("actions: names and objects")
		}
		l.kind = described
	}
	for _, a := range l.set {
		if l.names = append(l.names, a.Action); a.Action == "" {
			return errors.New("an action without an id")
		}
	}
	if i, twice := distinct.Twice(l.names); twice {
		return fmt.Errorf("action %q is offered twice", l.names[i])
	}
	return nil
}

// check reports what is wrong with a line, and finds the action's place among what it is
// among, unless that is a whole catalogue.
func (l *line) check() error {
	if l.kind == fixed && l.Number != nil {
		l.kind = numbers
	}
	l.at = slices.Index(l.names, l.Action)
	least := 2
	if l.set != nil {
		least = 1
	}
	switch {
	case l.kind == whole && (l.Action == "" || l.Propensities != nil || !(l.Propensity > 0 && l.Propensity <= 1)):
		return fmt.Errorf("action %q of a catalogue with the propensity %v, and %d propensities: want one in "+
			"(0, 1], and no list", l.Action, l.Propensity, len(l.Propensities))
	case l.kind == whole:
		return nil
	case len(l.names) < least || len(l.Propensities) != len(l.names):
		return fmt.Errorf("%d actions and %d propensities", len(l.names), len(l.Propensities))
	case l.at < 0:
		return fmt.Errorf("action %q is none of %q", l.Action, l.names)
	}
	if _, err := logs.Distribution(l.Propensities, l.names, logs.Rounding); err != nil {
		return fmt.Errorf("the propensities: %w", err)
	}
	if p := l.Propensities[l.at]; p != l.Propensity || p == 0 {
		return fmt.Errorf("the propensity is %v, that of action %q is %v", l.Propensity, l.Action, p)
	}
	return nil
}

// Log is served logs, read as one, whose ids have been read.
type Log struct {
	// Names of the actions, if decisions are all among the same; of decisions among a whole
	// catalogue those that were taken; else nil: decisions have Offered.
	Actions      []string
	Numbers      bool // decisions are for numbers, of whatever intervals; Actions is nil
	Catalogue    bool // decisions are among a whole catalogue, or offered actions of one
	kind         string
	grouped      bool           // some decisions have a group
	index        map[string]int // of Actions
	Bad          int            // lines that were left out
	Unrewarded   int            // decisions that another system left out, or a join before: they stay so
	files        []*file
	rows         map[string]place // that counts, of each id
	left, copies int
	torn, zeros  int
	plain        int
	skip         bool
	newest       time.Time // of the decisions
	logged       *logs.Log // that another system logged; nil: files are
}

// place is where a decision is, and what its line was.
type place struct {
	file, line int
	sum        uint64
}

// Open reads through served logs once, in the order of their first decisions: their ids and their actions, which must
// be the same in all lines. Close closes them. A file may be compressed by gzip or zstd. Left out and counted are
//
//   - a last line without an end, which a server that runs or died may leave;
//   - zeros, which a program that truncates the file of a running server may leave;
//   - lines that are equal to others, which a server writes after such a truncation;
//   - with bad, lines that are damaged or no decisions, which are written to it; without, they are
//     an error.
func Open(paths []string, d Duplicates, bad io.Writer) (_ *Log, err error) {
	if d = cmp.Or(d, Refuse); d != Refuse && d != First && d != Last {
		return nil, fmt.Errorf("join: duplicates %q: want %s, %s or %s", d, Refuse, First, Last)
	}
	l := &Log{rows: map[string]place{}, index: map[string]int{}, skip: bad != nil}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	for _, path := range paths {
		f, err := openFile(path)
		if err != nil {
			return nil, err
		}
		l.files = append(l.files, f)
		for _, other := range l.files[:len(l.files)-1] {
			if os.SameFile(f.info, other.info) {
				return nil, fmt.Errorf("%s: the file is given twice", path)
			}
		}
	}
	slices.SortStableFunc(l.files, func(a, b *file) int { return a.first.Compare(b.first) })
	for i, f := range l.files {
		err := f.each(func(n int, raw []byte, s *line, wrong error) error {
			if wrong == nil {
				if wrong = l.take(s); wrong == nil && bad != nil {
					_, wrong = values(decoder(s.Context), "context", nil)
				}
			}
			if wrong != nil {
				if bad == nil {
					return fmt.Errorf("%w: setting skip-bad goes on without such lines", wrong)
				}
				l.Bad++
				_, err := bad.Write(raw)
				return err
			}
			now := place{i, n, xxhash.Sum64(raw)}
			if before, twice := l.rows[s.ID]; twice {
				if before.sum == now.sum {
					l.copies++
					return nil
				}
				l.left++
				switch d {
				case Refuse:
					return fmt.Errorf("decision_id %q was on %s before: take the first or the last of them by "+
						"setting duplicates", s.ID, l.where(before, i))
				case First:
					return nil
				}
			}
			l.rows[s.ID] = now
			return nil
		})
		l.torn, l.zeros, l.plain = l.torn+f.torn, l.zeros+f.zeros, l.plain+f.plain
		if err != nil {
			return nil, err
		}
	}
	if len(l.rows) == 0 {
		return nil, fmt.Errorf("%s: no decisions", strings.Join(paths, ", "))
	}
	return l, nil
}

// Other takes decisions that another system logged, each with an id, from a log that was read without rewards.
func Other(of *logs.Log, d Duplicates) (*Log, error) {
	if !of.HasIDs() {
		return nil, fmt.Errorf("%s: no column decision_id, which rewards name: setting columns reads another as it, "+
			"as decision_id=NAME", of.Path())
	}
	l := &Log{rows: map[string]place{}, logged: of, Numbers: of.Numbers != nil, Bad: of.Skipped, Unrewarded: of.Unrewarded,
		grouped: of.Group != nil}
	if !of.Sets() {
		l.Actions = of.Actions
	}
	var row logs.Decision
	for i := range of.Len() {
		of.Decision(i, &row)
		if row.Time.After(l.newest) {
			l.newest = row.Time
		}
		before, twice := l.rows[row.ID]
		if twice {
			l.left++
		}
		switch {
		case twice && d == First:
			continue
		case twice && d != Last:
			return nil, fmt.Errorf("%s: decision_id %q is in row %d and in row %d: take the first or the last of them "+
				"by setting duplicates", of.Path(), row.ID, before.line, row.Row)
		}
		l.rows[row.ID] = place{0, row.Row, 0}
	}
	return l, nil
}

// each hands over the decisions that count, with their contexts where those are still to be read.
func (l *Log) each(use func(d *logs.Decision, context jsontext.Value) error) error {
	for i := range l.files {
		if err := l.files[i].each(func(n int, raw []byte, row *line, wrong error) error {
			if wrong != nil && l.skip {
				return nil // it has been counted
			}
			if wrong != nil || l.rows[row.ID] != (place{i, n, xxhash.Sum64(raw)}) {
				return wrong
			}
			if l.kind == whole {
				row.at = l.index[row.Action]
			}
			d := &logs.Decision{ID: row.ID, Time: row.Time, Group: row.Group, Offered: row.set, Action: row.at,
				Propensity: row.Propensity, Propensities: row.Propensities, Weight: 1, Policy: row.Hash,
				Catalogue: row.Catalogue, Slate: row.slate, Slot: row.slot}
			if row.Number != nil {
				d.Number, d.Density, d.Propensities = *row.Number, row.Density, nil
			}
			return use(d, row.Context)
		}); err != nil {
			return err
		}
	}
	if l.logged == nil {
		return nil
	}
	for i := range l.logged.Len() {
		d := &logs.Decision{}
		if l.logged.Decision(i, d); l.rows[d.ID].line != d.Row {
			continue
		}
		if err := use(d, nil); err != nil {
			return fmt.Errorf("%s, row %d: %w", l.logged.Path(), d.Row, err)
		}
	}
	return nil
}

// take checks that a decision is among what those before are, and takes the names of actions.
func (l *Log) take(s *line) error {
	l.grouped = l.grouped || s.Group != ""
	if s.Time.After(l.newest) {
		l.newest = s.Time
	}
	if l.kind == "" {
		l.kind, l.Catalogue, l.Numbers = s.kind, s.kind == whole || s.kind == offered, s.kind == numbers
	}
	switch {
	case l.kind != s.kind:
		return fmt.Errorf("it is among %s, those before among %s: join such logs apart", s.kind, l.kind)
	case s.kind == whole:
		if _, known := l.index[s.Action]; !known {
			l.index[s.Action] = len(l.Actions)
			l.Actions = append(l.Actions, s.Action)
		}
	case s.kind != fixed:
	case l.Actions == nil:
		l.Actions = s.names
	case !slices.Equal(l.Actions, s.names):
		return fmt.Errorf("its actions are %q, those before %q: join logs of different actions apart", s.names,
			l.Actions)
	}
	return nil
}

// where names a place, in a file of the log.
func (l *Log) where(p place, file int) string {
	if p.file == file {
		return fmt.Sprintf("line %d", p.line)
	}
	return fmt.Sprintf("line %d of %s", p.line, l.files[p.file].path)
}

// Close closes the files.
func (l *Log) Close() error {
	var err error
	for _, f := range l.files {
		err = errors.Join(err, f.Close())
	}
	if l.logged != nil {
		err = errors.Join(err, l.logged.Close())
	}
	return err
}

// Missing returns the number of decisions, of whatever policy, that have no reward.
func (l *Log) Missing(rewards *Rewards) (n int) {
	for id := range l.rows {
		if _, ok := rewards.of[id]; !ok {
			n++
		}
	}
	return n
}

// joining is a join that is under way.
type joining struct {
	*Log
	Summary
	o         Options
	rewards   *Rewards
	write     func(*logs.Decision) error
	low, high float64        // rewards
	sum       float64        // of rewards that there are
	written   float64        // of those of all that was written
	held      *logs.Decision // the last, to which those that are dropped after it belong
	seen      int
	dropped   int       // since the last
	timeless  int       // rewards without a time, where others have one
	among     string    // which catalogue
	newest    time.Time // of decisions and rewards
	mature    time.Time // of decisions that are old enough, the newest
	waits     []time.Duration
	outcomes  []map[string]reward // in the order of the summary's
}

// other sets the other outcomes of a decision. One that came too late is as if it had not come.
func (j *joining) other(d *logs.Decision) {
	for k, of := range j.outcomes {
		v := math.NaN()
		if given := j.Outcomes[k].Given; given != nil {
			v = *given
		}
		if r, ok := of[d.ID]; ok {
			if r, ok = r.within(j.o.Mature, d.Time); ok {
				v = r.value
				j.Outcomes[k].Rows++
			}
		}
		d.Outcomes = append(d.Outcomes, v)
	}
}

// Join hands the decisions with their rewards to write, such as that of a [logs.Writer],
// in the order of the served log. They name the policy that took them by its hash, and how many
// before them, or after the last, were dropped since they have no reward.
func (l *Log) Join(rewards *Rewards, write func(*logs.Decision) error, o Options) (Summary, error) {
	j := &joining{Log: l, o: o, rewards: rewards, write: write, low: o.Min, high: o.Max, newest: l.newest,
		dropped: l.Unrewarded}
	if j.low == 0 && j.high == 0 {
		j.high = 1
	}
	if !(j.low < j.high) || math.IsInf(j.low, 0) || math.IsInf(j.high, 0) {
		return Summary{}, fmt.Errorf("join: rewards from %v to %v are no range", j.low, j.high)
	}
	if rewards.newest.After(j.newest) {
		j.newest = rewards.newest
	}
	s := &j.Summary
	*s = Summary{Decisions: len(l.rows), Left: l.left + rewards.left, Torn: l.torn, Zeros: l.zeros, Copies: l.copies,
		Bad: l.Bad, Plain: l.plain, Notes: rewards.notes}
	for _, column := range rewards.Outcomes() {
		known := Known{Column: column}
		if v, given := rewards.fill[column]; given {
			known.Given = &v
		}
		s.Outcomes = append(s.Outcomes, known)
		j.outcomes = append(j.outcomes, rewards.others[column])
	}
	for _, column := range o.Computed {
		if j.rewards.others[column] == nil {
			return *s, fmt.Errorf("the policy's reward is computed from %s, and no file of rewards has this column", column)
		}
	}
	if err := j.check(); err != nil {
		return *s, err
	}
	if err := l.each(j.take); err != nil {
		return *s, err
	}
	if j.seen != len(l.rows) {
		return *s, fmt.Errorf("%s: of %d decisions %d are still there: the file was changed while it was read; "+
			"join again", l.files[0].path, len(l.rows), j.seen)
	}
	if j.held != nil {
		if note := j.unmatched(j.held.Slot > 0); note != "" {
			s.Notes = append(slices.Clip(s.Notes), note)
		}
		j.held.Unrewarded = j.dropped
		if err := write(j.held); err != nil {
			return *s, err
		}
	}
	if with := s.Decisions - s.Others - s.Young - s.Missing; with > 0 {
		s.MeanReward = j.sum / float64(with)
	}
	if s.Joined > 0 {
		s.MeanWritten = j.written / float64(s.Joined)
	}
	if o.Mature > 0 && j.newest.Sub(j.mature) > 2*o.Mature {
		s.Notes = append(slices.Clip(s.Notes), fmt.Sprintf("the newest time is %s, and the decision before it of those that are "+
			"old enough is of %s: if a clock was wrong there, rewards may still come", j.newest.Format(time.RFC3339),
			j.mature.Format(time.RFC3339)))
	}
	if j.timeless > 0 {
		s.Notes = append(slices.Clip(s.Notes), fmt.Sprintf("%d rewards have no time, and count whenever they came: "+
			"give each its time, or leave these out", j.timeless))
	}
	if n := len(j.waits); n > 0 {
		slices.Sort(j.waits)
		s.Waits = &Waits{j.waits[n/2].Seconds(), j.waits[min(n-1, n*99/100)].Seconds(), j.waits[n-1].Seconds()}
	}
	return *s, nil
}

// cost is that of a reward, which must be within its range.
func (j *joining) cost(r float64) (float64, error) {
	if !(r >= j.low && r <= j.high) {
		return 0, fmt.Errorf("reward %v is outside [%v, %v]: state the range by setting reward-min and setting "+
			"reward-max", r, j.low, j.high)
	}
	return -(r - j.low) / (j.high - j.low), nil
}

// check counts the rewards of no decision, and refuses the first reward that is outside of the range.
func (j *joining) check() error {
	if j.o.Missing != nil {
		if _, err := j.cost(*j.o.Missing); err != nil {
			return fmt.Errorf("setting missing-reward: %w", err)
		}
	}
	var wrong error
	first := math.MaxInt
	for id, r := range j.rewards.of { // in any order: only a count and a minimum are taken
		if _, ok := j.rows[id]; !ok {
			j.Orphans++
		} else if _, err := j.cost(r.value); err != nil && r.nth < first {
			wrong, first = fmt.Errorf("%s: row %d: %w", r.path, r.row, err), r.nth
		}
	}
	return wrong
}

// unmatched says so if no reward is of any decision, or of any slot of a list.
func (j *joining) unmatched(slots bool) string {
	switch {
	case j.Orphans == 0 || j.Orphans < len(j.rewards.of):
		return ""
	case slots:
		return "no reward is of any slot of a list: is decision_id written alike in both, as 12 and 00012 are not, and " +
			"is there a column slot, counted from 1"
	}
	return "no reward is of any decision: is decision_id written alike in both, as 12 and 00012 are not"
}

// computed stands for the reward of a decision that has all outcomes which it is computed from.
func (j *joining) computed(d *logs.Decision) (r reward, ok bool) {
	for k, of := range j.outcomes {
		if !slices.Contains(j.o.Computed, j.Outcomes[k].Column) {
			continue
		}
		one, has := of[d.ID]
		if has {
			one, has = one.within(j.o.Mature, d.Time)
		}
		if r = one; !has && j.Outcomes[k].Given == nil {
			return r, false
		}
	}
	r.value = j.low
	return r, true
}

func (j *joining) take(d *logs.Decision, context jsontext.Value) (err error) {
	if j.From.IsZero() || d.Time.Before(j.From) {
		j.From = d.Time
	}
	if d.Time.After(j.To) {
		j.To = d.Time
	}
	if j.seen++; !strings.HasPrefix(d.Policy, j.o.Policy) || !strings.HasPrefix(d.Catalogue, j.o.Catalogue) {
		j.Others++
		return nil
	}
	if j.among = cmp.Or(j.among, d.Catalogue); d.Catalogue != j.among {
		return fmt.Errorf("decision_id %q is among the catalogue %.12s, those before among %.12s: a log is read "+
			"with one: setting catalogue joins the decisions of one", d.ID, d.Catalogue, j.among)
	}
	if j.o.Mature > 0 && d.Time.IsZero() {
		return errors.New("setting mature: the decisions have no times")
	}
	if j.o.Mature > 0 && j.newest.Sub(d.Time) < j.o.Mature {
		j.Young++
		return nil
	}
	if d.Time.After(j.mature) {
		j.mature = d.Time
	}
	at := slices.IndexFunc(j.Policies, func(p logs.Logger) bool { return p.Policy == d.Policy })
	if at < 0 && d.Policy != "" {
		at = len(j.Policies)
		j.Policies = append(j.Policies, logs.Logger{Policy: d.Policy})
	}
	if at >= 0 {
		j.Policies[at].Rows++
	}
	if slices.Contains(d.Propensities, 0) {
		j.NoChance++
	}
	r, ok := j.rewards.of[d.ID]
	if j.o.Computed != nil && d.Slot == 0 {
		r, ok = j.computed(d)
	}
	if ok {
		if r, ok = r.within(j.o.Mature, d.Time); !ok {
			j.Late++
		}
	}
	if ok && j.o.Mature > 0 && r.time.IsZero() && !j.rewards.newest.IsZero() {
		j.timeless++
	}
	if !r.time.IsZero() && !d.Time.IsZero() {
		wait := r.time.Sub(d.Time)
		if j.waits = append(j.waits, wait); wait < -time.Second {
			j.Early++
		}
	}
	switch {
	case ok:
		j.sum += r.value
	case j.o.Missing == nil && d.Slot > 0 && j.unmatched(true) != "":
		return errors.New(j.unmatched(true))
	case j.o.Missing == nil && d.Slot > 0:
		return fmt.Errorf("decision_id %q, slot %d has no reward: rewards of lists have a column slot, and "+
			"setting missing-reward says what slots earn that nothing is known of", d.Slate, d.Slot)
	case j.o.Missing == nil:
		j.Summary.Missing++
		j.dropped++
		return nil
	default:
		j.Summary.Missing++
		r.value = *j.o.Missing
	}
	d.Row, d.Outcomes = j.Joined+1, nil
	if j.grouped && d.Group == "" {
		d.Group = cmp.Or(d.Slate, d.ID) // a log has groups in all rows: a decision without one depends on none
	}
	if d.Cost, err = j.cost(r.value); err != nil {
		return err
	}
	if j.logged == nil {
		if d.Context, err = values(decoder(context), "context", nil); err != nil {
			return err
		}
	}
	j.other(d)
	j.Joined, j.written = j.Joined+1, j.written+r.value
	last := j.held
	j.held = d
	if last == nil {
		return nil
	}
	last.Unrewarded, j.dropped = j.dropped, 0
	if err := j.write(last); err != nil {
		return &writeError{err}
	}
	return nil
}

// writeError is of what is written, and not of the line that is read.
type writeError struct{ error }

// decoder reads a value of a line, which has been checked to be JSON.
func decoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// values are the named values of a context, or of an action, as it was logged, flat, and with
// each value as the policy took it: see package policies/server. The string id of an action
// goes to id; nil: there is none.
func values(d *jsontext.Decoder, what string, id *string) ([]features.Value, error) {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, fmt.Errorf("%s: no object", what)
	}
	var x []features.Value
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		name := t.String()
		if t, err = d.ReadToken(); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", what, name, err)
		}
		switch t.Kind() {
		case '0':
			v, err := strconv.ParseFloat(t.String(), 64)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %s is out of range", what, name, t)
			}
			x = append(x, features.Value{Name: name, Number: v})
		case '"':
			if v := t.String(); id != nil && name == "id" {
				*id = v
			} else if v != "" {
				x = append(x, features.Value{Name: name + "=" + v, Number: 1})
			}
		case 't', 'f':
			x = append(x, features.Value{Name: fmt.Sprintf("%s=%t", name, t.Bool()), Number: 1})
		case 'n':
		default:
			return nil, fmt.Errorf("%s.%s: want a number, a string, true, false or null", what, name)
		}
	}
	_, err := d.ReadToken()
	return x, err
}
