// Package online learns a model of the reward for the bound of a fixed policy, from the
// rows that certify the policy ([Learn]). It predicts each row by a model that only the
// rows before it taught. Use it if the log had no part in the policy: no row is given up.
//
// # Why it may
//
// Put the clusters (groups, and rows without one) in an order that does not depend on what they say.
// The model of cluster i is then a function of the clusters before it. Given these, cluster i is drawn
// as if there were no model: X of package certify stays unbiased, each factor
// 1 − ℓX has the mean 1 − ℓR, and their product over (1 − ℓR)ⁿ the mean 1, by induction. ℓ does not
// depend on rows, so under drift, too, the bound is of the mean over the clusters (1 − ℓR̄ is
// the larger, by the means). It is one more kind in the mixture of package certify.
//
// A bound with such a model also assumes that clusters are drawn independently
// of one another, but for what logged them. A file may be in any order (by
// reward, say), so clusters are shuffled by a fixed seed. If the log names the policies that
// logged its rows, their clusters come in the order in which the policies' rows begin, because
// a policy is learned from rows before its own. A single policy that changed with its own rows, as of a
// learner that is updated after each, needs its versions named for this to be exact.
package online

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"opl/policies/features"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/regress"
)

const (
	first  = 32      // clusters before the first model
	growth = 1.5     // each model is learned from that many times as many clusters as the one before,
	rows   = 1 << 15 // from no more rows than this,
	values = 1 << 24 // nor more features of them
	shared = 3       // features of context and action that all actions share: 1, log π, log π₀
	least  = 1e-3    // probabilities whose logarithm is taken
	ownRow = 10      // times that an action of a log with choices was logged, for a 1 of its own
	seed   = 1
)

// Learn returns a model of the reward for the bound of a fixed policy on some rows of a log.
// group are their clusters, as of [certify.Options]; logged is π(a_i|x_i) by row of the log. With
// z_a = 1/(1 + exp(−score)),
//
//	r̂(x, a) = z_a(u + v log π(a|x) + w log π₀(a|x) + b_a + φ(x)ᵀθ_a)
//
// where u … θ minimize −Σ r log r̂ + (1 − r) log(1 − r̂) + (u² + v² + w² + Σ_a (b_a² +
// 10‖θ_a‖²))/20 over the rows of the clusters before; 0 for the first 32 clusters, then learned anew when there
// are half as many again, up to 32,768 rows. What a policy was made of is in π: it says most where there are few rows.
//
// Of a log with choices b_a + φ(x)ᵀθ_a is b + φ(x)ᵀθ + z(a)ᵀβ: z(a) is what actions are described by, and a
// 1 for each that was logged 10 times.
//
// φ(x) is log.X; of a log with names an encoder, standardized on the rows that teach; or
// nothing. Where the log has π₀ of logged actions alone, w is 0. The log must stay open.
func Learn(log *logs.Log, certifying []int, group []int32, logged []float64) (*certify.RewardModel, error) {
	if len(logged) != log.Len() {
		return nil, fmt.Errorf("online: %d probabilities for %d rows", len(logged), log.Len())
	}
	m, err := learn(log, certifying, group, logged, first)
	if err != nil {
		return nil, err
	}
	return &certify.RewardModel{Name: "online", Of: m.predict, Fixed: true}, nil
}

// model is one for each stage: those of a stage are predicted by the same.
type model struct {
	log    *logs.Log
	k      int
	stage  []int32 // of each row; −1: none
	stages []stage
}

// stage is what some clusters taught.
type stage struct {
	x     logs.Contexts // nil: no features
	d     int
	z     *logs.ItemRows // of what a log with choices describes its actions by; nil: it has none
	theta []float64      // [shared + K×(1 + d)], with choices [shared + 1 + d + p]; nil: r̂ = 0
}

