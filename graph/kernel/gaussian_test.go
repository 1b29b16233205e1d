package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"opl/graph/kernel/simd"
)

// quadrature is the formula to the letter for one row, in O(J·K²), with
// math.Erfc and points over [m−lo, m+hi]: π_a = h Σ_j φ(u_a) ∏_{k≠a} Φ(u_k).
// m is an argument so that differences can hold it constant.
func quadrature(z []float64, m float64, nodes int, lo, hi float64) []float64 {
	h := (lo + hi) / float64(nodes-1)
	pi := make([]float64, len(z))
	for j := range nodes {
		t := m - lo + float64(j)*h
		for a := range z {
			f := math.Exp(-(t-z[a])*(t-z[a])/2) / math.Sqrt(2*math.Pi)
			for k := range z {
				if k != a {
					f *= math.Erfc((z[k]-t)/math.Sqrt2) / 2
				}
			}
			pi[a] += h * f
		}
	}
	return pi
}

// integral is the same row by a far finer and wider quadrature, in the form
// exp(Σ log Φ − log Φ) and O(J·K): the reference for accuracy.
func integral(z []float64) []float64 {
	const n = 1200
	m := slices.Max(z)
	lo := m - 14
	h := (m + 12 - lo) / n
	pi, log := make([]float64, len(z)), make([]float64, len(z))
	for j := range n + 1 {
		t, sum := lo+float64(j)*h, 0.0
		for k := range z {
			log[k] = LogNormCDF(t - z[k])
			sum += log[k]
		}
		for a := range z {
			pi[a] += h * math.Exp(sum-log[a]+LogNormPDF(t-z[a]))
		}
	}
	return pi
}

func propensities(z []float64, nodes int) []float64 {
	pi := make([]float64, len(z))
	GaussianPropensities(pi, z, len(z), nodes)
	return pi
}

func TestGaussian_EqualsTheQuadrature(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, k := range []int{2, 3, 10, 40} {
		for _, nodes := range []int{2, 33, 50, 65} {
			z := normals(rng, k, 2)
			want := quadrature(z, slices.Max(z), nodes, 6, 8)
			near(t, fmt.Sprintf("K=%d, %d nodes", k, nodes), propensities(z, nodes), want, 1e-12)
		}
	}
}

// What the doc comment claims, where scores compete.
func TestGaussian_IsAsAccurateAsDocumented(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for _, c := range []struct {
		k, nodes int
		tol      float64
	}{
		{2, 33, 1e-14}, {10, 33, 4e-8}, {33, 33, 3e-5}, {100, 33, 5e-4},
		{10, 65, 1e-14}, {33, 65, 1e-13}, {47, 65, 2e-12}, {100, 65, 4e-10}, {1000, 65, 2e-6},
	} {
		worst := 0.0
		for _, scale := range []float64{1e-9, 0.1, 0.3} {
			z := normals(rng, c.k, scale)
			got, want := propensities(z, c.nodes), integral(z)
			for a := range z {
				worst = max(worst, apart(got[a], want[a]))
			}
		}
		t.Logf("K=%d, %d nodes: relative error %.1e", c.k, c.nodes, worst)
		if worst > c.tol {
			t.Errorf("K=%d, %d nodes: relative error %.1e, want %.1e", c.k, c.nodes, worst, c.tol)
		}
	}
}

// What the range cuts off stays below 1e-9 however far scores are apart.
func TestGaussian_CutsOffLessThanABillionth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, k := range []int{2, 5, 10, 40} {
		for _, scale := range []float64{1, 3, 10, 100} {
			z := normals(rng, k, scale)
			got, want := propensities(z, 65), integral(z)
			for a := range z {
				if e := math.Abs(got[a] - want[a]); e > 1e-9 {
					t.Errorf("K=%d, scale %v: π = %v, want %v", k, scale, got[a], want[a])
				}
			}
		}
	}
}

