package provenance

import (
	"strings"
	"testing"

	"opl/train/certify"
)

// Weights that average more than 1 beyond chance contradict a statement, unless rows depend; lighter ones do not.
func TestConclude_DoubtsWeightsThatAreTooHeavy(t *testing.T) {
	for _, c := range []struct {
		weight, effective float64
		groups            int
		want              Verdict
	}{{1.2, 900, 0, Doubted}, {1.2, 900, 50, Better}, {.8, 900, 0, Better}, {1.02, 700, 0, Better}, {1.2, 20, 0, Better}} {
		e := &certify.Estimate{Rows: 1000, Reward: .6, Weight: c.weight, Effective: c.effective}
		s := conclude(certify.Bounds{N: 1000, Groups: c.groups, All: []certify.Bound{{Risk: -.5}}}, Better, Circumstances{Rows: 1000}, e)
		if s.Verdict != c.want || strings.Contains(s.Contradicted, "propensities are wrong") != (c.want == Doubted) {
			t.Errorf("%+v: %s, %q", c, s.Verdict, s.Contradicted)
		}
	}
}
