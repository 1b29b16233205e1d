package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"opl/policies/policyfile"
	"opl/train"
	"opl/train/logs"
	"opl/train/provenance"
)

// divide chooses the rows that teach and those that may certify.
func (l *learning) divide() error {
	o, n := &l.o, l.log.Len()
	open, err := l.unseen()
	if err != nil {
		return err
	}
	taught := logs.Marked(n, l.teaching) // by the prior's file, or to teach
	// whether there is a prior, or a representation, to teach
	teaches := o.Prior == LearnedPrior || l.objective.Recipe || l.frozen()
	if !teaches && !l.family.HasPosterior() && o.PriorFile == nil {
		l.certifying = open // all rows
		return nil
	} else if !teaches && o.PriorFile != nil {
		l.certifying = l.judge.Apart(open, taught)
		return nil
	}
	chosen := o.Share > 0
	l.settleSplit(open, teaches)
	columns := l.columns(open)
	teach, rest, err := Split(o.Split, o.Share, o.Seed, len(open), columns)
	if err == nil && o.Chunks > 1 && !chosen {
		if err = l.raiseShare(teach, open); err == nil {
			teach, rest, err = Split(o.Split, o.Share, o.Seed, len(open), columns)
		}
	}
	if err != nil {
		return err
	}
	chunk := map[int]int{} // by row
	if o.Chunks > 1 {
		for i, k := range Chunks(o.Split, o.Share, o.Seed, o.Chunks, rest, columns) {
			chunk[open[rest[i]]] = k
		}
	}
	if o.Split != ByTime {
		// A prior is chosen on the last of the rows that teach: they come in no order.
		train.Stream(o.Seed, "order of teaching").Shuffle(len(teach), func(i, j int) {
			teach[i], teach[j] = teach[j], teach[i]
		})
	}
	if len(open) < n {
		teach, rest = logs.Pick(open, teach), logs.Pick(open, rest)
	}
	l.teaching = append(l.teaching, teach...)
	taught = logs.Marked(n, l.teaching, l.looked)
	if l.certifying = l.judge.Apart(rest, taught); len(l.certifying) < len(rest) {
		l.warn("%d rows share a group, an id or a content with rows that teach, and do not certify",
			len(rest)-len(l.certifying))
	}
	if len(l.certifying) == 0 {
		return errors.New("every row that could certify depends on rows that teach: divide by group")
	}
	l.chunks = [][]int{l.certifying}
	if o.Chunks > 1 {
		l.chunks = make([][]int, o.Chunks)
		for _, r := range l.certifying {
			l.chunks[chunk[r]] = append(l.chunks[chunk[r]], r)
		}
	}
	l.chunks = slices.DeleteFunc(l.chunks, func(rows []int) bool { return len(rows) == 0 })
	l.out.Training.Chunks = len(l.chunks)
	return nil
}

