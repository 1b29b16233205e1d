package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/logs"
)

// readFlags are the flags of every command that reads a log of logs.
type readFlags struct {
	logs.Options
	set    *pflag.FlagSet
	within string // --action-range
	ranged bool   // the range of rewards is that of a policy file
}

// reading reads by what the library has.
func reading(lib library.Library) readFlags {
	return readFlags{Options: logs.Options{Bucket: lib.Bucket}}
}

func (f *readFlags) add(fl *pflag.FlagSet) {
	f.set = fl
	fl.StringVar(&f.Preset, "preset", "", "the log's layout: "+logs.Presets())
	fl.StringVar(&f.Format, "input-format", "", logs.Formats()+" (default: by the file's name)")
	fl.Float64Var(&f.RewardMin, "reward-min", 0, "the reward that counts as 0")
	fl.Float64Var(&f.RewardMax, "reward-max", 1, "the reward that counts as 1")
	fl.StringVar(&f.LoggingPolicy, "logging-policy", "", "what drew the actions where the log does not say: "+
		"uniform, or a policy file")
	fl.BoolVar(&f.Estimate, "estimate-propensity", false, "estimate propensities, in rows that have none; nothing "+
		"is certified then")
	fl.StringVar(&f.BadRows, "skip-bad", "", "write rows, and which of several files, cannot be read to this "+
		"`file` and go on without them")
	fl.StringVar(&f.Catalogue, "catalogue", "", "a `file` of all actions (column action) and what they are "+
		"described by (columns z_*)")
	fl.StringSliceVar(&f.Actions, "actions", nil, "all actions by name, in order (default: those in the log)")
	fl.StringVar(&f.within, "action-range", "", "actions are numbers from A to B, as `A:B`, and column density has the "+
		"density of the one that was drawn")
	fl.StringToStringVar(&f.Columns, "columns", nil, "the log's own `names` of columns, as "+
		"action=variant,reward=clicked,x_age=age; a policy file keeps them (default the names below)")
	fl.Lookup("columns").DefValue = ""
	fl.StringVar(&f.Delimiter, "delimiter", "", "what separates fields of CSV: comma, semicolon, tab or bar, "+
		"itself (default: as in the header)")
	fl.StringVar(&f.Dates, "dates", "", "read timestamps as 12/31/2026 (us) or 31/12/2026 and 31.12.2026 (eu), too")
	fl.StringSliceVar(&f.Categories, "categories", nil, "context columns whose values are names even where they "+
		"look like numbers")
	fl.StringVar(&f.Cache, "cache", "", "the binary `file` that the log is read into, of several files a folder "+
		"(default: beside the first)")
	fl.BoolVar(&f.NoCache, "no-cache", false, "leave no cache, and read none")
}

