package logs

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Formula is how a reward was made of what the log has.
type Formula struct {
	Reward string                `json:"reward,omitempty"` // see [Options.Reward]
	Ranges map[string][2]float64 `json:"ranges,omitempty"` // as given of the outcomes that it reads, by their names
	Map    map[string]float64    `json:"map,omitempty"`    // see [Forms.RewardMap]
}

// made is the formula as it was given; nil: rewards are what the log has.
func (o *Options) made() *Formula {
	f := o.formula
	if f == nil && len(o.RewardMap) == 0 {
		return nil
	}
	out := &Formula{Map: maps.Clone(o.RewardMap)}
	if f != nil {
		out.Reward, out.Ranges = f.text, map[string][2]float64{}
		for c := range f.ranges { // not what it cuts to: the column may have a limit, too
			name := Outcome{Column: f.outcome(c)}.Name()
			if u, given := o.Ranges[name]; given {
				out.Ranges[name] = [2]float64{u.Low, u.High}
			}
		}
	}
	return out
}

// String is the formula as setting reward has it.
func (f *Formula) String() string { return fmt.Sprintf("reward %q", f.Reward) }

// formula is a reward that is computed from columns, constant + Σ times[c]·c, such as revenue − 0.2·cost_shipping.
type formula struct {
	text     string
	constant float64
	times    map[string]float64 // by column, none of them 0
	cuts     map[string]Units   // by column: what values are cut to
	columns  []string           // sorted
	ranges   map[string]Units   // of the columns
}

// parseFormula reads a sum of columns and numbers, with + − * / and parentheses; products and quotients are by
// numbers. min(column, number) and max(column, number) cut a column's values. A column whose name is no word is
// written in double quotes.
func parseFormula(text string) (*formula, error) {
	fail := func(format string, args ...any) (*formula, error) {
		return nil, fmt.Errorf("setting reward %q: %s", text, fmt.Sprintf(format, args...))
	}
	tree, err := parser.ParseExpr(text)
	if err != nil {
		return fail("want a sum of columns such as revenue - 0.2*cost_shipping: %v", err)
	}
	f, err := linear(tree)
	if err != nil {
		return fail("%v", err)
	}
	maps.DeleteFunc(f.times, func(_ string, v float64) bool { return v == 0 })
	f.text, f.columns = text, slices.Sorted(maps.Keys(f.times))
	if len(f.columns) == 0 {
		return fail("it is the same whatever the columns are")
	}
	for _, c := range f.columns {
		switch roleOf(c, "") {
		case roleIgnored, roleReward, roleCost, roleOutcome:
		default:
			return fail("column %s is known when the action is drawn, or says what was drawn: it is no outcome", c)
		}
	}
	return f, nil
}

// FormulaReads returns the names of the outcomes that a formula of Options.Reward reads; "" reads none.
func FormulaReads(text string) (names []string, err error) {
	columns, err := FormulaColumns(text)
	for _, c := range columns {
		names = append(names, Outcome{Column: c}.Name())
	}
	return names, err
}

// FormulaColumns returns their columns, such as reward_revenue of revenue.
func FormulaColumns(text string) (columns []string, err error) {
	if text == "" {
		return nil, nil
	}
	f, err := parseFormula(text)
	if err != nil {
		return nil, err
	}
	for _, c := range f.columns {
		columns = append(columns, f.outcome(c))
	}
	return columns, nil
}

// linear turns an expression into a formula.
func linear(e ast.Expr) (f *formula, err error) {
	f = &formula{times: map[string]float64{}, cuts: map[string]Units{}}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return linear(e.X)
	case *ast.Ident:
		f.times[e.Name] = 1
	case *ast.BasicLit:
		if name, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			f.times[name] = 1
		} else if f.constant, err = strconv.ParseFloat(e.Value, 64); err != nil {
			return nil, fmt.Errorf("%s is no number", e.Value)
		}
	case *ast.UnaryExpr:
		if f, err = linear(e.X); err == nil && e.Op == token.SUB {
			f.scale(-1)
		} else if err == nil && e.Op != token.ADD {
			err = fmt.Errorf("%s is none of + - * /", e.Op)
		}
	case *ast.BinaryExpr:
		return operation(e)
	case *ast.CallExpr:
		return cut(e)
	default:
		err = errors.New("want columns, numbers, + - * / and parentheses")
	}
	return f, err
}

// cut is min or max of a column, which may be cut already, and a number.
func cut(e *ast.CallExpr) (*formula, error) {
	name, _ := e.Fun.(*ast.Ident)
	if name == nil || name.Name != "min" && name.Name != "max" || len(e.Args) != 2 {
		return nil, errors.New("want columns, numbers, + - * / and parentheses, or min(column, number) and max")
	}
	f, err := linear(e.Args[0])
	if err != nil {
		return nil, err
	}
	g, err := linear(e.Args[1])
	if err != nil {
		return nil, err
	}
	if len(f.times) == 0 {
		f, g = g, f
	}
	if len(f.times) != 1 || f.constant != 0 || len(g.times) > 0 {
		return nil, fmt.Errorf("%s wants a column and a number", name.Name)
	}
	for c, by := range f.times {
		if by != 1 {
			return nil, fmt.Errorf("%s wants a column and a number", name.Name)
		}
		u := f.cutOf(c)
		if name.Name == "min" {
			u = Units{min(u.Low, g.constant), min(u.High, g.constant)}
		} else {
			u = Units{max(u.Low, g.constant), max(u.High, g.constant)}
		}
		f.cuts[c] = u
	}
	return f, nil
}

