package provenance_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/testdata/long"
	"opl/train/logs"
	"opl/train/provenance"
)

// rows of a bandit with three actions and d features, whose logging policy follows the
// first feature.
type rows struct {
	seed    uint64
	d       int
	context func(r *rand.Rand, x []float64) // nil: standard normal
	explore float64                         // share of uniform choices; the rest follows the context; 0: by a softmax
	times   bool
}

func (w rows) draw(n int) []logs.Decision {
	r := rand.New(rand.NewPCG(w.seed, 11))
	out := make([]logs.Decision, n)
	for i := range out {
		x := make([]float64, w.d)
		for j := range x {
			x[j] = r.NormFloat64()
		}
		if w.context != nil {
			w.context(r, x)
		}
		pi := []float64{math.Exp(x[0] / 2), 1, 1.2}
		sum := pi[0] + 2.2
		for a := range pi {
			pi[a] /= sum
		}
		if w.explore > 0 {
			best := 1
			if x[0] > 0 {
				best = 0
			}
			pi = slices.Repeat([]float64{w.explore / 3}, 3)
			pi[best] += 1 - w.explore
		}
		a := propensity.Draw(pi, r)
		d := logs.Decision{ID: fmt.Sprint("d", w.seed, "-", i), Action: a, Propensity: pi[a], Propensities: pi, Weight: 1}
		if w.times {
			d.Time = time.Unix(1_700_000_000+int64(w.seed)*1_000_000+int64(i), 123_456_789)
		}
		for j, v := range x {
			d.Context = append(d.Context, features.Value{Name: fmt.Sprint("x", j), Number: v})
		}
		if r.Float64() < .2+.2*float64(a) {
			d.Cost = -1
		}
		out[i] = d
	}
	return out
}

// copied are rows written anew: ids renamed, contexts as fmt writes their numbers.
func copied(d []logs.Decision, format string) []logs.Decision {
	d = slices.Clone(d)
	for i := range d {
		if d[i].ID != "" {
			d[i].ID = fmt.Sprint("n", i, d[i].ID)
		}
		d[i].Context = slices.Clone(d[i].Context)
		for j, v := range d[i].Context {
			if format != "" {
				d[i].Context[j].Number, _ = strconv.ParseFloat(fmt.Sprintf(format, v.Number), 64)
			}
		}
	}
	return d
}

func shuffled(d []logs.Decision) []logs.Decision {
	d = slices.Clone(d)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(d), func(i, j int) { d[i], d[j] = d[j], d[i] })
	return d
}

func bare(d []logs.Decision) []logs.Decision {
	d = slices.Clone(d)
	for i := range d {
		d[i].ID = ""
	}
	return d
}

func collect(t *testing.T, d []logs.Decision) *provenance.Judge {
	t.Helper()
	l, err := logs.Collect([]string{"a", "b", "c"}, d)
	if err != nil {
		t.Fatal(err)
	}
	return provenance.New(l)
}

// learned is the file of a policy that half of the rows taught and the others chose.
func learned(t *testing.T, d []logs.Decision, loggers ...*policyfile.Policy) *policyfile.Policy {
	t.Helper()
	return from(t, d, provenance.Made{Seed: 5, Loggers: loggers})
}

func from(t *testing.T, d []logs.Decision, m provenance.Made) *policyfile.Policy {
	t.Helper()
	m.Taught, m.Chosen = upTo(0, len(d)/2), upTo(len(d)/2, len(d))
	n := len(d[0].Context)
	e := features.Encoder{}
	for _, v := range d[0].Context {
		e.Names, e.Scale = append(e.Names, v.Name), append(e.Scale, 1)
	}
	enc, err := features.New(e)
	if err != nil {
		t.Fatal(err)
	}
	w := policyfile.Matrix{make([]float64, n), make([]float64, n), make([]float64, n)}
	f := &policyfile.File{Actions: []string{"a", "b", "c"}, RewardMax: 1, Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Gaussian, Sigma: 1,
		Encoder: enc, Weights: w, Prior: &policyfile.Prior{Scale: 1, Mean: w}}}}
	collect(t, d).Record(f, m)
	p, err := policyfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Rows that had a part in a policy are known again in a log that has them under other ids,
