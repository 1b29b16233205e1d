package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"opl/policies"
)

// row is a row of the table: a method of ours beside a step of the peer's.
type row struct {
	label string // %d stands for S, or for J where the peer has nodes
	ours  method
	peer  string
	// value is what the peer's value is compared with, if it is not ours.
	value *method
	// elements is the size of the largest array of the peer, for one row of a
	// minibatch.
	elements func(s shape) float64
}

// rows of the table.
func rows() []row {
	draws := func(s shape) float64 { return float64(s.Samples) * float64(s.Actions) }
	nodes := func(s shape) float64 { return float64(s.Nodes) * float64(s.Actions) }
	pairs := func(s shape) float64 { return float64(s.Samples) * float64(s.Actions) * float64(s.Actions) }
	actions := func(s shape) float64 { return float64(s.Actions) }
	hidden := func(s shape) float64 { return float64(max(s.Actions, s.Dim, s.Units)) }
	return []row{
		{"heuristic, softmax, Clip", heuristic, "heuristic", nil, actions},
		{"heuristic, softmax, Clip, layer of %d units", heuristicLayer, "heuristic_layer", nil, hidden},
		{"likelihood, softmax, layer of %d units", likelihoodLayer, "likelihood_layer", nil, hidden},
		{"likelihood, softmax, convolutions", likelihoodConv, "likelihood_conv", nil, func(shape) float64 { return 25 * 24 * 24 }},
		{"Theorem 1, %d draws", theorem1, "theorem1", nil, draws},
		{"Theorem 1, %d draws, PyTorch tuned", theorem1, "theorem1_tuned", nil, draws},
		{"Corollary 1, gaussian, quadrature of %d nodes", corollary1, "quadrature", nil, nodes},
		{"Corollary 1, gaussian, quadrature of %d nodes, PyTorch tuned", corollary1, "quadrature_tuned", nil, nodes},
		{"Corollary 1, gaussian, the authors' B×K×K×%d", corollary1, "authors", &monteCarlo, pairs},
	}
}

// name is the row's label for a shape.
func (r row) name(s shape) string {
	switch {
	case r.ours.name == corollary1.name && r.value == nil:
		return fmt.Sprintf(r.label, s.Nodes)
	case r.ours.through != nil && strings.Contains(r.label, "%"):
		return fmt.Sprintf(r.label, s.Units)
	case !strings.Contains(r.label, "%"):
		return r.label
	}
	return fmt.Sprintf(r.label, s.Samples)
}

// arrays is how many arrays of the largest size autograd keeps or makes at once,
// about.
const arrays = 8

// gibibytes estimates the memory that the peer needs.
func (r row) gibibytes(s shape) float64 {
	return float64(s.Batch) * r.elements(s) * 4 * arrays / (1 << 30)
}

// spread is a median over rounds, with the least and the most.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) *spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return &spread{Median: (v[(n-1)/2] + v[n/2]) / 2, Min: v[0], Max: v[n-1]}
}

// result is a measured row.
type result struct {
	Step string `json:"step"`
	shape
	Ours     *spread `json:"ours_us"`
	Peer     *spread `json:"peer_us"` // nil: not measured
	Ratio    *spread `json:"ratio"`   // of the rounds
	Threads  string  `json:"peer_threads"`
	OursPeak float64 `json:"ours_mib"` // 0: not known
	PeerPeak float64 `json:"peer_mib"`
	Note     string  `json:"note"` // why there is no peer

	rounds []float64 // ours, µs
}

// bench is how long is measured.
type bench struct {
	rounds int
	budget time.Duration // of one side in one round
	memory float64       // GiB that the peer may take
	noise  policies.Noise
	peer   *peer // nil: ours alone
	log    io.Writer
}

// pause lets the threads of the other side, which spin for a while, go to sleep.
const pause = 50 * time.Millisecond

