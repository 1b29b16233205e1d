package ope_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/ope"
)

// agree compares all numbers of two results, to a part in 10¹².
func agree(t *testing.T, what string, got, want any) {
	t.Helper()
	var walk func(path string, x, y reflect.Value)
	walk = func(path string, x, y reflect.Value) {
		switch x.Kind() {
		case reflect.Float64:
			if a, b := x.Float(), y.Float(); !(math.Abs(a-b) <= 1e-12*max(1, math.Abs(b))) {
				t.Errorf("%s: %s is %v, want %v", what, path, a, b)
			}
		case reflect.Struct:
			for i := range x.NumField() {
				walk(path+"."+x.Type().Field(i).Name, x.Field(i), y.Field(i))
			}
		case reflect.Slice:
			if x.Len() != y.Len() {
				t.Errorf("%s: %s has %d entries, want %d", what, path, x.Len(), y.Len())
				return
			}
			for i := range x.Len() {
				walk(path, x.Index(i), y.Index(i))
			}
		default:
			if !x.Equal(y) {
				t.Errorf("%s: %s is %v, want %v", what, path, x, y)
			}
		}
	}
	walk("", reflect.ValueOf(got), reflect.ValueOf(want))
}

// among is a target in some rows of its log.
func among(target ope.Target, rows []int) ope.Target {
	out := target
	if target.Row == nil {
		out.Logged = make([]float64, len(rows))
		for i, r := range rows {
			out.Logged[i] = target.Logged[r]
		}
		return out
	}
	out.Row = func(dst []float64, i int) error { return target.Row(dst, rows[i]) }
	return out
}

// partials are those of n shards, as they are read back; rows, or groups, are dealt out.
func partials(t *testing.T, l *logs.Log, targets []ope.Target, o ope.Options, n int) (all []ope.Partial) {
	t.Helper()
	for s := range n {
		var rows []int
		for i := range l.Len() {
			unit := i
			if l.Group != nil {
				unit = int(l.Group[i])
			}
			if unit%n == s {
				rows = append(rows, i)
			}
		}
		own, mine := l.Subset(rows), make([]ope.Target, len(targets))
		own.FilesHash = "the files of " + l.Hash()
		for j, target := range targets {
			mine[j] = among(target, rows)
		}
		mo := o
		if o.Model != nil {
			mo.Model = func(dst []float64, i int) { o.Model(dst, rows[i]) }
		}
		p, err := ope.EvaluatePartial(own, mine, mo, logs.Shard{Number: s + 1, Of: n}, "x")
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back ope.Partial
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		all = append(all, back)
	}
	return all
}

// noted is a merged result without the note that shards read their own files.
func noted(t *testing.T, r ope.Result) ope.Result {
	t.Helper()
	last := len(r.Notes) - 1
	if last < 0 || !strings.Contains(r.Notes[last], "files of two shards are counted twice") {
		t.Fatal(r.Notes)
	}
	r.Notes = r.Notes[:last:last]
	return r
}

