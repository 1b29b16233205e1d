// Package inspect says whether a log of decisions can be trusted. It checks what is
// wrong with the rows, whether actions were drawn with the propensities that the log
// states, and how few rows carry the weight. It also checks whether rows look
// independent and identically distributed, which every guarantee assumes. Call
// [Inspect] before you learn from a log or believe an estimate.
//
// A check that is a statistical test calls a log doubtful at p < 1e-4 (corrected
// for the actions it looks at) and only if the deviation also matters in size, so
// that sound logs, large ones too, pass. Each threshold stands beside its check.
package inspect

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"opl/train/internal/keys"
	"opl/train/internal/spelling"
	"opl/train/logs"
)

// alpha is the level of each test.
const alpha = 1e-4

// Severity orders findings.
type Severity int

// The severities: a report has that of its worst finding.
const (
	Fine     Severity = iota
	Doubtful          // the log can be used, but not everything said of it need hold
	Unusable          // what is computed from the log means nothing
)

// String is fine, doubtful or unusable.
func (s Severity) String() string { return [...]string{"fine", "doubtful", "unusable"}[s] }

// MarshalText is String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is the outcome of one check.
type Finding struct {
	Check    string   `json:"check"`             // its name
	About    Subject  `json:"about,omitempty"`   // which assumption it tests
	Severity Severity `json:"severity"`          // fine, doubtful or unusable
	Measured string   `json:"measured"`          // what was found
	Means    string   `json:"means,omitempty"`   // empty where all is fine
	Do       string   `json:"do,omitempty"`      // what to do about it
	Numbers  []Number `json:"numbers,omitempty"` // for programs

	Pressing bool `json:"-"` // it is shown in short reports, though it is fine
	place    int  // of its check, while there are more to come
}

// Number is a measured number with its name.
type Number struct {
	Name  string  `json:"name"`  // what was measured
	Value float64 `json:"value"` // in the units that Name says
}

// Action says what the log holds of one action.
type Action struct {
	Name     string  `json:"name"`               // as the log has it
	Rows     int     `json:"rows"`               // that logged it
	Expected float64 `json:"expected,omitempty"` // Σ_i π₀(a|x_i), where all propensities are known
	Z        float64 `json:"z"`                  // of Rows against Expected, or of Σ 1{a_i = a}/p_i against n
	Reward   float64 `json:"reward"`             // mean over its rows
	SE       float64 `json:"se"`                 // of Reward
}

// Block is a stretch of rows in the order of time.
type Block struct {
	Rows       int     `json:"rows"`                 // how many
	From       string  `json:"from,omitempty"`       // time of its first row
	Reward     float64 `json:"reward"`               // mean over these rows, in the log's units
	SE         float64 `json:"se"`                   // standard error of Reward
	Propensity float64 `json:"propensity,omitempty"` // mean of the logged action's
}

// Report is everything that was found.
type Report struct {
	Severity Severity `json:"severity"`        // of the worst finding
	Rows     int      `json:"rows"`            // of the log
	Lists    int      `json:"lists,omitempty"` // whose slots are the rows; 0: rows are decisions of their own
	K        int      `json:"actions"`         // actions
	Known    string   `json:"known"`           // none, joint (of lists), logged, derived (see [logs.Log]), all or estimated
	// factor that propensities may be off by: as given, or more where betting refutes it
	Gamma float64 `json:"gamma"`
	// what rewards can be, in the log's units, which are those of all that is said of them here
	RewardMin    float64     `json:"reward_min"`
	RewardMax    float64     `json:"reward_max"`
	From         string      `json:"from,omitempty"` // the oldest time
	To           string      `json:"to,omitempty"`
	Findings     []Finding   `json:"findings"`               // worst first, then in the order of the checks
	Columns      []Column    `json:"columns,omitempty"`      // as they were read; none of shards
	ByAction     []Action    `json:"by_action"`              // counts and rewards
	Blocks       []Block     `json:"blocks,omitempty"`       // of rows in order, for drift
	Propensities []Histogram `json:"propensities,omitempty"` // none or one
	Weights      []Histogram `json:"weights,omitempty"`      // of the uniform policy, none or one
}

// Count counts the findings of a severity, for headlines.
func (r Report) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Against returns the findings that are not fine.
func (r Report) Against() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Severity == Fine })
}

