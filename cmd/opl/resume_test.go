package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// small is a grid of 24 short runs.
const small = `
eta0: [-0.5, 0, 0.5]
limit: 600
epochs: 2
samples: 4
runs:
  - objectives: [heuristic, l2]
    weights: [clip, har]
  - objectives: [corollary1]
    lambda: [star, authors]
  - objectives: [theorem1]
    weights: [es]
`

// opl is a command on the subsets in testdata. testscript.Main puts the test
// binary into the path by this name.
func opl(t *testing.T, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	data, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("opl", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OPL_DATA="+data)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return cmd, &stderr
}

func writeGrid(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "small.yaml"), []byte(small), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// results are the lines of a results file, sorted, without times.
func results(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range bytes.Lines(text) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if _, is := m["seconds"]; is {
			t.Fatalf("seconds, which are never the same, in %s", line)
		}
		delete(m, "crc32c")
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b))
	}
	slices.Sort(lines)
	return lines
}

// Killed at random moments and started again, a grid ends with the results of a
// run that nobody disturbed, whatever --jobs is, and runs nothing twice.
func TestRun_EndsWithTheSameResultsAfterKills(t *testing.T) {
	kills := 5
	if os.Getenv("OPL_LONG") != "" {
		kills = 20
	}
	dir := writeGrid(t)
	begin := time.Now()
	cmd, stderr := opl(t, dir, "run", "small.yaml", "--out", "whole", "--jobs", "1")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	took := time.Since(begin)
	want := results(t, filepath.Join(dir, "whole", "runs.jsonl"))
	if len(want) != 24 {
		t.Fatalf("%d results, want 24", len(want))
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, undisturbed in %v", seed, took)
	r := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(dir, "killed", "runs.jsonl")
	killed, rounds, stored := 0, 0, 0
	var before []byte
	for killed < kills {
		if rounds++; rounds > 20*kills {
			t.Fatalf("%d kills in %d rounds", killed, rounds)
		}
		cmd, stderr := opl(t, dir, "run", "small.yaml", "--out", "killed", "--jobs", []string{"1", "2"}[r.IntN(2)])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended: // before it could be killed: begin anew
			if err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			if got := results(t, path); !slices.Equal(got, want) {
				t.Fatalf("after %d kills: other results than undisturbed:\n%s", killed, firstDifference(got, want))
			}
			before, stored = nil, 0
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			continue
		case <-time.After(time.Duration(r.Float64() * float64(took) / 2)):
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			<-ended
			killed++
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue // killed before there was a file
		}
		// What was stored stays as it is, but for a line that was being written, and for the order.
		for line := range bytes.Lines(before[:bytes.LastIndexByte(before, '\n')+1]) {
			if !bytes.Contains(text, line) {
				t.Fatalf("kill %d lost results:\n%s\nwas\n%s", killed, text, before)
			}
		}
		before = text
		stored = max(stored, bytes.Count(text, []byte{'\n'}))
	}
	cmd, stderr = opl(t, dir, "run", "small.yaml", "--out", "killed", "--jobs", "2")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if got := results(t, path); !slices.Equal(got, want) {
		t.Errorf("other results than undisturbed:\n%s", firstDifference(got, want))
	}
	if a, b := read(t, path), read(t, filepath.Join(dir, "whole", "runs.jsonl")); a != b {
		t.Error("the files differ")
	}
	t.Logf("%d kills in %d rounds, %d results before the last", killed, rounds, stored)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func firstDifference(got, want []string) string {
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return strings.Join([]string{"got ", strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), "\nwant ", want[i]}, "")
		}
	}
	return "more results than wanted"
}

// Ctrl-C keeps what has finished and says how to go on.
func TestRun_KeepsFinishedRunsWhenInterrupted(t *testing.T) {
	dir := writeGrid(t)
	cmd, stderr := opl(t, dir, "run", "small.yaml", "--jobs", "1", "--epochs", "40")
	cmd.Stderr = nil
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for !strings.Contains(stderr.String(), "2 of 24") {
		n, err := pipe.Read(buf)
		if stderr.Write(buf[:n]); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	stderr.ReadFrom(pipe)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("ended with %v, want status 130", err)
	}
	stored := results(t, filepath.Join(dir, "small", "runs.jsonl"))
	if len(stored) < 2 || len(stored) >= 24 || !strings.Contains(stderr.String(), "of 24 results are in small/runs.jsonl; the same command goes on from there") {
		t.Errorf("%d results stored, and\n%s", len(stored), stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "small", "report.md")); err == nil {
		t.Error("a report of what was interrupted")
	}
}

// A full disk is named; what was stored before is whole, and the rest is run when
// there is room.
func TestRun_OnAFullDiskKeepsWhatItStored(t *testing.T) {
	dir := writeGrid(t)
	cmd, stderr := opl(t, dir)
	cmd.Path, cmd.Err = "/bin/sh", nil
	cmd.Args = []string{"sh", "-c", "ulimit -f 8; exec opl run small.yaml --jobs 2"}
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "opl: results: small/runs.jsonl: ") {
		t.Fatalf("%v: %s", err, stderr)
	}
	path := filepath.Join(dir, "small", "runs.jsonl")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(results(t, path)); n < 1 || n >= 24 || before[len(before)-1] != '\n' {
		t.Errorf("%d results stored", n)
	}
	cmd, stderr = opl(t, dir, "run", "small.yaml")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	after, err := os.ReadFile(path)
	if err != nil || len(results(t, path)) != 24 {
		t.Errorf("%v: the results after are\n%s", err, after)
	}
	for line := range bytes.Lines(before) {
		if !bytes.Contains(after, line) {
			t.Errorf("lost %s", line)
		}
	}
}

// A merge that is killed leaves all of the results or none, and two at once do no harm.
func TestMerge_KilledLeavesAllOrNothing(t *testing.T) {
	dir := writeGrid(t)
	run := func(args ...string) {
		t.Helper()
		cmd, stderr := opl(t, dir, args...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
	}
	run("run", "small.yaml", "--out", "one")
	for _, shard := range []string{"1", "2", "3"} {
		run("run", "small.yaml", "--shard", shard+"/3", "--out", "shards/"+shard)
	}
	want := read(t, filepath.Join(dir, "one", "runs.jsonl"))
	path := filepath.Join(dir, "all", "runs.jsonl")
	begin := time.Now()
	run("merge", "shards", "--out", "all")
	took := time.Since(begin)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	whole := 0
	for range 20 {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		cmd, _ := opl(t, dir, "merge", "shards", "--out", "all")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Float64() * float64(took) / 2))
		cmd.Process.Kill()
		cmd.Wait()
		switch text, err := os.ReadFile(path); {
		case err == nil && string(text) == want:
			whole++
		case err == nil:
			t.Fatalf("%d bytes, a part of the results:\n%s", len(text), text)
		}
	}
	t.Logf("%d of 20 had merged before", whole)
	var both []*exec.Cmd
	for range 2 {
		cmd, _ := opl(t, dir, "merge", "shards", "--out", "all")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		both = append(both, cmd)
	}
	ended := 0
	for _, cmd := range both {
		if cmd.Wait() == nil {
			ended++
		}
	}
	if ended == 0 || read(t, path) != want {
		t.Errorf("%d of two merges ended well, the results are\n%s", ended, read(t, path))
	}
}
