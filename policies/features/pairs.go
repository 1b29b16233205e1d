package features

import (
	"maps"
	"math"
	"math/bits"
	"slices"
)

// Pairs are scores of two vectors, h([x, z])ᵀθ with layers h, θ [m], which are computed of many z for an x.
// What layers make of either alone is computed once. Of clip, pieces, products, waves and trees, as of sums of
// them,
//
//	h([x, z])ᵀθ = c(x) + c(z) + Σ_r g_r(x) h_r(z) + Σ_t leaf_t,
//
// where of a tree x and z leave some leaves each, of which the first that both leave is reached (Lucchese et
// al. (2015), "QuickScorer"). So the score of a pair is equal, but for rounding, to what a pass through the
// layers gives. It is the same number in every use of Pairs.
type Pairs struct {
	d, n  int     // features of x and of z
	atoms [2]*Net // of x and of z
	sums  []sum   // of what the first layers give
	tail  *Net    // of what is left of the layers
	theta []float64
	whole *Net // layers that cannot be parted
	width int  // numbers of a Half
	trees int  // and its masks
}

// Half is what is known of x, or of z, alone.
type Half struct {
	V []float64
	M []uint64
}

// Halves are what is known of several x, or z.
type Halves struct {
	numbers, masks int
	v              []float64
	m              []uint64
}

// Halves has room for n of them.
func (p *Pairs) Halves(n int) Halves {
	return Halves{p.width, p.trees, make([]float64, n*p.width), make([]uint64, n*p.trees)}
}

// heldHalves is how many bytes of what is known of many z are held.
const heldHalves = 256 << 20

// Known is what is known of n vectors z, which row writes; empty: there is no room for it.
func (p *Pairs) Known(n int, row func(i int, z []float64)) Halves {
	if n > heldHalves/max(1, 8*(p.width+p.trees)) {
		return Halves{}
	}
	h, z, scratch := p.Halves(n), make([]float64, p.n), make([]float64, p.Scratch())
	for i := range n {
		row(i, z)
		p.Z(h.At(i), z, scratch)
	}
	return h
}

// Len is how many there are.
func (h *Halves) Len() int { return max(len(h.v)/max(1, h.numbers), len(h.m)/max(1, h.masks)) }

// At is the i-th of them.
func (h *Halves) At(i int) Half {
	return Half{h.v[i*h.numbers:][:h.numbers], h.m[i*h.masks:][:h.masks]}
}

// atom is a number that depends on x alone, or on z alone.
type atom struct {
	at int
	of float64 // times this
}

// form is c + Σ x atoms + Σ z atoms + Σ products of one of each + trees.
type form struct {
	constant float64
	of       [2][]atom // of x, of z
	products []product
	trees    []weighed
}

type product struct {
	x, z int
	of   float64
}

// weighed is a tree of atoms, times a number.
type weighed struct {
	tree   []node
	forest *Forest
	first  int // the atom that is the forest's first feature
	of     float64
}

// sum is a form that is ready to compute.
type sum struct {
	constant float64
	half     [2][]sparse // the first is c(x) or c(z), the others g_r(x) or h_r(z)
	leaves   [][]float64
	splits   [2][]split
	value    int // its first number in a Half
	mask     int // its first mask
}

type sparse []atom

// split is a node of tree t: where x does not go left, the leaves on its left are out of reach.
type split struct {
	node
	set  []int32
	tree int
	left uint64
}

// parted is what is made of x and z so far: layers that give atoms, of which those for x need not compute the
// atoms of z and the other way round, by the side that each atom is of, and the forms that the layers of the
// net would give.
type parted struct {
	layers [2][]Layer
	side   []int
	forms  []form
}

const (
	mostLeaves = 64      // of a tree, in a mask
	mostTerms  = 1 << 22 // of forms: sums of sums have as many times more
)

