package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel"
	"opl/policies/propensity"
	"opl/train/internal/keys"
	"opl/train/logs"
	"opl/train/regress"
)

const (
	refuted = 1000 // the e-value from which propensities are taken to be wrong
	ridge   = 4    // ½·ridge·‖W‖² beside the log-likelihood
	iterate = 20   // iterations of L-BFGS
	betRows = 512  // rows at a time
	sharp   = 4    // times which scores of regressions are bet on, too
)

// kind is a way of guessing the action: see bets, options for the two by options, and tilt.
type kind int

const (
	byShares kind = iota
	byContexts
	byRegression
	byRegressionSharply
	byOptions
	byOptionsSharply
	byTrees
	byTilt
	evenly
	kinds
)

var lambdas = [...]float64{0.01, 0.03, 0.1, 0.3, 0.6, 1}

// mostClasses is how many classes of actions have a regression each.
var mostClasses = 200

// wealth holds what bets have won for each Γ₀ and λ: a logarithm, and a factor that is
// not in it yet (0: none).
type wealth [2]struct{ log, factor [len(lambdas)]float64 }

// bet multiplies by 1 − λω + λω q/(Γ₀ π₀), where ω ≤ 1 and ratio is ω q/π₀, both means
// over the rows of a cluster.
func (p *wealth) bet(gammas [2]float64, weight, ratio float64) {
	low, high := math.Float64bits(1e-100), math.Float64bits(1e100)
	for g := range p {
		w, d, far := &p[g], ratio/gammas[g]-weight, false
		if w.factor[0] == 0 {
			w.factor = [...]float64{1, 1, 1, 1, 1, 1}
		}
		for l, f := range w.factor {
			f *= 1 + lambdas[l]*d
			w.factor[l] = f
			far = far || math.Float64bits(f)-low > high-low // f is outside
		}
		for l := 0; far && l < len(lambdas); l++ {
			w.log[l], w.factor[l] = w.log[l]+math.Log(w.factor[l]), 1
		}
	}
}

// value returns the logarithm of the mean over the grid of λ of what the bets have won.
func value(g int, all ...*wealth) float64 {
	var of [len(lambdas)]float64
	for _, p := range all {
		for l, f := range p[g].factor {
			of[l] += p[g].log[l] + math.Log(cmp.Or(f, 1))
		}
	}
	return logMean(of[:])
}

func logMean(x []float64) float64 { return floats.LogSumExp(x) - math.Log(float64(len(x))) }

// bets is the test of propensities by betting against them. Rows are cut in halves by a
// hash of their cluster: their group, or themselves. On each half guesses q(a|x) of the
// action are learned, and bet on in the other half; the e-value is the mean over both halves, the kinds of
// guess and a grid of λ in (0, 1] of
//
//	∏_u mean_{i∈u} (1 − λω_i + λω_i q(a_i|x_i)/(Γ₀ π₀(a_i|x_i)))
//
// over clusters u, with weights ω of rows over the largest. A list of which only the joint propensity is known is one
// draw, q the product over its slots. If a row's propensity is true
// within a factor Γ₀, its factor's mean is at most 1, as Σ_a π(a|x) q(a|x)/(Γ₀ π₀(a|x)) ≤
// Σ_a q(a|x) = 1 for every q that has not seen the row. Clusters are independent, so the
// e-value's mean is at most 1. By Markov's inequality it exceeds 1,000 in at most 1 of
// 1,000 sound logs. Guesses are, among what is offered, π₀ (if all propensities are known; else 1) times
// exp(b_a), of each action's share alone; the shares in rows of the same context, shrunk to
// those; exp(b_a + s w_aᵀx), a multinomial logistic regression, x with what the time tells; what
// describes the actions, see options; and what trees foresee, see forecast. s is 1 or sharp: with λ as much
// smaller, a bet wins about as much, and pays less for Γ₀, which costs λ(1 − 1/Γ₀) in every row. A last bet,
// on all rows, is on 1/K and needs no learning.
type bets struct {
	*reader
	cluster []uint64
	halves  [2][]int32 // rows by cluster
	width   int        // of a row's vector
	most    float64
	learned []kind   // guesses that halves learn
	options *options // what describes actions, of sets and of catalogues of many
	guesses [2]guess // learned on half 0 and half 1
	won     [2][kinds]wealth
	gammas  [2]float64 // Γ₀: 1, and propensity.Rounded or what propensities are said to be known up to
}

