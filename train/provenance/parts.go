package provenance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"opl/graph/kernel"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/logs"
)

// Part is what a shard of the rows says of the policy of a file, at any time, see [Pool.Part]: sums over its
// units.
type Part struct {
	Shard  logs.Shard     `json:"shard"`
	Of     string         `json:"of"`     // the policy file's hash, the logs' and the options
	Rows   int            `json:"rows"`   // that certify, of all shards
	Sums   certify.Sums   `json:"sums"`   // of the bounds
	Cost   float64        `json:"cost"`   // Σ c
	Weight [5]float64     `json:"weight"` // Σ w, w², w r, w² r, w² r², w = π/π₀
	Units  weights        `json:"units"`
	On     *Circumstances `json:"on"`

	ByFiles *byFiles `json:"by_files,omitempty"` // of a shard that has read its own files alone, see [Judge.FilesPart]
	grouped bool
}

// Part computes what a shard of the rows that certify in [Pool.File] adds to its sums. The logs are read and
// judged whole, as whether rows may certify hangs on all of them; probabilities and sums, which take the most, are of the
// shard's units alone. [Conclude] makes the statement of all parts.
func (ps Pool) Part(ctx context.Context, p *policyfile.Policy, o Options, shard logs.Shard) (Part, error) {
	out, c, err := ps.whole(ctx, p, o, shard)
	if err != nil {
		return out, err
	}
	for k := range c.samples {
		s := &c.samples[k]
		s.rows = slices.DeleteFunc(slices.Clone(s.rows), func(r int) bool { return !shard.Has(int(s.unit(r))) })
	}
	return out, out.sum(c, o)
}

// whole is a part before its sums, of rows that certify, all of them.
func (ps Pool) whole(ctx context.Context, p *policyfile.Policy, o Options, shard logs.Shard) (Part, *pooled, error) {
	out := Part{Shard: shard}
	c, err := ps.pooled(ctx, p, o)
	if err != nil {
		return out, nil, err
	}
	out.Rows, out.On = c.rows, &c.on
	groups := 0
	seen := map[[2]int32]bool{}
	for k, s := range c.samples {
		for _, r := range s.rows {
			g := [2]int32{int32(k), int32(r)}
			if s.log.Group != nil && s.log.Group[r] >= 0 {
				g[0], g[1] = -1-g[0], s.log.Group[r]
			}
			if !seen[g] {
				seen[g] = true
				groups++
			}
		}
	}
	out.On.of(groups < c.rows, c.samples...) // before rows are left out
	of := []string{p.Hash(), fmt.Sprint(o.Delta, o.Gamma, o.Fresh)}
	for _, s := range c.samples {
		of = append(of, s.log.Hash())
	}
	out.Of, out.grouped = strings.Join(of, " "), groups < c.rows
	return out, &c, nil
}

// sum adds up what the samples' rows say.
func (out *Part) sum(c *pooled, o Options) (err error) {
	parts := c.bounded()
	if len(parts) == 0 {
		return nil
	}
	if out.Sums, err = certify.PoolSums(parts, certify.Options{Delta: o.Delta, AnyTime: true, Threads: runtime.GOMAXPROCS(0)}); err != nil {
		return err
	}
	var cost kernel.Sum
	var weight [5]kernel.Sum
	for _, s := range c.samples {
		for _, r := range s.rows {
			w, reward := s.logged[r]/s.log.Propensity[r], -s.log.Cost[r]
			cost.Add(-reward)
			for i, v := range []float64{w, w * w, w * reward, w * w * reward, w * w * reward * reward} {
				weight[i].Add(v)
			}
		}
	}
	out.Units = weigh(c.samples...)
	out.Cost = cost.Value()
	for i := range weight {
		out.Weight[i] = weight[i].Value()
	}
	return nil
}

