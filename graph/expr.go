package graph

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Expr is a node of a graph, or the first error met in building it. The zero
// Expr is an error. Methods on a failed Expr return it unchanged, so a formula
// is written without checks and the error is looked at once, at the end.
type Expr struct {
	g   *Graph
	n   *gorgonia.Node
	err error
}

// Node returns the Gorgonia node, or the first error with the file and line of
// the code that caused it.
func (x Expr) Node() (*gorgonia.Node, error) {
	if x.err == nil && x.n == nil {
		return nil, errors.New("graph: empty expression")
	}
	return x.n, x.err
}

// Err returns the first error met in building x, nil if there is none.
func (x Expr) Err() error {
	_, err := x.Node()
	return err
}

// Graph returns the graph that x belongs to, nil for a failed expression.
func (x Expr) Graph() *Graph { return x.g }

// Shape returns the dimensions of x: none for a scalar, {n} for a vector,
// {r, c} for a matrix. It is nil for a failed expression.
func (x Expr) Shape() []int {
	if x.n == nil {
		return nil
	}
	return append([]int{}, x.n.Shape()...)
}

// Fail returns an Expr that holds an error, marked with the file and line of
// the caller. It is for formulas that find their operands unfit.
func Fail(format string, args ...any) Expr {
	return Expr{err: located(fmt.Errorf(format, args...))}
}

// language is the code that formulas are written with: folders, as stack traces have
// them, and the beginnings of functions' names.
var language struct{ folders, functions []string }

var _ = Language()

// Language says, in a variable of a package that builds on this one,
//
//	var _ = graph.Language()
//
// that its functions are part of the language that formulas are written with: an error
// is located at the code that called them, not in them. With names of types only the
// methods of these types are. It is for the initialization of a package alone.
func Language(types ...string) struct{} {
	pc, file, _, _ := runtime.Caller(1)
	if len(types) == 0 {
		language.folders = append(language.folders, path.Dir(file))
	}
	name := runtime.FuncForPC(pc).Name()
	pkg := name[:strings.LastIndexByte(name, '/')+1]
	pkg += strings.SplitN(name[len(pkg):], ".", 2)[0]
	for _, t := range types {
		language.functions = append(language.functions, pkg+"."+t+".")
	}
	return struct{}{}
}

// building reports whether a frame is of the language, or of Gorgonia panicking. It
// goes by folder where it can: a function literal that was inlined has the name of its
// caller.
func building(f runtime.Frame) bool {
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	is := func(prefix string) bool { return strings.HasPrefix(f.Function, prefix) }
	return is("gorgonia.org/") || is("runtime.") || slices.ContainsFunc(language.functions, is) ||
		slices.Contains(language.folders, path.Dir(f.File))
}

// located prefixes err with the file and line of the code that is building a
// formula.
func located(err error) error {
	var pc [32]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc[:])])
	for {
		f, more := frames.Next()
		if more && building(f) {
			continue
		}
		file := path.Join(path.Base(path.Dir(f.File)), path.Base(f.File))
		return fmt.Errorf("%s:%d: %w", file, f.Line, err)
	}
}

// first returns the first failure among the operands, or an error if they come
// from different graphs.
func first(xs ...Expr) (Expr, bool) {
	for _, x := range xs {
		if x.err != nil {
			return x, true
		}
		if x.n == nil {
			return Fail("graph: operand is an empty expression"), true
		}
		if x.g != xs[0].g {
			return Fail("graph: operands %s and %s are of different graphs", xs[0], x), true
		}
	}
	return Expr{}, false
}

// String names x and its shape for error messages.
func (x Expr) String() string {
	if x.n == nil {
		return "(failed)"
	}
	name := x.n.Name()
	if o, ok := x.n.Op().(*op); ok {
		name = o.name
	}
	return fmt.Sprintf("%s%s", name, shapeString(x.n.Shape()))
}

func shapeString(s tensor.Shape) string {
	if len(s) == 0 {
		return "()"
	}
	return strings.ReplaceAll(fmt.Sprint([]int(s)), " ", "×")
}

// rank returns a failure unless x has one of the ranks.
func (x Expr) rank(what string, ranks ...int) (Expr, bool) {
	if bad, ok := first(x); ok {
		return bad, true
	}
	for _, r := range ranks {
		if len(x.n.Shape()) == r {
			return Expr{}, false
		}
	}
	want := make([]string, len(ranks))
	for i, r := range ranks {
		want[i] = [...]string{"a scalar", "a vector", "a matrix"}[r]
	}
	return Fail("graph: %s wants %s, not %s", what, strings.Join(want, " or "), x), true
}
