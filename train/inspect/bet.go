package inspect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/optimize"

	"opl/graph/kernel"
	"opl/train/logs"
)

// Rounded is the factor Γ₀ that propensities may be off by through rounding.
const Rounded = 1.01

const (
	refuted   = 1000 // the e-value from which propensities are taken to be wrong
	kinds     = 4    // of q that are learned
	ridge     = 4    // ½·ridge·‖W‖² beside the log-likelihood
	iterate   = 20   // iterations of L-BFGS
	pairsUpTo = 10   // features whose products are features, too
	betRows   = 512  // rows at a time
)

var (
	gammas  = [...]float64{1, Rounded}
	lambdas = [...]float64{0.01, 0.03, 0.1, 0.3, 0.6, 1}
)

// purse is what bets have won, for each Γ₀ and λ: the logarithm, and a factor besides.
type purse [len(gammas)][len(lambdas)]struct{ log, factor float64 }

func newPurse() (p purse) {
	for g := range p {
		for l := range p[g] {
			p[g][l].factor = 1
		}
	}
	return p
}

// bet multiplies by 1 − λω + λω q/(Γ₀ π₀), where ω ≤ 1 and ratio is ω q/π₀, both means
// over the rows of a unit.
func (p *purse) bet(weight, ratio float64) {
	for g := range p {
		d := ratio/gammas[g] - weight
		for l := range p[g] {
			v := &p[g][l]
			if v.factor *= 1 + lambdas[l]*d; v.factor < 1e-100 || v.factor > 1e100 {
				v.log, v.factor = v.log+math.Log(v.factor), 1
			}
		}
	}
}

// value is the logarithm of the mean over the grid of λ.
func (p *purse) value(g int) float64 {
	var of [len(lambdas)]float64
	for l, v := range p[g] {
		of[l] = v.log + math.Log(v.factor)
	}
	return logMean(of[:])
}

func logMean(x []float64) float64 {
	m := slices.Max(x)
	if math.IsInf(m, 0) {
		return m
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - m)
	}
	return m + math.Log(sum/float64(len(x)))
}

// bets is the test of propensities by betting against them. Rows are cut in halves by a
// hash of their unit: their group, or themselves. On each half guesses q(a|x) of the
// action are learned, and bet on in the other half; the e-value is the mean over both halves, the kinds of
// guess and a grid of λ in (0, 1] of
//
//	∏_u mean_{i∈u} (1 − λω_i + λω_i q(a_i|x_i)/(Γ₀ π₀(a_i|x_i)))
//
// over units u, with weights ω of rows over the largest. If a row's propensity is true
// within a factor Γ₀, its factor's mean is at most 1, as Σ_a π(a|x) q(a|x)/(Γ₀ π₀(a|x)) ≤
// Σ_a q(a|x) = 1 for every q that has not seen the row; units are independent, so the
// e-value's mean is at most 1 and, by Markov's inequality, it exceeds 1,000 in at most 1
// of 1,000 sound logs. Guesses are π₀ (if all propensities are known; else 1) times
// exp(b_a), of each action's share alone; the shares in rows of the same context, shrunk to
// those; and exp(b_a + w_aᵀx), a multinomial logistic regression, x without and with
// products of pairs of features. A last bet, on all rows, is on 1/K and needs no learning.
type bets struct {
	*log
	order    []int // rows by unit, in both halves
	unit     []uint64
	features []feature
	at       map[string]int // feature of each name
	x        []float64      // room for a vector
	d        logs.Decision
	width    int // 1 + features + their products
	most     float64
	guesses  [2]guess // learned on half 0 and half 1
	won      [2][kinds]purse
	fixed    purse
}

// feature is a column of contexts: its value less the mean over sd is read.
type feature struct {
	name     string // or its number
	named    bool
	place    int // in the vector; of a name: in the decision where it was seen last
	mean, sd float64
	n        int
	most     float64
	sum, two float64   // of v − the first
	values   []float64 // up to nine that occur
}

