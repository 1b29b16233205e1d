package kernel

import (
	"maps"
	"math"
	"sync"
	"sync/atomic"

	"opl/graph/kernel/simd"
)

// A grid is what the quadrature with a given number of nodes needs: its points
// t_j = low + j·h relative to the largest score, and the functions of
// u = t_j + gap around them. The distance h is a whole number of cells of width
// h/rows ≤ 1/64, so for a given gap all u lie equally far from the centres of
// their cells, rows cells apart: row gap mod rows of the table holds the
// coefficients of each power of that distance side by side (see package simd).
//
// A grid is safe for concurrent use.
type grid[E float32 | float64] struct {
	h     float64
	t     []E     // points, blocks·lanes of them; those past the last node belong to the same rule
	cell  float64 // width of a cell
	far   float64 // gap from which r is 0 at all points
	at    []int32 // where the coefficients for a cell of gap 0, 1, … begin
	table []E
	plane int     // length of a row of one coefficient
	lanes int     // points of a block
	lift  float64 // factor of the products that hazards writes
	pool  sync.Pool

	hazards func(r, p, all, table []E, plane int, at []int32, delta, up []E)
	dots    func(dst, r, p []E)
	pulls   func(dst, r, p, all, t, gap, up []E)
}

// In float32 nodes above low32 are left out: Φ(−7) = 1e-12.
const high32 = 7

// newGrid32 makes the grid in float32. Cells hold log Φ to the fourth power;
// their relative error in r is below 2e-7 up to u = 6. Hazards below 2⁻¹⁰⁰ are 0.
func newGrid32(nodes int) *grid[float32] {
	g := &grid[float32]{lanes: simd.Lanes32, lift: simd.Lift32,
		hazards: simd.Hazards32, dots: simd.Dots32, pulls: simd.Pulls32}
	used := 0
	for h, low := step(nodes); used < nodes && low+float64(used)*h <= high32; {
		used++
	}
	g.fill(nodes, used, simd.Planes32, 12.5, func(c []float64, u float64) {
		if u > 11.7 {
			return
		}
		// r' = −r(u + r) gives the series of r, log Φ is its integral.
		r0 := InvMills(u)
		s := u + r0
		r1 := -r0 * s
		r2 := -(r1*s + r0*(1+r1)) / 2
		r3 := -(r2*s + r1*(1+r1) + r0*r2) / 3
		c[0], c[1], c[2], c[3], c[4] = LogNormCDF(u), r0, r1/2, r2/3, r3/4
	})
	return g
}

// newGrid64 makes the grid in float64. Cells hold Φ to the eighth power.
func newGrid64(nodes int) *grid[float64] {
	g := &grid[float64]{lanes: simd.Lanes64, lift: 1,
		hazards: simd.Hazards64, dots: simd.Dots64, pulls: simd.Pulls64}
	g.fill(nodes, nodes, simd.Planes64, 16, func(c []float64, u float64) {
		t := taylor(u)
		copy(c, t[:])
	})
	return g
}

// fill makes points and table: coefficients up to u = high, from there on those
// at infinity (Φ = 1, all else 0).
func (g *grid[E]) fill(nodes, used, planes int, high float64, coefficients func(c []float64, u float64)) {
	h, low := step(nodes)
	rows := int(math.Ceil(h * tableRate))
	g.h, g.cell, g.far = h, h/float64(rows), high-low
	blocks := (used + g.lanes - 1) / g.lanes
	g.t = make([]E, blocks*g.lanes)
	for j := range g.t {
		g.t[j] = E(low + float64(j)*h)
	}
	last := int(math.Ceil(g.far/g.cell)) + 1
	g.plane = last/rows + len(g.t) + 1
	g.at = make([]int32, last+1)
	for i := range g.at {
		g.at[i] = int32(i%rows*planes*g.plane + i/rows)
	}
	g.table = make([]E, rows*planes*g.plane)
	c := make([]float64, planes)
	for row := range rows {
		for i := range g.plane {
			u := low + float64(i*rows+row)*g.cell
			clear(c)
			if u <= high {
				coefficients(c, u)
			} else if planes == simd.Planes64 {
				c[0] = 1
			}
			for n, v := range c {
				g.table[(row*planes+n)*g.plane+i] = E(v)
			}
		}
	}
}

// grids keeps the grids made, by number of nodes: a hundred kilobytes each at
// the usual numbers. It is read without a lock and without allocating.
type grids[E float32 | float64] struct {
	build  func(nodes int) *grid[E]
	adding sync.Mutex
	made   atomic.Pointer[map[int]*grid[E]] // never changed, only replaced
}

var (
	grids32 = grids[float32]{build: newGrid32}
	grids64 = grids[float64]{build: newGrid64}
)

