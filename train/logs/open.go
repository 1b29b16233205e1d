package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"opl/policies/features"
	"opl/policies/numeric"
)

// Options say how a log is read. The zero value reads what the file's name and
// its columns say, with rewards in [0, 1] or costs in [−1, 0].
type Options struct {
	Forms
	Hooks
	Format string // one of Formats; "": by the ending of the name, with .gz or .zst after it
	Preset string // one of Presets, or ""

	// A reward r is the cost −(r − RewardMin)/(RewardMax − RewardMin); a cost c is
	// the reward −c. Both 0: rewards are in [0, 1].
	RewardMin, RewardMax float64

	// Ranges are what outcomes can be, by their names, and AtRandom those that are missing at random, see [Outcome].
	Ranges   map[string]Units
	AtRandom []string

	// Assume says what the reward of a slot of a list depends on, and SlotWeights how those of slots are weighed, as
	// package certify's Assumption and SlotWeights have them. "": on the whole list; all alike.
	Assume, SlotWeights string

	// Catalogue is a file that says which actions there are and what they are described by,
	// see [ReadCatalogue]: rows offer all of them, or those that they name. "": there is none.
	Catalogue string

	Actions []string // names of the actions in their order; nil: as found
	// Numbers, if not nil, says that actions are numbers, which columns density and propensity have the density or the
	// probability of, and into which intervals they are divided. Atoms are those that Actions name; nil: as found.
	Numbers *numeric.Actions
	// Columns are the file's columns that are read as those of the schema, by their names there, such as "action":
	// "variant", "x_age": "age"; a column of such a name itself is not read then. A file of CSV, JSON Lines or
	// Parquet must have them. ColumnsBefore is the same of a log before: a file that lacks the column may have the
	// schema's. A name such as "decision.arm" is also that of a value within the objects of JSON Lines.
	Columns, ColumnsBefore map[string]string

	// Categories are context columns whose values are names even where they look like numbers. CategoriesBefore are
	// those of a log before, which a file need not have.
	Categories, CategoriesBefore []string

	// Offered makes every row of dsjson say what it offers, with features, even where all rows offer the same: for a
	// policy that decides by features of actions.
	Offered bool

	// The propensities of all actions, where the log has none: "uniform", 1/K, or
	// Logging, which writes π₀(·|x) [K] to dst, of a log with sets that of what the row offers; not of a
	// catalogue. Propensities of logged actions must agree with them.
	LoggingPolicy string
	Logging       func(x []features.Value, offered []Offer, dst []float64) error
	// Least is the least propensity that any action has in any row, such as ε/K of an ε-greedy policy; 0: it is not
	// known. See [Log].
	Least    float64
	Estimate bool // of propensities that neither a row of the log nor these two give

	BadRows string // the file that bad rows go into; "": a bad row is an error
	// the cache's file, of several files the folder of theirs; "": beside the log, or where there is room for it
	Cache   string
	NoCache bool // no cache is read, and none is left
	// of several files, read the share of a shard alone, see [Log].FilesHash; zero: all
	Share Shard
	// what the path - is; nil: standard input. Its format is known by its first bytes, its columns are not cached.
	Input io.Reader

	// LoggedByFile says that rows of several files which do not name the policy that logged them were logged by one of
	// the name of their file, up to its first point.
	LoggedByFile bool
}

// Forms say in which forms a file writes its values.
type Forms struct {
	Delimiter string // of fields of CSV: one of , ; | and a tab; "": as the header has it
	// "us", month/day/year, or "eu", day/month/year or day.month.year, beside what times are read by; "": neither
	Dates string
	// PropensityForm is how the file writes a propensity p: "log", "percent" or "inverse", 1/p; "": as p.
	PropensityForm string
	RewardMap      map[string]float64 // rewards that the file writes as words, or as other numbers
	NoRewards      bool               // the file has decisions alone: no rewards are read, costs are 0
	// Reward computes the reward from columns, in place of a column reward or cost: a sum such as
	// "min(revenue, 50) - 0.2*cost_shipping", in which values are cut to at most 50. Each has its range in Ranges, of which
	// RewardMin and RewardMax are computed.
	Reward  string
	formula *formula // of Reward; nil: there is none
}

// Hooks are functions that reading calls.
type Hooks struct {
	Progress func(rows int) // called now and then with the rows read

	// called before a cache is written, with its size; of several files before the first, with that of the files
	Caching func(path string, bytes int64)
	// opens the bucket of a URL such as s3://name?region=x; nil: files are local
	Bucket func(ctx context.Context, url string) (Bucket, error)

	Unpack map[string]Unpack // formats that another module knows, by the ending of their files, such as arrow
}

// Open reads the log at path into a binary cache beside it, or finds it there, and
// maps it into memory. The cache is made again when the file or what o says of
// reading has changed. An error names file, row and column; no half of a cache is
// left behind. What it reads may be larger than memory. A folder, a pattern or a URL is read as [OpenAll] reads it.
func Open(ctx context.Context, path string, o Options) (*Log, error) {
	return OpenAll(ctx, []string{path}, o)
}