// open reads the log, of all files that paths stand for. A policy file as logging policy brings its actions, in their
// order.
func (f *readFlags) open(cmd *cobra.Command, paths ...string) (*logs.Log, error) {
	o := f.Options
	o.Caching = func(path string, bytes int64) {
		if bytes >= 1<<20 {
			fmt.Fprintf(cmd.ErrOrStderr(), "opl: the cache takes about %s, in %s: --no-cache leaves none, opl "+
				"cache --clean removes it\n", amount(bytes), path)
		}
	}
	switch {
	case o.NoCache && o.Cache != "":
		return nil, errors.New("--cache and --no-cache: give one of them")
	case !(o.RewardMin < o.RewardMax):
		return nil, errors.New("--reward-min must be below --reward-max")
	case !f.scaled():
		o.RewardMin, o.RewardMax = 0, 0
	}
	if err := f.numbers(&o); err != nil {
		return nil, err
	}
	drawn := "" // the hash of the policy file that drew the actions
	if o.LoggingPolicy != "" && o.LoggingPolicy != "uniform" {
		if o.Catalogue != "" {
			return nil, errors.New("--logging-policy with --catalogue is uniform: what a policy did among its " +
				"actions must be in the log, in the column propensity")
		}
		p, err := policyfile.Load(o.LoggingPolicy)
		if err != nil {
			return nil, err
		}
		if drawn = p.Hash(); !p.HasItems() {
			if o.Actions != nil && !slices.Equal(o.Actions, p.Actions()) {
				return nil, fmt.Errorf("--actions differ from those of the policy %s: leave them out", o.LoggingPolicy)
			}
			o.Actions = p.Actions()
		}
		name := o.LoggingPolicy
		o.LoggingPolicy, o.Logging = "", func(x []features.Value, offered []features.Offer, dst []float64) error {
			switch {
			case p.HasItems() != (offered != nil) && p.HasItems():
				return fmt.Errorf("--logging-policy %s draws among actions that have features, and the log does "+
					"not say what was offered", name)
			case p.HasItems() != (offered != nil):
				return fmt.Errorf("--logging-policy %s draws among its own %d actions, and the log's rows offer "+
					"sets of theirs", name, p.Len())
			case offered != nil:
				return p.PropensitiesOffered(dst, x, offered)
			}
			return p.Propensities(dst, x)
		}
	}
	l, err := logs.OpenAll(cmd.Context(), paths, o)
	if err == nil && l.FilesHash != "" {
		l.FilesHash += " " + drawn
	}
	if err == nil && f.ranged && scaledBefore(l) {
		low, high := l.RewardRange()
		err = errors.Join(fmt.Errorf("%s: all rewards are in [0, 1], and the policy file says that they can be "+
			"from %v to %v: if they were scaled before, as join once did, give --reward-min 0 --reward-max 1, else "+
			"--reward-min %v --reward-max %v", strings.Join(paths, ", "), low, high, low, high), l.Close())
	}
	return l, err
}

// finest is how many intervals a range is read in, of which training tries wider ones, too.
const finest = 32

// numbers reads the range of actions that are numbers. A policy says how it is divided.
func (f *readFlags) numbers(o *logs.Options) error {
	if f.within == "" {
		return nil
	}
	low, high, err := numeric.ParseRange(f.within)
	if err != nil {
		return fmt.Errorf("--action-range %w", err)
	}
	if o.Numbers == nil {
		even := numeric.Even(low, high, finest)
		o.Numbers = &even
	} else if a, b := o.Numbers.Range(); a != low || b != high {
		return fmt.Errorf("--action-range %s: the policy's numbers are from %v to %v: leave it out", f.within, a, b)
	}
	return nil
}

// scaledBefore reports rewards that look as if they had been scaled to [0, 1] already, and would be once more.
func scaledBefore(l *logs.Log) bool {
	low, high := l.RewardRange()
	most := low
	for _, c := range l.Cost {
		r := low - c*(high-low)
		if most = max(most, r); r < -1e-9*(high-low) {
			return false
		}
	}
	return high >= 2 && most > max(low, 0) && most <= 1+1e-9*(high-low)
}

// amount is a number of bytes as people say it.
func amount(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

// scaled reports that rewards are not in [0, 1] in the file.
func (f *readFlags) scaled() bool {
	return f.ranged || f.set.Changed("reward-min") || f.set.Changed("reward-max")
}

// scale sets the range of rewards as if it were given.
func (f *readFlags) scale(low, high float64) { f.ranged, f.RewardMin, f.RewardMax = true, low, high }

// readHelp is what the help of those commands says of files.
var readHelp = strings.TrimSpace(`
FILE is CSV (also .gz, .zst), JSON lines or Parquet with the columns action, reward
or cost, and propensity. Optional columns are propensities (a list) or p_0 to p_{K-1},
x_* (the context), decision_id, timestamp, group (rows that depend on one another),
weight, and policy (name or hash of the policy that took the action). FILE may be a
folder, a pattern in quotes, such as 'logs/dt=2026-11-*/*.parquet', or a URL: all files
there are one log, and folders called key=value may stand for a column.`)
