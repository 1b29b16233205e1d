package join

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"opl/train/logs"
)

const (
	described1 = `{"decision_id":"d1","timestamp":"2026-01-02T03:04:05Z","context":{"u":1},"actions":[{"id":"a","price":2,"kind":"x"},{"id":"b","price":3,"new":true}],"action":"b","propensity":0.75,"propensities":[0.25,0.75],"top":[{"action_name":"b","propensity":0.75}],"policy_hash":"f"}` + "\n"
	described2 = `{"decision_id":"d2","timestamp":"2026-01-02T03:04:06Z","context":{"u":2},"actions":[{"id":"c","price":5}],"action":"c","propensity":1,"propensities":[1],"policy_hash":"f"}` + "\n"
	offered1   = `{"decision_id":"d1","timestamp":"2026-01-02T03:04:05Z","context":{"u":1},"offered":["a","c"],"action":"c","propensity":0.75,"propensities":[0.25,0.75],"catalogue":"77","policy_hash":"f"}` + "\n"
	whole1     = `{"decision_id":"d1","timestamp":"2026-01-02T03:04:05Z","context":{"u":1},"action":"c","propensity":0.01,"catalogue":"77","policy_hash":"f"}` + "\n"
	whole2     = `{"decision_id":"d2","timestamp":"2026-01-02T03:04:06Z","context":{"u":1},"action":"a","propensity":0.02,"catalogue":"77","policy_hash":"f"}` + "\n"
)

// What was offered comes with the decision, and the log that is written is read again.
func TestJoin_KeepsWhatWasOffered(t *testing.T) {
	rewards := write(t, "r.csv", "decision_id,reward\nd1,1\nd2,0\n")
	catalogue := write(t, "c.csv", "action,z_price\na,1\nb,2\nc,3\n")
	read, err := logs.ReadCatalogue(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	served, err := read.Served()
	if err != nil {
		t.Fatal(err)
	}
	other := write(t, "other.csv", "action,z_price\na,1\nb,2\nc,4\n")
	for name, c := range map[string]struct {
		log, want, actions string
		o                  logs.Options
	}{
		"described": {described1 + described2, "1: [{a [{price 2} {kind=x 1}]} {b [{price 3} {new=true 1}]}] [0.25 0.75]; 0: [{c [{price 5}]}] [1]; ", "[a b c]", logs.Options{}},
		"offered":   {offered1, "1: [{a []} {c []}] [0.25 0.75]; ", "[a b c]", logs.Options{Catalogue: catalogue}},
		"catalogue": {whole1 + whole2, "0: [] []; 1: [] []; ", "[a b c]", logs.Options{Catalogue: catalogue}},
		"one":       {whole1, "0: [] []; ", "[a b c]", logs.Options{Catalogue: catalogue}},
	} {
		t.Run(name, func(t *testing.T) {
			c.log = strings.ReplaceAll(c.log, `"catalogue":"77"`, fmt.Sprintf(`"catalogue":%q`, served.Hash))
			out, s, err := joined(t, write(t, "s.jsonl", c.log), rewards, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, d := range out {
				got += fmt.Sprintf("%d: %v %v; ", d.Action, d.Offered, d.Propensities)
			}
			if got != c.want || s.Joined != len(out) {
				t.Errorf("%s, want %s", got, c.want)
			}
			l, err := Open([]string{write(t, "s.jsonl", c.log)}, Refuse, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			for _, ending := range []string{"jsonl", "parquet", "csv"} {
				path := filepath.Join(t.TempDir(), "l."+ending)
				w, err := logs.Create(path, logs.WriterOptions{Actions: l.Actions, Catalogue: l.Catalogue})
				if err != nil {
					t.Fatal(err)
				}
				for i := range out {
					if err := w.Write(&out[i]); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				log, err := logs.Open(t.Context(), path, c.o)
				if err != nil {
					t.Fatal(ending, err)
				}
				if err := log.Check(); err != nil || fmt.Sprint(log.Actions) != c.actions || log.Len() != len(out) || log.Propensity[0] != out[0].Propensity {
					t.Errorf("%v %v", log.Actions, err)
				}
				among := log.Among
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
				if c.o.Catalogue == "" {
					continue
				}
				if among != served.Hash {
					t.Errorf("%s, %s: among %q, want %q", name, ending, among, served.Hash)
				}
				if _, err := logs.Open(t.Context(), path, logs.Options{Catalogue: other}); err == nil || !strings.Contains(err.Error(), "give the one that was served") {
					t.Errorf("%s, %s: another catalogue: %v", name, ending, err)
				}
			}
		})
	}
	for want, log := range map[string]string{
		"line 2: it is among offered actions of a catalogue, those before among offered actions with features": described1 + strings.Replace(offered1, "d1", "d3", 1),
		"line 1: action \"a\" is offered twice":       strings.Replace(described1, `"id":"b"`, `"id":"a"`, 1),
		"line 1: an action without an id":             strings.Replace(described1, `"id":"b",`, "", 1),
		"line 1: action \"z\" is none of":             strings.Replace(offered1, `"action":"c"`, `"action":"z"`, 1),
		"line 1: 2 actions and 1 propensities":        strings.Replace(offered1, "0.25,", "", 1),
		"line 1: 0 actions and 2 propensities":        strings.Replace(offered1, `"a","c"`, "", 1),
		"actions and offered are both there":          strings.Replace(described1, `"context"`, `"offered":["a"],"context"`, 1),
		"want one in (0, 1], and no list":             strings.Replace(whole1, "0.01", "0", 1),
		"line 1: actions[1].price: want a number":     strings.Replace(described1, `"price":3`, `"price":[3]`, 1),
		"line 1: the propensities: the probabilities": strings.Replace(offered1, "0.25,", "0.5,", 1),
	} {
		t.Run(want, func(t *testing.T) {
			if _, _, err := joined(t, write(t, "s.jsonl", log), rewards, Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}
