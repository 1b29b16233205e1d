package train

import (
	"math"
	"strings"
	"testing"

	"opl/policies/propensity"
)

// Learning ends where four times as many rows do not help, and goes on where they do; rows that it did without count as
// rows that taught.
func TestSaturated_EndsWhereMoreRowsDoNotHelp(t *testing.T) {
	teaching := allRows(16_000)
	for _, c := range []struct {
		name     string
		features int
		first    int
		scale    float64
		from     string
	}{
		{"three features", 4, 500, 1.5, " from 8000 rows of 16000, as more do not help (held-out reward ."},
		{"forty features", 41, 200, .5, " from 3200 rows of 16000, as more do not help (held-out reward ."},
		{"gains to the end", 41, 100, .5, ""},
		{"too few rows", 4, 4000, 1.5, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := tableLog(20_000, c.features, 3, 1, func(x []float64, a int) float64 {
				z := 0.
				for j := a; j < c.features-1; j += 3 {
					z += c.scale * x[j]
				}
				return 1 / (1 + math.Exp(-z))
			})
			got, err := Recipe{Teaching: teaching, Certifying: allRows(20_000)[16_000:], Learners: []string{"linear", "l2"},
				Direct: &Direct{first: c.first, Threads: 1}}.Learn(t.Context(), nil, log, Config{Epochs: 1, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if _, after, _ := strings.Cut(got.Learner, ")"); !strings.HasPrefix(strings.ReplaceAll(after, "0.", "."), c.from) ||
				c.from == "" && after != "" {
				t.Errorf("learned by %q, want one that ends in %q", got.Learner, c.from)
			}
			if want := propensity.NewRowSet(log.Hashes(teaching)); got.Posterior.Prior.Taught.Len() != want.Len() {
				t.Errorf("%d rows taught, want %d", got.Posterior.Prior.Taught.Len(), want.Len())
			}
		})
	}
}
