package train

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/regress"
)

// temperatures are those of softmax(s/τ) with scores s, from which actions are drawn where many are offered. At 0 the
// largest score is played.
var temperatures = []float64{0, .05, .1, .15, .2, .3, .5, .75, 1, 1.5, 2, 3}

const leastSpread = 30 // actions

// spread chooses the temperature τ that actions are drawn at, 0 for the largest score. Of many actions few rows
// tell what a policy that plays one earns, so that little of its gain can be guaranteed. τ is of the largest
// product of the gain by the model and of what of it is to be guaranteed,
//
//	gain − z_{1−δ} √(E[Σ_a π(a|x)²/π₀(a) ρ r̂(x, a)]/n),   ρ = Σ r³/Σ r²,
//
// where n rows certify and π₀(a) is what an action was logged with on average; with ρ r̂(1 − r̂) where doubly
// robust bounds can be had, and ρ is how large rewards are, of those worth playing for. Temperatures at which
// .95 of the gain is left, then those at which .8 is, three tenths of it to be guaranteed, come before others.
// If nothing is to be guaranteed at any τ, it is that of the largest lower bound of those at which .8 is left.
// Of a table, whose actions are fewer, .99 or .95 is left, or the largest score is played.
func (t *comparison) spread(ctx context.Context, s []Component, teaching, rows []int) (tau float64, err error) {
	log, err := t.view(s[0].In, rows)
	if err != nil {
		return 0, err
	}
	logged, seen := make([]float64, log.K()), make([]float64, log.K())
	var second, third float64
	for _, i := range teaching {
		p := log.Propensity[i]
		if log.Lists != nil {
			p *= float64(log.Options(i))
		}
		logged[log.Action[i]] += p
		seen[log.Action[i]]++
		square := log.Cost[i] * log.Cost[i]
		second, third = second+square, third-square*log.Cost[i]
	}
	m := spreading{log: log, floor: t.Floor, size: third / second, // 1 of rewards that are 0 or 1, less of prices
		gain: make([]float64, len(temperatures)), square: make([]float64, len(temperatures)),
		inverse: func(a int32, otherwise float64) float64 {
			if seen[a] == 0 {
				return otherwise
			}
			return seen[a] / logged[a]
		}}
	if m.model, err = calibrated(ctx, log, rows, s[0].Theta); err != nil {
		return 0, err
	}
	n, certifying := float64(len(rows)), float64(t.certifying)
	if log.Lists != nil {
		slots := n
		if n, err = m.lists(rows, s[0].Theta); err != nil {
			return 0, err
		}
		certifying *= n / slots
	} else {
		m.rows(rows, s[0].Theta)
	}
	best, z := 0., distuv.UnitNormal.Quantile(1-t.c.Delta)
	most := slices.Max(m.gain) - m.base
	least := make([]float64, len(m.gain))
	left, joint := []float64{.95, .8, 0}, s[0].In.Joint()
	if !joint {
		left = []float64{.99, .95}
	}
	for _, keeps := range left {
		for k, v := range m.gain {
			v -= m.base
			least[k] = v - z*math.Sqrt(m.square[k]*n/certifying)
			if v >= keeps*most && (keeps == 0 || least[k] >= .3*v) && v*least[k] > best {
				best, tau = v*least[k], temperatures[k]
			}
		}
		if best > 0 {
			return tau, nil
		}
	}
	if !joint {
		return 0, nil
	}
	best = math.Inf(-1)
	for k, v := range m.gain {
		if v-m.base >= .8*most && least[k] > best {
			best, tau = least[k], temperatures[k]
		}
	}
	return tau, nil
}

// spreading sums over decisions what the log earned and, for each temperature, what is earned by the model and the
// second moment of what estimates it.
type spreading struct {
	log          *logs.Log
	floor, size  float64
	base         float64
	model        []float64 // logits of rewards by scores s are model·(1, s)
	gain, square []float64 // by temperature
	inverse      func(a int32, otherwise float64) float64
}

