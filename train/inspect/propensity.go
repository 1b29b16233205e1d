package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel"
	"opl/policies/propensity"
	"opl/train/internal/keys"
	"opl/train/logs"
)

// shape looks for propensities that are constant, rounded or those of something
// else. Constant at 1 is unusable, constant below 1/K too (no policy can do that
// with K actions) but for rounding, constant above 1/K doubtful. Rounded is a log of more than
// max(12, 2K) different values, all of at most 4 decimals, whose least could be
// off by more than 0.5 %.
func (l *log) shape() {
	low, high := l.spans()
	values := max(12, 2*l.MostOptions())
	seen := l.different("propensities", values, func(i int) float64 { return l.Propensity[i] })
	decimals := int(-l.lowest("decimals", func() float64 {
		decimals := 0
		for i, p := range l.Propensity {
			if i > 0 && p == l.Propensity[i-1] {
				continue
			}
			for decimals <= 4 &&
				math.Abs(p*math.Pow10(decimals)-math.Round(p*math.Pow10(decimals))) > 1e-9*math.Pow10(decimals)*p {
				decimals++
			}
		}
		return -float64(decimals)
	}))
	if !l.merged {
		l.report.Propensities = []Histogram{histogram("propensity of the logged action", l.n,
			func(i int) float64 { return l.Propensity[i] }, low, high)}
	}
	f := Finding{Check: "constant or rounded", Measured: fmt.Sprintf("from %.4g to %.4g", low, high)}
	if off, ok := l.even(); ok {
		f.Measured = "every propensity is 1 over the number of actions that its row offers: uniform"
		if off > 1e-6 {
			f.Measured += ", rounded"
			l.report.Gamma = max(l.gamma, propensity.Rounded)
		}
	} else if high-low <= 1e-9*high {
		p, d := low, low*float64(l.k)-1
		f.Measured = fmt.Sprintf("every propensity is %.6g, K = %d", p, l.k)
		if l.Sets() {
			d = p/l.least - 1
			f.Measured = fmt.Sprintf("every propensity is %.6g, the mean of 1/K %.6g", p, l.least)
		}
		switch {
		case p == 1 && l.Numbers == nil: // of numbers it is a density times a width
			f.Severity, f.Means, f.Do = Unusable, "the logging policy never explored: no other can be "+
				"judged", "draw actions at random, and log with what probability"+limits
		case math.Abs(d) > 1e-6 && math.Abs(d) < 0.0101:
			f.Measured += ": uniform, rounded"
			l.report.Gamma = max(l.gamma, propensity.Rounded)
		case d < -1e-6 && (1+d)*l.gamma >= 1:
			f.Measured += fmt.Sprintf(": uniform within the factor %v", l.gamma)
		case d < -1e-6:
			f.Severity, f.Means, f.Do = Unusable, fmt.Sprintf("%.4g actions cannot all have less than %.4g",
				1/l.least, l.least), "give setting actions if some were never drawn; else see what the column holds"
		case d > 1e-6:
			f.Severity, f.Means, f.Do = Doubtful, fmt.Sprintf("uniform would be %.6g; the column may be a "+
				"placeholder", l.least), "see what it holds, and whether each context offers all actions"
		default:
			f.Measured += ": uniform"
		}
	} else if off := 0.5 / math.Pow10(decimals) / low; decimals <= 4 && len(seen) > values && off > 0.005 {
		f.Severity = Doubtful
		f.Measured += fmt.Sprintf(", all of at most %d decimals", decimals)
		f.Means = fmt.Sprintf("rounded: the least may be off by %s, and its weight with it", percent(off))
		f.Do = "log propensities with all their digits"
	}
	l.add(f)
}

