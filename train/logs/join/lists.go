package join

import (
	"fmt"
	"slices"
	"strconv"

	"opl/train/logs"
)

// slots are the slots of a line that has a list, each as a line of its own: its decision_id is ID/1, ID/2 and so on,
// and it is among what the slots above left.
func (l *line) slots() (all []*line, err error) {
	switch {
	case l.Action != "" || l.Propensities != nil || l.Propensity != 0:
		return nil, fmt.Errorf("the line has an action and a list")
	case l.kind == fixed, len(l.Slots) == 0, len(l.Chances) != len(l.Slots):
		return nil, fmt.Errorf("%d slots, %d propensities of slots, among %s", len(l.Slots), len(l.Chances), l.kind)
	}
	left, names := slices.Clone(l.set), slices.Clone(l.names)
	for i, action := range l.Slots {
		one := *l
		one.slate, one.slot, one.ID = l.ID, i+1, l.ID+"/"+strconv.Itoa(i+1)
		one.Action, one.Propensity, one.set, one.names = action, l.Chances[i], slices.Clone(left), slices.Clone(names)
		one.at = slices.Index(names, action)
		switch {
		case slices.Contains(l.Slots[:i], action):
			return nil, fmt.Errorf("slots: %q is shown twice", action)
		case one.at < 0 && l.kind != whole:
			return nil, fmt.Errorf("slots: %q is none of %q", action, names)
		case !(one.Propensity > 0 && one.Propensity <= 1):
			return nil, fmt.Errorf("slot_propensities: %v of slot %d is outside (0, 1]", one.Propensity, i+1)
		}
		if one.at >= 0 {
			left = slices.DeleteFunc(left, func(o logs.Offer) bool { return o.Action == action })
			names = slices.Delete(names, one.at, one.at+1)
		}
		all = append(all, &one)
	}
	return all, nil
}
