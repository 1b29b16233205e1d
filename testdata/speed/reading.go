package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed reading.mjs
var readingScript string

// reading measures how long `opl inspect` takes for a log that was not read before, and for one that was, beside DuckDB summing the
// same columns on as many threads, by turns. What DuckDB takes is counted from its query on, opl with the start of its process.
type reading struct {
	dir, opl, duckdb       string
	rows, features, digits int
	rounds                 int
	log                    io.Writer
}

// measured is a side's seconds of all rounds: what a clock says, and what processors did.
type measured struct {
	wall, cpu []float64
	peak      float64 // MiB
}

func (m *measured) run(cmd *exec.Cmd) (out string, err error) {
	cmd.Stderr = os.Stderr
	start := time.Now()
	text, err := cmd.Output()
	m.wall = append(m.wall, time.Since(start).Seconds())
	if cmd.ProcessState != nil {
		m.cpu = append(m.cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			m.peak = max(m.peak, float64(u.Maxrss)/1024)
		}
	}
	return string(text), err
}

func (r *reading) run(ctx context.Context, out io.Writer) error {
	folder, err := filepath.Abs(r.duckdb)
	if err != nil {
		return err
	}
	node := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "node", append([]string{"--input-type=module", "-"}, args...)...)
		cmd.Stdin, cmd.Env = strings.NewReader(readingScript), append(os.Environ(), "DUCKDB="+folder, "THREADS="+strconv.Itoa(runtime.NumCPU()))
		return cmd
	}
	if _, err := os.Stat(filepath.Join(r.dir, "log.parquet")); err != nil {
		var m measured
		if _, err := m.run(node("make", r.dir, strconv.Itoa(r.rows), strconv.Itoa(r.features), strconv.Itoa(r.digits))); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "| file | MB | opl s | cached s | DuckDB s | opl / DuckDB | of processor time | opl's peak MiB |")
	fmt.Fprintln(out, "|:---|---:|---:|---:|---:|---:|---:|---:|")
	for _, format := range []string{"parquet", "csv", "jsonl"} {
		path := filepath.Join(r.dir, "log."+format)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		cache := filepath.Join(r.dir, "cache-"+format)
		var first, cached, duck measured
		var sums, ratios, cpu []float64
		for range r.rounds {
			_ = os.Remove(cache) // there may be none
			for _, m := range []*measured{&first, &cached} {
				if _, err := m.run(exec.CommandContext(ctx, r.opl, "inspect", path, "--cache", cache)); err != nil {
					return err
				}
			}
			text, err := duck.run(node("sum", path))
			if err != nil {
				return err
			}
			sum, err := strconv.ParseFloat(strings.Fields(text)[0], 64)
			if err != nil {
				return err
			}
			last := len(first.wall) - 1
			sums, ratios, cpu = append(sums, sum), append(ratios, first.wall[last]/sum), append(cpu, first.cpu[last]/duck.cpu[last])
			fmt.Fprintf(r.log, "%s: opl %.2f s (%.2f of processors), cached %.2f (%.2f), DuckDB %.2f (%.2f)\n", format,
				first.wall[last], first.cpu[last], cached.wall[last], cached.cpu[last], sum, duck.cpu[last])
		}
		show := func(v []float64) string {
			s := spreadOf(v)
			return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Min, s.Max)
		}
		fmt.Fprintf(out, "| %s | %d | %s | %s | %s | %s | %s | %.0f |\n", format, info.Size()>>20, show(first.wall), show(cached.wall), show(sums), show(ratios), show(cpu), first.peak)
		_ = os.Remove(cache)
	}
	return nil
}
