package inspect_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"opl/testdata/long"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/report/render"
)

// world draws sound logs.
type world struct {
	name       string
	n, k       int
	contexts   int     // 0: every row has its own
	sharpness  float64 // of the logging policy, 0 is uniform
	all        bool    // all propensities are known
	rate       float64 // of rewards
	continuous bool    // rewards
}

var worlds = []world{
	{name: "uniform", n: 3000, k: 10, rate: 0.2},
	{name: "uniform, all known", n: 3000, k: 5, all: true, rate: 0.3, contexts: 40},
	{name: "peaked", n: 3000, k: 10, sharpness: 1.5, rate: 0.3},
	{name: "peaked, all known", n: 3000, k: 10, sharpness: 1.5, all: true, rate: 0.3},
	{name: "hundred actions", n: 10000, k: 100, sharpness: 0.7, all: true, rate: 0.1},
	{name: "hundred actions, logged", n: 10000, k: 100, sharpness: 0.7, rate: 0.1},
	{name: "rare rewards", n: 10000, k: 34, rate: 0.006, contexts: 250},
	{name: "continuous", n: 1000, k: 3, sharpness: 0.8, continuous: true, rate: 0.4, contexts: 30},
	{name: "two actions", n: 2000, k: 2, sharpness: 0.5, all: true, rate: 0.5, contexts: 1},
}

func (w world) log(seed uint64) *logs.Log {
	r := rand.New(rand.NewPCG(seed, 7))
	in := &logs.Log{Actions: logs.Numbered(w.k), Action: make([]int32, w.n), Cost: make([]float64, w.n), Propensity: make([]float64, w.n),
		Time: make([]int64, w.n), Keys: make([]uint64, w.n), X: logs.Rows64{Width: 1, Data: make([]float64, w.n)}}
	if w.all {
		in.Propensities = make([]float64, w.n*w.k)
	}
	pi := make([]float64, w.k)
	for i := range w.n {
		x := uint64(i)
		if w.contexts > 0 {
			x = uint64(min(r.IntN(w.contexts), r.IntN(w.contexts)))
		}
		c := rand.New(rand.NewPCG(x, seed)) // the context's own policy
		sum := 0.0
		for a := range pi {
			pi[a] = math.Exp(w.sharpness * c.NormFloat64())
			sum += pi[a]
		}
		u, drawn := r.Float64(), w.k-1
		for a := range pi {
			pi[a] /= sum
		}
		for a := range pi {
			if u -= pi[a]; u < 0 {
				drawn = a
				break
			}
		}
		if w.all {
			copy(in.Propensities[i*w.k:], pi)
		}
		p := w.rate * (0.5 + c.Float64()) * (0.8 + 0.4*float64(drawn)/float64(w.k))
		reward := p
		if w.continuous {
			reward = min(1, p*2*r.Float64())
		} else if reward = 0; r.Float64() < p {
			reward = 1
		}
		in.Action[i], in.Cost[i], in.Propensity[i] = int32(drawn), -reward, pi[drawn]
		in.Time[i], in.Keys[i], contexts(in)[i] = int64(i)*1e9, uint64(i)*977, float64(x)
	}
	return in
}

// contexts are the vectors of one number.
func contexts(l *logs.Log) []float64 { return l.X.(logs.Rows64).Data }

// Sound logs pass: over fresh logs of every world at most 1 in 100 is doubtful.
func TestInspect_PassesSoundLogs(t *testing.T) {
	long.Test(t)
	logs := 6
	if os.Getenv("OPL_LONG") != "" {
		logs = 400
	}
	alarms := 0
	for _, w := range worlds {
		of := map[string]int{}
		bad := 0
		for s := range logs {
			r := inspect.Inspect(w.log(uint64(s) + 1))
			if r.Severity > inspect.Fine {
				bad++
				for _, f := range r.Findings {
					if f.Severity > inspect.Fine {
						of[f.Check]++
					}
				}
			}
		}
		alarms += bad
		t.Logf("%-26s %d of %d alarmed %v", w.name, bad, logs, of)
	}
	if total := logs * len(worlds); alarms > max(1, total/100) {
		t.Errorf("%d of %d sound logs are doubtful", alarms, total)
	}
}