// guess is what one half taught.
type guess struct {
	shift []float64            // b_a
	table map[uint64][]float64 // rows of each context by action
	w     [2]blas64.General    // without and with products
}

// half is where a unit belongs.
func half(unit uint64) int { return int(mix(unit^0x9e3779b97f4a7c15) & 1) }

// bet adds the finding, and sets the report's Gamma. Estimated propensities, which
// certify nothing, are not bet on.
func (l *log) bet() {
	if l.Propensity == nil || l.Estimated {
		return
	}
	b := &bets{log: l}
	e := b.run()
	const check = "bets on propensities"
	f := Finding{Check: check, Measured: fmt.Sprintf("e = %.3g where %d refutes them", math.Exp(e[1]), refuted),
		Numbers: []Number{{"log e", e[1]}, {"log e, not rounded", e[0]}}}
	switch limit := math.Log(refuted); {
	case e[1] >= limit:
		f.Severity, l.report.Gamma = Unusable, Rounded
		if e[1] > 30 {
			f.Measured = fmt.Sprintf("e = 10^%.0f where %d refutes them", e[1]/math.Ln10, refuted)
		}
		f.Means = "the actions were not drawn with these propensities, or rows were written more than once: " + b.why()
		f.Do = "log the probability that the action shown was drawn with, in its context and after all filters; no estimate or guarantee from this log holds"
	case e[0] >= limit:
		l.report.Gamma = Rounded
		f.Measured += fmt.Sprintf(", and e = %.3g if they were not rounded", math.Exp(e[0]))
		f.Means = fmt.Sprintf("they are not exact, and may be rounded: guarantees are to be computed with Γ = %v", Rounded)
	}
	l.add(f)
}

// run returns the logarithms of the e-values, of each Γ₀.
func (b *bets) run() (e [len(gammas)]float64) {
	b.units()
	b.scan()
	for i := range b.n {
		b.most = max(b.most, b.rowWeight(i))
	}
	b.fixed = newPurse()
	for h := range b.won {
		b.guesses[h] = b.learn(h)
		for j := range b.won[h] {
			b.won[h][j] = newPurse()
		}
	}
	b.play()
	for g := range e {
		var all []float64
		for h := range b.won {
			for j := range b.won[h] {
				all = append(all, b.won[h][j].value(g))
			}
		}
		e[g] = logMean([]float64{logMean(all), b.fixed.value(g)})
	}
	return e
}

// units says which rows bet together: those of a group; of one id, if ids repeat; and, if
// rows of one context agree more than draws would, those of a context that has fewer than
// 50 which are all alike in action and cost, as rows that were written again are. (Where
// actions follow the context against their propensities, rows of one context agree, too.)
func (b *bets) units() {
	doubtful := func(check string) bool {
		f, _ := b.report.Finding(check)
		return f.Severity > Fine
	}
	_, keys := b.Identity()
	if doubtful("decision ids") {
		keys = b.Keys
	}
	b.unit = slices.Clone(keys)
	if doubtful("rows written twice") {
		type same struct {
			first, n int
			differ   bool
		}
		of := map[uint64]same{}
		for i, x := range b.contexts {
			s := of[x]
			if s.n++; s.n == 1 {
				s.first = i
			}
			s.differ = s.differ || b.Action[i] != b.Action[s.first] || b.Cost[i] != b.Cost[s.first]
			of[x] = s
		}
		for i, x := range b.contexts {
			if s := of[x]; s.n < 50 && !s.differ {
				b.unit[i] = x
			}
		}
	}
	for i, g := range b.Group {
		if g >= 0 {
			b.unit[i] = mix(uint64(g) + 1<<40)
		}
	}
	b.order = make([]int, b.n)
	for i := range b.order {
		b.order[i] = i
	}
	slices.SortFunc(b.order, func(i, j int) int {
		return cmp.Or(cmp.Compare(b.unit[i], b.unit[j]), cmp.Compare(i, j))
	})
}

