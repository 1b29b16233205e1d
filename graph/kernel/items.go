package kernel

import (
	"math"
	"slices"
	"sync"
	"unsafe"

	"opl/graph/kernel/simd"
)

// Items are vectors z_a [P] of N items, such as those of a catalogue: columns in which many
// items are not 0 as a matrix, the others by their entries. Scores of them are products z_a·u.
type Items[T Float] struct {
	N, P   int
	dense  []int32 // columns of the matrix
	stride int     // of its rows
	z      []T     // [N×stride]
	sparse []int32 // the other columns
	first  []int   // [N+1] of the entries of each item
	col    []int32 // of an entry: its place in sparse
	val    []T
}

// sparseItems is the share of items below which a column is kept by entries.
const sparseItems = 1. / 8

// NewItems returns items whose vectors row writes. It is called twice for each, in order.
func NewItems[T Float](n, p int, row func(a int, dst []float64)) *Items[T] {
	z := &Items[T]{N: n, P: p, first: make([]int, n+1)}
	v, count := make([]float64, p), make([]int, p)
	for a := range n {
		row(a, v)
		for j, x := range v {
			if x != 0 {
				count[j]++
			}
		}
	}
	place, entries := make([]int32, p), 0 // of sparse columns, from −1 down; of dense ones, from 0
	for j, c := range count {
		if float64(c) < sparseItems*float64(n) {
			z.sparse, entries = append(z.sparse, int32(j)), entries+c
			place[j] = int32(-len(z.sparse))
		} else {
			place[j] = int32(len(z.dense))
			z.dense = append(z.dense, int32(j))
		}
	}
	// Rows are an odd number of cache lines of float32 apart, and 5 more are there to be read.
	z.stride = (len(z.dense)+15)/16*16 | 16
	z.z = make([]T, (n+5)*z.stride)
	z.col, z.val = make([]int32, 0, entries), make([]T, 0, entries)
	for a := range n {
		row(a, v)
		for j, x := range v {
			switch at := place[j]; {
			case x == 0:
			case at >= 0:
				z.z[a*z.stride+int(at)] = T(x)
			default:
				z.col, z.val = append(z.col, -1-at), append(z.val, T(x))
			}
		}
		z.first[a+1] = len(z.val)
	}
	return z
}

// itemRooms lend scratch memory, by element type.
var itemRooms32, itemRooms64 sync.Pool

// lend is scratch of n elements with arbitrary contents; done gives it back.
func lend[T Float](n int) (s []T, done func()) {
	rooms, z := &itemRooms64, T(0)
	if unsafe.Sizeof(z) == 4 {
		rooms = &itemRooms32
	}
	m, _ := rooms.Get().(*[]T)
	if m == nil {
		m = new([]T)
	}
	*m = slices.Grow((*m)[:0], n)[:n]
	return *m, func() { rooms.Put(m) }
}

// pick writes the dense columns of u [P] to dst.
func (z *Items[T]) pick(dst, u []T) {
	for t, j := range z.dense {
		dst[t] = u[j]
	}
}

