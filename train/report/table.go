package report

import "io"

// WriteTable prints rows of cells under a head, as Table or Markdown.
func WriteTable(w io.Writer, f Format, head []string, rows [][]string) error {
	return print(w, f, head, rows)
}

// WriteFile writes a whole file or leaves what was there.
func WriteFile(path string, b []byte) error { return writeFile(path, b) }