// row measures a row of the table: ours and the peer by turns, the peer with
// every number of threads, of which the one with the best median counts.
func (b *bench) row(ctx context.Context, t *task, r row) (*result, error) {
	res := &result{Step: r.name(t.shape), shape: t.shape}
	peer := b.peer
	switch {
	case peer == nil:
		res.Note = "no PyTorch"
	case r.gibibytes(t.shape) > b.memory:
		peer, res.Note = nil, fmt.Sprintf("does not fit (about %.3g GiB)", r.gibibytes(t.shape))
	}
	resetPeak()
	tr, err := newTrainer(t, r.ours, b.noise, tensor.Float32, t.Batch)
	if err != nil {
		return nil, err
	}
	theirs := make([][]float64, len(allThreads))
	for range b.rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		micros, err := tr.time(b.budget)
		if err != nil {
			return nil, err
		}
		res.rounds = append(res.rounds, micros)
		for i, th := range allThreads {
			if peer == nil {
				break
			}
			time.Sleep(pause)
			m, err := peer.time(r.peer, t.shape, th, b.budget.Seconds())
			if err != nil {
				return nil, err
			}
			theirs[i] = append(theirs[i], m.Micros)
			res.PeerPeak = math.Max(res.PeerPeak, m.Peak)
		}
		time.Sleep(pause)
	}
	res.OursPeak = peak()
	res.Ours = spreadOf(res.rounds)
	for i, th := range allThreads {
		if theirs[i] == nil {
			break
		}
		if s := spreadOf(theirs[i]); res.Peer == nil || s.Median < res.Peer.Median {
			ratios := make([]float64, b.rounds)
			for j, m := range theirs[i] {
				ratios[j] = m / res.rounds[j]
			}
			res.Peer, res.Ratio, res.Threads = s, spreadOf(ratios), th.String()
		}
	}
	return res, nil
}

// The largest relative difference that counts as equal, of the value and of the
// gradients, by element type.
var tolerances = []struct {
	dt   tensor.Dtype
	most float64
}{{tensor.Float64, 1e-9}, {tensor.Float32, 1e-4}}

// checkElements bounds the size of the arrays of a check: of large shapes it
// takes the first rows alone.
const checkElements = 1 << 23

// check compares value and gradients with the peer's, on frozen noise.
func (b *bench) check(t *task, r row) error {
	if r.gibibytes(t.shape) > b.memory {
		return nil
	}
	m := r.ours
	if r.value != nil {
		m = *r.value
	}
	n := max(1, min(t.Batch, int(checkElements/r.elements(t.shape))))
	for _, tol := range tolerances {
		all := 0. // the gap on all n rows, of those of which fewer were to be compared
		for rows := n; ; rows /= 2 {
			gap, ours, theirs, err := b.gap(t, r, m, tol.dt, rows)
			if err != nil {
				return err
			}
			if gap <= tol.most {
				fmt.Fprintf(b.log, "%s, K=%d, %v: value and gradients equal to %.1e on %d rows%s\n", r.name(t.shape), t.Actions, tol.dt, gap, rows, turned(all))
				break
			}
			if all = math.Max(all, gap); m.through == nil || tol.dt != tensor.Float32 || !(gap <= turns) || rows < 2*fewestRows {
				return fmt.Errorf("%s, B=%d d=%d K=%d, %v: opl and PyTorch differ by %.2g relative on %d rows, more than %.0g: value %v and %v, gradient in log σ %v and %v",
					r.name(t.shape), t.Batch, t.Dim, t.Actions, tol.dt, gap, rows, tol.most, ours.value, theirs.value, ours.logSigma, theirs.logSigma)
			}
		}
	}
	return nil
}

// Of some million relus and maxima of squares of pixels in float32, one or another has two numbers to choose from that
// are the same but for rounding, and the gradient goes through the other one: by so much may gradients
// differ then, and fewer rows, at least so many, must be without.
const (
	turns      = 1e-2
	fewestRows = 16
)

// turned says that.
func turned(gap float64) string {
	if gap == 0 {
		return ""
	}
	return fmt.Sprintf(", to %.1e on more: rounding decides a relu or a maximum there", gap)
}

// gap is the relative difference of a method's value and gradients on the first rows of the log, on the same noise.
func (b *bench) gap(t *task, r row, m method, dt tensor.Dtype, rows int) (gap float64, ours, theirs outcome, err error) {
	noise, shape := t.frozen(m, rows)
	if ours, err = t.evaluate(m, dt, rows, noise); err != nil {
		return 0, ours, theirs, err
	}
	if theirs, err = b.peer.evaluate(r.peer, t.shape, dt, rows, noise, shape); err != nil {
		return 0, ours, theirs, err
	}
	gap, err = ours.differ(theirs)
	return gap, ours, theirs, err
}

// resetPeak returns what memory it can, and starts peak anew.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // elsewhere than on Linux peak knows nothing
}

// peak is the largest resident memory since resetPeak in MiB, 0 if not known.
func peak() float64 {
	status, _ := os.ReadFile("/proc/self/status") // a file that cannot be read says nothing
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	_, _ = fmt.Sscan(rest, &kib)
	return kib / 1024
}
