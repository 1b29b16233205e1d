package inspect

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"opl/policies/policyfile"
	"opl/train/internal/keys"
)

// traces hold what is needed to find rows that depend on rows of another shard: all ids and groups, and of rows
// that may have come under other ids stretches and a sample of contexts.
type traces struct {
	IDs       policyfile.Hashes `json:"ids,omitempty"`       // of the rows, sorted; none where rows have none
	Groups    policyfile.Hashes `json:"groups,omitempty"`    // of the groups, sorted
	Stretches []stretches       `json:"stretches,omitempty"` // of each length
	// contexts whose hash begins with so many zeros are in the sample
	Level int `json:"level"`
	// of each row in the order of time its time or number, context, action and propensity
	Sample policyfile.Hashes `json:"sample,omitempty"`
}

// stretches are hashes of the actions and costs of some stretches of so many rows: of each 2·Rows − 1 rows, at least
// one that is the same wherever these rows stand (winnowing: Schleimer, Wilkerson & Aiken 2003). Those that come
// twice by chance with a probability that is not small are left out.
type stretches struct {
	Rows   int               `json:"rows"`
	Hashes policyfile.Hashes `json:"hashes"` // sorted
}

const (
	sampled    = 1 << 14 // rows of a sample, about
	perContext = 64      // rows of a context in it
	perSampled = 4       // numbers of a row in it
)

// traces computes the traces of one shard's rows.
func (l *log) traces(shards int) (t traces) {
	if l.ids {
		t.IDs = slices.Clone(l.Keys)
		keys.Sort(t.IDs)
	}
	if names := l.GroupHashes(); l.Group != nil && names != nil {
		for _, g := range l.Group {
			if g >= 0 {
				t.Groups = append(t.Groups, names[g])
			}
		}
		slices.Sort(t.Groups)
		t.Groups = slices.Compact(t.Groups)
	}
	if l.Propensity == nil || l.Estimated {
		return t
	}
	t.Stretches = l.stretches(shards)
	if l.described {
		t.Level, t.Sample = l.sample()
	}
	return t
}

// said returns the nats that it takes to foretell the draw of row i. It is 0 for rows that repeat those before
// them, or that groups tell apart.
func (l *log) said(i int) float64 {
	if i == 0 || l.Action[i] == l.Action[i-1] && l.Cost[i] == l.Cost[i-1] || l.Grouped(i) || l.Propensity == nil {
		return 0
	}
	return -math.Log(l.Propensity[i])
}

// enough returns how many nats n rows must have, so that no two stretches of them are alike by chance, with
// probability 1 − 1e-6.
func enough(n int) float64 { return 2*math.Log(float64(n)) - math.Log(1e-6) }

// rowHash hashes a row's action and cost.
func (l *log) rowHash(i int) uint64 {
	h := (math.Float64bits(l.Cost[i]) ^ uint64(l.Action[i])*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	return h ^ h>>29
}

const rolling = 0x94d049bb133111eb // base of hashes of stretches, odd; sums are modulo 2⁶⁴

// stretches are of 40 rows, 80, 160, … up to where all of that length say enough: that two are alike by chance in any
// of all shards, of as many rows each, has a probability below 1e-6.
func (l *log) stretches(shards int) (all []stretches) {
	enough := enough(l.n * shards)
	nats := make([]float64, l.n+1) // of the rows before
	for i := range l.n {
		nats[i+1] = nats[i] + l.said(i)
	}
	for w, ended := 40, false; w <= l.n && !ended; w *= 2 {
		s := stretches{Rows: w}
		last := uint64(1)
		for range w {
			last *= rolling
		}
		type place struct {
			at   int
			hash uint64
		}
		var least []place // of the last w places, with what follows each that is not larger
		var h uint64
		ended = true
		for end := 1; end <= l.n; end++ {
			at := end - w
			if h = h*rolling + l.rowHash(end-1); at > 0 {
				h -= last * l.rowHash(at-1)
			}
			if at < 0 {
				continue
			}
			if nats[end]-nats[at+1] < enough { // the first row of a stretch has another before it elsewhere
				ended = false
			} else {
				p := place{at, keys.Mix(h)}
				for len(least) > 0 && least[len(least)-1].hash >= p.hash {
					least = least[:len(least)-1]
				}
				least = append(least, p)
			}
			for len(least) > 0 && least[0].at <= at-w {
				least = least[1:]
			}
			if n := len(s.Hashes); len(least) > 0 && (n == 0 || s.Hashes[n-1] != least[0].hash) {
				s.Hashes = append(s.Hashes, least[0].hash)
			}
		}
		if len(s.Hashes) > 0 {
			slices.Sort(s.Hashes)
			s.Hashes = slices.Compact(s.Hashes)
			all = append(all, s)
		}
	}
	return all
}

// sample keeps up to perContext rows of each context that it holds.
func (l *log) sample() (level int, rows policyfile.Hashes) {
	contexts := l.n
	for _, rows := range l.sizes {
		contexts -= rows - 1
	}
	for min(l.n, perContext*contexts)>>level > perContext*sampled { // to count in few of many contexts
		level++
	}
	of, many := map[uint64]int{}, [65]int{}
	for _, i := range l.inTime(0, l.n) {
		c := l.contexts[i]
		if zeros := bits.LeadingZeros64(keys.Mix(c)); zeros >= level && of[c] < perContext {
			of[c]++
			many[zeros]++
		}
	}
	kept := 0
	for _, n := range many {
		kept += n
	}
	for ; kept > sampled && many[level] < kept; level++ { // while some are left
		kept -= many[level]
	}
	clear(of)
	for t, i := range l.inTime(0, l.n) {
		c := l.contexts[i]
		if bits.LeadingZeros64(keys.Mix(c)) < level || of[c] == perContext {
			continue
		}
		of[c]++
		at := uint64(t)
		if l.Time != nil {
			at = uint64(l.Time[i]) ^ 1<<63 // in the order of times, those before 1970, too
		}
		rows = append(rows, at, c, uint64(l.Action[i]), math.Float64bits(l.Propensity[i]))
	}
	return level, rows
}

// shared counts the hashes that are in more than one list of sorted ones, and names two lists of one, by their places.
func shared(lists []policyfile.Hashes) (n int, which [2]int) {
	type one struct {
		hash uint64
		list int
	}
	var all []one
	for k, list := range lists {
		for _, h := range list {
			all = append(all, one{h, k})
		}
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(a.hash, b.hash), a.list-b.list) })
	for from, to := 0, 0; from < len(all); from = to {
		for to = from + 1; to < len(all) && all[to].hash == all[from].hash; to++ {
		}
		if all[from].list != all[to-1].list {
			if n++; n == 1 {
				which = [2]int{all[from].list, all[to-1].list}
			}
		}
	}
	return n, which
}

