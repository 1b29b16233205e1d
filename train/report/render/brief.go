package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"opl/train/explain"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/pipeline"
	"opl/train/provenance"
	"opl/train/report/html"
	"opl/train/report/table"
)

// below is how many lines of a short text follow the first one.
const below = 10

// brief is a text of at most 1 + below lines that begins with the conclusion and what to do next. What doubts or
// refuses is never left out: what has no room in full is named.
type brief struct {
	strings.Builder          // the conclusion, and what always follows it
	doubts          []doubt  // in order of what weighs most
	table           []string // head and rows, of what
	what            string
	fewest          int      // lines of the table that are shown even where doubts need the space
	legend          string   // below the table, if not empty
	notes           []string // as many as there is room for
}

// doubt is what speaks against some policies, or is said by some checks: their names stand between two texts.
type doubt struct {
	of            []string
	before, after string
}

// doubt adds what is said of a policy or check. What is said of several alike is said once.
func (b *brief) doubt(before, of, after string) {
	same := func(d doubt) bool { return d.before == before && d.after == after }
	if i := slices.IndexFunc(b.doubts, same); i >= 0 {
		b.doubts[i].of = append(b.doubts[i].of, of)
	} else {
		b.doubts = append(b.doubts, doubt{[]string{of}, before, after})
	}
}

// cut keeps the first n lines, the last of which says how many more of what the long text has. One line has no head.
func cut(lines []string, n int, what string) []string {
	switch {
	case len(lines) <= n:
		return lines
	case n < 1:
		return nil
	case n <= 2 && what != "":
		return []string{fmt.Sprintf("%d %s: --verbose shows them", len(lines)-1, what)}
	}
	return append(slices.Clone(lines[:n-1]), strings.Replace(fmt.Sprintf("and %d more %s: --verbose shows them",
		len(lines)-n+1, what), " :", ":", 1))
}

// doubted are the lines of all doubts: in full as far as there is room for n lines, at least the beginning of the
// first, and names of the rest.
func (b *brief) doubted(n int) []string {
	for full := len(b.doubts); ; full-- {
		var lines, rest, names []string
		for i, d := range b.doubts {
			if i < full {
				lines = append(lines, strings.Split(d.before+strings.Join(d.of, ", ")+d.after, "\n")...)
			} else {
				rest = append(rest, d.of...)
			}
		}
		if rest != nil {
			slices.Sort(rest)
			text := strings.Join(slices.Compact(rest), ", ")
			names = table.Wrap(columns, "also doubtful: "+text+": --verbose says why")
		}
		room := max(1, n-len(names))
		if len(lines) > room && full <= 1 {
			lines = append(lines[:room-1], lines[room-1]+" …")
		}
		if len(lines) <= room {
			return append(lines, names...)
		}
	}
}

// to writes the text: what doubts before the table, and notes last.
func (b *brief) to(w io.Writer) error {
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	left := below + 1 - len(lines)
	if b.legend != "" {
		left--
	}
	fewest := min(len(b.table), b.fewest)
	doubts := b.doubted(left - fewest)
	shown := cut(b.table, max(left-len(doubts), fewest), b.what)
	left -= len(doubts) + len(shown)
	lines = slices.Concat(lines, doubts, shown)
	if b.legend != "" {
		lines = append(lines, b.legend)
	}
	_, err := io.WriteString(w, strings.Join(append(lines, cut(b.notes, left, "")...), "\n")+"\n")
	return err
}

// facts adds warnings and notes.
func (b *brief) facts(facts []html.Fact) {
	for _, f := range facts {
		if f.Name == "note" {
			b.notes = append(b.notes, factLine(f))
		} else {
			of, after, cut := strings.Cut(f.Value, ": ") // what there is no room for goes by its beginning
			if cut {
				after = ": " + after
			}
			b.doubt(fmt.Sprintf("%-10s ", f.Name), of, after)
		}
	}
}

