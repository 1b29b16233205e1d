package ope

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"opl/train/certify"
)

// Method is a way to an interval at level 1 − δ for a value, a gain or a difference.
type Method struct {
	Name, About string // as settings name it, and one line of help
	Bounded     bool   // reads rows that are known to be in an interval: only estimators that are Bounded have it
	Resamples   bool   // reads values of resampled rows

	of func(t *sample, q quantity) (low, high float64)
}

// Methods lists the ways to an interval, the default first.
func Methods() []Method {
	return []Method{
		{Name: "normal", About: "± z standard errors; for many rows", of: normal},
		{Name: "bernstein", About: "empirical Bernstein; any number of rows, bounded weights", Bounded: true,
			of: bernstein},
		{Name: "betting", About: "by hedged capital; any number of rows, bounded weights", Bounded: true,
			of: betting},
		{Name: "bootstrap", About: fmt.Sprintf("quantiles of %d resamples of rows, or of whole groups", resamples),
			Resamples: true, of: percentiles},
	}
}

// resamples is the number of those of a bootstrap.
const resamples = 1000

// method finds one by name; "" is the first.
func method(name string) (Method, error) {
	all := Methods()
	if name == "" {
		return all[0], nil
	}
	i := slices.IndexFunc(all, func(m Method) bool { return m.Name == name })
	if i < 0 {
		var names []string
		for _, m := range all {
			names = append(names, m.Name)
		}
		return Method{}, fmt.Errorf("ope: setting interval: no interval %q: want %s", name,
			strings.Join(names, ", "))
	}
	return all[i], nil
}

// quantity is what an interval is made for.
type quantity struct {
	Value
	low, high float64   // of its rows, where the method asks for it
	again     []float64 // its values in resamples, likewise
}

// less is the difference of two quantities of the same rows.
func (q quantity) less(other quantity) quantity {
	out := quantity{Value: Value{Value: q.Value.Value - other.Value.Value,
		Influence: floats.SubTo(make([]float64, len(q.Influence)), q.Influence, other.Influence)},
		low: q.low - other.high, high: q.high - other.low}
	if q.again != nil {
		out.again = floats.SubTo(make([]float64, len(q.again)), q.again, other.again)
	}
	return out
}

func (t *sample) interval(q quantity) Interval {
	low, high := t.method.of(t, q)
	return Interval{q.Value.Value, t.se(q.Influence), low, high}
}

func normal(t *sample, q quantity) (low, high float64) {
	se := t.se(q.Influence)
	return q.Value.Value - t.z*se, q.Value.Value + t.z*se
}

// units are the means of a quantity's rows in each of the G groups, in [0, 1] for rows between low and high, in
// an order that nothing in the log decides. Rows are of equal weight, groups of equal size.
func (t *sample) units(q quantity) []float64 {
	x := make([]float64, t.groups)
	for i, u := range q.Influence {
		x[t.group(i)] += u
	}
	for g := range x {
		x[g] = min(max((q.Value.Value+float64(t.groups)*x[g]-q.low)/(q.high-q.low), 0), 1)
	}
	rand.New(rand.NewPCG(t.seed, 0xbe7)).Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
	return x
}

// bernstein is the interval of Maurer & Pontil (2009), Theorem 4, on both sides: for a mean of n independent
// rows in [0, 1] with sample variance V,
//
//	mean ± √(2V log(4/δ)/n) + 7 log(4/δ)/(3(n − 1))
func bernstein(t *sample, q quantity) (low, high float64) {
	n, wide, se := float64(t.groups), q.high-q.low, t.se(q.Influence)
	l := math.Log(4 / t.delta)
	half := se*math.Sqrt(2*l) + wide*7*l/(3*(n-1))
	return q.Value.Value - half, q.Value.Value + half
}

// betting is the hedged capital interval of Waudby-Smith & Ramdas (2023), Theorem 3: with x_t in [0, 1],
//
//	{m : max_t max(∏(1 + λ_t⁺(x_t − m)), ∏(1 − λ_t⁻(x_t − m)))/2 < 1/δ}
//	λ_t⁺ = min(λ_t, 1/2m),   λ_t⁻ = min(λ_t, 1/2(1 − m)),   λ_t = √(2 log(2/δ)/(n σ̂²_{t−1}))
//	μ̂_t = (1/2 + Σ x)/(t + 1),   σ̂²_t = (1/4 + Σ(x − μ̂)²)/(t + 1)
//
// their λ for a fixed n. It holds for any n, if rows (or groups) are independent and alike.
func betting(t *sample, q quantity) (low, high float64) {
	x := t.units(q)
	lambda := make([]float64, len(x))
	sum, square := 0.5, 0.25
	for i, v := range x {
		lambda[i] = math.Sqrt(2 * math.Log(2/t.delta) / (float64(len(x)) * square / float64(i+1)))
		sum += v
		d := v - sum/float64(i+2)
		square += d * d
	}
	// rejects reports that bets that the mean is above m, on x as it is or turned around, made
	// more than what shows it.
	rejects := func(m float64, turned bool) bool {
		log, most := 0.0, math.Log(2/t.delta)
		for i, v := range x {
			if turned {
				v = 1 - v
			}
			if log += math.Log1p(min(lambda[i], 0.5/m) * (v - m)); log >= most {
				return true
			}
		}
		return false
	}
	// end is the largest m that is rejected, 0 if none is.
	end := func(turned bool) float64 {
		most, _ := certify.Bisect(0, 1, 60, func(m float64) bool { return rejects(m, turned) })
		return most
	}
	return q.low + (q.high-q.low)*end(false), q.low + (q.high-q.low)*(1-end(true))
}

// percentiles are the δ/2 and 1 − δ/2 quantiles of the values in resamples, those left out that have none.
func percentiles(t *sample, q quantity) (low, high float64) {
	v := slices.DeleteFunc(slices.Clone(q.again), func(v float64) bool { return !finite(v) })
	slices.Sort(v)
	at := func(p float64) float64 { // between the two nearest in rank
		p *= float64(len(v) - 1)
		i := min(int(p), len(v)-1)
		return v[i] + (p-float64(i))*(v[min(i+1, len(v)-1)]-v[i])
	}
	return at(t.delta / 2), at(1 - t.delta/2)
}

// draws are the resamples, where the method asks for them.
func (t *sample) draws() iter.Seq[*sample] {
	return func(yield func(*sample) bool) {
		for b := 0; t.method.Resamples && b < resamples && yield(t.resample(b)); b++ {
		}
	}
}

// resample draws G groups out of G with replacement, the same for the same b.
func (t *sample) resample(b int) *sample {
	count, r := make([]float64, t.groups), rand.New(rand.NewPCG(t.seed, uint64(b)))
	for range count {
		count[r.IntN(t.groups)]++
	}
	out := *t
	out.omega, out.total = make([]float64, t.n), 0
	for i := range out.omega {
		out.omega[i] = count[t.group(i)] * t.weight(i)
		out.total += out.omega[i]
	}
	return &out
}

// bounded says why rows have no bounds that a method could read; empty: they have.
func (t *sample) bounded() string {
	for i := range t.n {
		if t.weight(i) != t.weight(0) {
			return "rows of equal weight"
		}
	}
	if t.place != nil {
		size := make([]int, t.groups)
		for _, g := range t.place {
			size[g]++
		}
		if slices.Min(size) != slices.Max(size) {
			return "groups of equal size"
		}
	}
	return ""
}
