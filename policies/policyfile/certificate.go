package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// certificate is what a file's certificate promises, as far as its fields must agree with one another. The digest is no
// signature: a certificate that is consistently forged is found only by certifying again.
type certificate struct {
	Guaranteed *float64 `json:"guaranteed"` // reward, in [0, 1]
	Delta      *float64 `json:"delta"`
	Verdict    *string  `json:"verdict"`
	Bounds     []bound  `json:"bounds"` // on the risk, the tightest first
	Gain       *bound   `json:"gain"`   // none in records of old, which have Logging
	Logging    *float64 `json:"logging_upper"`
	Estimate   *struct {
		Reward float64 `json:"reward"`
	} `json:"estimate"`
	RewardMin *float64  `json:"reward_min"`
	RewardMax *float64  `json:"reward_max"`
	N         float64   `json:"n"`
	Rows      float64   `json:"rows"`
	Refused   float64   `json:"refused"`
	Logged    float64   `json:"logged"`
	Gamma     float64   `json:"gamma"` // 0: 1
	Strength  float64   `json:"strength"`
	KL        float64   `json:"kl"`
	Decision  *decision `json:"decision"`
	Among     string    `json:"among"`
	Lists     Lengths   `json:"lists"`
}

// Lengths are those of lists, in slots; 0: they are not known.
type Lengths struct {
	Least int `json:"least,omitempty"`
	Most  int `json:"most,omitempty"`
}

func (l Lengths) String() string {
	if l.Least == l.Most {
		return fmt.Sprintf("%d slots", l.Most)
	}
	return fmt.Sprintf("%d to %d slots", l.Least, l.Most)
}

// Sets stands in a certificate in place of a catalogue's hash: each decision was among a set of its own.
const Sets = "sets"

// decision is what several outcomes are said to come to.
type decision struct {
	Answer   string `json:"answer"`
	Outcomes []struct {
		Name    string  `json:"name"`
		Verdict string  `json:"verdict"`
		AtMost  bool    `json:"at_most"`
		Limit   float64 `json:"limit"`
		Bound   float64 `json:"bound"`
	} `json:"outcomes"`
}

// check reports a limit that is said to hold beyond its bound, and "ship" where one does not.
func (d *decision) check() error {
	if d == nil {
		return nil
	}
	for _, o := range d.Outcomes {
		if o.AtMost {
			o.Limit, o.Bound = -o.Limit, -o.Bound
		}
		holds := o.Verdict == "holds"
		if d.Answer == "ship" && !holds || holds && o.Bound < o.Limit-1e-9*(1+math.Abs(o.Limit)) {
			return fmt.Errorf("the answer %.40q, and the limit of %.40q is not shown to hold", d.Answer, o.Name)
		}
	}
	return nil
}

// bound is an upper bound on a risk in [−1, 0], or on a difference of two, with probability 1 − Delta.
type bound struct {
	Risk  *float64 `json:"risk"`
	Delta float64  `json:"delta"`
}

// Guaranteed returns the reward in [0, 1] that the certificate guarantees. ok is false if it guarantees none.
func (f *File) Guaranteed() (reward float64, ok bool) {
	c, err := f.certificate()
	if err != nil || c.Guaranteed == nil {
		return 0, false
	}
	return *c.Guaranteed, true
}

// Logged returns the mean reward in [0, 1] of the rows that certified, under what logged them; 0: it is not known.
func (f *File) Logged() float64 {
	c, err := f.certificate()
	if err != nil {
		return 0
	}
	return c.Logged
}

// Among returns what the decisions of the rows that certified were among, where actions have features: all of a
// catalogue, by its hash, or [Sets]. "": the file does not say.
func (f *File) Among() string {
	c, err := f.certificate()
	switch {
	case err != nil || f.Certificate == nil || !f.HasItems():
		return ""
	case c.Among == "" && f.Catalogue == nil: // of an older version
		return Sets
	}
	return c.Among
}

// Lists returns the lengths of the lists that the certificate is of; zero: it is of decisions of one action, or the file
// does not say.
func (f *File) Lists() Lengths {
	c, err := f.certificate()
	if err != nil {
		return Lengths{}
	}
	return c.Lists
}

