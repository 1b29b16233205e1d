package portable

import (
	"fmt"
	"go/format"
	"slices"
	"strconv"
	"strings"

	"opl/policies/features"
)

// texts writes items of a language.
func texts[T any](items []T, write func(T) string) []string {
	all := make([]string, len(items))
	for i, v := range items {
		all[i] = write(v)
	}
	return all
}

// list writes items between brackets of a language.
func list[T any](open, shut string, items []T, write func(T) string) string {
	return open + strings.Join(texts(items, write), ", ") + shut
}

// numbers are those of the names that are numbers: 2.0 in a context is the category 2.
func (c Condition) numbers() (all []float64) {
	for _, name := range c.In {
		if v, ok := features.Numeral(name); ok && !slices.Contains(c.apart, name) {
			all = append(all, v)
		}
	}
	return all
}

// texts are the names of c.In, and how clients write its truth values otherwise.
func (c Condition) texts() []string {
	is := func(of bool) func(string) bool {
		return func(name string) bool { v, ok := features.Truth(name); return ok && v == of }
	}
	all := slices.Clone(c.In)
	for _, other := range c.also {
		if v, _ := features.Truth(other); slices.ContainsFunc(c.In, is(v)) {
			all = append(all, other)
		}
	}
	return all
}

// ascii is a text as a literal that Go and Python read alike.
func ascii(s string) string { return strconv.QuoteToASCII(strings.ToValidUTF8(s, "\ufffd")) }

const goChoose = `// Choose returns the action and its propensity, for u, a uniform draw in [0, 1). Context has columns as they are
// logged: numbers, texts and truth values. What it lacks, nil, NaN and "" are missing values.
func Choose(context map[string]any, u float64) (action string, propensity float64) {
	pi := Propensities(context)
	total, last := 0.0, 0
	for a, p := range pi {
		if p > 0 {
			if total, last = total+p, a; u < total {
				break
			}
		}
	}
	return Actions[last], pi[last]
}`

const goNumbers = `// Numbers has for each action the least, the width and the largest.
var Numbers = [][3]float64%s

// Choose returns the number, its density and its propensity, for u, a uniform draw in [0, 1). A number with a
// probability of its own has a propensity, the others have a density; what it has not is 0. Context has columns as they
// are logged: numbers, texts and truth values. What it lacks, nil, NaN and "" are missing values.
func Choose(context map[string]any, u float64) (number, density, propensity float64) {
	pi := Propensities(context)
	total, before, last := 0.0, 0.0, 0
	for a, p := range pi {
		if p > 0 {
			if total, before, last = total+p, total, a; u < total {
				break
			}
		}
	}
	n := Numbers[last]
	if n[1] == 0 {
		return n[0], 0, pi[last]
	}
	return min(n[0]+(u-before)/pi[last]*n[1], n[2]), pi[last] / n[1], 0
}`

const pythonHead = `"""opl policy %s, as functions without dependencies (Python 3.6 and later).

A context is a dict of columns as they are logged. A column that it lacks, None, NaN and "" are missing values.
"""

ACTIONS = %s
%s



def _missing(v):
    return v is None or v != v or v == ""


def _at_most(v, cut, or_missing):
    return or_missing if _missing(v) else v <= cut


def _name(v):
    if type(v).__name__ in ("bool", "bool_"):  # numpy's, too
        return "true" if v else "false"
    return None if _missing(v) else v


def propensities(context):
    """The propensities of ACTIONS, in their order."""
    x = context.get
`

func (t *Tree) python(b *strings.Builder) {
	choose := pythonChoose
	if t.Numbers != nil {
		choose = fmt.Sprintf(pythonNumbers, list("[", "]", t.spans("(", ")"), func(s string) string { return s }))
	}
	fmt.Fprintf(b, pythonHead, t.Hash, list("[", "]", t.Actions, ascii), choose)
	truth := map[bool]string{true: "True", false: "False"}
	var write func(n *Node, indent string)
	write = func(n *Node, indent string) {
		if n.Yes == nil {
			fmt.Fprintf(b, "%sreturn %s\n", indent, list("[", "]", n.Propensities, number))
			return
		}
		c, column := n.Condition, ascii(n.Condition.Column)
		switch {
		case c.In != nil:
			names := slices.Concat(texts(c.texts(), ascii), texts(c.numbers(), number))
			fmt.Fprintf(b, "%sif _name(x(%s)) in (%s,):\n", indent, column, strings.Join(names, ", "))
		case c.Missing:
			fmt.Fprintf(b, "%sif _missing(x(%s)):\n", indent, column)
		default:
			fmt.Fprintf(b, "%sif _at_most(x(%s), %s, %s):\n", indent, column, number(c.AtMost), truth[c.OrMissing])
		}
		write(n.Yes, indent+"    ")
		write(n.No, indent)
	}
	write(t.Root, "    ")
}

