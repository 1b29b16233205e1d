package render

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"opl/train/logs"
	"opl/train/ope"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// Selection prints a selection in a format: a line a target, and below, but for CSV, what the numbers mean. Text begins
// with the decision, and other formats end with it.
func Selection(w io.Writer, f table.Format, s ope.Selection) error {
	s = s.InUnits()
	if f == table.CSV {
		return selectionCSV(w, s)
	}
	e := selection{document{w, f}, s, s.Decimals()}
	if f == table.Text {
		fmt.Fprintln(w, s.Because)
	}
	if err := table.Write(w, f, e.targets()[0], e.targets()[1:]); err != nil {
		return err
	}
	if err := e.decisions(); err != nil {
		return err
	}
	e.legend()
	e.doubts()
	return nil
}

// selection is a selection on its way to a text.
type selection struct {
	document
	ope.Selection
	digits int
}

// half is an interval as value ± half of its width.
func (s selection) half(i ope.Interval, verb string) string {
	return fmt.Sprintf(verb+" ± %.*f", s.digits, i.Value, s.digits, (i.High-i.Low)/2)
}

// targets are a head and a row a target.
func (s selection) targets() [][]string {
	bound := func(v *float64, verb string) string {
		if v == nil {
			return "—"
		}
		return fmt.Sprintf(verb, s.digits, logs.Below(*v, s.digits))
	}
	rows := [][]string{{"policy", "value ≥", "gain ≥", "value", "gain", "verdict"},
		{"what plays", "", "", s.half(s.Logging, plain), "", ""}}
	for _, t := range s.Targets {
		line := []string{t.Name + marked(t.Learned), bound(t.AtLeast, plain), bound(t.GainAtLeast, signed), "—",
			"—", string(t.Verdict)}
		if e := t.Estimate; e != nil {
			line[3], line[4] = s.half(e.Interval, plain), s.half(e.Gain, signed)
		}
		rows = append(rows, line)
	}
	return rows
}

// decisions print a line an outcome of each target that several decide on.
func (s selection) decisions() error {
	var rows [][]string
	var all []ope.OutcomeEstimate
	for _, t := range s.Targets {
		if t.Decision == nil {
			continue
		}
		all = append(all, t.Outcomes...)
		for _, o := range outcomes(t.Decision) {
			rows = append(rows, slices.Concat([]string{t.Name}, o[:2], o[3:5], o[6:]))
		}
	}
	if rows == nil {
		return nil
	}
	fmt.Fprintln(s.w)
	head := []string{"policy", "outcome", "estimate", "bound on its", "alone", "limit", "verdict"}
	err := table.Write(s.w, s.format, head, rows)
	s.lacking(all)
	for _, t := range s.Targets {
		s.answered(t.Name, t.Decision)
	}
	return err
}

// legend says what the numbers mean.
func (s selection) legend() {
	of, all := rowsText(s.Rows, s.Groups), "both hold"
	if m := len(s.Targets); m > 1 {
		all = fmt.Sprintf("those of all %d targets hold", m)
	}
	if slices.ContainsFunc(s.Targets, func(t ope.Candidate) bool { return t.AtLeast != nil }) {
		s.para("≥: lower bounds on the %s, and on the gain over what logged the %s; %s together with probability "+
			"%v, for one look, if rows (or groups) are independent and the targets were fixed before "+
			"this log was seen", meanReward(s.RewardMin, s.RewardMax), of, all, 1-s.Delta)
	} else {
		s.para("gain: over what logged the %s", of)
	}
	if s.Gamma > 1 {
		s.para("they hold for all propensities within the factor %v of those logged", s.Gamma)
	}
	if i := slices.IndexFunc(s.Targets, func(t ope.Candidate) bool { return t.Estimate != nil }); i >= 0 {
		s.para("±: value and gain by %s, with the %s interval of each; no guarantee", s.Targets[i].Estimate.Label(),
			percent(s.Delta))
	}
}