// calibrated are α and β of logits α + β s of rewards, by the scores of what was logged in rows that taught no score: a
// mixture of models that are shrunk says too little of the best actions.
func calibrated(ctx context.Context, log *logs.Log, rows []int, theta []float64) ([]float64, error) {
	x, scorer := regress.Matrix{Width: 2}, log.Scorers(theta)()
	y, o := make([]float64, len(rows)), regress.Options{Offset: make([]float64, len(rows)), Penalties: []float64{0, 10}}
	for j, i := range rows {
		y[j], o.Offset[j] = -log.Cost[i], scorer(i)[log.Chosen(i)]
		x.Data = append(x.Data, 1, o.Offset[j])
	}
	w, err := regress.Logistic(ctx, x, y, o)
	if err == nil {
		w[1]++
	}
	return w, err
}

func (m *spreading) reward(score float64) float64 {
	return 1 / (1 + math.Exp(-m.model[0]-m.model[1]*score))
}

// at is what actions with some scores are played with at the k-th temperature.
func (m *spreading) at(k int, pi, scores, room []float64) {
	if tau := temperatures[k]; tau == 0 {
		propensity.ArgMax{}.AtMean(pi, scores)
	} else {
		room = room[:len(scores)]
		floats.ScaleTo(room, 1/tau, scores)
		propensity.Softmax{}.AtMean(pi, room)
	}
	propensity.AddFloor(pi, m.floor)
}

// rows sums over rows that are decisions.
func (m *spreading) rows(rows []int, theta []float64) {
	all := make([]float64, m.log.MostOptions())
	room, rewards, inverse := slices.Clone(all), slices.Clone(all), slices.Clone(all)
	scorer, modelled := m.log.Scorers(theta)(), !m.log.LoggedOnly()
	for _, i := range rows {
		scores := scorer(i)
		pi, r, inverse := all[:len(scores)], rewards[:len(scores)], inverse[:len(scores)]
		m.base -= m.log.Cost[i]
		for j, v := range scores {
			a, _ := m.log.Option(i, j)
			r[j], inverse[j] = m.reward(v), m.inverse(a, float64(len(scores)))
		}
		for k := range m.gain {
			m.at(k, pi, scores, room)
			for j, p := range pi {
				m.gain[k] += p * r[j]
				v := m.size * r[j]
				if modelled {
					v *= 1 - r[j]
				}
				m.square[k] += p * p * inverse[j] * v
			}
		}
	}
}

// lists sums over lists, whose slots rows are, by lists that the policy draws: with W as [certify.Slots.Weights] has it,
//
//	E_π₀[(Σ_l α_l W_l r_l)²] = E_π[Σ_l α_l² W_l ρ r_l + 2 Σ_{l<m} α_l α_m W_l r_l r_m],
//
// where clicks of slots are independent given what is shown. It returns the number of lists.
func (m *spreading) lists(rows []int, theta []float64) (lists float64, err error) {
	log, draw := m.log, rand.New(rand.NewPCG(1, 0x115f))
	weigh, err := certify.SlotWeights(log.Lists.SlotWeights)
	if err != nil {
		return 0, err
	}
	scorer, offered := log.Scorers(theta)(), log.MostOptions()
	pi, left, room := make([]float64, offered), make([]float64, offered), make([]float64, offered)
	// Each list is drawn so often: 1,000 lists are enough, and no more than 2²⁴ probabilities.
	times := max(1, min(1000*int(log.Lists.Slot[rows[len(rows)-1]])/len(rows), 1<<24/(len(rows)*offered*len(m.gain))))
	for from, to := 0, 0; from < len(rows); from = to {
		for to++; to < len(rows) && log.Lists.Of[rows[to]] == log.Lists.Of[rows[from]]; to++ {
		}
		slots, alpha := rows[from:to], weigh(to-from)
		scores, rest := m.slots(slots, scorer)
		for l, i := range slots {
			m.base -= alpha[l] * log.Cost[i]
		}
		w, r, free := make([]float64, len(slots)), make([]float64, len(slots)), []int(nil)
		for d := range len(m.gain) * times {
			k := d % len(m.gain)
			for l, row := range slots {
				if l == 0 || !rest { // places of the first slot's set, or of its own
					free = logs.Every(len(scores[l]))
				}
				for j, at := range free {
					left[j] = scores[l][at]
				}
				n := len(free)
				m.at(k, pi[:n], left[:n], room)
				j := propensity.Draw(pi[:n], draw)
				if rest {
					row = slots[0]
				}
				a, _ := log.Option(row, free[j])
				w[l], r[l] = pi[j]*float64(n)*m.inverse(a, 1), m.reward(left[j])
				m.gain[k] += alpha[l] * r[l] / float64(times)
				free = slices.Delete(free, j, j+1)
			}
			m.square[k] += m.second(alpha, w, r) / float64(times)
		}
		lists++
	}
	return lists, nil
}

