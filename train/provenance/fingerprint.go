package provenance

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"opl/policies/policyfile"
	"opl/train/internal/keys"
	"opl/train/logs"
)

// # Rows known again
//
// A row that had a part in a policy may come back in a later log under another id, with
// its context rounded. It is known again by its context at some rounding, or by the actions
// of the rows before it. Whether a row of the later log is that row, or another that has
// the same context by chance, its action tells. Let a row i of an independent log have the
// key of a fingerprint, whose action is w_i. Its action a_i was drawn from π₀(·|x_i) when
// everything that the key is made of was known, so that for every stake s in [0, 1)
//
//	E[1 − s + s·1{a_i = w_i}/π₀(a_i|x_i)] = 1 given the rows before it and all contexts
//
// and the product e of these over the rows has mean 1, as has the mean of such products over
// stakes and roundings: P(e ≥ 1/α) ≤ α by Markov's inequality, whatever the distribution of
// contexts and rewards, however it changes from one log to the next, and however often
// contexts repeat. A row that comes back agrees surely, and multiplies e by nearly
// 1/π₀(a_i|x_i) at a stake near 1: of fingerprints drawn by chance about log(1/α)/H are enough,
// where H is the entropy of the logging policy in nats; of those of rare actions, fewer. (This is betting as in
// Shafer, Testing by betting, JRSS A 184, 2021.)
//
// What cannot be known again: rows in another order with few distinct contexts, as of whole numbers; with names
// of actions changed; with columns dropped or rescaled, in another order; with columns added, where the policy does not
// know all of those that were there; and rows too few for the number above.

const (
	fingerprints = 1000 // of each kind that a file has at most
	falseAlarm   = 1e-6 // probability of taking an independent log for one that shares rows
)

// kinds are the ways to know rows again. Digits and decimals go together, so that what
// another program rounded to either is found.
var kinds = []policyfile.Fingerprints{
	{}, {Digits: 4}, {Digits: 6, Decimals: 6}, {Digits: 4, Decimals: 4}, {Digits: 3, Decimals: 3},
	{Digits: 2, Decimals: 2}, {Digits: 1, Decimals: 1}, {Digits: 3, Decimals: 3, Time: true}, {Run: 40},
}

// stakes of the bets that rows are known ones.
var stakes = []float64{.02, .1, .3, .6, .9, .99}

// keysOf are what the rows are known again by, those before row from left out; nil: the
// log lacks what it takes.
func (j *Judge) keysOf(w policyfile.Fingerprints, only map[string]bool) (keys []uint64, from int) {
	n := j.log.Len()
	if w.Run > 0 {
		const base = 0x9e3779b97f4a7c15
		names, keys := j.actions(), make([]uint64, n)
		var h uint64
		last := uint64(1) // base to the power of Run
		for range w.Run {
			last *= base
		}
		for i := range keys {
			keys[i] = Hash(uint64(w.Run), h)
			h = h*base + names[j.log.Action[i]]
			if i >= w.Run {
				h -= last * names[j.log.Action[i-w.Run]]
			}
		}
		return keys, min(w.Run, n)
	}
	return j.contextKeys(w, nil, true, only), 0
}

// contextKeys returns the keys of rows by their contexts; nil rows: of all. Without offered, what the rows offer is
// left out. Of contexts with names those in only count; nil: all.
func (j *Judge) contextKeys(w policyfile.Fingerprints, rows []int, offered bool, only map[string]bool) []uint64 {
	if w.Time && j.log.Time == nil {
		return nil
	}
	keys := j.log.RoundedHashes(rounding(w.Digits, w.Decimals), rows, offered, only)
	switch {
	case keys != nil:
	case !w.Time:
		return nil
	case rows == nil:
		keys = make([]uint64, j.log.Len())
	default:
		keys = make([]uint64, len(rows))
	}
	for i, k := range keys {
		r, t := i, uint64(0)
		if rows != nil {
			r = rows[i]
		}
		if w.Time {
			t = uint64(j.log.Time[r]/1e9) + 1
		}
		keys[i] = Hash(t, k)
	}
	return keys
}

