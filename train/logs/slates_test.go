package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// openSlates reads a file of a name and a text.
func openSlates(t *testing.T, name, text string) (*Log, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := Open(context.Background(), path, Options{NoCache: true})
	if err == nil {
		t.Cleanup(func() { log.Close() })
	}
	return log, err
}

// told is what rows of lists say: slot, what is offered, what was taken, propensity, cost and context.
func told(l *Log) (rows []string) {
	for i := range l.Len() {
		var offered []string
		for j := range l.Options(i) {
			a, _ := l.Option(i, j)
			offered = append(offered, l.Actions[a])
		}
		var x []string
		ids, vals := l.Values(i)
		for j, id := range ids {
			x = append(x, fmt.Sprint(l.Names()[id], ":", vals[j]))
		}
		rows = append(rows, fmt.Sprintf("%d/%d %v %s %.4g %.4g %v", l.Lists.Of[i], l.Lists.Slot[i], offered,
			l.Actions[l.Action[i]], l.Propensity[i], l.Cost[i], x))
	}
	return rows
}

// Examples of Vowpal Wabbit that take several actions are lists, in text and in dsjson.
func TestVW_ReadsSeveralActionsAsLists(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"ccb.vw": {"ccb shared 's|U u\nccb action |A a\nccb action |A b\nccb action |A c\n" +
			"ccb slot 2:-1:0.5,0:0.3,1:0.2 |S top:2\nccb slot 0:0:0.25 0,1 |S low\n\n" +
			"ccb shared 's2|U v\nccb action |A a\nccb action |A b\nccb slot 1:-0.5:0.75 |\n",
			`0/1 [1 2 3] 3 0.5 -1 [U^u:1 S^top:2 slot=1:1]
0/2 [1 2] 1 0.25 0 [U^u:1 S^low:1 slot=2:1]
1/1 [1 2] 2 0.75 -0.5 [U^v:1 slot=1:1]`},
		"slates.vw": {"slates shared -0.8 | x\nslates action 0 | a\nslates action 0 | b\nslates action 1 | c\nslates action 1 | d\n" +
			"slates slot 1:0.8,0:0.2 | s\nslates slot 0:0.6,1:0.4 | t\n",
			`0/1 [1 2] 2 0.8 -0.8 [x:1 s:1 slot=1:1]
0/2 [3 4] 3 0.6 -0.8 [x:1 t:1 slot=2:1]`},
		"ccb.dsjson": {`{"Timestamp":"2026-01-01T00:00:00Z","EventId":"e","c":{"U":{"f":"1"},"_multi":[{"_tag":"m","A":{"f":1}},` +
			`{"_tag":"l","A":{"f":2}},{"_tag":"k","A":{"f":3}}],"_slots":[{"_id":"one","S":{"g":2}},{"_id":"two","_inc":[0,2]}]},` +
			`"_outcomes":[{"_label_cost":-1,"_id":"one","_a":[1,0,2],"_p":[0.5,0.25,0.25]},{"_label_cost":0,"_id":"two","_a":[2,0],"_p":[0.4,0.6]}]}` + "\n",
			`0/1 [m l k] l 0.5 -1 [U.f=1:1 slot.S.g:2 slot=1:1]
0/2 [m k] k 0.4 0 [U.f=1:1 slot=2:1]`},
		"slates.dsjson": {`{"_label_cost":-0.5,"_outcomes":[{"_a":[1,0],"_p":[0.7,0.3]},{"_a":[0,1],"_p":[0.9,0.1]}],"c":{"x":1,` +
			`"_slots":[{"s":1},{}],"_multi":[{"_slot_id":0,"f":1},{"_slot_id":0,"f":2},{"_slot_id":1,"f":3},{"_slot_id":1,"f":4}]}}` + "\n",
			`0/1 [1 2] 2 0.7 -0.5 [x:1 slot.s:1 slot=1:1]
0/2 [3 4] 3 0.9 -0.5 [x:1 slot=2:1]`},
	} {
		t.Run(name, func(t *testing.T) {
			log, err := openSlates(t, name, c.text)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if got := strings.Join(told(log), "\n"); got != c.want {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
			}
			if whole := strings.HasPrefix(name, "slates"); log.Lists.Whole != whole {
				t.Errorf("a reward of the list: %v", log.Lists.Whole)
			}
		})
	}
	ccb := func(slots string) string { return "ccb shared | u\nccb action | a\nccb action | b\n" + slots + "\n" }
	slate := func(slots string) string {
		return "slates shared -1 | u\nslates action 0 | a\nslates action 0 | b\nslates action 1 | c\n" + slots + "\n"
	}
	ds := func(c, rest string) string {
		return `{"c":{"_multi":[{"f":1},{"f":2}],"_slots":[{"_id":"x"}` + c + `]},"_outcomes":[` + rest + "]}\n"
	}
	for i, c := range []struct{ name, text, want string }{
		{"l.vw", ccb("ccb slot 2:0:0.5 | s"), "slot 1 shows action 2, counted from 0, which is none that it may"},
		{"l.vw", ccb("ccb slot 0:0:0.5 1 | s"), "which is none that it may"},
		{"l.vw", ccb("ccb slot 0:0:0.5 | s\nccb slot 0:0:1 | t"), `"1" is shown twice`},
		{"l.vw", ccb("ccb slot 0:0:1.5 | s"), "1.5 of slot 1 is outside (0, 1]"},
		{"l.vw", ccb("ccb slot 0:0:0 | s"), "0 of slot 1 is outside (0, 1]"},
		{"l.vw", ccb("ccb slot 0:3:0.5 | s"), "outside [0, 1]"},
		{"l.vw", ccb("ccb slot 0:0.5 | s"), "want an action, from 0, and 2 numbers after colons"},
		{"l.vw", ccb("ccb slot 0.5:0:0.5 | s"), "want an action, from 0"},
		{"l.vw", ccb("ccb slot 0:0:0.5 1,x | s"), "is no list of actions"},
		{"l.vw", ccb("ccb slot 1 0:0:0.5 | s"), "of slot 1: want 3 numbers with colons"},
		{"l.vw", ccb("ccb slot | s"), "slot 1 has no action"},
		{"l.vw", ccb("ccb slot 0:0:0.5 | s\nccb action | c"), "want one line shared, then actions, then slots"},
		{"l.vw", ccb("slates slot 0:0.5 | s"), "line 4 of the example: want ccb shared, action or slot"},
		{"l.vw", ccb("ccb slot 0:0:0.5 | s:nan"), "NaN is not finite"},
		{"l.vw", ccb("ccb slot 0:0:0.5 s"), "no | between"},
		{"l.vw", ccb("ccb slot 0:0:0.5 | s") + "\nshared | a\n0:0:0.5 | b\n| c\n", "missing, while the rows before have it"},
		{"l.vw", slate("slates slot 2:0.5 | s\nslates slot 0:1 | t"), "slot 1 shows action 2 of its 2"},
		{"l.vw", slate("slates slot 0:0.5 | s\nslates slot 0:1 | t\nslates slot 0:1 | v"), "slot 3 shows action 0 of its 0"},
		{"l.vw", slate("slates slot 0:0.5 1,2 | s"), "want 2 numbers with colons"},
		{"l.vw", strings.Replace(slate("slates slot 0:0.5 | s"), " -1 ", " ", 1), "or no cost"},
		{"l.vw", strings.Replace(slate("slates slot 0:0.5 | s"), "action 1", "action x", 1), "want slates action and its slot"},
		{"l.dsjson", ds("", `{"_label_cost":0,"_id":"y","_a":[0],"_p":[0.5]}`), `slot 1 is "y", and in c._slots "x"`},
		{"l.dsjson", ds("", `{"_id":"x","_a":[0],"_p":[0.5]}`), "slot 1 has no action, or no cost"},
		{"l.dsjson", ds("", `{"_label_cost":0,"_a":[],"_p":[]}`), "slot 1 has no action, or no cost"},
		{"l.dsjson", strings.Replace(ds("", `{"_label_cost":0,"_a":[0],"_p":[0.5]}`), `"c":{`, `"c":{"slot":"top",`, 1), `column slots: the context of slot 1 has a value "slot=top"`},
		{"l.dsjson", ds("", `{"_label_cost":0,"_a":[0]}`), "column _p: missing in slot 1"},
		{"l.dsjson", ds("", `{"_label_cost":0,"_a":[2],"_p":[0.5]}`), "slot 1 shows action 2, counted from 0"},
		{"l.dsjson", ds("", `{"_label_cost":0,"_a":[-1],"_p":[0.5]}`), "-1 is not an action"},
		{"l.dsjson", ds(`,{"":1}`, `{"_label_cost":0,"_a":[0],"_p":[0.5]}`), "1 of them for 2 of c._slots"},
		{"l.dsjson", ds(`,7`, `{"_label_cost":0,"_a":[0],"_p":[0.5]}`), "not an object"},
		{"l.dsjson", strings.Replace(ds("", `{"_a":[0],"_p":[0.5]}`), `{"f":1}`, `{"f":1,"_slot_id":0}`, 1), "_label_cost: missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := openSlates(t, c.name, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d: %s: %v, want %s", i, c.text, err, c.want)
			}
		})
	}
}

