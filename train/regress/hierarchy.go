package regress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"opl/graph/kernel/simd"
)

// Hierarchy is a logistic regression whose coefficients are a part that all groups share and one of each group,
//
//	P(y_i = 1) = σ(x_iᵀ(θ_0 + θ_{g_i})),   θ_0j ~ N(0, σ²_0s),   θ_gj ~ N(0, σ²_1s),   s the stratum of column j
//
// The standard deviations σ are fitted, too: they are those under which the rewards were most likely (see
// [Hierarchy.Scales]). So columns that tell nothing shrink to nothing, and each group borrows from the others as much
// as they are alike.
type Hierarchy struct {
	X       Matrix  // without a stride; the last column is 1, whose shared coefficient is free
	Codes   Codes   // columns after those of X
	Group   []int32 // of each row
	Groups  int     // number of groups
	Stratum []int   // of each column, from 0 on
	Family  []int   // of each column, from 0 on: strata of one are alike until the rewards say otherwise
	Whole   bool    // columns are mostly those of categories, which go together: see mostWhole
	Threads int     // that compute at once; 0: one. The result is the same for any number
}

// Codes are columns of 0 and 1 of which a row has few, such as those of categories. Those of one stratum are never 1
// together.
type Codes struct {
	Columns int
	Each    int     // that are 1 in a row, at most
	Data    []int32 // [n×Each]: those that are; negative: none
}

func (c Codes) row(i int) []int32 { return c.Data[i*c.Each : (i+1)*c.Each] }

// times adds the columns times codes [Columns] to z, the rows from first on.
func (c Codes) times(z, codes []float64, first int) {
	if c.Each == 0 {
		return
	}
	for i := range z {
		for _, j := range c.row(first + i) {
			if j >= 0 {
				z[i] += codes[j]
			}
		}
	}
}

// transposed adds z, the rows from first on, times the columns to codes [Columns].
func (c Codes) transposed(codes, z []float64, first int) {
	if c.Each == 0 {
		return
	}
	for i := range z {
		for _, j := range c.row(first + i) {
			if j >= 0 {
				codes[j] += z[i]
			}
		}
	}
}

// Dim is the number of columns.
func (h *Hierarchy) Dim() int { return h.X.Width + h.Codes.Columns }

// Scales are standard deviations by column, of the shared coefficients and of those of the groups.
type Scales struct {
	Shared, Own []float64
	// Dispersion is φ of rewards whose variance is φp(1 − p): 1 of rewards that are 0 or 1, less of others. 0: that of
	// the rewards that are learned from.
	Dispersion float64
}

// Of returns the scales of some columns, in their order.
func (s Scales) Of(columns []int) Scales {
	of := Scales{Dispersion: s.Dispersion}
	for _, j := range columns {
		of.Shared, of.Own = append(of.Shared, s.Shared[j]), append(of.Own, s.Own[j])
	}
	return of
}

// ScaleRounds is after how many updates scales are taken as they are, though they may not have settled.
const ScaleRounds = 12

const (
	settled         = .05 // a change of scales, by its logarithm, below which they are left
	leastScale      = 1e-3
	mostScale       = 10
	leastDispersion = .01 // of rewards without noise
	freeScale       = 30  // of the shared intercept
	near            = .01 // how far a coefficient may be from its mode, in about its standard deviations
	mostBlock       = 64  // columns of a stratum, beyond which each is taken as if it were alone
	// products of numbers that the curvature of all columns together may take, and that of whole ones. Without it
	// columns that go together, such as the pixels of an image, are shrunk too much.
	mostTogether, mostWhole = 1e8, 1e9
)

// Scales fits the standard deviations by maximizing the likelihood with θ integrated out, by Laplace's method: with θ
// at its mode and Σ its covariance there, MacKay's update is
//
//	σ²_s = Σ_{j∈s} θ_j² / Σ_{j∈s} (1 − Σ_jj/σ²_s)
//
// MacKay (1992), "Bayesian interpolation". Effects of categories, of which few rows may tell, have exact moments, see
// [effect.moments]. Rewards y are in [0, 1]. Of those that are not all 0 or 1 the log-likelihood
// is divided by a dispersion φ, Wedderburn (1974): the less they vary the more they tell. At first φ is
// the [Dispersion] about the means of groups. Each update lowers it, where it can, to n/(n − γ) times that about
// σ(x_iᵀ(θ_0 + θ_{g_i})), where γ = Σ_j (1 − Σ_jj/σ²_j) is how many coefficients the rows tell.
func (h *Hierarchy) Scales(ctx context.Context, y []float64) (Scales, error) {
	s := Scales{Shared: make([]float64, h.Dim()), Own: make([]float64, h.Dim())}
	for j := range s.Own {
		s.Shared[j], s.Own[j] = .3, .3
	}
	s.Shared[h.X.Width-1] = freeScale
	return h.Again(ctx, y, s, ScaleRounds)
}

