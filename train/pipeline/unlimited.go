package pipeline

import (
	"math"
	"slices"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// unlimited warns of outcomes that get worse by more than a standard error, by the rows that certify, and that nothing
// is required of.
func (l *learning) unlimited() error {
	if l.log.Lists != nil || len(l.certifying) == 0 {
		return nil
	}
	var reads []string // by the reward, which was checked when the log was read
	if f := l.log.Formula; f != nil {
		reads, _ = logs.FormulaReads(f.Reward)
	}
	for _, o := range l.log.Outcomes {
		asked := func(r provenance.Requirement) bool { return r.Name == o.Name() }
		if o.IsText() || o.Values == nil || slices.Contains(reads, o.Name()) ||
			slices.ContainsFunc(l.o.Requirements, asked) {
			continue
		}
		// Its cost in the range of what was seen. Rows that lack it have the mean.
		log, u, logged := *l.encoded, logs.Units{Low: math.Inf(1), High: math.Inf(-1)}, 0.
		var rows int
		for _, r := range l.certifying {
			if v := o.Values[r]; !math.IsNaN(v) {
				u, logged, rows = logs.Units{Low: min(u.Low, v), High: max(u.High, v)}, logged+v, rows+1
			}
		}
		if rows < certify.Few || !(u.Low < u.High) {
			continue
		}
		logged /= float64(rows)
		log.Cost = make([]float64, len(o.Values))
		for i, v := range o.Values {
			if math.IsNaN(v) {
				v = logged
			}
			log.Cost[i] = -min(1, max(0, (v-u.Low)/u.Span()))
		}
		e, err := l.estimateOf(&log)
		if err != nil {
			return err
		}
		share := float64(rows) / float64(len(l.certifying)) // of rows that have it: the others do not tell
		worse, se := (u.Low+e.Reward*u.Span()-logged)/share, e.SE*u.Span()/share
		value := logged + worse
		if !o.IsCost() {
			worse = -worse
		}
		if worse > se && e.Doubt() == "" {
			l.warn("column %s gets worse: %.3g ± %.2g by the rows that certify, and %.3g logged; no limit is set for it: "+
				"setting guardrail %s:-MARGIN says how much worse it may get", o.Column, value, 1.96*se, logged, o.Name())
		}
	}
	return nil
}
