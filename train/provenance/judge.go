package provenance

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/online"
)

// Judge decides what a log may certify. It is safe for concurrent use.
type Judge struct {
	log   *logs.Log
	found inspect.Report
	force bool

	clusters func() []int32
	among    func() string // see Among
	partial  *Partial      // of a shard that has read its own files alone
}

// New inspects a log and returns its judge. A log whose actions were drawn here, from
// propensities that are known ([logs.FromLabels]), is not inspected.
func New(log *logs.Log) *Judge { return Within(log, 1) }

// Within is New of a log whose propensities are known up to a factor gamma ≥ 1: it is inspected as
// such ([inspect.Within]), and all that is certified holds for all propensities within that factor.
func Within(log *logs.Log, gamma float64) *Judge {
	found := inspect.Report{Gamma: gamma}
	if !log.Simulated() {
		found = inspect.Within(log, gamma)
	}
	return judge(log, found, false)
}

func judge(log *logs.Log, found inspect.Report, force bool) *Judge {
	j := &Judge{log: log, found: found, force: force}
	j.clusters = sync.OnceValue(j.depend)
	j.among = sync.OnceValue(func() string { return Among(log) })
	return j
}

// Among says what the decisions of a log were among, as [policyfile.File.Among] does. Of a list, all slots choose among
// what the first offers.
func Among(log *logs.Log) string {
	if log.Choices == nil {
		return ""
	}
	c, rows := log.Catalogue(), logs.Every(log.Len())
	if log.Lists != nil {
		rows = log.Lists.Starts()
		rows = rows[:len(rows)-1]
	}
	if c == nil || slices.ContainsFunc(rows, func(i int) bool { return log.Options(i) < len(c.Actions) }) {
		return policyfile.Sets
	}
	if log.Among != "" {
		return log.Among
	}
	served, err := c.Served()
	if err != nil { // no server takes such a catalogue
		return policyfile.Sets
	}
	return served.Hash
}

// Force makes the judge certify on a log that the inspection found unusable, too.
func (j *Judge) Force() *Judge {
	j.force = true
	return j
}

// Found returns what the inspection found.
func (j *Judge) Found() inspect.Report { return j.found }

// Elsewhere reports that a policy's file says that it was learned from another log, of which rows, or their groups, may
// be in this one.
func (j *Judge) Elsewhere(from Origin) bool {
	return from.file != nil && from.file.History.Known && from.file.History.DataHash != j.log.Hash()
}

// Subset returns the judge of some of the rows, of which the inspection of all says what it did.
func (j *Judge) Subset(rows []int) *Judge { return judge(j.log.Subset(rows), j.found, j.force) }

// Of returns the judge of the same rows in another form of the log, such as with encoded contexts.
func (j *Judge) Of(log *logs.Log) (*Judge, error) {
	if log.Len() != j.log.Len() || log.Hash() != j.log.Hash() {
		return nil, fmt.Errorf("a log of %d rows is not the log of %d rows that was inspected", log.Len(), j.log.Len())
	}
	return judge(log, j.found, j.force), nil
}

// Withheld is the error of a guarantee that is not given, with the reason.
type Withheld struct{ Reason string }

// Error returns the reason.
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
	return fmt.Errorf("the log cannot be used: %s: %s: %s; %s; to go on anyway: setting force", f.Check,
		f.Measured, f.Means, f.Do)
}

// Admits reports, as a *Withheld, why the log can certify nothing: its propensities are
// not known, or estimates; decisions are missing from it; rows of different weight; or what the inspection found.
func (j *Judge) Admits() error {
	switch w := j.log.Weight; {
	case j.log.Estimated:
		return withhold("the propensities are estimates: no guarantee holds on this log")
	case j.log.Unrewarded > 0:
		return withhold("%s", NoRewards(j.log.Unrewarded))
	case j.log.Propensity == nil && !j.log.Lists.Jointly():
		return withhold("%v", j.log.RequirePropensities())
	case w != nil && slices.Min(w) != slices.Max(w):
		return withhold("rows have different weights, and a guarantee needs identically distributed rows")
	}
	if j.Usable() != nil {
		return unusable("the log is unusable", j.found.Findings[0])
	}
	return nil
}