// shares hold what one half taught about actions: how often each was taken, relative to its propensities, in all
// rows and by context.
type shares struct {
	share, shift []float64 // exp(b_a), b_a
	table        byContext
}

// shares learns those of half h, and returns the weight of the rows of each action, too.
func (b *bets) shares(h int) (q shares, got []float64) {
	q = shares{make([]float64, b.k), make([]float64, b.k), byContext{}}
	got, want, all := make([]float64, b.k), make([]float64, b.k), 0.0
	for _, i := range b.halves[h] {
		i := int(i)
		w, pi, k := b.omega(i), b.Pi0(i), b.Options(i)
		got[b.Action[i]] += w
		switch {
		case pi == nil && !b.Sets():
			all += w / float64(k)
		case !b.Sets():
			floats.AddScaled(want, w, pi)
		default:
			for j := range k {
				a, _ := b.Option(i, j)
				p := 1 / float64(k)
				if pi != nil {
					p = pi[j]
				}
				want[a] += w * p
			}
		}
		if b.several(i) {
			q.table.add(b.contexts[i], b.Action[i], w)
		}
	}
	for a := range got {
		q.share[a] = (got[a] + 1) / (want[a] + all + 1)
		q.shift[a] = math.Log(q.share[a])
	}
	return q, got
}

// guess holds what one half taught. Of at most mostClasses actions each is a class of its own, and has its
// regression. Of more, those that were logged least are one class, which is divided among them by their shares.
type guess struct {
	shares
	sum     float64 // Σ_a exp(b_a)
	class   []int32 // of each action
	classes int
	w       blas64.General // by class
	trees   forecast
	tilt    tilt
}

// byAction reports that classes of actions have a regression each: not of catalogues, and sets, of many actions.
func (b *bets) byAction() bool { return b.Choices == nil || b.k <= mostClasses }

// bet adds the finding, and sets the report's Gamma. Estimated propensities, which
// certify nothing, are not bet on.
func (l *log) bet() {
	if l.Propensity == nil && !l.Lists.Jointly() || l.Estimated {
		return
	}
	b := &bets{reader: l.reader(min(64, max(8, 2000/l.MostOptions())))} // fewer if there are many actions
	b.timed()
	b.gammas = [2]float64{1, max(propensity.Rounded, l.gamma)}
	l.wins(b.run(), b.why)
	if n := len(b.halves[0]) + len(b.halves[1]); n < l.n {
		l.found[len(l.found)-1].Measured += fmt.Sprintf(", on %d of the rows", n)
	}
}

// betsOnPropensities names the check.
const betsOnPropensities = "bets on propensities"

// wins adds the finding of the logarithms of e-values; why says what they tell.
func (l *log) wins(e [2]float64, why func() string) {
	gamma := max(propensity.Rounded, l.gamma)
	f := Finding{Check: betsOnPropensities, About: Draws,
		Measured: fmt.Sprintf("e = %.3g where %d refutes them", math.Exp(e[1]), refuted),
		Numbers:  []Number{{"log e", e[1]}, {"log e, not rounded", e[0]}}}
	switch limit := math.Log(refuted); {
	case e[1] >= limit:
		f.Severity, l.report.Gamma, l.why = Unusable, gamma, why()
		if e[1] > 30 {
			f.Measured = fmt.Sprintf("e = 10^%.0f where %d refutes them", e[1]/math.Ln10, refuted)
		}
		f.Means = "the actions were not drawn with these propensities, or rows were written more than once: " + l.why
		f.Do = "log the probability that the action shown was drawn with, in its context and after all filters; " +
			"no estimate or guarantee from this log holds" + l.undrawn()
	case e[0] >= limit:
		l.report.Gamma = gamma
		f.Measured += fmt.Sprintf(", and e = %.3g if they were exact", math.Exp(e[0]))
		f.Means = fmt.Sprintf("they are not exact, and may be rounded: guarantees are to be computed with Γ = %v",
			gamma)
	}
	l.add(f)
}

