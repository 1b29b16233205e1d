package inspect_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"opl/train/inspect"
)

// shows writes decisions of four items that say what they offer: one is shown, or a list of two, with propensities of
// slots or the joint one. The first of item a is drawn 1 + s·z times as often as is said.
func shows(t *testing.T, form string, n int, seed uint64, s float64, z func(x, hour float64) float64) inspect.Report {
	r := rand.New(rand.NewPCG(seed, 12))
	var b strings.Builder
	start := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	items := []string{"a", "b", "c", "d"}
	for i := range n {
		at := start.Add(time.Duration(i) * 67 * time.Minute)
		x := math.Round(r.Float64()*2000)/1000 - 1
		first := 1 + r.IntN(3)
		if r.Float64() < .25*(1+s*z(x, float64(at.Hour()))) {
			first = 0
		}
		second := (first + 1 + r.IntN(3)) % 4
		row := map[string]any{"decision_id": fmt.Sprint(i), "timestamp": at.Format(time.RFC3339), "context": map[string]any{"x": x}, "offered": items}
		if form == "one" {
			row["action"], row["propensity"], row["reward"] = items[first], .25, r.IntN(2)
		} else {
			row["slots"], row["slot_rewards"] = []string{items[first], items[second]}, []int{r.IntN(2), r.IntN(2)}
			if row["slot_propensities"] = []float64{.25, 1. / 3}; form == "joint" {
				row["propensity"] = 1. / 12
				delete(row, "slot_propensities")
			}
		}
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return inspect.Inspect(written(t, "l.jsonl", b.String()))
}

// Draws of rows that say what they offer, and of lists, are bet on by action, column and clock as others are.
func TestBets_OfWhatIsOfferedAndLists(t *testing.T) {
	for name, z := range map[string]func(x, hour float64) float64{
		"column": func(x, _ float64) float64 { return x },
		"hour":   func(_, hour float64) float64 { return map[bool]float64{true: 1, false: -1}[hour < 9 || hour > 20] },
	} {
		for _, form := range []string{"one", "slots", "joint"} {
			if f, _ := shows(t, form, 4000, 1, .8, z).Finding("bets on propensities"); f.Severity != inspect.Unusable {
				t.Errorf("%s, %s: %+v", name, form, f)
			}
			sum := 0.
			for seed := range uint64(30) {
				f, _ := shows(t, form, 300, 100+seed, 0, z).Finding("bets on propensities")
				sum += math.Exp(f.Numbers[1].Value)
			}
			if sum > 1.5*30 {
				t.Errorf("%s, %s: e-values of sound logs have the mean %v", name, form, sum/30)
			}
		}
	}
}