func TestGaussian_SumsToOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{1, 2, 3, 10, 12, 13, 33, 100, 300, 1000, 5000} {
		tol := 1e-6
		if k > 1000 {
			tol = 2e-5
		}
		for _, scale := range []float64{1e-6, 0.5, 2, 1e4} {
			if s := total(propensities(normals(rng, k, scale), 0)); math.Abs(s-1) > tol {
				t.Errorf("K=%d, scale %v: row sums to 1%+.1e", k, scale, s-1)
			}
		}
	}
}

// With two actions the integral is known: π₀ = Φ((z₀ − z₁)/√2).
func TestGaussian_OfTwoActionsIsTheNormalCDF(t *testing.T) {
	for gap := 0.0; gap <= 12; gap += 0.25 {
		tol := 1e-9
		if gap <= 1 {
			tol = 1e-13
		}
		got := propensities([]float64{5 + gap, 5}, 65)
		for a, want := range []float64{NormCDF(gap / math.Sqrt2), NormCDF(-gap / math.Sqrt2)} {
			if math.Abs(got[a]-want) > tol {
				t.Errorf("gap %v: π[%d] = %v, want %v", gap, a, got[a], want)
			}
		}
	}
}

// How much of a small π the range cuts off, as the doc comment has it.
func TestGaussian_LosesOfSmallPropensitiesAsDocumented(t *testing.T) {
	for _, c := range []struct{ gap, pi, rel float64 }{{5.26, 1e-4, 1e-6}, {7.94, 1e-8, 2e-3}} {
		want := NormCDF(-c.gap / math.Sqrt2)
		got := propensities([]float64{c.gap, 0}, 65)[1]
		t.Logf("π = %.2e: relative error %.1e", want, apart(got, want))
		if apart(want, c.pi) > 0.1 || apart(got, want) > c.rel {
			t.Errorf("π = %v, want %v", got, want)
		}
	}
}

func TestGaussian_DividesTiesEvenly(t *testing.T) {
	for _, k := range []int{1, 2, 3, 7, 10, 100} {
		for _, v := range []float64{0, -3.7, 1e4, math.Inf(-1)} {
			z := make([]float64, k)
			fill(z, v)
			p32 := make([]float32, k)
			GaussianPropensities(p32, to32(z), k, 0)
			for a, p := range propensities(z, 0) {
				if p != 1/float64(k) || p32[a] != 1/float32(k) {
					t.Errorf("K=%d, all z = %v: π = %v, %v", k, v, p, p32[a])
				}
			}
		}
	}
	// Ties of some: equal to the bit, and the rest of the row divided evenly.
	p := propensities([]float64{1e4, 1e4, -1e4}, 65)
	if p[0] != p[1] || math.Abs(p[0]-0.5) > 1e-9 || p[2] != 0 {
		t.Errorf("two leaders of three: %v", p)
	}
}

func TestGaussian_FollowsPermutationsAndIgnoresConstants(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for _, k := range []int{2, 10, 50} {
		z, g, eps := normals(rng, k, 1.5), normals(rng, k, 1), normals(rng, 16, 1)
		perm := rng.Perm(k)
		pick := func(x []float64) []float64 {
			y := make([]float64, k)
			for i, p := range perm {
				y[i] = x[p]
			}
			return y
		}
		for name, f := range map[string]func(z, g []float64) []float64{
			"exact":         func(z, g []float64) []float64 { return propensities(z, 0) },
			"exact, vjp":    func(z, g []float64) []float64 { return exactGrad(z, g, 0) },
			"estimate":      func(z, g []float64) []float64 { return estimate(z, eps) },
			"estimate, vjp": func(z, g []float64) []float64 { return estimateGrad(z, eps, g) },
		} {
			a, b := pick(f(z, g)), f(pick(z), pick(g))
			for i := range a {
				if math.Abs(a[i]-b[i]) > 1e-13 {
					t.Errorf("%s, K=%d: %v after permuting, %v before", name, k, b[i], a[i])
				}
			}
		}
		// A constant added to every z changes nothing.
		moved := slices.Clone(z)
		for i := range moved {
			moved[i] += 1024
		}
		for i, p := range propensities(moved, 0) {
			if math.Abs(p-propensities(z, 0)[i]) > 1e-12 {
				t.Errorf("K=%d: %v after adding a constant, %v before", k, p, propensities(z, 0)[i])
			}
		}
	}
}