// run returns the logarithms of the e-values, of each Γ₀.
func (b *bets) run() (e [2]float64) {
	if b.contexts == nil {
		b.contexts = make([]uint64, b.n)
		_, b.shared = keys.Sharing(b.contexts)
	}
	b.divide()
	if b.width = 1 + len(b.features); b.Lists != nil {
		b.width += b.ofContexts()
	}
	for i := range b.n {
		b.most = max(b.most, b.rowWeight(i))
	}
	b.learned = []kind{byShares, byContexts}
	if b.Propensity != nil {
		b.learned = append(b.learned, byTrees)
	}
	if b.byAction() {
		b.learned = append(b.learned, byRegression, byRegressionSharply)
	}
	if b.Choices != nil && (b.Sets() || !b.byAction()) {
		b.options = b.describe()
		if b.Sets() {
			b.learned = append(b.learned, byOptions, byOptionsSharply)
		}
		if len(b.options.items) > 0 && b.Propensity != nil {
			b.learned = append(b.learned, byTilt)
		}
	}
	var both sync.WaitGroup
	for h, half := range [2]*bets{b.alone(), b.alone()} {
		both.Go(func() { b.guesses[h] = half.learn(h) })
	}
	both.Wait()
	b.play(b.guessed())
	for g := range e {
		var all []float64
		for h := range b.won {
			for _, j := range b.learned {
				all = append(all, value(g, &b.won[h][j]))
			}
		}
		e[g] = logMean([]float64{logMean(all), value(g, &b.won[0][evenly], &b.won[1][evenly])})
	}
	return e
}

// mostBetOn limits, roughly, how many rows are bet on. Of a larger log some clusters are taken, by their hash. The
// e-value stays valid, since which clusters are left out does not depend on what they would win.
var mostBetOn uint64 = 1 << 24

// divide says which rows bet together: rows of a group, and rows of one id if ids repeat.
// If rows of one context agree more than draws would, rows of a context bet together, too, if
// they are fewer than 50 and all alike in action and cost, as rows that were written twice are. (Where
// actions follow the context against their propensities, rows of one context agree, too.)
func (b *bets) divide() {
	if _, b.cluster = b.Identity(); b.doubts(IDs) {
		b.cluster = b.Keys
	}
	if b.doubts(Repeats) || b.Group != nil {
		b.cluster = slices.Clone(b.cluster)
	}
	if b.doubts(Repeats) {
		of := map[uint64][]int{}
		for i, x := range b.contexts {
			of[x] = append(of[x], i)
		}
		for x, rows := range of {
			differs := func(i int) bool { return b.Action[i] != b.Action[rows[0]] || b.Cost[i] != b.Cost[rows[0]] }
			if len(rows) >= 50 || slices.ContainsFunc(rows, differs) {
				continue
			}
			for _, i := range rows {
				b.cluster[i] = x
			}
		}
	}
	for i, g := range b.Group {
		if g >= 0 {
			b.cluster[i] = keys.Mix(uint64(g) + 1<<40)
		}
	}
	each := 1 + uint64(b.n)/mostBetOn
	for h := range b.halves {
		n := b.n / int(each)
		b.halves[h] = make([]int32, 0, n/2+n/64)
	}
	for i, u := range b.cluster {
		if h := keys.Mix(u ^ 0x9e3779b97f4a7c15); each == 1 || h>>1%each == 0 {
			b.halves[h&1] = append(b.halves[h&1], int32(i))
		}
	}
	for _, rows := range b.halves {
		keys.SortRows(rows, b.cluster)
	}
}

// omega returns a row's weight, divided by the largest.
func (b *bets) omega(i int) float64 { return b.rowWeight(i) / b.most }

