package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"opl/policies/features"
)

// FuzzRequest: what is taken is valid JSON of the documented shape, says the same
// as encoding/json reads, and its context is one line of valid JSON.
func FuzzRequest(f *testing.F) {
	c := newColumns(testPolicy(f, 2, 2, nil).Inputs(), 1<<20)
	for _, s := range []string{
		`{"context":{"x_0":1.5,"x_1":-2e0}}`, `{"context":[1,2,0,1],"decision_id":"a\u00e9"}`, big(),
		" {\n\"decision_id\" : \"ord\\n1\",\t\"context\" : { \"x_0\" : 3 , \"city\":\"Bern\" } } ",
		`{"context":{"x_0":true,"city":null,"y":"\ud800"}}`, `{"context":{"x_0":1e999}}`, `{"context":{"x_0":0.1e-5,"":1}}`,
		`{"context":{"x_0":1,"x_0":1}}`, "{\"context\":\x00", `{"context":{},}`, `{"context":[01]}`, `{"decision_id":"`, `{"context":{"x_0":10}}`, `{"context":{"":{"":[{"":""}],"":{}},"city":0}}`, `{"context":{"x_0":1,"a":{"b":[1,{"c":"d"}],"e":{}},"city":7}}`, `{"context":{"city=Oslo":1,"city":"Oslo"}}`,
		`{"context":{"x_0":123456789.012345,"x_1":-0.10}}`, `{"context":{"x_1":-0,"x_0":9007199254740993}}`, `{"context":{"x_0":-.5}}`, `{"context":{"x_0":01}}`, `{"context":{"x_0":1.}}`, `{"context":{"x_0":1E2,"a":tru}}`, `{"context":{"a":-"b"},"decision_id":""}`, `{"context":{"x_0":true,"x_1":false,"a":null,"b":"c"},"decision_id":"7"} `, `{"context":{"x_0":1},"context":{"x_0":1}}`, `{"context":{"x_0":1}}}`, "{\"context\":{\"x_0\":1}}\x00", "{\"context\":{\"x_0\":1,\"a\":\"\xff\"}}", "{\"context\":{\"x_0\":1,\"a\":\"\x01\"}}",
	} {
		f.Add([]byte(s))
	}
	var q request // is used again
	f.Fuzz(func(t *testing.T, b []byte) {
		if q.parse(b, c) != nil {
			return
		}
		var want struct {
			Context json.RawMessage `json:"context"`
			ID      *string         `json:"decision_id"`
		}
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatalf("%q is taken, encoding/json says %v", b, err)
		}
		if (want.ID != nil) != (len(q.id) > 0) {
			t.Fatalf("%q: id %q", b, q.id)
		}
		if want.ID != nil {
			var id string
			if err := json.Unmarshal(q.id, &id); err != nil || id != *want.ID {
				t.Fatalf("%q: id %q, want %q", b, q.id, *want.ID)
			}
		}
		if bytes.ContainsAny(q.context, "\n\r") {
			t.Fatalf("%q: the context %q is no line", b, q.context)
		}
		var got map[string]any
		if err := json.Unmarshal(q.context, &got); err != nil {
			t.Fatalf("%q: the context %q: %v", b, q.context, err)
		}
		if want.Context[0] == '[' {
			var list []float64
			if err := json.Unmarshal(want.Context, &list); err != nil {
				t.Fatal(err)
			}
			for j, v := range list {
				if q.values[j] != v || got[c.encoder.Names[j]] != v {
					t.Fatalf("%q: values %v, context %q", b, q.values, q.context)
				}
			}
			return
		}
		flat := map[string]any{}
		if err := flatten(flat, "", json.NewDecoder(bytes.NewReader(want.Context))); err != nil {
			t.Fatal(err)
		}
		for name, v := range flat { // what a value is taken for is for the log
			if f := c.encoder.Feature(name); f >= 0 && v == true {
				flat[name] = 1.0
			} else if f >= 0 && v == false {
				flat[name] = 0.0
			} else if _, number := v.(float64); number && name == "city" {
				delete(flat, name)
				delete(got, name)
			}
		}
		again, _ := json.Marshal(got)
		if same, _ := json.Marshal(flat); !bytes.Equal(again, same) {
			t.Fatalf("%q: logged %s, want %s", b, again, same)
		}
		for j, name := range c.encoder.Names {
			if v, ok := flat[name].(float64); ok && q.values[j] != v {
				t.Fatalf("%q: %s is %v, want %v", b, name, q.values[j], v)
			}
		}
	})
}

