package provenance

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"opl/train/logs"
	"opl/train/report/figure"
	"opl/train/report/html"
)

// Page is the statement about a log that was read, to be shared.
func (s Statement) Page() html.Page {
	var text strings.Builder
	_ = s.WriteText(&text) // a builder takes all
	p := html.Page{
		Question: "What is guaranteed of this policy?",
		Verdict:  s.Sentence(),
		Tone:     s.Tone(),
		Sections: []html.Section{s.section(text.String()), s.Assumptions()},
		Data:     s,
	}
	p.Sections[0].Figures = []html.Figure{s.figure()}
	return p
}

// Section is what is guaranteed, as a part of other pages: in the words of Describe where the log was read.
func (s Statement) Section() html.Section {
	if s.Circumstances == nil {
		return s.section("")
	}
	var text strings.Builder
	s.Describe(&text)
	return s.section(text.String())
}

func (s Statement) section(text string) html.Section {
	all := slices.Clone(s.All)
	if s.Gain != nil {
		all = append(all, *s.Gain)
	}
	section := html.Section{Title: "What is guaranteed"}
	var rest []string
	section.Facts, rest = html.Said(text)
	if i := slices.IndexFunc(rest, func(l string) bool { return strings.HasPrefix(l, "bound on the") }); i >= 0 {
		rest = slices.Delete(rest, i, i+1+len(all)) // they are the table
	}
	for _, line := range rest {
		if n := len(section.Notes); n > 0 && !strings.HasSuffix(section.Notes[n-1], ".") && !strings.HasPrefix(section.Notes[n-1], "without ") {
			section.Notes[n-1] += " " + line
		} else {
			section.Notes = append(section.Notes, line)
		}
	}
	u := s.units()
	t := html.Table{Caption: "Bounds: together they fail with probability δ at most", Head: []string{"on the", "at least", "its share of δ", "by", "made of"}}
	for i, b := range all {
		what, value := "reward", u.Least(-b.Risk)
		if i == len(s.All) {
			what, value = "gain", u.LeastWidth(-b.Risk)
		}
		var terms []string
		for _, term := range b.Terms {
			terms = append(terms, fmt.Sprintf("%s %.4g", term.Name, term.Value))
		}
		t.Rows = append(t.Rows, []string{what, value, fmt.Sprintf("%.3g", b.Delta), b.Name, strings.Join(terms, ", ")})
	}
	section.Tables = []html.Table{t}
	return section
}

// units are those of the log's rewards, as far as they are known.
func (s Statement) units() logs.Units {
	if s.Circumstances == nil || s.RewardMin == s.RewardMax {
		return logs.Units{Low: 0, High: 1}
	}
	return logs.Units{Low: s.RewardMin, High: s.RewardMax}
}

// Sentence is the verdict in a sentence.
func (s Statement) Sentence() string {
	u := s.units()
	sure := fmt.Sprintf("with probability %v", 1-s.Delta)
	least := fmt.Sprintf("It earns at least %s", u.Least(s.Promise()))
	switch s.Verdict {
	case Better:
		return fmt.Sprintf("%s, and at least %s more than what logged the rows, %s.", least, u.LeastWidth(s.GainAtLeast()), sure)
	case Vacuous:
		return "Nothing is guaranteed: the bound allows the least reward."
	case Doubted:
		return "Not shown to be better than what logged the rows, for the log contradicts what the bounds assume."
	}
	return fmt.Sprintf("%s, %s; it is not shown to earn more than what logged the rows.", least, sure)
}

// Tone is how the verdict speaks.
func (s Statement) Tone() html.Tone {
	switch s.Verdict {
	case Better:
		return html.Good
	case Vacuous, Doubted:
		return html.Bad
	}
	return html.Doubt
}

