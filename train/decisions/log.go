package decisions

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"opl/policies/features"
)

// Options say how a log is read. The zero value reads what the file's name and
// its columns say, with rewards in [0, 1] or costs in [−1, 0].
type Options struct {
	Format string // csv, jsonl, parquet, vw, dsjson; "": by the ending of the name, with .gz or .zst after it
	Preset string // "", obd (Open Bandit Dataset), vw, dsjson

	// A reward r is the cost −(r − RewardMin)/(RewardMax − RewardMin); a cost c is
	// the reward −c. Both 0: rewards are in [0, 1].
	RewardMin, RewardMax float64

	Actions    []string // names of the actions in their order; nil: as found
	Categories []string // context columns whose values are names even where they look like numbers

	// The propensities of all actions, where the log has none: "uniform", 1/K, or
	// Logging, which writes π₀(·|x) [K] to dst. Propensities of logged actions must
	// agree with them.
	LoggingPolicy string
	Logging       func(x []features.Value, dst []float64) error
	Estimate      bool // of propensities that neither the log nor these two give

	BadRows  string         // the file that bad rows go into; "": a bad row is an error
	Cache    string         // the cache's file; "": beside the log, or where there is room for it
	Progress func(rows int) // called now and then with the rows read
}

// Note is something that reading found out and that a user should know.
type Note struct {
	Kind   string // actions, ignored, missing, categories, rounded, support, skipped, weight, dropped
	Column string // empty: none
	Rows   int    // that it concerns; 0: all
	Text   string
}

// String is the text with the column and the number of rows that it is of.
func (n Note) String() string {
	var of []string
	if n.Column != "" {
		of = append(of, "column "+n.Column)
	}
	if n.Rows > 0 {
		of = append(of, fmt.Sprintf("%d rows", n.Rows))
	}
	if of == nil {
		return n.Text
	}
	return strings.Join(of, ", ") + ": " + n.Text
}

