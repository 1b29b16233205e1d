package inspect

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"opl/train/internal/keys"
	"opl/train/logs"
)

// Partial is what one shard of a log's files reports about its rows. [Combine] puts the shards
// together.
type Partial struct {
	Shard logs.Shard `json:"shard"` // which part of the files this is
	// what all parts must share: the files, actions, columns, range of rewards and Γ
	Of       string          `json:"of"`
	Actions  []string        `json:"actions"`  // names, in the order of the log
	Columns  map[string]bool `json:"columns"`  // of contexts that are numbers (true) or names
	Report   Report          `json:"report"`   // of the shard's rows
	Complete bool            `json:"complete"` // the rows are well formed: all checks were made
	Within   float64         `json:"within"`   // Γ as it was given
	Has      present         `json:"has"`
	Origin   logs.Origin     `json:"origin"` // what was left out, and what reading the shard found out
	Summary  *summary        `json:"summary"`
	Span     span            `json:"span"`

	Traces traces  `json:"traces"`
	Nats   float64 `json:"nats"`          // that it takes to foretell all draws, see again
	Why    string  `json:"why,omitempty"` // the propensities are refuted
}

// present lists the columns that the shards have.
type present struct {
	All, Logged, Times, IDs, Groups, Weights, Contexts, Estimated bool
}

// UnmarshalText reads what MarshalText wrote.
func (s *Severity) UnmarshalText(text []byte) error {
	for v := Fine; v <= Unusable; v++ {
		if v.String() == string(text) {
			*s = v
			return nil
		}
	}
	return fmt.Errorf("inspect: no severity %q", text)
}

var _ encoding.TextUnmarshaler = (*Severity)(nil)

// OfShard inspects the files of one shard ([logs.Options.Share]) as [Within] does, for [Combine].
// The result holds a hash of each decision_id, and a few numbers for each action and group. Errors:
// a log that was read whole, rows that offer sets of actions.
func OfShard(in *logs.Log, gamma float64, shard logs.Shard) (*Partial, error) {
	switch {
	case in.FilesHash == "":
		return nil, errors.New("inspect: the log is no shard's share of files")
	case in.Choices != nil:
		return nil, errors.New("inspect: of logs whose rows offer sets of actions, or have a catalogue, there are " +
			"no shards: read it as one log")
	}
	l := within(in, gamma, newSummary())
	low, high := in.RewardRange()
	p := &Partial{Shard: shard, Actions: in.Actions, Columns: map[string]bool{}, Complete: l.complete,
		Within: l.gamma, Summary: l.summary}
	p.Has = present{l.Propensities != nil, in.Propensity != nil, in.Time != nil, l.ids, in.Group != nil,
		in.Weight != nil, l.described, in.Estimated}
	p.Of = fmt.Sprint(in.FilesHash, " ", low, " ", high, " ", l.gamma, " ", len(in.Actions), " ",
		strings.Join(in.Actions, "\x00"))
	for _, name := range in.Names() {
		if column, _, is := strings.Cut(name, "="); is {
			p.Columns[column] = false
		} else {
			p.Columns[name] = true
		}
	}
	if l.complete {
		p.Span = l.span(0, l.n)
		if l.Time != nil {
			p.Span.From, p.Span.To = l.stamp(l.rowAt(0)), l.stamp(l.rowAt(l.n-1))
		}

		p.Traces = l.traces(shard.Of)
		if l.Propensity != nil && !l.Estimated {
			for i := range l.n {
				p.Nats += l.said(i)
			}
		}
		l.summary.bound()
	}
	p.Report, p.Why = l.done(), l.why
	p.Origin = l.Origin
	p.Origin.Estimates = nil // of the shard's rows alone
	// see Summary and Span
	p.Report.ByAction, p.Report.Blocks, p.Report.Propensities, p.Report.Weights = nil, nil, nil, nil
	return p, nil
}

