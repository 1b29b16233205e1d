package logs

import (
	"fmt"
	"slices"
)

// ActionsOf returns the place among other actions, such as a policy's, of each of the
// log's. One that is not among them is an error.
func (l *Log) ActionsOf(others []string) ([]int32, error) {
	index := make(map[string]int32, len(others))
	for a, name := range others {
		index[name] = int32(a)
	}
	to := make([]int32, l.K())
	for a, name := range l.Actions {
		at, ok := index[name]
		if !ok {
			return nil, fmt.Errorf("the log has an action %q that the policy does not know: it knows %s", name, some(others))
		}
		to[a] = at
	}
	return to, nil
}

// WithActions returns the log with its actions among others, in their order. Those that the
// log does not have were never played there.
func (l *Log) WithActions(others []string) (*Log, error) {
	if slices.Equal(l.Actions, others) {
		return l, nil
	}
	to, err := l.ActionsOf(others)
	if err != nil {
		return nil, err
	}
	out, k, wide := *l, l.K(), len(others)
	out.Actions, out.Action = others, make([]int32, l.Len())
	for i, a := range l.Action {
		out.Action[i] = to[a]
	}
	if l.Propensities != nil {
		out.Propensities = make([]float64, l.Len()*wide)
		for i := range out.Propensities {
			out.Propensities[i] = Floor
		}
		for i := range l.Len() {
			for a, b := range to {
				out.Propensities[i*wide+int(b)] = l.Propensities[i*k+a]
			}
		}
	}
	return &out, nil
}

// Simulated reports that the actions were drawn here, by [FromLabels], from propensities
// that are known and for rows that are independent.
func (l *Log) Simulated() bool { return l.simulated }

// RewardRange returns the rewards, in the log's units, that are cost 0 and cost −1.
func (l *Log) RewardRange() (low, high float64) {
	if l.RewardMin == 0 && l.RewardMax == 0 {
		return 0, 1
	}
	return l.RewardMin, l.RewardMax
}
