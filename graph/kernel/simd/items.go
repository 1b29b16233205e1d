package simd

// ScoreTile32 writes s_ai = z_a·u_i to s [rows×w], rows ws apart, for rows of z that are
// stride apart and vectors u_i [q] packed by [PackPanels32]. w is a multiple of 16. Z has
// 5 readable rows beyond the last, and so many rows of s are overwritten. The vector
// kernels must be on, as for the other functions of this file.
func ScoreTile32(s []float32, ws int, z []float32, stride int, u []float32, q, rows, w int) {
	for a := 0; a < rows; a += tileRows {
		for j := 0; j < w; j += tileCols {
			gemm6x16(&s[a*ws+j], ws, &z[a*stride], stride, 1, &u[j*q], tileCols, q, false)
		}
	}
}

// PackPanels32 packs rows i of u, n elements apart, taking the columns given, for ScoreTile32: w vectors
// in panels of 16, those beyond the rows of u 0.
func PackPanels32(dst, u []float32, n int, columns []int32, w int) {
	q, rows := len(columns), len(u)/n
	clear(dst[:q*w])
	for i := range rows {
		at := i/tileCols*tileCols*q + i%tileCols
		for t, c := range columns {
			dst[at+t*tileCols] = u[i*n+int(c)]
		}
	}
}

// MeanTile32 adds Σ_a p_ai z_a to row i of o [w×cols], for p [rows×w], rows ws apart, and rows of
// z that are stride apart. cols is a multiple of 16. Up to 5 rows of o beyond the
// last are overwritten, and as many elements beyond the last of p are read.
func MeanTile32(o []float32, cols int, p []float32, ws int, z []float32, stride, rows, w int) {
	for i := 0; i < w; i += tileRows {
		for j := 0; j < cols; j += tileCols {
			gemm6x16(&o[i*cols+j], cols, &p[i], 1, ws, &z[j], stride, rows, true)
		}
	}
}

// ColumnMax32 raises m [w] to the largest of each column of s [rows×w], rows ws apart. w is a
// multiple of 8.
func ColumnMax32(m, s []float32, rows, w, ws int) {
	_, _ = m[w-1], s[(rows-1)*ws+w-1]
	columnMax32(&m[0], &s[0], rows, w, ws)
}

// ColumnExp32 replaces each column of s [rows×w], rows ws apart, by exp(s − m), and adds it to
// sum [w]. w is a multiple of 8.
func ColumnExp32(s, m, sum []float32, rows, w, ws int) {
	_, _, _ = m[w-1], sum[w-1], s[(rows-1)*ws+w-1]
	columnExp32(&s[0], &m[0], &sum[0], rows, w, ws)
}

// AddScaled32 adds c·x to dst, whose number of elements is a multiple of 8.
func AddScaled32(dst, x []float32, c float32) {
	_ = x[len(dst)-1]
	axpy32(&dst[0], &x[0], len(dst), c)
}