// rounded, in another order, among others; and nobody's word stands against them.
func TestFingerprints_KnowCopiesAgain(t *testing.T) {
	const n = 2000
	w := rows{seed: 1, d: 4}
	old, later := w.draw(n), rows{seed: 2, d: 4}.draw(n)
	few := func(r *rand.Rand, x []float64) {
		for j := range x {
			x[j] = float64(r.IntN(2))
		}
	}
	binary := rows{seed: 1, d: 3, context: few}.draw(n)
	timed := rows{seed: 1, d: 3, context: few, times: true}.draw(n)
	wide := rows{seed: 1, d: 20}.draw(n)
	scaled := func(by float64) []logs.Decision {
		return rows{seed: 1, d: 3, context: func(r *rand.Rand, x []float64) {
			for j := range x {
				x[j] *= by
			}
		}, explore: .5}.draw(n)
	}
	tiny, large := scaled(1e-9), scaled(1000)
	sure := rows{seed: 1, d: 4, explore: .1}.draw(n)
	renamed := slices.Clone(old) // 40 %
	for i := range renamed {
		if i%5 < 2 {
			renamed[i].ID = fmt.Sprint("n", i)
		}
	}
	dropped := copied(old, "%.3f")
	for i := range dropped {
		dropped[i].Context = dropped[i].Context[:2]
	}
	added := copied(old, "%.6g")
	for i := range added {
		added[i].Context = append(added[i].Context, features.Value{Name: "new", Number: float64(1 + i%7)})
	}
	mixed := func(share int, format string) []logs.Decision {
		return shuffled(slices.Concat(copied(old[:n*share/100], format), later[:n-n*share/100]))
	}
	for _, c := range []struct {
		what      string
		from, log []logs.Decision
	}{
		{"new ids", old, shuffled(copied(old, ""))},
		{"6 digits", old, shuffled(copied(old, "%.6g"))},
		{"6 decimals", old, shuffled(copied(old, "%.6f"))},
		{"5 digits", old, shuffled(copied(old, "%.5g"))},
		{"3 digits", old, shuffled(copied(old, "%.3g"))},
		{"3 decimals", old, shuffled(copied(old, "%.3f"))},
		{"2 decimals", old, shuffled(copied(old, "%.2f"))},
		{"20 features, 3 digits", wide, shuffled(copied(wide, "%.3g"))},
		{"20 features, 1 decimal", wide, shuffled(copied(wide, "%.1f"))},
		{"20 features, 5 decimals", wide, shuffled(copied(wide, "%.5f"))},
		{"features of 1e-9", tiny, shuffled(copied(tiny, "%.6g"))},
		{"features of 1,000, 3 digits", large, shuffled(copied(large, "%.3g"))},
		{"a tenth explores", sure, shuffled(copied(sure, "%.6g"))},
		{"40 % renamed", old, renamed},
		{"half, 6 digits", old, mixed(50, "%.6g")},
		{"5 %", old, mixed(5, "%.6g")},
		{"in order, binary contexts", binary, copied(binary, "")},
		{"in order, half of them", binary, slices.Concat(copied(binary[:n/2], ""), rows{seed: 2, d: 3, context: few}.draw(n/2))},
		{"in order, columns dropped", old, dropped},
		{"a column added", old, shuffled(added)},
		{"binary contexts with times", timed, shuffled(copied(timed, ""))},
		{"rows twice", old, shuffled(slices.Concat(copied(old, "%.6g"), copied(copied(old, "%.6g"), "")))},
		{"without ids, 6 digits", bare(old), shuffled(copied(bare(old), "%.6g"))},
		{"without ids, 5 %", bare(old), bare(mixed(5, "%.4g"))},
		{"without ids, in order", bare(binary), bare(binary[:n/2])},
	} {
		p, j := learned(t, c.from), collect(t, c.log).Force()
		for _, fresh := range []bool{false, true} {
			if strings.HasPrefix(c.what, "40") && fresh {
				continue // the ids that are left say it
			}
			_, err := j.File(t.Context(), p, provenance.Options{Fresh: fresh})
			withheld(t, fmt.Sprint(c.what, ", fresh: ", fresh), err, "may not certify")
		}
		// They taught what logged the rows of a later policy.
		if c.log[0].ID == "" || strings.HasPrefix(c.what, "40") || strings.HasPrefix(c.what, "5") {
			continue
		}
		second := learned(t, rows{seed: 9, d: len(c.from[0].Context)}.draw(50), p)
		_, err := j.File(t.Context(), second, provenance.Options{})
		withheld(t, c.what+", of an ancestor", err, "which logged what this policy was learned from, are in this log")
	}
	// The log has ids now, and had none: the user's word is not enough.
	_, err := collect(t, shuffled(copied(old, "%.6g"))).File(t.Context(), learned(t, bare(old)), provenance.Options{Fresh: true})
	withheld(t, "ids that are new", err, "may not certify")
	if _, err := collect(t, later).File(t.Context(), learned(t, bare(old)), provenance.Options{Fresh: true}); err != nil {
		t.Errorf("a later log with ids: %v", err)
	}
	// Neither has ids: contexts are as they were, and it is not said that they are rounded.
	_, err = collect(t, bare(slices.Concat(old, later))).File(t.Context(), learned(t, bare(old)), provenance.Options{})
	withheld(t, "an old log with a new one, without ids", err, "without decision_id nobody can tell which they are")
	withheld(t, "an old log with a new one, without ids", err, "leave out the files that they came from")
	// The policy whose weights are the prior was learned from them.
	next := from(t, later, provenance.Made{Seed: 5, Before: learned(t, old).File()})
	_, err = collect(t, shuffled(copied(old, "%.6g"))).File(t.Context(), next, provenance.Options{})
	withheld(t, "rows of the prior's file", err, "may not certify")
	// Rows of the log learned from, by their ids, with those of the one before.
	second := learned(t, later, learned(t, old))
	o, err := collect(t, slices.Concat(old[:300], later, rows{seed: 3, d: 4}.draw(500))).Compare(second.File(), false)
	seen := 0
	for i := range o.Taught {
		if o.Seen(i) {
			seen++
		}
	}
	if err != nil || o.Relation != provenance.Overlaps || seen != n+300 || !strings.Contains(o.Note, "300 rows of the log taught") {
		t.Errorf("%v, %s, %d rows seen, %q", err, o.Relation, seen, o.Note)
	}
	// Exactly equal, in a log without ids: told by all rows that the file records.
	many := bare(rows{seed: 1, d: 4}.draw(20000))
	_, err = collect(t, bare(shuffled(slices.Concat(many[:60], later[:1000])))).File(t.Context(), learned(t, many), provenance.Options{})
	withheld(t, "60 equal rows", err, "more than by chance")
}

