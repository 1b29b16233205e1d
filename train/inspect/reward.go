package inspect

import (
	"fmt"
	"math"
	"slices"
)

// reward says what there is to learn from: rewards −c that are all equal are
// unusable; doubtful are those that differ from the most common one in fewer
// than 20 rows.
func (l *log) reward() {
	count := map[uint64]int{} // by bits: a NaN is a key of its own each time
	low, high, lows, highs := slices.Min(l.Cost), slices.Max(l.Cost), 0, 0
	for _, c := range l.Cost {
		switch c {
		case low:
			lows++
		case high:
			highs++
		default:
			count[math.Float64bits(c+0)]++
		}
	}
	count[math.Float64bits(low+0)] += lows
	count[math.Float64bits(high+0)] += highs
	common, most := 0.0, 0
	for bits, n := range count {
		if c := math.Float64frombits(bits); n > most || n == most && c < common {
			common, most = c, n
		}
	}
	m := l.meanReward()
	f := Finding{Check: "reward",
		Measured: fmt.Sprintf("mean %.4g ± %.2g; %s of rows have %.6g", l.units.At(m.value), m.se*l.units.Span(), percent(float64(most)/float64(l.n)), l.units.At(-common+0)),
		Numbers:  []Number{{"mean", l.units.At(m.value)}, {"se", m.se * l.units.Span()}}}
	switch rest := l.n - most; {
	case rest == 0:
		f.Severity, f.Means, f.Do = Unusable, "every row has the same reward: nothing can be learned", "see that the right column was read, and wait for rewards that come late"
	case rest < 20 && l.n >= 100:
		f.Severity, f.Means, f.Do = Doubtful, fmt.Sprintf("only %d rows differ from the others: no two policies can be told apart", rest), "log more, or choose a reward that comes more often"
	}
	l.add(f)
}

// sign looks for costs read as rewards or the reverse. Doubtful are rewards of two
// values that are the larger one in more than 95 % of rows, and a logging policy
// that earns less than the uniform policy would, at z < −5 and by more than a
// tenth of the spread.
func (l *log) sign() {
	low, high, best, worst := slices.Min(l.Cost), slices.Max(l.Cost), 0, 0
	for _, c := range l.Cost {
		if c == low {
			best++
		} else if c == high {
			worst++
		}
	}
	f := Finding{Check: "sign of the reward"}
	share := float64(best) / float64(l.n)
	f.Measured = fmt.Sprintf("rewards from %.4g to %.4g", l.units.At(-high+0), l.units.At(-low))
	if best+worst == l.n && low < high && share > 0.95 {
		f.Severity, f.Measured = Doubtful, f.Measured+fmt.Sprintf(", %s of rows have the better", percent(share))
		f.Means = "failures are rare, as successes usually are: a cost may have been read as a reward"
	}
	if l.weight != nil && low < high {
		// Self-normalized, as in the difference of on-policy and SNIPS values.
		on := l.meanReward().value
		sum := l.meanOf(l.weight)
		uniform := l.mean(func(i int) float64 { return -l.weight[i] * l.Cost[i] }).value / sum.value
		d := l.mean(func(i int) float64 { return -l.Cost[i] - on - l.weight[i]/sum.value*(-l.Cost[i]-uniform) })
		z := 0.0
		if d.se > 0 {
			z = (on - uniform) / d.se
		}
		f.Measured += fmt.Sprintf("; logging policy %.4g, uniform %.4g, z = %.1f", l.units.At(on), l.units.At(uniform), z)
		if spread := (high - low) * math.Sqrt(share*(1-share)); z < -5 && on-uniform < -0.1*max(spread, 0.01) && f.Severity == Fine {
			f.Severity, f.Means = Doubtful, "the logging policy earns less than chance: rewards and costs may be exchanged"
		}
	}
	if f.Severity > Fine {
		f.Do = "see whether the column is a cost; give setting reward-min and setting reward-max accordingly"
	}
	l.add(f)
}
