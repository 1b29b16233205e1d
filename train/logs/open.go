package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"opl/policies/features"
)

// Options say how a log is read. The zero value reads what the file's name and
// its columns say, with rewards in [0, 1] or costs in [−1, 0].
type Options struct {
	Format string // one of Formats; "": by the ending of the name, with .gz or .zst after it
	Preset string // one of Presets, or ""

	// A reward r is the cost −(r − RewardMin)/(RewardMax − RewardMin); a cost c is
	// the reward −c. Both 0: rewards are in [0, 1].
	RewardMin, RewardMax float64

	// Catalogue is a file that says which actions there are and what they are described by,
	// see [ReadCatalogue]: rows offer all of them, or those that they name. "": there is none.
	Catalogue string

	Actions []string // names of the actions in their order; nil: as found
	// Columns are the file's columns that are read as those of the schema, by their names there, such as
	// "action": "variant", "x_age": "age"; a column of such a name itself is not read then. A file of CSV, JSON Lines or
	// Parquet must have them. ColumnsBefore is the same of a log before: a file that lacks the column
	// may have the schema's.
	Columns, ColumnsBefore map[string]string

	Delimiter string // of fields of CSV: one of , ; | and a tab; "": as the header has it
	Dates     string // "us", month/day/year, or "eu", day/month/year or day.month.year, beside what times are read by; "": neither

	Categories []string // context columns whose values are names even where they look like numbers

	// The propensities of all actions, where the log has none: "uniform", 1/K, or
	// Logging, which writes π₀(·|x) [K] to dst. Propensities of logged actions must
	// agree with them.
	LoggingPolicy string
	Logging       func(x []features.Value, dst []float64) error
	Estimate      bool // of propensities that neither a row of the log nor these two give

	BadRows  string         // the file that bad rows go into; "": a bad row is an error
	Cache    string         // the cache's file; "": beside the log, or where there is room for it
	Progress func(rows int) // called now and then with the rows read
}

// Open reads the log at path into a binary cache beside it, or finds it there, and
// maps it into memory. The cache is made again when the file or what o says of
// reading has changed. An error names file, row and column; no half of a cache is
// left behind. What it reads may be larger than memory.
func Open(ctx context.Context, path string, o Options) (*Log, error) {
	l, err := open(ctx, path, &o)
	if err != nil {
		return nil, err
	}
	l.RewardMin, l.RewardMax = o.RewardMin, o.RewardMax
	if err := l.complete(ctx, &o); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// complete adds the propensities that the file does not have.
func (l *Log) complete(ctx context.Context, o *Options) error {
	switch chosen := l.Choices != nil; {
	case chosen && o.Logging != nil:
		return fmt.Errorf("%s: setting logging-policy: what a policy does among actions that have features or differ from row to row must be in the log: want column propensity", l.path)
	case chosen && o.Estimate && l.Propensity == nil:
		return fmt.Errorf("%s: setting estimate-propensity is not for actions that have features or differ from row to row: want column propensity", l.path)
	case o.LoggingPolicy != "" && o.LoggingPolicy != "uniform":
		return fmt.Errorf("%s: no logging policy %q: setting logging-policy is uniform or a policy file", l.path, o.LoggingPolicy)
	case o.LoggingPolicy == "uniform":
		return l.known(ctx, "the uniform policy", func(_ int, dst []float64) error {
			for a := range dst {
				dst[a] = 1 / float64(len(dst))
			}
			return nil
		})
	case o.Logging != nil:
		var d Decision
		return l.known(ctx, "the logging policy", func(i int, dst []float64) error {
			l.Decision(i, &d)
			return o.Logging(d.Context, dst)
		})
	case o.Estimate && (l.Propensity == nil || slices.Contains(l.Propensity, 0) || l.Propensities != nil && slices.ContainsFunc(l.every(), l.gap)):
		return l.estimate(ctx)
	}
	return nil
}

// known fills the propensities of all actions by a policy that is known, and checks
// those that were logged against it.
func (l *Log) known(ctx context.Context, who string, policy func(i int, dst []float64) error) error {
	k := len(l.Actions)
	var all []float64
	var err error
	catalogue := l.Choices != nil && !l.Sets()
	switch {
	case l.Sets():
		all, err = l.scratch(len(l.Choices.Actions))
	case catalogue: // π₀ of all actions is not kept, and the one policy that is asked of it is uniform
		all = make([]float64, k)
	default:
		all, err = l.scratch(l.n * k)
	}
	if err != nil {
		return err
	}
	drawn, err := l.scratch(l.n)
	if err != nil {
		return err
	}
	logged := l.Propensity
	for i := range l.n {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		first, names := i*k, l.Actions
		switch {
		case l.Sets():
			first, names = int(l.Choices.First[i]), l.offered(i)
		case catalogue:
			first = 0
		}
		pi := all[first : first+len(names)]
		if i == 0 || !catalogue {
			if err := policy(i, pi); err != nil {
				return fmt.Errorf("%s: row %d: %w", l.path, l.Row(i), err)
			}
			if _, err := Distribution(pi, names, Exact); err != nil {
				return fmt.Errorf("%s: row %d: the propensities of %s: %w", l.path, l.Row(i), who, err)
			}
		}
		p := pi[l.Chosen(i)]
		switch {
		case p <= 0:
			return fmt.Errorf("%s: row %d: %s never takes the logged action %s: another policy logged this", l.path, l.Row(i), who, l.Actions[l.Action[i]])
		case logged != nil && logged[i] > 0 && !Near(logged[i], p, Agreement):
			return fmt.Errorf("%s: row %d, column propensity: %v was logged, %s with %d actions has %v: another policy logged this, or setting actions must list them all", l.path, l.Row(i), logged[i], who, len(pi), p)
		case l.Propensities != nil && !l.gap(i) && !Near(l.Pi0(i)[l.Chosen(i)], p, Agreement):
			return fmt.Errorf("%s: row %d, column propensities: they differ from those of %s", l.path, l.Row(i), who)
		}
		drawn[i] = p // where the log has it, it is rounded there
	}
	if l.Propensity = drawn; !catalogue {
		l.Propensities = all
	}
	return nil
}
