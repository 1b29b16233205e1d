package main

import (
	"context"
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"opl/train/dataset"
)

// sweep varies one size by doublings.
type sweep struct {
	size
	from, to int
}

var sweeps = []sweep{{sizes[0], 64, 1024}, {sizes[1], 50, 800}, {sizes[2], 256, 4096}, {sizes[3], 8, 128}}

// growth is how a step's time grows in one size.
type growth struct {
	Step     string    `json:"step"`
	Size     string    `json:"size"`
	Values   []int     `json:"values"`
	Micros   []*spread `json:"us"`
	Exponent float64   `json:"exponent"` // slope of log time in log size, least squares
	Steepest float64   `json:"steepest"` // largest slope of a doubling
}

// scaling measures the growth of each step's time in each size, the others being
// those of base.
func (b *bench) scaling(ctx context.Context, base shape, images *dataset.Data) ([]*growth, error) {
	var all []*growth
	for _, m := range []method{heuristic, theorem1, corollary1} {
		for _, sw := range sweeps {
			if sw.letter == "S" && m.noise == nil {
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
	return all, nil
}

// growth measures one step's time in one size, whose values take turns.
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
		defer tr.program.Close()
		g.Values, trainers = append(g.Values, v), append(trainers, tr)
	}
	micros := make([][]float64, len(trainers))
	for range b.rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, tr := range trainers {
			t, err := tr.time(b.budget)
			if err != nil {
				return nil, err
			}
			micros[i] = append(micros[i], t)
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
			g.Steepest = math.Max(g.Steepest, math.Log2(g.Micros[i].Median/g.Micros[i-1].Median))
		}
	}
	g.Exponent = (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
