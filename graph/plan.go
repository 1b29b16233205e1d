package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// plan is what a program does, step by step: instructions over numbered
// values. Rowwise operations over as many rows are put into one step, which
// takes them through a few rows at a time, so that what passes between them
// stays in the processor's cache.
type plan struct {
	values []value
	steps  []step
}

// value is a leaf of the graph or the result of an instruction.
type value struct {
	shape   tensor.Shape
	size    int
	leaf    gorgonia.Value // of an input, a parameter or a constant of Gorgonia's
	pinned  bool           // read after the run
	foreign bool           // made or read by an operation that is not this package's
}

// sparse reports whether all that reads an input are products that can do without its zeros, and whether
// these are narrow.
func (p *plan) sparse(input gorgonia.Value, c *compressed) (all, narrow bool) {
	narrow = true
	for _, s := range p.steps {
		for _, in := range s.code {
			for k, i := range in.in {
				if p.values[i].leaf != input {
					continue
				}
				if in.own == nil || in.own.run.sparse != c || in.own.run.sparseAt != k {
					return false, false
				}
				narrow = narrow && in.own.run.narrow
			}
		}
	}
	return true, narrow
}

// width is the number of elements in a row.
func (v *value) width() int {
	if len(v.shape) < 2 {
		return 1
	}
	return v.shape[1]
}

// rows is the number of rows, 0 of a scalar.
func (v *value) rows() int {
	if len(v.shape) == 0 {
		return 0
	}
	return v.shape[0]
}

// instr applies an operation to values.
type instr struct {
	op  gorgonia.Op
	own *op // op, if it is this package's
	in  []int
	out int
}

// step is one instruction, or several that are taken through their rows
// together.
type step struct {
	code []instr
	rows int // 0: one instruction, in whole
}

// spread says how an operation can be taken through a few rows at a time.
type spread int

const (
	inWhole   spread = iota // it cannot
	byRows                  // row i of the result depends on row i of each input alone
	broadcast               // row i of the result depends on the whole input
	repeating               // as broadcast, and on i
	grouping                // row i of the input is added to one row of the result
	summing                 // row i of the input is added to the result, a scalar
)

// over returns the rows that in is taken through, 0 if it is not.
func (p *plan) over(in instr) int {
	if in.own == nil {
		return 0
	}
	switch in.own.run.spread {
	case byRows, broadcast, repeating:
		return p.values[in.out].rows()
	case grouping:
		return p.values[in.in[0]].rows()
	case summing:
		if v := &p.values[in.in[0]]; len(v.shape) == 2 {
			return v.rows()
		}
	}
	return 0
}

// lower numbers the values that the roots need and orders the instructions for
// them. It returns the plan and the number of each root. Instructions that are
// the same operation on the same values become one.
func lower(g *gorgonia.ExprGraph, roots gorgonia.Nodes) (*plan, []int) {
	p := &plan{}
	ids := map[*gorgonia.Node]int{}
	known := map[string]int{}
	var code []instr
	for _, root := range roots {
		order, children := topological(g, root)
		for _, n := range order {
			if _, done := ids[n]; done {
				continue
			}
			v := value{shape: n.Shape(), size: n.Shape().TotalSize()}
			if n.Op() == nil || len(children[n]) == 0 {
				v.leaf = n.Value()
				ids[n] = p.add(v)
				continue
			}
			in := instr{op: n.Op()}
			in.own, _ = in.op.(*op)
			for _, c := range children[n] {
				in.in = append(in.in, ids[c])
			}
			if in.own == nil {
				v.foreign = true
				for _, i := range in.in {
					p.values[i].foreign = true
				}
			} else if name := in.own.run.name; name != "" {
				key := fmt.Sprint(name, v.shape, in.in)
				if same, ok := known[key]; ok {
					ids[n] = same
					continue
				}
				known[key] = len(p.values)
			}
			in.out = p.add(v)
			ids[n] = in.out
			code = append(code, in)
		}
	}
	of := make([]int, len(roots))
	for i, n := range roots {
		of[i] = ids[n]
		p.values[of[i]].pinned = true
	}
	code = p.withoutCopies(code, of)
	p.group(code)
	p.recompute()
	return p, of
}

func (p *plan) add(v value) int {
	p.values = append(p.values, v)
	return len(p.values) - 1
}

