package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slurmUp is a script that starts a Slurm on this machine: "SCRIPT up DIR" prints the line "export
// SLURM_CONF=…" and leaves the process numbers of its daemons in DIR/slurmctld.pid and slurmd.pid, "SCRIPT
// down DIR" ends it. fig1 is submitted to it.
var slurmUp = flag.String("slurm", "", "`script` that starts a Slurm, for TestSlurm")

// A worker that is killed and a slurmd that is killed cost what was under way: submitted again, fig1
// ends with the bytes of a run on one machine.
func TestSlurm(t *testing.T) {
	if *slurmUp == "" {
		t.Skip("a Slurm is started by -slurm SCRIPT")
	}
	dir := t.TempDir()
	ctl := filepath.Join(dir, "slurm")
	up, err := exec.Command(*slurmUp, "up", ctl).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, up)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(*slurmUp, "down", ctl).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	_, conf, _ := strings.Cut(strings.TrimSpace(string(up)), "SLURM_CONF=")
	t.Setenv("SLURM_CONF", conf)

	fig1 := []string{"reproduce", "fig1", "--dataset", "mnist", "--epochs", "40", "--limit", "1000"}
	cmd, stderr := opl(t, dir, append(fig1, "--out", "one")...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	submit := append(fig1, "--out", "many", "--submit", "slurm", "--shards", "6", "--engine", "time=30", "--engine", "partition=main")
	try := func(args ...string) (said string, status int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		cmd, stderr := opl(t, dir, append(submit, args...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		context.AfterFunc(ctx, func() { cmd.Process.Kill() })
		cmd.Wait()
		return stderr.String(), cmd.ProcessState.ExitCode()
	}
	run := func(args ...string) string {
		t.Helper()
		said, status := try(args...)
		if status != 0 {
			t.Fatalf("status %d: %s", status, said)
		}
		return said
	}
	t.Log(run())

	// A worker dies in the middle of its shard.
	stored := func(shard string) int {
		text, _ := os.ReadFile(filepath.Join(dir, "many", "shards", shard, "runs.jsonl"))
		return strings.Count(string(text), "\n")
	}
	worker := waitFor(t, "a worker that has stored something", func() int {
		for pid, line := range processes(t) {
			for _, shard := range []string{"1-of-6", "2-of-6"} {
				if n := stored(shard); strings.Contains(line, "many/shards/"+shard) && n > 0 && n < 9 {
					return pid
				}
			}
		}
		return 0
	})
	kill(t, worker)

	// So does slurmd, and with it the worker that it watched over; then it is started again.
	second := waitFor(t, "another worker", func() int {
		for pid, line := range processes(t) {
			if pid != worker && strings.Contains(line, "many/shards/") && !strings.Contains(line, "sh\x00") {
				return pid
			}
		}
		return 0
	})
	slurmd, err := os.ReadFile(filepath.Join(ctl, "slurmd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(slurmd)))
	if err != nil {
		t.Fatal(err)
	}
	kill(t, pid)
	kill(t, second)
	time.Sleep(2 * time.Second)
	if out, err := exec.Command("slurmd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// The first time Slurm may not have noticed all deaths yet.
	said := ""
	for end := time.Now().Add(10 * time.Minute); !strings.HasSuffix(said, "done") && time.Now().Before(end); {
		out, status := try("--wait")
		if said += out; status == 0 {
			said += "done"
		}
	}
	t.Log(said)
	if !strings.HasSuffix(said, "done") || !strings.Contains(said, "opl: submitted ") || strings.Contains(said, "submitted 6") {
		t.Error("what is missing is submitted again, and that alone")
	}
	if read(t, filepath.Join(dir, "many", "runs.jsonl")) != read(t, filepath.Join(dir, "one", "runs.jsonl")) {
		t.Error("the merged results differ from one machine's")
	}
	if _, err := os.Stat(filepath.Join(dir, "many", "fig1.png")); err != nil {
		t.Error(err)
	}

	// Cancelled jobs are gone.
	submit[len(fig1)+1] = "cancelled"
	run()
	if said := run("--cancel"); !strings.Contains(said, "cancelled 7 tasks") {
		t.Error(said)
	}
	waitFor(t, "an empty queue", func() int {
		out, err := exec.Command("squeue", "--noheader").Output()
		if err != nil || len(out) > 0 {
			return 0
		}
		return 1
	})
}

// processes are the command lines of processes, by number.
func processes(t *testing.T) map[int]string {
	t.Helper()
	all := map[int]string{}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if pid != os.Getpid() {
			all[pid] = string(line)
		}
	}
	return all
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
}

// waitFor waits until f returns a number that is not 0.
func waitFor(t *testing.T, what string, f func() int) int {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if n := f(); n != 0 {
			return n
		}
	}
	t.Fatalf("%s does not come", what)
	return 0
}
