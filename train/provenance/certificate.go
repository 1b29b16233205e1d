package provenance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"gonum.org/v1/gonum/floats"

	"opl/graph/kernel"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
)

// Verdict says how the guaranteed reward compares with the logging policy's.
type Verdict string

// The verdicts.
const (
	Better   Verdict = "better"    // than the logging policy on the same rows, with probability 1 − δ
	NotShown Verdict = "not shown" // the lower bound on the gain is not above 0
	Vacuous  Verdict = "vacuous"   // nothing is guaranteed: the bound allows reward 0
	// Doubted is Better by a bound whose assumptions the log contradicts; Contradicted says
	// where.
	Doubted Verdict = "doubted"
)

// Certificate states what is guaranteed of a policy, with probability 1 − δ. A [Judge]
// makes it, and nothing else does: what is read back, from a record or a policy file, is a
// [Statement].
type Certificate struct{ statement Statement }

// Statement is what the certificate says.
func (c *Certificate) Statement() Statement { return c.statement }

// MarshalJSON writes the statement.
func (c *Certificate) MarshalJSON() ([]byte, error) { return json.Marshal(c.statement) }

// Guaranteed returns the reward that is promised, see [Statement.Promise].
func (c *Certificate) Guaranteed() float64 { return c.statement.Promise() }

// Statement is the content of a certificate: the object "certificate" of records and
// policy files. By itself it proves nothing.
type Statement struct {
	certify.Bounds
	Verdict Verdict `json:"verdict"` // better, not shown, doubted or vacuous
	*Circumstances
}

// Promise returns the guaranteed reward, in [0, 1]: the bound's, but never above the estimate on the same rows.
func (s Statement) Promise() float64 {
	if s.Circumstances != nil {
		return s.Guaranteed
	}
	return max(0, s.Reward())
}

// Circumstances describe the log that certified: which rows did, what they earned, and what was
// found of them.
type Circumstances struct {
	Guaranteed float64          `json:"guaranteed"`      // reward, in [0, 1]
	Relation   Relation         `json:"relation"`        // of the log to the one learned from
	DataHash   string           `json:"data_hash"`       // of the log
	Rows       int              `json:"rows"`            // of the log
	Files      int              `json:"files,omitempty"` // logs that certify together; 0: one
	Refused    int              `json:"refused"`         // rows that taught what must be fixed
	Logged     float64          `json:"logged"`          // mean reward of the rows that certify, in [0, 1]
	Estimate   certify.Estimate `json:"estimate"`        // on the rows that certify
	// Strength is the largest Γ at which a target is shown to be better, see [certify.Strength]; 0: it is not, or not
	// asked.
	Strength float64 `json:"strength,omitempty"`
	// Contradicted says what in the log contradicts that rows are independent, alike and of the
	// propensities that they state, and was not accounted for.
	Contradicted string `json:"contradicted,omitempty"`
	thin         bool   // see Statement.Thin
	// ReadOff is the number of actions that no other rows of the log have than those that certify,
	// where the policy was learned from it: K is taken for known before.
	ReadOff int `json:"read_off,omitempty"`
	// Loggers is the number of policies that logged the rows; 0: one, or none is named.
	Loggers int `json:"loggers,omitempty"`
	// RewardMin and RewardMax are the rewards that are 0 and 1.
	RewardMin float64  `json:"reward_min"`
	RewardMax float64  `json:"reward_max"`
	Doubts    []string `json:"doubts,omitempty"` // of the log, whose rows the guarantee takes for independent and alike
	Notes     []string `json:"notes,omitempty"`  // on the log that change no verdict
	// Among is the hash of the catalogue of which each decision offered all, or [policyfile.Sets]; "": actions have no
	// features.
	Among string `json:"among,omitempty"`
	// elsewhere says that Among is another catalogue than the policy file's own.
	elsewhere bool
	// Lists says what the statement assumes of lists; nil: rows are decisions of their own.
	Lists *Listed `json:"lists,omitempty"`
	// Decision is what several outcomes say together; nil: there is the reward alone.
	Decision *Decision `json:"decision,omitempty"`
}

// Proven reports that the policy is better than the logging policy, with probability
// 1 − δ, and nothing is known to contradict what that assumes.
func (s Statement) Proven() bool { return s.Verdict == Better }

// Thin reports that Contradicted is of weights that average less than 1, and that draws as rare as the rarest row would
// make up for it.
func (s Statement) Thin() bool { return s.Circumstances != nil && s.thin }

// Elsewhere reports that the decisions were among another catalogue than the policy file's own.
func (s Statement) Elsewhere() bool { return s.Circumstances != nil && s.elsewhere }

// Decided is what several outcomes say together; nil: there is the reward alone.
func (s Statement) Decided() *Decision {
	if s.Circumstances == nil {
		return nil
	}
	return s.Decision
}

