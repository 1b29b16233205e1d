package render

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot/vg"

	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// Evaluation prints a result in a format, with rewards in the log's units. Table and Markdown say below the
// numbers what they mean, warn, and state guarantees. CSV is one line an estimate, without the pairs. Tables
// show the pairs of unbiased estimators, and no gains of biased ones: the value has all. Text has intervals as
// value ± half of their width, or in brackets if they are not symmetric, and 80 columns for ordinary names.
// Numbers have two digits of that half, or of the standard error.
func Evaluation(w io.Writer, f table.Format, r ope.Result) error {
	r = r.InUnits()
	if f == table.CSV {
		return evaluationCSV(w, r)
	}
	e := evaluation{document{w, f}, r, percent(r.Delta) + " interval"}
	if f == table.Text {
		fmt.Fprintln(w, concludedEvaluation(r))
	}
	for _, write := range []func() error{e.estimates, e.weights, e.pairs} {
		if err := write(); err != nil {
			return err
		}
	}
	e.legend()
	e.believed()
	e.doubts()
	e.guarantees()
	return e.outcomes(e.level, r.Policies)
}

// evaluation is a result on its way to a text.
type evaluation struct {
	document
	ope.Result
	level string
}

// interval are the cells of an interval; se: with the standard error, which text leaves out.
func (e evaluation) interval(g ope.Interval, verb string, se bool) []string {
	half := (g.High - g.Low) / 2
	number := func(v float64) string { return decimal(verb, logs.Places(half), v) }
	switch {
	case e.format == table.Markdown && se:
		return []string{number(g.Value), fmt.Sprintf("%.2g", g.SE), number(g.Low) + " to " + number(g.High)}
	case e.format == table.Markdown:
		return []string{number(g.Value), number(g.Low) + " to " + number(g.High)}
	case e.Interval == "normal" || e.Interval == "bernstein":
		return []string{around(verb, g.Value, half)}
	}
	return []string{fmt.Sprintf("%s [%s, %s]", number(g.Value), number(g.Low), number(g.High))}
}

// estimates prints a line an estimate.
func (e evaluation) estimates() error {
	head, gap := []string{"policy", "estimator", "value", "s.e.", e.level, "gain", e.level}, []string{"—", "—"}
	if e.format != table.Markdown {
		head, gap = []string{"policy", "estimator", "value", "gain"}, gap[:1]
	}
	rows := [][]string{slices.Concat([]string{"logging", "on-policy"}, e.interval(e.Logging, plain, true), gap)}
	for _, p := range e.Policies {
		for _, v := range p.Estimates {
			label, gain := v.Label(), e.interval(v.Gain, signed, false)
			switch {
			case v.Biased:
				label, gain = label+" (b)", gap
			case v.Estimator == p.Recommended:
				label += " *"
			}
			rows = append(rows, slices.Concat([]string{p.Name + marked(p.Learned), label},
				e.interval(v.Interval, plain, true), gain))
		}
	}
	return e.table(head, rows)
}

// marked marks the name of a policy that rows of the log had a part in.
func marked(learned bool) string {
	if learned {
		return " (l)"
	}
	return ""
}

// weights prints what the weights of each policy are like.
func (e evaluation) weights() error {
	var rows [][]string
	for _, p := range e.Policies {
		k := "none"
		if p.Tail != 0 {
			k = fmt.Sprintf("%.2f", p.Tail)
		}
		d := logs.Places(p.MeanWeightSE)
		rows = append(rows, []string{p.Name, fmt.Sprintf("%.0f", p.ESS),
			fmt.Sprintf("%.*f (%.*f)", d, p.MeanWeight, d, p.MeanWeightSE), fmt.Sprintf("%.3g", p.Largest),
			fmt.Sprintf("%.2g %%", 100*p.Share), k, fmt.Sprintf("%.2g %%", 100*p.Uncovered)})
	}
	fmt.Fprintln(e.w)
	return e.table([]string{"policy", "ESS", "mean w (s.e.)", "largest", "its share", "tail k", "uncovered"}, rows)
}