// learn begins with from clusters.
func learn(log *logs.Log, certifying []int, group []int32, logged []float64, from int) (*model, error) {
	m := &model{log: log, k: log.K(), stage: slices.Repeat([]int32{-1}, log.Len())}
	clusters := arrange(log, certifying, group)
	m.stages = []stage{{}}
	var taught []int
	end := from
	for u, cluster := range clusters {
		if u == end {
			if s, err := m.teach(taught, logged); err != nil {
				return nil, err
			} else if s.theta != nil {
				m.stages = append(m.stages, s)
			}
			end = int(growth*float64(end)) + 1
		}
		for _, r := range cluster {
			m.stage[r] = int32(len(m.stages) - 1)
		}
		taught = append(taught, cluster...)
	}
	return m, nil
}

// arrange lists the clusters in the order in which they are predicted.
func arrange(log *logs.Log, certifying []int, group []int32) [][]int {
	if group == nil {
		group = log.Group
	}
	certifying = slices.Sorted(slices.Values(certifying))
	if log.Time != nil {
		slices.SortStableFunc(certifying, func(a, b int) int { return cmp.Compare(log.Time[a], log.Time[b]) })
	}
	var clusters [][]int
	var round []int // of each cluster
	place, rounds := map[int32]int{}, map[int32]int{}
	for _, r := range certifying {
		if group != nil && group[r] >= 0 {
			if at, seen := place[group[r]]; seen {
				clusters[at] = append(clusters[at], r)
				continue
			}
			place[group[r]] = len(clusters)
		}
		logger := int32(-1)
		if log.Logger != nil {
			logger = log.Logger[r]
		}
		if _, seen := rounds[logger]; !seen {
			rounds[logger] = len(rounds)
		}
		clusters, round = append(clusters, []int{r}), append(round, rounds[logger])
	}
	order := rand.New(rand.NewPCG(seed, 0x0b1e)).Perm(len(clusters))
	slices.SortStableFunc(order, func(a, b int) int { return round[a] - round[b] })
	out := make([][]int, len(clusters))
	for i, u := range order {
		out[i] = clusters[u]
	}
	return out
}

// teach learns from rows; no theta: there are too many.
func (m *model) teach(taught []int, logged []float64) (s stage, err error) {
	log := m.log
	if len(taught) > rows {
		return s, nil
	}
	switch {
	case log.X != nil:
		s.x = log.X
	case log.Names() != nil:
		if log, _, err = log.Encoded(taught, logs.Scaling{Kind: "standard"}); err != nil {
			return s, err
		}
		s.x = log.X
	}
	if s.x != nil {
		s.d = s.x.Dim()
	}
	size := m.k * (1 + s.d)
	if m.log.Choices != nil {
		if err := s.items(m.log, taught); err != nil {
			return s, err
		}
		size = 1 + s.d + s.z.Width
	}
	if len(taught)*s.d > values || s.z != nil && len(taught)*s.z.Values.Dim() > values {
		return s, nil
	}
	x, y := s.design(m, log, taught, logged)
	// r̂ = 1/2, where there is no regression: a bound of any r̂ is one
	if s.theta, err = regress.Logistic(context.Background(), x, y,
		regress.Options{Penalties: s.penalties(x)}); err != nil {
		s.theta = make([]float64, shared+size)
	}
	return s, nil
}

// design is what the stage learns from, features and rewards.
func (s *stage) design(m *model, log *logs.Log, taught []int, logged []float64) (*regress.Grouped, []float64) {
	x := &regress.Grouped{Groups: m.k, Group: make([]int32, len(taught))}
	x.Shared.Width, x.Own.Width = shared, 1+s.d
	if s.z != nil {
		x.Shared.Width, x.Own.Width = shared+1+s.d+s.z.Values.Dim(), 1
		x.Groups = s.z.Width - s.z.Values.Dim()
	}
	x.Shared.Data = make([]float64, 0, len(taught)*x.Shared.Width)
	x.Own.Data = make([]float64, 0, len(taught)*x.Own.Width)
	y, phi := make([]float64, len(taught)), make([]float64, 1+s.d)
	phi[0] = 1
	for i, r := range taught {
		if s.d > 0 {
			s.x.Row64(log.Context(r), phi[1:])
		}
		place := s.place(m.log, r, log.Chosen(r))
		if s.z != nil && place >= 0 {
			place -= s.z.Values.Dim()
		}
		x.Group[i], y[i] = int32(place), -log.Cost[r]
		x.Shared.Data = append(x.Shared.Data, 1, logOf(logged[r]), logOf(s.pi0(log, r, log.Chosen(r))))
		if s.z == nil {
			x.Own.Data = append(x.Own.Data, phi...)
			continue
		}
		x.Shared.Data = append(x.Shared.Data, phi...)
		x.Shared.Data = append(x.Shared.Data, s.vector(nil, m.log, r, log.Chosen(r))...)
		x.Own.Data = append(x.Own.Data, 1)
	}
	return x, y
}