const pythonChoose = `

def choose(context, u):
    """The action and its propensity, for u, a uniform draw in [0, 1)."""
    pi = propensities(context)
    total, last = 0.0, 0
    for a, p in enumerate(pi):
        if p > 0:
            total, last = total + p, a
            if u < total:
                break
    return ACTIONS[last], pi[last]`

const pythonNumbers = `NUMBERS = %s  # of each action the least, the width and the largest


def choose(context, u):
    """The number, its density and its propensity, for u, a uniform draw in [0, 1).

    A number with a probability of its own has a propensity, the others have a density; what it has not is None.
    """
    pi = propensities(context)
    total, before, last = 0.0, 0.0, 0
    for a, p in enumerate(pi):
        if p > 0:
            total, before, last = total + p, total, a
            if u < total:
                break
    low, width, largest = NUMBERS[last]
    if width == 0:
        return low, None, pi[last]
    return min(low + (u - before) / pi[last] * width, largest), pi[last] / width, None`

const goHead = `// Code generated by opl export-policy; DO NOT EDIT.

// Package policy is opl policy %s.
package policy

import (
	"fmt"
	"reflect"
	"slices"
)

// Actions are the names of the actions.
var Actions = []string%s

%s
// numeral returns the number that v is.
func numeral(v any) (f float64, ok bool) {
	switch r := reflect.ValueOf(v); {
	case r.CanFloat():
		return r.Float(), true
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	}
	return 0, false
}

func missing(v any) bool {
	f, ok := numeral(v)
	return v == nil || v == "" || ok && f != f
}

func atMost(v any, cut float64, orMissing bool) bool {
	if missing(v) {
		return orMissing
	}
	f, ok := numeral(v)
	if b, is := v.(bool); is {
		if ok = true; b {
			f = 1
		}
	}
	if !ok {
		panic(fmt.Sprint(v, " of a column where the policy reads numbers"))
	}
	return f <= cut
}

func in(v any, numbers []float64, texts ...string) bool {
	n, ok := numeral(v)
	return !missing(v) && (ok && slices.Contains(numbers, n) || slices.Contains(texts, fmt.Sprint(v)))
}

// Propensities are those of Actions, in their order.
func Propensities(x map[string]any) []float64 {
`

func (t *Tree) golang(b *strings.Builder) error {
	var s strings.Builder
	choose := goChoose
	if t.Numbers != nil {
		choose = fmt.Sprintf(goNumbers, list("{", "}", t.spans("{", "}"), func(s string) string { return s }))
	}
	fmt.Fprintf(&s, goHead, t.Hash, list("{", "}", t.Actions, ascii), choose)
	var write func(n *Node)
	write = func(n *Node) {
		if n.Yes == nil {
			fmt.Fprintf(&s, "return []float64%s\n", list("{", "}", n.Propensities, number))
			return
		}
		c, column := n.Condition, ascii(n.Condition.Column)
		switch {
		case c.In != nil:
			numbers := "nil"
			if of := c.numbers(); of != nil {
				numbers = list("[]float64{", "}", of, number)
			}
			fmt.Fprintf(&s, "if in(x[%s], %s, %s) {\n", column, numbers, list("", "", c.texts(), ascii))
		case c.Missing:
			fmt.Fprintf(&s, "if missing(x[%s]) {\n", column)
		default:
			fmt.Fprintf(&s, "if atMost(x[%s], %s, %v) {\n", column, number(c.AtMost), c.OrMissing)
		}
		write(n.Yes)
		s.WriteString("}\n")
		write(n.No)
	}
	write(t.Root)
	s.WriteString("}\n")
	out, err := format.Source([]byte(s.String()))
	b.Write(out)
	return err
}