// The logs of a policy that hardly explores are sound, too: decisions too rare to be in a log are missing from its sums
// of 1/p, and show nothing of their variance.
func TestInspect_PassesRareDecisions(t *testing.T) {
	const logs = 60
	alarms := 0
	for s := range uint64(logs) {
		w := world{n: 1000, k: 3, sharpness: 6, rate: .3}
		if f, _ := inspect.Inspect(w.log(s + 1)).Finding("counts by action"); f.Severity > inspect.Fine {
			alarms++
		}
	}
	if t.Logf("%d of %d logs", alarms, logs); alarms > 5 {
		t.Errorf("%d of %d sound logs are doubtful", alarms, logs)
	}
}

// Where some of the actions that could be drawn never were, K is too small, and true propensities look wrong. It says so,
// and not of logs that have them all.
func TestInspect_SaysThatActionsMayNeverHaveBeenDrawn(t *testing.T) {
	in := world{n: 1000, k: 400, sharpness: .3, rate: .3}.log(3)
	place := map[int32]int32{}
	var names []string
	known := *in
	known.Action = slices.Clone(in.Action)
	for i, a := range in.Action {
		if _, ok := place[a]; !ok {
			place[a] = int32(len(names))
			names = append(names, in.Actions[a])
		}
		known.Action[i] = place[a]
	}
	known.Actions, known.FromRows = names, true
	hint := "may never have been drawn, give all of them by setting actions"
	f, _ := inspect.Inspect(&known).Finding("mean weight of uniform")
	if f.Severity == inspect.Fine || !strings.Contains(f.Do, hint) {
		t.Errorf("%d of 400 actions: %v, %s", len(names), f.Severity, f.Do)
	}
	if f, _ := inspect.Inspect(in).Finding("mean weight of uniform"); f.Severity != inspect.Fine {
		t.Errorf("all 400 actions: %v, %s", f.Severity, f.Do)
	}
	f, _ = inspect.Inspect(&known).Finding("support")
	if want := fmt.Sprintf("%d actions have rows; about ", len(names)); !strings.HasPrefix(f.Measured, want) {
		t.Errorf("support: %s", f.Measured)
	}
	few := world{n: 4000, k: 8, sharpness: 1, rate: .3}.log(99)
	for i := range few.Propensity {
		few.Propensity[i] *= .5
	}
	if f, _ := inspect.Inspect(few).Finding("mean weight of uniform"); f.Severity == inspect.Fine || strings.Contains(f.Do, hint) {
		t.Errorf("eight actions: %v, %s", f.Severity, f.Do)
	}
}

