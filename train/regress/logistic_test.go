package regress_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/train/regress"
)

// random is n rows of d features, with numbers of a size of their own in each column.
func random(r *rand.Rand, n, d int) regress.Matrix {
	x := regress.Matrix{Width: d, Data: make([]float64, n*d)}
	for i := range x.Data {
		if r.IntN(3) > 0 {
			x.Data[i] = r.NormFloat64() * float64(1+i%d)
		}
	}
	return x
}

func numbers(n int, draw func() float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = draw()
	}
	return x
}

// minimal reports whether f, written down naively, is least at θ among points around it, and its central
// differences vanish.
func minimal(t *testing.T, name string, f func(theta []float64) float64, theta []float64, n int) {
	t.Helper()
	const h = 1e-4
	for j := range theta {
		up, down := slices.Clone(theta), slices.Clone(theta)
		up[j], down[j] = up[j]+h, down[j]-h
		if g := (f(up) - f(down)) / (2 * h * float64(n)); math.Abs(g) > 1e-6 {
			t.Errorf("%s: the derivative by θ_%d is %v, want 0", name, j, g)
		}
		if f(up) < f(theta) || f(down) < f(theta) {
			t.Errorf("%s: θ_%d is not least", name, j)
		}
	}
}

func dot(x, y []float64) (s float64) {
	for j := range x {
		s += x[j] * y[j]
	}
	return s
}

func TestLogistic_MinimizesItsLossForEveryPenalty(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	const n, d = 300, 4
	x := random(r, n, d)
	o := regress.Options{Weight: numbers(n, r.Float64), Offset: numbers(n, r.NormFloat64),
		Penalties: []float64{0, .1, 3, 1}}
	y := numbers(n, r.Float64)
	theta, err := regress.Logistic(context.Background(), x, y, o)
	if err != nil {
		t.Fatal(err)
	}
	minimal(t, "logistic", func(theta []float64) (loss float64) {
		for i := range n {
			p := 1 / (1 + math.Exp(-o.Offset[i]-dot(x.Data[i*d:(i+1)*d], theta)))
			loss -= o.Weight[i] * (y[i]*math.Log(p) + (1-y[i])*math.Log(1-p))
		}
		for j, v := range theta {
			loss += o.Penalties[j] / 2 * v * v
		}
		return loss
	}, theta, n)
	warm := o
	warm.Start = theta
	if again, err := regress.Logistic(context.Background(), x, y, warm); err != nil || !slices.Equal(again, theta) {
		t.Errorf("begun where it ended: %v, %v, want %v", again, err, theta)
	}
}

func TestConditional_EqualsMultinomial(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	const n, d, k = 600, 3, 4
	x, o := random(r, n, d), regress.Options{Weight: numbers(n, r.Float64), Offset: numbers(n*k, r.NormFloat64),
		Penalties: []float64{.5}}
	class := make([]int32, n)
	for i := range class {
		class[i] = int32(r.IntN(k))
	}
	theta, err := regress.Multinomial(context.Background(), x, class, k, o)
	if err != nil {
		t.Fatal(err)
	}
	loss := func(theta []float64) (loss float64) {
		for i := range n {
			var sum, own float64
			for a := range k {
				z := o.Offset[i*k+a] + dot(x.Data[i*d:(i+1)*d], theta[a*d:(a+1)*d])
				if sum += math.Exp(z); a == int(class[i]) {
					own = z
				}
			}
			loss += o.Weight[i] * (math.Log(sum) - own)
		}
		return loss + dot(theta, theta)/4
	}
	minimal(t, "multinomial", loss, theta, n)

	// The same as a choice among k options, each with the features of its own class; widths differ from strides.
	wide := regress.Matrix{Width: k * d, Stride: k*d + 2, Data: make([]float64, n*k*(k*d+2))}
	sizes, chosen := slices.Repeat([]int{k}, n), make([]int, n)
	for i := range n {
		chosen[i] = int(class[i])
		for a := range k {
			copy(wide.Data[(i*k+a)*wide.Stride+a*d:], x.Data[i*d:(i+1)*d])
			wide.Data[(i*k+a)*wide.Stride+k*d] = math.NaN() // is not read
		}
	}
	same, err := regress.Conditional(context.Background(), wide, sizes, chosen, o)
	if err != nil {
		t.Fatal(err)
	}
	for j := range theta {
		if math.Abs(same[j]-theta[j]) > 1e-7 {
			t.Errorf("θ_%d of options is %v, of classes %v", j, same[j], theta[j])
		}
	}

	// Sparse rows give what dense ones do.
	sparse := &regress.Sparse{N: n, Scale: []float64{2, 1, .5}, Row: func(i int) (at []uint32, v []float64) {
		for j := range d {
			if x.Data[i*d+j] != 0 {
				at, v = append(at, uint32(j)), append(v, x.Data[i*d+j]/[]float64{2, 1, .5}[j])
			}
		}
		return at, v
	}}
	full := regress.Matrix{Width: d + 1}
	for i := range n {
		full.Data = append(append(full.Data, x.Data[i*d:(i+1)*d]...), 1)
	}
	want, err := regress.Multinomial(context.Background(), full, class, k, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := regress.Multinomial(context.Background(), sparse, class, k, o)
	for j := range want {
		if err != nil || math.Abs(got[j]-want[j]) > 1e-7 {
			t.Fatalf("θ_%d of sparse rows is %v, %v, of dense ones %v", j, got[j], err, want[j])
		}
	}
}

// Rows in groups are the rows of a wide matrix.
func TestGrouped_FitsAsAWideMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 3))
	const n, s, d, groups = 500, 2, 3, 3
	g := &regress.Grouped{Shared: random(r, n, s), Own: random(r, n, d), Groups: groups}
	wide := regress.Matrix{Width: s + groups*d, Data: make([]float64, n*(s+groups*d))}
	for i := range n {
		a := r.IntN(groups+1) - 1
		g.Group = append(g.Group, int32(a))
		copy(wide.Data[i*wide.Width:], g.Shared.Data[i*s:(i+1)*s])
		if a >= 0 {
			copy(wide.Data[i*wide.Width+s+a*d:], g.Own.Data[i*d:(i+1)*d])
		}
	}
	y, o := numbers(n, r.Float64), regress.Options{Penalties: []float64{.3}}
	want, err := regress.Logistic(context.Background(), wide, y, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := regress.Logistic(context.Background(), g, y, o)
	for j := range want {
		if err != nil || math.Abs(got[j]-want[j]) > 1e-7 {
			t.Fatalf("θ_%d in groups is %v, %v, want %v", j, got[j], err, want[j])
		}
	}
}

