package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	processors "golang.org/x/sys/cpu"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gorgonia.org/tensor"

	"opl/graph/kernel"
	"opl/graph/kernel/simd"
	"opl/train"
)

// A baseline has, for each extension, how many times as fast as the path in Go each kernel and step was.
type baseline map[string]map[string]float64

// slack is the share of a kept ratio below which a kernel or a step has become slower.
const slack = 0.6

func extension() string {
	if processors.X86.HasAVX512F {
		return "avx512"
	}
	return "avx2"
}

// contest is a kernel or a step: with the vector kernels and with what there is without them.
type contest struct {
	name          string
	vector, plain func()
}

// both runs the same with the kernels off.
func both(name string, f func()) contest {
	return contest{name, f, func() { defer simd.Use(simd.Use(false)); f() }}
}

func contests() []contest {
	r := train.Stream(seed, "regress")
	numbers := func(n int, scale float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(scale * r.NormFloat64())
		}
		return x
	}
	const B, K, d = 128, 100, 784
	x, y, z := numbers(B*K, 3), numbers(B*K, 1), make([]float32, B*K)
	soft := make([]float32, B*K)
	kernel.Softmax(soft, x, K)
	bits := make([]uint32, B*K)
	for i := range bits {
		bits[i] = r.Uint32()
	}
	logs, wide := make([]float64, B*K), make([]float64, B*K)
	for i, v := range y {
		wide[i] = float64(v) * float64(v)
	}
	all := []contest{
		both("add", func() { simd.Add(z, x, y) }),
		both("exp", func() { simd.Exp32(z, x) }),
		both("row sums", func() { simd.RowSums(z[:B], x, K) }),
		both("sum", func() { _ = simd.Sum(x) }),
		both("softmax", func() { kernel.Softmax(z, x, K) }),
		both("softmax gradient", func() { simd.SoftmaxGrad(z, soft, y, K) }),
		both("normal", func() { simd.Normal32(z, bits) }),
		both("log1p", func() { simd.Log1p(logs, wide) }),
	}
	m, v, grad, theta := make([]float32, K*d), make([]float32, K*d), numbers(K*d, 1), numbers(K*d, 1)
	all = append(all, both("adam", func() {
		simd.Adam32(simd.AdamStep{Beta1: .9, Beta2: .999, Rest1: .1, Rest2: .001, Rate: 1e-3, Root: 1, Epsilon: 1e-8}, theta, grad, m, v)
	}))
	for _, k := range []int{10, 100} {
		a, g, to := numbers(B*k, 2), numbers(B*k, 1e-3), make([]float32, B*k)
		all = append(all,
			both(fmt.Sprintf("gaussian, K=%d", k), func() { kernel.GaussianPropensities(to, a, k, 0) }),
			both(fmt.Sprintf("gaussian gradient, K=%d", k), func() { kernel.GaussianPropensitiesGrad(to, a, g, k, 0) }))
		X, W := numbers(B*d, 1), numbers(k*d, 1)
		all = append(all, contest{fmt.Sprintf("product, K=%d", k),
			func() { simd.Gemm32(to, simd.RowMajor(B, d, X), simd.RowMajor(k, d, W).T(), 0, 1) },
			func() {
				blas32.Gemm(blas.NoTrans, blas.Trans, 1, blas32.General{Rows: B, Cols: d, Stride: d, Data: X},
					blas32.General{Rows: k, Cols: d, Stride: d, Data: W}, 0, blas32.General{Rows: B, Cols: k, Stride: k, Data: to})
			}})
		if !simd.ReadsRows() {
			continue
		}
		placed, dW := simd.Rows{Cols: d}, make([]float32, k*d)
		panels, numbers := placed.Packed(k)
		packed := make([]float32, numbers)
		for i := range B {
			placed.At = append(placed.At, &X[i*d])
		}
		all = append(all,
			contest{fmt.Sprintf("product in place, K=%d", k), func() {
				for panel := range panels {
					placed.Pack(packed, W, k, panel)
				}
				placed.MulT(to, packed, k, 0, 1)
			},
				func() {
					blas32.Gemm(blas.NoTrans, blas.Trans, 1, blas32.General{Rows: B, Cols: d, Stride: d, Data: X},
						blas32.General{Rows: k, Cols: d, Stride: d, Data: W}, 0, blas32.General{Rows: B, Cols: k, Stride: k, Data: to})
				}},
			contest{fmt.Sprintf("gradient in place, K=%d", k), func() { placed.TMul(dW, a, k, 0, 1) },
				func() {
					blas32.Gemm(blas.Trans, blas.NoTrans, 1, blas32.General{Rows: B, Cols: k, Stride: k, Data: a},
						blas32.General{Rows: B, Cols: d, Stride: d, Data: X}, 0, blas32.General{Rows: k, Cols: d, Stride: d, Data: dW})
				}})
	}
	// Products with contexts of which a fifth is not 0, and their gradients, beside dense ones.
	const rows = 512
	s, sparse := new(simd.Sparse), numbers(rows*d, 1)
	for i := range sparse {
		if r.Float64() > .2 {
			sparse[i] = 0
		}
	}
	s.Reset(rows, d)
	s.Set(sparse, 0, rows)
	s.Prepare(simd.One)
	X := blas32.General{Rows: rows, Cols: d, Stride: d, Data: sparse}
	for _, k := range []int{10, 100, 256} {
		W, g, z, dW := numbers(k*d, 1), numbers(rows*k, 1), make([]float32, rows*k), make([]float32, k*d)
		s.Split(k, simd.One)
		parts, size := s.Scattered(k)
		sums := make([]float32, size)
		gradient := func() { s.TMul(dW, g, k, 0, 1) }
		if k < 64 && simd.Scatters() {
			gradient = func() {
				for part := range parts {
					s.Scatter(sums, g, k, part)
				}
				s.Gather(dW, sums, k)
			}
		}
		at := func(n int, x []float32) blas32.General {
			return blas32.General{Rows: n, Cols: len(x) / n, Stride: len(x) / n, Data: x}
		}
		all = append(all,
			contest{fmt.Sprintf("sparse product, K=%d", k), func() { s.MulT(z, W, k, 0, 1) },
				func() { blas32.Gemm(blas.NoTrans, blas.Trans, 1, X, at(k, W), 0, at(rows, z)) }},
			contest{fmt.Sprintf("sparse gradient, K=%d", k), gradient,
				func() { blas32.Gemm(blas.Trans, blas.NoTrans, 1, at(rows, g), X, 0, at(k, dW)) }})
	}
	return all
}

