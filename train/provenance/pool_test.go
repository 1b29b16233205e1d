package provenance_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
	"opl/train/report/render"
)

// plays is the file of a policy that plays c, and of which rows of another log taught the models.
func plays(t *testing.T, d []logs.Decision) *policyfile.Policy {
	t.Helper()
	enc, err := features.New(features.Encoder{Names: []string{"x0", "x1", "x2", "x3"}, Scale: []float64{1, 1, 1, 1}, Intercept: true})
	if err != nil {
		t.Fatal(err)
	}
	w := policyfile.Matrix{{0, 0, 0, 0, 0}, {0, 0, 0, 0, .5}, {0, 0, 0, 0, 1}}
	f := &policyfile.File{Actions: []string{"a", "b", "c"}, Floor: .1, RewardMax: 1, Components: []policyfile.Component{{Weight: 1, Kind: policyfile.ArgMax, Encoder: enc, Weights: w}},
		RewardModels: []policyfile.RewardModel{{Kind: policyfile.Logistic, Weights: w}}}
	if d != nil {
		collect(t, d).Record(f, provenance.Made{Seed: 5, Taught: upTo(0, len(d)/2), Chosen: upTo(len(d)/2, len(d))})
	}
	p, err := policyfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// grouped are rows in groups of some rows that stand together.
func grouped(d []logs.Decision, name string, size int) []logs.Decision {
	d = slices.Clone(d)
	for i := range d {
		d[i].Group = fmt.Sprint(name, i/size)
	}
	return d
}

func TestPool_CertifiesLogsTogether(t *testing.T) {
	const n = 1000
	old := rows{seed: 1, d: 4}.draw(n)
	p := plays(t, old)
	draw := func(seed uint64) []logs.Decision { return rows{seed: seed, d: 4, explore: .2 * float64(seed)}.draw(n) }
	a, b, c := draw(2), draw(3), draw(4)
	files := func(all ...[]logs.Decision) (ps provenance.Pool) {
		for _, d := range all {
			ps = append(ps, collect(t, d))
		}
		return ps
	}
	certifies := func(what string, ps provenance.Pool, want int) provenance.Statement {
		t.Helper()
		c, err := ps.File(context.Background(), p, provenance.Options{Fresh: strings.Contains(what, "without ids")})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		s := c.Statement()
		if s.N != want || !s.AnyTime || len(ps) > 1 && s.Files != len(ps) || s.Verdict != provenance.Better {
			t.Errorf("%s: %d rows, want %d; %d files, %s, %s", what, s.N, want, s.Files, s.Verdict, s.Contradicted)
		}
		return s
	}
	refuses := func(what string, ps provenance.Pool, want string) {
		t.Helper()
		_, err := ps.File(context.Background(), p, provenance.Options{Fresh: strings.Contains(what, "without ids")})
		withheld(t, what, err, want)
	}
	same := func(what string, s, want provenance.Statement) {
		t.Helper()
		near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }
		if !near(s.Best().Risk, want.Best().Risk) || !near(s.Gain.Risk, want.Gain.Risk) || s.N != want.N || s.Groups != want.Groups || !near(s.Estimate.SE, want.Estimate.SE) {
			t.Errorf("%s: %v and %v of %d rows, want %v and %v of %d", what, s.Best().Risk, s.Gain.Risk, s.N, want.Best().Risk, want.Gain.Risk, want.N)
		}
	}

	one := certifies("one", files(a), n)
	both := certifies("two", files(a, b), 2*n)
	three := certifies("three", files(a, b, c), 3*n)
	if !(one.Reward() < both.Reward() && both.Reward() < three.Reward()) {
		t.Errorf("guaranteed %v of one, %v of two, %v of three", one.Reward(), both.Reward(), three.Reward())
	}
	c1, err := provenance.New(collectLog(t, a)).File(context.Background(), p, provenance.Options{AnyTime: true})
	if err != nil {
		t.Fatal(err)
	}
	same("one by its judge", c1.Statement(), one)
	fixed, err := collect(t, a).File(context.Background(), p, provenance.Options{})
	if err != nil || fixed.Statement().AnyTime || fixed.Statement().Reward() == one.Reward() {
		t.Errorf("for one look: %v", err)
	}

	// A row counts once, in whichever files it is.
	same("a file twice", certifies("a file twice", files(a, a, b), 2*n), both)
	same("a later part of one", certifies("a later part of one", files(a, slices.Concat(a[700:], b)), 2*n), both)
	same("an earlier part of one", certifies("an earlier part", files(a[:300], slices.Concat(a, b)), 2*n), both)
	same("without ids", certifies("without ids", files(bare(a), bare(b)), 2*n), both)
	same("a file that grew, without ids", certifies("a file that grew, without ids", files(bare(a), slices.Concat(bare(a), bare(b))), 2*n), both)
	same("the file before it grew, without ids", certifies("the file before it grew, without ids", files(slices.Concat(bare(a), bare(b)), bare(a)), 2*n), both)
	same("some without ids", certifies("some without ids", files(a, slices.Concat(bare(a), bare(b))), 2*n), both)
	same("both grew, without ids", certifies("both grew, without ids", files(slices.Concat(bare(a), bare(b[:500])), slices.Concat(bare(a), bare(b[500:]))), 2*n), both)
	refuses("a file twice, under other ids", files(a, copied(a, "")), "rows of one file are in another")
	refuses("the second of three, under other ids", files(a, b, copied(b, "")), "rows of one file are in another")
	refuses("five rows of the second of three, without ids", files(bare(a), bare(b), slices.Concat(bare(c), bare(b[500:505]))), "5 rows have the context, action and reward of rows of a log")
	refuses("a part of one, without ids", files(bare(a), slices.Concat(bare(b), bare(a[500:]))), "rows of one file are in another")
	refuses("five rows of one, without ids", files(bare(a), slices.Concat(bare(b), bare(a[500:505]))), "5 rows have the context, action and reward of rows of a log")
	certifies("three rows alike by chance, under other ids", files(a, slices.Concat(b, copied(a[500:503], ""))), 2*n+3)
	refuses("five rows under other ids", files(a, slices.Concat(b, copied(a[500:505], ""))), "5 rows have the context, action and reward of rows of a log")
	refuses("under other ids, rounded", files(a, slices.Concat(b, copied(a, "%.5g"))), "rows of one file are in another")

	// Rows that had a part in the policy do not certify, and files that certify nothing are errors.
	same("rows that taught", certifies("rows that taught", files(slices.Concat(old[:n/2], a), b), 2*n), both)
	refuses("rows that taught, under other ids", files(a, slices.Concat(b, copied(old, ""))), "may not certify")
	weights := slices.Clone(b)
	weights[3].Weight = 2
	refuses("weights", files(a, weights), "a log: rows have different weights")
	heavy := slices.Clone(b)
	for i := range heavy {
		heavy[i].Weight = 2
	}
	refuses("weights of files", files(a, heavy), "rows have other weights than those of the first log")
	scaled := files(a, b)
	l := collectLog(t, b)
	l.RewardMin, l.RewardMax = -1, 1
	scaled[1] = provenance.New(l)
	if _, err := scaled.File(context.Background(), p, provenance.Options{}); err == nil || !strings.Contains(err.Error(), "rewards are from -1 to 1, and from 0 to 1") {
		t.Error(err)
	}
	if _, err := (provenance.Pool{}).File(context.Background(), p, provenance.Options{}); err == nil {
		t.Error("a pool of nothing")
	}

	// Actions in another order, and files without the propensities of all actions.
	turned := slices.Clone(b)
	for i := range turned {
		q := turned[i].Propensities
		turned[i].Action, turned[i].Propensities = (turned[i].Action+1)%3, []float64{q[2], q[0], q[1]}
	}
	l, err = logs.Collect([]string{"c", "a", "b"}, turned)
	if err != nil {
		t.Fatal(err)
	}
	same("actions in another order", certifies("actions in another order", provenance.Pool{collect(t, a), provenance.New(l)}, 2*n), both)
	narrow := slices.Clone(b)
	for i := range narrow {
		narrow[i].Propensities = nil
	}
	if s := certifies("without all propensities", files(a, narrow), 2*n); s.Best().Name != "ls+dr" || len(s.Missing) != 1 || !strings.Contains(s.Missing[0], "dr on 1000 rows") || s.Reward() >= both.Reward() {
		t.Errorf("%s, without %q", s.Best().Name, s.Missing)
	}

	// A group counts with its first rows that stand together, in one file.
	g, h := grouped(a, "g", 4), grouped(b, "h", 4)
	apart := certifies("groups", files(g, h), 2*n-4) // but for the last one
	if apart.Groups != n/2-1 {
		t.Errorf("%d groups", apart.Groups)
	}
	spread := slices.Clone(h)
	for i := range 40 {
		spread[i].Group = g[i].Group
	}
	same("ten groups in both files", certifies("ten groups in both files", files(g, spread), 2*n-44), certifies("without them", files(g, h[40:]), 2*n-44))
	for i := range 8 { // of the groups before, in the file after
		old[i].Group = g[400+i].Group
	}
	if s := certifies("groups of rows that taught", files(g, slices.Concat(old[:8], h)), 2*n-4-8); s.Relation != provenance.Overlaps {
		t.Errorf("%v", s.Relation)
	}
}