// Threads, and rows that do not fit into memory, change no bit.
func TestLogistic_IsTheSameForAnyNumberOfThreads(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 4))
	const n, d = 20_000, 5
	x, y := random(r, n, d), numbers(n, r.Float64)
	rows := r.Perm(n)[:n-17]
	y = y[:len(rows)]
	var want []float64
	for _, held := range []int{0, 1, 1000*d + 1, n * d} {
		for _, threads := range []int{0, 1, 2, 7} {
			got, err := regress.Logistic(context.Background(), regress.Read(x, rows, held), y,
				regress.Options{Threads: threads})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d numbers in memory, %d threads: %v, want %v", held, threads, got, want)
			}
		}
	}
}

func TestFits_RefuseNumbersThatCannotBe(t *testing.T) {
	x := regress.Matrix{Width: 1, Data: []float64{1, 2, 3}}
	y := []float64{0, 1, .5}
	bad := regress.Matrix{Width: 1, Data: []float64{1, math.NaN(), 3}}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		fit  func() ([]float64, error)
		want string
	}{
		"rewards": {func() ([]float64, error) {
			return regress.Logistic(context.Background(), x, y[:2],
				regress.Options{})
		}, "2 rewards for 3 rows"},
		"not a number": {func() ([]float64, error) {
			return regress.Logistic(context.Background(), bad, y,
				regress.Options{})
		}, "features finite"},
		"weights": {func() ([]float64, error) {
			return regress.Logistic(context.Background(), x, y, regress.Options{Weight: []float64{1, -1, 1}})
		}, "row 1 has the weight -1"},
		"penalties": {func() ([]float64, error) {
			return regress.Logistic(context.Background(), x, y, regress.Options{Penalties: []float64{math.NaN()}})
		}, "penalty NaN"},
		"many penalties": {func() ([]float64, error) {
			return regress.Logistic(context.Background(), x, y, regress.Options{Penalties: []float64{1, 2}})
		}, "2 penalties for 1 coefficients"},
		"cancelled": {func() ([]float64, error) { return regress.Logistic(cancelled, x, y, regress.Options{}) },
			"canceled"},
		"choices": {func() ([]float64, error) {
			return regress.Conditional(context.Background(), x, []int{2, 1}, []int{1, 1}, regress.Options{})
		}, "set 1 has 1 options"},
		"fewer choices": {func() ([]float64, error) {
			return regress.Conditional(context.Background(), x, []int{2, 1}, []int{1}, regress.Options{})
		}, "2 sets and 1 choices"},
	} {
		t.Run(name, func(t *testing.T) {
			if theta, err := c.fit(); err == nil || theta != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v, want an error with %q", theta, err, c.want)
			}
		})
	}
	if theta, err := regress.Logistic(context.Background(), regress.Matrix{Width: 2}, nil,
		regress.Options{}); err != nil || len(theta) != 2 {
		t.Errorf("no rows: %v, %v", theta, err)
	}
}
