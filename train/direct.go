package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"opl/policies/features"
	"opl/train/logs"
	"opl/train/regress"
)

// Direct learns models of the reward from tables,
//
//	r̂(x, a) = σ(Σ_m w_m s_ma(x)),   w_m ≥ 0,
//
// a mixture of several kinds of scores s_m, which [Learners] lists, and plays the action whose r̂ is the largest. Where
// actions have features a row is x and z(a) together, of one score: s_m(x, z(a)), see [Jointly].
// Folds choose the weights w_m by the log-loss of rows that taught no score. Where other kinds tell much better
// what actions share, w_m are the weights of what they differ in: r̂ ranks actions, its level is rough. Actions that
// are numbers have curves, cliffs and trees of all actions alone, which know what is next to what. Exclusive scores,
// of exactly one right action in each context, are used where the rewards of all actions seem to sum to 1 and
// held-out rows speak for them. Where every reward is what its action is worth, as a price, or the same nothing, σ is
// how often it is earned: r̂ = low + (worth_a − low) σ.
//
// What was chosen is kept: later rows of the same log are learned from without choosing again, until there are
// twice as many.
type Direct struct {
	Encoder *features.Encoder // of the log's contexts: which features are of one category; nil: none is
	Items   *features.Items   // likewise of actions with features
	Threads int               // that learn at once; 0: one
	Layers  int               // rows that a log needs for layers to be learned by gradients beside

	may   func(name string) bool // a kind of that name is to be used; nil: all are
	tuned []tuned                // of each kind that is in use
	whole bool                   // rewards are never taken for sales
	sold  bool                   // for sales
	rows  int                    // that it was chosen on
	read  int                    // rows that were learned from last,
	of    int                    // of so many
	first int                    // rows of the first sample, 0: firstSample
	won   int                    // the most rows on which it was the best candidate of a recipe
	tau   float64                // the temperature that a recipe then chose, 0: the largest score
}

// tuned is what was chosen for a kind of scores.
type tuned struct {
	kind
	weight float64 // w_m
	tuning *tuning
}

// kind is a way to learn scores.
type kind struct {
	name, about string
	scales      string // the kind whose tuning it shares; "": none
	regression  bool   // its last layer is linear, which θ can hold
	// fits says whether it is of use for a table.
	fits func(t *table) bool
	// tune chooses what fit needs, or adapts what was chosen (p) to some of the rows; nil: fit needs nothing.
	tune func(ctx context.Context, t *table, rows []int, p *tuning) (*tuning, error)
	// fit learns from rows the layers that give the scores [K].
	fit func(ctx context.Context, t *table, rows []int, p *tuning) ([]features.Layer, error)
}

// tuning is how contexts are expanded, and how large the coefficients of what comes out are.
type tuning struct {
	before  []features.Layer
	strata  []int // of what comes out
	scales  regress.Scales
	waves   *regress.Waves
	slope   float64 // of ridge
	deep    bool    // trees are
	heldOut *held   // if it was needed to choose
}

// held are a kind's scores of rows that it did not learn from: those of the logged actions, and the means of all.
type held struct{ logged, mean []float64 }

// at are the scores of some of the rows.
func (h held) at(rows []int) held { return held{logs.Pick(h.logged, rows), logs.Pick(h.mean, rows)} }

// table is contexts, actions and rewards of rows.
type table struct {
	x       regress.Matrix // φ(x), and where actions have features z(a) behind it, of one output
	context int            // features of φ(x) before z(a); 0: actions have none
	own     int            // the first that tells an action by its name; 0: none does
	coded   *coded         // φ(x) of a wide table, of which x has the width alone
	rows    []int          // of the log
	action  []int32
	y       []float64 // rewards in [0, 1]
	k       int
	numeric *numbers // of actions that are numbers; nil: they are names
	// oneRight is what the mean of r/π₀ says for exactly one right action, whose rewards sum to 1, beside sums from
	// N(1, 1): its log-likelihood ratio, at most 0.
	oneRight float64
	sales    *sales // that y are; nil: they are rewards
	fold     []int
	folds    int
	numbers  []int32 // features that have more than two values, and those that have one
	constant []int32
	groups   [][]int32 // features of one category each
	threads  int
}

const (
	mostTable     = 1 << 25 // numbers of a table: of more rows some are left out
	mostTuning    = 10_000  // rows that scales and weights are chosen on
	leastWeighed  = 15_000  // rows of a table from which weights, and the depth of trees, are chosen again
	mostWeighed   = 40_000  // rows that they are then chosen on
	mostOutputs   = 1 << 14 // elements of θ [K×MK] of a mixture, beyond which θ holds the regressions
	mostSelected  = 1 << 18 // elements of θ that select scores of other kinds
	mostRegressed = 1 << 18 // elements of θ that hold a regression on more than the features
	mostScaling   = 1 << 22 // numbers that scales are learned from
	mostCoded     = 40_000  // rows of coded tables that scales are chosen on
	mostAgain     = 1_000   // rows up to which all scales of folds are updated until they settle, as those of features are
	scaledAgain   = 2       // updates of other scales of folds, from those of all rows
	leastAgain    = .05     // scale of all rows from which those of folds begin, at least
	mostProducts  = 2100
	mostNamed     = 1000 // products of actions' names with contexts
	knots         = 20   // of a number, at most, in pieces
	leastCodes    = 9    // values of a number that may be a code; pieces tell fewer apart
	mostCodes     = 60   // of them, each of ten rows on average
	mostTimes     = 200  // of a number such as the hour of the week, where numbers of fewer leave room
	mostIndicated = 256  // of all values of such numbers
)

