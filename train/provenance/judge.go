package provenance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
)

// Judge decides what a log may certify. It is safe for concurrent use.
type Judge struct {
	log   *logs.Log
	found inspect.Report
	force bool

	once sync.Once
	how  string // what rows are told apart by
	keys []uint64
}

// New inspects a log and returns its judge. A log whose actions were drawn here, from
// propensities that are known ([logs.FromLabels]), is not inspected.
func New(log *logs.Log) *Judge {
	j := &Judge{log: log}
	if !log.Simulated() {
		j.found = inspect.Inspect(log)
	}
	return j
}

// Force makes the judge certify on a log that the inspection found unusable, too.
func (j *Judge) Force() *Judge {
	j.force = true
	return j
}

// Found is what the inspection found.
func (j *Judge) Found() inspect.Report { return j.found }

// Of is the judge of the same rows as another log holds them, such as with their contexts
// encoded.
func (j *Judge) Of(log *logs.Log) (*Judge, error) {
	if log.Len() != j.log.Len() || log.Hash() != j.log.Hash() {
		return nil, fmt.Errorf("a log of %d rows is not the log of %d rows that was inspected", log.Len(), j.log.Len())
	}
	return &Judge{log: log, found: j.found, force: j.force}, nil
}

// Withheld is the error of a guarantee that is not given, with the reason.
type Withheld struct{ Reason string }

func (e *Withheld) Error() string { return e.Reason }

func withhold(format string, args ...any) error {
	return &Withheld{fmt.Sprintf(format, args...)}
}

// Usable reports why nothing should be learned from the log or said of it, unless
// forced: the worst that the inspection found.
func (j *Judge) Usable() error {
	if j.found.Severity < inspect.Unusable || j.force {
		return nil
	}
	f := j.found.Findings[0]
	return fmt.Errorf("the log cannot be used: %s: %s: %s; %s, or do it all the same by setting force", f.Check, f.Measured, f.Means, f.Do)
}

// Admits reports, as a *Withheld, why the log can certify nothing: its propensities are
// not known, or estimates; rows of different weight; or what the inspection found.
func (j *Judge) Admits() error {
	switch w := j.log.Weight; {
	case j.log.Estimated:
		return withhold("the propensities are estimates: no guarantee holds on this log")
	case j.log.Propensity == nil:
		return withhold("the log has no propensities: name what drew the actions by setting logging-policy")
	case w != nil && slices.Min(w) != slices.Max(w):
		return withhold("rows have different weights, and a guarantee needs identically distributed rows")
	}
	if j.Usable() != nil {
		f := j.found.Findings[0]
		return withhold("the log is unusable: %s: %s: %s", f.Check, f.Measured, f.Means)
	}
	return nil
}

// Posterior certifies π_Q, the mixture of policies of a family under the posterior q, on
// some rows of the log, which may have trained or chosen q. Refused as *Withheld: rows that
// taught q's prior or the reward model; a prior whose mean is not 0 and of which nobody
// says what taught it, see [propensity.Prior]; what Admits refuses.
func (j *Judge) Posterior(pol propensity.Family, q propensity.Posterior, rows []int, o certify.Options) (*Certificate, error) {
	if err := j.Admits(); err != nil {
		return nil, err
	}
	if err := j.untaught(q.Prior.Taught, "prior", rows); err != nil {
		return nil, err
	}
	if p := q.Prior; p.Taught.Len() == 0 && !p.Fixed && slices.ContainsFunc(p.Mean, func(v float64) bool { return v != 0 }) {
		return nil, withhold("the prior's mean is not 0, and it is not said which rows taught it, or that none of this log did")
	}
	if m := o.RewardModel; m != nil {
		if m.Taught.Len() == 0 && !m.Fixed {
			return nil, withhold("it is not said which rows taught the model of the reward, or that none of this log did")
		}
		if err := j.untaught(m.Taught, "reward model", rows); err != nil {
			return nil, err
		}
	}
	b, err := certify.Posterior(pol, q, j.log, rows, o)
	if err != nil {
		return nil, err
	}
	var on *Circumstances
	if !j.log.Simulated() {
		on = &Circumstances{Relation: Same, Refused: j.log.Len() - len(rows)}
	}
	return j.certificate(b, on), nil
}

