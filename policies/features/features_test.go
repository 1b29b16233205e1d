package features

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

func encoder(t *testing.T, e Encoder) *Encoder {
	t.Helper()
	made, err := New(e)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestEncode_ScalesCentersAndCountsUnknownNames(t *testing.T) {
	plain := Encoder{Names: []string{"age", "city=Oslo", "city=Bern"}, Scale: []float64{0.5, 2, 3}}
	scaled := plain
	scaled.Center, scaled.Intercept, scaled.Unit = []float64{10, 0, 0}, true, true
	length := math.Sqrt(25 + 9 + 1)
	told := Encoder{Names: []string{"age", "city=Oslo", "income"}, Scale: []float64{.5, 2, 3}, Center: []float64{10, 0, 1},
		Width: []float64{0, 0, 4}, Impute: true, Missing: []string{"income", "age"}, Intercept: true}
	for _, c := range []struct {
		e       Encoder
		x       []Value
		want    []float64
		unknown int
	}{
		{plain, []Value{{"age", 20}, {"city=Bern", 1}}, []float64{10, 0, 3}, 0},
		{plain, nil, []float64{0, 0, 0}, 0},
		{plain, []Value{{"city=Rome", 1}, {"height", 3}}, []float64{0, 0, 0}, 2},
		{scaled, []Value{{"city=Bern", 1}, {"age", 20}}, []float64{5 / length, 0, 3 / length, 1 / length}, 0},
		{Encoder{Intercept: true, Unit: true}, nil, []float64{1}, 0},
		// What is missing counts as the centre, and is told; 0 is a value.
		{told, nil, []float64{0, 0, 0, 1, 1, 1}, 0},
		{told, []Value{{"income", 8}, {"city=Oslo", 1}}, []float64{0, 2, 3 * (math.Asinh(2) - 1), 0, 1, 1}, 0},
		{told, []Value{{"age", 0}, {"city=Bern", 1}}, []float64{-5, 0, 0, 1, 0, 1}, 1},
		// A zero vector stays zero; squares do not overflow nor vanish.
		{Encoder{Names: []string{"a"}, Scale: []float64{1}, Unit: true}, nil, []float64{0}, 0},
		{Encoder{Names: []string{"a", "b"}, Scale: []float64{1, 1}, Unit: true}, []Value{{"a", 3e300}, {"b", -4e300}}, []float64{.6, -.8}, 0},
		{Encoder{Names: []string{"a", "b"}, Scale: []float64{1, 1}, Unit: true}, []Value{{"a", 3e-300}, {"b", 4e-300}}, []float64{.6, .8}, 0},
	} {
		e := encoder(t, c.e)
		dst := make([]float64, e.Dim())
		unknown, err := e.Encode(dst, c.x)
		if err != nil || unknown != c.unknown {
			t.Errorf("%v: %d unknown, %v", c.x, unknown, err)
		}
		for j, v := range dst {
			if math.Abs(v-c.want[j]) > 1e-15 {
				t.Errorf("%v: φ = %v, want %v", c.x, dst, c.want)
				break
			}
		}
	}
}

func TestEncode_RefusesRepeatedAndNonFiniteValues(t *testing.T) {
	e := encoder(t, Encoder{Names: []string{"a", "b"}, Scale: []float64{1, 1e300}, Unit: true})
	dst := make([]float64, 2)
	for _, c := range []struct {
		x    []Value
		want string
	}{
		{[]Value{{"a", 1}, {"a", 1}}, "a comes twice"},
		{[]Value{{"a", math.NaN()}}, "a is NaN"},
		{[]Value{{"b", math.Inf(-1)}}, "b is -Inf"},
		{[]Value{{"b", 1e100}}, "b is +Inf"}, // after scaling
	} {
		if _, err := e.Encode(dst, c.x); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.x, err, c.want)
		}
	}
}

