package policyfile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/testdata/long"
)

// python skips where there is no Python with numpy, as .ci/run prints.
func python(t testing.TB) string {
	for _, path := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(path, "-c", "import numpy").Run() == nil {
			return path
		}
	}
	t.Skip("no python3 with numpy (Debian's python3-numpy)")
	return ""
}

// pyCase is a policy file with contexts, what each offers, and what Go makes of it.
type pyCase struct {
	File     string             `json:"file"`
	Contexts []map[string]any   `json:"contexts"`
	Offered  [][]map[string]any `json:"offered"`
	Slots    int                `json:"slots"`
	what     string
	want     [][]float64
	err      error
	fails    bool // some context does
}

type pyAnswer struct {
	Pi      [][]float64
	Shown   [][]string
	Hash    string
	Error   string
	Refused bool
}

// pyCases are read from b, and then computed by Go.
func newCase(t *testing.T, dir, what string, b []byte, contexts []map[string]any, offered [][]map[string]any) *pyCase {
	t.Helper()
	c := &pyCase{File: filepath.Join(dir, fmt.Sprint(rand.Uint64(), ".json")), Contexts: contexts, Offered: offered, what: what}
	if err := os.WriteFile(c.File, b, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := policyfile.Read(bytes.NewReader(b))
	if c.err = err; err != nil {
		return c
	}
	values := func(m map[string]any) (x []features.Value) {
		for name, v := range m {
			switch v := v.(type) {
			case float64:
				x = append(x, features.Value{Name: name, Number: v})
			case string:
				if name != "id" {
					x = append(x, features.Value{Name: name + "=" + v, Number: 1})
				}
			}
		}
		return x
	}
	for i, context := range contexts {
		var offers []features.Offer
		pi := make([]float64, p.Len())
		if offered != nil {
			for _, o := range offered[i] {
				id, _ := o["id"].(string)
				of := features.Offer{Action: id}
				if len(o) > 1 || id == "" {
					of.Features = append([]features.Value{}, values(o)...)
				}
				offers = append(offers, of)
			}
			pi = make([]float64, len(offers))
			err = p.PropensitiesOffered(pi, values(context), offers)
		} else {
			err = p.Propensities(pi, values(context))
		}
		c.want, c.fails = append(c.want, pi), c.fails || err != nil
	}
	return c
}

// ask has Python's file answer cases.
func askPython(t *testing.T, dir string, cases []*pyCase) []pyAnswer {
	t.Helper()
	b, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "cases.json")
	if err := os.WriteFile(list, b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(t), "testdata/check.py", "../python", list)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, wrong.String())
	}
	answers := make([]pyAnswer, len(cases))
	dec := json.NewDecoder(bytes.NewReader(out))
	for i := range answers {
		if err := dec.Decode(&answers[i]); err != nil {
			t.Fatal(err)
		}
	}
	return answers
}

// far is the largest difference of propensities.
func far(t *testing.T, what string, got, want [][]float64) (most float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d contexts, want %d", what, len(got), len(want))
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("%s: %d actions, want %d", what, len(got[i]), len(want[i]))
		}
		for a := range want[i] {
			if d := math.Abs(got[i][a] - want[i][a]); !(d <= most) {
				most = d
			}
		}
	}
	return most
}

// pyContexts are of some of the names x0 to x15, and a category.
func pyContexts(r *rand.Rand, n int) (all []map[string]any) {
	for i := range n {
		c := map[string]any{"x0": 0.5}
		for j := 1; j < 16 && i > 0; j++ {
			if r.Float64() > .3 {
				c[fmt.Sprint("x", j)] = r.NormFloat64() * math.Pow(10, float64(r.IntN(4)-1))
			}
		}
		all = append(all, c)
	}
	return all
}

