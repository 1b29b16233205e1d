package inspect_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opl/train/inspect"
	"opl/train/logs"
)

// What a column holds beside its values is doubted: a code for no value, and a second column of the same name.
func TestInspect_DoubtsCodesAndColumnsThatAreAlike(t *testing.T) {
	for _, c := range []struct {
		name, column string
		value        func(i int) int
		says         string // "": no doubt
	}{
		{"nines for no value", "x_b", func(i int) int { return map[bool]int{true: -999, false: i % 70}[i%50 == 0] }, "20 rows have -999"},
		{"large nines for no value", "x_b", func(i int) int { return map[bool]int{true: 99999, false: i % 70}[i%50 == 0] }, "20 rows have 99999"},
		{"capitals", "x_AGE", func(i int) int { return i % 7 }, `"x_age" and "x_AGE" differ by capitals`},
		{"a large value in one row", "x_b", func(i int) int { return map[bool]int{true: 1e12, false: i % 70}[i == 50] }, "1e+12 is further"},
		{"a small value in one row", "x_b", func(i int) int { return map[bool]int{true: -1e12, false: i % 70}[i == 50] }, "-1e+12 is further"},
		{"mostly one value", "x_b", func(i int) int { return map[bool]int{true: 1e12, false: 7}[i == 50] }, ""},
		{"ages up to 99", "x_b", func(i int) int { return i % 100 }, ""},
		{"a large value", "x_b", func(i int) int { return map[bool]int{true: 5000, false: i % 70}[i%50 == 0] }, ""},
		{"nines or nothing", "x_b", func(i int) int { return 99 * (i % 2) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			fmt.Fprintf(&b, "action,reward,propensity,x_age,x_city,%s\n", c.column)
			for i := range 1000 {
				fmt.Fprintf(&b, "%d,%d,0.5,%d,%c,%d\n", i*7%11%2, i%3/2, i%13, 'a'+i%3, c.value(i))
			}
			log := written(t, "l.csv", b.String())
			before := slices.Clone(log.Names())
			f, found := inspect.Inspect(log).Finding("columns as they were read")
			if !slices.Equal(log.Names(), before) {
				t.Errorf("inspecting changed the log's names from %q to %q", before, log.Names())
			}
			if found != (c.says != "") || !strings.Contains(f.Measured, c.says) {
				t.Errorf("%t, %q does not say %q", found, f.Measured, c.says)
			}
		})
	}
}

// Values of a column that differ by capitals may be one value.
func TestInspect_DoubtsValuesThatMayBeOne(t *testing.T) {
	for values, says := range map[string]string{"DE,FR,de": `column x_city: "DE" and "de" differ by capitals`, "DE,FR,UK": ""} {
		text := "action,reward,propensity,x_city\n"
		for i := range 300 {
			text += fmt.Sprintf("%d,%d,0.5,%s\n", i*7%11%2, i%3/2, strings.Split(values, ",")[i%3])
		}
		f, found := inspect.Inspect(written(t, "l.csv", text)).Finding("columns as they were read")
		if found != (says != "") || !strings.Contains(f.Measured, says) {
			t.Errorf("%s: %t, %q does not say %q", values, found, f.Measured, says)
		}
	}
}