func exactGrad(z, dpi []float64, nodes int) []float64 {
	dz := make([]float64, len(z))
	GaussianPropensitiesGrad(dz, z, dpi, len(z), nodes)
	return dz
}

func estimate(z, eps []float64) []float64 {
	pi := make([]float64, len(z))
	GaussianMC(pi, z, eps, len(z), len(eps))
	return pi
}

func estimateGrad(z, eps, dpi []float64) []float64 {
	dz := make([]float64, len(z))
	GaussianMCGrad(dz, z, eps, dpi, len(z), len(eps))
	return dz
}

// difference is the vector-Jacobian product of f by central differences.
func difference(f func(z []float64) []float64, z, dpi []float64) []float64 {
	const h = 1e-5
	dz := make([]float64, len(z))
	for k := range z {
		up, down := slices.Clone(z), slices.Clone(z)
		up[k] += h
		down[k] -= h
		for a, p := range f(up) {
			dz[k] += dpi[a] * (p - f(down)[a]) / (2 * h)
		}
	}
	return dz
}

func TestGaussianGrad_EqualsDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 6))
	for _, k := range []int{1, 2, 5, 12, 20} {
		for _, nodes := range []int{33, 65} {
			z, dpi := normals(rng, k, 1.2), normals(rng, k, 1)
			m := slices.Max(z)
			want := difference(func(z []float64) []float64 { return quadrature(z, m, nodes, 6, 8) }, z, dpi)
			got := exactGrad(z, dpi, nodes)
			for i := range z {
				if math.Abs(got[i]-want[i]) > 1e-8 {
					t.Errorf("K=%d, %d nodes: dz[%d] = %v, differences %v", k, nodes, i, got[i], want[i])
				}
			}
			naive := naiveGrad(z, dpi, nodes)
			for i := range z {
				if k > 1 && math.Abs(got[i]-naive[i]) > 1e-14 {
					t.Errorf("K=%d, %d nodes: dz[%d] = %v, naive %v", k, nodes, i, got[i], naive[i])
				}
			}
		}
	}
}

// naiveGrad is the vector-Jacobian product in O(J·K²): the full Jacobian at
// each point, every entry by its own formula.
func naiveGrad(z, dpi []float64, nodes int) []float64 {
	m, h := slices.Max(z), 14/float64(nodes-1)
	dz := make([]float64, len(z))
	for j := range nodes {
		t := m - 6 + float64(j)*h
		p := 1.0
		for _, v := range z {
			p *= NormCDF(t - v)
		}
		for a := range z {
			for k := range z {
				if u := t - z[k]; k == a {
					dz[k] += dpi[a] * h * p * InvMills(u) * u
				} else {
					dz[k] -= dpi[a] * h * p * InvMills(t-z[a]) * InvMills(u)
				}
			}
		}
	}
	return dz
}

// The gradient at ties, where the value is the special case 1/k.
func TestGaussianGrad_EqualsDifferencesAtTies(t *testing.T) {
	z, dpi := []float64{2, 2, 2, 2}, []float64{1, 0, 0, 0}
	want := difference(func(z []float64) []float64 { return quadrature(z, 2, 65, 6, 8) }, z, dpi)
	got := exactGrad(z, dpi, 65)
	for i := range z {
		if math.Abs(got[i]-want[i]) > 1e-8 {
			t.Errorf("dz[%d] = %v, differences %v", i, got[i], want[i])
		}
	}
}

// Propensities sum to 1 and depend on differences of z only.
func TestGaussianGrad_IsZeroForSumsAndConstants(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	for _, k := range []int{2, 10, 40} {
		z, dpi, ones := normals(rng, k, 1), normals(rng, k, 1), make([]float64, k)
		fill(ones, 1)
		for i, d := range exactGrad(z, ones, 65) {
			if math.Abs(d) > 1e-8 {
				t.Errorf("K=%d: the sum has derivative %v by z[%d]", k, d, i)
			}
		}
		if s := total(exactGrad(z, dpi, 65)); math.Abs(s) > 1e-8 {
			t.Errorf("K=%d: derivative %v along (1, …, 1)", k, s)
		}
	}
}

