package pipeline_test

import (
	"bytes"
	"context"
	"errors"
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
	"opl/testdata/long"
	"opl/train"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// market is a simulated shop of items of 4 features, whose clicks depend on them and on 3 features of the visitor; items from old on come to
// the shop when the log is made.
type market struct {
	z        [][]float64
	a        []float64 // [3×4]
	quality  []float64 // of items, that no feature says
	old, set int
	near     bool    // each visitor likes the items that are next to him best
	far      float64 // what all numbers of visitors and items are written with too much
}

func newMarket(seed uint64, k, old, set int) *market {
	r := rand.New(rand.NewPCG(seed, 16))
	m := &market{old: old, set: set, quality: make([]float64, k)}
	for range k {
		m.z = append(m.z, []float64{r.NormFloat64(), r.NormFloat64(), r.Float64() * 50, float64(r.IntN(2))})
	}
	for range 12 {
		m.a = append(m.a, r.NormFloat64())
	}
	return m
}

func (m *market) click(x []float64, a int) float64 {
	if m.near {
		return .05 + .7*math.Exp(-math.Pow(m.z[a][0]-x[0], 2)-math.Pow(m.z[a][1]-x[1], 2)/2)
	}
	v := -1.5 + m.quality[a] - .04*(m.z[a][2]-25)
	for i, xi := range x {
		for j, zj := range m.z[a] {
			if j == 2 {
				zj = (zj - 25) / 15
			}
			v += xi * m.a[i*4+j] * zj
		}
	}
	return 1 / (1 + math.Exp(-v))
}

func (m *market) visitor(r *rand.Rand) []float64 {
	return []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
}

func (m *market) offers(r *rand.Rand, most int) []int {
	return r.Perm(most)[:2+r.IntN(m.set-1)]
}

func (m *market) features(a int) (values []features.Value) {
	for j, v := range m.z[a] {
		values = append(values, features.Value{Name: fmt.Sprint("f", j), Number: v + m.far})
	}
	return values
}

// write writes n decisions of the uniform policy over sets of the old items, with their features in the rows; with a catalogue over all of the old,
// with logged propensities alone, and the catalogue of all items.
func (m *market) write(t testing.TB, seed uint64, n int, catalogue bool) (log, items string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 17))
	var b bytes.Buffer
	for i := range n {
		x := m.visitor(r)
		fmt.Fprintf(&b, `{"decision_id":"d%d-%d","x_0":%v,"x_1":%v,"x_2":%v`, seed, i, x[0]+m.far, x[1]+m.far, x[2]+m.far)
		var a, k int
		if catalogue {
			a, k = r.IntN(m.old), m.old
		} else {
			offered := m.offers(r, m.old)
			k = len(offered)
			a = offered[r.IntN(k)]
			fmt.Fprint(&b, `,"actions":[`)
			for j, o := range offered {
				z := m.z[o]
				fmt.Fprintf(&b, `%s{"id":"i%d","f0":%v,"f1":%v,"f2":%v,"f3":%v}`, []string{"", ","}[min(j, 1)], o, z[0]+m.far, z[1]+m.far, z[2]+m.far, z[3]+m.far)
			}
			p, _ := strings.CutSuffix(strings.Repeat(fmt.Sprint(1/float64(k), ","), k), ",")
			fmt.Fprintf(&b, `],"propensities":[%s]`, p)
		}
		reward := 0
		if r.Float64() < m.click(x, a) {
			reward = 1
		}
		fmt.Fprintf(&b, `,"action":"i%d","propensity":%v,"reward":%d}`+"\n", a, 1/float64(k), reward)
	}
	log = filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(log, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if !catalogue {
		return log, ""
	}
	b.Reset()
	fmt.Fprintln(&b, "action,z_f0,z_f1,z_f2,z_f3")
	for a, z := range m.z {
		fmt.Fprintf(&b, "i%d,%v,%v,%v,%v\n", a, z[0], z[1], z[2], z[3])
	}
	items = filepath.Join(filepath.Dir(log), "items.csv")
	if err := os.WriteFile(items, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return log, items
}

// earn is what the policy of a file earns of visitors who are offered sets of all items, beside the best and the uniform policy;
// on old: sets of the old alone.
func (m *market) earn(t testing.TB, p *policyfile.Policy, seed uint64, visitors, most int) (policy, best, uniform, fresh, bestFresh float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 18))
	pi := make([]float64, len(m.z))
	for range visitors {
		x := m.visitor(r)
		at := m.offers(r, most)
		var offered []features.Offer
		for _, a := range at {
			offered = append(offered, features.Offer{Action: fmt.Sprint("i", a), Features: m.features(a)})
		}
		if p.Catalogue() != nil {
			for i := range offered {
				offered[i].Features = nil
			}
		}
		if err := p.PropensitiesOffered(pi[:len(at)], []features.Value{{Name: "x_0", Number: x[0] + m.far}, {Name: "x_1", Number: x[1] + m.far}, {Name: "x_2", Number: x[2] + m.far}}, offered); err != nil {
			t.Fatal(err)
		}
		top, topAt := 0., 0
		for j, a := range at {
			c := m.click(x, a)
			policy, uniform = policy+pi[j]*c, uniform+c/float64(len(at))
			if a >= m.old {
				fresh += pi[j]
			}
			if c > top {
				top, topAt = c, a
			}
		}
		if best += top; topAt >= m.old {
			bestFresh++
		}
	}
	n := float64(visitors)
	return policy / n, best / n, uniform / n, fresh / n, bestFresh / n
}

