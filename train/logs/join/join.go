// Package join turns what a server logged, and the rewards that came later, into a
// log to learn from.
package join

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"opl/policies/features"
	"opl/train/logs"
)

// Duplicates says what becomes of ids that come more than once.
type Duplicates string

// What becomes of them.
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
	// the same id gets, and may act on, another answer. Empty: Refuse.
	Duplicates Duplicates
	// Policy, unless empty, is the hash of the policy whose decisions are joined, or
	// how it begins.
	Policy string
	// Min and Max are the range of rewards, mapped to costs from 0 to −1; both 0:
	// 0 and 1.
	Min, Max float64
}

// Summary counts what was joined.
type Summary struct {
	Decisions  int           // of the served log, without duplicates left out
	Joined     int           // written, those filled in included
	Others     int           // of other policies than the one asked for: left out
	Missing    int           // without a reward: dropped, or filled in
	Orphans    int           // rewards without a decision
	Left       int           // duplicates left out
	Torn       int           // bytes of a last line without an end
	NoChance   int           // decisions with an action of propensity 0
	Policies   []logs.Logger // that decided, by their hashes, with the number of their logs
	From, To   time.Time
	MeanReward float64 // of the decisions with a reward
}

// line is a line of a served log.
type line struct {
	ID           string          `json:"decision_id"`
	Time         time.Time       `json:"timestamp"`
	Context      json.RawMessage `json:"context"`
	Action       string          `json:"action"`
	Propensity   float64         `json:"propensity"`
	Propensities []float64       `json:"propensities"`
	Actions      []string        `json:"actions"`
	Hash         string          `json:"policy_hash"`
}

// check reports what is wrong with a line, and returns the action's place.
func (l *line) check() (action int, err error) {
	action = slices.Index(l.Actions, l.Action)
	switch {
	case l.ID == "":
		return 0, errors.New("no decision_id")
	case l.Time.IsZero():
		return 0, errors.New("no timestamp")
	case len(l.Actions) < 2 || len(l.Propensities) != len(l.Actions):
		return 0, fmt.Errorf("%d actions and %d propensities", len(l.Actions), len(l.Propensities))
	case action < 0:
		return 0, fmt.Errorf("action %q is none of %q", l.Action, l.Actions)
	}
	if _, err := logs.Distribution(l.Propensities, l.Actions, logs.Rounding); err != nil {
		return 0, fmt.Errorf("the propensities: %w", err)
	}
	if p := l.Propensities[action]; p != l.Propensity || p == 0 {
		return 0, fmt.Errorf("the propensity is %v, that of action %q is %v", l.Propensity, l.Action, p)
	}
	return action, nil
}

// Log is a served log whose ids have been read.
type Log struct {
	Actions    []string
	path       string
	rows       map[string]int // the line that counts, of each id
	left, torn int
	lines      int
}

// Open reads through a served log once: its ids and its actions, which must be the
// same in all lines. A last line without an end, which a server that runs or died
// may leave, is left out and counted.
func Open(path string, d Duplicates) (*Log, error) {
	if d = cmp.Or(d, Refuse); d != Refuse && d != First && d != Last {
		return nil, fmt.Errorf("join: duplicates %q: want %s, %s or %s", d, Refuse, First, Last)
	}
	l := &Log{path: path, rows: map[string]int{}}
	var err error
	l.torn, err = each(path, func(n int, s *line, _ int) error {
		if l.Actions == nil {
			l.Actions = s.Actions
		}
		if !slices.Equal(l.Actions, s.Actions) {
			return fmt.Errorf("its actions are %q, those of line 1 %q: join logs of different actions apart", s.Actions, l.Actions)
		}
		if at, twice := l.rows[s.ID]; twice {
			l.left++
			switch d {
			case Refuse:
				return fmt.Errorf("decision_id %q was on line %d before: take the first or the last of them by setting duplicates", s.ID, at)
			case First:
				return nil
			}
		}
		l.rows[s.ID], l.lines = n, n
		return nil
	})
	if err == nil && len(l.rows) == 0 {
		err = fmt.Errorf("%s: no decisions", path)
	}
	return l, err
}