// NewPairs makes scores of x [d] and z [n] of layers, which must have passed Check of d + n features.
func NewPairs(layers []Layer, theta []float64, d, n int) *Pairs {
	p := &Pairs{d: d, n: n, theta: theta}
	start := &parted{side: make([]int, d+n)}
	for j := range start.side {
		if j >= d {
			start.side[j] = 1
		}
		start.forms = append(start.forms, start.atom(j))
	}
	all, rest := start.through(layers)
	if slices.ContainsFunc(all.forms, func(f form) bool { return len(f.trees) > 0 && !f.small() }) ||
		len(rest) > 0 && len(rest) == len(layers) {
		p.whole, p.width = NewNet(layers), max(d, n)
		return p
	}
	for side := range p.atoms {
		p.atoms[side] = NewNet(all.layers[side])
	}
	if len(rest) > 0 {
		p.tail = NewNet(rest)
	} else {
		all.forms = []form{combined(all.forms, theta)}
	}
	for i := range all.forms {
		s := all.forms[i].ready(all.side)
		s.value, s.mask = p.width, p.trees
		p.width, p.trees = p.width+len(s.half[0]), p.trees+len(s.leaves)
		p.sums = append(p.sums, s)
	}
	return p
}

// Scratch returns how many numbers the methods need beside their results.
func (p *Pairs) Scratch() int {
	if p.whole != nil {
		return p.d + p.n + len(p.theta) + p.whole.Scratch()
	}
	n := p.d + p.n + p.atoms[0].Out(p.d+p.n) + max(p.atoms[0].Scratch(), p.atoms[1].Scratch())
	if p.tail != nil {
		n = max(n, len(p.sums)+len(p.theta)+p.tail.Scratch())
	}
	return n
}

// X writes what is known of x to h.
func (p *Pairs) X(h Half, x, scratch []float64) { p.half(h, x, 0, scratch) }

// Z writes what is known of z to h.
func (p *Pairs) Z(h Half, z, scratch []float64) { p.half(h, z, 1, scratch) }

func (p *Pairs) half(h Half, x []float64, side int, scratch []float64) {
	if p.whole != nil {
		copy(h.V, x)
		return
	}
	in := scratch[:p.d+p.n]
	clear(in)
	copy(in[side*p.d:], x)
	atoms := scratch[len(in):][:p.atoms[side].Out(len(in))]
	p.atoms[side].Apply(atoms, in, scratch[len(in)+len(atoms):])
	for i := range p.sums {
		s := &p.sums[i]
		for r, of := range s.half[side] {
			h.V[s.value+r] = of.times(atoms)
		}
		if side == 0 {
			h.V[s.value] += s.constant
		}
		masks := h.M[s.mask:][:len(s.leaves)]
		for t := range masks {
			masks[t] = math.MaxUint64
		}
		for k := range s.splits[side] {
			if n := &s.splits[side][k]; !n.goesLeft(atoms) {
				masks[n.tree] &^= n.left
			}
		}
	}
}

func (s sparse) times(x []float64) (sum float64) {
	for _, of := range s {
		sum += float64(of.of * x[of.at])
	}
	return sum
}

func (s *split) goesLeft(x []float64) bool {
	if s.set == nil {
		return x[s.feature] <= s.value
	}
	for _, j := range s.set {
		if x[int(s.feature)+int(j)] != 0 {
			return true
		}
	}
	return false
}

// Score is the score of a pair.
func (p *Pairs) Score(x, z Half, scratch []float64) float64 {
	if p.whole != nil {
		in, h := scratch[:p.d+p.n], scratch[p.d+p.n:][:len(p.theta)]
		copy(in, x.V[:p.d])
		copy(in[p.d:], z.V[:p.n])
		p.whole.Apply(h, in, scratch[len(in)+len(h):])
		return Dot(h, p.theta)
	}
	if p.tail == nil {
		return p.sums[0].of(x, z)
	}
	in, h := scratch[:len(p.sums)], scratch[len(p.sums):][:len(p.theta)]
	for i := range p.sums {
		in[i] = p.sums[i].of(x, z)
	}
	p.tail.Apply(h, in, scratch[len(in)+len(h):])
	return Dot(h, p.theta)
}