// Lists are the same from Parquet's lists, of whatever type, as from JSON Lines, whole or a row a slot; and what is written
// is read as it was.
func TestSlates_InParquetEqualJSONLines(t *testing.T) {
	type line struct {
		X       float64   `json:"x_a"`
		Offered []string  `json:"offered"`
		Slots   []string  `json:"slots"`
		P       []float64 `json:"slot_propensities"`
		Rewards []int32   `json:"slot_rewards"`
	}
	type narrow struct {
		X       float32   `parquet:"x_a"`
		Offered []string  `parquet:"offered,list"`
		Slots   []string  `parquet:"slots,list"`
		P       []float32 `parquet:"slot_propensities,list"`
		Rewards []bool    `parquet:"slot_rewards,list"`
	}
	type wide struct {
		X       float64   `parquet:"x_a"`
		Offered []string  `parquet:"offered,list"`
		Slots   []string  `parquet:"slots,list,dict"`
		P       []float64 `parquet:"slot_propensities,list"`
		Click   int64     `parquet:"first_click"`
	}
	var text strings.Builder
	var some []narrow
	var clicks []wide
	for i := range 300 {
		l := line{X: float64(i%7) / 4, Offered: []string{"a", "b", "c"}, Slots: [][]string{{"a", "c"}, {"b"}, {"c", "b", "a"}}[i%3]}
		for j := range l.Slots {
			l.P, l.Rewards = append(l.P, 1/float64(int(1)<<(j+i%2))), append(l.Rewards, int32(max(0, 1-j)*i%2))
		}
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(b, '\n'))
		n := narrow{X: float32(l.X), Offered: l.Offered, Slots: l.Slots}
		for j := range l.P {
			n.P, n.Rewards = append(n.P, float32(l.P[j])), append(n.Rewards, l.Rewards[j] == 1)
		}
		some = append(some, n)
		clicks = append(clicks, wide{X: l.X, Offered: l.Offered, Slots: l.Slots, P: l.P, Click: int64(l.Rewards[0])})
	}
	plain, err := openSlates(t, "l.jsonl", text.String())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(told(plain), "\n")
	dir := t.TempDir()
	for name, write := range map[string]func(path string) error{
		"narrow.parquet": func(path string) error { return parquet.WriteFile(path, some) },
		"clicks.parquet": func(path string) error { return parquet.WriteFile(path, clicks) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := write(path); err != nil {
				t.Fatal(err)
			}
			log, err := Open(context.Background(), path, Options{NoCache: true})
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if got := strings.Join(told(log), "\n"); got != want {
				t.Errorf("%s:\n%.300s\nwant\n%.300s", name, got, want)
			}
			log.Close()
		})
	}
}

