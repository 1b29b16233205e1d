package provenance

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/logs"
)

// A Relation is that of a log to the one that a policy was learned from.
type Relation string

// The relations.
const (
	Same      Relation = "same"      // it is that log
	Overlaps  Relation = "overlap"   // they share decisions
	Fresh     Relation = "fresh"     // no row of it had a part in the policy
	Ancestral Relation = "ancestral" // rows of it taught a policy that logged what this one was learned from
)

// Overlap says which rows of a log a policy has seen.
type Overlap struct {
	Relation
	Taught []bool // what must be fixed, by rows: they may not certify
	Chosen []bool // the posterior was trained or chosen on them
	Note   string // empty, or what is odd
}

// Seen reports whether row i had any part in the policy.
func (o Overlap) Seen(i int) bool { return o.Taught[i] || o.Chosen[i] }

// identity is what the log tells rows apart by.
func (j *Judge) identity() string {
	j.once.Do(func() { j.how, j.keys = j.log.Identity() })
	return j.how
}

// Hash is the xxHash64 of two numbers, by which rows are divided and recorded.
func Hash(seed, of uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], seed)
	binary.LittleEndian.PutUint64(b[8:], of)
	return xxhash.Sum64(b[:])
}

// hashes are those of some rows, as a file records them: sorted, distinct.
func (j *Judge) hashes(seed uint64, rows []int) policyfile.Hashes {
	j.identity()
	out := make([]uint64, len(rows))
	for i, r := range rows {
		out[i] = Hash(seed, j.keys[r])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Compare finds the rows of the log that the policy of a file has seen. fresh is the
// user's word that there are none, taken where the log cannot contradict it: contents may
// be equal by chance. An error, a *Withheld, says why it cannot be told.
func (j *Judge) Compare(f *policyfile.File, fresh bool) (Overlap, error) {
	n, h := j.log.Len(), f.History
	o := Overlap{Relation: Fresh, Taught: make([]bool, n), Chosen: make([]bool, n)}
	if j.log.Hash() == h.DataHash {
		if fresh {
			return o, withhold("the log is the very one that the policy was learned from: leave out setting fresh")
		}
		o.Relation = Same
	}
	var taught, chosen []uint64
	for _, c := range f.Components {
		taught, chosen = append(taught, c.Taught...), append(chosen, c.Chosen...)
	}
	switch how := j.identity(); {
	case !h.Known && o.Relation == Same:
		return o, withhold("the policy file does not record which rows of this log taught it, so none of them may certify it: use a later log")
	case !h.Known && !fresh:
		return o, withhold("the policy file does not record which rows it was learned from: if no row of this log had a part in it, say so by setting fresh")
	case !h.Known || len(taught)+len(chosen) == 0:
		return o, nil
	case h.How != how && fresh:
		return o, nil
	case h.How != how:
		return o, withhold("the policy file tells rows apart by another key than this log has (decision_id or content): it cannot be seen whether they are the same; if no row of this log had a part in the policy, say so by setting fresh")
	}
	t, c := propensity.NewRowSet(taught), propensity.NewRowSet(chosen)
	rows, before := 0, t.Len()+c.Len()
	for i, k := range j.keys {
		x := Hash(h.Seed, k)
		if o.Taught[i], o.Chosen[i] = t.Has(x), c.Has(x); o.Seen(i) {
			rows++
		}
	}
	if o.Relation == Same {
		return o, nil
	}
	switch {
	case rows == 0:
		if witness := propensity.NewRowSet(h.Witnesses); !fresh && witness.Len() > 0 {
			if found := j.found0(witness); found*2 > witness.Len() {
				return o, withhold("%d of %d rows that taught the policy's prior are in this log under other decision ids: their ids were changed, and they may not certify; if the log is a later one whose rows are alike by chance, say so by setting fresh", found, witness.Len())
			}
		}
		return j.ancestors(f, o, fresh)
	case j.how == logs.ByContent && fresh && rows < before:
		clear(o.Taught)
		clear(o.Chosen)
		return o, nil
	case j.how == logs.ByContent:
		return o, withhold("%d rows of this log have the content of rows that the policy was learned from, and without decision_id it cannot be told whether they are the same: log a decision_id; or, if no row of this log had a part in the policy, say so by setting fresh (refused when all %d are found)", rows, before)
	case fresh:
		return o, withhold("%d decision ids of this log had a part in the policy: leave out setting fresh", rows)
	}
	o.Relation = Overlaps
	o.Note = fmt.Sprintf("the log is not the one that the policy was learned from, but %d of its decisions are: they count as those", rows)
	return o, nil
}

// ancestors finds rows of the log that taught a policy which logged what this one was
// learned from. They had a part in it.
func (j *Judge) ancestors(f *policyfile.File, o Overlap, fresh bool) (Overlap, error) {
	rows := 0
	unknown := ""
	for _, a := range f.History.Ancestors {
		if a.DataHash == j.log.Hash() {
			return o, withhold("the log taught the policy %.12s, which logged what this policy was learned from: none of its rows may certify; use a later log", a.Policy)
		}
		if !a.Known {
			unknown = a.Policy
			continue
		}
		if a.How != j.how {
			continue
		}
		set := propensity.NewRowSet(a.Rows)
		for i, k := range j.keys {
			if !o.Taught[i] && set.Has(Hash(a.Seed, k)) {
				o.Taught[i] = true
				rows++
			}
		}
	}
	later := j.log.Time != nil && f.History.Until != 0 && slices.Min(j.log.Time) > f.History.Until
	switch {
	case unknown != "" && !later && !fresh:
		return o, withhold("the policy %.12s logged rows that this policy was learned from, and which log taught that one is not recorded: this log is not shown to be a later one by its times; if no row of it had a part in either policy, say so by setting fresh", unknown)
	case rows > 0 && fresh:
		return o, withhold("%d rows of this log taught a policy that logged what this policy was learned from: leave out setting fresh", rows)
	case rows > 0:
		o.Relation = Ancestral
		o.Note = fmt.Sprintf("%d rows of the log taught a policy that logged what this one was learned from: they may not certify", rows)
	}
	return o, nil
}

// Made is what had a part in a policy that is being written to a file.
type Made struct {
	Taught, Chosen []int // rows, see Overlap
	Seed           uint64
	Tried          int                  // priors that the posterior's was chosen among on the rows chosen
	Before         *policyfile.File     // whose weights are the prior; nil: none
	Loggers        []*policyfile.Policy // that logged rows of the log, as far as their files are at hand
}

// Seed is what the hashes of rows are to be taken with: that of an earlier file, if rows
// of it must be recorded along, else the given one.
func (j *Judge) Seed(before *policyfile.File, seed uint64) (uint64, error) {
	if before == nil || !before.History.Known || before.History.How == "" {
		return seed, nil
	}
	if before.History.How != j.identity() {
		return 0, withhold("the prior's file tells rows apart by another key than this log has (decision_id or content): its rows could not be recorded")
	}
	return before.History.Seed, nil
}

// Record writes into a file of one component which rows had a part in it.
func (j *Judge) Record(f *policyfile.File, m Made) {
	j.identity()
	c := &f.Components[0]
	c.Taught, c.Chosen = j.hashes(m.Seed, m.Taught), j.hashes(m.Seed, m.Chosen)
	f.History = policyfile.History{Known: true, DataHash: j.log.Hash(), How: j.how, Seed: m.Seed, Tried: m.Tried}
	f.History.Witnesses = j.witnesses(m.Seed, slices.Concat(m.Taught, m.Chosen))
	if t := j.log.Time; t != nil {
		f.History.From, f.History.Until = slices.Min(t), slices.Max(t)
	}
	add := func(a policyfile.Ancestor) {
		if !slices.ContainsFunc(f.History.Ancestors, func(b policyfile.Ancestor) bool { return b.Policy == a.Policy && (b.Known || !a.Known) }) {
			f.History.Ancestors = append(f.History.Ancestors, a)
		}
	}
	at := map[string]bool{}
	for _, p := range m.Loggers {
		at[p.Hash()] = true
		g := p.File()
		a := policyfile.Ancestor{Policy: p.Hash(), Known: g.History.Known, DataHash: g.History.DataHash, How: g.History.How, Seed: g.History.Seed}
		for _, c := range g.Components {
			a.Rows = append(append(a.Rows, c.Taught...), c.Chosen...)
		}
		slices.Sort(a.Rows)
		a.Rows = slices.Compact(a.Rows)
		add(a)
		for _, older := range g.History.Ancestors {
			add(older)
		}
	}
	for _, l := range j.log.Loggers() {
		if !at[l.Policy] {
			add(policyfile.Ancestor{Policy: l.Policy})
		}
	}
	if m.Before == nil {
		return
	}
	for _, older := range m.Before.History.Ancestors {
		add(older)
	}
	if m.Before.History.Known {
		for _, b := range m.Before.Components {
			c.Taught = append(append(c.Taught, b.Taught...), b.Chosen...)
		}
		slices.Sort(c.Taught)
		c.Taught = slices.Compact(c.Taught)
	}
}

// found0 counts the witnesses in the log.
func (j *Judge) found0(witness propensity.RowSet) int {
	var d logs.Decision
	in := make(map[uint64]bool, witness.Len())
	for i := range j.log.Len() {
		j.log.Decision(i, &d)
		if h := content(&d, j.log.Actions); witness.Has(h) {
			in[h] = true
		}
	}
	return len(in)
}

// witnesses are the contents of at most 1,000 of the rows, those of the smallest
// hashes.
func (j *Judge) witnesses(seed uint64, rows []int) policyfile.Hashes {
	if j.how != logs.ByID {
		return nil
	}
	some := slices.Clone(rows)
	slices.SortFunc(some, func(a, b int) int {
		x, y := Hash(seed, j.keys[a]), Hash(seed, j.keys[b])
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return a - b
	})
	var out []uint64
	var d logs.Decision
	for _, r := range some[:min(1000, len(some))] {
		j.log.Decision(r, &d)
		out = append(out, content(&d, j.log.Actions))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// content is a hash of what a decision holds but for its id and what depends on how
// the log is read: time, context and action. It does not depend on the order of the
// context's values.
func content(d *logs.Decision, actions []string) uint64 {
	sum := Hash(uint64(d.Time.UnixNano()), xxhash.Sum64String(actions[d.Action]))
	for _, v := range d.Context {
		sum += Hash(math.Float64bits(v.Number), xxhash.Sum64String(v.Name))
	}
	return sum
}