// offeredKeys are keysOf of a log with sets, of as few of the rows as fingerprints need, which it returns with some of
// them: rows that are told apart without what they offer are read whole only if they may become fingerprints. Of the
// first 1½ thousand of a list so many do as there may be.
func (j *Judge) offeredKeys(w policyfile.Fingerprints, rows []int, some [2][]int) (keys []uint64, of []int,
	may [2][]int) {
	parts := j.contextKeys(w, nil, false, nil)
	if parts == nil {
		return nil, nil, may
	}
	times := make(map[uint64]int, len(rows))
	for _, r := range rows {
		times[parts[r]]++
	}
	reads := make([]bool, len(parts))
	for i, list := range some {
		alone := 0
		for _, r := range list {
			if times[parts[r]] == 1 {
				if alone++; alone > 3*fingerprints/2 {
					continue
				}
			}
			may[i], reads[r] = append(may[i], r), true
		}
	}
	for _, r := range rows {
		if reads[r] || times[parts[r]] > 1 {
			of = append(of, r)
		}
	}
	keys = make([]uint64, len(parts))
	for i, k := range j.contextKeys(w, of, true, nil) {
		keys[of[i]] = k
	}
	return keys, of, may
}

// actions are the hashes of the actions' names.
func (j *Judge) actions() []uint64 {
	names := make([]uint64, j.log.K())
	for a, name := range j.log.Actions {
		names[a] = xxhash.Sum64String(name)
	}
	return names
}

// split masks the 24 bits of a fingerprint's key that are of the action; the other 40 are of the row.
const split = 1<<24 - 1

// fingerprints are what some of the rows are known again by, of which no other row has the
// key: half of them those of the least propensities, which say most, the others drawn by
// chance.
func (j *Judge) fingerprints(rows []int) (all []policyfile.Fingerprints) {
	names := j.actions()
	_, identity := j.log.Identity()
	drawn := func(a, b int) int { return cmp.Compare(Hash(1, identity[a]), Hash(1, identity[b])) }
	rare := func(a, b int) int { return cmp.Or(cmp.Compare(j.log.Propensity[a], j.log.Propensity[b]), drawn(a, b)) }
	some := [2][]int{rows[:min(len(rows), 25*fingerprints)], keys.First(slices.Values(rows), 25*fingerprints, drawn)}
	if j.log.Propensity != nil {
		some[0] = keys.First(slices.Values(rows), 25*fingerprints, rare)
	}
	for _, w := range kinds {
		var keys []uint64
		from, of, some := 0, rows, some
		if j.log.Sets() && w.Run == 0 {
			keys, of, some = j.offeredKeys(w, rows, some)
		} else {
			keys, from = j.keysOf(w, nil)
		}
		if keys == nil {
			continue
		}
		times := map[uint64]int{}
		for _, r := range slices.Concat(some[:]...) {
			times[keys[r]] = 0
		}
		for _, r := range of {
			if n, ok := times[keys[r]]; ok {
				times[keys[r]] = n + 1
			}
		}
		for i, most := range []int{fingerprints / 2, fingerprints} {
			for _, r := range some[i] {
				if k := keys[r]; r >= from && times[k] == 1 && len(w.Keys) < most {
					w.Keys = append(w.Keys, k&^split|names[j.log.Action[r]]&split)
					times[k] = 0
				}
			}
		}
		if slices.Sort(w.Keys); len(w.Keys) > 0 {
			all = append(all, w)
		}
	}
	return all
}

// fewer are the fingerprints that a file of a later policy has: some of each kind.
func fewer(all []policyfile.Fingerprints) []policyfile.Fingerprints {
	all = slices.Clone(all)
	for i := range all {
		all[i].Keys = all[i].Keys[:min(300, len(all[i].Keys))]
	}
	return all
}

