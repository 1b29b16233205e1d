package provenance

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/logs"
)

// Fingerprints of rows with sets, of which few are read whole, are those that reading all of them gives: where contexts are alone,
// where they come back, and where all are one.
func TestFingerprints_OfSetsAreThoseOfAllRows(t *testing.T) {
	for name, context := range map[string]func(i int, r *rand.Rand) float64{
		"alone": func(i int, _ *rand.Rand) float64 { return float64(i) + 1./3 },
		"some":  func(_ int, r *rand.Rand) float64 { return float64(r.IntN(1500)) },
		"one":   func(int, *rand.Rand) float64 { return 7 },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			var rows []logs.Decision
			for i := range 2400 {
				d := logs.Decision{Time: time.Unix(int64(i/3), 0), Context: []features.Value{{Name: "u", Number: context(i, r)}}, Weight: 1, Propensity: .2 + .6*r.Float64()}
				for a := range 2 {
					d.Offered = append(d.Offered, logs.Offer{Action: fmt.Sprint(a), Features: []features.Value{{Name: "z", Number: float64(r.IntN(40)) / 7}}})
				}
				d.Action = r.IntN(2)
				rows = append(rows, d)
			}
			l, err := logs.Collect(nil, rows)
			if err != nil {
				t.Fatal(err)
			}
			j := New(l)
			all := make([]int, l.Len())
			for i := range all {
				all[i] = i
			}
			got := j.fingerprints(all)
			var want []policyfile.Fingerprints
			for _, w := range kinds { // of rows one of each key: the least propensities first, then by chance
				keys, from := j.keysOf(w, nil)
				times := map[uint64]int{}
				for _, k := range keys {
					times[k]++
				}
				alone := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return i < from || times[keys[i]] > 1 })
				w.Keys = j.pick(alone, keys)
				if slices.Sort(w.Keys); len(w.Keys) > 0 {
					want = append(want, w)
				}
			}
			if len(want) < 2 || !reflect.DeepEqual(got, want) {
				t.Errorf("contexts %s: other fingerprints, %d and %d kinds", name, len(got), len(want))
			}
		})
	}
}

// pick are what the first half of fingerprints of least propensities and then the first by chance are known by.
func (j *Judge) pick(rows []int, keys []uint64) (out []uint64) {
	names, taken := j.actions(), map[int]bool{}
	_, identity := j.log.Identity()
	drawn := func(a, b int) int {
		x, y := Hash(1, identity[a]), Hash(1, identity[b])
		if x < y {
			return -1
		}
		return 1
	}
	for i, most := range []int{fingerprints / 2, fingerprints} {
		rows := slices.Clone(rows)
		slices.SortStableFunc(rows, drawn)
		if i == 0 {
			slices.SortStableFunc(rows, func(a, b int) int {
				if x, y := j.log.Propensity[a], j.log.Propensity[b]; x != y {
					if x < y {
						return -1
					}
					return 1
				}
				return 0
			})
		}
		for _, r := range rows {
			if !taken[r] && len(out) < most {
				taken[r] = true
				out = append(out, keys[r]&^split|names[j.log.Action[r]]&split)
			}
		}
	}
	return out
}
