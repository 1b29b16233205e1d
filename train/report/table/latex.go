package table

import (
	"io"
	"slices"
	"strings"
)

// escaped are characters that LaTeX reads as commands, and signs that its fonts have in formulas alone.
var escaped = strings.NewReplacer("\\", `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "±", `$\pm$`, "≥", `$\ge$`, "≤", `$\le$`,
	"−", `$-$`, "×", `$\times$`, "·", `$\cdot$`, "…", `\dots{}`, "λ₁", `$\lambda_1$`, "λ₂", `$\lambda_2$`,
	"λ", `$\lambda$`, "η₀", `$\eta_0$`, "π₀", `$\pi_0$`, "π", `$\pi$`, "δ", `$\delta$`, "Γ", `$\Gamma$`, "τ", `$\tau$`,
	"σ", `$\sigma$`, "Σ", `$\Sigma$`, "α", `$\alpha$`, "β", `$\beta$`, "ε", `$\varepsilon$`, "θ", `$\theta$`,
	"κ", `$\kappa$`, "μ", `$\mu$`, "φ", `$\phi$`, "r̂", `$\hat r$`, "ŵ", `$\hat w$`, "→", `$\to$`, "∞", `$\infty$`, "₂", `$_2$`, "√", `$\surd$`,
	"ℓ", `$\ell$`, "²", `$^2$`, "‖", `$\|$`, "γ", `$\gamma$`, "⁻¹", `$^{-1}$`, "ᐟ", "/", "⁴", `$^4$`, "ᵀ", `$^T$`,
	"∏", `$\prod$`, "✓", "yes", "✗", "no")

// Escape returns text as LaTeX prints it.
func Escape(text string) string { return escaped.Replace(text) }

// latex prints a tabular environment for the package booktabs; columns of numbers are aligned to the right.
func latex(w io.Writer, head []string, rows [][]string) error {
	var b strings.Builder
	b.WriteString(`\begin{tabular}{`)
	for i := range head {
		word := func(r []string) bool {
			return r[i] != "" && r[i] != "—" && !strings.ContainsAny(r[i][:1], "+-.0123456789")
		}
		if slices.ContainsFunc(rows, word) {
			b.WriteByte('l')
		} else {
			b.WriteByte('r')
		}
	}
	b.WriteString("}\n\\toprule\n")
	line := func(cells []string) {
		for i, c := range cells {
			if i > 0 {
				b.WriteString(" & ")
			}
			if len(c) > 1 && c[0] == '-' && strings.Contains(".0123456789", c[1:2]) {
				c = "−" + c[1:]
			}
			b.WriteString(Escape(c))
		}
		b.WriteString(" \\\\\n")
	}
	line(head)
	b.WriteString("\\midrule\n")
	for _, r := range rows {
		line(r)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