// bound keeps numbers within what JSON can say.
func (t *summary) bound() {
	for _, s := range t.Sums {
		for j := range s {
			s[j] = bounded(s[j])
		}
	}
	for name, m := range t.Means {
		m.Mean = bounded(m.Mean)
		for j := range m.Square {
			m.Square[j] = bounded(m.Square[j])
		}
		for j := range m.Cube {
			m.Cube[j] = bounded(m.Cube[j])
		}
		t.Means[name] = m
	}
	for name, v := range t.Least {
		t.Least[name] = bounded(v)
	}
}

// Combine says of the rows of all shards what [Within] says of a log, as far as shards can:
//
//   - Sums, means and extremes, what is tested by them, and ids that come twice, are those of all rows, to within the
//     rounding of sums.
//   - The e-value of the bets on propensities is the mean of two: the product of those of shards, and their mean.
//   - Drift is that between shards, which have the rows of files that follow one another.
//   - Sequences, stretches, ends of groups without a column for them, and drift are looked at within each shard, at
//     the level of each test, and the worst is said. Where shards have too few rows for a test, or rows of several
//     shards are of the same time, that is a doubt.
//   - Rows of one shard that stand in another once more are found as far as docs/how-to/many-machines.md
//     says: by ids all of them.
//   - Classes of propensities and of weights, and the share of the top 1 %, are not said.
//
// Errors: parts of other files, actions, columns or options, or of another number of shards; parts of one shard that
// differ; shards that are not there.
func Combine(parts []Partial) (r Report, err error) {
	all, err := whole(parts)
	if err != nil {
		return r, err
	}
	defer func() {
		if v := recover(); v != nil {
			name, is := v.(lacking)
			if !is {
				panic(v)
			}
			err = fmt.Errorf("shards do not say what a check reads, %s: make them by one version", string(name))
		}
	}()
	l, err := joined(all)
	if err != nil {
		return r, err
	}
	if l.complete {
		l.asOne(all)
	}
	return l.done(), nil
}

// joined returns the log of all shards, which has a summary and no rows. Where a shard has malformed rows, it has
// nothing but what that shard found.
func joined(all []*Partial) (*log, error) {
	first := all[0]
	r := Report{K: len(first.Actions), Known: first.Report.Known, Gamma: first.Within,
		RewardMin: first.Report.RewardMin, RewardMax: first.Report.RewardMax}
	for _, p := range all {
		r.Rows, r.Lists = r.Rows+p.Report.Rows, r.Lists+p.Report.Lists
		if t := p.Report.From; r.From == "" || t != "" && t < r.From {
			r.From = t
		}
		r.To = max(r.To, p.Report.To)
	}
	l := &log{n: r.Rows, k: r.K, gamma: first.Within, units: logs.Units{Low: r.RewardMin, High: r.RewardMax},
		report: &r, merged: true}
	if bad := slices.IndexFunc(all, func(p *Partial) bool { return !p.Complete }); bad >= 0 {
		for _, p := range all {
			for _, f := range p.Report.Findings {
				if !p.Complete {
					f.Measured = fmt.Sprintf("in shard %s: %s", p.Shard, f.Measured)
					l.add(f)
				}
			}
		}
		return l, nil
	}
	l.complete = true
	l.Log = logs.Log{Actions: first.Actions}
	l.ids = first.Has.IDs
	if first.Has.All {
		l.Propensities = []float64{}
	}
	if first.Has.Logged || first.Has.All { // see within
		l.Propensity, l.least = []float64{}, l.evenly()
	}
	if first.Has.Groups {
		l.Group = []int32{}
	}
	if first.Has.Weights {
		l.Weight = []float64{}
	}
	l.Estimated = first.Has.Estimated
	var summaries []*summary
	var from []int
	rows := 0
	var notes, doubts, cut [][]string
	for _, p := range all {
		summaries, from, rows = append(summaries, p.Summary), append(from, rows), rows+p.Report.Rows
		o := &p.Origin
		l.Skipped, l.LeftOut = l.Skipped+o.Skipped, l.LeftOut+o.LeftOut
		l.Files, l.Unrewarded = l.Files+o.Files, l.Unrewarded+o.Unrewarded
		notes, doubts, cut = append(notes, o.Notes), append(doubts, o.Doubts), append(cut, o.Cut)
		l.Bare, l.FromRows = cmp.Or(l.Bare, o.Bare), l.FromRows || o.FromRows
	}
	l.Notes, l.Doubts, l.Cut = MergeNotes(notes), MergeNotes(doubts), MergeNotes(cut)
	var err error
	l.summary, err = add(summaries, from)
	if l.ids {
		var ids []uint64
		for _, p := range all {
			ids = append(ids, p.Traces.IDs...)
		}
		l.twice = keys.Again(ids)
	}
	return l, err
}

