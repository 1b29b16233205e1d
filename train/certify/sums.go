package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
	"opl/policies/propensity"
)

// sums are what the bounds need of the rows.
type sums struct {
	log      Log
	cost     []float64
	logged   []float64 // π₀(a_i|x_i)
	floors   []float64 // of π₀, see [Log]; nil: it is known of all actions, or no floor is
	least    float64   // the floor that dr relies on, of any log; 0: it relies on none
	choosing bool      // see [Log]
	o        Options
	rows     []int    // that certify, those of a group next to each other
	first    []int    // of each cluster among rows, and the end; nil: each row is one
	pooled   struct { // of other logs, in the sums of the kinds
		rows, clusters, plain int
		cost                  float64
	}
	kinds   []kind
	missing []string
	draws   int     // a row; 0: π is exact
	plays   float64 // Σ π(a_i|x_i), of a fixed policy
	kl      float64 // KL(Q‖P) + log of the number of priors
}

// kind is a kind of X with its sums: of the risk and of the gain.
type kind struct {
	model      *RewardModel // nil: ls
	risk, gain grid
}

// grid is values of ℓ with the logarithms of their weights, and by ℓ the sums over clusters.
type grid struct {
	ell, logWeight []float64
	sum            []float64 // S
	square         []float64 // Σ of squared ranges of a draw, of sampled policies
}

func newGrid(ell, logWeight []float64) grid {
	return grid{ell, logWeight, make([]float64, len(ell)), make([]float64, len(ell))}
}

// empty is the grid without sums.
func (g grid) empty() grid { return newGrid(g.ell, g.logWeight) }

// add adds the sums of other clusters.
func (g grid) add(of grid) {
	floats.Add(g.sum, of.sum)
	floats.Add(g.square, of.square)
}

// newSums arranges the rows in clusters: groups, or rows that have none.
func newSums(log Log, rows []int, o Options) *sums {
	s := &sums{log: log, choosing: log.Choosing(), o: o, rows: rows}
	if !o.all(log) && log.Floor() > 0 {
		// Without its rows, an action's floor is not relied on: q = 0 there can only raise X, see costEstimate.
		s.least, s.floors = log.Floor(), slices.Repeat([]float64{math.SmallestNonzeroFloat64}, log.K())
		for _, r := range rows {
			s.floors[log.Chosen(r)] = s.least
		}
	}
	var group []int32
	s.cost, s.logged, group = log.Columns()
	if o.Clusters != nil {
		group = o.Clusters
	}
	if group != nil {
		// Groups in the order of their first row, so that nothing depends on their numbers.
		place := map[int32]int{}
		for i, r := range rows {
			if g := group[r]; g >= 0 {
				if _, seen := place[g]; !seen {
					place[g] = i
				}
			}
		}
		at := make([]int, len(rows))
		order := make([]int, len(rows))
		for i, r := range rows {
			order[i] = i
			if at[i] = i; group[r] >= 0 {
				at[i] = place[group[r]]
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return at[a] - at[b] })
		s.rows = make([]int, len(rows))
		for i, j := range order {
			s.rows[i] = rows[j]
			if i == 0 || at[j] != at[order[i-1]] {
				s.first = append(s.first, i)
			}
		}
		s.first = append(s.first, len(rows))
	}
	s.kinds = make([]kind, 1) // ls
	switch {
	case o.LoggedOnly(log) && !o.AnyTime:
		s.missing = append(s.missing, noPropensities)
	case len(o.Models) == 0:
		s.missing = append(s.missing, "dr: no model of the reward was given")
	default: // at any time the shares of the kinds stay, whatever rows come: see row
		for _, m := range o.Models {
			s.kinds = append(s.kinds, kind{model: m})
		}
	}
	for i := range s.kinds {
		p := &s.kinds[i]
		if o.AnyTime {
			p.risk, p.gain = newGrid(anyTime(1)), newGrid(anyTime(o.contrast().most()))
		} else {
			p.risk, p.gain = newGrid(oneLook(s.clusters(), 1)), newGrid(oneLook(s.clusters(), o.contrast().most()))
		}
	}
	return s
}