// Four writes the scores of x with each of four z to v, as Score computes them, and sooner.
func (p *Pairs) Four(v *[4]float64, x Half, z *[4]Half, scratch []float64) {
	if p.whole == nil && p.tail == nil {
		p.sums[0].four(v, x, z)
		return
	}
	for i := range z {
		v[i] = p.Score(x, z[i], scratch)
	}
}

func (s *sum) of(x, z Half) float64 {
	g, h := x.V[s.value:][:len(s.half[0])], z.V[s.value:][:len(s.half[0])]
	v := g[0] + h[0]
	for r, g := range g[1:] {
		v += float64(g * h[1+r])
	}
	m, n := x.M[s.mask:][:len(s.leaves)], z.M[s.mask:][:len(s.leaves)]
	for t, leaves := range s.leaves {
		v += leaves[reached(m[t]&n[t])]
	}
	return v
}

// reached is the first of some leaves.
func reached(leaves uint64) int { return bits.TrailingZeros64(leaves) & (mostLeaves - 1) }

func (s *sum) four(to *[4]float64, x Half, z *[4]Half) {
	n, k := len(s.half[0]), len(s.leaves)
	g, m := x.V[s.value:][:n], x.M[s.mask:][:k]
	p, q, r, w := z[0].V[s.value:][:n], z[1].V[s.value:][:n], z[2].V[s.value:][:n], z[3].V[s.value:][:n]
	a, b, c, d := g[0]+p[0], g[0]+q[0], g[0]+r[0], g[0]+w[0]
	for i := 1; i < len(g); i++ {
		a += float64(g[i] * p[i])
		b += float64(g[i] * q[i])
		c += float64(g[i] * r[i])
		d += float64(g[i] * w[i])
	}
	e, f, u, v := z[0].M[s.mask:][:k], z[1].M[s.mask:][:k], z[2].M[s.mask:][:k], z[3].M[s.mask:][:k]
	for t, leaves := range s.leaves {
		a += leaves[reached(m[t]&e[t])]
		b += leaves[reached(m[t]&f[t])]
		c += leaves[reached(m[t]&u[t])]
		d += leaves[reached(m[t]&v[t])]
	}
	to[0], to[1], to[2], to[3] = a, b, c, d
}

func (p *parted) atom(at int) form {
	var f form
	f.of[p.side[at]] = []atom{{at, 1}}
	return f
}

// single are the atoms that the forms are; nil: some are sums.
func (p *parted) single() []int {
	at := make([]int, len(p.forms))
	for i := range p.forms {
		f := &p.forms[i]
		one := append(slices.Clone(f.of[0]), f.of[1]...)
		if f.constant != 0 || len(one) != 1 || one[0].of != 1 || len(f.products) > 0 || len(f.trees) > 0 {
			return nil
		}
		at[i] = one[0].at
	}
	return at
}

// through takes the layers as far as they can be parted, and returns those behind.
func (p *parted) through(layers []Layer) (*parted, []Layer) {
	for i := range layers {
		next := p.by(&layers[i])
		if next == nil {
			return p, layers[i:]
		}
		p = next
	}
	return p, nil
}

// by is what a layer makes of the forms; nil: it cannot be parted.
func (p *parted) by(l *Layer) *parted {
	at := p.single()
	switch {
	case l.Branches != nil && at != nil:
		return p.branches(l.Branches, at)
	case l.IsSpecial() && at == nil, l.Image != nil, l.Activation != Linear && l.Activation != Cos:
		return nil
	case l.Clip != nil || l.Pieces != nil:
		return p.each(l, at)
	case l.Products != nil:
		return p.products(l.Products, at)
	case l.Trees != nil:
		return p.trees(l.Trees, at)
	case l.Activation == Cos:
		return p.waves(l)
	}
	return p.linear(l)
}

// then is p with a layer behind those that give atoms.
func (p *parted) then(l Layer, side []int) *parted { return p.thenEach([2]Layer{l, l}, side) }

