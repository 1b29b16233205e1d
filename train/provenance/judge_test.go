package provenance_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/online"
	"opl/train/provenance"
)

// example is a log of n rows, three actions and four features, whose actions were drawn
// as its propensities say.
func example(n int) *logs.Log {
	r := rand.New(rand.NewPCG(1, 2))
	x := logs.Rows64{Width: 4, Data: make([]float64, 4*n)}
	l := &logs.Log{Actions: logs.Numbered(3), X: x}
	for i := range n {
		for j := range 4 {
			x.Data[4*i+j] = r.NormFloat64()
		}
		pi := []float64{.5, .3, .2}
		a := propensity.Draw(pi, r)
		l.Action, l.Propensity, l.Propensities = append(l.Action, int32(a)), append(l.Propensity, pi[a]), append(l.Propensities, pi...)
		cost := 0.
		if r.Float64() < .2+.3*float64(a) {
			cost = -1
		}
		l.Cost = append(l.Cost, cost)
	}
	return l
}

func posterior(mean []float64) propensity.Posterior {
	return propensity.Posterior{Actions: 3, Dim: 4, Mu: slices.Clone(mean), Sigma: 1, Prior: propensity.Prior{Mean: mean}}
}

func upTo(from, to int) (rows []int) {
	for i := from; i < to; i++ {
		rows = append(rows, i)
	}
	return rows
}

func withheld(t *testing.T, what string, err error, want string) {
	t.Helper()
	var w *provenance.Withheld
	if !errors.As(err, &w) || !strings.Contains(w.Reason, want) {
		t.Errorf("%s: %v, want a guarantee withheld: %q", what, err, want)
	}
}

