package provenance

import (
	"context"
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

	units func() []int32
}

// New inspects a log and returns its judge. A log whose actions were drawn here, from
// propensities that are known ([logs.FromLabels]), is not inspected.
func New(log *logs.Log) *Judge {
	var found inspect.Report
	if !log.Simulated() {
		found = inspect.Inspect(log)
	}
	return judge(log, found, false)
}

func judge(log *logs.Log, found inspect.Report, force bool) *Judge {
	j := &Judge{log: log, found: found, force: force}
	j.units = sync.OnceValue(j.depend)
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
	return judge(log, j.found, j.force), nil
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
// not known, or estimates; decisions are missing from it; rows of different weight; or what the inspection found.
func (j *Judge) Admits() error {
	switch w := j.log.Weight; {
	case j.log.Estimated:
		return withhold("the propensities are estimates: no guarantee holds on this log")
	case j.log.Unrewarded > 0:
		return withhold("%s", NoRewards(j.log.Unrewarded))
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

// NoRewards says that nothing is guaranteed on a log that decisions are missing from, since
// their rewards did not come.
func NoRewards(n int) string {
	return fmt.Sprintf("%d decisions had no reward and were left out: no guarantee holds, as whether a reward comes may depend on what was done, or on what came of it; join them with one by setting missing-reward", n)
}

// Posterior certifies π_Q, the mixture of policies of a family under the posterior q, on
// some rows of the log, which may have trained or chosen q. Refused as *Withheld: rows that
// taught q's prior or a reward model, or depend on such rows; a prior whose mean is not 0 and of
// which nobody says what taught it, see [propensity.Prior]; what Admits refuses.
func (j *Judge) Posterior(pol propensity.Family, q propensity.Posterior, rows []int, o certify.Options) (*Certificate, error) {
	o = j.options(o)
	if err := j.admits(q.Prior.Taught, "prior", rows, o); err != nil {
		return nil, err
	}
	if p := q.Prior; p.Taught.Len() == 0 && !p.Fixed && slices.ContainsFunc(p.Mean, func(v float64) bool { return v != 0 }) {
		return nil, withhold("the prior's mean is not 0, and it is not said which rows taught it, or that none of this log did")
	}
	b, err := certify.Posterior(pol, q, j.log, rows, o)
	if err != nil {
		return nil, err
	}
	return j.certificate(b, Circumstances{Relation: Same}, nil, rows)
}

// options are those of a guarantee on the log: rows count as one by units, and propensities
// that the inspection found rounded are known up to that.
func (j *Judge) options(o certify.Options) certify.Options {
	o.Group = j.Units()
	o.Gamma = max(o.Gamma, j.found.Gamma, 1)
	return o
}

// admits is Admits for rows that may not have taught something, nor a reward model.
func (j *Judge) admits(taught propensity.RowSet, what string, rows []int, o certify.Options) error {
	if err := j.Admits(); err != nil {
		return err
	}
	if err := j.untaught(taught, what, rows); err != nil {
		return err
	}
	for _, m := range o.Models {
		if m.Taught.Len() == 0 && !m.Fixed {
			return withhold("it is not said which rows taught the model of the reward, or that none of this log did")
		}
		if err := j.untaught(m.Taught, "reward model", rows); err != nil {
			return err
		}
	}
	return nil
}

// untaught refuses rows that taught something, or share a unit with rows that did.
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
	if j.Units() == nil {
		return nil
	}
	seen := make([]bool, j.log.Len())
	for i, h := range j.log.Hashes(every(j.log.Len())) {
		seen[i] = taught.Has(h)
	}
	if kept := j.Apart(rows, seen); len(kept) < len(rows) {
		return withhold("%d rows depend on rows that taught the %s: they share a group, an id or a content with them", len(rows)-len(kept), what)
	}
	return nil
}

// every is 0 … n−1.
func every(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// Origin says where a fixed policy comes from. The zero value says nothing, and nothing is
// guaranteed of such a policy.
type Origin struct {
	fixed  bool
	file   *policyfile.File
	taught propensity.RowSet
}

// FixedBefore is the caller's word that a policy was fixed before the log was seen, by
// whoever made it and whatever they had seen.
func FixedBefore() Origin { return Origin{fixed: true} }

// FromFile is the origin of a policy file's policy: what the file records.
func FromFile(f *policyfile.File) Origin { return Origin{file: f} }

// TaughtBy is the origin of a policy that rows of the log, and nothing later, had a part
// in: they may not certify it. They are told by [logs.Log.Hashes].
func TaughtBy(rows propensity.RowSet) Origin { return Origin{taught: rows, fixed: rows.Len() == 0} }

// Fixed certifies a policy on rows that had no part in it. pi writes π(·|x_i) [K] to dst for
// row i of the log. Refused as *Withheld: rows that taught the policy or a reward model, or
// depend on such rows; a policy of which that cannot be told; what Admits refuses.
func (j *Judge) Fixed(pi func(dst []float64, i int) error, from Origin, rows []int, o certify.Options) (*Certificate, error) {
	if err := j.from(from, rows, o); err != nil {
		return nil, err
	}
	return j.fixed(j.log, pi, rows, o, Circumstances{Relation: Same})
}

// fixed is Fixed of rows that are admitted, as the log holds them with other actions.
func (j *Judge) fixed(log *logs.Log, pi func(dst []float64, i int) error, rows []int, o certify.Options, on Circumstances) (*Certificate, error) {
	logged := make([]float64, log.Len())
	o = j.options(o)
	b, err := certify.Fixed(func(dst []float64, i int) error {
		err := pi(dst, i)
		logged[i] = dst[log.Action[i]]
		return err
	}, nil, log, rows, o)
	if err != nil {
		return nil, err
	}
	return j.certificate(b, on, logged, rows)
}

// Probabilities certifies a fixed policy by π(a_i|x_i) of each row, on all rows. Refused as
// [Judge.Fixed].
func (j *Judge) Probabilities(pi []float64, from Origin, o certify.Options) (*Certificate, error) {
	rows := every(j.log.Len())
	if err := j.from(from, rows, o); err != nil {
		return nil, err
	}
	b, err := certify.Fixed(nil, pi, j.log, rows, j.options(o))
	if err != nil {
		return nil, err
	}
	return j.certificate(b, Circumstances{Relation: Fresh}, pi, rows)
}

// from refuses rows that had a part in a policy of an origin.
func (j *Judge) from(o Origin, rows []int, options certify.Options) error {
	if o.file != nil {
		if err := j.Admits(); err != nil {
			return err
		}
		if reason := j.flatters(o.file); reason != "" {
			return &Withheld{reason}
		}
	} else if !o.fixed && o.taught.Len() == 0 {
		if err := j.Admits(); err != nil {
			return err
		}
		return withhold("it is not said where the policy comes from: rows of this log may have had a part in it")
	}
	return j.admits(o.taught, "policy", rows, options)
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
	Gamma float64 // Γ, the factor that propensities are known up to; 0: 1
	// Fresh says that no row of the log had a part in the policy, where that cannot
	// be seen.
	Fresh bool
}

// File certifies the policy of a file: on the log that it was learned from or a later one,
// on rows that taught neither it nor its reward models. Where rows chose a gaussian
// posterior around a prior that they did not teach, they certify too, and the policy pays for its
// divergence from the prior, and for a choice among priors. Any other policy is certified on
// rows that had no part in it. Errors: rows that cannot be told to be admissible, or none that
// are; what Admits refuses; actions that the policy does not have.
func (j *Judge) File(ctx context.Context, p *policyfile.Policy, o Options) (*Certificate, error) {
	if err := j.Admits(); err != nil {
		return nil, err
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
	on := Circumstances{Relation: past.Relation}
	if past.Note != "" {
		on.Notes = append(on.Notes, past.Note)
	}
	if n := len(j.log.Names()); known < n {
		on.Notes = append(on.Notes, fmt.Sprintf("the policy does not know %d of the %d names and categories in the contexts, and leaves them out", n-known, n))
	}
	c := &f.Components[0]
	one := len(f.Components) == 1 && len(c.Layers) == 0 && c.Kind == policyfile.Gaussian && c.Prior != nil
	rows, chosen := j.Apart(every(j.log.Len()), past.Taught), false
	for _, r := range rows { // of an argmax, they certified it, and changed nothing
		chosen = chosen || past.Chosen[r] && !(len(f.Components) == 1 && c.Kind == policyfile.ArgMax)
	}
	if chosen && !one {
		rows, chosen = j.Apart(rows, past.Chosen), false
	}
	if len(rows) == 0 {
		return nil, withhold("all %d rows of the log had a part in the policy, and none is left to certify it", j.log.Len())
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	log, err := j.log.Encode(c.Encoder)
	if err == nil {
		log, err = log.WithActions(f.Actions)
	}
	if err != nil {
		return nil, err
	}
	options := j.options(certify.Options{Delta: o.Delta, Gamma: o.Gamma, Priors: 1, Threads: runtime.GOMAXPROCS(0)})
	for _, m := range f.RewardModels {
		theta, link := slices.Concat(m.Weights...), certify.SoftmaxLink
		if m.Weights == nil {
			theta = slices.Concat(c.Prior.Mean...)
		}
		if m.Kind == policyfile.Logistic {
			link = certify.LogisticLink
		}
		options.Models = append(options.Models, certify.Linear(m.Kind, theta, log, link))
	}
	if !chosen {
		var d logs.Decision
		return j.fixed(log, func(dst []float64, i int) error {
			j.log.Decision(i, &d)
			if err := p.Propensities(dst, d.Context); err != nil {
				return fmt.Errorf("row %d of the log: %w", d.Row, err)
			}
			return nil
		}, rows, options, on)
	}
	pol := propensity.Floor{Family: c.Family(), Epsilon: f.Floor}
	q := propensity.Posterior{Actions: len(f.Actions), Dim: c.Dim(), Mu: slices.Concat(c.Weights...), Sigma: c.Sigma,
		Prior: propensity.Prior{Mean: slices.Concat(c.Prior.Mean...), Scale: c.Prior.Scale}}
	options.Priors = max(1, f.History.Tried)
	b, err := certify.Posterior(pol, q, log, rows, options)
	if err != nil {
		return nil, err
	}
	logged := make([]float64, log.Len())
	pi, _, _ := certify.Logged(pol, q, log, rows)
	for i, r := range rows {
		logged[r] = pi[i]
	}
	return j.certificate(b, on, logged, rows)
}