// meanWeight tests E[1/(K p)] = 1, the mean weight of the uniform policy. It is
// below 1 where actions have no support, as far as propensities of 0 say, and above 1 for no policy. Off by more
// than 0.0102 at level alpha is doubtful; above 1.1 at z > 6, or where 1 − p
// would fit and p does not, unusable. Where all propensities are known the
// exact variance has to agree with the verdict too, where rows share groups that of the
// groups, and the mean propensity is
// tested against its least value 1/K.
func (l *log) meanWeight() {
	of := func(i int) (share float64) { // of the actions that may be drawn
		pi := l.Pi0(i)
		for _, p := range pi {
			if p > logs.LeastPropensity {
				share += 1 / float64(len(pi))
			}
		}
		return share
	}
	m, supported := l.mean("weight", l.ofUniform), 1.
	if l.Propensities != nil {
		supported = l.mean("support of uniform", of).value
	}
	want := supported * l.near(m.value/supported)
	if m.se < 1e-9 && math.Abs(m.value/want-1) < 0.0102 { // all alike, rounded
		want = m.value
	}
	z := m.against(want)
	if l.Propensities != nil {
		v := l.mean("variance of the weight", func(i int) float64 {
			s := 0.0
			pi := l.Pi0(i)
			for _, p := range pi {
				if p > 0 {
					s += 1 / p
				}
			}
			return s/float64(len(pi)*len(pi)) - of(i)*of(i)
		}).value
		if exact := (m.value - want) / math.Sqrt(max(v, 0)/float64(l.n)); math.Abs(exact) < math.Abs(z) {
			z = exact
		}
	}
	if l.Group != nil {
		s := l.byGroup("weight", func(i int) float64 { return l.ofUniform(i) - 1 })
		d := want - 1
		norm := math.Sqrt(max(0, s.square-2*d*s.product+d*d*s.rows))
		if grouped := (m.value - want) * float64(l.n) / norm; math.Abs(grouped) < min(math.Abs(z), 1e6) {
			z = grouped
		}
	}
	flipped := func() mean {
		return l.mean("1/(K(1-p))", func(i int) float64 {
			return 1 / (float64(l.Options(i)) * max(1-l.Propensity[i],
				1e-12))
		})
	}
	if l.summary != nil { // all shards together may ask
		flipped()
	}
	q := threshold(1)
	f := Finding{Check: "mean weight of uniform", About: Draws,
		Measured: fmt.Sprintf("%.4g, interval %.4g to %.4g, z = %.1f", m.value, m.value-1.96*m.se, m.value+1.96*m.se,
			z),
		Numbers: []Number{{"mean", m.value}, {"se", m.se}, {"z", z}}}
	if math.Abs(z) > q && math.Abs(m.value/want-1) > 0.0102 { // what is rounded as uniform's .33 is no more
		f.Severity = Doubtful
		if z > 0 {
			f.Means, f.Do = "weights 1/(K p) cannot average more than 1: propensities are too small", "see that p "+
				"is that of the action shown, after all filters"+l.undrawn()
			if l.Numbers != nil {
				f.Means, f.Do = "densities integrate to less than 1: they are too small", "log the density of the "+
					"draw itself, per unit of the action: where draws are cut to a range, divide it by the range's probability"
			}
			if z > 6 && m.value > 1.1*want {
				f.Severity = Unusable
			}
		} else {
			f.Means, f.Do = "weights 1/(K p) average less than 1: propensities are too large, or not every action "+
				"can be drawn in every context",
				"see that p is that of the action shown; judge only policies that keep to what was on offer"
			if l.Numbers != nil {
				f.Means, f.Do = "densities integrate to more than 1, or numbers in part of the range are never drawn",
					"see that density and action have one unit; give setting action-range what is drawn from"
			}
		}
		if flip := flipped(); math.Abs(z) > 6 && math.Abs(flip.against(1)) < q && math.Abs(flip.value-1) < 0.2 {
			f.Severity, f.Means, f.Do = Unusable, "1 − p fits and p does not: the column looks inverted, or is "+
				"that of another policy", "log the probability that the action shown had when it was drawn"
		}
	}
	l.add(f)

	least := l.least / l.gamma
	p, over := l.mean("propensity", func(i int) float64 { return l.Propensity[i] }), "1/K"
	if z = p.against(least); l.Sets() {
		over = "the mean of 1/K"
		z = l.mean("propensity above 1/K",
			func(i int) float64 { return l.Propensity[i] - 1/float64(l.Options(i))/l.gamma }).against(0)
	}
	g := Finding{Check: "mean propensity", Measured: fmt.Sprintf("%.4g, at least %s = %.4g", p.value, over, least),
		Numbers: []Number{{"mean", p.value}, {"z", z}}}
	means, do := "actions drawn by a policy have more than 1/K on average: the column looks inverted or belongs to "+
		"other actions", "log the probability of the action shown"
	if l.Numbers != nil {
		means, do = "numbers that are drawn have larger densities on average", "log the density of the number shown"
	}
	l.judge(g, z < -q && p.value < 0.9899*least, Unusable, means, do) // .33 is of three actions
}

