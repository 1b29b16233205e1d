package policyfile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"opl/graph/kernel/simd"
	"opl/policies/features"
)

// HasItems reports that actions have features, by which each decision may offer others.
func (p *Policy) HasItems() bool { return p.file.HasItems() }

// ItemInputs returns the names of the values by which the policy knows actions, as an encoder that
// leaves values as they are.
func (p *Policy) ItemInputs() *features.Encoder { return p.items }

// Catalogue returns the descriptions of the policy's actions, nil if it has none.
func (p *Policy) Catalogue() *Catalogue { return p.catalogue }

// Find returns the number of an action of the catalogue, or −1.
func (p *Policy) Find(action string) int {
	if a, ok := p.find[action]; ok {
		return int(a)
	}
	return -1
}

// WithCatalogue returns the policy with another catalogue. Its file and hash stay the same. What was
// guaranteed of the file's catalogue is not of another: softmax and argmax over other actions are
// other policies. Errors: a policy whose actions have no features, a catalogue that lacks what the
// policy reads.
func (p *Policy) WithCatalogue(c *Catalogue, actions []string) (*Policy, error) {
	if !p.HasItems() {
		return nil, errors.New("the policy's actions have no features: it cannot be given a catalogue")
	}
	if len(actions) < 2 {
		return nil, fmt.Errorf("a catalogue of %d actions, want at least 2", len(actions))
	}
	if err := c.fits(p.items); err != nil {
		return nil, err
	}
	w := *p
	w.catalogue, w.actions, w.parts, w.find = c, actions, slices.Clone(p.parts), make(map[string]int32, len(actions))
	for a, name := range actions {
		if name == "" {
			return nil, fmt.Errorf("the name of action %d of the catalogue is empty", a)
		}
		if _, twice := w.find[name]; twice {
			return nil, fmt.Errorf("two actions of the catalogue are named %q", name)
		}
		w.find[name] = int32(a)
	}
	for i := range w.parts {
		var err error
		if w.parts[i].z, err = c.encode(w.parts[i].Items, actions); err != nil {
			return nil, err
		}
		if q := &w.parts[i]; q.pairs != nil {
			q.known = q.pairs.Known(len(actions), q.row)
		}
	}
	return &w, nil
}

// fits reports names that a policy reads and no column has: of a category, its column, which must have names.
func (c *Catalogue) fits(e *features.Encoder) error {
	has, names := map[string]bool{}, map[string]bool{}
	for i := range c.Columns {
		has[c.Columns[i].Name] = true
		if col, _, ok := strings.Cut(c.Columns[i].Name, "="); ok {
			names[col] = true
		}
	}
	for _, name := range e.Names {
		col, _, category := strings.Cut(name, "=")
		switch {
		case has[name] || category && names[col]:
		case category && has[col] && !slices.Contains(e.Names, col):
			return fmt.Errorf("the catalogue has numbers in column %s, where the policy knows names: read them as names", col)
		case category && has[col]:
		case !category && names[col]:
			return fmt.Errorf("the catalogue has names in column %s, where the policy reads numbers", col)
		default:
			return fmt.Errorf("the catalogue has no column %s, which the policy reads", col)
		}
	}
	return nil
}

// encoded are the vectors z(a) of a catalogue's actions: what an encoder gives, by runs of
// features, and the place among the rows of actions' own, −1: none.
type encoded struct {
	runs []run
	own  []int32 // [K], places in z(a); nil: none
	have []int32 // actions that have one
}

// run is features from to to − 1 of all actions: as rows of numbers, or where most are 0 as those that are not.
type run struct {
	from, to int
	rows     []float32 // [K×(to−from)], by panels of [simd.AddProducts]; nil:
	first    []int     // row a is the numbers first[a] to first[a+1] − 1
	at       []int32   // and their features
	some     []float32
}

const (
	block    = 1024 // actions that are encoded at a time
	mostRuns = 16
)

// runsOf parts features, of which many[j] of so many actions have another value than 0.
func runsOf(many []int, actions, k int) (runs []run) {
	for j, n := range many {
		dense := 4*n >= actions
		if last := len(runs) - 1; last < 0 || dense != (runs[last].rows != nil) {
			runs = append(runs, run{from: j})
			if dense {
				runs[last+1].rows = []float32{}
			}
		}
		runs[len(runs)-1].to = j + 1
	}
	if len(runs) > mostRuns { // each takes a look at all actions
		runs = []run{{to: len(many)}}
	}
	for i := range runs {
		r := &runs[i]
		if r.rows != nil {
			r.rows = make([]float32, (k+simd.Abreast-1)/simd.Abreast*simd.Abreast*(r.to-r.from))
		} else {
			r.first = append(make([]int, 0, k+1), 0)
		}
	}
	return runs
}