// MergeNotes joins the notes of all shards. A note that every shard has comes once; any other says
// which shard has it.
func MergeNotes(notes [][]string) (out []string) {
	times := map[string]int{}
	for _, n := range slices.Concat(notes...) {
		times[n]++
	}
	for k, own := range notes {
		for _, n := range own {
			if times[n] < len(notes) {
				out = append(out, fmt.Sprintf("shard %d/%d: %s", k+1, len(notes), n))
			} else if k == 0 {
				out = append(out, n)
			}
		}
	}
	return out
}

// asOne makes the checks of all rows.
func (l *log) asOne(all []*Partial) {
	if l.Propensity == nil {
		l.noPropensities()
	} else {
		l.ranges()
	}
	l.reading()
	l.repeatIDs()
	if l.Propensity != nil {
		l.shape()
		l.meanWeight()
		l.sharpness()
	}
	l.support()
	l.counts()
	l.concentration()
	l.rowWeights()
	l.reward()
	l.sign()
	l.between(all)
	l.groups()
	if l.Group != nil {
		l.lastRows()
	}
	l.acrossRows(all, all[0].Has.Times)
	l.worstOf(all)
	l.bets(all)
	l.orders(all)
	l.rest(all)
}

// rest adds what shards doubt that no check of all rows looks at, of each check what the first shard found, of the
// newest rewards what the shard of the newest rows found.
func (l *log) rest(all []*Partial) {
	newest := all[0]
	for _, p := range all {
		if p.Report.To >= newest.Report.To {
			newest = p
		}
	}
	for _, p := range all {
		for _, f := range p.Report.Findings {
			if _, is := l.finding(f.Check); !is && f.Severity > Fine && (f.Check != newestRewards || p == newest) {
				f.Measured = fmt.Sprintf("in shard %s: %s", p.Shard, f.Measured)
				l.add(f)
			}
		}
	}
}

// Part is what a partial result says of itself to [ByNumber].
type Part struct {
	Shard logs.Shard // whose result it is
	Kind  string     // of what, such as "an evaluation"
	Sound bool       // it is one
	Of    []any      // what all shards must share
	Named string     // that in words, for the error that they do not
	IDs   []uint64   // of its rows, as far as it has them
	Sums  []float64  // by which two results of a shard are told apart, but for what processors differ in
}

// like reports that a result of the same shard is the same.
func (p Part) like(q Part) bool {
	close := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, math.Abs(x), math.Abs(y)) }
	return slices.Equal(p.IDs, q.IDs) && slices.EqualFunc(p.Sums, q.Sums, close)
}

