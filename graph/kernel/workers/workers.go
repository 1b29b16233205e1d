// Package workers shares out short work: a training step is a dozen pieces of some ten
// microseconds, less than it takes to wake a sleeping thread. Between the pieces its workers stay
// awake. Use it for parts that are shorter than waking a goroutine; for longer ones take
// goroutines.
package workers

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// awake is how long a worker looks for more work before it sleeps.
const awake = 200 * time.Microsecond

// Do calls do(worker, part) once for each part below parts and returns when all
// have returned. Up to threads goroutines, the caller's among them, take parts
// one after the other; each has a number worker of its own, below threads. A worker
// begins with a share of the parts that is the same in every call, so that its
// processor's cache holds their data, and then helps others. Chance decides which
// workers run, and who gets which part in the end. Do panics if a call did.
func Do(threads, parts int, do func(worker, part int)) {
	if threads = min(threads, parts); threads < 2 {
		for part := range parts {
			do(0, part)
		}
		return
	}
	j := jobs.Get().(*job)
	if j.do, j.parts, j.failed = do, parts, nil; len(j.shares) < threads {
		j.shares = make([]share, threads)
	}
	j.threads = threads
	for t := range threads {
		j.shares[t].next.Store(int64(parts * t / threads))
	}
	j.taken = j.taken[:0]
	for _, w := range workers() {
		if len(j.taken) == threads-1 {
			break
		}
		if w.state.CompareAndSwap(idle, claimed) {
			j.taken = append(j.taken, w)
			w.job, w.worker = j, len(j.taken)
			w.say(offered, &w.asleep, w.wake)
		}
	}
	j.work(0)
	for _, w := range j.taken {
		// Who has not begun by now need not.
		if !w.state.CompareAndSwap(offered, idle) {
			w.await(finished, &w.waited, w.done)
			w.state.Store(idle)
		}
	}
	failed := j.failed
	j.do = nil
	jobs.Put(j)
	if failed != nil {
		panic(failed)
	}
}

// job is a call of Do.
type job struct {
	do             func(worker, part int)
	parts, threads int
	shares         []share
	taken          []*worker
	mu             sync.Mutex
	failed         any // what a call panicked with
}

// share is the next part of a worker's share, on a cache line of its own.
type share struct {
	next atomic.Int64
	_    [7]int64
}

var jobs = sync.Pool{New: func() any { return new(job) }}

func (j *job) work(worker int) {
	defer func() {
		if r := recover(); r != nil {
			j.mu.Lock()
			j.failed = r
			j.mu.Unlock()
		}
	}()
	for t := range j.threads {
		t = (worker + t) % j.threads
		end := int64(j.parts * (t + 1) / j.threads)
		for {
			part := j.shares[t].next.Add(1) - 1
			if part >= end {
				break
			}
			j.do(worker, int(part))
		}
	}
}

// A worker goes through these states; in claimed and finished it belongs to the
// call of Do that claimed it.
const (
	idle uint32 = iota
	claimed
	offered
	running
	finished
)

type worker struct {
	state          atomic.Uint32
	job            *job
	worker         int
	asleep, waited atomic.Bool // whether somebody sleeps until the state is offered, or finished
	wake, done     chan struct{}
}

// workers are all there are, one fewer than the processors that Go may use.
var workers = sync.OnceValue(func() []*worker {
	ws := make([]*worker, runtime.GOMAXPROCS(0)-1)
	for i := range ws {
		w := &worker{wake: make(chan struct{}, 1), done: make(chan struct{}, 1)}
		ws[i] = w
		go func() {
			for {
				w.await(offered, &w.asleep, w.wake)
				if w.state.CompareAndSwap(offered, running) {
					w.job.work(w.worker)
					w.say(finished, &w.waited, w.done)
				}
			}
		}()
	}
	return ws
})

// say enters a state and wakes who sleeps until it comes.
func (w *worker) say(state uint32, asleep *atomic.Bool, wake chan struct{}) {
	w.state.Store(state)
	if asleep.Load() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// await returns when the state has come.
func (w *worker) await(state uint32, asleep *atomic.Bool, wake chan struct{}) {
	for {
		begin := time.Now()
		for time.Since(begin) < awake {
			for range 128 {
				if w.state.Load() == state {
					return
				}
			}
			runtime.Gosched()
		}
		// Whoever stores the state looks at asleep after it: it cannot be missed.
		asleep.Store(true)
		if w.state.Load() != state {
			<-wake
		}
		asleep.Store(false)
		if w.state.Load() == state {
			return
		}
	}
}
