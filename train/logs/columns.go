package logs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// renames are the names of the schema that columns of the file have, by theirs, and the names that no other
// column has then.
func (o *Options) renames() (of map[string]string, taken map[string]bool, err error) {
	of, taken = map[string]string{}, map[string]bool{}
	for _, from := range []map[string]string{o.Columns, o.ColumnsBefore} {
		given := len(taken) == 0
		for _, name := range slices.Sorted(maps.Keys(from)) {
			column := from[name]
			switch other, twice := of[column]; {
			case roleOf(name, "") == roleIgnored || name == "x_" || name == "p_":
				text := fmt.Sprintf("setting columns %s=%s: no column %q is read: want %s, x_NAME, p_NAME, "+
					"reward_NAME or cost_NAME", name, column, name, either(slices.Sorted(maps.Keys(roles))))
				if near := nearest(name); near != "" {
					text += fmt.Sprintf("; did you mean %s?", near)
				}
				return nil, nil, fmt.Errorf("%s", text)
			case column == "":
				return nil, nil, fmt.Errorf("setting columns %s=: want the name of a column of the file", name)
			case taken[name] && !given, twice && !given: // what is said now takes precedence
				continue
			case twice:
				return nil, nil, fmt.Errorf("setting columns: column %s cannot be both %s and %s", column, other, name)
			}
			of[column] = name
		}
		for name := range o.Columns {
			taken[name] = true
		}
	}
	return of, taken, nil
}

// uncategorized reports that neither the file nor the catalogue has a column that setting categories names, nor a field
// that has names alone.
func (b *builder) uncategorized() error {
	if len(b.o.Categories) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(b.fieldsOfNames()))
	for _, c := range b.columns {
		if names = append(names, c.name); c.as != c.name && c.as != "" {
			names = append(names, c.as)
		}
	}
	if b.catalogue != nil {
		names = append(names, b.catalogue.columns...)
	}
	for _, name := range b.o.Categories {
		if slices.Contains(names, name) {
			continue
		}
		return fmt.Errorf("%s: setting categories %s: there is no such column%s", b.path, name, meant(name, names))
	}
	return nil
}

// categorical reports that it was said of a field that its values are names.
func (b *builder) categorical(field []byte) bool {
	return len(b.o.Categories)+len(b.o.CategoriesBefore) > 0 && b.memory.kinds[string(field)] == category
}

// absent reports that a file (nil: all files together) lacks a column that the options name.
func (b *builder) absent(path string, t *table) error {
	if b.renamed == nil {
		return nil
	}
	var names []string
	columns := b.columns
	if t != nil {
		columns = t.columns
	}
	for _, c := range columns {
		names = append(names, c.name)
	}
	for _, name := range slices.Sorted(maps.Keys(b.o.Columns)) {
		column := b.o.Columns[name]
		folder := func(fixed [2]string) bool { return fixed[0] == column }
		if slices.Contains(names, column) || t != nil && slices.ContainsFunc(b.folders, folder) {
			continue
		}
		text := fmt.Sprintf("%s: setting columns %s=%s: there is no column %s", path, name, column, column)
		if near := meant(strings.ToLower(column), names); near != "" {
			return errors.New(text + near)
		}
		return fmt.Errorf("%s; there are %s", text, fewNames(names))
	}
	return nil
}
