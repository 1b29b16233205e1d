package provenance_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/floats"

	"opl/policies/features"
	"opl/testdata/long"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// two is a world of two actions, of which the second earns .7, and a log of it has the logged propensity alone.
type two struct {
	p       func(x float64) float64 // of the second action
	dropped float64                 // of a third, whose rows are not in the log
}

func (w two) draw(t *testing.T, n int, seed uint64) *logs.Log {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 77))
	var rows []logs.Decision
	for len(rows) < n {
		x := r.NormFloat64()
		second := w.p(x) * (1 - w.dropped)
		a, p := 0, 1-second-w.dropped
		switch u := r.Float64(); {
		case u < second:
			a, p = 1, second
		case u < second+w.dropped:
			continue
		}
		cost, mean := 0., []float64{.3, .5}[a]
		if x > 0 {
			mean = []float64{.1, .9}[a]
		}
		if r.Float64() < mean {
			cost = -1
		}
		rows = append(rows, logs.Decision{Context: []features.Value{{Name: "x", Number: x}}, Action: a, Cost: cost,
			Propensity: p})
	}
	l, err := logs.Collect([]string{"first", "second"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	if !l.Paired() || l.LoggedOnly() {
		t.Fatal("the log is not paired")
	}
	return l
}

// second certifies the policy that always plays the second action.
func second(l *logs.Log, o certify.Options) (provenance.Statement, error) {
	logged := make([]float64, l.Len())
	for i, a := range l.Action {
		logged[i] = float64(a)
	}
	pi := func(dst []float64, _ int) error { dst[0], dst[1] = 0, 1; return nil }
	c, err := provenance.Within(l, max(1, o.Gamma)).Target(pi, logged, provenance.FixedBefore(), o)
	if err != nil {
		return provenance.Statement{}, err
	}
	return c.Statement(), nil
}

// Of two actions the other one's propensity makes bounds tighter, and fails no more often.
func TestPromise_OfTwoActions(t *testing.T) {
	long.Test(t)
	for name, p := range map[string]func(x float64) float64{
		"logistic": func(x float64) float64 { return 1 / (1 + math.Exp(-2*x)) },
		"rare":     func(x float64) float64 { return .02 * (1 + .1*math.Tanh(x)) },
		"tiny":     func(x float64) float64 { return []float64{.003, .997, .5}[int(math.Abs(x)*100)%3] },
	} {
		failed, sum, plain, n := 0, 0., 0., 60
		for seed := range uint64(n) {
			l := two{p: p}.draw(t, 500, seed)
			s, err := second(l, certify.Options{})
			if err != nil {
				t.Fatal(name, err)
			}
			l.Propensities = nil
			alone, err := second(l, certify.Options{})
			if err != nil {
				t.Fatal(name, err)
			}
			sum, plain = sum+s.Bounds.Reward(), plain+alone.Bounds.Reward()
			if s.Bounds.Reward() > .7 {
				failed++
			}
		}
		if sum <= plain {
			t.Errorf("%s: %.3f is guaranteed, without a model %.3f", name, sum/float64(n), plain/float64(n))
		}
		if most := 2 + n/10; failed > most {
			t.Errorf("%s: %d of %d bounds are false", name, failed, n)
		}
	}
}

// Within a factor, and at any time, what two logged propensities sum to is not known: bounds are those of logs that
// have one.
func TestPaired_AreNotKnownWithinAFactor(t *testing.T) {
	l := two{p: func(x float64) float64 { return 1 / (1 + math.Exp(-2*x)) }}.draw(t, 500, 1)
	plain := *l
	plain.Propensities = nil
	for _, o := range []certify.Options{{}, {Gamma: 1.2}, {AnyTime: true}} {
		if exact := o.Gamma == 0 && !o.AnyTime; asLogged(t, l, o) == exact {
			t.Errorf("Γ = %v, at any time %v", o.Gamma, o.AnyTime)
		}
	}
	floored, bare := *l, plain
	floored.Least, bare.Least = .001, .001
	got, err := second(&floored, certify.Options{Gamma: 1.2})
	if err != nil {
		t.Fatal(err)
	}
	want, err := second(&bare, certify.Options{Gamma: 1.2})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Bounds, want.Bounds) {
		t.Errorf("with a floor: %+v, want %+v", got.Bounds, want.Bounds)
	}
	exact, err := second(l, certify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if exact.Strength > 1 { // beyond Γ = 1 it is that of ls
		if s, err := second(&plain, certify.Options{Gamma: exact.Strength}); err != nil || !s.Bounds.Better() {
			t.Errorf("strength %v: %v %v", exact.Strength, s.Bounds, err)
		}
	}
	if wider, err := l.WithActions([]string{"second", "third", "first"}); err != nil || !wider.LoggedOnly() {
		t.Errorf("beside a third action: %v", err)
	}
}

// Rows of a third action that were left out are seen, or propensities no longer taken for exact.
func TestPaired_SeeAThirdAction(t *testing.T) {
	for _, w := range []struct {
		p, dropped float64
		n          int
	}{{.02, .05, 1000}, {.05, .05, 1000}, {.02, .02, 4000}, {.1, .1, 1000}} {
		for seed := range uint64(10) {
			l := two{p: func(x float64) float64 { return w.p * (1 + .1*math.Tanh(x)) }, dropped: w.dropped}.draw(t, w.n, seed)
			s, err := second(l, certify.Options{})
			if withheld := (*provenance.Withheld)(nil); err == nil && len(s.Bounds.Missing) == 0 || err != nil && !errors.As(err, &withheld) {
				t.Errorf("%+v, seed %d: %+v %v", w, seed, s.Bounds, err)
			}
		}
	}
}

// A floor of propensities makes bounds tighter, and fails no more often; it is said that they rely on it.
func TestPromise_OfALeastPropensity(t *testing.T) {
	long.Test(t)
	for _, gamma := range []float64{1, 1.2} {
		failed, sum, plain, logged, gains, n := 0, 0., 0., 0., []float64{}, 60
		for seed := range uint64(n) {
			l := two{p: func(x float64) float64 { return .1 + .8/(1+math.Exp(-2*x)) }}.draw(t, 500, seed)
			l.Propensities, l.Least = nil, .1
			s, err := second(l, certify.Options{Gamma: gamma})
			if err != nil {
				t.Fatal(err)
			}
			if s.Bounds.Least != .1 || s.Bounds.WithoutPropensities() {
				t.Fatalf("%+v", s.Bounds)
			}
			l.Least = 0
			alone, err := second(l, certify.Options{Gamma: gamma})
			if err != nil {
				t.Fatal(err)
			}
			if alone.Bounds.Least != 0 || !alone.Bounds.WithoutPropensities() {
				t.Fatalf("%+v", alone.Bounds)
			}
			gains = append(gains, s.Bounds.GainAtLeast())
			logged += -floats.Sum(l.Cost) / float64(l.Len())
			sum, plain = sum+s.Bounds.Reward(), plain+alone.Bounds.Reward()
			if s.Bounds.Reward() > .7 {
				failed++
			}
		}
		if sum <= plain {
			t.Errorf("Γ = %v: %.3f is guaranteed, without a floor %.3f", gamma, sum/float64(n), plain/float64(n))
		}
		for _, g := range gains { // the mean of 30,000 rewards is off by .003
			if g > .7-logged/float64(n)+.01 {
				failed++
			}
		}
		if failed > 8 {
			t.Errorf("Γ = %v: %d of %d bounds are false", gamma, failed, n)
		}
	}
}

// What is derived of A/B tests is not used at any time: a later row may show that it was wrong.
func TestDerived_IsNotUsedAtAnyTime(t *testing.T) {
	rows := make([]logs.Decision, 400)
	for i := range rows {
		x := math.Sin(float64(i))
		rows[i] = logs.Decision{Context: []features.Value{{Name: "x", Number: x}}, Action: i % 2, Cost: -float64(i % 3 % 2), Propensity: .5}
	}
	l, err := logs.Collect([]string{"first", "second"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []certify.Options{{}, {Gamma: 1.2}, {AnyTime: true}, {AnyTime: true, Gamma: 1.2}} {
		if !l.Derived() || asLogged(t, l, o) != o.AnyTime {
			t.Errorf("Γ = %v, at any time %v", o.Gamma, o.AnyTime)
		}
	}
}

// asLogged reports that a log's bounds of the second action are those of its logged propensities alone.
func asLogged(t *testing.T, l *logs.Log, o certify.Options) bool {
	t.Helper()
	plain := *l
	plain.Propensities = nil
	o.Models = []*certify.RewardModel{{Name: "half", Fixed: true, Predict: func(dst []float64, _ int) { dst[0], dst[1] = .5, .5 }}}
	pi := func(dst []float64, _ int) error { dst[0], dst[1] = 0, 1; return nil }
	var bounds [2]certify.Bounds
	for i, log := range []*logs.Log{l, &plain} {
		var err error
		if bounds[i], err = certify.Fixed(pi, nil, log, logs.Every(l.Len()), o); err != nil {
			t.Fatal(err)
		}
	}
	return reflect.DeepEqual(bounds[0], bounds[1])
}

// A floor is not believed of an action that no row has, whatever a model says of it.
func TestFloor_IsNotOfActionsWithoutRows(t *testing.T) {
	l := two{p: func(x float64) float64 { return .1 + .8/(1+math.Exp(-2*x)) }}.draw(t, 2000, 1)
	l, err := l.WithActions([]string{"first", "second", "third"})
	if err != nil {
		t.Fatal(err)
	}
	model := &certify.RewardModel{Name: "hope", Fixed: true, Predict: func(dst []float64, _ int) { dst[0], dst[1], dst[2] = .5, .5, .9 }}
	pi := func(dst []float64, _ int) error { dst[0], dst[1], dst[2] = 0, 0, 1; return nil }
	for _, o := range []certify.Options{{}, {Gamma: 1.1}, {AnyTime: true}} {
		l.Least, o.Models = .1, []*certify.RewardModel{model}
		b, err := certify.Fixed(pi, nil, l, logs.Every(l.Len()), o)
		if err != nil || b.Reward() > .02 || b.Least != .1 {
			t.Errorf("Γ = %v, at any time %v: %v of an action that was never drawn, by a floor of %v, %v", o.Gamma, o.AnyTime,
				b.Reward(), b.Least, err)
		}
	}
}