// learn opens, learns, saves and loads.
func (m *market) learn(t testing.TB, log, items string, o pipeline.Options) (*pipeline.Learned, *policyfile.Policy) {
	t.Helper()
	l, err := logs.Open(context.Background(), log, logs.Options{Catalogue: items})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := pipeline.Learn(context.Background(), library.Standard(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := policyfile.Save(path, got.File); err != nil {
		t.Fatal(err)
	}
	p, err := policyfile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return got, p
}

// From a file of sets, and from one of a catalogue with logged propensities alone, the recipe learns a policy that earns at least 90 % of what can be
// had, of items that the log never showed, too; what is guaranteed is below what it earns.
func TestLearn_OfItemsEarnsNearlyTheBest(t *testing.T) {
	long.Test(t)
	m := newMarket(1, 120, 60, 12)
	scaling := logs.Scaling{Intercept: true, Unit: true}
	for _, catalogue := range []bool{false, true} {
		log, items := m.write(t, 2, 12_000, catalogue)
		recipe, plain := pipeline.Options{Floor: .02, Chunks: 2}, pipeline.Options{Objective: "weighted"}
		if catalogue {
			recipe, plain = pipeline.Options{Floor: .02, Chunks: 1, Settings: train.Settings{Representation: "none"}}, pipeline.Options{Objective: "logistic", Own: -1}
		}
		for _, o := range []pipeline.Options{recipe, plain} {
			o.Scaling, o.Seed = scaling, 1
			o.Settings.Epochs = 6
			got, p := m.learn(t, log, items, o)
			policy, best, uniform, fresh, bestFresh := m.earn(t, p, 3, 3000, len(m.z))
			name := fmt.Sprintf("catalogue %v, %s (%s)", catalogue, got.Training.Objective, got.Training.Learner)
			t.Logf("%s: %.3f of %.3f, uniform %.3f; new %.3f, best %.3f; own %d", name, policy, best, uniform, fresh, bestFresh, len(got.File.Components[0].Items.Own))
			least := .9
			if got.Training.Objective != "certified" { // a softmax, which plays what is not the best as well
				least = .6
			}
			if policy < least*best || fresh < .8*bestFresh && !catalogue {
				t.Errorf("%s: earns %.3f of %.3f (uniform %.3f), plays new items %.3f of the time, the best policy %.3f", name, policy, best, uniform, fresh, bestFresh)
			}
			if it := got.File.Components[0].Items; it.Encoder.Unit || !it.Encoder.Intercept {
				t.Errorf("%s: items are encoded by %+v", name, it.Encoder) // norms would change how they compare
			}
			if (p.Catalogue() != nil) != catalogue {
				t.Errorf("%s: catalogue %v", name, p.Catalogue())
			}
			if got.Training.Objective != "certified" {
				continue
			}
			// What is guaranteed is of the log's world: sets of old items, or of all of the old.
			if got.Certificate == nil {
				t.Fatal(name, got.Unproven)
			}
			g := got.Certificate.Statement().Reward()
			truth, _, _, _, _ := m.earn(t, p, 4, 6000, m.old)
			if !catalogue && !(g > uniform && g < truth) {
				t.Errorf("%s: %v is guaranteed of a policy that earns %v", name, g, truth)
			}
		}
	}
}

// From few rows, of numbers whose means are far from 0, too, the recipe's defaults learn nearly all: what they would
// lose by contexts of norm 1, by features between −1 and 1, or by taking the luckiest of five learners.
func TestLearn_OfFewSetsEarnsNearlyTheBest(t *testing.T) {
	long.Test(t)
	for _, far := range []float64{0, 30} {
		var earned, possible float64
		for seed := range uint64(3) {
			m := newMarket(seed, 120, 60, 12)
			m.far = far
			log, items := m.write(t, seed+2, 600, false)
			_, p := m.learn(t, log, items, pipeline.Options{Seed: 1, Scaling: unit, Settings: train.Settings{Representation: "none"}})
			policy, best, uniform, _, _ := m.earn(t, p, 3, 2000, len(m.z))
			t.Logf("%v, seed %d: earns %.3f of %.3f, uniform %.3f", far, seed, policy, best, uniform)
			earned, possible = earned+policy-uniform, possible+best-uniform
		}
		if earned < fewSets*possible {
			t.Errorf("%v: earns %.3f of what is to be had", far, earned/possible)
		}
	}
}

// fewSets lies between what the defaults earn of the difference between the best policy and the uniform one,
// and what each of the three above would leave of it.
const fewSets = .92 // .940 of what is to be had; .886 by W alone, .22 between −1 and 1 of it

// playAlike checks that a file plays in the first rows of a log as these are scored, to the bit.
func playAlike(t *testing.T, p *policyfile.Policy, path string, o logs.Options, rows int) {
	t.Helper()
	l, err := logs.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	plays, err := provenance.Plays(p, l)
	if err != nil {
		t.Fatal(err)
	}
	var d logs.Decision
	for i := range rows {
		l.Decision(i, &d)
		pi, want := make([]float64, l.Options(i)), make([]float64, l.Options(i))
		if l.Sets() {
			err = p.PropensitiesOffered(want, d.Context, d.Offered)
		} else {
			err = p.Propensities(want, d.Context)
		}
		if err := errors.Join(plays(pi, i), err); err != nil || !slices.Equal(pi, want) {
			t.Fatalf("row %d: %v, the file plays %v: %v", i, pi, want, err)
		}
	}
}

// Where each visitor likes what is next to him best, which no W of features can say, scores of both together learn most of
// it, of new items, too; what is guaranteed is below what they earn. Their file plays as the log's rows are scored, and
// another log's learning may start from it.
func TestLearn_OfItemsMeetsContexts(t *testing.T) {
	m := newMarket(1, 90, 60, 10)
	m.near = true
	log, _ := m.write(t, 2, 3000, false)
	o := pipeline.Options{Seed: 1, Scaling: unit, Floor: .05, Settings: train.Settings{Epochs: 4}}
	got, p := m.learn(t, log, "", o)
	policy, best, uniform, _, _ := m.earn(t, p, 3, 2000, len(m.z))
	truth, _, _, _, _ := m.earn(t, p, 4, 2000, m.old)
	g := got.Certificate.Statement().Reward()
	t.Logf("earns %.3f of %.3f, uniform %.3f; guaranteed %.3f of %.3f (%s)", policy, best, uniform, g, truth, got.Training.Learner)
	if policy < uniform+.8*(best-uniform) || g > truth || g < uniform {
		t.Errorf("earns %.3f of %.3f, uniform %.3f; guaranteed %.3f of %.3f", policy, best, uniform, g, truth)
	}
	playAlike(t, p, log, logs.Options{}, 300)
	// An item beyond all that were tried counts as the last that was.
	far := p.NewOffered()
	for i, v := range []float64{100, 1000} {
		if err := far.Add(features.Offer{Action: fmt.Sprint("far", i), Features: []features.Value{{Name: "f0", Number: v}, {Name: "f1", Number: -v}}}); err != nil {
			t.Fatal(err)
		}
	}
	scores := make([]float64, 2)
	if err := p.Scores(scores, make([]float64, p.Inputs().Dim()), far); err != nil || scores[0] != scores[1] {
		t.Errorf("scores beyond what was tried: %v, %v", scores, err)
	}
	o.PriorFile, o.Learners = p, []string{"likelihood"} // which learns less
	later, _ := m.write(t, 6, 4000, false)
	again, q := m.learn(t, later, "", o)
	if c := again.File.Components[0]; again.Training.Learner != "start" || !c.Joint || len(again.File.RewardModels) == 0 {
		t.Errorf("learning from it: %s", again.Training.Learner)
	}
	if after, _, _, _, _ := m.earn(t, q, 3, 2000, len(m.z)); math.Abs(after-policy) > 1e-12 {
		t.Errorf("the same policy earns %v, and %v", policy, after)
	}
	o.Objective, o.Floor, o.Learners = "weighted", 0, nil
	l, err := logs.Open(t.Context(), later, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := pipeline.Learn(t.Context(), library.Standard(), l, o); err == nil || !strings.Contains(err.Error(), "contexts and actions together") {
		t.Error(err)
	}
}

// Of a catalogue of which each item was logged a few times, more is guaranteed of a policy that draws among the best than
// of one that plays the best, and it earns nearly as much. Its file plays as the log's rows are scored, and learning that
// starts from it knows that it draws. Who wants the best alone can have that.
func TestLearn_OfManyItemsDrawsAmongTheBest(t *testing.T) {
	m := newMarket(1, 400, 400, 10)
	m.near = true
	log, items := m.write(t, 2, 6000, true)
	o := pipeline.Options{Seed: 1, Scaling: unit, Floor: .05, Settings: train.Settings{Epochs: 2}}
	drawn, p := m.learn(t, log, items, o)
	o.Policy = policyfile.ArgMax
	largest, q := m.learn(t, log, items, o)
	earned, best, uniform, _, _ := m.earn(t, p, 3, 300, m.old)
	most, _, _, _, _ := m.earn(t, q, 3, 300, m.old)
	g, h := drawn.Certificate.Statement(), largest.Certificate.Statement()
	t.Logf("drawn earns %.3f, the largest %.3f of %.3f, uniform %.3f; guaranteed %.3f and %.3f (%s)", earned, most, best, uniform, g.Reward(),
		h.Reward(), drawn.Training.Learner)
	if earned < uniform+.75*(most-uniform) || g.Reward() > earned || g.Reward() < uniform+.3*(best-uniform) || h.Reward() > g.Reward()-.1 {
		t.Errorf("drawn earns %.3f, the largest %.3f, uniform %.3f; guaranteed %.3f and %.3f", earned, most, uniform, g.Reward(), h.Reward())
	}
	if c, d := drawn.File.Components[0], largest.File.Components[0]; c.Kind != policyfile.Softmax || d.Kind != policyfile.ArgMax || !c.Joint {
		t.Errorf("policies of kinds %s and %s", c.Kind, d.Kind)
	}
	playAlike(t, p, log, logs.Options{Catalogue: items}, 20)
	l, err := logs.Open(t.Context(), log, logs.Options{Catalogue: items})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if c, err := provenance.New(l).File(t.Context(), p, provenance.Options{}); err != nil {
		t.Error("certified again:", err)
	} else if again := c.Statement().Reward(); math.Abs(again-g.Reward()) > 1e-12 {
		t.Errorf("certified again at %v, at first %v", again, g.Reward())
	}
	o.PriorFile, o.Policy, o.Learners = p, "", []string{"likelihood"} // which learns less
	later, _ := m.write(t, 5, 1000, true)
	again, r := m.learn(t, later, items, o)
	if after, _, _, _, _ := m.earn(t, r, 3, 300, m.old); again.Training.Learner != "start" || math.Abs(after-earned) > 1e-12 {
		t.Errorf("learning from it: %s, which earns %v, and before %v", again.Training.Learner, after, earned)
	}
	// A mixture of some that draw and some that do not plays on as it is, too.
	mixed := *p.File()
	mixed.Components = slices.Clone(mixed.Components)
	mixed.Components[0].Kind = policyfile.ArgMax
	if o.PriorFile, err = policyfile.New(&mixed); err != nil {
		t.Fatal(err)
	}
	earned, _, _, _, _ = m.earn(t, o.PriorFile, 3, 300, m.old)
	again, r = m.learn(t, later, items, o)
	if after, _, _, _, _ := m.earn(t, r, 3, 300, m.old); again.Training.Learner != "start" || math.Abs(after-earned) > 1e-12 {
		t.Errorf("learning from a mixture of both: %s, which earns %v, and before %v", again.Training.Learner, after, earned)
	}
	// Who asks for the best alone gets it of what drew, too.
	o.PriorFile, o.Policy = p, policyfile.ArgMax
	again, _ = m.learn(t, later, items, o)
	if c := again.File.Components[0]; c.Kind != policyfile.ArgMax {
		t.Errorf("the best alone: %s, of kind %s", again.Training.Learner, c.Kind)
	}
}

// What has no meaning for actions with features is refused with the reason.
func TestLearn_OfItemsRefusesWhatHasNoMeaning(t *testing.T) {
	m := newMarket(1, 30, 20, 5)
	log, items := m.write(t, 2, 400, true)
	for want, o := range map[string]pipeline.Options{
		"correlated": {Objective: "ls"},
		"softmax policy, or the certified recipe": {Objective: "risk", Policy: "gaussian"},
		"propensities of all actions":             {Objective: "pseudoloss"},
		"of the others, these need no more":       {Objective: "heuristic"},
	} {
		t.Run(want, func(t *testing.T) {
			l, err := logs.Open(context.Background(), log, logs.Options{Catalogue: items})
			if err != nil {
				t.Fatal(err)
			}
			_, err = pipeline.Learn(context.Background(), library.Standard(), l, o)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", want, err)
			}
			l.Close()
		})
	}
}