// pairs prints the differences of policies by unbiased estimators.
func (e evaluation) pairs() error {
	if len(e.Pairs) == 0 {
		return nil
	}
	var rows [][]string
	for _, p := range e.Pairs {
		if !p.Biased {
			rows = append(rows, append([]string{p.First, p.Second, p.Estimator},
				e.interval(p.Interval, signed, true)...))
		}
	}
	head := []string{"first", "second", "estimator", "difference", "s.e.", e.level}
	if e.format != table.Markdown {
		head = head[:4]
	}
	fmt.Fprintln(e.w)
	return e.table(head, rows)
}

// legend says what the numbers mean.
func (e evaluation) legend() {
	e.para("value: %s, from %s; gain: over the logging policy, on the same rows",
		meanReward(e.RewardMin, e.RewardMax), rowsText(e.Rows, e.Groups))
	if e.format != table.Markdown {
		switch e.Interval {
		case "normal":
			e.para("±: the %s, %.3g standard errors to either side", e.level,
				distuv.UnitNormal.Quantile(1-e.Delta/2))
		case "bernstein":
			e.para("±: the %s by bernstein, for any number of rows", e.level)
		default:
			e.para("[ ]: the %s by %s", e.level, e.Interval)
		}
	}
	e.para("ESS: rows that the weights π/π₀ amount to; k: shape of their tail, .7 or more is too heavy; " +
		"uncovered: what the policy does that the log could not, or never did")
}

// believed says which estimator to believe of each policy, and how many rows would help.
func (e evaluation) believed() {
	for _, p := range e.Policies {
		rows := ""
		if p.RowsNeeded > 0 {
			rows = fmt.Sprintf("%s like these would give ± %.2g", ope.About(p.RowsNeeded), p.HalfWidth)
		}
		switch {
		case p.Learned:
			e.para("(l): of %s believe nothing, as rows of this log had a part in it: evaluate it on a later log",
				p.Name)
		case p.Flattered != "":
			e.para("of %s believe nothing that the assumption says", p.Name)
		case p.Recommended != "":
			e.para("*: of %s believe %s; %s", p.Name, p.Recommended, rows)
		case p.Warnings == nil:
			e.para("of %s believe nothing: all estimators are biased", p.Name)
		case rows != "":
			e.para("of %s believe nothing; what would help: rows of a policy that does more often what %s does, "+
				"or more: %s", p.Name, p.Name, rows)
		default:
			e.para("of %s believe nothing; what would help: rows of a policy that does what %s does", p.Name,
				p.Name)
		}
	}
}

// doubts says what estimates leave out, and what warns of them.
func (e evaluation) doubts() {
	if biased := estimators(e.Result, func(v ope.Estimate) bool { return v.Biased }); biased != "" {
		e.para("(b) %s: biased; the interval is of what it estimates, not of the policy's value", biased)
	}
	for _, p := range e.Policies {
		if p.Same {
			e.para("%s plays as what logged these rows: its gain is 0", p.Name)
		}
	}
	if direct := estimators(e.Result, func(v ope.Estimate) bool { return v.Biased && v.Model }); direct != "" {
		e.para("%s: the interval leaves out the error of the reward model", direct)
	}
	e.paras("left out: ", e.Missing)
	e.paras("", e.Notes)
	for _, p := range e.Policies {
		e.paras("warning: "+p.Name+": ", p.Warnings)
	}
}

// guarantees says what is guaranteed of each policy.
func (e evaluation) guarantees() {
	d := max(ope.Digits(e.RewardMin, e.RewardMax, 3), logs.Places((e.Logging.High-e.Logging.Low)/2))
	gamma, any := 1., false
	for _, p := range e.Policies {
		g := p.Guarantee
		if g == nil {
			e.para("nothing is guaranteed of %s: %s", p.Name, p.Uncertified)
			continue
		}
		gamma, any = max(gamma, g.Gamma), true
		verdict := string(g.Verdict)
		if g.Circumstances != nil && g.Strength > 0 {
			verdict += fmt.Sprintf(", for propensities within the factor %s of those logged", factor(g.Strength))
		}
		e.para("guaranteed: %s earns at least %.*f, and %+.*f more than the logging policy: %s", p.Name,
			d, logs.Below(*p.Guaranteed, d), d, logs.Below(*p.GainGuaranteed, d), verdict)
		if g.Contradicted != "" {
			e.para("doubt: %s: %s", p.Name, g.Contradicted)
		}
	}
	if gamma > 1 {
		e.para("guarantees hold for all propensities within the factor %v of those logged", gamma)
	}
	if any {
		e.para("guarantees hold together with probability %v, for one look, if rows (or groups) are independent "+
			"and the policies were fixed before this log was seen", 1-e.Delta)
	}
}

