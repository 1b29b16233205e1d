package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"opl/graph/kernel"
	"opl/policies/numeric"
	"opl/policies/propensity"
)

// Collect makes a log in memory, with named contexts, of decisions among the named actions, or, if decisions have
// Offered, among those: then actions may be nil, and are all that were offered; else none is offered that they lack.
// They are checked as the rows of a file are; an error names the row, from 1. The log is that of a file with the
// columns that decisions have, with the same Keys and Hash. IDs, times, propensities and all propensities must be
// there in all rows or in none; so must weights, which are none if they are all 0 or all 1. Rewards come as costs; a
// caller whose rewards are not in [0, 1] sets RewardMin and RewardMax of the log, and one who has other outcomes sets
// its Outcomes, as those of decisions have no names and are not read. Slots of lists are refused. A value of 1 by a name with "=" in
// it is a category, see [features.Value]. Row is not read. The log need not be closed, and the decisions may change
// afterwards.
func Collect(actions []string, decisions []Decision) (*Log, error) {
	sets := len(decisions) > 0 && decisions[0].Offered != nil
	if len(actions) < 2 && (!sets || actions != nil) {
		return nil, fmt.Errorf("log: %d actions, want at least 2", len(actions))
	}
	for i := range decisions {
		if d := &decisions[i]; d.Slate != "" || d.Slot != 0 {
			return nil, fmt.Errorf("log: row %d is a slot of a list: lists are read from files", i+1)
		}
	}
	return collect(&Options{Actions: actions}, decisions)
}