// dot is z_a·u, given the dense columns of u beside it.
func (z *Items[T]) dot(a int, dense, u []T) T {
	row := z.z[a*z.stride:][:len(dense)]
	var s0, s1, s2, s3 T
	t := 0
	for ; t+4 <= len(row); t += 4 {
		x, y := row[t:t+4:t+4], dense[t:t+4:t+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; t < len(row); t++ {
		s0 += row[t] * dense[t]
	}
	s := (s0 + s1) + (s2 + s3)
	for e := z.first[a]; e < z.first[a+1]; e++ {
		s += z.val[e] * u[z.sparse[z.col[e]]]
	}
	return s
}

// add adds c·z_a to dense columns and to all of dst [P] that are not.
func (z *Items[T]) add(a int, c T, dense, dst []T) {
	row := z.z[a*z.stride:][:len(dense)]
	for t := range dense {
		dense[t] += c * row[t]
	}
	for e := z.first[a]; e < z.first[a+1]; e++ {
		dst[z.sparse[z.col[e]]] += c * z.val[e]
	}
}

// Scores writes s_ij = z_a·u_i, a = at_ij, to dst [rows×m], for u [rows×P]. at is −1 where there is no item,
// whose score is −Inf; nil: item j is at place j, and m = N.
func (z *Items[T]) Scores(dst, u, at []T, m int) {
	dense, done := lend[T](len(z.dense))
	defer done()
	for i := range len(dst) / m {
		u := u[i*z.P : (i+1)*z.P]
		z.pick(dense, u)
		for j := i * m; j < (i+1)*m; j++ {
			a := j - i*m
			if at != nil {
				a = int(at[j])
			}
			if a < 0 {
				dst[j] = T(math.Inf(-1))
			} else {
				dst[j] = z.dot(a, dense, u)
			}
		}
	}
}

// ScoresGrad writes the gradient in u, Σ_j g_ij z_a, to dst [rows×P], given that in scores.
func (z *Items[T]) ScoresGrad(dst, g, at []T, m int) {
	dense, done := lend[T](len(z.dense))
	defer done()
	clear(dst)
	for i := range len(g) / m {
		to := dst[i*z.P : (i+1)*z.P]
		clear(dense)
		for j := i * m; j < (i+1)*m; j++ {
			a := j - i*m
			if at != nil {
				a = int(at[j])
			}
			if a >= 0 && g[j] != 0 {
				z.add(a, g[j], dense, to)
			}
		}
		for t, j := range z.dense {
			to[j] = dense[t]
		}
	}
}

// LogProb writes, for each row u_i [P] and item a_i = action_i, of the softmax over all items
//
//	log π_i = z_{a_i}·u_i − log Σ_a exp(z_a·u_i)
//
// and with grad its gradient in u_i, z_{a_i} − Σ_a π(a) z_a, to the 1 + P columns of a row of dst. It goes through
// blocks of items, and keeps no scores. A row is the same number among any others.
func (z *Items[T]) LogProb(dst, u, action []T, grad bool) {
	if d, ok := any(dst).([]float32); ok && simd.Vector() && len(z.dense) > 0 {
		y, u, action := any(z).(*Items[float32]), any(u).([]float32), any(action).([]float32)
		for from := 0; from < len(action); from += itemRows {
			to := min(len(action), from+itemRows)
			logProb32(y, d[from*(z.P+1):to*(z.P+1)], u[from*z.P:to*z.P], action[from:to], grad)
		}
		return
	}
	const block = 64
	rows, q, p := len(action), len(z.dense), z.P
	mem, done := lend[T](rows*q + block + rows*(q+p))
	defer done()
	dense, s, sums := mem[:rows*q], mem[rows*q:][:block], mem[rows*q+block:]
	clear(sums)
	top, total, own := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	for i := range rows {
		z.pick(dense[i*q:(i+1)*q], u[i*p:(i+1)*p])
		top[i] = math.Inf(-1)
	}
	for from := 0; from < z.N; from += block {
		n := min(block, z.N-from)
		for i := range rows {
			m := top[i]
			for a := range n {
				s[a] = z.dot(from+a, dense[i*q:(i+1)*q], u[i*p:(i+1)*p])
				if v := float64(s[a]); v > m || v != v {
					m = v
				}
			}
			if a := int(action[i]) - from; a >= 0 && a < n {
				own[i] = float64(s[a])
			}
			mean := sums[i*(q+p) : (i+1)*(q+p)]
			if m != top[i] {
				c := math.Exp(top[i] - m)
				total[i] *= c
				for t := range mean {
					mean[t] *= T(c)
				}
				top[i] = m
			}
			for a := range n {
				e := math.Exp(float64(s[a]) - m)
				total[i] += e
				if grad {
					z.add(from+a, T(e), mean[:q], mean[q:])
				}
			}
		}
	}
	for i := range rows {
		to := dst[i*(p+1) : (i+1)*(p+1)]
		to[0] = T(min(0, own[i]-top[i]-math.Log(total[i])))
		if grad {
			mean := sums[i*(q+p) : (i+1)*(q+p)]
			z.finish(to[1:], int(action[i]), 1/total[i], mean[:q], func(c int) T { return mean[q+int(z.sparse[c])] })
		}
	}
}

// finish writes z_a − c·sum to dst, given the sums of dense columns and those of the others, by
// their place.
func (z *Items[T]) finish(dst []T, a int, c float64, dense []T, sparse func(c int) T) {
	for t, j := range z.dense {
		dst[j] = T(float64(z.z[a*z.stride+t]) - c*float64(dense[t]))
	}
	for t, j := range z.sparse {
		dst[j] = T(-c * float64(sparse(t)))
	}
	for e := z.first[a]; e < z.first[a+1]; e++ {
		dst[z.sparse[z.col[e]]] += z.val[e]
	}
}

const (
	itemBlock = 192 // items at a time: their scores stay in the second cache; a multiple of 6
	itemRows  = 64  // rows at a time, a multiple of 16
	// A block's scores may be so far above the maximum that sums are relative to before they are rescaled.
	itemSlack = 16
)

// logProb32 is LogProb by vector kernels, of at most itemRows rows.
func logProb32(z *Items[float32], dst, u, action []float32, grad bool) {
	rows, q, p := len(action), len(z.dense), z.P
	w := (rows + 15) / 16 * 16
	ws, wide, cols := w|16, (w+5)/6*6, (q+15)/16*16
	ns := len(z.sparse)
	sizes := []int{w * q, ns * ws, (itemBlock+6)*ws + 16, wide * cols, ns * ws, w, w, w}
	n := 0
	for _, s := range sizes {
		n += s
	}
	mem, done := lend[float32](n)
	defer done()
	var parts [8][]float32
	for i, s := range sizes {
		parts[i], mem = mem[:s:s], mem[s:]
	}
	packed, across, s, sums, sparse, top, high, part := parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6], parts[7]
	simd.PackPanels32(packed, u, p, z.dense, w)
	clear(across)
	for c, j := range z.sparse {
		for i := range rows {
			across[c*ws+i] = u[i*p+int(j)]
		}
	}
	clear(s)
	clear(sums)
	clear(sparse)
	var total, own [itemRows]float64
	for from := 0; from < z.N; from += itemBlock {
		n := min(itemBlock, z.N-from)
		simd.ScoreTile32(s, ws, z.z[from*z.stride:], z.stride, packed, q, n, w)
		entries := z.first[from+n] > z.first[from]
		if entries {
			for a := range n {
				for e := z.first[from+a]; e < z.first[from+a+1]; e++ {
					simd.AddScaled32(s[a*ws:a*ws+w], across[int(z.col[e])*ws:], z.val[e])
				}
			}
		}
		for i, at := range action {
			if a := int(at) - from; a >= 0 && a < n {
				own[i] = float64(s[a*ws+i])
			}
		}
		simd.Fill(high, float32(math.Inf(-1)))
		simd.ColumnMax32(high, s, n, w, ws)
		if from == 0 {
			copy(top, high)
		}
		for i := range rows {
			if high[i] > top[i]+itemSlack {
				c := float32(math.Exp(float64(top[i]) - float64(high[i])))
				total[i] *= float64(c)
				simd.Affine(sums[i*cols:(i+1)*cols], sums[i*cols:(i+1)*cols], c, 0)
				for t := i; t < len(sparse); t += ws {
					sparse[t] *= c
				}
				top[i] = high[i]
			}
		}
		clear(part)
		simd.ColumnExp32(s, top, part, n, w, ws)
		for i := range rows {
			total[i] += float64(part[i])
		}
		if !grad {
			continue
		}
		simd.MeanTile32(sums, cols, s, ws, z.z[from*z.stride:], z.stride, n, w)
		if entries {
			for a := range n {
				for e := z.first[from+a]; e < z.first[from+a+1]; e++ {
					simd.AddScaled32(sparse[int(z.col[e])*ws:int(z.col[e])*ws+w], s[a*ws:], z.val[e])
				}
			}
		}
	}
	for i, at := range action {
		to := dst[i*(p+1) : (i+1)*(p+1)]
		to[0] = float32(min(0, own[i]-float64(top[i])-math.Log(total[i])))
		if grad {
			z.finish(to[1:], int(at), 1/total[i], sums[i*cols:i*cols+q], func(c int) float32 { return sparse[c*ws+i] })
		}
	}
}