// written opens a log of a text.
func written(t *testing.T, name, text string) *logs.Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := logs.Open(context.Background(), path, logs.Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// Numbers of a context that are in quotes in some rows are another feature there. Words beside numbers are none.
func TestInspect_DoubtsNumbersThatAreInQuotesInSomeRows(t *testing.T) {
	for _, other := range []string{`"41"`, `"unknown"`, `41`} {
		var b strings.Builder
		for i := range 400 {
			age := map[bool]string{true: "30", false: other}[i%9 > 0]
			fmt.Fprintf(&b, `{"action":%d,"reward":%d,"propensity":0.5,"context":{"age":%s,"b":%d}}`+"\n", i*7%11%2, i%3/2, age, i%13)
		}
		log := written(t, "l.jsonl", b.String())
		f, found := inspect.Inspect(log).Finding("columns as they were read")
		if found != (other == `"41"`) || found && !strings.Contains(f.Measured, `numbers in quotes, as "41"`) {
			t.Errorf("%s: %t, %q", other, found, f.Measured)
		}
	}
}

// A time of 0 beside later ones, or in all rows, stands for none; times that count from 0 are meant.
func TestInspect_DoubtsTimesThatAreNone(t *testing.T) {
	for _, c := range []struct {
		name string
		time func(i int) int64
		want bool
	}{
		{"one row", func(i int) int64 { return map[bool]int64{true: 0, false: 1.7e18 + int64(i)*1e9}[i == 77] }, true},
		{"all rows", func(int) int64 { return 0 }, true},
		{"seconds from 0", func(i int) int64 { return int64(i) * 1e9 }, false},
		{"times", func(i int) int64 { return 1.7e18 + int64(i)*1e9 }, false},
	} {
		in := world{n: 400, k: 2, rate: 0.3}.log(3)
		in.Time = make([]int64, len(in.Action))
		for i := range in.Time {
			in.Time[i] = c.time(i)
		}
		if f, found := inspect.Inspect(in).Finding("columns as they were read"); found != c.want || found && !strings.Contains(f.Measured, "may stand for no time") {
			t.Errorf("%s: %t, %q", c.name, found, f.Measured)
		}
	}
}

// Uniform propensities are rounded up as often as down.
func TestInspect_TakesUniformRoundedUpForUniform(t *testing.T) {
	in := world{n: 4000, k: 60, rate: 0.3}.log(99)
	for i := range in.Propensity {
		in.Propensity[i] = 0.0166667
	}
	r := inspect.Inspect(in)
	f, _ := r.Finding("constant or rounded")
	weight, _ := r.Finding("mean weight of uniform")
	if f.Severity != inspect.Fine || !strings.Contains(f.Measured, "uniform, rounded") || !strings.Contains(weight.Measured, "z = 0.0") {
		t.Errorf("%+v, %+v", f, weight)
	}
}

// Rewards that follow the day of the week are no drift, and a trend beside them is.
func TestDrift_PassesWeeksThatAreAlike(t *testing.T) {
	for _, c := range []struct {
		name  string
		days  int
		trend float64
		want  inspect.Severity
	}{
		{"six weeks", 42, 0, inspect.Fine}, {"six weeks and a trend", 42, 0.3, inspect.Doubtful}, {"one week", 7, 0, inspect.Doubtful},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, r := world{n: 8000, k: 3, rate: 0.3}.log(7), rand.New(rand.NewPCG(9000, 1))
			in.Time = make([]int64, len(in.Action))
			for i := range in.Time {
				age := float64(i) / float64(len(in.Time))
				at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(age * float64(c.days) * 24 * float64(time.Hour)))
				in.Time[i], in.Cost[i] = at.UnixNano(), 0
				rate := .1 + c.trend*age
				if d := at.Weekday(); d == time.Saturday || d == time.Sunday {
					rate += .4
				}
				if r.Float64() < rate {
					in.Cost[i] = -1
				}
			}
			if f, _ := inspect.Inspect(in).Finding("drift of the reward"); f.Severity != c.want || (f.About == inspect.Weeks) != (c.want == inspect.Fine) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Rewards that follow the time of day are no sequence, and those that repeat the last one are.
func TestAutocorrelation_PassesDaysThatAreAlike(t *testing.T) {
	for seed := range uint64(4) {
		for repeated, want := range map[float64]inspect.Severity{0: inspect.Fine, .1: inspect.Doubtful} {
			in, r := world{n: 8000, k: 3, rate: 0.3}.log(7), rand.New(rand.NewPCG(9100, seed))
			in.Time = make([]int64, len(in.Action))
			for i := range in.Time {
				day := 15 * float64(i) / float64(len(in.Time))
				in.Time[i] = int64(day * 24 * float64(time.Hour))
				switch {
				case i > 0 && r.Float64() < repeated:
					in.Cost[i] = in.Cost[i-1]
				case r.Float64() < .3+.2*math.Sin(2*math.Pi*day):
					in.Cost[i] = -1
				default:
					in.Cost[i] = 0
				}
			}
			if f, _ := inspect.Inspect(in).Finding("rewards in sequence"); f.Severity != want {
				t.Errorf("seed %d, repeated %v: %+v", seed, repeated, f)
			}
		}
	}
}

// What to do about a column depends on how it was misread.
func TestInspect_SaysWhatToDoAboutEachColumn(t *testing.T) {
	in := world{n: 400, k: 2, rate: 0.3}.log(1)
	in.Doubts, in.Bare = []string{"column x: numbers with commas"}, "no column is read as context"
	var do []string
	for _, f := range inspect.Inspect(in).Findings {
		if f.Check == "columns as they were read" {
			do = append(do, strings.Fields(f.Do)[0])
		}
	}
	if got := strings.Join(do, " "); got != "write call" {
		t.Errorf("do: %q, want write numbers, and call columns x_NAME", got)
	}
}

// Draws that follow the order of a file without times are told from a logging policy that changed, and from luck.
func TestDrift_DoubtsPropensitiesThatTheOrderOfRowsRefutes(t *testing.T) {
	for name, c := range map[string]struct {
		logged, drawn func(at float64) float64 // probability of the first action
		doubted       bool
	}{
		"step":   {func(float64) float64 { return .5 }, func(at float64) float64 { return .3 + .4*math.Round(at) }, true},
		"slope":  {func(float64) float64 { return .5 }, func(at float64) float64 { return .3 + .4*at }, true},
		"sound":  {func(float64) float64 { return .5 }, func(float64) float64 { return .5 }, false},
		"change": {func(at float64) float64 { return .3 + .4*math.Round(at) }, func(at float64) float64 { return .3 + .4*math.Round(at) }, false},
		"rare":   {func(float64) float64 { return .02 }, func(float64) float64 { return .02 }, false},
	} {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 77))
			l := &logs.Log{Actions: []string{"a", "b"}}
			for i := range 4000 {
				at := float64(i) / 4000
				p, a := c.logged(at), int32(1)
				if r.Float64() < c.drawn(at) {
					a = 0
				} else {
					p = 1 - p
				}
				l.Action, l.Propensity, l.Cost = append(l.Action, a), append(l.Propensity, p), append(l.Cost, -float64(r.IntN(2)))
			}
			f, _ := inspect.Inspect(l).Finding("drift of the actions")
			if got := f.About == inspect.Draws && f.Severity == inspect.Doubtful; got != c.doubted {
				t.Errorf("%s, seed %d: doubted %v", name, seed, got)
			}
		}
	}
}
