package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"opl/train"
	"opl/train/experiment"
)

// progress shows on a terminal how far a list of runs is, with the time left,
// and nothing elsewhere.
type progress struct {
	out      *os.File // nil: no terminal
	runs     []train.Run
	mu       sync.Mutex
	share    []float64 // of each run, 0 to 1
	latest   int
	finished int
	begin    time.Time
	shown    time.Time
}

func newProgress(out io.Writer, runs []train.Run) *progress {
	p := &progress{runs: runs, share: make([]float64, len(runs)), begin: time.Now()}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.out = f
	}
	return p
}

// at is told about each step of run i.
func (p *progress) at(i int, s train.Progress) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share[i] = float64(s.Step) / float64(s.Steps+1)
	p.latest = i
	p.show(false)
}

// done is told that run i has finished.
func (p *progress) done(i int) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share[i] = 1
	p.finished++
	p.show(true)
}

func (p *progress) show(now bool) {
	if !now && time.Since(p.shown) < 200*time.Millisecond {
		return
	}
	p.shown = time.Now()
	var sum float64
	for _, s := range p.share {
		sum += s
	}
	share := sum / float64(len(p.share))
	left := ""
	if elapsed := time.Since(p.begin); share > 0.01 {
		left = fmt.Sprintf(", %s left", time.Duration(float64(elapsed)*(1/share-1)).Round(time.Second))
	}
	line := fmt.Sprintf("%d of %d runs, %.0f %%%s: %s", p.finished, len(p.runs), 100*share, left, experiment.Name(p.runs[p.latest]))
	if width, _, err := term.GetSize(int(p.out.Fd())); err == nil && width > 1 {
		if r := []rune(line); len(r) >= width {
			line = string(r[:width-1])
		}
	}
	fmt.Fprintf(p.out, "\r\033[K%s", line)
}

// stop clears the line.
func (p *progress) stop() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r\033[K")
	}
}
