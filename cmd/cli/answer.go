package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"opl/train"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/logs/join"
	"opl/train/pipeline"
	"opl/train/provenance"
	"opl/train/report"
)

// answerVersion is the version of the answers in JSON, see docs/reference/json.md. It grows when a field is removed or
// changes its meaning. New fields do not change it.
const answerVersion = 1

// answer returns the JSON object that a command answers: version, command and exit status before the content. The error
// that the command ends with gives the status. If that error is no status, there is no answer, and answer returns it.
func answer(command string, content any, end error) (json.RawMessage, error) {
	var status exitStatus
	if end != nil && !errors.As(end, &status) {
		return nil, end
	}
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(content); err != nil {
		return nil, err
	}
	text := fmt.Appendf(nil, `{"version":%d,"command":%q,"status":%d,`, answerVersion, command, int(status))
	return append(text, bytes.TrimPrefix(body.Bytes(), []byte("{"))...), nil
}

// writeAnswer writes the answer of a command, and returns the error that the command ends with.
func writeAnswer(w io.Writer, command string, content any, end error) error {
	text, err := answer(command, content, end)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return err
	}
	return end
}

// estimate is an estimate of the reward in the log's units.
type estimate struct {
	Value     float64 `json:"value"`
	SE        float64 `json:"se"`
	Effective float64 `json:"effective_rows"`
	Rows      int     `json:"rows"`
	// below ½ the rows hardly show what the policy does, and value is no estimate
	Weight float64 `json:"mean_weight"`
	Tail   float64 `json:"pareto_k"`
}

func estimateIn(u logs.Units, e certify.Estimate) estimate {
	return estimate{u.At(e.Reward), e.SE * u.Span(), e.Effective, e.Rows, e.Weight, e.Tail}
}

// guarantee says what a statement guarantees, in the log's units.
type guarantee struct {
	Verdict        string   `json:"verdict"`         // that of the statement, or "none": there is none
	Guaranteed     *float64 `json:"guaranteed"`      // reward
	GainGuaranteed *float64 `json:"gain_guaranteed"` // over what logged the rows
	Probability    *float64 `json:"probability"`     // 1 − δ
	Logging        *float64 `json:"logging"`         // mean reward of the rows that certify
	RewardMin      float64  `json:"reward_min"`
	RewardMax      float64  `json:"reward_max"`
	Contradicted   string   `json:"contradicted,omitempty"`
	Warnings       []string `json:"warnings"`
	Notes          []string `json:"notes"`

	Decision *provenance.Decision `json:"decision,omitempty"` // by several outcomes

	Certificate *provenance.Statement `json:"certificate"`
}

func guaranteeOf(s provenance.Statement) guarantee {
	u := logs.Units{Low: s.RewardMin, High: s.RewardMax}
	value, p, logging := u.At(s.Promise()), 1-s.Delta, u.At(s.Logged)
	g := guarantee{Verdict: string(s.Verdict), Guaranteed: &value, Probability: &p, Logging: &logging,
		RewardMin: u.Low, RewardMax: u.High,
		Contradicted: s.Contradicted, Warnings: list(s.Doubts), Notes: list(s.Notes), Certificate: &s}
	if s.Gain != nil {
		gain := -s.Gain.Risk * u.Span()
		g.GainGuaranteed = &gain
	}
	g.Decision = s.Decided()
	return g
}

// list makes an empty list [] in JSON, and not null.
func list(all []string) []string { return append([]string{}, all...) }

// certified is the answer of certify.
type certified struct {
	guarantee
	Estimate   estimate `json:"estimate"`
	Rows       int      `json:"rows"`
	Certifying int      `json:"certifying"`
	Refused    int      `json:"refused"`
	Files      int      `json:"files"`
}

func certifiedOf(s provenance.Statement) certified {
	return certified{guaranteeOf(s), estimateIn(logs.Units{Low: s.RewardMin, High: s.RewardMax}, s.Estimate), s.Rows,
		s.N, s.Refused, max(1, s.Files)}
}

// trained is the answer of train.
type trained struct {
	Policy string `json:"policy"` // its file
	Hash   string `json:"hash"`
	guarantee
	Unproven   string            `json:"unproven"`  // why nothing is guaranteed
	Worse      bool              `json:"worse"`     // by the estimate, than what logged
	Undecided  bool              `json:"undecided"` // that may be chance
	Estimate   estimate          `json:"estimate"`
	Rows       int               `json:"rows"`
	Teaching   int               `json:"teaching"`
	Certifying int               `json:"certifying"`
	Objective  string            `json:"objective"`
	Seconds    float64           `json:"seconds"`
	Columns    []inspect.Column  `json:"columns,omitempty"` // as they were read
	Training   pipeline.Training `json:"training"`
}

func trainedOf(l *pipeline.Learned, path string) trained {
	t, f := l.Training, l.File
	brief := t
	brief.Curve = nil // the file has it
	a := trained{Policy: path, Unproven: l.Unproven, Worse: l.Worse, Undecided: l.Undecided, Rows: t.Rows,
		Teaching: t.Teaching, Certifying: t.Certifying, Columns: l.Log.Columns,
		Objective: t.Objective, Seconds: t.Seconds, Training: brief, Estimate: estimateIn(logs.Units{Low: f.RewardMin,
			High: f.RewardMax}, t.Estimate),
		guarantee: guarantee{Verdict: "none", RewardMin: f.RewardMin, RewardMax: f.RewardMax, Notes: list(nil)}}
	if l.Certificate != nil {
		a.guarantee = guaranteeOf(l.Certificate.Statement())
	}
	if a.Warnings = list(t.Warnings); path != "" {
		a.Hash = l.Served.Hash()
	}
	return a
}

// watched is the answer of monitor.
type watched struct {
	Policy  string  `json:"policy"` // its hash
	Refuted bool    `json:"refuted"`
	Delta   float64 `json:"delta"`
	Logged  int     `json:"logged_rows"` // Rows are those or their groups
	certify.Watch
	Outcomes []watchedOutcome `json:"outcomes,omitempty"` // that the file says to be kept
	Warnings []string         `json:"warnings"`           // what the inspection of the log doubts
}

// drawn is the answer of plot, reproduce and run.
type drawn struct {
	Page        string           `json:"page"`
	Results     int              `json:"results"`
	Conclusions []report.Verdict `json:"conclusions"` // those that results speak of
}

func drawnOf(page string, recs []train.Record) drawn {
	all := report.Verdicts(recs)
	if !slices.ContainsFunc(all, func(v report.Verdict) bool { return v.Status != report.NotRun }) {
		all = []report.Verdict{}
	}
	return drawn{page, len(recs), all}
}

// compared is the answer of compare.
type compared struct {
	Rows []train.Record `json:"rows"`
}

// joined is the answer of join.
type joined struct {
	Out string `json:"out"`
	join.Summary
	RewardMin float64 `json:"reward_min"`
	RewardMax float64 `json:"reward_max"`
	Dropped   bool    `json:"dropped"`
}