func TestGaussian_IsRightAtExtremes(t *testing.T) {
	inf := math.Inf(1)
	eps := []float64{-8, -1, 0, 1, 8}
	for _, c := range []struct{ z, pi []float64 }{
		{[]float64{1e4, -1e4}, []float64{1, 0}},
		{[]float64{-1e4, 0, 1e4, 5}, []float64{0, 0, 1, 0}},
		{[]float64{1e4, 1e4}, []float64{.5, .5}},
		{[]float64{-1e4, -1e4, -1e4 - 30}, []float64{.5, .5, 0}},
		{[]float64{1e300, -1e300, 0}, []float64{1, 0, 0}},
		{[]float64{0, -inf, 0}, []float64{.5, 0, .5}},
		{[]float64{0, -13, -14, -15, -39, -45}, []float64{1, 0, 0, 0, 0, 0}},
	} {
		for i, p := range propensities(c.z, 0) {
			if !(math.Abs(p-c.pi[i]) < 1e-9) {
				t.Errorf("%v: π[%d] = %v", c.z, i, p)
			}
		}
		dpi := make([]float64, len(c.z))
		for i := range dpi {
			dpi[i] = float64(i+1) * 1e12
		}
		finite(t, fmt.Sprint("exact, ", c.z), exactGrad(c.z, dpi, 0))
		if c.z[1] == -inf {
			continue // outside the estimator's domain
		}
		finite(t, fmt.Sprint("estimate, ", c.z), estimate(c.z, eps))
		finite(t, fmt.Sprint("estimate's gradient, ", c.z), estimateGrad(c.z, eps, dpi))
	}
}

func finite(t *testing.T, name string, x []float64) {
	t.Helper()
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%s: [%d] = %v", name, i, v)
		}
	}
}

func TestGaussian_KeepsNaNInItsRow(t *testing.T) {
	for at := range 3 {
		z := []float64{1, 2, 3, 1, 2, 3, 1, 2, 3}
		z[3+at] = math.NaN()
		pi, dz := make([]float64, 9), make([]float64, 9)
		GaussianPropensities(pi, z, 3, 0)
		GaussianPropensitiesGrad(dz, z, []float64{1, 0, 0, 1, 0, 0, 1, 0, 0}, 3, 0)
		for i := range z {
			if in := i/3 == 1; math.IsNaN(pi[i]) != in || math.IsNaN(dz[i]) != in {
				t.Errorf("NaN at %d: %v %v", at, pi, dz)
			}
		}
	}
}

// The estimator computes in float64 and rounds.
func TestGaussianMC_InFloat32RoundsFloat64(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	for _, k := range []int{2, 10, 100} {
		z32, g32, e32 := to32(normals(rng, 4*k, 1.5)), to32(normals(rng, 4*k, 1)), to32(normals(rng, 4*8, 1))
		z, g, eps := to64(z32), to64(g32), to64(e32)
		got, want := make([]float32, 4*k), make([]float64, 4*k)
		check := func(name string) {
			t.Helper()
			for i := range want {
				if math.Abs(float64(got[i])-want[i]) > 6e-8*math.Abs(want[i])+1e-44 {
					t.Errorf("%s, K=%d: %v in float32, %v in float64", name, k, got[i], want[i])
				}
			}
		}
		GaussianMC(got, z32, e32, k, 8)
		GaussianMC(want, z, eps, k, 8)
		check("GaussianMC")
		GaussianMCGrad(got, z32, e32, g32, k, 8)
		GaussianMCGrad(want, z, eps, g, k, 8)
		check("GaussianMCGrad")
	}
}

