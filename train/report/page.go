package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"opl/policies/wholefile"
	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/report/table"
)

// PageOptions say what WriteAll writes.
type PageOptions struct {
	Library library.Library // that the records were made with, for what its entries are called; none: library.Standard()
	Formats []string        // of figures, see FigureFormats; empty: png and svg
	Command string          // that made the records, for the page
	Curves  bool            // learning curves too, of records that have them
	DPI     int             // of PNG figures, learning curves at half of it; 0: 300
}

// Names of the files that WriteAll writes, beside the figures.
const (
	PageFile        = "report.md"
	RunsFile        = "runs.csv"
	PointsFile      = "points.csv"
	VerdictsFile    = "verdicts.csv"
	VerdictsJSON    = "verdicts.json"
	CurvesFile      = "curves.csv"
	CurvesDirectory = "curves"
)

// WriteAll writes the figures, the CSV tables and report.md of the records into
// dir, which it makes if need be: every figure of the paper that the records
// suffice for, one figure named grid of what belongs to none of these, and the
// verdicts if one of them has records. Every file is replaced as a whole. The same
// records in any order give the same bytes.
func WriteAll(dir string, recs []train.Record, o PageOptions) error {
	recs = canonical(recs)
	if len(recs) == 0 {
		return errors.New("report: no records to show")
	}
	if len(o.Formats) == 0 {
		o.Formats = []string{"png", "svg"}
	}
	for _, f := range o.Formats {
		if !slices.Contains(FigureFormats(), f) {
			return fmt.Errorf("report: unknown figure format %q (known: %s)", f, strings.Join(FigureFormats(), ", "))
		}
	}
	if o.Library.Objectives == nil {
		o.Library = library.Standard()
	}
	if o.DPI == 0 {
		o.DPI = printDPI
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	p := page{options: o, recs: recs, verdicts: Verdicts(recs)}
	if !slices.ContainsFunc(p.verdicts, func(v Verdict) bool { return v.Status != NotRun }) {
		p.verdicts = nil
	}
	p.draw()
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
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{RunsFile, func(w io.Writer) error { return Write(w, CSV, recs) }},
		{PointsFile, func(w io.Writer) error { return WritePoints(w, p.points()) }},
		{VerdictsFile, func(w io.Writer) error { return writeVerdicts(w, p.verdicts) }},
		{VerdictsJSON, func(w io.Writer) error { return encodeJSON(w, p.verdicts, false) }},
		{PageFile, p.write},
	}
	for _, f := range files {
		if p.verdicts == nil && (f.name == VerdictsFile || f.name == VerdictsJSON) {
			continue
		}
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, f.name), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// page is what report.md is made of.
type page struct {
	options  PageOptions
	recs     []train.Record
	verdicts []Verdict // nil: none has records
	figures  []experiment.Figure
	drawings []drawing
	pts      [][]Point // of each figure
	curves   int       // drawings of learning curves
}

// draw lays out the figures that the records suffice for.
func (p *page) draw() {
	used := make([]bool, len(p.recs))
	add := func(f experiment.Figure, recs []train.Record) {
		pts, d := layoutOf(f.Name)(names{p.options.Library}, f, recs)
		if len(d.panels) == 0 || len(d.panels[0]) == 0 { // not one value to show
			return
		}
		p.figures, p.pts, p.drawings = append(p.figures, f), append(p.pts, pts), append(p.drawings, d)
	}
	for _, f := range experiment.Figures() {
		var of []train.Record
		var at []int
		for i, r := range p.recs {
			if f.Match(r) {
				of, at = append(of, r), append(at, i)
			}
		}
		if !f.Has(of) {
			continue
		}
		for _, i := range at {
			used[i] = true
		}
		add(f, of)
	}
	var rest []train.Record
	for i, r := range p.recs {
		if !used[i] && (r.Objective != train.LoggingPolicy || len(p.figures) == 0) {
			rest = append(rest, r)
		}
	}
	if len(rest) > 0 {
		add(experiment.Figure{Name: "grid", Title: "Reward of learned policies"}, rest)
	}
}

func (p *page) points() []Point { return slices.Concat(p.pts...) }

// writeCurves draws the learning curves, as many at a time as there are processors.
func (p *page) writeCurves(dir string) error {
	ds := learningCurves(names{p.options.Library}, p.recs)
	o := p.options
	o.DPI = max(1, o.DPI/2) // they are many, and to be looked at
	p.curves = len(ds)
	if len(ds) == 0 {
		return nil
	}
	var b bytes.Buffer
	if err := writeCurves(&b, p.recs); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, CurvesFile), b.Bytes()); err != nil {
		return err
	}
	dir = filepath.Join(dir, CurvesDirectory)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	errs := make([]error, len(ds))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(len(ds), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = writeDrawing(dir, ds[i], o)
			}
		})
	}
	for i := range ds {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}

