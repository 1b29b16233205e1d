package logs

import (
	"math"

	"opl/graph/kernel/simd"
)

// Rows64 is a matrix as Contexts: row i of Data, Width numbers.
type Rows64 struct {
	Width int
	Data  []float64
}

var _ Contexts = Rows64{}

// Len is the number of rows.
func (m Rows64) Len() int { return len(m.Data) / max(1, m.Width) }

// Dim is the width.
func (m Rows64) Dim() int { return m.Width }

// Norm is the Euclidean norm of row i.
func (m Rows64) Norm(i int) float64 {
	row := m.Data[i*m.Width : (i+1)*m.Width]
	var s [4]float64 // additions need not wait for one another
	for ; len(row) >= 4; row = row[4:] {
		s[0] += row[0] * row[0]
		s[1] += row[1] * row[1]
		s[2] += row[2] * row[2]
		s[3] += row[3] * row[3]
	}
	for _, v := range row {
		s[0] += v * v
	}
	return math.Sqrt(s[0] + s[1] + s[2] + s[3])
}

// Row64 copies row i.
func (m Rows64) Row64(i int, dst []float64) { copy(dst, m.Data[i*m.Width:(i+1)*m.Width]) }

// Row32 copies row i, rounded.
func (m Rows64) Row32(i int, dst []float32) {
	simd.Narrow32(dst, m.Data[i*m.Width:(i+1)*m.Width])
}
