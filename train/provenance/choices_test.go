package provenance_test

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

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/provenance"
)

// visits are decisions of a shop whose visitors like what suits them: each offers 3 to 6 of 30 items, by
// their ids and features.
func visits(n int, seed uint64, all bool) []logs.Decision {
	r := rand.New(rand.NewPCG(seed, 61))
	var out []logs.Decision
	for i := range n {
		x := []float64{r.NormFloat64(), r.NormFloat64()}
		d := logs.Decision{ID: fmt.Sprint("v", seed, "-", i), Context: []features.Value{{Name: "u", Number: x[0]}, {Name: "v", Number: x[1]}}, Weight: 1}
		items := r.Perm(30)[:3+r.IntN(4)]
		pi, sum := make([]float64, len(items)), 0.
		for j, a := range items {
			z := []float64{math.Sin(float64(a)), math.Cos(float64(3 * a))}
			d.Offered = append(d.Offered, logs.Offer{Action: fmt.Sprint("item", a), Features: []features.Value{{Name: "size", Number: z[0]}, {Name: "price", Number: z[1]}}})
			pi[j] = math.Exp(.7 * x[0] * z[0])
			sum += pi[j]
		}
		for j := range pi {
			pi[j] /= sum
		}
		d.Action = propensity.Draw(pi, r)
		d.Propensity = pi[d.Action]
		if all {
			d.Propensities = pi
		}
		f := d.Offered[d.Action].Features
		if r.Float64() < 1/(1+math.Exp(.3-1.5*(x[0]*f[0].Number+x[1]*f[1].Number))) {
			d.Cost = -1
		}
		out = append(out, d)
	}
	return out
}

