package certify

import (
	"fmt"
	"iter"
	"math"
	"slices"
)

// Long is the shape k of the tail of weights, see [Tail], from which on no interval of their mean is to be trusted.
const Long = 0.7

// Untrusted says why no normal interval of a mean by weights is to be trusted: for the shape k of their tail, or their
// mean, whose standard error is se; empty: neither speaks against it.
func Untrusted(k, mean, se float64) (tail, off string) {
	if k >= Long {
		tail = fmt.Sprintf("the largest weights have the tail k = %.2f: from %v on no interval is to be trusted", k, Long)
	}
	if d := math.Abs(mean - 1); d > 4*se && d > 0.01 {
		off = fmt.Sprintf("weights average %.3g, not 1: propensities are wrong, or the policy takes actions that the "+
			"log could not, or hardly took", mean)
	}
	return tail, off
}

// tailLength is the number of the weights that are the largest of n.
func tailLength(n int) int {
	return int(math.Ceil(min(float64(n)/5, 3*math.Sqrt(float64(n)))))
}

// Top returns in order the weights of w that may be among the largest of n rows, and one more, above which the tail
// begins. Shards return more than they need, so that merging finds the largest of all.
func Top(w iter.Seq[float64], n int) (x []float64) {
	most, least := tailLength(n)+1, math.Inf(-1)
	cut := func() {
		slices.Sort(x)
		x = x[max(0, len(x)-most):]
	}
	for v := range w {
		if v <= least {
			continue
		}
		if x = append(x, v); len(x) >= 2*most+1024 {
			cut()
			x = slices.Clone(x)
			least = x[0]
		}
	}
	cut()
	return x
}

// Tail is, of x the Top of n weights, which it overwrites, the shape k of the generalized Pareto
// distribution of the largest weights, min(n/5, 3√n) of them above the next: moments of order 1/k
// and above do not exist, and from .7 on the error of a mean of weights cannot be told from its
// rows. Vehtari et al. (2024), by the estimate of Zhang & Stephens (2009) on the excesses x_1 ≤ … ≤
// x_m above 0,
//
//	k = mean log(1 − θx_j),   θ = Σ_i θ_i L_i/Σ_i L_i,   i ≤ M = 30 + ⌊√m⌋
//	θ_i = 1/x_m + (1 − √(M/(i − ½)))/(3x_[m/4+½])
//	log L_i = m(log(−θ_i/k_i) − k_i),   k_i = mean log(1 − θ_i x_j)
//
// shrunk to ½ by ten rows, (mk + 5)/(m + 10). 0 where there are fewer than 5 different excesses: no tail.
func Tail(x []float64, n int) float64 {
	length := tailLength(n)
	if length >= len(x) {
		return 0
	}
	cut := x[len(x)-length-1]
	x = x[len(x)-length:]
	different := 0
	for j := range x {
		if x[j] -= cut; x[j] > 0 && (j == 0 || x[j] != x[j-1]) {
			different++
		}
	}
	if different < 5 {
		return 0
	}
	x = x[slices.IndexFunc(x, func(v float64) bool { return v > 0 }):]
	m := float64(len(x))
	shape := func(theta float64) (k float64) {
		for _, v := range x {
			k += math.Log1p(-theta * v)
		}
		return k / m
	}
	points := 30 + int(math.Sqrt(m))
	quarter := x[max(int(m/4+0.5), 1)-1]
	theta, log, most := make([]float64, points), make([]float64, points), math.Inf(-1)
	for i := range theta {
		theta[i] = 1/x[len(x)-1] + (1-math.Sqrt(float64(points)/(float64(i)+0.5)))/(3*quarter)
		k := shape(theta[i])
		if log[i] = m * (math.Log(-theta[i]/k) - k); log[i] != log[i] { // θ = 0
			log[i] = math.Inf(-1)
		}
		most = max(most, log[i])
	}
	var sum, total float64
	for i, l := range log {
		if l > math.Inf(-1) {
			sum += theta[i] * math.Exp(l-most)
			total += math.Exp(l - most)
		}
	}
	return (m*shape(sum/total) + 5) / (m + 10)
}