// encode gives z(a) of all actions.
func (c *Catalogue) encode(it *features.Items, actions []string) (*encoded, error) {
	e, n := &encoded{}, it.Encoder.Dim()
	columns := make([]*Column, len(it.Encoder.Names)) // nil: no action has the category
	for i := range c.Columns {
		if j := it.Encoder.Feature(c.Columns[i].Name); j >= 0 {
			columns[j] = &c.Columns[i]
		}
	}
	if len(it.Own) > 0 {
		e.own = make([]int32, len(actions))
		for a, name := range actions {
			if e.own[a] = int32(it.Place(name)); e.own[a] >= 0 {
				e.have = append(e.have, int32(a))
			}
		}
	}
	p := it.Dim()
	raw, z, used := make([]float64, min(block, len(actions))*n), make([]float64, p), make([]int, len(columns))
	for lo := 0; lo < len(actions); lo += block {
		hi := min(lo+block, len(actions))
		clear(raw)
		for j, col := range columns {
			switch {
			case col == nil:
			case col.Ones != nil:
				for ; used[j] < len(*col.Ones) && int((*col.Ones)[used[j]]) < hi; used[j]++ {
					raw[(int((*col.Ones)[used[j]])-lo)*n+j] = 1
				}
			case col.Float32 != nil:
				for a, v := range col.Float32[lo:hi] {
					raw[a*n+j] = float64(v)
				}
			default:
				for a, v := range col.Float64[lo:hi] {
					raw[a*n+j] = v
				}
			}
		}
		for a := lo; a < hi; a++ {
			row := raw[(a-lo)*n:][:n]
			copy(z, row)
			if err := it.Finish(z, actions[a]); err != nil {
				return nil, fmt.Errorf("action %q of the catalogue: %w", actions[a], err)
			}
			copy(row, z)
		}
		if lo == 0 {
			many := make([]int, n)
			for i, v := range raw[:hi*n] {
				if v != 0 {
					many[i%n]++
				}
			}
			e.runs = runsOf(many, hi, len(actions))
		}
		for a := lo; a < hi; a++ {
			for i := range e.runs {
				e.runs[i].add(a, raw[(a-lo)*n:])
			}
		}
	}
	return e, nil
}

// add takes the run's features of an action.
func (r *run) add(a int, z []float64) {
	for j := r.from; j < r.to; j++ {
		switch {
		case r.rows != nil:
			r.rows[r.place(a)+simd.Abreast*(j-r.from)] = float32(z[j])
		case z[j] != 0:
			r.at, r.some = append(r.at, int32(j)), append(r.some, float32(z[j]))
		}
	}
	if r.rows == nil {
		r.first = append(r.first, len(r.at))
	}
}

// place is where the row of an action begins in panels.
func (r *run) place(a int) int {
	return a/simd.Abreast*simd.Abreast*(r.to-r.from) + a%simd.Abreast
}

// plus is s + Σ_j g_j z_j(a). Zeros add nothing, so that it does not depend on how z(a) is held.
func (r *run) plus(s float64, g []float64, a int) float64 {
	if r.rows != nil {
		row := r.rows[r.place(a):]
		for j, v := range g[r.from:r.to] {
			s += float64(v * float64(row[simd.Abreast*j]))
		}
		return s
	}
	at, some := r.at[r.first[a]:r.first[a+1]], r.some[r.first[a]:r.first[a+1]]
	for i, j := range at {
		s += float64(g[j] * float64(some[i]))
	}
	return s
}

// score is s_a of an action but for its row of its own.
func (e *encoded) score(g []float64, a int) (s float64) {
	for i := range e.runs {
		s = e.runs[i].plus(s, g, a)
	}
	return s
}

// scores writes s_a of all actions to dst, from g [p].
func (e *encoded) scores(dst, g []float64) {
	clear(dst)
	for i := range e.runs {
		r, a := &e.runs[i], 0
		if r.rows != nil {
			a = len(dst) / simd.Abreast * simd.Abreast
			simd.AddProducts(dst[:a], r.rows[:a*(r.to-r.from)], g[r.from:r.to])
		}
		for ; a < len(dst); a++ {
			dst[a] = r.plus(dst[a], g, a)
		}
	}
	for _, a := range e.have {
		dst[a] += g[e.own[a]]
	}
}

// dot32 is gᵀz, computed as features.Dot does.
func dot32(g []float64, z []float32) (s float64) {
	z = z[:len(g)]
	for j, v := range g {
		s += float64(v * float64(z[j]))
	}
	return s
}