// thenEach is then with a layer for x and one for z.
func (p *parted) thenEach(l [2]Layer, side []int) *parted {
	out := &parted{side: side}
	for s := range l {
		out.layers[s] = append(slices.Clip(p.layers[s]), l[s])
	}
	return out
}

// picked makes the forms the only atoms.
func (p *parted) picked(at []int) *parted {
	if len(at) == len(p.side) && slices.IsSortedFunc(at, func(i, j int) int { return i - j - 1 }) {
		return p
	}
	keep, side := make([]int32, len(at)), make([]int, len(at))
	for i, j := range at {
		keep[i], side[i] = int32(j), p.side[j]
	}
	return p.then(Layer{Pieces: &Pieces{In: len(p.side), Keep: keep}}, side)
}

// each is by clip or pieces, which make numbers of one feature each.
func (p *parted) each(l *Layer, at []int) *parted {
	p = p.picked(at)
	side := slices.Clone(p.side)
	if of := l.Pieces; of != nil {
		if of.Keep != nil {
			side = side[:0]
			for _, j := range of.Keep {
				side = append(side, p.side[j])
			}
		}
		for i, j := range of.Features {
			side = append(side, slices.Repeat([]int{p.side[j]}, len(of.Knots[i])-1)...)
		}
	}
	return p.then(*l, side).all()
}

// all makes each atom a form.
func (p *parted) all() *parted {
	p.forms = make([]form, len(p.side))
	for j := range p.forms {
		p.forms[j] = p.atom(j)
	}
	return p
}

func (p *parted) products(l *Products, at []int) *parted {
	p = p.picked(at)
	inner, side := &Products{In: len(p.side)}, slices.Clone(p.side)
	for _, pair := range l.Pairs {
		if p.side[pair[0]] == p.side[pair[1]] {
			inner.Pairs, side = append(inner.Pairs, pair), append(side, p.side[pair[0]])
		}
	}
	out, next := p.then(Layer{Products: inner}, side), len(p.side)
	for j := range p.side {
		out.forms = append(out.forms, out.atom(j))
	}
	for _, pair := range l.Pairs {
		i, j := int(pair[0]), int(pair[1])
		if p.side[i] == p.side[j] {
			out.forms, next = append(out.forms, out.atom(next)), next+1
			continue
		}
		if p.side[i] == 1 {
			i, j = j, i
		}
		out.forms = append(out.forms, form{products: []product{{i, j, 1}}})
	}
	return out
}

// trees of which an output has one side alone give atoms.
func (p *parted) trees(l *Forest, at []int) *parted {
	p = p.picked(at)
	n, side := len(p.side), slices.Clone(p.side)
	sides, first := make([][2]bool, len(l.Base)), 0
	forms := make([]form, len(l.Base))
	for t, size := range l.Sizes {
		o := l.Outputs[t]
		tree := make([]node, size)
		for i := range tree {
			f := l.Feature[first+i]
			tree[i] = node{l.Value[first+i], f, l.Right[first+i]}
			switch {
			case f >= 0:
				sides[o][p.side[f]] = true
			case f < leaf:
				set := l.Sets[-2-f]
				for _, j := range set {
					if sides[o][p.side[j]] = true; p.side[j] != p.side[set[0]] {
						return nil
					}
				}
			}
		}
		forms[o].trees = append(forms[o].trees, weighed{tree, l, 0, 1})
		first += int(size)
	}
	var only [2]*Forest // trees of one side
	for s := range only {
		only[s] = &Forest{In: n, Base: l.Base, Sets: l.Sets}
	}
	mixed, first := 0, 0
	for o := range forms {
		forms[o].constant = l.Base[o]
		s := 0
		if sides[o][1] {
			s = 1
		}
		side = append(side, s)
		if sides[o][0] && sides[o][1] {
			mixed++
			continue
		}
		forms[o] = form{}
		forms[o].of[s] = []atom{{n + o, 1}}
	}
	for t, size := range l.Sizes {
		o, end := l.Outputs[t], first+int(size)
		if len(forms[o].trees) == 0 {
			f := only[side[n+int(o)]]
			f.Outputs, f.Sizes = append(f.Outputs, o), append(f.Sizes, size)
			f.Feature, f.Value = append(f.Feature, l.Feature[first:end]...), append(f.Value, l.Value[first:end]...)
			f.Right = append(f.Right, l.Right[first:end]...)
		}
		first = end
	}
	if mixed == len(forms) {
		return &parted{p.layers, p.side, forms}
	}
	out := p.thenEach([2]Layer{beside(n, Layer{Trees: only[0]}), beside(n, Layer{Trees: only[1]})}, side)
	out.forms = forms
	return out
}

