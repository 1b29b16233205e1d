// Package bandit holds logged interactions: contexts, actions, propensities and
// costs, as learning reads them.
package bandit

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cespare/xxhash/v2"

	"opl/graph"
	"opl/graph/kernel"
	"opl/graph/kernel/crew"
	"opl/graph/kernel/simd"
	"opl/objectives"
)

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

// Source is a log as learning reads it, wherever its rows are.
type Source interface {
	objectives.Rows
	Dim() int         // d
	Actions() int     // K
	LoggedOnly() bool // no propensities but those of the logged actions
}

// Log is a log in memory. Its slices are shared by all who read it and must not
// change.
type Log struct {
	X            Contexts
	Rows         []int     // the context of each interaction, by its row in X; nil: row i
	IDs          []uint64  // what tells interactions apart, wherever they are copied to; nil: their row numbers
	K            int       // actions
	Action       []int32   // a, from 0
	Cost         []float64 // c in [−1, 0]
	Propensity   []float64 // π₀(a|x) in (0, 1]
	Propensities []float64 // π₀(·|x) [n×K]; nil if not known
}

var _ Source = (*Log)(nil)

// Len is the number of interactions.
func (l *Log) Len() int { return len(l.Action) }

// Dim is the number of features.
func (l *Log) Dim() int { return l.X.Dim() }

// Actions is K.
func (l *Log) Actions() int { return l.K }

// LoggedOnly reports that only the logged actions' propensities are known.
func (l *Log) LoggedOnly() bool { return l.Propensities == nil }

// id is what tells row i apart.
func (l *Log) id(i int) uint64 {
	if l.IDs == nil {
		return uint64(i)
	}
	return l.IDs[i]
}

// Subset returns the log of some of the rows, which shares the contexts and keeps
// what tells its rows apart.
func (l *Log) Subset(rows []int) *Log {
	s := &Log{X: l.X, K: l.K, Rows: make([]int, len(rows)), IDs: make([]uint64, len(rows)), Action: make([]int32, len(rows)),
		Cost: make([]float64, len(rows)), Propensity: make([]float64, len(rows))}
	if l.Propensities != nil {
		s.Propensities = make([]float64, 0, len(rows)*l.K)
	}
	for i, r := range rows {
		s.Rows[i], s.IDs[i] = l.Context(r), l.id(r)
		s.Action[i], s.Cost[i], s.Propensity[i] = l.Action[r], l.Cost[r], l.Propensity[r]
		if l.Propensities != nil {
			s.Propensities = append(s.Propensities, l.Propensities[r*l.K:(r+1)*l.K]...)
		}
	}
	return s
}