// The evidence that rows are known again has mean 1 over all that rows drawn anew can do,
// with contexts that repeat and propensities that differ.
func TestFingerprints_HaveMeanOneOnNewRows(t *testing.T) {
	old := rows{seed: 1, d: 2, times: true}.draw(100)
	p := learned(t, old)
	next := copied(shuffled(slices.Concat(old[:2], old[1:3])), "%.7g") // one context twice
	mean, most := 0., 0.
	for way := range 81 {
		prob := 1.
		for i, a := range []int{way % 3, way / 3 % 3, way / 9 % 3, way / 27} {
			d := &next[i]
			d.Propensities = [][]float64{{.2, .5, .3}, {.9, .04, .06}, {.1, .1, .8}, {.3, .3, .4}}[i]
			d.Action, d.Propensity = a, d.Propensities[a]
			prob *= d.Propensity
		}
		e := collect(t, next).Evidence(p.File())
		mean += prob * e
		most = max(most, e)
	}
	if math.Abs(mean-1) > 1e-9 || most < 20 {
		t.Errorf("mean %v, at most %v", mean, most)
	}
}

// Honest next rounds are not refused: contents may be equal by chance.
func TestFingerprints_LetHonestRoundsPass(t *testing.T) {
	long.Test(t)
	population := func(size int) func(r *rand.Rand, x []float64) {
		return func(r *rand.Rand, x []float64) {
			who := rand.New(rand.NewPCG(uint64(r.IntN(size)), 77))
			for j := range x {
				x[j] = who.NormFloat64()
			}
		}
	}
	visits := 0
	daily := func(r *rand.Rand, x []float64) {
		who := rand.New(rand.NewPCG(uint64(visits%1000), 77))
		visits++
		for j := range x {
			x[j] = who.NormFloat64()
		}
	}
	coarse := func(r *rand.Rand, x []float64) {
		for j := range x {
			x[j] = math.Round(1000*x[j]) / 1000
		}
	}
	for _, c := range []struct {
		what    string
		context func(r *rand.Rand, x []float64)
		explore float64
		bare    bool // without ids, too
	}{
		{"continuous", nil, 0, true},
		{"6 contexts", population(6), 0, true},
		{"30 contexts", population(30), 0, true},
		{"1,000 customers", population(1000), 0, true},
		{"1,000 customers, a tenth explores", population(1000), .1, true},
		{"each customer once a day", daily, 0, false}, // contents agree more than by chance: without ids it takes a word
		{"each customer once a day, a tenth explores", daily, .1, false},
		{"one coarse feature", coarse, 0, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			for _, ids := range []bool{true, false} {
				const n, rounds = 600, 20
				if !ids && !c.bare {
					continue
				}
				draw := func(seed uint64, n int) []logs.Decision {
					d := rows{seed: seed, d: 2, context: c.context, explore: c.explore}.draw(n)
					if !ids {
						d = bare(d)
					}
					return d
				}
				p := learned(t, draw(1, n))
				second, refused := learned(t, draw(2, n), p), 0
				for s := range uint64(rounds) {
					j := collect(t, draw(100+s, n*(1+int(s%3))))
					for _, p := range []*policyfile.Policy{p, second} {
						if o, err := j.Compare(p.File(), false); err != nil || o.Relation != provenance.Fresh || slices.Contains(o.Taught, true) {
							refused++
							t.Logf("%s, ids %v: %s, %v", c.what, ids, o.Relation, err)
						}
					}
				}
				if refused > 0 {
					t.Errorf("%s, ids %v: %d of %d next rounds refused", c.what, ids, refused, 2*rounds)
				}
			}
		})
	}
}

// That no row taught a policy is believed, as the file is not signed, but said, and doubted unless the caller says so.
func TestCompare_SaysThatAnEmptyListIsBelieved(t *testing.T) {
	f := &policyfile.File{Components: []policyfile.Component{{Weight: 1}}, History: policyfile.History{Known: true, Seed: 1}}
	o, err := collect(t, rows{seed: 1, d: 4}.draw(100)).Compare(f, false)
	if err != nil || o.Relation != provenance.Fresh || !strings.Contains(o.Note, "the file is not signed") ||
		!strings.Contains(o.Doubt, "say so by setting fresh") {
		t.Errorf("%+v, %v", o, err)
	}
}