// unusable withholds what a finding makes meaningless.
func unusable(what string, f inspect.Finding) error {
	return withhold("%s: %s: %s: %s", what, f.Check, f.Measured, f.Means)
}

// NoRewards says that nothing is guaranteed on a log that decisions are missing from, since
// their rewards did not come.
func NoRewards(n int) string {
	return fmt.Sprintf("%d decisions had no reward and were left out: no guarantee holds, as whether a reward "+
		"comes may depend on what was done, or on what came of it; join them with one by setting missing-reward", n)
}

// Posterior certifies π_Q, the mixture of policies of a family under the posterior q, on
// some rows of the log, which may have trained or chosen q. Refused as *Withheld: rows that
// taught q's prior or a reward model, or depend on such rows; a prior whose mean is not 0 and of
// which nobody says what taught it, see [propensity.Prior]; what Admits refuses.
func (j *Judge) Posterior(pol propensity.Family, q propensity.Posterior, rows []int,
	o certify.Options) (*Certificate, error) {
	o = j.options(o)
	if err := j.admits(q.Prior.Taught, "prior", rows, o); err != nil {
		return nil, err
	}
	if p := q.Prior; p.Taught.Len() == 0 && !p.Fixed &&
		slices.ContainsFunc(p.Mean, func(v float64) bool { return v != 0 }) {
		return nil, withhold("the prior's mean is not 0, and it is not said which rows taught it, or that none of " +
			"this log did")
	}
	b, err := certify.Posterior(pol, q, j.log, rows, o)
	if err != nil {
		return nil, err
	}
	return certificate(b, Circumstances{Relation: Same}, sample{Judge: j, rows: rows})
}

// options adds to options what the log implies: rows of a cluster count as one, and Γ is at least what the inspection
// found propensities to be rounded by.
func (j *Judge) options(o certify.Options) certify.Options {
	if o.Clusters = j.Clusters(); o.AnyTime { // see Pool: what joins clusters may come after a look
		o.Clusters = nil
	}
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

// untaught refuses rows that taught something, or share a cluster with rows that did.
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
			return withhold("row %d taught the %s, and only rows that the %s has not seen may certify", rows[i],
				what, what)
		}
	}
	if j.Clusters() == nil {
		return nil
	}
	seen := make([]bool, j.log.Len())
	_, hashes := j.log.Identity()
	for i, h := range hashes {
		seen[i] = taught.Has(h)
	}
	if kept := j.Apart(rows, seen); len(kept) < len(rows) {
		return withhold("%d rows depend on rows that taught the %s: they share a group, an id or a content with "+
			"them", len(rows)-len(kept), what)
	}
	return nil
}

// Origin says where a fixed policy comes from. The zero value says nothing, and nothing is
// guaranteed of such a policy.
type Origin struct {
	fixed  bool
	file   *policyfile.File
	taught propensity.RowSet
}

// FixedBefore takes the caller's word that a policy was fixed before the log was seen, by whoever
// made it and whatever they had seen. Nothing checks it.
func FixedBefore() Origin { return Origin{fixed: true} }

// FromFile returns the origin of a policy file's policy: what the file records.
func FromFile(f *policyfile.File) Origin { return Origin{file: f} }

// TaughtBy makes the origin of a policy in which rows of the log had a part, and nothing later:
// they may not certify it. Rows are known by [logs.Log.Hashes].
func TaughtBy(rows propensity.RowSet) Origin { return Origin{taught: rows, fixed: rows.Len() == 0} }

// Fixed certifies a policy on rows that had no part in it. pi writes π(·|x_i) of the actions that
// row i of the log offers to dst. Refused as *[Withheld]: rows that taught the policy or a reward
// model, or depend on such rows; a policy whose origin says nothing; what [Judge.Admits] refuses.
// At any time only those rows certify that a [Pool] of this log would take.
func (j *Judge) Fixed(pi certify.Policy, from Origin, rows []int, o certify.Options) (*Certificate, error) {
	if err := j.from(from, rows, o); err != nil {
		return nil, err
	}
	c, _, err := j.fixed(j.log, pi, rows, o, Circumstances{Relation: Same})
	return c, err
}

