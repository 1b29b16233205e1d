package train

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// firstSample is how many rows candidates are compared on at most where contexts are a table. What wins then learns
// from samples four times as large, until more rows do not help, as heldSample rows tell.
const (
	firstSample = 1 << 16
	heldSample  = 1 << 18
)

// sample is the first one.
func (d *Direct) sample() int { return cmp.Or(d.first, firstSample) }

// saturated returns the rows to learn from, of those that teach: evenly spaced ones, where four times as many rows
// gained no more than a standard error on a fifth of the rows that none of them learned from; else all. It notes the
// rewards by size, by importance weights, for people to see. Every row that teaches counts as one that taught.
func (t *comparison) saturated(ctx context.Context, rows []int, best candidate, learned []Component) ([]int, error) {
	if len(rows) < 8*t.Direct.sample() || best.simple > 0 || best.name == start {
		return rows, nil
	}
	cut := len(rows) * 4 / 5
	first, held := t.Direct.sample(), evenly(rows[cut:], heldSample)
	plays := func(s []Component) ([]float64, error) {
		pi, err := (&ChunkPolicy{Policy: t.policy, Components: s, Rows: held}).Play(t.log, t.c.Threads)
		if err != nil {
			return nil, err
		}
		all, logged := make([]float64, t.log.MostOptions()), make([]float64, len(held))
		for i, r := range held {
			if err := pi(all[:t.log.Options(r)], r); err != nil {
				return nil, err
			}
			logged[i] = all[t.log.Chosen(r)]
		}
		return logged, nil
	}
	none := make([]float64, len(held))
	before, err := plays(learned)
	if err != nil {
		return nil, err
	}
	var curve []string
	note := func(n int, logged []float64) {
		reward, _ := riskDifference(logged, none, t.log, held)
		curve = append(curve, fmt.Sprintf("%.4f from %d", -reward, n))
	}
	note(first*4/5, before)
	for n := 4 * first; n <= cut; n *= 4 {
		s, err := best.learn(fmt.Sprintf("prior from %d rows", n), evenly(rows[:cut], n), false)
		if err != nil {
			return nil, err
		}
		logged, err := plays(s)
		if err != nil {
			return nil, err
		}
		note(n, logged)
		if gain, se := riskDifference(before, logged, t.log, held); gain <= se {
			t.curve = fmt.Sprintf(" from %d rows of %d, as more do not help (held-out reward %s)", n, len(rows),
				strings.Join(curve, "; "))
			return evenly(rows, n), ctx.Err()
		}
		before = logged
	}
	return rows, ctx.Err()
}
