package ope

import (
	"math"
	"slices"

	"opl/train/logs"
)

// InUnits converts rewards to the log's own units, and adds what is guaranteed as Guaranteed and
// GainGuaranteed. The statements, which bounds on rewards in [0, 1] make, stay as they are, and so
// does a result that is converted already.
func (r Result) InUnits() Result {
	if r.inUnits {
		return r
	}
	r.inUnits = true
	u := logs.Units{Low: r.RewardMin, High: r.RewardMax}
	r.Logging = r.Logging.at(u)
	r.Policies, r.Pairs = slices.Clone(r.Policies), slices.Clone(r.Pairs)
	for i := range r.Policies {
		p := &r.Policies[i]
		p.HalfWidth *= u.Span()
		p.Estimates = slices.Clone(p.Estimates)
		for j := range p.Estimates {
			p.Estimates[j] = p.Estimates[j].in(u)
		}
		if g := p.Guarantee; g != nil {
			value, gain := u.At(g.Promise()), g.GainAtLeast()*u.Span()
			p.Guaranteed, p.GainGuaranteed = &value, &gain
		}
	}
	for i := range r.Pairs {
		r.Pairs[i].Interval = r.Pairs[i].Interval.times(u.Span())
	}
	return r
}

// InUnits converts rewards to the log's own units; a selection that is converted already stays as it is.
func (s Selection) InUnits() Selection {
	if s.inUnits {
		return s
	}
	s.inUnits = true
	u := logs.Units{Low: s.RewardMin, High: s.RewardMax}
	s.Logging, s.Targets = s.Logging.at(u), slices.Clone(s.Targets)
	for i := range s.Targets {
		t := &s.Targets[i]
		if t.AtLeast != nil {
			value, gain := u.At(*t.AtLeast), *t.GainAtLeast*u.Span()
			t.AtLeast, t.GainAtLeast = &value, &gain
		}
		if t.Estimate != nil {
			e := t.Estimate.in(u)
			t.Estimate = &e
		}
	}
	if s.RunnerUp != nil {
		p := *s.RunnerUp
		p.Interval = p.Interval.times(u.Span())
		s.RunnerUp = &p
	}
	return s
}

func (e Estimate) in(u logs.Units) Estimate {
	e.Interval, e.Gain = e.Interval.at(u), e.Gain.times(u.Span())
	return e
}

func (i Interval) at(u logs.Units) Interval {
	return Interval{u.At(i.Value), i.SE * u.Span(), u.At(i.Low), u.At(i.High)}
}

func (i Interval) times(span float64) Interval {
	return Interval{i.Value * span, i.SE * span, i.Low * span, i.High * span}
}

// Digits returns the decimals of rewards in a range that say as much as n decimals of rewards in [0, 1].
func Digits(low, high float64, n int) int {
	return max(0, n-int(math.Floor(math.Log10(logs.Units{Low: low, High: high}.Span()))))
}
