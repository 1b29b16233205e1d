package simd_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/graph/kernel"
	"opl/graph/kernel/simd"
)

// same reports whether a and b are equal numbers, or both NaN.
func same(a, b float32) bool { return a == b || a != a && b != b }

// Elementwise kernels give the same numbers on both paths, at every length, and
// write nothing beyond it.
func TestElementwise_GivesTheSameNumbersOnBothPaths(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 75 {
		x, y := random(r, n, .8), random(r, n, .8)
		for i, v := range []float32{inf, -inf, nan, 0, 1e38, 1e-42} {
			if n > 20 {
				x[i], y[len(y)-1-i] = v, v
			}
		}
		pixels := make([]uint8, n)
		for i := range pixels {
			pixels[i] = uint8(37*i + 201)
		}
		for name, f := range map[string]func(dst []float32){
			"add":     func(dst []float32) { simd.Add(dst, x, y) },
			"sub":     func(dst []float32) { simd.Sub(dst, x, y) },
			"mul":     func(dst []float32) { simd.Mul(dst, x, y) },
			"div":     func(dst []float32) { simd.Div(dst, x, y) },
			"scale":   func(dst []float32) { simd.Affine(dst, x, 1.7, 0) },
			"affine":  func(dst []float32) { simd.Affine(dst, x, 1.7, -.3) },
			"atLeast": func(dst []float32) { simd.AtLeast(dst, x, .2) },
			"above":   func(dst []float32) { simd.Above(dst, x, .2) },
			"abs":     func(dst []float32) { simd.Abs(dst, x) },
			"sign":    func(dst []float32) { simd.Sign(dst, x) },
			"narrow": func(dst []float32) {
				wide := make([]float64, n)
				for i, v := range x {
					wide[i] = float64(v) * (1 + 1e-9)
				}
				simd.Narrow32(dst, wide)
			},
			"bytes": func(dst []float32) {
				simd.Bytes32(dst, pixels, 1/1234.5)
				wide := make([]float64, n+1)
				wide[n] = 7
				simd.Bytes64(wide[:n], pixels, 1234.5)
				for i, b := range pixels {
					if wide[i] != float64(b)/1234.5 {
						t.Fatalf("%d bytes: %d became %v", n, b, wide[i])
					}
				}
				if wide[n] != 7 {
					t.Fatalf("%d bytes: wrote beyond the end", n)
				}
			},
			"fill": func(dst []float32) { simd.Fill(dst, 3) },
		} {
			var want []float32
			paths(func(path string) {
				dst := make([]float32, n+9)
				dst[n] = 7
				f(dst[:n])
				for i, v := range want {
					if !same(v, dst[i]) {
						t.Fatalf("%s, %d elements: element %d is %v with vectors, %v in Go", name, n, i, v, dst[i])
					}
				}
				if dst[n] != 7 {
					t.Fatalf("%s, %d elements, %s: wrote beyond the end", name, n, path)
				}
				want = dst[:n]
			})
		}
		finite := n <= 20
		paths(func(path string) {
			if (simd.NonFinite(x) < 0) != finite {
				t.Fatalf("%d elements, %s: finite is %v", n, path, !finite)
			}
			for i := range n {
				z := make([]float32, n)
				z[i] = []float32{inf, -inf, nan}[i%3]
				if simd.NonFinite(z) != i {
					t.Fatalf("%d elements, %s: %v at %d is finite", n, path, z[i], i)
				}
			}
			var sum float64
			for _, v := range y[:min(n, 20)] {
				sum += float64(v)
			}
			if got := simd.Sum(y[:min(n, 20)]); n <= 20 && math.Abs(got-sum) > 1e-14 {
				t.Fatalf("%d elements, %s: sum %v, want %v", n, path, got, sum)
			}
		})
	}
}

// A float32 is above c if it is as a float64, whether c is a float32 or not.
func TestAbove_ComparesAsInFloat64(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	cs := []float64{0, math.Copysign(0, -1), .2, -.2, .25, 1e300, -1e300, 1e-300, -1e-300, math.MaxFloat32, -math.MaxFloat32, inf, -inf, nan}
	var x []float32
	for _, c := range cs {
		v := float32(c)
		x = append(x, v, math.Nextafter32(v, float32(inf)), math.Nextafter32(v, float32(-inf)))
	}
	for _, c := range cs {
		paths(func(path string) {
			dst := make([]float32, len(x))
			simd.Above(dst, x, c)
			for i, v := range x {
				if (dst[i] == 1) != (float64(v) > c) || dst[i] != 0 && dst[i] != 1 {
					t.Errorf("%s: %v above %v gives %v", path, v, c, dst[i])
				}
			}
		})
	}
}