// known says that rows of the log, but for those left out, are known again as rows that
// the fingerprints are of: the probability that a log which shares none says so is at most falseAlarm, by all columns
// and by those in reads, which the policy knows, each.
// Empty: they are not, or the log does not say how its actions were drawn.
func (j *Judge) known(all []policyfile.Fingerprints, out []bool, reads map[string]bool) string {
	if len(all) == 0 || j.log.Propensity == nil || j.log.Estimated {
		return ""
	}
	const whose = "a row that had a part in the policy"
	e, says := j.bet(all, out, nil, whose)
	added := func(name string) bool { return !reads[name] }
	if reads != nil && slices.ContainsFunc(j.log.Names(), added) {
		if known, by := j.bet(all, out, reads, whose); known > e {
			e, says = known, by
		}
	} else if j.partial != nil { // as shards that have such columns
		j.partial.Bets = append(j.partial.Bets, slices.Clone(j.partial.Bets[len(j.partial.Bets)-1]))
	}
	if e < -math.Log(falseAlarm) {
		return ""
	}
	return fmt.Sprintf("%s, which has a probability below 1e-%.0f of rows drawn anew", says,
		math.Floor(min(e/math.Ln10, 300)))
}

// bet is log e, and what says most; whose says what the fingerprints are of.
func (j *Judge) bet(all []policyfile.Fingerprints, out []bool, only map[string]bool, whose string) (e float64,
	says string) {
	sums, says := told(j.bets([][]policyfile.Fingerprints{all}, out, only)[0], whose)
	if j.partial != nil {
		j.partial.Bets = append(j.partial.Bets, sums)
	}
	return meanExp(sums), says
}

// wager is what bets come to that rows are those of fingerprints of one kind.
type wager struct {
	on         policyfile.Fingerprints
	sums       []float64 // log e by stake
	met, agree int       // rows of which there is a fingerprint, and those with its action
}

// bets bets, for each list of fingerprints, that rows which are not out are those of the list, see contextKeys. It
// hashes rows once for each kind, however many lists there are.
func (j *Judge) bets(lists [][]policyfile.Fingerprints, out []bool, only map[string]bool) [][]*wager {
	type kind struct {
		digits, decimals, run int
		time                  bool
	}
	type known struct {
		by     *wager
		action uint64
	}
	all, names := make([][]*wager, len(lists)), j.actions()
	var kinds []kind
	of := map[kind][]*wager{}
	for l, list := range lists {
		for _, w := range list {
			k, by := kind{w.Digits, w.Decimals, w.Run, w.Time}, &wager{on: w, sums: make([]float64, len(stakes))}
			if of[k] == nil {
				kinds = append(kinds, k)
			}
			all[l], of[k] = append(all[l], by), append(of[k], by)
		}
	}
	for _, k := range kinds {
		rows, from := j.keysOf(of[k][0].on, only)
		keys := map[uint64][]known{}
		for _, by := range of[k] {
			for _, key := range by.on.Keys { // of a list the last with a key counts
				at := keys[key>>24]
				if n := len(at); n > 0 && at[n-1].by == by {
					at = at[:n-1]
				}
				keys[key>>24] = append(at, known{by, key & split})
			}
		}
		for i := from; i < len(rows); i++ {
			if out[i] {
				continue
			}
			for _, w := range keys[rows[i]>>24] {
				odds := 0.
				if w.by.met++; names[j.log.Action[i]]&split == w.action {
					odds = 1 / (j.log.Propensity[i] * max(1, j.found.Gamma))
					w.by.agree++
				}
				for s, stake := range stakes {
					w.by.sums[s] += math.Log1p(stake * (odds - 1))
				}
			}
		}
	}
	return all
}

// told puts together what bets on a list of fingerprints come to, and says which of them tells most.
func told(bets []*wager, whose string) (sums []float64, says string) {
	most := 0.
	for _, w := range bets {
		sums = append(sums, w.sums...)
		if best := slices.Max(w.sums); best > most {
			most, says = best, fmt.Sprintf("%d rows of this log have %s of %s, and %d of them its action", w.met,
				what(w.on), whose, w.agree)
		}
	}
	return sums, says
}

// meanExp is the logarithm of the mean of exponentials.
func meanExp(of []float64) float64 {
	if len(of) == 0 {
		return math.Inf(-1)
	}
	return floats.LogSumExp(of) - math.Log(float64(len(of)))
}