// withoutCopies drops copies of results that nothing else reads.
func (p *plan) withoutCopies(code []instr, roots []int) []instr {
	readers := make([]int, len(p.values))
	made := make([]bool, len(p.values))
	for _, in := range code {
		for _, i := range in.in {
			readers[i]++
		}
		made[in.out] = in.own != nil
	}
	return slices.DeleteFunc(code, func(in instr) bool {
		if in.own == nil || !in.own.run.copies {
			return false
		}
		from := in.in[0]
		if !made[from] || readers[from] > 1 || p.values[from].pinned || p.values[from].foreign ||
			p.values[in.out].foreign {
			return false
		}
		for i, r := range roots {
			if r == in.out {
				roots[i] = from
			}
		}
		p.values[from].pinned = true
		return readers[in.out] == 0
	})
}

// group orders the code in steps: as many rowwise instructions as possible in
// each.
func (p *plan) group(code []instr) {
	done := make([]bool, len(p.values)) // before the present step
	for i := range p.values {
		done[i] = true
	}
	for _, in := range code {
		done[in.out] = false
	}
	for len(code) > 0 {
		// What cannot be grouped goes first, so that more is ready after it.
		code = slices.DeleteFunc(code, func(in instr) bool {
			for _, i := range in.in {
				if !done[i] {
					return false
				}
			}
			if p.over(in) > 0 {
				return false
			}
			p.steps = append(p.steps, step{code: []instr{in}})
			done[in.out] = true
			return true
		})
		s := step{}
		here := map[int]bool{} // values whose rows the step makes
		code = slices.DeleteFunc(code, func(in instr) bool {
			rows := p.over(in)
			if rows == 0 || s.rows != 0 && rows != s.rows {
				return false
			}
			for _, i := range in.in {
				if !done[i] && !(here[i] && in.readsRows()) {
					return false
				}
			}
			s.rows = rows
			s.code = append(s.code, in)
			here[in.out] = in.makesRows()
			return true
		})
		if s.rows > 0 {
			for _, in := range s.code {
				done[in.out] = true
			}
			p.steps = append(p.steps, s)
		}
	}
}

// readsRows reports whether in reads its inputs row by row.
func (in instr) readsRows() bool {
	return in.own.run.spread != broadcast && in.own.run.spread != repeating
}

// makesRows reports whether in makes its result row by row.
func (in instr) makesRows() bool {
	s := in.own.run.spread
	return s == byRows || s == broadcast || s == repeating
}

// largeValue is the number of elements from which it takes longer to store a
// value for a later step than to compute it again, where that is cheap.
const largeValue = 1 << 15

// recompute repeats cheap instructions in the steps that need their large
// results, instead of keeping these in memory in between, and drops what is
// needed nowhere then.
func (p *plan) recompute() {
	maker := map[int]instr{}
	for k := range p.steps {
		s := &p.steps[k]
		if s.rows == 0 {
			continue
		}
		here := map[int]bool{}
		for _, in := range s.code {
			here[in.out] = true
		}
		var code []instr
		var need func(i int)
		need = func(i int) {
			in, ok := maker[i]
			if here[i] || !ok || p.values[i].size < largeValue {
				return
			}
			here[i] = true
			if in.readsRows() {
				for _, j := range in.in {
					need(j)
				}
			}
			code = append(code, in)
		}
		for _, in := range s.code {
			if in.readsRows() {
				for _, i := range in.in {
					need(i)
				}
			}
			code = append(code, in)
		}
		for _, in := range s.code {
			if in.own.run.cheap && in.makesRows() && p.over(in) == s.rows {
				maker[in.out] = in
			}
		}
		s.code = code
	}
	// From the last step backwards: what has no reader left.
	read := map[int]bool{}
	for k := len(p.steps) - 1; k >= 0; k-- {
		s := &p.steps[k]
		var keep []instr
		for i := len(s.code) - 1; i >= 0; i-- {
			in := s.code[i]
			if read[in.out] || p.values[in.out].pinned || in.own == nil {
				keep = append(keep, in)
				for _, j := range in.in {
					read[j] = true
				}
			}
		}
		slices.Reverse(keep)
		s.code = keep
		for _, in := range s.code { // what this step makes, no earlier one need
			delete(read, in.out)
		}
	}
	p.steps = slices.DeleteFunc(p.steps, func(s step) bool { return len(s.code) == 0 })
}
