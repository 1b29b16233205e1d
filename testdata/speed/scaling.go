package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"gorgonia.org/tensor"

	"opl/graph/kernel"
	"opl/train"
	"opl/train/dataset"
)

// sweep varies one size by doublings.
type sweep struct {
	size
	from, to int
}

var sweeps = []sweep{{sizes[0], 64, 1024}, {sizes[1], 50, 800}, {sizes[2], 256, 4096}, {sizes[3], 8, 128}, {sizes[4], 64, 1024}}

// growth is how a step's time grows in one size.
type growth struct {
	Step     string    `json:"step"`
	Size     string    `json:"size"`
	Values   []int     `json:"values"`
	Micros   []*spread `json:"us"`
	Exponent float64   `json:"exponent"` // slope of log time in log size, least squares
	Steepest float64   `json:"steepest"` // largest slope of a doubling
}

// scaling measures the growth of each step's processor time, on one thread, in each size, the others being
// those of base, of steps whose names contain a text.
func (b *bench) scaling(ctx context.Context, base shape, steps string, images *dataset.Data) ([]*growth, error) {
	var all []*growth
	for _, m := range []method{heuristic, theorem1, corollary1, likelihoodLayer} {
		for _, sw := range sweeps {
			if !strings.Contains(m.name, steps) || sw.letter == "S" && m.noise == nil || sw.letter == "H" && m.through == nil {
				continue
			}
			g, err := b.growth(ctx, m, sw, base, images)
			if err != nil {
				return nil, fmt.Errorf("%s in %s: %w", m.name, sw.letter, err)
			}
			all = append(all, g)
			fmt.Fprintf(b.log, "%s in %s: exponent %.2f\n", g.Step, g.Size, g.Exponent)
		}
	}
	if offered := "log π of actions offered"; strings.Contains(offered, steps) {
		all = append(all, b.offered(offered, base))
	}
	return all, nil
}

// offered measures the growth of log-probabilities and their gradients in the number of actions offered, M,
// of 64 features each.
func (b *bench) offered(name string, base shape) *growth {
	const p = 64
	r := train.Stream(seed, "offered")
	g := &growth{Step: name, Size: "M"}
	u, action := make([]float32, base.Batch*p), make([]float32, base.Batch)
	for i := range u {
		u[i] = float32(r.NormFloat64())
	}
	dst := make([]float32, base.Batch*(p+1))
	for m := 64; m <= 4096; m *= 4 {
		items := kernel.NewItems[float32](m, p, func(_ int, dst []float64) {
			for j := range dst {
				dst[j] = r.NormFloat64()
			}
		})
		g.Values = append(g.Values, m)
		var micros []float64
		for range b.rounds {
			micros = append(micros, cost(func() { items.LogProb(dst, u, action, true) }, b.budget/4))
		}
		g.Micros = append(g.Micros, spreadOf(micros))
	}
	g.fit()
	return g
}

// growth measures one step's processor time in one size, whose values take turns.
func (b *bench) growth(ctx context.Context, m method, sw sweep, base shape, images *dataset.Data) (*growth, error) {
	g := &growth{Step: m.name, Size: sw.letter}
	var trainers []*trainer
	for v := sw.from; v <= sw.to; v *= 2 {
		s := base
		*sw.of(&s) = v
		s.Dense = s.Dense || s.Dim != mnistDim
		tr, err := newTrainer(newTask(s, images), m, b.noise, tensor.Float32, s.Batch)
		if err != nil {
			return nil, err
		}
		g.Values, trainers = append(g.Values, v), append(trainers, tr)
	}
	micros := make([][]float64, len(trainers))
	for range b.rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, tr := range trainers {
			tr.reset()
			var failed error
			micros[i] = append(micros[i], cost(func() {
				if err := tr.step(); err != nil {
					failed = err
				}
			}, b.budget))
			if failed != nil {
				return nil, failed
			}
		}
	}
	for _, t := range micros {
		g.Micros = append(g.Micros, spreadOf(t))
	}
	g.fit()
	return g, nil
}

// fit computes the slopes.
func (g *growth) fit() {
	var sx, sy, sxx, sxy float64
	n := float64(len(g.Values))
	g.Steepest = math.Inf(-1)
	for i, v := range g.Values {
		x, y := math.Log(float64(v)), math.Log(g.Micros[i].Median)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
		if i > 0 {
			g.Steepest = math.Max(g.Steepest, math.Log(g.Micros[i].Median/g.Micros[i-1].Median)/math.Log(float64(v)/float64(g.Values[i-1])))
		}
	}
	g.Exponent = (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
