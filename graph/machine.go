package graph

import (
	"fmt"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"opl/graph/kernel/simd"
	"opl/graph/kernel/workers"
)

// machine runs a plan. All its memory is its own and lasts as long as it does.
type machine interface {
	run(threads int) error
	value(i int) gorgonia.Value // of a pinned value
}

// cacheBytes is what the values of a few rows, between the instructions of one
// step, should take: less than the processor's first cache.
const cacheBytes = 48 << 10

// A step is split between threads if it has this many elements in all.
const splitElements = 1 << 16

// threaded is a machine for elements of type T.
type threaded[T float] struct {
	steps []machineStep[T]
	data  [][]T            // of each value that is kept, by number
	boxes []gorgonia.Value // the same as Gorgonia has them, where it is asked for
}

// pieces is about how many shares a step is split into, so that a thread that
// comes late or is slowed takes fewer.
const pieces = 32

type machineStep[T float] struct {
	code   []machineInstr[T]
	rows   int
	tile   int // rows at a time
	align  int // pieces begin at multiples of this row
	work   int // elements, and multiplications of those that take many
	sums   [][]float64
	spaces []workspace[T] // one for each thread
	piece  int            // rows that a thread takes at a time
	take   func(worker, part int)
}

type machineInstr[T float] struct {
	own     *op
	foreign gorgonia.Op
	run     func(dst []T, src [][]T, first int)
	in      []place
	out     place
	sum     int // of summing: its place in sums
	src     [][]T
	boxes   []gorgonia.Value
}

// place is where an instruction finds a value.
type place struct {
	value int
	slot  int  // in the workspace's memory, −1: in data
	width int  // of a row
	whole bool // not only the rows at hand
}

// workspace is what one thread of a step works with.
type workspace[T float] struct {
	slots [][]T
	src   [][]T
	err   error
}

func newMachine[T float](dt tensor.Dtype, p *plan, from *Inputs) (*threaded[T], error) {
	room := roomsOf[T](from)
	m := &threaded[T]{data: make([][]T, len(p.values)), boxes: make([]gorgonia.Value, len(p.values))}
	first, last := make([]int, len(p.values)), make([]int, len(p.values))
	kept := make([]bool, len(p.values))
	for i, v := range p.values {
		first[i], last[i] = -1, -1
		kept[i] = v.pinned || v.foreign
	}
	for k, s := range p.steps {
		made := map[int]bool{}
		for _, in := range s.code {
			made[in.out] = true
			if first[in.out] < 0 {
				first[in.out] = k
			}
			last[in.out] = k
			kept[in.out] = kept[in.out] || s.rows == 0 || !in.makesRows()
		}
		for _, in := range s.code {
			for _, i := range in.in {
				last[i] = k
				kept[i] = kept[i] || !made[i]
			}
		}
	}
	// Memory of values whose last reader has run serves again.
	free := map[int][][]T{}
	for i, v := range p.values {
		if v.leaf == nil {
			continue
		}
		if v.leaf.Dtype() != dt {
			return nil, fmt.Errorf("graph: a value is %v in a graph of %v", v.leaf.Dtype(), dt)
		}
		m.boxes[i] = v.leaf
		m.data[i] = elems[T](v.leaf)
	}
	for k, s := range p.steps {
		for _, in := range s.code {
			v := &p.values[in.out]
			if first[in.out] != k || !kept[in.out] || in.own == nil || m.data[in.out] != nil {
				continue
			}
			if v.pinned || v.foreign {
				m.boxes[in.out] = newValue(dt, v.shape)
				m.data[in.out] = elems[T](m.boxes[in.out])
				continue
			}
			if f := free[v.size]; len(f) > 0 {
				m.data[in.out], free[v.size] = f[len(f)-1], f[:len(f)-1]
			} else {
				m.data[in.out] = room(v.size)
			}
		}
		for i, v := range p.values {
			if last[i] == k && kept[i] && v.leaf == nil && !v.pinned && !v.foreign {
				free[v.size] = append(free[v.size], m.data[i])
			}
		}
		m.steps = append(m.steps, m.prepare(p, s, kept, room))
	}
	for k := range m.steps {
		s := &m.steps[k]
		s.take = func(worker, part int) { m.through(s, &s.spaces[worker], part*s.piece, min(s.rows, (part+1)*s.piece)) }
	}
	return m, nil
}

