package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/policies/features"
	"opl/train/logs"
)

// A table of codes is the table of their columns, and what is learned from it is the same. Features that have a
// category's name, but other values than 0 and 1, or two at once, stay as they are.
func TestDirect_CodesAreTheTable(t *testing.T) {
	const n, codes = 3000, 600
	e := features.Encoder{Names: []string{"u"}, Intercept: true}
	for c := range codes {
		e.Names = append(e.Names, fmt.Sprintf("site=%d", c))
	}
	e.Names = append(e.Names, "v")
	for range e.Names {
		e.Scale = append(e.Scale, 1)
	}
	encoder, err := features.New(e)
	if err != nil {
		t.Fatal(err)
	}
	d := encoder.Dim()
	r := rand.New(rand.NewPCG(5, 5))
	x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
	log := &logs.Log{Actions: logs.Numbered(3), X: x, Action: make([]int32, n), Cost: make([]float64, n)}
	for i := range n {
		row := x.Data[i*d : (i+1)*d]
		site := r.IntN(codes - 1) // the last is of no row
		row[0], row[d-2], row[d-1] = r.NormFloat64(), float64(r.IntN(20)), 1
		if i%7 > 0 {
			row[1+site] = 1
		}
		log.Action[i] = int32(r.IntN(3))
		if z := float64(site%3) + row[0]*float64(log.Action[i]); r.Float64() < 1/(1+math.Exp(-z)) {
			log.Cost[i] = -1
		}
	}
	direct := &Direct{Encoder: encoder}
	rows := allRows(n)
	coded, dense := direct.coded(log, rows), direct.table(log, rows)
	if coded == nil || coded.x.Data != nil {
		t.Fatal("the table is not coded")
	}
	buf := make([]float64, d)
	for i := range rows {
		if !slices.Equal(coded.row(i, buf), dense.row(i, nil)) {
			t.Fatalf("row %d differs", i)
		}
	}
	if !slices.Equal(coded.numbers, dense.numbers) || !slices.Equal(coded.constant, dense.constant) ||
		len(coded.constant) < 2 || !slices.Equal(coded.column(int32(d-2), rows, 2), dense.column(int32(d-2), rows, 2)) {
		t.Errorf("numbers %v, constant %v; of the table %v, %v", coded.numbers, coded.constant, dense.numbers,
			dense.constant)
	}
	for _, of := range kinds()[:2] { // linear, additive
		p, err := of.tune(context.Background(), coded, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		sites, after := p.scales.Shared[1:codes+1], p.scales.Shared[codes+1]
		if slices.Min(sites) != slices.Max(sites) || after == sites[0] {
			t.Errorf("%s: scales of sites %v to %v, of the number after them %v", of.name, slices.Min(sites),
				slices.Max(sites), after)
		}
		got, err := of.fit(context.Background(), coded, rows, p)
		if err != nil {
			t.Fatal(err)
		}
		want, err := of.fit(context.Background(), dense, rows, p)
		if err != nil {
			t.Fatal(err)
		}
		for a, row := range want[len(want)-1].Weights {
			for j, w := range row {
				if v := got[len(got)-1].Weights[a][j]; math.Abs(v-w) > .02 {
					t.Fatalf("%s: action %d, column %d: %.4f, of the table %.4f", of.name, a, j, v, w)
				}
			}
		}
		if w := want[len(want)-1].Weights; math.Abs(w[2][0]-w[0][0]) < 1 {
			t.Errorf("%s learned nothing: %.3f, %.3f", of.name, w[0][0], w[2][0])
		}
	}
	for _, bad := range []func(row []float64){func(row []float64) { row[1] = 2 },
		func(row []float64) { row[1], row[2] = 1, 1 }} {
		row := x.Data[7*d : 8*d] // that has no site
		was := slices.Clone(row)
		bad(row)
		if direct.coded(log, rows) != nil {
			t.Error("values that are no codes were coded")
		}
		copy(row, was)
	}
}
