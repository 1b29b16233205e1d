package ope

import (
	"fmt"
	"slices"

	"opl/train/logs"
	"opl/train/provenance"
)

// OutcomeEstimate is the mean of another outcome under a policy, by rows that have it, in its own units.
type OutcomeEstimate struct {
	Name   string `json:"name"`   // without the prefix of its column
	Column string `json:"column"` // reward_NAME or cost_NAME
	Interval
	Logging Interval `json:"logging"` // of what logged the same rows
	Rows    int      `json:"rows"`    // that have a value
	Missing int      `json:"missing"` // rows that have none
}

// outcomes estimates what is required of a target by snips, or by ips for intervals that ask for bounds, on the rows
// that it did not learn from: clean, nil for all.
func (e *evaluation) outcomes(target Target, clean []int) (all []OutcomeEstimate, err error) {
	o := Options{Delta: e.Delta, Interval: e.Options.Interval, MaxWeight: e.MaxWeight, Seed: e.Seed,
		EstimatesAlone: true,
		Estimators:     []Estimator{SNIPS()}}
	if e.method.Bounded {
		o.Estimators = []Estimator{IPS()}
	}
	if clean == nil {
		clean = logs.Every(e.n)
	}
	for k, r := range e.Requirements {
		if r.By != "" || slices.ContainsFunc(e.Requirements[:k], func(q provenance.Requirement) bool {
			return q.Name == r.Name
		}) {
			continue
		}
		b, err := e.log.Beside(r.Name)
		if err != nil {
			return nil, err
		}
		rows := slices.DeleteFunc(slices.Clone(clean), func(i int) bool { return b.Missing != nil && b.Missing[i] })
		if len(rows) < 2 {
			continue
		}
		got, err := Evaluate(b.Log.Subset(rows), []Target{target.among(rows)}, o)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", b.Of.Column, err)
		}
		for _, v := range got.Policies[0].Estimates {
			all = append(all, OutcomeEstimate{Name: r.Name, Column: b.Of.Column, Interval: v.Interval.of(b),
				Logging: got.Logging.of(b), Rows: len(rows), Missing: len(clean) - len(rows)})
		}
	}
	return all, nil
}

// of is an interval in the units of an outcome.
func (i Interval) of(b *logs.Beside) Interval {
	if i = i.at(b.Units); b.Of.IsCost() {
		i.Value, i.Low, i.High = 0-i.Value, 0-i.High, 0-i.Low
	}
	return i
}

// answers are what several outcomes say of candidates, the best last. "": the reward alone decides, or nothing is
// guaranteed.
var answers = []provenance.Answer{"", provenance.Harm, provenance.Undecided, provenance.Ship}

func (c Candidate) answer() (a provenance.Answer) {
	if c.Decision != nil {
		a = c.Decision.Answer
	}
	return a
}

// rank is the place of the answer.
func (c Candidate) rank() int { return slices.Index(answers, c.answer()) }

// decideBy fills in what several outcomes say to do, given that each candidate's decision is at δ/m.
func (s *Selection) decideBy(d *provenance.Decision, worse bool) {
	best := s.Targets[0]
	switch {
	case s.Ship:
		s.Decision, s.Because = Ship, "ship "+best.Name+": "+d.Because
	case worse || best.Contradicts != "":
		s.Decision, s.Because = Keep, fmt.Sprintf("keep what plays: %s: %s", best.Name, d.Because)
	default:
		word := string(TooFew)
		if d.Untested != nil {
			word = string(provenance.Undecided)
		}
		s.Decision = TooFew
		s.Because = fmt.Sprintf("%s: %s: %s", word, best.Name, d.Because)
		if s.Needed = d.RowsNeeded; s.Needed > 0 {
			s.Because += fmt.Sprintf("; it takes %s", About(float64(s.Needed)))
		}
	}
}
