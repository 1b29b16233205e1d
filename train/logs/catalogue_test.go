package logs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
)

func TestCatalogue_IsTheSameFromEveryFormat(t *testing.T) {
	const csv = "action,z_price,z_kind,other\nred,1,a,x\ngreen,2.5,b,y\nblue,-4,a,\n"
	files := map[string]string{"c.csv": csv, "c.jsonl": `{"action":"red","z_price":1,"z_kind":"a"}` + "\n" + `{"z_kind":"b","action":"green","z_price":2.5}` + "\n" + `{"action":"blue","z_price":-4,"z_kind":"a"}` + "\n"}
	hash := ""
	for name, text := range files {
		c, err := ReadCatalogue(write(t, name, text))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Actions, []string{"red", "green", "blue"}) || len(c.items.names) != 3 {
			t.Errorf("%s: %q, %q", name, c.Actions, c.items.names)
		}
		if v := c.Features(1, nil); !slices.Contains(v, features.Value{Name: "price", Number: 2.5}) || !slices.Contains(v, features.Value{Name: "kind=b", Number: 1}) {
			t.Errorf("%s: %v", name, v)
		}
		served, err := c.Served()
		if err != nil {
			t.Fatal(err)
		}
		if hash == "" {
			hash = served.Hash
		}
		if served.Hash != hash {
			t.Errorf("%s: hash %s, elsewhere %s", name, served.Hash, hash)
		}
	}
	path := write(t, "c.csv", csv)
	log := write(t, "l.csv", "action,reward,propensity,x_a\nblue,1,0.01,2\nred,0,0.5,3\n")
	for range 2 {
		l := mustOpen(t, log, Options{Catalogue: path})
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		if l.K() != 3 || l.Sets() || l.Options(0) != 3 || l.Chosen(0) != 2 || l.Actions[l.Action[1]] != "red" || !slices.Equal(l.ItemNames(), []string{"price", "kind=a", "kind=b"}) {
			t.Errorf("%q %v", l.Actions, l.Action)
		}
		it, err := l.FitItems(nil, Scaling{Intercept: true}, 1)
		if err != nil {
			t.Fatal(err)
		}
		e, err := l.EncodeItems(it)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Check(); err != nil {
			t.Fatal(err)
		}
		z := make([]float64, it.Dim())
		if e.Choices.Z.Row64(2, z); !slices.Equal(z, []float64{-1, 1, 0, 1, 0, 1}) {
			t.Errorf("z %v of %v", z, it.Own)
		}
		c, err := ReadCatalogue(path)
		if err != nil {
			t.Fatal(err)
		}
		other, err := (&items{named: c.items}).encode(it, c.Actions)
		if err != nil {
			t.Fatal(err)
		}
		if other.Row64(2, z); !slices.Equal(z, []float64{-1, 1, 0, 1, 0, 1}) {
			t.Errorf("z %v of %v", z, it.Own)
		}
	}
	sets := write(t, "s.jsonl", `{"offered":["blue","green"],"action":"green","reward":1,"propensities":[0.25,0.75]}`+"\n"+`{"offered":["red"],"action":"red","reward":1,"propensities":[1]}`+"\n")
	l := mustOpen(t, sets, Options{Catalogue: path})
	if err := l.Check(); err != nil || !l.Sets() || l.Choices.Items != nil || !slices.Equal(l.Choices.Actions, []int32{2, 1, 0}) || l.Propensity[0] != .75 {
		t.Errorf("%+v %v", l.Choices, err)
	}
	// A catalogue that changed is read again, and one that shrank is an error that names what it lacks.
	rewrite(t, path, strings.Replace(csv, "2.5", "3.5", 1))
	again := mustOpen(t, sets, Options{Catalogue: path})
	if v := again.Choices.items.appendTo(1, nil); v[0].Number != 3.5 || again.Hash() != l.Hash() {
		t.Errorf("%v, hash %s, was %s", v, again.Hash(), l.Hash())
	}
	rewrite(t, path, strings.Replace(csv, "green", "grey", 1))
	if _, err := Open(context.Background(), sets, Options{Catalogue: path}); err == nil || !strings.Contains(err.Error(), `row 1, column offered: "green" is none of the 3 of the catalogue`) {
		t.Error(err)
	}
}

