package inspect

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel"
	"opl/train/logs"
	"opl/train/regress"
)

const (
	optionNumbers = 4_000_000 // numbers that a regression over options is learned from
	placed        = 3         // features of an option's place: first, last, and place/(K−1) − 1/2
	itemMost      = 16        // features of actions
)

// options guess the choices of rows by what describes actions, beside what bets know of these themselves. Of sets they
// guess π₀ (if all propensities are known; else 1) times exp(b_a + s wᵀf(a)), normalized over what is offered: a
// conditional logistic regression, f the action's place in its set and its features. Of sets, and of catalogues of
// many actions, they guess by a tilt, too.
type options struct {
	*bets
	z         logs.Contexts // of what options are described by, where these have no names
	buffer    []float64     // for one
	items     []feature
	standards []scale
	columns   int           // of f
	taught    *[2][]float64 // w by each half
	// buffers of a row: b_a + log π₀ of its options, scores, and f
	base, scores, x []float64
	centered        func(i int) *around
}

// alone returns the options with buffers of their own, for another goroutine.
func (o *options) alone(b *bets) *options {
	c := *o
	c.bets, c.buffer = b, slices.Clone(o.buffer)
	c.centered = c.center()
	if !o.Sets() {
		return &c
	}
	most := o.MostOptions()
	c.base, c.scores, c.x = make([]float64, most), make([]float64, most), make([]float64, most*o.columns)
	return &c
}

// describe finds the features of actions that vary most, in at most 50,000 options.
func (b *bets) describe() *options {
	o := &options{bets: b, taught: new([2][]float64)}
	names := o.ItemNames()
	if o.z = o.Choices.Z; o.z != nil {
		names = places(o.z)
	}
	for f, name := range names {
		o.items = append(o.items, feature{name: name + " of the action", place: f})
	}
	if o.buffer = make([]float64, len(names)); len(names) == 0 && !o.Sets() {
		return o
	}
	o.items = o.spread(o.items, func(i int, use func(f int, v float64)) {
		for f, v := range o.described(i, i%o.Options(i)) {
			use(f, v)
		}
	})
	o.items = o.items[:min(len(o.items), itemMost)]
	for _, f := range o.items {
		o.standards = append(o.standards, scale{f.mean, 1 / f.sd})
	}
	o.columns = placed + len(o.items)
	return o
}

// described returns the features of option j of row i, rounded as policies read them. The next call overwrites
// them.
func (o *options) described(i, j int) []float64 {
	_, item := o.Option(i, j)
	if o.z != nil {
		o.z.Row64(item, o.buffer)
		return o.buffer
	}
	clear(o.buffer)
	ids, values := o.ItemValues(item)
	for at, id := range ids {
		o.buffer[id] = float64(float32(values[at]))
	}
	return o.buffer
}

// vectors writes f of the options of row i to dst [K×columns].
func (o *options) vectors(i int, dst []float64) {
	k, width := o.Options(i), o.columns
	for j := range k {
		row := dst[j*width : (j+1)*width]
		if row[0], row[1], row[2] = 0, 0, 0; k > 1 {
			row[2] = float64(j)/float64(k-1) - 0.5
		}
		if j == 0 {
			row[0] = 1
		}
		if j == k-1 {
			row[1] = 1
		}
		if len(o.items) > 0 {
			o.place(row[placed:], i, j)
		}
	}
}

// offsets writes b_a and, if it is known, log π₀ of the options of row i.
func (o *options) offsets(i int, shift, dst []float64) {
	pi := o.Pi0(i)
	for j := range dst {
		a, _ := o.Option(i, j)
		if dst[j] = shift[a]; pi != nil {
			dst[j] += math.Log(max(pi[j], 1e-300))
		}
	}
}

// lesson holds some rows, with f and the offsets of their options, one after the other.
type lesson struct {
	*options
	rows     []int
	x, given []float64 // f, and offsets
}

// lesson reads as many rows as there is buffer for.
func (o *options) lesson(of []int32, shift []float64) *lesson {
	t, width := &lesson{options: o}, o.columns
	step := 1 + max(0, len(of)-1)*o.MostOptions()*width/(4*optionNumbers)
	t.x = make([]float64, 0, min(optionNumbers, (len(of)/step+1)*o.MostOptions()*width))
	for at := 0; at < len(of); at += step {
		i, had := int(of[at]), len(t.x)
		k := o.Options(i)
		if had+k*width > cap(t.x) {
			break
		}
		t.x = t.x[:had+k*width]
		o.vectors(i, t.x[had:])
		t.rows, t.given = append(t.rows, i), append(t.given, make([]float64, k)...)
		o.offsets(i, shift, t.given[len(t.given)-k:])
	}
	return t
}

