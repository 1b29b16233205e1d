package features

import (
	"encoding/json"
	"fmt"
)

// Branches gives the same features to several chains of layers, and what the chains give one after the other. A chain
// without layers gives what it gets.
type Branches struct {
	In     int       `json:"in"`               // features
	Chains [][]Layer `json:"chains,omitempty"` // what each chain gives is concatenated in this order
}

// MarshalJSON writes a chain without layers as an empty list.
func (b *Branches) MarshalJSON() ([]byte, error) {
	type plain Branches
	p := plain(*b)
	p.Chains = make([][]Layer, len(b.Chains))
	for c, chain := range b.Chains {
		p.Chains[c] = append([]Layer{}, chain...)
	}
	return json.Marshal(p)
}

func (b *Branches) out() (n int) {
	for _, chain := range b.Chains {
		n += b.outOf(chain)
	}
	return n
}

func (b *Branches) outOf(chain []Layer) int {
	if len(chain) == 0 {
		return b.In
	}
	return chain[len(chain)-1].Out()
}

func (b *Branches) check(in int) error {
	if b.In != in || len(b.Chains) == 0 || len(b.Chains) > mostWide {
		return fmt.Errorf("%d branches of %d features for %d", len(b.Chains), b.In, in)
	}
	n := 0
	for c, chain := range b.Chains {
		d := in
		for i := range chain {
			if err := chain[i].Check(d); err != nil {
				return fmt.Errorf("branch %d, layer %d: %w", c, i, err)
			}
			d = chain[i].Out()
		}
		if n += d; n > mostWide {
			return fmt.Errorf("%d features and more come out of branches", n)
		}
	}
	return nil
}

// nets is branches that are ready to compute.
type nets struct {
	of      []*Net
	deepest int
}

func (b *Branches) stage() stage {
	n := &nets{}
	for _, chain := range b.Chains {
		net := NewNet(chain)
		n.of, n.deepest = append(n.of, net), max(n.deepest, net.Scratch())
	}
	return n
}

func (n *nets) scratch() int { return n.deepest }

func (n *nets) apply(h, x, scratch []float64) {
	for _, net := range n.of {
		d := net.Out(len(x))
		net.Apply(h[:d], x, scratch)
		h = h[d:]
	}
}

// nested is how many brackets of JSON are open at once.
func nested(b []byte) (most int) {
	n := 0
	for _, c := range b {
		switch c {
		case '[', '{':
			n++
			most = max(most, n)
		case ']', '}':
			n--
		}
	}
	return most
}