// Finding returns the finding of a check.
func (r Report) Finding(check string) (Finding, bool) {
	return r.first(func(f Finding) bool { return f.Check == check })
}

func (r Report) first(is func(f Finding) bool) (Finding, bool) {
	if i := slices.IndexFunc(r.Findings, is); i >= 0 {
		return r.Findings[i], true
	}
	return Finding{}, false
}

// Summary describes the report in a line: rows, actions, severity, and the checks that are not
// fine.
func (r Report) Summary() string {
	s, sep := fmt.Sprintf("%d rows, %d actions: %s", r.Rows, r.K, r.Severity), ": "
	for _, f := range r.Against() {
		s += fmt.Sprintf("%s%s (%s)", sep, f.Check, f.Severity)
		sep = ", "
	}
	return s
}

// log holds a log with what several checks need.
type log struct {
	logs.Log
	n, k      int
	order     []int32     // rows in the order of time; nil: that of the log
	least     float64     // mean of 1/K
	contexts  []uint64    // a hash of each row's context; nil: the log has none
	sizes     []int       // rows of each context that more than one has
	shared    keys.Filter // of contexts that more than one row has
	varied    func() []feature
	gamma     float64 // see Within
	units     logs.Units
	found     []Finding
	place     int // of the check that is run
	report    *Report
	summary   *summary // nil: none
	described bool     // the log has contexts
	complete  bool     // all checks were made: the rows are well formed
	merged    bool     // the rows are those of shards, of which there is the summary alone
	ids       bool     // rows have ids
	twice     int      // rows that repeat one

	why string // see Partial
}

func (l *log) finding(check string) (f Finding, is bool) {
	return Report{Findings: l.found}.Finding(check)
}

// series are checks that are run one after the other; the first has a place, and the others those after it.
type series struct {
	place  int
	checks []func(l *log)
}

// mostBeside is how many rows series may have that run beside each other: of more, memory counts more than time.
const mostBeside = 1 << 23

// run runs series beside each other, or, of large logs and where they write to one summary, one after the other.
func (l *log) run(series ...series) {
	if l.summary != nil {
		for _, series := range series {
			for j, check := range series.checks {
				l.place = series.place + j
				check(l)
			}
		}
		return
	}
	copies := make([]log, len(series))
	var all sync.WaitGroup
	for at, series := range series {
		c := &copies[at]
		*c = *l
		c.found = slices.Clip(l.found)
		checks := func() {
			for j, check := range series.checks {
				c.place = series.place + j
				check(c)
			}
		}
		if l.n > mostBeside {
			checks()
		} else {
			all.Go(checks)
		}
	}
	all.Wait()
	before := len(l.found)
	for _, c := range copies {
		l.found = append(l.found, c.found[before:]...)
	}
}

// near returns the number in [1/Γ, Γ] that is nearest to a ratio. It is 1 where propensities are
// exact.
func (l *log) near(ratio float64) float64 { return max(1/l.gamma, min(l.gamma, ratio)) }

func (l *log) add(f Finding) {
	for i := range f.Numbers {
		f.Numbers[i].Value = bounded(f.Numbers[i].Value)
	}
	f.place = l.place
	l.found = append(l.found, f)
}

// judge adds a finding, of the given severity if the check finds against the log.
func (l *log) judge(f Finding, against bool, s Severity, means, do string) {
	if against {
		f.Severity, f.Means, f.Do = s, means, do
	}
	l.add(f)
}

// Inspect runs every check that the columns allow: only Actions, Action and Cost must
// be there. Where rows are malformed, the checks that need sound rows are left out.
// Without times the order of rows is taken for that of time.
func Inspect(in *logs.Log) Report { return Within(in, 1) }

// Within inspects a log whose propensities are known up to a factor gamma ≥ 1, p/Γ ≤ π₀ ≤ Γp. It
// refutes them only where they are further off, so that rounded or approximate propensities are no
// alarm.
func Within(in *logs.Log, gamma float64) Report { return within(in, gamma, nil).done() }