// estimators lists the estimators of some of the estimates.
func estimators(r ope.Result, of func(e ope.Estimate) bool) string {
	var names []string
	for _, p := range r.Policies {
		for _, e := range p.Estimates {
			if of(e) && !slices.Contains(names, e.Estimator) {
				names = append(names, e.Estimator)
			}
		}
	}
	return strings.Join(names, ", ")
}

func evaluationCSV(w io.Writer, r ope.Result) error {
	interval := func(i ope.Interval) []string {
		return []string{exact(i.Value), exact(i.SE), exact(i.Low), exact(i.High)}
	}
	count := []string{strconv.Itoa(r.Rows), strconv.Itoa(r.Groups)}
	head := []string{"policy", "estimator", "hyperparameter", "value", "se", "low", "high",
		"gain", "gain_se", "gain_low", "gain_high", "rows", "groups", "ess", "mean_weight", "largest_weight",
		"largest_share", "delta",
		"guaranteed", "certificate", "gain_guaranteed", "verdict", "warnings", "biased", "recommended",
		"pareto_k", "uncovered", "rows_needed", "half_width", "interval"}
	rows := [][]string{slices.Concat([]string{"logging", "on-policy", ""}, interval(r.Logging), make([]string, 4),
		count, make([]string, 4), []string{exact(r.Delta)}, make([]string, 11), []string{r.Interval})}
	for _, p := range r.Policies {
		promise := make([]string, 4)
		if g := p.Guarantee; g != nil {
			promise = []string{exact(*p.Guaranteed), g.Best().Name, exact(*p.GainGuaranteed), string(g.Verdict)}
		}
		for _, e := range p.Estimates {
			hyper := ""
			if e.Hyper != 0 {
				hyper = exact(e.Hyper)
			}
			rows = append(rows, slices.Concat([]string{p.Name, e.Estimator, hyper}, interval(e.Interval),
				interval(e.Gain), count, []string{exact(p.ESS), exact(p.MeanWeight), exact(p.Largest), exact(p.Share),
					exact(r.Delta)}, promise, []string{strings.Join(p.Warnings, "; "), strconv.FormatBool(e.Biased),
					strconv.FormatBool(e.Estimator == p.Recommended), exact(p.Tail), exact(p.Uncovered),
					exact(p.RowsNeeded), exact(p.HalfWidth), r.Interval}))
		}
	}
	return table.Write(w, table.CSV, head, rows)
}

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
	more := fmt.Sprintf("Shown to earn more, with probability %v: %s.", 1-r.Delta, strings.Join(shown, ", "))
	if believed == 0 && shown != nil { // bounds hold of few rows, too
		return html.Good, more + " None of the estimates is to be believed, as the log says too little for one."
	}
	if doubt := flattered(r); believed == 0 && doubt != "" {
		return html.Bad, "None of these estimates is to be believed: " + doubt + "."
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
	switch {
	case !guarantees(r):
		return html.Doubt, verdict + "Nothing is guaranteed of what is estimated here."
	case shown == nil:
		return html.Doubt, verdict + "None is shown to earn more."
	}
	return html.Good, verdict + more
}

// flattered names the first policy of which the assumption about lists is not to be believed, and says why.
func flattered(r ope.Result) string {
	for _, p := range r.Policies {
		if p.Flattered != "" {
			return p.Name + ": " + p.Flattered
		}
	}
	return ""
}

// guarantees reports that a result says of a policy what it earns at least.
func guarantees(r ope.Result) bool {
	return slices.ContainsFunc(r.Policies, func(p ope.Policy) bool { return p.Guarantee != nil })
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
		any = cmp.Or(any, g.Statement)
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
