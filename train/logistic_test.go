package train

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"opl/train/logs"
)

// counted counts the contexts that are made.
type counted struct {
	logs.Contexts
	made *atomic.Int64
}

func (c counted) Row64(i int, dst []float64) {
	c.made.Add(1)
	c.Contexts.Row64(i, dst)
}

// Where contexts are held each is made once; the model is the same to the bit.
func TestLogisticHolds(t *testing.T) {
	const n, d, k = 500, 7, 3
	r := rand.New(rand.NewPCG(1, 2))
	x, made := make([]float64, n*d), new(atomic.Int64)
	log := &logs.Log{Actions: []string{"a", "b", "c"}}
	rows := make([]int, n)
	for i := range n {
		for j := range d {
			x[i*d+j] = r.NormFloat64()
		}
		log.Action = append(log.Action, int32(r.IntN(k)))
		log.Cost = append(log.Cost, -r.Float64())
		rows[i] = i
	}
	log.X = counted{logs.Rows64{Width: d, Data: x}, made}
	held, err := logistic(context.Background(), log, rows, 1, 8*n*d)
	if err != nil {
		t.Fatal(err)
	}
	if got := made.Swap(0); got > 2*n {
		t.Errorf("%d contexts made of %d rows", got, n)
	}
	again, err := logistic(context.Background(), log, rows, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := made.Load(); !slices.Equal(held, again) || got < 4*n {
		t.Errorf("%d contexts made; %v, want %v", got, held, again)
	}
}
