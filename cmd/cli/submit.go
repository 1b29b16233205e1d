package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/wholefile"
	"opl/train"
	"opl/train/engine"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/logs"
)

// submitFlags hand the runs of a grid to an engine.
type submitFlags struct {
	engine  string
	shards  int
	options []string
	wait    bool
	cancel  bool
	grid    string // file; empty: none
}

// submitNames are the flags that shards are not given.
var submitNames = []string{"submit", "shards", "engine", "wait", "cancel", "shard", "out", "dry-run"}

func (s *submitFlags) add(fl *pflag.FlagSet) {
	bind(fl, &s.engine, "submit", "")
	bind(fl, &s.shards, "shards", 0)
	repeated(fl, &s.options, "engine")
	bind(fl, &s.wait, "wait", false)
	bind(fl, &s.cancel, "cancel", false)
}

// check refuses flags that go with --submit alone.
func (s *submitFlags) check(fl *pflag.FlagSet) error {
	for _, name := range []string{"shards", "engine", "wait", "cancel"} {
		if fl.Changed(name) && (s.engine == "" || s.engine == "kubernetes" && (name == "wait" || name == "cancel")) {
			return fmt.Errorf("--%s goes with --submit slurm", name)
		}
	}
	switch {
	case s.engine != "" && s.engine != "slurm" && s.engine != "kubernetes":
		return library.Unknown("engine", s.engine, []string{"slurm", "kubernetes"})
	case fl.Changed("shards") && (s.shards < 1 || s.shards > logs.MostShards):
		return fmt.Errorf("--shards %d: want 1 to %d", s.shards, logs.MostShards)
	case fl.Changed("shard") && s.engine != "":
		return errors.New("--submit cuts the work into shards itself: leave --shard out, and give their number by " +
			"--shards")
	}
	return nil
}

// argsKey is the context key of the arguments of the command line.
type argsKey struct{}

// passed returns the arguments that a shard gets, too: those of the command without the flags in submitNames.
func passed(cmd *cobra.Command) (words []string) {
	args, _ := cmd.Context().Value(argsKey{}).([]string)
	args = args[min(1, len(args)):] // its name
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		name, _, whole := strings.Cut(name, "=")
		f := cmd.Flags().Lookup(name)
		two := isFlag && !whole && f != nil && f.NoOptDefVal == "" && i+1 < len(args)
		if !isFlag || !slices.Contains(submitNames, name) {
			words = append(words, args[i])
			if two {
				words = append(words, args[i+1])
			}
		}
		if two {
			i++
		}
	}
	return words
}

// work describes shards and merge as commands, for an engine.
func (s *submitFlags) work(cmd *cobra.Command, f *gridFlags, st experiment.Standing, out string) (engine.Work, error) {
	self, err := os.Executable()
	if err != nil {
		return engine.Work{}, err
	}
	if s.engine == "slurm" && strings.HasPrefix(self, filepath.Join(os.TempDir(), "go-build")) {
		return engine.Work{}, errors.New("--submit slurm: go run deletes its program when it ends: build opl, " +
			"where all nodes see it")
	}
	folder, err := os.Getwd()
	if err != nil {
		return engine.Work{}, err
	}
	absolute, err := filepath.Abs(f.out)
	if err != nil {
		return engine.Work{}, err
	}
	w := engine.Work{Name: engine.JobName(filepath.Base(absolute), absolute), Of: st.Shards, Folder: folder,
		Logs: filepath.Join(absolute, s.engine)}
	if isURL(out) {
		_, key, _ := logs.SplitURL(out)
		w.Name, w.Remote = engine.JobName(path.Base(key), out), true
		w.Logs = filepath.Join(folder, w.Name)
	}
	for _, text := range s.options {
		o, err := engine.ParseOption(text)
		if err != nil {
			return w, err
		}
		w.Options = append(w.Options, o)
	}
	index := engine.Index
	rest := passed(cmd)
	if s.engine == "kubernetes" {
		self, index = "opl", index+"+1"
		if s.grid != "" {
			rest[slices.Index(rest, s.grid)] = engine.KubernetesGrid + "/" + filepath.Base(s.grid)
		}
	}
	w.Part = append([]string{self, cmd.Name(), "--shard", fmt.Sprintf("%s/%d", index, st.Shards),
		"--out", experiment.ShardFolder(out, index, st.Shards)}, rest...)
	w.Merge = []string{self, "merge", experiment.Join(out, "shards"), "--out", out}
	if on, err := cmd.Flags().GetBool("curves"); err == nil && on {
		w.Merge = append(w.Merge, "--curves")
	}
	return w, nil
}