// bounded keeps a number within what JSON can say; one that is not defined is 0.
func bounded(z float64) float64 {
	if math.IsNaN(z) {
		return 0
	}
	return max(-1e300, min(1e300, z))
}

// sharpness tests E[π₀(a|x)] = E[Σ_a π₀(a|x)²] with its exact variance: logged
// actions drawn from something flatter or sharper than stated. A difference of
// more than 1 % at level alpha is doubtful.
func (l *log) sharpness() {
	if l.Propensities == nil {
		return
	}
	sums := l.totals("draws", 3, func(i int, to []float64) {
		var two, three float64
		w := l.rowWeight(i)
		for _, p := range l.Pi0(i) {
			two += p * p
			three += p * p * p
		}
		to[0] += w * l.Pi0(i)[l.Chosen(i)]
		to[1] += w * two
		to[2] += w * w * (three - two*two)
	})
	got, want, variance := sums[0], sums[1], sums[2]
	f := Finding{Check: "draws against propensities", About: Draws}
	z, near := 0.0, l.near(got/want)
	if variance > 1e-12*want*want {
		z = (got - near*want) / math.Sqrt(variance)
	}
	f.Measured = fmt.Sprintf("Σ π₀(a_i|x_i) is %.4g, Σ_i Σ_a π₀² says %.4g, z = %.1f", got, want, z)
	f.Numbers = []Number{{"ratio", got / want}, {"z", z}}
	than := "less"
	if z > 0 {
		than = "more"
	}
	l.judge(f, math.Abs(z) > threshold(1) && math.Abs(got/want/near-1) > 0.01, Doubtful,
		"the actions are "+than+" concentrated than the propensities say",
		"log the propensities of the draw itself, not those of a later or earlier policy")
}

