package pipeline

import (
	"context"
	"errors"

	"opl/train/library"
	"opl/train/logs"
	"opl/train/provenance"
)

// Frontier is a path of policies from what earns the most to what keeps an outcome the best.
type Frontier struct {
	Delta  float64 `json:"delta"`  // all bounds hold together with probability 1 − δ
	Points []Point `json:"points"` // from the weight 0 of the outcome to the largest
}

// Point holds a policy of the path, with what is guaranteed of it.
type Point struct {
	Lambda float64 `json:"lambda"` // weight of the outcome beside the reward's 1
	// Decision at δ over the number of points M; what it says Together is at δ/(2M), so that all of the path holds.
	// Nil: see Unproven.
	Decision *provenance.Decision `json:"decision,omitempty"`
	Unproven string               `json:"unproven,omitempty"` // why there is no Decision; empty: there is one
	*Learned `json:"-"`
}

// mostTraded is the weight of the outcome at the end of the path.
const mostTraded = 100.

// Trace learns m policies from a log by the options' one requirement, the outcome weighed by λ = w/(1 − w) beside
// the reward, w evenly spaced from 0 to nearly 1. λ is fixed before the rows are seen, and each policy is certified at
// δ/m. told is called before each.
func Trace(ctx context.Context, lib library.Library, log *logs.Log, m int, o Options, told func(point int)) (*Frontier,
	error) {
	if len(o.Requirements) != 1 || o.Requirements[0].By != "" {
		return nil, errors.New("a path is of the reward and one other outcome: want one setting guardrail or setting budget")
	}
	if m < 2 {
		return nil, errors.New("setting points: want at least 2")
	}
	out := &Frontier{Delta: o.Settings.Delta}
	k := known{judge: provenance.Within(log, o.Gamma)}
	o.Settings.Delta = out.Delta / float64(m)
	for i := range m {
		told(i + 1)
		p := Point{Lambda: mostTraded}
		if w := float64(i) / float64(m-1); w < mostTraded/(1+mostTraded) {
			p.Lambda = w / (1 - w)
		}
		o.Trade = []float64{p.Lambda}
		var err error
		if p.Learned, err = learn(ctx, lib, log, o, k); err != nil {
			return nil, err
		}
		if p.Unproven = p.Learned.Unproven; p.Certificate != nil {
			p.Decision = p.Certificate.Statement().Decided()
		}
		out.Points = append(out.Points, p)
	}
	return out, nil
}
