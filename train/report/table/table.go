// Package table prints tables of text cells in the formats that all commands have. Use it to print
// a table in every format that --format takes.
package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
	"golang.org/x/term"

	"opl/train/internal/spelling"
)

// Format is how results are printed.
type Format string

// The formats, by their names in settings. JSON is each result's own, and CSV of most.
const (
	Text     Format = "table"
	Markdown Format = "markdown"
	LaTeX    Format = "latex" // tabular environments with the rules of booktabs
	CSV      Format = "csv"
	JSON     Format = "json"
)

// Formats lists all of them.
func Formats() []string {
	return []string{string(Text), string(Markdown), string(LaTeX), string(CSV), string(JSON)}
}

// Parse returns the format of a name, or an error that lists them.
func Parse(name string) (Format, error) {
	if !slices.Contains(Formats(), name) {
		return "", fmt.Errorf("%q%s (known: %s)", name, spelling.Suggest(name, Formats()),
			strings.Join(Formats(), ", "))
	}
	return Format(name), nil
}

// Width is how many columns a text table may take: those of the terminal that w is,
// 100 where it is none.
func Width(w io.Writer) int {
	if f := File(w); f != nil {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 100
}

// File returns the file that w writes to in the end, nil if it is none. Writers that change
// what is written have a method Unwrap.
func File(w io.Writer) *os.File {
	for {
		switch v := w.(type) {
		case *os.File:
			return v
		case interface{ Unwrap() io.Writer }:
			w = v.Unwrap()
		default:
			return nil
		}
	}
}

// Wide returns the width of a text table without lines.
func Wide(head []string, rows [][]string) (n int) {
	for _, size := range sizes(head, rows) {
		n += size + 2
	}
	return n - 2
}

// sizes are the widths of columns; rows may have more cells.
func sizes(head []string, rows [][]string) []int {
	size := make([]int, len(head))
	for i, h := range head {
		size[i] = utf8.RuneCountInString(h)
		for _, r := range rows {
			size[i] = max(size[i], utf8.RuneCountInString(r[i]))
		}
	}
	return size
}

// Write prints rows of cells under a head, as Text, Markdown or LaTeX. Text goes without lines
// between columns where it would be wider than Width with them.
func Write(w io.Writer, f Format, head []string, rows [][]string) error {
	return WriteWithin(w, f, Width(w), head, rows)
}

// WriteWithin is Write for a width.
func WriteWithin(w io.Writer, f Format, width int, head []string, rows [][]string) error {
	if r, ok := w.(*Recorder); ok {
		r.blocks = append(r.blocks, Block{Head: head, Rows: rows})
		return nil
	}
	opts := []tablewriter.Option{
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
	}
	switch {
	case f == LaTeX:
		return latex(w, head, rows)
	case f == CSV:
		return csv.NewWriter(w).WriteAll(append([][]string{head}, rows...))
	case f == Markdown:
		opts = append(opts, tablewriter.WithRenderer(renderer.NewMarkdown()))
	case f != Text:
		return fmt.Errorf("table: unknown format %q", f)
	case Wide(head, rows)+len(head)+3 > width:
		return plain(w, head, rows)
	}
	t := tablewriter.NewTable(w, opts...)
	t.Header(head)
	if err := t.Bulk(rows); err != nil {
		return err
	}
	return t.Render()
}

// plain prints columns with two spaces between them, the head underlined.
func plain(w io.Writer, head []string, rows [][]string) error {
	under := make([]string, len(head))
	for i, n := range sizes(head, rows) {
		under[i] = strings.Repeat("─", n)
	}
	return Columns(w, "", slices.Concat([][]string{head, under}, rows))
}

// Columns prints rows in columns as wide as their cells, with two spaces between them. Every line begins with indent.
func Columns(w io.Writer, indent string, rows [][]string) error {
	size := sizes(rows[0], rows[1:])
	for _, r := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, c := range r {
			b.WriteString(c + strings.Repeat(" ", size[i]-utf8.RuneCountInString(c)+2))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// Wrap breaks a text at spaces into lines of at most width runes; a longer word has a line
// of its own.
func Wrap(width int, text string) (lines []string) {
	line := ""
	for _, word := range strings.Split(text, " ") {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line+word) < width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

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

// Recorder is a writer that keeps what is written to it in order, tables as tables, for those who lay it out by
// other means.
type Recorder struct{ blocks []Block }

// Block is a table, or, without a head, a text.
type Block struct {
	Text string
	Head []string
	Rows [][]string
}

// Write implements io.Writer.
func (r *Recorder) Write(b []byte) (int, error) {
	if n := len(r.blocks); n == 0 || r.blocks[n-1].Head != nil {
		r.blocks = append(r.blocks, Block{})
	}
	r.blocks[len(r.blocks)-1].Text += string(b)
	return len(b), nil
}

// Blocks returns the tables, and the lines of text that are not empty.
func (r *Recorder) Blocks() (all []Block) {
	for _, b := range r.blocks {
		if b.Head != nil {
			all = append(all, b)
			continue
		}
		for line := range strings.Lines(b.Text) {
			if line = strings.TrimSpace(line); line != "" {
				all = append(all, Block{Text: line})
			}
		}
	}
	return all
}
