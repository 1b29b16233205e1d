package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"

	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/provenance"
)

// trades are the weights λ that outcomes may have beside the reward's 1.
var trades = []float64{0, 1, 3, 10}

// traded is the log with the cost of (r + λ Σ_k r_k)/(1 + mλ) in place of that of the reward r, r_k the outcomes that
// something is required of, scaled to [0, 1] and better when larger; one that is missing counts as the worst.
func traded(log *logs.Log, outcomes []*logs.Beside, lambda float64) *logs.Log {
	out := *log
	out.Cost = make([]float64, log.Len())
	for i, c := range log.Cost {
		for _, b := range outcomes {
			c += lambda * b.Cost[i]
		}
		out.Cost[i] = max(-1, c/(1+float64(len(outcomes))*lambda))
	}
	return &out
}

// trade chooses λ by rows that teach, and makes the policy be learned of what it weighs: on one
// half of them a policy is learned for each λ, and the other half says how probable "ship" is at
// the number of rows that certify.
func (l *learning) trade(ctx context.Context, lib library.Library) error {
	var outcomes []*logs.Beside
	names := map[string]bool{}
	for _, r := range l.o.Requirements {
		b, err := l.log.Beside(r.Name)
		if err != nil {
			return err
		}
		if !names[r.Name] {
			outcomes = append(outcomes, b)
		}
		names[r.Name] = true
	}
	best, most := 1., math.Inf(-1)
	learn, judge, err := Split(cmp.Or(l.out.Training.Split, Random), 0.5, l.o.Seed+1, len(l.teaching),
		l.columns(l.teaching))
	if err == nil { // else there are too few rows to choose by
		for _, lambda := range trades {
			chance, err := l.chance(ctx, lib, traded(l.log, outcomes, lambda), pick(l.teaching, learn),
				pick(l.teaching, judge))
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				continue // too few rows to learn from
			}
			if chance > most {
				best, most = lambda, chance
			}
		}
	}
	l.out.Training.Traded = &best
	rows := *l.rows
	rows.Cost = traded(l.log, outcomes, best).Cost
	l.rows, l.search.Log = &rows, &rows
	if l.search.Judge != nil {
		l.search.Judge, err = l.judge.Of(l.rows)
		return err
	}
	return nil
}

// pick are some of the rows, by their places.
func pick(rows, places []int) []int {
	out := make([]int, len(places))
	for i, p := range places {
		out[i] = rows[p]
	}
	return out
}

// chance is the logarithm of the probability that a policy which some rows of a log teach is to be shipped, as others
// say of it.
func (l *learning) chance(ctx context.Context, lib library.Library, log *logs.Log, learn, judge []int) (float64,
	error) {
	o := l.o
	o.Requirements, o.Chunks, o.Progress, o.Force, o.Split = nil, 1, nil, true, l.out.Training.Split
	got, err := Learn(ctx, lib, log.Subset(learn), o)
	if err != nil {
		return 0, err
	}
	p, err := policyfile.New(got.File)
	if err != nil {
		return 0, err
	}
	pi, err := provenance.Logged(p, l.log, judge, runtime.GOMAXPROCS(0))
	if err != nil {
		return 0, err
	}
	return provenance.Chance(l.log, pi, judge, len(l.certifying), cmp.Or(l.o.Settings.Delta, 0.05), l.o.Requirements)
}

// decide certifies the policy that was learned by all outcomes, in place of the certificate of what it was learned by.
func (l *learning) decide(ctx context.Context) error {
	out := l.out
	out.Certificate = nil
	if out.Unproven != "" {
		return nil
	}
	p, err := policyfile.New(out.File)
	if err != nil {
		return err
	}
	out.Certificate, err = l.judge.File(ctx, p, provenance.Options{Delta: cmp.Or(l.o.Settings.Delta, 0.05),
		Gamma: l.o.Gamma, Requirements: l.o.Requirements})
	var w *provenance.Withheld
	switch {
	case errors.As(err, &w):
		out.Unproven, out.File.Certificate = w.Reason, nil
		return nil
	case err != nil:
		return err
	}
	out.File.Certificate, err = json.Marshal(out.Certificate)
	return err
}

// required refuses the requirements that no log could meet, before anything is learned.
func required(log *logs.Log, all []provenance.Requirement) error {
	_, err := provenance.Chance(log, nil, nil, 1, 0.05, all)
	return err
}
