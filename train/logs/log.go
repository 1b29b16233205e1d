// Package logs holds THE log of decisions: what a policy saw, what it did, with
// which propensity, and what that cost, as columns. Everything that learns,
// inspects, certifies and evaluates reads it, whether it came from a file, was
// collected in memory or made of labelled examples.
package logs

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Log is a log of n decisions among K actions, as columns. Only Actions, Action and
// Cost must be there. Its slices are shared by all who read it and must not change;
// many goroutines may read it.
type Log struct {
	Actions      []string  // names of the K actions
	Action       []int32   // a, from 0
	Cost         []float64 // c in [−1, 0]
	Propensity   []float64 // π₀(a|x) in (0, 1]; nil: not known
	Propensities []float64 // π₀(·|x) [n×K]; nil: not known
	Weight       []float64 // ω ≥ 0 of rows; nil: all 1
	Time         []int64   // nanoseconds since 1970; nil: not known
	Group        []int32   // of rows that may depend on one another, negative: none; nil: none
	Keys         []uint64  // what tells rows apart, wherever they are copied to; nil: their content, see Identity

	X    Contexts // φ(x); nil: contexts are not encoded
	Rows []int    // the context of each row, by its place in X; nil: row i

	Estimated bool   // the propensities are estimates: nothing may be certified
	Skipped   int    // bad rows, which were left out
	Notes     []Note // what reading found out

	// RewardMin and RewardMax are the rewards, in the log's units, that are cost 0 and cost
	// −1; both 0: 0 and 1.
	RewardMin, RewardMax float64

	simulated bool // see Simulated

	*store // of a log that was read; nil: it has vectors alone
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

// Len is n, the number of rows.
func (l *Log) Len() int { return len(l.Action) }

// K is the number of actions.
func (l *Log) K() int { return len(l.Actions) }

// Dim is d, the number of features.
func (l *Log) Dim() int { return l.X.Dim() }

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

// key is what tells row i apart.
func (l *Log) key(i int) uint64 {
	if l.Keys == nil {
		return uint64(i)
	}
	return l.Keys[i]
}

// Hash is that of the content: the same in every format that holds the same rows.
func (l *Log) Hash() string {
	if l.store != nil {
		return l.store.hash
	}
	h := xxhash.New()
	var word [8]byte
	for i := range l.Action {
		binary.LittleEndian.PutUint64(word[:], l.Hashes([]int{i})[0])
		h.Write(word[:])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// Subset returns the log of some of the rows, which shares the contexts and keeps
// what tells its rows apart.
func (l *Log) Subset(rows []int) *Log {
	k := l.K()
	s := *l
	s.Rows, s.Keys, s.Action, s.Cost = make([]int, len(rows)), make([]uint64, len(rows)), make([]int32, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		s.Rows[i], s.Keys[i], s.Action[i], s.Cost[i] = l.Context(r), l.key(r), l.Action[r], l.Cost[r]
	}
	s.Propensity, s.Weight, s.Time, s.Group = pick(l.Propensity, rows), pick(l.Weight, rows), pick(l.Time, rows), pick(l.Group, rows)
	if l.Propensities != nil {
		s.Propensities = make([]float64, 0, len(rows)*k)
		for _, r := range rows {
			s.Propensities = append(s.Propensities, l.Propensities[r*k:(r+1)*k]...)
		}
	}
	return &s
}

// pick returns the elements of some rows, nil of nil.
func pick[T any](column []T, rows []int) []T {
	if column == nil {
		return nil
	}
	some := make([]T, len(rows))
	for i, r := range rows {
		some[i] = column[r]
	}
	return some
}

// Hashes returns a hash for each of the given rows: of its key, its context and what
// was logged. They stand for rows in a [propensity.RowSet], and stay the same in
// subsets of the log.
func (l *Log) Hashes(rows []int) []uint64 {
	hashes := make([]uint64, len(rows))
	x := make([]float64, l.Dim())
	buf := make([]byte, 8*(l.Dim()+4))
	for i, r := range rows {
		l.X.Row64(l.Context(r), x)
		b := buf[:0]
		b = binary.LittleEndian.AppendUint64(b, l.key(r))
		for _, v := range append(x, float64(l.Action[r]), l.Cost[r], l.Propensity[r]) {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		hashes[i] = xxhash.Sum64(b)
	}
	return hashes
}

// Check reports what is wrong with the log, with the first row where it is: the
// lengths of its slices, actions, costs and propensities outside of their ranges,
// rows of propensities that do not sum to 1 or that contradict the logged one, and
// features that are not finite.
func (l *Log) Check() error {
	n, k := len(l.Action), len(l.Actions)
	switch m, matrix := l.X.(Rows64); {
	case l.X == nil:
		return fmt.Errorf("log: the log has no contexts")
	case matrix && (m.Width < 1 || len(m.Data)%m.Width != 0):
		return fmt.Errorf("log: contexts of %d numbers are no rows of width %d", len(m.Data), m.Width)
	case n == 0:
		return fmt.Errorf("log: the log is empty")
	case k < 2:
		return fmt.Errorf("log: %d actions, want at least 2", k)
	case len(l.Cost) != n || len(l.Propensity) != n || l.Propensities != nil && len(l.Propensities) != n*k:
		return fmt.Errorf("log: %d actions, %d costs, %d propensities, %d propensities of all actions: lengths do not agree", n, len(l.Cost), len(l.Propensity), len(l.Propensities))
	case l.Keys != nil && len(l.Keys) != n:
		return fmt.Errorf("log: %d keys for %d actions", len(l.Keys), n)
	case l.Rows != nil && len(l.Rows) != n || l.Rows == nil && l.X.Len() != n:
		return fmt.Errorf("log: the contexts are not as many as the actions, %d", n)
	}
	x := make([]float64, l.Dim())
	for i := range n {
		switch a, c, p := l.Action[i], l.Cost[i], l.Propensity[i]; {
		case a < 0 || int(a) >= k:
			return fmt.Errorf("log: row %d: action %d is outside 0 to %d", i, a, k-1)
		case !(c >= -1 && c <= 0):
			return fmt.Errorf("log: row %d: cost %v is outside [-1, 0]", i, c)
		case !(p > 0 && p <= 1):
			return fmt.Errorf("log: row %d: propensity %v is outside (0, 1]", i, p)
		}
		if l.Rows != nil && (l.Rows[i] < 0 || l.Rows[i] >= l.X.Len()) {
			return fmt.Errorf("log: row %d: its context %d is none of the %d", i, l.Rows[i], l.X.Len())
		}
		l.X.Row64(l.Context(i), x)
		for j, v := range x {
			if v-v != 0 { // NaN or infinite
				return fmt.Errorf("log: row %d: feature %d is %v", i, j, v)
			}
		}
		if l.Propensities == nil {
			continue
		}
		var sum float64
		for _, p := range l.Propensities[i*k : i*k+k] {
			if !(p > 0 && p <= 1) {
				return fmt.Errorf("log: row %d: propensity %v is outside (0, 1]", i, p)
			}
			sum += p
		}
		if math.Abs(sum-1) > 1e-6 {
			return fmt.Errorf("log: row %d: the propensities sum to %v, not 1", i, sum)
		}
		if p, q := l.Propensity[i], l.Propensities[i*k+int(l.Action[i])]; math.Abs(p-q) > 1e-6*q {
			return fmt.Errorf("log: row %d: the logged propensity is %v, but %v among those of all actions", i, p, q)
		}
	}
	return nil
}

// Context is the row of X of interaction i.
func (l *Log) Context(i int) int {
	if l.Rows == nil {
		return i
	}
	return l.Rows[i]
}
