package portable

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"opl/policies/numeric"
)

// Formats returns the names of the formats that [Tree.Write] writes.
func Formats() []string { return []string{"text", "sql", "json", "python", "go", "dot"} }

// Write writes the tree in a format of [Formats]. draw is the column of uniform draws in [0, 1) that SQL reads.
func (t *Tree) Write(w io.Writer, format, draw string) error {
	var b strings.Builder
	var err error
	if t.Numbers != nil {
		t = t.joined()
	}
	switch format {
	case "text":
		t.text(&b)
	case "sql":
		err = t.sql(&b, draw)
	case "json":
		err = t.json(&b)
	case "python":
		t.python(&b)
	case "go":
		err = t.golang(&b)
	case "dot":
		t.dot(&b)
	default:
		err = fmt.Errorf("%q: want one of %s", format, strings.Join(Formats(), ", "))
	}
	if err == nil {
		_, err = io.WriteString(w, b.String())
	}
	return err
}

// number is the shortest decimal that is read back as v.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// name is a name for people: quoted where it could be taken for something else.
func name(s string) string {
	if q := strconv.Quote(s); strings.ContainsAny(s, " ,:\"'()") || len(q) != len(s)+2 || s == "" {
		return q
	}
	return s
}

// String says the condition in words.
func (c Condition) String() string { return c.words(true) }

// words says the condition, or that it does not hold.
func (c Condition) words(holds bool) string {
	is, sign := " is ", "<="
	if !holds {
		is, sign = " is not ", ">"
	}
	switch {
	case c.In != nil:
		return name(c.Column) + is + strings.Join(texts(c.In, name), " or ")
	case c.Missing:
		return name(c.Column) + is + "missing"
	case c.OrMissing == holds:
		return fmt.Sprintf("%s %s %s or missing", name(c.Column), sign, number(c.AtMost))
	}
	return fmt.Sprintf("%s %s %s", name(c.Column), sign, number(c.AtMost))
}

// plays says what a leaf plays: the action, or, where not only the floor makes others possible, what they are drawn
// with.
func (t *Tree) plays(n *Node) string {
	likely := t.likely(n)
	var all []string
	for a, v := range n.Propensities {
		if v > t.floors[a]+1e-12 {
			all = append(all, fmt.Sprintf("%s %.3g", name(t.Actions[a]), v))
		}
	}
	if len(all) < 2 {
		return name(likely)
	}
	return strings.Join(all, ", ")
}

func (t *Tree) text(b *strings.Builder) {
	if of := t.Numbers; t.Floor > 0 && of != nil {
		low, high := of.Range()
		fmt.Fprintf(b, "with probability %s any number from %s to %s; else\n\n", number(t.Floor), number(low),
			number(high))
	} else if t.Floor > 0 {
		fmt.Fprintf(b, "with probability %s any of the %d actions, all alike; else\n\n", number(t.Floor),
			len(t.Actions))
	}
	var write func(n *Node, indent string)
	write = func(n *Node, indent string) {
		for word := "if"; n.Yes != nil; word, n = "else if", n.No {
			fmt.Fprintf(b, "%s%s %s:", indent, word, n.Condition)
			if n.Yes.Yes == nil {
				fmt.Fprintf(b, " %s\n", t.plays(n.Yes))
			} else {
				b.WriteString("\n")
				write(n.Yes, indent+"    ")
			}
		}
		if n != t.Root {
			fmt.Fprintf(b, "%selse: ", indent)
		}
		fmt.Fprintf(b, "%s\n", t.plays(n))
	}
	write(t.Root, "")
	if t.Root.Yes != nil {
		b.WriteString("\nA missing value or an unlisted name goes to \"else\", unless the line says \"missing\".\n")
	}
}

// jsonNode is a node in JSON: "if", "then" and "else", or an action with the propensities of all.
type jsonNode struct {
	If           *jsonCondition `json:"if,omitempty"`
	Then         *jsonNode      `json:"then,omitempty"`
	Else         *jsonNode      `json:"else,omitempty"`
	Action       string         `json:"action,omitempty"`
	Propensities []float64      `json:"propensities,omitempty"`
}

type jsonCondition struct {
	Column    string   `json:"column"`
	AtMost    *float64 `json:"at_most,omitempty"`
	OrMissing bool     `json:"or_missing,omitempty"`
	In        []string `json:"in,omitempty"`
	Missing   bool     `json:"missing,omitempty"`
}

func (t *Tree) json(b *strings.Builder) error {
	var of func(n *Node) *jsonNode
	of = func(n *Node) *jsonNode {
		if n.Yes == nil {
			return &jsonNode{Action: t.likely(n), Propensities: n.Propensities}
		}
		c := &jsonCondition{Column: n.Condition.Column, OrMissing: n.Condition.OrMissing, In: n.Condition.texts(),
			Missing: n.Condition.Missing}
		if c.In == nil && !c.Missing {
			c.AtMost = &n.Condition.AtMost
		}
		return &jsonNode{If: c, Then: of(n.Yes), Else: of(n.No)}
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Policy  string           `json:"policy"`
		Actions []string         `json:"actions"`
		Numbers *numeric.Actions `json:"numbers,omitempty"`
		Floor   float64          `json:"floor"`
		Tree    *jsonNode        `json:"tree"`
	}{t.Hash, t.Actions, t.Numbers, t.Floor, of(t.Root)})
}

// dot is the tree for Graphviz.
func (t *Tree) dot(b *strings.Builder) {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ", "\r", " ").Replace
	b.WriteString("digraph policy {\n  node [shape=box, fontname=\"sans-serif\"];\n")
	next := 0
	var write func(n *Node) int
	write = func(n *Node) int {
		at := next
		next++
		if n.Yes == nil {
			fmt.Fprintf(b, "  n%d [label=\"%s\", style=rounded];\n", at, quote(t.plays(n)))
			return at
		}
		fmt.Fprintf(b, "  n%d [label=\"%s\"];\n", at, quote(n.Condition.String()))
		yes, no := write(n.Yes), write(n.No)
		fmt.Fprintf(b, "  n%d -> n%d [label=\"yes\"];\n  n%[1]d -> n%[3]d [label=\"no\"];\n", at, yes, no)
		return at
	}
	write(t.Root)
	b.WriteString("}\n")
}
