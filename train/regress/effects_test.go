package regress

import (
	"context"
	"math"
	"math/rand/v2"
	"opl/testdata/long"
	"slices"
	"testing"
)

// One reward tells nothing of how large effects are: under the prior N(0, σ²) the mean of θ² stays σ².
func TestEffect_OneRewardTellsNothingOfScales(t *testing.T) {
	for _, scale := range []float64{.3, 1, 2} {
		h := &Hierarchy{X: Matrix{Width: 3, Data: []float64{1, 0, 0}}, Group: []int32{0}, Groups: 1,
			Stratum: []int{0, 0, 1}, Family: []int{0, 0, 1}}
		mode := scale * scale / 2
		for range 100 { // θ̂ = σ²(1 − p)
			mode += (scale*scale/(1+math.Exp(mode)) - mode) / 2
		}
		s := Scales{[]float64{leastScale, leastScale, 1}, []float64{scale, scale, scale}, 1}
		found := 0
		h.exactly(h.effects(), []float64{1}, []float64{0, 0, 0, mode, 0, 0}, s, func(e *effect) {
			if e.group == everyGroup {
				return
			}
			found++
			p := 1 / (1 + math.Exp(-mode))
			laplace := mode*mode + 1/(1/(scale*scale)+p*(1-p))
			if got := laplace + e.square + e.variance; math.Abs(got/(scale*scale)-1) > 1e-3 || laplace > got {
				t.Errorf("σ² %v: E θ² is %v, by Laplace's method %v", scale*scale, got, laplace)
			}
		})
		if found != 1 {
			t.Errorf("%d effects of one value", found)
		}
	}
}

// Where each value has a few rows in a group, effects are found nearly as large as they are.
func TestHierarchy_EffectsOfFewRowsAreNotTakenForSmaller(t *testing.T) {
	h, y := categories(3, 3000, 4, 1, 250, 1)
	s, err := h.Scales(context.Background(), y)
	if err != nil {
		t.Fatal(err)
	}
	if s.Own[0] < .75 || s.Own[0] > 1.1 { // .6 by Laplace's method
		t.Errorf("own scale %.3f, want about 1", s.Own[0])
	}
	h.Threads = 3
	if again, err := h.Scales(context.Background(), y); err != nil || !slices.Equal(again.Own, s.Own) {
		t.Errorf("three threads: %v, %v; one: %v", again.Own[0], err, s.Own[0])
	}
}

// A third of the pairs of a value and a group have a row. The scale arrives all the same.
func TestHierarchy_ScalesArriveWhereFewRowsTell(t *testing.T) {
	long.Test(t)
	h, y := categories(7, 10_000, 100, 1, 260, .9)
	h.Whole = true
	s, err := h.Scales(context.Background(), y)
	if err != nil {
		t.Fatal(err)
	}
	if s.Own[0] < .75 || s.Own[0] > 1.1 { // .35 by MacKay's steps
		t.Errorf("own scale %.3f, want about .9", s.Own[0])
	}
	// The curvature between columns counts, as a group has few of them: values leave the intercepts less sure.
	theta, intercept := make([]float64, (1+h.Groups)*h.Dim()), h.Dim()-1
	s.Own[intercept] = .4
	_, own, err := h.variances(theta, s)
	if err != nil {
		t.Fatal(err)
	}
	l0, l1 := s.precisions()
	weight, rows := h.curved(theta)
	alone := make([]float64, h.Dim())
	h.diagonal(make([]float64, h.Dim()), alone, []int{intercept}, weight, rows, l0, l1)
	if own[intercept] < 1.05*alone[intercept] {
		t.Errorf("variance of intercepts %.3g, alone %.3g", own[intercept], alone[intercept])
	}
}

// Columns of several categories go together by chance, which makes each less sure.
func TestHierarchy_CurvatureBetweenCategoriesCounts(t *testing.T) {
	long.Test(t)
	var own [2]float64
	for i, whole := range []bool{false, true} {
		h, y := categories(5, 3000, 4, 15, 20, .35)
		h.Whole = whole
		s, err := h.Scales(context.Background(), y)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 15 {
			own[i] += s.Own[j*20] / 15
		}
	}
	if own[1] < .23 || own[1] < own[0]+.03 {
		t.Errorf("scales %.3f without the curvature between categories, %.3f with it; effects are of .35", own[0], own[1])
	}
}

// Strata of other values than 0 and 1, or of two at once, are none of effects.
func TestHierarchy_EffectsAreThoseOfCategories(t *testing.T) {
	h, _ := categories(1, 40, 2, 3, 4, 1)
	for i := range h.Group {
		h.X.Data[i*h.X.Width+5] = h.X.Data[i*h.X.Width+5] / 2 // of the second
	}
	h.X.Data[7*h.X.Width+8], h.X.Data[7*h.X.Width+9] = 1, 1 // of the third
	rows := map[int]int{}                                   // by group
	for _, e := range h.effects() {
		if e.column >= 4 {
			t.Errorf("column %d is an effect", e.column)
		}
		rows[e.group] += len(e.rows)
		for _, i := range e.rows {
			if h.X.row(int(i))[e.column] != 1 || e.group != everyGroup && int(h.Group[i]) != e.group {
				t.Errorf("row %d is not of column %d and group %d", i, e.column, e.group)
			}
		}
	}
	if rows[everyGroup] != 40 || rows[0]+rows[1] != 40 {
		t.Errorf("rows of effects %v, want 40 of all groups and of each together", rows)
	}
}

// categories draws a hierarchy of some categories of so many values. Effects of groups are N(0, size²).
func categories(seed uint64, n, groups, number, values int, size float64) (*Hierarchy, []float64) {
	r := rand.New(rand.NewPCG(seed, 7))
	m := number*values + 1
	theta := make([]float64, groups*m)
	for j := range theta {
		theta[j] = size * r.NormFloat64()
	}
	h := &Hierarchy{X: Matrix{Width: m}, Groups: groups, Family: make([]int, m)}
	for j := range m {
		h.Stratum = append(h.Stratum, j/values)
	}
	h.Family[m-1] = 1
	y := make([]float64, n)
	for i := range n {
		x, a, z := make([]float64, m), r.IntN(groups), 0.
		x[m-1] = 1
		for c := range number {
			j := c*values + r.IntN(values)
			x[j], z = 1, z+theta[a*m+j]
		}
		h.X.Data, h.Group = append(h.X.Data, x...), append(h.Group, int32(a))
		if r.Float64() < 1/(1+math.Exp(-z)) {
			y[i] = 1
		}
	}
	return h, y
}
