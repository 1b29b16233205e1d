package inspect

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"opl/train/decisions"
)

// FromLog takes the columns of a log of decisions.
func FromLog(l *decisions.Log) Input {
	in := Input{Actions: l.Actions(), Action: l.Action(), Cost: l.Cost(), Propensity: l.Propensity(), Propensities: l.Propensities(),
		Weight: l.Weight(), Time: l.Time(), Group: Groups(l), Estimated: l.Estimated(), Skipped: l.Skipped(), Context: make([]uint64, l.Len())}
	for _, n := range l.Notes() {
		in.Notes = append(in.Notes, n.String())
	}
	if l.HasIDs() {
		in.IDs = l.IDs()
	}
	var d decisions.Decision
	for i := range in.Context {
		l.Decision(i, &d)
		for _, v := range d.Context {
			// A sum does not depend on the order of the values.
			in.Context[i] += mix(xxhash.Sum64String(v.Name) ^ math.Float64bits(v.Number)*0x9e3779b97f4a7c15)
		}
	}
	return in
}

// mix spreads a hash over its bits (the finalizer of SplitMix64).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Groups is the group of each row, −1 where its name is empty; nil: the log has none.
func Groups(l *decisions.Log) []int32 {
	if l.Group() == nil {
		return nil
	}
	groups := slices.Clone(l.Group())
	var d decisions.Decision
	none := int32(-1) // the number of the empty name
	for i, g := range groups {
		if none < 0 {
			if l.Decision(i, &d); d.Group == "" {
				none = g
			}
		}
		if g == none {
			groups[i] = -1
		}
	}
	return groups
}
