package inspect

import (
	"math"
	"slices"
)

// Subject says which assumption of a guarantee a check tests. Package provenance decides by
// subjects what may certify, so that a check keeps its force if it is renamed.
type Subject string

// The subjects.
const (
	Draws     Subject = "draws"     // whether actions were drawn with the propensities that are stated
	Selection Subject = "selection" // whether rows, or their rewards, are in the log whatever was earned
	Sequence  Subject = "sequence"  // whether a reward tells something of the next one
	Repeats   Subject = "repeats"   // whether rows of one context take the same action beyond chance
	Visits    Subject = "visits"    // whether rows of one context stand together beyond chance
	IDs       Subject = "ids"       // whether a decision_id comes more than once
	Drift     Subject = "drift"     // whether rows change over time
	Order     Subject = "order"     // whether the order of rows says anything, where they have no times
	Weeks     Subject = "weeks"     // rewards that follow the day of the week, which is no doubt
	Columns   Subject = "columns"   // whether contexts were known before the decision
	Variation Subject = "variation" // whether rewards differ, which learning needs and bounds do not
	Assumed   Subject = "assumed"   // whether rewards of slots depend on no more than setting assume says
)

// check is a check that shards make on their own rows, by its name in reports and its subject.
type check struct {
	name  string
	about Subject
}

// DriftOfReward names the check of rewards along the log.
const DriftOfReward = "drift of the reward"

// The checks that go through rows in their order, or learn from them: each shard makes them on its own rows, and
// what is worst is said.
var (
	repeatedContexts  = check{"repeated contexts", Visits}
	endsOfGroups      = check{"ends of groups", Selection}
	endsOfLists       = check{"ends of lists", Selection}
	rewardsInSequence = check{"rewards in sequence", Sequence}
	writtenAgain      = check{"rows written again", ""}
	rewardDrift       = check{DriftOfReward, Drift}
	propensityDrift   = check{"drift of the propensities", Drift}
	actionDrift       = check{"drift of the actions", Drift}
	alone             = []check{repeatedContexts, endsOfGroups, endsOfLists, rewardsInSequence, writtenAgain, rewardDrift,
		propensityDrift, actionDrift}
)

func (c check) finding(measured string, numbers ...Number) Finding {
	return Finding{Check: c.name, About: c.about, Measured: measured, Numbers: numbers}
}

// Doubts returns the first finding above Fine that is about one of the subjects.
func (r Report) Doubts(about ...Subject) (Finding, bool) {
	return r.first(func(f Finding) bool { return f.Severity > Fine && slices.Contains(about, f.About) })
}

// Settled reports that the rewards of the newest rows seem to have arrived: they are not below
// those of the rows before, and no action's differ from them. Only then may the newest rows be
// preferred.
func (r Report) Settled() bool {
	if _, late := r.Finding(newestRewards); late {
		return false
	}
	last := len(r.Blocks) - 1
	if last < 1 {
		return true
	}
	var mean, square, rows float64
	for _, b := range r.Blocks[:last] {
		n := float64(b.Rows)
		mean, square, rows = mean+n*b.Reward, square+n*n*b.SE*b.SE, rows+n
	}
	newest := r.Blocks[last]
	return newest.Reward-mean/rows > -2*math.Hypot(newest.SE, math.Sqrt(square)/rows)
}

// doubts reports that an earlier check doubts one of the subjects.
func (l *log) doubts(about ...Subject) bool {
	_, is := Report{Findings: l.found}.Doubts(about...)
	return is
}
