package provenance

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/logs"
)

// A Relation says how a log relates to the log that a policy was learned from.
type Relation string

// The relations.
const (
	Same      Relation = "same"      // it is that log
	Overlaps  Relation = "overlap"   // they share decisions
	Fresh     Relation = "fresh"     // no row of it had a part in the policy
	Ancestral Relation = "ancestral" // rows of it taught a policy that logged what this one was learned from
)

// Overlap says which rows of a log had a part in a policy. [Judge.Compare] finds it.
type Overlap struct {
	Relation
	Taught []bool // what must be fixed, by rows: they may not certify
	Chosen []bool // the posterior was trained or chosen on them
	Note   string // empty, or what is odd
	Doubt  string // empty, or why a guarantee is not believed
}

// Seen reports whether row i had any part in the policy.
func (o Overlap) Seen(i int) bool { return o.Taught[i] || o.Chosen[i] }

// Hash returns the xxHash64 of two numbers. Rows are divided by it, and recorded in files as such
// hashes.
func Hash(seed, of uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], seed)
	binary.LittleEndian.PutUint64(b[8:], of)
	return xxhash.Sum64(b[:])
}

// hashes returns the hashes of some rows as a file records them: sorted, distinct.
func (j *Judge) hashes(seed uint64, rows []int) policyfile.Hashes {
	_, keys := j.log.Identity()
	out := make([]uint64, len(rows))
	for i, r := range rows {
		out[i] = Hash(seed, keys[r])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Compare finds the rows of the log that the policy of a file has seen. fresh is the
// user's word that there are none, taken where the log does not contradict it. Rows that
// had a part under another id, or with their contexts rounded, are known again as fingerprint.go
// says; contents that are equal by chance are not taken for them. An error, a *Withheld, says
// why it cannot be told. Rows of a group that had a part in the policy count as taught, unless
// fresh.
func (j *Judge) Compare(f *policyfile.File, fresh bool) (Overlap, error) {
	o, err := j.compare(f, fresh)
	if err == nil && !fresh {
		j.returned(f.History, &o)
	}
	return o, err
}

func (j *Judge) compare(f *policyfile.File, fresh bool) (Overlap, error) {
	n, h := j.log.Len(), f.History
	o := Overlap{Relation: Fresh, Taught: make([]bool, n), Chosen: make([]bool, n)}
	if j.log.Hash() == h.DataHash && j.partial == nil { // what a shard has read is no log
		if fresh {
			return o, withhold("the log is the very one that the policy was learned from: leave out setting fresh")
		}
		o.Relation = Same
	}
	var taught, chosen []uint64
	for _, c := range f.Components {
		taught, chosen = append(taught, c.Taught...), append(chosen, c.Chosen...)
	}
	how, keys := j.log.Identity()
	switch {
	case h.Known && f.Unlisted() > 0:
		return o, withhold("the policy file says that more rows taught it than it lists, %d of which are missing: "+
			"the lists were cut, so nothing is guaranteed; take the file as opl train wrote it", f.Unlisted())
	case h.Known && o.Relation == Same && len(taught)+len(chosen) == 0:
		return o, withhold("the policy was learned from this very log, by its hash, and the policy file lists " +
			"none of its rows: use a later log")
	case !h.Known && o.Relation == Same:
		return o, withhold("the policy file does not record which rows of this log taught it, so none of them may " +
			"certify it: use a later log")
	case !h.Known && !fresh:
		return o, withhold("the policy file does not record which rows it was learned from: if no row of this log " +
			"had a part in it, say so by setting fresh")
	case !h.Known:
		return o, nil
	case len(taught)+len(chosen) == 0:
		o.Note = "the policy file lists no rows that taught it, and that is believed: the file is not signed, and " +
			"whoever wrote it could have emptied the list"
		if !fresh {
			o.Doubt = "the policy file lists no rows that taught it: if no row of this log had a part in the " +
				"policy, say so by setting fresh"
		}
		return o, nil
	case h.How != how && !fresh:
		return o, withhold("the policy file tells rows apart by another key than this log has (decision_id or " +
			"content): it cannot be seen whether they are the same; if no row of this log had a part in the " +
			"policy, say so by setting fresh")
	case h.How != how:
		return j.ancestors(f, o, fresh, j.known(h.Fingerprints, o.Taught, reads(f)))
	}
	t, c := propensity.NewRowSet(taught), propensity.NewRowSet(chosen)
	rows := 0
	out := make([]bool, n)
	for i, k := range keys {
		x := Hash(h.Seed, k)
		if o.Taught[i], o.Chosen[i] = t.Has(x), c.Has(x); o.Seen(i) {
			rows++
			out[i] = true
		}
	}
	if o.Relation == Same {
		return o, nil
	}
	if how == logs.ByContent {
		again := j.known(h.Fingerprints, make([]bool, n), reads(f))
		if again == "" && !fresh && rows > 0 && !j.byChance(rows, t.Len()+c.Len(), h.Repeats) {
			return o, withhold("%d rows of this log have the content of rows that the policy was learned from, "+
				"more than by chance, and without decision_id it cannot be told whether they are the same: log a "+
				"decision_id; or, if no row of this log had a part in the policy, say so by setting fresh", rows)
		}
		clear(o.Taught)
		clear(o.Chosen)
		if again == "" && rows > 0 {
			o.Note = fmt.Sprintf("%d rows have the content of rows that the policy was learned from, as rows of a "+
				"later log would by chance", rows)
		}
		return j.ancestors(f, o, fresh, again)
	}
	if rows > 0 {
		if fresh {
			return o, withhold("%d decision ids of this log had a part in the policy: leave out setting fresh", rows)
		}
		o.Relation = Overlaps
		o.Note = fmt.Sprintf("the log is not the one that the policy was learned from, but %d of its decisions "+
			"are: they count as those", rows)
	}
	return j.ancestors(f, o, fresh, j.known(h.Fingerprints, out, reads(f)))
}

// ancestors finds rows of the log that taught a policy which logged what this one was
// learned from. They had a part in it. again says how rows that had a part in this one are
// known again: nothing of the log certifies then.
func (j *Judge) ancestors(f *policyfile.File, o Overlap, fresh bool, again string) (Overlap, error) {
	changed := "rows that had a part in the policy%s are in this log under other decision ids: their ids were " +
		"changed, and may not certify: %s; use a log of later decisions, drawn by other random numbers"
	how, keys := j.log.Identity()
	if how == logs.ByContent {
		changed = "rows that had a part in the policy%s are in this log and may not certify, and without decision_id " +
			"nobody can tell which they are: %s; leave out the files that they came from, or log a decision_id"
	}
	if again != "" {
		return o, withhold(changed, "", again)
	}
	rows := 0
	unknown := ""
	for _, a := range f.History.Ancestors {
		if a.DataHash == j.log.Hash() {
			return o, withhold("the log taught the policy %.12s, which logged what this policy was learned from: "+
				"none of its rows may certify; use a later log", a.Policy)
		}
		if !a.Known {
			unknown = a.Policy
			continue
		}
		out := make([]bool, j.log.Len())
		if a.How == how {
			set := propensity.NewRowSet(a.Rows)
			found := 0
			for i, k := range keys {
				if out[i] = set.Has(Hash(a.Seed, k)); out[i] {
					found++
				}
			}
			if how == logs.ByContent && found > 0 && j.byChance(found, set.Len(), a.Repeats) {
				clear(out)
			}
		}
		if again := j.known(a.Fingerprints, out, reads(f)); again != "" {
			return o, withhold(changed, fmt.Sprintf(" %.12s, which logged what this policy was learned from,",
				a.Policy), again)
		}
		for i, is := range out {
			if is && !o.Taught[i] {
				o.Taught[i] = true
				rows++
			}
		}
	}
	later := j.log.Time != nil && f.History.Until != 0 && slices.Min(j.log.Time) > f.History.Until
	switch {
	case unknown != "" && !later && !fresh && o.Relation == Fresh:
		return o, withhold("the policy %.12s logged rows that this policy was learned from, and which log taught "+
			"that one is not recorded: this log is not shown to be a later one by its times; train again with the "+
			"file of that policy as setting logged-by, or, if no row of this log had a part in either policy, say so "+
			"by setting fresh", unknown)
	case rows > 0 && fresh:
		return o, withhold("%d rows of this log taught a policy that logged what this policy was learned from: "+
			"leave out setting fresh", rows)
	case rows > 0 && j.partial != nil:
		return o, withhold("%d rows of these files taught a policy that logged what this policy was learned from, "+
			"and a shard by files does not see whether they are of the very log that did, of which no row may "+
			"certify: leave setting shard out", rows)
	case rows > 0:
		if o.Relation == Fresh {
			o.Relation = Ancestral
		} else {
			o.Note += "; "
		}
		o.Note += fmt.Sprintf("%d rows of the log taught a policy that logged what this one was learned from: "+
			"they may not certify", rows)
	}
	return o, nil
}

// Made lists what had a part in a policy, for [Judge.Record] to write into its file.
type Made struct {
	// Taught and Chosen are rows, see [Overlap]. Those that trained a policy without a prior are Taught: its Chosen
	// certified it, and may again.
	Taught, Chosen []int
	// Chunks are the parts of Chosen that certify each component of a mixture, which was taught by the parts
	// before, too, see [Judge.Chunks]; neighbours that share a part were fixed together. nil: one component.
	Chunks  [][]int
	Seed    uint64
	Tried   int                  // priors that the posterior's was chosen among on the rows chosen
	Before  *policyfile.File     // whose weights are the prior; nil: none
	Loggers []*policyfile.Policy // that logged rows of the log, as far as their files are at hand
}

// Seed returns the seed for the hashes of rows. If the rows of an earlier file must be recorded
// along, it is that file's seed, because hashes of different seeds cannot be compared. Otherwise it
// is the given seed.
func (j *Judge) Seed(before *policyfile.File, seed uint64) (uint64, error) {
	if before == nil || !before.History.Known || before.History.How == "" {
		return seed, nil
	}
	if how, _ := j.log.Identity(); before.History.How != how {
		return 0, withhold("the prior's file tells rows apart by another key than this log has (decision_id or " +
			"content): its rows could not be recorded")
	}
	return before.History.Seed, nil
}

// mostListed is how many rows a file may list that certified an argmax policy. Of more it lists none: they changed
// nothing in it, and of 10⁸ rows the list takes a gigabyte.
var mostListed = 1 << 24

// Record writes into a file which rows had a part in it.
func (j *Judge) Record(f *policyfile.File, m Made) {
	if m.Chunks == nil {
		m.Chunks = [][]int{m.Chosen}
	}
	taught, all := slices.Clone(m.Taught), m.Taught
	if len(m.Chosen) > mostListed && len(m.Chunks) == 1 && f.Components[0].Fixed() {
		m.Chunks = [][]int{nil}
	} else {
		all = slices.Concat(m.Taught, m.Chosen)
	}
	for k, rows := range m.Chunks {
		if k > 0 && !slices.Equal(rows, m.Chunks[k-1]) {
			taught = append(taught, m.Chunks[k-1]...)
		}
		f.Components[k].Taught, f.Components[k].Chosen = j.hashes(m.Seed, taught), j.hashes(m.Seed, rows)
	}
	how, _ := j.log.Identity()
	f.History = policyfile.History{Known: true, DataHash: j.log.Hash(), How: how, Seed: m.Seed, Tried: m.Tried}
	if f.History.Groups = j.groups(m.Seed, all); len(f.Components) == 1 && f.Components[0].Fixed() {
		f.History.Groups = j.groups(m.Seed, m.Taught) // those that certified it changed nothing
	}
	f.History.Fingerprints = j.fingerprints(all)
	if how == logs.ByContent {
		f.History.Repeats = j.repeats(all)
	}
	if t := j.log.Time; t != nil {
		f.History.From, f.History.Until = slices.Min(t), slices.Max(t)
	}
	for _, p := range m.Loggers {
		a := p.Ancestor()
		a.Fingerprints = fewer(a.Fingerprints)
		f.History.Descend(a)
		f.History.Descend(p.File().History.Ancestors...)
	}
	for _, name := range Unfiled(j.log, m.Loggers) {
		f.History.Descend(policyfile.Ancestor{Policy: name})
	}
	if m.Before == nil {
		return
	}
	f.History.Descend(m.Before.History.Ancestors...)
	if m.Before.History.Known {
		f.History.Fingerprints = append(f.History.Fingerprints, m.Before.History.Fingerprints...)
		f.History.Repeats += m.Before.History.Repeats
		f.History.Groups = slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.History.Groups,
			m.Before.History.Groups))))
		for k := range f.Components {
			c := &f.Components[k]
			c.Taught = append(c.Taught, m.Before.Rows()...)
			slices.Sort(c.Taught)
			c.Taught = slices.Compact(c.Taught)
		}
	}
}

