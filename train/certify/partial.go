package certify

import (
	"errors"
	"fmt"
	"math"
)

// Sums hold all that the bounds at any time need from rows. Those of shards add up to those of the
// whole log, up to rounding.
type Sums struct {
	Delta    float64     `json:"delta"`                      // level δ of the bounds
	Gamma    float64     `json:"gamma"`                      // factor Γ that propensities are known up to
	Rows     int         `json:"rows"`                       // that were added up
	Clusters int         `json:"clusters"`                   // groups, or rows that have none
	Plain    int         `json:"plain"`                      // rows whose X is that of ls in every kind
	Least    float64     `json:"least_propensity,omitempty"` // the floor that they rely on
	Risk     [][]float64 `json:"risk"`                       // Σ log(1 − ℓX) over clusters, by kind and ℓ; none without rows
	Gain     [][]float64 `json:"gain"`                       // the same of the gain over the logging policy
	Missing  []string    `json:"missing"`                    // kinds of bounds that these rows do not allow, and why
}

// PoolSums returns the sums from which [Pool] computes its bounds.
func PoolSums(parts []PoolLog, o Options) (Sums, error) {
	s, err := pool(parts, o)
	if err != nil {
		return Sums{}, err
	}
	out := Sums{Delta: s.o.Delta, Gamma: s.o.Gamma, Rows: len(s.rows) + s.pooled.rows,
		Clusters: s.clusters() + s.pooled.clusters, Plain: s.plain(), Least: s.least, Missing: s.missing}
	for _, k := range s.kinds {
		out.Risk, out.Gain = append(out.Risk, k.risk.sum), append(out.Gain, k.gain.sum)
	}
	return out, nil
}

// Add adds the sums of other rows, made with the same options and models.
func (s *Sums) Add(other Sums) error {
	switch {
	case other.Rows == 0:
		return nil
	case s.Rows == 0:
		*s = other
		s.Risk, s.Gain = copied(other.Risk), copied(other.Gain)
		return nil
	case s.Delta != other.Delta || len(s.Risk) != len(other.Risk):
		return errors.New("certify: sums of other bounds")
	}
	s.Gamma, s.Least = max(s.Gamma, other.Gamma), max(s.Least, other.Least)
	s.Rows, s.Clusters, s.Plain = s.Rows+other.Rows, s.Clusters+other.Clusters, s.Plain+other.Plain
	for i := range s.Risk {
		for g := range s.Risk[i] {
			s.Risk[i][g] += other.Risk[i][g]
			s.Gain[i][g] += other.Gain[i][g]
		}
	}
	return nil
}

func copied(xs [][]float64) (out [][]float64) {
	for _, x := range xs {
		out = append(out, append([]float64(nil), x...))
	}
	return out
}

// Check refuses sums that are none.
func (s Sums) Check() error {
	if s.Rows == 0 {
		return nil
	}
	bad := !(s.Delta > 0 && s.Delta < 1) || !(s.Gamma >= 1) || s.Clusters < 1 || s.Clusters > s.Rows ||
		s.Plain < 0 || s.Plain > s.Rows || len(s.Risk) < 1 || len(s.Risk) != len(s.Gain)
	for _, of := range [][][]float64{s.Risk, s.Gain} {
		for _, x := range of {
			bad = bad || len(x) != steps
			for _, v := range x {
				bad = bad || math.IsNaN(v) || math.IsInf(v, 0)
			}
		}
	}
	if bad {
		return fmt.Errorf("certify: these are no sums of bounds at any time: %d rows in %d clusters, %d kinds", s.Rows,
			s.Clusters, len(s.Risk))
	}
	return nil
}

// Bounds computes the bounds that [Pool] gives for the same rows, up to the rounding of sums.
func (s Sums) Bounds() (Bounds, error) {
	if s.Rows == 0 {
		return Bounds{}, errors.New("certify: no rows are left to certify with")
	}
	if err := s.Check(); err != nil {
		return Bounds{}, err
	}
	t := sums{first: []int{0}, missing: s.Missing, o: Options{Delta: s.Delta, Gamma: s.Gamma, AnyTime: true, Priors: 1}, least: s.Least}
	t.pooled.rows, t.pooled.clusters, t.pooled.plain = s.Rows, s.Clusters, s.Plain
	for i := range s.Risk {
		p := kind{risk: newGrid(anyTime(1)), gain: newGrid(anyTime(0.5))}
		p.risk.sum, p.gain.sum = s.Risk[i], s.Gain[i]
		t.kinds = append(t.kinds, p)
	}
	return t.bounds(), nil
}