// beside gives n features and what a layer makes of them.
func beside(n int, l Layer) Layer {
	return Layer{Branches: &Branches{In: n, Chains: [][]Layer{{}, {l}}}}
}

// waves is by a layer of cosines of sums: cos(u + v) = cos u cos v − sin u sin v.
func (p *parted) waves(l *Layer) *parted {
	sums, m := p.weighted(l), len(l.Weights)
	var of [2]Layer
	for s := range of {
		of[s] = Layer{Activation: Cos, Weights: make([][]float64, 4*m), Bias: make([]float64, 4*m)}
	}
	zero := make([]float64, len(p.side))
	var side []int
	var forms []form
	if sums == nil {
		return nil
	}
	for k := range sums {
		f := &sums[k]
		if len(f.products) > 0 || len(f.trees) > 0 {
			return nil
		}
		for s := range 2 {
			row := make([]float64, len(p.side))
			for _, a := range f.of[s] {
				row[a.at] += a.of
			}
			at, bias := 4*k+2*s, 0.
			if s == 0 {
				bias = f.constant
			}
			of[s].Weights[at], of[s].Weights[at+1] = row, row
			of[s].Bias[at], of[s].Bias[at+1] = bias, bias-math.Pi/2 // cos(u − π/2) = sin u
			of[1-s].Weights[at], of[1-s].Weights[at+1] = zero, zero
			side = append(side, s, s)
		}
		forms = append(forms, form{products: []product{{4 * k, 4*k + 2, 1}, {4*k + 1, 4*k + 3, -1}}})
	}
	out := p.thenEach(of, side)
	out.forms = forms
	return out
}

// terms counts what a form is a sum of.
func (f *form) terms() int { return len(f.of[0]) + len(f.of[1]) + len(f.products) + len(f.trees) }

// weighted are the forms that a layer of weights gives; nil: they have too many terms.
func (p *parted) weighted(l *Layer) (forms []form) {
	all := 0
	for i := range p.forms {
		all += p.forms[i].terms()
	}
	if all > mostTerms/len(l.Weights) {
		return nil
	}
	for o, row := range l.Weights {
		f := combined(p.forms, row)
		if l.Bias != nil {
			f.constant += l.Bias[o]
		}
		forms = append(forms, f)
	}
	return forms
}

// linear is by a layer without an activation. What is of one side is an atom.
func (p *parted) linear(l *Layer) *parted {
	forms, n := p.weighted(l), len(p.side)
	if forms == nil {
		return nil
	}
	var rows Layer
	side := slices.Clone(p.side)
	for o := range forms {
		f := &forms[o]
		if len(f.of[0]) > 0 && len(f.of[1]) > 0 || len(f.products) > 0 || len(f.trees) > 0 {
			continue
		}
		row, s := make([]float64, n), 0
		if len(f.of[1]) > 0 {
			s = 1
		}
		for _, a := range f.of[s] {
			row[a.at] += a.of
		}
		rows.Weights, rows.Bias, side = append(rows.Weights, row), append(rows.Bias, f.constant), append(side, s)
		*f = form{}
		f.of[s] = []atom{{len(side) - 1, 1}}
	}
	out := &parted{layers: p.layers, side: p.side}
	if len(rows.Weights) > 0 {
		out = p.then(beside(n, rows), side)
	}
	out.forms = forms
	return out
}

