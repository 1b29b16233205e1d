package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is how long a stage may take before the user is told of it.
var patience = time.Second

// stages tells on a terminal what a command does, once that takes longer than a second. It overwrites one line,
// with the seconds so far. A terminal without control characters gets a line for each stage. Elsewhere stages
// prints nothing.
type stages struct {
	*ticker
	end     context.CancelFunc
	showing sync.WaitGroup

	mu    sync.Mutex
	what  string
	rows  int
	since time.Time
	told  bool // of what is done
}

// newStages begins the first stage. Call stop before anything else is written to out.
func newStages(out io.Writer, what string) *stages {
	s := &stages{ticker: newTicker(out), what: what, since: time.Now()}
	ctx, end := context.WithCancel(context.Background())
	if s.end = end; terminal(out) == nil {
		return s
	}
	s.showing.Go(func() { every(ctx, 200*time.Millisecond, never, s.show, nil) })
	return s
}

// never is a channel on which nothing comes.
var never chan struct{}

// every calls tick each period, and take with what comes, until ctx ends.
func every[T any](ctx context.Context, period time.Duration, comes <-chan T, tick func(), take func(T)) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			tick()
		case what := <-comes:
			take(what)
		}
	}
}

// show says what is done, if that takes long enough.
func (s *stages) show() {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := time.Since(s.since)
	switch {
	case took < patience:
	case s.terminal != nil:
		s.ticker.show(true, func() string {
			if s.rows > 0 {
				return fmt.Sprintf("%s: %d rows, %.0f s", s.what, s.rows, took.Seconds())
			}
			return fmt.Sprintf("%s: %.0f s", s.what, took.Seconds())
		})
	case !s.told:
		fmt.Fprintf(s.out, "opl: %s\n", s.what)
	}
	s.told = s.told || took >= patience
}

// next begins another stage.
func (s *stages) next(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.rows, s.since, s.told = what, 0, time.Now(), false
}

// read notes how many rows have been read.
func (s *stages) read(rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = rows
}

// stop ends the stages and leaves the line empty. It may be called twice.
func (s *stages) stop() {
	s.end()
	s.showing.Wait()
	if s.told {
		s.ticker.stop()
	}
	s.told = false
}