// fixed certifies a fixed policy on rows that the judge has admitted. The log may be one with the same rows and other
// actions, such as those of the policy's catalogue.
func (j *Judge) fixed(log *logs.Log, pi certify.Policy, rows []int, o certify.Options,
	on Circumstances) (*Certificate, trial, error) {
	rows, err := j.lasting(rows, o, &on)
	if err != nil {
		return nil, trial{}, err
	}
	s := j.sample(rows)
	t := j.trial(certify.PoolLog{Log: log, Pi: s.noting(log, pi), Rows: rows, Models: o.Models}, s, o)
	c, err := t.certificate(on)
	return c, t, err
}

// trial prepares a policy to be certified on rows of the log, or on its lists.
func (j *Judge) trial(p certify.PoolLog, s sample, o certify.Options) trial {
	o = j.options(o)
	p.Gamma, p.Clusters = o.Gamma, o.Clusters
	t := trial{options: o}
	if j.log.Lists != nil {
		p, s, t.err = j.lists(p, s)
		t.gamma, t.options.Gamma, t.options.Clusters = o.Gamma, 1, p.Clusters
	}
	t.parts, t.samples = []certify.PoolLog{p}, []sample{s}
	return t
}

// certificate certifies the reward.
func (t trial) certificate(on Circumstances) (*Certificate, error) {
	if t.err != nil {
		return nil, t.err
	}
	b, err := t.bounds(t.parts, t.options)
	if err != nil {
		return nil, err
	}
	if t.gamma > 1 {
		b.Gamma = t.gamma
	}
	return certificate(b, on, t.samples...)
}

// lasting returns the rows that count at any time, as a Pool of this log takes them; for one look it returns all.
func (j *Judge) lasting(rows []int, o certify.Options, on *Circumstances) ([]int, error) {
	if !o.AnyTime {
		return rows, nil
	}
	out := slices.Repeat([]bool{true}, j.log.Len())
	for _, r := range rows {
		if r < 0 || r >= len(out) {
			return nil, fmt.Errorf("there is no row %d in a log of %d", r, len(out))
		}
		out[r] = false
	}
	kept, _, notes, err := Pool{j}.lasting(context.Background(), [][]bool{out}, [][]bool{nil})
	if err != nil {
		return nil, err
	}
	on.Notes = append(on.Notes, notes...)
	return kept[0], nil
}

// Target certifies a fixed policy on all rows: pi writes π(·|x_i) of the actions that row i offers
// to dst; nil: logged has π(a_i|x_i) of each row alone, and may be nil with pi. Refused as [Judge.Fixed]. If the log has
// all propensities, too, and the statement is for one look, a model learned from rows before
// ([online.Learn]) makes the bound tighter. For a target that is better, Target also finds the
// strength. Requirements of other outcomes make the certificate's Decision, as do limits of the target's file, which
// are not tested unless they are among the requirements.
func (j *Judge) Target(pi certify.Policy, logged []float64, from Origin, o certify.Options,
	requirements ...Requirement) (*Certificate, error) {
	on, rows := Circumstances{Relation: Fresh}, logs.Every(j.log.Len())
	err := j.from(from, rows, o)
	if from.file != nil {
		on.Contradicted = Unread(from.file, j.log)
	}
	if err == nil {
		rows, err = j.lasting(rows, o, &on)
	}
	if err != nil {
		return nil, err
	}
	o = j.options(o)
	if pi != nil && logged == nil {
		if logged, err = taken(func() certify.Policy { return pi }, j.log, rows, 1); err != nil {
			return nil, err
		}
	}
	if pi != nil && !o.LoggedOnly(j.log) && !o.AnyTime && j.log.Lists == nil {
		m, err := online.Learn(j.log, rows, o.Clusters, logged)
		if err != nil {
			return nil, err
		}
		o.Models = append(slices.Clip(o.Models), m)
	}
	s, noted := sample{Judge: j, rows: rows, logged: logged}, pi
	if pi != nil {
		s = j.sample(rows)
		copy(s.logged, logged) // for where no model asks for all
		noted = s.noting(j.log, pi)
	}
	t := j.trial(certify.PoolLog{Log: j.log, Pi: noted, Logged: logged, Rows: rows, Models: o.Models}, s, o)
	t.learns = pi != nil && !o.AnyTime
	c, err := t.certificate(on)
	asked := Options{Requirements: requirements, file: from.file}
	if from.file != nil {
		asked.Untested = Untested(from.file, requirements)
	}
	c, err = c.decide(t, asked, err)
	if err == nil && j.log.Lists == nil && c.statement.Proven() && !o.AnyTime && c.statement.Circumstances != nil {
		if o.LoggedOnly(j.log) { // no model is asked there, so the policy need not play again for every Γ
			noted, logged = nil, s.logged
		}
		c.statement.Strength, err = certify.Strength(noted, logged, j.log, rows, o)
	}
	return c, err
}

