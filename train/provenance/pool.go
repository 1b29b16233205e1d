package provenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/internal/keys"
	"opl/train/logs"
)

// Pool are the judges of logs that certify a fixed policy together, at any time: in the order of
// their time, of which only the last may still grow, at its end. Their logging policies may differ,
// and depend on the rows before.
//
// What is stated holds at every look as rows come (see package certify), so that nothing that
// a row contributes may change after a look. Hence:
//
//   - A reward is final when its row is there, and no row waits for its own while later ones are in.
//   - A decision id counts where it comes first, whatever follows.
//   - A group counts with its first rows that stand next to each other in one file, once another
//     row or file follows: a group that comes back, or is the last and may go on, is left out.
//     So are groups of which a row had a part in the policy, in all files.
//   - Where the inspection finds rows that depend and are of no group, nothing is certified: whom
//     to join is only seen later.
//   - Propensities that are taken for rounded at one look and not at an earlier one only make
//     the bounds wider.
//   - A guarantee that is withheld at one look and not at another makes no statement false.
//
// Rows of a file that are known again in another under other ids, or without ids, are refused;
// but a file that begins with the rows of another counts with those that follow.
type Pool []*Judge

// prefix is the number of equal rows from which two files are taken to begin with the same.
const prefix = 40

// File certifies the policy of a file as [Judge.File] does, on the rows of all logs together that had
// no part in it. An error names the log, and any log that certifies nothing is one.
func (ps Pool) File(ctx context.Context, p *policyfile.Policy, o Options) (*Certificate, error) {
	c, err := ps.pooled(ctx, p, o)
	if err != nil {
		return nil, err
	}
	cert, err := c.certificate(c.on)
	o.file = p.File()
	return cert.decide(c.trial, o, err)
}

// pooled is what certifies a policy together.
type pooled struct {
	trial
	rows int
	on   Circumstances
}

func (ps Pool) pooled(ctx context.Context, p *policyfile.Policy, o Options) (c pooled, err error) {
	if len(ps) == 0 {
		return c, errors.New("there is no log to certify with")
	}
	o.AnyTime = true
	c.options = certify.Options{Delta: o.Delta, AnyTime: true, Threads: runtime.GOMAXPROCS(0)}
	several := len(ps) > 1
	var on Circumstances
	out, taught := make([][]bool, len(ps)), make([][]bool, len(ps))
	all := make([]*candidate, len(ps))
	for k, j := range ps {
		one, err := j.candidate(p, o)
		if err != nil {
			return c, j.in(several, err)
		}
		if low, high := j.log.RewardRange(); several {
			if l, h := ps[0].log.RewardRange(); l != low || h != high {
				return c, j.in(several, fmt.Errorf("rewards are from %v to %v, and from %v to %v in the first log",
					low, high, l, h))
			}
			if rowWeight(j.log) != rowWeight(ps[0].log) {
				return c, j.in(several, withhold("rows have other weights than those of the first log, and a guarantee needs "+
					"identically distributed rows"))
			}
		}
		if err := ctx.Err(); err != nil {
			return c, err
		}
		on.elsewhere = on.elsewhere || one.on.elsewhere
		if on.Relation == "" {
			on.Relation = one.on.Relation
		} else if on.Relation != one.on.Relation {
			on.Relation = Overlaps
		}
		for _, n := range one.on.Notes {
			on.Notes = append(on.Notes, j.named(several)+n)
		}
		if not := one.on.Contradicted; not != "" {
			on.Contradicted = cmp.Or(on.Contradicted, j.named(several)+not)
		}
		all[k], taught[k], out[k] = one, one.seen, one.seen
	}
	rows, twice, notes, err := ps.lasting(ctx, out, taught)
	if err != nil {
		return c, err
	}
	on.Notes = append(on.Notes, notes...)
	together, err := ps.inspect(ctx, p.Actions(), twice)
	if err != nil {
		return c, err
	}
	on.doubt(together, "all files together: ", func(inspect.Finding) bool { return true })
	for k, j := range ps {
		gamma := max(j.options(certify.Options{Gamma: o.Gamma}).Gamma, together.Gamma)
		s, one := j.sample(rows[k]), all[k]
		p := certify.PoolLog{Log: one.log, Pi: s.noting(one.log, one.plays()), Rows: rows[k], Gamma: gamma,
			Models: one.models}
		if j.log.Lists != nil {
			if p, s, err = j.lists(p, s); err != nil {
				return c, j.in(several, err)
			}
			c.gamma = max(c.gamma, gamma)
		}
		c.samples, c.parts = append(c.samples, s), append(c.parts, p)
		c.rows += len(rows[k])
	}
	if c.rows == 0 && ps[0].partial == nil {
		return c, noneLeft(on.Notes...)
	}
	c.on = on
	return c, nil
}