// slots are the scores of each slot of a list. Where each slot offers the rest of what the first does, they are of all
// that the first offers: that of what was shown above is what it was there, plus by how much the others rose on average.
func (m *spreading) slots(rows []int, scorer func(int) []float64) (all [][]float64, rest bool) {
	rest = true
	var left []int // places of the first slot's set that a slot offers
	for l, i := range rows {
		scores := slices.Clone(scorer(i))
		all, rest = append(all, scores), rest && (l == 0 || offersTheRest(m.log, i))
		if l == 0 {
			left = logs.Every(len(scores))
		} else if rest {
			rise, full := 0., slices.Clone(all[l-1])
			for j, at := range left {
				rise += (scores[j] - full[at]) / float64(len(left))
			}
			floats.AddConst(rise, full)
			for j, at := range left {
				full[at] = scores[j]
			}
			all[l] = full
		}
		if rest {
			at := m.log.Chosen(i)
			left = slices.Delete(left, at, at+1)
		}
	}
	if !rest {
		for l, i := range rows {
			all[l] = slices.Clone(scorer(i))
		}
	}
	return all, rest
}

// second is the second moment of one list that the policy draws, whose slots have weights w of their own and expected
// rewards r.
func (m *spreading) second(alpha, w, r []float64) (sum float64) {
	lists, product := m.log.Lists, 1.
	for _, v := range w {
		product *= v
	}
	if lists.Whole {
		return product * m.size * floats.Dot(alpha, r)
	}
	own := certify.Assumption(lists.Assume) == certify.Independence
	above := 1.
	for l := range w {
		one, cross := product, product
		if own {
			one, cross = w[l], 1
		} else if lists.Assume == string(certify.Cascade) || certify.AssumedBy(lists.Assume) != "" {
			above *= w[l]
			one, cross = above, above
		}
		sum += alpha[l] * alpha[l] * one * m.size * r[l]
		for j := l + 1; j < len(w); j++ {
			sum += 2 * alpha[l] * alpha[j] * cross * r[l] * r[j]
		}
	}
	return sum
}

// offersMany reports that a decision may be answered in so many ways that drawing among them may pay.
func offersMany(log *logs.Log, rows []int) bool {
	if log.Lists == nil {
		return log.MostOptions() >= leastSpread
	}
	n := 1
	for _, i := range rows {
		if log.Lists.Of[i] != log.Lists.Of[rows[0]] || n >= leastSpread {
			break
		}
		n *= log.Options(i)
	}
	return n >= leastSpread
}

// enough is saturated, and chooses the temperature of what was the best.
func (t *comparison) enough(ctx context.Context, rows []int, best candidate, learned []Component) (of []int,
	err error) {
	t.Direct.tau = 0
	if best.name == direct && t.spreading(t.held) {
		if t.Direct.tau, err = t.spread(ctx, learned, rows, t.held); err != nil {
			return nil, err
		}
	}
	return t.saturated(ctx, rows, best, learned)
}

// spreading reports that it may pay to draw among the actions, of which decisions like these rows have many.
func (t *comparison) spreading(rows []int) bool {
	return !t.Largest && t.log.Numbers == nil && offersMany(t.log, rows)
}

// limited reports that a trial is needed even of one candidate: it says how many of the n rows are enough, or
// whether to draw.
func (t *comparison) limited(n int, tried []int) bool {
	return t.Direct != nil && (n >= 8*t.Direct.sample() || t.spreading(tried))
}

// temperature is what was chosen for the best candidate, or on rows before.
func (r *Recipe) temperature(best candidate) float64 {
	if r.Direct == nil || best.name != direct {
		return 0
	}
	return r.Direct.tau
}

// spreads is a mixture that draws from softmax(s/τ) instead.
func spreads(s []Component, tau float64) []Component {
	s = slices.Clone(s)
	for i := range s {
		s[i].Theta, s[i].Drawn = floats.ScaleTo(make([]float64, len(s[i].Theta)), 1/tau, s[i].Theta), true
	}
	return s
}