// submission is a plan on its way to an engine.
type submission struct {
	*submitFlags
	engine.Work
	experiment.Standing
	cmd     *cobra.Command
	lib     library.Library
	plan    []train.Run
	dir     string // the local folder of the results
	refresh func(context.Context) error
}

// run hands the missing runs of a plan to an engine.
func (s *submitFlags) run(cmd *cobra.Command, lib library.Library, f *gridFlags, plan []train.Run,
	refresh func(context.Context) error) error {
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	out := dir
	switch {
	case isURL(f.out):
		out = f.out
	case s.engine == "kubernetes":
		out = engine.KubernetesOut + "/" + filepath.Base(dir)
	}
	to := submission{submitFlags: s, cmd: cmd, lib: lib, plan: plan, dir: dir, refresh: refresh}
	if to.Standing, err = experiment.Stand(lib, plan, dir, s.shards); err != nil {
		return err
	}
	if to.Work, err = s.work(cmd, f, to.Standing, out); err != nil {
		return err
	}
	if s.engine == "kubernetes" {
		return to.kubernetes(f.dry)
	}
	part, merge, err := to.SlurmScripts() // which says what is wrong before anything is done
	switch {
	case err != nil:
		return err
	case f.dry:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d of %d runs are stored; %d of %d shards would be submitted "+
			"by\n%s\nand then\n%s", to.Done, len(plan), len(to.Lack), to.Shards, part, merge)
		return err
	}
	return to.slurm(cmd.Context())
}

// tell prints a message to stderr.
func (s *submission) tell(format string, args ...any) {
	fmt.Fprintf(s.cmd.ErrOrStderr(), "opl: "+format+"\n", args...)
}

// slurm submits what is missing, and waits for it with --wait.
func (s *submission) slurm(ctx context.Context) error {
	if err := os.MkdirAll(s.Logs, 0o777); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(s.Logs, ".lock"))
	switch held, err := lock.TryLock(); {
	case err != nil:
		return err
	case !held:
		return fmt.Errorf("another process submits to %s: wait for it", s.dir)
	}
	if err := errors.Join(s.submit(ctx), lock.Unlock()); err != nil || !s.wait || s.cancel {
		return err
	}
	for last := ""; ; {
		queue, err := s.queue(ctx)
		if err == nil {
			err = s.refresh(ctx)
		}
		if err == nil {
			s.Standing, err = experiment.Stand(s.lib, s.plan, s.dir, s.Shards)
		}
		if err != nil {
			return err
		}
		if now := s.progress(queue); now != last {
			s.tell("%s", now)
			last = now
		}
		switch {
		case len(queue) > 0:
		case s.Merged:
			_, err := fmt.Fprintln(s.cmd.OutOrStdout(), filepath.Join(s.dir, experiment.ResultsFile))
			return err
		default:
			return fmt.Errorf("%d of %d runs are missing, of shards %v, and no job is left: see %s; the same command "+
				"submits them again", len(s.plan)-s.Done, len(s.plan), s.Lack, s.Logs)
		}
		if err := pause(ctx); err != nil {
			s.tell("interrupted: the jobs go on; the same command follows them, --cancel ends them")
			return err
		}
	}
}

// pause waits between two questions to the engine.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Second):
	}
	return ctx.Err()
}

