package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/pipeline"
	"opl/train/provenance"
	"opl/train/report/html"
	"opl/train/report/table"
)

// remarked is how many remarks a short text has. The long text has all of them.
const remarked = 4

// brief is a text that begins with the conclusion and what to do next.
type brief struct{ strings.Builder }

// remark adds the first lines, and says how many are left for the long text.
func (b *brief) remark(lines []string) {
	shown := lines[:min(len(lines), remarked)]
	for _, line := range shown {
		fmt.Fprintln(b, line)
	}
	if n := len(lines) - len(shown); n > 0 {
		fmt.Fprintf(b, "and %d more: --verbose shows them\n", n)
	}
}

// remarkFacts adds facts as remarks.
func (b *brief) remarkFacts(facts []html.Fact) {
	var lines []string
	for _, f := range facts {
		lines = append(lines, fmt.Sprintf("%-10s %s", f.Name, f.Value))
	}
	b.remark(lines)
}

func (b *brief) to(w io.Writer) error {
	_, err := io.WriteString(w, b.String())
	return err
}

// without drops facts by their names.
func without(facts []html.Fact, names ...string) []html.Fact {
	return slices.DeleteFunc(facts, func(f html.Fact) bool { return slices.Contains(names, f.Name) })
}

// concluded is the conclusion of a statement in a line: what the policy earns at least, and what to do next.
func concluded(s provenance.Statement, next string) string {
	u, at, who := unitsOf(s), "", "the logging policy"
	if d := s.Decided(); d != nil {
		if d.Answer != provenance.Ship {
			next = "keep what plays"
		}
		return strings.TrimSuffix(answer(d), ".") + "; next: " + next
	}
	if s.AnyTime {
		at = " at any time"
	}
	if s.Files > 1 {
		who = "what logged these rows"
	}
	switch s.Verdict {
	case provenance.Better:
		return fmt.Sprintf("better than %s: it earns at least %s, at least %s more,%s with probability %v; next: %s",
			who, u.Least(s.Guaranteed), u.LeastWidth(-s.Gain.Risk), at, 1-s.Delta, next)
	case provenance.Doubted:
		return "doubted: the log contradicts what the bounds assume; next: opl inspect, and repair the log"
	case provenance.Vacuous:
		return "nothing is guaranteed: the bound allows the least reward; next: log more rows, with more randomness"
	}
	return fmt.Sprintf("not shown to be better than %s: it earns at least %s%s with probability %v; next: keep what "+
		"plays, or log more rows", who, u.Least(s.Guaranteed), at, 1-s.Delta)
}

// BriefCertificate prints the statement about a log in a few lines.
func BriefCertificate(w io.Writer, s provenance.Statement) error {
	var b brief
	fmt.Fprintln(&b, concluded(s, "opl serve, or opl select beside other policies"))
	printDecision(&b.Builder, s.Decided())
	printFacts(&b.Builder, without(guarantee(s), "verdict", "chunks"))
	printFacts(&b.Builder, onRows(s))
	b.remarkFacts(remarks(s))
	return b.to(w)
}

// concludedTraining is the conclusion of a training in a line.
func concludedTraining(l *pipeline.Learned, file string) string {
	switch {
	case file == "":
		return "nothing learned: keep the policy that plays. No policy file is written; --force writes it"
	case l.Worse:
		return fmt.Sprintf("nothing learned: keep the policy that plays; written to %s, as --force asks", file)
	case l.Certificate == nil:
		return fmt.Sprintf("learned without a guarantee, written to %s; next: opl evaluate, on a later log", file)
	}
	return concluded(l.Certificate.Statement(), "opl serve "+file)
}

// BriefTraining prints the report of a training in a few lines. The policy was written to a file; "": to none.
func BriefTraining(w io.Writer, l *pipeline.Learned, file string) error {
	var b brief
	fmt.Fprintln(&b, concludedTraining(l, file))
	if l.Certificate == nil {
		printFacts(&b.Builder, []html.Fact{unproven(l)})
	} else {
		printDecision(&b.Builder, l.Certificate.Statement().Decided())
		printFacts(&b.Builder, without(guarantee(l.Certificate.Statement()), "verdict", "chunks"))
	}
	printFacts(&b.Builder, trainingFacts(l))
	printRules(&b.Builder, l.File)
	b.remarkFacts(warnings(l))
	return b.to(w)
}

// BriefInspection prints the verdict on a log, what speaks against it, and what to do.
func BriefInspection(w io.Writer, r inspect.Report) error {
	var b brief
	b.WriteString(verdictOn(r))
	wrap(&b.Builder, "", rowsOf(r))
	var others []string
	for i, f := range r.Findings {
		switch {
		case f.Severity == inspect.Fine:
		case i < 2:
			printFinding(&b.Builder, f)
		default:
			others = append(others, f.Check)
		}
	}
	if others != nil {
		wrap(&b.Builder, "also      ", strings.Join(others, ", ")+": --verbose shows them")
	}
	columnsRead(&b.Builder, r, columnsBrief)
	for _, f := range r.Findings {
		if f.Severity == inspect.Fine && strings.HasPrefix(f.Measured, "columns that are not read") {
			wrap(&b.Builder, "  ", f.Measured)
		}
	}
	_, err := io.WriteString(w, trailing.ReplaceAllString(b.String(), ""))
	return err
}

