package train

import (
	"opl/policies/features"
	"opl/train/logs"
	"opl/train/regress"
)

// mostDense are the features of a table, beyond which its categories are kept as codes.
const mostDense = 512

// coded are rows of numbers and codes: of a wide table almost all features are 0.
type coded struct {
	place   []int32        // of a feature among numbers, or after them among all columns of codes
	order   []int          // the feature of each place
	numbers regress.Matrix // of all features that are no category's
	codes   regress.Codes  // one of each category
}

// row writes φ(x) of a row to dst.
func (c *coded) row(r int, dst []float64) []float64 {
	clear(dst)
	w := c.numbers.Width
	for at, v := range c.numbers.Data[r*w : (r+1)*w] {
		dst[c.order[at]] = v
	}
	for _, at := range c.codes.Data[r*c.codes.Each : (r+1)*c.codes.Each] {
		if at >= 0 {
			dst[c.order[w+int(at)]] = 1
		}
	}
	return dst
}

// wide counts the numbers that a row takes.
func (t *table) wide() int {
	if t.coded != nil {
		return t.coded.numbers.Width + t.coded.codes.Each
	}
	return t.x.Width
}

// coded reads rows, or every so many of them, as numbers and codes; nil: they are not wide, or a category has values
// other than 0 and 1, or two at once.
func (d *Direct) coded(log *logs.Log, rows []int) *table {
	if log.Dim() <= mostDense || d.Encoder == nil || d.Encoder.Dim() != log.Dim() || log.Numbers != nil {
		return nil
	}
	dim := log.Dim()
	c := &coded{place: make([]int32, dim)}
	category := make([]int, dim) // of each feature, from 1 on; 0: none
	groups := d.Encoder.Categories()
	for g, of := range groups {
		for _, j := range of {
			category[j] = g + 1
		}
	}
	for _, codes := range []bool{false, true} {
		for j := range dim {
			if (category[j] > 0) == codes {
				c.place[j] = int32(len(c.order))
				c.order = append(c.order, j)
			}
		}
		if !codes {
			c.numbers.Width = len(c.order)
		}
	}
	w, each := c.numbers.Width, len(groups)
	c.codes.Columns, c.codes.Each = dim-w, each
	rows = evenly(rows, mostTable/(w+each))
	c.numbers.Data, c.codes.Data = make([]float64, len(rows)*w), make([]int32, len(rows)*each)
	seen, buf := make([]int, dim), make([]float64, dim)
	for _, i := range inOrder(rows) {
		log.X.Row64(log.Context(rows[i]), buf)
		codes := c.codes.Data[i*each : (i+1)*each]
		for g := range codes {
			codes[g] = -1
		}
		for j, v := range buf {
			switch g := category[j] - 1; {
			case g < 0:
				c.numbers.Data[i*w+int(c.place[j])] = v
			case v == 0:
			case v != 1 || codes[g] >= 0:
				return nil
			default:
				codes[g] = c.place[j] - int32(w)
				seen[j]++
			}
		}
	}
	t := d.rewards(log, rows)
	t.coded = c
	for j := range dim {
		n := 2
		if category[j] == 0 {
			n = values(c.numbers, int(c.place[j]))
		} else if seen[j] == 0 || seen[j] == len(rows) {
			n = 1
		}
		t.count(int32(j), n)
	}
	return t
}

// design is what layers make of rows, as a hierarchy has it, the place of each of its columns among those of expand,
// and which rows it has. Layers keep all features as their first.
func (t *table) design(layers []features.Layer, rows []int) (*regress.Hierarchy, []int, []int, error) {
	if t.coded == nil {
		x, at, err := t.expand(layers, rows)
		return &regress.Hierarchy{X: x}, logs.Every(x.Width), at, err
	}
	d, err := t.width(layers)
	if err != nil {
		return nil, nil, nil, err
	}
	c := t.coded
	w := c.numbers.Width
	order := append(append([]int{}, c.order[:w]...), logs.Every(d + 1)[t.x.Width:]...)
	m := len(order) // with the column of 1
	order = append(order, c.order[w:]...)
	rows = evenly(rows, mostTable/(m+c.codes.Each))
	h := &regress.Hierarchy{X: regress.Matrix{Width: m, Data: make([]float64, len(rows)*m)}}
	h.Codes = regress.Codes{Columns: c.codes.Columns, Each: c.codes.Each}
	t.apply(layers, d, rows, func(i int, out []float64) {
		for at, j := range order[:m] {
			h.X.Data[i*m+at] = out[j]
		}
		h.Codes.Data = append(h.Codes.Data, c.codes.Data[rows[i]*c.codes.Each:(rows[i]+1)*c.codes.Each]...)
	})
	return h, order, rows, nil
}
