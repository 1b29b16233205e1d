package kernel

import (
	"math"
	"slices"

	"opl/graph/kernel/simd"
)

// PlackettLuce writes the logarithms of the probabilities of lists, slot by slot, under Plackett–Luce policies:
//
//	log p_l = x_{a_l} − S_l,   S_l = log Σ_{b ∉ a_1…a_{l−1}} exp(x_b)
//
// x are scores [rows×k], lists the actions a_1…a_L [rows×slots] from 0, all different; dst is [rows×slots]. A slot of
// −1 is empty, as are those after it: log p = 0. It takes k exponentials a row: S_L is of those below the last slot,
// and each S_l adds the action of its slot, so that nothing is subtracted. An action of score −Inf is not offered.
func PlackettLuce[T Float](dst, x, lists []T, k, slots int) {
	rows, rest := rowsOf("PlackettLuce", len(x), k, len(x)), make([]T, k)
	for i := range rows {
		row, at, to := x[i*k:(i+1)*k], lists[i*slots:(i+1)*slots], dst[i*slots:(i+1)*slots]
		copy(rest, row)
		n := shownIn(at)
		for _, a := range at[:n] {
			rest[int(a)] = T(math.Inf(-1))
		}
		s := logSumExp(rest)
		clear(to[n:])
		for l := n - 1; l >= 0; l-- {
			v := float64(row[int(at[l])])
			s = logAdd(s, v)
			to[l] = T(v - s)
		}
	}
}

// logSumExp is log Σ exp(x_b), and spoils x.
func logSumExp[T Float](x []T) float64 {
	if x, ok := any(x).([]float32); ok {
		if m := slices.Max(x); !math.IsInf(float64(m), 0) {
			simd.Affine(x, x, 1, -m)
			simd.Exp32(x, x)
			return float64(m) + math.Log(simd.Sum(x))
		}
	}
	m, tail, ties := sumExp(x, nil)
	if ties > 0 {
		return m
	}
	return m + math.Log1p(tail)
}

// PlackettLuceGrad writes the derivative of Σ_l g_l log p_l in the scores, for the y that PlackettLuce gave:
//
//	Σ_l g_l (1[b = a_l] − 1[b ∉ a_1…a_{l−1}] exp(x_b − S_l))
func PlackettLuceGrad[T Float](dst, x, lists, y, g []T, k, slots int) {
	rows := rowsOf("PlackettLuceGrad", len(x), k, len(dst))
	sums := make([]float64, slots)
	for i := range rows {
		row, to := x[i*k:(i+1)*k], dst[i*k:(i+1)*k]
		at, up := lists[i*slots:(i+1)*slots], g[i*slots:(i+1)*slots]
		n := shownIn(at)
		if n == 0 {
			clear(to)
			continue
		}
		for l, a := range at[:n] {
			sums[l] = float64(row[int(a)]) - float64(y[i*slots+l])
		}
		least := sums[n-1] // S_l falls
		factor := 0.
		for l, s := range sums[:n] {
			factor += float64(up[l]) * exp(least-s)
		}
		scaledExp(to, row, least, factor)
		for j, a := range at[:n] { // in place of what the pass wrote for what is shown
			d := float64(up[j])
			for l := range j + 1 {
				d -= float64(up[l]) * exp(float64(row[int(a)])-sums[l])
			}
			to[int(a)] = T(d)
		}
	}
}

// scaledExp writes −factor·exp(x − least), where x is above least −factor: what stands there is written over.
func scaledExp[T Float](to, x []T, least, factor float64) {
	if to, ok := any(to).([]float32); ok {
		simd.Affine(to, any(x).([]float32), 1, float32(-least))
		for b, v := range to {
			to[b] = min(v, 0)
		}
		simd.Exp32(to, to)
		simd.Affine(to, to, float32(-factor), 0)
		return
	}
	for b, v := range x {
		to[b] = T(-factor * exp(min(0, float64(v)-least)))
	}
}

// shownIn is the number of slots before the first that is empty.
func shownIn[T Float](list []T) int {
	for l, a := range list {
		if a < 0 {
			return l
		}
	}
	return len(list)
}

// logAdd is log(eˣ + eʸ).
func logAdd(x, y float64) float64 {
	if x < y {
		x, y = y, x
	}
	if math.IsInf(y, -1) {
		return x
	}
	return x + math.Log1p(math.Exp(y-x))
}