// dependent reports that rows share groups.
func (j *Judge) dependent() bool {
	f, _ := j.found.Finding("groups")
	return f.Severity > inspect.Fine
}

// untaught refuses rows that taught something.
func (j *Judge) untaught(taught propensity.RowSet, what string, rows []int) error {
	if taught.Len() == 0 {
		return nil
	}
	for _, r := range rows {
		if r < 0 || r >= j.log.Len() {
			return fmt.Errorf("there is no row %d in a log of %d", r, j.log.Len())
		}
	}
	for i, h := range j.log.Hashes(rows) {
		if taught.Has(h) {
			return withhold("row %d taught the %s, and only rows that the %s has not seen may certify", rows[i], what, what)
		}
	}
	return nil
}

// Origin says where a policy that is known by its probabilities comes from. The zero
// value says nothing, and nothing is guaranteed of such a policy.
type Origin struct {
	fixed bool
	file  *policyfile.File
}

// FixedBefore is the caller's word that a policy was fixed before the log was seen, by
// whoever made it and whatever they had seen.
func FixedBefore() Origin { return Origin{fixed: true} }

// FromFile is the origin of a policy file's policy: what the file records.
func FromFile(f *policyfile.File) Origin { return Origin{file: f} }

// Probabilities certifies a fixed policy by π(a_i|x_i) of each row. Refused as *Withheld: a
// policy that rows of the log had a part in, or of which that cannot be told; rows that
// share groups; what Admits refuses.
func (j *Judge) Probabilities(pi []float64, from Origin, delta float64) (*Certificate, error) {
	if err := j.Admits(); err != nil {
		return nil, err
	}
	switch {
	case from.file != nil:
		if reason := j.flatters(from.file); reason != "" {
			return nil, &Withheld{reason}
		}
	case !from.fixed:
		return nil, withhold("it is not said where the policy comes from: rows of this log may have had a part in it")
	case j.dependent():
		return nil, withhold("rows share groups, and a guarantee needs independent rows")
	}
	b, err := certify.Fixed(pi, j.log.Propensity, j.log.Cost, delta)
	if err != nil {
		return nil, err
	}
	return j.certificate(b, nil), nil
}

// flatters says why nothing can be guaranteed of the policy of a file on all rows of the
// log; empty: none had a part in it.
func (j *Judge) flatters(f *policyfile.File) string {
	o, err := j.Compare(f, false)
	switch p := f.History; {
	case j.log.Hash() == p.DataHash:
		return "it was learned from this log, whose rows flatter it: see opl certify"
	case !p.Known:
		return "its file does not say which rows it was learned from: see opl certify"
	case err != nil && p.How != "" && p.How != j.identity():
		return "its file and this log tell rows apart by other means (decision_id or content), and rows that it was learned from flatter it: see opl certify"
	case err != nil || o.Relation != Fresh:
		return "it was learned from rows of this log, which flatter it: see opl certify"
	}
	return ""
}

// Options says how a policy file is certified.
type Options struct {
	Delta float64 // δ; 0: 0.05
	// Fresh says that no row of the log had a part in the policy, where that cannot
	// be seen.
	Fresh bool
}

