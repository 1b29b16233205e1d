package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// answer is what several outcomes say together, in a sentence.
func answer(d *provenance.Decision) string {
	switch {
	case d.Answer == provenance.Ship:
		return fmt.Sprintf("Ship: %s; this is false with probability %.3g at most.", d.Because, d.Delta)
	case d.Answer == provenance.Harm:
		return fmt.Sprintf("Harm shown: %s; this is false with probability %.3g at most.", d.Because, d.Delta)
	case d.RowsNeeded > 0:
		return fmt.Sprintf("Undecided: %s; it takes about %d rows like these.", d.Because, d.RowsNeeded)
	}
	for _, o := range d.Outcomes {
		if o.Verdict == string(provenance.Undecided) && o.RowsNeeded == 0 && o.Slack(o.Point) <= 0 {
			return fmt.Sprintf("Undecided: %s; by the estimates %s %s does not hold, and more rows like these would not "+
				"show it.", d.Because, o.Kind, o.Name)
		}
	}
	return fmt.Sprintf("Undecided: %s.", d.Because)
}

// outcomesHead are the columns of the table of outcomes.
var outcomesHead = []string{"outcome", "estimate", "logging", "bound on its", "alone", "together", "limit", "verdict"}

// outcomes are the rows of that table.
func outcomes(d *provenance.Decision) (rows [][]string) {
	for _, o := range d.Outcomes {
		sign, u := "≥", logs.Units{Low: o.Low, High: o.High}
		bound := func(v float64) string { return u.LeastWidth(v / u.Span()) }
		if o.AtMost {
			sign = "≤"
			bound = func(v float64) string { return negative(u.LeastWidth(-v / u.Span())) }
		}
		limit := fmt.Sprintf("%s %.4g", sign, o.Limit)
		if o.Kind == "goal" {
			limit = "> 0"
		}
		rows = append(rows, []string{o.Kind + " " + o.Name,
			around(plain, o.Estimate, logs.Half(o.SE)), fmt.Sprintf(plain, logs.Places(logs.Half(o.SE)), o.Logging),
			o.Bounded, sign + " " + bound(o.Bound), sign + " " + bound(o.Together), limit, o.Verdict})
	}
	return rows
}

// outcomes prints the outcomes of policies by their estimates, and what they say together.
func (d document) outcomes(level string, policies []ope.Policy) error {
	head, logging := []string{"policy"}, []string{"logging"}
	for _, p := range policies {
		for _, o := range p.Outcomes {
			if !slices.Contains(head, o.Column) {
				head, logging = append(head, o.Column), append(logging, interval(o.Logging))
			}
		}
	}
	var rows [][]string
	var all []ope.OutcomeEstimate
	for _, p := range policies {
		all = append(all, p.Outcomes...)
		row := slices.Repeat([]string{"—"}, len(head)+1)
		row[0] = p.Name + marked(p.Learned)
		for _, o := range p.Outcomes {
			row[slices.Index(head, o.Column)] = interval(o.Interval)
		}
		if p.Guarantee != nil && p.Guarantee.Decided() != nil {
			row[len(head)] = string(p.Guarantee.Decided().Answer)
		}
		rows = append(rows, row)
	}
	if len(head) > 1 {
		fmt.Fprintln(d.w)
		if err := d.table(append(head, "answer"), append([][]string{append(logging, "")}, rows...)); err != nil {
			return err
		}
		d.para("outcomes: means by rows that have them, with the %s; no guarantee", level)
		d.lacking(all)
	}
	for _, p := range policies {
		if p.Guarantee != nil {
			d.answered(p.Name, p.Guarantee.Decided())
		}
	}
	return nil
}

// lacking says of which outcomes rows have no values, once of each.
func (d document) lacking(all []ope.OutcomeEstimate) {
	var told []string
	for _, o := range all {
		if o.Missing > 0 && !slices.Contains(told, o.Column) {
			told = append(told, o.Column)
			d.para("%s: %d of %d rows lack it: estimates are of the others", o.Column, o.Missing, o.Rows+o.Missing)
		}
	}
}