// Offered is a set of actions that a decision may take, ready for a policy's scores. Make one by
// NewOffered; it is for one goroutine.
type Offered struct {
	p       *Policy
	names   []string
	seen    map[string]struct{}
	at      []int32     // of each, its number in the catalogue; −1: it is described
	z       [][]float32 // of each component, what its encoder gives [Len×n], of those that are described
	own     [][]int32   // and their places of rows of their own; −1: none
	raw     []float64   // of the names of ItemInputs
	scratch []float64
}

// NewOffered returns an empty set for a policy.
func (p *Policy) NewOffered() *Offered {
	o := &Offered{p: p, seen: map[string]struct{}{}, z: make([][]float32, len(p.parts)), own: make([][]int32,
		len(p.parts)), raw: make([]float64, p.items.Dim())}
	for i := range p.parts {
		if it := p.parts[i].Items; it != nil {
			o.scratch = slices.Grow(o.scratch, it.Dim())
		}
	}
	return o
}

// Len returns the number of actions.
func (o *Offered) Len() int { return len(o.at) }

// Name returns the i-th action.
func (o *Offered) Name(i int) string { return o.names[i] }

// Reset takes all actions out, and makes the set one for p.
func (o *Offered) Reset(p *Policy) {
	if p.file != o.p.file {
		*o = *p.NewOffered()
		return
	}
	clear(o.seen)
	o.p, o.names, o.at = p, o.names[:0], o.at[:0]
	for i := range o.z {
		o.z[i], o.own[i] = o.z[i][:0], o.own[i][:0]
	}
}

// Add adds an action, see [features.Offer]. One without a name has features. Errors: a policy
// whose actions have no features, an action that is there already; one without features that the
// catalogue lacks, or where there is none, unless the policy knows actions by their names alone;
// those of [features.Encoder.Encode].
func (o *Offered) Add(offer features.Offer) error {
	if offer.Features == nil {
		return o.add(offer.Action, nil)
	}
	if _, err := o.p.items.Encode(o.raw, offer.Features); err != nil {
		return fmt.Errorf("action %q: %w", offer.Action, err)
	}
	return o.add(offer.Action, o.raw)
}

// AddAt adds an action of the catalogue by its number.
func (o *Offered) AddAt(a int) error { return o.add(o.p.actions[a], nil) }

// AddRaw adds an action by the values of the names of ItemInputs, in their order, 0 where it lacks
// the name.
func (o *Offered) AddRaw(action string, raw []float64) error {
	if len(raw) != o.p.items.Dim() {
		return fmt.Errorf("action %q has %d values, want %d", action, len(raw), o.p.items.Dim())
	}
	return o.add(action, raw)
}

func (o *Offered) add(action string, raw []float64) error {
	p := o.p
	if !p.HasItems() {
		return errors.New("the policy's actions have no features: all of them are offered, always")
	}
	if _, twice := o.seen[action]; twice && action != "" {
		return fmt.Errorf("action %q is offered twice", action)
	}
	at := int32(-1)
	if raw == nil {
		switch at = int32(p.Find(action)); {
		case at >= 0:
		case action == "":
			return fmt.Errorf("action %d of those offered has neither name nor features", o.Len())
		case p.catalogue != nil:
			return fmt.Errorf("action %q is none of the catalogue's", action)
		case len(p.items.Names) > 0:
			return fmt.Errorf("action %q has no features, and the policy no catalogue that has them", action)
		}
	}
	for i := range p.parts {
		it := p.parts[i].Items
		n := it.Encoder.Dim()
		o.z[i], o.own[i] = slices.Grow(o.z[i], n)[:len(o.z[i])+n], append(o.own[i], -1)
		if at >= 0 {
			continue
		}
		z := o.scratch[:it.Dim()]
		for j, from := range p.parts[i].itemPlace {
			z[j] = raw[from]
		}
		if err := it.Finish(z, action); err != nil {
			o.z[i], o.own[i] = o.z[i][:len(o.z[i])-n], o.own[i][:len(o.own[i])-1]
			for i--; i >= 0; i-- { // of the components before
				n := p.parts[i].Items.Encoder.Dim()
				o.z[i], o.own[i] = o.z[i][:len(o.z[i])-n], o.own[i][:len(o.own[i])-1]
			}
			return fmt.Errorf("action %q: %w", action, err)
		}
		for j, v := range z[:n] {
			o.z[i][len(o.z[i])-n+j] = float32(v)
		}
		o.own[i][len(o.own[i])-1] = int32(it.Place(action))
	}
	o.seen[action] = struct{}{}
	o.names, o.at = append(o.names, action), append(o.at, at)
	return nil
}