// noneLeft withholds a certificate that no row is left for, with what the notes say of the rows.
func noneLeft(notes ...string) error {
	return withhold("%s", strings.Join(append([]string{"all rows had a part in the policy, depend on such, or may " +
		"not be counted yet: none is left to certify it"}, notes...), "; "))
}

// withRows are the logs of which rows certify.
func withRows(parts []certify.PoolLog) []certify.PoolLog {
	return slices.DeleteFunc(slices.Clone(parts), func(p certify.PoolLog) bool { return len(p.Rows) == 0 })
}

// named stands before what is said of one of several logs.
func (j *Judge) named(several bool) string {
	if !several {
		return ""
	}
	if path := j.log.Path(); path != "" {
		return path + ": "
	}
	return "a log: "
}

// in names the log in an error.
func (j *Judge) in(several bool, err error) error {
	var w *Withheld
	switch {
	case !several:
		return err
	case errors.As(err, &w):
		return withhold("%s%s", j.named(true), w.Reason)
	}
	return fmt.Errorf("%s%w", j.named(true), err)
}

// lasting returns the rows of each log that certify, none that are out or share a group with a row
// that taught; and which rows are another row once more.
func (ps Pool) lasting(ctx context.Context, out, taught [][]bool) (rows [][]int, twice [][]bool, notes []string, err error) {
	tainted := map[string]bool{}
	group := make([]func(i int) string, len(ps))
	several := len(ps) > 1
	for k, j := range ps {
		group[k] = j.groupOf()
		for _, about := range []inspect.Subject{inspect.Repeats, inspect.Visits} {
			if f, ok := j.found.Doubts(about); ok && j.scattered(group[k]) {
				return nil, nil, nil, j.in(several, withhold("%s: %s: %s; which rows belong together is only seen "+
					"after a look: name them in the column group, or certify the log alone for one look", f.Check,
					f.Measured, f.Means))
			}
		}
		for i, is := range taught[k] {
			if is {
				tainted[group[k](i)] = true
			}
		}
	}
	delete(tainted, "")
	twins, err := ps.twins(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	shared, seen, ended := ps.shared(), map[uint64]bool{}, map[string]bool{}
	again, back, open := 0, 0, 0
	var fingerprints [][]policyfile.Fingerprints
	var starts [][]uint64
	for k, j := range ps {
		starts = append(starts, j.start(prefix))
		double, same := make([]bool, j.log.Len()), ps.begins(k, starts)
		var kept []int
		last, start := "", 0
		for i := range j.log.Len() {
			g := group[k](i)
			if g != last {
				ended[last] = true
				last, start = g, len(kept)
			}
			double[i] = i < same
			if j.log.HasIDs() && shared.Has(j.log.Keys[i]) {
				double[i] = double[i] || seen[j.log.Keys[i]]
				seen[j.log.Keys[i]] = true
			}
			switch {
			case out[k][i]:
			case double[i]:
				again++
			case g == "":
				kept = append(kept, i)
			case tainted[g]:
			case ended[g]:
				back++
			default:
				kept = append(kept, i)
			}
		}
		followed := k < len(ps)-1 || j.partial != nil && j.partial.Shard.Number < j.partial.Shard.Of
		if ended[last] = true; last != "" && !followed {
			open = len(kept) - start
			kept = kept[:start]
		}
		rows, twice = append(rows, kept), append(twice, double)
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		for b, bets := range j.bets(fingerprints, double, nil) {
			if err := j.repeated(ps[b], bets, twins[b], twins[k], double); err != nil {
				return nil, nil, nil, j.in(several, err)
			}
		}
		if k < len(ps)-1 {
			fingerprints = append(fingerprints, j.fingerprints(logs.Every(j.log.Len())))
		}
	}
	note := func(n int, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, n))
		}
	}
	note(again, "%d rows have the decision_id of a row before, or begin a file as they do another: they count once")
	note(back, "%d rows are of groups that come back after other rows: a group counts with the rows that stand "+
		"together first")
	note(open, "%d rows are of the last group, which may go on: they count once another row follows")
	return rows, twice, notes, nil
}

