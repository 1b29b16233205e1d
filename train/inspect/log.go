package inspect

import "opl/train/logs"

// FromLog takes the columns of a log of logs.
func FromLog(l *logs.Log) Input {
	in := Input{Actions: l.Actions, Action: l.Action, Cost: l.Cost, Propensity: l.Propensity, Propensities: l.Propensities,
		Weight: l.Weight, Time: l.Time, Group: l.Group, Estimated: l.Estimated, Skipped: l.Skipped, Context: l.ContextHashes()}
	for _, n := range l.Notes {
		in.Notes = append(in.Notes, n.String())
	}
	if l.HasIDs() {
		in.IDs = l.Keys
	}
	return in
}