// Rows that are slots and have numbers alone in their contexts, which are read ahead, are those of whole lists.
func TestSlots_ReadAheadEqualWholeLists(t *testing.T) {
	type line struct {
		X       float64   `json:"x_a"`
		Y       float64   `json:"x_b"`
		Offered []string  `json:"offered,omitempty"`
		Slots   []string  `json:"slots,omitempty"`
		P       []float64 `json:"slot_propensities,omitempty"`
		Rewards []float64 `json:"slot_rewards,omitempty"`
	}
	type slot struct {
		Slate  string  `json:"slate_id" parquet:"slate_id"`
		Slot   int64   `json:"slot" parquet:"slot"`
		X      float64 `json:"x_a" parquet:"x_a"`
		Y      float64 `json:"x_b" parquet:"x_b"`
		Action string  `json:"action" parquet:"action"`
		P      float64 `json:"propensity" parquet:"propensity"`
		Reward float64 `json:"reward" parquet:"reward"`
	}
	var whole, csv, rows strings.Builder
	var all []slot
	csv.WriteString("slate_id,slot,x_a,x_b,action,propensity,reward\n")
	for i := range 500 {
		l := line{X: 2 + float64(i)/7, Y: -float64(i), Offered: []string{"a", "b", "c"}, Slots: [][]string{{"a", "c"}, {"b"},
			{"c", "b", "a"}}[i%3]}
		for j := range l.Slots {
			l.P, l.Rewards = append(l.P, 1/float64(3-j)), append(l.Rewards, float64((i+j)%2))
			s := slot{fmt.Sprint("s", i), int64(j + 1), l.X, l.Y, l.Slots[j], l.P[j], l.Rewards[j]}
			all = append(all, s)
			fmt.Fprintf(&csv, "%s,%d,%v,%v,%s,%v,%v\n", s.Slate, s.Slot, s.X, s.Y, s.Action, s.P, s.Reward)
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			rows.Write(append(b, '\n'))
		}
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		whole.Write(append(b, '\n'))
	}
	plain, err := openSlates(t, "l.jsonl", whole.String())
	if err != nil {
		t.Fatal(err)
	}
	want := told(plain)
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := parquet.WriteFile(path, all); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"rows.csv": csv.String(), "rows.jsonl": rows.String(), "rows.parquet": ""} {
		t.Run(name, func(t *testing.T) {
			at := path
			if text != "" {
				if at = filepath.Join(t.TempDir(), name); os.WriteFile(at, []byte(text), 0o600) != nil {
					t.Fatal(at)
				}
			}
			log, err := Open(context.Background(), at, Options{NoCache: true, Actions: []string{"a", "b", "c"}})
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range told(log) {
				if got != want[i] {
					t.Errorf("%s, row %d: %s, want %s", name, i+1, got, want[i])
					break
				}
			}
			if a, b := log.ContextHashes(), plain.ContextHashes(); !slices.Equal(a, b) {
				t.Errorf("%s: contexts have other hashes", name)
			}
			log.Close()
		})
	}
}
