package kernel

import (
	"fmt"
	"unsafe"
)

// A Gaussian policy plays the best action of a random linear scorer:
//
//	π(a|x) = P(a = argmax_k φ(x)ᵀθ_k),   θ ~ N(μ, σ²I)
//
// It depends on x through z_k = φ(x)ᵀμ_k/(σ‖φ(x)‖) alone, the argument z of
// every function below: rows×k, finite (the exact form also takes −Inf, an
// action that is never played). Where φ(x) = 0 the policy is 1/k; z = 0 says
// that to the exact form, while the Monte Carlo estimate of 1/k is noisy.

// The quadrature's points span [m − 6, m + 8] around the largest z. With more
// than fineNodes of them, where accuracy and not speed is asked for, they span
// [m − 9, m + 9].
const fineNodes = 65

// negligible is where a product of Φ's is taken for 0: past it the numbers
// would lose digits, then be 0 anyway.
const negligible = 1e-300

// DefaultNodes returns the number of quadrature points used where none is asked for:
// 33 up to 12 actions, 65 above.
func DefaultNodes(k int) int {
	if k <= 12 {
		return 33
	}
	return 65
}

// step returns the distance of so many quadrature points and the first of them,
// relative to the largest z.
func step(nodes int) (h, low float64) {
	low, high := -6.0, 8.0
	if nodes > fineNodes {
		low, high = -9, 9
	}
	return (high - low) / float64(nodes-1), low
}

// nodesOf checks a number of nodes and puts the default for 0.
func nodesOf(k, nodes int) int {
	if nodes == 0 {
		return DefaultNodes(k)
	}
	if nodes < 2 {
		panic(fmt.Sprintf("kernel: %d quadrature nodes, want 0 for the default or at least 2", nodes))
	}
	return nodes
}

// single says whether the numbers of a matrix are float32.
func single[T Float]() bool {
	var v T
	return unsafe.Sizeof(v) == 4
}

// GaussianPropensities writes the propensities of a Gaussian policy in their
// exact form, a one-dimensional integral over the winning score.
//
//	π_a = ∫ φ(t − z_a) ∏_{k≠a} Φ(t − z_k) dt
//	    ≈ h Σ_j r_a P,   r_k = φ(u_k)/Φ(u_k),  P = ∏_k Φ(u_k),  u_k = t_j − z_k
//
// t_j are nodes equally spaced points over [m−6, m+8], m = max_k z_k, and h is
// their distance; nodes = 0 stands for DefaultNodes(k). With more than 65 nodes
// they span [m−9, m+9]. z and dst are rows×k. A row of equal z gives exactly
// 1/k. φ and Φ come from tables, see quadrature.go; r counts as 0 from u = 16
// on (11.7 in float32), and P below 2⁻⁶⁰⁰ (2⁻¹⁰⁰).
//
// Worst relative error met where scores compete (normal z, π > 0.1/k): 33 nodes
// give 4e-8 at k = 10, 3e-5 at 33, 5e-4 at 100; 65 nodes give 2e-12 up to 47,
// 4e-10 at 100, 2e-6 at 1000. Rows sum to 1 within 1e-6 up to k = 1000 and
// within 2e-5 at 5000.
// Beside it, the range leaves out at most Φ(−6) = 1e-9 of probability: that is
// what a lone leader lacks, and small π lack relatively more (k = 2: 1e-6 of
// π = 1e-4, 2e-3 of π = 1e-8). More than 65 nodes leave out Φ(−9) = 1e-19.
//
// In float32 the arithmetic is float32, with sums over many actions carried in
// float64. Against float64 with the same nodes and z it adds a relative error
// of 4e-7 up to k = 100 and 1e-6 up to 5000 to π > 1e-20 (smaller ones lose
// digits), and 2e-7 to the sum of a row.
// Cost: rows·nodes·k, less what lies out of reach: actions a distance of 18 to
// 25 behind the leader, and points where P is negligible.
func GaussianPropensities[T Float](dst, z []T, k, nodes int) {
	rowsOf("GaussianPropensities", len(z), k, len(dst))
	nodes = nodesOf(k, nodes)
	if single[T]() {
		integrate(grids32.of(nodes), dst, z, k)
	} else {
		integrate(grids64.of(nodes), dst, z, k)
	}
}