// Assumptions says what the guarantee assumes, what the log's checks say of it, and how strong it is.
func (s Statement) Assumptions() html.Section {
	rows, gamma := "Rows", max(1, s.Gamma)
	if s.Groups > 0 {
		rows = "Groups of rows"
	}
	alike := html.Check{Name: rows + " are independent of one another, and alike", Text: []string{"What is bounded is a mean over what they were drawn from, and over nothing that changed since."}}
	stated := html.Check{Name: "Actions were drawn with the propensities that the log states"}
	if gamma > 1 {
		stated.Text = []string{fmt.Sprintf("The bounds hold for all propensities within the factor Γ = %v of those.", gamma)}
	} else {
		stated.Text = []string{"The bounds are computed with these, taken for exact (Γ = 1)."}
	}
	taught := html.Check{Name: "No row that certifies had a part in the policy, or in what it is judged by", Text: []string{"Which rows taught what is believed of the policy's file, as far as the log does not contradict it; of what has no such file, that it was fixed before the log was seen."}}
	looks := html.Check{Name: "One look", Text: []string{"At rows whose number was fixed before."}}
	if s.AnyTime {
		looks = html.Check{Name: "Looks at any time", Text: []string{"The bounds hold at every look at these rows as more come, all looks together."}}
	}
	one := html.Check{Name: "One statement", Text: []string{fmt.Sprintf("Its bounds fail together with probability δ = %v at most. Who takes the best of several on the same rows must share δ among them.", s.Delta)}}
	u := s.units()
	ends := html.Check{Name: fmt.Sprintf("Rewards are from %v to %v", u.Low, u.High)}
	all := []html.Check{alike, stated, taught, ends, looks, one}
	if c := s.Circumstances; c != nil {
		found := html.Check{Name: "What the log's checks say of this", Tone: html.Good, Text: []string{"They found nothing against it."}}
		if c.Contradicted != "" || c.Doubts != nil {
			found.Tone, found.Text = html.Doubt, c.Doubts
		}
		if c.Contradicted != "" {
			found.Tone, found.Text = html.Bad, append([]string{"They contradict it: " + c.Contradicted}, c.Doubts...)
		}
		if c.Strength > 0 {
			all[1].Text = append(all[1].Text, fmt.Sprintf("That it is better stands for all propensities within the factor Γ = %.4g of them: that is how strong it is.", c.Strength))
		}
		all = append([]html.Check{found}, all...)
	}
	return html.Section{Title: "What the guarantee assumes, and how strong it is", Checks: all}
}

// figure is the bound beside the estimate and what logged the rows.
func (s Statement) figure() html.Figure {
	u := s.units()
	of := func(v float64) float64 { return u.Low + v*(u.High-u.Low) }
	play := figure.Reference
	play.Dashes = nil
	logged := figure.Curve{Name: "what logged the rows", Style: play, Kind: figure.Span, X: []float64{of(s.Logged)}, Y: []float64{0}}
	e := s.Estimate
	estimate := figure.Curve{Name: "estimate", Style: figure.Category(0), Kind: figure.Across, X: []float64{of(e.Reward)}, Y: []float64{0},
		Low: []float64{of(e.Reward - 2*e.SE)}, High: []float64{of(e.Reward + 2*e.SE)}, Texts: []string{"± 2 standard errors"}}
	estimate.Dashes = nil
	bound := figure.Curve{Name: "guaranteed", Style: figure.Category(1), Kind: figure.Across, X: []float64{of(s.Promise())}, Y: []float64{-1}, Texts: []string{"at least"}}
	var key figure.Legend
	panel := &figure.Panel{X: "mean reward", Lines: []string{"estimate", "guaranteed at least"}}
	for _, c := range []figure.Curve{logged, estimate, bound} {
		panel.Curves = append(panel.Curves, c)
		key.Entries = append(key.Entries, figure.Entry{Label: c.Name, Style: c.Style})
	}
	return html.Figure{Caption: fmt.Sprintf("The estimate with 2 standard errors to each side, and what is guaranteed with probability %v.", 1-s.Delta),
		Figure: figure.Figure{Name: "guarantee", Panels: [][]*figure.Panel{{panel}}, Legends: []figure.Legend{key}, Height: vg.Inch}}
}
