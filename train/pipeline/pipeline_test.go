package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"opl/train"
	"opl/train/certify"
	"opl/train/library"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/testdata/long"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
	"opl/train/report/render"
)

// world is a bandit with three features and three actions, whose reward is 1 with
// probability .1 + .8·1{the action is that of the largest feature}.
type world struct {
	seed    uint64
	ids     bool
	full    bool // propensities of all actions
	groups  int  // rows a group; 0: none
	times   bool // one a second
	drop    func(i int) bool
	id      func(i int) string
	coarse  bool     // features are 0 or 1
	actions []string // nil: a, b, c
	names   []string // nil: x_0, x_1, x_2
	never   bool     // c is never played where the first feature is negative
}

func (w world) context(r *rand.Rand) []float64 {
	x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
	if w.coarse {
		for j := range x {
			x[j] = math.Round(r.Float64())
		}
	}
	return x
}

func reward(x []float64, a int) float64 {
	if x[a] == slices.Max(x) {
		return .9
	}
	return .1
}

func named(x []float64) []features.Value {
	var v []features.Value
	for j, n := range x {
		v = append(v, features.Value{Name: fmt.Sprint("x_", j), Number: n})
	}
	return v
}

// log writes n rows to a file and opens it.
func (w world) log(t *testing.T, n int) *logs.Log {
	t.Helper()
	if w.actions == nil {
		w.actions = []string{"a", "b", "c"}
	}
	if w.names == nil {
		w.names = []string{"x_0", "x_1", "x_2"}
	}
	path := filepath.Join(t.TempDir(), "log.csv")
	out, err := logs.Create(path, logs.WriterOptions{Actions: w.actions, Names: w.names})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(w.seed, 7))
	for i := range n {
		x := w.context(r)
		pi := []float64{1, 1, 1}
		var sum float64
		for a := range pi {
			pi[a] = math.Exp(x[a] / 2)
			if w.never && a == 2 && x[0] < 0 {
				pi[a] = 0
			}
			sum += pi[a]
		}
		u, a := r.Float64()*sum, 0
		for ; a < 2 && u >= pi[a]; a++ {
			u -= pi[a]
		}
		if pi[a] == 0 {
			a = 0
		}
		for b := range pi {
			pi[b] /= sum
		}
		at := slices.Index([]string{"a", "b", "c"}, w.actions[0]) // as a rotation
		d := logs.Decision{Context: named(x), Action: (a - at + 3) % 3, Propensity: pi[a], Weight: 1}
		for j := range d.Context {
			d.Context[j].Name = w.names[j]
		}
		if w.full {
			d.Propensities = append(slices.Clone(pi[at:]), pi[:at]...)
		}
		if r.Float64() < reward(x, a) {
			d.Cost = -1
		}
		if w.ids {
			d.ID = fmt.Sprint("w", w.seed, "-", i)
		}
		if w.id != nil {
			d.ID = w.id(i)
		}
		if w.groups > 0 {
			d.Group = fmt.Sprint("g", i/w.groups)
		}
		if w.times {
			d.Time = time.Unix(1_700_000_000+int64(w.seed)*1_000_000+int64(i), 0)
		}
		if w.drop != nil && w.drop(i) {
			continue
		}
		if err := out.Write(&d); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, path, logs.Options{Actions: w.actions})
}

// truth is what a policy earns.
func truth(t *testing.T, p *policyfile.Policy) float64 {
	t.Helper()
	r := rand.New(rand.NewPCG(99, 1))
	pi := make([]float64, 3)
	var sum float64
	const n = 20000
	for range n {
		x := world{}.context(r)
		if err := p.Propensities(pi, named(x)); err != nil {
			t.Fatal(err)
		}
		for a, q := range pi {
			sum += q * reward(x, a) / n
		}
	}
	return sum
}

// settings are without layers, which take time: what is said of these sets Representation.
func settings(epochs int) train.Settings {
	return train.Settings{Epochs: epochs, Representation: library.NoRepresentation}
}

var unit = logs.Scaling{Intercept: true, Unit: true}

func certifyFile(p *policyfile.Policy, log *logs.Log, o options) (provenance.Statement, error) {
	judge := provenance.New(log)
	if o.force {
		judge.Force()
	}
	c, err := judge.File(context.Background(), p, provenance.Options{Delta: o.delta, Fresh: o.fresh})
	if err != nil {
		return provenance.Statement{}, err
	}
	return c.Statement(), nil
}

