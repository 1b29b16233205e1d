package logs

import (
	"fmt"
	"math"
)

// copies is the error that one of several files has the rows of another, from the first to the last, or begins with
// them, which would be there twice. Rows with ids, and those of groups, are told apart by these. Other
// rows of a file agree with n rows before it in action and cost with a probability of at most Π π₀(a_i|x_i). That
// must be below 1e-6 for all pairs of files together. Fewer than 40 rows may be alike by habit.
func (l *Log) copies() error {
	if len(l.from().files) < 2 || l.HasIDs() || l.Propensity == nil || l.Estimated {
		return nil
	}
	starts := make([]int, len(l.files)+1) // rows before a file
	for i, f := 0, 0; f < len(l.files); i++ {
		for f < len(l.files) && (i == l.n || l.Row(i) > l.files[f].Before) {
			starts[f] = i
			f++
		}
	}
	starts[len(l.files)] = l.n
	ends := map[int]bool{}
	for f := range l.files {
		ends[starts[f+1]-starts[f]] = true
	}
	type rows struct {
		n int
		h uint64
	}
	enough := 2*math.Log(float64(len(l.files))) - math.Log(1e-6)
	// the files that begin with rows, where a file may end
	whole, begins := make([]rows, len(l.files)), map[rows][]int{}
	for f := range l.files {
		at, said := rows{}, 0.0
		for i := starts[f]; i < starts[f+1]; i++ {
			at = rows{at.n + 1, hashOf(at.h, uint64(l.Action[i]), math.Float64bits(l.Cost[i]))}
			if p := l.Propensity[i]; p > 0 && (l.Group == nil || l.Group[i] < 0) {
				said -= math.Log(p)
			}
			if ends[at.n] && at.n >= 40 && said >= enough {
				begins[at] = append(begins[at], f)
			}
		}
		whole[f] = at
	}
	for f, at := range whole {
		for _, g := range begins[at] {
			if g != f {
				return fmt.Errorf("%s: its %d rows are those with which %s begins, or were drawn by the same "+
					"random numbers: give each row once, or log a decision_id", l.files[f].Name, at.n, l.files[g].Name)
			}
		}
	}
	return nil
}
