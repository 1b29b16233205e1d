package policyfile_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"opl/policies"
	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/propensity"
)

// example is a file of k actions and d features, the last an intercept.
func example(t testing.TB, kind string, k, d int, seed uint64) *policyfile.File {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	e := features.Encoder{Intercept: true, Unit: true}
	for j := range d - 1 {
		e.Names = append(e.Names, "f"+string(rune('0'+j%10))+string(rune('a'+j/10)))
		e.Scale = append(e.Scale, 1+r.Float64())
	}
	made, err := features.New(e)
	if err != nil {
		t.Fatal(err)
	}
	c := policyfile.Component{Weight: 1, Kind: kind, Encoder: made, Prior: &policyfile.Prior{Scale: 0.1},
		Taught: policyfile.Hashes{0, 5, math.MaxUint64}, Chosen: policyfile.Hashes{7}}
	if kind == policyfile.Gaussian {
		c.Sigma = 0.3
	}
	f := &policyfile.File{Floor: 0.02, RewardMax: 1, History: policyfile.History{Known: true, DataHash: "log", How: "xxhash64", Seed: 7},
		Training: json.RawMessage(`{"epochs":20}`), Created: policyfile.Versions{Opl: "devel", Go: "go1.26"}}
	for a := range k {
		f.Actions = append(f.Actions, "action "+string(rune('A'+a)))
		row, mean := make([]float64, d), make([]float64, d)
		for j := range row {
			row[j], mean[j] = r.NormFloat64(), r.NormFloat64()
		}
		c.Weights = append(c.Weights, row)
		c.Prior.Mean = append(c.Prior.Mean, mean)
	}
	f.Components = []policyfile.Component{c}
	return f
}

func policy(t testing.TB, f *policyfile.File) *policyfile.Policy {
	t.Helper()
	p, err := policyfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// context draws values for every feature of a file.
func context(f *policyfile.File, r *rand.Rand) []features.Value {
	var x []features.Value
	for _, name := range f.Components[0].Encoder.Names {
		x = append(x, features.Value{Name: name, Number: r.NormFloat64()})
	}
	return x
}

// Serving computes what training does, to 1e-12.
func TestPropensities_EqualThoseOfTraining(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		kind  string
		of    policies.Policy
		k, d  int
		sigma float64
		nodes int
	}{
		{policyfile.Softmax, policies.Softmax{}, 2, 3, 0, 0},
		{policyfile.Softmax, policies.Softmax{}, 100, 50, 0, 0},
		{policyfile.Gaussian, policies.Gaussian{}, 2, 1, 1, 0},
		{policyfile.Gaussian, policies.Gaussian{}, 10, 50, 0.05, 0},
		{policyfile.Gaussian, policies.Gaussian{}, 70, 20, 0.3, 0},
		{policyfile.Gaussian, policies.Gaussian{Nodes: 129}, 20, 20, 0.3, 129},
		{policyfile.Gaussian, policies.Gaussian{}, 5, 4, 1e-9, 0}, // as good as argmax
	} {
		f := example(t, c.kind, c.k, c.d, 1)
		f.Components[0].Sigma, f.Components[0].Nodes, f.Floor = c.sigma, c.nodes, 0
		plain := policy(t, f)
		f.Floor = 0.1
		floored := policy(t, f)
		phi, scores := make([]float64, c.d), make([]float64, c.k)
		want, got := make([]float64, c.k), make([]float64, c.k)
		for i := range 20 {
			x := context(f, r)
			if i == 0 {
				x = nil
			}
			if _, err := f.Components[0].Encoder.Encode(phi, x); err != nil {
				t.Fatal(err)
			}
			var norm float64
			for _, v := range phi {
				norm += v * v
			}
			for a := range scores {
				scores[a] = 0
				for j := c.d - 1; j >= 0; j-- { // another order of summation
					scores[a] += phi[j] * f.Components[0].Weights[a][j]
				}
			}
			c.of.At(want, scores, c.sigma*math.Sqrt(norm), nil)
			if c.sigma < 1e-6 && gap(scores) < 1e-6 {
				continue
			}
			if err := plain.Propensities(got, x); err != nil {
				t.Fatal(err)
			}
			near(t, got, want)
			for a := range want {
				want[a] = 0.9*want[a] + 0.1/float64(c.k)
			}
			if err := floored.Propensities(got, x); err != nil {
				t.Fatal(err)
			}
			near(t, got, want)
		}
	}
}

