package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/policies/wholefile"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/logs/join"
	"opl/train/provenance"
)

type joinFlags struct {
	readFlags     // of what other systems logged
	rewardColumns map[string]string
	catalogue     string
	out           string
	missing       string
	fill          map[string]string // what decisions without an outcome are given, by column
	duplicates    string
	policy        string
	computed      bool // rewards are, from outcomes, as the policy says
	bad           string
	overwrite     bool
	min, max      float64
	format        string
	mature        time.Duration
}

func joinCommand(lib library.Library) *cobra.Command {
	f := joinFlags{readFlags: reading(lib)}
	cmd, fl := command("join", some("the log of serve", "a file of rewards"), func(cmd *cobra.Command, args []string) error {
		dir, err := os.MkdirTemp("", "opl-") // for copies of objects
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		last := len(args) - 1
		served, err := local(cmd.Context(), lib, args[:last], dir)
		if err != nil {
			return err
		}
		served = slices.DeleteFunc(served, func(path string) bool { return strings.HasSuffix(path, ".torn") })
		rewards, err := local(cmd.Context(), lib, args[last:], dir)
		if err != nil {
			return err
		}
		return joinLogs(cmd, served, rewards, f)
	})
	bind(fl, &f.out, "out", "")
	bind(fl, &f.overwrite, "overwrite", false)
	bind(fl, &f.bad, "skip-bad", "")
	bind(fl, &f.missing, "missing-reward", "drop")
	bind(fl, &f.fill, "missing-outcomes", nil)
	bind(fl, &f.duplicates, "duplicates", "error")
	bind(fl, &f.Columns, "columns", nil)
	bind(fl, &f.rewardColumns, "reward-columns", nil)
	f.addValues(fl)
	bind(fl, &f.policy, "policy", "")
	bind(fl, &f.catalogue, "catalogue", "")
	bind(fl, &f.mature, "mature", 0)
	addFormat(fl, &f.format)
	bind(fl, &f.min, "reward-min", 0)
	bind(fl, &f.max, "reward-max", 1)
	return cmd
}

