package provenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
)

// Partial is what a shard that has read its own files alone says of the policy of a file, at any time: sums over the
// rows that certify, and what is to be known of the rows of other shards. See [Judge.Partial] and [Conclude].
type Partial struct {
	Shard     logs.Shard       `json:"shard"`            // which part of the files this is
	Of        string           `json:"of"`               // the policy file's hash, the log's files and the options
	Rows      int              `json:"rows"`             // that certify
	Sums      certify.Sums     `json:"sums"`             // of the bounds
	Cost      float64          `json:"cost"`             // Σ c
	Weight    [5]float64       `json:"weight"`           // Σ w, w², w r, w² r, w² r², w = π/π₀
	Top       []float64        `json:"top"`              // the largest w, in order, see certify.Top
	Clusters  weights          `json:"clusters"`         // sums over groups of rows
	On        *Circumstances   `json:"on"`               // where policy and log come from
	Found     *inspect.Partial `json:"found"`            // inspection of the shard
	Forced    bool             `json:"forced"`           // findings that forbid a guarantee are passed over
	Unread    string           `json:"unread,omitempty"` // of the columns that the policy reads, see Unread
	Groups    bool             `json:"groups"`           // rows of the shard that certify share some
	RowWeight float64          `json:"row_weight"`       // of each row
	// log e of bets that rows are known again, see fingerprint.go, by whose rows they are
	Bets [][]float64 `json:"bets"`
}

// OfShard inspects a shard's files of a log ([logs.Options.Share]) and returns their judge, for [Judge.Partial].
func OfShard(log *logs.Log, gamma float64, shard logs.Shard) (*Judge, error) {
	found, err := inspect.OfShard(log, gamma, shard)
	if err != nil {
		return nil, err
	}
	j := judge(log, found.Report, false)
	j.partial = &Partial{Shard: shard, Found: found}
	return j, nil
}

// Partial computes what the rows of a shard's files add to the sums of [Pool.File] of all files, as one log; [Conclude]
// makes the statement. The shard has read nothing else, so that refused are, as *Withheld,
//
//   - rows without decision_id: no shard knows whether a row is in the files of another;
//   - setting fresh, which only the hash of the whole log can contradict, and rows that taught a policy which logged
//     what this one was learned from, as none of a log that did may certify;
//   - what [Judge.Admits] refuses, but for what the inspection found: the inspection of all shards decides.
//
// Conclude refuses ids and groups that are in several shards, and asks what the inspections of all shards find together
// ([inspect.Combine]), which is not all that that of one machine does.
func (j *Judge) Partial(ctx context.Context, p *policyfile.Policy, o Options) (Partial, error) {
	if j.partial == nil {
		return Partial{}, errors.New("provenance: the judge is of no shard's files")
	}
	out := *j.partial
	switch {
	case !out.Found.Complete:
		return out, unusable("the log is unusable", j.found.Findings[0])
	case !j.log.HasIDs():
		return out, withhold("a shard by files knows rows of the others' files by decision_id alone, and the log " +
			"has none: a decision must count once, whatever file it is in; log one, or leave setting shard out")
	case o.Fresh:
		return out, withhold("a shard by files does not see whether its rows are of the log that the policy was " +
			"learned from, which setting fresh is about: leave one of them out")
	}
	out.Forced, j.force = j.force, true // Conclude decides
	defer func() { j.force = out.Forced }()
	j.partial.Bets = nil
	c, err := Pool{j}.pooled(ctx, p, o)
	if err != nil {
		return out, err
	}
	out.Rows, out.On, out.Bets, out.RowWeight = c.rows, &c.on, j.partial.Bets, rowWeight(j.log)
	groups := map[int32]bool{}
	for _, r := range c.samples[0].rows {
		if g := j.log.Group; g != nil && g[r] >= 0 {
			out.Groups = out.Groups || groups[g[r]]
			groups[g[r]] = true
		}
	}
	out.On.of(out.Groups, c.samples...)
	out.Unread = Unread(p.File(), j.log)
	low, high := j.log.RewardRange()
	out.Of = fmt.Sprint(p.Hash(), " ", o.Delta, " ", o.Gamma, " ", j.log.FilesHash, " ", j.log.Least, " ", low, " ", high)
	return out, out.sum(&c)
}

