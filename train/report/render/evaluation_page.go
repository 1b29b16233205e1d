package render

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// EvaluationPage is a result to be shared.
func EvaluationPage(r ope.Result) html.Page {
	r = r.InUnits()
	p := html.Page{Question: "What would other policies have earned?", Subject: rowsText(r.Rows, r.Groups), Data: r}
	estimates := recorded("Estimates", func(w io.Writer, f table.Format) error { return Evaluation(w, f, r) })
	captions := []string{"Values and gains over the logging policy; * is the estimator to believe", "Weights π/π₀",
		"Differences on the same rows, first less second"}
	for i := range estimates.Tables {
		estimates.Tables[i].Caption = captions[min(i, len(captions)-1)]
	}
	judged := func(p ope.Policy) bool { return p.Outcomes != nil }
	if n := len(estimates.Tables); slices.ContainsFunc(r.Policies, judged) {
		estimates.Tables[n-1].Caption = "Other outcomes, with their intervals"
	}
	estimates.Figures = []html.Figure{
		{Figure: EvaluationFigure(r), Caption: fmt.Sprintf("What each policy would have earned, "+
			"by each estimator, with its %s interval (%s), beside what the logging policy earned. "+
			"Open marks are biased: their intervals are of what they estimate.", percent(r.Delta), r.Interval)},
	}
	var statements []named
	for _, q := range r.Policies {
		statements = append(statements, named{q.Name, q.Guarantee})
	}
	p.Sections = append([]html.Section{estimates}, guaranteed(statements)...)
	p.Tone, p.Verdict = headline(r)
	return p
}

// headline is what a result says in a sentence.
func headline(r ope.Result) (html.Tone, string) {
	var best ope.Estimate
	var name string
	var shown []string
	believed := 0
	for _, q := range r.Policies {
		if q.Guarantee != nil && q.Guarantee.Ships() {
			shown = append(shown, q.Name)
		}
		for _, e := range q.Estimates {
			if e.Estimator != q.Recommended {
				continue
			}
			if believed++; believed == 1 || e.Value > best.Value {
				name, best = q.Name, e
			}
		}
	}
	if believed == 0 {
		return html.Bad, "None of these estimates is to be believed: the log says too little of what the " +
			"policies do."
	}
	most := ""
	if believed > 1 {
		most = fmt.Sprintf(", the most of %d policies", believed)
	}
	verdict := fmt.Sprintf("%s would have earned %s by %s%s; the logging policy earned %s. ",
		name, interval(best.Interval), best.Label(), most, interval(r.Logging))
	if shown == nil {
		return html.Doubt, verdict + "None is shown to earn more."
	}
	return html.Good, verdict + fmt.Sprintf("Shown to earn more, with probability %v: %s.", 1-r.Delta,
		strings.Join(shown, ", "))
}

// named is what is guaranteed of a policy; nil: nothing.
type named struct {
	policy string
	*provenance.Statement
}

// guaranteed are the sections of what is guaranteed of policies, each note once, and last of what
// all of it assumes.
func guaranteed(all []named) (sections []html.Section) {
	var any *provenance.Statement
	seen := map[string]bool{}
	for _, g := range all {
		if g.Statement == nil {
			continue
		}
		if any == nil {
			any = g.Statement
		}
		if d := g.Decided(); d != nil {
			said := decisionSection(d)
			said.Title = g.policy + ": " + answer(d)
			sections = append(sections, said)
		}
		s := guaranteeSection(*g.Statement)
		s.Title = "What is guaranteed of " + g.policy
		s.Text = append([]string{sentence(*g.Statement)}, s.Text...)
		s.Notes = slices.DeleteFunc(s.Notes, func(n string) bool {
			again := seen[n]
			seen[n] = true
			return again
		})
		sections = append(sections, s)
	}
	if any != nil {
		sections = append(sections, assumptions(*any))
	}
	return sections
}

// EvaluationFigure draws estimates with their intervals, one line an estimator and a colour a
// policy, beside the on-policy value of the logging policy. Open marks are
// biased estimators, which the legend says.
func EvaluationFigure(r ope.Result) figure.Figure {
	r = r.InUnits()
	var names, labels []string // labels have hyperparameters that all policies share
	for _, p := range r.Policies {
		for _, e := range p.Estimates {
			if at := slices.Index(names, e.Estimator); at < 0 {
				names, labels = append(names, e.Estimator), append(labels, e.Label())
			} else if labels[at] != e.Label() {
				labels[at] = e.Estimator
			}
		}
	}
	logging := whatPlays("logging, on-policy")
	logging.Add(r.Logging.Value, 0, r.Logging.Low, r.Logging.High, "")
	curves := []figure.Curve{logging}
	for j, policy := range r.Policies {
		name := policy.Name
		if policy.Learned {
			name += ", learned from these rows"
		}
		c := figure.Curve{Name: name, Style: figure.Category(j), Kind: figure.Across}
		if c.Open = false; j < figure.Categories {
			c.Dashes = nil
		}
		shift := 0.5 * (float64(j) - float64(len(r.Policies)-1)/2) / float64(max(2, len(r.Policies)))
		for _, e := range policy.Estimates {
			text := e.Label()
			if e.Biased {
				text += ", biased"
			}
			c.Add(e.Value, -float64(slices.Index(names, e.Estimator))-shift, e.Low, e.High, text)
			c.Hollow = append(c.Hollow, e.Biased || policy.Learned)
		}
		curves = append(curves, c)
	}
	f := lines("values", fmt.Sprintf("mean reward, with %s interval (%s)", percent(r.Delta), r.Interval), labels,
		curves...)
	learned := slices.ContainsFunc(r.Policies, func(p ope.Policy) bool { return p.Learned })
	biased := estimators(r, func(e ope.Estimate) bool { return e.Biased }) != ""
	open := figure.Neutral
	open.Open = true
	if biased || learned {
		label := "open: biased, its own mean"
		switch {
		case biased && learned:
			label = "open: biased, or learned from these rows"
		case learned:
			label = "open: learned from these rows"
		}
		f.Legends[0].Entries = append(f.Legends[0].Entries, figure.Entry{Label: label, Style: open})
	}
	tall := vg.Length(len(labels)) * (1 + .3*vg.Length(math.Log2(float64(max(1, len(r.Policies))))))
	f.Width, f.Height = 6.2*vg.Inch, .7*vg.Inch+tall*.27*vg.Inch
	return f
}
