package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"opl/train"
	"opl/train/library"
	"opl/train/report/html"
	"opl/train/report/table"
)

// Share makes a page of what WriteAll writes about records: figures, their points, the
// verdicts on the paper's conclusions, or the grid where it is one's own. Errors: no records.
func Share(recs []train.Record, o PageOptions) (html.Page, error) {
	p, err := newPage(recs, &o)
	if err != nil {
		return html.Page{}, err
	}
	out := html.Page{Question: "What do the policies of this grid earn?", Subject: fmt.Sprintf("%d runs",
		len(p.recs))}
	type data struct {
		Verdicts []Verdict `json:"verdicts,omitempty"`
		Grid     string    `json:"grid,omitempty"`
		Points   []Point   `json:"points"`
	}
	d := data{p.verdicts, o.Grid, slices.Concat(p.pts...)}
	out.Data = d
	out.Verdict = Best(o.Library, p.recs)
	if p.verdicts != nil {
		out.Question = "Do the paper's conclusions hold in these runs?"
		out.Verdict, out.Tone = judged(p.verdicts)
	}
	out.Sections = p.sections()
	if o.Curves {
		s := html.Section{Title: "Learning curves", Notes: []string{curvesNote}}
		for _, d := range learningCurves(names{o.Library}, p.recs) {
			if len(s.Figures) == mostCurves {
				s.Notes = append(s.Notes, fmt.Sprintf("Of the first %d configurations.", mostCurves))
				break
			}
			caption := d.Legends[len(d.Legends)-1].Title
			d.Legends = d.Legends[:len(d.Legends)-1]
			s.Figures = append(s.Figures, html.Figure{Caption: caption, Figure: d})
		}
		if s.Figures != nil {
			out.Sections = append(out.Sections, s)
		}
	}
	out.Sections = append(out.Sections, p.runs())
	return out, nil
}

const (
	mostCurves = 24 // learning curves that a page draws
	curvesNote = "Objective and terms are means over an epoch's minibatches."
)

// ShareRewards makes a page of what Write writes about records, with the terms of objectives and bounds.
// Errors: no records.
func ShareRewards(recs []train.Record, o PageOptions) (html.Page, error) {
	o.Grid = "-" // draw all of them as one
	p, err := newPage(recs, &o)
	if err != nil {
		return html.Page{}, err
	}
	var w, terms table.Recorder
	if err := Write(&w, table.Markdown, recs); err != nil {
		return html.Page{}, err
	}
	if err := WriteTerms(&terms, table.Markdown, recs); err != nil {
		return html.Page{}, err
	}
	rewards := html.Recorded("Rewards", &w)
	rewards.Notes = slices.Compact(slices.Sorted(slices.Values(rewards.Notes)))
	for i, d := range p.drawings {
		rewards.Figures = append(rewards.Figures, html.Figure{Caption: captionOf("grid", p.pts[i]), Figure: d})
	}
	out := html.Page{Question: "Which objective learns the better policy?", Subject: fmt.Sprintf("%d runs",
		len(p.recs)), Verdict: Best(o.Library, p.recs),
		Sections: []html.Section{rewards}, Data: recs}
	if t := html.Recorded("Terms of objectives and bounds", &terms); len(t.Tables) > 0 &&
		len(t.Tables[0].Rows) > 0 {
		out.Sections = append(out.Sections, t)
	}
	out.Sections = append(out.Sections, p.runs())
	return out, nil
}

// Best says in a sentence which configuration earns most, of each data set and η₀. Names are those of the library.
func Best(lib library.Library, recs []train.Record) string {
	type problem struct {
		dataset string
		eta0    float64
	}
	won := map[string]int{}
	problems, fewest, seeds := 0, math.MaxInt, 0
	said := ""
	learned := slices.DeleteFunc(learnedOf(recs), func(r train.Record) bool { return !finite(r.Reward) })
	for _, of := range groupBy(learned, func(r train.Record) problem { return problem{r.Dataset, r.Eta0} }) {
		problems++
		var most []train.Record
		for _, runs := range groupBy(of, configuration) {
			fewest, seeds = min(fewest, len(runs)), max(seeds, len(runs))
			if most == nil || meanReward(runs) > meanReward(most) {
				most = runs
			}
		}
		name := names{lib}.configuration(most[0].Run)
		won[name]++
		said = fmt.Sprintf("On %s with η₀ = %v, %s earns most: %.4f", datasetName(of[0].Dataset), of[0].Eta0, name,
			meanReward(most))
		if l := most[0].LoggingReward; finite(l) {
			said += fmt.Sprintf("; the logging policy earns %.4f", mean(numbers(most, loggingReward)))
		}
	}
	over := fmt.Sprintf("%d to %d seeds", fewest, seeds)
	if fewest == seeds {
		over = map[bool]string{true: "one seed", false: fmt.Sprintf("%d seeds", seeds)}[seeds <= 1]
	}
	switch {
	case problems == 0:
		return "No run has a reward."
	case problems == 1:
		return said + " (" + over + ")."
	}
	winners := slices.SortedFunc(maps.Keys(won),
		func(a, b string) int { return cmp.Or(won[b]-won[a], strings.Compare(a, b)) })
	var parts []string
	for _, name := range winners {
		parts = append(parts, fmt.Sprintf("“%s” in %d", name, won[name]))
	}
	if k := len(parts) - 3; k > 0 {
		parts = append(parts[:3:3], fmt.Sprintf("%d others in the rest", k))
	}
	return fmt.Sprintf("Of %d problems (data set and η₀), most is earned by %s (%s).", problems,
		strings.Join(parts, ", "), over)
}

// judged counts verdicts, in a sentence.
func judged(vs []Verdict) (string, html.Tone) {
	count := map[Status]int{}
	for _, v := range vs {
		count[v.Status]++
	}
	ran := len(vs) - count[NotRun]
	var parts []string
	for _, s := range []Status{Confirmed, PointsToConfirmed, Undecided, PointsToContradicted, Contradicted} {
		if count[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	text := fmt.Sprintf("Of the claims that were run, %d in all: %s.", ran, strings.Join(parts, ", "))
	if count[NotRun] > 0 {
		text += fmt.Sprintf(" %d were not run.", count[NotRun])
	}
	tone := html.Doubt
	switch {
	case count[Confirmed] == ran:
		tone = html.Good
	case count[Contradicted]+count[PointsToContradicted] > ran/2:
		tone = html.Bad
	}
	return text, tone
}