// Each defect is found by the check that is about it.
func TestInspect_FindsEachDefect(t *testing.T) {
	base := func(w world) func() *logs.Log { return func() *logs.Log { return w.log(99) } }
	plain, all := base(world{n: 4000, k: 8, sharpness: 1, rate: 0.3}), base(world{n: 4000, k: 8, sharpness: 1, rate: 0.3, all: true})
	uniform := base(world{n: 4000, k: 10, rate: 0.3})
	discrete := base(world{n: 4000, k: 8, sharpness: 1, rate: 0.3, contexts: 50})
	each := func(of func(in *logs.Log, i int)) func(*logs.Log) {
		return func(in *logs.Log) {
			for i := range in.Action {
				of(in, i)
			}
		}
	}
	for _, c := range []struct {
		name, check string
		severity    inspect.Severity
		says        string
		in          func() *logs.Log
		spoil       func(in *logs.Log)
	}{
		{"no rows", "rows", inspect.Unusable, "nothing", plain, func(in *logs.Log) { *in = logs.Log{Actions: in.Actions} }},
		{"one action", "rows", inspect.Unusable, "1 actions", plain, func(in *logs.Log) { in.Actions = in.Actions[:1] }},
		{"lengths", "rows", inspect.Unusable, "", plain, func(in *logs.Log) { in.Cost = in.Cost[1:] }},
		{"contexts too few", "rows", inspect.Unusable, "different lengths", plain, func(in *logs.Log) { in.X = logs.Rows64{Width: 1, Data: contexts(in)[1:]} }},
		{"contexts without width", "rows", inspect.Unusable, "different lengths", plain, func(in *logs.Log) { in.X = logs.Rows64{} }},
		{"no such context", "rows", inspect.Unusable, "different lengths", plain, func(in *logs.Log) { in.Rows = make([]int, 4000); in.Rows[7] = 4000 }},
		{"actions from 1", "rows", inspect.Unusable, "from 1", plain, func(in *logs.Log) { in.Action[7] = 8 }},
		{"positive cost", "rows", inspect.Unusable, "setting reward-min", plain, func(in *logs.Log) { in.Cost[3] = 0.5 }},
		{"cost not finite", "rows", inspect.Unusable, "row 4", plain, func(in *logs.Log) { in.Cost[3] = math.NaN() }},
		{"negative weight", "rows", inspect.Unusable, "", plain, func(in *logs.Log) { in.Weight = make([]float64, 4000); in.Weight[5] = -1 }},
		{"no propensities", "propensities", inspect.Unusable, "setting estimate-propensity", plain, func(in *logs.Log) { in.Propensity = nil }},
		{"zero propensity", "propensity range", inspect.Unusable, "row 6", plain, func(in *logs.Log) { in.Propensity[5] = 0 }},
		{"NaN propensity", "propensity range", inspect.Unusable, "", plain, func(in *logs.Log) { in.Propensity[5] = math.NaN() }},
		{"weights for propensities", "propensity range", inspect.Unusable, "1/p", plain, each(func(in *logs.Log, i int) { in.Propensity[i] = 1 / in.Propensity[i] })},
		{"log propensities", "propensity range", inspect.Unusable, "log p", plain, each(func(in *logs.Log, i int) { in.Propensity[i] = math.Log(in.Propensity[i]) })},
		{"percentages", "propensity range", inspect.Unusable, "percent", plain, each(func(in *logs.Log, i int) { in.Propensity[i] *= 100 })},
		{"one minus p", "mean weight of uniform", inspect.Unusable, "inverted", plain, each(func(in *logs.Log, i int) { in.Propensity[i] = 1 - in.Propensity[i] })},
		{"too small", "mean weight of uniform", inspect.Unusable, "too small", plain, each(func(in *logs.Log, i int) { in.Propensity[i] *= 0.5 })},
		{"too small on average", "mean propensity", inspect.Unusable, "1/K", uniform, each(func(in *logs.Log, i int) { in.Propensity[i] *= 0.5 + 0.2*float64(i%2) })},
		{"too large", "mean weight of uniform", inspect.Doubtful, "too large", plain, each(func(in *logs.Log, i int) { in.Propensity[i] = min(1, 1.5*in.Propensity[i]) })},
		{"of another action", "mean propensity", inspect.Unusable, "", plain, each(func(in *logs.Log, i int) { in.Propensity[i] = (1 - in.Propensity[i]) / 7 })},
		{"rows do not sum to 1", "rows sum to 1", inspect.Unusable, "", all, func(in *logs.Log) { in.Propensities[8*5+1] += 0.1; in.Propensity = nil }},
		{"rows rounded", "rows sum to 1", inspect.Doubtful, "", all, func(in *logs.Log) { in.Propensities[8*5+1] *= 1 + 1e-2; in.Propensity = nil }},
		{"p is not its entry", "p is its row's entry", inspect.Unusable, "", all, func(in *logs.Log) { in.Propensity[17] *= 0.9 }},
		{"p nearly its entry", "p is its row's entry", inspect.Doubtful, "", all, func(in *logs.Log) { in.Propensity[17] *= 1 - 1e-5 }},
		{"deterministic", "constant or rounded", inspect.Unusable, "never explored", plain, each(func(in *logs.Log, i int) { in.Propensity[i] = 1 })},
		{"placeholder", "constant or rounded", inspect.Doubtful, "placeholder", plain, each(func(in *logs.Log, i int) { in.Propensity[i] = 0.5 })},
		{"days of Excel for times", "columns as they were read", inspect.Doubtful, "days in Excel", plain, func(in *logs.Log) {
			in.Time = make([]int64, len(in.Action))
			for i := range in.Time {
				in.Time[i] = int64((45_800 + float64(i)/100) * 1e9)
			}
		}},
		{"dates in one number", "columns as they were read", inspect.Doubtful, "dates as 20260131", plain, func(in *logs.Log) {
			in.Time = make([]int64, len(in.Action))
			for i := range in.Time {
				in.Time[i] = int64(20_260_101+100*(i%12)+i%28) * 1e9
			}
		}},
		{"constant below 1/K", "constant or rounded", inspect.Unusable, "", plain, each(func(in *logs.Log, i int) { in.Propensity[i] = 0.05 })},
		{"rounded", "constant or rounded", inspect.Doubtful, "rounded", plain, each(func(in *logs.Log, i int) { in.Propensity[i] = max(0.01, math.Round(in.Propensity[i]*100)/100) })},
		{"uniform said, not so", "counts by action", inspect.Doubtful, "more often", uniform, func(in *logs.Log) {
			for i, a := range in.Action {
				if a == 3 && i%3 == 0 {
					in.Action[i] = 4
				}
			}
		}},
		{"columns exchanged", "counts by action", inspect.Unusable, "", all, func(in *logs.Log) {
			in.Propensity = nil
			r := rand.New(rand.NewPCG(1, 1))
			for i := range in.Action {
				if in.Action[i] == 2 && r.Float64() < 0.9 {
					in.Action[i] = 5
				}
			}
		}},
		{"flatter than stated", "draws against propensities", inspect.Doubtful, "less concentrated", all, func(in *logs.Log) {
			in.Propensity = nil
			for i := range in.Action {
				if i%8 == 0 {
					in.Action[i] = int32(i / 8 % 8)
				}
			}
		}},
		{"an action missing", "support", inspect.Doubtful, "never logged: x", plain, func(in *logs.Log) { in.Actions = append(in.Actions, "x") }},
		{"counted from 1", "support", inspect.Doubtful, "from 1", plain, func(in *logs.Log) {
			in.Actions = append(in.Actions, "8")
			for i := range in.Action {
				in.Action[i]++
			}
		}},
		{"one action taken", "support", inspect.Unusable, "", plain, each(func(in *logs.Log, i int) { in.Action[i] = 2 })},
		{"a handful of rows", "effective sample size", inspect.Doubtful, "handful", plain, func(in *logs.Log) { in.Propensity[9] = 1e-5 }},
		{"row weights", "row weights", inspect.Doubtful, "", plain, func(in *logs.Log) {
			in.Weight = make([]float64, 4000)
			for i := range in.Weight {
				in.Weight[i] = 1
			}
			in.Weight[1] = 1e4
		}},
		{"ids twice", "decision ids", inspect.Doubtful, "counts twice", plain, func(in *logs.Log) { in.Keys[5] = in.Keys[6] }},
		{"ids constant", "decision ids", inspect.Unusable, "", plain, each(func(in *logs.Log, i int) { in.Keys[i] = 1 })},
		{"no reward", "reward", inspect.Unusable, "same reward", plain, each(func(in *logs.Log, i int) { in.Cost[i] = 0 })},
		{"few rewards", "reward", inspect.Doubtful, "", plain, each(func(in *logs.Log, i int) {
			if i > 30 {
				in.Cost[i] = 0
			}
		})},
		{"cost for reward", "sign of the reward", inspect.Doubtful, "", base(world{n: 4000, k: 5, rate: 0.02}), each(func(in *logs.Log, i int) { in.Cost[i] = -1 - in.Cost[i] })},
		{"worse than chance", "sign of the reward", inspect.Doubtful, "exchanged", plain, each(func(in *logs.Log, i int) {
			if in.Propensity[i] > 0.15 {
				in.Cost[i] = 0
			}
		})},
		{"estimated", "estimated propensities", inspect.Doubtful, "certified", plain, func(in *logs.Log) { in.Estimated = true }},
		{"missing rewards", "missing rewards", inspect.Doubtful, "nothing is certified", plain, func(in *logs.Log) { in.Unrewarded = 1 }},
		{"skipped", "rows left out", inspect.Doubtful, "kept", plain, func(in *logs.Log) { in.Skipped = 100 }},
		{"files left out", "rows left out", inspect.Doubtful, "2 of 199 files", plain, func(in *logs.Log) { in.LeftOut, in.Files = 2, 199 }},
		{"reward drifts", "drift of the reward", inspect.Doubtful, "", plain, each(func(in *logs.Log, i int) {
			if i > 3000 && i%2 == 0 {
				in.Cost[i] = 0
			}
		})},
		{"an action drifts", "drift of the reward", inspect.Doubtful, "; from 1970-01-01T00:40:00Z on 0.429, before 0.294; of actions 2 changed most: 1, before 0.298", plain, each(func(in *logs.Log, i int) {
			if i >= 2400 && (in.Action[i] == 2 || in.Action[i] == 3 && i%2 == 0) {
				in.Cost[i] = -1
			}
		})},
		{"policy drifts", "drift of the propensities", inspect.Doubtful, "", plain, func(in *logs.Log) {
			other := world{n: 4000, k: 8, sharpness: 1.6, rate: 0.3}.log(5)
			copy(in.Action[2000:], other.Action[2000:])
			copy(in.Propensity[2000:], other.Propensity[2000:])
		}},
		{"actions drift", "drift of the actions", inspect.Doubtful, "", plain, each(func(in *logs.Log, i int) {
			if i > 3000 && in.Action[i] == 1 {
				in.Action[i] = 0
			}
		})},
		{"blanks", "names of actions", inspect.Doubtful, "capitals, blanks", plain, func(in *logs.Log) {
			in.Actions = slices.Clone(in.Actions)
			in.Actions[3] = in.Actions[5] + " "
		}},
		{"capitals", "names of actions", inspect.Doubtful, "capitals, blanks", plain, func(in *logs.Log) {
			in.Actions = slices.Clone(in.Actions)
			in.Actions[3], in.Actions[5] = "shoe", "Shoe"
		}},
		{"short, of few", "names of actions", inspect.Doubtful, "capitals, blanks", plain, func(in *logs.Log) {
			in.Actions = slices.Clone(in.Actions)
			in.Actions[3], in.Actions[5] = "a", "A "
		}},
		{"accents", "names of actions", inspect.Doubtful, "how accents are written", plain, func(in *logs.Log) {
			in.Actions = slices.Clone(in.Actions)
			in.Actions[3], in.Actions[5] = "caf\u00e9", "cafe\u0301"
		}},
		{"numbers", "names of actions", inspect.Doubtful, ".0 alone", plain, func(in *logs.Log) {
			in.Actions = slices.Clone(in.Actions)
			in.Actions[3], in.Actions[5] = "77", "77.0"
		}},
		{"groups", "groups", inspect.Fine, "share a group", plain, func(in *logs.Log) {
			in.Group = make([]int32, 4000)
			for i := range in.Group {
				in.Group[i] = int32(i / 2)
			}
		}},
		{"visits", "repeated contexts", inspect.Doubtful, "visit", discrete, each(func(in *logs.Log, i int) {
			if i%3 > 0 {
				contexts(in)[i] = contexts(in)[i-1]
			}
		})},
		{"written twice", "rows written twice", inspect.Doubtful, "", plain, func(in *logs.Log) {
			for i := 1; i < 400; i += 2 {
				in.Action[i], in.Cost[i], in.Propensity[i], contexts(in)[i] = in.Action[i-1], in.Cost[i-1], in.Propensity[i-1], contexts(in)[i-1]
			}
		}},
		{"rewards in sequence", "rewards in sequence", inspect.Doubtful, "", plain, each(func(in *logs.Log, i int) {
			if i%4 == 1 {
				in.Cost[i] = in.Cost[i-1]
			}
		})},
	} {
		in := c.in()
		c.spoil(in)
		r := inspect.Inspect(in)
		f, ok := r.Finding(c.check)
		switch {
		case !ok:
			t.Errorf("%s: no finding %q among %v", c.name, c.check, r.Findings)
		case f.Severity != c.severity || r.Severity < f.Severity:
			t.Errorf("%s: %s, want %s: %+v", c.name, f.Severity, c.severity, f)
		case f.Means == "" || f.Do == "" || f.Measured == "":
			t.Errorf("%s: the finding is not explained: %+v", c.name, f)
		case f.About != subjects[c.check]:
			t.Errorf("%s: it is about %q, want %q", c.name, f.About, subjects[c.check])
		case !strings.Contains(f.Means+f.Do+f.Measured, c.says):
			t.Errorf("%s: %+v does not say %q", c.name, f, c.says)
		}
		checkText(t, r)
	}
}