func writeDrawing(dir string, d drawing, o PageOptions) error {
	for _, format := range o.Formats {
		b, err := d.encode(format, o.DPI)
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, d.name+"."+format), b); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file as a whole.
func writeFile(path string, b []byte) error {
	if err := wholefile.WriteBytes(path, b); err != nil {
		return fmt.Errorf("report: writing %s: %w", path, err)
	}
	return nil
}

func encodeJSON(w io.Writer, x any, html bool) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(html)
	return e.Encode(x)
}

// writeVerdicts writes a line for every comparison of every verdict.
func writeVerdicts(w io.Writer, vs []Verdict) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"conclusion", "claim", "lambda", "verdict", "what", "test", "status", "estimate", "lower", "upper", "seeds", "pairs", "least", "least_at", "incomplete"})
	for _, v := range vs {
		for _, x := range v.Comparisons {
			_ = c.Write([]string{fmt.Sprint(v.Conclusion), v.Claim, v.Lambda, string(v.Status), x.What, string(x.Test), string(x.Status),
				x.Estimate.String(), x.Lower.String(), x.Upper.String(), fmt.Sprint(x.Seeds), fmt.Sprint(x.Pairs), x.Least.String(), x.LeastAt, x.Incomplete})
		}
	}
	c.Flush()
	return c.Error()
}

// write writes report.md.
func (p *page) write(w io.Writer) error {
	fmt.Fprint(w, "# Results\n\n")
	if p.options.Command != "" {
		fmt.Fprintf(w, "    %s\n\n", strings.ReplaceAll(p.options.Command, "\n", " "))
	}
	fmt.Fprintf(w, "%d runs: [%s](%s), a line each; [%s](%s), the points of the figures with mean, standard deviation and count.\n\n",
		len(p.recs), RunsFile, RunsFile, PointsFile, PointsFile)
	if p.verdicts != nil {
		if err := p.writeVerdictTables(w); err != nil {
			return err
		}
	}
	for i, f := range p.figures {
		fmt.Fprintf(w, "## %s: %s\n\n", f.Name, f.Title)
		for _, format := range p.options.Formats {
			if format == "pdf" {
				fmt.Fprintf(w, "[%s.pdf](%s.pdf)\n\n", f.Name, f.Name)
			}
		}
		if format := p.options.Formats[0]; format != "pdf" {
			fmt.Fprintf(w, "![%s](%s.%s)\n\n", f.Title, f.Name, format)
		}
		fmt.Fprintf(w, "%s\n\n", captionOf(f.Name, p.pts[i]))
		if err := pivots(w, names{p.options.Library}, p.pts[i]); err != nil {
			return err
		}
	}
	if p.curves > 0 {
		fmt.Fprintf(w, "## Learning curves\n\n%d configurations in [%s](%s), the numbers in [%s](%s). Objective and terms are means over an epoch's minibatches.\n\n",
			p.curves, CurvesDirectory, CurvesDirectory, CurvesFile, CurvesFile)
	}
	return p.writeProvenance(w)
}

// writeVerdictTables writes one line for each verdict, and behind it every
// comparison.
func (p *page) writeVerdictTables(w io.Writer) error {
	fmt.Fprint(w, "## Verdicts\n\n")
	var rows, all [][]string
	seen := map[string]bool{}
	for _, v := range p.verdicts {
		c := v.decisive()
		lambda := "—"
		if v.Lambda != "" {
			lambda = lambdaName(v.Lambda)
		}
		row := []string{fmt.Sprint(v.Conclusion), v.Claim, lambda, "**" + string(v.Status) + "**"}
		if v.Status == NotRun {
			rows = append(rows, append(row, "missing: "+few(v.Missing()), "", ""))
		} else {
			rows = append(rows, append(row, c.What+": "+c.interval(), fmt.Sprint(c.Seeds), fmt.Sprint(c.Pairs)))
		}
		for _, c := range v.Comparisons {
			if name := fmt.Sprint(v.Conclusion, c.What); !seen[name] {
				seen[name] = true
				least, by := "—", "—"
				if c.Status != NotRun {
					least = fmt.Sprintf("%+.3f at %s", float64(c.Least), c.LeastAt)
					var parts []string
					for _, e := range c.ByDataset {
						parts = append(parts, fmt.Sprintf("%s %+.3f", datasetName(e.Dataset), float64(e.Mean)))
					}
					by = strings.Join(parts, ", ")
				}
				all = append(all, []string{fmt.Sprint(v.Conclusion), c.What, string(c.Test), string(c.Status), c.interval(),
					fmt.Sprint(c.Seeds), fmt.Sprint(c.Pairs), by, least, dash(c.Incomplete)})
			}
		}
	}
	if err := table.Write(w, Markdown, []string{"", "conclusion", "λ", "verdict", "decided by", "seeds", "pairs"}, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, `
Paired differences, pooled over η₀ and hyperparameters and clustered by seed: the mean over seeds of each seed's mean
difference, with its %.0f %% t interval (seeds − 1 degrees of freedom). A claim of more is confirmed by an interval above 0 and
contradicted by one below; a claim of likeness (±%v) by an interval inside or outside. A conclusion of several comparisons needs
all of them; "decided by" is the one that decides. With fewer than %d seeds a verdict is at most "points to", by the estimate
on every data set. Seeds that lack a pair are left out.

<details><summary>All comparisons</summary>

`, 100*confidence, alike, fewestSeeds)
	if err := table.Write(w, Markdown, []string{"", "difference", "claim", "status", "estimate", "seeds", "pairs", "by data set", "smallest", "missing"}, all); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n</details>\n\n[%s](%s), [%s](%s)\n\n", VerdictsFile, VerdictsFile, VerdictsJSON, VerdictsJSON)
	return nil
}

