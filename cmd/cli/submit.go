package cli

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/wholefile"
	"opl/train"
	"opl/train/engine"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/logs"
)

// submitFlags write what an engine needs to run a grid.
type submitFlags struct {
	engine  string
	shards  int
	options []string
	grid    string // file; empty: none
}

// submitNames are the flags that shards are not given.
var submitNames = []string{"submit", "shards", "engine", "shard", "out", "dry-run"}

func (s *submitFlags) add(fl *pflag.FlagSet) {
	bind(fl, &s.engine, "submit", "")
	bind(fl, &s.shards, "shards", 0)
	repeated(fl, &s.options, "engine")
}

// check refuses flags that go with --submit alone.
func (s *submitFlags) check(fl *pflag.FlagSet) error {
	for _, name := range []string{"shards", "engine"} {
		if fl.Changed(name) && s.engine == "" {
			return fmt.Errorf("--%s goes with --submit", name)
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

// run writes what the engine needs to run what is missing of a plan, and prints the commands that submit it.
func (s *submitFlags) run(cmd *cobra.Command, lib library.Library, f *gridFlags, plan []train.Run) error {
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
	st, err := experiment.Stand(lib, plan, dir, s.shards)
	if err != nil {
		return err
	}
	w, err := s.work(cmd, f, st, out)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("%d of %d runs are stored, %d of %d shards lack some", st.Done, len(plan), len(st.Lack), st.Shards)
	var files []engine.File
	if s.engine == "kubernetes" {
		files, err = s.manifests(w)
	} else {
		files, err = w.Slurm(st.Lack)
	}
	switch {
	case err != nil:
		return err
	case f.dry:
		fmt.Fprintf(cmd.ErrOrStderr(), "opl: %s\n", said)
		for i, file := range files {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "---")
			}
			if _, err := cmd.OutOrStdout().Write(file.Text); err != nil {
				return err
			}
		}
		return nil
	case st.Merged:
		_, err := fmt.Fprintln(cmd.OutOrStdout(), experiment.Join(f.out, experiment.ResultsFile))
		return err
	}
	if s.engine == "slurm" {
		for i := range st.Shards {
			if err := experiment.WritePlan(experiment.ShardFolder(dir, i+1, st.Shards), lib, plan, st.Shards); err != nil {
				return err
			}
		}
	}
	err = os.MkdirAll(w.Logs, 0o777)
	for i := range files {
		files[i].Name = filepath.Join(w.Logs, files[i].Name)
		err = errors.Join(err, wholefile.WriteBytes(files[i].Name, files[i].Text))
		files[i].Name = quoted([]string{files[i].Name})[0]
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "opl: %s; these commands submit them:\n", said)
	_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(w.Commands(s.engine, files), "\n"))
	return err
}

// manifests are those of Kubernetes, with the grid in them.
func (s *submitFlags) manifests(w engine.Work) (files []engine.File, err error) {
	var grid []byte
	if s.grid != "" {
		if grid, err = os.ReadFile(s.grid); err != nil {
			return nil, fmt.Errorf("grid: %w", err)
		}
	}
	return w.Kubernetes(filepath.Base(s.grid), grid)
}
