package logs

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// sane reads all of a log that was opened.
func sane(t *testing.T, l *Log) {
	t.Helper()
	k := len(l.Actions)
	if l.Len() < 1 || k < 2 || !l.sound() {
		t.Fatalf("%d rows, %d actions", l.Len(), k)
	}
	var d Decision
	for i := range l.Len() {
		l.Decision(i, &d)
		if !(d.Cost >= -1 && d.Cost <= 0) || d.Action < 0 || d.Action >= l.Options(i) || l.Propensity != nil && !(d.Propensity > 0 && d.Propensity <= 1) {
			t.Fatalf("row %d: %+v", i, d)
		}
		for _, v := range d.Context {
			if v.Number-v.Number != 0 {
				t.Fatalf("row %d: %+v", i, d)
			}
		}
	}
	if l.Check() != nil {
		t.Fatal(l.Check())
	}
	if l.Choices != nil {
		it, err := l.FitItems(nil, Scaling{Intercept: true}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if z, err := l.EncodeItems(it); err == nil { // numbers may be too large for 32 bits
			if err := z.Check(); err != nil {
				t.Fatal(err)
			}
		}
		var rows []Decision
		lacks := false // actions without features among others, which VW's text may have, and rows of a program may not
		for i := range l.Len() {
			var d Decision
			l.Decision(i, &d)
			d.Slate, d.Slot = "", 0
			rows = append(rows, d)
			lacks = lacks || len(l.ItemNames()) > 0 && slices.ContainsFunc(d.Offered, func(o Offer) bool { return len(o.Features) == 0 })
		}
		if c, err := Collect(l.Actions, rows); !(lacks && err != nil && strings.Contains(err.Error(), "features")) && (err != nil || c.Hash() != l.Hash() && l.Time == nil && l.Group == nil && l.Weight == nil) {
			t.Fatalf("collected: %v", err)
		}
	}
	e, err := l.FitEncoder(nil, Scaling{Intercept: true, Unit: true})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := l.Encode(e); err == nil {
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

// fuzz opens whatever it is given in one format, twice, and leaving bad rows out: there is an
// error of one line that names the file, or a log that is sound and the same again.
func fuzz(f *testing.F, format string, o Options, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "log."+format)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := Open(context.Background(), path, o)
		if err != nil {
			if !strings.Contains(err.Error(), "log."+format) {
				t.Fatalf("an error without the file: %v", err)
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Fatalf("left behind: %v", left)
			}
		} else {
			sane(t, l)
			again, err := Open(context.Background(), path, o)
			if err != nil || again.Hash() != l.Hash() {
				t.Fatalf("not the same again: %v", err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		skipping := o
		skipping.BadRows = filepath.Join(dir, "bad")
		kept, other := Open(context.Background(), path, skipping)
		if other != nil {
			if err == nil {
				t.Fatalf("leaving bad rows out: %v", other)
			}
			return
		}
		sane(t, kept)
		if err == nil && kept.Skipped != 0 {
			t.Fatalf("%d rows left out of a good log", kept.Skipped)
		}
		if err := kept.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzCSV(f *testing.F) {
	b, err := os.ReadFile("testdata/obd-form-random.csv")
	if err != nil {
		f.Fatal(err)
	}
	fuzz(f, "csv", Options{}, "action,reward,propensity,x_a\n0,1,0.5,2\n1,0,0.5,3\n", "decision_id,timestamp,group,action,cost,p_0,p_1,x_c,weight\na,2019-11-24T00:00:02Z,g,1,-1,0.5,0.5,red,1\n",
		"action,reward,context\nred,1,\"[1,2.5]\"\nblue,0,\"{\"\"a\"\":{\"\"b\"\":\"\"c\"\"}}\"\n", "action,reward,context,propensities\n1,1,3:1 9:2,\"[0.2,0.8]\"\n2,1,,\"[0.2,0.8]\"\n",
		"x_a,offered,slot_1,slot_2,slot_propensity_1,slot_propensity_2,slot_reward_1,slot_reward_2\n1,\"[1,2]\",1,2,.5,1,0,True\n2,\"[1,2]\",2,,.5,,1,\n",
		"offered,slot_2,slot_1,propensity,first_click\n\"[1,2,3]\",1,2,.5,2\n\"[1,2,3]\",,2,.5,0\n", string(b[:3000]))
}

func FuzzOBD(f *testing.F) {
	b, err := os.ReadFile("testdata/obd-form-bts.csv")
	if err != nil {
		f.Fatal(err)
	}
	fuzz(f, "csv", Options{Preset: "obd"}, string(b[:3000]))
}

func FuzzJSONL(f *testing.F) {
	fuzz(f, "jsonl", Options{}, `{"action":0,"reward":1,"x_a":1,"x_b":"c"}`+"\n"+`{"action":1,"reward":0.5,"x_a":2}`, `{"action":"b","cost":-1,"context":{"a":{"b":[1,"x",true,null]}},"propensities":{"b":0.25,"a":0.75}}`,
		`{"decision_id":"i","timestamp":1574553602,"group":3,"action":1,"reward":true,"context":[1,2],"propensity":0.5,"propensities":[0.5,0.5],"weight":2}`, `{"action":1,"reward":0,"context":["3:1","9:2"],"p_0":0.5,"p_1":0.5}`,
		setsJSON, `{"action":2,"reward":0,"offered":[1,2],"propensities":[0.5,0.5]}`+"\n"+`{"action":1,"reward":0,"offered":[1],"propensity":1,"propensities":[1]}`, `{"action":"2","cost":-1,"actions":[{"a":{"b":1}},{"c":"d"}]}`)
}

func FuzzVW(f *testing.F) {
	fuzz(f, "vw", Options{}, "1 2:-1:0.4 3 'first |user age:2 male |:0.5 x x:3 |\n3:0:0.5 'second|\n", "1:0:0.5 | a b:2\n2:-1:0.5 | a\n", "shared | a\n0:0:0.5 | b\n", "shared 't|a x:2\n|b y\n0:-1:0.25 |c z:3\n\n| a\n0:0:0.5 'u| b a:2 a:3\n", "| a\n0:0:1 | b\n", "shared |u\n|\n0:-1:0.25 |c x:3\n", "|\n:-0:.1|",
		"ccb shared 't|a\nccb action |b\nccb action |c\nccb slot 1:-1:0.5,0:0.5 |d\nccb slot 0:0:1 0,1 |\n", "slates shared -0.5 |a\nslates action 0 |b\n"+
			"slates action 0 |c\nslates action 1 |d\nslates slot 1:0.5 |e\nslates slot 0:1 |\n")
}

func FuzzDSJSON(f *testing.F) {
	fuzz(f, "dsjson", Options{}, `{"c":{"x":1,"_multi":[{"f":1},{"f":2}],"_slots":[{"_id":"x","g":1},{"_inc":[0]}]},"_outcomes":[{"_label_cost":-1,"_id":"x","_a":[1,0],"_p":[0.5,0.5]},`+
		`{"_label_cost":0,"_a":[0],"_p":[1]}]}`+"\n", `{"_label_cost":-1,"_label_probability":0.7,"_label_Action":2,"_labelIndex":1,"EventId":"e","Timestamp":"2020-01-02T03:04:05.6Z","a":[2,1],"p":[0.7,0.3],"c":{"u":{"age":3},"_multi":[{"b":1},{"b":2}]},"pdrop":0.5}`+"\n"+
		`{"EventId":"late","RewardValue":1}`+"\n"+`{"_label_cost":0,"_label_probability":0.7,"_labelIndex":0,"EventId":"e","Timestamp":"2020-01-02T03:04:05.6Z","a":[1,2],"p":[0.7,0.3],"c":{"u":{"age":3,"_x":1},"_multi":[{"b":2},{"b":1}]},"pdrop":0.5}`,
		`{"_label_cost":-1,"_label_probability":0.75,"a":[2,1],"p":[0.75,0.25],"c":{"u":3,"_multi":[{"_tag":"x","b":1},{"_tag":"y","i":{"b":2},"k":"v"}]}}`+"\n"+`{"_label_cost":0,"_label_probability":0.5,"_a":[3,1,2],"_p":[0.5,0.25,0.25],"c":{"_multi":[{"_tag":"y","b":2},{"_tag":"z"},{"_tag":"w","b":7}]}}`)
}

func FuzzParquet(f *testing.F) {
	var seeds []string
	w := newWorld(2, 3, 1)
	for i, o := range []WriterOptions{{Actions: w.actions, Names: w.names}, {Actions: w.actions}, {Actions: []string{"a", "b", "c"}, Weight: true}} {
		path := filepath.Join(f.TempDir(), "l.parquet")
		save(f, path, o, draw(w, 2+i))
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, string(b))
	}
	for _, kind := range []string{"both", "ids", "features"} {
		path := filepath.Join(f.TempDir(), "l.parquet")
		save(f, path, WriterOptions{}, drawSets(kind, 4))
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, string(b))
	}
	fuzz(f, "parquet", Options{}, seeds...)
}

// A catalogue is an error that names the file, or can be used whole.
func FuzzCatalogue(f *testing.F) {
	f.Add([]byte("action,z_a,z_b,other\nx,1,red,2\ny,2,blue,\n"), "csv")
	f.Add([]byte(`{"action":1,"z_a":2,"z_b":"c"}`+"\n"+`{"action":2,"z_b":"d","z_a":1e300}`), "jsonl")
	f.Fuzz(func(t *testing.T, text []byte, format string) {
		if format != "csv" && format != "jsonl" {
			return
		}
		path := filepath.Join(t.TempDir(), "c."+format)
		rewrite(t, path, string(text))
		c, err := ReadCatalogue(path)
		if err != nil {
			if !strings.Contains(err.Error(), "c."+format) {
				t.Fatalf("an error without the file: %v", err)
			}
			return
		}
		log := filepath.Join(t.TempDir(), "l.jsonl")
		save(t, log, WriterOptions{}, []Decision{{Offered: []Offer{{Action: c.Actions[0]}, {Action: c.Actions[1]}}, Action: 1, Weight: 1}})
		l, err := Open(context.Background(), log, Options{Catalogue: path})
		if err != nil {
			t.Fatal(err)
		}
		sane(t, l)
		if l.K() != len(c.Actions) {
			t.Fatalf("%d actions of %d", l.K(), len(c.Actions))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A cache whose checksum is right, but nothing else, is refused or sound.
func FuzzCache(f *testing.F) {
	for i, format := range []string{"csv", "jsonl", "jsonl"} {
		path := filepath.Join(f.TempDir(), "l."+format)
		if i < 2 {
			writeAs(f, path, format, newWorld(2, 2, 1), 3)
		} else {
			save(f, path, WriterOptions{}, drawSets("both", 3))
		}
		l, err := Open(context.Background(), path, Options{})
		if err != nil {
			f.Fatal(err)
		}
		if err := l.Close(); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), ".l."+format+".opl-cache"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 8 {
			b = binary.NativeEndian.AppendUint64(b[:len(b)-8:len(b)-8], xxhash.Sum64(b[:len(b)-8]))
		}
		path := filepath.Join(t.TempDir(), "cache")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		format := "csv"
		l, _, err := load(path, key(format, &Options{}, 0), statOf(t, path))
		if err != nil {
			if l, _, err = load(path, key("jsonl", &Options{}, 0), statOf(t, path)); err != nil {
				return
			}
		}
		var d Decision
		for i := range l.Len() {
			l.Decision(i, &d)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func statOf(t testing.TB, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
