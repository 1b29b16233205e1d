package logs

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"opl/policies/features"
)

const setsJSON = `{"action":"b","reward":1,"propensity":0.5,"x_u":1,"actions":[{"id":"a","price":1,"color":"red"},{"id":"b","price":2.5,"color":"blue"}],"propensities":[0.5,0.5]}
{"propensities":[0.25,0.5,0.25],"action":"c","reward":0,"x_u":-2,"propensity":0.25,"actions":[{"id":"c","price":-1,"brand":{"size":3}},{"color":"red","price":1,"id":"a"},{"id":"b","price":2,"color":"blue"}]}
`

func TestSets_AreReadFromJSONAndFromTheCache(t *testing.T) {
	path := write(t, "l.jsonl", setsJSON)
	for range 2 { // read, and from the cache
		l := mustOpen(t, path, Options{})
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(l.Actions, []string{"a", "b", "c"}) || !slices.Equal(l.ItemNames(), []string{"price", "color=red", "color=blue", "brand.size"}) || l.ByPlace() {
			t.Errorf("actions %q, described by %q", l.Actions, l.ItemNames())
		}
		c := l.Choices
		if !slices.Equal(c.Actions, []int32{0, 1, 2, 0, 1}) || !slices.Equal(c.Items, []int32{0, 1, 2, 0, 3}) || l.Chosen(0) != 1 || l.Chosen(1) != 0 || l.Options(0) != 2 || l.MostOptions() != 3 {
			t.Errorf("options %v, items %v", c.Actions, c.Items)
		}
		if p := l.Pi0(1); !slices.Equal(p, []float64{.25, .5, .25}) {
			t.Errorf("π₀ %v", p)
		}
		var d Decision
		l.Decision(1, &d)
		l.Decision(0, &d)
		want := []Offer{{Action: "a", Features: []features.Value{{Name: "price", Number: 1}, {Name: "color=red", Number: 1}}}, {Action: "b", Features: []features.Value{{Name: "price", Number: 2.5}, {Name: "color=blue", Number: 1}}}}
		if !reflect.DeepEqual(d.Offered, want) || d.Action != 1 {
			t.Errorf("%+v", d)
		}
		it, err := l.FitItems([]int{0}, Scaling{Intercept: true}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(it.Encoder.Names, []string{"price", "color=red", "color=blue"}) || !slices.Equal(it.Encoder.Scale, []float64{.4, 1, 1}) || !slices.Equal(it.Own, []string{"b"}) {
			t.Errorf("%+v", it)
		}
		e, err := l.EncodeItems(it)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		z := make([]float64, 5)
		e.Choices.Z.Row64(3, z)
		z32 := []float64{float64(float32(.8)), 0, 1, 1, 1} // rounded to 32 bits
		if !slices.Equal(z, z32) || e.Choices.Z.Dim() != 5 || math.Abs(e.Choices.Z.Norm(3)-math.Sqrt(3.64)) > 1e-7 {
			t.Errorf("z %v", z)
		}
		if s := e.Subset([]int{1}); s.Options(0) != 3 || s.Check() != nil || l.Hash() == s.Hash() {
			t.Errorf("%v", s.Check())
		}
	}
}

// drawSets are decisions of the kinds that a log may have: actions with ids and features,
// with ids alone, and with features alone.
func drawSets(kind string, n int) (rows []Decision) {
	w := newWorld(3, 6, 1)
	for i := range n {
		var d Decision
		w.next(&d)
		d = clone(d)
		m := 1 + (i+i/6)%6
		var sum float64
		d.Propensities = d.Propensities[:m]
		for _, p := range d.Propensities {
			sum += p
		}
		for j := range m {
			d.Propensities[j] /= sum
			o := Offer{Action: w.actions[(i+j)%6]}
			if kind != "ids" {
				o.Features = []features.Value{{Name: "price", Number: float64((i+j)%6) / 7}, {Name: "color=é\"", Number: 1}, {Name: "big", Number: 1e300}}[:1+(i+j)%6/2]
			}
			if kind == "features" {
				o.Action = ""
			}
			d.Offered = append(d.Offered, o)
		}
		d.Action %= m
		d.Propensity = d.Propensities[d.Action]
		rows = append(rows, d)
	}
	return rows
}

// What is written is read again, bit by bit, has one hash in every format, and is what
// Collect makes of it.
func TestSets_AreReadAsWritten(t *testing.T) {
	for _, kind := range []string{"both", "ids", "features"} {
		rows := drawSets(kind, 60)
		for _, shape := range []string{"whole", "logged", "bare"} {
			for i := range rows {
				if shape != "whole" {
					rows[i].Propensities, rows[i].ID = nil, ""
				}
				if shape == "bare" {
					rows[i].Propensity = 0
				}
			}
			hash := ""
			for _, ending := range []string{"jsonl", "csv", "parquet", "jsonl.zst"} {
				t.Run(kind+"/"+shape+"/"+ending, func(t *testing.T) {
					path := t.TempDir() + "/l." + ending
					save(t, path, WriterOptions{}, rows)
					for range 2 {
						l := mustOpen(t, path, Options{})
						same(t, l, rows)
						if hash == "" {
							hash = l.Hash()
						}
						if l.Hash() != hash {
							t.Errorf("hash %s, elsewhere %s", l.Hash(), hash)
						}
						for _, names := range [][]string{nil, l.Actions} {
							c, err := Collect(names, decisionsOf(l))
							if err != nil {
								t.Fatal(err)
							}
							sameLog(t, c, l)
							if err := c.Check(); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
		}
	}
}

// Lists of structures, with lists, maps and groups within, are what JSON Lines has.
func TestSets_InParquetEqualJSONLines(t *testing.T) {
	type item struct {
		ID    int64              `parquet:"id"`
		Price *float64           `parquet:"price,optional"`
		Kind  *string            `parquet:"kind,optional"`
		New   bool               `parquet:"new"`
		Where []float64          `parquet:"where,list"`
		Tags  map[string]float64 `parquet:"tags"`
		Sub   struct {
			A float64 `parquet:"a"`
		} `parquet:"sub"`
	}
	type listed struct {
		Action  int64   `parquet:"action"`
		Reward  float64 `parquet:"reward"`
		Actions []item  `parquet:"actions,list"`
	}
	type repeated struct {
		Action  int64   `parquet:"action"`
		Reward  float64 `parquet:"reward"`
		Actions []item  `parquet:"actions"`
	}
	two, red := 2., "red"
	a := item{ID: 7, Price: &two, Where: []float64{1, -3}}
	b := item{ID: 9, Kind: &red, New: true, Tags: map[string]float64{"x": 5}}
	b.Sub.A = 4
	want := mustOpen(t, write(t, "l.jsonl", `{"action":9,"reward":1,"actions":[{"id":7,"price":2,"new":false,"where":[1,-3],"sub":{"a":0}},{"id":9,"kind":"red","new":true,"x":5,"sub":{"a":4}}]}`+"\n"+
		`{"action":9,"reward":0,"actions":[{"id":9,"kind":"red","new":true,"x":5,"sub":{"a":4}}]}`+"\n"), Options{})
	one, other := t.TempDir()+"/one.parquet", t.TempDir()+"/other.parquet"
	if err := parquet.WriteFile(one, []listed{{9, 1, []item{a, b}}, {9, 0, []item{b}}}); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile(other, []repeated{{9, 1, []item{a, b}}, {9, 0, []item{b}}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{one, other} {
		l := mustOpen(t, path, Options{})
		if l.Hash() != want.Hash() || !slices.Equal(l.Actions, []string{"7", "9"}) || offersOf(l, 1) != offersOf(want, 1) {
			t.Errorf("%s: %s; %s; want %s", path, offersOf(l, 0), offersOf(l, 1), offersOf(want, 0))
		}
	}
	for text, rows := range map[string][]listed{
		"row 2, column actions: no action is offered":      {{9, 1, []item{a, b}}, {9, 1, nil}},
		"row 1, column actions: action 7 is offered twice": {{7, 1, []item{a, a}}},
		"row 1, column actions: NaN is not finite":         {{7, 1, []item{{ID: 7, Tags: map[string]float64{"x": math.NaN()}}}}},
		"row 1, column action: \"8\" was not offered":      {{8, 1, []item{a, b}}},
	} {
		t.Run(text, func(t *testing.T) {
			path := t.TempDir() + "/bad.parquet"
			if err := parquet.WriteFile(path, rows); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(context.Background(), path, Options{}); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want %s", err, text)
			}
		})
	}
	type ids struct {
		Action  string   `parquet:"action"`
		Reward  float64  `parquet:"reward"`
		Offered []string `parquet:"offered,list"`
	}
	path := t.TempDir() + "/ids.parquet"
	if err := parquet.WriteFile(path, []ids{{"b", 1, []string{"a", "b"}}, {"c", 0, []string{"c"}}}); err != nil {
		t.Fatal(err)
	}
	if l := mustOpen(t, path, Options{}); !slices.Equal(l.Choices.Actions, []int32{0, 1, 2}) || l.ItemNames() != nil {
		t.Errorf("%+v", l.Choices)
	}
}

// The scores of rows are φ(x)ᵀ θᵀ z(a) of what is offered.
func TestScoreRows_EqualsTheProducts(t *testing.T) {
	rows := drawSets("both", 150)
	for i := range rows {
		rows[i].Action %= len(rows[i].Offered)
	}
	sets, err := Collect(nil, rows)
	if err != nil {
		t.Fatal(err)
	}
	whole := mustOpen(t, write(t, "l.csv", "action,reward,propensity,x_a,x_b\n1,1,.5,2,3\n3,0,.25,-1,0.5\n2,0,.25,-1,0.5\n"), Options{Catalogue: write(t, "c.csv", "action,z_a,z_b\n1,2,x\n2,3,y\n3,-1,x\n4,0,x\n")})
	for _, l := range []*Log{sets, whole} {
		e, err := l.FitEncoder(nil, Scaling{Intercept: true})
		if err != nil {
			t.Fatal(err)
		}
		if l, err = l.Encode(e); err != nil {
			t.Fatal(err)
		}
		it, err := l.FitItems(nil, Scaling{Intercept: true}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if l, err = l.EncodeItems(it); err != nil {
			t.Fatal(err)
		}
		p, m := it.Dim(), l.Dim()
		theta := make([]float64, p*m)
		for j := range theta {
			theta[j] = float64(j%13) - 5
		}
		x, z, at := make([]float64, m), make([]float64, p), 0
		chosen := []int{l.Len() - 1, 0, 1}
		for _, some := range [][]int{nil, chosen} {
			at = 0
			l.ScoreRows(some, theta, func(i int, scores []float64) {
				if at++; i != at-1 || len(scores) != l.Options(nth(some, i)) {
					t.Fatalf("row %d: %d scores", i, len(scores))
				}
				r := nth(some, i)
				l.X.Row64(l.Context(r), x)
				for j, s := range scores {
					_, item := l.Option(r, j)
					l.Choices.Z.Row64(item, z)
					var want float64
					for a, v := range z {
						want += v * features.Dot(theta[a*m:(a+1)*m], x)
					}
					if math.Abs(s-want) > 1e-12*(1+math.Abs(want)) {
						t.Fatalf("row %d, option %d: %v, want %v", r, j, s, want)
					}
				}
			})
		}
	}
}

// nth is the i-th of rows, nil: all.
func nth(rows []int, i int) int {
	if rows == nil {
		return i
	}
	return rows[i]
}

// Among more actions, in another order, rows offer what they did, and are the same rows.
func TestSets_AmongMoreActionsAreTheSameRows(t *testing.T) {
	catalogue := write(t, "c.csv", "action,z_a\na,1\nb,2\nc,3\n")
	for _, l := range []*Log{mustOpen(t, write(t, "l.jsonl", setsJSON), Options{}),
		mustOpen(t, write(t, "s.jsonl", `{"offered":["b","a"],"action":"a","reward":1,"propensities":[0.25,0.75]}`+"\n"), Options{Catalogue: catalogue})} {
		it, err := l.FitItems(nil, Scaling{Intercept: true}, 1)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := l.EncodeItems(it)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []*Log{l, plain} {
			o, err := from.WithActions([]string{"d", "c", "b", "a"})
			if err != nil {
				t.Fatal(err)
			}
			if o, err = o.EncodeItems(it); err != nil {
				t.Fatal(err)
			}
			if err := o.Check(); err != nil {
				t.Fatal(err)
			}
			a, b := make([]float64, it.Dim()), make([]float64, it.Dim())
			for i := range l.Len() {
				if offersOf(o, i)[1:] != offersOf(l, i)[1:] && len(l.ItemNames()) > 1 || o.Chosen(i) != l.Chosen(i) || !slices.Equal(o.Pi0(i), l.Pi0(i)) {
					t.Errorf("%s, was %s", offersOf(o, i), offersOf(l, i))
				}
				for j := range l.Options(i) {
					_, x := plain.Option(i, j)
					_, y := o.Option(i, j)
					plain.Choices.Z.Row64(x, a)
					if o.Choices.Z.Row64(y, b); !slices.Equal(a, b) {
						t.Errorf("z %v, was %v", b, a)
					}
				}
			}
			if !slices.Equal(o.ContextHashes(), l.ContextHashes()) {
				t.Error("contexts are others")
			}
		}
	}
	whole := mustOpen(t, write(t, "l.csv", "action,reward\na,1\nb,0\n"), Options{Catalogue: catalogue})
	if _, err := whole.WithActions([]string{"a", "b", "c", "d"}); err == nil || !strings.Contains(err.Error(), "all 3 actions of a catalogue") {
		t.Error(err)
	}
	if same, err := whole.WithActions([]string{"a", "b", "c"}); err != nil || same != whole {
		t.Error(err)
	}
}

// What a bad row says decides nothing of the rows that are kept: neither its actions, nor
// whether ids are numbers, nor which mode the file is read in.
func TestSets_IgnoreWhatBadRowsSay(t *testing.T) {
	good := `{"action":"b","reward":1,"propensity":0.5,"actions":[{"id":"a","z":1},{"id":"b","z":2}]}` + "\n" + `{"action":"c","reward":0,"propensity":0.25,"actions":[{"id":"c","z":1},{"id":"b","z":2}]}` + "\n"
	want := mustOpen(t, write(t, "l.jsonl", good), Options{})
	for _, bad := range []string{
		`{"action":1,"reward":1,"propensity":0.5,"actions":[{"id":1,"z":1},{"id":1,"z":2}]}`,
		`{"action":"x","reward":1,"propensity":0.5,"actions":[{"id":"x","z":1},{"id":"y","y":null}]}`,
		`{"action":"1","reward":1,"propensity":0.5,"actions":[{"z":1},{"z":"x"}],"propensities":[1]}`,
		`{"action":"x","reward":1,"propensity":0.5,"actions":[]}`,
		`{"action":"x","reward":1,"propensity":2,"actions":[{"id":"x","z":1},{"id":"y","z":2}]}`,
		`{"action":"x","reward":1,"propensity":0.5,"actions":[{"id":"x","z":1},{"id":`,
	} {
		for _, at := range []string{"first", "last"} {
			text := bad + "\n" + good
			if at == "last" {
				text = good + bad + "\n"
			}
			file := t.TempDir() + "/bad"
			l := mustOpen(t, write(t, "l.jsonl", text), Options{BadRows: file})
			if l.Skipped != 1 || l.Hash() != want.Hash() || !slices.Equal(l.Actions, want.Actions) || l.Check() != nil {
				t.Errorf("%s %s: %d left out, %q", at, bad, l.Skipped, l.Actions)
			}
		}
	}
	// A first line that is too long is bad, and the second says what the file is.
	text := "| " + strings.Repeat("x", maxRow) + "\n\nshared | a\n0:0:0.5 | b\n| c\n"
	if l := mustOpen(t, write(t, "l.vw", text), Options{BadRows: t.TempDir() + "/bad"}); l.Len() != 1 || l.Skipped != 1 || l.MostOptions() != 2 {
		t.Errorf("%d rows, %d left out", l.Len(), l.Skipped)
	}
}

// A policy that drew among what rows offer, and its propensities, to the number.
func TestSets_TakePropensitiesOfAPolicy(t *testing.T) {
	path := write(t, "l.jsonl", `{"action":"b","reward":1,"x_u":3,"actions":[{"id":"a","z":1},{"id":"b","z":4}]}`+"\n"+`{"action":"c","reward":1,"actions":[{"id":"b","z":1},{"id":"a","z":2},{"id":"c","z":3}]}`+"\n")
	by := func(x []features.Value, offered []Offer, dst []float64) error {
		var sum float64
		for j, o := range offered {
			dst[j] = o.Features[0].Number + float64(len(x))
			sum += dst[j]
		}
		for j := range dst {
			dst[j] /= sum
		}
		return nil
	}
	l := mustOpen(t, path, Options{Logging: by})
	if !slices.Equal(l.Propensities, []float64{2. / 7, 5. / 7, 1. / 6, 2. / 6, 3. / 6}) || !slices.Equal(l.Propensity, []float64{5. / 7, .5}) || l.Check() != nil {
		t.Errorf("%v %v %v", l.Propensities, l.Propensity, l.Check())
	}
	other := write(t, "o.jsonl", `{"action":"b","reward":1,"propensity":0.5,"x_u":3,"actions":[{"id":"a","z":1},{"id":"b","z":4}]}`+"\n")
	if _, err := Open(t.Context(), other, Options{Logging: by}); err == nil || !strings.Contains(err.Error(), "another policy logged this") {
		t.Errorf("propensities of another policy: %v", err)
	}
}

// The uniform policy is 1/M among M that are offered.
func TestSets_HaveUniformPropensities(t *testing.T) {
	path := write(t, "l.jsonl", `{"action":"b","reward":1,"offered":["a","b"]}`+"\n"+`{"action":"c","reward":1,"offered":["c","a","b","d"]}`+"\n")
	l := mustOpen(t, path, Options{LoggingPolicy: "uniform"})
	if !slices.Equal(l.Propensities, []float64{.5, .5, .25, .25, .25, .25}) || !slices.Equal(l.Propensity, []float64{.5, .25}) || l.Check() != nil {
		t.Errorf("%v %v %v", l.Propensities, l.Propensity, l.Check())
	}
	for want, o := range map[string]Options{
		"setting estimate-propensity is not for actions":    {Estimate: true},
		"setting logging-policy: what a policy did among":   {Catalogue: write(t, "c.csv", "action,z_a\na,1\nb,2\nc,3\nd,4\n"), Logging: func([]features.Value, []Offer, []float64) error { return nil }},
		`"d" is none of the 3 actions that setting actions`: {Actions: []string{"a", "b", "c"}},
		"setting actions and setting catalogue both":        {Actions: []string{"a"}, Catalogue: path},
		"no column action":                                              {Catalogue: write(t, "c.csv", "id,z_a\n1,2\n")},
		"a catalogue is a file of named columns":                        {Catalogue: write(t, "c.vw", "1:0:1 | a\n")},
		"row 2, column z_a: missing: every action must have the number": {Catalogue: write(t, "c.csv", "action,z_a\n1,2\n2,nan\n")},
		"row 1, column z_a: missing: every action must":                 {Catalogue: write(t, "c.jsonl", `{"action":"a","z_b":1}`+"\n"+`{"action":"b","z_b":1,"z_a":2}`+"\n")},
		"c.csv: 1 actions, want at least 2":                             {Catalogue: write(t, "c.csv", "action,z_a\n1,2\n")},
		`row 2, column action: the id "b" is a text, and others`:        {Catalogue: write(t, "c.jsonl", `{"action":1,"z_b":1}`+"\n"+`{"action":"b","z_b":1}`+"\n")},
		`row 1, column offered: "a" is none of the 2 of the`:            {Catalogue: write(t, "c.jsonl", `{"action":1,"z_b":1}`+"\n"+`{"action":2,"z_b":1}`+"\n")},
		"row 2, column action: empty":                                   {Catalogue: write(t, "c.csv", "action,z_a\n1,2\n,3\n")},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := Open(context.Background(), path, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	catalogue := write(t, "c.csv", "action,z_a\na,1\nb,2\nc,2\nd,2\n")
	for _, o := range []Options{{BadRows: catalogue, Catalogue: catalogue}, {Cache: catalogue, Catalogue: catalogue}} {
		if _, err := Open(context.Background(), path, o); err == nil || !strings.Contains(err.Error(), "would write over the catalogue") {
			t.Error(err)
		}
	}
	described := write(t, "d.jsonl", `{"action":"b","reward":1,"actions":[{"id":"a","q":1},{"id":"b","q":2}]}`+"\n")
	if _, err := Open(context.Background(), described, Options{Catalogue: write(t, "c.csv", "action,z_a\na,2\nb,3\n")}); err == nil || !strings.Contains(err.Error(), "features in the log, and in setting catalogue") {
		t.Error(err)
	}
}

// The order of what is offered, and of features, makes no other row; an id, a feature, a
// propensity, or another action taken does.
func TestSets_AreTheSameRowInAnyOrder(t *testing.T) {
	row := func(text string) *Log {
		return mustOpen(t, write(t, "l.jsonl", text+"\n"), Options{})
	}
	const one = `{"action":"b","reward":1,"propensities":[0.25,0.75],"actions":[{"id":"a","z":1,"y":3},{"id":"b","z":2,"y":4}]}`
	want := row(one)
	same := row(`{"actions":[{"y":4,"id":"b","z":2},{"id":"a","y":3,"z":1}],"action":"b","reward":1,"propensities":[0.75,0.25]}`)
	if same.Keys[0] != want.Keys[0] || same.Hash() != want.Hash() || same.ContextHashes()[0] != want.ContextHashes()[0] {
		t.Error("another order is another row")
	}
	near := row(strings.Replace(one, `"z":2`, `"z":2.0001`, 1))
	round := func(x []float64) {
		for i, v := range x {
			x[i] = math.Round(v)
		}
	}
	if h := func(l *Log) uint64 { return l.RoundedHashes(round, nil, true, nil)[0] }; near.ContextHashes()[0] == want.ContextHashes()[0] || h(near) != h(want) {
		t.Error("features of actions are not rounded")
	}
	for _, change := range [][2]string{{`"id":"a"`, `"id":"c"`}, {`"z":1`, `"z":1.5`}, {`0.25,0.75`, `0.5,0.5`}, {`"action":"b"`, `"action":"a"`}, {`{"id":"a","z":1,"y":3}`, `{"id":"a","z":4,"y":3}`}} {
		if other := row(strings.Replace(one, change[0], change[1], 1)); other.Keys[0] == want.Keys[0] || other.Hash() == want.Hash() {
			t.Errorf("%s: the same row", change[1])
		}
	}
	// Two actions with the same features are told apart by their ids.
	twins := row(`{"action":"a","reward":1,"actions":[{"id":"a","z":1},{"id":"b","z":1}]}`)
	if other := row(`{"action":"b","reward":1,"actions":[{"id":"a","z":1},{"id":"b","z":1}]}`); other.Keys[0] == twins.Keys[0] {
		t.Error("the action taken is not part of the row")
	}
}