// File certifies the policy of a file: on the log that it was learned from, on the rows
// that taught neither its prior nor its encoder nor its reward model, or on a later one. On
// a log of which no row had a part in the policy, the policy is fixed before: it is its own
// prior, at a divergence of 0. Where rows had a part in choosing among priors, δ pays for
// that. A softmax policy is certified on such a log alone. Errors: rows that cannot be told
// to be admissible, or none that are; what Admits refuses; actions that the policy does not
// have.
func (j *Judge) File(ctx context.Context, p *policyfile.Policy, o Options) (*Certificate, error) {
	if err := j.Admits(); err != nil {
		return nil, err
	}
	if o.Delta == 0 {
		o.Delta = 0.05
	}
	known, err := j.log.Known(p.Inputs())
	if err != nil {
		return nil, err
	}
	f := p.File()
	past, err := j.Compare(f, o.Fresh)
	if err != nil {
		return nil, err
	}
	on := &Circumstances{Relation: past.Relation}
	if past.Note != "" {
		on.Notes = append(on.Notes, past.Note)
	}
	if n := len(j.log.Names()); known < n {
		on.Notes = append(on.Notes, fmt.Sprintf("the policy does not know %d of the %d names and categories in the contexts, and leaves them out", n-known, n))
	}
	var rows []int
	for i := range j.log.Len() {
		if !past.Taught[i] {
			rows = append(rows, i)
		}
	}
	if on.Refused = j.log.Len() - len(rows); len(rows) == 0 {
		return nil, withhold("all %d rows of the log taught the policy's prior, and none is left to certify it", j.log.Len())
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	one := len(f.Components) == 1 && len(f.Components[0].Layers) == 0 && f.Components[0].Kind == policyfile.Gaussian
	var b certify.Bounds
	var pi, pi0, cost []float64
	switch {
	case past.Relation == Fresh && !one:
		if pi, err = Play(p, j.log); err == nil {
			pi0, cost = j.log.Propensity, j.log.Cost
			b, err = certify.Fixed(pi, pi0, cost, o.Delta)
		}
	case !one:
		return nil, withhold("a softmax policy is one parameter chosen from the data: it can be certified on a log alone that it was not learned from")
	default:
		b, pi, pi0, cost, err = j.gaussian(f, past, rows, o)
	}
	if err != nil {
		return nil, err
	}
	on.Estimate = certify.SelfNormalized(pi, pi0, cost)
	return j.certificate(b, on), nil
}

// gaussian bounds the policy of a file of one gaussian component.
func (j *Judge) gaussian(f *policyfile.File, past Overlap, rows []int, o Options) (b certify.Bounds, pi, pi0, cost []float64, err error) {
	c := &f.Components[0]
	log, err := j.log.Encode(c.Encoder)
	if err == nil {
		log, err = log.WithActions(f.Actions)
	}
	if err != nil {
		return b, nil, nil, nil, err
	}
	pol := propensity.Floor{Family: c.Family(), Epsilon: f.Floor}
	q := propensity.Posterior{Actions: len(f.Actions), Dim: c.Dim(), Mu: slices.Concat(c.Weights...), Sigma: c.Sigma}
	options := certify.Options{Delta: o.Delta, Priors: 1, Threads: runtime.GOMAXPROCS(0)}
	switch {
	case past.Relation == Fresh:
		q.Prior = propensity.Prior{Mean: q.Mu, Scale: q.Sigma}
	case c.Prior == nil:
		return b, nil, nil, nil, errors.New("the policy file has no prior: the policy can be certified on a log alone that it was not learned from")
	default:
		q.Prior = propensity.Prior{Mean: slices.Concat(c.Prior.Mean...), Scale: c.Prior.Scale}
		options.Priors = max(1, f.History.Tried)
	}
	if m := f.RewardModels; len(m) > 0 {
		options.RewardModel = &certify.RewardModel{Theta: slices.Concat(m[0].Weights...), Fixed: true}
		if m[0].Weights == nil {
			options.RewardModel.Theta = slices.Concat(c.Prior.Mean...)
		}
	}
	if b, err = certify.Posterior(pol, q, log, rows, options); err != nil {
		return b, nil, nil, nil, err
	}
	pi, pi0, cost = certify.Logged(pol, q, log, rows)
	return b, pi, pi0, cost, nil
}

// Play computes π(a_i|x_i) of a policy for every row of a log.
func Play(p *policyfile.Policy, log *logs.Log) ([]float64, error) {
	place, err := log.ActionsOf(p.File().Actions)
	if err != nil {
		return nil, err
	}
	var d logs.Decision
	all, pi := make([]float64, len(p.File().Actions)), make([]float64, log.Len())
	for i := range pi {
		log.Decision(i, &d)
		if err := p.Propensities(all, d.Context); err != nil {
			return nil, fmt.Errorf("row %d of the log: %w", d.Row, err)
		}
		pi[i] = all[place[d.Action]]
	}
	return pi, nil
}
