// Package table prints tables of text cells in the formats that all commands have.
package table

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"opl/train/internal/spelling"
)

// Format is how results are printed.
type Format string

// The formats, by their names in settings. CSV and JSON are each result's own.
const (
	Text     Format = "table"
	Markdown Format = "markdown"
	CSV      Format = "csv"
	JSON     Format = "json"
)

// Formats lists all of them.
func Formats() []string {
	return []string{string(Text), string(Markdown), string(CSV), string(JSON)}
}

// Parse returns the format of a name, or an error that lists them.
func Parse(name string) (Format, error) {
	if !slices.Contains(Formats(), name) {
		return "", fmt.Errorf("%q%s (known: %s)", name, spelling.Suggest(name, Formats()), strings.Join(Formats(), ", "))
	}
	return Format(name), nil
}

// Write prints rows of cells under a head, as Text or Markdown.
func Write(w io.Writer, f Format, head []string, rows [][]string) error {
	opts := []tablewriter.Option{
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
	}
	if f == Markdown {
		opts = append(opts, tablewriter.WithRenderer(renderer.NewMarkdown()))
	}
	t := tablewriter.NewTable(w, opts...)
	t.Header(head)
	if err := t.Bulk(rows); err != nil {
		return err
	}
	return t.Render()
}
