package logs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// chain reads the files one after the other, as one file with all their rows.
type chain struct {
	*opening
	at     int // files that have been read, or begun
	reader     // of the last of them; nil: it is at its end
	fixed  []fixedCell
	schema []string // the columns of the first file that has a header
	from   string   // that file
	failed bool     // a file is left out that was not before: this pass only finds others
}

// fixedCell holds a value that the name of a folder gives to all its rows.
type fixedCell struct {
	c     *column
	value []byte
}

func (c *chain) next(b *builder) error {
	for {
		var err error
		if c.reader == nil {
			if c.at == len(c.list) {
				return io.EOF
			}
			if c.at++; c.list[c.at-1].left == nil {
				err = c.begin(b, c.list[c.at-1])
			}
		} else if err = c.reader.next(b); err == nil {
			return c.addFixed(b)
		} else if err == io.EOF {
			err = c.close()
		}
		var wrong *rowError
		switch {
		case err == nil:
		case err == errNoDecision, err == errAgain, errors.As(err, &wrong), !c.mayLeaveOut(err):
			return err
		default: // the rest is only looked at
			_ = c.close()
			c.leaveOut(c.list[c.at-1], err)
			c.failed, b.typesOnly = true, true
			b.begin()
		}
	}
}

// begin begins to read a file.
func (c *chain) begin(b *builder, g *file) (err error) {
	if g.bucket == nil && g.info == nil {
		_, err := statLog(g.name)
		return cmp.Or(err, fmt.Errorf("%s: the file changed while it was read", g.name))
	}
	b.local, b.ends, b.table, b.joined = g.local, !c.alone || g.bucket == nil && g.local != "", nil, false
	if !c.alone {
		b.files = append(b.files, start{g.name, b.at - 1})
		for _, fixed := range g.fixed {
			b.joined = b.joined || roleOf(c.as(fixed[0]), "") == roleContext
		}
		b.folders = g.fixed
	}
	if c.reader, err = g.format.reader(g.name, g.packed, b); err != nil || c.alone {
		return err
	}
	c.fixed = c.fixed[:0]
	t := b.table
	if t == nil {
		t = newTable(&lines{path: g.name}, b)
	}
	var schema []string
	for _, own := range t.columns {
		switch own.role {
		case roleIgnored, roleOutcome, roleUnrewarded: // which may be missing, the last where every decision has a reward
		default:
			schema = append(schema, own.as)
		}
	}
	for _, fixed := range g.fixed {
		as := c.as(fixed[0])
		if _, own := t.index[fixed[0]]; own || as == "" {
			continue
		}
		column, err := b.column([]byte(fixed[0]), "")
		if err != nil {
			return err
		}
		c.fixed, schema = append(c.fixed, fixedCell{column, []byte(fixed[1])}), append(schema, as)
	}
	return c.sameColumns(g, schema)
}

// sameColumns refuses a file that has other columns than the first file with a header.
func (c *chain) sameColumns(g *file, schema []string) error {
	slices.Sort(schema)
	switch {
	case g.format.row != "row" || slices.Equal(schema, c.schema):
		return nil
	case c.from == "":
		c.schema, c.from = schema, g.name
		return nil
	}
	var what []string
	only := func(a, b []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) }),
			", ")
	}
	if s := only(c.schema, schema); s != "" {
		what = append(what, "it has no column "+s)
	}
	if s := only(schema, c.schema); s != "" {
		what = append(what, "it has "+s+" more")
	}
	return fmt.Errorf("%s: other columns than %s has: %s: read files of the same columns together, or leave it "+
		"out by setting skip-bad", g.name, c.from, strings.Join(what, ", "))
}

// addFixed adds to a row what the names of its file and folders say.
func (c *chain) addFixed(b *builder) error {
	for _, fixed := range c.fixed {
		if _, own := b.table.index[fixed.c.name]; own { // of a format without a header
			continue
		}
		if err := b.table.cell(b, fixed.c, 0, fixed.value, 0); err != nil {
			return err
		}
	}
	if b.o.LoggedByFile && !c.alone && len(b.row.policy) == 0 {
		base, _, _ := strings.Cut(filepath.Base(c.list[c.at-1].name), ".")
		b.row.policy = append(b.row.policy, base...)
	}
	return nil
}

func (c *chain) raw() []byte {
	if c.reader == nil {
		return nil
	}
	return c.reader.raw()
}

func (c *chain) close() error {
	if c.reader == nil {
		return nil
	}
	err := c.reader.close()
	c.reader = nil
	return err
}