// queue asks again where the engine does not answer for a while.
func (s *submission) queue(ctx context.Context) (queue []engine.SlurmTask, err error) {
	for range 30 {
		if queue, err = s.SlurmQueue(ctx); err == nil || pause(ctx) != nil {
			break
		}
	}
	return queue, err
}

// submit submits what is missing and not in the queue, and says how far it is.
func (s *submission) submit(ctx context.Context) error {
	queue, err := s.SlurmQueue(ctx)
	if err != nil {
		return err
	}
	if s.cancel {
		if err := s.SlurmCancel(ctx, queue); err != nil {
			return err
		}
		s.tell("cancelled %d tasks; %d of %d runs are stored in %s", len(queue), s.Done, len(s.plan), s.dir)
		return nil
	}
	if len(queue) > 0 && s.Before > 0 && s.Before != s.Shards {
		return fmt.Errorf("--shards %d: jobs of %d shards are in the queue: leave the flag out, or take them off "+
			"by --cancel first", s.Shards, s.Before)
	}
	queued := func(part int) bool {
		return slices.ContainsFunc(queue, func(t engine.SlurmTask) bool { return t.Part == part })
	}
	if lack := slices.DeleteFunc(slices.Clone(s.Lack), queued); len(lack) > 0 || !s.Merged && !queued(0) {
		for i := range s.Shards {
			folder := experiment.ShardFolder(s.dir, i+1, s.Shards)
			if err := experiment.WritePlan(folder, s.lib, s.plan, s.Shards); err != nil {
				return err
			}
		}
		jobs, err := s.SlurmSubmit(ctx, lack, queue)
		switch {
		case err != nil:
			return err
		case len(lack) > 0:
			s.tell("submitted %d of %d shards as job %s, their merge as job %s; what they print is in %s", len(lack),
				s.Shards, jobs[0], jobs[1], s.Logs)
		default:
			s.tell("submitted the merge as job %s; what it prints is in %s", jobs[0], s.Logs)
		}
		if queue, err = s.SlurmQueue(ctx); err != nil {
			return err
		}
	}
	if !s.wait {
		s.tell("%s", s.progress(queue))
	}
	if s.Merged {
		s.tell("all results are in %s", filepath.Join(s.dir, experiment.ResultsFile))
	}
	return nil
}

// progress says how many runs are stored, and what the tasks in the queue do.
func (s *submission) progress(queue []engine.SlurmTask) string {
	var states []string
	count := map[string]int{}
	for _, t := range queue {
		state := strings.ToLower(t.State)
		if t.Part == 0 {
			states = append(states, "merge "+state)
			continue
		}
		count[state]++
	}
	for state, n := range count {
		states = append(states, fmt.Sprintf("%d %s", n, state))
	}
	slices.Sort(states)
	if states == nil {
		states = []string{"none in the queue"}
	}
	return fmt.Sprintf("%d of %d runs are stored, %d of %d shards lack some; tasks: %s", s.Done, len(s.plan),
		len(s.Lack), s.Shards, strings.Join(states, ", "))
}

// kubernetes writes the manifests, and prints the commands that apply them.
func (s *submission) kubernetes(dry bool) (err error) {
	var grid []byte
	if s.grid != "" {
		if grid, err = os.ReadFile(s.grid); err != nil {
			return fmt.Errorf("grid: %w", err)
		}
	}
	parts, merge, err := s.Kubernetes(filepath.Base(s.grid), grid)
	if err != nil {
		return err
	}
	out := s.cmd.OutOrStdout()
	if dry {
		_, err := out.Write(bytes.Join([][]byte{parts, merge}, []byte("---\n")))
		return err
	}
	first, second := filepath.Join(s.Logs, "shards.yaml"), filepath.Join(s.Logs, "merge.yaml")
	err = os.MkdirAll(s.Logs, 0o777)
	if err = errors.Join(err, wholefile.WriteBytes(first, parts), wholefile.WriteBytes(second, merge)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "kubectl apply -f %s\nkubectl wait --for=condition=Complete --timeout=-1s job/%s\n"+
		"kubectl apply -f %s\n", first, s.Name, second)
	return err
}