// cutOf is what values of a column are cut to: all numbers if they are not.
func (f *formula) cutOf(column string) Units {
	if u, is := f.cuts[column]; is {
		return u
	}
	return Units{math.Inf(-1), math.Inf(1)}
}

// operation computes a sum, or a product or quotient by a number.
func operation(e *ast.BinaryExpr) (*formula, error) {
	f, err := linear(e.X)
	if err != nil {
		return nil, err
	}
	g, err := linear(e.Y)
	if err != nil {
		return nil, err
	}
	switch {
	case e.Op == token.MUL && len(f.times) == 0:
		f, g = g, f
	case e.Op == token.SUB:
		g.scale(-1)
	}
	switch {
	case e.Op == token.ADD || e.Op == token.SUB:
		f.constant += g.constant
		for c, v := range g.times {
			if _, both := f.times[c]; both && f.cutOf(c) != g.cutOf(c) {
				return nil, fmt.Errorf("column %s is cut in one place and not so in another", c)
			}
			f.times[c] += v
		}
		maps.Copy(f.cuts, g.cuts)
	case e.Op != token.MUL && e.Op != token.QUO:
		return nil, fmt.Errorf("%s is none of + - * /", e.Op)
	case len(g.times) > 0:
		return nil, errors.New("a column is multiplied or divided by a column: want a number")
	case e.Op == token.MUL:
		f.scale(g.constant)
	case g.constant == 0:
		return nil, errors.New("it divides by 0")
	default:
		f.scale(1 / g.constant)
	}
	if f.constant-f.constant != 0 {
		return nil, errors.New("its numbers are not finite")
	}
	for _, v := range f.times {
		if v-v != 0 {
			return nil, errors.New("its numbers are not finite")
		}
	}
	return f, nil
}

func (f *formula) scale(by float64) {
	f.constant *= by
	for c := range f.times {
		f.times[c] *= by
	}
}

// outcome returns the outcome's column as which a column of the formula is read.
func (f *formula) outcome(column string) string {
	if IsOutcome(column) {
		return column
	}
	return "reward_" + column
}

// reads reports whether the formula has a column. A nil formula has none.
func (f *formula) reads(column string) bool { return f != nil && f.times[column] != 0 }

// formulate sets the range of a reward that is computed, by interval arithmetic over those of its columns.
func (o *Options) formulate() error {
	if o.Reward == "" {
		return nil
	}
	f, err := parseFormula(o.Reward)
	if err != nil {
		return err
	}
	if o.RewardMin != 0 || o.RewardMax != 0 {
		return fmt.Errorf("setting reward %q: leave setting reward-min and setting reward-max out: what the reward "+
			"can be is computed from the ranges of its columns", o.Reward)
	}
	if o.Preset != "" {
		return fmt.Errorf("setting reward %q: preset %s has its own reward", o.Reward, o.Preset)
	}
	f.ranges, o.RewardMin, o.RewardMax = map[string]Units{}, f.constant, f.constant
	for _, c := range f.columns {
		name := Outcome{Column: f.outcome(c)}.Name()
		u, ok := o.Ranges[name]
		cut := f.cutOf(c)
		if !ok && cut.valid() {
			u, ok = cut, true
		}
		switch {
		case !ok:
			return fmt.Errorf("setting reward %q: column %s has no range, and so the reward has none: say what it can "+
				"be by setting range %s=LOW:HIGH", o.Reward, c, name)
		case !u.valid():
			return u.refused(name)
		}
		if u = (Units{max(u.Low, cut.Low), min(u.High, cut.High)}); !u.valid() {
			return fmt.Errorf("setting reward %q: column %s is cut outside of its range", o.Reward, c)
		}
		low, high := f.times[c]*u.Low, f.times[c]*u.High
		o.RewardMin, o.RewardMax, f.ranges[c] = o.RewardMin+min(low, high), o.RewardMax+max(low, high), u
	}
	if o.formula = f; math.IsInf(o.RewardMax-o.RewardMin, 0) || !(o.RewardMin < o.RewardMax) {
		return fmt.Errorf("setting reward %q: it can be from %v to %v, which is no range", o.Reward, o.RewardMin,
			o.RewardMax)
	}
	return nil
}

// compute sets the reward of the row by the formula.
func (b *builder) compute(f *formula) error {
	r := &b.row
	v := f.constant
	for _, c := range f.columns {
		slot := b.outcomeSlot(f.outcome(c))
		if slot >= len(r.outcomes) || r.outcomes[slot] != r.outcomes[slot] {
			return bad(c, "%s, and the reward is computed from it", cmp.Or(b.outcomes[slot].Text, "missing"))
		}
		u, cut := f.ranges[c], f.cutOf(c)
		x := min(max(r.outcomes[slot], cut.Low), cut.High)
		if !(x >= u.Low && x <= u.High) {
			return bad(c, "%v is outside of its range from %v to %v", x, u.Low, u.High)
		}
		v += f.times[c] * x
	}
	b.costColumn, r.hasCost = "reward", false
	return b.reward("reward", min(max(v, b.lo), b.hi), false) // of which rounding may be outside
}

// ErrNoColumn is in the error of a log without a column of [Options.Reward].
var ErrNoColumn = errors.New("no column")

// absentFrom says which column of the formula a table has not.
func (f *formula) absentFrom(t *table, names []string) error {
	for _, c := range f.columns {
		if !slices.ContainsFunc(t.columns, func(of *column) bool {
			return of.role == roleOutcome && of.as == f.outcome(c)
		}) {
			return fmt.Errorf("%s: setting reward %q: %w %s; there are %s", t.path, f.text, ErrNoColumn, c,
				fewNames(names))
		}
	}
	return nil
}
