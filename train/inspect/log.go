package inspect

import (
	"math"

	"github.com/cespare/xxhash/v2"

	"opl/train/logs"
)

// FromLog takes the columns of a log of logs.
func FromLog(l *logs.Log) Input {
	in := Input{Actions: l.Actions, Action: l.Action, Cost: l.Cost, Propensity: l.Propensity, Propensities: l.Propensities,
		Weight: l.Weight, Time: l.Time, Group: l.Group, Estimated: l.Estimated, Skipped: l.Skipped, Context: make([]uint64, l.Len())}
	for _, n := range l.Notes {
		in.Notes = append(in.Notes, n.String())
	}
	if l.HasIDs() {
		in.IDs = l.Keys
	}
	var d logs.Decision
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
