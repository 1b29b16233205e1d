package inspect

import (
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