// awkward returns rows of scores that are hard on float32, by name.
func awkward(rng *rand.Rand, k int) map[string][]float64 {
	rows := map[string][]float64{
		"normal": normals(rng, k, 1.5), "close": normals(rng, k, 1e-3), "wide": normals(rng, k, 20),
		"ties but one": make([]float64, k), "lone leader": normals(rng, k, 0.5), "±60": make([]float64, k),
		"one far behind": normals(rng, k, 0.5),
	}
	rows["ties but one"][0] = -0.5
	rows["lone leader"][k-1] += 8
	rows["one far behind"][0] -= 60
	for a := range k {
		rows["±60"][a] = float64(60 * (a%3 - 1))
	}
	return rows
}

// Float32 against float64 of the same scores, in vectors and without: worst
// relative error of π > 1e-20, error of a row's sum, and that of the gradient
// relative to the largest |dpi_a| π_a.
func TestGaussian_InFloat32IsAsAccurateAsStated(t *testing.T) {
	defer simd.Use(simd.Use(true))
	for _, c := range []struct {
		k             int
		pi, sum, grad float64
	}{
		{2, 1e-6, 2e-7, 1e-6}, {10, 1e-6, 2e-7, 1e-6}, {33, 1e-6, 2e-7, 1e-6},
		{100, 1e-6, 2e-7, 2e-6}, {1000, 2e-6, 2e-7, 2e-6}, {5000, 4e-6, 2e-7, 2e-6},
	} {
		for _, vectors := range []bool{true, false} {
			simd.Use(vectors)
			rng := rand.New(rand.NewPCG(3, 15))
			var pi, sum, grad float64
			for _, row := range awkward(rng, c.k) {
				z32, g32 := to32(row), to32(normals(rng, c.k, 1))
				z, g := to64(z32), to64(g32)
				got := make([]float32, c.k)
				GaussianPropensities(got, z32, c.k, 0)
				want := propensities(z, 0)
				for a, w := range want {
					if w > 1e-20 {
						pi = max(pi, apart(float64(got[a]), w))
					} else if got[a] > 2e-20 {
						t.Errorf("K=%d: π = %v, want %v", c.k, got[a], w)
					}
				}
				sum = max(sum, math.Abs(total(to64(got))-total(want)))
				GaussianPropensitiesGrad(got, z32, g32, c.k, 0)
				wantGrad, largest := exactGrad(z, g, 0), 0.0
				for a, w := range want {
					largest = max(largest, math.Abs(g[a])*w)
				}
				for a, w := range wantGrad {
					grad = max(grad, math.Abs(float64(got[a])-w)/largest)
				}
			}
			t.Logf("K=%d, vectors %v: π %.1e, sum %.1e, gradient %.1e", c.k, vectors, pi, sum, grad)
			if !(pi <= c.pi && sum <= c.sum && grad <= c.grad) {
				t.Errorf("K=%d, vectors %v: errors %.1e, %.1e, %.1e, want at most %.1e, %.1e, %.1e",
					c.k, vectors, pi, sum, grad, c.pi, c.sum, c.grad)
			}
		}
	}
}

// In float64 the vector kernels and the Go path agree to rounding, whatever the
// number of nodes.
func TestGaussian_AgreesWithoutVectorKernels(t *testing.T) {
	defer simd.Use(simd.Use(true))
	rng := rand.New(rand.NewPCG(3, 16))
	for _, k := range []int{2, 10, 33, 100} {
		for _, nodes := range []int{2, 20, 33, 50, 65, 66, 129, 300} {
			for name, z := range awkward(rng, k) {
				g := normals(rng, k, 1)
				simd.Use(true)
				pi, dz := propensities(z, nodes), exactGrad(z, g, nodes)
				simd.Use(false)
				near(t, fmt.Sprintf("%s, K=%d, %d nodes", name, k, nodes), pi, propensities(z, nodes), 1e-13)
				for a, d := range exactGrad(z, g, nodes) {
					if math.Abs(dz[a]-d) > 1e-13 {
						t.Errorf("%s, K=%d, %d nodes: dz[%d] = %v, %v without", name, k, nodes, a, dz[a], d)
					}
				}
			}
		}
	}
}

// Goroutines share the tables of a number of nodes that none has used before.
func TestGaussian_IsSafeForGoroutines(t *testing.T) {
	z := normals(rand.New(rand.NewPCG(3, 17)), 20, 1)
	want := quadrature(z, slices.Max(z), 41, 6, 8)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { near(t, "41 nodes", propensities(z, 41), want, 1e-12) })
	}
	wg.Wait()
}

