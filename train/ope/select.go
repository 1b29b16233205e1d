package ope

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"opl/train/logs"
	"opl/train/provenance"
)

// Decision says what to do after a selection.
type Decision string

// The decisions.
const (
	Ship Decision = "ship" // the selected target: it is shown to earn more than what plays
	// Keep what plays: every target plays as it does, or has an estimated gain whose interval does
	// not reach above 0; or the log contradicts what guarantees assume, or can guarantee nothing.
	Keep    Decision = "keep"
	TooFew  Decision = "not enough rows" // a gain may be there, and is not shown
	nothing          = "nothing is guaranteed of any target: "
)

// Selection is the choice of one of several targets by the lower bounds on their values. All
// bounds hold together with probability 1 − Delta, so that the choice costs no more: of m targets each has
// δ/m, and half of that for its value and its gain.
type Selection struct {
	// Selected is the target with the largest lower bound on its value; nil: none is above 0.
	Selected *string `json:"selected"`
	// Ship says that its gain over what logged the rows is shown to be above 0, and nothing
	// contradicts what that assumes.
	Ship     bool     `json:"ship"`
	Decision Decision `json:"decision"` // ship, keep or too few rows
	Because  string   `json:"because"`  // the decision with its reason, in a line
	// Needed are rows like these that would show the estimated gain of the selected target in some four of five
	// logs, were it true:
	//
	//	n (se/gain)² (√(2 log(2m/δ) + 4) + .84)²
	//
	// where 4 is about what the choice of ℓ costs. 0: it is shown, or not estimated to be above 0,
	// or Gamma is above 1.
	Needed int     `json:"rows_needed,omitempty"`
	Rows   int     `json:"rows"` // of the log
	Groups int     `json:"groups"`
	Delta  float64 `json:"delta"` // shared by all targets
	Gamma  float64 `json:"gamma"`
	// RewardMin and RewardMax are the rewards, in the log's units, that are 0 and 1, see
	// [Selection.InUnits]; both 0: these.
	RewardMin float64     `json:"reward_min"`
	RewardMax float64     `json:"reward_max"`
	Logging   Interval    `json:"logging"` // what plays
	Targets   []Candidate `json:"targets"` // by their lower bounds, the largest first
	// the first less the second of Targets, if something is guaranteed of both: an interval, and no
	// guarantee
	RunnerUp *Pair       `json:"runner_up,omitempty"`
	Alike    [][2]string `json:"alike,omitempty"` // targets between which the rows cannot tell
	// Within are other targets that are shown to earn more than what plays, of which the rows
	// cannot tell whether they earn less than the selected one.
	Within  []string `json:"within_noise,omitempty"`
	Missing []string `json:"missing,omitempty"` // estimators that the log does not allow
	Notes   []string `json:"notes,omitempty"`   // doubts of the log

	// Served says that a policy file holds the selected target, which opl serve plays.
	Served bool `json:"-"`

	inUnits bool // see InUnits
}

// Candidate is a target of a selection: its bounds, its estimate, and the verdict.
type Candidate struct {
	Name        string             `json:"name"`              // the target's
	AtLeast     *float64           `json:"at_least"`          // lower bound on its value; nil: none
	GainAtLeast *float64           `json:"gain_at_least"`     // lower bound on its gain
	Verdict     provenance.Verdict `json:"verdict,omitempty"` // of the gain
	// largest Γ at which it is better; 0: it is not
	Strength float64 `json:"strength,omitempty"`
	// with the gain, by one estimator; nil: it has no value, or Warnings say why not to believe it
	Estimate    *Estimate             `json:"estimate"`
	Warnings    []string              `json:"warnings,omitempty"`         // of the estimate
	Uncertified string                `json:"uncertified,omitempty"`      // why nothing is guaranteed
	Contradicts string                `json:"contradicted,omitempty"`     // what in the log contradicts the bounds
	Outcomes    []OutcomeEstimate     `json:"outcomes,omitempty"`         // as in a Policy
	Decision    *provenance.Decision  `json:"decision,omitempty"`         // by several outcomes, at δ/m
	Statement   *provenance.Statement `json:"-"`                          // what is guaranteed of it; nil: nothing
	Learned     bool                  `json:"learned_from_log,omitempty"` // as in a Policy
	Same        bool                  `json:"plays_as_logged,omitempty"`  // as in a Policy
}