// from refuses rows that had a part in a policy, by its origin.
func (j *Judge) from(o Origin, rows []int, options certify.Options) error {
	if o.file != nil {
		if err := j.Admits(); err != nil {
			return err
		}
		if reason := j.flatters(o.file); reason != "" {
			return &Withheld{reason + ": see opl certify"}
		}
	} else if !o.fixed && o.taught.Len() == 0 {
		if err := j.Admits(); err != nil {
			return err
		}
		return withhold("it is not said where the policy comes from: rows of this log may have had a part in it")
	}
	return j.admits(o.taught, "policy", rows, options)
}

// flatters says why all rows of the log cannot judge the policy of a file or its models; empty:
// none had a part in it.
func (j *Judge) flatters(f *policyfile.File) string {
	o, err := j.Compare(f, false)
	how, _ := j.log.Identity()
	switch p := f.History; {
	case j.log.Hash() == p.DataHash:
		return "it was learned from this log, whose rows flatter it"
	case !p.Known:
		return "its file does not say which rows it was learned from"
	case err != nil && p.How != "" && p.How != how:
		return "its file and this log tell rows apart by other means (decision_id or content), and rows that it " +
			"was learned from flatter it"
	case err != nil:
		return err.Error()
	case o.Relation != Fresh:
		return "it was learned from rows of this log, or of their groups, which flatter it"
	}
	return ""
}

// Options says how a policy file is certified.
type Options struct {
	Delta float64 // δ; 0: 0.05
	Gamma float64 // Γ, the factor that propensities are known up to; 0: 1
	// AnyTime asks for a statement that holds at every look as rows come, see Pool.
	AnyTime bool
	// Fresh says that no row of the log had a part in the policy, where that cannot
	// be seen.
	Fresh bool
	// Requirements of other outcomes make the certificate's Decision.
	Requirements []Requirement
	// Untested are limits that the policy should keep and that the log cannot test. With any it does not ship.
	Untested []string

	file *policyfile.File // of the policy; nil: it has none
}