// Join hands the decisions with their rewards to write, such as that of a [logs.Writer],
// in the order of the served log. They name the policy that took them by its hash.
func (l *Log) Join(rewards *Rewards, write func(*logs.Decision) error, o Options) (Summary, error) {
	low, high := o.Min, o.Max
	if low == 0 && high == 0 {
		high = 1
	}
	if !(low < high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return Summary{}, fmt.Errorf("join: rewards from %v to %v are no range", low, high)
	}
	cost := func(r float64) (float64, error) {
		if !(r >= low && r <= high) {
			return 0, fmt.Errorf("reward %v is outside [%v, %v]: state the range by setting reward-min and setting reward-max", r, low, high)
		}
		return -(r - low) / (high - low), nil
	}
	s := Summary{Decisions: len(l.rows), Left: l.left + rewards.left, Torn: l.torn}
	if o.Missing != nil {
		if _, err := cost(*o.Missing); err != nil {
			return s, fmt.Errorf("setting missing-reward: %w", err)
		}
	}
	var wrong error
	first := math.MaxInt
	for id, r := range rewards.of { // in any order: only a count and a minimum are taken
		if _, ok := l.rows[id]; !ok {
			s.Orphans++
		} else if _, err := cost(r.value); err != nil && r.row < first {
			wrong, first = fmt.Errorf("%s: row %d: %w", rewards.path, r.row, err), r.row
		}
	}
	if wrong != nil {
		return s, wrong
	}
	var sum float64
	_, err := each(l.path, func(n int, row *line, action int) (err error) {
		switch {
		case n > l.lines:
			return io.EOF // came since
		case l.rows[row.ID] != n:
			return nil
		case !strings.HasPrefix(row.Hash, o.Policy):
			s.Others++
			return nil
		}
		at := slices.IndexFunc(s.Policies, func(p logs.Logger) bool { return p.Policy == row.Hash })
		if at < 0 {
			at = len(s.Policies)
			s.Policies = append(s.Policies, logs.Logger{Policy: row.Hash})
		}
		s.Policies[at].Rows++
		if s.From.IsZero() || row.Time.Before(s.From) {
			s.From = row.Time
		}
		if row.Time.After(s.To) {
			s.To = row.Time
		}
		if slices.Contains(row.Propensities, 0) {
			s.NoChance++
		}
		r, ok := rewards.of[row.ID]
		switch {
		case ok:
			sum += r.value
		case o.Missing == nil:
			s.Missing++
			return nil
		default:
			s.Missing++
			r.value = *o.Missing
		}
		d := &logs.Decision{ID: row.ID, Time: row.Time, Action: action, Propensity: row.Propensity, Propensities: row.Propensities,
			Weight: 1, Policy: row.Hash, Row: s.Joined + 1}
		if d.Cost, err = cost(r.value); err != nil {
			return err
		}
		if d.Context, err = values(row.Context); err != nil {
			return err
		}
		s.Joined++
		return write(d)
	})
	if with := s.Decisions - s.Others - s.Missing; with > 0 {
		s.MeanReward = sum / float64(with)
	}
	return s, err
}

// values are the named values of a context as it was logged, flat, and with each
// value as the policy took it: see package policies/server.
func values(context []byte) ([]features.Value, error) {
	dec := json.NewDecoder(bytes.NewReader(context))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("context: no object")
	}
	var x []features.Value
	for dec.More() {
		key, err := dec.Token()
		var v any
		if err == nil {
			err = dec.Decode(&v)
		}
		if err != nil {
			return nil, fmt.Errorf("context: %w", err)
		}
		name := key.(string) // a decoder allows no other key
		switch v := v.(type) {
		case float64:
			x = append(x, features.Value{Name: name, Number: v})
		case string:
			if v != "" {
				x = append(x, features.Value{Name: name + "=" + v, Number: 1})
			}
		case bool:
			x = append(x, features.Value{Name: fmt.Sprintf("%s=%t", name, v), Number: 1})
		case nil:
		default:
			return nil, fmt.Errorf("context.%s: want a number, a string, true, false or null", name)
		}
	}
	return x, nil
}

// each hands the lines of a served log, decoded and checked, to use, with the place of the
// action, as eachLine does.
func each(path string, use func(n int, s *line, action int) error) (torn int, err error) {
	return eachLine(path, func(n int, b []byte) error {
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.DisallowUnknownFields()
		var s line
		var other *json.UnmarshalTypeError
		if err := dec.Decode(&s); errors.As(err, &other) {
			return fmt.Errorf("%s is a %s, want a %s", other.Field, other.Value, other.Type)
		} else if err != nil {
			return fmt.Errorf("no JSON object: %w", err)
		}
		if dec.More() {
			return errors.New("more follows the JSON object")
		}
		action, err := s.check()
		if err != nil {
			return err
		}
		return use(n, &s, action)
	})
}

// eachLine hands the lines of a file to use, counted from 1, until it returns
// io.EOF; it returns the length of a last line without an end, which use does not
// get. Errors name the file and the line.
func eachLine(path string, use func(n int, b []byte) error) (torn int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		b, err := r.ReadBytes('\n')
		if err == io.EOF {
			return len(b), nil
		}
		if err == nil {
			err = use(n, b)
		}
		if err == io.EOF {
			return 0, nil
		} else if err != nil {
			return 0, fmt.Errorf("%s: line %d: %w", path, n, err)
		}
	}
}
