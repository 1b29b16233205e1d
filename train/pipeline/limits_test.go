package pipeline_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// conflict is a world in which what earns more makes more people sick. Actions are logged with the same probabilities
// in all contexts, which are two numbers from −1 to 1.
type conflict struct {
	name         string
	pi0          []float64
	reward, sick func(a int, x []float64) float64 // means
	limit        float64                          // of the guardrail
}

func means(by ...float64) func(int, []float64) float64 {
	return func(a int, _ []float64) float64 { return by[a] }
}

func is(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

var third = []float64{1. / 3, 1. / 3, 1. / 3}

var conflicts = []conflict{
	// at some weight both treatments are worth the same
	{"the second best is harmless", third, means(.2, .6, .7), means(.2, .1, .6), -.02},
	{"the best is harmless in half of the contexts", third, means(.2, .5, .7), func(a int, x []float64) float64 {
		return .15 - .05*is(a == 2 && x[0] > 0) + .45*is(a == 2 && x[0] <= 0)
	}, -.02},
	{"who earns harms", third, means(.3, .5, .7), means(.1, .2, .5), -.02},
	// no weight keeps the limit, but playing the better action less often does
	{"a little harm is allowed", []float64{.5, .5}, means(.35, .7), means(.1, .2), -.03},
	{"a little harm is allowed, uneven", []float64{.8, .2}, means(.35, .7), means(.1, .2), -.05},
	{"products", third, func(a int, x []float64) float64 {
		return .3 + .4*is(a == 1 && x[1] > 0 || a == 2 && x[1] <= 0) + .1*is(a == 2)
	}, func(a int, x []float64) float64 { return .1 + .4*is(a == 2 && x[0] > 0) }, -.02},
}

func (w conflict) draw(t *testing.T, n int, seed uint64) *logs.Log {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var rows []logs.Decision
	var sick []float64
	for range n {
		x := []float64{2*r.Float64() - 1, 2*r.Float64() - 1}
		u, a := r.Float64(), 0
		for ; a < len(w.pi0)-1 && u >= w.pi0[a]; a++ {
			u -= w.pi0[a]
		}
		d := logs.Decision{Action: a, Propensity: w.pi0[a], Propensities: w.pi0, Context: contextOf(x)}
		d.Cost = -is(r.Float64() < w.reward(a, x))
		rows, sick = append(rows, d), append(sick, is(r.Float64() < w.sick(a, x)))
	}
	l, err := logs.Collect([]string{"none", "mild", "strong"}[:len(w.pi0)], rows)
	if err != nil {
		t.Fatal(err)
	}
	l.Outcomes = []logs.Outcome{{Column: "cost_sick", Values: sick}}
	return l
}

func contextOf(x []float64) []features.Value {
	return []features.Value{{Name: "x_a", Number: x[0]}, {Name: "x_b", Number: x[1]}}
}

// truth is what a policy changes.
func (w conflict) truth(t *testing.T, play *policyfile.Policy) (gain, harm float64) {
	t.Helper()
	const grid = 40
	pi := make([]float64, len(w.pi0))
	for i := range grid * grid {
		x := []float64{(float64(i/grid)+.5)/grid*2 - 1, (float64(i%grid)+.5)/grid*2 - 1}
		if err := play.Propensities(pi, contextOf(x)); err != nil {
			t.Fatal(err)
		}
		for a, q := range pi {
			gain += (q - w.pi0[a]) * w.reward(a, x) / (grid * grid)
			harm += (q - w.pi0[a]) * w.sick(a, x) / (grid * grid)
		}
	}
	return gain, harm
}

// What is learned keeps its limit in the world where it can, since λ is judged by policies of both halves of the rows
// that teach, and decisions are drawn evenly where no λ keeps it. Each of these logs broke it before. OPL_LOGS=20 draws
// that many logs of OPL_ROWS rows of all worlds, and counts.
func TestLearnOutcomes_KeepsLimits(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("OPL_LOGS"))
	n, _ := strconv.Atoi(os.Getenv("OPL_ROWS"))
	few := map[string][]uint64{conflicts[0].name: {0, 3}, conflicts[3].name: {0}}
	for _, w := range conflicts {
		seeds := few[w.name]
		for s := range count {
			seeds = append(seeds[:min(s, len(seeds))], uint64(s))
		}
		if len(seeds) == 0 {
			continue
		}
		var ships, harms, breaks, falsely int
		var gained float64
		for _, seed := range seeds {
			o := pipeline.Options{Floor: .05, Policy: pipeline.Rules, Settings: train.Settings{Representation: "none"}}
			o.Requirements = []provenance.Requirement{{Name: "sick", Limit: w.limit}}
			got, err := pipeline.Learn(context.Background(), library.Standard(), w.draw(t, max(n, 1000), seed), o)
			if err != nil {
				t.Fatal(err)
			}
			p, err := policyfile.New(got.File)
			if err != nil {
				t.Fatal(err)
			}
			gain, harm := w.truth(t, p)
			breaks += int(is(harm > -w.limit))
			d := got.Certificate.Statement().Decided()
			if harms += int(is(d.Answer == provenance.Harm)); d.Answer == provenance.Ship {
				ships, gained, falsely = ships+1, gained+gain, falsely+int(is(gain <= 0 || harm > -w.limit))
			}
			if even := got.Training.Even; (even > 0) != (got.File.Floor > o.Floor) {
				t.Errorf("%s, seed %d: %v are drawn evenly, with a floor of %v", w.name, seed, even, got.File.Floor)
			}
		}
		t.Logf("%s: of %d logs %d ship, %d show harm, %d break the limit; shipped gain %.3f a log", w.name, len(seeds),
			ships, harms, breaks, gained/float64(len(seeds)))
		if count == 0 && breaks > 0 || falsely > max(1, count/8) {
			t.Errorf("%s: %d of %d policies break the limit, %d ship falsely", w.name, breaks, len(seeds), falsely)
		}
	}
}