// acrossRows adds the findings about rows that stand in two shards, or depend on one another.
func (l *log) acrossRows(parts []*Partial, byTime bool) {
	if n, two := shared(lists(parts, func(t *traces) policyfile.Hashes { return t.Groups })); n > 0 {
		l.add(Finding{Check: "groups across shards", Severity: Doubtful, Numbers: []Number{{"groups", float64(n)}},
			Measured: fmt.Sprintf("%d groups have rows in several shards, as in %s and %s", n, parts[two[0]].Shard,
				parts[two[1]].Shard),
			Means: "what is said of groups takes the rows of each shard for groups of their own", Do: "cut the " +
				"log so that a group is in files of one shard"})
	}
	l.repeatsAcross(parts, byTime)
	if f, _ := l.finding(writtenTwice); f.Severity > Fine {
		return // rows of one context count as one
	}
	lengths := map[int]bool{}
	for _, p := range parts {
		for _, s := range p.Traces.Stretches {
			lengths[s.Rows] = true
		}
	}
	for w := range lengths {
		n, two := shared(lists(parts, func(t *traces) policyfile.Hashes {
			for _, s := range t.Stretches {
				if s.Rows == w {
					return s.Hashes
				}
			}
			return nil
		}))
		if n > 0 {
			l.add(Finding{Check: writtenAgain.name, Severity: Unusable, Numbers: []Number{{"stretches", float64(n)}},
				Measured: fmt.Sprintf("stretches of %d rows of shard %s have the actions and the rewards of such "+
					"of shard %s", w, parts[two[1]].Shard, parts[two[0]].Shard),
				Means: "rows are in files of several shards, or actions came in turn or by the same random " +
					"numbers: they are not independent",
				Do: "give each row once, or log a decision_id; draw actions at random"})
			return
		}
	}
}

func lists(parts []*Partial, of func(t *traces) policyfile.Hashes) (all []policyfile.Hashes) {
	for _, p := range parts {
		all = append(all, of(&p.Traces))
	}
	return all
}