// scattered reports rows of one context that do not share a group.
func (j *Judge) scattered(group func(i int) string) bool {
	of := map[uint64]string{}
	for i, x := range j.log.ContextHashes() {
		g, seen := of[x]
		if of[x] = group(i); seen && (g == "" || g != of[x]) {
			return true
		}
	}
	return false
}

// groupOf names the group of a row, without leading zeros, which another file may lack; "" if it has none.
func (j *Judge) groupOf() func(i int) string {
	names := map[int32]string{}
	var d logs.Decision
	return func(i int) string {
		if j.log.Group == nil || j.log.Group[i] < 0 {
			return ""
		}
		g := j.log.Group[i]
		name, ok := names[g]
		if !ok {
			if j.log.Decision(i, &d); d.Group == "" { // of a log of vectors
				d.Group = fmt.Sprint(g)
			}
			name = logs.BareGroup(d.Group)
			names[g] = name
		}
		return name
	}
}

// shared holds the ids that more than one row has, whatever logs the rows are of.
func (ps Pool) shared() keys.Filter {
	var ids [][]uint64
	for _, j := range ps {
		if j.log.HasIDs() {
			ids = append(ids, j.log.Keys)
		}
	}
	_, shared := keys.Sharing(ids...)
	return shared
}

// begins is the number of rows at the beginning of log k that begin an earlier one, too, where ids do not tell them
// apart; starts are the contents of the first rows of both.
func (ps Pool) begins(k int, starts [][]uint64) (most int) {
	j := ps[k]
	for b, before := range ps[:k] {
		same := j == before || before.log.Path() != "" && j.log.Path() == before.log.Path()
		if !same && (j.log.HasIDs() && before.log.HasIDs() || len(starts[k]) < prefix ||
			!slices.Equal(starts[b], starts[k])) {
			continue
		}
		x, y, n := j.contents(), before.contents(), 0
		for n < min(len(x), len(y)) && x[n] == y[n] {
			n++
		}
		most = max(most, n)
	}
	return most
}

// fewTwins is how many rows with ids may be alike by chance: of two that are, in logs where no context comes twice,
// every other pair is of both logs.
const fewTwins = 4

// twin is a row whose context, action and reward another log may have, too.
type twin struct {
	content uint64
	row     int
}

// twins are those of each log in which no context comes twice.
func (ps Pool) twins(ctx context.Context) ([][]twin, error) {
	contents := make([][]uint64, len(ps))
	for k, j := range ps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if x := j.log.ContextHashes(); len(ps) > 1 && x != nil && keys.Again(x) == 0 {
			contents[k] = j.contents()
		}
	}
	_, shared := keys.Sharing(contents...)
	twins := make([][]twin, len(ps))
	for k, of := range contents {
		for i, c := range of {
			if shared.Has(c) {
				twins[k] = append(twins[k], twin{c, i})
			}
		}
	}
	return twins, nil
}

