package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log of a computed reward is that of a column which has it, and cannot be taken for one of another range.
func TestReward_ComputedEqualsAColumn(t *testing.T) {
	dir := t.TempDir()
	var computed, plain, lines strings.Builder
	computed.WriteString("x_a,action,propensity,revenue,cost_ship,net-tax,reward\n")
	plain.WriteString("x_a,action,propensity,reward\n")
	for i := range 60 {
		revenue, ship, tax := i%11, i%5, i%3
		fmt.Fprintf(&computed, "%d,%c,.5,%d,%d,%d,%d\n", i, 'a'+i%2, revenue, ship, tax, i%2)
		fmt.Fprintf(&lines, `{"x_a":%d,"action":"%c","propensity":0.5,"revenue":%d,"cost_ship":%d,"net-tax":%d}`+"\n", i, 'a'+i%2,
			revenue, ship, tax)
		fmt.Fprintf(&plain, "%d,%c,.5,%v\n", i, 'a'+i%2, 1+float64(revenue)/2-2*float64(ship)+float64(tax))
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want, err := Open(context.Background(), write("plain.csv", plain.String()), Options{RewardMin: -7, RewardMax: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	ranges := map[string]Units{"revenue": {0, 10}, "ship": {0, 4}, "net-tax": {0, 2}}
	o := Options{Forms: Forms{Reward: `(revenue + 2)/2 - 2*cost_ship - -"net-tax"`}, Ranges: ranges}
	csv := write("computed.csv", computed.String())
	for _, path := range []string{csv, write("computed.jsonl", lines.String())} {
		for range 2 { // read, and from the cache
			l, err := Open(context.Background(), path, o)
			if err != nil {
				t.Fatal(err)
			}
			if low, high := l.RewardRange(); low != -7 || high != 8 || l.Hash() != want.Hash() {
				t.Errorf("%s: rewards from %v to %v, hash %s, want -7 to 8 and %s", path, low, high, l.Hash(), want.Hash())
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	o.Reward = `(max(min(revenue, 10), 0) + 2)/2 - 2*min(4, cost_ship) - -max("net-tax", 0)`
	o.Ranges = map[string]Units{"ship": {0, 40}, "net-tax": {-3, 2}}
	if l, err := Open(context.Background(), csv, o); err != nil || l.Hash() != want.Hash() {
		t.Errorf("cut where no value is: %v", err)
	}
	o.Reward, o.Ranges = `min(revenue, 7)`, map[string]Units{"revenue": {0, 9}}
	l, err := Open(context.Background(), csv, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if f := l.Formula; f == nil || f.Ranges["revenue"] != [2]float64{0, 9} {
		t.Errorf("the range that was given is not kept, but what it is cut to: %+v", f)
	}
	if low, high := l.RewardRange(); low != 0 || high != 7 || l.Cost[3] != -3./7 || l.Cost[7] != -1 || l.Cost[10] != -1 {
		t.Errorf("from %v to %v, %v", low, high, l.Cost[:11])
	}
	o.Reward = `(revenue + 2)/2 - 2*cost_ship - -"net-tax"`
	o.Ranges = map[string]Units{"revenue": {0, 9}, "ship": {0, 4}, "net-tax": {0, 2}}
	if _, err := Open(context.Background(), csv, o); err == nil || !strings.Contains(err.Error(), "row 11, column revenue: 10 is outside") {
		t.Errorf("a range that a value is outside of, after the cache of another: %v", err)
	}
	for text, why := range map[string]string{"": "", "revenue": "", "3": "the same", "revenue*revenue": "by a column",
		"1/revenue": "by a column", "revenue/0": "by 0", "revenue -": "want a sum", "revenue % 2": "none of", "!revenue": "none of",
		"f(revenue)": "want columns", "min(revenue)": "want columns", "min(revenue, cost_ship)": "a column and a number",
		"min(2*revenue, 3)": "a column and a number", "min(revenue, 3) + revenue": "in one place", "max(revenue, 20)": "outside",
		"min(max(revenue, 3), 3)": "outside", "revenue.min(3)": "want columns", "min(1, 2)": "a column and a number", "1e400*revenue": "no number", "1e300*1e300*revenue": "not finite", "x_a": "no outcome",
		"action + revenue": "no outcome", "0*revenue": "the same", "other": "no range", "revenue + propensity": "no outcome",
		strings.Repeat("(", 1<<20): "want a sum", "revenue*1e308": "no range"} {
		t.Run(text, func(t *testing.T) {
			o := Options{Forms: Forms{Reward: text}, Ranges: ranges}
			if err := o.formulate(); (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
				t.Errorf("%.40q: %.200v, want %q", text, err, why)
			}
		})
	}
	o = Options{Forms: Forms{Reward: "revenue"}, Ranges: ranges, RewardMax: 5}
	if err := o.formulate(); err == nil {
		t.Error("a range beside that which is computed")
	}
}