// Conclude states what [Pool.File] of all rows does, of the parts of all shards, to within the rounding of
// sums. A part that comes twice counts once. Errors: parts of other policies, logs, options or numbers of shards; parts
// of one shard that differ; shards that are not there; what would be withheld of all rows.
func Conclude(parts []Part) (Statement, error) {
	none := Statement{}
	if len(parts) == 0 {
		return none, errors.New("there are no parts to merge")
	}
	first := parts[0]
	all := make([]*Part, first.Shard.Of)
	for i := range parts {
		p := &parts[i]
		if p.On == nil || p.Shard.Number < 1 || p.Shard.Number > p.Shard.Of {
			return none, fmt.Errorf("part %d of a guarantee is none", i+1)
		}
		if p.Shard.Of != first.Shard.Of || p.Of != first.Of || (p.ByFiles == nil) != (first.ByFiles == nil) || p.ByFiles == nil && p.Rows != first.Rows {
			return none, fmt.Errorf("shards %s and %s are of different policies, logs or options, or of another number of shards: merge those of one command", first.Shard, p.Shard)
		}
		at := &all[p.Shard.Number-1]
		if *at != nil && !near(**at, *p) {
			return none, fmt.Errorf("shard %s comes twice with different sums: make it again", p.Shard)
		}
		*at = p
	}
	var lost []string
	var sums certify.Sums
	var cost float64
	var w [5]float64
	var u weights
	rows := first.Rows
	if first.ByFiles != nil {
		rows = 0
	}
	for i, p := range all {
		if p == nil {
			lost = append(lost, fmt.Sprintf("%d/%d", i+1, len(all)))
			continue
		}
		if err := sums.Add(p.Sums); err != nil {
			return none, err
		}
		if p.ByFiles != nil {
			rows += p.Rows
		}
		cost += p.Cost
		for i := range w {
			w[i] += p.Weight[i]
		}
		u.add(p.Units)
	}
	if lost != nil {
		return none, fmt.Errorf("%s missing: run these shards", strings.Join(lost, ", ")+map[bool]string{true: " is", false: " are"}[len(lost) == 1])
	}
	if rows == 0 && first.ByFiles != nil {
		return none, noneLeft()
	}
	if sums.Rows != rows {
		return none, fmt.Errorf("the shards have %d rows together, not the %d that certify: their policies or logs differ", sums.Rows, rows)
	}
	on := *first.On
	if first.ByFiles != nil {
		var err error
		if on, err = concludeFiles(all); err != nil {
			return none, err
		}
	}
	b, err := sums.Bounds()
	if err == nil {
		err = absurd(b)
	}
	if err != nil {
		return none, err
	}
	n := float64(sums.Rows)
	on.Logged = -cost / n
	e := certify.Estimate{Rows: sums.Rows}
	if w[0] > 0 {
		e.Reward, e.Effective, e.Weight = w[2]/w[0], w[0]*w[0]/w[1], w[0]/n
		e.SE = math.Sqrt(max(0, w[4]-2*e.Reward*w[3]+e.Reward*e.Reward*w[1])) / w[0]
	}
	if far := u.farFromOne(max(1, b.Gamma)); far != "" {
		on.Contradicted = far
	}
	return conclude(b, verdict(b), on, &e), nil
}

// near reports parts of one shard that agree but for what processors differ in.
func near(a, b Part) bool {
	close := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, math.Abs(x), math.Abs(y)) }
	if (a.ByFiles != nil && (a.ByFiles.Found == nil || b.ByFiles.Found == nil || !slices.Equal(a.ByFiles.Found.Traces.IDs, b.ByFiles.Found.Traces.IDs))) || a.Sums.Rows != b.Sums.Rows || a.Sums.Units != b.Sums.Units || len(a.Sums.Risk) != len(b.Sums.Risk) || !close(a.Cost, b.Cost) || !close(a.Units.Sum, b.Units.Sum) {
		return false
	}
	for i := range a.Sums.Risk {
		for g := range a.Sums.Risk[i] {
			if !close(a.Sums.Risk[i][g], b.Sums.Risk[i][g]) || !close(a.Sums.Gain[i][g], b.Sums.Gain[i][g]) {
				return false
			}
		}
	}
	return !slices.ContainsFunc([]int{0, 1, 2, 3, 4}, func(i int) bool { return !close(a.Weight[i], b.Weight[i]) })
}