// certificate reads and checks the certificate.
func (f *File) certificate() (c certificate, err error) {
	if f.Certificate == nil {
		return c, nil
	}
	if err := json.Unmarshal(f.Certificate, &c); err != nil {
		return c, fmt.Errorf("policy file: the certificate: %w", err)
	}
	if err := c.check(f); err != nil {
		return c, fmt.Errorf("policy file: the certificate contradicts itself, so nothing it says is believed: %w: "+
			"certify the policy again", err)
	}
	return c, nil
}

// verdicts are those that certificates come to.
var verdicts = []string{"better", "not shown", "vacuous", "doubted"}

// check reports values out of range, and a promise or a verdict that the bounds do not carry.
func (c *certificate) check(f *File) error {
	switch {
	case c.Delta != nil && !(*c.Delta > 0 && *c.Delta < 1):
		return fmt.Errorf("delta is %v, want a number in (0, 1)", *c.Delta)
	case c.Verdict != nil && !slices.Contains(verdicts, *c.Verdict):
		return fmt.Errorf("the verdict %.40q is none of %q", *c.Verdict, verdicts)
	case c.Guaranteed == nil && c.Verdict == nil:
		return nil // nothing is promised
	case c.Guaranteed == nil || c.Verdict == nil || c.Delta == nil || len(c.Bounds) == 0:
		return errors.New("a promise wants guaranteed, delta, verdict and bounds")
	case !(*c.Guaranteed >= 0 && *c.Guaranteed <= 1):
		return fmt.Errorf("guaranteed is %v, want a reward in [0, 1]", *c.Guaranteed)
	case min(c.N, c.Rows, c.Refused, c.Logged, c.Strength, c.KL) < 0 || c.Logged > 1 || c.Gamma != 0 && c.Gamma < 1,
		c.Rows > 0 && c.N > c.Rows:
		return errors.New("numbers of rows, kl, gamma, strength or the logged reward are out of their ranges")
	case c.RewardMin != nil && *c.RewardMin != f.RewardMin, c.RewardMax != nil && *c.RewardMax != f.RewardMax:
		return errors.New("its range of rewards is not that of the policy")
	}
	best := math.Inf(-1) // lower bound on the reward
	for _, b := range c.Bounds {
		if b.Risk == nil || *b.Risk < -1 || !(b.Delta > 0 && b.Delta <= *c.Delta) {
			return errors.New("a bound has no risk of at least −1, or no share of delta")
		}
		best = max(best, -*b.Risk)
	}
	if c.Gain != nil && (c.Gain.Risk == nil || *c.Gain.Risk < -1 || !(c.Gain.Delta > 0 && c.Gain.Delta <= *c.Delta)) {
		return errors.New("the bound on the gain has no risk of at least −1, or no share of delta")
	}
	most := max(0, best)
	least := most
	if c.Estimate != nil {
		least = max(0, min(most, c.Estimate.Reward))
	}
	const rounding = 1e-9
	better := c.Gain != nil && *c.Gain.Risk < 0 || c.Gain == nil && c.Logging != nil && best > *c.Logging
	switch {
	case *c.Guaranteed > most+rounding || *c.Guaranteed < least-rounding:
		return fmt.Errorf("guaranteed is %v, its bounds say %v", *c.Guaranteed, most)
	case !better && (*c.Verdict == "better" || *c.Verdict == "doubted"):
		return fmt.Errorf("the verdict %q, and no bound on the gain above 0", *c.Verdict)
	case *c.Verdict == "vacuous" && best > rounding:
		return fmt.Errorf("the verdict %q, and a reward of %v is guaranteed", *c.Verdict, most)
	}
	return c.Decision.check()
}

// Unlisted counts the rows that the training says it used and that no list of rows has, taught or chosen: more than 0
// where the lists were cut. Files that do not say how they were trained lack none.
func (f *File) Unlisted() int {
	var t struct {
		Rows     int  `json:"rows"`
		Distinct *int `json:"distinct"` // of them, where some have one id or content
	}
	if f.Training == nil || json.Unmarshal(f.Training, &t) != nil {
		return 0
	}
	if t.Distinct != nil {
		t.Rows = *t.Distinct
	}
	return max(0, t.Rows-len(f.Rows()))
}

// Rows returns the hashes of the rows that had a part in the policy, sorted, each once.
func (f *File) Rows() Hashes {
	var all Hashes
	for _, c := range f.Components {
		all = append(append(all, c.Taught...), c.Chosen...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isObject reports whether JSON is an object.
func isObject(raw json.RawMessage) bool { return json.Valid(raw) && bytes.TrimSpace(raw)[0] == '{' }