// vector writes 1 and the features of row i, of lists those of contexts again, for their first slot alone.
func (b *bets) vector(i int, dst []float64) {
	dst[0] = 1
	own, first := dst[1:1+len(b.features)], dst[1+len(b.features):b.width]
	if b.reader.vector(i, own); len(first) == 0 {
		return
	}
	if clear(first); b.Lists.Slot[i] == 1 {
		copy(first, own)
	}
}

// byContext holds sums of ω, in all and by action, for each context that several rows have.
type byContext map[uint64]float64

func (t byContext) add(context uint64, a int32, w float64) {
	t[context] += w
	t[keys.Mix(context+uint64(a)+1)] += w
}

// shrunk returns an action's share in rows of a context, shrunk to q as by 4 more rows.
func (t byContext) shrunk(context uint64, a int32, q float64) float64 {
	seen := t[context]
	if seen == 0 {
		return q
	}
	return (t[keys.Mix(context+uint64(a)+1)] + 4*q) / (seen + 4)
}

// offset writes the logarithm of Σ π₀(a|x_i) exp(b_a) over the actions a of each class that row i offers, π₀ = 1
// if it is not known.
func (b *bets) offset(i int, q *guess, dst []float64) {
	if b.Propensities == nil && q.classes == b.k && !b.Sets() {
		copy(dst, q.shift)
		return
	}
	clear(dst)
	pi := b.Pi0(i)
	for j := range b.Options(i) {
		a, odds := b.odds(i, j, pi, q.share)
		dst[q.class[a]] += odds
	}
	for c, v := range dst {
		dst[c] = math.Log(max(v, 1e-300))
	}
}

// odds returns the action of option j of row i, and its share, times its propensity if pi has that.
func (b *bets) odds(i, j int, pi, share []float64) (a int32, odds float64) {
	a, _ = b.Option(i, j)
	if odds = share[a]; pi != nil {
		odds *= pi[j]
	}
	return a, odds
}

// within returns the share of row i's action in its class, from the logarithm of the class's sum that
// offset writes.
func (b *bets) within(i int, q *guess, offset []float64) float64 {
	if q.classes == b.k {
		return 1
	}
	a, odds := b.odds(i, b.Chosen(i), b.Pi0(i), q.share)
	return odds / math.Exp(offset[q.class[a]])
}

// learn learns the guesses from the rows of half h.
func (b *bets) learn(h int) guess {
	shares, got := b.shares(h)
	q := guess{shares: shares, sum: floats.Sum(shares.share)}
	q.class, q.classes = classes(got)
	columns := 20 // for trees alone
	if b.byAction() {
		columns = q.classes
	}
	// Time is rows × classes × width, and as many exponentials.
	most := max(1000, min(50_000, 3_000_000/(columns*(b.width+20))))
	var rows []int
	for at := 0; at < len(b.halves[h]); at += 1 + (len(b.halves[h])-1)/most {
		rows = append(rows, int(b.halves[h][at]))
	}
	x := regress.Matrix{Width: b.width, Stride: b.width, Data: make([]float64, len(rows)*b.width)}
	for r, i := range rows {
		b.vector(i, x.Data[r*b.width:(r+1)*b.width])
	}
	if b.byAction() {
		q.w = b.regress(rows, x, &q)
	}
	if b.Propensity != nil {
		q.trees = b.foresee(rows, x)
	}
	if b.Sets() {
		b.options.taught[h] = b.options.lesson(b.halves[h], q.shift).regress()
	}
	if slices.Contains(b.learned, byTilt) {
		q.tilt = b.options.lean(rows, x)
	}
	return q
}

// classes puts each action into a class of its own; of more than mostClasses those of the least weight into one, 0.
func classes(got []float64) (class []int32, n int) {
	order := make([]int32, len(got))
	for a := range order {
		order[a] = int32(a)
	}
	if len(got) <= mostClasses {
		return order, len(got)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(got[b], got[a]) })
	class = make([]int32, len(got))
	for at, a := range order[:mostClasses-1] {
		class[a] = int32(at + 1)
	}
	return class, mostClasses
}

