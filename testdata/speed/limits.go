package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"gorgonia.org/tensor"

	"opl/graph/kernel/simd"
	"opl/train"
)

// peaks are what this processor was measured to do on one thread.
type peaks struct {
	flops float64 // a second: a product of matrices of 1,024×1,024 in float32, opl's kernels
	blas  float64 // the same by PyTorch's OpenBLAS; 0: no PyTorch
	bytes float64 // a second, read or written: a copy of 64 MiB
	near  float64 // the same of 256 KiB, which the second cache holds
}

func (b *bench) peaks() (p peaks, err error) {
	const n = 1024
	r := train.Stream(seed, "peaks")
	x, y, dst := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	for i := range x {
		x[i], y[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
	}
	if simd.Vector() {
		p.flops = 2 * n * n * n / cost(func() { simd.Gemm32(dst, simd.RowMajor(n, n, x), simd.RowMajor(n, n, y), 0, 1) }, b.budget) * 1e6
	}
	if b.peer != nil {
		var answer struct{ Micros float64 }
		if err := b.peer.call(map[string]any{"op": "product", "n": n, "seconds": b.budget.Seconds()}, &answer); err != nil {
			return p, err
		}
		p.blas = 2 * n * n * n / answer.Micros * 1e6
	}
	copied := func(size int) float64 {
		from, to := make([]byte, size), make([]byte, size)
		for i := range from {
			from[i] = byte(i)
		}
		return 2 * float64(size) / cost(func() { copy(to, from) }, b.budget) * 1e6
	}
	p.bytes, p.near = copied(64<<20), copied(256<<10)
	return p, nil
}

// work is what a step has to do, by its formulas: floating-point operations, a multiply-add two,
// an exponential 20 and a normal number 40, and bytes of arrays that are read or written once by each operation
// that cannot be joined with the one before it.
func work(m method, t *task) (flops, bytes float64) {
	B, K, d, S, J, H := float64(t.Batch), float64(t.Actions), float64(t.Dim), float64(t.Samples), float64(t.Nodes), float64(t.Units)
	entries := B * d
	if !t.Dense {
		entries = 0
		for i := range t.Batch {
			row := make([]float64, t.Dim)
			t.log.X.Row64(t.log.Context(i), row)
			for _, v := range row {
				if v != 0 {
					entries++
				}
			}
		}
	}
	// x·Wᵀ and gᵀ·x of a matrix of so many rows, and Adam of its parameters.
	linear := func(rows, entries, width float64) {
		flops += 4*entries*rows + 14*rows*width
		bytes += 2*(8*entries+4*B*rows) + 4*rows*width*(1+1+7)
	}
	switch {
	case m.through != nil && m.name != likelihoodConv.name: // a layer
		linear(H, entries, d)
		linear(K, B*H, H)
		flops += 2*B*H*K + 4*B*H
		bytes += 4 * (B*H*4 + K*H)
	case m.through != nil:
		// Kernels of 5×5: 16 at 24×24 places of a pixel's one number, 32 at 8×8 of 16, and the squares of 2×2 after each.
		flops += B * (576*16*(2*2*25+3) + 64*32*(3*2*25*16+3))
		bytes += 4 * B * (2*784 + 576*16*4 + 144*16*4 + 64*32*4 + 512*2)
		linear(128, B*512, 512)
		linear(K, B*128, 128)
		flops += 2 * B * (512*128 + 128*K)
		bytes += 4 * (B*512 + B*128*4 + 128*512 + K*128)
	default:
		linear(K, entries, d)
	}
	switch m.name {
	case theorem1.name:
		flops += S * B * K * (40 + 20 + 8)
		bytes += 4 * S * B * K * 4 // noise and propensities, written and read
	case corollary1.name:
		flops += J * B * K * (2*17 + 2 + 8)
		bytes += 4 * B * K * 6
	default:
		flops += B * K * 30
		bytes += 4 * B * K * 6
	}
	return flops, bytes
}

// limits prints what each step of the tasks has to do, and the share of the measured peaks that it reaches
// on one thread.
func (b *bench) limits(ctx context.Context, w io.Writer, tasks []*task) error {
	p, err := b.peaks()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "One thread, processor time. Measured peaks: %.0f Gflop/s (a product of matrices of 1,024×1,024", p.flops/1e9)
	if p.blas > 0 {
		fmt.Fprintf(w, "; OpenBLAS %.0f", p.blas/1e9)
	}
	fmt.Fprintf(w, "), %.1f GB/s (a copy of 64 MiB; of 256 KiB %.0f).\n\n", p.bytes/1e9, p.near/1e9)
	fmt.Fprint(w, "| step | B | d | K | Mflop | MB | µs | Gflop/s | share of peak |\n|:---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, t := range tasks {
		for _, m := range []method{heuristic, likelihoodLayer, likelihoodConv, theorem1, corollary1} {
			if err := ctx.Err(); err != nil {
				return err
			}
			if m.through != nil && m.through(t) == nil {
				continue // no images
			}
			tr, err := newTrainer(t, m, b.noise, tensor.Float32, t.Batch)
			if err != nil {
				return err
			}
			var failed error
			micros := cost(func() {
				if err := tr.step(); err != nil {
					failed = err
				}
			}, b.budget)
			if failed != nil {
				return failed
			}
			flops, bytes := work(m, t)
			share := math.Max(flops/p.flops, bytes/p.near) / (micros / 1e6)
			fmt.Fprintf(w, "| %s | %d | %d%s | %d | %.3g | %.3g | %s | %.3g | %.0f %% |\n", m.name, t.Batch, t.Dim, map[bool]string{true: " dense"}[t.Dense], t.Actions,
				flops/1e6, bytes/1e6, number(micros), flops/micros/1e3, 100*share)
		}
	}
	_, err = fmt.Fprint(w, "\nThe share is that of the nearer limit: operations, or bytes by the copy that the second cache holds.\n")
	return err
}