// regress minimizes −Σ_i ω_i log q(a_i|x_i) + ½ ridge ‖w‖² over w [columns], in a few iterations: any w makes
// a valid bet.
func (o *lesson) regress() []float64 {
	x := regress.Matrix{Width: o.columns, Stride: o.columns, Data: o.x}
	sizes, chosen, weight := make([]int, len(o.rows)), make([]int, len(o.rows)), make([]float64, len(o.rows))
	for r, i := range o.rows {
		sizes[r], chosen[r], weight[r] = o.Options(i), o.Chosen(i), o.omega(i)
	}
	w, err := regress.Conditional(context.Background(), x, sizes, chosen,
		regress.Options{Weight: weight, Offset: o.given, Penalties: []float64{ridge}, Iterations: iterate})
	if err != nil {
		return make([]float64, o.columns)
	}
	return w
}

// guess writes the guesses of row i by what w of the other half tells.
func (o *options) guess(i int, w, shift []float64, g *guessing) {
	k, a := o.Options(i), o.Chosen(i)
	base, scores := o.base[:k], o.scores[:k]
	o.offsets(i, shift, base)
	o.vectors(i, o.x)
	for at, s := range [...]float64{1, sharp} {
		for j := range scores {
			scores[j] = base[j] + s*floats.Dot(w, o.x[j*o.columns:][:len(w)])
		}
		kernel.Softmax(scores, scores, k)
		g.q[int(byOptions)+at] = scores[a]
	}
}

// variance estimates the variance of a column of f among the options of a row.
func (o *options) variance(c int) float64 {
	switch c {
	case 0, 1:
		return o.least
	case 2:
		return 1. / 12
	}
	return 1
}

// why names what tells most, by guesses of a kind, and where all propensities are known one place where actions and
// propensities differ most, in at most 50,000 rows.
func (o *options) why(best kind) string {
	far, text := 3., "bets on the actions win"
	type count struct{ taken, said, variance float64 }
	add := func(c *count, taken bool, p float64) {
		if taken {
			c.taken++
		}
		c.said, c.variance = c.said+p, c.variance+p*(1-p)
	}
	say := func(what string, c count) {
		if z := math.Abs(c.taken-c.said) / math.Sqrt(c.variance+1); z > far {
			far, text = z, fmt.Sprintf("%s was taken in %.4g rows, and its propensities say %.4g", what, c.taken,
				c.said)
		}
	}
	var first, last count
	by := make([]count, o.k)
	for i := 0; i < o.n && o.Propensities != nil; i += 1 + o.n/50_000 {
		pi, chosen := o.Pi0(i), o.Chosen(i)
		add(&first, chosen == 0, pi[0])
		add(&last, chosen == len(pi)-1, pi[len(pi)-1])
		for j, p := range pi {
			a, _ := o.Option(i, j)
			add(&by[a], j == chosen, p)
		}
	}
	if o.Sets() {
		say("the first of the actions offered", first)
		say("the last of the actions offered", last)
	}
	for a, c := range by {
		say("action "+o.Actions[a], c)
	}
	weight, names := make([]float64, o.columns), []string{"whether an action is the first",
		"whether it is the last", "its place"}
	for _, f := range o.items {
		names = append(names, f.name)
	}
	for _, w := range o.taught {
		for c, v := range w {
			weight[c] += v * v * o.variance(c)
		}
	}
	what := "; what tells most: " // beside the propensities, where all are known
	if o.LoggedOnly() {
		what = "; the actions follow most "
	}
	if best == byTilt {
		text += what + o.leans()
	} else if most := floats.Max(append(weight, 0)); most > 0 {
		text += what + names[slices.Index(weight, most)]
	}
	return text
}