// FuzzSet: what is taken of offered actions says the same as encoding/json reads, and is logged as one
// line of valid JSON, which a server that starts reads as the same request.
func FuzzSet(f *testing.F) {
	p := shopPolicy(f, 5, nil)
	c := columnsOf(p, 1<<20, false)
	for _, s := range []string{
		`{"context":{"x_0":1}}`, `{"offered":["i\"1","i\u00223"],"context":[1,2,0,1],"top":3}`, `{"context":{},"offered":["x","x"]}`, `{"context":{},"actions":[]}`,
		`{"context":{},"actions":[{"id":"a","price":1},{"brand":2,"id":"b\n"}]}`, `{"context":{},"actions":[{"\u0069d":"a","a":{"id":[1,{"id":"d"}]},"brand=1":1}],"decision_id":"x"}`,
		`{"context":{},"actions":[{"id":"a"},{"id":"a"}]}`, `{"context":{},"actions":[{"id":"a","price":true,"brand":null},7]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var q request
		if q.parse(b, c) != nil || q.late != nil {
			return
		}
		var want struct {
			Actions []json.RawMessage `json:"actions"`
			Offered []string          `json:"offered"`
			Top     int               `json:"top"`
		}
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatalf("%q is taken, encoding/json says %v", b, err)
		}
		names := want.Offered
		for _, raw := range want.Actions {
			var of map[string]any
			if err := json.Unmarshal(raw, &of); err != nil {
				t.Fatal(err)
			}
			names = append(names, of["id"].(string))
			if price, ok := of["price"].(float64); ok && len(want.Actions) == 1 && q.item.values[0] != price {
				t.Fatalf("%q: the price is %v", b, q.item.values[0])
			}
		}
		if q.top != want.Top || (q.set == nil) != (names == nil) || len(q.setText) > 0 != (q.set != nil) {
			t.Fatalf("%q: top %d, %q, want %+v", b, q.top, q.setText, want)
		}
		if q.set == nil {
			return
		}
		for i, name := range names {
			if q.set.Len() != len(names) || q.set.Name(i) != name {
				t.Fatalf("%q: %d actions, the %d-th is %q, want %q", b, q.set.Len(), i, q.set.Name(i), names)
			}
		}
		var d logged
		if err := json.Unmarshal(append(append([]byte{'{'}, q.setText...), '}'), &d); err != nil || bytes.ContainsAny(q.setText, "\n\r") || !bytes.Equal(d.set(), q.setText) {
			t.Fatalf("%q: logged %q, read %q, %v", b, q.setText, d.set(), err)
		}
		d.Action, d.Propensity = names[len(names)-1], .5
		if choice, ok := d.choice(); !ok || choice.place != len(names)-1 {
			t.Fatalf("%q: logged %q, which says the place %d", b, q.setText, choice.place)
		}
		pi := make([]float64, len(names))
		if err := p.PropensitiesOn(pi, nil, q.values, q.set); err != nil {
			return // numbers may be too large
		}
	})
}

// flatten puts the leaves of the next value into a map; the path begins with a dot.
func flatten(to map[string]any, path string, d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	kind, nested := t.(json.Delim)
	if !nested {
		to[path[1:]] = t
		return nil
	}
	for i := 0; d.More(); i++ {
		part := strconv.Itoa(i)
		if kind == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			part = key.(string)
		}
		if err := flatten(to, path+"."+part, d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// Contexts may use the names of the log; what is logged are the policy's.
func TestContext_MayUseTheNamesOfTheLog(t *testing.T) {
	e, err := features.New(features.Encoder{Names: []string{"x_age", "x_city=Bonn", "b", "x_b", "x_height"}, Scale: []float64{1, 1, 1, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	c := newColumns(e, 1<<10)
	c.called(map[string]string{"x_height": "size \"cm\"", "action": "variant", "x_weight": "kg"})
	for _, test := range []struct{ context, logged, wrong string }{
		{`{"age":3,"city":"Bonn","b":1,"x_b":2,"size \"cm\"":180}`, `{"x_age":3,"x_city":"Bonn","b":1,"x_b":2,"x_height":180}`, ""},
		{`{"x_age":3,"x_city":"Bonn","b":1,"x_b":2,"height":180}`, `{"x_age":3,"x_city":"Bonn","b":1,"x_b":2,"x_height":180}`, ""},
		{`{"age":3,"x_age":3}`, "", "context.x_age: comes twice"},
		{`{"x_age":3,"age":4}`, "", "context.x_age: comes twice"},
		{`{"age":"old"}`, "", "a string, where the policy reads a number"},
		{`{"variant":1,"kg":1,"x_x_age":2}`, "", "none of its 3 names"},
		{`{"age":3,"city":"Rome","x_city=Rome":1}`, "", "context.x_city=Rome: comes twice"},
		{`{"age":3,"a=true":1,"a":true}`, "", "context.a=true: comes twice"},
		{`{"age":3,"k=a":"b"}`, "", "context.k=a: the value is no number: want a name without ="},
		{`{"age":3,"k=a":true}`, "", "context.k=a: the value is no number: want a name without ="},
		{`{"age":3,"":1}`, "", "context: a value without a name"}, // no log could be read that has one
	} {
		var q request
		err := q.parse([]byte(`{"context":`+test.context+`}`), c)
		if test.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%s: %v, want %q", test.context, err, test.wrong)
			}
			continue
		}
		if err != nil || string(q.context) != test.logged || q.unknown != 0 || !slices.Equal(q.values, []float64{3, 1, 1, 2, 180}) {
			t.Errorf("%s: %v: %s, values %v, %d unknown", test.context, err, q.context, q.values, q.unknown)
		}
	}
}

// A number names the category of its text, or else of the same number; what is logged is the policy's category.
func TestContext_NumbersNameCategories(t *testing.T) {
	e := features.Encoder{Scale: make([]float64, 7)}
	for _, v := range []string{"2", "1.5", "1e+06", "3.0", "3", "007", "9007199254740993"} {
		e.Names = append(e.Names, "code="+v)
	}
	made, err := features.New(e)
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[string]string{"2": "2", "2.0": "2", "15e-1": "1.5", "1000000": "1e+06", "3": "3", "3.0": "3.0", "3.00": "3.0",
		"7": "", "9007199254740993": "9007199254740993", "9007199254740992": "", "-0": ""} {
		var q request
		if err := q.parse([]byte(`{"context":{"code":`+number+`}}`), newColumns(made, 1<<10)); err != nil {
			t.Fatal(err)
		}
		at := slices.Index(q.values, 1)
		logged := number
		if at >= 0 {
			logged = want
		}
		if at != slices.Index(e.Names, "code="+want) || string(q.context) != `{"code":"`+logged+`"}` {
			t.Errorf("%s: %v, %s, want %q", number, q.values, q.context, want)
		}
		// It is the same in quotes, which a CSV does not tell from numbers, and in a log.
		var quoted request
		if err := quoted.parse([]byte(`{"context":{"code":"`+number+`"}}`), newColumns(made, 1<<10)); err != nil {
			t.Fatal(err)
		}
		if at != slices.Index(quoted.values, 1) || at != made.Feature("code="+number) {
			t.Errorf("%s: %v in quotes, %v, in a log %d", number, q.values, quoted.values, made.Feature("code="+number))
		}
	}
}

// A truth value, or its text, names the category that a table writes in another way; what is logged is the policy's.
func TestContext_TruthValuesNameCategories(t *testing.T) {
	made, err := features.New(features.Encoder{Names: []string{"f=False", "f=True", "g=true"}, Scale: []float64{1, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{`{"f":true}`: `{"f":"True"} 1`, `{"f":"true"}`: `{"f":"True"} 1`, `{"f":"FALSE"}`: `{"f":"False"} 0`,
		`{"f":false}`: `{"f":"False"} 0`, `{"g":true}`: `{"g":true} 2`, `{"g":"True"}`: `{"g":"true"} 2`, `{"g":false}`: `{"g":false} -1`} {
		var q request
		if err := q.parse([]byte(`{"context":`+context+`}`), newColumns(made, 1<<10)); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(string(q.context), " ", slices.Index(q.values, 1)); got != want {
			t.Errorf("%s: %s, want %s", context, got, want)
		}
	}
}

// An action without a value is logged with a 0, which is what it was taken for: logs have features of every action.
func TestSet_LogsAFeatureOfEveryAction(t *testing.T) {
	p := shopPolicy(t, 5, nil)
	name, err := json.Marshal(p.ItemInputs().Names[0])
	if err != nil {
		t.Fatal(err)
	}
	var q request
	body := fmt.Sprintf(`{"context":{"x_0":1},"actions":[{"id":"a",%[1]s:null},{"id":"b"},{"id":"c",%[1]s:""},{"id":"d",%[1]s:2}]}`, name)
	if err := q.parse([]byte(body), columnsOf(p, 1<<20, false)); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`"actions":[{"id":"a",%[1]s:0},{"id":"b",%[1]s:0},{"id":"c",%[1]s:0},{"id":"d",%[1]s:2}]`, name)
	if got := string(q.setText); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