func collectLog(t *testing.T, d []logs.Decision) *logs.Log {
	t.Helper()
	l, err := logs.Collect([]string{"a", "b", "c"}, d)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Of rows that come, in groups that come back and go on, under ids that come again, what has been
// counted at one look is counted alike at every later one, and no row that may go with a later one is.
func TestPool_CountsARowAlikeAtEveryLook(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	all := rows{seed: 2, d: 4}.draw(120)
	group := ""
	for i := range all {
		if r.IntN(3) == 0 {
			group = []string{"", "p", "q", "r", fmt.Sprint("s", i)}[r.IntN(5)]
		}
		all[i].Group = group
		if i > 0 && r.IntN(10) == 0 {
			all[i].ID = all[r.IntN(i)].ID
		}
	}
	of := func(ps ...*provenance.Judge) (clusters map[string][]string, in []string) {
		kept, _, err := provenance.Lasting(ps...)
		if err != nil {
			t.Fatal(err)
		}
		clusters = map[string][]string{}
		at := 0
		for k, j := range ps {
			for _, i := range kept[k] {
				d := all[at+i]
				in = append(in, d.ID)
				if u := d.Group; u != "" {
					clusters[u] = append(clusters[u], d.ID)
				}
			}
			at += j.Found().Rows
		}
		return clusters, in
	}
	var before map[string][]string
	var counted []string
	for n := 1; n <= len(all); n++ {
		ps := []*provenance.Judge{collect(t, all[:min(n, 50)])}
		if n > 50 { // the first file is complete
			ps = append(ps, collect(t, all[50:n]))
		}
		clusters, in := of(ps...)
		for u, rows := range before {
			if !slices.Equal(clusters[u], rows) {
				t.Fatalf("after %d rows group %q is of %v, before of %v", n, u, clusters[u], rows)
			}
		}
		if len(in) < len(counted) || !slices.Equal(in[:len(counted)], counted) {
			t.Fatalf("after %d rows %v count, before %v", n, in, counted)
		}
		if sorted := slices.Sorted(slices.Values(in)); len(slices.Compact(sorted)) != len(in) {
			t.Fatalf("after %d rows an id counts twice", n)
		}
		before, counted = clusters, in
	}
	if len(counted) < 50 || len(before) < 8 {
		t.Errorf("%d rows count, %d groups", len(counted), len(before))
	}
}

// Files that are too few rows each to refute their propensities are refuted together.
func TestPool_RefutesPropensitiesTogether(t *testing.T) {
	w := rows{d: 4, explore: .5}
	var ps provenance.Pool
	for s := range uint64(12) {
		w.seed = 20 + s
		d := w.draw(100)
		for i := range d {
			d[i].Propensity, d[i].Propensities = 1./3, []float64{1. / 3, 1. / 3, 1. / 3}
			if i%2 > 0 { // half of the rows are as they say
				d[i].Action = rand.New(rand.NewPCG(s, uint64(i))).IntN(3)
			}
		}
		ps = append(ps, collect(t, d))
		if _, err := ps[s:].File(context.Background(), plays(t, nil), provenance.Options{Fresh: true}); err != nil {
			t.Errorf("file %d alone: %v", s, err)
		}
	}
	_, err := ps.File(context.Background(), plays(t, nil), provenance.Options{Fresh: true})
	withheld(t, "all files", err, "all files together are unusable: bets on propensities")
	for _, j := range ps {
		j.Force()
	}
	if c, err := ps.File(context.Background(), plays(t, nil), provenance.Options{Fresh: true}); err != nil || !strings.Contains(strings.Join(c.Statement().Doubts, "\n"), "all files together: bets on propensities") {
		t.Errorf("by force: %v", err)
	}
}

// Propensities that are found to be rounded in all files, and in none alone, make all bounds wider.
func TestPool_WidensBoundsForRoundedPropensities(t *testing.T) {
	w := rows{d: 4, explore: 1}
	var ps provenance.Pool
	for s := range uint64(8) {
		w.seed = 20 + s
		d := w.draw(150)
		for i := range d {
			d[i].Propensity, d[i].Propensities = .3301234+.0001*float64(i%2), nil
		}
		if ps = append(ps, collect(t, d)); ps[s].Found().Gamma != 1 {
			t.Errorf("file %d alone is found rounded", s)
		}
	}
	c, err := ps.File(context.Background(), plays(t, nil), provenance.Options{Fresh: true})
	if err != nil || c.Statement().Gamma != 1.01 {
		t.Errorf("%v: Γ = %v", err, c.Statement().Gamma)
	}
}

// Three rounds of 300 rows, whose logging policies depend on what was said after each: a false bound
// after any of them is as rare as δ says.
func TestPool_FailsAsRarelyAsPromised(t *testing.T) {
	walks := uint64(10)
	if os.Getenv("OPL_LONG") != "" {
		walks = 1000
	}
	p := plays(t, nil)
	const truth = .9*.6 + .1*.4
	for _, delta := range []float64{.05, .2} {
		failed, better, falsely, refused := 0, 0, 0, 0
		for s := range walks {
			w := rows{d: 4, explore: 1}
			var ps provenance.Pool
			logged, wrong, says, lies := 0., false, false, false
			for round := range uint64(3) {
				w.seed = 100 + 3*s + round
				ps = append(ps, collect(t, w.draw(300)))
				logged += w.explore*.4 + (1-w.explore)*.3
				c, err := ps.File(context.Background(), p, provenance.Options{Delta: delta, Fresh: true})
				if err != nil {
					refused++
					break
				}
				st := c.Statement()
				mix := logged / float64(len(ps))
				wrong = wrong || st.Reward() > truth || st.GainAtLeast() > truth-mix
				says = says || st.Proven()
				lies = lies || st.Proven() && truth <= mix
				if w.explore = .3; st.Proven() {
					w.explore = .6
				}
			}
			for _, is := range []struct {
				so bool
				n  *int
			}{{wrong, &failed}, {says, &better}, {lies, &falsely}} {
				if is.so {
					*is.n++
				}
			}
		}
		t.Logf("δ = %v: of %d walks %d have a false bound, %d say better, %d falsely, %d are refused", delta, walks, failed, better, falsely, refused)
		if most := delta*float64(walks) + 3.1*math.Sqrt(delta*(1-delta)*float64(walks)); float64(failed) > most || refused > 1+int(walks)/50 {
			t.Errorf("δ = %v: of %d walks %d have a false bound, %d are refused", delta, walks, failed, refused)
		}
	}
}

// By every door, at any time: what depends on a later look is refused or left out.
func TestAnyTime_RefusesWhatDependsOnLaterLooks(t *testing.T) {
	o := certify.Options{AnyTime: true}
	d := rows{seed: 2, d: 4}.draw(600)
	twice := bare(slices.Concat(d, d))
	pi := slices.Repeat([]float64{.3}, 1200)
	third := func(dst []float64, _ int) error { copy(dst, []float64{.3, .3, .4}); return nil }
	j := collect(t, twice)
	if _, err := j.Target(nil, pi, provenance.FixedBefore(), certify.Options{}); err != nil {
		t.Error(err)
	}
	const want = "rows written twice"
	_, err := j.Target(nil, pi, provenance.FixedBefore(), o)
	withheld(t, "Probabilities", err, want)
	_, err = j.Fixed(third, provenance.FixedBefore(), upTo(0, 1200), o)
	withheld(t, "Fixed", err, want)
	_, err = j.File(context.Background(), plays(t, nil), provenance.Options{AnyTime: true, Fresh: true})
	withheld(t, "File", err, want)

	visits := slices.Clone(d) // rows of a visit share a context, and the groups say so
	for i := range visits {
		visits[i].Context, visits[i].Group = visits[i-i%3].Context, fmt.Sprint("v", i/3)
	}
	if c, err := collect(t, visits).Target(nil, pi[:600], provenance.FixedBefore(), o); err != nil || c.Statement().Groups != 199 {
		t.Errorf("visits: %v", err)
	}
	for i := 7; i < len(visits); i += 15 { // one row alone is within what inspect takes for chance
		visits[i].Group = ""
	}
	_, err = collect(t, visits).Target(nil, pi[:600], provenance.FixedBefore(), o)
	withheld(t, "a visit in pieces", err, "repeated contexts")

	ids := slices.Concat(d, rows{seed: 3, d: 4}.draw(600))
	for i := range 30 {
		ids[700+i].ID = ids[i].ID
	}
	j = collect(t, ids)
	c, err := j.Fixed(third, provenance.FixedBefore(), upTo(100, 1200), o)
	if err != nil || c.Statement().N != 1100-30 || !strings.Contains(strings.Join(c.Statement().Notes, ""), "30 rows have the decision_id of a row before") {
		t.Errorf("Fixed: %v", err)
	}
	if c, err = j.Target(nil, pi, provenance.FixedBefore(), o); err != nil || c.Statement().N != 1200-30 {
		t.Errorf("Probabilities: %v", err)
	}
	for i := range ids { // a repeated id joins no groups
		ids[i].Group = fmt.Sprint(i / 4)
	}
	if c, err = collect(t, ids).Target(nil, pi, provenance.FixedBefore(), o); err != nil || c.Statement().Groups != 300-1-7 { // the last, and seven of repeated ids
		t.Errorf("groups: %v, %+v", err, c)
	}
	if _, err := j.Posterior(propensity.Gaussian{}, posterior(make([]float64, 12)), upTo(0, 10), o); err == nil {
		t.Error("a posterior at any time")
	}

	// Rows that taught an ancestor, as their contents say: how many rows say so may change.
	w := rows{d: 4, explore: .06}
	draw := func(seed uint64) []logs.Decision { w.seed = seed; return bare(w.draw(300)) }
	taught := draw(5)
	second := learned(t, draw(6), learned(t, shuffled(taught)))
	taught = slices.DeleteFunc(taught, func(d logs.Decision) bool { return d.Propensity < .5 })[:40] // whose actions say little
	mixed := collect(t, shuffled(slices.Concat(taught, draw(7))))
	if c, err := mixed.File(context.Background(), second, provenance.Options{}); err != nil || c.Statement().Relation != provenance.Ancestral {
		t.Errorf("rows of an ancestor, for one look: %v", err)
	}
	_, err = mixed.File(context.Background(), second, provenance.Options{AnyTime: true})
	withheld(t, "rows of an ancestor", err, "without decision_id nothing is certified at any time")

	// Rows that chose a posterior certify it for one look, and not at any time.
	p := from(t, d, provenance.Made{Seed: 5})
	for _, anyTime := range []bool{false, true} {
		c, err := collect(t, slices.Concat(d, rows{seed: 3, d: 4}.draw(600))).File(context.Background(), p, provenance.Options{AnyTime: anyTime})
		if want := map[bool]int{false: 900, true: 600}[anyTime]; err != nil || c.Statement().N != want {
			t.Errorf("any time %v: %v, %+v", anyTime, err, c)
		}
	}
}

// The statement says what it is of, and what nobody paid for.
func TestPool_SaysWhatItIsOf(t *testing.T) {
	p := plays(t, nil)
	w := rows{d: 4}
	var ps provenance.Pool
	for s := range uint64(3) {
		w.seed = s + 1
		ps = append(ps, collect(t, w.draw(800)))
	}
	text := func(c *provenance.Certificate, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := render.Certificate(&b, c.Statement()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	all := text(ps.File(context.Background(), p, provenance.Options{Fresh: true}))
	one := text(ps[0].File(context.Background(), p, provenance.Options{Fresh: true}))
	for _, c := range []struct{ in, want string }{
		{all, "rows       2400 of 3 files, of which none had a part in the policy: all certify"},
		{all, " at any time with probability 0.95, by ls+dr on 2400 rows of 3 files"},
		{all, "gain over the policies that logged them, each with the share of its rows, at least"},
		{all, "better than what logged these rows"},
		{all, "At any time: they hold at every look"},
		{one, "For one look, at rows whose number was fixed before; to look again as rows come: certify by setting any-time"},
		{one, "If you pick the best of several policies, trainings or\n  statements on the same rows, divide δ among them. Over several rounds, add up their δ"},
	} {
		if !strings.Contains(c.in, c.want) {
			t.Errorf("not said: %q in\n%s", c.want, c.in)
		}
	}
	// Actions that only rows which certify have.
	l := example(400)
	for i := range 200 {
		if l.Action[i] == 2 {
			l.Action[i] = 1
			l.Propensity[i] = .3
		}
	}
	c, err := provenance.New(l).Force().Fixed(func(dst []float64, _ int) error { copy(dst, []float64{.2, .3, .5}); return nil }, provenance.TaughtBy(propensity.NewRowSet(l.Hashes(upTo(0, 200)))), upTo(200, 400), certify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := text(c, nil); c.Statement().ReadOff != 1 || !strings.Contains(s, "1 of the actions occur in rows that certify alone") {
		t.Errorf("%s", s)
	}
}