func interval(i ope.Interval) string {
	return around(plain, i.Value, (i.High-i.Low)/2)
}

// answered prints what several outcomes say of a policy; of nil nothing.
func (d document) answered(policy string, of *provenance.Decision) {
	if of != nil {
		d.para("%s: %s", policy, answer(of))
	}
}

// negative is a number of the other sign.
func negative(v string) string {
	switch {
	case v == "0" || v == "-0":
		return "0"
	case strings.HasPrefix(v, "-"):
		return v[1:]
	}
	return "-" + v
}

// conditionsOf say what the answer is for.
func conditionsOf(d *provenance.Decision) (all []string) {
	all = append(all, fmt.Sprintf("Each bound alone holds with probability %v, which is what \"ship\" needs of every "+
		"one; all of those together hold with probability %v.", 1-d.Delta, 1-d.Delta))
	for _, o := range d.Outcomes {
		if o.RangeAssumed {
			all = append(all, fmt.Sprintf("%s is taken to be from 0 to 1, as all its values are 0 or 1.", o.Column))
		}
	}
	return all
}

// lacking says of which outcomes rows have no values, and how they count.
func lacking(d *provenance.Decision) (all []string) {
	for _, o := range d.Outcomes {
		switch {
		case o.Missing == 0:
		case o.AtRandom:
			all = append(all, fmt.Sprintf("%s: %d of %d rows lack it, and are left out: assumed is that it is missing "+
				"independently of action and outcome, given the context", o.Column, o.Missing, o.Rows+o.Missing))
		default:
			all = append(all, fmt.Sprintf("%s: %d of %d rows lack it: estimates are of the others, bounds count what is "+
				"worst there", o.Column, o.Missing, o.Rows))
		}
	}
	return all
}

// printDecision prints the table of an answer; of nil nothing.
func printDecision(b *strings.Builder, d *provenance.Decision) {
	if d == nil {
		return
	}
	b.WriteByte('\n')
	_ = table.Columns(b, "  ", append([][]string{outcomesHead}, outcomes(d)...)) // a builder takes all
	for _, c := range append(conditionsOf(d), lacking(d)...) {
		fmt.Fprintf(b, "  %s\n", c)
	}
	b.WriteByte('\n')
}

// decisionSection is the answer as a part of a page.
func decisionSection(d *provenance.Decision) html.Section {
	return html.Section{Title: "Several outcomes, one decision", Facts: []html.Fact{fact("answer", "%s", answer(d))},
		Figures: []html.Figure{{Figure: decisionFigure(d), Caption: "How far each outcome is within its limit, as a " +
			"share of its range: above 0 the limit is kept. The estimate has its 95 % interval."}},
		Tables: []html.Table{{Caption: "Outcomes", Head: outcomesHead, Rows: outcomes(d)}},
		Notes:  append(conditionsOf(d), lacking(d)...)}
}

// decisionFigure draws a line an outcome: the room to its limit by the estimate, and by the bound.
func decisionFigure(d *provenance.Decision) figure.Figure {
	limit, estimate, bound := whatPlays("limit"), across(0, "estimate"), across(1, "guaranteed at least")
	limit.Add(0, 0, 0, 0, "")
	var names []string
	for i, o := range d.Outcomes {
		names = append(names, o.Kind+" "+o.Name)
		point, half := o.Slack(o.Point), logs.Half(o.SE)/(o.High-o.Low)
		estimate.Add(point, .12-float64(i), point-half, point+half, names[i])
		bound.Add(o.Slack(o.Bound), -.12-float64(i), math.NaN(), math.NaN(),
			fmt.Sprintf("%s, with probability %v", names[i], 1-d.Delta))
	}
	f := lines("decision", "within the limit", names, limit, estimate, bound)
	f.Height = .7*vg.Inch + vg.Length(len(names))*.27*vg.Inch
	return f
}

// decisionTone is how the answer speaks.
func decisionTone(d *provenance.Decision) html.Tone {
	return map[provenance.Answer]html.Tone{provenance.Ship: html.Good, provenance.Harm: html.Bad,
		provenance.Undecided: html.Doubt}[d.Answer]
}
