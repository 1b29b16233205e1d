package portable

import (
	"fmt"
	"strings"
)

// sql is a select list in standard SQL: the action, and its propensity if actions are drawn. Names are quoted;
// numbers that are missing are NULL.
func (t *Tree) sql(b *strings.Builder, draw string) error {
	columns := []string{draw}
	t.Root.each(func(n *Node) { columns = append(append(columns, n.Condition.Column), n.Condition.In...) })
	for _, s := range append(columns, t.Actions...) {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("the name %q has a byte 0, which SQL cannot hold", s)
		}
	}
	fmt.Fprintf(b, "-- opl policy %s: a select list in standard SQL, for SELECT … FROM a table of contexts.\n", t.Hash)
	if !t.Random() {
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
	drawn := func(of func(a int, pi float64) string) func(n *Node) {
		return func(n *Node) {
			steps, last := cumulated(n.Propensities)
			b.WriteString("CASE")
			for _, s := range steps {
				fmt.Fprintf(b, " WHEN %s < %s THEN %s", u, number(s.below), of(s.action, n.Propensities[s.action]))
			}
			fmt.Fprintf(b, " ELSE %s END", of(last, n.Propensities[last]))
		}
	}
	t.cases(b, drawn(func(a int, _ float64) string { return quoted(t.Actions[a], '\'') }))
	b.WriteString(" AS \"action\",\n")
	t.cases(b, drawn(func(_ int, pi float64) string { return number(pi) }))
	b.WriteString(" AS \"propensity\"\n")
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
		names := make([]string, len(c.In))
		for i, v := range c.In {
			names[i] = quoted(v, '\'')
		}
		return fmt.Sprintf("%s IN (%s)", column, strings.Join(names, ", "))
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

// step is an action that is drawn below a number, and not below those before.
type step struct {
	action int
	below  float64
}

// cumulated divides [0, 1) among the actions that have a propensity, in their order; the last takes the rest.
func cumulated(pi []float64) (steps []step, last int) {
	var sum float64
	for a, v := range pi {
		if v > 0 {
			sum += v
			steps = append(steps, step{a, sum})
		}
	}
	return steps[:len(steps)-1], steps[len(steps)-1].action
}

// each visits the nodes that ask.
func (n *Node) each(visit func(*Node)) {
	if n.Yes != nil {
		visit(n)
		n.Yes.each(visit)
		n.No.each(visit)
	}
}