// Learn learns from some rows of a log with contexts and a fixed list of actions, or actions that are encoded.
func (d *Direct) Learn(ctx context.Context, log *logs.Log, rows []int) (Component, error) {
	t := d.coded(log, rows)
	if t == nil {
		t = d.table(log, rows)
	}
	d.read, d.of = len(t.rows), len(rows)
	if err := d.tune(ctx, t); err != nil {
		return Component{}, err
	}
	threads := t.threads
	if len(t.y)*t.wide() > mostScaling { // each kind takes memory
		threads = 1
	}
	chains := make([][]features.Layer, len(d.tuned))
	err := d.each(threads, func(m int, of *tuned) (err error) {
		chains[m], err = of.fit(ctx, t, t.all(), of.tuning)
		return err
	})
	if err != nil {
		return Component{}, err
	}
	return d.component(t, chains), nil
}

// component is the weighted sum of the scores that chains give, h(x)ᵀθ_a. Of many actions θ holds the last layers
// of regressions, K×D numbers, and not the K² that select what they give.
func (d *Direct) component(t *table, chains [][]features.Layer) Component {
	var theta []float64
	held, one := t.k*t.k*len(chains) > mostOutputs, false
	for a := range t.k {
		bias := 0.
		for m, of := range d.tuned {
			if last := chains[m][len(chains[m])-1]; held && of.regression {
				at := len(theta)
				theta = append(theta, last.Weights[a]...)
				floats.Scale(of.weight, theta[at:])
				bias, one = bias+of.weight*last.Bias[a], true
			} else {
				theta = append(theta, make([]float64, t.k)...)
				theta[len(theta)-t.k+a] = of.weight
			}
		}
		if one {
			theta = append(theta, bias)
		}
	}
	if one {
		for m, of := range d.tuned {
			if of.regression {
				chains[m] = chains[m][:len(chains[m])-1]
			}
		}
		chains = append(chains, []features.Layer{{Trees: &features.Forest{In: t.x.Width, Base: []float64{1}}}})
	}
	layers := chains[0]
	if len(chains) > 1 {
		layers = []features.Layer{{Branches: &features.Branches{In: t.x.Width, Chains: chains}}}
	}
	switch {
	case t.sales != nil && t.context > 0:
		layers, theta = t.sales.linkPairs(layers, theta, t.context), identity(1)
	case t.sales != nil:
		layers, theta = append(slices.Clip(layers), t.sales.link(theta)...), identity(t.k)
	}
	if t.context > 0 {
		return Component{Weight: 1, Theta: theta, In: Jointly(append([]features.Layer{{Clip: t.seen()}}, layers...))}
	}
	return Component{Weight: 1, Theta: theta, In: Layered(layers)}
}

// seen are the ranges of the features: an action that is unlike all that were tried counts as the last one that was.
func (t *table) seen() *features.Clip {
	n := t.x.Width
	c := &features.Clip{Low: slices.Clone(t.x.Data[:n]), High: slices.Clone(t.x.Data[:n])}
	for i, v := range t.x.Data {
		c.Low[i%n], c.High[i%n] = min(c.Low[i%n], v), max(c.High[i%n], v)
	}
	return c
}