// ByNumber orders partial results by the number of their shard. One that comes twice counts once. Errors: results of
// other kinds, of other numbers of shards, or that do not share what they must; two different results of a shard;
// missing shards.
func ByNumber[T any](partials []T, of func(*T) Part) ([]*T, error) {
	if len(partials) == 0 {
		return nil, errors.New("there are no partial results to merge")
	}
	part := of(&partials[0])
	first, shared := part.Shard, fmt.Sprint(part.Of...)
	if first.Of < 1 || first.Of > logs.MostShards {
		return nil, fmt.Errorf("partial result 1 is of shard %s: there is none", first)
	}
	all := make([]*T, first.Of)
	for i := range partials {
		p := of(&partials[i])
		s := p.Shard
		if s.Number < 1 || s.Number > s.Of || s.Of > logs.MostShards {
			return nil, fmt.Errorf("partial result %d is of shard %s: there is none", i+1, s)
		}
		if s.Of != first.Of {
			return nil, fmt.Errorf("shards %s and %s are of another number of shards: merge those of one command",
				first, s)
		}
		switch was := all[s.Number-1]; {
		case !p.Sound:
			return nil, fmt.Errorf("the partial result of shard %s is none of %s", s, p.Kind)
		case fmt.Sprint(p.Of...) != shared:
			return nil, fmt.Errorf("shards %s and %s are of different %s", first, s, p.Named)
		case was != nil && !of(was).like(p):
			return nil, fmt.Errorf("shard %s comes twice with different sums: make it again", s)
		}
		all[s.Number-1] = &partials[i]
	}
	var lost []string
	for i, p := range all {
		if p == nil {
			lost = append(lost, fmt.Sprintf("%d/%d", i+1, len(all)))
		}
	}
	switch len(lost) {
	case 0:
		return all, nil
	case 1:
		return nil, fmt.Errorf("%s is missing: run these shards", lost[0])
	}
	return nil, fmt.Errorf("%s are missing: run these shards", strings.Join(lost, ", "))
}

// whole returns the partial results of all shards by their numbers.
func whole(partials []Partial) ([]*Partial, error) {
	all, err := ByNumber(partials, func(p *Partial) Part {
		out := Part{Shard: p.Shard, Kind: "an inspection", Named: "files, actions or options: merge those of one " +
			"command, and name all actions by setting actions", Of: []any{p.Of, p.Within, strings.Join(p.Actions, "\x00")}}
		out.Sound = p.Summary != nil && p.Report.K == len(p.Actions) &&
			(!p.Complete || p.Report.Rows > 0 && len(p.Span.Actions) == len(p.Actions))
		if out.Sound {
			out.IDs, out.Sums = slices.Concat(p.Traces.IDs, p.Traces.Sample), []float64{float64(p.Report.Rows)}
			for _, name := range slices.Sorted(maps.Keys(p.Summary.Sums)) {
				out.Sums = append(out.Sums, p.Summary.Sums[name]...)
			}
		}
		return out
	})
	if err != nil {
		return nil, err
	}
	numbers := map[string]*Partial{} // a shard that reads a column
	for _, p := range all {
		if first := all[0]; p.Has != first.Has && p.Complete && first.Complete {
			return nil, fmt.Errorf("shards %s and %s have other columns: times, ids, groups, weights or propensities "+
				"are in the files of one alone", first.Shard, p.Shard)
		}
		for name, number := range p.Columns {
			if other := numbers[name]; other != nil && other.Columns[name] != number {
				return nil, fmt.Errorf("shards %s and %s read column %s as numbers and as names: say by setting "+
					"categories that it has names", other.Shard, p.Shard, name)
			}
			numbers[name] = p
		}
	}
	return all, nil
}

// between adds the findings of drift from shard to shard, in up to ten blocks of shards.
func (l *log) between(all []*Partial) {
	blocks := min(10, len(all))
	if blocks < 2 || l.n < 200 {
		return
	}
	of := make([]span, blocks)
	for b := range of {
		parts := all[b*len(all)/blocks : (b+1)*len(all)/blocks]
		var reward, propensity []moments
		s := span{From: parts[0].Span.From, Actions: make([]float64, l.k)}
		for _, p := range parts {
			reward, propensity = append(reward, p.Span.Reward), append(propensity, p.Span.Propensity)
			for a, n := range p.Span.Actions {
				s.Actions[a] += n
			}
			s.Squares += p.Span.Squares
		}
		s.Reward, s.Propensity = pooled(reward), pooled(propensity)
		of[b] = s
	}
	l.report.Blocks = make([]Block, blocks)
	l.differ(of, [3]string{"reward between shards", "propensity between shards", "actions between shards"},
		fmt.Sprintf("over %d blocks of shards in the order of their files", blocks))
}

