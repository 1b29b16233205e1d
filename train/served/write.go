package served

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opl/train/decisions"
)

// File writes a decision log whole or not at all: it is at its path once Commit
// returns.
type File struct {
	path    string
	actions []string
	f       *os.File
	w       *bufio.Writer
}

// Create begins a file in JSON Lines, .jsonl, for decisions among the named
// actions.
func Create(path string, actions []string) (*File, error) {
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".jsonl" {
		return nil, fmt.Errorf("%s: %q is no kind of file that can be written: want .jsonl", path, ext)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	return &File{path, actions, f, bufio.NewWriterSize(f, 1<<20)}, nil
}

// Write appends a decision.
func (w *File) Write(d *decisions.Decision) error {
	context := make(map[string]float64, len(d.Context))
	for _, v := range d.Context {
		context[v.Name] = v.Number
	}
	b, err := json.Marshal(struct {
		ID           string             `json:"decision_id"`
		Time         time.Time          `json:"timestamp"`
		Context      map[string]float64 `json:"context"`
		Action       string             `json:"action"`
		Reward       float64            `json:"reward"`
		Propensity   float64            `json:"propensity"`
		Propensities []float64          `json:"propensities"`
	}{d.ID, d.Time, context, w.actions[d.Action], -d.Cost, d.Propensity, d.Propensities})
	if err != nil {
		return err
	}
	_, err = w.w.Write(append(b, '\n'))
	return err
}

// Commit puts the file in its place.
func (w *File) Commit() error {
	if err := w.w.Flush(); err != nil {
		return err
	}
	if err := w.f.Chmod(0o644); err != nil {
		return err
	}
	if err := w.f.Sync(); err != nil {
		return err
	}
	if err := w.f.Close(); err != nil {
		return err
	}
	return os.Rename(w.f.Name(), w.path)
}

// Discard removes what was written, unless it was committed.
func (w *File) Discard() {
	w.f.Close()
	os.Remove(w.f.Name())
}