// OpenAll reads all files that paths stand for, see [Files], as one log: that of one file with their rows, one after
// the other, to the bit. They have one cache, which is made again once a file is new, gone or another. Columns with a
// role must be the same in all files of CSV and Parquet; folders called key=value stand for a column key where the
// file has none. The last line of a text must have its end. A file that is damaged, of other columns, empty, gone, or
// that changes while it is read is an error that names it, or, if o has BadRows, left out, counted (LeftOut) and
// listed there.
func OpenAll(ctx context.Context, paths []string, o Options) (_ *Log, err error) {
	if err := o.formulate(); err != nil {
		return nil, err
	}
	f, err := Find(ctx, paths, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	named, _ := o.names() // what is wrong with them is said later
	column := func(c [2]string) bool { return named.as(c[0]) != "" }
	g := f.list[0]
	alone := len(f.list) == 1 && g.name == paths[0] && g.bucket == nil && !slices.ContainsFunc(g.fixed, column)
	l, err := f.open(ctx, strings.Join(paths, ", "), alone, &o)
	if err != nil {
		return nil, err
	}
	l.RewardMin, l.RewardMax, l.FilesHash, l.Formula = o.RewardMin, o.RewardMax, f.hash, o.made()
	if l.Lists != nil {
		l.Lists.Assume, l.Lists.SlotWeights = o.Assume, o.SlotWeights
	}
	if err = l.declare(o.Ranges, o.AtRandom); err == nil {
		err = l.addPropensities(ctx, &o)
	}
	if l.Least = o.Least; err == nil {
		err = cmp.Or(l.atLeast(), l.copies())
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// addPropensities adds the propensities that the file does not have.
func (l *Log) addPropensities(ctx context.Context, o *Options) error {
	switch chosen := l.Choices != nil; {
	case l.Numbers != nil && o.LoggingPolicy == "uniform":
		return l.drawnEvenly()
	case l.Numbers != nil && (o.LoggingPolicy != "" || o.Logging != nil || o.Estimate):
		return fmt.Errorf("%s: actions are numbers: log the density of each in column density; setting "+
			"logging-policy is uniform then, if anything, and setting estimate-propensity is for named actions", l.name())
	case chosen && o.Logging != nil && l.items().catalogue:
		return fmt.Errorf("%s: setting logging-policy: what a policy did among the actions of a catalogue depends "+
			"on what that said then, and must be in the log: want column propensity", l.path)
	case chosen && o.Estimate && l.Propensity == nil:
		return fmt.Errorf("%s: setting estimate-propensity is not for actions that have features or differ from "+
			"row to row: want column propensity", l.path)
	case o.LoggingPolicy != "" && o.LoggingPolicy != "uniform":
		return fmt.Errorf("%s: no logging policy %q: setting logging-policy is uniform or a policy file", l.path,
			o.LoggingPolicy)
	case o.LoggingPolicy == "uniform":
		return l.drawnBy(ctx, "the uniform policy", func(_ int, dst []float64) error {
			for a := range dst {
				dst[a] = 1 / float64(len(dst))
			}
			return nil
		})
	case o.Logging != nil:
		var d Decision
		return l.drawnBy(ctx, "the logging policy", func(i int, dst []float64) error {
			l.Decision(i, &d)
			return o.Logging(d.Context, d.Offered, dst)
		})
	case o.Estimate && (l.Propensity == nil || slices.Contains(l.Propensity, 0) || l.gaps()):
		return l.estimate(ctx)
	}
	l.derive()
	return nil
}

// drawnBy fills the propensities of all actions by a policy that is known, and checks
// those that were logged against it.
func (l *Log) drawnBy(ctx context.Context, who string, policy func(i int, dst []float64) error) error {
	k := len(l.Actions)
	size := l.n * k
	catalogue := l.Choices != nil && !l.Sets()
	switch {
	case l.Sets():
		size = len(l.Choices.Actions)
	case catalogue: // π₀ of all actions is not kept, and the one policy that is asked of it is uniform
		size = k
	}
	all, drawn := l.Scratch(size), l.Scratch(l.n)
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
				return fmt.Errorf("%s: %w", l.where(i), err)
			}
			if _, err := Distribution(pi, names, Exact); err != nil {
				return fmt.Errorf("%s: the propensities of %s: %w", l.where(i), who, err)
			}
		}
		p := pi[l.Chosen(i)]
		switch {
		case p <= 0:
			return fmt.Errorf("%s: %s never takes the logged action %s: another policy logged this", l.where(i), who,
				l.Actions[l.Action[i]])
		case logged != nil && logged[i] > 0 && !Near(logged[i], p, Agreement):
			return fmt.Errorf("%s, column propensity: %v was logged, %s with %d actions has %v: another policy "+
				"logged this, or setting actions must list them all", l.where(i), logged[i], who, len(pi), p)
		case l.Propensities != nil && !l.gap(i) && !Near(l.Pi0(i)[l.Chosen(i)], p, Agreement):
			return fmt.Errorf("%s, column propensities: they differ from those of %s", l.where(i), who)
		}
		drawn[i] = p // where the log has it, it is rounded there
	}
	if l.Propensity = drawn; !catalogue {
		l.Propensities = all
	}
	return nil
}