type options struct {
	fresh, force bool
	delta        float64
}

func mustCertify(t *testing.T, p *policyfile.Policy, log *logs.Log, o options) provenance.Statement {
	t.Helper()
	g, err := certifyFile(p, log, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A log is learned from and certified; its file is certified again on the same log to
// the same guarantee, and on a later one to a better; both hold.
func TestLearn_CertifiesAndHoldsOnALaterLog(t *testing.T) {
	long.Test(t)
	for _, w := range []world{{full: true, ids: true}, {ids: true}, {full: true}, {times: true}} {
		w.seed = 1
		log := w.log(t, 2500)
		o := pipeline.Options{Seed: 3, Settings: settings(4), Scaling: unit, Floor: .1}
		if !w.full || !w.ids {
			o.Learners = []string{"linear"}
		}
		l := mustLearn(t, log, o)
		p := policy(t, l)
		real := truth(t, p)
		g := l.Certificate.Statement()
		if g.Verdict != provenance.Better || !(g.Guaranteed < real && g.Guaranteed > real-.25) || math.Abs(l.Training.Estimate.Reward-real) > 5*l.Training.Estimate.SE {
			t.Errorf("%+v: %s: guaranteed %v, estimated %v ± %v, earns %v", w, g.Verdict, g.Guaranteed, l.Training.Estimate.Reward, l.Training.Estimate.SE, real)
		}
		if w.full != strings.Contains(g.Best().Name, "ls+dr") || w.full != (len(g.Missing) == 0) {
			t.Errorf("bound %s, missing %q", g.Best().Name, g.Missing)
		}
		again := mustCertify(t, p, log, options{})
		if again.Relation != provenance.Same || again.Refused != l.Training.Teaching || again.N != l.Training.Certifying || again.Priors != 1 || len(again.All) != len(g.All) {
			t.Errorf("again: %s, %d refused, %d certify, %d priors, %d bounds", again.Relation, again.Refused, again.N, again.Priors, len(again.All))
		}
		for i, b := range again.All {
			if c := g.All[i]; c.Name != b.Name || math.Abs(c.Risk-b.Risk) > 1e-9 || c.Delta != b.Delta {
				t.Errorf("again: %+v, want %+v", b, c)
			}
		}
		later := w
		later.seed = 2
		later.actions = []string{"b", "c", "a"}
		fresh := mustCertify(t, p, later.log(t, 2500), options{})
		if fresh.Relation != provenance.Fresh || fresh.N != 2500 || fresh.Priors != 1 || fresh.KL > 1e-9 || !(fresh.Guaranteed > g.Guaranteed-.02 && fresh.Guaranteed < real) {
			t.Errorf("later: %s, %d certify, %d priors, KL %v, guaranteed %v, before %v, earns %v", fresh.Relation, fresh.N, fresh.Priors, fresh.KL, fresh.Guaranteed, g.Guaranteed, real)
		}
		// A file without models has that of the rows before, where none of them taught it.
		bare := *p.File()
		bare.RewardModels = nil
		q, err := policyfile.New(&bare)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := mustCertify(t, q, later.log(t, 2500), options{}), mustCertify(t, q, log, options{}); a.Best().Name == "ls+dr" != w.full || b.Best().Name != "ls" {
			t.Errorf("without models, later %s, again %s", a.Best().Name, b.Best().Name)
		}
		// The file is the same policy: of training, certificate and floor.
		pi := make([]float64, 3)
		if err := p.Propensities(pi, named([]float64{9, -9, -9})); err != nil || slices.Min(pi) < .1/3-1e-12 || pi[0] < .8 {
			t.Errorf("propensities %v, %v", pi, err)
		}
		if !w.full || !w.ids {
			continue
		}
		if twice := mustLearn(t, log, o); !slices.Equal(twice.Posterior.Mu, l.Posterior.Mu) || twice.Certificate.Guaranteed() != g.Guaranteed || !slices.Equal(twice.File.Components[0].Chosen, l.File.Components[0].Chosen) {
			t.Error("learned twice, it is not the same")
		}
		if o.Seed++; slices.Equal(mustLearn(t, log, o).Posterior.Mu, l.Posterior.Mu) {
			t.Error("the seed does nothing")
		}
	}
}

// A propensity of 0 for an action that was not logged does no harm.
func TestLearn_TakesPropensitiesOfZero(t *testing.T) {
	l := mustLearn(t, world{seed: 1, ids: true, full: true, never: true}.log(t, 3000), pipeline.Options{Seed: 1, Settings: settings(3), Scaling: unit})
	real := truth(t, policy(t, l))
	if !(l.Certificate.Guaranteed() > .3 && l.Certificate.Guaranteed() < real) || l.Certificate.Statement().Missing != nil {
		t.Errorf("guaranteed %v, earns %v: %+v", l.Certificate.Guaranteed(), real, l.Certificate.Statement().Missing)
	}
}

// Rows divided by group or time stay together, and the file says so.
func TestDivision_KeepsGroupsTogether(t *testing.T) {
	log := world{seed: 1, ids: true, groups: 5, times: true}.log(t, 1500)
	if l := mustLearn(t, log, pipeline.Options{Seed: 1, Settings: settings(1), Scaling: unit}); l.Training.Split != pipeline.ByGroup {
		t.Errorf("a log with groups is divided by %s", l.Training.Split)
	}
	l := mustLearn(t, log, pipeline.Options{Seed: 1, Settings: settings(1), Scaling: unit, Split: pipeline.ByTime, Share: .25})
	if l.Training.Teaching != 375 || l.Training.Certifying != 1125 || l.Training.Share != .25 {
		t.Errorf("%d teach, %d certify", l.Training.Teaching, l.Training.Certifying)
	}
	// Rows 371 to 377 are a group that the cut goes through.
	torn := mustLearn(t, world{seed: 1, ids: true, groups: 7, times: true}.log(t, 1500), pipeline.Options{Seed: 1, Settings: settings(1), Scaling: unit, Split: pipeline.ByTime, Share: .25})
	if g := torn.Certificate.Statement(); torn.Training.Teaching != 375 || g.N != 1122 || g.Groups != 161 {
		t.Errorf("a torn group: %d teach, %d rows of %d groups certify", torn.Training.Teaching, g.N, g.Groups)
	}
	// The rows that a certificate takes are the later ones.
	late := mustCertify(t, policy(t, l), world{seed: 1, ids: true, groups: 5, times: true, drop: func(i int) bool { return i < 375 }}.log(t, 1500), options{})
	if late.Relation != provenance.Overlaps || late.Refused != 0 || late.N != 1125 || late.Priors != 1 || late.Notes == nil {
		t.Errorf("%s: %d refused, %d certify, %d priors, notes %q", late.Relation, late.Refused, late.N, late.Priors, late.Notes)
	}
}

// Rows that taught the prior are not taken for witnesses, under whatever name.
func TestLearn_RefusesRowsThatTaughtThePrior(t *testing.T) {
	long.Test(t)
	w := world{seed: 1, ids: true, full: true, times: true}
	l := mustLearn(t, w.log(t, 1500), pipeline.Options{Seed: 1, Settings: settings(2), Scaling: unit, Split: pipeline.ByTime})
	p := policy(t, l)
	refused := func(what string, p *policyfile.Policy, log *logs.Log, o options, want string) {
		t.Helper()
		if g, err := certifyFile(p, log, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", what, g, err, want)
		}
	}
	taught := w
	taught.drop = func(i int) bool { return i >= 750 }
	refused("the prior's rows alone", p, taught.log(t, 1500), options{}, "none is left")
	refused("they are fresh", p, taught.log(t, 1500), options{fresh: true}, "leave out setting fresh")
	refused("the same log as fresh", p, w.log(t, 1500), options{fresh: true}, "the very one")
	other := w
	other.id = func(i int) string { return fmt.Sprint("new", i) }
	refused("altered ids", p, other.log(t, 1500), options{}, "ids were changed")
	if g := mustCertify(t, p, w.log(t, 3000), options{}); g.Relation != provenance.Overlaps || g.Refused != 750 || g.N != 2250 || g.Priors != 1 {
		t.Errorf("more of the log: %s, %d refused, %d certify, %d priors", g.Relation, g.Refused, g.N, g.Priors)
	}
	bare := w
	bare.ids = false
	refused("without ids", p, bare.log(t, 1500), options{}, "another key")
	foreign := w
	foreign.names = []string{"x_3", "x_4", "x_5"}
	foreign.seed = 3
	refused("other columns", p, foreign.log(t, 100), options{}, "none of the names in its contexts (x_3, x_4, x_5) is one of the policy's (x_0, x_1, x_2)")
	if _, err := pipeline.Learn(context.Background(), library.Standard(), foreign.log(t, 1500), pipeline.Options{Objective: "ls", PriorFile: p, Settings: settings(1)}); err == nil || !strings.Contains(err.Error(), "learned from other columns") {
		t.Errorf("a prior of other columns: %v", err)
	}
	foreign.names = []string{"x_0", "x_1", "x_9"}
	if g := mustCertify(t, p, foreign.log(t, 1500), options{}); len(g.Notes) != 1 || !strings.Contains(g.Notes[0], "does not know 1 of the 3 names") {
		t.Errorf("a column more: notes %q", g.Notes)
	}

	// Where all rows of a log are to speak of the policy, none may have had a part in it.
	fresh := w
	fresh.seed = 2
	for _, c := range []struct {
		what string
		log  world
		n    int
		says string
	}{
		{"the log", w, 1500, "learned from this log"},
		{"part of it", taught, 1500, "learned from rows of this log"},
		{"more than it", w, 3000, "learned from rows of this log"},
		{"altered ids", other, 1500, "their ids were changed"},
		{"without ids", bare, 1500, "by other means"},
		{"a later log", fresh, 1500, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			log := c.log.log(t, c.n)
			got := says(provenance.New(log), l.File, log)
			if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}

	// Contents that are equal by chance are no rows that taught; a continuation of the log
	// has such rows, whatever is said of it.
	coarse := world{seed: 1, coarse: true}
	q := policy(t, mustLearn(t, coarse.log(t, 1500), pipeline.Options{Seed: 1, Settings: settings(2), Scaling: unit, Force: true}))
	later := coarse
	later.seed = 2
	if g := mustCertify(t, q, later.log(t, 1500), options{force: true}); g.Relation != provenance.Fresh || g.N != 1500 || len(g.Notes) != 1 {
		t.Errorf("by content: %s, %d certify, notes %q", g.Relation, g.N, g.Notes)
	}
	if g := mustCertify(t, q, later.log(t, 1500), options{force: true, fresh: true}); g.Relation != provenance.Fresh || g.N != 1500 {
		t.Errorf("by word: %s, %d certify", g.Relation, g.N)
	}
	refused("more of a log by content as fresh", q, coarse.log(t, 3000), options{force: true, fresh: true}, "may not certify")

	// A file that does not say what taught it certifies on another log alone.
	mute := *l.File
	mute.History.Known = false
	m, err := policyfile.New(&mute)
	if err != nil {
		t.Fatal(err)
	}
	refused("no record", m, w.log(t, 1500), options{}, "does not record")
	part := taught.log(t, 1500)
	if got := says(provenance.New(part), &mute, part); !strings.Contains(got, "does not say which rows") {
		t.Errorf("no record: %q", got)
	}
	refused("no record, part of the log", m, part, options{}, "does not record")
	unknown := w
	unknown.actions = []string{"b", "c", "a"}
	wrong := *l.File
	wrong.Actions = []string{"a", "b", "d"}
	if m, err = policyfile.New(&wrong); err != nil {
		t.Fatal(err)
	}
	refused("other actions", m, unknown.log(t, 1500), options{}, `action "c" that the policy does not know`)
	refused("delta", p, w.log(t, 1500), options{delta: 2}, "delta")
}

// says is why the judge guarantees nothing of the policy of a file on all rows of a log.
func says(j *provenance.Judge, f *policyfile.File, log *logs.Log) string {
	_, err := j.Target(nil, make([]float64, log.Len()), provenance.FromFile(f), certify.Options{Delta: .05})
	if err != nil {
		return err.Error()
	}
	return ""
}

// Every objective of the library learns, or says what it lacks; what a posterior
// promises holds.
func TestEveryObjective_LearnsOrSaysWhatItLacks(t *testing.T) {
	full, logged := world{seed: 1, ids: true, full: true}.log(t, 1200), world{seed: 1, ids: true}.log(t, 1200)
	needs := map[string]bool{"heuristic": true, "theorem1": true, "corollary1": true, "sakhi2": true, "pseudoloss": true}
	for _, ob := range library.Standard().Objectives {
		o := pipeline.Options{Objective: ob.Name, Seed: 1, Settings: settings(2), Scaling: unit, Floor: .05}
		l := mustLearn(t, full, o)
		if point := ob.Policy == "softmax"; point != (l.Certificate == nil) || point != (l.Unproven != "") || point != (l.File.Components[0].Kind == policyfile.Softmax) {
			t.Errorf("%s: guarantee %v, %q, kind %s", ob.Name, l.Certificate, l.Unproven, l.File.Components[0].Kind)
		}
		if !ob.Recipe && (len(l.Training.Curve) != 2 || !(l.Training.Curve[1].Effective > 30)) {
			t.Errorf("%s: curve %+v", ob.Name, l.Training.Curve)
		}
		p := policy(t, l)
		if real := truth(t, p); l.Certificate != nil && !(l.Certificate.Guaranteed() < real) || real < .35 {
			t.Errorf("%s: guaranteed %+v, earns %v", ob.Name, l.Certificate, real)
		}
		g, err := certifyFile(p, full, options{})
		if l.Certificate == nil {
			if err == nil || !strings.Contains(err.Error(), "had a part in the policy") {
				t.Errorf("%s: a softmax is certified on its own log: %v", ob.Name, err)
			}
			g := mustCertify(t, p, world{seed: 2, ids: true, full: true}.log(t, 1200), options{})
			if g.Relation != provenance.Fresh || g.Best().Name != "ls+dr" {
				t.Errorf("%s: on a later log by %s", ob.Name, g.Best().Name)
			}
		} else if err != nil || g.N != l.Training.Certifying || g.Priors != l.Training.Tried {
			t.Errorf("%s: %v, %+v", ob.Name, err, g)
		}
		_, err = pipeline.Learn(context.Background(), library.Standard(), logged, o)
		if needs[ob.Name] != (err != nil) || err != nil && (!strings.Contains(err.Error(), "propensities of all actions") || strings.Contains(err.Error(), ".go:")) {
			t.Errorf("%s on logged propensities: %v", ob.Name, err)
		}
	}
}

// Priors: learned on the rows that teach, or from a file, whose rows do not certify.
func TestPriors_TakeTheirRowsFromCertifying(t *testing.T) {
	w := world{seed: 1, ids: true, full: true}
	log := w.log(t, 1500)
	o := pipeline.Options{Objective: "ls", Seed: 1, Settings: train.Settings{Epochs: 2, PriorScales: []float64{1, .3}, LearningRate: .01}, Scaling: unit}
	zero := mustLearn(t, log, o)
	o.Prior = pipeline.LearnedPrior
	learned := mustLearn(t, log, o)
	if zero.Training.Share != .1 || learned.Training.Share != .5 || learned.Training.Learner == "" || learned.Certificate.Statement().Priors != 2 || learned.Training.Tried != 2 {
		t.Errorf("zero %+v, learned %+v", zero.Training, learned.Training)
	}
	first := policy(t, learned)
	o.Prior, o.PriorFile, o.Seed = "", first, 2
	if _, err := pipeline.Learn(context.Background(), library.Standard(), log, o); err == nil || !strings.Contains(err.Error(), "every row") {
		t.Errorf("a prior from the log itself: %v", err)
	}
	w.seed = 2
	next := mustLearn(t, w.log(t, 1500), o)
	if next.Training.Teaching != 0 || next.Training.Certifying != 1500 || next.Training.Prior != first.Hash() || next.Certificate.Guaranteed() < learned.Certificate.Guaranteed() {
		t.Errorf("on a later log: %d teach, %d certify, guaranteed %v, before %v", next.Training.Teaching, next.Training.Certifying, next.Certificate.Guaranteed(), learned.Certificate.Guaranteed())
	}
	// All that taught the first taught the prior of the next.
	if got := len(next.File.Components[0].Taught); got != 1500 {
		t.Errorf("%d rows taught the prior, want 1500", got)
	}
	if _, err := certifyFile(policy(t, next), log, options{}); err == nil || !strings.Contains(err.Error(), "none is left") {
		t.Errorf("the first log certifies the next policy: %v", err)
	}
	// The recipe may start from a file, too.
	o.Objective, o.PriorFile, o.Settings = "", first, settings(2)
	w.seed = 3
	if l := mustLearn(t, w.log(t, 1500), o); l.Training.Teaching < 400 || len(l.File.Components[0].Taught) != 1500+l.Training.Teaching {
		t.Errorf("%d teach, %d recorded", l.Training.Teaching, len(l.File.Components[0].Taught))
	}
}

// Training stops when hardly a row speaks for the policy, and keeps the policy of
// the epoch before.
func TestLearn_StopsBeforeWeightsCollapse(t *testing.T) {
	log := world{seed: 1, ids: true, full: true}.log(t, 600)
	o := pipeline.Options{Objective: "risk", Weight: "ips", Seed: 1, Settings: train.Settings{Epochs: 20, LearningRate: 1}, Scaling: unit, MinESS: -1}
	free := mustLearn(t, log, o)
	at := 0
	for i := 1; i < 20 && at == 0; i++ {
		if free.Training.Curve[i].Effective < free.Training.Curve[0].Effective {
			at = i
		}
	}
	if at == 0 || free.Training.Stopped != "" || len(free.Training.Curve) != 20 {
		t.Fatalf("stopped %q, curve %+v", free.Training.Stopped, free.Training.Curve)
	}
	o.MinESS = (free.Training.Curve[at].Effective + free.Training.Curve[at-1].Effective) / 2
	l := mustLearn(t, log, o)
	if len(l.Training.Curve) != at+1 || !strings.Contains(l.Training.Stopped, "epoch before is kept") || !slices.ContainsFunc(l.Training.Warnings, func(s string) bool { return strings.Contains(s, "training stopped") }) {
		t.Errorf("stopped after %d epochs, want %d: %q, warnings %q", len(l.Training.Curve), at+1, l.Training.Stopped, l.Training.Warnings)
	}
	if l.Training.Estimate.Effective < o.MinESS {
		t.Errorf("the policy kept is worth %v rows", l.Training.Estimate.Effective)
	}
	if p := l.Training.Curve[0]; p.Scale != 1 || p.Epoch != 1 || len(p.Terms) == 0 || p.Terms[0].Name != "risk" {
		t.Errorf("curve begins with %+v", p)
	}
}

// Estimated propensities teach and never certify.
func TestEstimatedPropensities_NeverCertify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.csv")
	w, err := logs.Create(path, logs.WriterOptions{Actions: []string{"a", "b"}, Names: []string{"x_0"}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 800 {
		d := logs.Decision{ID: fmt.Sprint(i), Context: named([]float64{r.NormFloat64()}), Action: r.IntN(2), Weight: 1, Cost: -math.Round(r.Float64())}
		if err := w.Write(&d); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log := open(t, path, logs.Options{Estimate: true})
	l := mustLearn(t, log, pipeline.Options{Seed: 1, Settings: settings(1), Scaling: unit, Force: true})
	if l.Certificate != nil || !strings.Contains(l.Unproven, "estimates") || l.File.Certificate != nil || !l.Training.Estimated {
		t.Errorf("guarantee %+v, %q", l.Certificate, l.Unproven)
	}
	if _, err := certifyFile(policy(t, l), log, options{}); err == nil || !strings.Contains(err.Error(), "estimates") {
		t.Errorf("certified: %v", err)
	}
	if _, err := pipeline.Learn(context.Background(), library.Standard(), open(t, path, logs.Options{}), pipeline.Options{Force: true}); err == nil || !strings.Contains(err.Error(), "no propensities") {
		t.Errorf("without propensities: %v", err)
	}
	if _, err := pipeline.Learn(context.Background(), library.Standard(), open(t, path, logs.Options{}), pipeline.Options{}); err == nil || !strings.Contains(err.Error(), "setting force") {
		t.Errorf("unusable: %v", err)
	}
}

func TestOptions_RefuseWhatDoesNotFitTogether(t *testing.T) {
	log := world{seed: 1, ids: true}.log(t, 200)
	h, p := 2.0, -1.0
	for want, o := range map[string]pipeline.Options{
		`unknown objective "best"`:  {Objective: "best"},
		"unknown weight":            {Objective: "risk", Weight: "best"},
		"brings its own weight":     {Objective: "ls", Weight: "ix"},
		"hyperparameter 2":          {Objective: "risk", Hyper: &h},
		"takes no penalty":          {Objective: "risk", Penalty: new(float64)},
		"penalty -1":                {Objective: "l2", Penalty: &p},
		"has no λ":                  {Objective: "risk", Lambda: "star"},
		"closed form":               {Objective: "ls", Policy: "mixedlogit"},
		"of kind argmax, not":       {Policy: "softmax"},
		"learns its prior":          {Ancestry: pipeline.Ancestry{Prior: pipeline.ZeroPrior}},
		`prior "none"`:              {Ancestry: pipeline.Ancestry{Prior: "none"}},
		"floor 1":                   {Floor: 1},
		"share 1":                   {Share: 1},
		"chunks -1":                 {Chunks: -1},
		"chunks are of the certifi": {Objective: "ls", Chunks: 2},
		"chunks need rows that are": {Split: pipeline.ByTime, Chunks: 2},
		"no way to divide":          {Split: "week"},
		"no column timestamp":       {Split: pipeline.ByTime},
		"no scaling":                {Scaling: logs.Scaling{Kind: "log"}},
		"has no prior, nor a scale": {Settings: train.Settings{PriorScales: []float64{1}}},
		"a factor of 0.5":           {Gamma: .5},
		`unknown noise "loud"`:      {Settings: train.Settings{Noise: "loud"}},
		"delta 2":                   {Settings: train.Settings{Delta: 2}},
		"has no hyperparameter":     {Objective: "ls", Hyper: new(float64)},
		"ips has no hyperparameter": {Objective: "risk", Weight: "ips", Hyper: new(float64)},
	} {
		t.Run(want, func(t *testing.T) {
			o.Settings.Epochs = 1
			if _, err := pipeline.Learn(context.Background(), library.Standard(), log, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := pipeline.Learn(ctx, library.Standard(), log, pipeline.Options{Settings: settings(1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// The objects in the file are JSON that reads back.
func TestFile_HoldsJSONThatReadsBack(t *testing.T) {
	log := world{seed: 1, ids: true, full: true}.log(t, 600)
	log.RewardMin, log.RewardMax = -5, 5
	l := mustLearn(t, log, pipeline.Options{Seed: 1, Settings: settings(2), Scaling: unit})
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := policyfile.Save(path, l.File); err != nil {
		t.Fatal(err)
	}
	p, err := policyfile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	training, err := pipeline.TrainingOf(p.File())
	chosen := 0
	for _, c := range p.File().Components {
		chosen += len(c.Chosen)
	}
	if err != nil || chosen != training.Certifying || training.Chunks != 6 || p.File().RewardMax != 5 || p.File().Components[0].Kind != policyfile.ArgMax {
		t.Errorf("%+v, %v", training, err)
	}
	var g provenance.Statement
	if err := json.Unmarshal(p.File().Certificate, &g); err != nil || g.Guaranteed != l.Certificate.Guaranteed() || len(g.All) != len(l.Certificate.Statement().All) {
		t.Errorf("%+v, %v", g, err)
	}
	var text bytes.Buffer
	if err := render.Training(&text, l, nil, "x.json"); err != nil || !strings.Contains(text.String(), "guaranteed at least "+logs.Units{Low: -5, High: 5}.Least(g.Guaranteed, 2*g.Estimate.SE)+" ") {
		t.Errorf("%s%v", text.String(), err)
	}
}

// The bounds of a policy by models of the reward of a table use these models, and how little rewards vary.
func TestLearn_BoundsByTheModelsThatItPlays(t *testing.T) {
	for _, varies := range []float64{1, .4} {
		log := world{seed: 1, ids: true, full: true}.log(t, 600)
		log.Cost = slices.Clone(log.Cost)
		for i, c := range log.Cost { // 0 or 1; .3 or .7
			log.Cost[i] = -.5 + varies*(c+.5)
		}
		l := mustLearn(t, log, pipeline.Options{Seed: 1, Settings: settings(1), Floor: .05,
			Learners: []string{"linear", "trees"}})
		if len(l.File.RewardModels) == 0 || !strings.HasPrefix(l.Training.Learner, "direct") {
			t.Fatalf("%d models of %s", len(l.File.RewardModels), l.Training.Learner)
		}
		for _, m := range l.File.RewardModels {
			if m.Kind != policyfile.Logistic || !reflect.DeepEqual(m.Weights, l.File.Components[m.Component].Weights) {
				t.Errorf("component %d: a %s model of other weights", m.Component, m.Kind)
			}
			if (varies < 1) != (m.Dispersion > 0) || m.Dispersion > .1 { // about their mean it is .16
				t.Errorf("component %d: a dispersion of %v where rewards are %v apart", m.Component, m.Dispersion, varies)
			}
		}
		if again := mustCertify(t, policy(t, l), log, options{}); math.Abs(again.Guaranteed-l.Certificate.Guaranteed()) > 1e-9 {
			t.Errorf("the file is guaranteed %v, the policy was %v", again.Guaranteed, l.Certificate.Guaranteed())
		}
	}
}