// What must be fixed may not have been taught by the rows that certify, wherever these
// are copied to, and nobody's silence is taken for a word.
func TestPosterior_RefusesRowsThatTaughtThePrior(t *testing.T) {
	log := example(400)
	zero := posterior(make([]float64, 12))
	certifies := func(what string, log *logs.Log, q propensity.Posterior, rows []int, o certify.Options) {
		t.Helper()
		if c, err := provenance.New(log).Posterior(propensity.Gaussian{}, q, rows, o); err != nil || c.Statement().N != len(rows) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refuses := func(what string, log *logs.Log, q propensity.Posterior, rows []int, o certify.Options, want string) {
		t.Helper()
		_, err := provenance.New(log).Posterior(propensity.Gaussian{}, q, rows, o)
		withheld(t, what, err, want)
	}
	certifies("a prior of zeros", log, zero, upTo(0, 400), certify.Options{})
	mean := make([]float64, 12)
	mean[3] = 1
	q := posterior(mean)
	refuses("a prior of unknown origin", log, q, upTo(0, 400), certify.Options{}, "not said which rows taught it")
	q.Prior.Fixed = true
	certifies("a prior that was fixed", log, q, upTo(0, 400), certify.Options{})
	q.Prior.Fixed, q.Prior.Taught = false, propensity.NewRowSet(log.Hashes(upTo(0, 200)))
	certifies("rows that the prior has not seen", log, q, upTo(200, 400), certify.Options{})
	refuses("the prior's rows", log, q, upTo(0, 400), certify.Options{}, "row 0 taught the prior")
	refuses("one of them", log, q, append(upTo(200, 400), 7), certify.Options{}, "row 7 taught the prior")
	refuses("a copy of them", log.Subset(upTo(0, 200)), q, upTo(0, 200), certify.Options{}, "taught the prior")
	model := certify.Linear("zero", make([]float64, 12), log, certify.LogisticLink)
	refuses("a reward model of unknown origin", log, zero, upTo(0, 400), certify.Options{Models: []*certify.RewardModel{model}}, "model of the reward")
	model.Taught = propensity.NewRowSet(log.Hashes([]int{5}))
	refuses("a reward model's row", log, zero, upTo(0, 400), certify.Options{Models: []*certify.RewardModel{model}}, "row 5 taught the reward model")
	certifies("rows that the reward model has not seen", log, zero, upTo(6, 400), certify.Options{Models: []*certify.RewardModel{model}})
}

// Logs that can certify nothing, through every door.
func TestAdmits_RefusesLogsThatCertifyNothing(t *testing.T) {
	for _, c := range []struct {
		change func(l *logs.Log)
		want   string
	}{
		{func(l *logs.Log) { l.Estimated = true }, "estimates"},
		{func(l *logs.Log) { l.Propensity, l.Propensities = nil, nil }, "no propensities"},
		{func(l *logs.Log) { l.Weight = slices.Repeat([]float64{1}, 400); l.Weight[3] = 2 }, "different weights"},
		{func(l *logs.Log) { l.Propensity = slices.Repeat([]float64{1}, 400); l.Propensities = nil }, "is unusable"},
	} {
		log := example(400)
		c.change(log)
		j := provenance.New(log)
		withheld(t, "Admits", j.Admits(), c.want)
		_, err := j.Posterior(propensity.Gaussian{}, posterior(make([]float64, 12)), upTo(0, 400), certify.Options{})
		withheld(t, "Posterior", err, c.want)
		_, err = j.Target(nil, slices.Repeat([]float64{.5}, 400), provenance.FixedBefore(), certify.Options{})
		withheld(t, "Probabilities", err, c.want)
	}
	log := example(400)
	pi := slices.Repeat([]float64{.5}, 400)
	_, err := provenance.New(log).Target(nil, pi, provenance.Origin{}, certify.Options{})
	withheld(t, "no origin", err, "not said where the policy comes from")
	if _, err := provenance.New(log).Target(nil, pi, provenance.FixedBefore(), certify.Options{}); err != nil {
		t.Error(err)
	}
	log.Group = make([]int32, 400)
	for i := range log.Group {
		log.Group[i] = int32(i / 20)
	}
	c, err := provenance.New(log).Target(nil, pi, provenance.FixedBefore(), certify.Options{})
	if err != nil || c.Statement().Groups != 20 || c.Statement().N != 400 {
		t.Errorf("groups: %v", err)
	}
	c, err = provenance.New(log).Posterior(propensity.Gaussian{}, posterior(make([]float64, 12)), upTo(0, 400), certify.Options{})
	if err != nil || c.Statement().Groups != 20 {
		t.Errorf("groups: %v", err)
	}
}

// A target whose probabilities are all known is bounded with a model that is learned from rows
// before, never from a row's own cluster, copies that no column tells of included.
func TestTarget_LearnsItsModelFromRowsBefore(t *testing.T) {
	l := example(3000)
	x := l.X.(logs.Rows64)
	best := func(i int) int32 {
		if x.Data[4*i] > 0 {
			return 1
		}
		return 2
	}
	for i := range l.Cost { // copies of five rows
		if at := i / 5 * 5; i > at {
			copy(x.Data[4*i:4*i+4], x.Data[4*at:4*at+4])
			l.Action[i], l.Propensity[i] = l.Action[at], l.Propensity[at]
		}
		if l.Cost[i] = 0; l.Action[i] == best(i) {
			l.Cost[i] = -1
		}
	}
	pi, rows, logged := func(dst []float64, i int) error { clear(dst); dst[best(i)] = 1; return nil }, upTo(0, 3000), make([]float64, 3000)
	for i := range logged {
		if l.Action[i] == best(i) {
			logged[i] = 1
		}
	}
	j := provenance.New(l).Force()
	if j.Clusters() == nil {
		t.Fatal("copies are no clusters")
	}
	plain, err := j.Target(nil, logged, provenance.FixedBefore(), certify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := j.Target(pi, logged, provenance.FixedBefore(), certify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := online.Learn(l, rows, j.Clusters(), logged)
	if err != nil {
		t.Fatal(err)
	}
	want, err := certify.Fixed(pi, nil, l, rows, certify.Options{Clusters: j.Clusters(), Models: []*certify.RewardModel{m}})
	if s := c.Statement(); err != nil || s.Reward() != want.Reward() || s.GainAtLeast() != want.GainAtLeast() || s.Groups != 600 || s.Best().Name != "ls+dr" {
		t.Errorf("%v and a gain of %v by %s over %d clusters, want %v and %v (%v)", s.Reward(), s.GainAtLeast(), s.Best().Name, s.Groups, want.Reward(), want.GainAtLeast(), err)
	}
	if with, without := c.Statement().Reward(), plain.Statement().Reward(); !(with > without+.01 && with <= 1) || plain.Statement().Best().Name != "ls" {
		t.Errorf("%v with the model, %v without", with, without)
	}
	l.Propensities = nil
	if c, err := provenance.New(l).Force().Target(pi, logged, provenance.FixedBefore(), certify.Options{}); err != nil || c.Statement().Best().Name != "ls" {
		t.Errorf("logged propensities alone: %v", err)
	}
	_, err = j.Target(pi, logged, provenance.Origin{}, certify.Options{})
	withheld(t, "no origin", err, "not said where the policy comes from")
}

func TestVerdict_FollowsTheGain(t *testing.T) {
	const n = 4000
	for _, tc := range []struct {
		reward func(a int32) float64
		want   provenance.Verdict
	}{
		{func(int32) float64 { return .001 }, provenance.Vacuous},
		{func(int32) float64 { return 1 }, provenance.NotShown},
		{func(a int32) float64 { return map[bool]float64{true: 1}[a == 0] }, provenance.Better},
	} {
		l := example(n)
		for i := range l.Cost {
			l.Cost[i] = -tc.reward(l.Action[i])
		}
		l.Cost[0] = -1
		q := posterior(make([]float64, 12))
		if tc.want == provenance.Better { // action 0 in all contexts, known beforehand
			l.X = logs.Rows64{Width: 4, Data: slices.Repeat([]float64{1, 0, 0, 0}, n)}
			q.Mu[0], q.Prior.Mean[0], q.Prior.Fixed = 9, 9, true
		}
		c, err := provenance.New(l).Force().Posterior(propensity.Gaussian{}, q, upTo(0, n), certify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Statement(); s.Verdict != tc.want || s.Proven() != (tc.want == provenance.Better) {
			t.Errorf("verdict %q with %v guaranteed and a gain of %v, want %q", s.Verdict, c.Guaranteed(), s.GainAtLeast(), tc.want)
		}
	}
}

// flat is a log of two actions drawn alike, of which the first pays more, whose propensities
// are as it is told.
func flat(n int, p float64) *logs.Log {
	r := rand.New(rand.NewPCG(3, 4))
	x := logs.Rows64{Width: 2, Data: make([]float64, 2*n)}
	l := &logs.Log{Actions: logs.Numbered(3), X: x}
	for i := range n {
		x.Data[2*i], x.Data[2*i+1] = r.NormFloat64(), r.NormFloat64()
		a, cost := r.IntN(3), 0.
		if r.Float64() < []float64{.8, .4, .3}[a] {
			cost = -1
		}
		l.Action, l.Propensity, l.Cost = append(l.Action, int32(a)), append(l.Propensity, p), append(l.Cost, cost)
	}
	return l
}

// What contradicts a guarantee keeps it from being called better, and what is promised is
// not above the estimate.
func TestStatement_IsNotBetterIfTheLogContradicts(t *testing.T) {
	first := func(l *logs.Log, p float64) (pi []float64) { // the first action, more or less
		for _, a := range l.Action {
			pi = append(pi, p*[]float64{1, 0, 0}[a])
		}
		return pi
	}
	state := func(l *logs.Log, pi []float64) provenance.Statement {
		t.Helper()
		c, err := provenance.New(l).Force().Target(nil, pi, provenance.FixedBefore(), certify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Statement()
	}
	sound := flat(4000, 1./3)
	if s := state(sound, first(sound, 1)); s.Verdict != provenance.Better || s.Contradicted != "" || s.Gamma != 0 || s.Doubts != nil {
		t.Errorf("sound: %q, %q, Γ = %v, %q", s.Verdict, s.Contradicted, s.Gamma, s.Doubts)
	}
	rounded := flat(4000, .33)
	if s := state(rounded, first(rounded, 1)); s.Verdict != provenance.Better || s.Gamma != propensity.Rounded {
		t.Errorf("rounded: %q, %q, Γ = %v", s.Verdict, s.Contradicted, s.Gamma)
	}
	// Weights of 1.2 on average. The bound is on their mean, the estimate divides by it.
	small := flat(4000, 1/3.6)
	for i, a := range small.Action { // but uniform finds nothing
		if a > 0 {
			small.Propensity[i] = 1 / 2.7
		}
	}
	s := state(small, first(small, 1))
	if s.Verdict != provenance.Doubted || !strings.Contains(s.Contradicted, "weights π/π₀") || s.Proven() {
		t.Errorf("weights that average 1.2: %q, %q", s.Verdict, s.Contradicted)
	}
	if !(s.Reward() > s.Estimate.Reward) || s.Promise() != s.Estimate.Reward {
		t.Errorf("%v is promised, %v bounded, %v estimated", s.Promise(), s.Reward(), s.Estimate.Reward)
	}
	// A finding of the inspection, on propensities that are those of the policy's action.
	drawn := example(4000)
	for i := range drawn.Action {
		drawn.Cost[i] = -[]float64{1, .3, 0}[drawn.Action[i]]
		drawn.Propensities[3*i+1], drawn.Propensities[3*i+2] = .15, .35
		drawn.Propensity[i] = drawn.Propensities[3*i+int(drawn.Action[i])]
	}
	if s := state(drawn, first(drawn, 1)); s.Verdict != provenance.Doubted || s.Contradicted == "" || strings.Contains(s.Contradicted, "weights π/π₀") {
		t.Errorf("actions drawn by other propensities: %q, %q", s.Verdict, s.Contradicted)
	}
	// Each subject that no bound accounts for, and those that one does, whatever the check is called.
	const check = "a check of any name"
	for about, want := range map[inspect.Subject]provenance.Verdict{
		inspect.Draws: provenance.Doubted, inspect.Selection: provenance.Doubted, inspect.Sequence: provenance.Doubted,
		inspect.Drift: provenance.Better, inspect.IDs: provenance.Better, "": provenance.Better,
	} {
		c, err := provenance.Finding(sound, about).Target(nil, first(sound, 1), provenance.FixedBefore(), certify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Statement(); s.Verdict != want || (want == provenance.Doubted) != strings.HasPrefix(s.Contradicted, check) || len(s.Doubts) != 1 {
			t.Errorf("%q: %q, %q", about, s.Verdict, s.Contradicted)
		}
	}
	// Rows that depend on one another are no doubt where groups say which.
	grouped := flat(4000, 1./3)
	for i := range grouped.Action {
		grouped.Group = append(grouped.Group, int32(i/2))
	}
	c, err := provenance.Finding(grouped, inspect.Sequence).Target(nil, first(grouped, 1), provenance.FixedBefore(), certify.Options{})
	if err != nil || c.Statement().Verdict != provenance.Better {
		t.Errorf("a sequence within groups: %v, %v", c, err)
	}
	// More than the largest reward there is.
	tiny := flat(4000, 1./3)
	for i := range 3 {
		tiny.Propensity[i], tiny.Cost[i], tiny.Action[i] = 1e-30, -1, 0
	}
	_, err = provenance.New(tiny).Force().Target(nil, first(tiny, 1), provenance.FixedBefore(), certify.Options{})
	withheld(t, "propensities of 1e-30", err, "more than the largest reward there is")
}

// A row that shares a group with one that taught does not certify.
func TestApart_LeavesOutClustersOfTaughtRows(t *testing.T) {
	log := example(400)
	for i := range 400 {
		log.Group = append(log.Group, int32(i/20))
	}
	j := provenance.New(log)
	seen := make([]bool, 400)
	seen[45] = true
	if got, want := j.Apart(upTo(30, 70), seen), slices.Concat(upTo(30, 40), upTo(60, 70)); !slices.Equal(got, want) {
		t.Errorf("apart from row 45: %v", got)
	}
	_, err := j.Fixed(func(dst []float64, i int) error { copy(dst, []float64{1, 0, 0}); return nil },
		provenance.TaughtBy(propensity.NewRowSet(log.Hashes([]int{45}))), slices.Concat(upTo(0, 45), upTo(46, 400)), certify.Options{})
	withheld(t, "rows of the same group", err, "19 rows depend on rows that taught the policy")
}

// Rows that repeat an id, or are written twice under new ones, are of one cluster, and others are not.
func TestClusters_JoinRowsWithOneIdOrWrittenTwice(t *testing.T) {
	d := rows{seed: 1, d: 3}.draw(400)
	if u := collect(t, d).Clusters(); u != nil {
		t.Errorf("independent rows: clusters %v", u)
	}
	for what, renamed := range map[string]bool{"ids": false, "contents": true} {
		t.Run(what, func(t *testing.T) {
			var twice []logs.Decision
			for i, row := range d {
				again := row
				again.Context = slices.Clone(row.Context)
				if again.Action = i % 3; renamed {
					again.ID, again.Action = row.ID+"-2", row.Action
				} else {
					again.Context[0].Number += 1 + float64(i)
				}
				again.Propensity = again.Propensities[again.Action]
				twice = append(twice, row, again)
			}
			u := collect(t, twice).Clusters()
			if u == nil {
				t.Errorf("repeated %s: no clusters", what)
				return
			}
			for i, cluster := range u {
				if cluster != int32(i-i%2) {
					t.Fatalf("repeated %s: row %d is of the cluster of row %d", what, i, cluster)
				}
			}
		})
	}
}

// A sound log that happens to lack its few heaviest weights contradicts nothing: their spread is known where
// all propensities are.
func TestAdmits_AllowsLogsWithoutTheirRarestDraws(t *testing.T) {
	const n, rare = 2000, .0005
	l := &logs.Log{Actions: logs.Numbered(2), X: logs.Rows64{Width: 1, Data: make([]float64, n)}}
	for i := range n { // the second action was never drawn, as in one log of e
		l.X.(logs.Rows64).Data[i] = float64(i)
		l.Action, l.Cost = append(l.Action, 0), append(l.Cost, -float64(i%2))
		l.Propensity, l.Propensities = append(l.Propensity, 1-rare), append(l.Propensities, 1-rare, rare)
	}
	tenth := func(dst []float64, i int) error {
		dst[0], dst[1] = 1, 0
		if i%10 == 0 {
			dst[0], dst[1] = 0, 1
		}
		return nil
	}
	logged := make([]float64, n)
	for i := range logged {
		pi := make([]float64, 2)
		_ = tenth(pi, i)
		logged[i] = pi[0]
	}
	contradicts := func(pi func(dst []float64, i int) error) bool {
		t.Helper()
		c, err := provenance.New(l).Force().Target(pi, logged, provenance.FixedBefore(), certify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(c.Statement().Contradicted, "weights π/π₀")
	}
	if contradicts(tenth) {
		t.Error("a sound log whose propensities are all known is doubted")
	}
	l.Propensities = nil
	if !contradicts(nil) {
		t.Error("no row was logged with a small propensity, a tenth of the weight is missing, and nothing is doubted")
	}
	if l.Propensity[1], l.Action[1], logged[1] = rare, 1, 0; contradicts(nil) {
		t.Error("a sound log of rare draws is doubted")
	}
}
