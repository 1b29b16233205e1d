package provenance

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"opl/policies/policyfile"
	"opl/train/inspect"
	"opl/train/logs"
)

// byFiles is what a part has besides of a shard that has read its own files alone: what is to be known of the rows of others.
type byFiles struct {
	Found  *inspect.Part `json:"found"`
	Forced bool          `json:"forced"`
	Unread string        `json:"unread,omitempty"` // of the columns that the policy reads, see Unread
	Groups bool          `json:"groups"`           // rows of the shard that certify share some
	Weight float64       `json:"weight"`           // of each row
	Bets   [][]float64   `json:"bets"`             // log e of bets that rows are known again, see witness.go, by whose rows they are
}

// Share is the judge of a shard's share of the files of a log ([logs.Options.Share]), for [Judge.FilesPart].
func Share(log *logs.Log, gamma float64, shard logs.Shard) (*Judge, error) {
	found, err := inspect.Share(log, gamma, shard)
	if err != nil {
		return nil, err
	}
	j := judge(log, found.Report, false)
	j.share = &byFiles{Found: found}
	return j, nil
}

// FilesPart computes what the rows of a shard's files add to the sums of [Pool.File] of all files, as one log; [Conclude] makes the
// statement. The shard has read nothing else, so that refused are, as *Withheld,
//
//   - rows without decision_id: no shard knows whether a row is in the files of another;
//   - setting fresh, which only the hash of the whole log can contradict, and rows that taught a policy which logged what this one was
//     learned from, as none of a log that did may certify;
//   - what [Judge.Admits] refuses, but for what the inspection found, of which that of all shards decides.
//
// Conclude refuses ids and groups that are in several shards, and asks what the inspections of all shards find together
// ([inspect.Combine]), which is not all that that of one machine does.
func (j *Judge) FilesPart(ctx context.Context, p *policyfile.Policy, o Options) (Part, error) {
	s := j.share
	switch {
	case s == nil:
		return Part{}, fmt.Errorf("provenance: the judge is of no shard's share of files")
	case !s.Found.Complete:
		f := j.found.Findings[0]
		return Part{}, withhold("the log is unusable: %s: %s: %s", f.Check, f.Measured, f.Means)
	case !j.log.HasIDs():
		return Part{}, withhold("a shard by files knows rows of the others' files by decision_id alone, and the log has none: a decision must count once, whatever file it is in; log one, or leave setting shard-by out")
	case o.Fresh:
		return Part{}, withhold("a shard by files does not see whether its rows are of the log that the policy was learned from, which setting fresh is about: leave one of them out")
	}
	s.Forced, j.force = j.force, true // Conclude decides
	defer func() { j.force = s.Forced }()
	s.Weight = 1
	if w := j.log.Weight; len(w) > 0 {
		s.Weight = w[0]
	}
	s.Bets = nil
	out, c, err := Pool{j}.whole(ctx, p, o, s.Found.Shard)
	if err != nil {
		return out, err
	}
	s.Groups, s.Unread = out.grouped, Unread(p.File(), j.log)
	low, high := j.log.RewardRange()
	out.Of = fmt.Sprint(p.Hash(), " ", o.Delta, " ", o.Gamma, " ", j.log.FilesHash, " ", low, " ", high)
	out.ByFiles = s
	return out, out.sum(c, o)
}