// penalties are 0.1 for what is shared and for intercepts, and 1 for the other coefficients.
func (s *stage) penalties(x *regress.Grouped) []float64 {
	all := slices.Repeat([]float64{0.1}, x.Dim())
	for j := range all {
		switch own := j - shared - 1 - s.d; {
		case s.z == nil && j >= shared && (j-shared)%(1+s.d) > 0, s.z != nil && j > shared && own < s.z.Values.Dim():
			all[j] = 1
		}
	}
	return all
}

// pi0 is π₀ of an action that row i offers, by its place; 1 where it is not known, or may not be: a floor stands for
// what was derived, at any time or within a factor.
func (s *stage) pi0(log *logs.Log, i, j int) float64 {
	if all := log.Pi0(i); all != nil && !(log.Derived() && log.Least > 0) {
		return all[j]
	}
	return 1
}

func logOf(p float64) float64 { return math.Log(max(p, least)) }

// items sets z to what rows teach of the actions' vectors.
func (s *stage) items(log *logs.Log, taught []int) error {
	if log.Choices.Z == nil {
		it, err := log.FitItems(taught, logs.Scaling{Kind: "standard", Intercept: true}, ownRow)
		if err == nil {
			log, err = log.EncodeItems(it)
		}
		if err != nil {
			return err
		}
	}
	z, ok := log.Choices.Z.(logs.ItemRows)
	if !ok {
		z = logs.ItemRows{Values: log.Choices.Z, Width: log.Choices.Z.Dim()}
	}
	s.z = &z
	return nil
}

// place is the number of option j of a row: of the action; of its 1 in z(a), −1 for none.
func (s *stage) place(log *logs.Log, row, j int) int {
	a, item := log.Option(row, j)
	if s.z == nil {
		return int(a)
	}
	return s.z.Place(item)
}

// vector is z(a) of option j of a row without its 1, in dst if that is long enough.
func (s *stage) vector(dst []float64, log *logs.Log, row, j int) []float64 {
	if s.z == nil {
		return nil
	}
	d := s.z.Values.Dim()
	if cap(dst) < d {
		dst = make([]float64, d)
	}
	_, item := log.Option(row, j)
	s.z.Values.Row64(item, dst[:d])
	return dst[:d]
}

// own is what theta has of an action: b_a and θ_a, of a log with choices b and θ.
func (s *stage) own(theta []float64, a int) []float64 {
	if s.z != nil {
		return theta[shared:][:1+s.d]
	}
	return theta[shared+a*(1+s.d):][:1+s.d]
}

// score is the argument of the logistic function.
func (s *stage) score(theta []float64, a int, logPi, logPi0 float64, x, z []float64) float64 {
	own := s.own(theta, a)
	v := theta[0] + theta[1]*logPi + theta[2]*logPi0 + own[0] + features.Dot(x, own[1:])
	if s.z != nil {
		of := theta[shared+1+s.d:]
		if v += features.Dot(z, of); a >= 0 {
			v += of[a]
		}
	}
	return v
}

// predict is the model of row i for a policy that plays pi there.
func (m *model) predict(dst, pi []float64, i int) {
	clear(dst)
	s := &m.stages[max(0, m.stage[i])]
	if s.theta == nil {
		return
	}
	x := make([]float64, s.d)
	if s.d > 0 {
		s.x.Row64(m.log.Context(i), x)
	}
	var z []float64
	for j := range dst {
		z = s.vector(z, m.log, i, j)
		// a value may overflow
		score := s.score(s.theta, s.place(m.log, i, j), logOf(pi[j]), logOf(s.pi0(m.log, i, j)), x, z)
		if v := 1 / (1 + math.Exp(-score)); v >= 0 {
			dst[j] = v
		}
	}
}