// A catalogue of 100,000 actions, of which a few were logged, is read as it is: nothing of
// rows times actions.
func TestCatalogue_OfManyActionsIsReadAsItIs(t *testing.T) {
	const k, n = 100_000, 2000
	var c, l strings.Builder
	c.WriteString("action,z_a,z_b\n")
	for a := range k {
		fmt.Fprintf(&c, "item-%d,%d,%v\n", a, a%7, float64(a%11)/8)
	}
	l.WriteString("action,reward,x_u\n")
	for i := range n {
		fmt.Fprintf(&l, "item-%d,%d,%d\n", i*49%k, i%2, i%5)
	}
	log := mustOpen(t, write(t, "l.csv", l.String()), Options{Catalogue: write(t, "c.csv", c.String()), LoggingPolicy: "uniform"})
	if err := log.Check(); err != nil || log.K() != k || log.Propensities != nil || log.Propensity[7] != 1./k {
		t.Fatalf("%d actions, %v", log.K(), err)
	}
}

// What reading a catalogue found out is told of every log that is read with it, from its cache, too.
func TestCatalogue_TellsWhatReadingItFoundOut(t *testing.T) {
	log := write(t, "l.csv", "action,reward,propensity,x_a\na0,1,0.01,2\na1,0,0.5,3\n")
	text := "action,z_price,z_width\n"
	for i := range 20 {
		text += fmt.Sprintf("a%d,€%d,%d\n", i, i, 1200+i)
	}
	path := write(t, "c.csv", text+"last,€5,1")
	c, err := ReadCatalogue(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := path + ": row 21, the last, does not end in a newline, and its last value is shorter"
	price := path + ": column price: its values are numbers with commas"
	if said := strings.Join(c.Notes(), "\n"); !strings.Contains(said, cut) || !strings.Contains(said, price) {
		t.Errorf("the catalogue: %q", said)
	}
	for range 2 {
		l := mustOpen(t, log, Options{Catalogue: path})
		if !strings.HasPrefix(strings.Join(l.Cut, "\n"), cut) || !strings.HasPrefix(strings.Join(l.Doubts, "\n"), price) {
			t.Errorf("the log: %q, %q", l.Cut, l.Doubts)
		}
	}
	if c, err = ReadCatalogue(write(t, "w.csv", "action,z_price\na,10\nb,11\n")); err != nil || len(c.Notes()) > 0 {
		t.Errorf("a whole one: %v, %q", err, c.Notes())
	}
}

// A catalogue may call the action as the log does, also where it was said of a log before; one that has a column action
// is read by it.
func TestCatalogue_CallsTheActionAsTheLogDoes(t *testing.T) {
	log := write(t, "l.csv", "arm,reward,propensity,x_a\na,1,0.5,2\nb,0,0.5,3\n")
	own := map[string]string{"action": "arm"}
	for name, text := range map[string]string{"own.csv": "arm,z_p\na,1\nb,2\n", "both.csv": "arm,action,z_p\nc,a,1\nd,b,2\n",
		"own.jsonl": `{"arm":"a","z_p":1}` + "\n" + `{"arm":"b","z_p":2}` + "\n"} {
		path := write(t, name, text)
		for _, o := range []Options{{Catalogue: path, Columns: own}, {Catalogue: path, ColumnsBefore: own}} {
			if l := mustOpen(t, log, o); !slices.Equal(l.Actions, []string{"a", "b"}) {
				t.Errorf("%s: actions %v", name, l.Actions)
			}
		}
	}
	path := write(t, "other.csv", "item,z_p\na,1\nb,2\n")
	if _, err := Open(context.Background(), log, Options{Catalogue: path, Columns: own}); err == nil ||
		!strings.Contains(err.Error(), "other.csv: no column action; there are item, z_p: name it action, or as setting columns names it") {
		t.Errorf("a catalogue of other names: %v", err)
	}
}