// Log is a decision log as it was read and checked. Its columns are mapped from its
// cache: they must not change, and are gone after Close. Many goroutines may
// read it.
type Log struct {
	path     string
	unmap    []func() error
	pages    pages
	actions  []string
	names    []string
	notes    []Note
	hash     string
	skipped  int
	n, width int // width: names in every row, if dense

	values  []float64
	ids     []uint32 // of names; of every row, if dense
	offsets []int64  // into values, n+1; nil: dense

	action       []int32
	cost         []float64
	propensity   []float64
	propensities []float64
	weight       []float64
	time         []int64
	group        []int32
	rowIDs       []uint64
	rows         []int64 // in the file; nil: i+1
	category     []byte  // 1 for the names of categories
	groups       blob
	texts        blob // decision ids
	hasIDs       bool
	estimated    bool
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
	if err := l.complete(ctx, &o); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// complete adds the propensities that the file does not have.
func (l *Log) complete(ctx context.Context, o *Options) error {
	switch {
	case o.LoggingPolicy != "" && o.LoggingPolicy != "uniform":
		return fmt.Errorf("%s: no logging policy %q: --logging-policy is uniform or a policy file", l.path, o.LoggingPolicy)
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
	case o.Estimate && l.propensity == nil:
		return l.estimate(ctx)
	}
	return nil
}

// known fills the propensities of all actions by a policy that is known, and checks
// those that were logged against it.
func (l *Log) known(ctx context.Context, who string, policy func(i int, dst []float64) error) error {
	k := len(l.actions)
	all, err := l.scratch(l.n * k)
	if err != nil {
		return err
	}
	logged := l.propensity
	if logged == nil {
		if l.propensity, err = l.scratch(l.n); err != nil {
			return err
		}
	}
	for i := range l.n {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		pi := all[i*k : i*k+k]
		if err := policy(i, pi); err != nil {
			return fmt.Errorf("%s: row %d: %w", l.path, l.Row(i), err)
		}
		var sum float64
		for a, p := range pi {
			if !(p >= 0 && p <= 1) {
				return fmt.Errorf("%s: row %d: %s gives action %s the propensity %v, outside [0, 1]", l.path, l.Row(i), who, l.actions[a], p)
			}
			sum += p
		}
		if math.Abs(sum-1) > 1e-6 {
			return fmt.Errorf("%s: row %d: the propensities of %s sum to %v, not 1", l.path, l.Row(i), who, sum)
		}
		p := pi[l.action[i]]
		switch {
		case p <= 0:
			return fmt.Errorf("%s: row %d: %s never takes the logged action %s: another policy logged this", l.path, l.Row(i), who, l.actions[l.action[i]])
		case logged != nil && math.Abs(logged[i]-p) > agreement*p:
			return fmt.Errorf("%s: row %d, column propensity: %v was logged, %s with %d actions has %v: another policy logged this, or --actions must list them all", l.path, l.Row(i), logged[i], who, k, p)
		case l.propensities != nil && math.Abs(l.propensities[i*k+int(l.action[i])]-p) > agreement*p:
			return fmt.Errorf("%s: row %d, column propensities: they differ from those of %s", l.path, l.Row(i), who)
		case logged == nil:
			l.propensity[i] = p
		}
	}
	if logged != nil {
		// Rounded in the log: the policy knows better.
		if l.propensity, err = l.scratch(l.n); err != nil {
			return err
		}
		for i, a := range l.action {
			l.propensity[i] = all[i*k+int(a)]
		}
	}
	l.propensities = all
	return nil
}

// Len is the number of rows, n.
func (l *Log) Len() int { return l.n }

// Actions are the names of the actions, K of them. Numbers keep their text: those
// counted from 1 are named "1" to "K".
func (l *Log) Actions() []string { return l.actions }

// Names are the names of all values that occur in contexts.
func (l *Log) Names() []string { return l.names }

// Action is the logged action of each row, from 0.
func (l *Log) Action() []int32 { return l.action }

// Cost is c of each row, in [−1, 0].
func (l *Log) Cost() []float64 { return l.cost }

// Propensity is π₀(a|x) of each row's action, in (0, 1]; nil: not known.
func (l *Log) Propensity() []float64 { return l.propensity }

// Propensities are π₀(·|x) of all actions [n×K]. Actions that were not logged may have
// 0. nil: not known.
func (l *Log) Propensities() []float64 { return l.propensities }

// Weight is that of each row, at least 0; nil: all 1.
func (l *Log) Weight() []float64 { return l.weight }

// Time is in nanoseconds since 1970; nil: not known.
func (l *Log) Time() []int64 { return l.time }

// Group is a number for each row's group; nil: the log has none.
func (l *Log) Group() []int32 { return l.group }

// IDs are xxHash64 of each row's decision_id, or of its content.
func (l *Log) IDs() []uint64 { return l.rowIDs }

// HasIDs reports that rows have a decision_id.
func (l *Log) HasIDs() bool { return l.hasIDs }

// Hash is that of the content, the same in every format that holds the same rows.
func (l *Log) Hash() string { return l.hash }

// Estimated reports that the propensities were estimated: nothing may be certified.
func (l *Log) Estimated() bool { return l.estimated }

// Skipped is the number of bad rows, which are in the file Options.BadRows.
func (l *Log) Skipped() int { return l.skipped }

// Notes is what reading found out.
func (l *Log) Notes() []Note { return l.notes }

// Row is the place of row i in its file, from 1, without the header.
func (l *Log) Row(i int) int {
	if l.rows == nil {
		return i + 1
	}
	return int(l.rows[i])
}

// Decision reads row i into d, whose slices it uses again. Propensities is shared
// with the log.
func (l *Log) Decision(i int, d *Decision) {
	ids, values := l.context(i, nil)
	x := slices.Grow(d.Context[:0], len(ids))
	for j, id := range ids {
		x = append(x, features.Value{Name: l.names[id], Number: values[j]})
	}
	*d = Decision{Context: x, Action: int(l.action[i]), Cost: l.cost[i], Weight: 1, Row: l.Row(i)}
	if l.hasIDs {
		d.ID = l.texts.at(i)
	}
	if l.time != nil {
		d.Time = time.Unix(0, l.time[i]).UTC()
	}
	if l.group != nil {
		d.Group = l.groups.at(int(l.group[i]))
	}
	if l.propensity != nil {
		d.Propensity = l.propensity[i]
	}
	if k := len(l.actions); l.propensities != nil {
		d.Propensities = l.propensities[i*k : i*k+k : i*k+k]
	}
	if l.weight != nil {
		d.Weight = l.weight[i]
	}
}

// Close gives the memory back. Slices of the log, and of what was made of it, are
// gone then.
func (l *Log) Close() error {
	var err error
	for _, f := range l.unmap {
		err = errors.Join(err, f())
	}
	*l = Log{path: l.path}
	return err
}

// scratch returns zeros that live until Close: on the heap, or in a mapped file
// without a name when they are many.
func (l *Log) scratch(n int) ([]float64, error) {
	if n < 1<<22 || !mappable {
		return make([]float64, n), nil
	}
	f, err := temporary(filepath.Dir(l.path), "")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(8 * int64(n)); err != nil {
		return nil, err
	}
	b, unmap, err := mapFile(f.File, 8*n, true)
	if err != nil {
		return nil, err
	}
	l.unmap = append(l.unmap, unmap)
	l.pages.maps = append(l.pages.maps, b)
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// blob is many strings in one.
type blob struct {
	ends []int64
	text []byte
}

func (b blob) at(i int) string {
	var lo int64
	if i > 0 {
		lo = b.ends[i-1]
	}
	return string(b.text[lo:b.ends[i]])
}

// formatOf returns the format and compression ("", gz, zst) of a file.
func formatOf(path string, o *Options) (format, compression string, err error) {
	name := strings.ToLower(filepath.Base(path))
	for _, c := range []string{"gz", "zst"} {
		if s, ok := strings.CutSuffix(name, "."+c); ok {
			name, compression = s, c
			break
		}
	}
	format = o.Format
	if format == "" && (o.Preset == "vw" || o.Preset == "dsjson") {
		format = o.Preset
	}
	if format == "" {
		switch ending := strings.TrimPrefix(filepath.Ext(name), "."); ending {
		case "csv", "jsonl", "parquet", "vw", "dsjson":
			format = ending
		case "ndjson":
			format = "jsonl"
		case "pq":
			format = "parquet"
		default:
			return "", "", fmt.Errorf("%s: the name does not say what format it has: use --input-format csv, jsonl, parquet, vw or dsjson", path)
		}
	}
	switch {
	case !slices.Contains([]string{"csv", "jsonl", "parquet", "vw", "dsjson"}, format):
		return "", "", fmt.Errorf("%s: no format %q: --input-format is csv, jsonl, parquet, vw or dsjson", path, format)
	case !slices.Contains([]string{"", "obd", "vw", "dsjson"}, o.Preset):
		return "", "", fmt.Errorf("%s: no preset %q: --preset is obd, vw or dsjson", path, o.Preset)
	case (o.Preset == "vw" || o.Preset == "dsjson") && o.Preset != format, o.Preset == "obd" && (format == "vw" || format == "dsjson"):
		return "", "", fmt.Errorf("%s: --preset %s is not for format %s", path, o.Preset, format)
	}
	return format, compression, nil
}
