package keys

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Keys of all kinds are sorted as by comparing, rows of one key in their order.
func TestSort_IsAsByComparing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 100, few, 3000, 70000} {
		for kind := range 4 {
			keys, rows := make([]uint64, n), make([]int32, 0, n)
			for i := range keys {
				keys[i] = [...]uint64{r.Uint64(), r.Uint64N(7), 5, uint64(i) << 40}[kind]
				if i%3 > 0 {
					rows = append(rows, int32(i))
				}
			}
			want, ordered := slices.Clone(keys), slices.Clone(rows)
			slices.SortStableFunc(ordered, func(i, j int32) int { return cmp.Compare(keys[i], keys[j]) })
			if SortRows(rows, keys); !slices.Equal(rows, ordered) {
				t.Fatalf("%d rows, kind %d", n, kind)
			}
			count := map[uint64]int{}
			for _, k := range keys {
				count[k]++
			}
			sizes, shared := Sharing(keys)
			slices.Sort(want)
			var often []int
			for _, k := range slices.Compact(slices.Clone(want)) {
				if count[k] > 1 {
					often = append(often, count[k])
				}
			}
			if !slices.Equal(sizes, often) {
				t.Fatalf("%d keys, kind %d: sizes %v, want %v", n, kind, sizes, often)
			}
			wrong := 0
			for k, m := range count {
				if m > 1 && !shared.Has(k) {
					t.Fatalf("key %d comes %d times", k, m)
				} else if m == 1 && shared.Has(k) {
					wrong++
				}
			}
			if wrong > len(count)/8+1 {
				t.Errorf("%d keys, kind %d: %d are not shared, and found", n, kind, wrong)
			}
			if Sort(keys); !slices.Equal(keys, want) {
				t.Fatalf("%d keys, kind %d", n, kind)
			}
		}
	}
}

// Keys that differ stay what they are, and those that are equal get those of a count of each.
func TestApart_CountsEqualKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	of := func(n, key uint64) uint64 { return Mix(n ^ Mix(key)) }
	for _, n := range []int{0, 1, 2, 3, 1000, 5000} {
		keys := make([]uint64, n)
		for i := range keys {
			if keys[i] = r.Uint64(); i%3 == 2 {
				keys[i] = keys[r.IntN(i)]
			}
		}
		if n > 3 {
			keys[1], keys[3] = 0, 0
		}
		want, seen := slices.Clone(keys), map[uint64]uint64{}
		for i, h := range keys {
			if k := seen[h]; k > 0 {
				want[i] = of(k, h)
			}
			seen[h]++
		}
		if !slices.Equal(Apart(keys, of), want) {
			t.Errorf("%d keys: not those of a count of each", n)
		}
	}
}