// Sums of shards give what all rows give, with groups and weights, and whatever the number of shards.
func TestCombine_GivesWhatAllRowsGive(t *testing.T) {
	w := newWorld(1, 5, 4, 1)
	for _, c := range []struct {
		what string
		size int
		n    int
	}{{"rows", 1, 3000}, {"groups", 7, 3000}, {"few rows", 1, 20}, {"few groups", 10, 60}} {
		t.Run(c.what, func(t *testing.T) {
			l, xs := w.log(rand.New(rand.NewPCG(2, uint64(c.size))), c.n, c.size)
			if c.what == "rows" {
				l.Weight = make([]float64, c.n)
				for i := range l.Weight {
					l.Weight[i] = float64(i / 64 % 3)
				}
			}
			targets := []ope.Target{w.target("new", w.pi, xs), w.target("other", w.other, xs), ope.Uniform()}
			o := ope.Options{Model: func(dst []float64, i int) { copy(dst, w.mu[xs[i]*w.k:]) }, Notes: []string{"a note"}}
			want, err := ope.Evaluate(l, targets, o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want.Policies {
				want.Policies[i].Guarantee = nil
			}
			for _, n := range []int{1, 3, 16} {
				if n > 1 && c.n < 3000 {
					continue // a shard of few rows lacks actions, which are uncovered there
				}
				all := partials(t, l, targets, o, n)
				got, err := ope.Combine(append(all, all[n/2])) // one comes twice
				if err != nil {
					t.Fatalf("%v", err)
				}
				for i := range got.Policies {
					if !strings.Contains(got.Policies[i].Uncertified, "without a guarantee") {
						t.Errorf("says %q", got.Policies[i].Uncertified)
					}
					got.Policies[i].Uncertified = want.Policies[i].Uncertified
				}
				got = noted(t, got)
				agree(t, c.what, got, want)
				if n > 1 {
					if _, err := ope.Combine(all[1:]); err == nil || !strings.Contains(err.Error(), "1/"+map[int]string{3: "3", 16: "16"}[n]+" is missing") {
						t.Errorf("without the first: %v", err)
					}
				}
			}
		})
	}
}

// So they do of a policy that draws by scores of contexts and actions together, where rows offer sets.
func TestCombine_OfAPolicyThatDrawsFromSets(t *testing.T) {
	encoder := func(name string) *features.Encoder {
		e, err := features.New(features.Encoder{Names: []string{name}, Scale: []float64{1}})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	items, err := features.NewItems(encoder("price"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policyfile.New(&policyfile.File{Floor: .1, RewardMax: 1, Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Softmax,
		Encoder: encoder("x"), Items: items, Joint: true, Layers: []features.Layer{{Products: &features.Products{In: 2, Pairs: [][]int32{{0, 1}}}}},
		Weights: policyfile.Matrix{{.5, -1, 2}}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(6, 6))
	var all []logs.Decision
	for range 900 {
		d := logs.Decision{Cost: -float64(r.IntN(2)), Weight: 1, Context: []features.Value{{Name: "x", Number: r.NormFloat64()}}}
		for _, a := range r.Perm(30)[:3+r.IntN(6)] {
			d.Offered = append(d.Offered, logs.Offer{Action: fmt.Sprint("i", a), Features: []features.Value{{Name: "price", Number: float64(a) / 30}}})
		}
		d.Action, d.Propensity = r.IntN(len(d.Offered)), 1/float64(len(d.Offered))
		all = append(all, d)
	}
	l, err := logs.Collect(nil, all)
	if err != nil {
		t.Fatal(err)
	}
	target, err := ope.FromPolicy("drawn", p, l)
	if err != nil {
		t.Fatal(err)
	}
	o := ope.Options{Estimators: []ope.Estimator{ope.IPS(), ope.SNIPS()}, EstimatesAlone: true}
	want, err := ope.Evaluate(l, []ope.Target{target}, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ope.Combine(partials(t, l, []ope.Target{target}, o, 4))
	if err != nil {
		t.Fatal(err)
	}
	agree(t, "drawn", got.Policies[0].Estimates, want.Policies[0].Estimates)
	if e := want.Policies[0].Estimates[0]; math.Abs(e.Gain.Value) < 1e-6 || e.SE == 0 {
		t.Errorf("nothing is compared: %+v", e)
	}
}

// The target that logged the rows has no gain, with no error, and one that never acts as logged has no value.
func TestCombine_TakesTargetsOfNoGainAndOfNoValue(t *testing.T) {
	w := newWorld(3, 4, 3, 1)
	l, xs := w.log(rand.New(rand.NewPCG(4, 4)), 1000, 1)
	never := ope.Target{Name: "never", Logged: make([]float64, l.Len())}
	for _, targets := range [][]ope.Target{{w.target("itself", w.pi0, xs)}, {never}, {w.target("all rewards alike", w.pi, xs)}} {
		if targets[0].Name == "all rewards alike" {
			for i := range l.Cost {
				l.Cost[i] = -.3
			}
		}
		o := ope.Options{Estimators: only("ips", "snips")}
		want := evaluate(t, l, targets, o)
		got, err := ope.Combine(partials(t, l, targets, o, 5))
		if err != nil {
			t.Fatal(err)
		}
		want.Policies[0].Guarantee, want.Policies[0].Uncertified, got.Policies[0].Uncertified = nil, "", ""
		agree(t, targets[0].Name, noted(t, got), want)
	}
}

// What does not go together is refused, and so is an estimator that is no mean.
func TestCombine_RefusesWhatDoesNotGoTogether(t *testing.T) {
	w := newWorld(5, 4, 3, 1)
	l, xs := w.log(rand.New(rand.NewPCG(6, 6)), 500, 1)
	other, _ := w.log(rand.New(rand.NewPCG(7, 6)), 500, 1)
	targets := []ope.Target{w.target("new", w.pi, xs)}
	o := ope.Options{Estimators: only("ips")}
	all := partials(t, l, targets, o, 3)
	for what, c := range map[string]struct {
		change func(p *ope.Partial)
		want   string
	}{
		"log": {func(p *ope.Partial) { *p = partials(t, other, targets, o, 3)[1] }, "different targets, logs or options"},
		"delta": {func(p *ope.Partial) {
			*p = partials(t, l, targets, ope.Options{Delta: .1, Estimators: o.Estimators}, 3)[1]
		}, "different targets, logs or options"},
		"shards":     {func(p *ope.Partial) { *p = partials(t, l, targets, o, 4)[1] }, "another number of shards"},
		"none":       {func(p *ope.Partial) { *p = ope.Partial{} }, "is none"},
		"number":     {func(p *ope.Partial) { p.Shard.Number = 9 }, "is none"},
		"all shards": {func(p *ope.Partial) { p.Shard.Of = 1 << 30 }, "is none"},
		"other sums": {func(p *ope.Partial) { p.Shard.Number = 1 }, "shard 1/3 comes twice with different sums"},
		"columns":    {func(p *ope.Partial) { p.Sum, p.Square = p.Sum[:2], p.Square[:3] }, "other estimates"},
	} {
		t.Run(what, func(t *testing.T) {
			changed := append([]ope.Partial{}, all...)
			c.change(&changed[1])
			if _, err := ope.Combine(changed); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	shard := logs.Shard{Number: 1, Of: 2}
	for want, o := range map[string]ope.Options{
		"betting reads all rows":              {Interval: "betting"},
		"want normal":                         {Interval: "x"},
		"weighs rows by those of all loggers": {Estimators: only("balanced")},
		"no estimator is left":                {Estimators: only("weighted", "mrdr", "sg", "switch", "dros", "clip", "mips")},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := ope.EvaluatePartial(l, targets, o, shard, ""); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", o, err, want)
			}
		})
	}
	if _, err := ope.EvaluatePartial(l, append(targets, targets[0]), ope.Options{}, shard, ""); err == nil || !strings.Contains(err.Error(), "two targets") {
		t.Error(err)
	}
	if _, err := ope.Combine(nil); err == nil {
		t.Error("nothing is merged")
	}
	for what, of := range map[string]func(d *ope.Data, _ float64) ope.Value{
		"twice": func(d *ope.Data, _ float64) ope.Value {
			v := d.Mean(func(i int) float64 { return d.R[i] })
			v.Value *= 2
			return v
		},
		"other influences": func(d *ope.Data, _ float64) ope.Value {
			v := d.Mean(func(i int) float64 { return d.R[i] })
			v.Influence[0]++
			return v
		},
		"plus one that is no mean": func(d *ope.Data, _ float64) ope.Value {
			return d.Mean(func(i int) float64 { return d.R[i] }).Plus(ope.Value{Influence: make([]float64, d.N)})
		},
		"no mean": func(d *ope.Data, _ float64) ope.Value { return ope.Value{Influence: make([]float64, d.N)} },
	} {
		t.Run(what, func(t *testing.T) {
			o := ope.Options{Estimators: []ope.Estimator{{Name: "own", Of: of}}}
			if _, err := ope.EvaluatePartial(l, targets, o, logs.Shard{Number: 1, Of: 2}, ""); err == nil || !strings.Contains(err.Error(), "own is not a Mean or a Ratio") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Every estimator whose hyperparameter is known before the rows is that of all rows, of sets of actions, too; the tail of the weights is
// the same to the bit, and the others say why they cannot be had.
func TestCombine_TakesEveryEstimatorOfKnownHyperparameter(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	w := newStore(r, 20, .5, true)
	l, pi, _, _ := w.log(r, 2000)
	row := func(dst []float64, i int) error { copy(dst, pi[i*w.k:]); return nil }
	sets, weight := &logs.Log{Actions: l.Actions, Choices: &logs.Choices{Z: l.Choices.Z}, Group: make([]int32, 0, 2000)}, make([][]float64, 2000)
	for i := range 2000 {
		offered := r.Perm(w.k)[:2+r.IntN(6)]
		at, c := r.IntN(len(offered)), sets.Choices
		c.First, c.Count, c.At = append(c.First, int64(len(c.Actions))), append(c.Count, int32(len(offered))), append(c.At, int32(at))
		for j, a := range offered {
			c.Actions = append(c.Actions, int32(a))
			sets.Propensities = append(sets.Propensities, 1/float64(len(offered)))
			weight[i] = append(weight[i], 2*float64(j)/float64(len(offered)*(len(offered)-1)))
		}
		sets.Group = append(sets.Group, int32(i/3))
		sets.Action, sets.Cost, sets.Propensity = append(sets.Action, int32(offered[at])), append(sets.Cost, l.Cost[i]), append(sets.Propensity, 1/float64(len(offered)))
	}
	sets.X = l.X
	model := func(dst []float64, i int) {
		for j := range dst {
			dst[j] = .05 * float64((i+j)%7)
		}
	}
	var list []ope.Estimator
	for _, e := range ope.Estimators() {
		h := map[string]float64{"switch": 4, "dros": 9}[e.Name]
		if e.Hyper != nil && !e.Marginal {
			var err error
			if e, err = e.With(max(h, .5)); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, e)
	}
	for what, c := range map[string]struct {
		log    *logs.Log
		target ope.Target
	}{
		"catalogue": {l, ope.Target{Name: "best", Row: row}},
		"sets":      {sets, ope.Target{Name: "last", Row: func(dst []float64, i int) error { copy(dst, weight[i]); return nil }}},
	} {
		t.Run(what, func(t *testing.T) {
			o := ope.Options{Estimators: list, EstimatesAlone: true, HalfWidth: .01, Seed: 3, Model: model, Learn: func([]float64) (ope.Model, error) { return model, nil }}
			targets := []ope.Target{c.target, ope.Uniform()}
			want := evaluate(t, c.log, targets, o)
			got, err := ope.Combine(partials(t, c.log, targets, o, 7))
			if err != nil {
				t.Fatal(err)
			}
			got = noted(t, got)
			if len(got.Missing) != 4 || !strings.Contains(strings.Join(got.Missing, "; "), "mrdr: in shards, its model") {
				t.Errorf("%q is missing", got.Missing)
			}
			for _, left := range []string{"balanced", "weighted", "mrdr", "mips"} {
				is := func(e ope.Estimate) bool { return e.Estimator == left }
				for i := range want.Policies {
					want.Policies[i].Estimates = slices.DeleteFunc(want.Policies[i].Estimates, is)
				}
				want.Pairs = slices.DeleteFunc(want.Pairs, func(p ope.Pair) bool { return p.Estimator == left })
			}
			got.Missing, want.Missing = nil, nil
			for i := range got.Policies {
				if p := &got.Policies[i]; p.Tail != want.Policies[i].Tail || p.HalfWidth != .01 || len(p.Estimates) != 13 {
					t.Errorf("%+v", p)
				}
				got.Policies[i].Uncertified = want.Policies[i].Uncertified
			}
			agree(t, what, got, want)
		})
	}
}