// Again is Scales in at most so many updates, which begin at others: those of a log of which h has some rows.
func (h *Hierarchy) Again(ctx context.Context, y []float64, from Scales, rounds int) (Scales, error) {
	m := h.Dim()
	if len(h.Stratum) != m || len(h.Group) != len(y) || h.X.Len() != len(y) {
		return Scales{}, fmt.Errorf("regress: %d strata of %d columns, %d groups and %d rows for %d rewards",
			len(h.Stratum), m, len(h.Group), h.X.Len(), len(y))
	}
	s := Scales{slices.Clone(from.Shared), slices.Clone(from.Own), min(cmp.Or(from.Dispersion, 1), h.dispersion(y))}
	all := h.effects()
	var theta []float64
	for range rounds {
		var err error
		if theta, err = h.fit(ctx, y, s, theta, 10); err != nil {
			return s, err
		}
		shared, own, err := h.variances(theta, s)
		if err != nil {
			return s, err
		}
		sharedSquares, ownSquares := make([]float64, m), make([]float64, m)
		for k, v := range theta {
			if k < m {
				sharedSquares[k] += v * v
			} else {
				ownSquares[k%m] += v * v
			}
		}
		h.exactly(all, y, theta, s, func(e *effect) {
			if e.group == everyGroup {
				sharedSquares[e.column], shared[e.column] = sharedSquares[e.column]+e.square, shared[e.column]+e.variance
			} else {
				ownSquares[e.column], own[e.column] = ownSquares[e.column]+e.square, own[e.column]+e.variance
			}
		})
		before, n, free := Scales{slices.Clone(s.Shared), slices.Clone(s.Own), s.Dispersion}, float64(len(y)), 0.
		for j := range s.Own {
			free += max(0, 1-shared[j]/(s.Shared[j]*s.Shared[j])) + max(0, float64(h.Groups)-own[j]/(s.Own[j]*s.Own[j]))
		}
		s.Dispersion = min(s.Dispersion, n/max(1, n-free)*Dispersion(y, func(i int) float64 {
			return 1 / (1 + math.Exp(-h.score(theta, i)))
		}))
		h.update(s.Own, ownSquares, own, float64(h.Groups))
		h.update(s.Shared, sharedSquares, shared, 1)
		s.Shared[h.X.Width-1] = freeScale
		if s.far(before) < settled {
			break
		}
	}
	return s, nil
}

// far is the largest change of a scale that matters, by its logarithm.
func (s Scales) far(from Scales) (most float64) {
	for j := range s.Own {
		most = max(most, math.Abs(math.Log(max(s.Own[j], .02)/max(from.Own[j], .02))))
		most = max(most, math.Abs(math.Log(max(s.Shared[j], .02)/max(from.Shared[j], .02))))
	}
	return most
}

// update sets the scales of columns by the squares of their coefficients, and by their variances, each summed over
// some groups. A stratum counts as having some coefficients more, of the size that is typical of its family, and, as
// far as rows tell that most of the family matters to nothing, one that is 0 (see [family.absent]): of few coefficients
// that are all 0, chance makes the likeliest scale one above 0 as often as not.
//
// Where few rows tell of each coefficient, γ_j = 1 − Σ_jj/σ² is near 0, and MacKay's steps are too short to
// arrive. So a step up of log σ is multiplied by Σγ_j/Σγ_j², which makes it that of Fisher's scoring. A step down
// is not: if so few rows show no effect, there may be one.
func (h *Hierarchy) update(scales, squares, variances []float64, groups float64) {
	strata, families := map[int]stratum{}, map[int]family{}
	for j, scale := range scales {
		s := strata[h.Stratum[j]]
		free := max(0, groups-variances[j]/(scale*scale))
		s.n, s.square, s.free, s.curved = s.n+groups, s.square+squares[j], s.free+free, s.curved+free*free/groups
		strata[h.Stratum[j]] = s
	}
	for j, scale := range scales {
		f, s := families[h.Family[j]], strata[h.Stratum[j]]
		f.logs, f.n = f.logs+math.Log(scale), f.n+1
		told := s.told(scale) * groups / s.n
		f.told += told
		if s.small(scale) {
			f.small += told
		}
		families[h.Family[j]] = f
	}
	for j, scale := range scales {
		f, s := families[h.Family[j]], strata[h.Stratum[j]]
		typical, square := math.Exp(2*f.logs/f.n), scale*scale
		step := math.Log((s.square+borrowed*typical)/(s.free+borrowed+f.absent()*s.told(scale))/square) / 2
		if step > 0 {
			step *= max(1, (s.free+borrowed)/(s.curved+borrowed*max(1, typical/square)+unsure))
		}
		scales[j] = min(max(scale*math.Exp(min(max(step, -mostStep), mostStep)), leastScale), mostScale)
	}
}

