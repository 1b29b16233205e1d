package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// isas runs a test or benchmark with each extension that this processor has and some routine is written in.
func isas(run func(name string)) {
	defer func() { level = upTo(processor) }()
	for v, name := range []string{"go", "avx2", "avx512"} {
		if isa(v) <= processor {
			level = upTo(isa(v))
			run(name)
		}
	}
}

// The kernels of AVX-512 give the bits of those of AVX2, NaN and infinities too.
func TestAVX512_GivesTheBitsOfAVX2(t *testing.T) {
	if processor < avx512 {
		return
	}
	both := func(name string, f func() []float32) {
		t.Helper()
		var want []float32
		isas(func(isa string) {
			got := f()
			for i := range got {
				if isa == "avx512" && math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%s: number %d is %v, with AVX2 %v", name, i, got[i], want[i])
				}
			}
			want = got
		})
	}
	rng := rand.New(rand.NewPCG(21, 2))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		return x
	}
	for _, s := range [][3]int{{1, 1, 1}, {12, 16, 8}, {13, 17, 9}, {128, 10, 784}, {10, 784, 128}, {100, 33, 47}, {30, 5, 400}, {128, 100, 1000}, {40, 15, 769}, {14, 40, 400}, {25, 1024, 30}, {150, 64, 20}} {
		m, n, k := s[0], s[1], s[2]
		x, y, from := numbers(m*k), numbers(k*n), numbers(m*n)
		for i, a := range []Matrix{RowMajor(m, k, x), RowMajor(k, m, x).T()} {
			for j, b := range []Matrix{RowMajor(k, n, y), RowMajor(n, k, y).T()} {
				both(fmt.Sprint("product ", s, i, j), func() []float32 {
					if level[kGemm] == plain {
						return make([]float32, 2*m*n)
					}
					dst := make([]float32, m*n)
					Gemm32(dst, a, b, 0, 1)
					sum := slices.Clone(from)
					GemmAdd32(sum, a, b)
					return append(dst, sum...)
				})
			}
		}
	}
	for _, n := range []int{1, 15, 16, 17, 63, 64, 65, 100, 300} {
		x, y, z, g := numbers(n+1), numbers(n), numbers(n), numbers(n)
		copy(y, []float32{0, float32(math.NaN()), float32(math.Inf(-1)), float32(math.Copysign(0, -1)), 1e-40})
		copy(x, []float32{0, float32(math.Inf(1)), float32(math.Copysign(0, -1)), float32(math.NaN()), 1e-40})
		ties := slices.Clone(z)
		for i := range ties {
			ties[i] = float32(math.Floor(float64(20 * z[i])))
		}
		both(fmt.Sprint("elementwise ", n), func() (all []float32) {
			dst := make([]float32, n+1)
			for _, f := range []func(){
				func() { Add(dst[:n], x[:n], y) }, func() { Sub(dst[:n], x[:n], y) }, func() { Mul(dst[:n], x[:n], y) }, func() { Div(dst[:n], x[:n], y) },
				func() { Affine(dst, x[:n], -.7, 0) }, func() { AtLeast(dst, x[:n], .1) }, func() { AtLeast(dst, x[:n], 0) },
				func() { Above(dst, x[:n], .1) }, func() { Abs(dst, x[:n]) }, func() { Exp32(dst, x[:n]) }, func() { Exp32(dst, y) },
				func() { Affine(dst, x[:n], 90, 0); Exp32(dst, dst[:n]) },
				func() { dst[n] = float32(Softmax32(dst[:n], z, n)) }, func() { dst[0] = float32(Softmax32(make([]float32, n), x[:n], n)) },
				func() { LogSoftmax32(dst[:n], ties, n) }, func() { Softmax32(dst[:n], ties, n) }, func() { dst[0] = float32(LogSoftmax32(make([]float32, n), y, n)) },
				func() { LogSoftmax32(dst[:n], z, n) }, func() { LogSoftmaxGrad(dst[:n], z, g, n) },
			} {
				clear(dst)
				f()
				all = append(all, dst...)
			}
			return all
		})
	}
	// Quantiles of the normal distribution, ends and the change to the tail's polynomial among them.
	for _, n := range []int{1, 15, 16, 24, 47, 1 << 17} {
		x := make([]uint32, n)
		for i := range x {
			x[i] = rng.Uint32() >> rng.IntN(32)
			if i%2 == 1 {
				x[i] = ^x[i]
			}
		}
		copy(x, []uint32{0, math.MaxUint32, 1 << 31, 1<<31 - 1})
		both(fmt.Sprint("normal ", n), func() []float32 {
			dst := make([]float32, n)
			Normal32(dst, x)
			return dst
		})
	}
	for _, n := range []int{15, 16, 40, 100} {
		x, d := numbers(n), numbers(n)
		copy(d, []float32{0, float32(math.NaN()), float32(math.Inf(-1)), 1e-36, 1e-20, -1e-16, 3e19, float32(math.Copysign(0, -1))})
		x[7], x[3] = float32(math.Copysign(0, -1)), 0
		both(fmt.Sprint("Adam ", n), func() []float32 {
			x, m, v := slices.Clone(x), make([]float32, n), make([]float32, n)
			for step := range 40 {
				d := slices.Clone(d)
				if step > 2 {
					clear(d[2:]) // moments fade
				}
				Adam32(AdamStep{Beta1: .1, Beta2: .2, Rest1: .9, Rest2: .8, Decay: .01, Rate: .3, Root: 20, Epsilon: 1e-8}, x, d, m, v)
			}
			return slices.Concat(x, m, v)
		})
	}
	// Rows that one vector has, and others.
	for _, k := range []int{1, 5, 8, 9, 10, 15, 16, 17, 33} {
		const rows = 9
		x, g := numbers(rows*k), numbers(rows*k)
		x[2*k], x[3*k], x[5*k], g[k] = float32(math.Inf(-1)), 90, -2e9, 0
		soft := make([]float32, rows*k)
		Softmax32(soft, x, k)
		both(fmt.Sprint("rows ", k), func() (all []float32) {
			dst := make([]float32, rows*k)
			if level[kSoftmax] > plain {
				all = append(all, float32(Softmax32(dst, x, k)))
			} else {
				all = append(all, 0)
			}
			all = append(all, dst...)
			SoftmaxGrad(dst, soft, g, k)
			all = append(all, dst...)
			for _, from := range []int{0, 1, 3} {
				Repeat(dst, x, k, 3, from)
				all = append(all, dst...)
			}
			return all
		})
	}
	// Sparse products, of panels in blocks too.
	for _, s := range [][3]int{{1, 1, 1}, {193, 391, 260}, {391, 193, 200}, {30, 300, 64}, {257, 40, 116}, {100, 70, 33}} {
		rows, cols, n := s[0], s[1], s[2]
		x, b, a := numbers(rows*cols), numbers(n*cols), numbers(rows*n)
		for i := range x {
			if rng.Float64() < .8 || i/cols == 2 || i%cols == 3 {
				x[i] = 0
			}
		}
		both(fmt.Sprint("sparse product ", s), func() []float32 {
			z, grad := make([]float32, rows*n), make([]float32, n*cols)
			if level[kGemm] == plain {
				return append(z, grad...)
			}
			var m Sparse
			m.Reset(rows, cols)
			m.Set(x, 0, rows)
			m.Split(n, One)
			m.Prepare(One)
			if _, of := blocksOf(cols); level[kPanels] >= avx512 && cols > 2*panelRows && n > 3*panelCols && (of == cols || !m.byBlocks) {
				t.Fatalf("%v: not in blocks", s)
			}
			parts := Panels(n)
			for part := range parts {
				m.MulT(z, b, n, part, parts)
				m.TMul(grad, a, n, part, parts)
			}
			return append(z, grad...)
		})
	}
	for _, k := range []int{1, 2, 3, 4, 5, 10, 15, 16, 17, 33, 100} {
		table, delta, up, gap, at64, plane, at := block(k, Lanes32, Planes32)
		for _, bad := range []float64{0, math.NaN(), math.Inf(1), 1e-30} {
			if bad != 0 {
				up[k/2] = bad
			}
			for _, down := range []float64{0, 4, 9} { // products to e^(−9k)
				shifted := slices.Clone(table)
				for i := range shifted {
					if i/plane%Planes32 == 0 {
						shifted[i] -= down * rng.Float64()
					}
				}
				both(fmt.Sprintf("quadrature, K=%d, up %v, %v down", k, bad, down), func() []float32 {
					r, p, all, dst := make([]float32, k*Lanes32), make([]float32, Lanes32), make([]float32, Lanes32), make([]float32, k)
					Hazards32(r, p, all, single(shifted), plane, at, single(delta), single(up))
					Dots32(dst, r, p)
					Pulls32(dst, r, p, all, single(at64), single(gap), single(up))
					return slices.Concat(r, p, all, dst)
				})
			}
		}
	}
}