// branched gives a component scores of contexts and actions together, of sums, pieces and products of both.
func branched(r *rand.Rand, c *policyfile.Component) {
	in := c.Encoder.Dim() + c.Items.Dim()
	rows := func(m, n int) (w [][]float64) {
		for range m {
			row := make([]float64, n)
			for j := range row {
				row[j] = r.NormFloat64() / 3
			}
			w = append(w, row)
		}
		return w
	}
	last := int32(in - 1)
	pieces := &features.Pieces{In: in, Keep: []int32{0, last}, Features: []int32{1, last - 1}, Knots: [][]float64{{-1, 0, 1}, {-.5, .5}}}
	products := &features.Products{In: in, Pairs: [][]int32{{0, last}, {1, 2}, {last, last}}}
	c.Layers = []features.Layer{{Branches: &features.Branches{In: in, Chains: [][]features.Layer{
		{{Weights: rows(3, in), Bias: []float64{.1, 0, -.2}, Activation: features.Cos}}, {{Pieces: pieces}},
		{{Products: products}, {Weights: rows(2, in+3)}}}}}}
	c.Joint, c.Weights = true, policyfile.Matrix(rows(1, c.Layers[0].Out()))
}

// Python's file gives the propensities of all kinds of policies within 1e-12.
func TestPython_GivesThePropensitiesOfGo(t *testing.T) {
	long.Test(t)
	python(t)
	dir, r := t.TempDir(), rand.New(rand.NewPCG(20, 1))
	var cases []*pyCase
	kinds := []string{policyfile.ArgMax, policyfile.Softmax, policyfile.Gaussian}
	for _, of := range [][]string{kinds[:1], kinds[1:2], kinds[2:], {kinds[2], kinds[2]}, {kinds[0], kinds[1], kinds[1], kinds[2], kinds[0]}} {
		for _, activation := range []string{"", features.ReLU, features.Tanh, features.Cos} {
			for _, widths := range [][]int{nil, {9}, {7, 3}, {1}, {2}} {
				f := layered(t, r, of, activation, widths...)
				if len(widths) == 1 && widths[0] == 1 {
					f = convolved(r, f)
				} else if len(widths) == 1 && widths[0] == 2 {
					f = forested(r, f)
				}
				cases = append(cases, newCase(t, dir, fmt.Sprintf("%v, layers %q of %v", of, activation, widths), saved(t, f), pyContexts(r, 12), nil))
			}
		}
	}
	first, err := os.ReadFile("testdata/version1.json")
	if err != nil {
		t.Fatal(err)
	}
	cases = append(cases, newCase(t, dir, "version 1", first, []map[string]any{{"x_age": .3}, {"x_age": -4., "x_evening": 1.}}, nil))
	second := saved(t, layered(t, r, kinds[2:], features.ReLU, 4))
	cases = append(cases, newCase(t, dir, "version 2", sealed(t, second, `"version":3`, `"version":2`), pyContexts(r, 5), nil))
	for _, k := range []int{2, 3, 30, 200} { // from one action that leads by far to scores that are alike, and equal
		for _, sigma := range []float64{1e-6, 1e-3, .3, 3, 1e4} {
			f := example(t, policyfile.Gaussian, k, 4, uint64(k))
			f.Components[0].Sigma, f.Floor = sigma, 0
			contexts := []map[string]any{{"f0a": 0.}, {"f0a": 1., "f1a": -2.}, {"f2a": 1e-200}, {"f1a": 1e200}}
			cases = append(cases, newCase(t, dir, fmt.Sprintf("gaussian of %d actions, σ = %v", k, sigma), saved(t, f), contexts, nil))
			for a := range f.Components[0].Weights {
				f.Components[0].Weights[a] = f.Components[0].Weights[a%2]
			}
			f.Components[0].Nodes = 513
			cases = append(cases, newCase(t, dir, fmt.Sprintf("gaussian of %d actions in two kinds, σ = %v", k, sigma), saved(t, f), contexts, nil))
		}
	}
	for trial, kinds := range [][]string{{policyfile.Softmax}, {policyfile.ArgMax}, {policyfile.Softmax, policyfile.ArgMax, policyfile.Softmax},
		{policyfile.Softmax, policyfile.ArgMax, policyfile.Softmax}, {policyfile.Softmax}} {
		for _, categories := range []int{0, 3, 100} {
			f := shop(t, 400, 4, categories, 7, kinds...)
			what := fmt.Sprintf("%v among items of %d categories", kinds, categories)
			if trial == 3 {
				f, what = joined(r, f), what+", joint"
			}
			if trial == 4 {
				branched(r, &f.Components[0])
				what += ", joint branches"
			}
			cases = append(cases, newCase(t, dir, what, saved(t, f), pyContexts(r, 6), nil))
			contexts := pyContexts(r, 6)
			var described, ids [][]map[string]any
			for range contexts {
				var some, named []map[string]any
				for _, o := range offers(f, r.Perm(len(f.Actions))[:2+r.IntN(20)]...) {
					m := map[string]any{"id": o.Action}
					for _, v := range o.Features {
						if column, category, ok := strings.Cut(v.Name, "="); ok {
							m[column] = category
						} else {
							m[v.Name] = v.Number
						}
					}
					some, named = append(some, m), append(named, map[string]any{"id": o.Action})
				}
				described, ids = append(described, some), append(ids, named)
			}
			cases = append(cases, newCase(t, dir, what+", described", saved(t, f), contexts, described))
			cases = append(cases, newCase(t, dir, what+", by ids", saved(t, f), contexts, ids))
			f.Actions, f.Catalogue = nil, nil
			cases = append(cases, newCase(t, dir, what+", without a catalogue", saved(t, f), contexts, described))
		}
	}
	truths := example(t, policyfile.Softmax, 3, 4, 5)
	if truths.Components[0].Encoder, err = features.New(features.Encoder{Names: []string{"f=True", "f=FALSE", "g=true"}, Scale: []float64{1, 1, 1},
		Intercept: true}); err != nil {
		t.Fatal(err)
	}
	var told []map[string]any
	for _, v := range []any{"true", "True", "TRUE", "false", "False", "tRUE"} {
		told = append(told, map[string]any{"f": v, "g": "false"}, map[string]any{"f": "x", "g": v})
	}
	cases = append(cases, newCase(t, dir, "truth values", saved(t, truths), told, nil))
	var worst float64
	for i, a := range askPython(t, dir, cases) {
		c := cases[i]
		if c.err != nil || c.fails {
			t.Fatalf("%s: %v", c.what, c.err)
		}
		if a.Error != "" {
			t.Errorf("%s: %s", c.what, a.Error)
			continue
		}
		d := far(t, c.what, a.Pi, c.want)
		if worst = max(worst, d); !(d <= 1e-12) {
			t.Errorf("%s: differs by %v", c.what, d)
		}
		if p, _ := policyfile.Load(c.File); p.Hash() != a.Hash {
			t.Errorf("%s: hash %s, want %s", c.what, a.Hash, p.Hash())
		}
	}
	t.Logf("%d files, largest difference %v", len(cases), worst)
}

