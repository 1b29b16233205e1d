package provenance

import (
	"math"
	"slices"

	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
)

// Chunks certifies the mixture of the chunks' policies, and returns its weights: the rows of
// each chunk, and those of all after it, had no part in its policy and its models. Refused as
// *Withheld: a row that had, or that depends on one; what Admits refuses; a log that drifts, for
// rows must be alike.
func (j *Judge) Chunks(chunks []certify.Chunk, o certify.Options) (*Certificate, []float64, error) {
	c, _, weights, err := j.chunks(j.log, chunks, o, Circumstances{Relation: Same})
	return c, weights, err
}

// chunks is Chunks of the log as it is with other actions.
func (j *Judge) chunks(log *logs.Log, chunks []certify.Chunk, o certify.Options, on Circumstances) (*Certificate, trial,
	[]float64, error) {
	if err := j.Admits(); err != nil {
		return nil, trial{}, nil, err
	}
	if j.log.Lists != nil && len(chunks) > 1 {
		return nil, trial{}, nil, withhold("a mixture of policies of chunks draws one of them for each slot, and " +
			"what its lists earn is certified on a later log: set chunks 1 to certify on this one")
	} else if j.log.Lists != nil {
		c := chunks[0]
		o.Models = nil
		if err := j.from(TaughtBy(c.Taught), c.Rows, o); err != nil {
			return nil, trial{}, nil, err
		}
		cert, t, err := j.fixed(log, c.Policy, c.Rows, o, on)
		return cert, t, []float64{1}, err
	}
	if f := j.Drift(); f != nil && len(chunks) > 1 {
		return nil, trial{}, nil, withhold("the log drifts (%s: %s), and a mixture of policies that were learned and "+
			"certified in chunks needs rows that are alike", f.Check, f.Measured)
	}
	var rows []int
	parts := slices.Clone(chunks)
	all := j.sample(nil)
	for k := len(chunks) - 1; k >= 0; k-- {
		c := &parts[k]
		rows = append(rows, c.Rows...)
		o.Models = c.Models
		if err := j.from(TaughtBy(c.Taught), rows, o); err != nil {
			return nil, trial{}, nil, err
		}
		c.Policy = all.noting(log, c.Policy)
	}
	b, weights, err := certify.Chunks(parts, log, j.options(o))
	if err != nil {
		return nil, trial{}, nil, err
	}
	all.rows = rows
	t := j.trial(certify.PoolLog{Log: log, Rows: rows, Models: o.Models}, all, o)
	t.chunks, t.learns = parts, !t.options.AnyTime
	c, err := certificate(b, on, all)
	return c, t, weights, err
}

// Drift returns what the inspection found of drift, of days of the week, too; nil: nothing.
func (j *Judge) Drift() *inspect.Finding {
	for _, f := range j.found.Findings {
		if f.About == inspect.Weeks || f.About == inspect.Drift && f.Severity > inspect.Fine {
			return &f
		}
	}
	return nil
}

// Settled reports that the rewards of the newest rows seem to have arrived, see
// [inspect.Report.Settled].
func (j *Judge) Settled() bool { return j.found.Settled() }

// again certifies the mixture of a file in the chunks that certified it when it was learned from
// this log, as the file records them; nil: it was not learned so.
func (j *Judge) again(f *policyfile.File, o certify.Options, on Circumstances) (*Certificate, trial, error) {
	how, keys := j.log.Identity()
	for _, c := range f.Components {
		if len(f.Components) == 1 || how != f.History.How || !c.Fixed() || len(c.Chosen) == 0 {
			return nil, trial{}, nil
		}
	}
	rowsOf := func(h policyfile.Hashes) (rows []int) {
		set := propensity.NewRowSet(h)
		for i, key := range keys {
			if set.Has(Hash(f.History.Seed, key)) {
				rows = append(rows, i)
			}
		}
		return rows
	}
	var chunks []certify.Chunk
	var shares []float64 // of chunks, by the file
	for k := 0; k < len(f.Components); {
		c := f.Components[k]
		chunk := certify.Chunk{Taught: propensity.NewRowSet(j.log.Hashes(rowsOf(c.Taught)))}
		chunk.Rows = rowsOf(c.Chosen)
		part, share := policyfile.File{Actions: f.Actions, Numbers: f.Numbers, Catalogue: f.Catalogue, Floor: f.Floor,
			RewardMin: f.RewardMin, RewardMax: f.RewardMax}, 0.
		for ; k < len(f.Components) && slices.Equal(f.Components[k].Chosen, c.Chosen) &&
			slices.Equal(f.Components[k].Taught, c.Taught); k++ {
			part.Components = append(part.Components, f.Components[k])
			share += f.Components[k].Weight
		}
		log, err := through(&f.Components[k-1], j.log, chunk.Rows, false)
		if err == nil {
			chunk.Models, err = models(f, k-1, log)
		}
		if err != nil {
			return nil, trial{}, err
		}
		for _, m := range chunk.Models {
			m.Taught, m.Fixed = chunk.Taught, chunk.Taught.Len() == 0
		}
		for i := range part.Components {
			one := &part.Components[i]
			one.Weight, one.Taught, one.Chosen = one.Weight/share, nil, nil
		}
		p, err := policyfile.New(&part)
		if err != nil {
			return nil, trial{}, err
		}
		if chunk.Policy, err = Plays(p, j.log); err != nil {
			return nil, trial{}, err
		}
		chunks, shares = append(chunks, chunk), append(shares, share)
	}
	log, err := named(j.log, f)
	if err != nil {
		return nil, trial{}, err
	}
	cert, t, weights, err := j.chunks(log, chunks, o, on)
	if err != nil {
		return nil, trial{}, err
	}
	for k, w := range weights {
		if math.Abs(w-shares[k]) > 1e-9 {
			return nil, trial{}, withhold("chunk %d of the policy file has the weight %v in the mixture, and %v of "+
				"the rows that certify: nothing is shown of such a mixture on the log that it was learned from; use a "+
				"later one", k+1, shares[k], w)
		}
	}
	return cert, t, nil
}
