package render

import (
	"fmt"
	"math"
	"strings"

	"opl/train/logs"
	"opl/train/provenance"
	"opl/train/report/figure"
	"opl/train/report/html"
)

// CertificatePage returns the statement about a log that was read, to be shared.
func CertificatePage(s provenance.Statement) html.Page {
	section := guaranteeSection(s)
	section.Facts = append(append(onRows(s), section.Facts...), remarks(s)...)
	section.Figures = []html.Figure{guaranteeFigure(s)}
	page := html.Page{Question: "What is guaranteed of this policy?", Verdict: sentence(s), Tone: toneOf(s),
		Sections: []html.Section{section, assumptions(s)}, Data: s}
	if d := s.Decided(); d != nil {
		page.Question, page.Verdict, page.Tone = "Is this policy to be shipped?", answer(d), decisionTone(d)
		page.Sections = append([]html.Section{decisionSection(d)}, page.Sections...)
	}
	return page
}

// guaranteeSection is what is guaranteed, as a part of pages: in words where the log was read.
func guaranteeSection(s provenance.Statement) html.Section {
	section := html.Section{Title: "What is guaranteed"}
	if s.Circumstances != nil {
		section.Facts = guarantee(s)
		for _, c := range conditions(s) {
			section.Notes = append(section.Notes, strings.ReplaceAll(c, "\n", " "))
		}
	}
	t := html.Table{Caption: "Bounds: together they fail with probability δ at most",
		Head: []string{"on the", "at least", "its share of δ", "by", "made of"}}
	for _, b := range boundsOf(s) {
		t.Rows = append(t.Rows, []string{b.what, b.least, fmt.Sprintf("%.3g", b.Delta), b.Name,
			strings.Join(b.terms, ", ")})
	}
	section.Tables = []html.Table{t}
	return section
}

// sentence is the verdict in a sentence.
func sentence(s provenance.Statement) string {
	u := unitsOf(s)
	sure := fmt.Sprintf("with probability %v", 1-s.Delta)
	least := fmt.Sprintf("It earns at least %s", u.Least(s.Promise(), errorOf(s)))
	switch s.Verdict {
	case provenance.Better:
		return fmt.Sprintf("%s, and at least %s more than what logged the rows, %s.", least,
			u.LeastWidth(s.GainAtLeast()), sure)
	case provenance.Vacuous:
		return "Nothing is guaranteed: the bound allows the least reward."
	case provenance.Doubted:
		return "Not shown to be better than what logged the rows, for the log contradicts what the bounds assume."
	}
	return fmt.Sprintf("%s, %s; it is not shown to earn more than what logged the rows.", least, sure)
}

// toneOf is how the verdict speaks.
func toneOf(s provenance.Statement) html.Tone {
	switch s.Verdict {
	case provenance.Better:
		return html.Good
	case provenance.Vacuous, provenance.Doubted:
		return html.Bad
	}
	return html.Doubt
}

// assumptions says what the guarantee assumes, what the log's checks say of it, and how strong it is.
func assumptions(s provenance.Statement) html.Section {
	rows, u := "Rows", unitsOf(s)
	if s.Groups > 0 {
		rows = "Groups of rows"
	}
	known := "The bounds are computed with these, taken for exact (Γ = 1)."
	if s.Gamma > 1 {
		known = fmt.Sprintf("The bounds hold for all propensities within the factor Γ = %v of those.", s.Gamma)
	}
	drawn := html.Check{Name: "Actions were drawn with the propensities that the log states", Text: []string{known}}
	looks := html.Check{Name: "One look", Text: []string{"At rows whose number was fixed before."}}
	if s.AnyTime {
		looks = html.Check{Name: "Looks at any time",
			Text: []string{"The bounds hold at every look at these rows as more come, all looks together."}}
	}
	section := html.Section{Title: "What the guarantee assumes, and how strong it is"}
	if c := s.Circumstances; c != nil {
		found := html.Check{Name: "What the log's checks say of this", Tone: html.Good,
			Text: []string{"They found nothing against it."}}
		if c.Contradicted != "" || c.Doubts != nil {
			found.Tone, found.Text = html.Doubt, c.Doubts
		}
		if c.Contradicted != "" {
			found.Tone, found.Text = html.Bad, append([]string{"They contradict it: " + c.Contradicted},
				c.Doubts...)
		}
		if c.Strength > 0 {
			drawn.Text = append(drawn.Text, fmt.Sprintf("The policy stays better for all propensities within the "+
				"factor Γ = %.4g of those logged: that is how strong the statement is.", c.Strength))
		}
		section.Checks = append(section.Checks, found)
	}
	section.Checks = append(section.Checks,
		html.Check{Name: rows + " are independent of one another, and alike",
			Text: []string{"The bound is on a mean over what the rows were drawn from. If that has changed " +
				"since, the bound does not hold."}},
		drawn,
		html.Check{Name: "No row that certifies had a part in the policy, or in what it is judged by",
			Text: []string{"The policy's file says which rows taught it, and is believed unless the log " +
				"contradicts it. A target without such a file is taken as fixed before the log was seen."}},
		html.Check{Name: fmt.Sprintf("Rewards are from %v to %v", u.Low, u.High)},
		looks,
		html.Check{Name: "One statement",
			Text: []string{fmt.Sprintf("Its bounds fail together with probability δ = %v at most. "+
				"If you pick the best of several on the same rows, divide δ among them.", s.Delta)}})
	return section
}

// guaranteeFigure is the bound beside the estimate and what logged the rows.
func guaranteeFigure(s provenance.Statement) html.Figure {
	u, e := unitsOf(s), s.Estimate
	logged, estimate, least := whatPlays("what logged the rows"), across(0, "estimate"), across(1, "guaranteed")
	logged.Add(u.At(s.Logged), 0, math.NaN(), math.NaN(), "")
	estimate.Add(u.At(e.Reward), 0, u.At(e.Reward-logs.Half(e.SE)), u.At(e.Reward+logs.Half(e.SE)), "95 % interval")
	least.Add(u.At(s.Promise()), -1, math.NaN(), math.NaN(), "at least")
	least.Dashes = figure.Category(1).Dashes
	f := lines("guarantee", "mean reward", []string{"estimate", "guaranteed at least"}, logged, estimate, least)
	return html.Figure{Figure: f,
		Caption: fmt.Sprintf("The estimate with its 95 %% interval, and what is guaranteed with "+
			"probability %v.", 1-s.Delta)}
}
