package graph

import (
	"fmt"
	"runtime"
	"strings"

	"gorgonia.org/gorgonia"
)

// Apply calls any function of Gorgonia that this package does not wrap:
//
//	y := graph.Apply(gorgonia.Tanh1, x)
//
// A panic inside Gorgonia becomes an error; one in f itself is f's own. What f
// builds is not shielded from Gorgonia's defects (see the package comment), so
// check its gradient.
func Apply(f func(...*gorgonia.Node) (*gorgonia.Node, error), in ...Expr) Expr {
	if len(in) == 0 {
		return Fail("graph: Apply without operands")
	}
	if bad, ok := first(in...); ok {
		return bad
	}
	nodes := make([]*gorgonia.Node, len(in))
	for i, x := range in {
		nodes[i] = x.n
	}
	n, err := func() (n *gorgonia.Node, err error) {
		defer func() { err = shield(recover(), err) }()
		return f(nodes...)
	}()
	if err == nil && n == nil {
		err = fmt.Errorf("the function returned no node")
	}
	if err != nil {
		return Fail("graph: %w", err)
	}
	return Expr{g: in[0].g, n: n}
}

// ApplyOp applies a Gorgonia operation of one's own. To be differentiated it
// must be a gorgonia.SDOp.
func ApplyOp(o gorgonia.Op, in ...Expr) Expr {
	return Apply(func(ns ...*gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.ApplyOp(o, ns...) }, in...)
}

// shield turns what was recovered in a deferred function into an error if it comes of
// a panic inside Gorgonia; other panics go on. Where there was none err stays.
func shield(recovered any, err error) error {
	if recovered == nil {
		return err
	}
	if !panickedIn("gorgonia.org/") {
		panic(recovered)
	}
	return fmt.Errorf("panic in Gorgonia: %v", recovered)
}

// panickedIn reports, below a deferred function, whether the function that
// panicked belongs to a package whose path begins with prefix.
func panickedIn(prefix string) bool {
	var pc [64]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc[:])])
	panicking := false
	for {
		f, more := frames.Next()
		if f.Function == "runtime.gopanic" {
			panicking = true
		} else if panicking && !strings.HasPrefix(f.Function, "runtime.") {
			return strings.HasPrefix(f.Function, prefix)
		}
		if !more {
			return false
		}
	}
}