// Kernels over rows.
func TestRows_GiveTheSameNumbersOnEveryPath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	for _, rows := range []int{1, 2, 3, 7, 12} {
		for _, k := range []int{1, 2, 3, 7, 8, 9, 10, 16, 23, 40, 100} {
			x, y, v := random(r, rows*k, 1), random(r, rows*k, 1), random(r, rows, 1)
			for i := range x {
				x[i] *= 30
			}
			soft := make([]float32, rows*k) // a softmax, in float64
			for i := range rows {
				var sum float64
				for _, a := range x[i*k : (i+1)*k] {
					sum += math.Exp(float64(a))
				}
				for j := i * k; j < (i+1)*k; j++ {
					soft[j] = float32(math.Exp(float64(x[j])) / sum)
				}
			}
			const s = 3
			for name, f := range map[string]func(dst []float32) int{
				"across":  func(dst []float32) int { simd.Across(dst, v, k); return rows * k },
				"sums":    func(dst []float32) int { simd.RowSums(dst[:rows], y, k); return rows },
				"repeat":  func(dst []float32) int { simd.Repeat(dst[:rows*k], y, k, s, 2); return rows * k },
				"add":     func(dst []float32) int { clear(dst[:k]); simd.AddRows(dst[:k], y); return k },
				"softmax": func(dst []float32) int { return simd.Softmax32(dst[:rows*k], x, k) * k },
				"softmax in place": func(dst []float32) int {
					copy(dst, x)
					return simd.Softmax32(dst[:rows*k], dst[:rows*k], k) * k
				},
				"gradient": func(dst []float32) int { simd.SoftmaxGrad(dst[:rows*k], soft, y, k); return rows * k },
			} {
				var want []float32
				paths(func(path string) {
					dst := make([]float32, rows*k+9)
					n := f(dst)
					for i := max(rows*k, n); i < len(dst); i++ {
						if dst[i] != 0 {
							t.Fatalf("%s, %d×%d, %s: wrote beyond the end", name, rows, k, path)
						}
					}
					if name == "softmax" || name == "softmax in place" {
						for i, got := range dst[:n] {
							if math.Abs(float64(got-soft[i])) > (3e-7-6e-8*math.Log(float64(soft[i])+1e-37))*float64(soft[i])+1e-37 {
								t.Fatalf("%s, %d×%d: element %d is %v, want %v", name, rows, k, i, got, soft[i])
							}
						}
						if path == "vector" && n != rows*k {
							t.Fatalf("%s, %d×%d: stopped after %d", name, rows, k, n)
						}
						return
					}
					for i := range want {
						if math.Abs(float64(want[i]-dst[i])) > 2e-6*float64(1+k) {
							t.Fatalf("%s, %d×%d: element %d is %v with vectors, %v in Go", name, rows, k, i, want[i], dst[i])
						}
					}
					want = dst[:n]
				})
			}
		}
	}
}

// Rows that are not finite stop the softmax; −Inf alone does not; equal entries
// give exactly 1/k.
func TestSoftmax_StopsAtRowsThatAreNotFinite(t *testing.T) {
	if !simd.Vector() {
		return
	}
	inf := float32(math.Inf(1))
	for _, k := range []int{2, 8, 11} {
		for _, bad := range []float32{inf, float32(math.NaN())} {
			x := make([]float32, 5*k)
			x[0], x[2*k], x[3*k+1] = -inf, 5, bad
			dst := make([]float32, len(x))
			if n := simd.Softmax32(dst, x, k); n != 3 {
				t.Errorf("k = %d, %v: %d rows done, want 3", k, bad, n)
			}
			if dst[0] != 0 || dst[k] != 1/float32(k) || dst[2*k-1] != 1/float32(k) {
				t.Errorf("k = %d: %v", k, dst[:2*k])
			}
		}
		x := make([]float32, 2*k)
		for i := range x[:k] {
			x[i] = -inf
		}
		if n := simd.Softmax32(make([]float32, 2*k), x, k); n != 0 {
			t.Errorf("k = %d: %d rows done of a row of −Inf", k, n)
		}
	}
}

func BenchmarkElementwise(b *testing.B) {
	const n = 2560
	x, y, dst := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(i%17)/3, 2
	}
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"mul", func() { simd.Mul(dst, x, y) }}, {"div", func() { simd.Div(dst, x, y) }},
		{"softmax/k=10", func() { kernel.Softmax(dst, x, 10) }},
		{"gradient/k=10", func() { simd.SoftmaxGrad(dst, x, y, 10) }},
		{"repeat/k=10", func() { simd.Repeat(dst, x, 10, 32, 0) }},
		{"sums/k=10", func() { simd.RowSums(dst[:n/10], x, 10) }},
	} {
		paths(func(path string) {
			b.Run(fmt.Sprintf("%s/%s", c.name, path), func(b *testing.B) {
				for b.Loop() {
					c.f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/value")
			})
		})
	}
}

func TestPlaces_AreThoseOfTheBitsThatAreSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for _, n := range []int{0, 1, 7, 8, 9, 64, 784, 1001} {
		set, want := make([]uint8, (n+7)/8), []int32{}
		for j := range n {
			if r.IntN(3) == 0 || n == 9 {
				set[j/8] |= 1 << (j % 8)
				want = append(want, int32(j))
			}
		}
		paths(func(name string) {
			at := make([]int32, n+1)
			at[n] = -1
			if got := at[:simd.Places(at[:n:n], set)]; !slices.Equal(got, want) || at[n] != -1 {
				t.Errorf("%s, %d bits: %v, want %v; %d after them", name, n, got, want, at[n])
			}
		})
	}
}