// Ships reports that the policy may be shipped, which is what Decided says, or else Proven.
func (s Statement) Ships() bool {
	if d := s.Decided(); d != nil {
		return d.Answer == Ship
	}
	return s.Proven()
}

// sample is the rows of a log that certify a policy, and its probabilities logged[i] =
// π(a_i|x_i) of them; nil: they are sampled, or the log was drawn here. Where all of π and π₀ are known,
// spread[i] = Σ_a π(a|x_i)²/π₀(a|x_i), the mean of the squared weight; else 0. Where all of π is known, and
// π₀ of the logged action alone, missing[i] = Σ_a π(a|x_i)/q_a, q_a what the action's propensity may be, see
// rarities; else 0.
type sample struct {
	*Judge
	rows                    []int
	logged, spread, missing []float64
	cost                    []float64 // that the estimate is of, in place of the log's; nil: the log's
	lists                   *Lists    // whose rows are lists; nil: rows
}

func (j *Judge) sample(rows []int) sample {
	of := func() []float64 { return make([]float64, j.log.Len()) }
	return sample{Judge: j, rows: rows, logged: of(), spread: of(), missing: of()}
}

// noting is pi that notes what a sample has.
func (s sample) noting(log *logs.Log, pi certify.Policy) certify.Policy {
	var rare []float64
	if log.LoggedOnly() && log.Propensity != nil {
		rare = rarities(log)
	}
	pi = remembered(log, pi)
	return func(dst []float64, i int) error {
		err := pi(dst, i)
		s.logged[i] = dst[log.Chosen(i)]
		switch {
		case rare == nil:
		case log.Sets():
			s.missing[i] = 0
			for j, p := range dst[:log.Options(i)] {
				a, _ := log.Option(i, j)
				s.missing[i] += p * rare[a]
			}
		default: // all actions, in their order
			s.missing[i] = floats.Dot(dst[:log.Options(i)], rare)
		}
		s.spread[i] = 0
		for a, p0 := range log.Pi0(i) {
			if p := dst[a]; p > 0 {
				s.spread[i] += p * p / p0
			}
		}
		return err
	}
}

// remembered is pi that computes the distribution of a row once, for a bound of each outcome asks for it again. A log
// whose distributions would take more than 32 MB is played again.
func remembered(log *logs.Log, pi certify.Policy) certify.Policy {
	n, most := log.Len(), log.MostOptions()
	if n > (1<<22)/max(1, most) {
		return pi
	}
	all, known := make([]float64, n*most), make([]bool, n)
	return func(dst []float64, i int) error {
		one := all[i*most:][:len(dst)]
		if known[i] {
			copy(dst, one)
			return nil
		}
		err := pi(dst, i)
		copy(one, dst)
		known[i] = err == nil
		return err
	}
}

// certificate states what bounds say of the samples, one from each log that certifies.
func certificate(b certify.Bounds, on Circumstances, samples ...sample) (*Certificate, error) {
	if err := absurd(b); err != nil {
		return nil, err
	}
	v := verdict(b)
	if samples[0].log.Simulated() {
		return &Certificate{Statement{b, v, nil}}, nil
	}
	on.of(b.Groups > 0, samples...)
	on.Lists = listed(samples)
	var cost kernel.Sum
	n := 0
	for _, s := range samples {
		for _, r := range s.rows {
			cost.Add(s.log.Cost[r])
		}
		n += len(s.rows)
	}
	on.Logged = -cost.Value() / float64(max(1, n))
	var estimate *certify.Estimate
	if samples[0].logged != nil {
		e := certify.SelfNormalizedRows(n, func(i int) (w, c float64) {
			k := 0
			for ; i >= len(samples[k].rows); k++ {
				i -= len(samples[k].rows)
			}
			s := &samples[k]
			r := s.rows[i]
			if c = s.log.Cost[r]; s.cost != nil {
				c = s.cost[r]
			}
			return s.logged[r] / s.log.Propensity[r], c
		})
		estimate = &e
		w := weigh(samples...)
		far := w.farFromOne(max(1, b.Gamma))
		on.Contradicted, on.thin = cmp.Or(far, on.Contradicted), far != "" && w.thin()
	}
	return &Certificate{conclude(b, v, on, estimate)}, nil
}

// verdict says what bounds show, whatever the log is like.
func verdict(b certify.Bounds) Verdict {
	switch {
	case b.Better():
		return Better
	case b.Reward() > 0:
		return NotShown
	}
	return Vacuous
}

// absurd refuses, as a *Withheld, bounds that cannot be.
func absurd(b certify.Bounds) error {
	if b.Absurd == "" {
		return nil
	}
	return withhold("%s: the propensities are far too small for the draws that they speak of (are they tiny by "+
		"mistake, of other actions, or rounded?), rows were left out by their outcome, or the rows that certify "+
		"had a part in the policy", b.Absurd)
}