// Results may overwrite their arguments.
func TestGaussian_MayOverwriteItsArguments(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	const k = 5
	z, g, eps := normals(rng, 3*k, 1), normals(rng, 3*k, 1), normals(rng, 3*4, 1)
	want := make([]float64, len(z))
	check := func(name string, got []float64) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s in place: %v, want %v", name, got, want)
		}
	}
	GaussianPropensities(want, z, k, 0)
	in := slices.Clone(z)
	GaussianPropensities(in, in, k, 0)
	check("GaussianPropensities", in)
	GaussianPropensitiesGrad(want, z, g, k, 0)
	in = slices.Clone(g)
	GaussianPropensitiesGrad(in, z, in, k, 0)
	check("GaussianPropensitiesGrad", in)
	GaussianMC(want, z, eps, k, 4)
	in = slices.Clone(z)
	GaussianMC(in, in, eps, k, 4)
	check("GaussianMC", in)
	GaussianMCGrad(want, z, eps, g, k, 4)
	in = slices.Clone(z)
	GaussianMCGrad(in, in, eps, g, k, 4)
	check("GaussianMCGrad", in)
}

func TestGaussianMC_EqualsTheFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 10))
	for _, k := range []int{1, 2, 5, 20} {
		z, eps := normals(rng, k, 2), normals(rng, 7, 1)
		want := make([]float64, k)
		for a := range z {
			for _, e := range eps {
				log := 0.0
				for i := range z {
					if i != a {
						log += LogNormCDF(e + z[a] - z[i])
					}
				}
				want[a] += math.Exp(log) / 7
			}
		}
		near(t, fmt.Sprintf("K=%d", k), estimate(z, eps), want, 1e-12)
	}
}

// With the quantiles of N(0,1) as noise the estimate is the integral.
func TestGaussianMC_OfQuantilesIsTheIntegral(t *testing.T) {
	const draws = 4000
	eps := make([]float64, draws)
	for s := range eps { // Φ(ε_s) = (s+½)/draws by bisection
		lo, hi := -9.0, 9.0
		for range 60 {
			if mid := (lo + hi) / 2; NormCDF(mid) < (float64(s)+0.5)/draws {
				lo = mid
			} else {
				hi = mid
			}
		}
		eps[s] = lo
	}
	rng := rand.New(rand.NewPCG(3, 11))
	for _, k := range []int{2, 10} {
		z, dpi := normals(rng, k, 1), normals(rng, k, 1)
		pi, dz := propensities(z, 65), exactGrad(z, dpi, 65)
		for a, p := range estimate(z, eps) {
			if math.Abs(p-pi[a]) > 1e-3 {
				t.Errorf("K=%d: estimate %v, exact %v", k, p, pi[a])
			}
		}
		for a, d := range estimateGrad(z, eps, dpi) {
			if math.Abs(d-dz[a]) > 5e-3 {
				t.Errorf("K=%d: estimated gradient %v, exact %v", k, d, dz[a])
			}
		}
	}
}

func TestGaussianMCGrad_EqualsDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 12))
	for _, k := range []int{1, 2, 5, 20} {
		for _, scale := range []float64{0, 1, 10} {
			z, dpi, eps := normals(rng, k, scale), normals(rng, k, 1), normals(rng, 6, 1)
			dpi[0] = 0
			want := difference(func(z []float64) []float64 { return estimate(z, eps) }, z, dpi)
			for i, d := range estimateGrad(z, eps, dpi) {
				if math.Abs(d-want[i]) > 1e-8 {
					t.Errorf("K=%d, scale %v: dz[%d] = %v, differences %v", k, scale, i, d, want[i])
				}
			}
		}
	}
}

