package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
	"gonum.org/v1/gonum/floats"

	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
)

// ticker is a line on a terminal that is written over, five times a second at most. It
// does nothing elsewhere.
type ticker struct {
	out      io.Writer
	terminal *os.File // nil: none
	shown    time.Time
}

func newTicker(out io.Writer) *ticker {
	t := &ticker{out: out, terminal: terminal(out)}
	if os.Getenv("TERM") == "dumb" || os.Getenv("NO_COLOR") != "" { // the user wants no control characters
		t.terminal = nil
	}
	return t
}

// show writes a line, unless the last one is too new and this one not due now.
func (t *ticker) show(now bool, line func() string) {
	if t.terminal == nil || !now && time.Since(t.shown) < 200*time.Millisecond {
		return
	}
	t.shown = time.Now()
	r := []rune(line())
	if width, _, err := term.GetSize(int(t.terminal.Fd())); err == nil && width > 1 && len(r) >= width {
		r = r[:width-1]
	}
	t.clear()
	fmt.Fprint(t.out, string(r))
}

func (t *ticker) training(p train.Progress) {
	t.show(p.Steps == 0, func() string {
		if p.Steps == 0 {
			return p.Stage
		}
		return fmt.Sprintf("%s: epoch %d of %d, %.0f %%", cmp.Or(p.Stage, "training"), p.Epoch, p.Epochs,
			100*float64(p.Step)/float64(p.Steps))
	})
}

func (t *ticker) stop() {
	if t.terminal != nil {
		t.clear()
	}
}

// clear empties the line, past the writers that escape control characters.
func (t *ticker) clear() { fmt.Fprint(t.terminal, "\r\033[K") }

// progress shows how far a list of runs is: on a terminal a line with the time
// left, under the results so far if they are asked for; elsewhere a plain line for
// every run that ends.
type progress struct {
	*ticker
	results  bool // on a terminal too
	runs     []train.Run
	work     []float64 // guessed, of each run
	share    []float64 // done of each run, 0 to 1
	mu       sync.Mutex
	latest   int
	finished int
	begin    time.Time
}

func newProgress(out io.Writer, lib library.Library, runs []train.Run, results bool) *progress {
	p := &progress{ticker: newTicker(out), results: results, runs: runs, begin: time.Now(),
		work: make([]float64, len(runs)), share: make([]float64, len(runs))}
	for i, r := range runs {
		p.work[i] = experiment.Work(lib, r, 10000)
	}
	return p
}

// at is told about each step of run i.
func (p *progress) at(i int, s train.Progress) {
	if p.terminal == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share[i] = float64(s.Step) / float64(s.Steps+1)
	p.latest = i
	p.show(false)
}

// done is told that run i has ended, with its record or the reason why it failed.
func (p *progress) done(i int, rec train.Record, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share[i] = 1
	p.finished++
	if p.terminal == nil || p.results {
		line := fmt.Sprintf("%s: reward %.4f, %.1f s", experiment.Name(p.runs[i]), rec.Reward, rec.Seconds)
		if err != nil {
			line = "failed: " + oneLine(err)
		}
		if p.terminal != nil {
			p.clear()
			fmt.Fprintln(p.out, line)
		} else {
			fmt.Fprintf(p.out, "opl: %d of %d%s: %s\n", p.finished, len(p.runs), p.left(), line)
		}
	}
	p.show(true)
}

func (p *progress) doneShare() float64 {
	return floats.Dot(p.share, p.work) / floats.Sum(p.work)
}

// left is the time left, once there is something to tell it from.
func (p *progress) left() string {
	share := p.doneShare()
	if share <= 0.01 || p.finished == len(p.runs) {
		return ""
	}
	return fmt.Sprintf(", %s left", time.Duration(float64(time.Since(p.begin))*(1/share-1)).Round(time.Second))
}

func (p *progress) show(now bool) {
	p.ticker.show(now, func() string {
		return fmt.Sprintf("%d of %d runs, %.0f %%%s: %s", p.finished, len(p.runs), 100*p.doneShare(), p.left(),
			experiment.Name(p.runs[p.latest]))
	})
}
