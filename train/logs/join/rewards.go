package join

import (
	"fmt"
	"math"
	"time"

	"opl/train/logs"
)

// Rewards are the rewards of decisions, by id.
type Rewards struct {
	of     map[string]reward
	left   int       // duplicates left out
	n      int       // rows with a reward
	newest time.Time // of rewards that have times
}

type reward struct {
	value float64
	path  string
	row   int
	time  time.Time // zero: not known
	nth   int       // of all files
}

// ReadRewards reads a file of rewards, see [logs.OpenRows]: columns decision_id and reward, and timestamp, when the
// reward came, if that is known (others are left alone), or JSON Lines with the fields of these names and no others. True is the reward 1, false 0, as in logs; an empty or
// null reward is none.
func ReadRewards(path string, d Duplicates) (*Rewards, error) {
	r := &Rewards{of: map[string]reward{}}
	return r, r.Read(path, d)
}

// Read adds those of another file: a decision_id that is in both is there twice.
func (r *Rewards) Read(path string, d Duplicates) (err error) {
	rows, err := logs.OpenRows(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	const id, value, when = "decision_id", "reward", "timestamp"
	columns := rows.Fields()
	if columns != nil && !(rows.Has(id) && rows.Has(value)) {
		return fmt.Errorf("%s: the columns are %q: want %s and %s", path, columns, id, value)
	}
	for n := 1; rows.Next(); n++ {
		if columns == nil {
			for _, f := range rows.Fields() {
				if f != id && f != value && f != when {
					return fmt.Errorf("%s: unknown field %q: want %s and %s, and %s if it is known", rows.Where(), f, id,
						value, when)
				}
			}
			if !rows.Has(value) {
				continue
			}
		}
		if text, err := rows.Text(value); err == nil && text == "" {
			continue
		}
		v, err := rows.Reward(value)
		if err != nil {
			return err
		}
		of := ""
		if rows.Has(id) {
			if of, err = rows.Text(id); err != nil {
				return err
			}
		}
		var at time.Time
		if text, _ := rows.Text(when); text != "" {
			if at, err = rows.Time(when); err != nil {
				return err
			}
			if at.After(r.newest) {
				r.newest = at
			}
		}
		r.n++
		before, twice := r.of[of]
		switch {
		case of == "":
			err = fmt.Errorf("no decision_id")
		case math.IsNaN(v) || math.IsInf(v, 0):
			err = fmt.Errorf("reward %v is not finite", v)
		case twice && d != First && d != Last:
			err = fmt.Errorf("decision_id %q has a reward in %srow %d already: take the first or the last of them "+
				"by setting duplicates", of, other(before.path, path), before.row)
		case twice:
			r.left++
		}
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", path, n, err)
		}
		if !twice || d == Last {
			r.of[of] = reward{v, path, n, at, r.n}
		}
	}
	return rows.Err()
}

// other names a file that is not the one that is read.
func other(path, read string) string {
	if path == read {
		return ""
	}
	return path + ", "
}
