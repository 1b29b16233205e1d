package learn

import (
	"fmt"
	"slices"

	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/logs"
)

// past is what a policy file says of the rows that it came from.
type past struct {
	data    string // hash of the log
	seed    uint64
	how     string
	taught  propensity.RowSet // the prior, the encoder, the reward model
	chosen  propensity.RowSet // what the posterior was trained or chosen on
	witness propensity.RowSet // content of rows that taught
	known   bool              // all of it is recorded
}

func pastOf(f *policyfile.File) past {
	p := past{data: f.DataHash}
	if f.Prior == nil || f.Prior.Taught == nil {
		return p
	}
	t, err := TrainingOf(f)
	if err != nil || t.Chosen == nil {
		return p
	}
	taught := f.Prior.Taught
	p.known, p.seed, p.how, p.taught = true, taught.Seed, taught.How, propensity.NewRowSet(taught.Rows)
	p.chosen, p.witness = propensity.NewRowSet(t.Chosen), propensity.NewRowSet(t.Witnesses)
	return p
}

// A relation is that of a log to the one that a policy was learned from.
type relation string

// The relations.
const (
	Same    relation = "same"    // it is that log
	Overlap relation = "overlap" // they share decisions
	Fresh   relation = "fresh"   // they share none
)

// overlap says which rows of a log the policy of a file has seen.
type overlap struct {
	relation
	taught, chosen []bool
	note           string // empty, or what is odd
}

// seen reports whether a row had any part in the policy.
func (o overlap) seen(i int) bool { return o.taught[i] || o.chosen[i] }

// compare finds the rows of a log that the policy of a file was learned from. fresh
// is the user's word that there are none, taken where the log cannot contradict it:
// contents may be equal by chance. An error says why it cannot be told.
func (p past) compare(log *logs.Log, id identity, fresh bool) (overlap, error) {
	n := log.Len()
	o := overlap{relation: Fresh, taught: make([]bool, n), chosen: make([]bool, n)}
	if log.Hash() == p.data {
		if fresh {
			return o, fmt.Errorf("the log is the very one that the policy was learned from: leave out --fresh")
		}
		o.relation = Same
	}
	switch {
	case !p.known && o.relation == Same:
		return o, fmt.Errorf("the policy file does not record which rows of this log taught it, so none of them may certify it: use a later log")
	case !p.known && !fresh:
		return o, fmt.Errorf("the policy file does not record which rows it was learned from: if no row of this log had a part in it, say so by --fresh")
	case !p.known:
		return o, nil
	case p.how != id.how && fresh:
		return o, nil
	case p.how != id.how:
		return o, fmt.Errorf("the policy file tells rows apart by another key than this log has (decision_id or content): it cannot be seen whether they are the same; if no row of this log had a part in the policy, say so by --fresh")
	}
	rows, before := 0, 0
	for i, d := range id.ids {
		h := hash(p.seed, d)
		o.taught[i], o.chosen[i] = p.taught.Has(h), p.chosen.Has(h)
		if o.seen(i) {
			rows++
		}
	}
	if o.relation == Same {
		return o, nil
	}
	before = p.taught.Len() + p.chosen.Len()
	switch {
	case rows == 0 && !fresh:
		if found := p.found(log); found*2 > p.witness.Len() {
			return o, fmt.Errorf("%d of %d rows that taught the policy's prior are in this log under other decision ids: their ids were changed, and they may not certify; if the log is a later one whose rows are alike by chance, say so by --fresh", found, p.witness.Len())
		}
		return o, nil
	case rows == 0:
		return o, nil
	case id.how == byContent && fresh && rows < before:
		clear(o.taught)
		clear(o.chosen)
		return o, nil
	case id.how == byContent:
		return o, fmt.Errorf("%d rows of this log have the content of rows that the policy was learned from, and without decision_id it cannot be told whether they are the same: log a decision_id; or, if no row of this log had a part in the policy, say so by --fresh (refused when all %d are found)", rows, before)
	case fresh:
		return o, fmt.Errorf("%d decision ids of this log had a part in the policy: leave out --fresh", rows)
	}
	o.relation = Overlap
	o.note = fmt.Sprintf("the log is not the one that the policy was learned from, but %d of its decisions are: they count as those", rows)
	return o, nil
}

// Flatters says why nothing can be guaranteed of the policy of a file on all rows of a
// log: rows had a part in the policy, or it cannot be told whether they had. Empty: none had,
// or the file does not say.
func Flatters(f *policyfile.File, log *logs.Log) string {
	p, id := pastOf(f), identify(log)
	o, err := p.compare(log, id, false)
	switch {
	case log.Hash() == p.data:
		return "it was learned from this log, whose rows flatter it: see opl certify"
	case !p.known:
		return ""
	case p.how != id.how:
		return "its file and this log tell rows apart by other means (decision_id or content), and rows that it was learned from flatter it: see opl certify"
	case err != nil || o.relation != Fresh:
		return "it was learned from rows of this log, which flatter it: see opl certify"
	}
	return ""
}

// found counts the witnesses in a log.
func (p past) found(log *logs.Log) int {
	if p.witness.Len() == 0 {
		return 0
	}
	var d logs.Decision
	in := make(map[uint64]bool, p.witness.Len())
	for i := range log.Len() {
		log.Decision(i, &d)
		if h := content(&d, log.Actions); p.witness.Has(h) {
			in[h] = true
		}
	}
	return len(in)
}

// witnesses are the contents of at most 1,000 of the rows, those of the smallest
// hashes.
func witnesses(log *logs.Log, id identity, seed uint64, rows []int) []uint64 {
	if id.how != byID {
		return nil
	}
	some := slices.Clone(rows)
	slices.SortFunc(some, func(a, b int) int {
		x, y := hash(seed, id.ids[a]), hash(seed, id.ids[b])
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
		log.Decision(r, &d)
		out = append(out, content(&d, log.Actions))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
