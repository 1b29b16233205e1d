package provenance_test

import (
	"context"
	"math"
	"testing"

	"opl/train/provenance"
)

// The file of a posterior whose prior was chosen among several pays for that on the rows that
// chose, and not on a later log.
func TestFile_PaysForTheChoiceAmongPriors(t *testing.T) {
	d := rows{seed: 1, d: 3}.draw(400)
	alone := from(t, d, provenance.Made{Seed: 5, Tried: 1})
	best := from(t, d, provenance.Made{Seed: 5, Tried: 4})
	again, later := collect(t, d), collect(t, rows{seed: 2, d: 3}.draw(400))
	for _, j := range []*provenance.Judge{again, later} {
		a, err := j.File(context.Background(), alone, provenance.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := j.File(context.Background(), best, provenance.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, y, pays := a.Statement(), b.Statement(), 0.
		if j == again {
			pays = math.Log(4)
		}
		if math.Abs(y.KL-x.KL-pays) > 1e-9 || (y.Reward() < x.Reward()) != (pays > 0) {
			t.Errorf("%d rows: a divergence of %v and %v guaranteed alone, %v and %v as the best of 4", x.N, x.KL, x.Reward(), y.KL, y.Reward())
		}
	}
}
