package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/report"
)

// gridFlags are the flags of the commands that run grids and store their results.
type gridFlags struct {
	problemFlags
	settings train.Settings
	eta0     []string
	hypers   []float64
	out      string
	dir      string // the local folder that is out, or stands for it
	dry      bool
	curves   bool
	shard    string
	format   string
	submit   submitFlags
	page     reportFlag
	own      string // the text of a grid file
}

// namedGrid is a grid with its name in messages.
type namedGrid struct {
	name string
	grid experiment.Grid
}

func newGridFlags() *gridFlags { return &gridFlags{settings: train.DefaultSettings()} }

func (f *gridFlags) add(fl *pflag.FlagSet, datasets []string, out string) {
	f.problemFlags.add(fl, datasets)
	addSettings(fl, &f.settings, true)
	bind(fl, &f.eta0, "eta0", nil)
	bind(fl, &f.hypers, "hyper", nil)
	bind(fl, &f.out, "out", out)
	bind(fl, &f.dry, "dry-run", false)
	bind(fl, &f.curves, "curves", false)
	addFormat(fl, &f.format)
	bind(fl, &f.shard, "shard", "")
	f.submit.add(fl)
	f.page.add(fl)
}

// run runs what the store of --out lacks of the grids, and draws the results.
func (f *gridFlags) run(cmd *cobra.Command, lib library.Library, grids []namedGrid, left leftOut) (err error) {
	if f.format == "json" && (f.dry || f.shard != "" || f.submit.engine != "") {
		return errors.New("--format json is of grids that have been run: leave it out with --dry-run, --shard and " +
			"--submit")
	}
	if err := cmp.Or(f.submit.check(cmd.Flags()), f.page.check(cmd)); err != nil {
		return err
	}
	var shard logs.Shard
	if cmd.Flags().Changed("shard") {
		if shard, err = logs.ParseShard(f.shard); err != nil {
			return fmt.Errorf("--%w", err)
		}
	}
	far := remotes(cmd, lib.Bucket)
	defer func() { err = far.close(err) }()
	if f.dir, err = far.to(f.out); err != nil {
		return err
	}
	e := &experiment.Runner{Library: lib, DataDir: f.data, Jobs: f.jobs, Curves: f.curves}
	lists := make([][]train.Run, len(grids))
	for i, g := range grids {
		runs, err := g.grid.Runs(lib, left.add)
		if err != nil {
			return flagError(fmt.Errorf("%s: %w", g.name, err))
		}
		if lists[i], err = e.Plan(runs); err != nil {
			return flagError(err)
		}
	}
	whole, err := e.Plan(lists...)
	if err != nil {
		return err
	}
	if f.submit.engine != "" {
		left.print(cmd.ErrOrStderr())
		return f.submit.run(cmd, lib, f, whole, far.refresh)
	}
	plan := whole
	if shard.Of > 0 {
		plan = experiment.ShardRuns(lib, whole, shard)
		if !f.dry {
			if err := experiment.WritePlan(f.dir, lib, whole, shard.Of); err != nil {
				return err
			}
		}
	}
	if f.dry {
		left.print(cmd.ErrOrStderr())
		return f.plan(cmd, e, grids, lists, plan)
	}
	store, err := experiment.OpenStore(f.dir)
	if err != nil {
		return err
	}
	defer store.Close()
	notes(cmd, store)
	if err := store.Check(whole, e.Hash); err != nil {
		return err
	}
	left.print(cmd.ErrOrStderr())
	failed, err := f.runMissing(cmd, lib, e, store, whole, plan)
	if err != nil {
		return errors.Join(failed, err)
	}
	if shard.Of > 0 {
		fmt.Fprintln(cmd.OutOrStdout(), store.Path())
		return failed
	}
	if failed == nil && f.page.path != "" {
		if err := f.writePage(cmd, lib, store.Records(), whole); err != nil {
			return err
		}
	}
	if recs := store.Records(); len(recs) > 0 {
		if failed != nil && f.format == "json" {
			cmd.SetOut(io.Discard) // no answer after an error
		}
		page := report.PageOptions{Library: lib, Grid: f.own, Curves: f.curves}
		return errors.Join(failed, draw(cmd, page, f.dir, recs))
	}
	return failed
}