// support looks for actions that were never logged: with e_a = Σ_i 1{a ∈ S_i}/|S_i|, what uniform draws would have
// logged of what rows offer, doubtful where an action of e ≥ 20 was never logged, unusable where one action is all
// there is. With all propensities it also counts the pairs of row and action without support.
func (l *log) support() {
	uniform, options := l.uniform()
	there, logged, missing := 0, 0, 0
	var never []string // of e ≥ 20
	for a, n := range l.perAction() {
		if uniform[a] > 0 {
			there++
		}
		switch {
		case n > 0:
			logged++
		case uniform[a] > 0:
			missing++
			if uniform[a] >= 20 {
				never = append(never, l.Actions[a])
			}
		}
	}
	f := Finding{Check: "support", Measured: fmt.Sprintf("%d of %d actions were logged", logged, l.k)}
	if l.FromRows {
		f.Measured = fmt.Sprintf("%d actions have rows; about %d others may never have been drawn", l.k,
			l.Undrawn(l.perAction()))
	}
	without, plays := "propensities", "a policy that plays them cannot be judged"
	zeroDo, neverDo := "judge only policies that keep to what was on offer", "judge only policies that leave these "+
		"actions out, or log some"
	neverMeans := func() string {
		if len(never) > 5 {
			never = append(never[:5:5], "…")
		}
		return "never logged: " + strings.Join(never, ", ") + "; nothing is known of them"
	}
	if l.Choices != nil {
		f.Measured += fmt.Sprintf(", of %d that were offered", there)
		f.Numbers = []Number{{"logged", float64(logged)}, {"offered", float64(there)}, {"actions", float64(l.k)},
			{"options", options}}
		without, plays = "the propensities of what was offered", "a policy that plays these there cannot be judged"
		zeroDo, neverDo = "offer only what may be drawn, or draw it", "draw them, or learn from features and judge "+
			"only by estimates"
		neverMeans = func() string {
			return fmt.Sprintf("%d actions were offered as often as would make 20 rows of uniform draws each, and "+
				"never logged: %s", len(never), strings.Join(never[:min(5, len(never))], ", "))
		}
	}
	if l.Propensities != nil {
		zero := l.sums("propensities of 0", 1, func() []float64 {
			zero := 0
			for _, p := range l.Propensities {
				if p <= 0 {
					zero++
				}
			}
			return []float64{float64(zero)}
		})[0]
		if zero > 0 {
			f.Measured += fmt.Sprintf("; %s of %s are 0", percent(zero/options), without)
			f.Severity, f.Means, f.Do = Doubtful, plays, zeroDo
		}
	}
	word := func(s string) bool { _, err := strconv.Atoi(s); return err != nil }
	switch {
	case logged == 1:
		f.Severity, f.Means, f.Do = Unusable, "only one action was ever taken", "draw actions at random"
	case l.Choices == nil && len(never) == 1 && never[0] == "0" && !slices.ContainsFunc(l.Actions, word):
		f.Severity, f.Means, f.Do = Doubtful, "action 0 was never logged: actions may count from 1", "see how the "+
			"log counts; give setting actions"
	case len(never) > 0:
		f.Severity, f.Means, f.Do = Doubtful, neverMeans(), neverDo
	case l.Choices != nil && missing > 0:
		f.Means = fmt.Sprintf("of the %d that were not logged, what is alike in features tells", missing)
	case l.Choices == nil && l.amounts():
		f.Severity, f.Means = Doubtful, "the actions are numbers, and each is taken for an action of its own, which "+
			"few rows have: little is learned of each, and nothing of those between them"
		f.Do = "if the number is an amount, such as a price, log the density of the number that was drawn in a " +
			"column density, and give setting action-range"
	}
	l.add(f)
}

// amounts reports actions that look like amounts: many numbers that do not count from 0 or 1, and fewer than 20 rows
// of each, or numbers that are not whole.
func (l *log) amounts() bool {
	if l.k < 100 {
		return false
	}
	low, high, whole := math.Inf(1), math.Inf(-1), true
	for _, name := range l.Actions {
		v, err := strconv.ParseFloat(name, 64)
		if err != nil {
			return false
		}
		low, high, whole = min(low, v), max(high, v), whole && v == math.Trunc(v)
	}
	return !whole || l.n < 20*l.k && !(low >= 0 && low <= 1 && high-low < float64(l.k))
}

// byAction bounds how many actions of a log with choices are reported.
const byAction = 1000

// counts compares how often each action was logged with what its propensities
// say: with those of all actions the rows against Σ_i π₀(a|x_i), otherwise
// Σ_i 1{a_i = a}/p_i against n, for actions of at least 20 rows. An action off at
// level alpha/K, and by more than 2 % (10 % too few, where only logged propensities
// are known: rare draws of much weight may be missing by chance), is doubtful; by
// more than half at z > 8, unusable if all propensities are known. Rows of a group may
// depend on one another: the variance is at least that of the groups.
func (l *log) counts() {
	by := make([]Action, l.k)
	sums := l.totals("rewards by action", 2*l.k, func(i int, to []float64) { // and their squares
		a, c := int(l.Action[i]), l.Cost[i]
		to[a] -= c
		to[l.k+a] += c * c
	})
	for a, rows := range l.perAction() {
		b := &by[a]
		b.Name, b.Rows = l.Actions[a], rows
		if n := float64(b.Rows); n > 0 {
			b.Reward = sums[a] / n
			b.SE = math.Sqrt(max(0, sums[l.k+a]/n-b.Reward*b.Reward) / max(n-1, 1))
		}
	}
	l.report.ByAction = by
	if l.Choices != nil { // of a catalogue, those logged most
		defer func() {
			slices.SortStableFunc(by, func(a, b Action) int { return b.Rows - a.Rows })
			l.report.ByAction = slices.Clip(by[:min(len(by), byAction)])
		}()
	}
	if l.Propensity != nil {
		l.expected(by)
	}
}

