package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"opl/policies/policyfile"
	"opl/train/rules"
)

// Rules is the name of shallow trees, as a policy and as a learner.
const Rules = "rules"

var errUnit = errors.New("rules split columns as they are logged: leave out setting unit, or distil a policy whose " +
	"contexts are not divided by their norm")

var errWide = fmt.Errorf("rules take a fixed list of at most %d actions, and at most %d features, one of each "+
	"number and each value of a category: leave out columns, or take other learners", mostRuled, mostWide)

// Distils reports that [Options.Distil] takes a policy, as far as the policy alone tells.
func Distils(p *policyfile.Policy) bool {
	return !p.HasItems() && p.Len() <= mostRuled && !slices.ContainsFunc(p.File().Components,
		func(c policyfile.Component) bool { return c.Encoder.Unit || c.Encoder.Dim() > mostWide })
}

// rulesAlone reports that nothing but shallow trees is learned.
func (l *learning) rulesAlone() bool { return slices.Equal(l.o.Learners, []string{Rules}) }

// readable settles what asks for shallow trees.
func (l *learning) readable() error {
	o := &l.o
	if o.Policy == Rules {
		if o.Learners != nil && !l.rulesAlone() {
			return fmt.Errorf("policy %s has the learner %[1]s alone", Rules)
		}
		o.Policy, o.Learners = "", []string{Rules}
	}
	if o.Distil != nil {
		switch {
		case o.PriorFile != nil || o.Prior != "":
			return errors.New("what is distilled is the prior: leave out setting prior")
		case o.Distil.HasItems():
			return errors.New("rules are of a fixed list of actions, and the policy that is distilled chooses by " +
				"what actions are described by")
		}
		o.Learners, o.PriorFile = []string{Rules}, o.Distil
	}
	trees := o.Simple || slices.Contains(o.Learners, Rules)
	switch {
	case trees && !l.objective.Recipe:
		return fmt.Errorf("objective %s learns in its own way: rules are of the certified recipe", l.objective.Name)
	case trees && l.log.Choices != nil:
		return errors.New("rules are of a fixed list of actions, and the actions of this log have features or " +
			"differ from row to row")
	case trees && o.Scaling.Unit:
		return errUnit
	case o.Depth != 0 && (!trees || o.Simple):
		return errors.New("setting depth is of policy rules")
	case o.Depth < 0 || o.Depth > rules.MaxDepth:
		return fmt.Errorf("depth %d: want 1 to %d", o.Depth, rules.MaxDepth)
	}
	return nil
}