// File certifies the policy of a file: on the log that it was learned from or a later one,
// on rows that taught neither it nor its reward models. A log that had no part in it adds a model
// that is learned from rows before ([online.Learn]). Where rows chose a gaussian
// posterior around a prior that they did not teach, they certify too, and the policy pays for its
// divergence from the prior, and for a choice among priors. Any other policy, and every one at any
// time, is certified on rows that had no part in it. Errors: rows that cannot be told to be
// admissible, or none that are; what Admits refuses; actions that the policy does not have.
func (j *Judge) File(ctx context.Context, p *policyfile.Policy, o Options) (*Certificate, error) {
	if o.file = p.File(); o.AnyTime {
		return Pool{j}.File(ctx, p, o)
	}
	c, err := j.candidate(p, o)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	options, f := j.options(certify.Options{Delta: o.Delta, Gamma: o.Gamma, Priors: 1,
		Threads: runtime.GOMAXPROCS(0)}), p.File()
	if c.on.Relation == Same {
		if cert, t, err := j.again(f, options, c.on); cert != nil || err != nil {
			return cert.decide(t, o, err)
		}
	}
	rows := j.Apart(nil, c.seen)
	if len(rows) == 0 {
		return nil, withhold("all %d rows of the log had a part in the policy, and none is left to certify it%s",
			j.log.Len(), strings.TrimSuffix(": "+strings.Join(c.on.Notes, "; "), ": "))
	}
	options.Models = c.models
	alone := j.log.Lists == nil || j.log.Lists.Assume != string(certify.Independence) &&
		certify.AssumedBy(j.log.Lists.Assume) == "" // of each slot's own action
	// Most of the time goes to scores of what was not logged.
	if c.log.Choices != nil && c.log.LoggedOnly() && alone {
		pi, err := taken(c.plays, c.log, rows, options.Threads)
		if err != nil {
			return nil, err
		}
		t := j.trial(certify.PoolLog{Log: c.log, Logged: pi, Rows: rows, Models: c.models},
			sample{Judge: j, logged: pi, rows: rows}, options)
		cert, err := t.certificate(c.on)
		return cert.decide(t, o, err)
	}
	if !slices.ContainsFunc(rows, func(r int) bool { return c.chosen[r] }) {
		later := c.on.Relation == Fresh || c.on.Relation == Overlaps // and a log's own certificate stays
		if later && !options.LoggedOnly(c.log) && j.log.Lists == nil {
			pi, err := taken(c.plays, c.log, rows, options.Threads)
			if err != nil {
				return nil, err
			}
			m, err := online.Learn(c.log, rows, options.Clusters, pi)
			if err != nil {
				return nil, err
			}
			options.Models = append(options.Models, m)
		}
		cert, t, err := j.fixed(c.log, c.plays(), rows, options, c.on)
		t.learns = true // of other outcomes, and the certificate of its own log stays
		return cert.decide(t, o, err)
	}
	if len(o.Requirements)+len(o.Untested) > 0 {
		return nil, withhold("rows of this log chose the policy, and what other outcomes say is certified on rows " +
			"that had no part in it: use a later log")
	}
	first := &f.Components[0]
	pol := propensity.Floor{Family: first.Family(), Epsilon: f.Floor}
	q := propensity.Posterior{Actions: len(f.Actions), Dim: first.Dim(), Mu: slices.Concat(first.Weights...),
		Sigma: first.Sigma, Prior: propensity.Prior{Mean: slices.Concat(first.Prior.Mean...), Scale: first.Prior.Scale}}
	options.Priors = max(1, f.History.Tried)
	b, err := certify.Posterior(pol, q, c.view, rows, options)
	if err != nil {
		return nil, err
	}
	logged := make([]float64, c.log.Len())
	pi, _, _ := certify.Logged(pol, q, c.view, rows)
	for i, r := range rows {
		logged[r] = pi[i]
	}
	return certificate(b, c.on, sample{Judge: j, logged: logged, rows: rows})
}

// candidate is a policy of a file as a log may certify it.
type candidate struct {
	log    *logs.Log             // with the policy's features and actions
	view   *logs.Log             // through its layers, too; nil: nobody asks for it
	plays  func() certify.Policy // one for each goroutine
	models []*certify.RewardModel
	seen   []bool // rows that may not certify
	chosen []bool // rows that certify a posterior that they chose
	on     Circumstances
}

