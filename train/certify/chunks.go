package certify

import (
	"errors"
	"fmt"

	"opl/policies/propensity"
)

// Chunk holds a part of the rows that certify, and the policy that these rows certify.
type Chunk struct {
	Policy Policy         // as pi of [Fixed]; it may have been learned from earlier chunks
	Models []*RewardModel // likewise; as many in each chunk
	Rows   []int          // of the log, that certify this policy
	// rows of the log that taught the policy, which may not certify; none: it was fixed before the log
	Taught propensity.RowSet
}

// Chunks bounds the risk and the gain of a mixture of policies π_k, of which each was fixed
// before the rows of its own chunk and those after it, and may have been learned from those before:
// all rows but those of the last chunk may teach, and all certify. The mixture plays π_k with
// probability w_k = n_k/n, drawn anew for each decision, n_k the clusters (groups, or rows that have
// none) of chunk k. The weights are returned. With a single chunk it is Fixed.
//
// In the order of the chunks each factor of M = ∏_i (1 − ℓX_i)/(1 − ℓR(π_k(i))) has mean 1, whatever
// came before: π_k(i) and its models are fixed, and the row is drawn as any other. So M has mean 1.
// By concavity Σ_k n_k log(1 − ℓR(π_k)) ≤ n log(1 − ℓ Σ_k w_k R(π_k)), so that
//
//	E_ℓ(R) = ∏_i (1 − ℓX_i) / (1 − ℓR)ⁿ ≤ M   at R = Σ_k w_k R(π_k),
//
// the risk of the mixture; the same holds for the gain, and for mixtures over ℓ and kinds. It needs
// clusters that are identically distributed, which Fixed does not: under drift the rows of chunk k
// say nothing of π_k at other times.
//
// Of the options, Models are those of the chunks, with the dispersions of the first. Errors: those of Fixed; clusters
// that are parted between chunks.
func Chunks(chunks []Chunk, log Log, o Options) (Bounds, []float64, error) {
	s, weights, err := chunked(chunks, log, o)
	if err != nil {
		return Bounds{}, nil, err
	}
	b := s.bounds()
	if len(chunks) > 1 {
		b.Chunks = len(chunks)
	}
	return b, weights, nil
}

func chunked(chunks []Chunk, log Log, o Options) (*sums, []float64, error) {
	switch {
	case len(chunks) == 0:
		return nil, nil, errors.New("certify: no chunks of rows")
	case o.AnyTime:
		return nil, nil, errors.New("certify: the weights of a mixture in chunks are those of the rows that there " +
			"are: nothing can be said of it at any time")
	}
	var rows []int
	of := make([]int, log.Len()) // chunk by row
	for k, c := range chunks {
		switch {
		case len(c.Rows) == 0 && len(chunks) > 1:
			return nil, nil, fmt.Errorf("certify: chunk %d has no rows", k+1)
		case len(c.Models) != len(chunks[0].Models):
			return nil, nil, fmt.Errorf("certify: chunk %d has %d models of the reward, the first %d", k+1,
				len(c.Models), len(chunks[0].Models))
		}
		for _, r := range c.Rows {
			if r >= 0 && r < len(of) { // Fixed refuses others
				of[r] = k
			}
		}
		rows = append(rows, c.Rows...)
	}
	o.Models = nil
	for j, m := range chunks[0].Models {
		o.Models = append(o.Models, &RewardModel{Name: m.Name, Dispersion: m.Dispersion,
			Of: func(dst, pi []float64, i int) { chunks[of[i]].Models[j].predict(dst, pi, i) }})
	}
	s, err := fixed(func(dst []float64, i int) error { return chunks[of[i]].Policy(dst, i) }, nil, log, rows, o)
	if err != nil {
		return nil, nil, err
	}
	weights := make([]float64, len(chunks))
	for u := range s.clusters() {
		cluster := s.rows[s.start(u):s.start(u+1)]
		for _, r := range cluster {
			if of[r] != of[cluster[0]] {
				return nil, nil, fmt.Errorf("certify: rows %d and %d depend on one another, and are of chunks %d "+
					"and %d", cluster[0], r, of[cluster[0]]+1, of[r]+1)
			}
		}
		weights[of[cluster[0]]]++
	}
	for k := range weights {
		weights[k] /= float64(s.clusters())
	}
	return s, weights, nil
}
