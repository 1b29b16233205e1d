// Package html writes what was concluded from data as one page: a question, the verdict in a
// sentence, sections of text, checks, tables and figures, what made it, and the same as JSON. The
// page is one file that asks for nothing outside of it, and can be sent to others: tables sort,
// figures answer to the mouse and to arrow keys, and without scripts, on paper and to a screen
// reader it says the same. Use it to share a conclusion with people who have no opl.
//
// Figures are drawn here, as SVG that styles itself by the page, and not by a library in the page:
// readers that run no scripts, as previews of mail do, show them, they print as lines, and a page
// is as large as what it says. Texts may be hostile: all are escaped, and the page's
// Content-Security-Policy runs its own script alone.
package html

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"opl/train/report/figure"
	"opl/train/report/table"
)

// Page is the content of a page. Only Question and Verdict must be there.
type Page struct {
	By       string // the command, such as "opl inspect"
	Question string
	Subject  string // a line of what it is about
	Verdict  string // a sentence
	Tone     Tone   // of the verdict
	Sections []Section
	Made     Made
	Data     any // the same for programs, as encoding/json writes it
}

// Tone says whether a verdict or a check speaks for or against.
type Tone int

// The tones.
const (
	Plain Tone = iota // neither for nor against
	Good
	Doubt
	Bad
)

// Class returns the tone's name in style sheets.
func (t Tone) Class() string { return [...]string{"plain", "good", "doubt", "bad"}[t] }

// Sign returns the tone in a character.
func (t Tone) Sign() string { return [...]string{"•", "✓", "!", "✗"}[t] }

// Word returns the tone in words, for readers who see no colours; none of Plain.
func (t Tone) Word() string { return [...]string{"", "fine", "doubtful", "bad"}[t] }

// Section is a part of a page under a heading. What it holds comes in the order of its fields.
type Section struct {
	Title   string
	Text    []string // paragraphs
	Facts   []Fact
	Checks  []Check
	Figures []Figure
	Tables  []Table
	Code    string   // as it is
	Notes   []string // paragraphs in small type
}

// Fact pairs a name with what is said of it.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Check is the outcome of a check: the tone, a name, and what was found, what it means, what to do.
type Check struct {
	Name string
	Tone Tone
	Text []string
}

// Table is cells under a head; the first column names its rows.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// Figure is a figure with what is to be known to read it.
type Figure struct {
	Caption string
	figure.Figure
}

// Made says how to make the page again.
type Made struct {
	Command  string `json:"command"`
	Facts    []Fact `json:"facts,omitempty"` // versions, hashes, seeds
	Files    []File `json:"files,omitempty"`
	Settings []Fact `json:"settings,omitempty"`
}

