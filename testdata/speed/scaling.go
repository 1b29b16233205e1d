package main

import (
	"context"
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"opl/train/dataset"
)

// sweep varies one size of a shape by doublings.
type sweep struct {
	name   string
	values []int
	set    func(s *shape, v int)
}

var sweeps = []sweep{
	{"B", doublings(64, 1024), func(s *shape, v int) { s.Batch = v }},
	{"K", doublings(50, 800), func(s *shape, v int) { s.Actions = v }},
	{"d", doublings(256, 4096), func(s *shape, v int) { s.Dim, s.Dense = v, true }},
	{"S", doublings(8, 128), func(s *shape, v int) { s.Samples = v }},
}

func doublings(from, to int) (v []int) {
	for ; from <= to; from *= 2 {
		v = append(v, from)
	}
	return v
}

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
			if sw.name == "S" && m.noise == nil {
				continue
			}
			g, err := b.growth(ctx, m, sw, base, images)
			if err != nil {
				return nil, fmt.Errorf("%s in %s: %w", m.name, sw.name, err)
			}
			all = append(all, g)
			fmt.Fprintf(b.log, "%s in %s: exponent %.2f\n", g.Step, g.Size, g.Exponent)
		}
	}
	return all, nil
}

// growth measures one step's time in one size, whose values take turns.
func (b *bench) growth(ctx context.Context, m method, sw sweep, base shape, images *dataset.Data) (*growth, error) {
	g := &growth{Step: m.name, Size: sw.name, Values: sw.values}
	trainers := make([]*trainer, len(sw.values))
	for i, v := range sw.values {
		s := base
		sw.set(&s, v)
		var err error
		if trainers[i], err = newTrainer(newTask(s, images), m, b.noise, tensor.Float32, s.Batch); err != nil {
			return nil, err
		}
		defer trainers[i].program.Close()
	}
	micros := make([][]float64, len(sw.values))
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