// Unfiled returns the policies that logged rows and have no file among those given. If no row names a policy by a
// digest, as opl does, names such as v1 are believed to be of the files, of which there must be as many.
func Unfiled(log *logs.Log, files []*policyfile.Policy) (names []string) {
	digests := false
	for _, l := range log.Loggers() {
		_, notHex := hex.DecodeString(l.Policy)
		digests = digests || notHex == nil && len(l.Policy) == 64
		if !slices.ContainsFunc(files, func(p *policyfile.Policy) bool { return p.Hash() == l.Policy }) {
			names = append(names, l.Policy)
		}
	}
	if !digests && len(names) <= len(files) {
		return nil
	}
	return names
}

// groups are the hashes of the groups of some rows, as a file records them: sorted,
// distinct.
func (j *Judge) groups(seed uint64, rows []int) policyfile.Hashes {
	names, bare := j.log.GroupHashes(), j.log.GroupHashesAs(logs.BareGroup)
	if names == nil {
		return nil
	}
	var out policyfile.Hashes
	for _, r := range rows {
		g := j.log.Group[r]
		if g >= 0 {
			out = append(out, Hash(seed, names[g]))
		}
		if g >= 0 && bare[g] != names[g] { // a later log may lack the zeros
			out = append(out, Hash(seed, bare[g]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// spellings are what may stand around a group in files of earlier versions, which hold it as other programs wrote it.
var spellings = [][2]string{{}, {"", ".0"}, {"", ".00"}, {" ", ""}, {"", " "}, {"0", ""}, {"00", ""}}

// returned marks, as taught, the rows of a later log whose group had a part in the policy:
// a customer who comes back, whose rows depend on those that taught.
func (j *Judge) returned(h policyfile.History, o *Overlap) {
	if len(h.Groups) == 0 || o.Relation == Same {
		return
	}
	set, taught, rows := propensity.NewRowSet(h.Groups), map[int32]bool{}, 0
	for _, around := range spellings {
		as := func(name string) string { return around[0] + name + around[1] }
		bare := func(name string) string { return as(logs.BareGroup(name)) }
		for _, names := range [][]uint64{j.log.GroupHashesAs(as), j.log.GroupHashesAs(bare)} {
			for g, name := range names {
				if set.Has(Hash(h.Seed, name)) {
					taught[int32(g)] = true
				}
			}
		}
	}
	for i, g := range j.log.Group {
		if taught[g] && !o.Seen(i) {
			o.Taught[i] = true
			rows++
		}
	}
	if rows == 0 {
		return
	}
	if o.Relation == Fresh {
		o.Relation = Overlaps
	}
	if o.Note != "" {
		o.Note += "; "
	}
	o.Note += fmt.Sprintf("%d rows are of groups that had a part in the policy, and do not certify: what they "+
		"earn says nothing of other groups (setting fresh says that groups of the same name are others)", rows)
}

// Learned says why a target looks better on this log than it is: rows of the log had a part in it.
// clean are the rows that had none, by which it can be estimated. why is empty if no row had a
// part, or if nobody can tell.
func (j *Judge) Learned(from Origin) (clean []int, why string) {
	seen := make([]bool, j.log.Len())
	why = "it was learned from rows of this log, or of their groups, which flatter it"
	if f := from.file; f != nil {
		o, err := j.Compare(f, false)
		how, _ := j.log.Identity()
		same := j.log.Hash() == f.History.DataHash
		if same {
			why = "it was learned from this log, whose rows flatter it"
		}
		switch {
		case err != nil && same:
			return nil, why
		case err != nil && f.History.Known && f.History.How == how: // rows are too much alike to be others
			return nil, err.Error()
		case err != nil || o.Relation == Fresh:
			return nil, ""
		}
		// rows that argmax policies were certified on changed nothing in them
		trained := slices.ContainsFunc(f.Components,
			func(c policyfile.Component) bool { return !c.Fixed() })
		for i := range seen {
			seen[i] = o.Taught[i] || trained && o.Chosen[i]
		}
		if !slices.Contains(seen, true) && slices.Contains(o.Chosen, true) && !same {
			return nil, "" // no row of it did more
		}
	} else {
		_, hashes := j.log.Identity()
		for i, h := range hashes {
			seen[i] = from.taught.Has(h)
		}
		if !slices.Contains(seen, true) {
			return nil, ""
		}
	}
	if !slices.Contains(seen, true) { // the file does not list them
		return nil, why
	}
	return j.Apart(nil, seen), why
}

// reads are the names of contexts that a policy knows; nil: its contexts have none.
func reads(f *policyfile.File) map[string]bool {
	var names map[string]bool
	for _, c := range f.Components {
		if e := c.Encoder; e != nil && len(e.Names) > 0 {
			if names == nil {
				names = map[string]bool{}
			}
			for _, name := range e.Names {
				names[name] = true
			}
		}
	}
	return names
}
