package regress

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// drawn is a hierarchy of numbers from N(0, 1) whose coefficients have scales by column: [shared, own].
func drawn(seed uint64, n, groups int, scales [][2]float64) (*Hierarchy, []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	m := len(scales) + 1
	theta := make([]float64, (groups+1)*m)
	for j, s := range scales {
		theta[j] = s[0]
		for a := range groups {
			theta[(a+1)*m+j] = s[1] * r.NormFloat64()
		}
	}
	h := &Hierarchy{X: Matrix{Width: m}, Groups: groups, Stratum: make([]int, m), Family: make([]int, m)}
	for j := range m {
		h.Stratum[j] = j
	}
	h.Family[m-1] = 1
	y := make([]float64, n)
	for i := range n {
		a := r.IntN(groups)
		var z float64
		for j := range m {
			v := 1.
			if j < m-1 {
				v = r.NormFloat64()
			}
			h.X.Data = append(h.X.Data, v)
			z += v * (theta[j] + theta[(a+1)*m+j])
		}
		h.Group = append(h.Group, int32(a))
		if r.Float64() < 1/(1+math.Exp(-z)) {
			y[i] = 1
		}
	}
	return h, y
}

// Columns that matter to groups alone, to all alike, and to none, get scales of that size.
func TestHierarchy_ScalesAreOfTheSizeOfEffects(t *testing.T) {
	h, y := drawn(1, 20_000, 12, [][2]float64{{0, .8}, {1.5, 0}, {0, 0}})
	s, err := h.Scales(context.Background(), y)
	if err != nil {
		t.Fatal(err)
	}
	if s.Own[0] < .5 || s.Own[0] > 1.2 || s.Shared[1] < .4 || s.Own[1] > .15 || s.Own[2] > .15 || s.Shared[2] > .4 {
		t.Errorf("shared %.3v, own %.3v", s.Shared, s.Own)
	}
}

// Chance makes some of three coefficients that are 0. Of a family whose columns mostly matter to nothing these get no
// scale. Where all matter a little, too little for each to be told from 0, they keep theirs.
func TestHierarchy_ScalesOfWhatMattersToNothing(t *testing.T) {
	columns := func(first, others float64) [][2]float64 {
		c := slices.Repeat([][2]float64{{0, others}}, 24)
		c[0][1] = first
		return c
	}
	for seed := range uint64(4) {
		of := func(rows int, columns [][2]float64) (mean float64, above int) {
			h, y := drawn(seed, rows, 3, columns)
			s, err := h.Scales(context.Background(), y)
			if err != nil {
				t.Fatal(err)
			}
			for _, scale := range s.Own[1:24] {
				mean += scale / 23
				if scale > .05 {
					above++
				}
			}
			return mean, above
		}
		if _, above := of(2000, columns(.8, 0)); above > 3 {
			t.Errorf("seed %d: %d of 23 scales of coefficients that are 0 are above .05, want 3 at most", seed, above)
		}
		if mean, _ := of(400, columns(.15, .15)); mean < .1 {
			t.Errorf("seed %d: scales are %.3f on average, want about .15", seed, mean)
		}
	}
}

// A reward that is the mean of eight tells as much of effects as the eight.
func TestHierarchy_RewardsThatVaryLessTellMore(t *testing.T) {
	eight, _ := drawn(1, 0, 4, make([][2]float64, 3))
	r := rand.New(rand.NewPCG(3, 3))
	one := *eight
	var ys, means []float64
	for i := range 300 {
		x, a := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), 1}, i%4
		p := 1 / (1 + math.Exp(-.5*x[0]*float64(2*a-3)))
		var sum float64
		for range 8 {
			y := 0.
			if r.Float64() < p {
				y = 1
			}
			eight.X.Data, eight.Group, ys = append(eight.X.Data, x...), append(eight.Group, int32(a)), append(ys, y)
			sum += y
		}
		one.X.Data, one.Group, means = append(one.X.Data, x...), append(one.Group, int32(a)), append(means, sum/8)
	}
	var s [2]Scales
	var err error
	for i, h := range []*Hierarchy{eight, &one} {
		if s[i], err = h.Scales(context.Background(), [][]float64{ys, means}[i]); err != nil {
			t.Fatal(err)
		}
	}
	if s[0].Dispersion != 1 || s[1].Dispersion < .1 || s[1].Dispersion > .2 {
		t.Errorf("dispersions %v and %v, want 1 and about 1/8", s[0].Dispersion, s[1].Dispersion)
	}
	var theta [2][]float64
	for i, h := range []*Hierarchy{eight, &one} {
		if theta[i], err = h.Fit(context.Background(), [][]float64{ys, means}[i], s[i]); err != nil {
			t.Fatal(err)
		}
	}
	for j, v := range theta[0] {
		if math.Abs(theta[1][j]-v) > .05 {
			t.Errorf("coefficient %d: %.3f by means, %.3f by all", j, theta[1][j], v)
		}
	}
}