// stratum has the sums of θ_j², γ_j and γ_j² over its n coefficients.
type stratum struct{ n, square, free, curved float64 }

// told says from 0 to 1 how well rows alone tell whether coefficients are 0: (1 + τ²/telling²)⁻², where
// τ² = σ²(1 − γ)/γ is the variance that they leave of one and γ the mean of γ_j.
func (s stratum) told(scale float64) float64 {
	if scale < noScale {
		return 1
	}
	gamma := s.free / s.n
	v := gamma / (gamma + scale*scale*(1-gamma)/(telling*telling))
	return v * v
}

// small says that the coefficients are no larger than those of half the strata that matter to nothing. Of these θ/γ has
// the variance τ², so that Σ_j θ_j²/(σ²γ(1 − γ)) is χ² with n degrees of freedom.
func (s stratum) small(scale float64) bool {
	gamma, median := s.free/s.n, s.n*math.Pow(1-2/(9*s.n), 3)
	return scale < noScale || s.square < median*scale*scale*gamma*(1-gamma)
}

// family has the number of its columns and the sum of their log σ, and how much rows tell of its strata, and of those
// that are small.
type family struct{ n, logs, told, small float64 }

// absent is how many coefficients of 0 a stratum counts as having: 1 where as many are small as chance makes of none
// that matters, half of them; 0 where a quarter is, or where rows tell little.
func (f family) absent() float64 {
	q := max(0, min(1, 4*f.small/(f.told+1)-1))
	return q * q
}

const (
	borrowed = .5  // coefficients of a stratum that the typical size of its family stands for
	telling  = .3  // standard deviation that rows leave of a coefficient, with which [stratum.told] is a quarter
	noScale  = .01 // below which coefficients are 0 but for rounding
	unsure   = 2   // Σγ_j², without which a step is not lengthened: of so few rows the likeliest scale is mostly chance
	mostStep = .7  // of the logarithm of a scale
)

// Fit returns θ [(1+Groups)×columns], the shared part first, at its mode under s.
func (h *Hierarchy) Fit(ctx context.Context, y []float64, s Scales) ([]float64, error) {
	if s.Dispersion == 0 {
		s.Dispersion = h.dispersion(y)
	}
	return h.fit(ctx, y, s, nil, 40)
}

// fit finds θ in units in which the curvature has about 1 on its diagonal.
func (h *Hierarchy) fit(ctx context.Context, y []float64, s Scales, start []float64,
	iterations int) ([]float64, error) {
	m, n := h.Dim(), h.X.Len()
	if h.X.stride() != h.X.Width || len(h.Group) != n || len(h.Codes.Data) != n*h.Codes.Each {
		return nil, fmt.Errorf("regress: rows of %d columns with a stride of %d, %d groups and %d codes of %d rows: "+
			"want no stride, a group of each row, and %d codes", h.X.Width, h.X.stride(), len(h.Group),
			len(h.Codes.Data), n, h.Codes.Each)
	}
	square := append(h.X.squares(), make([]float64, h.Codes.Columns)...)
	for _, c := range h.Codes.Data {
		if c >= 0 {
			square[h.X.Width+int(c)]++
		}
	}
	mean := (floats.Sum(y) + 1) / (float64(n) + 2)
	d := (1 + h.Groups) * m
	o := Options{Iterations: iterations, Threads: h.Threads, Penalties: make([]float64, d),
		Units: make([]float64, d), Start: start, Tolerance: near / float64(n)}
	l0, l1 := s.precisions()
	for j := range d {
		penalty, rows := l0[j%m], 1.
		if j >= m {
			penalty, rows = l1[j%m], float64(h.Groups)
		}
		o.Penalties[j], o.Units[j] = penalty, 1/math.Sqrt(mean*(1-mean)*square[j%m]/rows+penalty)
	}
	if start == nil {
		o.Start = make([]float64, d)
		o.Start[h.X.Width-1] = math.Log(mean / (1 - mean))
	}
	return Logistic(ctx, &nested{Hierarchy: h}, y, o)
}

