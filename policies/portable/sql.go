package portable

import (
	"fmt"
	"slices"
	"strings"
)

// sql is a select list in standard SQL: the action, and its propensity if actions are drawn. Names are quoted;
// numbers that are missing are NULL.
func (t *Tree) sql(b *strings.Builder, draw string) error {
	columns := []string{draw}
	t.Root.each(func(n *Node) { columns = append(append(columns, n.Condition.Column), n.Condition.In...) })
	same := func(c string) bool { return strings.EqualFold(c, draw) } // SQL may take both for one
	if slices.ContainsFunc(t.columns, same) && (t.Random() || t.Numbers != nil) {
		return fmt.Errorf("the contexts have a column %q, and setting draw has the same name: name the column of draws "+
			"otherwise", draw)
	}
	for _, s := range append(columns, t.Actions...) {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("the name %q has a byte 0, which SQL cannot hold", s)
		}
	}
	fmt.Fprintf(b, "-- opl policy %s: a select list in standard SQL, for SELECT … FROM a table of contexts.\n", t.Hash)
	if !t.Random() && t.Numbers == nil {
		t.cases(b, func(n *Node) { b.WriteString(quoted(t.likely(n), '\'')) })
		b.WriteString(" AS \"action\"\n")
		return nil
	}
	u := quoted(draw, '"')
	comment := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, u)
	fmt.Fprintf(b, "-- Column %s is a uniform draw in [0, 1), drawn once for each row and kept.\n", comment)
	column := func(name string, of func(s step) string) {
		t.cases(b, func(n *Node) {
			steps := cumulated(n.Propensities)
			last := len(steps) - 1
			if last == 0 {
				b.WriteString(of(steps[0]))
				return
			}
			b.WriteString("CASE")
			for _, s := range steps[:last] {
				fmt.Fprintf(b, " WHEN %s < %s THEN %s", u, number(s.below), of(s))
			}
			fmt.Fprintf(b, " ELSE %s END", of(steps[last]))
		})
		fmt.Fprintf(b, " AS %s", quoted(name, '"'))
	}
	if t.Numbers == nil {
		column("action", func(s step) string { return quoted(t.Actions[s.action], '\'') })
	} else {
		column("action", func(s step) string { return t.sqlNumber(s, u) })
		b.WriteString(",\n")
		column("density", t.sqlDensity)
	}
	b.WriteString(",\n")
	column("propensity", func(s step) string {
		if t.Numbers != nil && s.action < t.Numbers.Bins() {
			return "NULL"
		}
		return number(s.p)
	})
	b.WriteString("\n")
	return nil
}

// cases writes the tree as a CASE, whose leaves leaf writes.
func (t *Tree) cases(b *strings.Builder, leaf func(n *Node)) {
	var write func(n *Node, indent string)
	write = func(n *Node, indent string) {
		if n.Yes == nil {
			leaf(n)
			return
		}
		fmt.Fprintf(b, "CASE WHEN %s THEN\n%s  ", n.Condition.sql(), indent)
		write(n.Yes, indent+"  ")
		fmt.Fprintf(b, "\n%sELSE\n%[1]s  ", indent)
		write(n.No, indent+"  ")
		fmt.Fprintf(b, "\n%sEND", indent)
	}
	write(t.Root, "")
}

func (c Condition) sql() string {
	column := quoted(c.Column, '"')
	switch {
	case c.In != nil:
		return column + " IN " + list("(", ")", c.texts(), func(v string) string { return quoted(v, '\'') })
	case c.Missing:
		return column + " IS NULL"
	case c.OrMissing:
		return fmt.Sprintf("(%s <= %s OR %[1]s IS NULL)", column, number(c.AtMost))
	}
	return fmt.Sprintf("%s <= %s", column, number(c.AtMost))
}

// quoted puts a text between quotes, which it doubles within.
func quoted(s string, quote byte) string {
	q := string(quote)
	return q + strings.ReplaceAll(s, q, q+q) + q
}

// step is an action that is played for draws in [from, below), with probability p.
type step struct {
	action         int
	from, below, p float64
}

// cumulated divides [0, 1) among the actions that have a propensity, in their order; the last takes the rest.
func cumulated(pi []float64) (steps []step) {
	var sum float64
	for a, v := range pi {
		if v > 0 {
			steps = append(steps, step{a, sum, sum + v, v})
			sum += v
		}
	}
	steps[len(steps)-1].below = 1
	return steps
}

// each visits the nodes that ask.
func (n *Node) each(visit func(*Node)) {
	if n.Yes != nil {
		visit(n)
		n.Yes.each(visit)
		n.No.each(visit)
	}
}