// worstOf adds the worst finding of each check that shards make on their own rows. Where shards of more than a tenth
// of the rows are too small for one that all rows together are not, that is a doubt.
func (l *log) worstOf(all []*Partial) {
	nats := 0.
	for _, p := range all {
		nats += p.Nats
	}
	asked := map[check]bool{repeatedContexts: all[0].Has.Contexts && l.n >= 100, rewardsInSequence: l.n >= 200,
		writtenAgain: l.n >= 80 && nats > 4*enough(l.n), rewardDrift: l.n >= 200, propensityDrift: l.n >= 200 &&
			l.Propensity != nil,
		actionDrift: l.n >= 200 && slices.ContainsFunc(l.report.ByAction, func(a Action) bool { return a.Rows >= 50 })}
	for _, check := range alone {
		if _, is := l.finding(check.name); is {
			continue
		}
		var worst *Finding
		var where logs.Shard
		rows, n := 0, 0 // of shards without
		for _, p := range all {
			f, is := p.Report.Finding(check.name)
			if !is {
				rows, n = rows+p.Report.Rows, n+1
			} else if worst == nil || f.Severity > worst.Severity {
				worst, where = &f, p.Shard
			}
		}
		f := check.finding("too few rows in each shard")
		if worst != nil {
			f = *worst
			f.Measured = fmt.Sprintf("the worst of %d shards, %s: %s", len(all)-n, where, f.Measured)
		} else if !asked[check] {
			continue
		}
		if 10*rows > l.n {
			f.Measured += fmt.Sprintf("; not looked at in %d shards", n)
			f.Severity = max(f.Severity, Doubtful)
			if f.Means == "" {
				f.Means, f.Do = "these shards have too few rows for this check, or rewards that are all alike, "+
					"and it goes through rows of one shard alone", "cut the log into fewer shards, or inspect it whole"
			}
		}
		l.add(f)
	}
}

// bets puts together the e-values of shards.
func (l *log) bets(all []*Partial) {
	var e, product [2]float64
	each := [2][]float64{}
	var why string
	most := math.Inf(-1)
	for _, p := range all {
		f, is := p.Report.Finding(betsOnPropensities)
		if !is || len(f.Numbers) != 2 {
			return
		}
		for g := range e {
			v := f.Numbers[1-g].Value // see wins
			product[g] += v
			each[g] = append(each[g], v)
		}
		if f.Numbers[0].Value > most {
			why, most = p.Why, f.Numbers[0].Value
		}
	}
	for g := range e {
		e[g] = logMean([]float64{product[g], logMean(each[g])})
	}
	l.wins(e, func() string { return cmp.Or(why, "no shard alone shows it") })
}

// orders says what is not looked at where rows of several shards are of the same time, and what is not said.
func (l *log) orders(all []*Partial) {
	f := Finding{Check: "shards", Measured: fmt.Sprintf("%d, by files, each with its own rows; classes of "+
		"propensities and weights, and the share of the top 1 %% of rows, are not said of shards", len(all))}
	n := 0
	for i, p := range all[1:] {
		if p.Span.From != "" && p.Span.From < all[i].Span.To {
			n++
		}
	}
	l.judge(f, n > 0, Doubtful, fmt.Sprintf("rows of %d shards are of times before the last of the shard before: "+
		"whether rows next to one another in time are alike is not looked at across shards", n),
		"name files so that their order is that of time, or inspect the log whole")
}
