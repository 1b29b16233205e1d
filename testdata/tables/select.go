package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"

	"opl/graph/kernel"
	"opl/graph/kernel/workers"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// most is how many rows of a data set a trial of --select uses.
const most = 4000

// ways are those to select.
var ways = [...]string{"select", "LS", "IPS", "SNIPS"}

// tally is what the selections of a way came to.
type tally struct{ best, near, worse, none, regret float64 }

// chosen is what a trial found.
type chosen struct {
	of             [len(ways)]tally
	ship, falsely  float64
	above, better0 float64 // lower bounds of values above the truth; trials in which some target earns more than the logging policy
}

// selection prints the lines of a data set: a line a way.
func selection(path string, policies, trials int, delta float64) error {
	d, err := read(path)
	if err != nil {
		return err
	}
	all, errs := make([]chosen, trials), make([]error, trials)
	workers.Do(runtime.GOMAXPROCS(0), trials, func(_, seed int) {
		all[seed], errs[seed] = d.trial(rand.New(rand.NewPCG(uint64(seed), 0x5e1ec7)), policies, delta)
	})
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var sum chosen
	for _, c := range all {
		for w := range ways {
			t, s := c.of[w], &sum.of[w]
			s.best, s.near, s.worse, s.none, s.regret = s.best+t.best, s.near+t.near, s.worse+t.worse, s.none+t.none, s.regret+t.regret/float64(trials)
		}
		sum.ship, sum.falsely, sum.above, sum.better0 = sum.ship+c.ship, sum.falsely+c.falsely, sum.above+c.above, sum.better0+c.better0
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for w, t := range sum.of {
		ship := "—"
		if w == 0 {
			ship = fmt.Sprintf("%.0f, %.0f falsely", sum.ship, sum.falsely)
		}
		fmt.Printf("| %s | %d | %s | %.0f | %.0f | %.0f | %.0f | %.3f | %s |\n", name, policies, ways[w], t.best, t.near, t.worse, t.none, t.regret, ship)
	}
	fmt.Printf("<!-- %s: some target earns more than the logging policy in %.0f of %d trials; %.0f of %d bounds on values are above the truth -->\n", name, sum.better0, trials, sum.above, trials*policies)
	return nil
}

// trial has half of the rows teach targets, and selects among them on the other half.
func (d data) trial(r *rand.Rand, policies int, delta float64) (c chosen, err error) {
	perm := r.Perm(len(d.label))[:min(most, len(d.label))]
	teach, test := d.some(perm[:len(perm)/2]), d.some(perm[len(perm)/2:])
	first, t := teach.draw(r, 0.1, 0.2, 0.25), test.draw(r, 0.1, 0.2, 0.25)
	targets, n, k := map[string][]float64{}, t.log.Len(), d.k
	var names []string
	add := func(name string, of func(dst []float64, i int)) {
		pi := make([]float64, n*k)
		for i := range n {
			of(pi[i*k:(i+1)*k], i)
		}
		names, targets[name] = append(names, name), pi
	}
	knows := softened(t.pi, k, 0.2)
	add("knows labels", func(dst []float64, i int) { copy(dst, knows[i*k:]) })
	for _, way := range []string{"ips", "snips", "imitation"} {
		theta := learn(first.log, way)
		scores := make([]float64, n*k)
		logs.Scores(t.log.X, nil, theta, k, func(i int, s []float64) { copy(scores[i*k:], s) })
		play := func(scale, floor float64) func(dst []float64, i int) {
			return func(dst []float64, i int) {
				for a := range dst {
					dst[a] = scale * scores[i*k+a]
				}
				kernel.Softmax(dst, dst, k)
				for a := range dst {
					dst[a] = (1-floor)*dst[a] + floor/float64(k)
				}
			}
		}
		if add(way, play(1, 0)); policies > 4 {
			for _, p := range [][2]float64{{.5, 0}, {2, 0}, {1, .1}, {1, .3}, {1, .6}} {
				add(fmt.Sprintf("%s %v %v", way, p[0], p[1]), play(p[0], p[1]))
			}
		}
	}
	if policies > 4 {
		add("uniform", func(dst []float64, _ int) {
			for a := range dst {
				dst[a] = 1 / float64(k)
			}
		})
	}
	if len(names) != policies {
		return c, fmt.Errorf("%d policies, want 4 or 20", policies)
	}
	var of []ope.Target
	value, best, logging := map[string]float64{}, -1., 0.
	reward := func(pi []float64) (v float64) {
		for i := range n {
			p := pi[i*k+t.label[i]]
			v += (p*.9 + (1-p)*.1) / float64(n)
		}
		return v
	}
	logging = reward(t.log.Propensities)
	for _, name := range names {
		target := ope.Matrix(name, targets[name], k)
		target.Origin = provenance.FixedBefore()
		of, value[name] = append(of, target), reward(targets[name])
		best = max(best, value[name])
	}
	if best > logging {
		c.better0 = 1
	}
	s, err := ope.Select(t.log, of, ope.Options{Delta: delta})
	if err != nil {
		return c, err
	}
	picks := [len(ways)]string{}
	if s.Selected != nil {
		picks[0] = *s.Selected
	}
	for _, x := range s.Targets {
		if x.AtLeast != nil && *x.AtLeast > value[x.Name] {
			c.above++
		}
	}
	if s.Ship {
		if c.ship = 1; value[picks[0]] <= logging {
			c.falsely = 1
		}
	}
	// LS with λ = 1/√n and δ shared among targets, and the largest estimates.
	var most [len(ways)]float64
	root := math.Sqrt(float64(n))
	for _, name := range names {
		var ls, ips, w float64
		for i, a := range t.log.Action {
			v := targets[name][i*k+int(a)] / t.log.Propensity[i]
			ls += math.Log1p(-v * t.log.Cost[i] / root)
			ips, w = ips-v*t.log.Cost[i], w+v
		}
		for way, v := range [...]float64{0, root * math.Expm1((ls-math.Log(float64(policies)/delta))/float64(n)), ips / float64(n), ips / w} {
			if way > 0 && v > most[way] {
				picks[way], most[way] = name, v
			}
		}
	}
	for way, name := range picks {
		x := &c.of[way]
		if name == "" {
			x.none, x.regret = 1, best-logging
			continue
		}
		v := value[name]
		if x.regret = best - v; v == best {
			x.best = 1
		}
		if best-v <= .01 {
			x.near = 1
		}
		if v < logging {
			x.worse = 1
		}
	}
	return c, nil
}

// some are some rows.
func (d data) some(rows []int) data {
	out := data{k: d.k}
	for _, r := range rows {
		out.x, out.label = append(out.x, d.x[r]), append(out.label, d.label[r])
	}
	return out
}

// softened are policies of which each plays uniformly with a probability.
func softened(pi []float64, k int, share float64) []float64 {
	out := make([]float64, len(pi))
	for i, p := range pi {
		out[i] = (1-share)*p + share/float64(k)
	}
	return out
}

// learn is θ [k×d] of a softmax policy that maximizes, by 200 steps of gradient ascent, IPS, SNIPS, or the likelihood
// of rewarded actions by their weights.
func learn(log *logs.Log, way string) []float64 {
	n, k, d := log.Len(), log.K(), log.Dim()
	theta, grad, speed := make([]float64, k*d), make([]float64, k*d), make([]float64, k*d)
	x, pi := make([]float64, d), make([]float64, k)
	for range 200 {
		clear(grad)
		value, mean := 0., 1.
		if way == "snips" {
			value, mean = 0, 0
			logs.Scores(log.X, nil, theta, k, func(i int, s []float64) {
				kernel.Softmax(pi, s, k)
				w := pi[log.Action[i]] / log.Propensity[i]
				value, mean = value-w*log.Cost[i]/float64(n), mean+w/float64(n)
			})
			value /= mean
		}
		logs.Scores(log.X, nil, theta, k, func(i int, s []float64) {
			kernel.Softmax(pi, s, k)
			a := int(log.Action[i])
			g := (-log.Cost[i] - value) / log.Propensity[i] / mean
			if way != "imitation" {
				g *= pi[a]
			}
			if g == 0 {
				return
			}
			log.X.Row64(i, x)
			for b := range k {
				p := -pi[b]
				if b == a {
					p++
				}
				for j, v := range x {
					grad[b*d+j] += g * p * v / float64(n)
				}
			}
		})
		for j := range theta {
			speed[j] = .9*speed[j] + grad[j] - 1e-3*theta[j]
			theta[j] += .3 * speed[j]
		}
	}
	return theta
}