// doubts says what warns, what cannot be told, and the decision.
func (s selection) doubts() {
	s.paras("left out: ", s.Missing)
	s.paras("", s.Notes)
	for _, t := range s.Targets {
		s.paras("warning: "+t.Name+": ", t.Warnings)
	}
	for _, t := range s.Targets {
		if t.Uncertified != "" {
			s.para("nothing is guaranteed of %s: %s", t.Name, t.Uncertified)
		}
		if t.Contradicts != "" {
			s.para("doubt: %s: %s", t.Name, t.Contradicts)
		}
	}
	s.tells()
	if s.format != table.Text { // which begins with it
		s.para("%s", s.Because)
	}
}

// tells says what these rows tell of targets beside each other, and how firmly.
func (s selection) tells() {
	for _, t := range s.Targets {
		if t.Same {
			s.para("%s plays as what logged these rows", t.Name)
		}
	}
	for _, p := range s.Alike {
		s.para("these rows cannot tell %s from %s", p[0], p[1])
	}
	if p := s.RunnerUp; p != nil && s.Selected != nil {
		s.para("runner-up: %s less %s is %s by %s: an interval, and no guarantee", p.First, p.Second,
			s.half(p.Interval, signed), p.Estimator)
	}
	if s.Ship && s.Targets[0].Strength > 0 { // it is not known of lists
		s.para("strength: it stands for propensities within the factor %s of those logged",
			factor(s.Targets[0].Strength))
	}
}

func selectionCSV(w io.Writer, s ope.Selection) error {
	var rows [][]string
	bound := func(v *float64) string {
		if v == nil {
			return ""
		}
		return exact(*v)
	}
	for i, t := range s.Targets {
		estimate := make([]string, 5)
		if e := t.Estimate; e != nil {
			estimate = []string{e.Label(), exact(e.Value), exact(e.SE), exact(e.Gain.Value), exact(e.Gain.SE)}
		}
		chosen := i == 0 && s.Selected != nil
		rows = append(rows, slices.Concat([]string{t.Name, bound(t.AtLeast), bound(t.GainAtLeast), string(t.Verdict),
			exact(t.Strength)}, estimate, []string{strconv.FormatBool(chosen),
			strconv.FormatBool(chosen && s.Ship)}))
	}
	return table.Write(w, table.CSV, []string{"policy", "at_least", "gain_at_least", "verdict", "strength",
		"estimator", "value", "se", "gain", "gain_se", "selected", "ship"}, rows)
}

// SelectionPage is a selection to be shared.
func SelectionPage(s ope.Selection) html.Page {
	s = s.InUnits()
	tone := map[ope.Decision]html.Tone{ope.Ship: html.Good, ope.Keep: html.Bad, ope.TooFew: html.Doubt}[s.Decision]
	p := html.Page{Question: "Which of these policies is to be shipped?", Subject: rowsText(s.Rows, s.Groups),
		Verdict: capital(s.Because) + ".", Tone: tone, Data: s}
	targets := recorded("The policies", func(w io.Writer, f table.Format) error { return Selection(w, f, s) })
	targets.Tables[0].Caption = "By their lower bounds, the largest first"
	targets.Figures = []html.Figure{{Figure: selectionFigure(s), Caption: "Estimates with their intervals, " +
		"which guarantee nothing, and lower bounds, which hold together, beside what plays."}}
	var statements []named
	for _, t := range s.Targets {
		statements = append(statements, named{t.Name, t.Statement})
	}
	p.Sections = append([]html.Section{targets}, guaranteed(statements)...)
	return p
}

// selectionFigure draws a line a target: the estimate, and the lower bound.
func selectionFigure(s ope.Selection) figure.Figure {
	plays, estimate, bound := whatPlays("what plays"), across(0, "estimate"), across(1, "guaranteed at least")
	plays.Add(s.Logging.Value, 0, s.Logging.Low, s.Logging.High, "")
	var names []string
	for i, t := range s.Targets {
		names = append(names, t.Name)
		if e := t.Estimate; e != nil {
			estimate.Add(e.Value, .12-float64(i), e.Low, e.High, t.Name+", "+e.Label())
		}
		if t.AtLeast != nil {
			bound.Add(*t.AtLeast, -.12-float64(i), math.NaN(), math.NaN(), t.Name)
		}
	}
	return lines("selection", "mean reward in [0, 1]", names, plays, estimate, bound)
}
