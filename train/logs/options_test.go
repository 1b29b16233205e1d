package logs

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"opl/policies/features"
)

const setsJSON = `{"action":"b","reward":1,"propensity":0.5,"x_u":1,"actions":[{"id":"a","price":1,"color":"red"},{"id":"b","price":2.5,"color":"blue"}],"propensities":[0.5,0.5]}
{"propensities":[0.25,0.5,0.25],"action":"c","reward":0,"x_u":-2,"propensity":0.25,"actions":[{"id":"c","price":-1,"brand":{"size":3}},{"color":"red","price":1,"id":"a"},{"id":"b","price":2,"color":"blue"}]}
`

func TestSets(t *testing.T) {
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
		if !slices.Equal(z, []float64{.8, 0, 1, 1, 1}) || e.Choices.Z.Dim() != 5 || math.Abs(e.Choices.Z.Norm(3)-math.Sqrt(3.64)) > 1e-15 {
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
func TestSetsRoundTrip(t *testing.T) {
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
			for _, ending := range []string{"jsonl", "csv"} {
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