const noPropensities = "dr: the log has no propensities of all actions"

// add adds the sums of other rows, whose e-values do not depend on their number, either.
func (s *sums) add(other *sums) {
	s.pooled.rows += len(other.rows)
	s.pooled.clusters += other.clusters()
	s.pooled.plain += other.plain()
	s.pooled.cost += other.total()
	s.plays += other.plays
	s.least = max(s.least, other.least)
	for i := range s.kinds {
		s.kinds[i].risk.add(other.kinds[i].risk)
		s.kinds[i].gain.add(other.kinds[i].gain)
	}
}

// plain counts the rows whose X has no model in it, whatever the kind: their log lacks propensities.
func (s *sums) plain() int {
	if s.log != nil && s.o.LoggedOnly(s.log) {
		return len(s.rows) + s.pooled.plain
	}
	return s.pooled.plain
}

// total is Σ c over the rows that certify.
func (s *sums) total() float64 {
	sum := s.pooled.cost
	for _, r := range s.rows {
		sum += s.cost[r]
	}
	return sum
}

// without leaves out the kinds that need a model, for a reason.
func (s *sums) without(reason string) {
	if len(s.kinds) > 1 {
		s.kinds = s.kinds[:1]
		s.missing = append(s.missing, "dr: "+reason)
	}
}

// clusters is the number of groups, or of rows that have none.
func (s *sums) clusters() int {
	if s.first == nil {
		return len(s.rows)
	}
	return len(s.first) - 1
}

// start is the place among rows of the first one of a cluster; of the number of clusters, the end.
func (s *sums) start(cluster int) int {
	if s.first == nil {
		return cluster
	}
	return s.first[cluster]
}

// costEstimate is X for one ℓ of the action b of a row, less shift: the row's cost for the gain.
type costEstimate struct {
	pi0    []float64 // of all actions that the row offers, or floors of them; nil: only the logged one's is known
	all    bool      // pi0 is that of all
	p      float64   // π₀ of the logged action
	dense  bool      // it is of a density, and may be above 1
	action int       // its place among them
	cost   float64
	model  []float64 // r̂(x, ·); nil: ls
	phi    float64   // its dispersion
	pi     []float64 // π(·|x) of a fixed policy; nil: 1 for all, of a posterior's
	gamma  float64
	clip   float64 // the factor of ℓ where weights are clipped: Γ
	logged float64 // κ, see [Contrast]
}

// q is the model's cost of an action, shrunk to what ℓ can use.
func (e *costEstimate) q(b int, l float64) float64 {
	if e.model == nil {
		return 0
	}
	s := l * e.clip / e.pi0[b]
	if e.pi != nil {
		s *= e.pi[b]
	}
	return -shrink(e.model[b], s, e.phi)
}

// surest is the largest r̂ that a bound relies on: 1 − ℓX ≥ 1 − surest, so that no single row
// costs more than log 100.
const surest = 0.99

// shrink is r̂ where s, ℓ times the weight of the action, is at most 1/2. Beyond, a whole r̂
// would cost too much where it is wrong: it is the r̂' that makes E log(1 − ℓX) largest at a reward of
// 1 with probability r̂, else 0, were the rest of X 0: with Y = 1 − s r̂' where the action was played
// for nothing, r̂/(Y + s) + (1 − r̂)/Y = 1; but no less than r̂/(2s), at which Y ≥ 1/2. As s → ∞ it is
// r̂/s. Infinite s, and 0/0, give 0. With a dispersion φ < 1 the reward is taken for r̂ with probability
// 1 − φ, else for 0 or 1 as above:
//
//	φ(r̂/(Y + s) + (1 − r̂)/Y) + (1 − φ)/(Y + s r̂) = 1,   Y ≥ .01
func shrink(r, s, phi float64) float64 {
	r = min(r, surest)
	switch {
	case s <= 0.5:
		return r
	case !(s < 1e100):
		return 0
	}
	if phi == 1 {
		return max(r/(2*s), 2*r/(1+s+math.Sqrt((1+s)*(1+s)-4*r*s)))
	}
	y := max(1-surest, phi*(1-r)) // below the solution, or the least there may be: Newton's steps rise to it
	for range 20 {
		one, none, mean := 1/(y+s), 1/y, 1/(y+s*r)
		above := phi*(r*one+(1-r)*none) + (1-phi)*mean - 1
		if above < 1e-12 {
			break
		}
		y += above / (phi*(r*one*one+(1-r)*none*none) + (1-phi)*mean*mean)
	}
	return min(r, max(r/(2*s), (1-y)/s))
}