// sum adds up what the sample's rows say.
func (out *Partial) sum(c *pooled) (err error) {
	logs := withRows(c.parts)
	if len(logs) == 0 {
		return nil
	}
	if out.Sums, err = certify.PoolSums(logs, c.options); err != nil {
		return err
	}
	var cost kernel.Sum
	weight, all := make(kernel.Sums, len(out.Weight)), []float64(nil)
	for _, s := range c.samples {
		for _, r := range s.rows {
			w, reward := s.logged[r]/s.log.Propensity[r], -s.log.Cost[r]
			cost.Add(-reward)
			all = append(all, w)
			weight.Add([]float64{w, w * w, w * reward, w * w * reward, w * w * reward * reward})
		}
	}
	out.Top, out.Clusters = certify.Top(slices.Values(all), out.Shard.Of*len(all)), weigh(c.samples...)
	out.Cost = cost.Value()
	out.Weight = [5]float64(weight.Values())
	return nil
}

// Conclude adds up the partial results of all shards and states what [Pool.File] would state of all
// rows, up to the rounding of sums. A shard that comes twice counts once. Errors: partial results
// of different policies, logs, options or numbers of shards; two different results of one shard;
// missing shards; whatever would be withheld on all rows.
func Conclude(partials []Partial) (Statement, error) {
	none := Statement{}
	all, err := byNumber(partials)
	if err != nil {
		return none, err
	}
	var sums certify.Sums
	var cost float64
	var w [5]float64
	var top []float64
	var clusters weights
	rows := 0
	for _, p := range all {
		if err := sums.Add(p.Sums); err != nil {
			return none, err
		}
		rows, cost = rows+p.Rows, cost+p.Cost
		floats.Add(w[:], p.Weight[:])
		top = append(top, p.Top...)
		clusters.add(p.Clusters)
	}
	switch {
	case rows == 0:
		return none, noneLeft()
	case sums.Rows != rows:
		return none, fmt.Errorf("the shards have %d rows together, not the %d that certify: their policies or "+
			"logs differ", sums.Rows, rows)
	}
	on, err := together(all)
	if err != nil {
		return none, err
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
		e.Tail = certify.Tail(certify.Top(slices.Values(top), sums.Rows), sums.Rows)
		e.SE = math.Sqrt(max(0, w[4]-2*e.Reward*w[3]+e.Reward*e.Reward*w[1])) / w[0]
		e.Widen(w[3] == w[4])
	}
	on.Contradicted = cmp.Or(clusters.farFromOne(max(1, b.Gamma)), on.Contradicted)
	return conclude(b, verdict(b), on, &e), nil
}

// byNumber returns the partial results of all shards by their numbers.
func byNumber(partials []Partial) ([]*Partial, error) {
	return inspect.ByNumber(partials, func(p *Partial) inspect.Part {
		out := inspect.Part{Shard: p.Shard, Kind: "a guarantee", Sound: p.On != nil && p.Found != nil &&
			p.Found.Shard == p.Shard, Of: []any{p.Of}, Named: "policies, logs or options: merge those of one command"}
		if out.Sound {
			s := p.Sums
			out.IDs, out.Sums = p.Found.Traces.IDs, append([]float64{float64(s.Rows), float64(s.Clusters), p.Cost,
				p.Clusters.Sum}, p.Weight[:]...)
			for _, sums := range slices.Concat(s.Risk, s.Gain) {
				out.Sums = append(out.Sums, sums...)
			}
		}
		return out
	})
}

