package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/wholefile"
	"opl/train/provenance"
	"opl/train/report/figure"
	"opl/train/report/html"
	"opl/train/report/render"
	"opl/train/report/table"
)

// conclusion is what a command has found, in the forms that it can be told in.
type conclusion struct {
	answer any                       // as JSON
	text   func(w io.Writer) error   // as text or a table
	brief  func(w io.Writer) error   // as text or a text table without --verbose; nil: text
	page   func() (html.Page, error) // of --report; nil: none
	end    error                     // that the command ends with, an exit status
	plot   func() error              // draws the figure of --plot; nil: none
}

// shown is how a function of package render shows a value.
func shown[T any](show func(io.Writer, T) error, value T) func(io.Writer) error {
	return func(w io.Writer) error { return show(w, value) }
}

// tabled is how a function of package render shows a value in one of several formats.
func tabled[T any](show func(io.Writer, table.Format, T) error, format string, value T) func(io.Writer) error {
	return func(w io.Writer) error { return show(w, table.Format(format), value) }
}

// checked is the page of a value, with the checks of the log below.
func checked[T any](page func(T) html.Page, value T, judge *provenance.Judge) func() (html.Page, error) {
	return func() (html.Page, error) {
		p := page(value)
		p.Sections = append(p.Sections, render.Checks(judge.Found()))
		return p, nil
	}
}

// write writes the figure of --plot, the page of --report and then the answer to standard output: whoever reads that
// may stop reading (| head), which ends the process.
func (c conclusion) write(cmd *cobra.Command, format string, report *reportFlag) error {
	if err := cmd.Context().Err(); err != nil { // interrupted
		return err
	}
	if c.plot != nil {
		if err := c.plot(); err != nil {
			return err
		}
	}
	if report != nil && report.path != "" {
		page, err := c.page()
		if err != nil {
			return err
		}
		if page.Data, err = answer(cmd.Name(), c.answer, c.end); err != nil {
			return err
		}
		if err := report.write(cmd, page); err != nil {
			return err
		}
	}
	if format == "json" {
		return writeAnswer(cmd.OutOrStdout(), cmd.Name(), c.answer, c.end)
	}
	text := c.text
	plain := format == "text" || format == string(table.Text)
	if verbose, err := cmd.Flags().GetBool("verbose"); err == nil && !verbose && plain && c.brief != nil {
		text = c.brief
	}
	if err := text(cmd.OutOrStdout()); err != nil {
		return err
	}
	return c.end
}

// plotFlag is --plot of the commands that draw what they print.
type plotFlag struct{ path string }

func (p *plotFlag) add(fl *pflag.FlagSet) {
	bind(fl, &p.path, "plot", "")
	want(fl, "plot", "a name ending in .png, .svg or .pdf", func() bool {
		return strings.Contains(".png.svg.pdf", filepath.Ext(p.path)) && filepath.Ext(p.path) != ""
	})
}

// plotted writes the figure of a value, if it is asked for.
func plotted[T any](p plotFlag, draw func(T) figure.Figure, value T) func() error {
	return func() error {
		if p.path == "" {
			return nil
		}
		err := wholefile.Write(p.path, 0, func(to *os.File) error {
			return render.Plot(to, filepath.Ext(p.path)[1:], draw(value))
		})
		if err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
		return nil
	}
}