// What pandas says is missing is missing, truth values are read as tables write them, and dates are refused.
func TestPython_TakesColumnsOfPandas(t *testing.T) {
	f := example(t, policyfile.Softmax, 3, 4, 5)
	var err error
	if f.Components[0].Encoder, err = features.New(features.Encoder{Names: []string{"age", "f=True", "f=False"}, Scale: []float64{1, 1, 1},
		Intercept: true}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(file, saved(t, f), 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `
import sys
sys.path.insert(0, "../python")
import numpy as np, opl_policy
p = opl_policy.load(sys.argv[1])
NA = type("NAType", (), {})()
column = lambda *v: np.array(v, dtype=object)
got = p.propensities_of({"age": column(1.5, NA, 2), "f": column(True, "False", NA)})
want = p.propensities([{"age": 1.5, "f": "True"}, {"f": "False"}, {"age": 2}])
assert np.array_equal(got, want), (got, want)
try:
    p.propensities_of({"age": np.zeros(1), "f": np.zeros(1, "datetime64[ns]")})
    sys.exit("dates are taken")
except opl_policy.Error as e:
    assert str(e).startswith("column f: dates or times"), e
`
	cmd := exec.Command(python(t), "-c", script, file)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// Python draws lists, and tells the propensities of their slots, as the policy has them among what is left, of policies
// that read the slot and of others.
func TestPython_DrawsListsAtTheirPropensities(t *testing.T) {
	long.Test(t)
	python(t)
	dir, r := t.TempDir(), rand.New(rand.NewPCG(20, 3))
	var cases []*pyCase
	for _, kinds := range [][]string{{policyfile.Softmax}, {policyfile.ArgMax, policyfile.Softmax}} {
		for _, first := range []string{"x1", "slot=2"} {
			f := shop(t, 12, 4, 3, 2, kinds...)
			f.Floor = 0.05
			for i := range f.Components {
				e := *f.Components[i].Encoder
				e.Names = append([]string{}, e.Names...)
				e.Names[slices.Index(e.Names, "x1")] = first
				made, err := features.New(e)
				if err != nil {
					t.Fatal(err)
				}
				f.Components[i].Encoder = made
			}
			c := newCase(t, dir, fmt.Sprint(kinds, first), saved(t, f), pyContexts(r, 4), nil)
			c.Slots = 3
			cases = append(cases, c)
		}
	}
	for i, a := range askPython(t, dir, cases) {
		c := cases[i]
		p, err := policyfile.Load(c.File)
		if err != nil || a.Error != "" || len(a.Shown) != 2*len(c.Contexts) {
			t.Fatalf("%s: %v, %s, %d lists", c.what, err, a.Error, len(a.Shown))
		}
		for j, list := range a.Shown {
			var left []features.Offer
			for _, name := range p.Actions() {
				left = append(left, features.Offer{Action: name})
			}
			for l, name := range list {
				x := []features.Value{{Name: fmt.Sprint("slot=", l+1), Number: 1}}
				for name, v := range c.Contexts[j%len(c.Contexts)] {
					x = append(x, features.Value{Name: name, Number: v.(float64)})
				}
				pi := make([]float64, len(left))
				if err := p.PropensitiesOffered(pi, x, left); err != nil {
					t.Fatal(err)
				}
				at := slices.IndexFunc(left, func(o features.Offer) bool { return o.Action == name })
				if at < 0 || !(math.Abs(pi[at]-a.Pi[j][l]) <= 1e-12) {
					t.Fatalf("%s: list %v, slot %d: %v, want %v", c.what, list, l+1, a.Pi[j][l], pi)
				}
				left = slices.Delete(left, at, at+1)
			}
		}
	}
}

// noPart are fields that have no part in propensities.
var noPart = []string{"history", "created", "data_hash", "training", "certificate", "taught", "chosen", "prior"}

// nodes are all values of JSON but for those, each with how to put another in its place, or none.
func nodes(v any, put func(any), drop func(), use func(v any, put func(any), drop func())) {
	use(v, put, drop)
	switch v := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains(noPart, name) {
				continue
			}
			nodes(v[name], func(w any) { v[name] = w }, func() { delete(v, name) }, use)
		}
	case []any:
		for i := range v {
			nodes(v[i], func(w any) { v[i] = w }, func() { put(slices.Delete(slices.Clone(v), i, i+1)) }, use)
		}
	}
}

// Python refuses the files that Go refuses, and no others, with an error of one line; where a value has been changed for another
// that both take, propensities are the same. What has no part in them is left as it is.
func TestPython_RefusesExactlyTheFilesThatGoRefuses(t *testing.T) {
	long.Test(t)
	python(t)
	dir, r := t.TempDir(), rand.New(rand.NewPCG(20, 2))
	of := rand.New(rand.NewPCG(20, 3)) // of files of joint scores
	gaussian := layered(t, r, []string{policyfile.Gaussian, policyfile.Softmax}, features.Tanh, 3)
	gaussian.Columns = map[string]string{"x1": "age"}
	whole := map[string][]byte{
		"layers": saved(t, gaussian),
		"images": saved(t, convolved(r, layered(t, r, []string{policyfile.Softmax}, features.ReLU))),
		"trees":  saved(t, forested(r, layered(t, r, []string{policyfile.Softmax}, features.ReLU))),
		"items":  saved(t, shop(t, 3, 2, 2, 1, policyfile.Softmax)),
		"joint":  saved(t, joined(of, shop(t, 3, 3, 2, 1, policyfile.Softmax))),
	}
	first, err := os.ReadFile("testdata/version1.json")
	if err != nil {
		t.Fatal(err)
	}
	whole["version 1"] = first
	values := []any{nil, true, false, -1., 0., 1., 2., .5, 65., 66., 5000., 1e300, -1e300, 1e-300, "", "x", "softmax", "gaussian", "argmax", "AAAA", []any{}, []any{1.}, []any{nil}, []any{"x"}, []any{[]any{1.}},
		object{}, object{"x": 1.}, json.RawMessage("1e999"), json.RawMessage("1.5e0"), json.RawMessage(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)), json.RawMessage("9" + strings.Repeat("0", 5000))}
	var cases []*pyCase
	add := func(what string, b []byte) {
		cases = append(cases, newCase(t, dir, what, b, []map[string]any{{"x0": 1., "x1": .5, "x2": -2., "x_age": .3, "x_evening": 1.}, {"x0": -1., "x1": 1e3, "x5": 2., "x_age": 1., "x_evening": .5}}, nil))
	}
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		count := 0
		each := func(use func(v any, put func(any), drop func())) object {
			var o object
			if err := json.Unmarshal(whole[name], &o); err != nil {
				t.Fatal(err)
			}
			at := 0
			nodes(o, func(any) {}, func() {}, func(v any, put func(any), drop func()) { use(v, put, drop); at++ })
			count = at
			return o
		}
		each(func(any, func(any), func()) {})
		r := r
		if name == "joint" {
			r = of
		}
		for range 150 {
			at, i, target := 0, r.IntN(count), values[r.IntN(len(values))]
			how, what := r.IntN(4), ""
			o := each(func(v any, put func(any), drop func()) {
				if at++; at-1 != i {
					return
				}
				if o, ok := v.(object); ok && how == 0 {
					o["colour"] = target
					what = "another field"
				} else if how == 1 {
					drop()
					what = fmt.Sprintf("without %.60v", v)
				} else {
					put(target)
					what = fmt.Sprintf("%.60v in place of %.60v", target, v)
				}
			})
			b, err := json.Marshal(o)
			if err != nil { // of what is no JSON
				continue
			}
			add(name+": "+what, policyfile.Seal(b))
		}
	}
	g := whole["layers"]
	for i := range 40 {
		add("cut off", g[:len(g)*i/40])
		changed := bytes.Clone(g)
		changed[r.IntN(len(g))] ^= 1 << r.IntN(7)
		add("a changed byte", changed)
		changed = bytes.Clone(g)
		changed[r.IntN(len(g))] = byte(r.IntN(256))
		add("another byte, sealed", policyfile.Seal(changed))
	}
	for _, b := range []string{"[1]", "1", "null", `"opl policy"`, "{}", "\x00", "\xff\xfe", "\ufeff" + string(g), string(g) + "x", string(g) + string(g), `{"format":"opl policy","version":3,"digest":"x"}`,
		`{"format":"opl policy","version":3.0}`, `{"format":"opl policy","version":6}`, `{"format":"opl policy","version":true}`, strings.Replace(string(g), `"digest":"`, `"digest":"\u0030`, 1)} {
		add("text", []byte(b))
	}
	refused, taken := 0, 0
	for i, a := range askPython(t, dir, cases) {
		c := cases[i]
		b, _ := os.ReadFile(c.File)
		switch {
		case strings.Contains(a.Error, "\n") || len(a.Error) > 600 || a.Error != "" && !a.Refused:
			t.Errorf("%s: %q", c.what, a.Error)
		case c.err != nil && a.Error == "" && !bytes.Contains(b, []byte("\xef\xbf\xbd")):
			t.Errorf("%s: Python takes it, Go says %v", c.what, c.err)
		case c.err == nil && !c.fails && a.Refused:
			t.Errorf("%s: Go takes it, Python says %s", c.what, a.Error)
		case c.err == nil && c.fails != a.Refused:
			t.Errorf("%s: of some context Python says %q, and Go %v", c.what, a.Error, c.fails)
		case a.Error == "":
			taken++
			if d := far(t, c.what, a.Pi, c.want); !(d <= 1e-12) {
				t.Errorf("%s: differs by %v: %v, want %v", c.what, d, a.Pi, c.want)
			}
		default:
			refused++
		}
	}
	if t.Logf("%d refused, %d taken", refused, taken); refused < 300 || taken < 50 {
		t.Error("too few of either")
	}
}