// expected compares the rows of each action with what its propensities say, and adds the finding.
func (l *log) expected(by []Action) {
	f := Finding{Check: "counts by action", About: Draws}
	// What was got is compared with what was to be expected, and z says how far off it is.
	want, least := make([]float64, l.k), 0.02
	var got []float64
	var z func(a int) float64
	if l.Propensities != nil {
		sums := l.totals("expected by action", 3*l.k, func(i int, to []float64) {
			w := l.rowWeight(i)
			to[l.Action[i]] += w
			for j, p := range l.Pi0(i) {
				a, _ := l.Option(i, j)
				to[l.k+int(a)] += w * p
				to[2*l.k+int(a)] += w * w * p * (1 - p)
			}
		})
		var variance []float64
		got, want, variance = sums[:l.k], sums[l.k:2*l.k], sums[2*l.k:]
		apart := l.sums("variance by action in groups", l.k, l.apart)
		z = func(a int) float64 {
			by[a].Expected = want[a]
			near := l.near(got[a] / max(want[a], 1e-300))
			return counted(got[a], near*want[a], max(variance[a], apart[a]))
		}
	} else {
		least = 0.1
		got = l.totals("1/p by action", l.k, func(i int, to []float64) { to[l.Action[i]] += 1 / l.Propensity[i] })
		rarest, _ := l.spans()
		means := l.oddsByAction()
		z = func(a int) float64 {
			want[a] = float64(means[a].n) // rows that offer it
			if by[a].Rows < 20 {
				return 0
			}
			// Decisions as rare as the rarest that was taken may be missing, and show nothing of their variance:
			// where m were to be expected, none has the probability exp(-m), and z has as small a one.
			at := l.near(means[a].value)
			missing := max(0, want[a]*(at-means[a].value)*rarest)
			return max(means[a].against(at), -math.Sqrt(2*missing))
		}
	}
	worst := 0
	for a := range by {
		if by[a].Z = bounded(z(a)); math.Abs(by[a].Z) > math.Abs(by[worst].Z) {
			worst = a
		}
	}
	off := got[worst] / max(want[worst], 1e-300)
	off = off/l.near(off) - 1
	f.Measured = fmt.Sprintf("largest z of %d is %.1f: %s, ", l.k, by[worst].Z, by[worst].Name)
	switch share := got[worst] / max(want[worst], 1e-300); {
	case l.Propensities != nil:
		f.Measured += fmt.Sprintf("%.6g rows against %.5g", got[worst], want[worst])
	case l.Sets():
		f.Measured += fmt.Sprintf("Σ 1/p is %.4g of the rows that offer it", share)
	default:
		f.Measured += fmt.Sprintf("Σ 1/p is %.4g of n", share)
	}
	f.Numbers = []Number{{"z", by[worst].Z}}
	if math.Abs(by[worst].Z) > threshold(l.k) && (off > 0.02 || off < -least) {
		f.Severity = Doubtful
		f.Means, f.Do = fmt.Sprintf("action %s was taken more often than its propensities say",
			by[worst].Name), "see that p is that of the action shown, after all filters"
		if off < 0 {
			f.Means = fmt.Sprintf("action %s was taken less often than its propensities say", by[worst].Name)
			if l.Propensities == nil {
				f.Means += ", or is not on offer everywhere"
			}
		}
		if l.Propensities != nil && math.Abs(off) > 0.5 && math.Abs(by[worst].Z) > threshold(l.k)+1 {
			f.Severity = Unusable
		}
	}
	l.add(f)
}