// repeated reports, as a *Withheld, rows of an earlier log among those that are not out: by bets on its fingerprints,
// or by twins.
func (j *Judge) repeated(before *Judge, bets []*wager, its, own []twin, out []bool) error {
	const which = "%s: rows of one file are in another, and under other ids, or without, it is not seen which; " +
		"give each row once, and log a decision_id"
	name := strings.TrimSuffix(before.named(true), ": ")
	if sums, says := told(bets, "a row of "+name); meanExp(sums) >= -math.Log(falseAlarm) {
		return withhold(which, says)
	}
	has, n := map[uint64]int{}, 0
	for _, t := range its {
		has[t.content] = t.row
	}
	timed := j.log.Time != nil && before.log.Time != nil
	for _, t := range own {
		i, again := has[t.content]
		if again && !out[t.row] && !(timed && j.log.Time[t.row] != before.log.Time[i]) { // a copy has its time
			n++
		}
	}
	few := 0
	if j.log.HasIDs() && before.log.HasIDs() {
		few = fewTwins
	}
	if n > few {
		return withhold(which, fmt.Sprintf("%d rows have the context, action and reward of rows of %s, and no "+
			"context comes twice in either", n, name))
	}
	return nil
}

// inspect is what the inspection of all rows, each once, finds, as far as it speaks of files
// whose logging policies differ. What refutes their propensities is an error.
func (ps Pool) inspect(ctx context.Context, actions []string, twice [][]bool) (found inspect.Report, err error) {
	found.Gamma = math.Inf(1)
	for _, j := range ps { // what all are known up to
		found.Gamma = min(found.Gamma, max(1, j.found.Gamma))
	}
	if len(ps) == 1 {
		return found, nil
	}
	log, err := ps.together(ctx, actions, twice)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	r := inspect.Within(log, found.Gamma)
	found.Gamma = r.Gamma
	for _, f := range r.Findings {
		if f.About != inspect.Draws {
			continue // other checks say nothing of files whose logging policies differ
		}
		found.Findings = append(found.Findings, f)
		if f.Severity == inspect.Unusable && slices.ContainsFunc(ps, func(j *Judge) bool { return !j.force }) {
			return found, unusable("all files together are unusable", f)
		}
	}
	return found, nil
}

// together is one log of all rows, each once, with what all logs say of them. Close it.
func (ps Pool) together(ctx context.Context, actions []string, twice [][]bool) (*logs.Log, error) {
	has := func(of func(l *logs.Log) bool) bool {
		return !slices.ContainsFunc(ps, func(j *Judge) bool { return !of(j.log) })
	}
	all, ids := has(func(l *logs.Log) bool { return !l.LoggedOnly() && !l.Derived() }), has((*logs.Log).HasIDs)
	times := has(func(l *logs.Log) bool { return l.Time != nil })
	catalogue, grouped := false, false
	named := make([]*logs.Log, len(ps))
	for k, j := range ps {
		if named[k] = j.log; j.log.Choices == nil {
			var err error
			if named[k], err = j.log.WithActions(actions); err != nil {
				return nil, j.in(true, err)
			}
		} else if catalogue = !j.log.Sets(); catalogue && !slices.Equal(j.log.Actions, ps[0].log.Actions) {
			return nil, j.in(true, errors.New("its catalogue is another than the first log's"))
		} else {
			actions = j.log.Actions
		}
		for i, g := range j.log.Group {
			grouped = grouped || g >= 0 && !twice[k][i]
		}
	}
	k, i := 0, -1
	var d logs.Decision
	next := func() *logs.Decision {
		for i++; k < len(ps); i++ {
			if i == len(twice[k]) {
				k, i = k+1, -1
				continue
			} else if twice[k][i] {
				continue
			}
			named[k].Decision(i, &d)
			d.Weight = 1
			if !all {
				d.Propensities = nil
			}
			if !ids {
				d.ID = ""
			}
			if !times {
				d.Time = time.Time{}
			}
			return &d
		}
		return nil
	}
	log, err := logs.Gather(ctx, filepath.Dir(ps[0].log.Path()), actions, grouped, next)
	if err == nil && catalogue {
		log.Choices = &logs.Choices{}
	}
	return log, err
}

// rowWeight is the weight of the rows of a log whose rows weigh the same.
func rowWeight(log *logs.Log) float64 {
	if len(log.Weight) == 0 {
		return 1
	}
	return log.Weight[0]
}