// The variances of a stratum are those of the inverse of the whole curvature, and those of columns alone are near
// where columns are independent.
func TestHierarchy_VariancesAreThoseOfTheWholeCurvature(t *testing.T) {
	for _, groups := range []int{1, 3} {
		variances(t, groups)
	}
}

func variances(t *testing.T, groups int) {
	t.Helper()
	h, y := drawn(2, 400, groups, [][2]float64{{.5, .5}, {1, .2}})
	h.Stratum = []int{0, 0, 0}
	for i, a := range h.Group {
		if a == 2 { // whose rows do not tell of the second column
			h.X.row(i)[1] = 0
		}
	}
	ctx := context.Background()
	s := Scales{[]float64{.5, 1, freeScale}, []float64{.5, .2, .3}, 1}
	theta, err := h.Fit(ctx, y, s)
	if err != nil {
		t.Fatal(err)
	}
	shared, own, err := h.variances(theta, s)
	if err != nil {
		t.Fatal(err)
	}
	m := h.X.Width
	whole := mat.NewSymDense(m*(1+groups), nil)
	for i, a := range h.Group {
		var z float64
		x := make([]float64, (1+groups)*m)
		for j, v := range h.X.row(i) {
			x[j], x[(int(a)+1)*m+j] = v, v
			z += v * (theta[j] + theta[(int(a)+1)*m+j])
		}
		p := 1 / (1 + math.Exp(-z))
		for j := range x {
			for k := j; k < len(x); k++ {
				whole.SetSym(j, k, whole.At(j, k)+p*(1-p)*x[j]*x[k])
			}
		}
	}
	for j := range (1 + groups) * m {
		by := s.Own[j%m]
		if j < m {
			by = s.Shared[j]
		}
		whole.SetSym(j, j, whole.At(j, j)+1/(by*by))
	}
	sigma, err := inverse(whole)
	if err != nil {
		t.Fatal(err)
	}
	for j := range m {
		var want float64
		for a := range groups {
			want += sigma.At((a+1)*m+j, (a+1)*m+j)
		}
		if math.Abs(shared[j]-sigma.At(j, j)) > 1e-9 || math.Abs(own[j]-want) > 1e-9 {
			t.Errorf("column %d: %v and %v, want %v and %v", j, shared[j], own[j], sigma.At(j, j), want)
		}
	}
	exact, exactOwn := shared, own
	h.Stratum = []int{0, 1, 2} // of a table this small the curvature between strata counts, too
	if shared, own, err = h.variances(theta, s); err != nil {
		t.Fatal(err)
	}
	l0, l1 := s.precisions()
	weight, rows := h.curved(theta)
	alone, aloneOwn := make([]float64, m), make([]float64, m)
	for j := range m {
		if math.Abs(shared[j]-exact[j]) > 1e-9 || math.Abs(own[j]-exactOwn[j]) > 1e-9 {
			t.Errorf("column %d of strata: %v and %v, want %v and %v", j, shared[j], own[j], exact[j], exactOwn[j])
		}
		h.diagonal(alone, aloneOwn, []int{j}, weight, rows, l0, l1)
		if math.Abs(alone[j]/exact[j]-1) > .2 || math.Abs(aloneOwn[j]/exactOwn[j]-1) > .2 {
			t.Errorf("column %d by the diagonal: %v and %v, want about %v and %v", j, alone[j], aloneOwn[j], exact[j], exactOwn[j])
		}
	}
}

// Scores and gradients are those of a design whose rows have their coefficients one by one.
func TestHierarchy_TakesRowsOfAGroupTogether(t *testing.T) {
	h, y := drawn(3, 130, 5, [][2]float64{{1, .5}, {1, 1}, {0, 1}, {1, 0}, {1, 1}})
	slices.Sort(h.Group[:65]) // together, and apart
	m := h.X.Width
	var thetas [2][]float64
	for i, x := range []Design{&nested{Hierarchy: h}, &Grouped{Shared: h.X, Own: h.X, Group: h.Group, Groups: 5}} {
		theta, err := Logistic(t.Context(), x, y, Options{Penalties: []float64{1}})
		if err != nil || len(theta) != 6*m {
			t.Fatal(len(theta), err)
		}
		thetas[i] = theta
	}
	if d := floats.Distance(thetas[0], thetas[1], math.Inf(1)); d > 1e-6 {
		t.Errorf("%v apart", d)
	}
}

