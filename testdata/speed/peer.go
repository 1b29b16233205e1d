package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gorgonia.org/tensor"
)

//go:embed peer.py
var script []byte

// errNoPeer says that there is no PyTorch.
var errNoPeer = errors.New("no Python with PyTorch found: install the Debian packages python3-torch and libopenblas0-pthread, or give --python")

// peer is PyTorch in a process of its own. Requests and answers are JSON, one
// object a line; arrays are files of little-endian float64 in a folder.
type peer struct {
	Torch, Python, Blas string

	dir     string
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// findPython returns an interpreter that has torch.
func findPython(given string) (string, error) {
	candidates := []string{"/usr/bin/python3", "python3"}
	if given != "" {
		candidates = []string{given}
	}
	for _, c := range candidates {
		if exec.Command(c, "-c", "import torch").Run() == nil {
			return c, nil
		}
	}
	return "", errNoPeer
}

// newPeer starts the peer. The environment is handed on: set OMP_NUM_THREADS,
// MALLOC_TOP_PAD_ and the like to measure PyTorch with them.
func newPeer(ctx context.Context, python string) (*peer, error) {
	python, err := findPython(python)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "opl-speed-")
	if err != nil {
		return nil, err
	}
	p := &peer{dir: dir}
	if err := p.start(ctx, python); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *peer) start(ctx context.Context, python string) error {
	path := p.path("peer.py")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		return err
	}
	process := exec.CommandContext(ctx, python, path)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	p.process, p.in, p.out = process, in, bufio.NewReader(out)
	return p.call(map[string]any{"op": "hello"}, p)
}

// Close ends the process and removes its files.
func (p *peer) Close() error {
	var err error
	if p.in != nil {
		p.in.Close()
		err = p.process.Wait()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

func (p *peer) path(name string) string { return filepath.Join(p.dir, name) }

// call sends a request and reads the answer to it.
func (p *peer) call(request map[string]any, answer any) error {
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("PyTorch ended: %w", err)
	}
	line, err = p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("PyTorch ended in %q (out of memory?): %w", request["op"], err)
	}
	var failed struct{ Error string }
	if err := json.Unmarshal(line, &failed); err != nil {
		return fmt.Errorf("PyTorch answered %q: %w", strings.TrimSpace(string(line)), err)
	}
	if failed.Error != "" {
		return fmt.Errorf("PyTorch: %s", failed.Error)
	}
	return json.Unmarshal(line, answer)
}

// load hands a task over.
func (p *peer) load(t *task) error {
	n, d := t.log.Len(), t.Dim
	x, norm, action := make([]float64, n*d), make([]float64, n), make([]float64, n)
	for i := range n {
		t.log.X.Row64(t.log.Context(i), x[i*d:(i+1)*d])
		norm[i], action[i] = t.log.X.Norm(t.log.Context(i)), float64(t.log.Action[i])
	}
	all := map[string][]float64{
		"x": x, "norm": norm, "action": action, "cost": t.log.Cost, "propensity": t.log.Propensity,
		"propensities": t.log.Propensities, "prior": t.prior.Mean, "mu": t.mu,
	}
	for name, net := range map[string]*network{"layer": t.layer, "conv": t.conv} {
		if net == nil {
			continue
		}
		all[name+"_prior"], all[name+"_head"] = net.prior.Mean, net.head
		for i, values := range net.layers {
			all[fmt.Sprint(name, "_", i)] = values
		}
	}
	for name, values := range all {
		if err := p.write(name, values); err != nil {
			return err
		}
	}
	return p.call(map[string]any{
		"op": "load", "dir": p.dir, "rows": n, "batch": t.Batch, "actions": t.Actions, "dim": d,
		"n": logRows, "delta": delta, "tau": tau(), "penalty": penalty, "lr": learningRate, "log_sigma": t.logSigma,
		"units": t.Units, "conv": t.conv != nil, "scale": t.scale,
	}, &struct{}{})
}

func (p *peer) write(name string, values []float64) error {
	buf := make([]byte, 0, 8*len(values))
	buf, err := binary.Append(buf, binary.LittleEndian, values)
	if err != nil {
		return err
	}
	// A file that the peer has mapped keeps what it holds.
	if err := os.Remove(p.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(p.path(name), buf, 0o600)
}

// evaluate computes a step's value and gradients on the first rows of the task
// that was loaded, at the noise [shape].
func (p *peer) evaluate(step string, s shape, dt tensor.Dtype, rows int, noise []float64, noiseShape []int) (outcome, error) {
	request := map[string]any{
		"op": "check", "step": step, "dtype": dt.String(), "rows": rows, "samples": s.Samples, "nodes": s.Nodes,
		"noise": "", "gradient": p.path("gradient"),
	}
	if noise != nil {
		if err := p.write("noise", noise); err != nil {
			return outcome{}, err
		}
		request["noise"], request["shape"] = p.path("noise"), noiseShape
	}
	var answer struct {
		Value    float64
		LogSigma float64 `json:"log_sigma"`
	}
	if err := p.call(request, &answer); err != nil {
		return outcome{}, err
	}
	buf, err := os.ReadFile(p.path("gradient"))
	if err != nil {
		return outcome{}, err
	}
	gradients := make([]float64, len(buf)/8)
	if _, err := binary.Decode(buf, binary.LittleEndian, gradients); err != nil {
		return outcome{}, err
	}
	o := outcome{value: answer.Value, logSigma: answer.LogSigma, gradients: [][]float64{gradients}}
	return o, os.Remove(p.path("gradient"))
}

// threads are numbers of threads of PyTorch's own operations and of OpenBLAS,
// which torch.set_num_threads leaves alone.
type threads struct{ torch, blas int }

func (t threads) String() string { return fmt.Sprintf("%d+%d", t.torch, t.blas) }

// allThreads are the settings of which the better is taken.
var allThreads = []threads{{1, 1}, {1, 2}, {2, 2}}

// timing is one measurement.
type timing struct {
	Micros float64 // a step
	Peak   float64 // MiB
}

// time measures a step on the task that was loaded.
func (p *peer) time(step string, s shape, t threads, seconds float64) (timing, error) {
	var answer timing
	err := p.call(map[string]any{
		"op": "time", "step": step, "threads": t.torch, "blas_threads": t.blas, "seconds": seconds,
		"samples": s.Samples, "nodes": s.Nodes,
	}, &answer)
	return answer, err
}