// File names a file that was read.
type File struct {
	Name   string `json:"name"`
	Role   string `json:"role"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Limits of what is shown; JSON has all.
const (
	mostRows  = 500 // of a table
	mostRunes = 160 // of a cell
)

var (
	//go:embed page.html
	layout string
	//go:embed page.css
	css string
	//go:embed page.js
	script string

	page = template.Must(template.New("page").Funcs(template.FuncMap{"laid": lay, "meaning": meaning, "link": link}).Parse(layout))
)

// drawnSection is a section with its figures drawn.
type drawnSection struct {
	Section
	Drawn []drawing
}

// Write writes the page: equal pages as equal bytes. Errors: data that encoding/json refuses, and those of w.
func (p Page) Write(w io.Writer) error {
	data, err := json.Marshal(struct { // with <, > and & escaped, so that it cannot end its element
		Question string `json:"question"`
		Subject  string `json:"subject,omitempty"`
		Verdict  string `json:"verdict"`
		Tone     string `json:"tone"`
		Made     Made   `json:"made"`
		Result   any    `json:"result,omitempty"`
	}{p.Question, p.Subject, p.Verdict, p.Tone.Class(), p.Made, p.Data})
	if err != nil {
		return fmt.Errorf("html: %w", err)
	}
	var ink inks
	var sections []drawnSection
	for _, s := range p.Sections {
		d := drawnSection{Section: s}
		for _, f := range s.Figures {
			d.Drawn = append(d.Drawn, ink.draw(f))
		}
		sections = append(sections, d)
	}
	files := Table{Caption: "Files that were read", Head: []string{"file", "as", "bytes", "SHA-256"}}
	for _, f := range p.Made.Files {
		files.Rows = append(files.Rows, []string{f.Name, f.Role, fmt.Sprint(f.Bytes), f.SHA256})
	}
	settings := Table{Head: []string{"setting", "value"}}
	for _, f := range p.Made.Settings {
		settings.Rows = append(settings.Rows, []string{f.Name, f.Value})
	}
	style := css + ink.css()
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"By": p.By, "Title": strings.TrimSpace(p.By + ": " + p.Question), "Question": p.Question,
		"Subject": p.Subject, "Verdict": p.Verdict, "Words": p.words(), "Tone": p.Tone, "Sections": sections,
		"Made": map[string]any{"Command": p.Made.Command, "Facts": p.Made.Facts, "Files": some(files),
			"Settings": some(settings)},
		"JSON": template.JS(data), "CSS": template.CSS(style), "Script": template.JS(script),
		"Policy": fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri "+
			"'none'; form-action 'none'", hash(style), hash(script)),
	})
	if err != nil {
		return fmt.Errorf("html: %w", err)
	}
	_, err = w.Write(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD")))
	return err
}

func some(t Table) *Table {
	if len(t.Rows) == 0 {
		return nil
	}
	return &t
}

// hash is how a Content-Security-Policy names a text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// laidTable is a table as the layout has it.
type laidTable struct {
	Caption, Label, More string
	Sorts, Brief         bool
	Head                 []cell
	Rows                 [][]cell
}

type cell struct {
	Text, Whole  string // Whole: of a text that is cut
	Head, Number bool
}

// leading is a number at the beginning of a cell.
var leading = regexp.MustCompile(`^[≥≤<>~]?\s*[-+−]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?($|[\s%±×\[(,;])`)

func lay(t Table) laidTable {
	out := laidTable{Caption: t.Caption, Label: cmp.Or(t.Caption, "Table"),
		Sorts: len(t.Rows) > 1 && len(t.Rows) <= mostRows, Brief: len(t.Rows) <= 16}
	number := make([]bool, len(t.Head))
	for j, h := range t.Head {
		filled := false
		number[j] = j > 0
		for _, r := range t.Rows {
			if j < len(r) && r[j] != "" && r[j] != "—" {
				filled = true
				number[j] = number[j] && leading.MatchString(r[j]) && utf8.RuneCountInString(r[j]) < 40
			}
		}
		number[j] = number[j] && filled
		out.Head = append(out.Head, cell{Text: h, Number: number[j]})
	}
	for i, r := range t.Rows {
		if i == mostRows {
			out.More = fmt.Sprintf("And %d rows more.", len(t.Rows)-mostRows)
			break
		}
		var row []cell
		for j := range t.Head {
			c := cell{Head: j == 0, Number: number[j]}
			if j < len(r) {
				if c.Text = short(r[j], mostRunes); c.Text != r[j] {
					c.Whole = short(r[j], 10*mostRunes)
				}
			}
			row = append(row, c)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// short cuts a text that is too long.
func short(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Recorded is a section of what was written to a recorder as Markdown: its tables and paragraphs,
// of which those before a table in bold are its caption.
func Recorded(title string, r *table.Recorder) Section {
	s := Section{Title: title}
	caption := ""
	for _, b := range r.Blocks() {
		switch bold := strings.TrimSuffix(strings.TrimPrefix(b.Text, "**"), "**"); {
		case b.Head != nil:
			s.Tables = append(s.Tables, Table{Caption: caption, Head: b.Head, Rows: b.Rows})
			caption = ""
		case len(bold) == len(b.Text)-4:
			caption = bold
		default:
			s.Notes = append(s.Notes, b.Text)
		}
	}
	return s
}