// concludeFiles says of the log what all parts by files do, and refuses what no shard could see.
func concludeFiles(all []*Part) (on Circumstances, err error) {
	var found []inspect.Part
	for _, p := range all {
		if p.ByFiles == nil || p.ByFiles.Found == nil || p.ByFiles.Found.Shard != p.Shard {
			return on, fmt.Errorf("shard %s is of none by files", p.Shard)
		}
		found = append(found, *p.ByFiles.Found)
	}
	report, err := inspect.Combine(found)
	if err != nil {
		return on, err
	}
	on = *all[0].On
	on.Rows, on.Refused, on.Notes, on.Doubts, on.Contradicted = 0, 0, nil, nil, ""
	forced, grouped := true, false
	var of, hash uint64
	times := map[string]int{}
	for _, p := range all {
		for _, n := range p.On.Notes {
			times[n]++
		}
	}
	for i, p := range all {
		s := p.ByFiles
		forced, grouped = forced && s.Forced, grouped || s.Groups
		if s.Weight != all[0].ByFiles.Weight {
			return on, withhold("rows of shards %s and %s have different weights, and a guarantee needs identically distributed rows", all[0].Shard, p.Shard)
		}
		if on.Rows += p.On.Rows; s.Unread != "" {
			on.Contradicted = cmp.Or(on.Contradicted, fmt.Sprintf("shard %s: %s", p.Shard, s.Unread))
		}
		if on.Relation != p.On.Relation {
			on.Relation = Overlaps
		}
		if hash = xxhash.Sum64String(p.On.DataHash); i > 0 {
			hash = Hash(of, hash)
		}
		of = hash
		for _, n := range p.On.Notes {
			if times[n] < len(all) {
				n = fmt.Sprintf("shard %s: %s", p.Shard, n)
			} else if i > 0 {
				continue
			}
			on.Notes = append(on.Notes, n)
		}
	}
	ids, groups := inspect.Across(found)
	switch {
	case ids != "":
		return on, withhold("%s: a decision must count once: cut the files so that its rows are in one shard, or leave setting shard-by out", ids)
	case groups != "":
		return on, withhold("%s: rows of a group depend on one another and count as one: cut the files so that they are in one shard, or leave setting shard-by out", groups)
	}
	if report.Severity == inspect.Unusable && !forced {
		f := report.Findings[0]
		return on, withhold("the log is unusable: %s: %s: %s", f.Check, f.Measured, f.Means)
	}
	for _, f := range report.Findings {
		if f.About == inspect.Repeats && f.Severity > inspect.Fine && !slices.ContainsFunc(found, func(p inspect.Part) bool {
			own, _ := p.Report.Finding(f.Check)
			return own.Severity > inspect.Fine // which its shard has judged
		}) {
			return on, withhold("%s: %s: %s; rows of files of several shards seem to belong together: leave setting shard-by out", f.Check, f.Measured, f.Means)
		}
	}
	for _, p := range all {
		if p.Sums.Rows > 0 && p.Sums.Gamma < report.Gamma {
			return on, withhold("all shards together show that propensities are not exact, and shard %s took them for such: run all shards with setting propensity-error %v", p.Shard, report.Gamma)
		}
	}
	on.DataHash = fmt.Sprintf("%016x", of)
	if err := knownAgain(all); err != nil {
		return on, err
	}
	on.doubt(report, "", func(f inspect.Finding) bool { return contradicts(f, grouped) })
	return on, nil
}

// knownAgain refuses rows of all shards that are known as those that had a part in the policy, or in one that logged what it was learned from:
// log e of each bet adds up over rows.
func knownAgain(all []*Part) error {
	first := all[0].ByFiles.Bets
	for _, p := range all {
		if !slices.EqualFunc(p.ByFiles.Bets, first, func(a, b []float64) bool { return len(a) == len(b) && len(a) > 0 }) {
			return fmt.Errorf("shards %s and %s look for other rows that had a part in the policy: make them by one policy file", all[0].Shard, p.Shard)
		}
	}
	for k := range first {
		sums := make([]float64, len(first[k]))
		for _, p := range all {
			for i, v := range p.ByFiles.Bets[k] {
				sums[i] += v
			}
		}
		if e := meanExp(sums); e >= -math.Log(doubt) {
			return withhold("rows that had a part in the policy, or in one that logged what it was learned from, are in this log under other decision ids: their ids were changed, and may not certify: what they are known by agrees in all shards together, which has a probability below 1e-%.0f of rows drawn anew; use a log of later decisions, drawn by other random numbers", math.Floor(min(e/math.Ln10, 300)))
		}
	}
	return nil
}
