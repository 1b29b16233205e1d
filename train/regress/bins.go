package regress

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"opl/graph/kernel/workers"
)

const (
	mostBins   = 255    // of a column, so that a bin is a byte
	quantileOf = 50_000 // rows that the cuts of a feature are quantiles of, at most
	binRows    = 4096   // that a thread bins at a time
)

// column is a feature, or a group of one-hot features, in bins.
type column struct {
	feature int       // −1: a group
	cuts    []float64 // of a feature: bin b is cuts[b−1] < x ≤ cuts[b]
	members []int32   // of a group: the features whose value is not 0 in bins 1, 2, …; bin 0: none of them
	bins    int
	first   int     // of its bins in a histogram
	of      []uint8 // bins by row
}

// binned is a design in bins.
type binned struct {
	n, dim  int
	columns []column
	bins    int // of all columns
}

// several is the error of a row that has several features of a group.
type several int

func (g several) Error() string { return fmt.Sprintf("regress: group %d is not one-hot", int(g)) }

// newBinned reads all rows of x and puts them into bins. Groups of which a row has several features are
// features like others.
func newBinned(x Rows, groups [][]int32, bins, threads int) (*binned, error) {
	b := &binned{n: x.Len(), dim: x.Dim()}
	grouped := make([]int, b.dim) // the group of each feature, from 1; 0: none
	for g, members := range groups {
		for _, j := range members {
			if j < 0 || int(j) >= b.dim || grouped[j] != 0 {
				return nil, fmt.Errorf("regress: group %d: feature %d is not one of %d, or in two groups", g, j, b.dim)
			}
			grouped[j] = g + 1
		}
	}
	step := max(1, (b.n+quantileOf-1)/quantileOf)
	sample := Matrix{Width: b.dim, Data: make([]float64, (b.n+step-1)/step*b.dim)}
	for i := 0; i < b.n; i += step {
		x.Row64(i, sample.row(i/step))
	}
	for j := range b.dim {
		if grouped[j] == 0 {
			b.columns = append(b.columns, column{feature: j})
		}
	}
	for _, members := range groups {
		b.columns = append(b.columns, column{feature: -1, members: frequent(sample, members, mostBins-1)})
	}
	workers.Do(max(1, threads), len(b.columns), func(_, c int) {
		of := &b.columns[c]
		if of.of = make([]uint8, b.n); of.feature < 0 {
			of.bins = len(of.members) + 1
			return
		}
		values := make([]float64, sample.Len())
		for i := range values {
			values[i] = sample.Data[i*b.dim+of.feature]
		}
		of.cuts = Cuts(values, bins)
		of.bins = len(of.cuts) + 1
	})
	for c := range b.columns {
		b.columns[c].first = b.bins
		b.bins += b.columns[c].bins
	}
	blocks := (b.n + binRows - 1) / binRows
	errs := make([]error, blocks)
	workers.Do(max(1, threads), blocks, func(_, block int) {
		errs[block] = b.read(x, block*binRows, min(b.n, (block+1)*binRows))
	})
	for _, err := range errs {
		if g, is := err.(several); is {
			return newBinned(x, slices.Delete(slices.Clone(groups), int(g), int(g)+1), bins, threads)
		} else if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// read puts rows into bins.
func (b *binned) read(x Rows, from, to int) error {
	row := make([]float64, b.dim)
	for i := from; i < to; i++ {
		x.Row64(i, row)
		for j, v := range row {
			if v-v != 0 {
				return fmt.Errorf("regress: feature %d of row %d is %v", j, i, v)
			}
		}
		for c := range b.columns {
			of := &b.columns[c]
			if of.feature >= 0 {
				of.of[i] = uint8(sort.SearchFloat64s(of.cuts, row[of.feature])) // the cuts below it
				continue
			}
			for m, j := range of.members {
				if row[j] != 0 {
					if of.of[i] != 0 {
						return several(c - slices.IndexFunc(b.columns, func(c column) bool { return c.feature < 0 }))
					}
					of.of[i] = uint8(m + 1)
				}
			}
		}
	}
	return nil
}

// frequent are at most so many of the features, ascending: those that are most often not 0.
func frequent(sample Matrix, members []int32, most int) []int32 {
	members = slices.Sorted(slices.Values(members))
	if len(members) <= most {
		return members
	}
	count := make(map[int32]int, len(members))
	for i := range sample.Len() {
		for _, j := range members {
			if sample.Data[i*sample.Width+int(j)] != 0 {
				count[j]++
			}
		}
	}
	slices.SortStableFunc(members, func(a, b int32) int { return count[b] - count[a] })
	return slices.Sorted(slices.Values(members[:most]))
}

// Cuts are those between the bins of values, which it sorts: between all that differ where these are few, else at
// quantiles. A value of more rows than a bin should have gets a bin of its own, such as the 0 of a feature that
// most rows lack. The rest is cut as if these rows were not there.
func Cuts(values []float64, bins int) (cuts []float64) {
	slices.Sort(values)
	var distinct []float64
	var count []int
	for _, v := range values {
		if n := len(distinct); n == 0 || v != distinct[n-1] {
			distinct, count = append(distinct, v), append(count, 0)
		}
		count[len(count)-1]++
	}
	left, room := len(values), bins // rows and bins that are not given away
	if len(distinct) > bins {
		for { // as some get bins of their own, others may have more rows than a bin should
			given := false
			for i, n := range count {
				if n > 0 && room > 1 && n*room >= left {
					left, room, given, count[i] = left-n, room-1, true, -n
				}
			}
			if !given {
				break
			}
		}
	}
	in := 0 // rows of the bin
	for i := range len(distinct) - 1 {
		n, next := count[i], count[i+1]
		in += max(n, 0)
		if full := left > 0 && in*room >= left && in > 0; len(distinct) <= bins || n < 0 || next < 0 || full {
			if len(cuts) == bins-1 {
				break
			}
			if left -= in; full && room > 1 {
				room--
			}
			cuts, in = append(cuts, between(distinct[i], distinct[i+1])), 0
		}
	}
	return cuts
}

// between is a cut a ≤ c < b.
func between(a, b float64) float64 {
	if c := a + (b-a)/2; c >= a && c < b && !math.IsInf(c, 0) {
		return c
	}
	return a
}
