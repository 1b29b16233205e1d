package join

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"opl/train/logs"
)

// Rewards are the rewards of decisions, by id, and other outcomes of them, by column and id.
type Rewards struct {
	reading logs.Options // of the files
	of      map[string]reward
	others  map[string]map[string]reward
	fill    map[string]float64 // what decisions without an outcome are given, by column
	left    int                // duplicates left out
	n       int                // rows with a reward
	newest  time.Time          // of rewards that have times
	notes   []string
}

type reward struct {
	value float64
	path  string
	row   int
	time  time.Time // zero: not known
	nth   int       // of all files
	next  *reward   // the report that counts where this one came too late: it came earlier; nil: there is none
}

// within returns the report that counts of those that came in time, where mature is not 0. ok is false if none did.
func (r reward) within(mature time.Duration, decided time.Time) (_ reward, ok bool) {
	for at := &r; at != nil; at = at.next {
		if mature == 0 || at.time.IsZero() || at.time.Sub(decided) <= mature {
			return *at, true
		}
	}
	return r, false
}

// again adds a later report of the same decision. It keeps reports in the order in which they count, each earlier than
// those before it: another would never count.
func (r reward) again(later reward, d Duplicates) reward {
	if d == Last {
		for later.next = &r; later.next != nil && !later.next.time.Before(later.time); {
			later.next = later.next.next
		}
		return later
	}
	end := &r
	for end.next != nil {
		end = end.next
	}
	if later.time.Before(end.time) {
		end.next = &later
	}
	return r
}

// ReadRewards reads a file of rewards, see [logs.OpenRows]: columns decision_id and reward, and timestamp, when the
// reward came, if that is known (others are left alone), or JSON Lines with the fields of these names and no others.
// True is the reward 1, false 0, as in logs; an empty or null reward is none. Columns reward_NAME and cost_NAME are
// other outcomes; a file may have them alone.
func ReadRewards(path string, d Duplicates) (*Rewards, error) {
	r := NewRewards(logs.Options{})
	return r, r.Read(path, d)
}

// NewRewards makes an empty set of rewards, which Read fills. Columns have the names that o gives; others are ignored.
func NewRewards(o logs.Options) *Rewards {
	return &Rewards{reading: o, of: map[string]reward{}, others: map[string]map[string]reward{},
		fill: map[string]float64{}}
}

// Fill says what an outcome is of decisions that have none, by its column, such as cost_complaint. A column that no
// file has is v in all decisions.
func (r *Rewards) Fill(column string, v float64) error {
	if !logs.IsOutcome(column) {
		return fmt.Errorf("%q is no column of an outcome: want reward_NAME or cost_NAME", column)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%s %v is not finite", column, v)
	}
	if r.fill[column] = v; r.others[column] == nil {
		r.others[column] = map[string]reward{}
	}
	return nil
}

// Read adds the rewards of another file. A decision_id that is in both files is a duplicate.
func (r *Rewards) Read(path string, d Duplicates) (err error) {
	rows, err := logs.OpenRows(path, r.reading)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, rows.Close()) }()
	const id, value, when = "decision_id", "reward", "timestamp"
	columns := rows.Fields()
	if columns != nil && !(rows.Has(id) && (rows.Has(value) || slices.ContainsFunc(columns, logs.IsOutcome))) {
		return fmt.Errorf("%s: the columns are %q: want %s and %s, with a comma between them, or setting reward-columns",
			path, columns, id, value)
	}
	other := func(column string) bool { return column != value && !logs.IsOutcome(column) }
	read := slices.DeleteFunc(slices.Clone(columns), other)
	named := len(r.reading.Columns)+len(r.reading.ColumnsBefore) > 0
	for n := 1; rows.Next(); n++ {
		if columns == nil && !named {
			for _, f := range rows.Fields() {
				if f != id && f != value && f != when && f != "slot" && !logs.IsOutcome(f) {
					return fmt.Errorf("%s: unknown field %q: want %s and %s, and %s if it is known", rows.Where(), f,
						id, value, when)
				}
			}
		}
		there := read
		if columns == nil {
			there = slices.DeleteFunc(rows.Fields(), other)
		}
		for _, column := range there {
			if text, err := rows.Text(column); err == nil && text == "" {
				continue
			}
			if err := r.take(rows, column, path, n, d); err != nil {
				return err
			}
		}
	}
	for _, n := range rows.Notes() {
		r.notes = append(r.notes, path+": "+n)
	}
	return rows.Err()
}

// take adds what row n of a file has in a column.
func (r *Rewards) take(rows *logs.Rows, column, path string, n int, d Duplicates) error {
	v, err := rows.Reward(column)
	if err != nil {
		return err
	}
	of := ""
	if rows.Has("decision_id") {
		if of, err = rows.Text("decision_id"); err != nil {
			return err
		}
	}
	if rows.Has("slot") { // of a list, whose slots are decisions ID/1, ID/2, …
		slot, err := rows.Text("slot")
		if err != nil {
			return err
		}
		if slot != "" {
			of += "/" + slot
		}
	}
	var at time.Time
	if text, _ := rows.Text("timestamp"); text != "" {
		if at, err = rows.Time("timestamp"); err != nil {
			return err
		}
		if at.After(r.newest) {
			r.newest = at
		}
	}
	all := r.of
	if column != "reward" {
		if all = r.others[column]; all == nil {
			all = map[string]reward{}
			r.others[column] = all
		}
	}
	r.n++
	before, twice := all[of]
	switch {
	case of == "":
		err = fmt.Errorf("no decision_id")
	case math.IsNaN(v) || math.IsInf(v, 0):
		err = fmt.Errorf("%s %v is not finite", column, v)
	case twice && d != First && d != Last:
		file := ""
		if before.path != path {
			file = before.path + ", "
		}
		err = fmt.Errorf("decision_id %q has a %s in %srow %d already: take the first or the last of them "+
			"by setting duplicates", of, column, file, before.row)
	case twice:
		r.left++
	}
	if err != nil {
		return fmt.Errorf("%s: row %d: %w", path, n, err)
	}
	now := reward{v, path, n, at, r.n, nil}
	if twice {
		now = before.again(now, d)
	}
	all[of] = now
	return nil
}

// None reports that no decision has a reward.
func (r *Rewards) None() bool { return len(r.of) == 0 }

// Outcomes returns the columns of other outcomes that there are, in the order of their names.
func (r *Rewards) Outcomes() []string { return slices.Sorted(maps.Keys(r.others)) }