// tilt is a guess of an action by its features z, less their means over what row i offers, in units of their standard
// deviations:
//
//	q(a|x) = (1 + φ(x)ᵀ M z_a/B) p₀(a|x)
//
// p₀ is π₀ if all propensities are known, else 1/K, and means are by p₀. φ is 1 and the features of the context
// and the time, M the mean of ω φ zᵀ p₀/π₀ over rows, where that is above chance, and B at least the largest
// |φᵀ M z|, so that q is a distribution. It takes no more than sums over what is offered, and of an even catalogue
// none.
type tilt struct {
	m     blas64.General // [φ×z]
	usual float64        // mean B of the rows that taught
}

// around holds what row i offers by column of z: the mean, and how far from it values are at most.
type around struct {
	mean, far, z []float64
	known        bool // of an even catalogue it is the same in all rows
}

// place writes the features of option j of row i, in units of their sd, to dst.
func (o *options) place(dst []float64, i, j int) {
	z := o.described(i, j)
	for f := range o.items {
		dst[f] = o.standards[f].standard(z[o.items[f].place])
	}
}

// center returns what is around the options of row i, and leaves the features of the logged one, less the means, in z.
func (o *options) center() func(i int) *around {
	width := len(o.items)
	c := &around{mean: make([]float64, width), far: make([]float64, width), z: make([]float64, width)}
	low, high := make([]float64, width), make([]float64, width)
	return func(i int) *around {
		if !c.known {
			c.known = !o.Sets() && o.Propensities == nil
			clear(c.mean)
			k, pi := o.Options(i), o.Pi0(i)
			for j := range k {
				p := 1 / float64(k)
				if pi != nil {
					p = pi[j]
				}
				o.place(c.z, i, j)
				if j == 0 {
					copy(low, c.z)
					copy(high, c.z)
				}
				for f, v := range c.z {
					c.mean[f], low[f], high[f] = c.mean[f]+v*p, min(low[f], v), max(high[f], v)
				}
			}
			for f, m := range c.mean {
				c.far[f] = max(high[f]-m, m-low[f])
			}
		}
		o.place(c.z, i, o.Chosen(i))
		floats.Sub(c.z, c.mean)
		return c
	}
}

// lean learns a tilt from rows of a half, whose vectors are x.
func (o *options) lean(rows []int, x regress.Matrix) tilt {
	width, center := len(o.items), o.center()
	t := tilt{m: matrix(x.Width, width)}
	square := make([]float64, len(t.m.Data))
	for r, i := range rows {
		c, w := center(i), o.omega(i)*min(largest, o.even(i)/o.Propensity[i])
		for g, v := range x.Data[r*x.Stride:][:x.Width] {
			for f, z := range c.z {
				d := w * v * z
				t.m.Data[g*width+f], square[g*width+f] = t.m.Data[g*width+f]+d, square[g*width+f]+d*d
			}
		}
	}
	for j, s := range square {
		if t.m.Data[j]*t.m.Data[j] < 6*s {
			t.m.Data[j] = 0
		}
	}
	for r, i := range rows {
		_, most := t.of(x.Data[r*x.Stride:][:x.Width], center(i))
		t.usual += most / float64(len(rows))
	}
	return t
}

// of returns φᵀ M z of the logged action, and the largest absolute value of all actions at most.
func (t *tilt) of(x []float64, c *around) (v, most float64) {
	for f, z := range c.z {
		along := 0.
		for g, u := range x {
			along += u * t.m.Data[g*t.m.Stride+f]
		}
		v, most = v+along*z, most+math.Abs(along)*c.far[f]
	}
	return v, most
}

// leaned is q of row i's action, whose vector is x, by t.
func (o *options) leaned(i int, t *tilt, x []float64) float64 {
	if t.usual == 0 {
		return o.even(i)
	}
	v, most := t.of(x, o.centered(i))
	return (1 + v/max(most, t.usual)) * o.even(i)
}

// leans names the feature of actions of the largest element of M, and the one of the context or the time beside it.
func (o *options) leans() (name string) {
	most := 0.
	for _, q := range o.guesses {
		for j, v := range q.tilt.m.Data {
			if v = math.Abs(v); v > most {
				f, g := j%q.tilt.m.Cols, j/q.tilt.m.Cols
				if most, name = v, o.items[f].name; g > 0 {
					name += " with " + o.features[(g-1)%len(o.features)].name
				}
			}
		}
	}
	return name
}

// even is p₀ of row i's action.
func (o *options) even(i int) float64 {
	if pi := o.Pi0(i); pi != nil {
		return pi[o.Chosen(i)]
	}
	return 1 / float64(o.Options(i))
}
