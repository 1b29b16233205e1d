package report

import (
	"fmt"
	"io"
	"strings"

	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
	"opl/train/report/table"
)

// WriteTerms prints what the objectives of records, on the whole log, and their
// certificates are made of, a line each.
func WriteTerms(w io.Writer, f Format, recs []train.Record) error {
	head := []string{"run", "value of", "value", "δ", "n", "λ, ℓ", "terms"}
	var rows [][]string
	for _, r := range recs {
		if r.ObjectiveValue.Valid() {
			of := "objective"
			if r.Lambda == "star" || r.Lambda == "authors" {
				of = "objective (no certificate: λ depends on the data)"
			}
			rows = append(rows, []string{experiment.Name(r.Run), of, fmt.Sprintf("%.5f", float64(r.ObjectiveValue)), "—", fmt.Sprint(r.N), "—", terms(r.Terms)})
		}
		if r.Certificate == nil {
			continue
		}
		for _, b := range r.Certificate.All {
			rows = append(rows, []string{experiment.Name(r.Run), b.Name, fmt.Sprintf("%.5f", b.Risk), fmt.Sprintf("%.3g", b.Delta),
				fmt.Sprint(r.Certificate.N), fmt.Sprintf("%.4g", b.Lambda), terms(b.Terms)})
		}
		for _, m := range r.Certificate.Missing {
			rows = append(rows, []string{experiment.Name(r.Run), "left out", "—", "—", "—", "—", m})
		}
	}
	fmt.Fprintln(w)
	return table.Write(w, f, head, rows)
}

func terms(ts []objectives.Term) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = fmt.Sprintf("%s %.5g", t.Name, t.Value)
	}
	return strings.Join(parts, ", ")
}