// subjects are those by which package provenance withholds or doubts a guarantee; other checks have none.
var subjects = map[string]inspect.Subject{
	"numbers against densities": inspect.Draws, "mean weight of uniform": inspect.Draws, "counts by action": inspect.Draws, "draws against propensities": inspect.Draws,
	"p is its row's entry": inspect.Draws, "rows left out": inspect.Selection, "reward": inspect.Variation, "decision ids": inspect.IDs,
	"rows written twice": inspect.Repeats, "repeated contexts": inspect.Visits, "rewards in sequence": inspect.Sequence,
	"drift of the reward": inspect.Drift, "drift of the propensities": inspect.Drift, "drift of the actions": inspect.Drift,
}

// checkText checks that both forms can be written, in 80 columns.
func checkText(t *testing.T, r inspect.Report) {
	t.Helper()
	var b bytes.Buffer
	if err := render.Inspection(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("line of %d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(text, &back); err != nil || back["severity"] != r.Severity.String() {
		t.Errorf("%v, severity %v", err, back["severity"])
	}
}

// A report is the same each time, whatever order maps are walked in.
func TestInspect_IsDeterministic(t *testing.T) {
	in := world{n: 2000, k: 10, contexts: 300, sharpness: 1, rate: 0.3}.log(3)
	var first string
	for range 3 {
		text, err := json.Marshal(inspect.Inspect(in))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(text)
		} else if string(text) != first {
			t.Fatal("two reports of one log differ")
		}
	}
}