// guaranteed adds what is guaranteed, and the outcomes of a decision.
func (b *brief) guaranteed(s provenance.Statement) {
	for _, f := range guarantee(s) {
		switch f.Name {
		case "guaranteed", "logging", "Γ":
			printFacts(&b.Builder, []html.Fact{f})
		case "doubt":
			b.facts([]html.Fact{f})
		case "verdict", "chunks":
		default:
			b.notes = append(b.notes, factLine(f))
		}
	}
	if d := s.Decided(); d != nil {
		b.columns("  ", append([][]string{outcomesHead}, outcomes(d)...))
		b.fewest = below
		b.notes = append(b.notes, conditionsOf(d)...)
		for _, l := range lacking(d) {
			column, said, _ := strings.Cut(l, ":")
			b.doubt("", column, ":"+said)
		}
	}
}

// columns makes rows the table.
func (b *brief) columns(indent string, rows [][]string) {
	var t strings.Builder
	_ = table.Columns(&t, indent, rows) // a builder takes all
	b.table = strings.Split(strings.TrimRight(t.String(), "\n"), "\n")
}

// concluded is the conclusion of a statement in a line: what the policy earns at least, and what to do next. test is
// what comes before keeping what plays, where the policy is not shown to be better: "" for nothing.
func concluded(s provenance.Statement, next, test string) string {
	u, at, who := unitsOf(s), "", logging(s)
	if s.Loggers > 1 {
		next = "opl certify on rows of the policy that plays now, to compare with that policy alone"
	}
	if s.Elsewhere() {
		next = "opl serve --catalogue with the log's catalogue: nothing is said of the policy file's own"
	}
	if d := s.Decided(); d != nil {
		if d.Answer == provenance.Harm {
			next = "keep what plays"
		} else if d.Answer != provenance.Ship {
			next = test + "keep what plays"
		}
		return strings.TrimSuffix(answer(d), ".") + "; next: " + next
	}
	if s.AnyTime {
		at = " at any time"
	}
	switch s.Verdict {
	case provenance.Better:
		return fmt.Sprintf("better than %s: it earns at least %s, at least %s more,%s with probability %v; next: %s",
			who, u.Least(s.Guaranteed, errorOf(s)), u.LeastWidth(-s.Gain.Risk), at, 1-s.Delta, next)
	case provenance.Doubted:
		return "doubted: the log contradicts what the bounds assume, or lacks what the policy reads, as said below; next: mend that"
	case provenance.Vacuous:
		return "nothing is guaranteed: the bound allows the least reward; next: keep what plays, and log more rows " +
			"with more randomness"
	}
	if s.Circumstances != nil && s.Contradicted != "" {
		return fmt.Sprintf("not shown to be better than %s, and the log contradicts what the bounds assume, or lacks what "+
			"the policy reads, as said below; next: mend that", who)
	}
	return fmt.Sprintf("not shown to be better than %s: it earns at least %s%s with probability %v; next: %skeep "+
		"what plays, or log more rows", who, u.Least(s.Guaranteed, errorOf(s)), at, 1-s.Delta, test)
}

// BriefCertificate prints the statement about a log in a few lines.
func BriefCertificate(w io.Writer, s provenance.Statement) error {
	var b brief
	fmt.Fprintln(&b, concluded(s, "opl serve, or opl select beside other policies", ""))
	b.guaranteed(s)
	printFacts(&b.Builder, onRows(s))
	b.facts(remarks(s))
	return b.to(w)
}

// concludedTraining is the conclusion of a training in a line.
func concludedTraining(l *pipeline.Learned, file string) string {
	switch {
	case file == "" && l.Undecided:
		return "undecided: it may earn more or less than the policy that plays: keep that one. The policy file that " +
			"is there stays; --force replaces it"
	case file == "":
		return "nothing learned: keep the policy that plays. No policy file is written; --force writes it"
	case l.Undecided:
		return fmt.Sprintf("undecided: it may earn more or less than the policy that plays: keep that one, log more "+
			"rows, or try %s on a share of the decisions", file)
	case l.Worse:
		return fmt.Sprintf("nothing learned: keep the policy that plays; written to %s, as --force asks", file)
	case l.Certificate == nil:
		return fmt.Sprintf("learned without a guarantee, written to %s; next: opl evaluate, on a later log", file)
	}
	return concluded(l.Certificate.Statement(), "opl serve "+file, "opl certify "+file+" on new rows; until then ")
}

