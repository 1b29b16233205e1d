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

// traded returns the log with the reward (r + Σ_k λ_k r_k)/(1 + Σ_k λ_k) in place of r. r_k are the outcomes
// that have a requirement, scaled to [0, 1] and better when larger. A missing outcome counts as the worst.
func traded(log *logs.Log, outcomes []*logs.Beside, lambda []float64) *logs.Log {
	cost, total := make([]float64, log.Len()), 1+floats.Sum(lambda)
	for i, c := range log.Cost {
		for k, b := range outcomes {
			c += lambda[k] * b.Cost[i]
		}
		cost[i] = max(-1, c/total)
	}
	return withCost(log, cost)
}

// withCost returns the log with other costs.
func withCost(log *logs.Log, cost []float64) *logs.Log {
	out := *log
	out.Cost = cost
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
		best, l.out.Training.Even = l.weigh(ctx, lib, outcomes)
	}
	if even := l.out.Training.Even; even > 0 {
		l.o.Floor = 1 - (1-even)*(1-l.o.Floor)
		l.addFloor()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.out.Training.Traded = map[string]float64{}
	for k, r := range named {
		l.out.Training.Traded[r.Name] += best[k]
	}
	l.encoded = withCost(l.encoded, traded(l.log, outcomes, best).Cost)
	return nil
}

// evens are the shares of decisions that are drawn evenly which are tried.
var evens = []float64{0, 0.2, 0.4, 0.6, 0.8}

// weigh chooses λ, and the share of decisions to draw evenly, by rows that teach: for each λ one half of them teaches
// a policy that the other half judges, and the other way round. An action that just wins at λ mostly loses in one of
// the halves, which is then seen. What is chosen has the largest mean over both policies of the gain times the squared
// probability of "ship" at the number of rows that certify; without the square limits break more often
// (docs/evidence/outcomes.md). From λ = 0 the weight of the requirement that is the least probable grows, or all
// shrink where that is the goal, by steps that get shorter where they turn. Draws are even where no λ keeps a limit:
// of a log that was drawn evenly they are what the logging policy plays.
func (l *learning) weigh(ctx context.Context, lib library.Library, outcomes []*logs.Beside) (best []float64,
	even float64) {
	lambda := make([]float64, len(outcomes))
	best = slices.Clone(lambda)
	most, step, grew := math.Inf(-1), 4., true
	one, other, failed := Split(cmp.Or(l.out.Training.Split, Random), 0.5, l.o.Seed+1, len(l.teaching),
		l.columns(l.teaching))
	halves := [2][]int{logs.Pick(l.teaching, one), logs.Pick(l.teaching, other)}
	for range mostTrades {
		log, logged := traded(l.log, outcomes, lambda), make([]float64, l.log.Len())
		for h := range halves {
			if failed == nil {
				failed = l.learnAndPlay(ctx, lib, log, halves[1-h], halves[h], logged)
			}
		}
		if ctx.Err() != nil || failed != nil {
			break
		}
		worst := 0
		for _, share := range evens {
			total, worth := make([]float64, 1+len(outcomes)), [2]float64{}
			for h, rows := range halves {
				chances, gain := l.prospect(logged, rows, share)
				floats.Add(total, chances)
				worth[h] = 2*floats.Sum(chances) + math.Log(max(gain, 1e-6))
			}
			if worth := floats.LogSumExp(worth[:]); worth > most {
				best, even, most = slices.Clone(lambda), share, worth
			}
			if share == 0 {
				worst = floats.MinIdx(total)
			}
		}
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
	return best, even
}

// prospect is what rows say of a policy with the probabilities logged of what was done, if a share of its decisions is
// drawn evenly: the logarithms of the chances of [provenance.Chances], and the gain.
func (l *learning) prospect(logged []float64, rows []int, share float64) (chances []float64, gain float64) {
	pi := make([]float64, len(logged))
	for _, r := range rows {
		pi[r] = (1-share)*logged[r] + share/float64(l.log.Options(r))
		gain -= (pi[r]/l.log.Propensity[r] - 1) * l.log.Cost[r] / float64(len(rows))
	}
	// of requirements that were checked before anything was learned
	chances, _ = provenance.Chances(l.log, pi, rows, len(l.certifying), cmp.Or(l.o.Settings.Delta, 0.05),
		l.o.Requirements)
	return chances, gain
}

// learnAndPlay learns a policy from some rows, and writes to logged its probabilities of what was done in others.
func (l *learning) learnAndPlay(ctx context.Context, lib library.Library, log *logs.Log, learn, play []int,
	logged []float64) error {
	o := l.o
	o.Trading = Trading{}
	o.Chunks, o.Progress, o.Force, o.Split = 1, nil, true, l.out.Training.Split
	o.Seed += 2 // the rows that teach were divided from the others by hashes of the seed
	got, err := Learn(ctx, lib, log.Subset(learn), o)
	if err != nil {
		return err
	}
	pi, err := provenance.Logged(got.Served, l.log, play, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	for _, r := range play {
		logged[r] = pi[r]
	}
	return nil
}

// decide certifies the policy that was learned by all outcomes, in place of the certificate of what it was
// learned by.
func (l *learning) decide(ctx context.Context) error {
	out := l.out
	out.Certificate = nil
	if out.Unproven != "" {
		return nil
	}
	var err error
	out.Certificate, err = l.judge.File(ctx, out.Served, provenance.Options{Delta: cmp.Or(l.o.Settings.Delta, 0.05),
		Gamma: l.o.Gamma, Requirements: l.o.Requirements})
	var w *provenance.Withheld
	switch {
	case errors.As(err, &w):
		out.Unproven, out.File.Certificate, err = w.Reason, nil, nil
	case err == nil:
		out.File.Certificate, err = json.Marshal(out.Certificate)
	}
	if err == nil {
		out.Served, err = policyfile.New(out.File)
	}
	return err
}