// What a report counts is what is there.
func TestReport_CountsWhatIsThere(t *testing.T) {
	in := &logs.Log{Actions: []string{"a", "b"}, Action: []int32{0, 1, 1, 0}, Cost: []float64{-1, 0, -0.5, 0}, Propensity: []float64{0.5, 0.25, 0.5, 0.5}, Keys: []uint64{1, 2, 3, 1}}
	r := inspect.Inspect(in)
	if r.Rows != 4 || r.K != 2 || r.Known != "logged" || r.ByAction[0].Rows != 2 || r.ByAction[0].Reward != 0.5 || r.ByAction[1].Reward != 0.25 {
		t.Errorf("%+v", r)
	}
	// Weights 1/(2p) are 1, 2, 1, 1: mean 1.25, effective size 25/7.
	if f, _ := r.Finding("mean weight of uniform"); f.Numbers[0].Value != 1.25 || math.Abs(f.Numbers[1].Value-0.25) > 1e-15 {
		t.Errorf("%+v", f)
	}
	if f, _ := r.Finding("effective sample size"); math.Abs(f.Numbers[0].Value-25.0/7) > 1e-12 || math.Abs(f.Numbers[1].Value-0.4) > 1e-12 {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(r.Summary(), "decision ids (unusable)") {
		t.Error(r.Summary())
	}
	if i := slices.IndexFunc(r.Findings, func(f inspect.Finding) bool { return f.Severity == inspect.Fine }); i == 0 {
		t.Error("the worst finding is not first")
	}
}

// Small and extreme logs make a report that can be written, whatever is in them.
func TestInspect_TakesExtremeLogs(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	pick := func(of ...float64) float64 { return of[r.IntN(len(of))] }
	for range 3000 {
		n, k := 1+r.IntN(4), 2+r.IntN(2)
		if r.IntN(20) == 0 {
			n = 250
		}
		in := &logs.Log{}
		var x []float64
		for a := range k {
			in.Actions = append(in.Actions, fmt.Sprint(a))
		}
		for i := range n {
			in.Action = append(in.Action, int32(r.IntN(k)))
			in.Cost = append(in.Cost, -pick(0, 1, 0.5, 1e-300, 5e-324))
			in.Propensity = append(in.Propensity, pick(1, 0.5, 0.25, 1e-30, 1e-99, 1e-200, 5e-324))
			in.Weight = append(in.Weight, pick(1, 1, 0, 2, 1e-300, 1e300))
			in.Time = append(in.Time, int64(pick(0, 1, 1e18, -1e18)))
			in.Group = append(in.Group, int32(pick(-1, 0, 1)))
			in.Keys = append(in.Keys, uint64(r.IntN(3)))
			x = append(x, float64(r.IntN(2)))
			row := make([]float64, k)
			row[in.Action[i]] = 1
			in.Propensities = append(in.Propensities, row...)
		}
		in.X = logs.Rows64{Width: 1, Data: x}
		if r.IntN(2) == 0 {
			in.Propensities = nil
		}
		if r.IntN(2) == 0 {
			in.Propensity = nil
		}
		if r.IntN(2) == 0 {
			in.Weight = nil
		}
		checkText(t, inspect.Inspect(in))
	}
}

// Where an action that could be drawn has no rows, beyond chance, the log is not of its propensities.
func TestCounts_RefuteAnActionWithoutRows(t *testing.T) {
	const head = "action,reward,x_0,p_a,p_b,p_c,p_d,p_e,p_f,p_g,p_h\n"
	for n, want := range map[int]inspect.Severity{20: inspect.Fine, 80: inspect.Doubtful, 119: inspect.Unusable} {
		rows := head
		for i := range n {
			rows += fmt.Sprintf("%c,%d,%d%s\n", 'a'+i%7, i%2, i*i%11, strings.Repeat(",.125", 8))
		}
		l := written(t, "l.csv", rows)
		if f, _ := inspect.Inspect(l).Finding("counts by action"); f.Severity != want {
			t.Errorf("%d rows: %+v", n, f)
		}
	}
}

// Draws that follow the clock, and not the propensities that were logged, are seen without a column of the hour; a ramp
// whose propensities were logged is sound.
func TestBets_ReadTheClock(t *testing.T) {
	for name, c := range map[string]struct {
		p     func(at time.Time) float64 // of action b
		said  float64                    // in all rows; 0: p
		worst inspect.Severity
	}{
		"by night": {func(at time.Time) float64 {
			return map[bool]float64{true: .5, false: .1}[at.Hour() < 6 || at.Hour() >= 18]
		}, .3, inspect.Unusable},
		"weekends":   {func(at time.Time) float64 { return map[bool]float64{true: .6, false: .18}[at.Weekday()%6 == 0] }, .3, inspect.Unusable},
		"a ramp":     {func(at time.Time) float64 { return map[bool]float64{true: .1, false: .5}[at.Day() < 12] }, .3, inspect.Unusable},
		"logged so":  {func(at time.Time) float64 { return map[bool]float64{true: .1, false: .5}[at.Day() < 12] }, 0, inspect.Fine},
		"by the day": {func(at time.Time) float64 { return .2 + .02*float64(at.Day()) }, 0, inspect.Fine},
	} {
		r := rand.New(rand.NewPCG(3, 9))
		var b strings.Builder
		b.WriteString("action,reward,propensity,timestamp,x_a\n")
		start := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
		for i := range 3000 {
			at := start.Add(time.Duration(i) * 11 * time.Minute)
			p, action := c.p(at), "a"
			said := cmp.Or(c.said, p)
			if said = 1 - said; r.Float64() < p {
				action, said = "b", 1-said
			}
			fmt.Fprintf(&b, "%s,%d,%v,%s,%.3f\n", action, r.IntN(2), said, at.Format(time.RFC3339), r.NormFloat64())
		}
		if f, _ := inspect.Inspect(written(t, "l.csv", b.String())).Finding("bets on propensities"); f.Severity != c.worst {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A guarantee counts groups: of a few it can say nothing. That a new version earns more than the old one does not say
// that the reward is a cost.
func TestInspect_OfGroupsAndVersions(t *testing.T) {
	for _, c := range []struct {
		groups int
		check  string
		want   inspect.Severity
	}{{3, "groups", inspect.Doubtful}, {60, "groups", inspect.Fine}, {6000, "sign of the reward", inspect.Fine}} {
		r := rand.New(rand.NewPCG(5, 9))
		rows := "action,reward,propensity,group\n"
		for i := range 6000 {
			action, p, mean := "old", .9, .1
			if r.Float64() < .1 {
				action, p, mean = "new", .1, .5
			}
			reward := 0
			if r.Float64() < mean {
				reward = 1
			}
			rows += fmt.Sprintf("%s,%d,%v,g%d\n", action, reward, p, i%c.groups)
		}
		if f, _ := inspect.Inspect(written(t, "l.csv", rows)).Finding(c.check); f.Severity != c.want {
			t.Errorf("%d groups: %+v", c.groups, f)
		}
	}
}

// Where known propensities are 0, weights of the uniform policy average less than 1, and no more is wrong.
func TestMeanWeight_CountsWhatCanBeDrawn(t *testing.T) {
	for said, want := range map[string]inspect.Severity{"0": inspect.Fine, ".25": inspect.Doubtful} { // of c in the second half
		r := rand.New(rand.NewPCG(4, 9))
		rows := "action,reward,x_0,p_a,p_b,p_c\n"
		for i := range 4000 {
			p, a := "0.25,0.25,0.5", []int{0, 1, 2, 2}[r.IntN(4)]
			if i >= 2000 {
				p, a = map[string]string{"0": "0.5,0.5,0", ".25": "0.375,0.375,0.25"}[said], r.IntN(2)
			}
			rows += fmt.Sprintf("%c,%d,%d,%s\n", 'a'+a, r.IntN(2), i*i%11, p)
		}
		if f, _ := inspect.Inspect(written(t, "l.csv", rows)).Finding("mean weight of uniform"); f.Severity != want {
			t.Errorf("%s: %+v", said, f)
		}
	}
}