func (j *Judge) candidate(p *policyfile.Policy, o Options) (*candidate, error) {
	if err := j.Admits(); err != nil {
		return nil, err
	}
	if _, err := j.log.Known(p.Inputs()); err != nil {
		return nil, err
	}
	f := p.File()
	if err := Fits(f, j.log); err != nil {
		return nil, err
	}
	past, err := j.Compare(f, o.Fresh)
	if err != nil {
		return nil, err
	}
	if how, _ := j.log.Identity(); o.AnyTime && past.Relation == Ancestral && how == logs.ByContent {
		return nil, withhold("%s, as their contents say, which tell them apart in this many rows, and maybe not "+
			"in more: without decision_id nothing is certified at any time", past.Note)
	}
	out := &candidate{seen: past.Taught, chosen: make([]bool, j.log.Len()), on: Circumstances{Relation: past.Relation}}
	if past.Note != "" {
		out.on.Notes = append(out.on.Notes, past.Note)
	}
	if own, is := RewardOf(f), RewardIn(j.log); own.Differs(is) {
		out.on.Notes = append(out.on.Notes, fmt.Sprintf("the policy was learned for rewards %s, and this is of rewards %s", own, is))
	}
	if note := Unknown(p, j.log); note != "" {
		out.on.Notes = append(out.on.Notes, note)
	}
	out.on.Contradicted = cmp.Or(Unread(f, j.log), past.Doubt)
	among := j.among()
	if own := p.Catalogue(); own != nil && among != "" && among != policyfile.Sets && among != own.Hash {
		out.on.elsewhere = true
		out.on.Notes = append(out.on.Notes, fmt.Sprintf("the log's decisions were among the catalogue %.12s, the "+
			"policy file's own is %.12s: this is of the policy among the log's", among, own.Hash))
	}
	at := modelled(f)
	c := &f.Components[at]
	alone := len(f.Components) == 1
	switch {
	case alone && c.Fixed(): // rows chosen certified it, and changed nothing
	case alone && c.Kind == policyfile.Gaussian && c.Prior != nil && !o.AnyTime:
		out.chosen = past.Chosen
	default:
		for i, is := range past.Chosen {
			out.seen[i] = out.seen[i] || is
		}
	}
	if n := len(j.log.ItemNames()); n > 0 {
		if known := p.ItemInputs().Knows(j.log.ItemNames()); known < n {
			out.on.Notes = append(out.on.Notes, fmt.Sprintf("the policy does not know %d of the %d names of what "+
				"actions are described by, and leaves them out", n-known, n))
		}
	}
	if out.log, err = j.log.Encode(c.Encoder); err == nil {
		out.log, err = named(out.log, f)
	}
	if err == nil && (len(f.RewardModels) > 0 || slices.Contains(out.chosen, true)) {
		lazily := out.log.LoggedOnly() && out.log.Least == 0 // models of the reward are not asked there
		if out.view, err = through(c, j.log, nil, lazily); err == nil {
			out.view, err = named(out.view, f)
		}
	}
	if err == nil && out.view != nil {
		out.models, err = models(f, at, out.view)
	}
	if err == nil {
		out.plays, err = Players(p, j.log)
	}
	return out, err
}

// through encodes a log for a component and applies its layers, for some rows alone; nil: for all. lazily is for
// contexts of which few are asked for.
func through(c *policyfile.Component, log *logs.Log, rows []int, lazily bool) (*logs.Log, error) {
	log, err := log.Encode(c.Encoder)
	if err == nil && c.Items != nil {
		log, err = log.EncodeItems(c.Items)
	}
	switch {
	case err != nil:
		return nil, err
	case c.Joint:
		return log.Jointly(c.Layers)
	case len(c.Layers) == 0:
		return log, nil
	}
	return log.View(rows, func(x logs.Contexts) (logs.Contexts,
		error) {
		if lazily {
			return logs.Lazily(x, c.Layers)
		}
		return logs.Through(x, c.Layers, runtime.GOMAXPROCS(0))
	})
}

// models returns a file's models of the reward for a component. The log is encoded, through the component's layers.
func models(f *policyfile.File, component int, log *logs.Log) (all []*certify.RewardModel, err error) {
	if log, err = named(log, f); err != nil {
		return nil, err
	}
	for _, m := range f.RewardModels {
		if m.Component != component {
			continue
		}
		theta, link := slices.Concat(m.Weights...), certify.SoftmaxLink
		if m.Weights == nil {
			theta = slices.Concat(f.Components[component].Prior.Mean...)
		}
		if m.Kind == policyfile.Logistic {
			link = certify.LogisticLink
		}
		of := certify.Linear(m.Kind, theta, log, link)
		of.Dispersion = m.Dispersion
		all = append(all, of)
	}
	return all, nil
}