// runMissing runs what the store lacks of a plan, which is a shard of the whole one or all of it. A run that
// fails leaves the results of the others stored.
func (f *gridFlags) runMissing(cmd *cobra.Command, lib library.Library, e *experiment.Runner, store *experiment.Store,
	whole, plan []train.Run) (failed, err error) {
	stderr := cmd.ErrOrStderr()
	missing := store.Missing(plan)
	say := func(n int, format string, of any) {
		if n > 0 {
			fmt.Fprintf(stderr, "opl: "+format+"\n", n, of)
		}
	}
	say(store.OtherVersions(train.ThisVersion(), train.Extensions()),
		"%d results in %s are of other versions of opl, Go or the system, or of processors with other "+
			"extensions", store.Path())
	say(store.Others(whole), "%d results in %s are not of these grids, and are kept", store.Path())
	say(len(plan)-len(missing), "%d of %d results are there already", len(plan))
	if f.curves {
		say(flat(lib, store.Records(), plan),
			"%d results in %s were stored without learning curves, and stay so: for theirs give another "+
				"folder", store.Path())
	}
	p := newProgress(stderr, lib, missing, true)
	e.Progress = p.at
	var unwritten error
	failed = e.Each(cmd.Context(), missing, func(i int, rec train.Record, failure error) error {
		if failure == nil {
			if unwritten = store.Add(rec); unwritten != nil {
				return unwritten
			}
		}
		p.done(i, rec, failure)
		return nil
	})
	p.stop()
	switch {
	case unwritten != nil:
		return nil, unwritten
	case errors.Is(failed, context.Canceled):
		fmt.Fprintf(stderr, "opl: interrupted: %d of %d results are in %s; the same command goes on from there\n",
			len(plan)-len(store.Missing(plan)), len(plan), store.Path())
		return nil, failed
	}
	return failed, store.Settle()
}

// writePage writes the page of --report from the records of a plan.
func (f *gridFlags) writePage(cmd *cobra.Command, lib library.Library, recs []train.Record, plan []train.Run) error {
	planned := map[string]bool{}
	for _, r := range plan {
		planned[experiment.Key(r)] = true
	}
	recs = slices.DeleteFunc(recs, func(r train.Record) bool { return !planned[experiment.Key(r.Run)] })
	page, err := report.GridPage(recs, report.PageOptions{Library: lib, Grid: f.own, Curves: f.curves})
	if err != nil {
		return err
	}
	return f.page.write(cmd, page)
}

// flat counts the records of a plan that were stored without the learning curve that they could have.
func flat(lib library.Library, recs []train.Record, plan []train.Run) (n int) {
	planned := map[string]bool{}
	for _, r := range plan {
		o, err := lib.Objective(r.Objective) // the logging policy is none
		planned[experiment.Key(r)] = err == nil && !o.Recipe && r.Epochs > 0
	}
	for _, r := range recs {
		if len(r.Curve) == 0 && planned[experiment.Key(r.Run)] {
			n++
		}
	}
	return n
}

// notes prints what the store found in its file that is no record.
func notes(cmd *cobra.Command, store *experiment.Store) {
	for _, n := range store.Notes() {
		fmt.Fprintf(cmd.ErrOrStderr(), "opl: %s\n", n)
	}
}

// plan prints what would be run, and for how long.
func (f *gridFlags) plan(cmd *cobra.Command, e *experiment.Runner, grids []namedGrid, lists [][]train.Run,
	plan []train.Run) error {
	var stored []train.Record
	missing := plan
	store, err := experiment.ReadStore(f.dir)
	switch {
	case err == nil:
		notes(cmd, store)
		if err := store.Check(plan, e.Hash); err != nil {
			return err
		}
		stored, missing = store.Records(), store.Missing(plan)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	out := cmd.OutOrStdout()
	for i, g := range grids {
		seeds := fmt.Sprintf("%d seeds", len(g.grid.Seeds))
		if len(g.grid.Seeds) == 1 {
			seeds = fmt.Sprintf("seed %d", g.grid.Seeds[0])
		}
		fmt.Fprintf(out, "%s: %d runs on %s, %d η₀, %s\n", g.name, len(lists[i]),
			strings.Join(g.grid.Datasets, ", "), len(g.grid.Eta0), seeds)
	}
	took, guessed, err := e.Estimate(missing, stored)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "in all %d different runs, %d of them stored, %d to be run\n", len(plan), len(plan)-len(missing),
		len(missing))
	basis := "by what stored runs took"
	switch {
	case guessed > 0 && len(stored) == 0:
		basis = "by a rough guess per step"
	case guessed > 0:
		basis += fmt.Sprintf(", and a rough guess per step for %d runs without a like", guessed)
	}
	fmt.Fprintf(out, "about %s of training with --jobs %d, %s\n", took.Round(time.Second), f.jobs, basis)
	return nil
}

// commandLine returns the command with the flags that its results depend on.
func commandLine(cmd *cobra.Command) string {
	parts := append([]string{cmd.CommandPath()}, cmd.Flags().Args()...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if _, list := f.Value.(pflag.SliceValue); list {
			value = strings.Trim(value, "[]")
		}
		switch {
		case slices.Contains([]string{"jobs", "out", "data", "report", "quiet", "format"}, f.Name):
		case f.Value.Type() == "bool":
			parts = append(parts, "--"+f.Name)
		default:
			parts = append(parts, "--"+f.Name, value)
		}
	})
	return strings.Join(parts, " ")
}
