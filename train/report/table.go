package report

import "io"

// WriteTable prints rows of cells under a head, as Table or Markdown.
func WriteTable(w io.Writer, f Format, head []string, rows [][]string) error {
	return print(w, f, head, rows)
}
