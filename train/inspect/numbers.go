package inspect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// numbers checks the numbers that actions are. F₀(a|x) is uniform over rows, where the log says the family of the
// density and it is true: the largest distance from that is compared with Dvoretzky, Kiefer and Wolfowitz' bound at
// level alpha. Rows of a group count as one. And numbers should be everywhere in the range: a policy is valued where
// they are.
func (l *log) numbers() {
	if l.Numbers == nil {
		return
	}
	var u []float64
	groups := map[int32]bool{}
	for i, v := range l.Numbers.Transform {
		if v != v {
			continue
		}
		u = append(u, v)
		if l.Group != nil && l.Group[i] >= 0 {
			groups[l.Group[i]] = true
		} else {
			groups[int32(-1-i)] = true
		}
	}
	slices.Sort(u)
	worst, n := 0.0, float64(len(u))
	for i, v := range u {
		worst = max(worst, v-float64(i)/n, (float64(i)+1)/n-v)
	}
	if n > 0 {
		f := Finding{Check: "numbers against densities", About: Draws,
			Measured: fmt.Sprintf("F(number) is %.3g from uniform over %d rows", worst, len(u)),
			Numbers:  []Number{{"distance", worst}}}
		bound := math.Sqrt(math.Log(2/alpha) / 2 / float64(len(groups)))
		l.judge(f, worst > max(bound, .005), map[bool]Severity{false: Doubtful, true: Unusable}[worst > .05+bound],
			"numbers were not drawn from the family that the log states",
			"see that density_family has the parameters of the row's own draw, after all clipping and rounding")
	}
	if l.summary != nil { // numbers of the range that no row of a shard has may be in other shards
		return
	}
	l.repeatedNumbers()
	of := l.Numbers.Of
	low, high := of.Range()
	v := []float64{low, high}
	for i, p := range l.Numbers.Density {
		if p > 0 {
			v = append(v, l.Numbers.Value[i])
		}
	}
	slices.Sort(v)
	at := 0
	for i := range v[1:] {
		if v[i+1]-v[i] > v[at+1]-v[at] {
			at = i
		}
	}
	gap := (v[at+1] - v[at]) / (high - low)
	f := Finding{Check: "range of numbers", Measured: fmt.Sprintf("%d of %d rows have densities; the "+
		"widest gap is from %.4g to %.4g", len(v)-2, l.n, v[at], v[at+1]), Numbers: []Number{{"gap", gap}}}
	l.judge(f, gap > .1, Doubtful, "nothing is known of numbers in the gap", "give setting action-range "+
		"the range that numbers were drawn from")
}

// multiples reports that sorted numbers are whole multiples of the least difference between two of them.
func multiples(sorted []float64) bool {
	step := math.Inf(1)
	for i := range sorted[1:] {
		step = min(step, sorted[i+1]-sorted[i])
	}
	return !slices.ContainsFunc(sorted, func(v float64) bool { return math.Abs(v/step-math.Round(v/step)) > 1e-6 })
}

// fewNumbers are as many as a grid has whose steps matter: a hundredth of the range.
const fewNumbers = 100

// repeatedNumbers tests whether some numbers that have densities were drawn far more often than these say, as numbers
// that are drawn with a probability are: with c rows of one number, whose mean density is f, in a gap of width h
// between the numbers next to it, f·h/2 is what a row has of it, rounded or not, and 4 times that, and 10 rows, are no
// doubt. At most fewNumbers are one, with 20 rows or more of each, if they are not multiples of the gap between them,
// as rounded numbers are: of prices that end in .99 others may not sell alike.
func (l *log) repeatedNumbers() {
	var rows []int
	for i, p := range l.Numbers.Density {
		if p > 0 {
			rows = append(rows, i)
		}
	}
	value := l.Numbers.Value
	slices.SortFunc(rows, func(i, j int) int { return cmp.Compare(value[i], value[j]) })
	n, surplus, most, numbers := float64(len(rows)), 0., 0., 0
	var all []float64
	at := math.NaN()
	for first := 0; first < len(rows); {
		v, end, density := value[rows[first]], first, 0.
		for ; end < len(rows) && value[rows[end]] == v; end++ {
			density += l.Numbers.Density[rows[end]]
		}
		count := float64(end - first)
		below, above := v, v
		if first > 0 {
			below = value[rows[first-1]]
		}
		if end < len(rows) {
			above = value[rows[end]]
		}
		width := (above - below) / 2
		if below == v || above == v {
			width *= 2
		}
		if expected := n * density / count * width; count > 4*expected+10 {
			numbers, surplus = numbers+1, surplus+count-expected
			if count > most {
				most, at = count, v
			}
		}
		first, all = end, append(all, v)
	}
	if len(all) <= fewNumbers && n >= float64(max(100, 20*len(all))) && surplus < .01*n && !multiples(all) {
		l.add(Finding{Check: "numbers that repeat", About: Draws, Severity: Doubtful,
			Measured: fmt.Sprintf("%d numbers in %.0f rows with densities", len(all), n),
			Numbers:  []Number{{"numbers", float64(len(all))}},
			Means:    "numbers between these were never tried, and policies play them: what they earn is unknown",
			Do:       "name the numbers as actions, or log each with its propensity, and no density"})
	}
	if surplus < .01*n || numbers == 0 || n < 100 {
		return
	}
	l.add(Finding{Check: "numbers that repeat", About: Draws, Severity: map[bool]Severity{false: Doubtful, true: Unusable}[surplus > .1*n],
		Measured: fmt.Sprintf("%.3g %% of rows have one of %d numbers, such as %.6g in %.0f rows, beyond what their densities "+
			"say", 100*surplus/n, numbers, at, most), Numbers: []Number{{"share", surplus / n}},
		Means: "these numbers were drawn with a probability, and not with the density that is logged",
		Do:    "log propensity, and no density, in rows whose number has a probability of its own"})
}