// prepare lays out a step: which values are in slots, how many rows at a time.
func (m *threaded[T]) prepare(p *plan, s step, kept []bool, room func(n int) []T) machineStep[T] {
	ms := machineStep[T]{rows: s.rows, align: 1}
	lastUse := map[int]int{}
	for k, in := range s.code {
		lastUse[in.out] = k
		for _, i := range in.in {
			lastUse[i] = k
		}
	}
	slotOf := map[int]int{}
	var widths []int
	free := map[int][]int{}
	largest := 0
	for k, in := range s.code {
		mi := machineInstr[T]{own: in.own}
		if in.own == nil {
			mi.foreign = in.op
			mi.boxes = make([]gorgonia.Value, len(in.in))
		} else {
			mi.run = runOf[T](in.own.run)
		}
		for _, i := range in.in {
			pl := place{value: i, slot: -1, width: p.values[i].width(), whole: s.rows == 0 || !in.readsRows()}
			if slot, ok := slotOf[i]; ok {
				pl.slot = slot
			}
			ms.work += p.values[i].size
			largest = max(largest, pl.width)
			mi.in = append(mi.in, pl)
		}
		v := &p.values[in.out]
		mi.out = place{value: in.out, slot: -1, width: v.width(), whole: s.rows == 0 || !in.makesRows()}
		largest = max(largest, mi.out.width)
		ms.work += v.size
		if in.own != nil {
			ms.work += v.size * in.own.run.per
		}
		if !kept[in.out] {
			if f := free[v.width()]; len(f) > 0 {
				mi.out.slot, free[v.width()] = f[len(f)-1], f[:len(f)-1]
			} else {
				mi.out.slot = len(widths)
				widths = append(widths, v.width())
			}
			slotOf[in.out] = mi.out.slot
		}
		for _, i := range append(in.in, in.out) {
			if slot, ok := slotOf[i]; ok && lastUse[i] == k {
				free[p.values[i].width()] = append(free[p.values[i].width()], slot)
				delete(slotOf, i)
			}
		}
		if s.rows > 0 {
			switch in.own.run.spread {
			case summing:
				mi.sum = len(ms.sums)
				ms.sums = append(ms.sums, make([]float64, s.rows))
			case grouping:
				ms.align = lcm(ms.align, s.rows/v.rows())
			}
		}
		mi.src = make([][]T, len(in.in))
		ms.code = append(ms.code, mi)
	}
	if s.rows == 0 {
		return ms
	}
	total := largest
	for _, w := range widths {
		total += w
	}
	var z T
	ms.tile = min(s.rows, max(1, cacheBytes/(total*int(unsafe.Sizeof(z)))))
	// A few dozen pieces, of whole groups.
	ms.piece = (max(ms.tile, s.rows/pieces) + ms.align - 1) / ms.align * ms.align
	ms.spaces = []workspace[T]{newWorkspace(widths, ms.tile, room)}
	for range maxThreads - 1 {
		if ms.work >= splitElements {
			ms.spaces = append(ms.spaces, newWorkspace(widths, ms.tile, room))
		}
	}
	return ms
}

func newWorkspace[T float](widths []int, tile int, room func(n int) []T) workspace[T] {
	s := workspace[T]{src: make([][]T, 8)}
	for _, w := range widths {
		s.slots = append(s.slots, room(w*tile))
	}
	return s
}

func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

func (m *threaded[T]) value(i int) gorgonia.Value { return m.boxes[i] }

func (m *threaded[T]) run(threads int) error {
	for k := range m.steps {
		s := &m.steps[k]
		var err error
		if s.rows == 0 {
			err = m.whole(&s.code[0], threads)
		} else {
			err = m.split(s, min(threads, len(s.spaces)))
		}
		if err != nil {
			return err
		}
		for i := range s.code {
			if in := &s.code[i]; s.rows > 0 && in.own.run.spread == summing {
				var sum float64
				for _, x := range s.sums[in.sum] {
					sum += x
				}
				m.data[in.out.value][0] = T(sum)
			}
		}
	}
	return nil
}

// split takes a step's rows through it on several threads. Rows do not depend
// on one another, so the result is the same for any number of them.
func (m *threaded[T]) split(s *machineStep[T], threads int) error {
	for t := range s.spaces {
		s.spaces[t].err = nil
	}
	if threads > 1 {
		workers.Do(threads, (s.rows+s.piece-1)/s.piece, s.take)
	} else {
		m.through(s, &s.spaces[0], 0, s.rows)
	}
	for t := range s.spaces {
		if err := s.spaces[t].err; err != nil {
			return err
		}
	}
	return nil
}

// whole runs an instruction on its values.
func (m *threaded[T]) whole(in *machineInstr[T], threads int) (err error) {
	if in.own == nil {
		return m.apply(in)
	}
	defer panicked(in.own, &err)
	for i, p := range in.in {
		in.src[i] = m.data[p.value]
	}
	if vector := in.own.run.vector; vector != nil {
		if dst, ok := any(m.data[in.out.value]).([]float32); ok && vector(dst, any(in.src).([][]float32), threads) {
			return nil
		}
	}
	in.run(m.data[in.out.value], in.src, 0)
	return nil
}

// apply runs an operation that is not this package's.
func (m *threaded[T]) apply(in *machineInstr[T]) (err error) {
	defer panicked(in.foreign, &err)
	for i, p := range in.in {
		in.boxes[i] = m.boxes[p.value]
	}
	v, err := in.foreign.Do(in.boxes...)
	if err != nil {
		return fmt.Errorf("graph: %v: %w", in.foreign, err)
	}
	m.boxes[in.out.value] = v
	m.data[in.out.value] = elems[T](v)
	return nil
}

func panicked(o fmt.Stringer, err *error) {
	if r := recover(); r != nil {
		*err = failed(o, r)
	}
}

// through takes rows lo to hi through a step, a tile at a time.
func (m *threaded[T]) through(s *machineStep[T], t *workspace[T], lo, hi int) {
	if t.err != nil {
		return
	}
	at := 0
	defer func() {
		if r := recover(); r != nil {
			t.err = failed(s.code[at].own, r)
		}
	}()
	for ; lo < hi; lo += s.tile {
		to := min(hi, lo+s.tile)
		for k := range s.code {
			at = k
			in := &s.code[k]
			src := t.src[:len(in.in)]
			for i, p := range in.in {
				src[i] = m.at(t, p, lo, to)
			}
			if in.own.run.spread != summing {
				in.run(m.at(t, in.out, lo, to), src, lo)
				continue
			}
			sums := s.sums[in.sum][lo:to]
			for i, w := 0, in.in[0].width; i < len(sums); i++ {
				sums[i] = simd.Sum(src[0][i*w : (i+1)*w])
			}
		}
	}
}

// at returns rows lo to hi of a value, or the whole of it.
func (m *threaded[T]) at(t *workspace[T], p place, lo, hi int) []T {
	switch {
	case p.slot >= 0:
		return t.slots[p.slot][:(hi-lo)*p.width]
	case p.whole:
		return m.data[p.value]
	}
	return m.data[p.value][lo*p.width : hi*p.width]
}
