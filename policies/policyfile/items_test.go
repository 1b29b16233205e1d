package policyfile_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/propensity"
)

// shop is a file of k actions with n numbers each, as many in contexts, and some of whose actions
// have rows of their own; categories 0: no column of these.
func shop(t testing.TB, k, n, categories, own int, kinds ...string) *policyfile.File {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(k), uint64(n)))
	f := &policyfile.File{RewardMax: 1, Floor: .05}
	for a := range k {
		f.Actions = append(f.Actions, fmt.Sprint("item ", a))
	}
	x := make([]features.Value, 0, n+1)
	var err error
	f.Catalogue, err = policyfile.NewCatalogue(f.Actions, func(a int) []features.Value {
		x = x[:0]
		for j := range n {
			v := r.NormFloat64()
			if j > 0 {
				v = float64(float32(v))
			}
			x = append(x, features.Value{Name: fmt.Sprint("v", j), Number: v})
		}
		if categories > 0 {
			x = append(x, features.Value{Name: fmt.Sprint("brand=", r.IntN(categories)), Number: 1})
		}
		return x
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, kind := range kinds {
		contexts, items := features.Encoder{Intercept: true, Unit: i%2 == 0}, features.Encoder{Intercept: i%2 == 0}
		for j := range n {
			contexts.Names, contexts.Scale = append(contexts.Names, fmt.Sprint("x", j+i)), append(contexts.Scale, 1+r.Float64())
		}
		for j, col := range f.Catalogue.Columns[min(i, n):] {
			items.Names, items.Scale = append(items.Names, col.Name), append(items.Scale, 1+r.Float64())
			if i == 1 && j == 0 {
				items.Center = make([]float64, len(f.Catalogue.Columns)-i)
				items.Center[0] = .3
			}
		}
		c := policyfile.Component{Weight: 1 / float64(len(kinds)), Kind: kind}
		if c.Encoder, err = features.New(contexts); err != nil {
			t.Fatal(err)
		}
		e, err := features.New(items)
		if err != nil {
			t.Fatal(err)
		}
		if c.Items, err = features.NewItems(e, f.Actions[i:i+own]); err != nil {
			t.Fatal(err)
		}
		for range c.Items.Dim() {
			row := make([]float64, c.Encoder.Dim())
			for j := range row {
				row[j] = r.NormFloat64() / 2
			}
			c.Weights = append(c.Weights, row)
		}
		f.Components = append(f.Components, c)
	}
	return f
}

// offers are some actions of a catalogue, described as it does.
func offers(f *policyfile.File, of ...int) (all []features.Offer) {
	for _, a := range of {
		o := features.Offer{Action: f.Actions[a], Features: []features.Value{}}
		for _, c := range f.Catalogue.Columns {
			switch {
			case c.Ones != nil:
				if slices.Contains(*c.Ones, uint32(a)) {
					o.Features = append(o.Features, features.Value{Name: c.Name, Number: 1})
				}
			case c.Float32 != nil:
				o.Features = append(o.Features, features.Value{Name: c.Name, Number: float64(c.Float32[a])})
			default:
				o.Features = append(o.Features, features.Value{Name: c.Name, Number: c.Float64[a]})
			}
		}
		all = append(all, o)
	}
	return all
}

// naiveItems is π(·|x) of some actions by what the package comment says, from named values.
func naiveItems(file object, x map[string]float64, offered []features.Offer) []float64 {
	pi := make([]float64, len(offered))
	for a := range pi {
		pi[a] = file["floor"].(float64) / float64(len(pi))
	}
	for _, c := range file["components"].([]any) {
		c := c.(object)
		items := c["items"].(object)
		h := naiveFeatures(c["encoder"].(object), x)
		s := make([]float64, len(offered))
		for a, o := range offered {
			values := map[string]float64{}
			for _, v := range o.Features {
				values[v.Name] = v.Number
			}
			z := naiveFeatures(items["encoder"].(object), values)
			for j := range z {
				z[j] = float64(float32(z[j]))
			}
			for _, name := range items["own"].([]any) {
				own := 0.
				if name.(string) == o.Action {
					own = 1
				}
				z = append(z, own)
			}
			if c["joint"] == true {
				for i, v := range naiveLayers(c["layers"].([]any), append(slices.Clone(h), z...)) {
					s[a] += v * numbers(c["weights"].([]any)[0])[i]
				}
				continue
			}
			for j, row := range c["weights"].([]any) {
				for i, w := range numbers(row) {
					s[a] += h[i] * w * z[j]
				}
			}
		}
		for a, p := range naiveFamily(c["kind"].(string), s) {
			pi[a] += (1 - file["floor"].(float64)) * c["weight"].(float64) * p
		}
	}
	return pi
}

// naiveFeatures is φ(x) by what the package comment says of an encoder.
func naiveFeatures(encoder object, x map[string]float64) (phi []float64) {
	scale, center, width := numbers(encoder["scale"]), numbers(encoder["center"]), numbers(encoder["width"])
	impute, _ := encoder["impute"].(bool)
	for j, name := range encoder["names"].([]any) {
		v, known := x[name.(string)]
		if impute && !known {
			phi = append(phi, 0)
			continue
		}
		if width != nil && width[j] > 0 {
			v /= width[j]
			v = math.Copysign(math.Log(math.Abs(v)+math.Sqrt(v*v+1)), v)
		}
		if center != nil {
			v -= center[j]
		}
		phi = append(phi, v*scale[j])
	}
	if missing, ok := encoder["missing"].([]any); ok {
		for _, name := range missing {
			absent := 1.
			if _, known := x[name.(string)]; known {
				absent = 0
			}
			phi = append(phi, absent)
		}
	}
	if encoder["intercept"].(bool) {
		phi = append(phi, 1)
	}
	var sum float64
	for _, v := range phi {
		sum += v * v
	}
	if encoder["unit"].(bool) && sum > 0 {
		for j := range phi {
			phi[j] /= math.Sqrt(sum)
		}
	}
	return phi
}

func naiveFamily(kind string, s []float64) []float64 {
	best, pi := 0, make([]float64, len(s))
	for a := range s {
		if s[a] > s[best] {
			best = a
		}
	}
	if kind == policyfile.ArgMax {
		pi[best] = 1
		return pi
	}
	var sum float64
	for a := range s {
		pi[a] = math.Exp(s[a] - s[best])
		sum += pi[a]
	}
	for a := range s {
		pi[a] /= sum
	}
	return pi
}

// A policy of items is what its file says, and the same to the last bit whether actions are those of
// the catalogue, called by their ids, described by names or by raw values, or encoded.
func TestItems_PlayTheSameHoweverActionsAreNamed(t *testing.T) {
	var worst float64
	for trial, kinds := range [][]string{{policyfile.Softmax}, {policyfile.ArgMax}, {policyfile.Softmax, policyfile.ArgMax, policyfile.Softmax},
		{policyfile.Softmax, policyfile.ArgMax, policyfile.Softmax}} {
		for _, categories := range []int{0, 3, 100} { // 100: z(a) is sparse
			f, version := shop(t, 2500, 4, categories, 7, kinds...), 4.
			if trial == 3 {
				f, version = joined(rand.New(rand.NewPCG(7, 7)), f), 7
			}
			b := saved(t, f)
			var file object
			if err := json.Unmarshal(b, &file); err != nil {
				t.Fatal(err)
			}
			p, err := policyfile.Read(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if file["version"] != version || p.Hash() != policy(t, f).Hash() || p.Find("item 3") != 3 || p.Find("item") != -1 {
				t.Errorf("version %v, item 3 is action %d", file["version"], p.Find("item 3"))
			}
			whole := make([]int, len(f.Actions))
			for a := range whole {
				whole[a] = a
			}
			r := rand.New(rand.NewPCG(5, 5))
			for _, of := range [][]int{whole, {8, 1, 2, 2400, 0}, {3}, {17, 16}} {
				context := map[string]float64{}
				var values []features.Value
				for j := range 7 {
					name := fmt.Sprint("x", j)
					context[name] = r.NormFloat64()
					values = append(values, features.Value{Name: name, Number: context[name]})
				}
				described := offers(f, of...)
				ids := slices.Clone(described)
				raw := p.NewOffered()
				for i := range ids {
					ids[i].Features = nil
					v := make([]float64, p.ItemInputs().Dim())
					if _, err := p.ItemInputs().Encode(v, described[i].Features); err != nil {
						t.Fatal(err)
					}
					if err := raw.AddRaw(ids[i].Action, v); err != nil {
						t.Fatal(err)
					}
				}
				got, again := make([]float64, len(of)), make([]float64, len(of))
				if err := p.PropensitiesOffered(got, values, described); err != nil {
					t.Fatal(err)
				}
				var sum float64
				for a, want := range naiveItems(file, context, described) {
					worst = max(worst, math.Abs(got[a]-want))
					sum += got[a]
				}
				if !(worst <= 1e-12) || math.Abs(sum-1) > 1e-9 {
					t.Fatalf("%v, %d actions: differ by %v from what the file says, and sum to %v", kinds, len(of), worst, sum)
				}
				same := func(what string, err error) {
					t.Helper()
					if err != nil || !slices.Equal(got, again) {
						t.Fatalf("%v, %d categories, %d actions: %s are other propensities, %v", kinds, categories, len(of), what, err)
					}
					clear(again)
				}
				same("ids", p.PropensitiesOffered(again, values, ids))
				x := make([]float64, p.Inputs().Dim())
				if _, err := p.Inputs().Encode(x, values); err != nil {
					t.Fatal(err)
				}
				same("raw values", p.PropensitiesOn(again, nil, x, raw))
				if len(of) == len(whole) {
					same("those of the catalogue", p.Propensities(again, values))
				}
				if len(kinds) > 1 {
					continue
				}
				c := &p.File().Components[0]
				h, g, z, s := make([]float64, c.Dim()), make([]float64, c.Items.Dim()), make([]float64, c.Items.Dim()), make([]float64, len(of))
				if _, err := c.Encoder.Encode(h, values); err != nil {
					t.Fatal(err)
				}
				for j := range g {
					g[j] = features.Dot(h, c.Weights[j])
				}
				for i, o := range described {
					if _, err := c.Items.Encode(z, o.Action, o.Features); err != nil {
						t.Fatal(err)
					}
					s[i] = features.Dot(g, z)
				}
				c.Family().At(again, s, 0, nil)
				propensity.AddFloor(again, f.Floor)
				same("encoded ones", nil)
			}
		}
	}
	t.Logf("largest difference from the file %v", worst)
}

// However numbers and categories alternate, the catalogue's scores are those of described actions.
func TestItems_ScoreAlternatingNumbersAndCategories(t *testing.T) {
	for _, every := range []int{1, 5, 25} { // of as many runs as features, some, and two
		f := shop(t, 1100, 25, 25, 3, policyfile.Softmax)
		c := &f.Components[0]
		e := *c.Items.Encoder
		var mixed []string
		for i := 0; i < 25; i += every {
			mixed = append(append(mixed, e.Names[i:min(25, i+every)]...), e.Names[25+i:min(50, 25+i+every)]...)
		}
		e.Names = mixed
		made, err := features.New(e)
		if err == nil {
			c.Items, err = features.NewItems(made, c.Items.Own)
		}
		if err != nil {
			t.Fatal(err)
		}
		whole := make([]int, len(f.Actions))
		for a := range whole {
			whole[a] = a
		}
		p, x := policy(t, f), context(f, rand.New(rand.NewPCG(4, 4)))
		got, want := make([]float64, len(whole)), make([]float64, len(whole))
		if err := errors.Join(p.Propensities(got, x), p.PropensitiesOffered(want, x, offers(f, whole...))); err != nil || !slices.Equal(got, want) {
			t.Errorf("runs of %d: other propensities, %v", every, err)
		}
		ids := offers(f, whole...)
		for i := range ids {
			ids[i].Features = nil
		}
		if err := p.PropensitiesOffered(want, x, ids); err != nil || !slices.Equal(got, want) {
			t.Errorf("runs of %d: other propensities of ids, %v", every, err)
		}
	}
}

// Actions are drawn as often as they say, also those that no catalogue has.
func TestChoose_DrawsOfferedActionsAtTheirPropensities(t *testing.T) {
	f := shop(t, 50, 3, 0, 2, policyfile.Softmax)
	offered := offers(f, 4, 0, 30)
	offered[2].Action = "new"
	f.Actions, f.Catalogue = nil, nil
	p := policy(t, f)
	if len(p.Actions()) > 0 || p.Catalogue() != nil {
		t.Errorf("%q", p.Actions())
	}
	r := rand.New(rand.NewChaCha8([32]byte{1}))
	x := context(f, r)
	pi := make([]float64, 3)
	if err := p.PropensitiesOffered(pi, x, offered); err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	var count [3]float64
	for range n {
		a, prob, err := p.ChooseOffered(x, offered, r)
		if err != nil || prob != pi[a] {
			t.Fatalf("action %d with propensity %v, want %v, %v", a, prob, pi[a], err)
		}
		count[a]++
	}
	for a, c := range count {
		if sd := math.Sqrt(n * pi[a] * (1 - pi[a])); math.Abs(c-n*pi[a]) > 5*sd {
			t.Errorf("action %d is drawn %v times, want %v ± %v", a, c, n*pi[a], sd)
		}
	}
}

// Another catalogue serves other actions, and new ones by their features, under the same hash.
func TestWithCatalogue_ServesOtherActionsUnderTheSameHash(t *testing.T) {
	f := shop(t, 40, 3, 4, 5, policyfile.Softmax)
	p := policy(t, f)
	of := offers(f, 0, 7, 9, 11)
	of[2].Action = "new"
	names := make([]string, len(of))
	for i, o := range of {
		names[i] = o.Action
	}
	c, err := policyfile.NewCatalogue(names, func(a int) []features.Value { return of[a].Features })
	if err != nil {
		t.Fatal(err)
	}
	q, err := p.WithCatalogue(c, names)
	if err != nil {
		t.Fatal(err)
	}
	if q.Hash() != p.Hash() || q.Catalogue().Hash == p.Catalogue().Hash || !slices.Equal(q.Actions(), names) || len(p.Actions()) != 40 || q.Find("new") != 2 || q.Find("item 1") != -1 {
		t.Errorf("%q", q.Actions())
	}
	x := context(f, rand.New(rand.NewPCG(3, 3)))
	got, want := make([]float64, 4), make([]float64, 4)
	if err := errors.Join(q.Propensities(got, x), p.PropensitiesOffered(want, x, of)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, described %v, %v", got, want, err)
	}
	if err := p.PropensitiesOffered(want[:1], x, []features.Offer{{Action: "new"}}); err == nil || !strings.Contains(err.Error(), `"new" is none of the catalogue's`) {
		t.Error(err)
	}
	for _, bad := range []struct {
		names  []string
		values func(a int) []features.Value
		want   string
	}{
		{names[:1], func(a int) []features.Value { return of[a].Features }, "1 actions"},
		{[]string{"a", "a"}, func(a int) []features.Value { return of[a].Features }, "two actions"},
		{[]string{"a", ""}, func(a int) []features.Value { return of[a].Features }, "empty"},
		{names, func(a int) []features.Value { return of[a].Features[1:] }, "no column v0, which the policy reads"},
		{names, func(a int) []features.Value { return of[a].Features[:3] }, "no column brand"},
		{names, func(a int) []features.Value {
			return append(slices.Clone(of[a].Features[:3]), features.Value{Name: "brand", Number: 7})
		}, "numbers in column brand, where the policy knows names"},
		{names, func(a int) []features.Value {
			return append(slices.Clone(of[a].Features[1:]), features.Value{Name: "v0=x", Number: 1})
		}, "names in column v0, where the policy reads numbers"},
	} {
		c, err := policyfile.NewCatalogue(bad.names, bad.values)
		if err == nil {
			_, err = p.WithCatalogue(c, bad.names)
		}
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v, want %s", err, bad.want)
		}
	}
	if _, err := policy(t, example(t, policyfile.Softmax, 3, 3, 1)).WithCatalogue(c, names); err == nil {
		t.Error("a policy whose actions have no features takes a catalogue")
	}
}

func TestPropensities_RefuseBadOffers(t *testing.T) {
	f := shop(t, 40, 3, 4, 5, policyfile.Softmax, policyfile.Softmax)
	p := policy(t, f)
	x := context(f, rand.New(rand.NewPCG(3, 3)))
	good := offers(f, 1, 2)
	value := func(v float64) []features.Value { return []features.Value{{Name: "v1", Number: v}} }
	for _, c := range []struct {
		offered []features.Offer
		want    string
	}{
		{nil, "no action is offered"},
		{append(slices.Clone(good), good[0]), `"item 1" is offered twice`},
		{append(slices.Clone(good), features.Offer{Action: "item 1"}), `"item 1" is offered twice`},
		{[]features.Offer{{}}, "neither name nor features"},
		{[]features.Offer{{Action: "other"}}, "none of the catalogue's"},
		{[]features.Offer{{Action: "a", Features: value(math.NaN())}}, `"a": features: v1 is NaN`},
		{[]features.Offer{{Action: "a", Features: append(value(1), value(2)...)}}, "v1 comes twice"},
		{[]features.Offer{{Action: "a", Features: value(1e300)}}, "too large for 32 bits"},
	} {
		if err := p.PropensitiesOffered(make([]float64, len(c.offered)), x, c.offered); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.offered, err, c.want)
		}
	}
	// What was refused left nothing behind.
	o := p.NewOffered()
	if o.Add(features.Offer{Action: "a", Features: value(1e300)}) == nil || o.Len() != 0 {
		t.Error("a refused action is offered")
	}
	want, got := make([]float64, 2), make([]float64, 2)
	raw := make([]float64, p.Inputs().Dim())
	_, err := p.Inputs().Encode(raw, x)
	if err = errors.Join(err, o.Add(good[0]), o.Add(good[1]), p.PropensitiesOn(got, nil, raw, o), p.PropensitiesOffered(want, x, good)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v after a refused action, want %v, %v", got, want, err)
	}
	if err := p.PropensitiesOffered(make([]float64, 1), x, good); err == nil {
		t.Error("too little room is taken")
	}
	if err := o.AddRaw("z", make([]float64, 2)); err == nil {
		t.Error("too few raw values are taken")
	}
	f.Actions, f.Catalogue = nil, nil
	p = policy(t, f)
	if err := p.Propensities(nil, x); err == nil || !strings.Contains(err.Error(), "no catalogue: say which") {
		t.Error(err)
	}
	if err := p.PropensitiesOffered(want, x, []features.Offer{{Action: "item 1"}, good[1]}); err == nil || !strings.Contains(err.Error(), "the policy no catalogue") {
		t.Error(err)
	}
	if err := policy(t, example(t, policyfile.Softmax, 3, 3, 1)).PropensitiesOffered(want, nil, good); err == nil || !strings.Contains(err.Error(), "have no features") {
		t.Error(err)
	}
}

