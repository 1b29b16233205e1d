package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/provenance"
)

// mostTrades is how many weights of outcomes are tried.
const mostTrades = 8

// traded is the log with the cost of (r + Σ_k λ_k r_k)/(1 + Σ_k λ_k) in place of that of the reward r, r_k
// the outcomes that something is required of, scaled to [0, 1] and better when larger; one that is missing
// counts as the worst.
func traded(log *logs.Log, outcomes []*logs.Beside, lambda []float64) *logs.Log {
	out := *log
	out.Cost = make([]float64, log.Len())
	total := 1.
	for _, l := range lambda {
		total += l
	}
	for i, c := range log.Cost {
		for k, b := range outcomes {
			c += lambda[k] * b.Cost[i]
		}
		out.Cost[i] = max(-1, c/total)
	}
	return &out
}

// trade makes the policy be learned of the reward and other outcomes, weighed by λ.
func (l *learning) trade(ctx context.Context, lib library.Library) error {
	var outcomes []*logs.Beside // of the requirements, but for segments, which are certified alone
	named := slices.DeleteFunc(slices.Clone(l.o.Requirements),
		func(r provenance.Requirement) bool { return r.By != "" })
	if len(named) == 0 {
		return nil
	}
	for _, r := range named {
		b, err := l.log.Beside(r.Name)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, b)
	}
	best := l.o.Trade
	if best == nil {
		best = l.weigh(ctx, lib, outcomes)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.out.Training.Traded = map[string]float64{}
	for k, r := range named {
		l.out.Training.Traded[r.Name] += best[k]
	}
	rows := *l.rows
	rows.Cost = traded(l.log, outcomes, best).Cost
	l.rows = &rows
	return nil
}

// weigh chooses λ by rows that teach: on one half of them a policy is learned for each λ, and the other half says how
// probable "ship" is at the number of rows that certify. From λ = 0 the weight of the requirement that is the least
// probable grows, or all shrink where that is the goal, by steps that get shorter where they turn.
func (l *learning) weigh(ctx context.Context, lib library.Library, outcomes []*logs.Beside) (best []float64) {
	lambda := make([]float64, len(outcomes))
	best = slices.Clone(lambda)
	most, step, grew := math.Inf(-1), 4., true
	learn, judge, failed := Split(cmp.Or(l.out.Training.Split, Random), 0.5, l.o.Seed+1, len(l.teaching),
		l.columns(l.teaching))
	for range mostTrades {
		if failed != nil {
			break
		}
		var chances []float64
		chances, failed = l.chances(ctx, lib, traded(l.log, outcomes, lambda), pick(l.teaching, learn),
			pick(l.teaching, judge))
		if ctx.Err() != nil {
			return nil
		} else if failed != nil {
			break
		}
		if sum := floats.Sum(chances); sum > most {
			best, most = slices.Clone(lambda), sum
		}
		worst := floats.MinIdx(chances)
		if grows := worst > 0; grows != grew {
			step, grew = math.Sqrt(step), grows
		}
		if worst == 0 {
			floats.Scale(1/step, lambda)
		} else if k := worst - 1; lambda[k] == 0 {
			lambda[k] = 0.25
		} else {
			lambda[k] *= step
		}
		if floats.Sum(lambda) == 0 { // the goal alone does not rise
			break
		}
	}
	if failed != nil {
		l.warn("the policy is learned by the reward alone, as too few rows teach to weigh other outcomes by: %v",
			failed)
	}
	return best
}

// pick returns the elements of a column at some places.
func pick[T any](column []T, places []int) []T {
	out := make([]T, len(places))
	for i, p := range places {
		out[i] = column[p]
	}
	return out
}

// chances are what others rows say of a policy which some rows of a log teach, see [provenance.Chances].
func (l *learning) chances(ctx context.Context, lib library.Library, log *logs.Log, learn, judge []int) ([]float64,
	error) {
	o := l.o
	o.Trading = Trading{}
	o.Chunks, o.Progress, o.Force, o.Split = 1, nil, true, l.out.Training.Split
	o.Seed += 2 // the rows that teach were divided from the others by hashes of the seed
	got, err := Learn(ctx, lib, log.Subset(learn), o)
	if err != nil {
		return nil, err
	}
	p, err := policyfile.New(got.File)
	if err != nil {
		return nil, err
	}
	pi, err := provenance.Logged(p, l.log, judge, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	return provenance.Chances(l.log, pi, judge, len(l.certifying), cmp.Or(l.o.Settings.Delta, 0.05), l.o.Requirements)
}

// decide certifies the policy that was learned by all outcomes, in place of the certificate of what it was
// learned by.
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