// correction is (c − q)/π₀ of the logged action, at the propensity where it is largest.
func (e *costEstimate) correction(l float64) float64 {
	d := e.cost - e.q(e.action, l)
	switch {
	case d >= 0:
		return d / e.p * e.gamma
	case e.dense:
		return d / (e.p * e.gamma)
	}
	return d / min(1, e.p*e.gamma)
}

// paired is X of the gain for a fixed policy and a model, by what the two policies do
// differently alone: with s_b = ℓ(π_b/π₀_b − κ), g_b the r̂_b shrunk for it and m = ℓ Σ_b (π_b −
// κπ₀_b) g_b,
//
//	1 − ℓX = 1 − s_a g_a + m − s_a c,   of m < 0 (1 − s_a g_a)/(1 − m) − s_a c
//
// Under π₀, s g has the mean m and s(−c) that of ℓ times the gain. It is above 0 for
// ℓ ≤ 1/2 and ℓκ ≤ 1/2, as 1 − s g is at least .01, at least 1 where s < 0, and 1 − m ≤ 3/2.
func (e *costEstimate) paired(l float64) float64 {
	var m, s, g float64
	for b, p0 := range e.pi0 {
		at := l * (e.pi[b]/p0 - e.logged)
		r := shrink(e.model[b], at, e.phi)
		if m += l * (e.pi[b] - e.logged*p0) * r; b == e.action {
			s, g = at, r
		}
	}
	y := 1 - s*g + m
	if m < 0 {
		y = (1 - s*g) / (1 - m)
	}
	return (1 - y + s*e.cost) / l
}

// worst is the larger one of an X, as a function of ℓ, at the costs 0 and −1.
func (e *costEstimate) worst(x func(l float64) float64, l float64) float64 {
	e.cost = 0
	none := x(l)
	e.cost = -1
	return max(none, x(l))
}

// part is how many clusters a thread sums at a time. Sums of parts are added in order, so
// that the result is the same for any number of threads.
const part = 1024

// over calls work for parts of the clusters first to last, on several threads, and adds what
// it adds.
func (s *sums) over(first, last int, work func(from, to int, into []kind) error) error {
	parts := (last - first + part - 1) / part
	all, errs := make([][]kind, parts), make([]error, parts)
	workers.Do(s.o.Threads, parts, func(_, at int) {
		into := make([]kind, len(s.kinds))
		for i, p := range s.kinds {
			into[i] = kind{p.model, p.risk.empty(), p.gain.empty()}
		}
		all[at], errs[at] = into, work(first+at*part, min(last, first+(at+1)*part), into)
	})
	for at, into := range all {
		if errs[at] != nil {
			return errs[at]
		}
		for i := range into {
			s.kinds[i].risk.add(into[i].risk)
			s.kinds[i].gain.add(into[i].gain)
		}
	}
	return nil
}

