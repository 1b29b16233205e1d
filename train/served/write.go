package served

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
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
	csv     *csv.Writer // nil: JSON Lines
	row     []string
}

// Create begins a file, by its ending CSV or JSON Lines, for decisions among the
// named actions. Propensities are written by action: as an object of JSON, or in
// columns p_name of a CSV.
func Create(path string, actions []string) (*File, error) {
	ext := strings.ToLower(filepath.Ext(path))
	if ext != ".csv" && ext != ".jsonl" {
		return nil, fmt.Errorf("%s: %q is no kind of file that can be written: want .csv or .jsonl", path, ext)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	w := &File{path: path, actions: actions, f: f, w: bufio.NewWriterSize(f, 1<<20)}
	if ext == ".csv" {
		w.csv = csv.NewWriter(w.w)
		header := []string{"decision_id", "timestamp", "context", "action", "reward", "propensity"}
		for _, name := range actions {
			header = append(header, "p_"+name)
		}
		if err := w.csv.Write(header); err != nil {
			w.Discard()
			return nil, err
		}
	}
	return w, nil
}

// object is a JSON object of numbers, in order.
type object struct {
	names  []string
	values []float64
}

func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range o.names {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		v := o.values[i]
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s is %v", name, v)
		}
		b = strconv.AppendFloat(append(append(b, key...), ':'), v, 'g', -1, 64)
	}
	return append(b, '}'), nil
}

// Write appends a decision.
func (w *File) Write(d *decisions.Decision) error {
	var context object
	for _, v := range d.Context {
		context.names, context.values = append(context.names, v.Name), append(context.values, v.Number)
	}
	reward := 0 - d.Cost // not −0
	if w.csv != nil {
		x, err := json.Marshal(context)
		if err != nil {
			return err
		}
		w.row = append(w.row[:0], d.ID, d.Time.Format(time.RFC3339Nano), string(x), w.actions[d.Action], number(reward), number(d.Propensity))
		for _, p := range d.Propensities {
			w.row = append(w.row, number(p))
		}
		return w.csv.Write(w.row)
	}
	b, err := json.Marshal(struct {
		ID           string    `json:"decision_id"`
		Time         time.Time `json:"timestamp"`
		Context      object    `json:"context"`
		Action       string    `json:"action"`
		Reward       float64   `json:"reward"`
		Propensity   float64   `json:"propensity"`
		Propensities object    `json:"propensities"`
	}{d.ID, d.Time, context, w.actions[d.Action], reward, d.Propensity, object{w.actions, d.Propensities}})
	if err != nil {
		return err
	}
	_, err = w.w.Write(append(b, '\n'))
	return err
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Commit puts the file in its place.
func (w *File) Commit() error {
	if w.csv != nil {
		w.csv.Flush()
		if err := w.csv.Error(); err != nil {
			return err
		}
	}
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