// BriefTraining prints what Training does in a few lines.
func BriefTraining(w io.Writer, l *pipeline.Learned, e *explain.Explanation, file string) error {
	var b brief
	fmt.Fprintln(&b, concludedTraining(l, file))
	if l.Certificate == nil {
		printFacts(&b.Builder, []html.Fact{unproven(l)})
	} else {
		b.guaranteed(l.Certificate.Statement())
	}
	printFacts(&b.Builder, trainingFacts(l, e))
	b.facts(warnings(l))
	if err := b.to(w); err != nil {
		return err
	}
	var rules strings.Builder // the policy itself
	printRules(&rules, l.Served)
	_, err := io.WriteString(w, rules.String())
	return err
}

// BriefInspection prints the verdict on a log, what speaks against it, what to do, and how columns were read.
func BriefInspection(w io.Writer, r inspect.Report) error {
	var b brief
	b.WriteString(verdictOn(r))
	wrap(&b.Builder, "", rowsOf(r))
	for i, f := range r.Findings {
		switch {
		case f.Severity > inspect.Fine:
			head := f.Severity.String() + ": "
			said := f.Measured
			if f.Means != "" && r.Count(inspect.Fine) == len(r.Findings)-1 { // there is room
				said += ": " + f.Means
			}
			text := table.Wrap(columns-2, head+f.Check+": "+said)
			if i > 0 || strings.Contains(f.Do, ";") { // else the first line has it
				text = append(text, table.Wrap(columns-2, "do: "+f.Do)...)
			}
			b.doubt(head, f.Check, strings.Join(text, "\n  ")[len(head+f.Check):])
		case f.Pressing:
			first, rest, _ := strings.Cut(strings.Join(table.Wrap(columns-2, f.Measured), "\n  "), " ")
			b.doubt("", first, " "+rest)
		}
	}
	context := func(c inspect.Column) int { return strings.Index(c.Role, "context") }
	b.what, b.fewest = "columns", 1
	b.table = columnsRead(slices.SortedStableFunc(slices.Values(r.Columns), func(x, y inspect.Column) int {
		return context(y) - context(x)
	}))
	return b.to(w)
}

// concludedEvaluation says in a line which policy earns most by the estimates, and what to do next.
func concludedEvaluation(r ope.Result) string {
	tone, said := headline(r)
	next := map[html.Tone]string{html.Good: "opl select", html.Doubt: "keep what plays, or log more rows",
		html.Bad: "log more rows of what the policies do"}[tone]
	if flattered(r) != "" && tone == html.Bad {
		next = "--assume none"
	}
	if tone == html.Doubt && !guarantees(r) {
		next = "see below why, and keep what plays until a policy is shown to earn more"
	}
	return fmt.Sprintf("%s; next: %s", strings.TrimSuffix(said, "."), next)
}

// BriefEvaluation prints a line a policy: the estimate to believe, and what is guaranteed.
func BriefEvaluation(w io.Writer, r ope.Result) error {
	r = r.InUnits()
	var b brief
	fmt.Fprintln(&b, concludedEvaluation(r))
	e := evaluation{document{&b, table.Text}, r, percent(r.Delta) + " interval"}
	d := max(ope.Digits(e.RewardMin, e.RewardMax, 3), logs.Places((e.Logging.High-e.Logging.Low)/2))
	rows := [][]string{{"policy", "value", "gain", "value ≥", "gain ≥"},
		append(append([]string{"logging"}, e.interval(e.Logging, plain, false)...), "", "", "")}
	for _, p := range r.Policies {
		line := []string{p.Name + marked(p.Learned), "—", "—", "—", "—"}
		for _, v := range p.Estimates {
			if v.Estimator == p.Recommended && !v.Biased {
				line[1], line[2] = e.interval(v.Interval, plain, false)[0], e.interval(v.Gain, signed, false)[0]
			}
		}
		if p.Guarantee != nil {
			line[3] = fmt.Sprintf(plain, d, logs.Below(*p.Guaranteed, d))
			line[4] = fmt.Sprintf(signed, d, logs.Below(*p.GainGuaranteed, d))
			b.decided(p.Name, p.Guarantee.Decided(), p.Guarantee.Contradicted)
		} else if !slices.Contains(p.Warnings, p.Uncertified) {
			b.doubt("nothing is guaranteed of ", p.Name, ": "+p.Uncertified)
		}
		if p.Same {
			b.notes = append(b.notes, p.Name+" plays as what logged these rows: its gain is 0")
		}
		rows = append(rows, line)
	}
	for _, p := range r.Policies {
		b.warned(p.Name, p.Warnings)
	}
	b.legend = fmt.Sprintf("value: %s, with its %s; ≥: lower bounds that hold together with probability %v",
		meanReward(e.RewardMin, e.RewardMax), e.level, 1-e.Delta)
	b.rest(rows, r.Notes, r.Missing)
	return b.to(w)
}