// row reads row r for a kind. pi is π(·|x), nil of a posterior; scratch is of MostOptions numbers, for the model.
func (s *sums) row(r int, m *RewardModel, pi, scratch []float64) (costEstimate, error) {
	e := costEstimate{pi0: s.floors, all: s.floors == nil, pi: pi, p: s.logged[r], action: s.log.Chosen(r),
		cost: s.cost[r], dense: s.log.Density(r), gamma: s.o.Gamma, clip: bracket(s.o.Gamma), logged: s.o.contrast().Logged}
	reversed := s.o.contrast().Reversed
	if reversed {
		e.cost = -1 - e.cost
	}
	if s.o.AnyTime {
		e.clip = max(e.clip, propensity.Rounded)
	}
	if e.all {
		e.pi0 = s.log.Pi0(r)
	}
	if m != nil && !s.o.LoggedOnly(s.log) { // else the row's X is that of ls, which is one of dr with r̂ = 0
		scratch = scratch[:len(e.pi0)]
		if e.model, e.phi = scratch, m.Dispersion; e.phi == 0 {
			e.phi = 1
		} else if !(e.phi > 0 && e.phi <= 1) {
			return e, fmt.Errorf("certify: the model %s has the dispersion %v, want one in [0, 1]", m.Name, e.phi)
		}
		m.predict(scratch, pi, r)
		for a, v := range scratch {
			if !(v >= 0 && v <= 1) {
				return e, fmt.Errorf("certify: row %d: the model %s predicts the reward %v of action %d, outside "+
					"[0, 1]", r, m.Name, v, a)
			}
			if reversed {
				scratch[a] = 1 - v
			}
		}
	}
	return e, nil
}

