package provenance

import (
	"slices"

	"opl/train/inspect"
	"opl/train/logs"
)

// Clusters returns a number for each row. Rows of one number may depend on one another, and a
// guarantee counts them as one. They share a group of the log or a decision id. If the inspection
// found rows written twice, or rows of a visit next to each other, rows also share a cluster if
// they share a context. nil: no row depends on another.
func (j *Judge) Clusters() []int32 { return j.clusters() }

func (j *Judge) depend() []int32 {
	if j.log.Simulated() {
		return nil
	}
	odd := func(about ...inspect.Subject) bool {
		_, ok := j.found.Doubts(about...)
		return ok
	}
	n := j.log.Len()
	var root []int32 // a forest, of which a tree is a cluster; nil: no rows were joined
	find := func(i int32) int32 {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	join := func(of func(i int) (key uint64, ok bool)) {
		first := make(map[uint64]int32, 1024)
		for i := range n {
			k, ok := of(i)
			if !ok {
				continue
			}
			at, seen := first[k]
			if !seen {
				first[k] = int32(i)
				continue
			}
			if root == nil {
				root = make([]int32, n)
				for i := range root {
					root[i] = int32(i)
				}
			}
			if a, b := find(at), find(int32(i)); a < b { // the first row stands for its cluster
				root[b] = a
			} else {
				root[a] = b
			}
		}
	}
	if g := j.log.Group; g != nil {
		join(func(i int) (uint64, bool) { return uint64(g[i]), g[i] >= 0 })
	}
	if j.log.HasIDs() && odd(inspect.IDs) {
		join(func(i int) (uint64, bool) { return j.log.Keys[i], true })
	}
	if odd(inspect.Repeats, inspect.Visits) {
		if c := j.log.ContextHashes(); c != nil {
			join(func(i int) (uint64, bool) { return c[i], true })
		}
	}
	for i := range root {
		root[i] = find(int32(i))
	}
	return root
}

// Apart returns the rows, nil: those of all rows, that were not seen and share no cluster with rows that were.
func (j *Judge) Apart(rows []int, seen []bool) []int {
	cluster := j.Clusters()
	var tainted []bool
	if cluster != nil {
		tainted = make([]bool, len(cluster))
		for i, s := range seen {
			tainted[cluster[i]] = tainted[cluster[i]] || s
		}
	}
	drop := func(r int) bool { return seen[r] || tainted != nil && tainted[cluster[r]] }
	if rows == nil {
		return slices.DeleteFunc(logs.Every(len(seen)), drop)
	}
	if !slices.ContainsFunc(rows, drop) {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), drop)
}