// within runs the checks of a log, on a summary if there is one.
func within(in *logs.Log, gamma float64, on *summary) *log {
	gamma = max(gamma, 1)
	r := Report{Rows: in.Len(), K: in.K(), Known: "none", Gamma: gamma}
	switch {
	case in.Estimated:
		r.Known = "estimated"
	case in.Derived():
		r.Known = "derived"
	case in.Propensities != nil:
		r.Known = "all"
	case in.Propensity != nil:
		r.Known = "logged"
	case in.Lists.Jointly():
		r.Known = "joint"
	}
	l := &log{Log: *in, n: in.Len(), k: in.K(), gamma: gamma, units: in.Units(), report: &r, summary: on}
	if in.Derived() { // tests of what was logged see a third action that was drawn, too
		l.Propensities = nil
	}
	l.ids = in.Keys != nil && (in.HasIDs() || in.Path() == "" && in.Names() == nil)
	r.RewardMin, r.RewardMax = l.units.Low, l.units.High
	l.timeline()
	if l.schema() {
		var alike sync.WaitGroup
		alike.Go(func() {
			l.contexts = in.ContextHashes()
			l.described = l.contexts != nil
			l.sizes, l.shared = keys.Sharing(l.contexts)
		})
		if l.Propensity == nil && l.Propensities != nil {
			l.Propensity = make([]float64, l.n)
			for i := range l.n {
				l.Propensity[i] = l.Pi0(i)[l.Chosen(i)]
			}
		}
		if columns := l.columns(); on == nil {
			r.Columns = columns
		}
		l.reading()
		l.repeatIDs()
		l.offeredAgain()
		if l.Propensity != nil {
			l.least = l.evenly()
		}
		alike.Wait()
		l.varied = sync.OnceValue(l.scan)
		type checks = []func(*log)
		// Places are those in the report. What comes later asks what was found or set before.
		known := func(check func(*log)) func(*log) {
			return func(l *log) {
				if l.Propensity != nil {
					check(l)
				}
			}
		}
		l.run(series{1, checks{known((*log).shape)}},
			series{11, checks{(*log).drift, (*log).late, (*log).turnover, (*log).groups, (*log).neighbours,
				(*log).lastRows, (*log).repeats}})
		l.run(series{2, checks{known((*log).meanWeight), known((*log).sharpness), (*log).sets, (*log).support,
			(*log).counts, (*log).concentration, (*log).rowWeights, (*log).reward, (*log).sign}},
			series{18, checks{(*log).again, (*log).autocorrelation}}, series{20, checks{(*log).bet, (*log).outcomes}},
			series{22, checks{(*log).lists, (*log).numbers}})
		l.complete = true
	}
	return l
}

// done returns the report with rewards in the log's units. Its severity is that of the worst finding.
func (l *log) done() Report {
	r := *l.report
	for i := range r.ByAction {
		a := &r.ByAction[i]
		a.Reward, a.SE = l.units.At(a.Reward), a.SE*l.units.Span()
	}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		b.Reward, b.SE = l.units.At(b.Reward), b.SE*l.units.Span()
	}
	slices.SortStableFunc(l.found, func(a, b Finding) int { return cmp.Or(int(b.Severity-a.Severity), a.place-b.place) })
	for _, f := range l.found {
		f.place = 0
		r.Findings, r.Severity = append(r.Findings, f), max(r.Severity, f.Severity)
	}
	return r
}

// timeline sorts rows by time; rows of the same time keep their order.
func (l *log) timeline() {
	if len(l.Time) != l.n || l.n == 0 {
		l.Time = nil
		return
	}
	if !slices.IsSorted(l.Time) {
		l.order = make([]int32, l.n)
		for i := range l.order {
			l.order[i] = int32(i)
		}
		slices.SortStableFunc(l.order, func(a, b int32) int { return cmp.Compare(l.Time[a], l.Time[b]) })
	}
	first, last := l.rowAt(0), l.rowAt(l.n-1)
	if l.report.From, l.report.To = l.stamp(first), l.stamp(last); l.Time[first] > 30_000e9 && l.Time[last] < 80_000e9 {
		l.misread("column timestamp: from %s to %s; such numbers are days in Excel, and are read as seconds since 1970",
			l.report.From, l.report.To)
	} else if l.Time[first] > 19_000_000e9 && l.Time[last] < 22_000_000e9 {
		l.misread("column timestamp: from %s to %s; such numbers are dates as 20260131, and are read as seconds since 1970: "+
			"2026-01-31 is read as a date", l.report.From, l.report.To)
	} else if l.n > 1 && max(l.Time[first], -l.Time[first]) < 86400e9 &&
		(l.Time[last] > 1e17 || l.Time[last] == l.Time[first]) {
		l.misread("column timestamp: from %s to %s; 0, the beginning of 1970, may stand for no time", l.report.From,
			l.report.To)
	}
}

