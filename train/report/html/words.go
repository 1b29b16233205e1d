package html

import (
	"cmp"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"sync"

	"opl/docs"
)

var (
	markup   = regexp.MustCompile(`<[^>]*>`)
	linked   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	glossary = sync.OnceValue(readGlossary)
)

// word is an entry of the glossary, with what finds its names in a text.
type word struct {
	Fact
	ID    string // of its place in the page
	names []string
	find  *regexp.Regexp
}

// readGlossary reads the rows of the tables in docs/glossary.md. A row may have several names, between commas.
func readGlossary() (all []word) {
	for line := range strings.Lines(docs.Glossary) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
		if len(cells) != 4 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "word" {
			continue
		}
		for i, c := range cells {
			c = linked.ReplaceAllString(markup.ReplaceAllString(c, ""), "$1")
			cells[i] = strings.TrimSpace(strings.NewReplacer("\x00", "|", "`", "").Replace(c))
		}
		w := word{Fact: Fact{cells[1], cells[2]}, names: strings.Split(cells[1], ", ")}
		var either []string
		for _, n := range w.names {
			either = append(either, regexp.QuoteMeta(n))
		}
		w.find = regexp.MustCompile(`(?:^|[^\pL\pN])((?:` + strings.Join(either, "|") + `)s?)(?:$|[^\pL\pN])`)
		w.ID = fmt.Sprint("w", len(all))
		all = append(all, w)
	}
	return all
}

// meaning is what the glossary says of a name, such as the head of a column; "" if it is not there.
func meaning(name string) string {
	for _, w := range glossary() {
		if slices.Contains(w.names, name) {
			return w.Value
		}
	}
	return ""
}

// link is a text of the page, in which the first of each word of the glossary leads to what it means.
func link(text string) template.HTML {
	type place struct {
		from, to int
		id       string
	}
	var places []place
	for _, w := range glossary() {
		if at := w.find.FindStringSubmatchIndex(text); at != nil {
			places = append(places, place{at[2], at[3], w.ID})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var b strings.Builder
	done := 0
	for _, p := range places {
		if p.from >= done { // not within a longer one
			fmt.Fprintf(&b, `%s<a class="word" href="#%s">%s</a>`, template.HTMLEscapeString(text[done:p.from]), p.id,
				template.HTMLEscapeString(text[p.from:p.to]))
			done = p.to
		}
	}
	return template.HTML(b.String() + template.HTMLEscapeString(text[done:]))
}

// words are the entries of the glossary that the page speaks of, apart from cells of its tables.
func (p Page) words() (found []word) {
	text := []string{p.Question, p.Subject, p.Verdict}
	facts := func(all []Fact) {
		for _, f := range all {
			text = append(text, f.Name, f.Value)
		}
	}
	for _, s := range p.Sections {
		text = append(append(append(text, s.Title), s.Text...), s.Notes...)
		facts(s.Facts)
		for _, c := range s.Checks {
			text = append(append(text, c.Name), c.Text...)
		}
		for _, f := range s.Figures {
			text = append(text, f.Caption)
		}
		for _, t := range s.Tables {
			text = append(append(text, t.Caption), t.Head...)
		}
	}
	all := strings.Join(text, "\n")
	for _, w := range glossary() {
		if w.find.MatchString(all) {
			found = append(found, w)
		}
	}
	return found
}