// combined is Σ w_i forms_i.
func combined(forms []form, w []float64) (out form) {
	for i, v := range w {
		if v == 0 {
			continue
		}
		f := &forms[i]
		out.constant += v * f.constant
		for s := range 2 {
			for _, a := range f.of[s] {
				out.of[s] = append(out.of[s], atom{a.at, v * a.of})
			}
		}
		for _, a := range f.products {
			out.products = append(out.products, product{a.x, a.z, v * a.of})
		}
		for _, t := range f.trees {
			t.of *= v
			out.trees = append(out.trees, t)
		}
	}
	return out
}

// branches is by several chains of the same forms.
func (p *parted) branches(l *Branches, at []int) *parted {
	p = p.picked(at)
	n := len(p.side)
	of := [2]*Branches{{In: n}, {In: n}}
	out := p.thenEach([2]Layer{{Branches: of[0]}, {Branches: of[1]}}, nil)
	for _, chain := range l.Chains {
		start := (&parted{side: p.side}).all()
		next, rest := start.through(chain)
		if len(rest) > 0 {
			return nil
		}
		for _, f := range next.forms {
			out.forms = append(out.forms, f.shifted(len(out.side)))
		}
		for s := range of {
			of[s].Chains = append(of[s].Chains, next.layers[s])
		}
		out.side = append(out.side, next.side...)
	}
	return out
}

// shifted is the form of atoms that are so many places on.
func (f form) shifted(by int) form {
	out := form{constant: f.constant, products: slices.Clone(f.products), trees: slices.Clone(f.trees)}
	for s := range 2 {
		out.of[s] = slices.Clone(f.of[s])
		for i := range out.of[s] {
			out.of[s][i].at += by
		}
	}
	for i := range out.products {
		out.products[i].x, out.products[i].z = f.products[i].x+by, f.products[i].z+by
	}
	for i := range out.trees {
		out.trees[i].first += by
	}
	return out
}

// small reports that masks have room for the leaves of all trees.
func (f *form) small() bool {
	return !slices.ContainsFunc(f.trees, func(t weighed) bool { return len(t.tree) >= 2*mostLeaves })
}

// ready makes a form one that can be computed. Its products are of a g for each atom of the side that has fewer.
func (f *form) ready(side []int) sum {
	s := sum{constant: f.constant, half: [2][]sparse{{f.of[0]}, {f.of[1]}}, leaves: make([][]float64, len(f.trees))}
	of := [2]map[int]sparse{{}, {}} // products by the atom of x, and by that of z
	for _, p := range f.products {
		of[0][p.x] = append(of[0][p.x], atom{p.z, p.of})
		of[1][p.z] = append(of[1][p.z], atom{p.x, p.of})
	}
	few := 0
	if len(of[1]) < len(of[0]) {
		few = 1
	}
	for _, at := range slices.Sorted(maps.Keys(of[few])) {
		s.half[few] = append(s.half[few], sparse{{at, 1}})
		s.half[1-few] = append(s.half[1-few], of[few][at])
	}
	for t, w := range f.trees {
		before := make([]int, len(w.tree)+1) // leaves
		for i, n := range w.tree {
			if before[i+1] = before[i]; n.feature == leaf {
				before[i+1]++
				s.leaves[t] = append(s.leaves[t], w.of*n.value)
			}
		}
		for i, n := range w.tree {
			if n.feature == leaf {
				continue
			}
			first, end := before[i+1], before[i+int(n.right)]
			of := split{node: n, tree: t, left: 1<<end - 1<<first}
			at := n.feature
			if n.feature < leaf {
				of.set, of.feature = w.forest.Sets[-2-n.feature], 0
				at = of.set[0]
			}
			of.feature += int32(w.first)
			on := side[w.first+int(at)]
			s.splits[on] = append(s.splits[on], of)
		}
	}
	return s
}