// each calls use with the features of row i by their place in b.features; those of
// value 0 may be left out.
func (b *bets) each(i int, use func(f int, v float64)) {
	if b.at == nil {
		b.X.Row64(b.Context(i), b.x)
		for f := range b.features {
			use(f, b.x[b.features[f].place])
		}
		return
	}
	b.Decision(i, &b.d)
	for j, v := range b.d.Context {
		f := j
		if f >= len(b.features) || b.features[f].place != j || b.features[f].name != v.Name {
			var ok bool
			if f, ok = b.at[v.Name]; !ok {
				continue
			}
		}
		use(f, v.Number)
	}
}

// scan finds, in at most 50,000 rows, the features that vary most for their largest
// value, at most 64 and fewer if there are many actions.
func (b *bets) scan() {
	names := b.Names()
	switch {
	case names != nil:
		b.at = make(map[string]int, len(names))
		for j, name := range names {
			b.at[name], b.features = j, append(b.features, feature{name: name, named: true, place: j})
		}
	case b.X != nil:
		b.x = make([]float64, b.X.Dim())
		for j := range b.x {
			b.features = append(b.features, feature{name: strconv.Itoa(j), place: j})
		}
	default:
		b.at = map[string]int{}
	}
	first, rows := make([]float64, len(b.features)), 0
	for i := 0; i < b.n; i += 1 + b.n/50_000 {
		rows++
		b.each(i, func(j int, v float64) {
			f := &b.features[j]
			if f.n++; f.n == 1 {
				first[j] = v
			}
			f.most = max(f.most, math.Abs(v))
			f.sum += v - first[j]
			f.two += (v - first[j]) * (v - first[j])
			if len(f.values) <= 8 && !slices.Contains(f.values, v) {
				f.values = append(f.values, v)
			}
		})
	}
	kept := b.features[:0]
	for j, f := range b.features {
		if none := float64(rows - f.n); none > 0 { // rows of value 0
			f.sum -= none * first[j]
			f.two += none * first[j] * first[j]
			if !slices.Contains(f.values, 0) {
				f.values = append(f.values, 0)
			}
		}
		slices.Sort(f.values)
		m := f.sum / float64(rows)
		f.mean, f.sd = first[j]+m, math.Sqrt(f.two/float64(rows)-m*m)
		if f.sd > 1e-9*f.most && f.sd < math.MaxFloat64 {
			kept = append(kept, f)
		}
	}
	slices.SortStableFunc(kept, func(f, g feature) int { return cmp.Compare(g.sd/g.most, f.sd/f.most) })
	b.features = kept[:min(len(kept), 64, max(8, 2000/b.k))]
	slices.SortFunc(b.features, func(f, g feature) int { return cmp.Compare(f.place, g.place) })
	if b.at != nil {
		clear(b.at)
		for j, f := range b.features {
			b.at[f.name] = j
		}
	}
	b.width = 1 + len(b.features)
	if d := len(b.features); d <= pairsUpTo {
		b.width += d * (d + 1) / 2
	}
}

// vector writes 1, the features of row i, in units of their sd and at most 5 of them, and
// their products.
func (b *bets) vector(i int, dst []float64) {
	d := len(b.features)
	read := func(f int, v float64) {
		v = (v - b.features[f].mean) / b.features[f].sd
		dst[1+f] = max(-5, min(5, v))
		if v != v {
			dst[1+f] = 0
		}
	}
	dst[0] = 1
	if b.at != nil {
		for f := range d {
			read(f, 0)
		}
	}
	b.each(i, read)
	if len(dst) > 1+d {
		at := 1 + d
		for f := range d {
			for g := range f + 1 {
				dst[at] = dst[1+f] * dst[1+g]
				at++
			}
		}
	}
}

// offset writes log π₀(·|x_i), 0 if it is not known, plus shift.
func (b *bets) offset(i int, shift, dst []float64) {
	copy(dst, shift)
	if b.Propensities != nil {
		for a, p := range b.Propensities[i*b.k : i*b.k+b.k] {
			dst[a] += math.Log(max(p, 1e-300))
		}
	}
}