// Where actions are known by their names alone, or have none, no catalogue is needed.
func TestItems_NeedNoCatalogueForNamesAlone(t *testing.T) {
	f := shop(t, 3, 2, 0, 2, policyfile.Softmax)
	x := context(f, rand.New(rand.NewPCG(3, 3)))
	described := offers(f, 2, 1)
	pi := make([]float64, 2)
	described[0].Action = ""
	described = append(described[:1], described...)
	if err := policy(t, f).PropensitiesOffered(make([]float64, 3), x, described); err != nil {
		t.Error(err)
	}
	c := &f.Components[0]
	e, err := features.New(features.Encoder{Intercept: true})
	if err == nil {
		c.Items, err = features.NewItems(e, []string{"a"})
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Actions, f.Catalogue, c.Weights = nil, nil, c.Weights[:2]
	if err := policy(t, f).PropensitiesOffered(pi, x, []features.Offer{{Action: "a"}, {Action: "b"}}); err != nil || pi[0] == pi[1] {
		t.Errorf("%v, %v", pi, err)
	}
}

// A catalogue's hash is that of its content, in whatever form and order of columns.
func TestCatalogueHash_DependsOnContentAlone(t *testing.T) {
	names := []string{"a", "b", "c"}
	rows := [][]features.Value{{{Name: "p", Number: .1}, {Name: "k=1", Number: 1}}, {{Name: "p", Number: 2}}, {{Name: "k=1", Number: 1}}}
	c, err := policyfile.NewCatalogue(names, func(a int) []features.Value { return rows[a] })
	if err != nil || c.Columns[0].Float64 == nil || c.Columns[1].Ones == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	turned, err := policyfile.NewCatalogue(names, func(a int) []features.Value { r := slices.Clone(rows[a]); slices.Reverse(r); return r })
	if err != nil || turned.Hash != c.Hash || turned.Columns[0].Name == c.Columns[0].Name {
		t.Errorf("%+v, %v", turned, err)
	}
	rows[1][0].Number = 3
	if other, _ := policyfile.NewCatalogue(names, func(a int) []features.Value { return rows[a] }); other.Hash == c.Hash {
		t.Error("another number, the same hash")
	}
	if other, _ := policyfile.NewCatalogue([]string{"a", "b", "d"}, func(a int) []features.Value { return rows[a] }); other.Hash == c.Hash {
		t.Error("another action, the same hash")
	}
}

func TestLoad_RefusesBadItems(t *testing.T) {
	f := shop(t, 3, 2, 2, 1, policyfile.Softmax)
	b := saved(t, f)
	hash := f.Catalogue.Hash
	for _, c := range []struct{ from, to, want string }{
		{`"version":4`, `"version":3`, "which version 3 does not know"},
		{`"kind":"softmax","sigma":0`, `"kind":"gaussian","sigma":1`, "scores are correlated"},
		{`"own":["item 0"]`, `"own":["item 0","item 0"]`, "two rows of its own"},
		{`"own":["item 0"]`, `"own":[""]`, "no name"},
		{`"own":["item 0"]`, `"own":[null]`, "null among"},
		{`"own":["item 0"]`, `"own":null`, "none of them null"},
		{`,"own":["item 0"]`, ``, "items have encoder and own"},
		{`"own":["item 0"]`, `"own":["item 0"],"colour":1`, "colour"},
		{`"own":["item 0"]`, `"own":["item 0","item 1"]`, "6 rows for 7"},
		{`"items":{`, `"items":null,"item":{`, "item"},
		{`"hash":"` + hash + `"`, `"hash":"` + strings.Repeat("0", 64) + `"`, "its content has " + hash},
		{`"hash":"` + hash + `",`, ``, "its content has"},
		{`["item 0","item 1","item 2"]`, `["item 0","item 1","item 3"]`, "its content has"},
		{`["item 0","item 1","item 2"]`, `["item 0","item 1"]`, "3 numbers for 2 actions"},
		{`["item 0","item 1","item 2"]`, `["item 0","item 1","item 1"]`, "two actions"},
		{`["item 0","item 1","item 2"]`, `[]`, "0 actions"},
		{`{"name":"v0"`, `{"name":"v1"`, `two columns are named "v1"`},
		{`{"name":"v0"`, `{"name":""`, "column 0 is empty"},
		{`{"name":"v0"`, `{"name":"w0"`, "its content has"},
		{`{"name":"v0"`, `{"name":"v0","ones":""`, "in 2 forms"},
		{`{"name":"v0","float64"`, `{"name":"v0","float16"`, "float16"},
		{`{"name":"v0","float64":"`, `{"name":"v0","float64":"!`, "base64"},
		{`{"name":"v0","float64":"`, `{"name":"v0","float64":"AAAA`, "base64 of 8 bytes"},
		{`{"name":"v0","float64":"`, `{"name":"v0","float64":null,"x":"`, "x"},
		{`{"name":"v0","float64":"`, `{"name":"v0","float64":"AAAAAAAA8H8AAAAAAADwfwAAAAAAAPB/"},{"name":"w","float64":"`, `of action "item 0" is +Inf`},
		{`"columns":[`, `"columns":null,"column":[`, "column"},
		{`,"ones":"`, `,"ones":"AAAAAAAAAAAAAAAA"},{"name":"w","ones":"`, "not above the one before"},
		{`,"ones":"`, `,"ones":"CQAAAA=="},{"name":"w","ones":"`, "below 3"},
		{`,"ones":"`, `,"ones":null,"two":"`, "two"},
		{`"catalogue":{`, `"catalogue":null,"cat":{`, "cat"},
		{`"weights":`, `"joint":true,"weights":`, "6 rows for 1"},
		{`"weights":`, `"joint":1,"weights":`, "joint"},
	} {
		_, err := policyfile.Read(bytes.NewReader(sealed(t, b, c.from, c.to)))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s instead of %s: %v, want %q", c.to, c.from, err, c.want)
		}
	}
	change := func(want string, with func(f *policyfile.File)) {
		t.Helper()
		g := *f
		g.Components = slices.Clone(f.Components)
		with(&g)
		if _, err := policyfile.New(&g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	change("3 actions that have features, and no catalogue", func(f *policyfile.File) { f.Catalogue = nil })
	change("no component that reads", func(f *policyfile.File) { f.Components[0].Items = nil })
	change("component 1 and the first differ", func(f *policyfile.File) {
		f.Components = append(f.Components, f.Components[0])
		f.Components[0].Weight, f.Components[1].Weight, f.Components[1].Items = .5, .5, nil
	})
	change("mean: 1 rows for 6", func(f *policyfile.File) {
		f.Components[0].Prior = &policyfile.Prior{Scale: 1, Mean: policyfile.Matrix{{1}}}
	})
	change("no column v2", func(f *policyfile.File) {
		it := *f.Components[0].Items
		e := *it.Encoder
		e.Names = slices.Clone(e.Names)
		e.Names[0] = "v2"
		made, _ := features.New(e)
		f.Components[0].Items, _ = features.NewItems(made, it.Own)
	})
	plain := example(t, policyfile.Softmax, 3, 3, 1)
	plain.Components[0].Joint = true
	if _, err := policyfile.New(plain); err == nil || !strings.Contains(err.Error(), "together, and actions have no features") {
		t.Error(err)
	}
	joint := saved(t, joined(rand.New(rand.NewPCG(1, 1)), shop(t, 3, 2, 2, 1, policyfile.Softmax)))
	if _, err := policyfile.Read(bytes.NewReader(sealed(t, joint, `"version":7`, `"version":6`))); err == nil ||
		!strings.Contains(err.Error(), "together, or a layer clip, which version 6 does not know") {
		t.Error(err)
	}
	// A plain file is of the version that older readers know.
	if b := saved(t, example(t, policyfile.Softmax, 3, 3, 1)); !bytes.Contains(b, []byte(`"version":3`)) {
		t.Errorf("%.60s", b)
	}
}

// Top is a stable sort by propensity and score, cut off.
func TestTop_SortsByPropensityThenScore(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 300 {
		n := 1 + r.IntN(30)
		pi, scores, want := make([]float64, n), make([]float64, n), make([]int, n)
		for a := range n {
			pi[a], scores[a], want[a] = float64(r.IntN(5)), float64(r.IntN(3)), a
		}
		slices.SortStableFunc(want, func(a, b int) int { return cmp.Or(cmp.Compare(pi[b], pi[a]), cmp.Compare(scores[b], scores[a])) })
		m := r.IntN(n + 4)
		if got := policyfile.Top(make([]int, m), pi, scores); !slices.Equal(got, want[:min(m, n)]) {
			t.Fatalf("the top %d of %v, %v are %v, want %v", m, pi, scores, got, want)
		}
	}
}

func TestItems_AreChosenWithoutAllocating(t *testing.T) {
	for _, joint := range []bool{false, true} {
		f := shop(t, 3000, 5, 4, 3, policyfile.Softmax, policyfile.ArgMax)
		if joint {
			f = joined(rand.New(rand.NewPCG(2, 2)), f)
		}
		chosenWithoutAllocating(t, f)
	}
}

func chosenWithoutAllocating(t *testing.T, f *policyfile.File) {
	p := policy(t, f)
	r := rand.New(rand.NewChaCha8([32]byte{}))
	x, described := context(f, r), offers(f, 2, 9, 4, 100)
	ids := slices.Clone(described)
	for i := range ids {
		ids[i].Features = nil
	}
	pi := make([]float64, 3000)
	for name, call := range map[string]func() error{
		"catalogue": func() error { _, _, err := p.Choose(x, r); return err },
		"ids":       func() error { _, _, err := p.ChooseOffered(x, ids, r); return err },
		"described": func() error { _, _, err := p.ChooseOffered(x, described, r); return err },
		"all":       func() error { return p.Propensities(pi, x) },
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(200, func() {
				if err := call(); err != nil {
					t.Fatal(err)
				}
			}); n > mayAllocate {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// A catalogue of 100,000 actions and 64 numbers loads and serves.
func BenchmarkCatalogue(b *testing.B) {
	for name, f := range map[string]*policyfile.File{"64": shop(b, 100_000, 64, 0, 0, policyfile.Softmax), "64, 1000 brands": shop(b, 100_000, 64, 1000, 0, policyfile.Softmax)} {
		file := saved(b, f)
		b.Run("load "+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := policyfile.Read(bytes.NewReader(file)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(file)), "bytes")
		})
		b.Run("choose "+name, func(b *testing.B) {
			p := policy(b, f)
			r := rand.New(rand.NewChaCha8([32]byte{}))
			x := context(f, r)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := p.Choose(x, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