// together says of the log what all shards do, and refuses what none of them could see.
func together(all []*Partial) (on Circumstances, err error) {
	var found []inspect.Partial
	for _, p := range all {
		found = append(found, *p.Found)
	}
	report, err := inspect.Combine(found)
	if err != nil {
		return on, err
	}
	on = *all[0].On
	on.Rows, on.Refused, on.Notes, on.Doubts, on.Contradicted = 0, 0, nil, nil, ""
	forced, grouped := true, false
	var of, hash uint64
	var notes [][]string
	for i, p := range all {
		forced, grouped = forced && p.Forced, grouped || p.Groups
		if p.RowWeight != all[0].RowWeight {
			return on, withhold("rows of shards %s and %s have different weights, and a guarantee needs "+
				"identically distributed rows", all[0].Shard, p.Shard)
		}
		if on.Rows += p.On.Rows; p.Unread != "" {
			on.Contradicted = cmp.Or(on.Contradicted, fmt.Sprintf("shard %s: %s", p.Shard, p.Unread))
		}
		if on.Relation != p.On.Relation {
			on.Relation = Overlaps
		}
		if on.Among != p.On.Among {
			on.Among = policyfile.Sets
		}
		if hash = xxhash.Sum64String(p.On.DataHash); i > 0 {
			hash = Hash(of, hash)
		}
		of = hash
		notes = append(notes, p.On.Notes)
	}
	on.Notes = inspect.MergeNotes(notes)
	ids, groups := inspect.Across(found)
	const cut = "%s: %s: cut the files so that %s in one shard, or leave setting shard out"
	switch {
	case ids != "":
		return on, withhold(cut, ids, "a decision must count once", "its rows are")
	case groups != "":
		return on, withhold(cut, groups, "rows of a group depend on one another and count as one", "they are")
	}
	if report.Severity == inspect.Unusable && !forced {
		return on, unusable("the log is unusable", report.Findings[0])
	}
	for _, f := range report.Findings {
		if f.About == inspect.Repeats && f.Severity > inspect.Fine &&
			!slices.ContainsFunc(found, func(p inspect.Partial) bool {
				own, _ := p.Report.Finding(f.Check)
				return own.Severity > inspect.Fine // which its shard has judged
			}) {
			return on, withhold("%s: %s: %s; rows of files of several shards seem to belong together: leave "+
				"setting shard out", f.Check, f.Measured, f.Means)
		}
	}
	for _, p := range all {
		if p.Sums.Rows > 0 && p.Sums.Gamma < report.Gamma {
			return on, withhold("all shards together show that propensities are not exact, and shard %s took "+
				"them for such: run all shards with setting propensity-error %v", p.Shard, report.Gamma)
		}
	}
	on.DataHash = fmt.Sprintf("%016x", of)
	if err := knownAgain(all); err != nil {
		return on, err
	}
	on.doubt(report, "", func(f inspect.Finding) bool { return contradicts(f, grouped) })
	return on, nil
}

// knownAgain refuses rows of all shards that are known as those that had a part in the policy, or in one that logged
// what it was learned from: log e of each bet adds up over rows.
func knownAgain(all []*Partial) error {
	first := all[0].Bets
	for _, p := range all {
		if !slices.EqualFunc(p.Bets, first, func(a, b []float64) bool { return len(a) == len(b) && len(a) > 0 }) {
			return fmt.Errorf("shards %s and %s look for other rows that had a part in the policy: make them by "+
				"one policy file", all[0].Shard, p.Shard)
		}
	}
	for k := range first {
		sums := make([]float64, len(first[k]))
		for _, p := range all {
			floats.Add(sums, p.Bets[k])
		}
		if e := meanExp(sums); e >= -math.Log(falseAlarm) {
			return withhold("rows that had a part in the policy, or in one that logged what it was learned from, are "+
				"in this log under other decision ids: their ids were changed, and may not certify: what they are "+
				"known by agrees in all shards together, which has a probability below 1e-%.0f of rows drawn anew; "+
				"use a log of later decisions, drawn by other random numbers", math.Floor(min(e/math.Ln10, 300)))
		}
	}
	return nil
}