func matrix(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// regress minimizes −Σ_i ω_i log q(c_i|x_i) + ½ ridge ‖W‖² over W [classes×width], c_i the class of the
// action, in a few iterations: any W makes a valid bet.
func (b *bets) regress(rows []int, x regress.Matrix, q *guess) blas64.General {
	w := matrix(q.classes, x.Width)
	if len(rows) == 0 || x.Width == 1 {
		return w
	}
	class, weight, offsets := make([]int32, len(rows)), make([]float64, len(rows)), make([]float64, len(rows)*q.classes)
	for r, i := range rows {
		class[r], weight[r] = q.class[b.Action[i]], b.omega(i)
		b.offset(i, q, offsets[r*q.classes:(r+1)*q.classes])
	}
	theta, err := regress.Multinomial(context.Background(), x, class, q.classes,
		regress.Options{Weight: weight, Offset: offsets, Penalties: []float64{ridge}, Iterations: iterate})
	if err == nil {
		w.Data = theta
	}
	return w
}

// played holds rows of a half that are guessed at together.
type played struct {
	half   int
	rows   []int
	x      blas64.General
	scores [3]blas64.General // of the regression, more sharply, and of shares alone
}

func (b *bets) newPlayed(half int) *played {
	p := &played{half: half, rows: make([]int, 0, betRows), x: matrix(betRows, b.width)}
	for j := range p.scores {
		p.scores[j] = matrix(betRows, min(b.k, mostClasses))
	}
	return p
}

// guessing holds what is known of a row when it is bet on.
type guessing struct {
	cluster uint64
	p       float64        // ω_i/π₀; where only a list has one, of its first slot: 1 of others
	q       [kinds]float64 // of the logged action, by the guesses of the other half
	staked  float64        // the sum of what trees bet on all actions; of others it is 1
}

// guessed lists the rows of the first half and then of the second, in their order there. The log is read in its
// own.
func (b *bets) guessed() []guessing {
	all := make([]guessing, len(b.halves[0])+len(b.halves[1]))
	place := slices.Repeat([]int32{-1}, b.n) // negative: a row is not bet on
	for h, rows := range b.halves {
		for at, i := range rows {
			place[i] = int32(h*len(b.halves[0]) + at)
		}
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			c := b.alone()
			halves := [2]*played{c.newPlayed(0), c.newPlayed(1)}
			for from := int(next.Add(betRows)) - betRows; from < c.n; from = int(next.Add(betRows)) - betRows {
				for i, at := range place[from:min(from+betRows, c.n)] {
					p := halves[0]
					if at < 0 {
						continue
					}
					if int(at) >= len(c.halves[0]) {
						p = halves[1]
					}
					r := len(p.rows)
					c.vector(from+i, p.x.Data[r*c.width:(r+1)*c.width])
					p.rows = append(p.rows, from+i)
				}
				for _, p := range halves {
					c.guess(p, place, all)
					p.rows = p.rows[:0]
				}
			}
		})
	}
	workers.Wait()
	return all
}

// alone returns the bets with a buffer of their own, for another goroutine.
func (b *bets) alone() *bets {
	c := *b
	c.reader = b.reader.alone()
	if b.options != nil {
		c.options = b.options.alone(&c)
	}
	return &c
}

