package render

import (
	"fmt"
	"strings"
	"testing"

	"opl/train/inspect"
	"opl/train/ope"
)

// TestBrief_NamesWhatDoubts holds a short text to a line and ten more, with each doubt in full or by name.
func TestBrief_NamesWhatDoubts(t *testing.T) {
	for n := range 30 {
		report := inspect.Report{Severity: inspect.Doubtful}
		var targets []ope.Candidate
		for i := range n {
			name := fmt.Sprintf("n%02d", i)
			report.Columns = append(report.Columns, inspect.Column{Name: "column", Role: "context"})
			report.Findings = append(report.Findings, inspect.Finding{Check: name, Severity: inspect.Doubtful,
				Measured: strings.Repeat("much ", 20), Do: strings.Repeat("work ", 20)})
			targets = append(targets, ope.Candidate{Name: name, Warnings: []string{name + " is far away"},
				Uncertified: []string{"", "taught"}[i%2]})
		}
		if n == 0 {
			report = inspect.Report{}
		}
		var logged, chosen strings.Builder
		if err := BriefInspection(&logged, report); err != nil {
			t.Fatal(err)
		}
		if err := BriefSelection(&chosen, ope.Selection{Because: "keep what plays", Targets: targets}); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{logged.String(), chosen.String()} {
			if strings.Count(text, "\n") > 1+below || strings.Contains(text, "\n\n") {
				t.Errorf("%d doubts:\n%s", n, text)
			}
			if shown := strings.Count(chosen.String(), "\nn"); n <= 4 && shown < n {
				t.Errorf("%d of %d policies have a line of the table:\n%s", shown, n, &chosen)
			}
			for i := range n {
				if !strings.Contains(text, fmt.Sprintf("n%02d", i)) {
					t.Errorf("doubt %d of %d is not told:\n%s", i, n, text)
				}
			}
		}
	}
}
