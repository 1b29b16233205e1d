package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/provenance"
)

// readFlags are the flags of every command that reads a log.
type readFlags struct {
	logs.Options
	ranges   map[string]string // what outcomes can be, by name
	required []string          // outcomes that something is required of
	set      *pflag.FlagSet
	within   string        // --action-range
	ranged   bool          // the range of rewards is that of a policy file
	formula  *logs.Formula // of a policy file, by which the reward is computed
	unclear  bool          // a policy file says what numbers are worth
	worth    map[string]string
}

// reading reads by what the library has.
func reading(lib library.Library) readFlags {
	return readFlags{Options: logs.Options{Hooks: logs.Hooks{Bucket: lib.Bucket, Unpack: lib.Unpack}}}
}

func (f *readFlags) add(fl *pflag.FlagSet) {
	f.set = fl
	bind(fl, &f.Preset, "preset", "")
	bind(fl, &f.Format, "input-format", "")
	bind(fl, &f.RewardMin, "reward-min", 0)
	bind(fl, &f.RewardMax, "reward-max", 1)
	bind(fl, &f.Reward, "reward", "")
	bind(fl, &f.ranges, "range", nil)
	bind(fl, &f.LoggingPolicy, "logging-policy", "")
	bind(fl, &f.Least, "least-propensity", 0)
	bind(fl, &f.Estimate, "estimate-propensity", false)
	bind(fl, &f.BadRows, "skip-bad", "")
	bind(fl, &f.Catalogue, "catalogue", "")
	bind(fl, &f.Actions, "actions", nil)
	bind(fl, &f.within, "action-range", "")
	bind(fl, &f.Columns, "columns", nil)
	f.addValues(fl)
	bind(fl, &f.Assume, "assume", string(certify.NoAssumption))
	limit(fl, "assume", func(text string) error {
		if !slices.Contains(certify.Assumptions(), text) && certify.AssumedBy(text) == "" {
			return fmt.Errorf("--assume %s: want %s, or column:NAME", text, strings.Join(certify.Assumptions(), ", "))
		}
		return nil
	}, certify.Assumptions()...)
	bind(fl, &f.SlotWeights, "slot-weights", "")
	bind(fl, &f.Delimiter, "delimiter", "")
	bind(fl, &f.Categories, "categories", nil)
	bind(fl, &f.Cache, "cache", "")
	bind(fl, &f.NoCache, "no-cache", false)
}

// addValues adds how a file writes propensities, rewards and times.
func (f *readFlags) addValues(fl *pflag.FlagSet) {
	bind(fl, &f.Dates, "dates", "")
	bind(fl, &f.PropensityForm, "propensity-form", "")
	bind(fl, &f.worth, "reward-map", nil)
}

// values reads what addValues adds.
func (f *readFlags) values() (err error) {
	f.RewardMap = map[string]float64{}
	for word, worth := range f.worth {
		if f.RewardMap[word], err = strconv.ParseFloat(worth, 64); err != nil {
			return fmt.Errorf("--reward-map %s=%s: want a number behind the last =", word, worth)
		}
	}
	return nil
}

// open reads the log, of all files that paths stand for. A policy file as logging policy brings its actions, in their
// order.
func (f *readFlags) open(cmd *cobra.Command, paths ...string) (*logs.Log, error) {
	if err := cmp.Or(f.outcomeRanges(), f.values()); err != nil {
		return nil, err
	}
	o := f.Options
	o.Caching = func(path string, bytes int64) {
		if bytes >= 1<<20 {
			fmt.Fprintf(cmd.ErrOrStderr(), "opl: the cache takes about %s, in %s: --no-cache leaves none; it "+
				"may be removed at any time\n", amount(bytes), path)
		}
	}
	switch {
	case f.unclear:
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(f.worth)) {
			pairs = append(pairs, name+"="+f.worth[name])
		}
		return nil, fmt.Errorf("the policy was learned with --reward-map %s: give that if the log writes rewards so, "+
			"or --reward-map 0=0 if they are worth what they say", strings.Join(pairs, ","))
	case o.NoCache && o.Cache != "":
		return nil, errors.New("--cache and --no-cache: give one of them")
	case !(o.RewardMin < o.RewardMax):
		return nil, errors.New("--reward-min must be below --reward-max")
	case f.Reward != "" && (f.set.Changed("reward-min") || f.set.Changed("reward-max")):
		return nil, fmt.Errorf("the reward is %s: leave --reward-min and --reward-max out: what it can be is "+
			"computed from the --range of its columns", f.Reward)
	case f.Reward != "" || !f.scaled():
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
	if f.formula != nil && errors.Is(err, logs.ErrNoColumn) {
		err = fmt.Errorf("%w; the policy was learned for this reward: if the log has it in a column NAME, give --reward "+
			"NAME --range NAME=%v:%v", err, f.RewardMin, f.RewardMax)
	}
	if err == nil && f.formula != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "opl: %s, as the policy's file says\n", f.formula)
	}
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