// GaussianPropensitiesGrad writes the vector-Jacobian product of
// GaussianPropensities, dz_k = Σ_a dpi_a ∂π_a/∂z_k, the points t_j held
// constant (their place does not change the integral).
//
//	dz_k = h Σ_j P r_k [dpi_k (r_k + u_k) − Σ_a dpi_a r_a]
//
// z, dpi and dz are rows×k; dz is overwritten. It comes from
// ∂π_a/∂z_k = −h Σ_j P r_a r_k for a ≠ k and ∂π_k/∂z_k = h Σ_j P r_k u_k. In
// float32 its error is below 1e-6 of the largest |dpi_a| π_a.
// Cost: rows·nodes·k, as for GaussianPropensities.
func GaussianPropensitiesGrad[T Float](dz, z, dpi []T, k, nodes int) {
	rowsOf("GaussianPropensitiesGrad", len(z), k, len(dpi), len(dz))
	nodes = nodesOf(k, nodes)
	if k == 1 {
		clear(dz) // π = 1
		return
	}
	if single[T]() {
		integrateGrad(grids32.of(nodes), dz, z, dpi, k)
	} else {
		integrateGrad(grids64.of(nodes), dz, z, dpi, k)
	}
}

// GaussianMC writes the propensities of a Gaussian policy as estimated by the
// paper, Aouali et al. (UAI 2024), after Sakhi et al. (2022).
//
//	π_a = 1/S Σ_s ∏_{k≠a} Φ(ε_s + z_a − z_k)
//
// S = draws. z and dst are rows×k; eps is rows×S of standard normal draws, the
// same for all actions of a row. z is finite. Each π_a is unbiased; a row does
// not sum to 1. Every Φ is relatively accurate down to 1e-308, so the product
// is taken directly; below 1e-300 it is 0. Cost: rows·S·k².
func GaussianMC[T Float](dst, z, eps []T, k, draws int) {
	rows := rowsOf("GaussianMC", len(z), k, len(dst))
	checkDraws("GaussianMC", rows, draws, len(eps))
	buf := borrow(2*k - 1)
	defer pool.Put(buf)
	sum, diff := (*buf)[:k], (*buf)[k:] // k, k−1
	for i := range rows {
		from, noise := z[i*k:(i+1)*k], eps[i*draws:(i+1)*draws]
		for a := range k {
			without(diff, from, a)
			sum[a] = 0
			for _, e := range noise {
				sum[a] += product(float64(e), diff)
			}
		}
		for a, s := range sum {
			dst[i*k+a] = T(s / float64(draws))
		}
	}
}

// GaussianMCGrad writes the vector-Jacobian product of GaussianMC with respect
// to z, dz_k = Σ_a dpi_a ∂π_a/∂z_k.
//
//	∂π_a/∂z_k = −1/S Σ_s P_a r(u_k)  for k ≠ a,   ∂π_a/∂z_a = 1/S Σ_s P_a Σ_{k≠a} r(u_k)
//
// with u_k = ε_s + z_a − z_k, P_a = ∏_{k≠a} Φ(u_k) and r = φ/Φ. z, dpi and dz
// are rows×k, eps is rows×S; dz is overwritten. An action with dpi_a = 0 costs
// nothing; otherwise the cost is rows·S·k².
func GaussianMCGrad[T Float](dz, z, eps, dpi []T, k, draws int) {
	rows := rowsOf("GaussianMCGrad", len(z), k, len(dpi), len(dz))
	checkDraws("GaussianMCGrad", rows, draws, len(eps))
	buf := borrow(2*k - 1)
	defer pool.Put(buf)
	sum, diff := (*buf)[:k], (*buf)[k:] // k, k−1
	for i := range rows {
		from, noise := z[i*k:(i+1)*k], eps[i*draws:(i+1)*draws]
		clear(sum)
		for a := range k {
			g := float64(dpi[i*k+a]) / float64(draws)
			if g == 0 {
				continue
			}
			without(diff, from, a)
			for _, e := range noise {
				w := g * product(float64(e), diff)
				if w == 0 { // r(−Inf) is Inf
					continue
				}
				for n, d := range diff {
					other := n
					if n >= a {
						other++
					}
					c := w * InvMills(float64(e)+d)
					sum[other] -= c
					sum[a] += c
				}
			}
		}
		for a, s := range sum {
			dz[i*k+a] = T(s)
		}
	}
}

func checkDraws(name string, rows, draws, eps int) {
	if draws <= 0 || eps != rows*draws {
		panic(fmt.Sprintf("kernel.%s: %d noise values, want %d rows of %d draws", name, eps, rows, draws))
	}
}

// without writes z_a − z_k for the k−1 other actions.
func without[T Float](diff []float64, z []T, a int) {
	n := 0
	for i, v := range z {
		if i != a {
			diff[n] = float64(z[a]) - float64(v)
			n++
		}
	}
}

// product returns ∏ Φ(e + d), or 0 as soon as it is negligible.
func product(e float64, diff []float64) float64 {
	p := 1.0
	for _, d := range diff {
		p *= NormCDF(e + d)
		if p < negligible {
			return 0
		}
	}
	return p
}
