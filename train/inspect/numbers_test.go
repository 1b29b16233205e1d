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