// misread doubts how a column was read.
func (l *log) misread(format string, args ...any) {
	l.Doubts = append(slices.Clip(l.Doubts), fmt.Sprintf(format, args...))
}

// rowAt returns the row at a place in the order of time.
func (l *log) rowAt(place int) int {
	if l.order == nil {
		return place
	}
	return int(l.order[place])
}

// inTime yields the places from one up to another in the order of time, and their rows. It yields none if shards
// are put together.
func (l *log) inTime(from, to int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for t := from; t < to && !l.merged && yield(t, l.rowAt(t)); t++ {
		}
	}
}

// ofUniform returns the weight of the uniform policy in row i, 1/(K p), K of the row's set.
func (l *log) ofUniform(i int) float64 { return 1 / (float64(l.Options(i)) * l.Propensity[i]) }

func (l *log) stamp(i int) string {
	return time.Unix(0, l.Time[i]).UTC().Format("2006-01-02T15:04:05Z")
}

// rowWeight returns ω_i, the weight of row i.
func (l *log) rowWeight(i int) float64 {
	if l.Weight == nil {
		return 1
	}
	return l.Weight[i]
}

// schema checks what every row must be, and reports whether the rest can be.
func (l *log) schema() bool {
	bad := func(what, means, do string, args ...any) bool {
		l.add(Finding{Check: "rows", Severity: Unusable, Measured: fmt.Sprintf(what, args...), Means: means, Do: do})
		return false
	}
	contexts := l.n
	if l.X != nil {
		contexts = l.X.Len()
	}
	outside := func(r int) bool { return r < 0 || l.X != nil && r >= contexts }
	fits := func(there bool, have, want int) bool { return !there || have == want }
	lengths := len(l.Cost) == l.n && (l.Rows != nil || contexts == l.n) && !slices.ContainsFunc(l.Rows, outside) &&
		fits(l.Propensity != nil, len(l.Propensity), l.n) &&
		fits(l.Propensities != nil && !l.Sets(), len(l.Propensities), l.n*l.k) &&
		fits(l.Weight != nil, len(l.Weight), l.n) && fits(l.Group != nil, len(l.Group), l.n) &&
		fits(l.Keys != nil, len(l.Keys), l.n) && fits(l.Rows != nil, len(l.Rows), l.n)
	switch {
	case l.n == 0:
		return bad("no rows", "there is nothing to learn from", "give a file that has rows")
	case l.k < 2:
		return bad("%d actions", "there was nothing to decide", "log the decisions among at least two actions", l.k)
	case !lengths || l.X != nil && l.X.Dim() < 1:
		return bad("columns of different lengths", "rows cannot be told apart",
			"give every column a value in every row")
	}
	if l.Choices != nil {
		if err := l.Check(); err != nil {
			return bad("%v", "it is not known what was on offer", "repair or leave out the rows", err)
		}
	}
	sum := 0.0
	for i, a := range l.Action {
		switch c := l.Cost[i]; {
		case a < 0 || int(a) >= l.k:
			return bad("row %d: action %d is outside 0 to %d", "actions count from 0",
				"see whether the log counts them from 1", i+1, a, l.k-1)
		case !(c >= -1 && c <= 0):
			return bad("row %d: cost %v is outside [-1, 0]", "the bounds hold for costs in [-1, 0]",
				"map them with setting reward-min and setting reward-max", i+1, c)
		case !(l.rowWeight(i) >= 0) || math.IsInf(l.rowWeight(i), 0):
			return bad("row %d: weight %v", "a row's weight is a number from 0 on", "repair or leave out the rows",
				i+1, l.Weight[i])
		}
		sum += l.rowWeight(i)
	}
	if sum == 0 {
		return bad("all rows have weight 0", "no row counts", "repair the column of weights")
	}
	if l.Propensity == nil && l.Propensities == nil {
		if !l.Lists.Jointly() { // see lists
			l.noPropensities()
		}
		return true
	}
	return l.ranges()
}

func (l *log) noPropensities() {
	l.add(Finding{Check: "propensities", Severity: Unusable, Measured: "none are known",
		Means: "what another policy earns cannot be told from this log",
		Do:    "log them, give setting logging-policy, or estimate them with setting estimate-propensity" + limits})
}

// tiny is the least propensity that counts: actions with less are never drawn.
const tiny = 1e-100

