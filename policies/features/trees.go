package features

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Forest is trees whose leaves are added up:
//
//	h_o(x) = base_o + Σ_{t: outputs_t = o} value of the leaf of tree t that x falls into
//
// in the order of the trees. The nodes of a tree are next to each other, its root first, sizes_t of them. Node i is
//
//	feature_i = j ≥ 0    a split: x goes left if x_j ≤ value_i, else right
//	feature_i = −1       a leaf of value_i
//	feature_i = −2 − s   a split by a set: x goes left if any feature of sets_s is not 0, else right; value_i is 0
//
// The left child of node i is node i + 1, the right child node i + right_i; right_i ≥ 2 of splits, 0 of leaves.
// A set is how one-hot columns of a category are split: those of its values that go left.
type Forest struct {
	In      int       `json:"in"`                // features
	Base    []float64 `json:"base,omitempty"`    // [out]
	Outputs []int32   `json:"outputs,omitempty"` // o of each tree
	Sizes   []int32   `json:"sizes,omitempty"`   // nodes of each tree
	Feature []int32   `json:"feature,omitempty"` // of each node, as value and right
	Value   []float64 `json:"value,omitempty"`   // threshold of a split, or value of a leaf; of each node
	Right   []int32   `json:"right,omitempty"`   // distance from a split to its right child; 0: a leaf
	Sets    [][]int32 `json:"sets,omitempty"`    // places of features, from 0, ascending
}

const (
	mostWide   = 1 << 20 // features that a layer gives
	mostDepth  = 64      // of a tree
	mostNested = 64      // brackets of a layer in JSON within one another
	leaf       = -1      // the feature of a node that is one
)

func (f *Forest) out() int { return len(f.Base) }

// check reports a forest that is not as its comment says: children come after their parents, so no walk is endless.
func (f *Forest) check(in int) error {
	n := len(f.Feature)
	switch {
	case f.In != in:
		return fmt.Errorf("trees of %d features for %d", f.In, in)
	case len(f.Base) == 0 || len(f.Base) > mostWide:
		return fmt.Errorf("trees of %d outputs", len(f.Base))
	case len(f.Outputs) != len(f.Sizes):
		return fmt.Errorf("outputs of %d trees and sizes of %d", len(f.Outputs), len(f.Sizes))
	case len(f.Value) != n || len(f.Right) != n:
		return fmt.Errorf("trees of %d nodes with %d values and %d children", n, len(f.Value), len(f.Right))
	}
	for o, v := range f.Base {
		if v-v != 0 {
			return fmt.Errorf("the base of output %d of trees is %v", o, v)
		}
	}
	for s, set := range f.Sets {
		if len(set) == 0 {
			return fmt.Errorf("set %d of trees is empty", s)
		}
		for i, j := range set {
			if j < 0 || int(j) >= in || i > 0 && j <= set[i-1] {
				return fmt.Errorf("set %d of trees has feature %d of %d; want them ascending", s, j, in)
			}
		}
	}
	first := 0
	for t, size := range f.Sizes {
		switch {
		case f.Outputs[t] < 0 || int(f.Outputs[t]) >= len(f.Base):
			return fmt.Errorf("tree %d is of output %d of %d", t, f.Outputs[t], len(f.Base))
		case size < 1 || int(size) > n-first:
			return fmt.Errorf("tree %d has %d nodes of %d", t, size, n-first)
		}
		if err := f.checkTree(first, int(size)); err != nil {
			return fmt.Errorf("tree %d: %w", t, err)
		}
		first += int(size)
	}
	if first != n {
		return fmt.Errorf("%d nodes in trees of %d", n, first)
	}
	return nil
}

// checkTree checks the nodes from first on, which are one tree in preorder.
func (f *Forest) checkTree(first, size int) error {
	type child struct{ at, depth int }
	open := []child{{first + size, 0}} // right children of nodes above, the nearest last; at first the end of the tree
	depth := 0
	for i := first; i < first+size; i++ {
		if v := f.Value[i]; v-v != 0 {
			return fmt.Errorf("node %d has the value %v", i-first, v)
		}
		next := open[len(open)-1]
		feature, right := f.Feature[i], int(f.Right[i])
		switch {
		case feature == leaf && (right != 0 || next.at != i+1):
			return fmt.Errorf("leaf %d has a child, or the node after it no parent", i-first)
		case feature == leaf:
			open, depth = open[:len(open)-1], next.depth
			continue
		case feature < leaf && -2-int(feature) >= len(f.Sets):
			return fmt.Errorf("node %d has set %d of %d", i-first, -2-int(feature), len(f.Sets))
		case feature < leaf && f.Value[i] != 0:
			return fmt.Errorf("node %d has a set and the value %v", i-first, f.Value[i])
		case int(feature) >= f.In:
			return fmt.Errorf("node %d has feature %d of %d", i-first, feature, f.In)
		case right < 2 || right >= next.at-i:
			return fmt.Errorf("node %d has its right child %d nodes on, of %d", i-first, right, next.at-i)
		case depth == mostDepth:
			return fmt.Errorf("it is deeper than %d", mostDepth)
		}
		depth++
		open = append(open, child{i + right, depth})
	}
	return nil
}

// node is one of a forest, its numbers side by side.
type node struct {
	value          float64
	feature, right int32
}

// grown is a forest that is ready to compute. Several outputs may have the same tree: one of all actions that does not
// tell them apart. It is walked once.
type grown struct {
	*Forest
	nodes []node  // of different trees, one after the other
	sizes []int32 // of each of them
	of    []int32 // which of them each tree is
}

func (f *Forest) stage() stage {
	g := &grown{Forest: f, of: make([]int32, len(f.Sizes))}
	seen, first := map[string]int32{}, 0
	var key []byte
	for t, size := range f.Sizes {
		key = key[:0]
		for i := first; i < first+int(size); i++ {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(f.Value[i]))
			key = binary.LittleEndian.AppendUint32(key, uint32(f.Feature[i]))
			key = binary.LittleEndian.AppendUint32(key, uint32(f.Right[i]))
		}
		at, known := seen[string(key)]
		if !known {
			at = int32(len(g.sizes))
			seen[string(key)], g.sizes = at, append(g.sizes, size)
			for i := first; i < first+int(size); i++ {
				g.nodes = append(g.nodes, node{f.Value[i], f.Feature[i], f.Right[i]})
			}
		}
		g.of[t] = at
		first += int(size)
	}
	return g
}

func (g *grown) scratch() int { return len(g.sizes) }

func (g *grown) apply(h, x, values []float64) {
	nodes := g.nodes
	for t, size := range g.sizes {
		values[t] = g.walk(nodes, x)
		nodes = nodes[size:]
	}
	copy(h, g.Base)
	for t := 0; t < len(g.of); {
		o := g.Outputs[t]
		sum := h[o]
		for ; t < len(g.of) && g.Outputs[t] == o; t++ {
			sum += values[g.of[t]]
		}
		h[o] = sum
	}
}

// walk is the value of the leaf of a tree that x falls into.
func (g *grown) walk(tree []node, x []float64) float64 {
	for i := 0; ; {
		n := &tree[i]
		left := false
		switch {
		case n.feature >= 0:
			left = x[n.feature] <= n.value
		case n.feature == leaf:
			return n.value
		default:
			for _, j := range g.Sets[-2-n.feature] {
				if x[j] != 0 {
					left = true
					break
				}
			}
		}
		if i++; !left {
			i += int(n.right) - 1
		}
	}
}
