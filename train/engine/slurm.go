package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"opl/policies/wholefile"
)

// plain is what a shell takes for itself without quotes.
var plain = regexp.MustCompile(`^[a-zA-Z0-9_./,:=+@%-]+$`)

// shell is a command line of words, with variable in place of Index.
func shell(words []string, variable string) string {
	quote := func(s string) string {
		if s == "" || plain.MatchString(s) {
			return s
		}
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	line := make([]string, len(words))
	for i, w := range words {
		parts := strings.Split(w, Index)
		for j, p := range parts {
			parts[j] = quote(p)
		}
		if line[i] = strings.Join(parts, `"$`+variable+`"`); w == "" {
			line[i] = "''"
		}
	}
	return strings.Join(line, " ")
}

// SlurmScripts returns the batch scripts of the parts and of the merge. Options become lines #SBATCH of both.
func (w Work) SlurmScripts() (part, merge string, err error) {
	if err := w.taken("array", "dependency", "job-name", "output", "error", "chdir", "parsable",
		"wrap"); err != nil {
		return "", "", err
	}
	if strings.ContainsAny(w.Folder+w.Logs, "\n\"\\%") {
		return "", "", fmt.Errorf("engine: Slurm cannot write to folders named %q and %q", w.Folder, w.Logs)
	}
	head := func(name, log string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "#!/bin/sh\n#SBATCH --job-name=%s\n#SBATCH --chdir=\"%s\"\n#SBATCH "+
			"--output=\"%s\"\n#SBATCH --open-mode=append\n#SBATCH --requeue\n",
			name, w.Folder, filepath.Join(w.Logs, log))
		for _, o := range w.Options {
			fmt.Fprintf(&b, "#SBATCH --%s", o.Key)
			if o.Value != "" {
				fmt.Fprintf(&b, "=\"%s\"", strings.ReplaceAll(o.Value, `"`, `\"`))
			}
			b.WriteByte('\n')
		}
		b.WriteString("export GOMAXPROCS=\"${SLURM_CPUS_PER_TASK:-1}\"\n")
		return b.String()
	}
	return head(w.Name, "%a.log") + "exec " + shell(w.Part, "SLURM_ARRAY_TASK_ID") + "\n",
		head(w.mergeName(), "merge.log") + "exec " + shell(w.Merge, "") + "\n", nil
}

func (w Work) mergeName() string { return w.Name + "-merge" }

// SlurmTask is a task that waits or runs.
type SlurmTask struct {
	Job   string // its number
	Part  int    // 0: the merge
	State string // as Slurm says, such as PENDING
}

// SlurmQueue lists the tasks of the work that are in the queue. Nothing but the job's name is
// needed for it, so that whoever was interrupted finds them again.
func (w Work) SlurmQueue(ctx context.Context) ([]SlurmTask, error) {
	out, err := slurm(ctx, "squeue", "--noheader", "--array", "--user="+strconv.Itoa(os.Getuid()),
		"--name="+w.Name+","+w.mergeName(), "--format=%A|%K|%T|%j|%F")
	if err != nil {
		return nil, err
	}
	var tasks []SlurmTask
	for l := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(l), "|")
		if len(f) != 5 {
			return nil, fmt.Errorf("engine: squeue says %q", l)
		}
		t := SlurmTask{Job: f[4], State: f[2]}
		if f[3] == w.Name {
			if t.Part, err = strconv.Atoi(f[1]); err != nil {
				return nil, fmt.Errorf("engine: squeue says %q", l)
			}
		}
		if t.State != "COMPLETING" {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// SlurmSubmit submits an array job of some parts, and the merge to be run once these and the jobs
// of queue have ended, however they ended. Merges that wait are replaced. It returns the numbers of
// the new jobs.
func (w Work) SlurmSubmit(ctx context.Context, parts []int, queue []SlurmTask) (jobs []string, err error) {
	part, merge, err := w.SlurmScripts()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(w.Logs, 0o777); err != nil {
		return nil, err
	}
	var after, old []string
	for _, t := range queue {
		if t.Part == 0 {
			old = append(old, t.Job)
		} else if !slices.Contains(after, t.Job) {
			after = append(after, t.Job)
		}
	}
	if len(old) > 0 {
		if _, err := slurm(ctx, "scancel", old...); err != nil {
			return nil, err
		}
	}
	submit := func(name, script string, args ...string) error {
		path := filepath.Join(w.Logs, name)
		if err := wholefile.WriteBytes(path, []byte(script)); err != nil {
			return err
		}
		out, err := slurm(ctx, "sbatch", append(args, "--parsable", path)...)
		if err != nil {
			return err
		}
		id, _, _ := strings.Cut(strings.TrimSpace(out), ";") // a cluster may follow
		if _, err := strconv.Atoi(id); err != nil {
			return fmt.Errorf("engine: sbatch says %q, not the number of a job", out)
		}
		jobs = append(jobs, id)
		return nil
	}
	if len(parts) > 0 {
		list := make([]string, len(parts))
		for i, p := range parts {
			list[i] = strconv.Itoa(p)
		}
		if err := submit("shards.sh", part, "--array="+strings.Join(list, ",")); err != nil {
			return jobs, err
		}
		after = append(after, jobs...)
	}
	var args []string
	if len(after) > 0 {
		args = []string{"--dependency=afterany:" + strings.Join(after, ":")}
	}
	return jobs, submit("merge.sh", merge, args...)
}

// SlurmCancel takes tasks off the queue.
func (w Work) SlurmCancel(ctx context.Context, queue []SlurmTask) error {
	var jobs []string
	for _, t := range queue {
		if !slices.Contains(jobs, t.Job) {
			jobs = append(jobs, t.Job)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err := slurm(ctx, "scancel", jobs...)
	return err
}

// slurm runs one of Slurm's commands.
func slurm(ctx context.Context, name string, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("engine: %s is not in the path: is this a machine that submits to Slurm?", name)
	case err != nil:
		return "", fmt.Errorf("engine: %s: %w: %s", name, err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}