// few lists the first of what is missing.
func few(missing []string) string {
	const most = 2
	if len(missing) <= most {
		return strings.Join(missing, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(missing[:most], "; "), len(missing)-most)
}

// decisive is the comparison that a verdict rests on: of those with its status, the
// one whose estimate is the least favourable.
func (v Verdict) decisive() Comparison {
	var best Comparison
	found := false
	for _, c := range v.Comparisons {
		if c.Status == v.Status && (!found || c.favour() < best.favour()) {
			best, found = c, true
		}
	}
	return best
}

// favour is how much an estimate speaks for its claim.
func (c Comparison) favour() float64 {
	if c.Test == Alike {
		return alike - max(float64(c.Estimate), -float64(c.Estimate))
	}
	return float64(c.Estimate)
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

// captionOf says what a figure shows.
func captionOf(name string, pts []Point) string {
	s := "Test reward of the learned policies by the quality η₀ of the logging policy"
	switch name {
	case "fig1":
		s += "; Clip with τ = n^(−1/4), Gaussian policies. λ* minimizes Corollary 1; the authors’ λ is what their published code has in its place."
	case "fig2", "fig3", "fig4":
		s += ", a curve for each hyperparameter; in the last panel the mean over hyperparameters."
	case "fig5":
		s += "; Clip with τ = n^(−1/4), all penalties of an objective equal."
	case "fig6":
		s = "Corollary 1’s bound on the whole log at the learned policy, and the policy’s true risk, −reward on the test set, by η₀ and τ. λ* depends on the data: the bound’s value is no certificate."
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

// pivots writes points as tables, one for each data set and quantity, with a column
// for each η₀.
func pivots(w io.Writer, n names, pts []Point) error {
	fmt.Fprint(w, "<details><summary>Numbers</summary>\n\n")
	for _, data := range datasets(pts) {
		for _, quantity := range distinctNames(pts, func(p Point) string { return p.Quantity }) {
			var of []Point
			for _, p := range pts {
				if p.Dataset == data && (p.Quantity == quantity) {
					of = append(of, p)
				}
			}
			if len(of) == 0 {
				continue
			}
			etas := distinct(of, func(p Point) train.Number { return train.Number(p.Eta0) })
			head := []string{"η₀ ="}
			for _, e := range etas {
				head = append(head, e.String())
			}
			labels := distinctNames(of, n.label)
			rows := make([][]string, len(labels))
			for i, l := range labels {
				rows[i] = append([]string{l}, slices.Repeat([]string{"—"}, len(etas))...)
			}
			for _, p := range of {
				cell := fmt.Sprintf("%.3f", float64(p.Mean))
				if p.SD.Valid() {
					cell += fmt.Sprintf(" ± %.3f", float64(p.SD))
				}
				rows[slices.Index(labels, n.label(p))][1+slices.Index(etas, train.Number(p.Eta0))] = cell
			}
			fmt.Fprintf(w, "%s, %s\n\n", datasetName(data), strings.ReplaceAll(quantity, "_", " "))
			if err := table.Write(w, Markdown, head, rows); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprint(w, "</details>\n\n")
	return nil
}

// label names a point's curve.
func (n names) label(p Point) string {
	if p.Objective == train.LoggingPolicy {
		return "logging policy"
	}
	return n.configuration(p.Run)
}

// writeProvenance says what made the records.
func (p *page) writeProvenance(w io.Writer) error {
	fmt.Fprint(w, "## Made by\n\n")
	type made struct {
		dataset, hash string
		n             int
		versions      train.Versions
		lr            float64
		epochs, batch int
		delta         float64
		dtype         string
	}
	var rows [][]string
	seen := map[made]bool{}
	for _, r := range p.recs {
		if r.Objective == train.LoggingPolicy {
			continue
		}
		m := made{r.Dataset, r.DataHash, r.N, r.Versions, r.LearningRate, r.Epochs, r.BatchSize, r.Delta, r.Dtype}
		if seen[m] {
			continue
		}
		seen[m] = true
		rows = append(rows, []string{datasetName(m.dataset), fmt.Sprint(m.n), dash(m.hash), fmt.Sprint(m.epochs), number(m.lr), fmt.Sprint(m.batch),
			number(m.delta), dash(m.dtype), m.versions.Opl, dash(m.versions.Commit), m.versions.Go, m.versions.System})
	}
	return table.Write(w, Markdown, []string{"data", "n", "data hash", "epochs", "lr", "batch", "δ", "dtype", "opl", "commit", "Go", "machine"}, rows)
}
