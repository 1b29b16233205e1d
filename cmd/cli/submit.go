package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
var submitNames = []string{"submit", "shards", "engine", "wait", "cancel", "shard", "out", "dry-run", "pdf"}

func (s *submitFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&s.engine, "submit", "", "hand the runs to an engine: slurm, kubernetes; again the same says how "+
		"far it is, and submits what is missing")
	fl.IntVar(&s.shards, "shards", 0, "shards that --submit cuts the runs into (default: 8, or as before)")
	fl.StringArrayVar(&s.options, "engine", nil, "a setting of the engine's own, `key=value`, such as "+
		"partition=main or image=opl:1; may be repeated")
	fl.BoolVar(&s.wait, "wait", false, "with --submit slurm, wait until all is merged")
	fl.BoolVar(&s.cancel, "cancel", false, "with --submit slurm, take the jobs of --out off the queue")
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

// argsKey is that of the arguments of the command line in a context.
type argsKey struct{}

// passed are the arguments that a shard is given, too: those of the command but for some flags.
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

// work is what an engine is given.
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
	for _, name := range []string{"curves", "pdf"} {
		if on, err := cmd.Flags().GetBool(name); err == nil && on {
			w.Merge = append(w.Merge, "--"+name)
		}
	}
	return w, nil
}

// run hands the missing runs of a plan to an engine.
func (s *submitFlags) run(cmd *cobra.Command, lib library.Library, f *gridFlags, plan []train.Run,
	refresh func(context.Context) error) error {
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	out := dir
	if isURL(f.out) {
		out = f.out
	}
	st, err := experiment.Stand(lib, plan, dir, s.shards)
	if err != nil {
		return err
	}
	if s.engine == "kubernetes" {
		return s.kubernetes(cmd, f, st, out)
	}
	w, err := s.work(cmd, f, st, out)
	if err != nil {
		return err
	}
	if f.dry {
		part, merge, err := w.SlurmScripts()
		if err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d of %d runs are stored; %d of %d shards would be submitted "+
				"by\n%s\nand then\n%s",
				st.Done, len(plan), len(st.Lack), st.Shards, part, merge)
		}
		return err
	}
	return s.slurm(cmd.Context(), cmd.ErrOrStderr(), cmd.OutOrStdout(), w, lib, plan, st, dir, refresh)
}