// BriefEvaluation prints a line a policy: the estimate to believe, and what is guaranteed.
func BriefEvaluation(w io.Writer, r ope.Result) error {
	r = r.InUnits()
	var b brief
	tone, said := headline(r)
	next := map[html.Tone]string{html.Good: "opl select", html.Doubt: "keep what plays, or log more rows",
		html.Bad: "log more rows of what the policies do"}[tone]
	fmt.Fprintf(&b, "%s; next: %s\n", strings.TrimSuffix(said, "."), next)
	e := evaluation{document{&b, table.Text}, r, percent(r.Delta) + " interval"}
	d := max(ope.Digits(e.RewardMin, e.RewardMax, 3), ope.Places(e.Logging.SE))
	rows := [][]string{append(append([]string{"logging"}, e.interval(e.Logging, plain, false)...), "", "", "")}
	var remarks []string
	for _, p := range r.Policies {
		line := []string{p.Name + marked(p.Learned), "—", "—", "—", "—"}
		for _, v := range p.Estimates {
			if v.Estimator == p.Recommended && !v.Biased {
				line[1], line[2] = e.interval(v.Interval, plain, false)[0], e.interval(v.Gain, signed, false)[0]
			}
		}
		if p.Guarantee != nil {
			line[3] = fmt.Sprintf(plain, d, ope.Below(*p.Guaranteed, d))
			line[4] = fmt.Sprintf(signed, d, ope.Below(*p.GainGuaranteed, d))
			if p.Guarantee.Contradicted != "" {
				remarks = append(remarks, "doubt: "+p.Name+": "+p.Guarantee.Contradicted)
			}
		} else {
			remarks = append(remarks, "nothing is guaranteed of "+p.Name+": "+p.Uncertified)
		}
		if p.Same {
			remarks = append(remarks, p.Name+" plays as what logged these rows: its gain is 0")
		}
		for _, warning := range p.Warnings {
			remarks = append(remarks, "warning: "+p.Name+": "+warning)
		}
		rows = append(rows, line)
	}
	if err := e.table([]string{"policy", "value", "gain", "value ≥", "gain ≥"}, rows); err != nil {
		return err
	}
	e.para("value: %s, with its %s; ≥: lower bounds that hold together with probability %v",
		meanReward(e.RewardMin, e.RewardMax), e.level, 1-e.Delta)
	if err := e.outcomes(e.level, r.Policies); err != nil {
		return err
	}
	b.remark(append(append(remarks, r.Notes...), r.Missing...))
	return b.to(w)
}

// BriefSelection prints the decision, a line a target, and what warns.
func BriefSelection(w io.Writer, s ope.Selection) error {
	s = s.InUnits()
	var b brief
	fmt.Fprintln(&b, s.Because)
	e := selection{document{&b, table.Text}, s, s.Decimals()}
	if err := e.targets(); err != nil {
		return err
	}
	if err := e.decisions(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "≥: lower bounds that hold together with probability %v; ±: %s intervals, no guarantee\n",
		1-s.Delta, percent(s.Delta))
	var long brief
	e.w = &long
	e.doubts()
	lines := strings.Split(strings.TrimSpace(long.String()), "\n")
	b.remark(lines[:len(lines)-1]) // the last is the decision
	return b.to(w)
}

// verdictOn is the verdict on a log in a line of at most 80 columns, or two, with what to do next.
func verdictOn(r inspect.Report) string {
	next := "opl train"
	if r.Severity > inspect.Fine {
		next, _, _ = strings.Cut(cmp.Or(r.Findings[0].Do, "see below"), ";")
	}
	line := fmt.Sprintf("%s: %d checks fine, %d doubtful, %d unusable; next: %s", strings.ToUpper(r.Severity.String()),
		r.Count(inspect.Fine), r.Count(inspect.Doubtful), r.Count(inspect.Unusable), next)
	return strings.Join(table.Wrap(80, line), "\n") + "\n"
}

// rowsOf says what rows a log has.
func rowsOf(r inspect.Report) string {
	text := fmt.Sprintf("%d rows, %d actions, propensities known: %s", r.Rows, r.K, r.Known)
	if can := (logs.Units{Low: r.RewardMin, High: r.RewardMax}).Range(); can != "" {
		text += ", rewards " + can
	}
	if r.From != "" {
		text += fmt.Sprintf(", from %s to %s", r.From, r.To)
	}
	return text
}

// printFinding prints what was measured, what it means, and what to do.
func printFinding(b *strings.Builder, f inspect.Finding) {
	fmt.Fprintf(b, "\n%s: %s\n", f.Severity, f.Check)
	wrap(b, "  measured  ", f.Measured)
	wrap(b, "  means     ", f.Means)
	wrap(b, "  do        ", f.Do)
}
