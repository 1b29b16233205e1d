package train

import (
	"fmt"
	"strings"
	"sync"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
	"opl/objectives"
	"opl/train/logs"
)

// Feed is a log as an objective's graph reads it.
func Feed(log *logs.Log) objectives.Rows { return rows{log, &sync.Map{}, 1} }

type rows struct {
	*logs.Log
	outcomes *sync.Map // costs [n] by name of the outcome
	slots    int       // rows that share a context and a set, see objectives.Setup.Slots
}

// outcome are the costs of an outcome, see [objectives.Problem.Outcome].
func (l rows) outcome(name string) ([]float64, error) {
	if cost, ok := l.outcomes.Load(name); ok {
		return cost.([]float64), nil
	}
	b, err := l.Beside(name)
	if err != nil {
		return nil, fmt.Errorf("the objective reads outcome %s: %w", name, err)
	}
	l.outcomes.Store(name, b.Cost)
	return b.Cost, nil
}

// Feed implements objectives.Rows.
func (l rows) Feed(p *graph.Program, rows []int) error {
	for _, input := range p.Inputs() {
		if name, is := strings.CutPrefix(input, objectives.InputOutcome); is {
			cost, err := l.outcome(name)
			if err != nil {
				return err
			}
			if err := p.Feed(input, logs.Pick(cost, rows)); err != nil {
				return err
			}
		}
	}
	if p.Dtype() == tensor.Float64 {
		feed[float64](l.Log, p, rows, l.slots)
	} else {
		feed[float32](l.Log, p, rows, l.slots)
	}
	return nil
}

// feed writes the rows, for T the program's element type. So many slots, one after the other, are of a list, whose
// context and set are those of the first.
func feed[T float32 | float64](l *logs.Log, p *graph.Program, rows []int, slots int) {
	var x []T // nil: fed without its zeros, or not read
	fed := false
	if contexts, ok := l.X.(logs.SparseContexts); ok {
		l.Soon(rows)
		fed = p.FeedSparse(objectives.InputContext, func(i int, val []float32, at []int32) int {
			if next := (i + contextAhead) * slots; next < len(rows) {
				logs.Ahead(contexts, l.Context(rows[next]))
			}
			return contexts.Sparse32(l.Context(rows[i*slots]), val, at)
		})
	}
	if contexts, ok := l.X.(logs.PlacedContexts); ok && !fed {
		fed = p.FeedRows(objectives.InputContext, func(i int) []float32 {
			if next := (i + rowAhead) * slots; next < len(rows) {
				l.Ahead(rows[next], false)
			}
			return contexts.Placed32(l.Context(rows[i*slots]))
		})
	}
	if !fed {
		x = graph.Buffer[T](p, objectives.InputContext)
	}
	norm := graph.Buffer[T](p, objectives.InputNorm)
	action := graph.Buffer[T](p, objectives.InputAction)
	cost := graph.Buffer[T](p, objectives.InputCost)
	logged := graph.Buffer[T](p, objectives.InputPropensity)
	all := graph.Buffer[T](p, objectives.InputPropensities)
	offered := graph.Buffer[T](p, objectives.InputOffered)
	k := max(len(all), len(offered)*slots) / len(rows) // of sets the largest
	width := k + 1
	if x != nil {
		width += l.Dim()
	}
	chunk := max(1, min(feedElements/width, feedRows)/slots) * slots
	workers.Do(p.Threads(), (len(rows)+chunk-1)/chunk, func(_, part int) {
		rows, first := rows[part*chunk:min(len(rows), (part+1)*chunk)], part*chunk
		// Rows come in random order: without asking ahead, each waits for memory.
		for _, r := range rows[:min(rowAhead, len(rows))] {
			l.Ahead(r, all != nil)
		}
		for j, r := range rows {
			if j+rowAhead < len(rows) {
				l.Ahead(rows[j+rowAhead], all != nil)
			}
			if x != nil && j+contextAhead < len(rows) {
				logs.Ahead(l.X, l.Context(rows[j+contextAhead]))
			}
			i, list := first+j, (first+j)/slots
			leads := i%slots == 0
			if x != nil && leads {
				switch x := any(x[list*l.Dim() : (list+1)*l.Dim()]).(type) {
				case []float32:
					l.X.Row32(l.Context(r), x)
				case []float64:
					l.X.Row64(l.Context(r), x)
				}
			}
			if norm != nil && leads {
				norm[list] = T(l.X.Norm(l.Context(r)))
			}
			put(action, i, float64(placeInList(l, rows[j-i%slots:j+1])))
			put(cost, i, l.Cost[r])
			put(logged, i, l.Propensity[r])
			if all != nil {
				to := all[i*k : i*k+k]
				narrow(to, l.Pi0(r))
				for a := l.Options(r); a < k; a++ {
					to[a] = objectives.Beyond
				}
			}
			if offered != nil && leads {
				to := offered[list*k : list*k+k]
				for j := range to {
					to[j] = -1
				}
				for j := range l.Options(r) {
					_, item := l.Option(r, j)
					to[j] = T(item)
				}
			}
		}
	})
}

// feedElements is about how many elements of the inputs a thread writes at a time, feedRows how many rows at most.
const feedElements, feedRows = 1 << 15, 256

// How many rows before they are read a row, and then its context, is asked for.
const rowAhead, contextAhead = 16, 3

// narrow writes x to dst.
func narrow[T float32 | float64](dst []T, x []float64) {
	switch dst := any(dst).(type) {
	case []float32:
		simd.Narrow32(dst, x)
	case []float64:
		copy(dst, x)
	}
}

// put sets an element of an input that there is.
func put[T float32 | float64](to []T, i int, x float64) {
	if to != nil {
		to[i] = T(x)
	}
}