// ranges checks propensities: in (0, 1], rows that sum to 1, p the row's entry. A
// sum off by more than 1e-6 is doubtful, by more than 1e-3 unusable; so is p that
// differs from the row's entry by as much, relatively.
func (l *log) ranges() bool {
	if l.Propensity != nil && !l.within01() {
		return false
	}
	if l.Propensities == nil {
		return true
	}
	var differ float64
	differRow, negative := 0, -1
	worst, worstRow := l.worst("sum of a row", func() (worst float64, at int) {
		for i := range l.n {
			row := l.Pi0(i)
			sum := 0.0
			for _, p := range row {
				if !(p >= 0 && p <= 1) && negative < 0 {
					negative = i
				}
				sum += p
			}
			if d := math.Abs(sum - 1); !(d <= worst) {
				worst, at = d, i
			}
			if row[l.Chosen(i)] <= tiny && negative < 0 {
				negative = i
			}
		}
		return worst, at
	})
	if l.Propensity != nil {
		differ, differRow = l.worst("entry of a row", func() (differ float64, at int) {
			for i := range l.n {
				if d := math.Abs(l.Propensity[i]-l.Pi0(i)[l.Chosen(i)]) / l.Propensity[i]; !(d <= differ) {
					differ, at = d, i
				}
			}
			return differ, at
		})
	}
	if negative >= 0 {
		l.add(Finding{Check: "rows sum to 1", Severity: Unusable,
			Measured: fmt.Sprintf("row %d: a propensity outside [0, 1], or 0 for the logged action", negative+1),
			Means:    "these are not probabilities", Do: "repair the columns of all propensities"})
		return false
	}
	f := Finding{Check: "rows sum to 1", Measured: fmt.Sprintf("within %.2g (row %d)", worst, worstRow+1)}
	switch {
	case !(worst <= 1e-3):
		f.Severity, f.Means, f.Do = Unusable, "the propensities of all actions are no distribution", "log them "+
			"for every action, in one order"
	case worst > 1e-6:
		f.Severity, f.Means, f.Do = Doubtful, "the propensities were rounded", "log them with all their digits"
	}
	l.add(f)
	if l.Propensity != nil {
		m := l.mean("entry over p", func(i int) float64 { return l.Pi0(i)[l.Chosen(i)] / l.Propensity[i] })
		g := Finding{Check: "p is its row's entry", About: Draws,
			Measured: fmt.Sprintf("within %.2g of itself (row %d); mean weight of the logging policy %.6g, "+
				"interval %.6g to %.6g", differ, differRow+1, m.value, m.value-1.96*m.se, m.value+1.96*m.se),
			Numbers: []Number{{"mean", m.value}, {"se", m.se}}}
		if !(differ <= 1e-6) {
			g.Severity, g.Means, g.Do = Doubtful, "the two say different things of one draw", "see which is "+
				"right; the order of the actions may differ"
			if !(differ <= 1e-3) {
				g.Severity = Unusable
			}
		}
		l.add(g)
		f.Severity = max(f.Severity, g.Severity)
	}
	return f.Severity < Unusable
}

// within01 checks that logged propensities are in (0, 1], and says what they seem to be if not.
func (l *log) within01() bool {
	out, first := 0, -1
	above, below := 0, 0 // 1, 0
	for i, p := range l.Propensity {
		if !(p > tiny && (p <= 1 || l.Numbers != nil && l.Numbers.Density[i] > 0)) {
			if out++; first < 0 {
				first = i
			}
		}
		if p >= 1 {
			above++
		} else if p < 0 {
			below++
		}
	}
	if out > 0 {
		low, high := l.spans()
		f := Finding{Check: "propensity range", Severity: Unusable,
			Measured: fmt.Sprintf("%d of %d propensities are outside (0, 1], the first in row %d: %v", out, l.n,
				first+1, l.Propensity[first]),
			Means: "these are not probabilities of the logged actions", Do: "repair the column"}
		switch {
		case above == l.n:
			f.Means, f.Do = "no value is below 1: these look like 1/p, the weights", "log p, or divide 1 by the column"
		case below+above >= l.n && below > 0:
			f.Means, f.Do = "no value is above 0 and below 1: these look like log p", "log p, or exponentiate the "+
				"column"
		case high <= 100 && high > 1 && low > 0:
			f.Means, f.Do = "values up to 100: these may be percentages, or 1/p", "log p itself"
		}
		l.add(f)
		return false
	}
	low, high := l.spans()
	l.add(Finding{Check: "propensity range", Measured: fmt.Sprintf("%d propensities from %.4g to %.4g", l.n, low,
		high)})
	return true
}