// local are the files that arguments stand for, objects as copies in a folder.
func local(ctx context.Context, lib library.Library, args []string, dir string) (paths []string, err error) {
	// whatever their names end in
	files, err := logs.Find(ctx, args, logs.Options{Hooks: logs.Hooks{Bucket: lib.Bucket}, Format: "jsonl"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	return files.Copy(ctx, dir)
}

func joinLogs(cmd *cobra.Command, served, rewards []string, f joinFlags) (err error) {
	if f.out == "" {
		return errors.New("--out: say where to write the log")
	}
	read := slices.Concat(served, rewards)
	if err := cmp.Or(writable("out", f.out, read...), writable("skip-bad", f.bad, append(read, f.out)...)); err != nil {
		return err
	}
	if f.bad != "" && filepath.Clean(f.bad) == filepath.Clean(f.out) {
		return errors.New("--out and --skip-bad are one file")
	}
	for flag, path := range map[string]string{"out": f.out, "skip-bad": f.bad} {
		if err := absent(flag, path, f.overwrite); err != nil {
			return err
		}
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	other := len(f.Columns) > 0 || f.PropensityForm != "" || slices.ContainsFunc(served, func(path string) bool {
		ending := filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst"))
		return ending == ".csv" || ending == ".parquet"
	})
	var bad io.Writer
	if f.bad != "" && !other {
		file, failed := wholefile.Create(f.bad, 0)
		if failed != nil {
			return fmt.Errorf("--skip-bad: %w", failed)
		}
		// What was left out is kept, whatever comes of the rest.
		defer func() { err = errors.Join(err, kept("skip-bad", f.bad, file.Commit())) }()
		file.New = !f.overwrite
		bad = file
	}
	show := newStages(cmd.ErrOrStderr(), "reading "+strings.Join(served, ", "))
	defer show.stop()
	var log *join.Log
	if other {
		log, err = f.other(cmd, served, o.Duplicates)
	} else {
		log, err = join.Open(served, o.Duplicates, bad)
	}
	if err != nil {
		return err
	}
	defer log.Close()
	show.next("reading " + strings.Join(rewards, ", "))
	r := join.NewRewards(logs.Options{Columns: f.rewardColumns, ColumnsBefore: f.Columns,
		Forms: logs.Forms{Dates: f.Dates, RewardMap: f.RewardMap}})
	for column, text := range f.fill {
		v, err := strconv.ParseFloat(text, 64)
		if err == nil {
			err = r.Fill(column, v)
		}
		if err != nil {
			return fmt.Errorf("--missing-outcomes: %w", err)
		}
	}
	for _, path := range rewards {
		if err := r.Read(path, o.Duplicates); err != nil {
			return err
		}
	}
	if f.missing != "drop" || !r.None() {
		o.Computed = nil
	}
	f.computed = o.Computed != nil
	w, err := logs.Create(f.out, logs.WriterOptions{Actions: log.Actions, Numbers: log.Numbers,
		Catalogue:  log.Catalogue,
		Unrewarded: log.Unrewarded > 0 || o.Missing == nil && (f.mature > 0 || log.Missing(r) > 0),
		RewardMin:  f.min, RewardMax: f.max, New: !f.overwrite, Outcomes: r.Outcomes(),
		NoRewards: f.computed})
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	show.next("writing " + f.out)
	s, err := log.Join(r, func(d *logs.Decision) error { return cmp.Or(cmd.Context().Err(), w.Write(d)) }, o)
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if s.Joined == 0 {
		_ = w.Abort()
		if r.None() && len(r.Outcomes()) > 0 && !f.computed {
			return fmt.Errorf("%s: no rewards, but %s: --reward-columns reads a column as reward, and --policy may name "+
				"the file of a policy whose reward is computed from outcomes", strings.Join(rewards, " "),
				strings.Join(r.Outcomes(), ", "))
		}
		return f.none(s, served, rewards)
	}
	if err := w.Close(); err != nil {
		return kept("out", f.out, err)
	}
	show.stop()
	text := func(w io.Writer) error { return printSummary(w, s, f) }
	s.Policies = append([]logs.Logger{}, s.Policies...) // [] in JSON, and not null
	return conclusion{answer: joined{f.out, s, f.min, f.max, s.Missing > 0 && f.missing == "drop"}, text: text}.write(cmd,
		f.format, nil)
}

// other reads decisions that another system logged.
func (f joinFlags) other(cmd *cobra.Command, paths []string, d join.Duplicates) (*join.Log, error) {
	o := logs.Options{Columns: maps.Clone(f.Columns), NoCache: true, BadRows: f.bad,
		Forms: logs.Forms{Dates: f.Dates, PropensityForm: f.PropensityForm, NoRewards: true}}
	maps.DeleteFunc(o.Columns, func(name, _ string) bool {
		return name == "reward" || name == "cost" || logs.IsOutcome(name)
	})
	l, err := logs.OpenAll(cmd.Context(), paths, o)
	if err != nil {
		return nil, err
	}
	log, err := join.Other(l, d)
	if err != nil {
		err = errors.Join(err, l.Close())
	}
	return log, err
}

func printSummary(out io.Writer, s join.Summary, f joinFlags) error {
	w := new(bytes.Buffer)
	mean := fmt.Sprintf("mean reward where there is one: %.4g", s.MeanReward)
	if s.Missing > 0 && f.missing != "drop" {
		mean = fmt.Sprintf("%.4g where there is one, %s elsewhere: mean reward %.4g", s.MeanReward, f.missing, s.MeanWritten)
	}
	next := "inspect"
	if f.computed {
		mean, next = "their reward is computed from outcomes", "certify "+f.policy
	}
	fmt.Fprintf(w, "%8d written to %s; %s; next: opl %s %[2]s\n", s.Joined, f.out, mean, next)
	fmt.Fprintf(w, "%8d decisions", s.Decisions)
	if !s.To.IsZero() {
		fmt.Fprintf(w, ", %s to %s", s.From.Format(time.RFC3339), s.To.Format(time.RFC3339))
	}
	fmt.Fprintln(w)
	for _, p := range s.Policies {
		fmt.Fprintf(w, "%8d by policy %.12s\n", p.Rows, p.Policy)
	}
	if f.min != 0 || f.max != 1 {
		fmt.Fprintf(w, "         rewards are as they were: read the log by --reward-min %v --reward-max %v, which "+
			"a policy file that was learned so brings\n", f.min, f.max)
	}
	for _, o := range s.Outcomes {
		rest := ""
		if o.Given != nil {
			rest = fmt.Sprintf("; the others were given %v", *o.Given)
		}
		fmt.Fprintf(w, "%8d of them have %s%s\n", o.Rows, o.Column, rest)
	}
	zones, inTime := "", ""
	if f.mature > 0 {
		inTime = " that came in time"
	}
	if s.Late > s.Decisions-s.Young-s.Missing { // more than count
		zones = ": compare clocks and time zones (a time without a zone is UTC's)"
	}
	for _, c := range []struct {
		n    int
		what string
	}{
		{s.Others, "of other policies or catalogues left out"},
		{s.Young, fmt.Sprintf("younger than %v left out", f.mature)},
		{s.Late, fmt.Sprintf("rewards came more than %v after their decision, and do not count%s", f.mature, zones)},
		{s.Early, "rewards came before their decision: compare clocks and time zones"},
		{s.Orphans, "rewards of no decision"},
		{s.Left, "duplicates left out, the " + f.duplicates + inTime + " taken"},
		{s.Bad, "lines that could not be read left out, and written to " + f.bad},
		{s.Copies, "lines that are equal to others left out"},
		{s.Plain, "lines have no checksum, as older servers wrote them: damage would not be noticed"},
		{s.Zeros, "bytes that are zero left out: something truncated the log while it was written"},
		{s.Torn, "bytes of a last line without an end left out: the server may be writing it"},
		{len(s.Notes), "to note: " + strings.Join(s.Notes, "; ")},
		{s.NoChance, "decisions with an action of propensity 0: a floor keeps a log useful for other policies"},
	} {
		if c.n > 0 {
			fmt.Fprintf(w, "%8d %s\n", c.n, c.what)
		}
	}
	if of := s.Waits; of != nil {
		fmt.Fprintf(w, "         rewards came within %v of the decision (half of them), %v (99 %%), %v (all)\n",
			seconds(of.Half), seconds(of.Most), seconds(of.All))
	}
	switch {
	case s.Missing > 0 && f.missing == "drop":
		fmt.Fprintf(w, "%8d without a reward were dropped. If a reward is there depends on what was done or on what\n"+
			"         came of it (late rewards, only successes reported), the log is biased, and so is every\n"+
			"         estimate from it. The log says how many (column unrewarded), and nothing is guaranteed\n"+
			"         on it: see --missing-reward\n", s.Missing)
	case s.Missing > 0:
		fmt.Fprintf(w, "%8d without a reward were given %s: wrong for rewards that are still to come\n", s.Missing,
			f.missing)
	}
	_, err := out.Write(w.Bytes())
	return err
}

// seconds writes a time in whole seconds.
func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Second)
}

func (f *joinFlags) options() (join.Options, error) {
	if err := f.values(); err != nil {
		return join.Options{}, err
	}
	o := join.Options{Duplicates: join.Duplicates(f.duplicates), Min: f.min, Max: f.max, Mature: f.mature}
	if f.mature < 0 {
		return o, errors.New("--mature: want a time of at least 0, as 48h")
	}
	if !(f.min < f.max) {
		return o, errors.New("--reward-min must be below --reward-max")
	}
	if f.missing != "drop" {
		v, err := strconv.ParseFloat(f.missing, 64)
		if err != nil {
			return o, fmt.Errorf("--missing-reward %q: want drop or a number", f.missing)
		}
		o.Missing = &v
	}
	var played *policyfile.Policy
	if o.Policy = f.policy; f.policy != "" && strings.Trim(f.policy, "0123456789abcdef") != "" {
		p, err := policyfile.Load(f.policy)
		if err != nil {
			return o, fmt.Errorf("--policy: %w", err)
		}
		o.Policy, played = p.Hash(), p
		if of := provenance.FormulaOf(p.File()); of != nil {
			if o.Computed, err = logs.FormulaColumns(of.Reward); err != nil {
				return o, fmt.Errorf("--policy: %w", err)
			}
			if slices.Contains(o.Computed, "reward_reward") { // from the reward itself, too
				o.Computed = nil
			}
		}
	}
	if o.Catalogue = f.catalogue; strings.Trim(f.catalogue, "0123456789abcdef") != "" {
		c, _, err := readCatalogue(f.catalogue, played)
		if err != nil {
			return o, fmt.Errorf("--catalogue: %w", err)
		}
		o.Catalogue = c.Hash
	}
	return o, nil
}

// none is the error of a join that gives no rows.
func (f joinFlags) none(s join.Summary, served, rewards []string) error {
	if s.Young > 0 && s.Others+s.Young == s.Decisions {
		return fmt.Errorf("--mature %v: none of the %d decisions is so old", f.mature, s.Decisions)
	}
	if s.Others == s.Decisions {
		if f.catalogue != "" {
			return fmt.Errorf("--catalogue %s: none of the %d decisions is among this catalogue, or is of the "+
				"policy; with codes that the policy knows as names, give its file as --policy", f.catalogue, s.Decisions)
		}
		return fmt.Errorf("--policy %s: none of the %d decisions is of this policy", f.policy, s.Decisions)
	}
	if s.Late > 0 {
		return fmt.Errorf("--mature %v: all %d rewards came later than that after their decision: say a longer time, "+
			"or compare clocks and time zones", f.mature, s.Late)
	}
	return fmt.Errorf("none of the %d decisions has a reward: is decision_id the same in %s and %s?", s.Decisions,
		strings.Join(served, " "), strings.Join(rewards, " "))
}
