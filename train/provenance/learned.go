package provenance

import (
	"slices"

	"opl/policies/policyfile"
)

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
			func(c policyfile.Component) bool { return c.Kind != policyfile.ArgMax })
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