// repeatsAcross does for the rows of all samples what repeats does for a log.
func (l *log) repeatsAcross(parts []*Partial, byTime bool) {
	level := 0
	for _, p := range parts {
		level = max(level, p.Traces.Level)
	}
	type row struct {
		at, context, action uint64
		p                   float64
		shard               int
	}
	var rows []row
	for k, part := range parts {
		for s := part.Traces.Sample; len(s) >= perSampled; s = s[perSampled:] {
			if bits.LeadingZeros64(keys.Mix(s[1])) >= level {
				rows = append(rows, row{s[0], s[1], s[2], math.Float64frombits(s[3]), k})
			}
		}
	}
	if byTime {
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	}
	twice := func(check string, across bool) Finding {
		last := map[uint64][]row{} // of each context the last row, and the last of another shard
		var pairs, same, expected, variance float64
		for _, r := range rows {
			before := last[r.context]
			if across {
				before = slices.DeleteFunc(slices.Clone(before), func(b row) bool { return b.shard == r.shard })
			}
			if len(before) > 0 {
				p := before[0].p
				pairs, expected, variance = pairs+1, expected+p, variance+p*(1-p)
				if r.action == before[0].action {
					same++
				}
			}
			kept := slices.DeleteFunc(slices.Clone(last[r.context]), func(b row) bool { return b.shard == r.shard })
			last[r.context] = append([]row{r}, kept[:min(1, len(kept))]...)
		}
		if pairs == 0 {
			return Finding{}
		}
		return twiceSaid(check, pairs, same, expected, variance)
	}
	all := twice(writtenTwice, false)
	for _, p := range parts {
		if f, _ := p.Report.Finding(writtenTwice); f.Severity > all.Severity {
			all = f
			all.Measured = fmt.Sprintf("in shard %s: %s", p.Shard, f.Measured)
		}
	}
	if all.Check != "" {
		l.add(all)
	}
	if f := twice(writtenTwice+", across shards", true); f.Severity > Fine {
		l.add(f)
	}
}

// Across names the ids and groups that occur in several shards, whose rows would be counted twice.
// It returns "" if there are none.
func Across(parts []Partial) (ids, groups string) {
	var all []*Partial
	for i := range parts {
		all = append(all, &parts[i])
	}
	say := func(what string, of func(t *traces) policyfile.Hashes) string {
		n, two := shared(lists(all, of))
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%d %s have rows in files of several shards, as of %s and %s", n, what, all[two[0]].Shard,
			all[two[1]].Shard)
	}
	return say("decision ids", func(t *traces) policyfile.Hashes { return t.IDs }), say("groups",
		func(t *traces) policyfile.Hashes { return t.Groups })
}

// again looks for a stretch of rows that the log has twice, as a file that was appended to itself has: the same
// actions and costs in the same order, wherever. Rows of one id count as one, and where rows of one context do,
// copies do. The second stretch agrees with the first with a probability of at most Π π₀(a_i|x_i). That must be
// below 1e-6 for all pairs of stretches together. Files may be sorted by what happened, so only rows that differ from
// the row before them count. Stretches are of w rows: a copy of 2w − 1 is found, among hashes of each w rows and of
// those from 0, w, 2w, … on. Such a log is unusable.
func (l *log) again() {
	if l.doubts(Repeats, Visits) {
		return
	}
	if l.Propensity == nil || l.Estimated {
		return
	}
	enough, sum := enough(l.n), 0.0
	for i := range l.n {
		sum += l.said(i)
	}
	if !(sum > 4*enough) || l.n < 80 {
		return
	}
	w := max(40, int(math.Ceil(2*enough*float64(l.n)/sum)))
	last := uint64(1) // rolling^w
	for range w {
		last *= rolling
	}
	same := func(i, j int) bool { return l.Action[i] == l.Action[j] && l.Cost[i] == l.Cost[j] }
	var h uint64
	var foretold float64
	first, some := make(map[uint64]int, l.n/w), keys.NewFilter(l.n/w)
	for end := 1; end <= l.n; end++ {
		h, foretold = h*rolling+l.rowHash(end-1), foretold+l.said(end-1)
		at := end - w // the stretch is of the rows from at on
		if at > 0 {
			h, foretold = h-last*l.rowHash(at-1), foretold-l.said(at-1)
		}
		if at < 0 {
			continue
		}
		from, seen := 0, some.Has(h)
		if seen {
			from, seen = first[h]
		}
		if !seen && at%w == 0 {
			first[h] = at
			some.Add(h)
		}
		if !seen || from+w > at || foretold < enough || l.HasIDs() && l.Keys[from] == l.Keys[at] {
			continue
		}
		n := 0
		for from+n < at && at+n < l.n && same(from+n, at+n) {
			n++
		}
		if n < w {
			continue
		}
		for from > 0 && from+n < at && same(from-1, at-1) {
			from, at, n = from-1, at-1, n+1
		}
		l.add(Finding{Check: writtenAgain.name, Severity: Unusable, Numbers: []Number{{"rows", float64(n)}},
			Measured: fmt.Sprintf("rows %d to %d have the actions and the rewards of rows %d to %d", at+1, at+n,
				from+1, from+n),
			Means: "rows are in the log more than once, or actions came in turn or by the same random numbers: " +
				"they are not independent",
			Do: "give each row once, or log a decision_id; draw actions at random"})
		return
	}
	l.add(Finding{Check: writtenAgain.name, Measured: fmt.Sprintf("no stretch of %d rows comes twice", 2*w-1)})
}