// perAction counts the rows of each action.
func (l *log) perAction() []int {
	rows := l.totals("rows by action", l.k, func(i int, to []float64) { to[l.Action[i]]++ })
	count := make([]int, len(rows))
	for a, n := range rows {
		count[a] = int(n)
	}
	return count
}

// undrawn says what else may be wrong where K counts the actions that the log has, and not those that could be drawn: K
// is then too small, and true propensities look so.
func (l *log) undrawn() string {
	n := l.Undrawn(l.perAction())
	if 100*n <= l.k {
		return ""
	}
	return fmt.Sprintf("; or, as about %d actions beside these %d may never have been drawn, give all of them by setting "+
		"actions", n, l.k)
}

// spans returns the least and the largest propensity.
func (l *log) spans() (low, high float64) {
	return l.lowest("propensity", func() float64 { return slices.Min(l.Propensity) }), -l.lowest("propensity, the "+
		"largest", func() float64 { return -slices.Max(l.Propensity) })
}

// oddsByAction are log.mean of 1{a_i = a}/p_i over the rows that offer a, by action: with v that of row i,
// Σω²(v − m)² = Σω²v² − 2mΣω²v + m²Σω², and so of cubes.
func (l *log) oddsByAction() []mean {
	const terms = 6 // Σωv, Σω²v, Σω²v², Σω³v, Σω³v², Σω³v³
	s := l.totals("odds by action", terms*l.k, func(i int, to []float64) {
		w, v := l.rowWeight(i), 1/l.Propensity[i]
		to = to[terms*int(l.Action[i]):]
		w2, w3 := w*w, w*w*w
		for j, x := range [terms]float64{w * v, w2 * v, w2 * v * v, w3 * v, w3 * v * v, w3 * v * v * v} {
			to[j] += x
		}
	})
	const powers = 4 // rows, Σω, Σω², Σω³: of all actions, or of each
	different := 1
	if l.Sets() {
		different = l.k
	}
	all := l.totals("powers of weights", powers*different, func(i int, to []float64) {
		w := l.rowWeight(i)
		offered := 1
		if l.Sets() {
			offered = l.Options(i)
		}
		for j := range offered {
			a := int32(0)
			if l.Sets() {
				a, _ = l.Option(i, j)
			}
			for k, x := range [powers]float64{1, w, w * w, w * w * w} {
				to[powers*int(a)+k] += x
			}
		}
	})
	means := make([]mean, l.k)
	for a := range means {
		v, w := s[terms*a:terms*(a+1)], all[powers*min(a, different-1):]
		if w[0] == 0 {
			continue
		}
		m := v[0] / w[1]
		means[a] = moments{Rows: int(w[0]), Weight: w[1], Mean: m, Square: [3]float64{2: v[2] - 2*m*v[1] + m*m*w[2]},
			Cube: [4]float64{3: v[5] - 3*m*v[4] + 3*m*m*v[3] - m*m*m*w[3]}}.mean()
	}
	return means
}

// groupSums are Σ s_g², Σ s_g n_g and Σ n_g² over groups of n_g rows, s_g the sum of a column over those of group
// g.
type groupSums struct{ square, product, rows float64 }

// byGroup adds up a column by group.
func (l *log) byGroup(name string, of func(i int) float64) groupSums {
	s := l.sums(name+" by group", 3, func() []float64 {
		n, sum := map[int32]float64{}, map[int32]float64{}
		for i, g := range l.Group {
			if g >= 0 {
				n[g]++
				sum[g] += of(i)
			}
		}
		s := make(kernel.Sums, 3)
		for _, g := range slices.Sorted(maps.Keys(n)) {
			s.Add([]float64{sum[g] * sum[g], sum[g] * n[g], n[g] * n[g]})
		}
		return s.Values()
	})
	return groupSums{s[0], s[1], s[2]}
}

