package join

import (
	"fmt"
	"math"

	"opl/train/logs"
)

// Rewards are the rewards of decisions, by id.
type Rewards struct {
	path string
	of   map[string]reward
	left int // duplicates left out
}

type reward struct {
	value float64
	row   int
}

// ReadRewards reads a file of rewards, see [logs.OpenRows]: columns decision_id and reward
// (others are left alone), or JSON Lines with the fields of these names and no others. True is the reward 1, false 0, as in logs; an
// empty or null reward is none.
func ReadRewards(path string, d Duplicates) (_ *Rewards, err error) {
	rows, err := logs.OpenRows(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	const id, value = "decision_id", "reward"
	columns := rows.Fields()
	if columns != nil && !(rows.Has(id) && rows.Has(value)) {
		return nil, fmt.Errorf("%s: the columns are %q: want %s and %s", path, columns, id, value)
	}
	r := &Rewards{path: path, of: map[string]reward{}}
	for n := 1; rows.Next(); n++ {
		if columns == nil {
			for _, f := range rows.Fields() {
				if f != id && f != value {
					return nil, fmt.Errorf("%s: unknown field %q: want %s and %s", rows.Where(), f, id, value)
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
			return nil, err
		}
		of := ""
		if rows.Has(id) {
			if of, err = rows.Text(id); err != nil {
				return nil, err
			}
		}
		before, twice := r.of[of]
		switch {
		case of == "":
			err = fmt.Errorf("no decision_id")
		case math.IsNaN(v) || math.IsInf(v, 0):
			err = fmt.Errorf("reward %v is not finite", v)
		case twice && d != First && d != Last:
			err = fmt.Errorf("decision_id %q has a reward in row %d already: take the first or the last of them by setting duplicates", of, before.row)
		case twice:
			r.left++
		}
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", path, n, err)
		}
		if !twice || d == Last {
			r.of[of] = reward{v, n}
		}
	}
	return r, rows.Err()
}