// Select chooses among targets by what [Evaluate] guarantees of them. Estimators, of which the
// differences are estimates, are those of the options, and one is enough; nil: ips for intervals that ask for
// bounds, else sndr where it can be had, else snips. Errors: those of Evaluate.
func Select(log *logs.Log, targets []Target, o Options) (Selection, error) {
	if o.Estimators == nil {
		o.Estimators = []Estimator{SNIPS()}
		if m, err := method(o.Interval); err == nil && m.Bounded {
			o.Estimators = []Estimator{IPS()}
		} else if (o.Model != nil || o.Learn != nil) && !slices.ContainsFunc(targets,
			func(t Target) bool { return t.Row == nil }) {
			o.Estimators = []Estimator{SNDR()}
		}
	}
	if len(o.Estimators) != 1 {
		return Selection{}, fmt.Errorf("ope: %d estimators, want one, of which the differences are",
			len(o.Estimators))
	}
	r, err := Evaluate(log, targets, o)
	if err != nil {
		return Selection{}, err
	}
	s := r.choose(o.Gamma)
	if len(log.Loggers()) > 1 {
		s.Notes = append(slices.Clip(s.Notes), "several policies logged these rows, and what plays is all of them together: "+
			"to compare with one alone, select on the rows that it logged")
	}
	s.Served = slices.ContainsFunc(targets, func(t Target) bool {
		return s.Selected != nil && t.Name == *s.Selected && t.Policy != nil
	})
	return s, nil
}

// choose is the selection of a result of one estimator.
func (r Result) choose(gamma float64) Selection {
	s := Selection{Rows: r.Rows, Groups: r.Groups, Delta: r.Delta, Gamma: max(1, gamma),
		Logging: r.Logging, Missing: r.Missing, Notes: r.Notes, RewardMin: r.RewardMin,
		RewardMax: r.RewardMax}
	for _, p := range r.Policies {
		c := Candidate{Name: p.Name, Warnings: p.Warnings, Uncertified: p.Uncertified, Statement: p.Guarantee,
			Learned: p.Learned, Same: p.Same, Outcomes: p.Outcomes}
		if len(p.Estimates) > 0 && p.Warnings == nil {
			c.Estimate = &p.Estimates[0]
		}
		if p.Same { // its value is what was logged, and a model would only add noise
			c.Estimate = &Estimate{Estimator: SNIPS().Name, Interval: r.Logging}
		}
		if g := p.Guarantee; g != nil {
			value, gain := g.Promise(), g.GainAtLeast()
			c.AtLeast, c.GainAtLeast, c.Verdict, c.Decision = &value, &gain, g.Verdict, g.Decided()
			s.Gamma = max(s.Gamma, g.Gamma)
			if g.Circumstances != nil {
				c.Strength, c.Contradicts = g.Strength, g.Contradicted
			}
		}
		s.Targets = append(s.Targets, c)
	}
	slices.SortStableFunc(s.Targets, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), cmp.Compare(b.lower(), a.lower()),
			cmp.Compare(b.gain(), a.gain()))
	})
	for _, p := range r.Pairs {
		if p.Value == 0 && p.SE == 0 {
			s.Alike = append(s.Alike, [2]string{p.First, p.Second})
		}
		if other := p.besides(s.Targets[0].Name); p.Low <= 0 && p.High >= 0 && slices.ContainsFunc(s.Targets[1:],
			func(c Candidate) bool { return c.Name == other && c.Statement != nil && c.Statement.Ships() }) {
			s.Within = append(s.Within, other)
		}
		if len(s.Targets) > 1 && s.Targets[1].AtLeast != nil && s.Targets[0].Estimate != nil &&
			s.Targets[1].Estimate != nil {
			switch first, second := s.Targets[0].Name, s.Targets[1].Name; {
			case p.First == first && p.Second == second:
				s.RunnerUp = &p
			case p.First == second && p.Second == first:
				p.First, p.Second, p.Value, p.Low, p.High = first, second, 0-p.Value, 0-p.High, 0-p.Low
				s.RunnerUp = &p
			}
		}
	}
	s.decide()
	return s
}

// besides is the other policy of a pair; "" of a pair without name.
func (p Pair) besides(name string) string {
	switch name {
	case p.First:
		return p.Second
	case p.Second:
		return p.First
	}
	return ""
}