// learn learns the guesses from the rows of half h.
func (b *bets) learn(h int) guess {
	q := guess{shift: make([]float64, b.k), table: map[uint64][]float64{}}
	var rows []int
	got, want := make([]float64, b.k), make([]float64, b.k)
	for i, a := range b.Action {
		if half(b.unit[i]) != h {
			continue
		}
		w := b.rowWeight(i) / b.most
		rows = append(rows, i)
		got[a] += w
		for c := range want {
			if b.Propensities != nil {
				want[c] += w * b.Propensities[i*b.k+c]
			} else {
				want[c] += w / float64(b.k)
			}
		}
		if b.contexts != nil {
			t := q.table[b.contexts[i]]
			if t == nil {
				t = make([]float64, b.k)
				q.table[b.contexts[i]] = t
			}
			t[a] += w
		}
	}
	for a := range got {
		q.shift[a] = math.Log((got[a] + 1) / (want[a] + 1))
	}
	// Time is rows × actions × width, and as many exponentials.
	most := max(1000, min(50_000, 3_000_000/(b.k*(b.width+20))))
	every := max(1, (len(rows)+most-1)/most)
	n := 0
	for at := 0; at < len(rows); at += every {
		rows[n] = rows[at]
		n++
	}
	rows = rows[:n]
	x := matrix(n, b.width)
	for r, i := range rows {
		b.vector(i, x.Data[r*b.width:(r+1)*b.width])
	}
	q.w[0] = b.regress(rows, view(x, 1+len(b.features)), q.shift)
	q.w[1] = q.w[0]
	if b.width > 1+len(b.features) {
		q.w[1] = b.regress(rows, x, q.shift)
	}
	return q
}

func matrix(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// view is the first columns.
func view(x blas64.General, cols int) blas64.General {
	x.Cols = cols
	return x
}

// regress minimizes −Σ_i ω_i log q(a_i|x_i) + ½ ridge ‖W‖² over W [K×width].
func (b *bets) regress(rows []int, x blas64.General, shift []float64) blas64.General {
	w, pi, offsets := matrix(b.k, x.Cols), matrix(len(rows), b.k), make([]float64, len(rows)*b.k)
	if len(rows) == 0 || x.Cols == 1 {
		return w
	}
	for r, i := range rows {
		b.offset(i, shift, offsets[r*b.k:(r+1)*b.k])
	}
	grad, last, f := matrix(b.k, x.Cols), make([]float64, len(w.Data)), math.NaN()
	last[0] = math.NaN()
	at := func(v []float64) {
		if slices.Equal(last, v) {
			return
		}
		copy(last, v)
		w.Data = last
		copy(pi.Data, offsets)
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, w, 1, pi)
		kernel.Softmax(pi.Data, pi.Data, b.k)
		f = 0
		for r, i := range rows {
			row, weight := pi.Data[r*b.k:(r+1)*b.k], b.rowWeight(i)/b.most
			f -= weight * math.Log(max(row[b.Action[i]], 1e-300))
			row[b.Action[i]]--
			if weight != 1 {
				for a := range row {
					row[a] *= weight
				}
			}
		}
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, pi, x, 0, grad)
		for j, u := range v {
			f += ridge * u * u / 2
			grad.Data[j] += ridge * u
		}
		f /= float64(len(rows))
		for j := range grad.Data {
			grad.Data[j] /= float64(len(rows))
		}
	}
	problem := optimize.Problem{
		Func: func(v []float64) float64 { at(v); return f },
		Grad: func(g, v []float64) { at(v); copy(g, grad.Data) },
	}
	// It need not converge: any W makes a valid bet.
	result, _ := optimize.Minimize(problem, make([]float64, len(last)), &optimize.Settings{GradientThreshold: 1e-5, MajorIterations: iterate}, &optimize.LBFGS{})
	w.Data = make([]float64, len(last))
	if result != nil && !slices.ContainsFunc(result.X, func(v float64) bool { return v-v != 0 }) {
		copy(w.Data, result.X)
	}
	return w
}