// apart returns the variance of how often each action was drawn, where a group counts as one: Σ_g (Σ_{i in g}
// ω_i(1{a_i = a} − π₀(a|x_i)))².
func (l *log) apart() []float64 {
	square, off := make([]float64, l.k), make([]float64, l.k)
	if l.Group == nil {
		return square
	}
	var rows []int
	for i, g := range l.Group {
		if g >= 0 {
			rows = append(rows, i)
		}
	}
	slices.SortFunc(rows, func(i, j int) int { return cmp.Or(cmp.Compare(l.Group[i], l.Group[j]), i-j) })
	from := 0
	for at, i := range rows {
		w := l.rowWeight(i)
		off[l.Action[i]] += w
		for j, p := range l.Pi0(i) {
			a, _ := l.Option(i, j)
			off[a] -= w * p
		}
		if at+1 < len(rows) && l.Group[rows[at+1]] == l.Group[i] {
			continue
		}
		for _, i := range rows[from : at+1] {
			for j := range l.Options(i) {
				a, _ := l.Option(i, j)
				square[a] += off[a] * off[a]
				off[a] = 0
			}
		}
		from = at + 1
	}
	return square
}

// concentration says how few rows carry the weight when the uniform policy is
// judged. An effective size (Σw)²/Σw² below 50, or a row with more than 25 % of
// the weight, is doubtful: the uniform policy is only a yardstick.
func (l *log) concentration() {
	if l.Propensity == nil {
		return
	}
	weight := func(i int) float64 { return l.ofUniform(i) * l.rowWeight(i) }
	ess, sum, most := l.effective("weight of uniform", weight)
	largest := -l.lowest("weight", func() float64 {
		most := 0.
		for i := range l.n {
			most = max(most, l.ofUniform(i))
		}
		return -most
	})
	f := Finding{Check: "effective sample size",
		Measured: fmt.Sprintf("%.0f of %d rows; largest weight %.3g (%s of all)", ess, l.n, largest, percent(most/sum)),
		Numbers:  []Number{{"ess", ess}, {"largest share", most / sum}}}
	if !l.merged {
		top := keys.First(func(yield func(float64) bool) {
			for i := 0; i < l.n && yield(weight(i)); i++ {
			}
		}, max(1, l.n/100), func(a, b float64) int { return cmp.Compare(b, a) })
		slices.Reverse(top) // the least first, for their sum
		tail, least := floats.Sum(top), largest
		for i := range l.n {
			least = min(least, l.ofUniform(i))
		}
		f.Measured += fmt.Sprintf("; top 1 %% of rows carry %s", percent(tail/sum))
		f.Numbers = append(f.Numbers, Number{"tail share", tail / sum})
		l.report.Weights = []Histogram{histogram("weight 1/(K p) of the uniform policy", l.n, l.ofUniform, least,
			largest)}
	}
	l.judge(f, l.n >= 100 && (ess < 50 || most > 0.25*sum), Doubtful,
		"policies far from the logging policy would be judged by a handful of rows", "learn with pessimism, or "+
			"explore more")
}

// effective returns the effective size of weights, (Σw)²/Σw², their sum and the largest.
func (l *log) effective(name string, w func(i int) float64) (ess, sum, most float64) {
	s := l.totals(name, 2, func(i int, to []float64) { to[0], to[1] = to[0]+w(i), to[1]+w(i)*w(i) })
	most = -l.lowest(name+", the largest", func() float64 {
		most := math.Inf(-1)
		for i := range l.n {
			most = max(most, w(i))
		}
		return -most
	})
	return s[0] * s[0] / s[1], s[0], most
}

// rowWeights looks at the weights of rows as a column: an effective size below 50,
// or one row with more than 10 % of it, is doubtful.
func (l *log) rowWeights() {
	if l.Weight == nil {
		return
	}
	ess, sum, most := l.effective("weight of rows", l.rowWeight)
	f := Finding{Check: "row weights", Measured: fmt.Sprintf("effective size %.0f of %d rows; the largest has %s "+
		"of all", ess, l.n, percent(most/sum))}
	l.judge(f, l.n >= 100 && (ess < 50 || most > 0.1*sum), Doubtful, "few rows outweigh all others",
		"see what the column of weights holds")
}
