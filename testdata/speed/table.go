package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"opl/train"
)

// document is everything that is printed.
type document struct {
	Command string    `json:"command"`
	CPU     string    `json:"cpu"`
	Cores   int       `json:"cores"`
	System  string    `json:"system"`
	Go      string    `json:"go"`
	Commit  string    `json:"commit"`
	Peer    string    `json:"peer"` // empty: none
	Rounds  int       `json:"rounds"`
	Steps   []*result `json:"steps,omitempty"`
	Growth  []*growth `json:"scaling,omitempty"`
}

func newDocument(b *bench) *document {
	v := train.ThisVersion()
	d := &document{
		Command: strings.TrimSpace("go run ./testdata/speed " + strings.Join(os.Args[1:], " ")),
		CPU:     cpu(), Cores: runtime.NumCPU(), System: v.System, Go: v.Go, Commit: commit(v.Commit), Rounds: b.rounds,
	}
	if b.peer != nil {
		blas := b.peer.Blas
		if blas == "" {
			blas = "a BLAS that is not OpenBLAS (install libopenblas0-pthread)"
		}
		d.Peer = fmt.Sprintf("PyTorch %s (Python %s) with %s", b.peer.Torch, b.peer.Python, blas)
	}
	return d
}

// cpu is the processor's model as Linux has it.
func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // a file that cannot be read says nothing
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// commit is that of the binary, which `go run` does not have, else git's.
func commit(built string) string {
	if built != "" {
		return built
	}
	out, err := exec.Command("git", "describe", "--always", "--dirty=+changes", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// formats by their names in --format.
var formats = map[string]func(w io.Writer, d *document) error{
	"markdown": writeMarkdown,
	"json": func(w io.Writer, d *document) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(d)
	},
}

func writeMarkdown(w io.Writer, d *document) error {
	peer := d.Peer
	if peer != "" {
		peer = "; " + peer
	}
	var s strings.Builder
	fmt.Fprintf(&s, "Printed by `%s` on %s, %d cores, %s%s; opl %s, %s; float32; medians of the steps of a round, and of %d rounds (least–most).\n",
		d.Command, d.CPU, d.Cores, d.System, peer, d.Commit, d.Go, d.Rounds)
	if d.Steps != nil {
		s.WriteString("\n| step | B | d | K | opl µs | PyTorch µs | PyTorch / opl | threads | opl MiB | PyTorch MiB |\n")
		s.WriteString("|:---|---:|---:|---:|---:|---:|---:|:---|---:|---:|\n")
		for _, r := range d.Steps {
			theirs := r.Peer.micros()
			if r.Note != "" {
				theirs = r.Note
			}
			fmt.Fprintf(&s, "| %s | %d | %d%s | %d | %s | %s | %s | %s | %s | %s |\n",
				r.Step, r.Batch, r.Dim, map[bool]string{true: " dense"}[r.Dense], r.Actions,
				r.Ours.micros(), theirs, r.Ratio.ratio(), r.Threads, mebibytes(r.OursPeak), mebibytes(r.PeerPeak))
		}
		fmt.Fprintf(&s, "\nµs of one step: forward, backward, Adam. threads: of PyTorch + of its OpenBLAS, the best of %v. "+
			"MiB: peak resident memory of the process. Dense contexts are held in 32 bits, as `opl train` does.\n", allThreads)
	}
	if d.Growth != nil {
		s.WriteString("\n| step | in | sizes | µs | exponent | steepest doubling |\n|:---|:---|:---|:---|---:|---:|\n")
		for _, g := range d.Growth {
			sizes, micros := make([]string, len(g.Values)), make([]string, len(g.Values))
			for i, v := range g.Values {
				sizes[i], micros[i] = strconv.Itoa(v), number(g.Micros[i].Median)
			}
			fmt.Fprintf(&s, "| %s | %s | %s | %s | %.2f | %.2f |\n",
				g.Step, g.Size, strings.Join(sizes, ", "), strings.Join(micros, ", "), g.Exponent, g.Steepest)
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// number prints three digits at least, thousands apart.
func number(x float64) string {
	if x < 100 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (s *spread) micros() string {
	if s == nil {
		return "—"
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Min), number(s.Max))
}

func (s *spread) ratio() string {
	if s == nil {
		return "—"
	}
	return fmt.Sprintf("**%.3g** (%.3g–%.3g)", s.Median, s.Min, s.Max)
}

func mebibytes(x float64) string {
	if x == 0 {
		return "—"
	}
	return number(x)
}