// limits ends the advice of findings about logs that opl is not made for.
const limits = "; limits of opl: docs/what-opl-does-not-do.md"

// reading notes how the rows came about. More than 1 % of rows or files left out is
// doubtful, and so is any propensity that is an estimate.
func (l *log) reading() {
	if l.Skipped > 0 || l.LeftOut > 0 {
		f := Finding{Check: "rows left out", About: Selection,
			Measured: fmt.Sprintf("%d of %d rows could not be read", l.Skipped, l.n+l.Skipped)}
		if l.LeftOut > 0 {
			f.Measured += fmt.Sprintf(", and %d of %d files", l.LeftOut, l.Files)
		}
		f.Means, f.Do = "everything said is of the rows kept", "read the file of bad rows"
		if l.Skipped*100 > l.n+l.Skipped || l.LeftOut*100 > l.Files {
			f.Severity = Doubtful
		}
		l.add(f)
	}
	if l.Unrewarded > 0 {
		l.add(Finding{Check: "missing rewards", Severity: Doubtful,
			Measured: fmt.Sprintf("%d of %d decisions had no reward and were left out", l.Unrewarded, l.n+l.Unrewarded),
			Means: "if a reward comes depends on what was done or on what came of it, every estimate is biased, " +
				"and nothing is certified",
			Do: "join with a value for what is missing, 0 where no report means no reward: setting missing-reward"})
	}
	if l.Estimated {
		measured := "the propensities are estimates"
		if l.Estimates != nil {
			measured = l.Estimates.String()
		}
		l.add(Finding{Check: "estimated propensities", Severity: Doubtful, Measured: measured,
			Means: "values inherit their error, and nothing is certified",
			Do:    "log the propensities when the action is drawn" + limits})
	}
	for _, n := range l.Doubts {
		l.add(Finding{Check: "columns as they were read", Severity: Doubtful, Measured: n,
			Means: "policies would learn from something else than the column means, or from nothing",
			Do: "write each name in one way, numbers with digits and a point alone, times as what matters of them, " +
				"such as the weekday, nothing where there is no value, and quotes in pairs; or say by setting categories that a column has names"})
	}
	if l.Bare != "" {
		l.add(Finding{Check: "columns as they were read", Severity: Doubtful, Measured: l.Bare,
			Means: "policies would learn from nothing", Do: "call columns of the context x_NAME (setting columns)"})
	}
	for _, n := range l.Cut {
		l.add(Finding{Check: "last row", Severity: Doubtful, Measured: n, Means: "a value that was cut is another value",
			Do: "copy the file again if it was cut, else end it by a newline"})
	}
	if one, other, alike := spelling.Alike(l.Actions); alike {
		l.add(Finding{Check: "names of actions", Severity: Doubtful,
			Measured: fmt.Sprintf("actions %q and %q differ by capitals, blanks or .0 alone, or by how accents are written",
				one, other),
			Means: "one action may be taken for several, each with the propensity of all of them",
			Do:    "write the name of each action in one way"})
	}
	for _, n := range l.Notes {
		l.add(Finding{Check: "reading", Measured: n, Pressing: slices.Contains(l.Pressing, n)})
	}
	l.judge(Finding{Check: "rows", Measured: fmt.Sprintf("%d rows, %d actions", l.n, l.k)}, l.n < 100, Doubtful,
		"fewer than 100 rows say little", "log more")
}

// repeatIDs counts decisions that come more than once: any is doubtful, more than 10 %
// unusable. Keys of a log with named contexts are ids only if it has them; those of a log
// of vectors always are.
func (l *log) repeatIDs() {
	if !l.ids {
		return
	}
	if !l.merged {
		l.twice = keys.Again(l.Keys)
	}
	twice := l.twice
	severity := Doubtful
	if twice*10 > l.n {
		severity = Unusable
	}
	f := Finding{Check: "decision ids", About: IDs, Measured: fmt.Sprintf("%d of %d rows repeat an id", twice, l.n)}
	l.judge(f, twice > 0, severity, "a decision that counts twice makes intervals too narrow",
		"keep one row of each id")
}