// play bets on every row by the guesses of the other half.
func (b *bets) play() {
	x, scores := matrix(betRows, b.width), [3]blas64.General{} // of both regressions and of shares alone
	for j := range scores {
		scores[j] = matrix(betRows, b.k)
	}
	var unit struct {
		n, weight, fixed float64
		ratio            [kinds]float64
	}
	for h := range 2 {
		var rows []int
		for _, i := range b.order {
			if half(b.unit[i]) == h {
				rows = append(rows, i)
			}
		}
		guess := b.guesses[1-h]
		for from := 0; from < len(rows); from += betRows {
			block := rows[from:min(from+betRows, len(rows))]
			for r, i := range block {
				b.vector(i, x.Data[r*b.width:(r+1)*b.width])
				b.offset(i, guess.shift, scores[2].Data[r*b.k:(r+1)*b.k])
			}
			for j, w := range guess.w {
				if j > 0 && w.Cols == guess.w[0].Cols { // there are no products
					copy(scores[j].Data, scores[0].Data)
					continue
				}
				copy(scores[j].Data, scores[2].Data)
				blas64.Gemm(blas.NoTrans, blas.Trans, 1, view(x, w.Cols), w, 1, scores[j])
				kernel.Softmax(scores[j].Data, scores[j].Data, b.k)
			}
			kernel.Softmax(scores[2].Data, scores[2].Data, b.k)
			for r, i := range block {
				a, w := int(b.Action[i]), b.rowWeight(i)/b.most
				q, seen, of := scores[2].Data[r*b.k+a], 0.0, 0.0
				for c, n := range guess.table[b.contextOf(i)] {
					seen += n
					if c == a {
						of = n
					}
				}
				p := w / b.Propensity[i]
				for j, v := range [kinds]float64{q, (of + 4*q) / (seen + 4), scores[0].Data[r*b.k+a], scores[1].Data[r*b.k+a]} {
					unit.ratio[j] += v * p
				}
				unit.n, unit.weight, unit.fixed = unit.n+1, unit.weight+w, unit.fixed+p/float64(b.k)
				if at := from + r + 1; at < len(rows) && b.unit[rows[at]] == b.unit[i] {
					continue
				}
				for j := range b.won[h] {
					b.won[h][j].bet(unit.weight/unit.n, unit.ratio[j]/unit.n)
				}
				b.fixed.bet(unit.weight/unit.n, unit.fixed/unit.n)
				clear(unit.ratio[:])
				unit.n, unit.weight, unit.fixed = 0, 0, 0
			}
		}
	}
}

func (b *bets) contextOf(i int) uint64 {
	if b.contexts == nil {
		return 0
	}
	return b.contexts[i]
}

// cell is the rows where up to two features have a value, by their places in the
// features named and those features' classes; −1: none. {−2, i} is those of the context of row i.
type cell [4]int