// scores writes s_a of component c to dst, from the part g of the encoder's features; x is h(x).
func (o *Offered) scores(dst, g, x []float64, c int) {
	q, n := &o.p.parts[c], len(g)
	for i, at := range o.at {
		own := o.own[c][i]
		if at >= 0 {
			if dst[i] = q.z.score(g, int(at)); q.z.own == nil {
				continue
			}
			own = q.z.own[at]
		} else {
			dst[i] = dot32(g, o.z[c][i*n:][:n])
		}
		if own >= 0 {
			dst[i] += features.Dot(x, q.mu[int(own)*len(x):][:len(x)])
		}
	}
}

// joint writes s_a of component at, from x and z(a) together, to z.
func (q *part) joint(z, x []float64, at int, o *Offered, s *scratch) {
	n, pair := q.Items.Encoder.Dim(), &s.pairs[at]
	left, right := pair.At(0), pair.At(1)
	q.pairs.X(left, x, s.net)
	for i := range z {
		a, own := int32(i), int32(-1)
		if o != nil {
			a, own = o.at[i], o.own[at][i]
		}
		if a >= 0 && q.known.Len() > 0 {
			z[i] = q.pairs.Score(left, q.known.At(int(a)), s.net)
			continue
		}
		of := s.g[:q.Items.Dim()]
		if a >= 0 {
			q.row(int(a), of)
		} else {
			clear(of)
			for j, v := range o.z[at][i*n:][:n] {
				of[j] = float64(v)
			}
			if own >= 0 {
				of[own] = 1
			}
		}
		q.pairs.Z(right, of, s.net)
		z[i] = q.pairs.Score(left, right, s.net)
	}
}

// row writes z(a) of an action of the catalogue to dst.
func (q *part) row(a int, dst []float64) {
	clear(dst)
	q.z.row(dst, a)
	if q.z.own != nil && q.z.own[a] >= 0 {
		dst[q.z.own[a]] = 1
	}
}

// row writes what the encoder gives of an action to dst, which is 0.
func (e *encoded) row(dst []float64, a int) {
	for i := range e.runs {
		r := &e.runs[i]
		if r.rows != nil {
			row := r.rows[r.place(a):]
			for j := r.from; j < r.to; j++ {
				dst[j] = float64(row[simd.Abreast*(j-r.from)])
			}
			continue
		}
		for at := r.first[a]; at < r.first[a+1]; at++ {
			dst[r.at[at]] = float64(r.some[at])
		}
	}
}

// tooLarge says that the score z of the a-th action of those offered is not finite, as parameters are.
func (p *Policy) tooLarge(o *Offered, a int, z float64) error {
	return fmt.Errorf("policyfile: the score of action %q is %v: a number of the context is too large", p.name(o, a), z)
}

// name is the a-th action of those offered.
func (p *Policy) name(o *Offered, a int) string {
	if o != nil {
		return o.names[a]
	}
	return p.actions[a]
}

// PropensitiesOffered writes π(·|x) of the actions that are offered to dst [len(offered)]. Errors:
// those of Propensities and of [Offered.Add], and nothing that is offered.
func (p *Policy) PropensitiesOffered(dst []float64, x []features.Value, offered []features.Offer) error {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	if err := p.offer(offered, s); err != nil {
		return err
	}
	return p.propensities(dst, x, s.offered, s)
}

// ChooseOffered draws one of the actions that are offered, see Choose, and returns its place
// among them.
func (p *Policy) ChooseOffered(x []features.Value, offered []features.Offer, r *rand.Rand) (place int, pi float64,
	err error) {
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	if err := p.offer(offered, s); err != nil {
		return 0, 0, err
	}
	return p.choose(x, s.offered, r, s)
}

func (p *Policy) offer(offered []features.Offer, s *scratch) error {
	if s.offered == nil {
		s.offered = p.NewOffered()
	}
	s.offered.Reset(p)
	for _, o := range offered {
		if err := s.offered.Add(o); err != nil {
			return err
		}
	}
	return nil
}

// Top writes the places of the largest propensities to dst, len(dst) of them at most, in
// descending order, and returns them: equals by their scores, see PropensitiesOn, and then in
// their order.
func Top(dst []int, pi, scores []float64) []int {
	before := func(a, b int) bool {
		switch {
		case pi[a] != pi[b]:
			return pi[a] > pi[b]
		case scores[a] != scores[b]:
			return scores[a] > scores[b]
		}
		return a < b
	}
	dst = dst[:min(len(dst), len(pi))]
	n := 0
	for a := range pi {
		if n == len(dst) && (n == 0 || !before(a, dst[n-1])) {
			continue
		}
		i := min(n, len(dst)-1)
		for ; i > 0 && before(a, dst[i-1]); i-- {
			dst[i] = dst[i-1]
		}
		dst[i] = a
		n = min(n+1, len(dst))
	}
	return dst
}