// guess writes what is known of some rows to their places.
func (b *bets) guess(p *played, place []int32, all []guessing) {
	if len(p.rows) == 0 {
		return
	}
	guess, scores := &b.guesses[1-p.half], &p.scores
	k := guess.classes
	var within []float64
	if b.byAction() {
		within = b.scores(p, guess)
	}
	for r, i := range p.rows {
		c, x := int(guess.class[b.Action[i]]), p.x.Data[r*b.width:(r+1)*b.width]
		g := guessing{cluster: b.cluster[i], p: 1}
		switch {
		case b.Propensity != nil:
			g.p = b.omega(i) / b.Propensity[i]
		case b.Lists.Slot[i] == 1:
			g.p = b.omega(i) / b.Lists.Joint[b.Lists.Of[i]]
		}
		if b.byAction() {
			g.q[byShares] = scores[2].Data[r*k+c] * within[r]
			g.q[byRegression], g.q[byRegressionSharply] = scores[0].Data[r*k+c]*within[r], scores[1].Data[r*k+c]*within[r]
		} else {
			g.q[byShares] = b.share(i, guess)
		}
		g.q[byContexts] = b.inContext(i, guess.table, g.q[byShares])
		if b.Sets() {
			b.options.guess(i, b.options.taught[1-p.half], guess.shift, &g)
		}
		if guess.tilt.m.Data != nil {
			g.q[byTilt] = b.options.leaned(i, &guess.tilt, x)
		}
		g.q[byTrees], g.staked = guess.trees.bet(b, i, x)
		g.q[evenly] = 1 / float64(b.Options(i))
		all[place[i]] = g
	}
}

// scores writes what the regression, more sharply, and shares alone guess of the classes in some rows, and returns
// the share of each row's action in its class.
func (b *bets) scores(p *played, guess *guess) (within []float64) {
	k, scores := guess.classes, &p.scores
	for j := range scores {
		scores[j].Rows, scores[j].Data = len(p.rows), scores[j].Data[:len(p.rows)*k]
	}
	shares := scores[2].Data
	for r, i := range p.rows {
		b.offset(i, guess, shares[r*k:(r+1)*k])
		within = append(within, b.within(i, guess, shares[r*k:(r+1)*k]))
	}
	x := p.x
	x.Rows = len(p.rows)
	for j, s := range [...]float64{1, sharp} {
		copy(scores[j].Data, shares)
		blas64.Gemm(blas.NoTrans, blas.Trans, s, x, guess.w, 1, scores[j])
	}
	for _, s := range scores {
		kernel.Softmax(s.Data, s.Data, k)
	}
	return within
}

// share is the share of row i's action among what it offers.
func (b *bets) share(i int, q *guess) float64 {
	pi, sum := b.Pi0(i), q.sum
	_, own := b.odds(i, b.Chosen(i), pi, q.share)
	if pi != nil || b.Sets() {
		sum = 0
		for j := range b.Options(i) {
			_, odds := b.odds(i, j, pi, q.share)
			sum += odds
		}
	}
	return own / sum
}

// play bets on every row by the guesses of the other half, and by 1/K. Rows of a cluster are one.
func (b *bets) play(all []guessing) {
	from := [2][]guessing{all[:len(b.halves[0])], all[len(b.halves[0]):]}
	played, joint := append(slices.Clone(b.learned), evenly), b.Lists.Jointly()
	var unit [kinds]float64
	for j := range unit {
		unit[j] = 1
	}
	var both sync.WaitGroup
	for h, rows := range b.halves {
		both.Go(func() {
			var n float64 // of a cluster's draws
			var ratio, weight [kinds]float64
			draw := unit
			for at, i := range rows {
				g := &from[h][at]
				for j, v := range g.q {
					draw[j] *= v * g.p
				}
				if joint && at+1 < len(rows) && b.Lists.Of[rows[at+1]] == b.Lists.Of[i] {
					continue // with the slots below
				}
				omega := b.omega(int(i))
				for j, v := range draw {
					ratio[j], weight[j] = ratio[j]+v, weight[j]+omega
				}
				weight[byTrees] += omega * (g.staked - 1)
				draw = unit
				if n++; at+1 < len(rows) && from[h][at+1].cluster == g.cluster {
					continue
				}
				for _, j := range played {
					b.won[h][j].bet(b.gammas, weight[j]/n, ratio[j]/n)
				}
				n = 0
				clear(ratio[:])
				clear(weight[:])
			}
		})
	}
	both.Wait()
}

// inContext moves q toward the shares in rows of the context of row i, if several rows may have that context.
func (b *bets) inContext(i int, table byContext, q float64) float64 {
	if b.several(i) {
		return table.shrunk(b.contexts[i], b.Action[i], q)
	}
	return q
}