// BriefSelection prints the decision, a line a target, and what warns.
func BriefSelection(w io.Writer, s ope.Selection) error {
	s = s.InUnits()
	var b brief
	switch b.WriteString(s.Because); {
	case s.Ship && s.Served:
		b.WriteString("; next: opl serve")
	case s.Ship:
		b.WriteString("; next: play it by your own program, as opl serve takes policy files alone")
	}
	b.WriteString("\n")
	for _, t := range s.Targets {
		b.decided(t.Name, t.Decision, t.Contradicts)
		if t.Uncertified != "" && !strings.HasSuffix(s.Because, t.Uncertified) &&
			!slices.Contains(t.Warnings, t.Uncertified) {
			b.doubt("nothing is guaranteed of ", t.Name, ": "+t.Uncertified)
		}
	}
	for _, t := range s.Targets {
		b.warned(t.Name, t.Warnings)
	}
	var told strings.Builder
	e := selection{document{&told, table.Text}, s, s.Decimals()}
	e.tells()
	b.notes = strings.FieldsFunc(told.String(), func(r rune) bool { return r == '\n' })
	b.legend = fmt.Sprintf("≥: lower bounds that hold together with probability %v; ±: %s intervals, no guarantee",
		1-s.Delta, percent(s.Delta))
	b.rest(e.targets(), s.Notes, s.Missing)
	return b.to(w)
}

// decided adds what several outcomes say of a policy, and what of the log contradicts its bounds; of nothing nothing.
func (b *brief) decided(policy string, d *provenance.Decision, contradicts string) {
	if contradicts != "" {
		b.doubt("doubt: ", policy, ": "+contradicts)
	}
	if d != nil {
		said := answer(d)
		for _, o := range outcomes(d) {
			if !strings.HasPrefix(o[0], "goal ") {
				said += fmt.Sprintf(" %s: %s, logging %s, %s %s, limit %s.", o[0], o[1], o[2], o[3], o[4], o[6])
			}
		}
		b.doubt("", policy, ": "+said)
	}
}

// warned adds the warnings of a policy.
func (b *brief) warned(policy string, warnings []string) {
	for _, w := range warnings {
		b.doubt("warning: ", policy, ": "+w)
	}
}

// rest adds a table, what is to be known of the log, which doubts all of it, and what is left out.
func (b *brief) rest(rows [][]string, log, missing []string) {
	for _, n := range log {
		b.doubt("", "note", ": "+n)
	}
	if b.what, b.fewest = "policies", 4; len(rows) <= 6 { // a head, what logged, and four at most: all are shown
		b.fewest = len(rows)
	}
	b.columns("", rows)
	b.notes = append(b.notes, missing...)
}

// verdictOn is the verdict on a log in a line of at most 80 columns, or two, with what to do next.
func verdictOn(r inspect.Report) string {
	next := "opl train"
	if r.Known == "joint" {
		next = "opl evaluate"
	}
	if r.Severity > inspect.Fine {
		next, _, _ = strings.Cut(cmp.Or(r.Findings[0].Do, "see below"), ";")
	}
	line := fmt.Sprintf("%s: %d checks fine, %d doubtful, %d unusable; next: %s", strings.ToUpper(r.Severity.String()),
		r.Count(inspect.Fine), r.Count(inspect.Doubtful), r.Count(inspect.Unusable), next)
	return strings.Join(table.Wrap(80, line), "\n") + "\n"
}

// rowsOf says what rows a log has.
func rowsOf(r inspect.Report) string {
	text := logOf(r, fmt.Sprintf("%d actions", r.K))
	if can := (logs.Units{Low: r.RewardMin, High: r.RewardMax}).Range(); can != "" {
		text += ", rewards " + can
	}
	if r.From != "" {
		text += fmt.Sprintf(", from %s to %s", r.From, r.To)
	}
	return text
}