func TestKernels_DoNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 13))
	const k = 100
	z, g, eps := normals(rng, 4*k, 1), normals(rng, 4*k, 1), normals(rng, 4*2, 1)
	dst := make([]float64, len(z))
	z32, g32, dst32 := to32(z), to32(g), make([]float32, len(z))
	for name, f := range map[string]func(){
		"GaussianPropensities":     func() { GaussianPropensities(dst, z, k, 0) },
		"GaussianPropensitiesGrad": func() { GaussianPropensitiesGrad(dst, z, g, k, 0) },
		"with many nodes":          func() { GaussianPropensities(dst, z, k, 300) },
		"in float32":               func() { GaussianPropensities(dst32, z32, k, 0) },
		"in float32, gradient":     func() { GaussianPropensitiesGrad(dst32, z32, g32, k, 0) },
		"GaussianMC":               func() { GaussianMC(dst, z, eps, k, 2) },
		"GaussianMCGrad":           func() { GaussianMCGrad(dst, z, eps, g, k, 2) },
		"LogSoftmax":               func() { LogSoftmax(dst, z, k) },
		"Softmax":                  func() { Softmax(dst, z, k) },
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(50, f); n > mayAllocate {
				t.Errorf("%s allocates %v times", name, n)
			}
		})
	}
}

// BenchmarkGaussian has the path without vector kernels beside each (go), and as
// its reference the same sums with math.Erfc, math.Exp and math.Log, as
// exp(Σ log Φ − log Φ_a).
func BenchmarkGaussian(b *testing.B) {
	for _, k := range []int{10, 47, 100, 1000, 5000} {
		rng := rand.New(rand.NewPCG(3, 14))
		z, g := normals(rng, 128*k, 1), normals(rng, 128*k, 1)
		dst := make([]float64, len(z))
		z32, g32, dst32 := to32(z), to32(g), make([]float32, len(z))
		size := fmt.Sprintf("/B=128,K=%d", k)
		bench := func(name string, f func()) {
			b.Run(name+size, func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					f()
				}
			})
		}
		for _, path := range []string{"", ",go"} {
			was := simd.Use(path == "")
			bench("forward"+path, func() { GaussianPropensities(dst, z, k, 0) })
			bench("forward32"+path, func() { GaussianPropensities(dst32, z32, k, 0) })
			bench("gradient"+path, func() { GaussianPropensitiesGrad(dst, z, g, k, 0) })
			bench("gradient32"+path, func() { GaussianPropensitiesGrad(dst32, z32, g32, k, 0) })
			simd.Use(was)
		}
		log := make([]float64, k)
		bench("reference", func() {
			for i := range 128 {
				erfcRow(dst[i*k:(i+1)*k], z[i*k:(i+1)*k], log, DefaultNodes(k))
			}
		})
		if k == 10 {
			eps := normals(rng, 128*32, 1)
			bench("estimate,S=32", func() { GaussianMC(dst, z, eps, k, 32) })
			bench("estimate's gradient,S=32", func() { GaussianMCGrad(dst, z, eps, g, k, 32) })
		}
	}
}

func erfcRow(pi, z, log []float64, nodes int) {
	m, h := slices.Max(z), 14/float64(nodes-1)
	clear(pi)
	for j := range nodes {
		t, sum := m-6+float64(j)*h, 0.0
		for k := range z {
			log[k] = math.Log(math.Erfc((z[k]-t)/math.Sqrt2) / 2)
			sum += log[k]
		}
		for a := range z {
			pi[a] += h * math.Exp(sum-log[a]-(t-z[a])*(t-z[a])/2) / math.Sqrt(2*math.Pi)
		}
	}
}

// More than 65 nodes reach further down, where small propensities live: for two
// actions π = Φ(gap/√2) is known.
func TestGaussian_OfManyNodesFindsSmallPropensities(t *testing.T) {
	for _, gap := range []float64{.5, 3, 6, 8, 10} {
		var pi [2]float64
		GaussianPropensities(pi[:], []float64{gap, 0}, 2, 129)
		want := NormCDF(-gap / math.Sqrt2)
		if e := math.Abs(pi[1]/want - 1); e > 1e-8 {
			t.Errorf("gap %v: π = %v, want %v (relative error %.1e)", gap, pi[1], want, e)
		}
	}
}