func near(t *testing.T, got, want []float64) {
	t.Helper()
	for a := range want {
		if !(math.Abs(got[a]-want[a]) <= 1e-12) {
			t.Fatalf("action %d: %v, training gives %v", a, got[a], want[a])
		}
	}
}

// gap is the least difference of two numbers.
func gap(x []float64) float64 {
	least := math.Inf(1)
	for i := range x {
		for j := range i {
			least = min(least, math.Abs(x[i]-x[j]))
		}
	}
	return least
}

// A context of zeros ties all actions of a gaussian, whatever its weights.
func TestGaussian_TiesAllActionsAtAContextOfZeros(t *testing.T) {
	f := example(t, policyfile.Gaussian, 3, 4, 1)
	f.Components[0].Encoder.Intercept, f.Floor = false, 0
	for a := range f.Components[0].Weights {
		f.Components[0].Weights[a], f.Components[0].Prior.Mean[a] = f.Components[0].Weights[a][:3], f.Components[0].Prior.Mean[a][:3]
	}
	got := make([]float64, 3)
	if err := policy(t, f).Propensities(got, nil); err != nil {
		t.Fatal(err)
	}
	near(t, got, []float64{1. / 3, 1. / 3, 1. / 3})
}

// Choose draws actions as often as it says: the χ² statistic of 20,000 draws on
// 9 degrees of freedom is below its 1 − 1e-6 quantile.
func TestChoose_DrawsActionsAtTheirPropensities(t *testing.T) {
	for _, kind := range []string{policyfile.Softmax, policyfile.Gaussian} {
		f := example(t, kind, 10, 5, 2)
		p := policy(t, f)
		r := rand.New(rand.NewChaCha8([32]byte{1}))
		x := context(f, r)
		pi := make([]float64, 10)
		if err := p.Propensities(pi, x); err != nil {
			t.Fatal(err)
		}
		const n = 20_000
		var count [10]float64
		for range n {
			a, prob, err := p.Choose(x, r)
			if err != nil || prob != pi[a] {
				t.Fatalf("action %d with propensity %v, want %v, %v", a, prob, pi[a], err)
			}
			count[a]++
		}
		var chi float64
		for a, c := range count {
			chi += (c - n*pi[a]) * (c - n*pi[a]) / (n * pi[a])
		}
		if chi > 46 {
			t.Errorf("%s: χ² = %v; counts %v, propensities %v", kind, chi, count, pi)
		}
	}
}

// fixed is a source whose Float64 is as given.
type fixed uint64

func (f fixed) Uint64() uint64 { return uint64(f) }

func TestDraw_NeverTakesAnActionOfProbabilityZero(t *testing.T) {
	for _, u := range []fixed{0, math.MaxUint64} {
		for _, pi := range [][]float64{{0, 1, 0}, {0, 0.5, 0.5 - 1e-9, 0}, {1e-300, 0}} {
			if a := propensity.Draw(pi, rand.New(u)); pi[a] == 0 {
				t.Errorf("u = %x: action %d of %v", uint64(u), a, pi)
			}
		}
	}
}

