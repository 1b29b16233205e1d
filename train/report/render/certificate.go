package render

import (
	"fmt"
	"io"
	"math"
	"strings"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
	"opl/train/report/figure"
	"opl/train/report/html"
)

// Certificate prints the statement about a log that was read, with its bounds and what they assume.
func Certificate(w io.Writer, s provenance.Statement) error {
	var b strings.Builder
	fmt.Fprintln(&b, concluded(s, "opl serve, or opl select beside other policies", ""))
	printDecision(&b, s.Decided())
	printFacts(&b, onRows(s))
	printGuarantee(&b, s)
	printFacts(&b, remarks(s))
	_, err := io.WriteString(w, b.String())
	return err
}

// printFacts prints a line a fact.
func printFacts(b *strings.Builder, facts []html.Fact) {
	for _, f := range facts {
		fmt.Fprintln(b, factLine(f))
	}
}

func factLine(f html.Fact) string { return fmt.Sprintf("%-10s %s", f.Name, f.Value) }

// fact makes a fact of formatted words.
func fact(name, format string, args ...any) html.Fact {
	return html.Fact{Name: name, Value: fmt.Sprintf(format, args...)}
}

// onRows says which rows certify, and what they say of the policy's reward.
func onRows(s provenance.Statement) []html.Fact {
	rows, unit := fmt.Sprint(s.Rows), "rows"
	if s.Lists != nil {
		rows, unit = rows+" lists", "lists"
	}
	if s.Files > 1 {
		rows += fmt.Sprintf(" of %d files", s.Files)
	}
	switch {
	case s.Relation == provenance.Fresh && s.Refused == 0:
		rows += ", of which none had a part in the policy: all certify"
	case s.Relation == provenance.Fresh:
		rows += fmt.Sprintf(", of which none had a part in the policy: %d certify, of %d the notes say why not",
			s.N, s.Refused)
	case s.AnyTime:
		rows += fmt.Sprintf(", of which %d taught what must be fixed, or depend on such, or do not count as the "+
			"notes say, %d certify",
			s.Refused, s.N)
	default:
		rows += fmt.Sprintf(", of which %d taught what must be fixed, or depend on such, and are refused, %d "+
			"certify", s.Refused, s.N)
	}
	on := "these " + unit
	if s.Relation != provenance.Fresh {
		on = "the " + unit + " that certify"
	}
	if s.KL != 0 {
		on += ", which flatters if it was trained on them"
	}
	return []html.Fact{{Name: "rows", Value: rows},
		{Name: "estimate", Value: estimated(s.Estimate, unitsOf(s), on, unit)}}
}

// estimated writes an estimate in one line; on names its rows, which are of a unit.
func estimated(e certify.Estimate, u logs.Units, on, unit string) string {
	if !e.Tells() {
		return fmt.Sprintf("none on %s: the weights π/π₀ average %.2g there, not 1: they hardly show what the "+
			"policy does", on, e.Weight)
	}
	v, half := u.At(e.Reward), logs.Half(e.SE*u.Span())
	if doubt := e.Doubt(); doubt != "" {
		return fmt.Sprintf("%s on %s, worth %.0f %s: %s", decimal(plain, logs.Places(half), v), on, e.Effective, unit,
			doubt)
	}
	return fmt.Sprintf("%s (95 %% interval) on %s, worth %.0f %s", around(plain, v, half), on, e.Effective, unit)
}

// remarks are the notes and doubts of a statement about a log.
func remarks(s provenance.Statement) (facts []html.Fact) {
	for _, n := range s.Notes {
		facts = append(facts, fact("note", "%s", n))
	}
	for _, d := range s.Doubts {
		facts = append(facts, fact("warning", "%s", d))
	}
	return facts
}

// unitsOf returns the units of the log's rewards, [0, 1] where they are not known.
func unitsOf(s provenance.Statement) logs.Units {
	if s.Circumstances == nil || s.RewardMin == s.RewardMax {
		return logs.Units{Low: 0, High: 1}
	}
	return logs.Units{Low: s.RewardMin, High: s.RewardMax}
}

