// Package engine hands long work to Slurm or Kubernetes: parts of it that know nothing of
// each other, and what puts their results together. Use it to run grids there.
package engine

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Index stands in the arguments of [Work].Part for what tells a part from the others: its number, from 1
// with Slurm, from 0 with Kubernetes.
const Index = "{index}"

// Work is a command in parts, and the command that merges what they made.
type Work struct {
	Name    string   // of jobs
	Part    []string // the command of each part, with Index in it
	Merge   []string // command that puts the parts together
	Of      int      // parts
	Options []Option // the engine's own
	Remote  bool     // what they write goes to a URL, not to a folder that all see
	Folder  string   // that the commands are run in
	Logs    string   // folder of what they print
}

// Option is a setting of an engine.
type Option struct{ Key, Value string }

// ParseOption reads key=value, or a key alone.
func ParseOption(text string) (Option, error) {
	key, value, _ := strings.Cut(text, "=")
	if !optionKey.MatchString(key) || strings.ContainsAny(value, "\n\r\x00") {
		return Option{}, fmt.Errorf("setting engine %q: want key=value on one line, such as partition=main", text)
	}
	return Option{key, value}, nil
}

var optionKey = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9./_-]*$`)

// JobName derives the name of jobs, a DNS label, from the folder that they write to, so that the folder is
// enough to find its jobs again.
func JobName(name, folder string) string {
	name = notLabel.ReplaceAllString(strings.ToLower(name), "-")
	name = strings.Trim("opl-"+name[:min(len(name), 30)], "-")
	return fmt.Sprintf("%s-%x", name, sha256.Sum256([]byte(folder)))[:len(name)+9]
}

var notLabel = regexp.MustCompile(`[^a-z0-9]+`)

// taken refuses options that opl sets itself.
func (w Work) taken(keys ...string) error {
	for _, o := range w.Options {
		if slices.Contains(keys, o.Key) {
			return fmt.Errorf("setting engine %s: opl sets it itself", o.Key)
		}
	}
	return nil
}
