package workers

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestDo_CallsEachPartOnce counts the calls of many calls of Do at once, some after the workers
// have gone to sleep.
func TestDo_CallsEachPartOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var wait sync.WaitGroup
	for caller := range 6 {
		wait.Go(func() {
			for round := range 300 {
				threads, parts := 1+(round+caller)%5, round%37
				calls := make([]atomic.Int32, parts)
				busy := make([]atomic.Int32, threads)
				Do(threads, parts, func(worker, part int) {
					if busy[worker].Add(1) != 1 {
						t.Error("two parts at once on one worker")
					}
					calls[part].Add(1)
					busy[worker].Add(-1)
				})
				for part := range calls {
					if n := calls[part].Load(); n != 1 {
						t.Errorf("%d threads, part %d of %d was called %d times", threads, part, parts, n)
					}
				}
				if round%100 == 99 {
					time.Sleep(2 * awake)
				}
			}
		})
	}
	wait.Wait()
}

func TestDo_PassesAPanicOnAfterAllParts(t *testing.T) {
	for _, threads := range []int{1, 2} {
		func() {
			defer func() {
				if r := recover(); r != "part 3" {
					t.Errorf("%d threads: recovered %v, want part 3", threads, r)
				}
			}()
			Do(threads, 5, func(_, part int) {
				if part == 3 {
					panic(fmt.Sprint("part ", part))
				}
			})
		}()
		n := atomic.Int32{}
		Do(threads, 5, func(_, _ int) { n.Add(1) })
		if n.Load() != 5 {
			t.Errorf("%d threads: %d calls after a panic, want 5", threads, n.Load())
		}
	}
}

// BenchmarkDo is what it costs to share out next to nothing, against a new
// goroutine for each part.
func BenchmarkDo(b *testing.B) {
	var sink [2]int
	b.Run("workers", func(b *testing.B) {
		b.ReportAllocs()
		do := func(worker, part int) { sink[worker] += part }
		for b.Loop() {
			Do(2, 2, do)
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		for b.Loop() {
			var wait sync.WaitGroup
			wait.Go(func() { sink[1]++ })
			sink[0]++
			wait.Wait()
		}
	})
}