// regress measures every contest by turns and compares the ratios of processor time with those of a file, or
// writes them there. It fails where one is less than slack of what it was.
func (b *bench) regress(ctx context.Context, w io.Writer, file string, write bool) error {
	kept := baseline{}
	switch data, err := os.ReadFile(file); {
	case err == nil:
		if err := json.Unmarshal(data, &kept); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	case !write || !errors.Is(err, os.ErrNotExist):
		return err
	}
	if !simd.Vector() {
		return errors.New("--regress: this processor has no vector kernels to compare")
	}
	all := contests()
	var failed error
	for _, k := range []int{10, 100} {
		s := shape{Batch: 128, Dim: mnistDim, Actions: k, Samples: 32, Nodes: kernel.DefaultNodes(k), Units: usualUnits, Dense: true}
		t := newTask(s, nil)
		for _, m := range []method{heuristic, theorem1, corollary1, likelihoodLayer, likelihoodConv} {
			tr, err := newTrainer(t, m, b.noise, tensor.Float32, s.Batch)
			if err != nil {
				return err
			}
			all = append(all, both(fmt.Sprintf("step of %s, K=%d", m.name, k), func() {
				if err := tr.step(); err != nil {
					failed = err
				}
			}))
		}
	}
	now, was := map[string]float64{}, kept[extension()]
	slower := 0
	fmt.Fprintf(w, "| %s | times Go's path | kept |\n|:---|---:|---:|\n", extension())
	for _, c := range all {
		if err := errors.Join(ctx.Err(), failed); err != nil {
			return err
		}
		var ratios []float64
		for range b.rounds {
			fast := cost(c.vector, b.budget/4)
			ratios = append(ratios, cost(c.plain, b.budget/4)/fast)
		}
		slices.Sort(ratios)
		now[c.name] = math.Round(10*ratios[len(ratios)/2]) / 10
		mark := "new"
		if old, ok := was[c.name]; ok {
			if mark = fmt.Sprintf("%.3g", old); now[c.name] < slack*old {
				mark += " — slower"
				slower++
			}
		}
		fmt.Fprintf(w, "| %s | %.3g | %s |\n", c.name, now[c.name], mark)
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := now[name]; !ok && !write {
			fmt.Fprintf(w, "| %s | gone | %.3g |\n", name, was[name])
			slower++
		}
	}
	if write {
		kept[extension()] = now
		data, err := json.MarshalIndent(kept, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(file, append(data, '\n'), 0o644)
	}
	if slower > 0 {
		return fmt.Errorf("%d of %d are slower than %s says, by more than %.0f %%: --write keeps today's ratios", slower, len(all), file, 100*(1-slack))
	}
	return nil
}