func collected(t *testing.T, d []logs.Decision) *logs.Log {
	t.Helper()
	l, err := logs.Collect(nil, d)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// suits is the policy of a file that plays what suits, with a row of its own for one item, and models of the reward.
func suits(t *testing.T, taught policyfile.Hashes, prefix string) *policyfile.Policy {
	t.Helper()
	x, err := features.New(features.Encoder{Names: []string{prefix + "u", prefix + "v"}, Scale: []float64{1, 1}, Intercept: true})
	if err != nil {
		t.Fatal(err)
	}
	z, err := features.New(features.Encoder{Names: []string{"price", "size"}, Scale: []float64{1, 1}, Intercept: true})
	if err != nil {
		t.Fatal(err)
	}
	it, err := features.NewItems(z, []string{"item3"})
	if err != nil {
		t.Fatal(err)
	}
	w := policyfile.Matrix{{0, 1.5, 0}, {1.5, 0, 0}, {0, 0, -.3}, {0, 0, .1}}
	if taught == nil {
		taught = policyfile.Hashes{1} // of another log
	}
	p, err := policyfile.New(&policyfile.File{Floor: .1, RewardMax: 1,
		Components:   []policyfile.Component{{Kind: policyfile.ArgMax, Weight: 1, Encoder: x, Items: it, Weights: w, Taught: taught}},
		RewardModels: []policyfile.RewardModel{{Kind: policyfile.Logistic, Weights: w}},
		History:      policyfile.History{Known: true, How: logs.ByID, DataHash: strings.Repeat("0", 16)}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The policy of a file is certified on rows that offer sets as it would play there, on logs with all and with
// logged propensities, in files and at any time; rows that taught it are refused.
func TestFile_CertifiesOnRowsThatOfferSets(t *testing.T) {
	p := suits(t, nil, "")
	ctx := context.Background()
	for _, all := range []bool{true, false} {
		decisions := visits(3000, 5, all)
		log := collected(t, decisions)
		c, err := provenance.New(log).File(ctx, p, provenance.Options{})
		if err != nil {
			t.Fatal(err)
		}
		logged, value := make([]float64, log.Len()), 0.
		for i, d := range decisions {
			pi := make([]float64, len(d.Offered))
			if err := p.PropensitiesOffered(pi, d.Context, d.Offered); err != nil {
				t.Fatal(err)
			}
			logged[i] = pi[d.Action]
			value += pi[d.Action] / d.Propensity * -d.Cost / float64(len(decisions))
		}
		plain, err := certify.Fixed(nil, logged, log, upTo(0, 3000), certify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := c.Statement()
		if s.Relation != provenance.Fresh || s.N != 3000 || math.Abs(s.Plays-plain.Plays) > 1e-9 || math.Abs(s.Estimate.Reward-value) > .05 {
			t.Errorf("all: %v: %+v, played %v times", all, s, plain.Plays)
		}
		if !all && s.Reward() != plain.Reward() || all && !(s.Reward() > plain.Reward() && s.Best().Name == "ls+dr") {
			t.Errorf("all: %v: guaranteed %v by %s, without a model %v", all, s.Reward(), s.Best().Name, plain.Reward())
		}
		if s.Verdict != provenance.Better {
			t.Errorf("all: %v: %s: %v, gain %v", all, s.Verdict, s.Reward(), s.GainAtLeast())
		}
		t.Logf("all: %v: %.3f guaranteed, %.3f without a model, of %.3f", all, s.Reward(), plain.Reward(), value)
		target, err := provenance.Plays(p, log)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = provenance.New(log).Target(target, logged, provenance.FromFile(p.File()), certify.Options{}); err != nil || c.Statement().Verdict != provenance.Better {
			t.Errorf("target: %v", err)
		}
		alone, err := provenance.New(log).Target(target, nil, provenance.FromFile(p.File()), certify.Options{})
		if err != nil || alone.Guaranteed() != c.Guaranteed() {
			t.Errorf("target without its probabilities: %v, guaranteed %v, not %v", err, alone.Guaranteed(), c.Guaranteed())
		}
		later := collected(t, visits(2000, 6, all))
		any, err := provenance.Pool{provenance.New(log), provenance.New(later)}.File(ctx, p, provenance.Options{})
		if err != nil || any.Statement().N != 5000 || any.Statement().Verdict != provenance.Better {
			t.Fatalf("at any time: %v, %+v", err, any)
		}
		// rows that taught
		var taught policyfile.Hashes
		for _, h := range log.Hashes(upTo(0, 1000)) {
			taught = append(taught, provenance.Hash(0, h))
		}
		slices.Sort(taught)
		if c, err = provenance.New(log).File(ctx, suits(t, taught, ""), provenance.Options{}); err != nil || c.Statement().N != 2000 || c.Statement().Refused != 1000 {
			t.Errorf("taught: %v, %+v", err, c)
		}
		m, err := provenance.New(log).RewardModel(p.File())
		if err != nil {
			t.Fatal(err)
		}
		dst, x, f := make([]float64, log.Options(7)), decisions[7].Context, decisions[7].Offered[1].Features
		m.Predict(dst, 7)
		own := 0.
		if decisions[7].Offered[1].Action == "item3" {
			own = .1
		}
		if want := 1 / (1 + math.Exp(.3-own-1.5*(x[0].Number*f[0].Number+x[1].Number*f[1].Number))); math.Abs(dst[1]-want) > 1e-6 {
			t.Errorf("the model predicts %v, want %v", dst[1], want)
		}
	}
}

// The wrong propensities of a log with sets withhold the guarantee, and rows that were copied are known again.
func TestFile_RefusesWrongPropensitiesOfSets(t *testing.T) {
	ctx, p := context.Background(), suits(t, nil, "")
	decisions := visits(3000, 8, true)
	for i := range decisions {
		d := &decisions[i]
		turned := append(slices.Clone(d.Propensities[1:]), d.Propensities[0])
		d.Propensities, d.Propensity = turned, turned[d.Action]
	}
	_, err := provenance.New(collected(t, decisions)).File(ctx, p, provenance.Options{})
	withheld(t, "propensities in another order", err, "log is unusable")

	plain := example(300)
	if _, err := provenance.New(plain).File(ctx, p, provenance.Options{}); err == nil {
		t.Error("a log of vectors")
	}
	rows := []logs.Decision{}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		rows = append(rows, logs.Decision{ID: fmt.Sprint(i), Context: []features.Value{{Name: "u", Number: r.NormFloat64()}}, Action: r.IntN(2), Propensity: .5, Cost: -float64(r.IntN(2))})
	}
	fixed, err := logs.Collect([]string{"item1", "item2"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provenance.New(fixed).File(ctx, p, provenance.Options{}); err == nil || !strings.Contains(err.Error(), "does not say what its rows offered") {
		t.Errorf("a log without sets: %v", err)
	}
	e, _ := features.New(features.Encoder{Names: []string{"u"}, Scale: []float64{1}})
	flat, err := policyfile.New(&policyfile.File{Actions: []string{"item1", "item2"}, RewardMax: 1, Components: []policyfile.Component{{Kind: policyfile.Softmax, Weight: 1, Encoder: e, Weights: policyfile.Matrix{{1}, {0}}}},
		History: policyfile.History{Known: true, How: logs.ByID, DataHash: strings.Repeat("0", 16)}})
	if err != nil {
		t.Fatal(err)
	}
	sets := collected(t, visits(300, 9, true))
	if _, err := provenance.New(sets).File(ctx, flat, provenance.Options{}); err == nil || !strings.Contains(err.Error(), "offer sets of their own") {
		t.Errorf("a policy without features: %v", err)
	}
	other := visits(300, 9, true)
	for i := range other {
		for j := range other[i].Offered {
			f := other[i].Offered[j].Features
			f[0].Name, f[1].Name = "weight", "age"
		}
	}
	if _, err := provenance.New(collected(t, other)).File(ctx, p, provenance.Options{}); err == nil || !strings.Contains(err.Error(), "it was learned from others") {
		t.Errorf("other features: %v", err)
	}
}

// A catalogue of 20,000 items that are drawn uniformly: nothing is guaranteed, and the statement says what would.
func TestFile_GuaranteesNothingOfUniformDraws(t *testing.T) {
	const k, n = 20_000, 3000
	r := rand.New(rand.NewPCG(4, 4))
	var items, rows strings.Builder
	items.WriteString("action,z_size,z_price\n")
	for a := range k {
		fmt.Fprintf(&items, "item%d,%.4f,%.4f\n", a, r.NormFloat64(), r.NormFloat64())
	}
	rows.WriteString("decision_id,action,reward,propensity,x_u,x_v\n")
	for i := range n {
		fmt.Fprintf(&rows, "%d,item%d,%d,%v,%.4f,%.4f\n", i, r.IntN(k), r.IntN(2), 1./k, r.NormFloat64(), r.NormFloat64())
	}
	dir := t.TempDir()
	catalogue, path := filepath.Join(dir, "items.csv"), filepath.Join(dir, "log.csv")
	if os.WriteFile(catalogue, []byte(items.String()), 0o600) != nil || os.WriteFile(path, []byte(rows.String()), 0o600) != nil {
		t.Fatal("cannot write")
	}
	log, err := logs.Open(context.Background(), path, logs.Options{Catalogue: catalogue})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	found := inspect.Inspect(log)
	if found.Severity > inspect.Fine {
		t.Errorf("%s", found.Summary())
	}
	p := suits(t, nil, "x_")
	c, err := provenance.New(log).File(context.Background(), p, provenance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Statement(); s.Verdict != provenance.NotShown || math.Abs(s.Reward()-.05) > .005 {
		t.Errorf("a floor of .1 plays as the log does: %s, %v", s.Verdict, s.Reward())
	}
	file := *p.File()
	file.Floor = 0
	if p, err = policyfile.New(&file); err != nil {
		t.Fatal(err)
	}
	if c, err = provenance.New(log).File(context.Background(), p, provenance.Options{}); err != nil {
		t.Fatal(err)
	}
	s := c.Statement()
	if s.Verdict != provenance.Vacuous || !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "takes about") }) {
		t.Errorf("%s: %v, %q", s.Verdict, s.Reward(), s.Notes)
	}
	twice := provenance.Pool{provenance.New(log), provenance.New(log)}
	if c, err := twice.File(context.Background(), p, provenance.Options{}); err != nil || c.Statement().N != n {
		t.Errorf("the log twice: %v", err)
	}
}