// unseen are the rows that the prior's file did not see: all of them without one. The others teach.
func (l *learning) unseen() (open []int, err error) {
	var before *policyfile.File
	var seen func(i int) bool // nil: none
	if o := &l.o; o.PriorFile != nil {
		before = o.PriorFile.File()
		if !before.HasItems() && !slices.Equal(before.Actions, l.log.Actions) {
			return nil, fmt.Errorf("the prior's actions are %s, the log's %s: name them in the prior's order by "+
				"setting actions", names(before.Actions), names(l.log.Actions))
		}
		old, err := l.judge.Compare(before, o.Fresh)
		if err != nil {
			return nil, fmt.Errorf("the prior's file: %w", err)
		}
		if old.Relation != provenance.Fresh {
			seen = old.Seen
		}
	}
	open = make([]int, 0, l.log.Len())
	for i := range l.log.Len() {
		if seen != nil && seen(i) {
			l.teaching = append(l.teaching, i)
		} else {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return nil, errors.New("every row of the log had a part in the prior's file, and none is left to certify: " +
			"use a later log, or learn the prior anew")
	}
	if seen != nil {
		l.warn("%d rows had a part in the prior's file and do not certify", len(l.teaching))
	}
	l.seed, err = l.judge.Seed(before, l.o.Seed)
	return open, err
}

// mostTeaching is how many rows teach where nobody asks for a share: learning is saturated by then, see [train.Recipe],
// and the others make the guarantee tighter.
const mostTeaching = 1 << 22

// Of more than manyRows half teach before the chunks. More than mostChunked are one chunk: half are enough to learn
// from.
const manyRows, mostChunked = 50_000, 200_000

// settleSplit decides how the rows that no earlier policy saw are divided.
func (l *learning) settleSplit(open []int, teaches bool) {
	o, t := &l.o, &l.out.Training
	if o.Split == "" {
		o.Split = Random
		if l.log.Group != nil {
			o.Split = ByGroup
		}
	}
	l.settleChunks(open)
	few := o.Chunks > 1 && len(open) <= manyRows
	switch {
	case o.Share == 0 && teaches && few && l.log.Numbers != nil:
		o.Share = 0.35 // curves of numbers need fewer rows
	case o.Share == 0 && teaches && few:
		o.Share = 0.55
	case o.Share == 0 && teaches && l.rulesAlone() && o.Distil == nil && len(o.Requirements) == 0:
		// cuts need many rows, and are not learned in chunks; limits need more that certify
		o.Share = min(0.67, mostTeaching/float64(len(open)))
	case o.Share == 0 && teaches:
		o.Share = min(0.5, mostTeaching/float64(len(open)))
	case o.Share == 0:
		o.Share = 0.1
	}
	if l.judge.Clusters() != nil && o.Split == Random {
		o.Split = ByGroup
		if l.log.Group == nil {
			l.warn("rows repeat ids or contents: such rows are divided, and count, as one")
		} else {
			l.warn("rows of a group are never parted: they are divided by group")
		}
	}
	t.Split, t.Share = o.Split, o.Share
	if l.log.Time != nil && o.Split != ByTime && l.judge.Drift() != nil {
		if l.judge.Settled() {
			l.warn("the log drifts: setting split of time teaches by the earlier rows and certifies on the later " +
				"ones, which are nearer to what comes")
		} else {
			l.warn("the log drifts, or rewards of its newest rows are not in yet: leave out rows whose rewards may " +
				"still come")
		}
	}
}

// raiseShare raises the share of rows that teach before chunks certify, by up to .2, or of many rows .25, where effects
// are many for the rows: what is learned then still gains from each row. It reads contexts of rows that teach in any
// case, so the guarantee does not depend on it.
func (l *learning) raiseShare(teach, open []int) error {
	if l.log.Choices != nil {
		return nil
	}
	e, err := l.log.FitEncoder(logs.Pick(open, teach), l.scaling())
	if err != nil {
		return err
	}
	most, full := 0.2, 0.25 // the raise, and the effects for each row that have all of it
	if len(open) > manyRows {
		most, full = 0.25, 0.2
	}
	effects := float64(l.log.K()) * float64(e.Dim()) / float64(len(open))
	l.o.Share += most * min(1, effects/full)
	l.out.Training.Share = l.o.Share
	return nil
}

// frozen reports that a representation is to be learned on rows of their own, for a posterior.
func (l *learning) frozen() bool {
	return l.out.Training.Representation != "" && !l.objective.Recipe && l.family.HasPosterior()
}

// settleChunks decides the number of chunks for rows that no earlier policy saw.
func (l *learning) settleChunks(open []int) {
	o, drift := &l.o, l.judge.Drift()
	switch {
	case o.Chunks > 1 && drift != nil:
		l.warn("%s: the log drifts, and learning in chunks needs rows that are alike: they are one chunk", drift.Check)
		o.Chunks = 1
	case o.Chunks > 1 && l.log.Lists != nil:
		l.warn("a mixture of chunks draws a policy for each slot, and lists certify one policy: they are one chunk")
		o.Chunks = 1
	case o.Chunks > 0:
	case l.log.Lists != nil:
		o.Chunks = 1
	case !l.objective.Recipe || o.PriorFile != nil || l.log.Estimated || o.Split == ByTime || drift != nil,
		o.Simple, l.rulesAlone(): // a mixture of trees is harder to read
		o.Chunks = 1
	default:
		n, units := len(open), l.judge.Clusters()
		if units != nil {
			seen := map[int32]bool{}
			for _, r := range open {
				seen[units[r]] = true
			}
			n = len(seen)
		}
		o.Chunks = chunksOf(n, len(l.log.Names()))
	}
}

// chunksOf is the number of chunks of n rows, or groups, with so many names in the contexts.
func chunksOf(n, names int) int {
	if n < 50 || n > mostChunked || n > manyRows && names > mostWide { // those are slow to learn from
		return 1
	}
	return 6
}

// columns are what some rows of the log are divided by. Rows that may depend on one
// another are a group, whether the log has one or not.
func (l *learning) columns(rows []int) SplitBy {
	_, keys := l.log.Identity()
	units := l.judge.Clusters()
	if units == nil {
		units = l.log.Group
	}
	if len(rows) == l.log.Len() {
		return SplitBy{IDs: keys, Group: units, Time: l.log.Time}
	}
	return SplitBy{IDs: logs.Pick(keys, rows), Group: logs.Pick(units, rows), Time: logs.Pick(l.log.Time, rows)}
}
