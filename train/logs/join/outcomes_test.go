package join

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opl/train/logs"
)

// Outcomes come in columns beside the reward or in files of their own, each at its own time; what came too late, or
// never, is missing; and the log that is written has them in every format.
func TestJoin_TakesOutcomesAtTheirOwnTimes(t *testing.T) {
	log := servedLog(t, `{"context":{"age":3},"decision_id":"d1"}`, `{"context":{"age":4},"decision_id":"d2"}`,
		`{"context":{"age":5},"decision_id":"d3"}`)
	now := time.Now().UTC()
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	rewards := write(t, "r.csv", "decision_id,reward,reward_safe,timestamp\n"+
		"d1,1,true,"+at(time.Minute)+"\nd2,0,,"+at(time.Minute)+"\nd3,1,0,"+at(time.Minute)+"\n")
	spend := write(t, "s.jsonl", `{"decision_id":"d1","cost_spend":2.5,"timestamp":"`+at(time.Hour)+`"}`+"\n"+
		`{"decision_id":"d3","cost_spend":4,"timestamp":"`+at(50*time.Hour)+`"}`+"\n")
	for _, ending := range []string{"csv", "jsonl", "parquet"} {
		l, err := Open([]string{log}, Refuse, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		r, err := ReadRewards(rewards, Refuse)
		if err == nil {
			err = r.Read(spend, Refuse)
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "log."+ending)
		w, err := logs.Create(path, logs.WriterOptions{Actions: l.Actions, Outcomes: r.Outcomes()})
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Join(r, w.Write, Options{Mature: 2 * time.Hour})
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Outcomes) != 2 || s.Outcomes[0] != (Known{Column: "cost_spend", Rows: 1}) || s.Outcomes[1] != (Known{Column: "reward_safe", Rows: 2}) {
			t.Errorf("%s: %+v", ending, s.Outcomes)
		}
		read, err := logs.Open(context.Background(), path, logs.Options{NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		want := map[string][3]float64{"cost_spend": {2.5, math.NaN(), math.NaN()}, "reward_safe": {1, math.NaN(), 0}}
		if len(read.Outcomes) != 2 {
			t.Fatalf("%s: %+v", ending, read.Outcomes)
		}
		for k, o := range read.Outcomes {
			for i, v := range o.Values {
				if of := want[o.Column][i]; v != of && (v == v || of == of) {
					t.Errorf("%s, %s of row %d: %v, want %v", ending, o.Column, i, v, of)
				}
				var d logs.Decision
				if read.Decision(i, &d); d.Outcomes[k] != v && v == v {
					t.Errorf("%s: a decision has %v", ending, d.Outcomes)
				}
			}
		}
	}
	for name, c := range map[string][2]string{
		"twice":   {"decision_id,cost_spend\nd1,1\nd1,2\n", `decision_id "d1" has a cost_spend in row 1 already`},
		"text":    {"decision_id,cost_spend\nd1,much\n", "cost_spend"},
		"none":    {"decision_id,spend\nd1,1\n", "want decision_id and reward"},
		"no id":   {"decision_id,cost_spend\n,1\n", "no decision_id"},
		"too far": {"decision_id,cost_spend\nd1,inf\n", "not finite"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadRewards(write(t, "bad.csv", c[0]), Refuse); err == nil || !strings.Contains(err.Error(), c[1]) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Of several reports of a decision the first or the last counts of those that came in time, whatever their order; a
// decision whose reports all came too late has none.
func TestJoin_TakesDuplicatesThatCameInTime(t *testing.T) {
	log := servedLog(t, `{"context":{"age":3},"decision_id":"d1"}`)
	now := time.Now().UTC()
	for _, c := range []struct {
		hours       []int // of reports of .1, .2, …
		first, last float64
	}{
		{[]int{1, 60}, .1, .1},
		{[]int{60, 1}, .2, .2},
		{[]int{1, 2, 60, 70}, .1, .2},
		{[]int{70, 2, 60, 1}, .2, .4},
		{[]int{2, 1, 60}, .1, .2},
		{[]int{60, 50}, -1, -1},
	} {
		text := "decision_id,reward,cost_spend,timestamp\n"
		for i, h := range c.hours {
			text += fmt.Sprintf("d1,0.%d,0.%d,%s\n", i+1, i+1, now.Add(time.Duration(h)*time.Hour).Format(time.RFC3339))
		}
		for d, want := range map[Duplicates]float64{First: c.first, Last: c.last} {
			none := -1.
			out, s, err := joined(t, log, write(t, "r.csv", text), Options{Duplicates: d, Mature: 48 * time.Hour,
				Missing: &none, Min: -1, Max: 1})
			if err != nil {
				t.Fatal(err)
			}
			late, spent := 0, want
			if want < 0 {
				late, spent = 1, math.NaN()
			}
			got := out[0].Outcomes[0]
			if cost := -(want + 1) / 2; out[0].Cost != cost || got != spent && got == got || s.Late != late || s.Left != 2*(len(c.hours)-1) {
				t.Errorf("%s of %v: %+v, %+v, want %v", d, c.hours, out[0], s, want)
			}
		}
	}
}
