package features

import (
	"fmt"
)

// Pieces encodes features by how far they have come between knots, so that what is linear in the pieces is
// piecewise linear in the feature: of feature j with knots t_0 < … < t_B the B numbers
//
//	min(1, max(0, (x_j − t_b)/(t_{b+1} − t_b))),   b = 0 … B − 1
//
// The features of Keep come first, then the pieces by feature. Gorishniy et al. (2022), "On embeddings for numerical
// features in tabular deep learning".
type Pieces struct {
	In       int         `json:"in"`                 // features
	Keep     []int32     `json:"keep,omitzero"`      // features that are given as they are; without it all
	Features []int32     `json:"features,omitempty"` // those with knots
	Knots    [][]float64 `json:"knots,omitempty"`    // of each, ascending, at least 2
}

func (p *Pieces) out() int {
	n := len(p.Keep)
	if p.Keep == nil {
		n = p.In
	}
	for _, knots := range p.Knots {
		n += len(knots) - 1
	}
	return n
}

func (p *Pieces) check(in int) error {
	switch {
	case p.In != in:
		return fmt.Errorf("pieces of %d features for %d", p.In, in)
	case len(p.Features) != len(p.Knots):
		return fmt.Errorf("pieces: %d features and knots of %d", len(p.Features), len(p.Knots))
	}
	for _, of := range [][]int32{p.Keep, p.Features} {
		for _, j := range of {
			if j < 0 || int(j) >= in {
				return fmt.Errorf("pieces: feature %d of %d", j, in)
			}
		}
	}
	for i, knots := range p.Knots {
		if len(knots) < 2 {
			return fmt.Errorf("pieces: feature %d has %d knots, want at least 2", p.Features[i], len(knots))
		}
		for b, v := range knots {
			if gap := v - knots[max(0, b-1)]; v-v != 0 || gap-gap != 0 || b > 0 && !(gap > 0) {
				return fmt.Errorf("pieces: knot %d of feature %d is %v: want finite numbers, ascending", b,
					p.Features[i], v)
			}
		}
	}
	if n := p.out(); n < 1 || n > mostWide {
		return fmt.Errorf("pieces: %d features come out", n)
	}
	return nil
}

func (p *Pieces) stage() stage { return p }
func (p *Pieces) scratch() int { return 0 }

func (p *Pieces) apply(h, x, _ []float64) {
	at := len(p.Keep)
	if p.Keep == nil {
		at = copy(h, x[:p.In])
	}
	for i, j := range p.Keep {
		h[i] = x[j]
	}
	for i, j := range p.Features {
		knots, v := p.Knots[i], x[j]
		for b, low := range knots[:len(knots)-1] {
			switch high := knots[b+1]; {
			case v >= high:
				h[at] = 1
			case v <= low:
				h[at] = 0
			default: // NaN, too
				h[at] = (v - low) / (high - low)
			}
			at++
		}
	}
}

// Products gives x and then x_i·x_j of each pair.
type Products struct {
	In    int       `json:"in"`              // features
	Pairs [][]int32 `json:"pairs,omitempty"` // places i and j of the features that are multiplied, from 0
}

func (p *Products) out() int { return p.In + len(p.Pairs) }

func (p *Products) check(in int) error {
	if p.In != in || p.out() < 1 || p.out() > mostWide {
		return fmt.Errorf("products of %d features for %d", p.In, in)
	}
	for _, pair := range p.Pairs {
		if len(pair) != 2 {
			return fmt.Errorf("products: a pair of %d features", len(pair))
		}
		for _, j := range pair {
			if j < 0 || int(j) >= in {
				return fmt.Errorf("products: feature %d of %d", j, in)
			}
		}
	}
	return nil
}

func (p *Products) stage() stage { return p }
func (p *Products) scratch() int { return 0 }

func (p *Products) apply(h, x, _ []float64) {
	at := copy(h, x[:p.In])
	for i, pair := range p.Pairs {
		h[at+i] = x[pair[0]] * x[pair[1]]
	}
}

// Clip gives min(high_j, max(low_j, x_j)): what layers behind it make of features beyond what they were learned from is
// what they make of the last that was.
type Clip struct {
	Low  []float64 `json:"low"`
	High []float64 `json:"high"` // not below low
}

func (c *Clip) out() int { return len(c.Low) }

func (c *Clip) check(in int) error {
	if len(c.Low) != in || len(c.High) != in {
		return fmt.Errorf("clip of %d and %d numbers for %d features", len(c.Low), len(c.High), in)
	}
	for j, low := range c.Low {
		if high := c.High[j]; !(low <= high) || low-low != 0 || high-high != 0 {
			return fmt.Errorf("clip: feature %d from %v to %v", j, low, high)
		}
	}
	return nil
}

func (c *Clip) stage() stage { return c }
func (c *Clip) scratch() int { return 0 }

func (c *Clip) apply(h, x, _ []float64) {
	for j, low := range c.Low {
		h[j] = min(max(x[j], low), c.High[j])
	}
}