// of returns the grid with so many nodes.
func (s *grids[E]) of(nodes int) *grid[E] {
	find := func() (map[int]*grid[E], *grid[E]) {
		m := s.made.Load()
		if m == nil {
			return nil, nil
		}
		return *m, (*m)[nodes]
	}
	if _, g := find(); g != nil {
		return g
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	made, g := find()
	if g == nil {
		g = s.build(nodes)
		more := map[int]*grid[E]{nodes: g}
		maps.Copy(more, made)
		s.made.Store(&more)
	}
	return g
}

// row is scratch for one row of scores: the actions that are near enough to
// count, in their order.
type row[E float32 | float64] struct {
	who   []int // their columns
	at    []int32
	delta []E
	gap   []E
	up    []E // the gradient with respect to their propensities, times a power of 2
	sum   []E // the result, times unit⁻¹
	unit  float64
	r     []E // hazards, lanes to an action
	p     []E // products ∏_k Φ(u_kj)
	all   []E // Σ_k up_k r_kj
}

func (g *grid[E]) borrow(k int) *row[E] {
	s, _ := g.pool.Get().(*row[E])
	if s == nil || cap(s.at) < k {
		s = &row[E]{
			who: make([]int, k), at: make([]int32, k),
			delta: make([]E, k), gap: make([]E, k), up: make([]E, k), sum: make([]E, k),
			r: make([]E, k*g.lanes), p: make([]E, g.lanes), all: make([]E, g.lanes),
		}
	}
	return s
}

// lay prepares the row z with upstream gradient up, which may be nil. It says
// false if z holds NaN.
func lay[T Float, E float32 | float64](g *grid[E], s *row[E], z, up []T) bool {
	m := z[0]
	for _, v := range z {
		if v != v {
			return false
		}
		if v > m {
			m = v
		}
	}
	k := len(z)
	who, at, delta, gap, ups := s.who[:k], s.at[:k], s.delta[:k], s.gap[:k], s.up[:k]
	n, perCell, raise := 0, 1/g.cell, g.raise(widest(up))
	s.unit = 1 / (raise * g.lift)
	for a, v := range z {
		d := 0.0
		if v != m { // both may be −Inf
			d = float64(m) - float64(v)
		}
		u := E(0)
		if up != nil {
			u = E(clearBelow(float64(up[a])*raise, 0x1p-126))
		}
		if d >= g.far {
			if u-u == 0 {
				continue
			}
			d = g.far // its NaN or Inf belongs to the row
		}
		c := int(d*perCell + 0.5)
		who[n], at[n], delta[n], gap[n], ups[n] = a, g.at[c], E(d-float64(c)*g.cell), E(d), u
		n++
	}
	s.who, s.at, s.delta, s.gap, s.up, s.sum = who[:n], at[:n], delta[:n], gap[:n], ups[:n], s.sum[:n]
	clear(s.sum)
	return true
}

// raise is the power of 2 that brings gradients of at most so much near 2³² in float32, where
// products with hazards are hardly ever subnormal; 1 in float64. Where P is not 0 the hazards add
// to less than 2¹⁰, so that no sum in pulls reaches 2¹²⁶.
func (g *grid[E]) raise(most float64) float64 {
	if g.lift == 1 || most == 0 || math.IsInf(most, 0) || most != most {
		return 1
	}
	_, e := math.Frexp(most)
	return math.Ldexp(1, 32-e)
}

// widest returns the largest |x_i|, NaN if one is.
func widest[T Float](x []T) float64 {
	var most uint64 // bits without the sign are in the order of numbers, NaN last
	for _, v := range x {
		most = max(most, math.Float64bits(float64(v))&^(1<<63))
	}
	return math.Float64frombits(most)
}

// clearBelow returns 0 in place of what is nearer to it than least.
func clearBelow(x, least float64) float64 {
	if math.Abs(x) < least {
		return 0
	}
	return x
}

// write puts h·sum in its columns of dst, 0 in the others and in place of subnormal numbers.
func write[T Float, E float32 | float64](g *grid[E], s *row[E], dst []T) {
	clear(dst)
	least, h := leastNormal[T](), g.h*s.unit
	for i, a := range s.who {
		dst[a] = T(clearBelow(h*float64(s.sum[i]), least))
	}
}

// integrate is GaussianPropensities in the arithmetic of E.
func integrate[T Float, E float32 | float64](g *grid[E], dst, z []T, k int) {
	s := g.borrow(k)
	defer g.pool.Put(s)
	for i := 0; i < len(z); i += k {
		from, to := z[i:i+k], dst[i:i+k]
		if allEqual(from) {
			fill(to, T(1/float64(k)))
			continue
		}
		if !lay(g, s, from, nil) {
			fill(to, T(math.NaN()))
			continue
		}
		// P grows with t: once it is 0, so is it at all points left.
		for j := len(g.t) - g.lanes; j >= 0; j -= g.lanes {
			g.hazards(s.r, s.p, s.all, g.table[j:], g.plane, s.at, s.delta, s.up)
			g.dots(s.sum, s.r, s.p)
			if s.p[0] == 0 {
				break
			}
		}
		write(g, s, to)
	}
}

// integrateGrad is GaussianPropensitiesGrad in the arithmetic of E.
func integrateGrad[T Float, E float32 | float64](g *grid[E], dz, z, dpi []T, k int) {
	s := g.borrow(k)
	defer g.pool.Put(s)
	for i := 0; i < len(z); i += k {
		to := dz[i : i+k]
		if !lay(g, s, z[i:i+k], dpi[i:i+k]) {
			fill(to, T(math.NaN()))
			continue
		}
		for j := len(g.t) - g.lanes; j >= 0; j -= g.lanes {
			g.hazards(s.r, s.p, s.all, g.table[j:], g.plane, s.at, s.delta, s.up)
			g.pulls(s.sum, s.r, s.p, s.all, g.t[j:], s.gap, s.up)
			if s.p[0] == 0 {
				break
			}
		}
		write(g, s, to)
	}
}
