package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// The world: an age, a country that decides with the age which action is best, and a number that nothing depends on.
var countries = []string{"DE", "FR", "US", "JP"}

func best(age float64, country int) int {
	switch {
	case country < 2 && age <= 40:
		return 0
	case country < 2:
		return 1
	}
	return 2
}

// mean is the mean reward of an action; in the last country the policy's choice is the worse one.
func mean(age float64, country, a int) float64 {
	good := best(age, country) == a
	if country == 3 {
		good = !good
	}
	if good {
		return .6
	}
	return .3
}

func world(t *testing.T, n int, seed uint64, full bool) *logs.Log {
	t.Helper()
	return collect(t, decisions(n, seed, full))
}

func collect(t *testing.T, all []logs.Decision) *logs.Log {
	t.Helper()
	l, err := logs.Collect([]string{"a", "b", "c"}, all)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func decisions(n int, seed uint64, full bool) (all []logs.Decision) {
	r := rand.New(rand.NewPCG(seed, 11))
	for i := range n {
		age, country := float64(18+r.IntN(60)), r.IntN(4)
		a, pi := r.IntN(4), []float64{.5, .25, .25}
		if a = max(0, a-1); a > 2 {
			a = 2
		}
		d := logs.Decision{ID: fmt.Sprint(seed, "-", i), Action: a, Propensity: pi[a], Weight: 1, Context: []features.Value{
			{Name: "age", Number: age}, {Name: "country=" + countries[country], Number: 1}, {Name: "luck", Number: r.NormFloat64()}}}
		if full {
			d.Propensities = pi
		}
		if r.Float64() < mean(age, country, a) {
			d.Cost = -1
		}
		all = append(all, d)
	}
	return all
}

// policy plays what is best in three of the countries, and was learned from no log; scored says that it is none of
// trees.
func policy(t *testing.T, scored bool) *policyfile.Policy {
	t.Helper()
	e, err := features.New(features.Encoder{Names: []string{"age", "country=DE", "country=FR", "country=US"},
		Scale: []float64{.05, 1, 1, 1}, Center: []float64{48, 0, 0, 0}, Impute: true})
	if err != nil {
		t.Fatal(err)
	}
	cut := e.Number(0, 40)
	c := policyfile.Component{Weight: 1, Kind: policyfile.ArgMax, Encoder: e}
	if scored { // a layer of two features: young, European
		c.Layers = []features.Layer{{Weights: [][]float64{{-1000, 0, 0, 0}, {0, 1, 1, 0}}, Bias: []float64{1000*cut + 1e-6, 0}}}
		c.Layers = append(c.Layers, features.Layer{Weights: [][]float64{{1, 0}, {-1, 0}, {0, 1}}, Activation: "relu"},
			features.Layer{Weights: [][]float64{{.001, 0, 1}, {0, .001, 1}, {0, 0, -1}}, Bias: []float64{0, 0, .5}})
	} else {
		f := &features.Forest{In: 4, Base: []float64{0, 0, 0}, Sets: [][]int32{{1, 2}}, Outputs: []int32{0, 1, 2}, Sizes: []int32{5, 5, 5}}
		for a := range 3 {
			leaf := func(of int) float64 { return map[bool]float64{true: 1}[a == of] }
			f.Feature = append(f.Feature, -2, 0, -1, -1, -1)
			f.Value = append(f.Value, 0, cut, leaf(0), leaf(1), leaf(2))
			f.Right = append(f.Right, 4, 2, 0, 0, 0)
		}
		c.Layers = []features.Layer{{Trees: f}}
	}
	c.Weights = identity(3)
	p, err := policyfile.New(&policyfile.File{Actions: []string{"a", "b", "c"}, Floor: .06, RewardMax: 1,
		History: policyfile.History{Known: true}, Components: []policyfile.Component{c}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// gain is the true gain in a country.
func gain(country int) (g float64) {
	pi := []float64{.5, .25, .25}
	for age := 18.; age < 78; age++ {
		for a, p := range pi {
			q := .02
			if a == best(age, country) {
				q = .96
			}
			g += (q - p) * mean(age, country, a) / 60
		}
	}
	return g
}

// The first half of the log has European rows alone, in which countries make no difference.
func TestPolicy_MeasuresColumnsAllOverASortedLog(t *testing.T) {
	all := decisions(2*mostPermuted+1000, 3, true)
	slices.SortStableFunc(all, func(a, b logs.Decision) int { return strings.Compare(a.Context[1].Name, b.Context[1].Name) })
	log := collect(t, all)
	e, err := Policy(t.Context(), policy(t, false), log, provenance.New(log), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(e.Importance, func(c Column) bool { return c.Name == "country" }); e.Importance[i].Loss < .01 {
		t.Errorf("importance %+v", e.Importance)
	}
}

func TestPolicy_SaysWhatItDoes(t *testing.T) {
	for _, scored := range []bool{false, true} {
		log, p := world(t, 3000, 1, scored), policy(t, scored)
		e, err := Policy(t.Context(), p, log, provenance.New(log), Options{By: []string{"country", "age"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Notes) > 0 || e.Judged != 3000 {
			t.Errorf("%d judged, notes %q", e.Judged, e.Notes)
		}
		truth := 0.
		for c := range 4 {
			truth += gain(c) / 4
		}
		if math.Abs(e.Gain-truth) > 4*e.GainSE || e.GainSE > .03 {
			t.Errorf("gain %v ± %v, truth %v", e.Gain, e.GainSE, truth)
		}
		if s := e.Surrogate; s.Exact == scored || s.Fidelity < .97 || !strings.Contains(s.Rules, "age <= 40") || len(s.Leaves) < 3 {
			t.Errorf("surrogate %+v", s)
		}
		if len(e.Importance) != 2 || e.Importance[0].Loss < e.Importance[1].Loss || e.Importance[1].Loss < .01 {
			t.Errorf("importance %+v", e.Importance)
		}
		if i := slices.IndexFunc(e.Segments, func(s Segment) bool { return s.Name == "JP" }); e.Segments[i].Gain > 0 {
			t.Errorf("the segment that loses: %+v", e.Segments[i])
		}
		if len(e.Segments) != 8 {
			t.Errorf("%d segments: %+v", len(e.Segments), e.Segments)
		}
		// the policy knows no JP
		if c := e.Unlike.Columns; len(c) != 1 || c[0].Name != "country" || math.Abs(c[0].Rows-.25) > .05 {
			t.Errorf("unlike: %+v", e.Unlike)
		}
	}
}

// TestSegments_BoundsHoldTogether: one of the bounds of four segments is above the truth on at most a share δ of
// logs.
func TestSegments_BoundsHoldTogether(t *testing.T) {
	count, delta := 60, .2
	if os.Getenv("OPL_LONG") != "" {
		count = 1000
	}
	p, failed := policy(t, false), 0
	segments := make([][]int, 4)
	var slack float64
	for seed := range count {
		log := world(t, 600, uint64(100+seed), seed%2 == 0)
		x, err := read(log, p.Inputs())
		if err != nil {
			t.Fatal(err)
		}
		for c := range segments {
			segments[c] = segments[c][:0]
			for row := range log.Len() {
				if x.at(row, "country="+countries[c]) == 1 {
					segments[c] = append(segments[c], row)
				}
			}
		}
		gains, err := provenance.New(log).Segments(p, segments, provenance.Options{Delta: delta})
		if err != nil {
			t.Fatal(err)
		}
		if seed == 0 { // each has δ over their number
			one, err := provenance.New(log).Segments(p, segments[:1], provenance.Options{Delta: delta / 4})
			if err != nil || one[0] != gains[0] {
				t.Errorf("alone at δ/4 %v, among four at δ %v, %v", one, gains, err)
			}
		}
		bad := false
		for c, g := range gains {
			bad = bad || g > gain(c)
			slack += (gain(c) - g) / float64(4*count)
		}
		if bad {
			failed++
		}
	}
	t.Logf("false together on %d of %d logs at δ = %v; mean slack %.3f", failed, count, delta, slack)
	if most := delta*float64(count) + 3*math.Sqrt(delta*(1-delta)*float64(count)); float64(failed) > most {
		t.Errorf("false together on %d of %d logs, δ = %v", failed, count, delta)
	}
	if slack > .3 {
		t.Errorf("the bounds say nothing: mean slack %v", slack)
	}
}

// TestGuardrails_FindTheSegmentThatLoses: one country of four loses by the policy.
func TestGuardrails_FindTheSegmentThatLoses(t *testing.T) {
	p := policy(t, false)
	for _, c := range []struct {
		n     int
		limit float64
		want  provenance.Answer
	}{{6000, -.02, provenance.Harm}, {6000, -.5, provenance.Ship}, {300, -.02, provenance.Undecided}} {
		log := world(t, c.n, 5, true)
		cert, err := provenance.New(log).File(t.Context(), p, provenance.Options{Delta: .05, Fresh: true,
			Requirements: []provenance.Requirement{{By: "country", Limit: c.limit}}})
		if err != nil {
			t.Fatal(err)
		}
		d := cert.Statement().Decision
		if d.Answer != c.want || len(d.Outcomes) != 5 {
			t.Errorf("%+v: %s, %s; %d outcomes", c, d.Answer, d.Because, len(d.Outcomes))
		}
		if c.want == provenance.Harm && d.Because != "guardrail reward of country JP is not kept" {
			t.Errorf("because %s", d.Because)
		}
		for _, o := range d.Outcomes[1:] {
			if o.Rows < c.n/5 || o.Rows > c.n/3 {
				t.Errorf("%s has %d rows of %d", o.Name, o.Rows, c.n)
			}
		}
	}
	for _, by := range []string{"age", "city"} {
		log := world(t, 300, 5, true)
		_, err := provenance.New(log).File(t.Context(), p, provenance.Options{Requirements: []provenance.Requirement{{By: by, Limit: -.1}}})
		if err == nil || !strings.Contains(err.Error(), "guardrail-by "+by) {
			t.Errorf("by %s: %v", by, err)
		}
	}
}

// Fewer than 50 rows, or groups, of a segment have no interval.
func TestPolicy_GivesFewRowsNoInterval(t *testing.T) {
	for _, groups := range []int{0, 40} {
		all := decisions(600, 1, false)
		for i := range all {
			if groups > 0 {
				all[i].Group = fmt.Sprint(i % groups)
			}
			if all[i].Context[1].Name == "country=JP" && i > 120 {
				all[i].Context[1].Name = "country=DE"
			}
		}
		log := collect(t, all)
		e, err := Policy(t.Context(), policy(t, true), log, provenance.New(log), Options{By: []string{"country"}})
		if err != nil || len(e.Segments) != 4 {
			t.Fatal(err, e)
		}
		for _, s := range e.Segments {
			if (s.SE == nil) != (s.Rows < certify.Few || groups > 0) || s.Name == "JP" && s.Rows >= certify.Few {
				t.Errorf("%d groups: %+v", groups, s)
			}
		}
	}
}

func TestPolicy_RefusesAColumnThatIsNotThere(t *testing.T) {
	log, p := world(t, 200, 1, false), policy(t, false)
	if _, err := Policy(t.Context(), p, log, provenance.New(log), Options{By: []string{"city"}}); err == nil ||
		!strings.Contains(err.Error(), `no column "city"`) {
		t.Errorf("a column that is not there: %v", err)
	}
}
