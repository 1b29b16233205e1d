package table_test

import (
	"strings"
	"testing"

	"opl/train/report/table"
)

// LaTeX stops at characters that its fonts lack: those of the terms of bounds are commands.
func TestLaTeX_HasACommandForEveryLetterOfATerm(t *testing.T) {
	for _, r := range table.Escape("a_b&c%d#e$f{g}~^\\ ℓ ‖θ‖² γ∏⁻¹ᐟ⁴ δ Γ λ₁ η₀ π₀ r̂ ŵ ≥ ≤ ± − ✓") {
		if r > 126 {
			t.Errorf("LaTeX is given %q", r)
		}
	}
}

func TestLaTeX_EscapesAndAlignsNumbers(t *testing.T) {
	var b strings.Builder
	rows := [][]string{{"a_b & 5 %", "0.4 ± 0.1", "η₀ = 1"}, {"c", "-0.2", "—"}}
	if err := table.Write(&b, table.LaTeX, []string{"policy", "value ≥", "of"}, rows); err != nil {
		t.Fatal(err)
	}
	want := `\begin{tabular}{lrl}
\toprule
policy & value $\ge$ & of \\
\midrule
a\_b \& 5 \% & 0.4 $\pm$ 0.1 & $\eta_0$ = 1 \\
c & $-$0.2 & — \\
\bottomrule
\end{tabular}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
