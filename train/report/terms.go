package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
	"opl/train/report/table"
)

// dependent marks values at a λ that the data chose.
const dependent = "no certificate: λ depends on the data"

// value is one objective or bound of a run, or one that was left out, and why.
type value struct {
	run                             train.Run
	dependent                       bool
	of, value, delta, n, ell, terms string
}

func values(recs []train.Record) (vs []value) {
	for _, r := range recs {
		if r.ObjectiveValue.Valid() {
			vs = append(vs, value{r.Run, r.Lambda == "star" || r.Lambda == "authors",
				"objective", fmt.Sprintf("%.5f", float64(r.ObjectiveValue)), "—", fmt.Sprint(r.N), "—",
				terms(r.Terms)})
		}
		if r.Certificate == nil {
			continue
		}
		for _, b := range r.Certificate.All {
			vs = append(vs, value{r.Run, false,
				b.Name, fmt.Sprintf("%.5f", b.Risk), fmt.Sprintf("%.3g", b.Delta), fmt.Sprint(r.Certificate.N),
				fmt.Sprintf("%.4g", b.Lambda), terms(b.Terms)})
		}
		for _, m := range r.Certificate.Missing {
			vs = append(vs, value{r.Run, false, "left out", "—", "—", "—", "—", m})
		}
	}
	return vs
}

// WriteTerms prints what the objectives of records, on the whole log, and their
// certificates are made of: as Markdown or LaTeX in one table, as text a block an objective, within
// the width of the terminal.
func WriteTerms(w io.Writer, f table.Format, recs []train.Record) error {
	vs := values(recs)
	if f == table.Text {
		return writeBlocks(w, table.Width(w), vs)
	}
	var rows [][]string
	for _, v := range vs {
		if v.dependent {
			v.of += " (" + dependent + ")"
		}
		rows = append(rows, []string{experiment.Name(v.run), v.of, v.value, v.delta, v.n, v.ell, v.terms})
	}
	fmt.Fprintln(w)
	return table.Write(w, f, []string{"run", "value of", "value", "δ", "n", "λ, ℓ", "terms"}, rows)
}

// writeBlocks prints a block for what differs in the weight alone.
func writeBlocks(w io.Writer, width int, vs []value) error {
	title := func(v value) string {
		v.run.Weight, v.run.Hyper = "", train.None()
		return experiment.Name(v.run)
	}
	for _, of := range groupBy(vs, title) {
		if err := writeBlock(w, width, title(of[0]), of); err != nil {
			return err
		}
	}
	return nil
}

// writeBlock prints the values of one block; what they share is in its title, what was left
// out below.
func writeBlock(w io.Writer, width int, title string, vs []value) error {
	all := []field{{head: "weight"}, {head: "of"}, {head: "value"}, {head: "δ"}, {head: "n"}, {head: "λ, ℓ"}}
	var texts, under []string
	for _, v := range vs {
		if v.of == "left out" {
			if line := "left out: " + v.terms; !slices.Contains(under, line) {
				under = append(under, line)
			}
			continue
		}
		if line := v.of + ": " + dependent; v.dependent && !slices.Contains(under, line) {
			under = append(under, line)
		}
		for i, cell := range []string{dash(weight(v.run.Weight, v.run.Hyper)), v.of, v.value, v.delta, v.n, v.ell} {
			all[i].cells = append(all[i].cells, cell)
		}
		texts = append(texts, v.terms)
	}
	var head []string
	rows := make([][]string, len(texts))
	for _, c := range all {
		switch values := c.values(); {
		case len(values) == 0:
		case len(values) == 1 && c.head != "value" && c.head != "of":
			title += fmt.Sprintf(", %s %s", c.head, values[0])
		default:
			head = append(head, c.head)
			for i, cell := range c.cells {
				rows[i] = append(rows[i], cell)
			}
		}
	}
	head = append(head, "terms")
	room := width - table.Wide(head[:len(head)-1], rows) - 2
	var lines [][]string
	for i, r := range rows {
		r = slices.Clone(r)
		if i > 0 && len(r) > 0 && head[0] == "weight" && rows[i-1][0] == r[0] {
			r[0] = ""
		}
		const joined = "\u00a0" // a term's name and its value stay on one line
		text := strings.ReplaceAll(strings.ReplaceAll(texts[i], " ", joined), ","+joined, ", ")
		for _, line := range table.Wrap(max(room, 20), text) {
			lines = append(lines, append(r, strings.ReplaceAll(line, joined, " ")))
			r = make([]string, len(r))
		}
	}
	fmt.Fprintf(w, "\n%s\n", title)
	if err := table.WriteWithin(w, table.Text, 0, head, lines); err != nil {
		return err
	}
	for _, line := range under {
		fmt.Fprintln(w, strings.Join(table.Wrap(width-2, line), "\n  "))
	}
	return nil
}

func terms(ts []objectives.Term) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = fmt.Sprintf("%s %.5g", t.Name, t.Value)
	}
	return strings.Join(parts, ", ")
}