// Finish on raw values in order is Encode on named ones.
func TestFinish_EncodesRawValuesAsEncodeDoes(t *testing.T) {
	e := encoder(t, Encoder{Names: []string{"a", "b"}, Scale: []float64{2, 3}, Center: []float64{1, -1}, Intercept: true, Unit: true})
	named, raw := make([]float64, 3), []float64{4, 5, 0}
	if _, err := e.Encode(named, []Value{{"b", 5}, {"a", 4}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Finish(raw); err != nil {
		t.Fatal(err)
	}
	for j := range raw {
		if raw[j] != named[j] {
			t.Fatalf("Finish gives %v, Encode %v", raw, named)
		}
	}
}

func TestFeature_FindsANameOrNone(t *testing.T) {
	e := encoder(t, Encoder{Names: []string{"a", "b"}, Scale: []float64{1, 1}})
	if e.FeatureOf([]byte("b")) != 1 || e.FeatureOf(nil) != -1 {
		t.Errorf("b is feature %d", e.FeatureOf([]byte("b")))
	}
	if e.Feature("b") != 1 || e.Feature("c") != -1 {
		t.Errorf("b is feature %d, c is %d", e.Feature("b"), e.Feature("c"))
	}
}

// Clients and tables write truth values in three ways, of which the encoder may know one, or tell them apart.
func TestFeature_FindsTruthValues(t *testing.T) {
	e := encoder(t, Encoder{Names: []string{"f=True", "g=true", "g=TRUE", "h=1"}, Scale: []float64{1, 1, 1, 1}})
	for name, want := range map[string]int{"f=true": 0, "f=TRUE": 0, "f=tRUE": -1, "f=false": -1, "g=TRUE": 2, "g=True": 1, "h=true": -1,
		"true": -1, "f": -1} {
		if got := e.Feature(name); got != want || e.FeatureOf([]byte(name)) != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// Of policies that spell one number in two ways each reads what the other reads, unless one of them tells them apart.
func TestVocabulary_SpellsANumberOnce(t *testing.T) {
	named := func(names ...string) *Encoder {
		return encoder(t, Encoder{Names: names, Scale: make([]float64, len(names))})
	}
	for _, c := range []struct {
		of   []*Encoder
		want string
	}{{[]*Encoder{named("c=2", "b"), named("c=2.0", "d=2.0")}, "[c=2 b d=2.0]"},
		{[]*Encoder{named("c=2"), named("c=2", "c=2.0")}, "[c=2 c=2.0]"}} {
		v, err := Vocabulary(c.of)
		if err != nil || fmt.Sprint(v.Names) != c.want {
			t.Errorf("%v, %v, want %s", v.Names, err, c.want)
		}
		got := make([]float64, v.Dim())
		unknown, err := v.Encode(got, []Value{{"c=2e0", 1}, {"d=02", 1}})
		if unknown != 1 || err != nil || got[0] != 1 {
			t.Errorf("%v, %d unknown, %v", got, unknown, err)
		}
	}
}

func TestEncoder_ComesBackFromJSON(t *testing.T) {
	e := encoder(t, Encoder{Names: []string{"a", "b"}, Scale: []float64{2, 0.1}, Center: []float64{1, 0}, Intercept: true, Unit: true})
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back Encoder
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(&back); err != nil || string(again) != string(b) {
		t.Errorf("%s comes back as %s, %v", b, again, err)
	}
	if back.Feature("b") != 1 {
		t.Error("the index does not come back")
	}
	for _, c := range []struct{ json, want string }{
		{`{"names":["a"],"scale":[1,2],"intercept":true,"unit":true}`, "1 names, 2 scales"},
		{`{"names":["a"],"scale":[null],"intercept":true,"unit":true}`, "null"},
		{`{"names":["a","a"],"scale":[1,2],"intercept":true,"unit":true}`, `"a" twice`},
		{`{"names":[""],"scale":[1],"intercept":true,"unit":true}`, "empty"},
		{`{"names":["a"],"scale":[1],"intercept":true}`, "unit"},
		{`{"names":["a"],"scale":[1],"centre":[1],"intercept":true,"unit":true}`, "centre"},
		{`{"names":["a"],"scale":[1e999],"intercept":true,"unit":true}`, "1e999"},
		{`{"names":[],"scale":[],"intercept":false,"unit":true}`, "no names"},
		{`[]`, "array"},
	} {
		if err := json.Unmarshal([]byte(c.json), &back); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.json, err, c.want)
		}
	}
}

func TestEncode_DoesNotAllocate(t *testing.T) {
	e := encoder(t, Encoder{Names: []string{"a", "b"}, Scale: []float64{1, 1}, Intercept: true, Unit: true})
	dst, x := make([]float64, 3), []Value{{"a", 1}, {"c", 2}}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := e.Encode(dst, x); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
