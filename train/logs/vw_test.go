package logs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
)

// offersOf shows what row i offers, and the place of the logged action.
func offersOf(l *Log, i int) string {
	var d Decision
	l.Decision(i, &d)
	var s []string
	for j, o := range d.Offered {
		text := o.Action + "("
		for _, v := range o.Features {
			text += v.Name + " "
		}
		if text = strings.TrimSpace(text) + ")"; j == d.Action {
			text = "*" + text
		}
		s = append(s, text)
	}
	return strings.Join(s, " ")
}

// Examples of several lines are read as the JSON Lines of the same decisions are.
func TestVW_ReadsLinesOfActionsAsSets(t *testing.T) {
	const text = "\n\nshared 'first |user age:0.5 male |x\r\n|item price:2 red\r\n3:-1:0.25 |item price:3\n\n  \n" +
		"shared 'second |\n0:0:0.5 |item price:3\n| price:1 price:2\n| \n"
	const lines = `{"decision_id":"first","action":"2","reward":1,"propensity":0.25,"context":{"user^age":0.5,"user^male":1,"x":0},"actions":[{"item^red":1,"item^price":2},{"item^price":3}]}` + "\n" +
		`{"decision_id":"second","action":"1","reward":0,"propensity":0.5,"context":{},"actions":[{"item^price":3},{"price":3},{"nothing":1}]}` + "\n"
	l := mustOpen(t, write(t, "l.vw", text), Options{})
	if err := l.Check(); err != nil || !l.ByPlace() || !slices.Equal(l.Actions, []string{"1", "2", "3"}) || l.Pi0(0) != nil {
		t.Fatalf("%q %v", l.Actions, err)
	}
	if x := contextOf(l, 0); x != "user^age:0.5 user^male:1" {
		t.Errorf("context %s", x)
	}
	if got := offersOf(l, 0) + "; " + offersOf(l, 1); got != "(item^price item^red) *(item^price); *(item^price) (price) ()" {
		t.Errorf("offered %s", got)
	}
	if it, err := l.FitItems(nil, Scaling{Intercept: true}, 1); err != nil || it.Own != nil || it.Encoder.Dim() != 4 {
		t.Errorf("%+v %v", it, err)
	}
	if !slices.Equal(l.Choices.Items, []int32{0, 1, 1, 2, 3}) {
		t.Errorf("items %v: the same features are one item, wherever they are", l.Choices.Items)
	}
	other := mustOpen(t, write(t, "l.jsonl", strings.Replace(strings.Replace(lines, `,"x":0`, "", 1), `,{"nothing":1}`, "", 1)), Options{})
	if l.ContextHashes()[0] != other.ContextHashes()[0] || l.Keys[0] != other.Keys[0] {
		t.Error("a row is another one in JSON Lines")
	}
	// The first line alone does not say which kind the file is; a tag is no label.
	for name, text := range map[string]string{"no shared": "0:-1:0.5 | a\n| b\n\n| c\n0:0:0.5 | b\n", "tag": "'t| a\n0:0:0.5 | b\n"} {
		t.Run(name, func(t *testing.T) {
			if l := mustOpen(t, write(t, "l.vw", text), Options{}); !l.Sets() || l.Options(0) != 2 {
				t.Errorf("%q", l.Actions)
			}
		})
	}
	if l := mustOpen(t, write(t, "l.vw", "1 2:0:0.5 't| a\n1:-1:0.5 u| c\n"), Options{}); l.Sets() || l.Len() != 2 {
		t.Errorf("%d rows", l.Len())
	}
	// A bad example is left out whole.
	bad := t.TempDir() + "/bad"
	kept := mustOpen(t, write(t, "l.vw", "shared | a\n| b\n| c\n\n"+text), Options{BadRows: bad})
	if kept.Len() != 2 || kept.Skipped != 1 || kept.Hash() != l.Hash() || kept.Row(0) != 2 {
		t.Errorf("%d rows, %d left out", kept.Len(), kept.Skipped)
	}
}

