package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// patience is how long a stage takes before a word is said of it.
var patience = time.Second

// stages says on a terminal what a command does, once that takes longer than a second: in a line that is
// written over, with the seconds that it has taken, or, where the terminal takes no such line, in one for
// each stage. It does nothing elsewhere.
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

// plainTerminal reports that whoever reads the terminal wants no control characters.
func plainTerminal() bool { return os.Getenv("TERM") == "dumb" || os.Getenv("NO_COLOR") != "" }

// newStages begins with the first stage. stop must be called before anything else is written to out.
func newStages(out io.Writer, what string) *stages {
	s := &stages{ticker: newTicker(out), what: what, since: time.Now()}
	ctx, end := context.WithCancel(context.Background())
	if s.end = end; terminal(out) == nil {
		return s
	}
	s.showing.Go(func() {
		every := time.NewTicker(200 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
				s.show()
			}
		}
	})
	return s
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

// read is told how many rows have been read.
func (s *stages) read(rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = rows
}

// stop ends them and leaves the line empty. It may be called again.
func (s *stages) stop() {
	s.end()
	s.showing.Wait()
	if s.told {
		s.ticker.stop()
	}
	s.told = false
}