// each works on the kinds that are in use, several at a time, and names the kind in an error.
func (d *Direct) each(threads int, work func(m int, of *tuned) error) error {
	var group errgroup.Group
	group.SetLimit(threads)
	for m := range d.tuned {
		group.Go(func() error {
			if err := work(m, &d.tuned[m]); err != nil {
				return fmt.Errorf("train: %s: %w", d.tuned[m].name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// String names the kinds that are in use.
func (d *Direct) String() string {
	var names []string
	for _, of := range d.tuned {
		names = append(names, of.name)
	}
	text := direct + " (" + strings.Join(names, " + ") + ")"
	if d.sold {
		text += " of sales"
	}
	if d.read < d.of {
		text += fmt.Sprintf(" from %d evenly spaced rows of %d", d.read, d.of)
	}
	return text
}

// table reads rows, or every so many of them.
func (d *Direct) table(log *logs.Log, rows []int) *table {
	dim := log.Dim()
	if log.Choices != nil {
		dim += log.Choices.Z.Dim()
	}
	rows = evenly(rows, mostTable/max(1, dim))
	t := d.rewards(log, rows)
	rows, t.x.Width = t.rows, dim
	t.x.Data = make([]float64, len(rows)*dim)
	for _, i := range inOrder(rows) {
		row := t.x.Data[i*dim : (i+1)*dim]
		if log.X.Row64(log.Context(rows[i]), row[:log.Dim()]); t.context > 0 {
			_, item := log.Option(rows[i], log.Chosen(rows[i]))
			log.Choices.Z.Row64(item, row[t.context:])
		}
	}
	for j := range dim {
		t.count(int32(j), values(t.x, j))
	}
	if t.context > 0 && !d.whole {
		t.sellPairs()
	}
	return t
}

// rewards is a table without its contexts.
func (d *Direct) rewards(log *logs.Log, rows []int) *table {
	dim, n := log.Dim(), len(rows)
	fold := rand.New(rand.NewPCG(1, 0xf01d)) // by chance: every so many rows are of all folds
	t := &table{x: regress.Matrix{Width: dim}, k: log.K(), threads: max(1, d.Threads), rows: rows,
		numeric: numbersOf(log, rows)}
	t.action, t.y, t.fold = make([]int32, n), make([]float64, n), make([]int, n)
	if t.folds = 5; n > 1000 {
		t.folds = 3
	}
	all := make([]float64, n) // estimates of Σ_a r(x, a)
	for i, r := range rows {
		t.action[i], t.y[i], t.fold[i] = log.Action[r], -log.Cost[r], fold.IntN(t.folds)
		if all[i] = t.y[i]; log.Propensity != nil {
			all[i] /= log.Propensity[r]
		}
		if g := groupOf(log, r); g >= 0 {
			t.fold[i] = g % t.folds
		}
	}
	mean, sd := stat.MeanStdDev(all, nil)
	se := stat.StdErr(sd, float64(n))
	t.oneRight = min(0, -(mean-1)*(mean-1)/(2*se*se)-math.Log(se))
	if d.Encoder != nil && d.Encoder.Dim() == dim {
		t.groups = d.Encoder.Categories()
	}
	switch {
	case log.Choices != nil:
		d.pair(t, log)
	case !d.whole:
		t.sell()
	}
	return t
}

// pair makes a table one of contexts and actions together, which are next to each other in a row.
func (d *Direct) pair(t *table, log *logs.Log) {
	t.k, t.context, t.oneRight = 1, log.Dim(), math.Inf(-1)
	clear(t.action)
	if d.Items == nil {
		return
	}
	of := d.Items.Encoder.Categories()
	if n := d.Items.Encoder.Dim(); d.Items.Dim() > n+1 {
		own := make([]int32, d.Items.Dim()-n)
		for j := range own {
			own[j] = int32(n + j)
		}
		of, t.own = append(of, own), t.context+n
	}
	for _, group := range of {
		for j := range group {
			group[j] += int32(t.context)
		}
	}
	t.groups = append(slices.Clip(t.groups), of...)
}

// inOrder are the places of rows in the order of the log, in which contexts of a file larger than memory are read.
func inOrder(rows []int) []int {
	order := logs.Every(len(rows))
	slices.SortFunc(order, func(i, j int) int { return rows[i] - rows[j] })
	return order
}

// count keeps of a feature how many values it has.
func (t *table) count(j int32, values int) {
	switch values {
	case 1:
		t.constant = append(t.constant, j)
	case 3:
		t.numbers = append(t.numbers, j)
	}
}

// values counts the values of a column, to 3.
func values(x regress.Matrix, j int) int {
	var seen [2]float64
	n := 0
	for ; j < len(x.Data); j += x.Width {
		v := x.Data[j]
		if slices.Contains(seen[:n], v) {
			continue
		}
		if n == 2 {
			return 3
		}
		seen[n] = v
		n++
	}
	return n
}

// row is φ(x) of a row, in buf [Width] if it is coded.
func (t *table) row(r int, buf []float64) []float64 {
	if t.coded != nil {
		return t.coded.row(r, buf)
	}
	return t.x.Data[r*t.x.Width : (r+1)*t.x.Width]
}

// column is feature j, that is no category's, in rows.
func (t *table) column(j int32, rows []int, each int) (of []float64) {
	x, at := t.x, int(j)
	if t.coded != nil {
		x, at = t.coded.numbers, int(t.coded.place[j])
	}
	for i := 0; i < len(rows); i += each {
		of = append(of, x.Data[rows[i]*x.Width+at])
	}
	return of
}

// evenly are at most so many of the rows, evenly spaced: a log may be sorted.
func evenly(rows []int, most int) []int {
	if len(rows) <= most {
		return rows
	}
	some := make([]int, most)
	for i := range some {
		some[i] = rows[i*len(rows)/most]
	}
	return some
}

func (t *table) all() []int { return logs.Every(len(t.y)) }

// tune chooses what each kind needs, and by folds the weights of the kinds, where there are twice as many rows as last
// time.
func (d *Direct) tune(ctx context.Context, t *table) error {
	if d.tuned != nil && d.sold == (t.sales != nil) && (len(t.y) < 2*d.rows || d.rows >= mostTuning) {
		return nil
	}
	d.rows, d.sold = len(t.y), t.sales != nil
	rows := evenly(t.all(), mostTuning)
	y := logs.Pick(t.y, rows)
	d.tuned = nil
	all := kinds()
	if d.may == nil && curves().fits(t) { // others do not know that actions are neighbours
		all = all[slices.IndexFunc(all, func(k kind) bool { return k.name == curvesName }):]
	}
	var of, exclusive []kind
	for _, k := range all {
		switch {
		case d.may != nil && !d.may(k.name) || !k.fits(t):
		case d.may == nil && strings.HasPrefix(k.name, exclusiveName):
			if t.oneRight > -unlikely {
				exclusive = append(exclusive, k)
			}
		default:
			of = append(of, k)
		}
	}
	if len(of) == 1 && exclusive == nil { // there is nothing to weigh
		only := tuned{kind: of[0], weight: 1}
		if only.tune != nil {
			var err error
			t, rows := t.again(rows)
			if only.tuning, err = only.tune(ctx, t, rows, nil); err != nil {
				return fmt.Errorf("train: %s: %w", only.name, err)
			}
		}
		d.tuned = []tuned{only}
		return nil
	}
	scores, err := d.cross(ctx, t, rows, nil, of)
	if err != nil {
		return err
	}
	if len(d.tuned) == 0 {
		var named []string
		for _, k := range kinds() {
			if d.may == nil || d.may(k.name) {
				named = append(named, fmt.Sprintf("%s (%s)", k.name, k.about))
			}
		}
		return fmt.Errorf("train: too few rows or numbers, or too many features, for the learners that may be used: %s",
			strings.Join(named, ", "))
	}
	if len(exclusive) > 0 {
		if scores, err = d.crossExclusive(ctx, t, rows, y, scores, exclusive); err != nil {
			return err
		}
	}
	if err := d.weigh(ctx, t, scores, y); err != nil || len(t.y) < leastWeighed {
		return err
	}
	return d.weighAgain(ctx, t, rows, of)
}

// weigh keeps the kinds that are of use, by their scores of rows that they did not learn from.
func (d *Direct) weigh(ctx context.Context, t *table, scores []held, y []float64) error {
	decides := !d.whole && t.sales == nil && t.context == 0 && t.numeric == nil // what actions differ in, alone
	logits, beside, err := apart(ctx, scores, y, decides)
	if err != nil {
		return err
	}
	weakest := t.numeric != nil || t.embedded()
	weights, err := mixture(ctx, logits, beside, y, len(t.y) >= mostTuning || weakest, weakest)
	if err != nil {
		return err
	}
	var used []tuned
	for m, w := range weights {
		if d.tuned[m].weight = w; w > 0 {
			used = append(used, d.tuned[m])
		}
	}
	d.tuned = used
	return nil
}

// apart are the columns that weights are chosen of. What actions share may be told best by other kinds than what they
// differ in: if the log-loss says so, these are the differences from the mean of all actions, and the means are beside.
func apart(ctx context.Context, scores []held, y []float64, may bool) (logits, beside [][]float64, err error) {
	var differences, means [][]float64
	for _, s := range scores {
		logits, means = append(logits, s.logged), append(means, s.mean)
		differences = append(differences, floats.SubTo(make([]float64, len(y)), s.logged, s.mean))
	}
	if !may || len(scores) == 1 {
		return logits, nil, nil
	}
	all := logs.Every(len(scores))
	_, together, err := stack(ctx, logits, all, nil, y)
	if err != nil {
		return nil, nil, err
	}
	_, loss, err := stack(ctx, differences, all, means, y)
	if err != nil || loss+leastShared > together {
		return logits, nil, err
	}
	return differences, means, nil
}

// weighAgain weighs by more rows the kinds in use and, of those that fit, trees, which are of use only to many rows.
func (d *Direct) weighAgain(ctx context.Context, t *table, rows []int, of []kind) error {
	more := slices.DeleteFunc(slices.Clone(of), func(k kind) bool { return k.name != treesName })
	d.tuned = slices.DeleteFunc(d.tuned, func(of tuned) bool { return of.name == treesName })
	if len(d.tuned) == 1 && len(more) == 0 {
		d.tuned[0].weight = 1
		return nil
	}
	t, rows = t.again(rows)
	scores := make([]held, len(d.tuned))
	err := d.each(t.threads, func(m int, of *tuned) (err error) {
		_, scores[m], err = t.cross(ctx, of.kind, of.tuning, rows)
		return err
	})
	if err != nil {
		return err
	}
	if scores, err = d.cross(ctx, t, rows, scores, more); err != nil {
		return err
	}
	at := t.judged(rows)
	for m, s := range scores {
		scores[m] = s.at(at)
	}
	return d.weigh(ctx, t, scores, logs.Pick(logs.Pick(t.y, rows), at))
}

// again returns more rows of a large table, and the table with the first fold alone to judge; else the table and rows.
func (t *table) again(rows []int) (*table, []int) {
	once, more := *t, evenly(t.all(), mostWeighed)
	once.folds = 1
	if len(t.y) < leastWeighed || len(once.judged(more)) == 0 { // few groups may all be in others
		return t, rows
	}
	return &once, more
}

// judged are the places of rows that heldOut gives scores of.
func (t *table) judged(rows []int) (at []int) {
	for i, r := range rows {
		if t.fold[r] < t.folds {
			at = append(at, i)
		}
	}
	return at
}

// cross takes kinds into use, and appends their scores by folds that they did not learn from.
func (d *Direct) cross(ctx context.Context, t *table, rows []int, scores []held, of []kind) ([]held, error) {
	first := len(d.tuned)
	selected := 0 // kinds whose scores θ selects
	for _, of := range d.tuned {
		if !of.regression {
			selected++
		}
	}
	for _, kind := range of {
		if kind.regression || len(d.tuned) == 0 || t.k*t.k*(selected+1) <= mostSelected {
			if !kind.regression {
				selected++
			}
			kind := tuned{kind: kind}
			if at := slices.IndexFunc(d.tuned, func(o tuned) bool { return o.name == kind.scales }); at >= 0 {
				kind.tuning = d.tuned[at].tuning
			}
			d.tuned = append(d.tuned, kind)
		}
	}
	scores = append(scores, make([]held, len(d.tuned)-first)...)
	return scores, d.each(t.threads, func(m int, of *tuned) (err error) {
		if m >= first {
			of.tuning, scores[m], err = t.cross(ctx, of.kind, of.tuning, rows)
		}
		return err
	})
}

// crossExclusive takes kinds of exclusive scores into use if held-out rows have less log-loss with them than without,
// by what the sum of rewards says against them.
func (d *Direct) crossExclusive(ctx context.Context, t *table, rows []int, y []float64, scores []held,
	of []kind) ([]held, error) {
	before := len(d.tuned)
	all, err := d.cross(ctx, t, rows, scores, of)
	if err != nil {
		return nil, err
	}
	var logits [][]float64
	for _, s := range all {
		logits = append(logits, s.logged)
	}
	_, without, err := stack(ctx, logits, logs.Every(before), nil, y)
	if err != nil {
		return nil, err
	}
	_, with, err := stack(ctx, logits, logs.Every(len(all)), nil, y)
	if err != nil {
		return nil, err
	}
	if with+needless < without+t.oneRight {
		return all, nil
	}
	d.tuned = d.tuned[:before]
	return scores, nil
}

// cross tunes a kind that is not yet, and returns its scores by folds that it did not learn from.
func (t *table) cross(ctx context.Context, of kind, p *tuning, rows []int) (_ *tuning, scores held, err error) {
	if of.tune != nil && p == nil {
		if p, err = of.tune(ctx, t, rows, nil); err != nil {
			return nil, held{}, err
		}
	}
	if p != nil && p.heldOut != nil {
		scores, p.heldOut = *p.heldOut, nil
		return p, scores, nil
	}
	scores = held{make([]float64, len(rows)), make([]float64, len(rows))}
	err = t.heldOut(ctx, of, p, rows, func(i int, s []float64) {
		scores.logged[i], scores.mean[i] = s[t.action[rows[i]]], floats.Sum(s)/float64(len(s))
	})
	return p, scores, err
}

// heldOut gives the scores [K] of rows, by their places, of what a kind learned from the other folds.
func (t *table) heldOut(ctx context.Context, of kind, p *tuning, rows []int, give func(i int, scores []float64)) error {
	for f := range t.folds {
		var learn, at []int // rows to learn from; places in rows to judge by
		for i, r := range rows {
			if t.fold[r] == f {
				at = append(at, i)
			} else {
				learn = append(learn, r)
			}
		}
		if len(at) == 0 {
			continue
		}
		if len(learn) == 0 {
			learn = rows
		}
		own := p
		if of.tune != nil { // p, of all rows, knows what is held out
			var err error
			if own, err = of.tune(ctx, t, learn, p); err != nil {
				return err
			}
		}
		layers, err := of.fit(ctx, t, learn, own)
		if err != nil {
			return err
		}
		net := features.NewNet(layers)
		scores, scratch, buf := make([]float64, t.k), make([]float64, net.Scratch()), make([]float64, t.x.Width)
		for _, i := range at {
			r := rows[i]
			net.Apply(scores, t.row(r, buf), scratch)
			give(i, scores)
		}
	}
	return nil
}

// mixture are weights of scores, at least 0, by a logistic regression of rewards on them that is shrunk towards their
// mean; what is beside has others. If leave is set, kinds that hardly lower the log-loss are left out, the dearest
// first, or if weakest is set the one that lowers it least.
func mixture(ctx context.Context, logits, beside [][]float64, y []float64, leave, weakest bool) ([]float64, error) {
	in := logs.Every(len(logits))
	for {
		if len(in) == 1 {
			w := make([]float64, len(logits))
			w[in[0]] = 1
			return w, nil
		}
		w, loss, err := stack(ctx, logits, in, beside, y)
		if err != nil {
			return nil, err
		}
		out, least := -1, .02
		for at, j := range in {
			if w[j] < least {
				out, least = at, w[j]
			}
		}
		most := loss + needless
		for at := len(in) - 1; at >= 0 && (out < 0 || weakest && most < loss+needless) && leave; at-- {
			_, without, err := stack(ctx, logits, slices.Delete(slices.Clone(in), at, at+1), beside, y)
			if err != nil {
				return nil, err
			}
			if without < most {
				out, most = at, without
			}
		}
		if out < 0 {
			return w, nil
		}
		in = slices.Delete(in, out, out+1)
	}
}

// unlikely is from what log-likelihood ratio on exclusive scores are not tried.
const unlikely = 5

// needless is how much a kind lowers the log-loss of all rows, in nats, that is not worth its time.
const needless = 3

// leastShared is how much lower the log-loss must be, in nats, for what actions share to have weights of its own.
const leastShared = 10

// stack are the weights of some of the scores, 0 of the others, and the log-loss with them and with what is beside, of
// weights of its own. It is divided by the dispersion: the less rewards vary the more they tell.
func stack(ctx context.Context, logits [][]float64, in []int, beside [][]float64, y []float64) (w []float64,
	loss float64, err error) {
	m, all := len(in), logs.Pick(logits, in)
	k := m + len(beside)
	x := regress.Matrix{Width: k + 1, Data: make([]float64, 0, len(y)*(k+1))}
	mean := stat.Mean(y, nil)
	phi := regress.Dispersion(y, func(int) float64 { return mean })
	offset, penalties := make([]float64, len(y)), slices.Repeat([]float64{10 * phi}, k+1)
	penalties[k] = 0
	for i := range y {
		for _, z := range all {
			x.Data = append(x.Data, z[i])
			offset[i] += z[i] / float64(m)
		}
		for _, z := range beside {
			x.Data = append(x.Data, z[i])
			offset[i] += z[i] / float64(len(beside))
		}
		x.Data = append(x.Data, 1)
	}
	theta, err := regress.Logistic(ctx, x, y, regress.Options{Offset: offset, Penalties: penalties})
	if err != nil {
		return nil, 0, err
	}
	w = make([]float64, len(logits))
	for j, of := range in {
		w[of] = theta[j] + 1/float64(m)
	}
	for i, v := range y {
		z := offset[i] + floats.Dot(theta, x.Data[i*(k+1):(i+1)*(k+1)])
		loss += (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - v*z) / phi
	}
	return w, loss, nil
}

const (
	linearName    = "linear"
	quadraticName = "quadratic"
	curvesName    = "curves" // of numbers, the first
	pooledName    = "pooled"
	treesName     = "trees"
	exclusiveName = "exclusive" // of all kinds of exclusive scores the beginning
)

// kinds lists the ways to learn scores.
func kinds() []kind {
	linear := linearly(linearName, "logistic regression, in part shared by actions", func(*table) bool { return true }, nil)
	quadratic := linearly(quadraticName, "logistic regression on pieces of numbers and products of two features",
		func(t *table) bool {
			n := t.products()
			return n <= mostProducts && len(t.y) >= 200 && t.holds(n)
		}, products)
	ridge := alike(linear)
	return []kind{
		linear,
		linearly("additive", "logistic regression on pieces of numbers and values of codes",
			func(t *table) bool { return len(t.numbers) > 0 && len(t.numbers) <= 256 && t.holds(0) }, pieces),
		quadratic,
		ridge,
		exclusively(exclusiveName, linear),
		exclusively(exclusiveName+"-quadratic", quadratic),
		exclusively(exclusiveName+"-ridge", ridge),
		{exclusiveName + "-trees", "gradient boosted trees, of one right action", "", false,
			func(t *table) bool { return len(t.y) >= 200 && t.k > 1 && t.k <= 50 && t.grows() }, nil, exclusiveTrees},
		linearly("waves", "logistic regression on features and waves of all together", waving, waves),
		{treesName, "gradient boosted trees of each action", "", false,
			func(t *table) bool { return len(t.y) >= 40*t.k && t.grows() }, depth, trees},
		curves(),
		cliffs(),
		{pooledName, "gradient boosted trees of all actions together", "", false,
			func(t *table) bool { return len(t.y) >= 200 && t.k > 1 && t.k <= 50 && t.grows() }, nil, pooled},
	}
}

// expansion is what contexts become before a regression, and the strata of its features, see [regress.Hierarchy].
type expansion func(t *table, rows []int) (layers []features.Layer, strata []int)

// linearly learns logistic regressions on what expand makes of φ(x), with a part that all actions share and one of
// each: s_a(x) = h(x)ᵀ(θ_0 + θ_a) + b_0 + b_a.
func linearly(name, about string, fits func(*table) bool, expand expansion) kind {
	hierarchy := func(t *table, rows []int, before []features.Layer) (*regress.Hierarchy, []int, []float64, error) {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(i, j int) int { return int(t.action[i] - t.action[j]) })
		h, order, at, err := t.design(before, rows)
		if err != nil {
			return nil, nil, nil, err
		}
		h.Group, h.Groups, h.Threads = logs.Pick(t.action, at), t.k, t.threads
		return h, order, logs.Pick(t.y, at), nil
	}
	tune := func(ctx context.Context, t *table, rows []int, of *tuning) (*tuning, error) {
		p := tuning{strata: t.strata()}
		if t.coded != nil && of == nil {
			rows = evenly(t.all(), mostCoded) // each value is in few of them
		} else {
			rows = evenly(rows, mostTuning)
		}
		if of != nil {
			p = *of
		} else if expand != nil {
			p.before, p.strata = expand(t, rows)
		}
		wide := len(p.strata) - t.x.Width + t.wide()
		h, order, y, err := hierarchy(t, evenly(rows, mostScaling/max(1, wide)), p.before)
		if err != nil {
			return nil, err
		}
		var family []int
		for _, s := range p.strata { // features, their pieces, values, products
			family = append(family, min(s/t.x.Width, 3))
		}
		last := slices.Max(append(slices.Clone(p.strata), -1)) + 1
		h.Stratum = logs.Pick(append(slices.Clone(p.strata), last), order)
		h.Family = logs.Pick(append(family, 4), order)
		h.Whole = expand == nil && 4*distinct(p.strata) <= len(p.strata)
		if of != nil && !t.embedded() { // so many scales would still know what is held out
			rounds := scaledAgain
			if expand == nil || len(rows) <= mostAgain {
				rounds = regress.ScaleRounds
			}
			from := p.scales.Of(order)
			for j := range from.Own { // 0 was chosen by what is held out, too, and is never left
				from.Own[j], from.Shared[j] = max(from.Own[j], leastAgain), max(from.Shared[j], leastAgain)
			}
			p.scales, err = h.Again(ctx, y, from, rounds)
		} else {
			p.scales, err = h.Scales(ctx, y)
		}
		if err != nil {
			return nil, err
		}
		place := make([]int, len(order))
		for at, j := range order {
			place[j] = at
		}
		p.scales = p.scales.Of(place)
		return &p, nil
	}
	fit := func(ctx context.Context, t *table, rows []int, p *tuning) ([]features.Layer, error) {
		h, order, y, err := hierarchy(t, rows, p.before)
		if err != nil {
			return nil, err
		}
		theta, err := h.Fit(ctx, y, p.scales.Of(order))
		if err != nil {
			return nil, err
		}
		m, l := h.Dim(), features.Layer{}
		for a := range t.k {
			row := make([]float64, m)
			for at, j := range order {
				row[j] = theta[at] + theta[(a+1)*m+at]
			}
			l.Weights, l.Bias = append(l.Weights, row[:m-1]), append(l.Bias, row[m-1])
		}
		return append(slices.Clone(p.before), l), nil
	}
	return kind{name, about, "", true, fits, tune, fit}
}

// exclusively learns, with the features and scales of regressions linearly learned, a softmax over actions of which
// exactly one is right in each context, see [regress.Exclusive]. A row tells of all actions.
func exclusively(name string, of kind) kind {
	fits := func(t *table) bool { return t.k > 1 && of.fits(t) }
	fit := func(ctx context.Context, t *table, rows []int, p *tuning) ([]features.Layer, error) {
		x, at, err := t.expand(p.before, evenly(rows, mostTable/t.k/len(p.scales.Own)))
		if err != nil {
			return nil, err
		}
		y, action := logs.Pick(t.y, at), logs.Pick(t.action, at)
		theta, err := regress.Exclusive(ctx, x, y, action, t.k, p.scales.Own, t.threads)
		if err != nil {
			return nil, err
		}
		m, l := x.Width, features.Layer{Activation: features.Odds}
		for a := range t.k {
			row := theta[a*m : (a+1)*m]
			l.Weights, l.Bias = append(l.Weights, row[:m-1]), append(l.Bias, row[m-1])
		}
		return append(slices.Clone(p.before), l), nil
	}
	return kind{name, of.about + ", of one right action", of.name, false, fits, of.tune, fit}
}

// products counts what a quadratic regression adds.
func (t *table) products() (n int) {
	if t.x.Width > mostProducts {
		return t.x.Width
	}
	t.pairs(func(int32, int32, int, int) { n++ })
	return n
}

// distinct counts the strata that columns are of.
func distinct(strata []int) int { return len(slices.Compact(slices.Sorted(slices.Values(strata)))) }

// holds reports that θ can hold a regression on features, pieces and so many products.
func (t *table) holds(products int) bool {
	return t.k*(t.x.Width+knots*len(t.numbers)+products) <= mostRegressed
}

// strata are the numbers and the categories.
func (t *table) strata() []int {
	of := logs.Every(t.x.Width)
	for _, group := range t.groups {
		for _, j := range group {
			of[j] = int(group[0])
		}
	}
	return of
}

// expand is what layers make of rows, and a column of 1, of as many rows as fit into memory.
func (t *table) expand(layers []features.Layer, rows []int) (regress.Matrix, []int, error) {
	d, err := t.width(layers)
	if err != nil {
		return regress.Matrix{}, nil, err
	}
	most := mostTable
	if d > 2*t.x.Width {
		most /= 2
	}
	rows = evenly(rows, most/(d+1))
	h := regress.Matrix{Width: d + 1, Data: make([]float64, len(rows)*(d+1))}
	t.apply(layers, d, rows, func(i int, out []float64) { copy(h.Data[i*(d+1):], out) })
	return h, rows, nil
}

// width counts what layers make of a row.
func (t *table) width(layers []features.Layer) (d int, err error) {
	d = t.x.Width
	for i := range layers {
		if err := layers[i].Check(d); err != nil {
			return 0, err
		}
		d = layers[i].Out()
	}
	return d, nil
}

// apply gives what layers make of each of the rows, d numbers, and 1.
func (t *table) apply(layers []features.Layer, d int, rows []int, give func(i int, out []float64)) {
	net := features.NewNet(layers)
	scratch, buf, out := make([]float64, net.Scratch()), make([]float64, t.x.Width), make([]float64, d+1)
	out[d] = 1
	for i, r := range rows {
		net.Apply(out[:d], t.row(r, buf), scratch)
		give(i, out)
	}
}

// pieces keeps all features. It adds pieces of the numbers, between quantiles of the rows. Of a number that takes few
// values, which may be a code of stores or weeks, it adds an indicator of each value.
func pieces(t *table, rows []int) ([]features.Layer, []int) {
	p, strata := &features.Pieces{In: t.x.Width}, t.strata()
	codes, own := &features.Forest{In: t.x.Width}, []int{}
	some, many := map[int32][]float64{}, map[int32][]float64{} // values of numbers, to indicate
	count := 0
	for _, j := range t.numbers {
		x := t.column(j, rows, max(1, len(rows)/10_000))
		slices.Sort(x)
		parts := min(knots, max(4, len(rows)/knots))
		var at []float64
		for b := range parts + 1 {
			v := stat.Quantile(float64(b)/float64(parts), stat.Empirical, x, nil)
			if len(at) == 0 || v > at[len(at)-1] {
				at = append(at, v)
			}
		}
		if len(at) > 2 {
			p.Features, p.Knots = append(p.Features, j), append(p.Knots, at)
			for range at[1:] {
				strata = append(strata, t.x.Width+int(j))
			}
		}
		switch x = slices.Compact(x); {
		case len(x) < leastCodes || len(x) > min(mostTimes, len(rows)/10):
		case len(x) > mostCodes:
			many[j] = x
		default:
			some[j], count = x, count+len(x)
		}
	}
	for _, of := range []map[int32][]float64{some, many} {
		for _, j := range t.numbers {
			if x := of[j]; count <= mostIndicated && len(own)+len(x) <= mostIndicated {
				indicate(codes, j, x)
				own = append(own, slices.Repeat([]int{2*t.x.Width + int(j)}, len(x))...)
			}
		}
	}
	first := features.Layer{Pieces: p}
	if len(own) > 0 {
		first = features.Layer{Branches: &features.Branches{In: t.x.Width,
			Chains: [][]features.Layer{{first}, {{Trees: codes}}}}}
		strata = append(strata, own...)
	}
	return []features.Layer{first}, strata
}

// indicate adds a tree for each value of feature j, in ascending order, that gives 1 of it and 0 of others.
func indicate(f *features.Forest, j int32, values []float64) {
	last := len(values) - 1
	for i, v := range values {
		low, high := v-(values[1]-values[0])/2, v+(values[last]-values[last-1])/2
		if i > 0 {
			low = v - (v-values[i-1])/2
		}
		if i < last {
			high = v + (values[i+1]-v)/2
		}
		f.Base, f.Outputs, f.Sizes = append(f.Base, 0), append(f.Outputs, int32(len(f.Base))), append(f.Sizes, 5)
		f.Feature = append(f.Feature, j, -1, j, -1, -1) // x ≤ low: 0; else x ≤ high: 1; else 0
		f.Value = append(f.Value, low, 0, high, 1, 0)
		f.Right = append(f.Right, 2, 0, 2, 0, 0)
	}
}

// products are the pieces, and after them the squares of numbers and the products of two features that are not of one
// category.
func products(t *table, rows []int) ([]features.Layer, []int) {
	layers, strata := pieces(t, rows)
	p := &features.Products{In: len(strata)}
	t.pairs(func(j, i int32, of, with int) {
		p.Pairs, strata = append(p.Pairs, []int32{j, i}), append(strata, (3+of)*t.x.Width+with)
	})
	return append(layers, features.Layer{Products: p}), strata
}

// pairs gives the squares of numbers and the pairs of features that are not of one category, with their strata. An
// action's score needs no product of two features of the context. Its name, which tells its features, has products with
// the context alone, if they are not many.
func (t *table) pairs(give func(j, i int32, of, with int)) {
	strata := t.strata()
	needed := func(j, i int32) bool {
		if t.own == 0 || int(i) < t.own {
			return int(i) >= t.context
		}
		return int(j) < t.context && t.context*(t.x.Width-t.own) <= mostNamed
	}
	for i := range int32(t.x.Width) {
		if slices.Contains(t.constant, i) {
			continue
		}
		if slices.Contains(t.numbers, i) {
			give(i, i, strata[i], strata[i])
		}
		for j := range i {
			if needed(j, i) && strata[i] != strata[j] && !slices.Contains(t.constant, j) {
				give(j, i, min(strata[i], strata[j]), max(strata[i], strata[j]))
			}
		}
	}
}