// fixed sums log(1 − ℓ X̄) over clusters, X̄ the mean of Σ_a π X over the rows of a cluster.
func (s *sums) fixed(pi Policy, logged []float64) error {
	const block = 16 * part
	most := s.log.MostOptions()
	one := make([]float64, most)
	for first := 0; first < s.clusters(); first += block {
		last := min(s.clusters(), first+block)
		rows := s.rows[s.start(first):s.start(last)]
		all, w, err := s.played(pi, logged, rows, one)
		if err != nil {
			return err
		}
		err = s.over(first, last, func(from, to int, into []kind) error {
			ells := len(s.kinds[0].risk.ell)
			scratch, risk, gain := make([]float64, most), make([]float64, ells), make([]float64, ells)
			against := s.o.contrast()
			for u := from; u < to; u++ {
				m := float64(s.start(u+1) - s.start(u))
				for j := range into {
					p := &into[j]
					clear(risk)
					clear(gain)
					for at := s.start(u); at < s.start(u+1); at++ {
						i := at - s.start(first)
						pi := all[i]
						e, err := s.row(rows[i], p.model, pi, scratch)
						if err != nil {
							return err
						}
						missing := against.Missing != nil && against.Missing[rows[i]]
						if e.model == nil && e.cost == 0 && s.o.Contrast == nil {
							continue // X = 0, and so is that of the gain
						}
						mean := func(l float64) float64 {
							x := w[i] * e.correction(l)
							if e.model != nil {
								for b, q := range pi {
									if q > 0 {
										x += q * e.q(b, l)
									}
								}
							}
							return x
						}
						gained := func(l float64) float64 {
							if e.model != nil && e.all && e.gamma == 1 && !s.o.AnyTime { // one form at all looks
								return e.paired(l)
							}
							return mean(l) - against.Logged*e.cost
						}
						for g, l := range p.risk.ell {
							if x := p.gain.ell[g]; missing {
								risk[g] += e.worst(mean, l) / m
								gain[g] += (e.worst(gained, x) - against.Shift) / m
							} else {
								risk[g] += mean(l) / m
								gain[g] += (gained(x) - against.Shift) / m
							}
						}
					}
					for g, l := range p.risk.ell {
						p.risk.sum[g] += math.Log1p(-l * risk[g])
						p.gain.sum[g] += math.Log1p(-p.gain.ell[g] * gain[g])
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// played are π(·|x) of rows, where models need it, and π(a_i|x_i).
func (s *sums) played(pi Policy, logged []float64, rows []int, one []float64) (all [][]float64, w []float64,
	err error) {
	all, w = make([][]float64, len(rows)), make([]float64, len(rows))
	buffer := []float64(nil)
	if len(s.kinds) > 1 && !s.o.LoggedOnly(s.log) { // see row
		n := 0
		for _, r := range rows {
			n += s.log.Options(r)
		}
		buffer = make([]float64, n)
	}
	for i, r := range rows { // in order: π may read contexts from a file
		if pi == nil {
			w[i] = logged[r]
		} else {
			dst := one[:s.log.Options(r)]
			if buffer != nil {
				dst, buffer = buffer[:len(dst):len(dst)], buffer[len(dst):]
				all[i] = dst
			}
			if err := pi(dst, r); err != nil {
				return nil, nil, err
			}
			if err := distribution(dst); err != nil {
				return nil, nil, fmt.Errorf("certify: row %d: %w", r, err)
			}
			w[i] = dst[s.log.Chosen(r)]
		}
		if !(w[i] >= 0 && w[i] <= 1+1e-9) {
			return nil, nil, fmt.Errorf("certify: row %d: the probability %v is outside [0, 1]", r, w[i])
		}
		s.plays += w[i]
	}
	return all, w, nil
}

// posterior sums Σ_a π_Q(a|x) log(1 − ℓX_a), over the rows of a cluster with weight 1/m.
func (s *sums) posterior(pol propensity.Family, q propensity.Posterior, log Encoded) error {
	k := q.Actions
	draws := 1
	if pol.Noisy() {
		s.draws, draws = s.o.Draws, s.o.Draws
	}
	// X = 0, and so is that of the gain, for ls on rows that cost nothing, whatever π is: of draws, too, but each row
	// has its own.
	some := s.draws == 0 && !slices.ContainsFunc(s.kinds, func(p kind) bool { return p.model != nil })
	return s.over(0, s.clusters(), func(from, to int, into []kind) error {
		var rows, at []int // at: of the row among s.rows
		for i := s.start(from); i < s.start(to); i++ {
			if !some || s.cost[s.rows[i]] != 0 {
				rows, at = append(rows, s.rows[i]), append(at, i)
			}
		}
		if rows == nil {
			return nil
		}
		pi, one, eps, scratch := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
		cluster := from
		noise := rand.New(rand.NewPCG(s.o.Seed, 0xce27+uint64(from)))
		var buf addends
		var err error
		log.ScoreRows(rows, q.Mu, func(i int, scores []float64) {
			if err != nil {
				return
			}
			for s.start(cluster+1) <= at[i] {
				cluster++
			}
			m := float64(s.start(cluster+1) - s.start(cluster))
			clear(pi)
			for range draws {
				if s.draws > 0 {
					propensity.Gauss(noise, eps)
				}
				pol.At(one, scores, q.Sigma*log.Norm(rows[i]), eps)
				for a, p := range one {
					pi[a] += p / float64(draws)
				}
			}
			for j := range into {
				p := &into[j]
				var e costEstimate
				if e, err = s.row(rows[i], p.model, nil, scratch); err != nil {
					return
				}
				p.add(&e, pi, m, s.draws > 0, &buf)
			}
		})
		return err
	})
}

// faint is a probability whose terms are left out: all of a row's are below 1e-15 of its sum.
const faint = 0x1p-70

// add adds a row of a posterior's policy. buf is scratch.
func (p *kind) add(e *costEstimate, pi []float64, m float64, sampled bool, buf *addends) {
	buf.w = buf.w[:0]
	buf.b = buf.b[:0]
	if p.model != nil {
		for b, w := range pi {
			if b != e.action && w > faint {
				buf.b, buf.w = append(buf.b, b), append(buf.w, w)
			}
		}
	}
	for _, side := range []struct {
		grid
		shift float64
	}{{p.risk, 0}, {p.gain, e.cost}} {
		y := buf.log[:0] // −ℓX of the logged action and of the others, by ℓ
		for _, l := range side.ell {
			y = append(y, -l*(e.q(e.action, l)+e.correction(l)-side.shift))
			if p.model == nil {
				y = append(y, l*side.shift) // of every other one
			}
			for _, b := range buf.b {
				y = append(y, -l*(e.q(b, l)-side.shift))
			}
		}
		buf.log = y
		simd.Log1p(y, y)
		for g := range side.ell {
			at := y[0]
			if y = y[1:]; p.model == nil {
				rest := y[0]
				y = y[1:]
				side.sum[g] += (rest + pi[e.action]*(at-rest)) / m
				if sampled {
					side.square[g] += (at - rest) * (at - rest) / (m * m)
				}
				continue
			}
			x := pi[e.action] * at
			for i, w := range buf.w {
				x += w * y[i]
			}
			y = y[len(buf.w):]
			side.sum[g] += x / m
		}
	}
}

// addends are what add computes at once.
type addends struct {
	b      []int
	w, log []float64
}

// mixtures are the e-values of the risk and the gain, and the share of δ that each has.
func (s *sums) mixtures() (risk, gain mixture, delta float64) {
	risk = mixture{n: float64(s.clusters() + s.pooled.clusters), kl: s.kl}
	gain = risk
	delta = s.o.Delta / 2
	if s.draws > 0 {
		delta /= 2
	}
	share := -math.Log(float64(len(s.kinds))) // of each kind
	add := func(m *mixture, of grid) {
		m.ell = append(m.ell, of.ell...)
		for g, sum := range of.sum {
			if s.draws > 0 { // what it falls short by at most, with probability 1 − δ, for all ℓ
				sum -= math.Sqrt(math.Log(float64(len(of.ell))/delta) * of.square[g] / (2 * float64(s.draws)))
			}
			m.sum, m.logWeight = append(m.sum, sum), append(m.logWeight, of.logWeight[g]+share)
		}
	}
	for _, p := range s.kinds {
		add(&risk, p.risk)
		add(&gain, p.gain)
	}
	return risk, gain, delta
}

// bounds turns the sums into bounds.
func (s *sums) bounds() Bounds {
	b := Bounds{Delta: s.o.Delta, N: len(s.rows) + s.pooled.rows, Priors: s.o.Priors, KL: s.kl, Missing: s.missing,
		AnyTime: s.o.AnyTime}
	if clusters := s.clusters() + s.pooled.clusters; clusters < b.N {
		b.Groups = clusters
	}
	if s.o.Gamma > 1 {
		b.Gamma = s.o.Gamma
	}
	if len(s.kinds) > 1 {
		b.Least = s.least
	}
	if s.choosing {
		b.Plays, b.Wanted = s.plays, s.wanted()
	}
	name := "ls"
	switch plain := s.plain(); {
	case len(s.kinds) == 1:
	case plain == b.N:
		b.Missing = append(b.Missing, noPropensities)
	case plain > 0:
		name = "ls+dr"
		b.Missing = append(b.Missing, fmt.Sprintf("dr on %d rows: their log has no propensities of all actions", plain))
	default:
		name = "ls+dr"
	}
	risk, gain, delta := s.mixtures()
	first, absurd := risk.bound(name, -1, 0, delta)
	low, high := s.o.contrast().limits()
	second, alsoAbsurd := gain.bound(name, low, high, delta)
	if s.o.Contrast != nil {
		b.evidence = &Evidence{gain, low, high}
	}
	if absurd || alsoAbsurd {
		b.Absurd = "the rows say that the policy earns more than the largest reward there is"
	}
	b.All, b.Gain = []Bound{first}, &second
	return b
}

// wanted is the least m, from 1, at which n rows of the mean reward r̄ of these, of which a policy's
// choice is played in m with the propensity m/n, guarantee r̄/2; 0: none does.
func (s *sums) wanted() float64 {
	n := float64(len(s.rows) + s.pooled.rows)
	reward := -s.total() / n
	p := s.kinds[0].risk
	half := func(m float64) bool {
		mix := mixture{n: n, ell: p.ell, logWeight: p.logWeight, sum: make([]float64, len(p.ell))}
		for g, l := range p.ell {
			mix.sum[g] = m * reward * math.Log1p(l*n/m)
		}
		r, _ := mix.upper(-1, 0, s.o.Delta/2)
		return -r >= reward/2
	}
	if reward == 0 || !half(n) {
		return 0
	}
	low, high := 1., n
	for high-low > 0.5 {
		if m := math.Sqrt(low * high); half(m) {
			high = m
		} else {
			low = m
		}
	}
	return high
}

// distribution refuses probabilities that are none, but for rounding.
func distribution(pi []float64) error {
	var sum float64
	for a, p := range pi {
		if !(p >= 0 && p <= 1+1e-9) {
			return fmt.Errorf("the probability %v of action %d is outside [0, 1]", p, a)
		}
		sum += p
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("the probabilities sum to %v, not 1", sum)
	}
	return nil
}
