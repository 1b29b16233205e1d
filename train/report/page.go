package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"opl/graph/kernel/workers"
	"opl/policies/wholefile"
	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/table"
)

// PageOptions say what WriteAll writes.
type PageOptions struct {
	// that the records were made with, for what its entries are called; none: library.Standard()
	Library library.Library
	Command string // that made the records, for the page
	Curves  bool   // learning curves too, of records that have them
	Grid    string // the file of a grid of one's own: the page shows it, and no verdicts on the paper
	DPI     int    // of PNG figures, learning curves at half of it; 0: 300
}

// Names of the files that WriteAll writes, beside the figures.
const (
	PageFile        = "report.md"
	RunsFile        = "runs.csv"
	PointsFile      = "points.csv"
	VerdictsFile    = "verdicts.json"
	CurvesFile      = "curves.csv"
	CurvesDirectory = "curves"
)

// WriteAll writes the figures, the CSV tables and report.md of the records into
// dir, which it makes if need be: every figure of the paper that the records
// suffice for, one figure named grid of what belongs to none of these, and the
// verdicts if one of them has records. Every file is replaced as a whole. The same
// records in any order give the same bytes.
func WriteAll(dir string, recs []train.Record, o PageOptions) error {
	p, err := newPage(recs, &o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, d := range p.drawings {
		if err := writeDrawing(dir, d, o); err != nil {
			return err
		}
	}
	if o.Curves {
		if err := p.writeCurves(dir); err != nil {
			return err
		}
	}
	err = errors.Join(
		writeFile(dir, RunsFile, func(w io.Writer) error { return Write(w, table.CSV, p.recs) }),
		writeFile(dir, PointsFile, func(w io.Writer) error { return writePoints(w, slices.Concat(p.pts...)) }))
	if p.verdicts != nil {
		err = errors.Join(err,
			writeFile(dir, VerdictsFile, func(w io.Writer) error { return encodeJSON(w, p.verdicts) }))
	}
	return errors.Join(err, writeFile(dir, PageFile, p.write))
}

// newPage draws what WriteAll writes, of options that it completes.
func newPage(recs []train.Record, o *PageOptions) (*page, error) {
	recs = canonical(recs)
	if len(recs) == 0 {
		return nil, errors.New("report: no records to show")
	}
	if o.Library.Objectives == nil {
		o.Library = library.Standard()
	}
	o.DPI = cmp.Or(o.DPI, figure.PrintDPI)
	p := &page{options: *o, recs: recs}
	if o.Grid == "" {
		p.verdicts = Verdicts(recs)
	}
	if !slices.ContainsFunc(p.verdicts, func(v Verdict) bool { return v.Status != NotRun }) {
		p.verdicts = nil
	}
	p.draw()
	return p, nil
}

type page struct {
	options  PageOptions
	recs     []train.Record
	verdicts []Verdict // nil: none has records
	figures  []experiment.Figure
	drawings []figure.Figure
	pts      [][]Point // of each figure
	curves   int       // drawings of learning curves
}

// draw lays out the figures that the records suffice for.
func (p *page) draw() {
	add := func(f experiment.Figure, recs []train.Record) {
		pts, d := layoutOf(f.Name)(names{p.options.Library}, f, recs)
		if len(d.Panels) == 0 || len(d.Panels[0]) == 0 { // not one value to show
			return
		}
		p.figures, p.pts, p.drawings = append(p.figures, f), append(p.pts, pts), append(p.drawings, d)
	}
	rest := slices.Clone(p.recs)
	paper := experiment.Figures()
	if p.options.Grid != "" {
		paper = nil
	}
	for _, f := range paper {
		of := slices.DeleteFunc(slices.Clone(p.recs), func(r train.Record) bool { return !f.Match(r) })
		if f.Has(of) {
			rest = slices.DeleteFunc(rest, f.Match)
			add(f, of)
		}
	}
	if len(p.figures) > 0 {
		rest = learnedOf(rest)
	}
	if len(rest) > 0 {
		add(experiment.Figure{Name: "grid", Title: "Reward of learned policies"}, rest)
	}
}

// writeCurves draws the learning curves, as many at a time as there are processors.
func (p *page) writeCurves(dir string) error {
	ds := learningCurves(names{p.options.Library}, p.recs)
	o := p.options
	o.DPI = max(1, o.DPI/2) // they are many, and to be looked at
	p.curves = len(ds)
	if len(ds) == 0 {
		return nil
	}
	if err := writeFile(dir, CurvesFile, func(w io.Writer) error { return writeCurves(w, p.recs) }); err != nil {
		return err
	}
	dir = filepath.Join(dir, CurvesDirectory)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	errs := make([]error, len(ds))
	workers.Do(runtime.GOMAXPROCS(0), len(ds), func(_, i int) { errs[i] = writeDrawing(dir, ds[i], o) })
	return errors.Join(errs...)
}

func writeDrawing(dir string, d figure.Figure, o PageOptions) error {
	for _, format := range []string{"png", "svg"} {
		b, err := d.Encode(format, o.DPI)
		if err != nil {
			return err
		}
		if err := writeFile(dir, d.Name+"."+format,
			func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file as a whole.
func writeFile(dir, name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if err := wholefile.WriteBytes(path, b.Bytes()); err != nil {
		return fmt.Errorf("report: writing %s: %w", path, err)
	}
	return nil
}

func encodeJSON(w io.Writer, x any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(x)
}

// sections are what report.md and the page to share both say: the verdicts, the figures with their numbers, the grid.
func (p *page) sections() (all []html.Section) {
	if p.verdicts != nil {
		rows, comparisons := p.verdictRows()
		all = append(all, html.Section{Title: "Verdicts", Tables: []html.Table{
			{Caption: "The conclusions, and what decides", Head: verdictHead, Rows: rows},
			{Caption: "All comparisons", Head: comparisonHead, Rows: comparisons}}, Notes: []string{verdictNote()}})
	}
	for i, f := range p.figures {
		s := html.Section{Title: f.Name + ": " + f.Title,
			Figures: []html.Figure{{Caption: captionOf(f.Name, p.pts[i]), Figure: p.drawings[i]}},
			Tables:  pivots(names{p.options.Library}, p.pts[i])}
		if f.Name == "grid" {
			s.Title = f.Title
		}
		all = append(all, s)
	}
	if p.options.Grid != "" {
		all = append(all, html.Section{Title: "The grid", Code: p.options.Grid})
	}
	return all
}

// write writes report.md.
func (p *page) write(w io.Writer) error {
	fmt.Fprint(w, "# Results\n\n")
	if p.options.Command != "" {
		fmt.Fprintf(w, "    %s\n\n", strings.ReplaceAll(p.options.Command, "\n", " "))
	}
	fmt.Fprintf(w, "%d runs: [%s](%s), a line each; [%s](%s), the points of the figures with mean, standard "+
		"deviation and count.\n\n", len(p.recs), RunsFile, RunsFile, PointsFile, PointsFile)
	if p.verdicts != nil {
		fmt.Fprintf(w, "The verdicts: [%s](%s).\n\n", VerdictsFile, VerdictsFile)
	}
	for _, s := range p.sections() {
		if err := p.writeSection(w, s); err != nil {
			return err
		}
	}
	if p.curves > 0 {
		fmt.Fprintf(w, "## Learning curves\n\n%d configurations in [%s](%s), the numbers in [%s](%s). %s\n\n", p.curves,
			CurvesDirectory, CurvesDirectory, CurvesFile, CurvesFile, curvesNote)
	}
	return p.writeSection(w, p.runs())
}

// writeSection writes a section as Markdown. Its figures are files; all tables but a leading one are folded.
func (p *page) writeSection(w io.Writer, s html.Section) error {
	fmt.Fprintf(w, "## %s\n\n", s.Title)
	if s.Code != "" {
		fmt.Fprintf(w, "    %s\n\n", strings.ReplaceAll(strings.TrimSpace(s.Code), "\n", "\n    "))
	}
	for _, f := range s.Figures {
		fmt.Fprintf(w, "![%s](%s.png)\n\n%s\n\n", s.Title, f.Name, f.Caption)
	}
	for i, t := range s.Tables {
		begin, end := "", "\n"
		if i > 0 || s.Figures != nil {
			begin, end = "<details><summary>"+t.Caption+"</summary>\n\n", "\n</details>\n\n"
		}
		fmt.Fprint(w, begin)
		if err := table.Write(w, table.Markdown, t.Head, t.Rows); err != nil {
			return err
		}
		fmt.Fprint(w, end)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(w, "%s\n\n", n)
	}
	return nil
}

// Heads of the tables of verdicts.
var (
	verdictHead    = []string{"no.", "conclusion", "λ", "verdict", "decided by", "seeds", "pairs"}
	comparisonHead = []string{"no.", "difference", "claim", "status", "estimate", "seeds", "pairs", "by data set",
		"smallest", "missing"}
)

// verdictRows are a line for each verdict, and one for every comparison.
func (p *page) verdictRows() (rows, all [][]string) {
	seen := map[string]bool{}
	for _, v := range p.verdicts {
		lambda := ""
		if v.Lambda != "" {
			lambda = lambdaName(v.Lambda)
		}
		row := []string{fmt.Sprint(v.Conclusion), v.Claim, dash(lambda), string(v.Status)}
		if v.Status == NotRun {
			row = append(row, "missing: "+few(v.Missing()), "", "")
		} else {
			c := v.decisive()
			by := c.What + ": " + c.interval()
			if c.Status == Undecided && len(c.ByDataset) > 1 {
				by += " (" + c.byDataset() + ")"
			}
			row = append(row, by, fmt.Sprint(c.Seeds), fmt.Sprint(c.Pairs))
		}
		rows = append(rows, row)
		for _, c := range v.Comparisons {
			name := fmt.Sprint(v.Conclusion, c.What)
			if seen[name] {
				continue
			}
			seen[name] = true
			least := ""
			if c.Status != NotRun {
				least = fmt.Sprintf("%+.3f at %s", float64(c.Least), c.LeastAt)
			}
			all = append(all, []string{fmt.Sprint(v.Conclusion), c.What, string(c.Test), string(c.Status),
				c.interval(),
				fmt.Sprint(c.Seeds), fmt.Sprint(c.Pairs), dash(c.byDataset()), dash(least), dash(c.Incomplete)})
		}
	}
	return rows, all
}

// verdictNote says how verdicts are reached.
func verdictNote() string {
	return fmt.Sprintf(`Paired differences, pooled over η₀ and hyperparameters and clustered by seed: the mean over seeds of
each seed's mean difference, with its %.0f %% t interval (seeds − 1 degrees of freedom). A claim of
more is confirmed by an interval above 0 and contradicted by one below; a claim of likeness (±%v) by
an interval inside or outside; in either case the estimate on every data set must say the same. A
conclusion of several comparisons needs all of them; "decided by" is the one that decides. With
fewer than %d seeds a verdict is at most "points to", by the estimates. Seeds that lack a pair are
left out.`, 100*confidence, alike, fewestSeeds)
}

// few lists the first two of what is missing.
func few(missing []string) string {
	if n := len(missing) - 2; n > 0 {
		missing = append(missing[:2:2], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(missing, "; ")
}

// decisive is the comparison that a verdict rests on: of those with its status, the
// one whose estimate is the least favourable.
func (v Verdict) decisive() Comparison {
	of := slices.DeleteFunc(slices.Clone(v.Comparisons), func(c Comparison) bool { return c.Status != v.Status })
	return slices.MinFunc(of, func(a, b Comparison) int { return cmp.Compare(a.favour(), b.favour()) })
}

// favour is how much an estimate speaks for its claim.
func (c Comparison) favour() float64 {
	if c.Test == Alike {
		return alike - max(float64(c.Estimate), -float64(c.Estimate))
	}
	return float64(c.Estimate)
}

// byDataset lists the estimates on data sets.
func (c Comparison) byDataset() string {
	var by []string
	for _, e := range c.ByDataset {
		by = append(by, fmt.Sprintf("%s %+.4f", datasetName(e.Dataset), float64(e.Mean)))
	}
	return strings.Join(by, ", ")
}

// interval writes the estimate with its interval, if there is one.
func (c Comparison) interval() string {
	switch {
	case c.Status == NotRun:
		return "—"
	case !c.Lower.Valid():
		return fmt.Sprintf("%+.3f", float64(c.Estimate))
	}
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", float64(c.Estimate), float64(c.Lower), float64(c.Upper))
}

func captionOf(name string, pts []Point) string {
	s := "Test reward of the learned policies by the quality η₀ of the logging policy"
	switch name {
	case "fig1":
		s += "; Clip with τ = n^(−1/4), Gaussian policies. λ* minimizes Corollary 1; the authors’ λ is what " +
			"their published code has in its place."
	case "fig2", "fig3", "fig4":
		s += ", a curve for each hyperparameter; in the last panel the mean over hyperparameters."
	case "fig5":
		s += "; Clip with τ = n^(−1/4), all penalties of an objective equal."
	case "fig6":
		s = "Corollary 1’s bound on the whole log at the learned policy, and the policy’s true risk, −reward on " +
			"the test set, by η₀ and τ. λ* depends on the data: the bound’s value is no certificate."
	default:
		s += "."
	}
	if seeds := slices.MaxFunc(pts, func(a, b Point) int { return a.Count - b.Count }).Count; seeds > 1 {
		s += fmt.Sprintf(" Bands: mean ± standard deviation over up to %d seeds.", seeds)
	} else {
		s += " One seed."
	}
	return s
}

// pivots are points as tables, one for each data set and quantity, with a column
// for each η₀.
func pivots(n names, pts []Point) (ts []html.Table) {
	label := func(p Point) string { return n.configuration(p.Run) }
	for _, data := range datasets(pts) {
		here := slices.DeleteFunc(slices.Clone(pts), func(p Point) bool { return p.Dataset != data })
		for _, of := range groupBy(here, func(p Point) string { return p.Quantity }) {
			etas := distinct(of, func(p Point) train.Number { return train.Number(p.Eta0) })
			head := []string{"η₀ ="}
			for _, e := range etas {
				head = append(head, e.String())
			}
			var rows [][]string
			for _, line := range groupBy(of, label) {
				row := append([]string{label(line[0])}, slices.Repeat([]string{"—"}, len(etas))...)
				for _, p := range line {
					cell := fmt.Sprintf("%.3f", float64(p.Mean))
					if p.SD.Valid() {
						cell += fmt.Sprintf(" ± %.3f", float64(p.SD))
					}
					row[1+slices.Index(etas, train.Number(p.Eta0))] = cell
				}
				rows = append(rows, row)
			}
			ts = append(ts,
				html.Table{Caption: fmt.Sprintf("%s, %s", datasetName(data), strings.ReplaceAll(of[0].Quantity, "_",
					" ")), Head: head, Rows: rows})
		}
	}
	return ts
}

// runs is a section of what made the records.
func (p *page) runs() html.Section {
	t := html.Table{Head: []string{"data", "n", "data hash", "epochs", "lr", "batch", "δ", "dtype", "opl", "commit",
		"Go", "machine"}}
	for _, r := range learnedOf(p.recs) {
		v := r.Versions
		row := []string{datasetName(r.Dataset), fmt.Sprint(r.N), dash(r.DataHash), fmt.Sprint(r.Epochs),
			number(r.LearningRate), fmt.Sprint(r.BatchSize), number(r.Delta), dash(r.Dtype), v.Opl, dash(v.Commit),
			v.Go, v.System}
		if !slices.ContainsFunc(t.Rows, func(other []string) bool { return slices.Equal(other, row) }) {
			t.Rows = append(t.Rows, row)
		}
	}
	return html.Section{Title: "Data and settings of the runs", Tables: []html.Table{t}}
}

// GridPage makes a page of what WriteAll writes about records: figures, their points, the
// verdicts on the paper's conclusions, or the grid where it is one's own. Errors: no records.
func GridPage(recs []train.Record, o PageOptions) (html.Page, error) {
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

// RewardsPage makes a page of what Write writes about records, with the terms of objectives and bounds.
// Errors: no records.
func RewardsPage(recs []train.Record, o PageOptions) (html.Page, error) {
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
	won := map[string]int{}
	problems, fewest, seeds := 0, math.MaxInt, 0
	said := ""
	learned := slices.DeleteFunc(learnedOf(recs), func(r train.Record) bool { return !finite(r.Reward) })
	for _, of := range groupBy(learned, problemOf) {
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