// several reports that more than one row may have the context of row i.
func (l *log) several(i int) bool { return l.shared.Has(l.contexts[i]) }

// why says what tells most, by the bets that won most.
func (b *bets) why() string {
	won := func(j kind) float64 { return value(1, &b.won[0][j], &b.won[1][j]) }
	best := slices.MaxFunc(b.learned, func(i, j kind) int { return cmp.Compare(won(i), won(j)) })
	if b.Propensity == nil || b.Choices != nil && best != byRegression && best != byRegressionSharply && best != byTrees {
		return cmp.Or(b.options, &options{bets: b, taught: new([2][]float64)}).why(best)
	}
	weight, top := make([]float64, len(b.features)), logs.Every(len(b.features))
	for _, q := range b.guesses {
		for j, v := range q.w.Data {
			if t := j % q.w.Cols; t > 0 && best != byTrees {
				weight[(t-1)%len(weight)] += v * v
			}
		}
		for t, v := range q.trees.leads {
			if t > 0 && best == byTrees {
				weight[(t-1)%len(weight)] += v
			}
		}
	}
	slices.SortStableFunc(top, func(f, g int) int { return cmp.Compare(weight[g], weight[f]) })
	top = top[:min(3, len(top))]

	type place [3]string // what is so of some of the top features
	rows, raw := map[place][]int{}, make([]float64, len(b.features))
	for i := 0; i < b.n && b.byAction(); i += 1 + b.n/10_000 {
		clear(raw)
		b.each(i, func(f int, v float64) { raw[f] = v })
		for set := min(1, len(top)); set < 1<<len(top); set++ {
			var c place
			for t, f := range top {
				if set>>t&1 == 1 {
					c[t] = b.features[f].is(raw[f])
				}
			}
			rows[c] = append(rows[c], i)
		}
	}
	most, text := 0.0, "bets on the actions win"
	for _, c := range slices.SortedFunc(maps.Keys(rows), func(c, d place) int { return slices.Compare(c[:], d[:]) }) {
		taken, said, offered := make([]float64, b.k), make([]float64, b.k), make([]float64, b.k)
		for _, i := range rows[c] {
			taken[b.Action[i]]++
			if b.Propensities == nil {
				said[b.Action[i]] += 1 / b.Propensity[i]
			}
			pi := b.Pi0(i)
			for j := range b.Options(i) {
				a, _ := b.Option(i, j)
				if offered[a]++; pi != nil {
					said[a] += pi[j]
				}
			}
		}
		at := slices.DeleteFunc(c[:], func(s string) bool { return s == "" })
		// plainer places are preferred
		plain, where := math.Pow(0.7, float64(len(at))), "where "+strings.Join(at, " and ")+", "
		if len(at) == 0 {
			where = ""
		}
		for a, t := range taken {
			n := max(offered[a], 1)
			p := said[a] / n
			if b.Propensities == nil {
				p = t / max(said[a], 1)
			}
			if z := plain * math.Abs(t-n*p) / math.Sqrt(n*p*(1-p)+1); z > most {
				most = z
				text = fmt.Sprintf("%saction %s was taken in %.2g %% of rows, and its propensities say %.2g %%",
					where, b.Actions[a], 100*t/n, 100*p)
			}
		}
	}
	for t, f := range top {
		text += [...]string{"; what tells most: ", ", ", ", "}[t] + b.features[f].name
	}
	return text
}

// is says of a whole number what it is, of others on which side of the mean.
func (f *feature) is(v float64) string {
	switch {
	case strings.Contains(f.name, "=") && v*v == v:
		return [...]string{"not ", ""}[int(v)] + f.name
	case v == math.Trunc(v):
		return fmt.Sprintf("%s is %.4g", f.name, v)
	case v > f.mean:
		return fmt.Sprintf("%s is above %.3g", f.name, f.mean)
	}
	return fmt.Sprintf("%s is at most %.3g", f.name, f.mean)
}