// nested is the design of a hierarchy, x_iᵀ(θ_0 + θ_{g_i}). Rows of a group that lie together are taken together.
type nested struct {
	*Hierarchy
	buffers sync.Pool
}

func (h *nested) Len() int { return h.X.Len() }
func (h *nested) Dim() int { return (1 + h.Groups) * h.Hierarchy.Dim() }

// Pass implements [Design].
func (h *nested) Pass(grad, theta, scores []float64, k, from, to int, loss func()) {
	m, width := h.Hierarchy.Dim(), h.X.Width
	buffer, _ := h.buffers.Get().(*[]float64)
	if buffer == nil {
		b := make([]float64, m)
		buffer = &b
	}
	defer h.buffers.Put(buffer)
	dense, codes := blas64.Vector{N: width, Inc: 1, Data: (*buffer)[:width]}, (*buffer)[width:]
	each := func(work func(group, first int, x blas64.General, z []float64)) {
		for i := from; i < to; {
			end := i + 1
			for end < to && h.Group[end] == h.Group[i] {
				end++
			}
			x := blas64.General{Rows: end - i, Cols: width, Stride: width, Data: h.X.Data[i*width : end*width]}
			work((1+int(h.Group[i]))*m, i, x, scores[i-from:end-from])
			i = end
		}
	}
	each(func(group, first int, x blas64.General, z []float64) {
		floats.AddTo(*buffer, theta[:m], theta[group:group+m])
		blas64.Gemv(blas.NoTrans, 1, x, dense, 0, blas64.Vector{N: len(z), Inc: 1, Data: z})
		h.Codes.times(z, codes, first)
	})
	loss()
	each(func(group, first int, x blas64.General, z []float64) {
		clear(*buffer)
		simd.AddRowsTimes(dense.Data, x.Data, z)
		h.Codes.transposed(codes, z, first)
		floats.Add(grad[:m], *buffer)
		floats.Add(grad[group:group+m], *buffer)
	})
}

// variances are the posterior variances of shared coefficients, and those of the groups, summed by column; where
// columns or rows are many without the curvature between strata. Of a stratum, or of all columns, with
// H_g = Σ_i p_i(1 − p_i) x_i x_iᵀ over a group's rows and A_g = H_g + Λ_1:
//
//	Σ_00 = (Λ_0 + Σ_g (Λ_1 − Λ_1 A_g⁻¹ Λ_1))⁻¹,   Σ_gg = A_g⁻¹ + G Σ_00 Gᵀ,   G = I − A_g⁻¹ Λ_1
func (h *Hierarchy) variances(theta []float64, s Scales) (shared, own []float64, err error) {
	l0, l1 := s.precisions()
	weight, rows := h.curved(theta)
	m, most := float64(h.X.Width), mostTogether
	if h.Whole {
		most = mostWhole
	}
	told, products := h.told(rows), m*m*m
	for g, of := range rows {
		k := 0.
		for _, is := range told[g] {
			if is {
				k++
			}
		}
		products += k * k * (float64(len(of)) + k)
	}
	whole := products <= most
	shared, own = make([]float64, h.Dim()), make([]float64, h.Dim())
	h.codes(shared[h.X.Width:], own[h.X.Width:], weight, l0[h.X.Width:], l1[h.X.Width:])
	strata := map[int][]int{}
	for j, of := range h.Stratum[:h.X.Width] {
		if whole {
			of = 0
		}
		strata[of] = append(strata[of], j)
	}
	defer func() { // the curvature is that of the log-likelihood times φ
		floats.Scale(s.Dispersion, shared)
		floats.Scale(s.Dispersion, own)
	}()
	var apart []int
	for _, columns := range strata {
		if len(columns) == 1 || !whole && len(columns) > mostBlock {
			apart = append(apart, columns...)
		} else if err := h.block(shared, own, columns, weight, rows, told, l0, l1); err != nil {
			return nil, nil, err
		}
	}
	h.diagonal(shared, own, apart, weight, rows, l0, l1)
	return shared, own, nil
}