func TestPolicy_IsSafeForGoroutines(t *testing.T) {
	f := example(t, policyfile.Gaussian, 10, 20, 4)
	p := policy(t, f)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			x := context(f, r)
			first, pi := make([]float64, 10), make([]float64, 10)
			if err := p.Propensities(first, x); err != nil {
				t.Error(err)
			}
			for range 200 {
				if err := p.Propensities(pi, x); err != nil || pi[3] != first[3] {
					t.Errorf("%v, then %v, %v", first[3], pi[3], err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// served are policies of 10 actions and 50 features, also behind 256 units.
func served(t testing.TB) map[string]*policyfile.File {
	t.Helper()
	files := map[string]*policyfile.File{}
	for _, kind := range []string{policyfile.Softmax, policyfile.Gaussian} {
		files[kind] = example(t, kind, 10, 50, 4)
	}
	deep, units := example(t, policyfile.Softmax, 10, 50, 4), example(t, policyfile.Softmax, 256, 50, 5).Components[0].Weights
	c := &deep.Components[0]
	c.Layers, c.Prior = []features.Layer{{Weights: units, Bias: make([]float64, 256), Activation: features.ReLU}}, nil
	c.Weights = example(t, policyfile.Softmax, 10, 256, 6).Components[0].Weights
	files["256 units"] = deep
	return files
}

func TestPolicy_ChoosesWithoutAllocating(t *testing.T) {
	for kind, f := range served(t) {
		p := policy(t, f)
		r := rand.New(rand.NewChaCha8([32]byte{}))
		x, pi, phi := context(f, r), make([]float64, 10), make([]float64, 49)
		for name, call := range map[string]func() error{
			"Choose":         func() error { _, _, err := p.Choose(x, r); return err },
			"Propensities":   func() error { return p.Propensities(pi, x) },
			"PropensitiesOf": func() error { return p.PropensitiesOf(pi, phi) },
		} {
			if n := testing.AllocsPerRun(200, func() {
				if err := call(); err != nil {
					t.Fatal(err)
				}
			}); n > mayAllocate {
				t.Errorf("%s, %s: %v allocations", kind, name, n)
			}
		}
	}
}

func TestPolicy_RefusesBadContexts(t *testing.T) {
	f := example(t, policyfile.Softmax, 3, 3, 1)
	p := policy(t, f)
	pi := make([]float64, 3)
	for _, c := range []struct {
		x    []features.Value
		want string
	}{
		{[]features.Value{{Name: f.Components[0].Encoder.Names[0], Number: math.NaN()}}, "NaN"},
		{[]features.Value{{Name: f.Components[0].Encoder.Names[0]}, {Name: f.Components[0].Encoder.Names[0]}}, "twice"},
	} {
		if err := p.Propensities(pi, c.x); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.x, err)
		}
	}
	if err := p.PropensitiesOf(pi, make([]float64, 3)); err == nil || !strings.Contains(err.Error(), "3 values") {
		t.Error(err)
	}
	if err := p.PropensitiesOf(pi[:2], make([]float64, 2)); err == nil {
		t.Error("too little room is taken")
	}
	if err := p.PropensitiesOf(pi, []float64{math.MaxFloat64, math.MaxFloat64}); err == nil || !strings.Contains(err.Error(), "is +Inf") {
		t.Error(err)
	}
	for a := range f.Components[0].Weights {
		for j := range f.Components[0].Weights[a] {
			f.Components[0].Weights[a][j] = math.MaxFloat64
		}
	}
	if err := policy(t, f).PropensitiesOf(pi, []float64{1e9, 1e9}); err == nil || !strings.Contains(err.Error(), "a number of the context is too large") {
		t.Error(err)
	}
}

// What is saved comes back equal, and its bytes do not depend on when.
func TestSave_ComesBackEqualWithTheSameBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	for _, kind := range []string{policyfile.Softmax, policyfile.Gaussian} {
		f := example(t, kind, 4, 6, 5)
		f.Components[0].Weights[1][2], f.Components[0].Weights[1][3], f.Components[0].Weights[1][4] = math.Copysign(0, -1), math.MaxFloat64, 5e-324
		f.Certificate = json.RawMessage(`{"n":5,"null":null}`)
		if err := policyfile.Save(path, f); err != nil {
			t.Fatal(err)
		}
		p, err := policyfile.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if p.Hash() != policy(t, f).Hash() || p.File().Components[0].Dim() != 6 || len(p.Actions()) != 4 {
			t.Errorf("%s, %d features, %q", p.Hash(), p.File().Components[0].Dim(), p.Actions())
		}
		got, _ := json.Marshal(p.File())
		want, _ := json.Marshal(f)
		if !bytes.Equal(got, want) {
			t.Errorf("saved %s\nloaded %s", want, got)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	// What cannot be loaded is not saved, and what was there stays.
	before, _ := os.ReadFile(path)
	f := example(t, policyfile.Softmax, 4, 6, 5)
	f.Components[0].Weights[2][1] = math.NaN()
	if err := policyfile.Save(path, f); err == nil || !strings.Contains(err.Error(), "row 2, number 1 is NaN") {
		t.Error(err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a refused save changed the file")
	}
	if err := policyfile.Save(filepath.Join(path, "x"), example(t, policyfile.Softmax, 2, 2, 1)); err == nil {
		t.Error("a file is taken for a folder")
	}
}

func saved(t testing.TB, f *policyfile.File) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p")
	if err := policyfile.Save(path, f); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every changed byte and every cut is noticed.
func TestLoad_NoticesEveryChangedByte(t *testing.T) {
	b := saved(t, example(t, policyfile.Gaussian, 2, 3, 6))
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 1 << (i % 7)
		if _, err := policyfile.Read(bytes.NewReader(changed)); err == nil {
			t.Fatalf("byte %d changed from %q to %q: read", i, b[i], changed[i])
		}
		if _, err := policyfile.Read(bytes.NewReader(b[:i])); err == nil {
			t.Fatalf("the first %d of %d bytes are read", i, len(b))
		}
	}
	if _, err := policyfile.Read(bytes.NewReader(append(bytes.Clone(b), ' '))); err == nil {
		t.Error("a byte more is read")
	}
}

// sealed replaces what is given in a file and takes the digest again, as
// whoever writes files in another language does.
func sealed(t testing.TB, b []byte, from, to string) []byte {
	t.Helper()
	if !bytes.Contains(b, []byte(from)) {
		t.Fatalf("there is no %q in %s", from, b)
	}
	return policyfile.Seal(bytes.Replace(b, []byte(from), []byte(to), 1))
}

func TestRead_RefusesDamagedAndImpossibleFiles(t *testing.T) {
	gaussian, softmax := example(t, policyfile.Gaussian, 2, 2, 6), example(t, policyfile.Softmax, 2, 2, 6)
	for _, f := range []*policyfile.File{gaussian, softmax} {
		f.Components[0].Weights = policyfile.Matrix{{1.5, 2.5}, {3.5, 4.5}}
		f.Components[0].Prior.Mean = policyfile.Matrix{{0, 0}, {0, 0}}
	}
	g, s := saved(t, gaussian), saved(t, softmax)
	if _, err := policyfile.Read(bytes.NewReader(sealed(t, g, `"sigma":0.3`, `"sigma":0.4`))); err != nil {
		t.Fatalf("a resealed file: %v", err)
	}
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{nil, "empty"},
		{g[:len(g)/2], "cut off"},
		{[]byte(string(g) + "x"), "no policy file: invalid character 'x' after"},
		{[]byte("hello"), "no policy file"},
		{[]byte("{}"), `format is ""`},
		{[]byte("[1]"), "no policy file"},
		{bytes.Replace(g, []byte("1.5"), []byte("1.6"), 1), "altered"},
		{bytes.Replace(g, []byte(`"version":3`), []byte(`"version":9`), 1), "version 9, and versions 1 to 8"},
		{sealed(t, g, `"kind":"gaussian"`, `"kind":"mixedlogit"`), "draws alone"},
		{sealed(t, g, `"kind":"gaussian"`, `"kind":"forest"`), `kind "forest"`},
		{sealed(t, g, `"kind":"gaussian"`, `"kind":"gaussian","colour":1`), "colour"},
		{sealed(t, g, `"kind":"gaussian",`, ``), `no field "kind"`},
		{sealed(t, g, `"action B"`, `"action A"`), "two actions"},
		{sealed(t, g, `"action B"`, `""`), "empty"},
		{sealed(t, g, `["action A","action B"]`, `["action A"]`), "1 actions"},
		{sealed(t, g, `"sigma":0.3`, `"sigma":-1`), "sigma is -1"},
		{sealed(t, g, `"sigma":0.3`, `"sigma":0`), "sigma of a gaussian is 0"},
		{sealed(t, g, `"sigma":0.3`, `"sigma":null`), "sigma is null"},
		{sealed(t, g, `"sigma":0.3`, `"sigma":0.3,"nodes":3`), "3 nodes"},
		{sealed(t, s, `"sigma":0`, `"sigma":1`), "sigma of a softmax"},
		{sealed(t, s, `"sigma":0`, `"sigma":0,"nodes":65`), "no nodes"},
		{sealed(t, g, `"floor":0.02`, `"floor":1`), "floor 1"},
		{sealed(t, g, `"floor":0.02`, `"floor":-0.1`), "floor -0.1"},
		{sealed(t, g, `1.5`, `null`), "null"},
		{sealed(t, g, `1.5`, `1e999`), "1e999"},
		{sealed(t, g, `1.5`, `NaN`), "N"},
		{sealed(t, g, `1.5,`, ``), "row 0 has 1 numbers for 2"},
		{sealed(t, g, `[1.5,2.5],`, ``), "1 rows for 2"},
		{sealed(t, g, `[[0,0],[0,0]]`, `[[0,0]]`), "mean: 1 rows"},
		{sealed(t, g, `"scale":0.1`, `"scale":0`), "prior's scale"},
		{sealed(t, g, `"weight":1`, `"weight":0.5`), "sum to 0.5"},
		{sealed(t, g, `"weight":1`, `"weight":0`), "weight 0"},
		{sealed(t, g, `"floor":`, `"reward_models":[{"kind":"logistic","weights":[[1,2],[3,4]],"dispersion":2}],"floor":`), "dispersion 2, want one in [0, 1]"},
		{sealed(t, g, `"floor":`, `"reward_models":[{"kind":"logistic","weights":[[1,2],[3,4]],"dispersion":0.5}],"floor":`), "dispersions of reward models, which version 3 does not know"},
		{sealed(t, g, `"floor":`, `"catalogue":"abc","floor":`), "cannot unmarshal string into Go struct field"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1,2]],"activation":"odds"}],"weights":[[1.5`), "odds of 1 outputs, want at least 2"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1,null]],"activation":"relu"}],"weights":[[1.5`), "null among the numbers of a layer"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1,2]],"bias":[null],"activation":"relu"}],"weights":[[1.5`), "null among the numbers of a layer"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1,2,3]],"activation":"relu"}],"weights":[[1.5`), "row 0 of a layer has 3 numbers for 2"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1]],"activation":"relu","image":{"height":1,"width":2,"channels":1,"size":1}}],"weights":[[1.5`), "layers of images, which version 3 does not know"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1]],"activation":"relu","image":{"height":2,"width":2,"channels":1,"size":1}}],"weights":[[1.5`), "an image of 4 numbers, 2×2 pixels of 1 channels, for 2 features"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1]],"activation":"relu","image":{"height":1,"width":2,"channels":1,"size":1,"pool":2}}],"weights":[[1.5`), "squares of 2×2 in an image of 1×2 pixels"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1,2]],"activation":"relu","image":{"height":1,"width":2,"channels":1,"size":1}}],"weights":[[1.5`), "row 0 of a layer has 2 numbers for 1"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1]],"activation":"relu","image":{"height":1,"width":2,"channels":1,"size":1,"stride":1}}],"weights":[[1.5`), "stride"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"weights":[[1]],"activation":"relu","image":{"height":4294967296,"width":4294967296,"channels":1,"size":1}}],"weights":[[1.5`), "want sides from 1"},
		{sealed(t, g, `"weights":[[1.5`, `"layers":[{"products":{"in":2}}],"weights":[[1.5`), "layers of trees, pieces, products or branches, which version 3 does not know"},
		{sealed(t, g, `"taught":"AAAA`, `"taught":"A!AA`), "base64"},
		{sealed(t, g, `"taught":"AAAAAAAAAAAF`, `"taught":"BBBBBBBBBBAF`), "not above"},
		{sealed(t, g, `"history":{`, `"history":{"witnesses":[{"digits":99,"keys":""}],`), "witnesses of 99 digits"},
		{sealed(t, g, `"training":{"epochs":20}`, `"training":[1]`), "training"},
		{sealed(t, g, `"names":["f0a"]`, `"names":["f0a","f0a"]`), "2 names"},
		{append(bytes.Clone(g), g...), "no policy file"},
	} {
		_, err := policyfile.Read(bytes.NewReader(c.b))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80s…: %v, want %q", c.b, err, c.want)
		}
	}
	path := filepath.Join(t.TempDir(), "cut.json")
	if err := os.WriteFile(path, g[:9], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := policyfile.Load(path); err == nil || !strings.Contains(err.Error(), "cut.json") {
		t.Errorf("%v does not name the file", err)
	}
}

