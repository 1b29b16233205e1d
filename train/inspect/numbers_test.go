package inspect_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opl/policies/numeric"
	"opl/train/inspect"
	"opl/train/logs"
)

// Numbers that were not drawn from the family that the log states are found, in shards, too.
func TestNumbers_ThatAreNotOfTheirFamilyAreFound(t *testing.T) {
	for name, power := range map[string]float64{"sound": 1, "of another family": 1.6} {
		r, b := rand.New(rand.NewPCG(3, 3)), new(strings.Builder)
		b.WriteString("decision_id,x_a,action,reward,density,density_family\n")
		for i := range 4000 {
			fmt.Fprintf(b, "%d,%v,%v,%d,0.025,uniform 0 40\n", i, r.Float64(), 40*math.Pow(r.Float64(), power), i%2)
		}
		path := filepath.Join(t.TempDir(), "l.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		of := numeric.Even(0, 40, 2)
		l, err := logs.Open(context.Background(), path, logs.Options{Numbers: &of, NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all, err := inspect.Combine(cut(t, l, 2))
		if err != nil {
			t.Fatal(err)
		}
		for _, report := range []inspect.Report{inspect.Inspect(l), all} {
			if f, _ := report.Finding("numbers against densities"); f.Severity != map[bool]inspect.Severity{true: inspect.Unusable}[power > 1] {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// Numbers that have a density and are drawn with a probability are found, as are few numbers that are not rounded
// ones.
func TestNumbers_ThatRepeatMoreThanTheirDensitySays(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	grid := func(step float64) func(v float64) float64 {
		return func(v float64) float64 { return math.Round(v/step) * step }
	}
	mixed := func(share float64, k func(v float64) float64) func(v float64) float64 {
		return func(v float64) float64 {
			if r.Float64() < share {
				return k(v)
			}
			return v
		}
	}
	for name, c := range map[string]struct {
		drawn func(v float64) float64
		want  inspect.Severity
	}{
		"continuous": {func(v float64) float64 { return v }, inspect.Fine},
		"few rows":   {grid(1), inspect.Fine},
		"cents":      {grid(.01), inspect.Fine},
		"quarters":   {grid(.25), inspect.Fine},
		"whole":      {grid(1), inspect.Fine},
		"fives":      {grid(5), inspect.Fine},
		"ends in 99": {func(v float64) float64 { return min(math.Floor(v)+.99, 39.99) }, inspect.Doubtful},
		"two digits": {func(v float64) float64 {
			step := math.Pow(10, math.Floor(math.Log10(v))-1)
			return math.Round(v/step) * step
		}, inspect.Fine},
		"half in tens": {mixed(.5, func(v float64) float64 { return 10 * math.Floor(v/10) }), inspect.Unusable},
		"some at 20":   {mixed(.05, func(float64) float64 { return 20 }), inspect.Doubtful},
	} {
		b := new(strings.Builder)
		b.WriteString("x_a,action,reward,density\n")
		for i := range map[bool]int{false: 3000, true: 700}[name == "few rows"] {
			fmt.Fprintf(b, "%v,%v,%d,0.025\n", r.Float64(), c.drawn(40*r.Float64()), i%2)
		}
		path := filepath.Join(t.TempDir(), "l.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		of := numeric.Even(0, 40, 4)
		l, err := logs.Open(context.Background(), path, logs.Options{Numbers: &of, NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if f, _ := inspect.Inspect(l).Finding("numbers that repeat"); f.Severity != c.want {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
