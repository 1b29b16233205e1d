package train

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/train/logs"
)

// What is held in memory and what is read anew, by one thread and by several, gives the same bits.
func TestLogistic_IsTheSameFromMemoryAndReadAnew(t *testing.T) {
	const n, d, k = 300, 7, 4
	r := rand.New(rand.NewPCG(1, 1))
	x := logs.Rows64{Width: d}
	log := &logs.Log{Actions: []string{"a", "b", "c", "d"}}
	for range n {
		for range d {
			x.Data = append(x.Data, r.NormFloat64())
		}
		log.Action, log.Cost, log.Propensity = append(log.Action, int32(r.IntN(k-1))), append(log.Cost, -r.Float64()), append(log.Propensity, .25)
	}
	log.X = x
	rows := r.Perm(n)
	want, err := logistic(context.Background(), log, rows, 1, 0)
	if err != nil || slices.Max(want) < .1 {
		t.Fatalf("%v, %v", want, err)
	}
	for _, room := range []int{1, 30 * d, 31*d - 1, 1 << 20} {
		for threads := range 3 {
			if got, err := logistic(context.Background(), log, rows, threads, room); err != nil || !slices.Equal(got, want) {
				t.Errorf("%d elements, %d threads: %v, %v, want %v", room, threads, got, err, want)
			}
		}
	}
}
