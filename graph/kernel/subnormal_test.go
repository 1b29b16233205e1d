package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"opl/graph/kernel/internal/mxcsr"
	"opl/graph/kernel/simd"
)

// spread is a score matrix as training has it: most actions compete, some lie anywhere behind.
func spread(rng *rand.Rand, rows, k int) []float64 {
	z := normals(rng, rows*k, 2)
	for i := range z {
		if i%3 == 0 {
			z[i] -= 20 * rng.Float64()
		}
	}
	return z
}

// The kernels compute no subnormal numbers: some processors take a hundred times as long over one.
func TestKernels_ComputeNoSubnormals(t *testing.T) {
	for _, k := range []int{2, 10, 100, 700} {
		rng := rand.New(rand.NewPCG(21, uint64(k)))
		const rows = 20
		z := spread(rng, rows, k)
		z32 := to32(z)
		tails := make([]float32, len(z))
		for i, v := range z32 {
			tails[i] = 4 * v
		}
		far := make([]float64, len(z)) // tails in float64
		for i, v := range z {
			far[i] = 40 * v
		}
		ups := map[string][]float64{"of all": normals(rng, rows*k, 1e-3), "small": normals(rng, rows*k, 1e-30), "large": normals(rng, rows*k, 1e20),
			"uneven": normals(rng, rows*k, 1), "logged": make([]float64, rows*k)}
		for i, v := range ups["uneven"] {
			ups["uneven"][i] = v * math.Exp(-12*rng.Float64())
		}
		for i := range rows {
			ups["logged"][i*k+rng.IntN(k)] = 3e-5
		}
		none := func(name string, f func()) {
			t.Helper()
			f() // tables
			if operand, result := mxcsr.Subnormal(f); operand || result {
				t.Errorf("%s, K=%d: subnormal operand %v, result %v", name, k, operand, result)
			}
		}
		for _, vector := range []bool{true, false} {
			was := simd.Use(vector)
			on := fmt.Sprint(simd.Vector())
			dst, dst32 := make([]float64, len(z)), make([]float32, len(z))
			for _, nodes := range []int{0, 33, 200} {
				none(fmt.Sprintf("propensities in float64, %d nodes, vectors %s", nodes, on), func() { GaussianPropensities(dst, z, k, nodes) })
				none(fmt.Sprintf("propensities in float32, %d nodes, vectors %s", nodes, on), func() { GaussianPropensities(dst32, z32, k, nodes) })
				for name, up := range ups {
					up32 := to32(up)
					none(fmt.Sprintf("gradient in float64, %s, %d nodes, vectors %s", name, nodes, on), func() { GaussianPropensitiesGrad(dst, z, up, k, nodes) })
					none(fmt.Sprintf("gradient in float32, %s, %d nodes, vectors %s", name, nodes, on), func() { GaussianPropensitiesGrad(dst32, z32, up32, k, nodes) })
				}
			}
			none("softmax in float32, vectors "+on, func() { Softmax(dst32, tails, k) })
			up32 := to32(ups["logged"])
			none("gradient of the softmax in float32, vectors "+on, func() { simd.SoftmaxGrad(make([]float32, len(z)), dst32, up32, k) })
			none("log-softmax in float32, vectors "+on, func() { LogSoftmax(dst32, tails, k) })
			none("softmax in float64, vectors "+on, func() { Softmax(dst, far, k) })
			none("log-softmax in float64, vectors "+on, func() { LogSoftmax(dst, far, k) })
			none("exp, vectors "+on, func() { simd.Exp32(dst32, tails) })
			simd.Use(was)
		}
	}
}