// errorOf is half the interval of the estimate beside a guarantee, in [0, 1]; 0 where there is none.
func errorOf(s provenance.Statement) float64 {
	if s.Circumstances == nil {
		return 0
	}
	return logs.Half(s.Estimate.SE)
}

// logging names what logged the rows.
func logging(s provenance.Statement) string {
	if s.Files > 1 || s.Loggers > 1 {
		return "what logged these rows"
	}
	return "the logging policy"
}

// guarantee says what is guaranteed, in the same words wherever it is shown.
func guarantee(s provenance.Statement) []html.Fact {
	u := unitsOf(s)
	rows, who, at, over := fmt.Sprintf("%d rows", s.N), logging(s), "", "it"
	if s.Groups > 0 {
		rows = fmt.Sprintf("%d groups of %d rows", s.Groups, s.N)
	}
	if s.Circumstances != nil && s.Lists != nil {
		rows = strings.Replace(rows, "rows", "lists", 1)
	}
	if s.Files > 1 {
		rows = fmt.Sprintf("%s of %d files", rows, s.Files)
	}
	if s.Files > 1 || s.Loggers > 1 {
		over = "the policies that logged them, each with the share of its rows,"
	}
	if s.AnyTime {
		at = " at any time"
	}
	logged := u.Of(s.Logged, errorOf(s)) + " in the same rows"
	if s.Gain != nil {
		logged += fmt.Sprintf("; gain over %s at least %s", over, u.LeastWidth(-s.Gain.Risk))
	}
	verdict := map[provenance.Verdict]string{
		provenance.Better:   "better than " + who,
		provenance.NotShown: "not shown to be better than " + who,
		provenance.Vacuous:  "nothing is guaranteed: the bound allows the least reward",
		provenance.Doubted: "not shown to be better than " + who +
			", for the log contradicts what the bounds assume",
	}[s.Verdict]
	if s.Contradicted != "" {
		rows += ", if it were not for the doubt below"
	}
	facts := []html.Fact{
		fact("guaranteed", "at least %s%s with probability %v, by %s on %s", u.Least(s.Guaranteed, errorOf(s)), at,
			1-s.Delta, s.Best().Name, rows),
		{Name: "logging", Value: logged}, {Name: "verdict", Value: verdict},
	}
	if s.Contradicted != "" {
		facts = append(facts, fact("doubt", "%s", s.Contradicted))
	}
	if s.Groups > 0 {
		facts = append(facts, fact("groups", "rows of a group count as one: "+
			"what is bounded is the mean over groups of their mean reward, not that over rows"))
	}
	if s.Circumstances != nil && s.Lists != nil {
		facts = append(facts, fact("lists", "%d, of %d slots, whose rewards are weighed by %s; assumed (%s): %s",
			s.Lists.Lists, s.Lists.Slots, s.Lists.SlotWeights, s.Lists.Assumption, s.Lists.Says))
		if s.Lists.Assumption != certify.NoAssumption {
			facts = append(facts, fact("assumed", "inspect: %s; an assumption may be tested, and never proved",
				s.Lists.Found))
		} else if s.Lists.BySlot && !s.Ships() {
			facts = append(facts, fact("tighter", "where a slot's reward depends on that slot and those above it alone "+
				"(setting assume cascade)"))
		}
	}
	if s.Chunks > 0 {
		facts = append(facts, fact("chunks", "%d: the rows of each certify the policy that those before taught; "+
			"what is bounded is the mixture, which draws one of these policies for every decision", s.Chunks))
	}
	if s.Least > 0 {
		facts = append(facts, fact("assumed", "that every action had a propensity of at least %v in every row", s.Least))
	}
	if s.WithoutPropensities() && s.Circumstances != nil && s.Lists == nil {
		facts = append(facts, fact("tighter", "with the propensities of all actions in the log, or with the least one "+
			"(setting least-propensity)"))
	}
	if s.Gamma > 1 {
		facts = append(facts, fact("Γ", "for all propensities within the factor %v of those logged", s.Gamma))
	}
	return facts
}