// Actions of _multi are called by what they are, so that another log may have them in another order, and one that was
// never taken is known. Where not every one has a tag of its own their features are their name, long ones with a hash,
// and equal ones are counted.
func TestDSJSON_CallsActionsByWhatTheyAre(t *testing.T) {
	line := func(a int, multi string) string {
		return fmt.Sprintf(`{"_label_cost":-1,"_label_probability":0.75,"_labelIndex":%d,"c":{"u":1,"_multi":[%s]}}`, a, multi) + "\n"
	}
	long := strings.Repeat("é", 60)
	for _, c := range []struct {
		multi, reversed string
		want            []string
	}{
		{`{"f":1,"_tag":"B"},{"f":1,"_tag":"A"}`, `{"_tag":"A","f":1},{"f":1,"_tag":"B"}`, []string{"A", "B"}},
		{`{"_tag":"2.0"},{"_tag":"1e1"}`, `{"_tag":"1e1"},{"_tag":"2.0"}`, []string{"2", "10"}},
		{`{"i":{"n":"x","v":2}},{}`, `{},{"i":{"v":2.0,"n":"x"}}`, []string{"i.n=x,i.v=2", "{}"}},
		{`{"f":1,"_tag":"A"},{"f":2,"_tag":"A"}`, `{"f":2,"_tag":"A"},{"f":1,"_tag":"A"}`, []string{"_tag=A,f=1", "_tag=A,f=2"}},
		{`{"f":1},{"f":2},{"f":2}`, `{"f":2},{"f":2},{"f":1}`, []string{"f=1", "f=2", "f=2#2"}},
		{`{"a":"1,b=2"},{"a":"1","b":"2"}`, "", []string{"a=1,b=2~2a0a38a1", "a=1,b=2~ee0f7127"}},
		{`{"a":"` + long + `"},{"a":"` + long + `é"}`, "", []string{"a=" + long[:88] + "~45f08c57", "a=" + long[:88] + "~928319f6"}},
		{`{"f":1},{"f":1},{"f":"1#2"}`, "", []string{"f=1", "f=1#2", "f=1#2~42209263"}},
		{`{},{}`, "", []string{"1", "2"}},
	} {
		l := mustOpen(t, write(t, "l.dsjson", line(0, c.multi)+line(0, c.multi)), Options{})
		if !slices.Equal(l.Actions, c.want) {
			t.Errorf("%s: %q, want %q", c.multi, l.Actions, c.want)
		}
		if c.reversed == "" {
			continue
		}
		other := mustOpen(t, write(t, "r.dsjson", line(len(c.want)-1, c.reversed)), Options{})
		if !slices.Equal(other.Actions, c.want) || other.Action[0] != l.Action[0] {
			t.Errorf("%s: %q, action %d, want %d", c.reversed, other.Actions, other.Action[0], l.Action[0])
		}
	}
	// Setting actions may list more, and must list these.
	name := write(t, "l.dsjson", line(0, `{"f":1},{"f":2}`))
	if l := mustOpen(t, name, Options{Actions: []string{"f=3", "f=2", "f=1"}}); l.Action[0] != 2 {
		t.Errorf("action %d", l.Action[0])
	}
	if _, err := Open(context.Background(), name, Options{Actions: []string{"1", "2"}}); err == nil || !strings.Contains(err.Error(), "f=1") {
		t.Errorf("a policy of numbers reads actions with features: %v", err)
	}
}

// _multi that varies makes sets, with ids if all actions have a tag of their own.
func TestDSJSON_ReadsVaryingActionsAsSets(t *testing.T) {
	const one = `{"_label_cost":-1,"_label_probability":0.75,"_label_Action":2,"_labelIndex":1,"a":[2,1],"p":[0.75,0.25],"c":{"u":{"age":3},"_multi":[{"_tag":"x","i":{"b":1}},{"_tag":"y","i":{"b":2},"k":"v","_z":{"q":1}}]}}` + "\n"
	const two = `{"_label_cost":0,"_label_probability":0.5,"_labelIndex":2,"_a":[3,1,2],"_p":[0.5,0.25,0.25],"c":{"_multi":[{"_tag":"y","i":{"b":2},"k":"v"},{"_tag":"z","i":{"b":1}},{"_tag":"w","i":{"b":7}}]}}` + "\n"
	l := mustOpen(t, write(t, "l.dsjson", one+two), Options{})
	if err := l.Check(); err != nil || l.ByPlace() || !slices.Equal(l.Actions, []string{"w", "x", "y", "z"}) {
		t.Fatalf("%q %v", l.Actions, err)
	}
	if got := offersOf(l, 0) + "; " + offersOf(l, 1); got != "x(i.b) *y(i.b k=v); y(i.b k=v) z(i.b) *w(i.b)" {
		t.Errorf("offered %s", got)
	}
	if !slices.Equal(l.Pi0(0), []float64{.25, .75}) || !slices.Equal(l.Pi0(1), []float64{.25, .25, .5}) || l.Propensity[1] != .5 {
		t.Errorf("π₀ %v %v", l.Pi0(0), l.Pi0(1))
	}
	for _, tag := range []string{"", `"_tag":"y",`} { // none, and twice in a row
		l := mustOpen(t, write(t, "l.dsjson", one+strings.Replace(two, `"_tag":"z",`, tag, 1)), Options{})
		if err := l.Check(); err != nil || !l.ByPlace() || !slices.Equal(l.Actions, []string{"1", "2", "3"}) || offersOf(l, 1) != "(i.b k=v) (i.b) *(i.b)" {
			t.Fatalf("%q %s %v", l.Actions, offersOf(l, 1), err)
		}
	}
	// As long as they do not vary, they are a list, but for policies that know actions by their features.
	sets := mustOpen(t, write(t, "l.dsjson", one+one), Options{Offered: true})
	if got := offersOf(sets, 0); got != "x(i.b) *y(i.b k=v)" || !slices.Equal(sets.Pi0(0), []float64{.25, .75}) {
		t.Errorf("offered %s, π₀ %v", got, sets.Pi0(0))
	}
	if l := mustOpen(t, write(t, "l.dsjson", one+one), Options{}); l.Choices != nil || l.K() != 2 {
		t.Errorf("%q", l.Actions)
	}
	var d Decision
	l.Decision(0, &d)
	if v := (features.Value{Name: "u.age", Number: 3}); !slices.Contains(d.Context, v) {
		t.Errorf("context %v", d.Context)
	}
}
