package pipeline

import (
	"cmp"
	"fmt"
	"slices"

	"opl/train/provenance"
)

// The ways to divide a log into the rows that teach (the prior, scalings,
// vocabularies) and those that certify.
const (
	Random  = "random" // each row by a seeded hash of its id
	ByGroup = "group"  // each group of rows by a seeded hash, whole
	ByTime  = "time"   // the earliest rows teach
)

// SplitBy holds the columns by which rows can be divided.
type SplitBy struct {
	IDs   []uint64 // what tells rows apart; equal ones stay together
	Group []int32  // negative: none; nil: none have one
	Time  []int64  // nanoseconds; nil: none
}

// Split divides n rows: about a share in (0, 1) of them teach, the others certify.
// Rows of the same id, group or time are never parted. Both parts are in the order
// of the log. It is an error if the log lacks the column, or a part would be empty.
func Split(how string, share float64, seed uint64, n int, c SplitBy) (teaching, certifying []int, err error) {
	if !(share > 0 && share < 1) {
		return nil, nil, fmt.Errorf("a share of %v of the rows, want one in (0, 1)", share)
	}
	first := func(i int) bool { return c.place(how, seed, i) < share } // of the rows that teach
	switch how {
	case Random:
	case ByGroup:
		if c.Group == nil {
			return nil, nil, fmt.Errorf("the log has no column group to divide by")
		}
	case ByTime:
		if c.Time == nil {
			return nil, nil, fmt.Errorf("the log has no column timestamp to divide by")
		}
		order := slices.Clone(c.Time)
		slices.SortFunc(order, cmp.Compare[int64])
		cut := order[min(n-1, int(share*float64(n)))]
		first = func(i int) bool { return c.Time[i] < cut }
	default:
		return nil, nil, fmt.Errorf("no way to divide rows is called %q: want %s, %s or %s", how, Random, ByGroup,
			ByTime)
	}
	certifying = make([]int, 0, n-int(share*float64(n)))
	for i := range n {
		if first(i) {
			teaching = append(teaching, i)
		} else {
			certifying = append(certifying, i)
		}
	}
	if len(teaching) == 0 || len(certifying) == 0 {
		return nil, nil, fmt.Errorf("dividing %d rows by %s leaves %d to teach the prior and %d to certify: none "+
			"of them may be empty", n, how, len(teaching), len(certifying))
	}
	return teaching, certifying, nil
}

// Chunks divides the rows that a Split, other than by time, left to certify into k parts of about the same
// size, and returns the part of each, from 0. Rows of the same id or group are never parted.
func Chunks(how string, share float64, seed uint64, k int, certifying []int, c SplitBy) []int {
	of := make([]int, len(certifying))
	for j, i := range certifying {
		of[j] = min(k-1, int(float64(k)*(c.place(how, seed, i)-share)/(1-share)))
	}
	return of
}

// place is where row i stands in [0, 1), by a hash of its id or group and the seed.
func (c SplitBy) place(how string, seed uint64, i int) float64 {
	of := c.IDs[i]
	if how == ByGroup && c.Group[i] >= 0 {
		of = uint64(c.Group[i])
	}
	return float64(provenance.Hash(seed, of)>>11) / (1 << 53)
}
