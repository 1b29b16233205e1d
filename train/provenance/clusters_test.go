package provenance_test

import (
	"testing"

	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/provenance"
)

// Where the inspection found either, rows of one context are a cluster, which counts as one in every
// guarantee.
func TestClusters_CountAsOneInEveryGuarantee(t *testing.T) {
	var twice []int
	for i := range 200 {
		twice = append(twice, i, i)
	}
	log := example(200).Subset(twice)
	all := upTo(0, 400)
	uniform := func(dst []float64, _ int) error { dst[0], dst[1], dst[2] = .4, .3, .3; return nil }
	for check, groups := range map[inspect.Subject]int{inspect.Repeats: 200, inspect.Visits: 200, inspect.Drift: 0, "": 0} {
		j := provenance.Finding(log, check)
		for door, certificate := range map[string]func() (*provenance.Certificate, error){
			"Fixed": func() (*provenance.Certificate, error) {
				return j.Fixed(uniform, provenance.FixedBefore(), all, certify.Options{})
			},
			"Probabilities": func() (*provenance.Certificate, error) {
				return j.Target(nil, make([]float64, 400), provenance.FixedBefore(), certify.Options{})
			},
			"Posterior": func() (*provenance.Certificate, error) {
				return j.Posterior(propensity.Gaussian{}, posterior(make([]float64, 12)), all, certify.Options{})
			},
		} {
			c, err := certificate()
			if err != nil {
				t.Errorf("%s, %s: %v", check, door, err)
			} else if s := c.Statement(); s.N != 400 || s.Groups != groups {
				t.Errorf("%s, %s: %d rows count as %d groups, want %d", check, door, s.N, s.Groups, groups)
			}
		}
	}
}