// told says of group g and column j whether any row of the group tells of the column: told[g][j] is false where it is 0
// in all of them.
func (h *Hierarchy) told(rows [][]int) [][]bool {
	told := make([][]bool, h.Groups)
	for a, of := range rows {
		told[a] = make([]bool, h.X.Width)
		for _, i := range of {
			for j, v := range h.X.row(i) {
				told[a][j] = told[a][j] || v != 0
			}
		}
	}
	return told
}

// block sets the variances of the columns of a stratum. In a group that does not tell of a column A_g is Λ_1 there.
func (h *Hierarchy) block(shared, own []float64, columns []int, weight []float64, rows [][]int, told [][]bool,
	l0, l1 []float64) error {
	m := len(columns)
	inverses, places := make([]*mat.SymDense, h.Groups), make([][]int, h.Groups) // of the columns that are told of
	total := mat.NewSymDense(m, nil)
	for j, c := range columns {
		total.SetSym(j, j, l0[c])
	}
	for a, of := range rows {
		var mine []int
		for j, c := range columns {
			if told[a][c] {
				places[a], mine = append(places[a], j), append(mine, c)
			} else {
				own[c] += 1 / l1[c]
			}
		}
		if len(mine) == 0 {
			continue
		}
		var err error
		if inverses[a], err = h.covariance(of, mine, weight, func(c int) float64 { return l1[c] }); err != nil {
			return err
		}
		for x, j := range places[a] {
			for y := x; y < len(mine); y++ {
				v := -l1[mine[x]] * inverses[a].At(x, y) * l1[mine[y]]
				if x == y {
					v += l1[mine[x]]
				}
				total.SetSym(j, places[a][y], total.At(j, places[a][y])+v)
			}
		}
	}
	sigma, err := inverse(total)
	if err != nil {
		return err
	}
	g, gs, full := make([]float64, m), make([]float64, m), make([]float64, m*m)
	for a, at := range places {
		k := len(at)
		for x, j := range at {
			for y, l := range at {
				full[x*k+y] = sigma.At(j, l)
			}
		}
		for x, j := range at {
			for y, l := range at {
				g[y] = -l1[columns[l]] * inverses[a].At(x, y)
			}
			g[x]++
			clear(gs[:k])
			simd.AddRowsTimes(gs[:k], full[:k*k], g[:k])
			own[columns[j]] += inverses[a].At(x, x) + floats.Dot(g[:k], gs[:k])
		}
	}
	for j, c := range columns {
		shared[c] = sigma.At(j, j)
	}
	return nil
}

// covariance is (Σ_i w_i x_i x_iᵀ + Λ)⁻¹ over some rows and columns.
func (h *Hierarchy) covariance(rows, columns []int, weight []float64,
	precision func(column int) float64) (*mat.SymDense, error) {
	m := len(columns)
	wide := (m + 3) &^ 3 // which kernels take whole
	x, by := make([]float64, passRows*wide), make([]float64, passRows)
	curved := make([]float64, m*wide)
	for some := range slices.Chunk(rows, passRows) { // which the second cache has
		for k, i := range some {
			from, to := h.X.row(i), x[k*wide:]
			for j, c := range columns {
				to[j] = from[c]
			}
			by[k] = weight[i]
		}
		addSquares(curved, x[:len(some)*wide], by[:len(some)])
	}
	for j, c := range columns {
		curved[j*wide+j] += precision(c)
	}
	sym := &mat.SymDense{}
	sym.SetRawSymmetric(blas64.Symmetric{Uplo: blas.Upper, N: m, Stride: wide, Data: curved})
	return inverse(sym)
}

// addSquares adds the first rows of Σ_k w_k x_k x_kᵀ to sums [..×wide], of x [len(w)×wide].
func addSquares(sums, x, w []float64) {
	wide, column := len(x)/len(w), make([]float64, len(w))
	for j := range len(sums) / wide {
		for k, v := range w {
			column[k] = v * x[k*wide+j]
		}
		simd.AddRowsTimes(sums[j*wide:(j+1)*wide], x, column)
	}
}

