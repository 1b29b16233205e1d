package ope

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/provenance"
)

// doses is a log of numbers from 0 to 10, a fifth of which are 5, with the mean reward of each in two groups.
func doses(t *testing.T, n, intervals int, seed uint64) (*logs.Log, func(a float64, group int) float64) {
	mean := func(a float64, group int) float64 {
		return .2 + .6*math.Exp(-(a-6+float64(2*group))*(a-6+float64(2*group))/8)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	var decisions []logs.Decision
	for i := range n {
		group := r.IntN(2)
		d := logs.Decision{ID: strconv.Itoa(i), Number: 5, Propensity: .2, Context: []features.Value{
			{Name: "x", Number: r.Float64()}, {Name: "group=g" + strconv.Itoa(group), Number: 1}}}
		if r.Float64() < .8 {
			d.Number, d.Propensity, d.Density = 10*math.Sqrt(r.Float64()), 0, 0
			d.Density = .8 * 2 * d.Number / 100
		}
		if r.Float64() < mean(d.Number, group) {
			d.Cost = -1
		}
		decisions = append(decisions, d)
	}
	log, err := logs.CollectNumbers(numeric.Even(0, 10, intervals), decisions)
	if err != nil {
		t.Fatal(err)
	}
	return log, mean
}

// middles is a policy file of numbers: intervals where x is small, the atom 5 where it is large.
func middles(t *testing.T) *policyfile.Policy {
	of := numeric.Actions{Edges: []float64{0, 3, 7, 10}, Atoms: []float64{5}}
	p, err := policyfile.New(&policyfile.File{Actions: of.Names(), Numbers: &of, Floor: .1, RewardMax: 1,
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.ArgMax,
			Encoder: &features.Encoder{Names: []string{"x"}, Scale: []float64{1}, Intercept: true},
			Weights: policyfile.Matrix{{-4, 1}, {0, 0}, {-1, -5}, {2, -1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The kernels of a curve, and of a policy that plays one number in each context, are those of another program: sums
// over rows, as they are written, with masses by Simpson's rule, which is exact for them.
func TestCurve_AgreesWithAnotherProgram(t *testing.T) {
	log, mean := doses(t, 3000, 8, 1)
	p := middles(t)
	got, err := Curve(log, provenance.Within(log, 1), CurveOptions{Delta: .05, Gamma: 1, Model: RewardModels()[0],
		Policy: p, Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	predict, err := RewardModels()[0].Learn(log, ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(k *Kernel, at func(x float64) float64, atoms bool) (dr float64) {
		h, n := k.Bandwidth, float64(log.Len())
		var ips, snips, all float64
		var d logs.Decision
		for i, a := range log.Numbers.Value {
			log.Decision(i, &d)
			to := at(d.Context[0].Number)
			kernel := func(a float64) float64 { return .75 * (1 - math.Pow((a-to)/h, 2)) / h }
			low, high := max(0, to-h), min(10, to+h)
			m := (high - low) / 6 * (kernel(low) + 4*kernel((low+high)/2) + kernel(high))
			w, c := 0.0, min(7, int(to/10*8))
			switch {
			case atoms && to == 5:
				if c = 8; a == 5 {
					w = 1 / .2
				}
			case a != 5:
				w = max(0, kernel(a)) / m / log.Numbers.Density[i]
			}
			q := make([]float64, 9)
			predict(q, i)
			ips, all, snips = ips-w*log.Cost[i]/n, all+w, snips-w*log.Cost[i]
			dr += (q[c] + w*(-log.Cost[i]-q[log.Action[i]])) / n
		}
		for name, v := range map[string][2]float64{"ips": {k.IPS, ips}, "snips": {k.SNIPS, snips / all}, "dr": {k.DR, dr}} {
			if math.Abs(v[0]-v[1]) > 1e-12 {
				t.Errorf("%s: %v, want %v", name, v[0], v[1])
			}
		}
		return dr
	}
	if len(got.Doses) != 9 || got.Doses[8].Number != 5 || got.Doses[8].Point != nil || got.Judged != 3000 {
		t.Fatalf("%+v", got)
	}
	for _, d := range got.Doses[:8] {
		dr := check(d.Point, func(float64) float64 { return d.Number }, false)
		if truth := (mean(d.Number, 0) + mean(d.Number, 1)) / 2; math.Abs(dr-truth) > .1 {
			t.Errorf("dr at %v: %v, truly %v", d.Number, dr, truth)
		}
	}
	check(got.Point, func(x float64) float64 {
		scores := []float64{-4*x + 1, 0, -x - 5, 2*x - 1}
		return []float64{1.5, 5, 8.5, 5}[slices.Index(scores, slices.Max(scores))]
	}, true)
}

// The band holds the values of all intervals and atoms, of all segments together, in at least 1 − δ of logs
// (OPL_LOGS=500); a segment of few rows has a wide one.
func TestCurve_BandsOfSegmentsHold(t *testing.T) {
	n := 3
	if v, err := strconv.Atoi(os.Getenv("OPL_LOGS")); err == nil {
		n = v
	}
	failed, width := 0, 0.0
	for seed := range uint64(n) {
		log, mean := doses(t, 600, 4, seed)
		got, err := Curve(log, provenance.Within(log, 1), CurveOptions{Delta: .05, Gamma: 1, By: "group",
			Model: RewardModels()[0]})
		if err != nil || len(got.Doses) != 10 {
			t.Fatal(err, got)
		}
		wrong := false
		for _, d := range got.Doses {
			truth, group := 0.0, int(d.Segment[1]-'0')
			for i := range 100 {
				truth += mean(d.From+(d.To-d.From)*(float64(i)+.5)/100, group) / 100
			}
			wrong = wrong || !(d.Low <= truth && truth <= d.High)
			if !(d.Low <= *d.Value && *d.Value <= d.High) {
				t.Errorf("%+v", d)
			}
			width += (d.High - d.Low) / float64(10*n)
		}
		if wrong {
			failed++
		}
	}
	t.Logf("%d of %d bands fail; the mean width is %.3f", failed, n, width)
	if failed > max(0, 37*n/500) || width > .75 {
		t.Errorf("%d of %d bands fail, of width %.3f", failed, n, width)
	}
	for by, want := range map[string]string{"x": "is a column of numbers", "y": "no column"} {
		t.Run(by, func(t *testing.T) {
			log, _ := doses(t, 100, 4, 1)
			if _, err := Curve(log, provenance.Within(log, 1), CurveOptions{Delta: .05, Gamma: 1, By: by,
				Model: RewardModels()[0]}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("by %s: %v", by, err)
			}
		})
	}
}

// A number that no row drew has no value, and a band of all rewards.
func TestCurve_HasNoValueOfWhatWasNeverDrawn(t *testing.T) {
	log, _ := doses(t, 200, 256, 1)
	got, err := Curve(log, provenance.Within(log, 1), CurveOptions{Delta: .05, Gamma: 1, Model: RewardModels()[0]})
	if err != nil {
		t.Fatal(err)
	}
	never := 0
	for c, d := range got.Doses {
		drawn := slices.Contains(log.Action, int32(c))
		if !drawn {
			never++
		}
		if drawn != (d.Value != nil) || !drawn && (d.Low != 0 || d.High != 1) {
			t.Errorf("%+v", d)
		}
	}
	if text, err := json.Marshal(got); err != nil || strings.Count(string(text), `"value":null`) != never || never == 0 {
		t.Errorf("%d were never drawn: %s, %v", never, text, err)
	}
}

// Prices that are drawn around one of three bases are hardly ever far from it: what is said of these cannot be judged,
// and speaks against no log. Densities that are wrong do, everywhere or in some of the range.
func TestCurve_DoubtsDensitiesAndNoTails(t *testing.T) {
	for name, wrong := range map[string]func(even bool, a, density float64) float64{
		"right": func(_ bool, _, d float64) float64 { return d },
		"twice": func(_ bool, _, d float64) float64 { return 2 * d },
		"twice above 15": func(even bool, a, d float64) float64 {
			if even && a > 15 {
				return 2 * d
			}
			return d
		},
	} {
		for _, even := range []bool{false, true} {
			r := rand.New(rand.NewPCG(12, 1))
			var decisions []logs.Decision
			for len(decisions) < 15000 {
				base := []float64{8.9, 11.9, 14.9}[r.IntN(3)]
				a := base + 1.5*r.NormFloat64()
				z := (a - base) / 1.5
				density := math.Exp(-z*z/2) / 1.5 / math.Sqrt(2*math.Pi) // but for 1 % beyond the range
				if even {
					a, density = 5+15*r.Float64(), 1./15
				}
				if a < 5 || a > 20 {
					continue
				}
				d := logs.Decision{ID: strconv.Itoa(len(decisions)), Number: a, Density: wrong(even, a, density),
					Context: []features.Value{{Name: "base", Number: base}}}
				if r.Float64() < 1/(1+math.Exp(a-base)) {
					d.Cost = -a / 20
				}
				decisions = append(decisions, d)
			}
			log, err := logs.CollectNumbers(numeric.Even(5, 20, 16), decisions)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Curve(log, provenance.Within(log, 1).Force(), CurveOptions{Delta: .05, Gamma: 1, Model: RewardModels()[0]})
			if err != nil {
				t.Fatal(err)
			}
			doubts := name == "twice" || name == "twice above 15" && even
			if (got.Contradicted != "") != doubts {
				t.Errorf("%s, even: %v: %q", name, even, got.Contradicted)
			}
			if name == "right" && (got.Doses[7].Thin || got.Doses[15].Thin == even) {
				t.Errorf("even: %v: %+v, %+v", even, got.Doses[7], got.Doses[15])
			}
		}
	}
}
