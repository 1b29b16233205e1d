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

// building reports whether a frame is of the language that formulas are written with, or of Gorgonia
// panicking: of this package and of policies, and of the methods of an objective's Problem and GraphWeight.
// An error is located at the code that called these, not in them. here is a frame of this package. Packages
// are told by their folders, since a function literal that was inlined has the name of its caller.
func building(f, here runtime.Frame) bool {
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	folder, module := path.Dir(here.File), here.Function[:strings.LastIndex(here.Function, "/graph.")+1]
	if of := path.Dir(f.File); of == folder || of == path.Join(path.Dir(folder), "policies") {
		return true
	}
	return slices.ContainsFunc([]string{"gorgonia.org/", "runtime.", module + "objectives.Problem.", module +
		"objectives.GraphWeight."},
		func(prefix string) bool { return strings.HasPrefix(f.Function, prefix) })
}

// located prefixes err with the file and line of the code that is building a
// formula.
func located(err error) error {
	var pc [32]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc[:])])
	here, _ := frames.Next()
	for {
		f, more := frames.Next()
		if more && building(f, here) {
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