// Hashes returns a hash for each of the given rows: of its ID, its context and what
// was logged. They stand for rows in a [policies.RowSet], and stay the same in
// subsets of the log.
func (l *Log) Hashes(rows []int) []uint64 {
	hashes := make([]uint64, len(rows))
	x := make([]float64, l.Dim())
	buf := make([]byte, 8*(l.Dim()+4))
	for i, r := range rows {
		l.X.Row64(l.Context(r), x)
		b := buf[:0]
		b = binary.LittleEndian.AppendUint64(b, l.id(r))
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
	n := len(l.Action)
	switch m, matrix := l.X.(Rows64); {
	case l.X == nil:
		return fmt.Errorf("bandit: the log has no contexts")
	case matrix && (m.Width < 1 || len(m.Data)%m.Width != 0):
		return fmt.Errorf("bandit: contexts of %d numbers are no rows of width %d", len(m.Data), m.Width)
	case n == 0:
		return fmt.Errorf("bandit: the log is empty")
	case l.K < 2:
		return fmt.Errorf("bandit: %d actions, want at least 2", l.K)
	case len(l.Cost) != n || len(l.Propensity) != n || l.Propensities != nil && len(l.Propensities) != n*l.K:
		return fmt.Errorf("bandit: %d actions, %d costs, %d propensities, %d propensities of all actions: lengths do not agree", n, len(l.Cost), len(l.Propensity), len(l.Propensities))
	case l.IDs != nil && len(l.IDs) != n:
		return fmt.Errorf("bandit: %d IDs for %d actions", len(l.IDs), n)
	case l.Rows != nil && len(l.Rows) != n || l.Rows == nil && l.X.Len() != n:
		return fmt.Errorf("bandit: the contexts are not as many as the actions, %d", n)
	}
	x := make([]float64, l.Dim())
	for i := range n {
		switch a, c, p := l.Action[i], l.Cost[i], l.Propensity[i]; {
		case a < 0 || int(a) >= l.K:
			return fmt.Errorf("bandit: row %d: action %d is outside 0 to %d", i, a, l.K-1)
		case !(c >= -1 && c <= 0):
			return fmt.Errorf("bandit: row %d: cost %v is outside [-1, 0]", i, c)
		case !(p > 0 && p <= 1):
			return fmt.Errorf("bandit: row %d: propensity %v is outside (0, 1]", i, p)
		}
		if l.Rows != nil && (l.Rows[i] < 0 || l.Rows[i] >= l.X.Len()) {
			return fmt.Errorf("bandit: row %d: its context %d is none of the %d", i, l.Rows[i], l.X.Len())
		}
		l.X.Row64(l.Context(i), x)
		for j, v := range x {
			if v-v != 0 { // NaN or infinite
				return fmt.Errorf("bandit: row %d: feature %d is %v", i, j, v)
			}
		}
		if l.Propensities == nil {
			continue
		}
		var sum float64
		for _, p := range l.Propensities[i*l.K : i*l.K+l.K] {
			if !(p > 0 && p <= 1) {
				return fmt.Errorf("bandit: row %d: propensity %v is outside (0, 1]", i, p)
			}
			sum += p
		}
		if math.Abs(sum-1) > 1e-6 {
			return fmt.Errorf("bandit: row %d: the propensities sum to %v, not 1", i, sum)
		}
		if p, q := l.Propensity[i], l.Propensities[i*l.K+int(l.Action[i])]; math.Abs(p-q) > 1e-6*q {
			return fmt.Errorf("bandit: row %d: the logged propensity is %v, but %v among those of all actions", i, p, q)
		}
	}
	return nil
}

// Feed implements objectives.Rows.
func (l *Log) Feed(p *graph.Program, rows []int) error {
	feed[float32](l, p, rows)
	feed[float64](l, p, rows)
	return nil
}

// Context is the row of X of interaction i.
func (l *Log) Context(i int) int {
	if l.Rows == nil {
		return i
	}
	return l.Rows[i]
}

// feed writes the rows, if T is the program's element type.
func feed[T float32 | float64](l *Log, p *graph.Program, rows []int) {
	x := graph.Buffer[T](p, objectives.InputContext)
	norm := graph.Buffer[T](p, objectives.InputNorm)
	action := graph.Buffer[T](p, objectives.InputAction)
	cost := graph.Buffer[T](p, objectives.InputCost)
	logged := graph.Buffer[T](p, objectives.InputPropensity)
	all := graph.Buffer[T](p, objectives.InputPropensities)
	chunk := max(1, feedElements/(l.Dim()+l.K))
	crew.Do(p.Threads(), (len(rows)+chunk-1)/chunk, func(_, part int) {
		for i := part * chunk; i < min(len(rows), (part+1)*chunk); i++ {
			r := rows[i]
			if x != nil {
				switch x := any(x[i*l.Dim() : (i+1)*l.Dim()]).(type) {
				case []float32:
					l.X.Row32(l.Context(r), x)
				case []float64:
					l.X.Row64(l.Context(r), x)
				}
			}
			if norm != nil {
				norm[i] = T(l.X.Norm(l.Context(r)))
			}
			if action != nil {
				action[i] = T(l.Action[r])
			}
			if cost != nil {
				cost[i] = T(l.Cost[r])
			}
			if logged != nil {
				logged[i] = T(l.Propensity[r])
			}
			if all != nil {
				for a, p0 := range l.Propensities[r*l.K : r*l.K+l.K] {
					all[i*l.K+a] = T(p0)
				}
			}
		}
	})
}

// feedElements is about how many elements of the inputs a thread writes at a time.
const feedElements = 1 << 15

// Floor is the least propensity that a logging policy of this package has.
const Floor = 1e-30

// FromLabels turns labelled examples into a log (Algorithm 1): for each of the
// rows of x the softmax policy of parameters theta [K×d] draws an action a, and
// the cost is −1 if a is the label and 0 otherwise. The propensities are those
// of the policy in float64, at least 1e-30.
func FromLabels(x Contexts, labels []uint8, rows []int, theta []float64, k int, r *rand.Rand) *Log {
	n := len(rows)
	l := &Log{
		X: x, Rows: rows, K: k,
		Action: make([]int32, n), Cost: make([]float64, n),
		Propensity: make([]float64, n), Propensities: make([]float64, n*k),
	}
	Scores(x, rows, theta, k, func(i int, scores []float64) {
		pi := l.Propensities[i*k : i*k+k]
		kernel.Softmax(pi, scores, k)
		for a := range pi {
			pi[a] = max(pi[a], Floor)
		}
		a := Draw(pi, r)
		l.Action[i] = int32(a)
		l.Propensity[i] = pi[a]
		if a == int(labels[rows[i]]) {
			l.Cost[i] = -1
		}
	})
	return l
}

// Draw returns an action drawn from the probabilities.
func Draw(pi []float64, r *rand.Rand) int {
	u := r.Float64()
	for a, p := range pi {
		if u -= p; u < 0 {
			return a
		}
	}
	return len(pi) - 1
}

// Rows64 is a matrix as Contexts: row i of Data, Width numbers.
type Rows64 struct {
	Width int
	Data  []float64
}

var _ Contexts = Rows64{}

// Len is the number of rows.
func (m Rows64) Len() int { return len(m.Data) / m.Width }

// Dim is the width.
func (m Rows64) Dim() int { return m.Width }

// Norm is the Euclidean norm of row i.
func (m Rows64) Norm(i int) float64 {
	row := m.Data[i*m.Width : (i+1)*m.Width]
	var s [4]float64 // additions need not wait for one another
	for ; len(row) >= 4; row = row[4:] {
		s[0] += row[0] * row[0]
		s[1] += row[1] * row[1]
		s[2] += row[2] * row[2]
		s[3] += row[3] * row[3]
	}
	for _, v := range row {
		s[0] += v * v
	}
	return math.Sqrt(s[0] + s[1] + s[2] + s[3])
}

// Row64 copies row i.
func (m Rows64) Row64(i int, dst []float64) { copy(dst, m.Data[i*m.Width:(i+1)*m.Width]) }

// Row32 copies row i, rounded.
func (m Rows64) Row32(i int, dst []float32) {
	simd.Narrow32(dst, m.Data[i*m.Width:(i+1)*m.Width])
}
