package provenance

import (
	"fmt"
	"slices"

	"opl/policies/policyfile"
	"opl/policies/propensity"
)

// groups are the hashes of the groups of some rows, as a file records them: sorted,
// distinct.
func (j *Judge) groups(seed uint64, rows []int) policyfile.Hashes {
	names := j.log.GroupHashes()
	if names == nil {
		return nil
	}
	var out policyfile.Hashes
	for _, r := range rows {
		if j.log.Group[r] >= 0 {
			out = append(out, Hash(seed, names[j.log.Group[r]]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// returned marks, as taught, the rows of a later log whose group had a part in the policy:
// a customer who comes back, whose rows depend on those that taught.
func (j *Judge) returned(h policyfile.History, o *Overlap) {
	names := j.log.GroupHashes()
	if len(h.Groups) == 0 || names == nil || o.Relation == Same {
		return
	}
	set, rows := propensity.NewRowSet(h.Groups), 0
	for i, g := range j.log.Group {
		if g >= 0 && !o.Seen(i) && set.Has(Hash(h.Seed, names[g])) {
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