// FuzzRead: no bytes panic, and what is read is whole: it chooses, and can be
// saved. The digest is taken again, so that fuzzing gets past it.
func FuzzRead(f *testing.F) {
	for _, kind := range []string{policyfile.Softmax, policyfile.Gaussian} {
		f.Add(saved(f, example(f, kind, 3, 3, 1)))
	}
	f.Add(saved(f, convolved(rand.New(rand.NewPCG(1, 1)), layered(f, rand.New(rand.NewPCG(1, 1)), []string{policyfile.ArgMax}, "", 1))))
	f.Add(saved(f, forested(rand.New(rand.NewPCG(1, 1)), layered(f, rand.New(rand.NewPCG(1, 1)), []string{policyfile.ArgMax, policyfile.Softmax}, ""))))
	items := shop(f, 3, 2, 2, 1, policyfile.Softmax, policyfile.ArgMax)
	f.Add(saved(f, items))
	items.Actions, items.Catalogue = nil, nil
	f.Add(saved(f, items))
	f.Add([]byte(`{"format":"opl policy","version":1,"digest":"0000000000000000000000000000000000000000000000000000000000000000","kind":"softmax","actions":["a","b"],"sigma":0,"floor":0,"encoder":{"names":[],"scale":[],"intercept":true,"unit":false},"created":{"opl":"","go":"","system":""},"data_hash":"","weights":[[1],[2]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := policyfile.Read(bytes.NewReader(policyfile.Seal(b)))
		if err != nil {
			return
		}
		again, err := policyfile.New(p.File())
		if err != nil {
			t.Fatalf("read but not written: %v", err)
		}
		pi := make([]float64, len(p.Actions()))
		if err = again.Propensities(pi, nil); p.HasItems() && len(pi) == 0 {
			pi = make([]float64, 2)
			err = again.PropensitiesOffered(pi, nil, []features.Offer{{Action: "a", Features: []features.Value{{Name: "v0", Number: 1}}}, {Action: "b", Features: []features.Value{}}})
		}
		if err != nil {
			return // scores may overflow
		}
		var sum float64
		for _, v := range pi {
			sum += v
		}
		if !(math.Abs(sum-1) < 1e-4) {
			t.Errorf("propensities sum to %v", sum)
		}
	})
}

// Serving must not bring Gorgonia, nor what builds graphs, into a program.
func TestPolicyfile_DoesNotImportGorgonia(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "opl/policies/policyfile").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "opl/graph/kernel\n") {
		t.Fatalf("go list says %s", out)
	}
	for dep := range strings.Lines(string(out)) {
		switch dep = strings.TrimSpace(dep); {
		case strings.HasPrefix(dep, "gorgonia.org"), dep == "opl/graph", dep == "opl/policies", strings.HasPrefix(dep, "opl/train"):
			t.Errorf("policyfile imports %s", dep)
		}
	}
}

// A posterior whose prior is not told was trained on rows that may not certify it.
func TestFixed_IsNoPosterior(t *testing.T) {
	for _, c := range []struct {
		of    policyfile.Component
		fixed bool
	}{
		{policyfile.Component{Kind: policyfile.ArgMax}, true},
		{policyfile.Component{Kind: policyfile.Softmax}, true},
		{policyfile.Component{Kind: policyfile.Softmax, Joint: true}, true},
		{policyfile.Component{Kind: policyfile.Softmax, Prior: &policyfile.Prior{}}, false},
		{policyfile.Component{Kind: policyfile.Gaussian}, false},
		{policyfile.Component{Kind: policyfile.Gaussian, Prior: &policyfile.Prior{}}, false},
	} {
		if c.of.Fixed() != c.fixed {
			t.Errorf("%+v: fixed %v", c.of, !c.fixed)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for kind, f := range served(b) {
		b.Run(kind, func(b *testing.B) {
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