// Codes are what their columns of 0 and 1 are, in less memory: the same coefficients, and the same variances.
func TestHierarchy_CodesAreColumns(t *testing.T) {
	const n, groups, width = 20_000, 3, 3 // with fewer rows dense columns are curved together
	sizes := []int{70, 10}
	r := rand.New(rand.NewPCG(4, 4))
	coded := &Hierarchy{X: Matrix{Width: width}, Groups: groups, Codes: Codes{Columns: 80, Each: 2}}
	dense := &Hierarchy{X: Matrix{Width: width + 80}, Groups: groups}
	coded.Stratum, coded.Family = []int{0, 1, 4}, []int{0, 0, 2}
	effects := make([][80]float64, groups)
	order := []int{0, 1} // of dense among coded columns
	for c := range 80 {
		coded.Stratum, coded.Family = append(coded.Stratum, 2+c/sizes[0]), append(coded.Family, 1)
		order = append(order, width+c)
		for a := range groups {
			effects[a][c] = r.NormFloat64()
		}
	}
	order = append(order, 2)
	for _, j := range order {
		dense.Stratum, dense.Family = append(dense.Stratum, coded.Stratum[j]), append(dense.Family, coded.Family[j])
	}
	y := make([]float64, n)
	for i := range n {
		a := int32(i / 100 % groups)
		x := []float64{r.NormFloat64(), r.NormFloat64(), 1}
		codes := []int32{int32(r.IntN(sizes[0])), int32(sizes[0] + r.IntN(sizes[1]))}
		if r.IntN(9) == 0 {
			codes[r.IntN(2)] = -1
		}
		row, z := make([]float64, 80), x[0]*float64(a)
		for _, c := range codes {
			if c >= 0 {
				row[c], z = 1, z+effects[a][c]
			}
		}
		coded.X.Data, coded.Codes.Data = append(coded.X.Data, x...), append(coded.Codes.Data, codes...)
		dense.X.Data = append(append(append(dense.X.Data, x[:2]...), row...), 1)
		coded.Group, dense.Group = append(coded.Group, a), append(dense.Group, a)
		if r.Float64() < 1/(1+math.Exp(-z)) {
			y[i] = 1
		}
	}
	scales, err := coded.Scales(context.Background(), y)
	if err != nil {
		t.Fatal(err)
	}
	pick := func(of []float64, order []int) (picked []float64) {
		for _, j := range order {
			picked = append(picked, of[j])
		}
		return picked
	}
	alike := func(what string, got, want []float64, within float64) {
		if !floats.EqualApprox(got, want, within) {
			t.Errorf("%s: %.4v, of dense columns %.4v", what, got, want)
		}
	}
	same := scales.Of(order)
	theta, err := coded.Fit(context.Background(), y, scales)
	if err != nil {
		t.Fatal(err)
	}
	want, err := dense.Fit(context.Background(), y, same)
	if err != nil {
		t.Fatal(err)
	}
	m := width + 80
	var permuted []float64
	for g := range groups + 1 {
		permuted = append(permuted, pick(theta[g*m:(g+1)*m], order)...)
	}
	alike("coefficients", permuted, want, .01)
	shared, own, err := coded.variances(theta, scales)
	if err != nil {
		t.Fatal(err)
	}
	wantShared, wantOwn, err := dense.variances(permuted, same)
	if err != nil {
		t.Fatal(err)
	}
	alike("shared variances", pick(shared, order)[2:m-1], wantShared[2:m-1], 1e-9)
	alike("variances", pick(own, order)[2:m-1], wantOwn[2:m-1], 1e-9)
	if least := slices.Min(scales.Own[width:]); least < .5 {
		t.Errorf("effects from N(0, 1) have a scale of %.3f", least)
	}
	coded.Codes.Data = coded.Codes.Data[1:]
	if _, err := coded.Fit(context.Background(), y, scales); err == nil {
		t.Error("a code that is missing was accepted")
	}
}

// A step up is lengthened to Fisher's, a step down is MacKay's.
func TestStepsOfScales(t *testing.T) {
	const m, groups = 40, 10
	h := &Hierarchy{X: Matrix{Width: m}, Groups: groups, Stratum: make([]int, m), Family: make([]int, m)}
	step := func(square float64) float64 { // θ²/σ² of each coefficient, of which γ is .2
		scales, squares, variances := make([]float64, m), make([]float64, m), make([]float64, m)
		for j := range scales {
			scales[j], squares[j], variances[j] = .5, square*.25*groups, .8*.25*groups
		}
		h.update(scales, squares, variances, groups)
		return math.Log(scales[0] / .5)
	}
	mackay := func(square float64) float64 {
		return math.Log((square*m*groups+borrowed)/(.2*m*groups+borrowed)) / 2
	}
	if up := step(.22); up < 3*mackay(.22) {
		t.Errorf("a step up of %.3v, MacKay's is %.3v", up, mackay(.22))
	}
	if down := step(.18); math.Abs(down-mackay(.18)) > 1e-12 {
		t.Errorf("a step down of %.3v, MacKay's is %.3v", down, mackay(.18))
	}
}
