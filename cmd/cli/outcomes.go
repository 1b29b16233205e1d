package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/policyfile"
	"opl/train/provenance"
)

// outcomeFlags are the flags of commands that judge other outcomes beside the reward.
type outcomeFlags struct {
	guardrails, budgets, atRandom, by []string
}

func (f *outcomeFlags) add(fl *pflag.FlagSet) {
	repeated(fl, &f.guardrails, "guardrail")
	repeated(fl, &f.budgets, "budget")
	repeated(fl, &f.by, "guardrail-by")
	bind(fl, &f.atRandom, "missing-at-random", nil)
}

// asked reports that an outcome beside the reward is asked for.
func (f *outcomeFlags) asked() bool { return len(f.guardrails)+len(f.budgets)+len(f.by) > 0 }

// read says how outcomes are read, and what is required of them.
func (f *outcomeFlags) read(log *readFlags) (all []provenance.Requirement, err error) {
	log.AtRandom = f.atRandom
	for _, text := range f.guardrails {
		name, margin, ok := strings.Cut(text, ":")
		percent := strings.HasSuffix(margin, "%")
		v, err := strconv.ParseFloat(strings.TrimSuffix(margin, "%"), 64)
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("--guardrail %s: want NAME:MARGIN, such as complaints:-0.01 or complaints:-5%%",
				text)
		}
		if percent {
			v /= 100
		}
		all = append(all, provenance.Requirement{Name: name, Limit: v, Relative: percent})
	}
	for _, text := range f.by {
		at := strings.LastIndexByte(text, ':')
		v, err := strconv.ParseFloat(text[at+1:], 64)
		if at < 1 || err != nil {
			return nil, fmt.Errorf("--guardrail-by %s: want COLUMN:MARGIN, such as x_country:-0.02", text)
		}
		all = append(all, provenance.Requirement{By: log.called(text[:at]), Limit: v})
	}
	for _, text := range f.budgets {
		name, most, ok := strings.Cut(text, "=")
		v, err := strconv.ParseFloat(most, 64)
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("--budget %s: want NAME=MOST, such as spend=0.35", text)
		}
		all = append(all, provenance.Requirement{Name: name, Limit: v, Budget: true})
	}
	for _, r := range all {
		log.required = append(log.required, r.Name)
	}
	for _, name := range f.atRandom {
		if !slices.Contains(log.required, name) {
			return nil, fmt.Errorf("--missing-at-random %s: no --guardrail and no --budget is of it", name)
		}
	}
	return all, nil
}

// limitsOf are the limits that a policy was trained with and flags do not replace; --range may be of them. What is
// asked may call columns as the policy's own log did.
func (f *readFlags) limitsOf(p *policyfile.Policy, asked []provenance.Requirement) []provenance.Limit {
	for i := range asked {
		asked[i].By = f.called(asked[i].By)
	}
	limits := provenance.LimitsOf(p.File(), asked)
	for _, limit := range limits {
		f.required = append(f.required, limit.Name)
	}
	return limits
}

// asBefore are limits of a policy's file as requirements, which the user is told.
func asBefore(cmd *cobra.Command, limits []provenance.Limit) (all []provenance.Requirement) {
	for _, limit := range limits {
		all = append(all, limit.Requirement)
		cmd.PrintErrf("opl: %s, as the policy's file says\n", limit)
	}
	return all
}
