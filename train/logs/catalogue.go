package logs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"opl/policies/features"
	"opl/policies/policyfile"
)

// Catalogue says which actions there are, and what they are described by.
type Catalogue struct {
	Actions []string // their names, in the order of the file

	items   named
	columns []string // of the file
	said    Origin   // what reading found out
}

// Notes say what reading found out and a user should know: columns that may not be read as they were meant, a last
// row that may be cut, columns that are not read.
func (c *Catalogue) Notes() []string { return slices.Concat(c.said.Doubts, c.said.Cut, c.said.Notes) }

// ReadCatalogue reads a catalogue from CSV, JSON Lines or Parquet: the column action, and
// features in columns z_NAME, numbers or categories as the context's columns x_NAME are; those
// of categories are names even where they look like numbers. A feature is called NAME, a
// category NAME=value, as in a log whose rows describe their actions. Errors name file, row
// and column: an action twice or without a name, no features, a number that is missing or not
// finite, fewer than two actions.
func ReadCatalogue(path string, categories ...string) (*Catalogue, error) {
	return readCatalogueOf(path, "", categories)
}

// ReadCatalogueAs reads a catalogue whose column action may be called as in a log, by own; empty: it has no other name.
func ReadCatalogueAs(path, own string, categories ...string) (*Catalogue, error) {
	c, err := ReadCatalogue(path, categories...)
	if err != nil && own != "" {
		if as, wrong := readCatalogueOf(path, own, categories); wrong == nil {
			return as, nil
		}
	}
	return c, err
}

// catalogueOf reads the catalogue of a log, with codes as categories.
func (o *Options) catalogueOf(codes []string) (*Catalogue, error) {
	return ReadCatalogueAs(o.Catalogue, cmp.Or(o.Columns["action"], o.ColumnsBefore["action"]), codes...)
}

func readCatalogueOf(path, own string, categories []string) (*Catalogue, error) {
	p := &plan{o: &Options{Categories: categories}}
	if own != "" {
		p.renamed = map[string]string{own: "action"}
	}
	f, packed, err := formatFor(path, p.o)
	if err != nil {
		return nil, err
	}
	if f.row == "" {
		return nil, fmt.Errorf("%s: a catalogue is a file of named columns: %s", path,
			endingsOf(func(f *format) bool { return f.row != "" }))
	}
	m, err := p.newMemory()
	for err == nil {
		c, err := readCatalogue(path, packed, f, p, m)
		if !errors.Is(err, errAgain) {
			return c, err
		}
	}
	return nil, err
}

// readCatalogue makes a pass over a catalogue. errAgain asks for another one.
func readCatalogue(path, packed string, format *format, p *plan, m *memory) (_ *Catalogue, err error) {
	b, err := newBuilder(path, "", p, m)
	if err != nil {
		return nil, err
	}
	b.describes = true
	rd, err := format.reader(path, packed, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rd.close()) }()
	if err := b.fill(context.Background(), rd); err != nil {
		return nil, err
	}
	if err := b.settle(); err != nil {
		return nil, err
	}
	if len(b.contexts.names) == 0 {
		return nil, fmt.Errorf("%s: no features: want columns z_NAME that describe the actions", path)
	}
	if len(b.actions) < 2 {
		return nil, fmt.Errorf("%s: %d actions, want at least 2", path, len(b.actions))
	}
	c := &Catalogue{items: named{n: b.n}, said: b.Origin}
	for _, notes := range [][]string{b.Doubts, b.Cut, b.Notes} {
		for i := range notes {
			notes[i] = path + ": " + notes[i]
		}
	}
	for _, a := range b.actions {
		c.Actions = append(c.Actions, a.text)
	}
	for _, s := range b.contexts.sections(&c.items) {
		s.take(bytes.Clone(s.buf))
	}
	for _, column := range b.table.columns {
		if c.columns = append(c.columns, column.name); column.role != roleContext || column.kind != number ||
			column.numbers == b.n {
			continue
		}
		for row := range b.n {
			if ids, _ := c.items.row(row); !slices.Contains(ids, column.id) {
				return nil, fmt.Errorf("%s: row %d, column %s: missing: every action must have the number", path, row+1,
					column.name)
			}
		}
	}
	return c, nil
}

// describe appends the row of a catalogue.
func (b *builder) describe() error {
	r := &b.row
	if !r.hasAction || len(r.action) == 0 {
		return bad("action", "missing")
	}
	text, err := b.idText("action", r.form, r.action)
	if err != nil {
		return err
	}
	if a, twice := b.actionID[string(text)]; twice {
		return bad("action", "%s is in row %d as well", quote(text), b.actions[a].row)
	}
	if _, err := b.action(text); err != nil {
		return err
	}
	b.idForm = cmp.Or(b.idForm, r.ids)
	b.contexts.add()
	b.n++
	return nil
}

// amongIt refuses a catalogue if the rows of the log were decided among another one.
func amongIt(path, among string, o *Options) error {
	if among == "" {
		return nil
	}
	var served *policyfile.Catalogue
	for _, codes := range [][]string{o.categories(), nil} { // as a policy that was served knows it
		c, err := o.catalogueOf(codes)
		if err != nil {
			return err
		}
		if served, err = c.Served(); err != nil || served.Hash == among {
			return err
		}
	}
	return fmt.Errorf("%s: its decisions were among the catalogue %.12s, %s is %.12s: give the one that was served; "+
		"columns of codes that the policy served knew as names are read so by setting categories", path, among, o.Catalogue, served.Hash)
}

// Served returns the catalogue with the hash that policy files and served logs know it by.
func (c *Catalogue) Served() (*policyfile.Catalogue, error) {
	var values []features.Value
	return policyfile.NewCatalogue(c.Actions, func(a int) []features.Value {
		values = c.Features(a, values[:0])
		return values
	})
}

// roleInCatalogue returns the role of a catalogue's column by its name.
func roleInCatalogue(name string) role {
	switch {
	case name == "action":
		return roleAction
	case strings.HasPrefix(name, "z_"):
		return roleContext
	}
	return roleIgnored
}

// use makes the actions of a log that is read those of a catalogue.
func (b *builder) use(c *Catalogue) {
	b.Doubts, b.Cut, b.Notes = slices.Clone(c.said.Doubts), slices.Clone(c.said.Cut), slices.Clone(c.said.Notes)
	b.actions = make([]action, len(c.Actions))
	for i, name := range c.Actions {
		b.actions[i] = action{text: name, number: -1, hash: xxhash.Sum64String(name)}
		b.actionID[name] = int32(i)
	}
	v, g := &c.items, &b.items
	g.values.put(v.values...)
	g.numbers.put(v.ids...)
	g.offsets.put(v.offsets...)
	for _, name := range v.names {
		g.vocabulary.number([]byte(name))
	}
	g.category.put(v.category...)
	if g.n, g.dense = v.n, v.offsets == nil; g.dense {
		g.first = v.ids
	}
}

// Features appends the named values of action a to values.
func (c *Catalogue) Features(a int, values []features.Value) []features.Value {
	return c.items.appendTo(a, values)
}