// what says what rows are known again by.
func what(w policyfile.Fingerprints) string {
	switch {
	case w.Run > 0:
		return fmt.Sprintf("the %d actions before them", w.Run)
	case w.Time:
		return "the time and the context"
	case w.Digits > 0:
		return fmt.Sprintf("the context, to %d digits,", w.Digits)
	}
	return "the context"
}

// contents hashes context, action and cost of each row, the same in every log.
func (j *Judge) contents() []uint64 { return j.content(j.log.ContextHashes(), j.log.Len()) }

// start is contents of the first n rows at most; nil if there are no contexts.
func (j *Judge) start(n int) []uint64 {
	n = min(n, j.log.Len())
	x := j.log.RoundedHashes(nil, logs.Every(n), true, nil)
	if x == nil {
		return nil
	}
	return j.content(x, n)
}

// content hashes the first n rows, of which x are the hashes of contexts.
func (j *Judge) content(x []uint64, n int) []uint64 {
	names, out := j.actions(), make([]uint64, n)
	for i, a := range j.log.Action[:n] {
		if out[i] = keys.Mix(names[a] + keys.Mix(math.Float64bits(j.log.Cost[i]))); x != nil {
			out[i] = keys.Mix(out[i] + x[i])
		}
	}
	return out
}

// repeats counts those of the rows, nil: of all, whose content another of them had before.
func (j *Judge) repeats(rows []int) int {
	of := j.contents()
	if rows != nil {
		of = logs.Pick(of, rows)
	}
	return keys.Again(of)
}

// byChance reports whether n of a log's rows may well have the contents of n rows of the
// one that taught, where rows are told apart by content. Of all pairs of equal rows within
// and across two independent logs of N₁ and N₂ rows, each is across with probability
// q = 2N₁N₂/(N₁+N₂)²: across are n, and no fewer than the repeats within. The tail is
// Chernoff's, exp(−T·kl(n/T, q)) of T pairs.
func (j *Judge) byChance(n, taught, repeats int) bool {
	total := float64(n + repeats + j.repeats(nil))
	a, b := float64(taught), float64(j.log.Len())
	p, q := float64(n)/total, 2*a*b/((a+b)*(a+b))
	if p <= q {
		return true
	}
	kl := stat.KullbackLeibler([]float64{p, 1 - p}, []float64{q, 1 - q})
	return total*kl < -math.Log(falseAlarm)
}

// tens are the powers of ten from 10^-lowest.
var tens = func() (t [609]float64) {
	for i := range t {
		t[i] = math.Pow10(i - lowest)
	}
	return t
}()

const lowest = 300

// powers are, by the biased exponent of a number, floor(log₁₀) of the least such number, and the power of ten above
// it.
var powers = func() (t [2048]struct {
	e    int
	next float64
}) {
	for b := range t {
		e := int(math.Floor(float64(b-1023) * math.Log10E * math.Ln2))
		t[b].e, t[b].next = e, tens[min(max(lowest+e+1, 0), len(tens)-1)]
	}
	return t
}()

// rounding rounds numbers, in place, to the coarser of some significant digits and decimal places; 0 of
// either is none, of both nil. What decimals of as many digits were read as gives the same
// number.
func rounding(digits, decimals int) func([]float64) {
	if digits == 0 && decimals == 0 {
		return nil
	}
	const below = 0.5 - 1./(1<<54) // the last number before ½: cut(y ± below) is y rounded, halves away from 0
	return func(x []float64) {
		for i, v := range x {
			abs := math.Abs(v)
			if !(abs >= 1e-270 && abs < 1e270) {
				x[i] = 0
				continue
			}
			step := -1 << 30
			if digits > 0 {
				p := &powers[math.Float64bits(abs)>>52]
				more := 0
				if abs >= p.next {
					more = 1
				}
				step = p.e + more - digits + 1
			}
			if decimals > 0 {
				step = max(step, -decimals)
			}
			ten := tens[lowest-step]
			y := v * ten
			x[i] = math.Trunc(y+math.Copysign(below, y)) / ten
		}
	}
}
