package inspect_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"opl/testdata/long"
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
	long.Test(t)
	for name, z := range map[string]func(x, hour float64) float64{
		"column": func(x, _ float64) float64 { return x },
		"hour":   func(_, hour float64) float64 { return map[bool]float64{true: 1, false: -1}[hour < 9 || hour > 20] },
	} {
		for _, form := range []string{"one", "slots", "joint"} {
			if f, _ := shows(t, form, 4000, 1, .8, z).Finding("bets on propensities"); f.Severity != inspect.Unusable {
				t.Errorf("%s, %s: %+v", name, form, f)
			}
			if name == "hour" {
				continue // of sound logs it is the same
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

// The first slots of lists, whose draws alone are wrong, are looked at apart: most of few lists refute them.
func TestBets_LookAtFirstSlotsApart(t *testing.T) {
	sum := 0.
	for seed := range uint64(6) {
		f, _ := shows(t, "slots", 2000, 50+seed, .8, func(x, _ float64) float64 { return x }).Finding("bets on propensities")
		sum += f.Numbers[0].Value
	}
	if sum < 6*math.Log(1000) {
		t.Errorf("log e of 6 logs has the mean %.3g", sum/6)
	}
}

// Of lists, as of rows, visitors who leave at a reward are seen, lists that end at one, and lists that are written
// again; lists whose lengths are those of devices are sound.
func TestLists_EndAndComeAgainAsRowsDo(t *testing.T) {
	type list struct {
		group   string
		rewards []int
	}
	for name, c := range map[string]struct {
		more  func(r *rand.Rand, k int) []list // of visitor k
		twice bool
		check string
		want  inspect.Severity
	}{
		"visitors leave at a reward": {func(r *rand.Rand, k int) (all []list) {
			for range 8 {
				all = append(all, list{fmt.Sprint("v", k), []int{r.IntN(10) / 7, 0}})
				if all[len(all)-1].rewards[0] == 1 {
					break
				}
			}
			return all
		}, false, "ends of groups", inspect.Doubtful},
		"visitors come thrice": {func(r *rand.Rand, k int) (all []list) {
			for range 3 {
				all = append(all, list{fmt.Sprint("v", k), []int{r.IntN(10) / 7, r.IntN(2)}})
			}
			return all
		}, false, "ends of groups", inspect.Fine},
		"lists end at a click": {func(r *rand.Rand, _ int) []list {
			if r.IntN(2) == 0 {
				return []list{{"", []int{1}}}
			}
			return []list{{"", []int{0, r.IntN(2)}}}
		}, false, "ends of lists", inspect.Doubtful},
		"devices": {func(r *rand.Rand, k int) []list {
			if k%3 == 0 {
				return []list{{"", []int{r.IntN(10) / 6}}}
			}
			return []list{{"", []int{r.IntN(10) / 7, r.IntN(10) / 8}}}
		}, false, "ends of lists", inspect.Fine},
		"once":  {func(r *rand.Rand, _ int) []list { return []list{{"", []int{r.IntN(2), r.IntN(2)}}} }, false, "rows written again", inspect.Fine},
		"twice": {func(r *rand.Rand, _ int) []list { return []list{{"", []int{r.IntN(2), r.IntN(2)}}} }, true, "rows written again", inspect.Unusable},
	} {
		r := rand.New(rand.NewPCG(8, 8))
		items, lines := []string{"a", "b", "c", "d"}, []string(nil)
		for k := range 1000 {
			for _, l := range c.more(r, k) {
				first := r.IntN(4)
				row := map[string]any{"context": map[string]any{"x": r.IntN(2)}, "offered": items, "slot_rewards": l.rewards,
					"slots":             []string{items[first], items[(first+1+r.IntN(3))%4]}[:len(l.rewards)],
					"slot_propensities": []float64{.25, 1. / 3}[:len(l.rewards)]}
				if l.group != "" {
					row["group"] = l.group
				}
				line, err := json.Marshal(row)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, string(line))
			}
		}
		if c.twice {
			lines = append(lines, lines...)
		}
		if f, _ := inspect.Inspect(written(t, "l.jsonl", strings.Join(lines, "\n")+"\n")).Finding(c.check); f.Severity != c.want {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Rows of slots that offer what stands above them are doubted where no list shows an action twice.
func TestSlots_OfferWhatStandsAbove(t *testing.T) {
	for name, c := range map[string]struct {
		shown, offered []string // by slot
		want           inspect.Severity
	}{
		"what is left":   {[]string{"a", "b"}, []string{"[a,b,c]", "[b,c]"}, inspect.Fine},
		"all":            {[]string{"a", "b"}, []string{"[a,b,c]", "[a,b,c]"}, inspect.Doubtful},
		"all, and twice": {[]string{"a", "a"}, []string{"[a,b,c]", "[a,b,c]"}, inspect.Fine},
		"of slots' own":  {[]string{"a", "y"}, []string{"[a,b,c]", "[x,y]"}, inspect.Fine},
	} {
		var b strings.Builder
		b.WriteString("slate_id,slot,x_a,offered,action,propensity,reward\n")
		for i := range 200 {
			for slot := range 2 {
				offered := strings.NewReplacer("[", `"[""`, ",", `"",""`, "]", `""]"`).Replace(c.offered[slot])
				fmt.Fprintf(&b, "%d,%d,0.%d,%s,%s,0.5,%d\n", i, slot+1, i%10, offered, c.shown[slot], i%2)
			}
		}
		f, ok := inspect.Inspect(written(t, "l.csv", b.String())).Finding("what slots offer")
		if !ok || f.Severity != c.want {
			if name != "all, and twice" || ok {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}
