package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestSoftmax_EqualsKnownValues(t *testing.T) {
	inf := math.Inf(1)
	third := -math.Log(3)
	for _, c := range []struct {
		name          string
		x, log, p     []float64
		onlyInFloat64 bool
	}{
		{"three", []float64{math.Log(1), math.Log(2), math.Log(5)}, []float64{math.Log(1. / 8), math.Log(2. / 8), math.Log(5. / 8)}, []float64{1. / 8, 2. / 8, 5. / 8}, false},
		{"one action", []float64{1e4}, []float64{0}, []float64{1}, false},
		{"ties", []float64{7, 7, 7}, []float64{third, third, third}, []float64{1. / 3, 1. / 3, 1. / 3}, false},
		{"huge", []float64{-1e4, 1e4, 0}, []float64{-2e4, 0, -1e4}, []float64{0, 1, 0}, false},
		{"huge ties", []float64{1e4, 1e4, -1e4}, []float64{-math.Ln2, -math.Ln2, -2e4 - math.Ln2}, []float64{.5, .5, 0}, false},
		// e⁻⁵⁰ = 1.9287498479639178e-22 is lost by log Σ exp, kept by log1p.
		{"near certainty", []float64{50, 0}, []float64{-1.9287498479639178e-22, -50}, []float64{1, 1.9287498479639178e-22}, true},
		{"impossible action", []float64{0, -inf, 0}, []float64{-math.Ln2, -inf, -math.Ln2}, []float64{.5, 0, .5}, false},
		{"all impossible", []float64{-inf, -inf, -inf}, []float64{third, third, third}, []float64{1. / 3, 1. / 3, 1. / 3}, false},
		{"infinite leaders", []float64{inf, 3, inf}, []float64{-math.Ln2, -inf, -math.Ln2}, []float64{.5, 0, .5}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Surround the row by others: the maximum must be the row's own.
			k := len(c.x)
			x := make([]float64, 3*k)
			for i := range k {
				x[i], x[k+i], x[2*k+i] = 1e3, c.x[i], -1e3
			}
			log, p := make([]float64, 3*k), make([]float64, 3*k)
			LogSoftmax(log, x, k)
			Softmax(p, x, k)
			near(t, c.name+": LogSoftmax", log[k:2*k], c.log, 1e-15)
			near(t, c.name+": Softmax", p[k:2*k], c.p, 1e-15)
			if c.onlyInFloat64 {
				return
			}
			x32, log32, p32 := to32(x), make([]float32, 3*k), make([]float32, 3*k)
			LogSoftmax(log32, x32, k)
			Softmax(p32, x32, k)
			near(t, c.name+": LogSoftmax32", to64(log32[k:2*k]), c.log, 2e-7)
			near(t, c.name+": Softmax32", to64(p32[k:2*k]), c.p, 2e-7)
		})
	}
}

func TestSoftmax_SumsToOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{2, 10, 1000, 5000} {
		x := normals(rng, 3*k, 5)
		p, log := make([]float64, len(x)), append([]float64(nil), x...)
		Softmax(p, x, k)
		LogSoftmax(log, log, k) // in place
		for i := range 3 {
			if s := total(p[i*k : (i+1)*k]); math.Abs(s-1) > 1e-13 {
				t.Errorf("k=%d: row sums to 1%+.1e", k, s-1)
			}
		}
		for i := range p {
			if apart(math.Exp(log[i]), p[i]) > 1e-13 {
				t.Fatalf("k=%d: exp(LogSoftmax) %v, Softmax %v", k, math.Exp(log[i]), p[i])
			}
		}
	}
}

func TestSoftmax_KeepsNaNInItsRow(t *testing.T) {
	for _, at := range []int{0, 1} {
		x := []float64{1, 2, math.Inf(1), math.Inf(1), 1, 2}
		x[2+at] = math.NaN()
		p, log := make([]float64, 6), make([]float64, 6)
		Softmax(p, x, 2)
		LogSoftmax(log, x, 2)
		for i := range p {
			if in := i/2 == 1; math.IsNaN(p[i]) != in || math.IsNaN(log[i]) != in {
				t.Errorf("NaN at %d: %v %v", at, p, log)
			}
		}
	}
}

func TestArgMax_TakesTheFirstOfTiesAndSkipsNaN(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		row  []float64
		want int
	}{
		{[]float64{3}, 0}, {[]float64{1, 3, 3, 2}, 1}, {[]float64{-inf, -inf}, 0},
		{[]float64{-inf, -5, inf}, 2}, {[]float64{0, math.NaN(), 1}, 2},
	} {
		if got := ArgMax(c.row); got != c.want {
			t.Errorf("ArgMax(%v) = %d, want %d", c.row, got, c.want)
		}
	}
}

func TestKernels_PanicOnWrongLengths(t *testing.T) {
	five, six := make([]float64, 5), make([]float64, 6)
	for name, f := range map[string]func(){
		"not whole rows":  func() { Softmax(five, five, 2) },
		"lengths differ":  func() { LogSoftmax(five, six, 2) },
		"no columns":      func() { Softmax(six, six, 0) },
		"one node":        func() { GaussianPropensities(six, six, 2, 1) },
		"gradient":        func() { GaussianPropensitiesGrad(six, six, five, 2, 0) },
		"noise":           func() { GaussianMC(six, six, five, 2, 2) },
		"no draws":        func() { GaussianMC(six, six, nil, 2, 0) },
		"noise, gradient": func() { GaussianMCGrad(six, six, five, six, 2, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				f()
			}()
		})
	}
}

func BenchmarkLogSoftmax(b *testing.B) {
	for _, k := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("B=128,K=%d", k), func(b *testing.B) {
			x := normals(rand.New(rand.NewPCG(1, 2)), 128*k, 1)
			dst := make([]float64, len(x))
			b.ReportAllocs()
			for range b.N {
				LogSoftmax(dst, x, k)
			}
		})
	}
}

// near compares slices relatively, infinities and zeros exactly.
func near(t *testing.T, name string, got, want []float64, tol float64) {
	t.Helper()
	for i := range want {
		if !(apart(got[i], want[i]) <= tol) {
			t.Errorf("%s[%d] = %.17g, want %.17g", name, i, got[i], want[i])
		}
	}
}

func normals(rng *rand.Rand, n int, scale float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = scale * rng.NormFloat64()
	}
	return x
}

func total(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

func to32(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func to64(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