// Gather makes the log that [Collect] makes of the decisions that next returns one by one, and nil after the last. Rows
// lie in a temporary file, in the folder or where there is room, so that they may be larger than memory. All rows have
// weight 1; grouped says that some have a group. Close the log.
func Gather(ctx context.Context, folder string, actions []string, grouped bool, next func() *Decision) (_ *Log,
	err error) {
	b, err := newBuilder("log", folder, &plan{o: &Options{Actions: actions}}, &memory{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.beginCache(nil, folder, 0); err != nil {
		return nil, err
	}
	return b.collect(ctx, &collected{lines: &lines{}, actions: actions, take: next, grouped: grouped},
		func(names []string) (*Log, error) { return b.save(cacheHeader{}, names) })
}

// collect makes a log in memory by options.
func collect(o *Options, decisions []Decision) (*Log, error) {
	b, err := newBuilder("log", "", &plan{o: o}, &memory{})
	if err != nil {
		return nil, err
	}
	at := -1
	take := func() *Decision {
		if at++; at >= len(decisions) {
			return nil
		}
		return &decisions[at]
	}
	return b.collect(context.Background(), &collected{lines: &lines{}, actions: o.Actions, take: take,
		weighted: !alike(decisions, 0) && !alike(decisions, 1),
		grouped:  slices.ContainsFunc(decisions, func(d Decision) bool { return d.Group != "" })}, b.inMemory)
}

// collect reads decisions, and makes the log of them.
func (b *builder) collect(ctx context.Context, from *collected, log func(names []string) (*Log, error)) (*Log, error) {
	if err := b.fill(ctx, from); err != nil {
		return nil, err
	}
	names, err := b.finish()
	if err != nil {
		return nil, err
	}
	b.Notes = nil // of actions and columns that the caller gave
	l, err := log(names)
	if err == nil {
		l.derive()
	}
	return l, err
}

// alike reports that all weights are w.
func alike(decisions []Decision, w float64) bool {
	return !slices.ContainsFunc(decisions, func(d Decision) bool { return d.Weight != w })
}

// collected reads decisions one by one.
type collected struct {
	*lines            // none
	actions           []string
	take              func() *Decision // nil after the last
	weighted, grouped bool
}

func (c *collected) next(b *builder) error {
	d, r := c.take(), &b.row
	if d == nil {
		return io.EOF
	}
	switch {
	case d.Offered != nil:
		if err := c.offers(b, d); err != nil {
			return err
		}
	case b.numbering.of != nil:
		r.action, r.density, r.hasDensity = append(r.action, numeric.Format(d.Number)...), d.Density, d.Density != 0
	case d.Action < 0 || d.Action >= len(c.actions):
		return bad("action", "%d is outside 0 to %d", d.Action, len(c.actions)-1)
	default:
		r.action = append(r.action, c.actions[d.Action]...)
	}
	r.hasAction = true
	r.id, r.hasID = append(r.id, d.ID...), d.ID != ""
	r.group, r.hasGroup = append(r.group, d.Group...), c.grouped
	r.policy = append(r.policy, d.Policy...)
	r.p, r.hasP = d.Propensity, d.Propensity != 0 && !r.hasDensity
	r.weight, r.hasWeight = d.Weight, c.weighted
	if r.unrewarded = d.Unrewarded; r.unrewarded < 0 {
		return bad("unrewarded", "%d is no number of decisions", d.Unrewarded)
	}
	if !c.weighted {
		r.weight = 0
	}
	if !d.Time.IsZero() {
		if r.time, r.hasTime = unixNano(d.Time); !r.hasTime {
			return bad("timestamp", "%s is outside 1678 to 2261", d.Time)
		}
	}
	if d.Propensities != nil && d.Offered != nil {
		r.props, r.hasProps, r.listed = append(r.props, d.Propensities...), true, true
	} else if d.Propensities != nil {
		if b.n == 0 {
			b.propsOf = c.actions
		}
		r.props, r.hasProps = append(r.props, d.Propensities...), true
		if len(r.props) != len(c.actions) {
			return bad("propensities", "%d of them for %d actions", len(r.props), len(c.actions))
		}
	}
	for _, v := range d.Context {
		if err := b.named("context", []byte(v.Name), v.Number == 1 && strings.Contains(v.Name, "="),
			v.Number); err != nil {
			return err
		}
	}
	if !(d.Cost >= -1 && d.Cost <= 0) {
		return bad("cost", "%v is outside [-1, 0]", d.Cost)
	}
	return b.reward("cost", -d.Cost, true)
}

// offers takes what a decision offers.
func (c *collected) offers(b *builder, d *Decision) error {
	const column = "offered"
	if err := b.beginOffers(column); err != nil {
		return err
	}
	if d.Action < 0 || d.Action >= len(d.Offered) {
		return bad("action", "%d is outside 0 to %d, the places of what is offered", d.Action, len(d.Offered)-1)
	}
	for j := range d.Offered {
		o := &d.Offered[j]
		b.option()
		for _, v := range o.Features {
			if err := b.named(column, []byte(v.Name), v.Number == 1 && strings.Contains(v.Name, "="),
				v.Number); err != nil {
				return err
			}
		}
		var id []byte
		if o.Action != "" {
			id = []byte(o.Action)
		}
		if err := b.optionID(0, id); err != nil {
			return err
		}
	}
	b.row.action = append(b.row.action, b.offers.name(d.Action)...)
	return nil
}

// LeastPropensity is the least propensity that a logging policy of this package has.
const LeastPropensity = 1e-30

// FromLabels turns labelled examples into a log (Algorithm 1): for each of the
// rows of x the softmax policy of parameters theta [K×d] draws an action a, and
// the cost is −1 if a is the label and 0 otherwise. The propensities are those
// of the policy in float64, at least 1e-30. Keys are the places of the examples in x: logs
// of the same examples share them.
func FromLabels(x Contexts, labels []uint8, rows []int, theta []float64, k int, r *rand.Rand) *Log {
	n := len(rows)
	l := &Log{
		Actions: Numbered(k), X: x, Rows: rows, simulated: true,
		Action: make([]int32, n), Cost: make([]float64, n), Keys: make([]uint64, n),
		Propensity: make([]float64, n), Propensities: make([]float64, n*k),
	}
	Scores(x, rows, theta, k, func(i int, scores []float64) {
		pi := l.Propensities[i*k : i*k+k]
		kernel.Softmax(pi, scores, k)
		for a := range pi {
			pi[a] = max(pi[a], LeastPropensity)
		}
		a := propensity.Draw(pi, r)
		l.Action[i] = int32(a)
		l.Propensity[i] = pi[a]
		l.Keys[i] = uint64(rows[i])
		if a == int(labels[rows[i]]) {
			l.Cost[i] = -1
		}
	})
	return l
}

// Examined is how often people look at slot l, from 1, of the lists of [ListsFromLabels]: 1/l.
func Examined(l int) float64 { return 1 / float64(l) }

// ListsFromLabels turns labelled examples into a log of lists: for each of the rows of x the softmax policy of
// parameters theta [K×d] fills so many slots, fewer than K, one after the other among the actions that are left. The
// cost of a slot is −1 with probability [Examined] if it shows the label, and else 0: so a list has one click at
// most, and what it earns is the probability of that, the sum over its slots. Propensities and keys are as those of
// [FromLabels], of each slot. Each row offers what the slots above left, in the context of its example.
func ListsFromLabels(x Contexts, labels []uint8, rows []int, theta []float64, k, slots int, r *rand.Rand) *Log {
	one := make([]float64, k*k)
	for a := range k {
		one[a*k+a] = 1
	}
	c := &Choices{Z: Rows64{Width: k, Data: one}}
	l := &Log{Actions: Numbered(k), X: x, simulated: true, Choices: c,
		Lists: &Lists{Assume: "cascade", SlotWeights: "sum"}}
	pi := make([]float64, k)
	Scores(x, rows, theta, k, func(i int, scores []float64) {
		left := make([]int32, k)
		for a := range left {
			left[a] = int32(a)
		}
		for slot := range slots {
			pi = pi[:len(left)]
			for j, a := range left {
				pi[j] = scores[a]
			}
			kernel.Softmax(pi, pi, len(pi))
			for j := range pi {
				pi[j] = max(pi[j], LeastPropensity)
			}
			at, cost := propensity.Draw(pi, r), 0.
			if left[at] == int32(labels[rows[i]]) && r.Float64() < Examined(slot+1) {
				cost = -1
			}
			c.First, c.Count, c.At = append(c.First, int64(len(c.Actions))), append(c.Count, int32(len(left))),
				append(c.At, int32(at))
			c.Actions, l.Propensities = append(c.Actions, left...), append(l.Propensities, pi...)
			l.Rows, l.Keys, l.Group = append(l.Rows, rows[i]), append(l.Keys, uint64(rows[i]*slots+slot)),
				append(l.Group, int32(i))
			l.Lists.Of, l.Lists.Slot = append(l.Lists.Of, int32(i)), append(l.Lists.Slot, int32(slot+1))
			l.Action, l.Cost, l.Propensity = append(l.Action, left[at]), append(l.Cost, cost),
				append(l.Propensity, pi[at])
			left = slices.Delete(left, at, at+1)
		}
	})
	return l
}
