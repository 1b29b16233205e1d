package train_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"opl/policies/propensity"
	"opl/train"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// labelled is a log in which the action of the largest feature is the right one.
func labelled(n, k int, full bool) *logs.Log {
	r := train.Stream(3, "labelled")
	x := logs.Rows64{Width: k, Data: make([]float64, n*k)}
	labels, rows := make([]uint8, n), make([]int, n)
	for i := range rows {
		row := x.Data[i*k : (i+1)*k]
		for j := range row {
			row[j] = r.NormFloat64()
			if row[j] > row[labels[i]] {
				labels[i] = uint8(j)
			}
		}
		rows[i] = i
	}
	l := logs.FromLabels(x, labels, rows, make([]float64, k*k), k, r)
	if !full {
		l.Propensities = nil
	}
	return l
}

// The recipe finds a policy and a guarantee below what the policy truly earns;
// the rows that taught its prior are refused as witnesses, in any mixture.
func TestRecipe_GuaranteesLessThanThePolicyEarns(t *testing.T) {
	for _, full := range []bool{true, false} {
		log := labelled(4000, 4, full)
		got, err := train.Recipe{}.Learn(context.Background(), provenance.New(log), log, train.Config{Epochs: 5, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		cert := got.Certificate.Statement()
		if cert.N != 2000 || len(got.Rows) != 2000 || cert.KL != 0 {
			t.Errorf("%d rows certify, %d are named, want 2000 each; divergence %v", cert.N, len(got.Rows), cert.KL)
		}
		if cert.Verdict != provenance.Better || !(cert.GainAtLeast() > 0) {
			t.Errorf("verdict %s, gain at least %v", cert.Verdict, cert.GainAtLeast())
		}
		if full != strings.Contains(cert.Best().Name, "ls+dr") || full != (len(cert.Missing) == 0) {
			t.Errorf("full propensities %v: bounds %v, missing %v", full, cert.All, cert.Missing)
		}
		fresh := labelled(20000, 4, true)
		labels := make([]uint8, fresh.Len())
		for i := range labels {
			row := fresh.X.(logs.Rows64).Data[i*4 : i*4+4]
			for j, v := range row {
				if v > row[labels[i]] {
					labels[i] = uint8(j)
				}
			}
		}
		truth := train.Evaluate(got.Policy, got.Posterior, fresh.X, labels, 1).Mean
		if g := cert.Reward(); !(g < truth && g > truth-0.2) {
			t.Errorf("%v is guaranteed of a policy that earns %v", g, truth)
		}
		again, err := train.Recipe{}.Learn(context.Background(), provenance.New(log), log, train.Config{Epochs: 5, Seed: 1})
		if err != nil || again.Certificate.Guaranteed() != cert.Reward() || !slices.Equal(again.Posterior.Mu, got.Posterior.Mu) {
			t.Errorf("run again: %v, guaranteed %v, before %v", err, again.Certificate.Guaranteed(), cert.Reward())
		}

		taught, _, err := train.SplitPrior(log.Len(), 0.5, 1)
		if err != nil {
			t.Fatal(err)
		}
		origin := provenance.TaughtBy(propensity.NewRowSet(log.Hashes(taught)))
		for _, rows := range [][]int{taught, append([]int{taught[7]}, got.Rows...)} {
			if _, err := provenance.New(log).Fixed(certify.Play(got.Policy, got.Posterior.Mu, log), origin, rows, certify.Options{}); err == nil || !strings.Contains(err.Error(), "taught the policy") {
				t.Errorf("rows that taught as witnesses: %v", err)
			}
		}
		// Nor under another number, in a copy of the log.
		part := log.Subset(taught)
		all := make([]int, part.Len())
		for i := range all {
			all[i] = i
		}
		if _, err := provenance.New(part).Fixed(certify.Play(got.Policy, got.Posterior.Mu, part), origin, all, certify.Options{}); err == nil || !strings.Contains(err.Error(), "taught the policy") {
			t.Errorf("a copy of the rows that taught as witnesses: %v", err)
		}
	}
}

func TestRecipe_RefusesSplitsThatCannotCertify(t *testing.T) {
	log := labelled(8, 3, true)
	for _, c := range []struct {
		r    train.Recipe
		want string
	}{
		{train.Recipe{Share: 1}, "leaves none"},
		{train.Recipe{Share: 0.01}, "leaves none"},
		{train.Recipe{Share: 0.5}, "want at least 5"},
		{train.Recipe{Floor: 1}, "floor 1"},
		{train.Recipe{Floor: math.NaN()}, "floor NaN"},
		{train.Recipe{Gamma: .5, Teaching: []int{0, 1, 2, 3, 4}, Certifying: []int{5, 6, 7}}, "known up to the factor 0.5"},
	} {
		if _, err := c.r.Learn(context.Background(), provenance.New(log), log, train.Config{Epochs: 1}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.r, err, c.want)
		}
	}
}

// The recipe keeps to the rows that it is given, and to the floor.
func TestRecipe_KeepsToItsRowsAndItsFloor(t *testing.T) {
	log := labelled(1000, 4, true)
	r := train.Recipe{Floor: .2, Teaching: make([]int, 400), Certifying: make([]int, 600)}
	for i := range log.Len() {
		if i < 400 {
			r.Teaching[i] = i
		} else {
			r.Certifying[i-400] = i
		}
	}
	got, err := r.Learn(context.Background(), provenance.New(log), log, train.Config{Epochs: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	taught := got.Posterior.Prior.Taught
	for _, h := range log.Hashes(r.Certifying) {
		if taught.Has(h) {
			t.Fatal("a row that certifies taught the policy")
		}
	}
	if taught.Len() != 400 || !slices.Equal(got.Rows, r.Certifying) {
		t.Errorf("%d rows taught, %d certify", taught.Len(), len(got.Rows))
	}
	pi := make([]float64, 4)
	got.Policy.At(pi, []float64{9, 0, 0, 0}, 1e-3, nil)
	if pi[1] < .05-1e-12 || pi[0] > .85+1e-12 {
		t.Errorf("propensities %v under a floor of .2", pi)
	}
	for _, floor := range []float64{-.1, 1} {
		r.Floor = floor
		if _, err := r.Learn(context.Background(), provenance.New(log), log, train.Config{Epochs: 2}); err == nil || !strings.Contains(err.Error(), "floor") {
			t.Errorf("floor %v: %v", floor, err)
		}
	}
}