// bound is a bound of a statement, with the words for it.
type bound struct {
	certify.Bound
	what, least string
	terms       []string
}

// boundsOf returns the bounds on the reward (one, but several in old records) and on the gain.
func boundsOf(s provenance.Statement) (all []bound) {
	u := unitsOf(s)
	show := func(what, least string, b certify.Bound) {
		var terms []string
		for _, t := range b.Terms {
			terms = append(terms, fmt.Sprintf("%s %.4g", t.Name, t.Value))
		}
		all = append(all, bound{b, what, least, terms})
	}
	for _, b := range s.All {
		what := "reward"
		if len(s.All) > 1 {
			what = b.Name
		}
		show(what, u.Least(max(0, -b.Risk), errorOf(s)), b)
	}
	if s.Gain != nil {
		show("gain", u.LeastWidth(-s.Gain.Risk), *s.Gain)
	}
	return all
}

// conditions say what the bounds are without, and what they are for.
func conditions(s provenance.Statement) (all []string) {
	for _, m := range s.Missing {
		all = append(all, "without "+m)
	}
	if can := unitsOf(s).Range(); can != "" {
		all = append(all, fmt.Sprintf("Rewards are the log's, which can be %s; the terms are of rewards scaled "+
			"from that range to [0, 1].", can))
	}
	if s.Circumstances != nil && s.ReadOff > 0 {
		all = append(all, fmt.Sprintf("%d of the actions occur in rows that certify alone: "+
			"the bounds take all actions as named before (setting actions).", s.ReadOff))
	}
	if s.AnyTime {
		all = append(all, "At any time: they hold at every look at these rows as more come, all looks together.")
	} else {
		all = append(all, "For one look, at rows whose number was fixed before; to look again as rows come: "+
			"certify by setting any-time.")
	}
	return append(all, "Both hold together, for this one policy on rows that are alike. If you pick the best of "+
		"several policies, trainings or\nstatements on the same rows, divide δ among them. Over several rounds, add up their δ.")
}

// printGuarantee prints what is guaranteed, with its bounds and what they are for.
func printGuarantee(b *strings.Builder, s provenance.Statement) {
	printFacts(b, guarantee(s))
	kl := fmt.Sprintf("KL %.4g nats", s.KL)
	switch {
	case s.Chunks > 0:
		kl = "each fixed before the rows that certify it"
	case s.KL == 0:
		kl = "fixed before the rows that certify"
	case s.Priors > 1:
		kl += fmt.Sprintf(", which pays for the choice among %d priors", s.Priors)
	}
	fmt.Fprintf(b, "\n  %-21s %10s %9s  of: (%s)\n", "bound on the", "value", "δ", kl)
	for _, v := range boundsOf(s) {
		fmt.Fprintf(b, "  %-21s %10s %9.3g  %s\n", v.what, v.least, v.Delta, strings.Join(v.terms, " "))
	}
	for _, c := range conditions(s) {
		fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(c, "\n", "\n  "))
	}
	b.WriteByte('\n')
}

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
	if s.Circumstances != nil && s.Contradicted != "" {
		return "Not shown to be better than what logged the rows, and the log contradicts what the bounds assume."
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
	half, has := logs.Half(e.SE), "95 % interval"
	if doubt := e.Doubt(); doubt != "" {
		half, has = math.NaN(), doubt
	}
	estimate.Add(u.At(e.Reward), 0, u.At(e.Reward-half), u.At(e.Reward+half), has)
	least.Add(u.At(s.Promise()), -1, math.NaN(), math.NaN(), "at least")
	least.Dashes = figure.Category(1).Dashes
	f := lines("guarantee", "mean reward", []string{"estimate", "guaranteed at least"}, logged, estimate, least)
	return html.Figure{Figure: f,
		Caption: fmt.Sprintf("The estimate, with its 95 %% interval unless nothing can be said of it, and what is guaranteed with "+
			"probability %v.", 1-s.Delta)}
}