// diagonal sets the variances of columns as if each were alone.
func (h *Hierarchy) diagonal(shared, own []float64, columns []int, weight []float64, rows [][]int, l0, l1 []float64) {
	m := len(columns)
	curved := make([]float64, h.Groups*m)
	for a, of := range rows {
		sums := curved[a*m : (a+1)*m]
		for _, i := range of {
			row, w := h.X.row(i), weight[i]
			for at, j := range columns {
				sums[at] += w * row[j] * row[j]
			}
		}
	}
	by := make([]float64, h.Groups)
	for at, j := range columns {
		for a := range by {
			by[a] = curved[a*m+at]
		}
		shared[j], own[j] = alone(by, l0[j], l1[j])
	}
}

// codes sets the variances of the columns of codes, those of a stratum exactly.
func (h *Hierarchy) codes(shared, own, weight, l0, l1 []float64) {
	curved := make([]float64, h.Codes.Columns*h.Groups)
	for i, a := range h.Group {
		for _, c := range h.Codes.row(i) {
			if c >= 0 {
				curved[int(c)*h.Groups+int(a)] += weight[i]
			}
		}
	}
	for c := range shared {
		shared[c], own[c] = alone(curved[c*h.Groups:(c+1)*h.Groups], l0[c], l1[c])
	}
}

// alone are the variances of a column of which a group has the curvature, the groups' summed.
func alone(curved []float64, l0, l1 float64) (shared, own float64) {
	precision := l0
	for _, v := range curved {
		precision += l1 * v / (v + l1)
	}
	shared = 1 / precision
	for _, v := range curved {
		g := v / (v + l1)
		own += 1/(v+l1) + g*g*shared
	}
	return shared, own
}

// precisions are φΛ_0 and φΛ_1.
func (s Scales) precisions() (shared, own []float64) {
	for j := range s.Shared {
		shared = append(shared, s.Dispersion/(s.Shared[j]*s.Shared[j]))
		own = append(own, s.Dispersion/(s.Own[j]*s.Own[j]))
	}
	return shared, own
}

// dispersion is that of rewards about the means of their groups.
func (h *Hierarchy) dispersion(y []float64) float64 {
	sum, count := make([]float64, h.Groups), make([]float64, h.Groups)
	for i, g := range h.Group {
		sum[g], count[g] = sum[g]+y[i], count[g]+1
	}
	return Dispersion(y, func(i int) float64 { return sum[h.Group[i]] / count[h.Group[i]] })
}

// Dispersion is φ of rewards y in [0, 1] whose variance about the means m_i is φ m_i(1 − m_i),
//
//	φ = Σ(y_i − m_i)² / Σm_i(1 − m_i)
//
// It is 1 of rewards that are 0 or 1, and from .01 to 1 of others.
func Dispersion(y []float64, mean func(i int) float64) float64 {
	if !slices.ContainsFunc(y, func(v float64) bool { return v != 0 && v != 1 }) {
		return 1
	}
	var squares, weight float64
	for i, v := range y {
		m := mean(i)
		squares, weight = squares+(v-m)*(v-m), weight+m*(1-m)
	}
	return min(max(squares/weight, leastDispersion), 1)
}

// curved are p_i(1 − p_i) of rows, and the rows of each group.
func (h *Hierarchy) curved(theta []float64) (weight []float64, rows [][]int) {
	weight, rows = make([]float64, len(h.Group)), make([][]int, h.Groups)
	for i, a := range h.Group {
		p := 1 / (1 + math.Exp(-h.score(theta, i)))
		weight[i], rows[a] = p*(1-p), append(rows[a], i)
	}
	return weight, rows
}

// score is x_iᵀ(θ_0 + θ_{g_i}).
func (h *Hierarchy) score(theta []float64, i int) (z float64) {
	own := theta[(int(h.Group[i])+1)*h.Dim():]
	for j, v := range h.X.row(i) {
		z += v * (theta[j] + own[j])
	}
	for _, c := range h.Codes.row(i) {
		if c >= 0 {
			z += theta[h.X.Width+int(c)] + own[h.X.Width+int(c)]
		}
	}
	return z
}

// inverse is that of a positive definite matrix.
func inverse(a *mat.SymDense) (*mat.SymDense, error) {
	var c mat.Cholesky
	var of mat.SymDense
	if !c.Factorize(a) {
		return nil, errors.New("regress: a curvature is not positive definite; are features finite, and is none " +
			"far beyond the others?")
	}
	if err := c.InverseTo(&of); err != nil {
		if _, ok := err.(mat.Condition); !ok {
			return nil, err
		}
	}
	return &of, nil
}