// Decimals returns how many decimals show two digits of the smallest error of an estimate, and at
// least three of rewards in [0, 1].
func (s Selection) Decimals() int {
	s = s.InUnits()
	d := Digits(s.RewardMin, s.RewardMax, 3)
	errors := []Interval{s.Logging}
	for _, c := range s.Targets {
		if e := c.Estimate; e != nil && !c.Same {
			errors = append(errors, e.Interval, e.Gain)
		}
	}
	for _, i := range errors {
		if half := (i.High - i.Low) / 2; half > 1e-12 {
			d = max(d, logs.Places(half))
		}
	}
	return d
}

// lower is the lower bound on the value, below any where there is none.
func (c Candidate) lower() float64 {
	if c.AtLeast == nil {
		return -1
	}
	return *c.AtLeast
}

func (c Candidate) gain() float64 {
	if c.GainAtLeast == nil {
		return math.Inf(-1)
	}
	return *c.GainAtLeast
}

// decide fills in what the bounds say to do.
func (s *Selection) decide() {
	best := s.Targets[0]
	u, d := logs.Units{Low: s.RewardMin, High: s.RewardMax}, s.Decimals()
	if best.lower() > 0 || best.answer() == provenance.Ship {
		s.Selected = &best.Name
		s.Ship = best.Statement.Ships()
	}
	worse := true // no target's interval reaches above 0, of those that may be shipped
	for _, c := range s.Targets {
		worse = worse && (c.Statement == nil || c.Same || c.answer() == provenance.Harm ||
			c.Estimate != nil && c.Estimate.Gain.High <= 0)
	}
	if best.Decision != nil {
		s.decideBy(best.Decision, worse)
		return
	}
	shown := ""
	for _, c := range s.Targets[1:] {
		if c.Statement != nil && c.Statement.Ships() {
			shown = fmt.Sprintf("; %s, of a smaller lower bound, is shown to earn more than what plays", c.Name)
			break
		}
	}
	switch {
	case s.Ship:
		s.Decision = Ship
		s.Because = fmt.Sprintf("ship %s: it earns at least %.*f, and at least %.*f more than what plays",
			best.Name, d, logs.Below(u.At(best.lower()), d), d, logs.Below(best.gain()*u.Span(), d))
		if s.Within != nil {
			s.Because += "; within noise of it: " + strings.Join(s.Within, ", ")
		}
	case best.AtLeast == nil:
		s.Decision, s.Because = Keep, "keep what plays: "+nothing+best.Uncertified
	case best.Verdict == provenance.Doubted:
		s.Decision, s.Because = Keep, "keep what plays: the log contradicts what guarantees assume: "+
			""+best.Contradicts+shown
	case worse:
		s.Decision, s.Because = Keep, "keep what plays: no target plays otherwise, or earns more by the estimates"
	default:
		s.Decision, s.Because = TooFew, "not enough rows: "
		switch e := best.Estimate; {
		case s.Selected == nil:
			s.Because += nothing + "the lower bounds allow the least reward"
		default:
			has := s.Because + best.Name + " earns at least"
			if shown != "" {
				has = best.Name + " has the largest lower bound,"
			}
			s.Because = fmt.Sprintf("%s %.*f, and is not shown to earn more than what plays", has, d,
				logs.Below(u.At(best.lower()), d))
			if s.Gamma > 1 { // which more rows do not make smaller
				s.Because += fmt.Sprintf(" for all propensities within the factor %v", s.Gamma)
			} else if e != nil && e.Gain.Value > 0 && e.Gain.SE > 0 {
				m := float64(len(s.Targets))
				needed := float64(s.Rows) * math.Pow(
					e.Gain.SE/e.Gain.Value*(math.Sqrt(2*math.Log(2*m/s.Delta)+4)+.84), 2)
				if needed > float64(s.Rows) && needed < 1e12 {
					s.Needed = int(math.Ceil(needed))
					s.Because += fmt.Sprintf("; %s would show it if the gain is as estimated, %+.*f ± %.*f",
						About(float64(s.Needed)), d, e.Gain.Value*u.Span(), d, (e.Gain.High-e.Gain.Low)/2*u.Span())
				}
			}
		}
		if shown != "" {
			s.Because += shown + ": select that alone on a new log, or log more rows"
		}
	}
}

// About says a number of rows n ≥ 1 rounded up to two digits, since it is itself an estimate.
func About(n float64) string {
	unit := math.Pow(10, math.Max(0, math.Floor(math.Log10(n))-1))
	if n = math.Ceil(n/unit) * unit; n >= 1e12 {
		return fmt.Sprintf("about %.1e rows", n)
	}
	return fmt.Sprintf("about %.0f rows", n)
}