func (s *submitFlags) slurm(ctx context.Context, stderr, stdout io.Writer, w engine.Work, lib library.Library,
	plan []train.Run, st experiment.Standing, out string, refresh func(context.Context) error) error {
	if _, _, err := w.SlurmScripts(); err != nil { // before anything is done
		return err
	}
	if err := os.MkdirAll(w.Logs, 0o777); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(w.Logs, ".lock"))
	switch held, err := lock.TryLock(); {
	case err != nil:
		return err
	case !held:
		return fmt.Errorf("another process submits to %s: wait for it", out)
	}
	err := s.submit(ctx, stderr, w, lib, plan, st, out)
	if err = errors.Join(err, lock.Unlock()); err != nil || !s.wait || s.cancel {
		return err
	}
	var last string
	for {
		queue, err := s.queue(ctx, w)
		if err != nil {
			return err
		}
		if err := refresh(ctx); err != nil {
			return err
		}
		if st, err = experiment.Stand(lib, plan, out, st.Shards); err != nil {
			return err
		}
		if now := progressOf(st, plan, queue); now != last {
			fmt.Fprintln(stderr, now)
			last = now
		}
		switch {
		case len(queue) > 0:
		case st.Merged:
			fmt.Fprintln(stdout, filepath.Join(out, experiment.ResultsFile))
			return nil
		default:
			return fmt.Errorf("%d of %d runs are missing, of shards %v, and no job is left: see %s; the same "+
				"command submits them again",
				len(plan)-st.Done, len(plan), st.Lack, w.Logs)
		}
		select {
		case <-ctx.Done():
			fmt.Fprintln(stderr, "opl: interrupted: the jobs go on; the same command follows them, --cancel ends them")
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// queue asks again where the engine does not answer for a while.
func (s *submitFlags) queue(ctx context.Context, w engine.Work) (queue []engine.SlurmTask, err error) {
	for range 30 {
		if queue, err = w.SlurmQueue(ctx); err == nil || ctx.Err() != nil {
			return queue, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
	return nil, err
}

// submit submits what is missing and not in the queue, and says how far it is.
func (s *submitFlags) submit(ctx context.Context, stderr io.Writer, w engine.Work, lib library.Library,
	plan []train.Run, st experiment.Standing, out string) error {
	queue, err := w.SlurmQueue(ctx)
	if err != nil {
		return err
	}
	if s.cancel {
		if err := w.SlurmCancel(ctx, queue); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "opl: cancelled %d tasks; %d of %d runs are stored in %s\n", len(queue), st.Done,
			len(plan), out)
		return nil
	}
	if len(queue) > 0 && st.Before > 0 && st.Before != st.Shards {
		return fmt.Errorf("--shards %d: jobs of %d shards are in the queue: leave the flag out, or take them off "+
			"by --cancel first", st.Shards, st.Before)
	}
	lack := slices.DeleteFunc(slices.Clone(st.Lack), func(part int) bool {
		return slices.ContainsFunc(queue, func(t engine.SlurmTask) bool { return t.Part == part })
	})
	merges := slices.ContainsFunc(queue, func(t engine.SlurmTask) bool { return t.Part == 0 })
	if len(lack) > 0 || !st.Merged && !merges {
		for i := range st.Shards {
			if err := experiment.WritePlan(experiment.ShardFolder(out, i+1, st.Shards), lib, plan,
				st.Shards); err != nil {
				return err
			}
		}
		jobs, err := w.SlurmSubmit(ctx, lack, queue)
		if err != nil {
			return err
		}
		if len(lack) > 0 {
			fmt.Fprintf(stderr, "opl: submitted %d of %d shards as job %s, their merge as job %s; what they print "+
				"is in %s\n",
				len(lack), st.Shards, jobs[0], jobs[1], w.Logs)
		} else {
			fmt.Fprintf(stderr, "opl: submitted the merge as job %s; what it prints is in %s\n", jobs[0], w.Logs)
		}
		if queue, err = w.SlurmQueue(ctx); err != nil {
			return err
		}
	}
	if !s.wait {
		fmt.Fprintln(stderr, progressOf(st, plan, queue))
	}
	if st.Merged {
		fmt.Fprintf(stderr, "opl: all results are in %s\n", filepath.Join(out, experiment.ResultsFile))
	}
	return nil
}

func progressOf(st experiment.Standing, plan []train.Run, queue []engine.SlurmTask) string {
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
	return fmt.Sprintf("opl: %d of %d runs are stored, %d of %d shards lack some; tasks: %s", st.Done, len(plan),
		len(st.Lack), st.Shards, strings.Join(states, ", "))
}

func (s *submitFlags) kubernetes(cmd *cobra.Command, f *gridFlags, st experiment.Standing, out string) error {
	if !isURL(out) {
		out = engine.KubernetesOut + "/" + filepath.Base(out)
	}
	w, err := s.work(cmd, f, st, out)
	if err != nil {
		return err
	}
	var grid []byte
	if s.grid != "" {
		if grid, err = os.ReadFile(s.grid); err != nil {
			return fmt.Errorf("grid: %w", err)
		}
	}
	parts, merge, err := w.Kubernetes(filepath.Base(s.grid), grid)
	if err != nil {
		return err
	}
	if f.dry {
		_, err := cmd.OutOrStdout().Write(bytes.Join([][]byte{parts, merge}, []byte("---\n")))
		return err
	}
	if err := os.MkdirAll(w.Logs, 0o777); err != nil {
		return err
	}
	first, second := filepath.Join(w.Logs, "shards.yaml"), filepath.Join(w.Logs, "merge.yaml")
	if err := errors.Join(wholefile.WriteBytes(first, parts), wholefile.WriteBytes(second, merge)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "kubectl apply -f %s\nkubectl wait --for=condition=Complete "+
		"--timeout=-1s job/%s\nkubectl apply -f %s\n", first, w.Name, second)
	return err
}
