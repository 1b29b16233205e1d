package pipeline_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/testdata/long"
	"opl/train"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// clinic is a log in which the treatment that earns the most makes people sick, and the second best does not.
func clinic(t *testing.T, n int, seed uint64) *logs.Log {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var rows []logs.Decision
	var sick []float64
	for range n {
		a := r.IntN(3)
		d := logs.Decision{Action: a, Propensity: 1. / 3, Propensities: []float64{1. / 3, 1. / 3, 1. / 3},
			Context: []features.Value{{Name: "x_a", Number: r.Float64()}}}
		if r.Float64() < []float64{.2, .6, .7}[a] {
			d.Cost = -1
		}
		v := 0.
		if r.Float64() < []float64{.2, .1, .6}[a] {
			v = 1
		}
		rows, sick = append(rows, d), append(sick, v)
	}
	l, err := logs.Collect([]string{"none", "mild", "strong"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	l.Outcomes = []logs.Outcome{{Column: "cost_sick", Values: sick}}
	return l
}

// A guardrail changes what is learned, by the rows that teach, and the certificate says what it came to.
func TestLearn_TradesRewardForAGuardrail(t *testing.T) {
	long.Test(t)
	learn := func(l *logs.Log, all ...provenance.Requirement) *pipeline.Learned {
		t.Helper()
		out, err := pipeline.Learn(context.Background(), library.Standard(), l,
			pipeline.Options{Settings: train.Settings{Epochs: 2}, Trading: pipeline.Trading{Requirements: all}, Floor: .05})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	limit := provenance.Requirement{Name: "sick", Limit: -.02}
	l, later := clinic(t, 2400, 1), clinic(t, 4000, 2)
	plain, guarded := learn(l), learn(l, limit)
	if w := guarded.Training.Traded; w["sick"] == 0 || len(guarded.Training.Warnings) > 0 || plain.Training.Traded != nil {
		t.Errorf("traded at %v", w)
	}
	for what, c := range map[string]struct {
		learned *pipeline.Learned
		want    provenance.Answer
	}{"the reward alone": {plain, provenance.Harm}, "with a guardrail": {guarded, provenance.Ship}} {
		t.Run(what, func(t *testing.T) {
			p, err := policyfile.New(c.learned.File)
			if err != nil {
				t.Fatal(err)
			}
			cert, err := provenance.New(later).File(context.Background(), p,
				provenance.Options{Requirements: []provenance.Requirement{limit}})
			if err != nil {
				t.Fatal(err)
			}
			if d := cert.Statement().Decision; d.Answer != c.want {
				t.Errorf("%s, want %s: %s", d.Answer, c.want, d.Because)
			}
		})
	}
	var s provenance.Statement
	if err := json.Unmarshal(guarded.File.Certificate, &s); err != nil || s.Decision == nil || len(s.Decision.Outcomes) != 2 {
		t.Errorf("the file's certificate has no decision: %v", err)
	}
	// The certificate is of the reward itself, not of what was learned by.
	if c := guarded.Certificate.Statement(); c.Estimate.Reward < .5 || c.Estimate.Reward > .7 {
		t.Errorf("an estimate of %v", c.Estimate.Reward)
	}
	_, err := pipeline.Learn(context.Background(), library.Standard(), l, pipeline.Options{Trading: pipeline.Trading{
		Requirements: []provenance.Requirement{{Name: "none", Limit: -.1}}}})
	if err == nil || !strings.Contains(err.Error(), "no column reward_none or cost_none") {
		t.Error(err)
	}
}

// A path goes from what earns the most to what keeps the outcome the best, and its bounds share δ.
func TestTrace_SharesDeltaAlongThePath(t *testing.T) {
	o := pipeline.Options{Settings: train.Settings{Delta: .05}, Floor: .05, Policy: pipeline.Rules}
	o.Requirements = []provenance.Requirement{{Name: "sick", Limit: -.02}}
	path, err := pipeline.Trace(context.Background(), library.Standard(), clinic(t, 1500, 3), 3, o, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	var gain, sick []float64
	for _, p := range path.Points {
		d := p.Decision
		if d == nil || d.Delta != .05/3 || len(d.Outcomes) != 2 {
			t.Fatalf("%s: %+v", p.Unproven, d)
		}
		for _, of := range d.Outcomes { // at δ/2m, and so beyond the bound at δ/m
			if of.Slack(of.Together) >= of.Slack(of.Bound) || of.Slack(of.Bound) >= of.Slack(of.Point) {
				t.Errorf("%s: estimate %v, bound %v alone and %v together", of.Name, of.Point, of.Bound, of.Together)
			}
		}
		if p.Training.Traded["sick"] != p.Lambda {
			t.Errorf("learned at λ = %v, want %v", p.Training.Traded, p.Lambda)
		}
		gain, sick = append(gain, d.Outcomes[0].Estimate), append(sick, d.Outcomes[1].Estimate)
	}
	if path.Points[0].Lambda != 0 || path.Points[1].Lambda != 1 || !(gain[0] > gain[2]) || !(sick[0] > sick[1] && sick[1] > sick[2]-.03) {
		t.Errorf("gains %v, sick %v", gain, sick)
	}
}

// Rules weigh outcomes by the same scores: the tree leaves the treatment that makes people sick.
func TestLearn_OfRulesWeighsOutcomes(t *testing.T) {
	for limit, want := range map[float64]string{-.02: "mild", -.9: "strong"} {
		o := pipeline.Options{Policy: pipeline.Rules, Floor: .05}
		o.Requirements = []provenance.Requirement{{Name: "sick", Limit: limit}}
		got, err := pipeline.Learn(context.Background(), library.Standard(), clinic(t, 2400, 1), o)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policyfile.New(got.File)
		if err != nil {
			t.Fatal(err)
		}
		pi := make([]float64, 3)
		if err := p.Propensities(pi, []features.Value{{Name: "x_a", Number: .5}}); err != nil {
			t.Fatal(err)
		}
		at := 0
		for a, q := range pi {
			if q > pi[at] {
				at = a
			}
		}
		if d := got.Certificate.Statement().Decided(); p.Actions()[at] != want || d == nil || len(d.Outcomes) != 2 {
			t.Errorf("margin %v: plays %s with %v, want %s: %+v", limit, p.Actions()[at], pi, want, d)
		}
	}
}

// The bounds of all points of a path hold together but with probability δ. OPL_LONG=1 draws 200 logs by the seed OPL_SEED.
func TestTrace_BoundsHoldTogether(t *testing.T) {
	count, delta, broken, slack := 3, .2, 0, 0.
	if os.Getenv("OPL_LONG") != "" {
		count = 200
	}
	seed, _ := strconv.ParseUint(os.Getenv("OPL_SEED"), 10, 64)
	o := pipeline.Options{Settings: train.Settings{Delta: delta}, Floor: .1, Policy: pipeline.Rules}
	o.Requirements = []provenance.Requirement{{Name: "sick", Limit: -.02}}
	reward, sick := []float64{.2, .6, .7}, []float64{.2, .1, .6}
	for i := range count {
		path, err := pipeline.Trace(context.Background(), library.Standard(), clinic(t, 500, 100+seed+uint64(i)), 3, o, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		bad := false
		for _, p := range path.Points {
			play, err := policyfile.New(p.File)
			if err != nil || p.Decision == nil {
				t.Fatal(err, p.Unproven)
			}
			var gain, harm float64
			pi := make([]float64, 3)
			const grid = 500
			for k := range grid {
				if err := play.Propensities(pi, []features.Value{{Name: "x_a", Number: (float64(k) + .5) / grid}}); err != nil {
					t.Fatal(err)
				}
				for a, q := range pi {
					gain, harm = gain+(q-1./3)*reward[a]/grid, harm+(q-1./3)*sick[a]/grid
				}
			}
			of := p.Decision.Outcomes
			bad = bad || of[0].Together > gain || of[1].Together < harm
			slack += (gain - of[0].Together) / float64(3*count)
		}
		if bad {
			broken++
		}
	}
	t.Logf("%d of %d paths from seed %d have a bound that is false, δ = %v; mean slack of the gain %.3f", broken, count, seed, delta, slack)
	if n := float64(count); float64(broken) > delta*n+2.33*math.Sqrt(delta*(1-delta)*n) || slack > .4 {
		t.Errorf("%d of %d paths, mean slack %v", broken, count, slack)
	}
}