// bins is how many a range is read in, for inspect: wide ones, since a policy that served may draw some rarely.
const bins = 8

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
		even := numeric.Even(low, high, bins)
		o.Numbers = &even
	} else if a, b := o.Numbers.Range(); a != low || b != high {
		return fmt.Errorf("--action-range %s: the policy's numbers are from %v to %v: leave it out", f.within, a, b)
	}
	return nil
}

// outcomeRanges reads --range, whose names --reward, --guardrail or --budget must have.
func (f *readFlags) outcomeRanges() error {
	reads, err := logs.FormulaReads(f.Reward)
	if err != nil {
		return err
	}
	f.Ranges = map[string]logs.Units{}
	if f.formula != nil {
		for name, u := range f.formula.Ranges {
			f.Ranges[name] = logs.Units{Low: u[0], High: u[1]}
		}
	}
	for name, text := range f.ranges {
		low, high, ok := strings.Cut(text, ":")
		u, bad := logs.Units{}, [2]error{}
		u.Low, bad[0] = strconv.ParseFloat(low, 64)
		u.High, bad[1] = strconv.ParseFloat(high, 64)
		switch {
		case !ok || bad[0] != nil || bad[1] != nil:
			return fmt.Errorf("--range %s=%s: want NAME=LOW:HIGH, such as %s=0:10", name, text, name)
		case slices.Contains(reads, name) || slices.Contains(f.required, name):
			f.Ranges[name] = u
		case name == "reward" && f.Reward == "":
			return fmt.Errorf("--range reward: say what the reward can be by --reward-min %v --reward-max %v", u.Low,
				u.High)
		default:
			return fmt.Errorf("--range %s: no --guardrail, no --budget and no --reward is of it", name)
		}
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
	return f.ranged || f.Reward != "" || f.set.Changed("reward-min") || f.set.Changed("reward-max")
}

// readLike has the log read as a policy reads it: its names of columns and actions, unless flags give them or the
// logging policy brings them.
func (f *readFlags) readLike(p *policyfile.Policy) {
	if f.Actions == nil && f.Catalogue == "" && !p.HasItems() && (f.LoggingPolicy == "" ||
		f.LoggingPolicy == "uniform") {
		f.Actions = p.Actions()
	}
	f.Offered = f.Offered || p.HasItems()
	f.readColumnsLike(p)
}

// readColumnsLike takes the names of columns, those whose numbers are names, the range of rewards and the numbers that
// actions are from a policy's file, where flags do not give them.
func (f *readFlags) readColumnsLike(p *policyfile.Policy) {
	if of := p.File().Numbers; of != nil {
		all := *of
		if f.Numbers != nil { // of another policy
			all = of.Refined(*f.Numbers)
		}
		f.Actions, f.Numbers = all.Names(), &all
	}
	if f.ColumnsBefore == nil {
		f.ColumnsBefore = p.File().Columns
	}
	f.CategoriesBefore = append(f.CategoriesBefore, provenance.Codes(p.File())...) // of several policies, all
	if of := provenance.FormulaOf(p.File()); of != nil {
		f.formulate(of, p.File())
	}
	if low, high := p.File().RewardMin, p.File().RewardMax; !f.scaled() && (low != 0 || high != 1) {
		f.ranged, f.RewardMin, f.RewardMax = true, low, high // as if it were given
	}
}

// formulate takes how a policy's rewards are made of what a log has, where flags do not say it. Words have a worth. What
// numbers are worth must be said again: a log that join wrote has the worth itself.
func (f *readFlags) formulate(of *logs.Formula, p *policyfile.File) {
	if of.Reward != "" && f.Reward == "" {
		f.formula, f.Reward = of, of.Reward
		f.RewardMin, f.RewardMax = p.RewardMin, p.RewardMax
	}
	if f.set.Changed("reward-map") {
		return
	}
	for name, worth := range of.Map {
		if f.worth == nil {
			f.worth = map[string]string{}
		}
		f.worth[name] = strconv.FormatFloat(worth, 'g', -1, 64)
		if v, err := strconv.ParseFloat(name, 64); err == nil && v != worth {
			f.unclear = true
		}
	}
}

// called returns what a log calls the column that a flag names, which may be the file's own name of it.
func (f *readFlags) called(name string) string {
	name = strings.TrimSpace(name)
	all := f.columns()
	for as, own := range all {
		if own == name && all[name] == "" {
			return as
		}
	}
	return name
}

// columns returns the log's own names of columns, as far as they are known.
func (f *readFlags) columns() map[string]string {
	out := map[string]string{}
	maps.Copy(out, f.ColumnsBefore)
	maps.Copy(out, f.Columns)
	return out
}