// of describes the logs whose rows certify. grouped says that some of these rows share a group.
func (on *Circumstances) of(grouped bool, samples ...sample) {
	first := samples[0]
	on.RewardMin, on.RewardMax = first.log.RewardRange()
	var hashes []uint64
	skipped, files := 0, 0
	on.Among = first.among()
	for _, s := range samples {
		if s.among() != on.Among {
			on.Among = policyfile.Sets
		}
		on.Rows += s.log.Len()
		skipped, files = skipped+s.log.Skipped, files+s.log.LeftOut
		on.DataHash = s.log.Hash()
		hashes = append(hashes, xxhash.Sum64String(on.DataHash))
		for _, name := range s.log.Snapshots {
			on.Notes = append(on.Notes, "certified on snapshot "+name)
		}
		if n := len(s.log.Loggers()); n > 1 {
			on.Loggers = max(on.Loggers, n)
		}
		on.doubt(s.found, s.named(len(samples) > 1), func(f inspect.Finding) bool { return contradicts(f, grouped) })
	}
	if len(samples) > 1 {
		of := hashes[0]
		for _, h := range hashes[1:] {
			of = Hash(of, h)
		}
		on.Files, on.DataHash = len(samples), fmt.Sprintf("%016x", of)
	} else if on.Relation == Same {
		on.ReadOff = first.readOff()
	}
	if on.Among == policyfile.Sets && first.log.Catalogue() != nil {
		on.Notes = append(on.Notes, "rows offer sets: this is of sets that come as theirs, and not of decisions among the "+
			"whole catalogue")
	}
	if f := first.log.Formula; f != nil && f.Reward != "" {
		on.Notes = append(on.Notes, fmt.Sprintf("the reward is %s, from %v to %v", f.Reward, on.RewardMin, on.RewardMax))
	}
	if note := LeftOut(files, skipped); note != "" {
		on.Notes = append(on.Notes, note)
	}
}

// contradicts reports a finding that no bound accounts for. Bounds allow for drift, since they bound the mean over
// rows, and for rows that repeat or share a group, since they count these as one.
func contradicts(f inspect.Finding, grouped bool) bool {
	switch {
	case f.Severity == inspect.Fine:
		return false
	case f.Severity == inspect.Unusable:
		return true
	}
	return slices.Contains([]inspect.Subject{inspect.Draws, inspect.Selection, inspect.Columns, inspect.Assumed},
		f.About) || f.About == inspect.Sequence && !grouped
}

// conclude states what bounds say, beside an estimate on the same rows, if there is one.
func conclude(b certify.Bounds, v Verdict, on Circumstances, estimate *certify.Estimate) Statement {
	on.Guaranteed = max(0, b.Reward())
	on.Refused = on.Rows - b.N
	if b.Plays < b.Wanted {
		on.Notes = append(slices.Clip(on.Notes), fmt.Sprintf("the rows play what the policy would %.4g times in "+
			"%d: to guarantee half of their mean reward takes about %.3g; log by a policy that plays it more "+
			"often, such as one learned from these rows with a floor", b.Plays, b.N, b.Wanted))
	}
	if estimate != nil {
		on.Estimate = *estimate
		on.Guaranteed = min(on.Guaranteed, estimate.Reward)
		if b.Groups == 0 {
			on.Contradicted = cmp.Or(on.Contradicted, estimate.TooHeavy())
		}
	}
	if v == Better && on.Contradicted != "" {
		v = Doubted
	}
	return Statement{b, v, &on}
}

// doubt adds what an inspection found, of a log of a name, and the first of what contradicts.
func (on *Circumstances) doubt(found inspect.Report, name string, contradicts func(f inspect.Finding) bool) {
	for _, f := range found.Against() {
		on.Doubts = append(on.Doubts, fmt.Sprintf("%s%s: %s: %s", name, f.Check, f.Measured, f.Means))
		if contradicts(f) {
			on.Contradicted = cmp.Or(on.Contradicted, name+f.Check+": "+f.Measured)
		}
	}
}

// readOff counts the actions that no row but those of the sample has.
func (s sample) readOff() int {
	if s.log.Choices != nil || s.lists != nil { // what a row offers is part of its context
		return 0
	}
	certifies, known, n := logs.Marked(s.log.Len(), s.rows), make([]bool, s.log.K()), 0
	for i, a := range s.log.Action {
		known[a] = known[a] || !certifies[i]
	}
	for _, a := range logs.Pick(s.log.Action, s.rows) {
		if !known[a] {
			known[a], n = true, n+1
		}
	}
	return n
}

// LeftOut says what it means for a guarantee that some files, and rows of others, could not be
// read. It returns "" if all were read.
func LeftOut(files, rows int) string {
	var what []string
	if files > 0 {
		what = append(what, fmt.Sprintf("%d files", files))
	}
	if rows > 0 {
		what = append(what, fmt.Sprintf("%d rows", rows))
	}
	if what == nil {
		return ""
	}
	return strings.Join(what, " and ") + " could not be read: all of this speaks of the rows kept"
}