// why names the features of the largest weights, and one place where actions and
// propensities differ most, in at most 10,000 rows.
func (b *bets) why() string {
	kind, most := -1, b.fixed.value(1) // the guess that won most
	for j := range kinds {
		if v := max(b.won[0][j].value(1), b.won[1][j].value(1)); v > most {
			kind, most = j, v
		}
	}
	weight := make([]float64, len(b.features))
	for _, q := range b.guesses {
		for _, w := range q.w {
			for j, v := range w.Data {
				at := j%w.Cols - 1 - len(b.features)
				switch {
				case at >= 0: // product f, g: place f(f+1)/2 + g
					f := int((math.Sqrt(float64(8*at+1)) - 1) / 2)
					weight[f] += v * v / 2
					weight[at-f*(f+1)/2] += v * v / 2
				case j%w.Cols > 0:
					weight[j%w.Cols-1] += v * v
				}
			}
		}
	}
	top := make([]int, len(b.features))
	for j := range top {
		top[j] = j
	}
	slices.SortStableFunc(top, func(f, g int) int { return cmp.Compare(weight[g], weight[f]) })
	top = top[:min(3, len(top))]

	type tally struct{ n, taken, said []float64 }
	cells, first := map[cell]tally{}, map[uint64]int{}
	raw, value := make([]float64, len(b.features)), make([]int, len(top))
	for i := 0; i < b.n; i += 1 + b.n/10_000 {
		clear(raw)
		b.each(i, func(f int, v float64) { raw[f] = v })
		in := []cell{{-1, 0, -1, 0}}
		if kind == 1 {
			x, ok := first[b.contexts[i]]
			if !ok {
				x, first[b.contexts[i]] = i, i
			}
			in = append(in, cell{-2, x, -1, 0})
		}
		for t, j := range top {
			value[t] = b.features[j].class(raw[j])
			in = append(in, cell{t, value[t], -1, 0})
			for u := range t {
				in = append(in, cell{u, value[u], t, value[t]})
			}
		}
		for _, c := range in {
			s, ok := cells[c]
			if !ok {
				s = tally{make([]float64, 1), make([]float64, b.k), make([]float64, b.k)}
				cells[c] = s
			}
			s.n[0]++
			s.taken[b.Action[i]]++
			if b.Propensities == nil {
				s.said[b.Action[i]] += 1 / b.Propensity[i]
				continue
			}
			for a := range b.k {
				s.said[a] += b.Propensities[i*b.k+a]
			}
		}
	}
	// The plainer of two cells is preferred: all rows, if shares alone won, one feature,
	// two features or a context.
	best, where, text := 0.0, cell{-1, 0, -1, 0}, "bets on the actions win"
	order := make([]cell, 0, len(cells))
	for c := range cells {
		order = append(order, c)
	}
	slices.SortFunc(order, func(c, d cell) int { return slices.Compare(c[:], d[:]) })
	for _, c := range order {
		s := cells[c]
		n, plain := s.n[0], 1.0
		switch {
		case c[0] == -1 && kind > 0:
			plain = 1e-3
		case c[0] == -2 || c[2] >= 0:
			plain = 0.7
		}
		for a, taken := range s.taken {
			said := s.said[a] / n
			if b.Propensities == nil {
				if taken == 0 {
					continue
				}
				said = taken / s.said[a]
			}
			if z := plain * math.Abs(taken-n*said) / math.Sqrt(n*said*(1-said)+1); z > best {
				best, where = z, c
				text = fmt.Sprintf("action %s was taken in %.2g %% of rows, and its propensities say %.2g %%", b.Actions[a], 100*taken/n, 100*said)
			}
		}
	}
	var at []string
	if where[0] == -2 {
		clear(raw)
		b.each(where[1], func(f int, v float64) { raw[f] = v })
		for _, j := range top {
			at = append(at, b.features[j].in(raw[j]))
		}
	}
	for c := 0; c < 4; c += 2 {
		if where[c] >= 0 {
			at = append(at, b.features[top[where[c]]].of(where[c+1]))
		}
	}
	if at == nil {
		return text
	}
	text = "where " + strings.Join(at, " and ") + ", " + text
	var named []string
	for _, j := range top {
		named = append(named, b.features[j].title())
	}
	return text + "; what tells most: " + join(named)
}

func (f *feature) title() string {
	if f.named {
		return f.name
	}
	return "feature " + f.name
}

// class is the place of a value among up to eight, or whether it is above the mean.
func (f *feature) class(v float64) int {
	if len(f.values) <= 8 {
		at, _ := slices.BinarySearch(f.values, v)
		return at
	}
	if v > f.mean {
		return 1
	}
	return 0
}

// of says which values a class has.
func (f *feature) of(class int) string {
	switch {
	case len(f.values) > 8:
		return fmt.Sprintf("%s is %s %.3g", f.title(), [...]string{"at most", "above"}[class], f.mean)
	case class >= len(f.values):
		return fmt.Sprintf("%s is above %.4g", f.title(), f.values[class-1])
	}
	return f.in(f.values[class])
}

// in says what a value is.
func (f *feature) in(v float64) string {
	if strings.Contains(f.name, "=") && f.most == 1 && len(f.values) == 2 && v*v == v {
		return [...]string{"not ", ""}[int(v)] + f.title()
	}
	return fmt.Sprintf("%s is %.4g", f.title(), v)
}
