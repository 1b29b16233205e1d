//go:build !amd64 || purego

package simd

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// The kernels in Go, for processors without them: an extension then needs only the routines that it
// is written for, and its row of the table. Where the package has a Go path, that is the body.

func of[T any](p *T, n int) []T { return unsafe.Slice(p, n) }

func add32(dst, x, y *float32, n int)                  { Add(of(dst, n), of(x, n), of(y, n)) }
func sub32(dst, x, y *float32, n int)                  { Sub(of(dst, n), of(x, n), of(y, n)) }
func mul32(dst, x, y *float32, n int)                  { Mul(of(dst, n), of(x, n), of(y, n)) }
func div32(dst, x, y *float32, n int)                  { Div(of(dst, n), of(x, n), of(y, n)) }
func scale32(dst, x *float32, n int, c, d float32)     { Affine(of(dst, n), of(x, n), c, 0) }
func affine32(dst, x *float32, n int, c, d float32)    { Affine(of(dst, n), of(x, n), c, d) }
func atLeast32(dst, x *float32, n int, c, d float32)   { AtLeast(of(dst, n), of(x, n), c) }
func above32(dst, x *float32, n int, c, d float32)     { Above(of(dst, n), of(x, n), float64(c)) }
func abs32(dst, x *float32, n int, c, d float32)       { Abs(of(dst, n), of(x, n)) }
func sign32(dst, x *float32, n int, c, d float32)      { Sign(of(dst, n), of(x, n)) }
func exp32(dst, x *float32, n int, c, d float32)       { Exp32(of(dst, n), of(x, n)) }
func across32(dst, x *float32, rows, k int)            { Across(of(dst, rows*k), of(x, rows), k) }
func sumRows32(dst, x *float32, rows, k int)           { AddRows(of(dst, k), of(x, rows*k)) }
func rowSums32(dst, x *float32, rows, k int)           { RowSums(of(dst, rows), of(x, rows*k), k) }
func sum32(x *float32, n int) float64                  { return Sum(of(x, n)) }
func finite32(x *float32, n int) bool                  { return NonFinite(of(x, n)) < 0 }
func narrow32(dst *float32, x *float64, n int)         { Narrow32(of(dst, n), of(x, n)) }
func bytes32(dst *float32, x *uint8, n int, c float64) { Bytes32(of(dst, n), of(x, n), c) }
func bytes64(dst *float64, x *uint8, n int, c float64) { Bytes64(of(dst, n), of(x, n), c) }
func prefetch(*uint8, int)                             {}

func repeat32(dst, x *float32, rows, k, s, left int) {
	Repeat(of(dst, rows*k), of(x, ((s-left+rows-1)/s+1)*k), k, s, s-left)
}

func repeat32x16(dst, x *float32, rows, k, s, left int) { repeat32(dst, x, rows, k, s, left) }

func softmaxGrad32x16(dst, y, dy *float32, rows, k int) { softmaxGrad32(dst, y, dy, rows, k) }

func less32(dst, x *float32, n int, c, d float32) {
	to := of(dst, n)
	for i, v := range of(x, n) {
		to[i] = v - c - d
	}
}

func logSums32(dst, x *float32, rows, k int) {
	to := of(dst, 2*rows)
	for i := range rows {
		row := of(after(x, i*k), k)
		m, sum, bad, first := slices.Max(row), 0.0, float32(0), true
		for _, v := range row {
			if bad += v - v; v == m && first {
				first = false
				continue
			}
			sum += math.Exp(float64(v - m))
		}
		to[2*i], to[2*i+1] = m+bad, float32(sum)
	}
}

func softmax32(dst, x *float32, rows, k int) int {
	for i := range rows {
		from, to := of(after(x, i*k), k), of(after(dst, i*k), k)
		m := float32(math.Inf(-1))
		for _, v := range from {
			m = max(m, v)
		}
		if m-m != 0 {
			return i
		}
		Affine(to, from, 1, -m)
		Exp32(to, to)
		sum := float32(Sum(to))
		for j, e := range to {
			if to[j] = e / sum; e < 0x1p-126*sum {
				to[j] = 0
			}
		}
	}
	return rows
}

func softmaxGrad32(dst, y, dy *float32, rows, k int) {
	SoftmaxGrad(of(dst, rows*k), of(y, rows*k), of(dy, rows*k), k)
}

func adam32(x, d, m, v *float32, n int, c *[8]float32) {
	Adam32(*(*AdamStep)(unsafe.Pointer(c)), of(x, n), of(d, n), of(m, n), of(v, n))
}

func adam32x16(x, d, m, v *float32, n int, c *[8]float32) { adam32(x, d, m, v, n, c) }

func pool32(dst, x *float32, row, c, n int) { Pool2(of(dst, n*c), of(x, row+2*n*c), row, c) }

func unpool32(dst, x, grad *float32, row, c, n int) {
	Unpool2(of(dst, row+2*n*c), of(x, row+2*n*c), of(grad, n*c), row, c)
}

func products32(dst *float64, z *float32, by *float64, n, panels int) {
	AddProducts(of(dst, panels*Abreast), of(z, panels*Abreast*n), of(by, n))
}

func rows64(dst, w, by *float64, n, columns int) {
	AddRowsTimes(of(dst, columns), of(w, n*columns), of(by, n))
}

func transpose8(dst *float32, ldd int, src *float32, lds int, n int) {
	for r := range 8 {
		for t, v := range of(after(src, r*lds), n) {
			*after(dst, t*ldd+r) = v
		}
	}
}

func compress32(val *float32, idx *int32, x *float32, n int, lanes *[256][8]uint8) int {
	m := 0
	for j, v := range of(x, n) {
		if v != 0 {
			*after(val, m), *after(idx, m) = v, int32(j)
			m++
		}
	}
	return m
}

func spmm32(dst *float32, rows int, ptr, idx *int32, val, p *float32) {
	multiply(dst, 32, false, rows, ptr, idx, val, p)
}

func spmm48(dst *float32, rows int, ptr, idx *int32, val, p *float32) {
	multiply(dst, 48, false, rows, ptr, idx, val, p)
}

func spmm16x16(dst *float32, rows int, ptr, idx *int32, val, p *float32) {
	multiply(dst, 16, false, rows, ptr, idx, val, p)
}

func spmm32x16(dst *float32, rows int, ptr, idx *int32, val, p *float32) {
	multiply(dst, 32, false, rows, ptr, idx, val, p)
}

func spmm48x16(dst *float32, rows int, ptr, idx *int32, val, p *float32) {
	multiply(dst, 48, false, rows, ptr, idx, val, p)
}

func spmm64x16(dst *float32, rows int, ptr, idx *int32, val, p *float32) {
	multiply(dst, 64, false, rows, ptr, idx, val, p)
}

func spmmAdd64x16(dst *float32, rows int, ptr, idx *int32, val, p *float32) {
	multiply(dst, 64, true, rows, ptr, idx, val, p)
}

// multiply writes rows of a sparse matrix times p, of w columns, or adds them.
func multiply(dst *float32, w int, add bool, rows int, ptr, idx *int32, val, p *float32) {
	for r, ends := range of((*[2]int32)(unsafe.Pointer(ptr)), rows) {
		to := of(after(dst, r*w), w)
		if !add {
			clear(to)
		}
		for e := ends[0]; e < ends[1]; e++ {
			v := *after(val, int(e))
			for j, x := range of(after(p, int(*after(idx, int(e)))*w), w) {
				to[j] += v * x
			}
		}
	}
}

func scatter16(dst *float32, rows int, ptr, idx *int32, val, a *float32, lda, w int) {
	for r, ends := range of((*[2]int32)(unsafe.Pointer(ptr)), rows) {
		for e := ends[0]; e < ends[1]; e++ {
			v := *after(val, int(e))
			to := of(after(dst, int(*after(idx, int(e)))*tileCols), tileCols)
			for j, x := range of(after(a, r*lda), w) {
				to[j] += v * x
			}
		}
	}
}

func scatter16x16(dst *float32, rows int, ptr, idx *int32, val, a *float32, lda, w int) {
	scatter16(dst, rows, ptr, idx, val, a, lda, w)
}

func places32(at *int32, set *uint8, n int, lanes *[256][8]uint8) int {
	return Places(of(at, 8*n), of(set, n))
}

func most32(x *int32, n int) (most uint32) {
	for _, v := range of(x, n) {
		most = max(most, uint32(v))
	}
	return most
}

func add32x16(dst, x, y *float32, n int) { add32(dst, x, y, n) }

func sub32x16(dst, x, y *float32, n int) { sub32(dst, x, y, n) }

func mul32x16(dst, x, y *float32, n int) { mul32(dst, x, y, n) }

func div32x16(dst, x, y *float32, n int) { div32(dst, x, y, n) }

func scale32x16(dst, x *float32, n int, c, d float32) { scale32(dst, x, n, c, d) }

func atLeast32x16(dst, x *float32, n int, c, d float32) { atLeast32(dst, x, n, c, d) }

func above32x16(dst, x *float32, n int, c, d float32) { above32(dst, x, n, c, d) }

func abs32x16(dst, x *float32, n int, c, d float32) { abs32(dst, x, n, c, d) }

func less32x16(dst, x *float32, n int, c, d float32) { less32(dst, x, n, c, d) }

func exp32x16(dst, x *float32, n int, c, d float32) { exp32(dst, x, n, c, d) }

func softmax32x16(dst, x *float32, rows, k int) int { return softmax32(dst, x, rows, k) }

func logSums32x16(dst, x *float32, rows, k int) { logSums32(dst, x, rows, k) }

func below32(dst, x *int32, n, step, bounds int) {
	for b := range bounds {
		k, _ := slices.BinarySearch(of(x, n), int32((b+1)*step))
		*after(dst, b) = int32(k)
	}
}

func tally32(counts, x *int32, n int) {
	for _, j := range of(x, n) {
		*after(counts, int(j))++
	}
}

func deal32(val *float32, idx, next *int32, from *float32, x *int32, n, row int) {
	for e, j := range of(x, n) {
		to := after(next, int(j))
		*after(val, int(*to)), *after(idx, int(*to)) = *after(from, e), int32(row)
		*to++
	}
}

func columnMax32(m, s *float32, rows, w, ws int) {
	for i := range rows {
		for j, v := range of(after(s, i*ws), w) {
			to := after(m, j)
			*to = max(*to, v)
		}
	}
}

func columnExp32(s, m, sum *float32, rows, w, ws int) {
	for i := range rows {
		x := of(after(s, i*ws), w)
		Sub(x, x, of(m, w))
		Exp32(x, x)
		Add(of(sum, w), of(sum, w), x)
	}
}

func axpy32(dst, x *float32, n int, c float32) {
	for i, v := range of(x, n) {
		*after(dst, i) += c * v
	}
}

func strataKeys(buf *uint32, n int, key uint64, counter, step, mask uint32) {
	for i := range of(buf, n*Lanes) {
		draw, lane := i/Lanes, i%Lanes
		*after(buf, i) = hash(key, counter+uint32(draw)*step+uint32(lane))&^mask | uint32(draw)
	}
}

func sortLanes(buf *uint32, pairs *uint32, n int) {
	for _, p := range of((*[2]uint32)(unsafe.Pointer(pairs)), n) {
		for l := range Lanes {
			a, b := after(buf, int(p[0]/4)+l), after(buf, int(p[1]/4)+l)
			*a, *b = min(*a, *b), max(*a, *b)
		}
	}
}

func strataPoints(dst *uint32, stride int, buf *uint32, n int, key uint64, counter, step, mask, width uint32) {
	for i, v := range of(buf, n*Lanes) {
		draw, lane := i/Lanes, i%Lanes
		high, _ := bits.Mul32(hash(key, counter+uint32(draw)*step+uint32(lane)), width)
		*after(dst, draw*stride+lane) = v&mask*width + high
	}
}

func scramble32(dst, points *uint32, n int, seeds, shifts *uint32, period int) {
	Scramble(of(dst, n), of(points, n), of(seeds, period), of(shifts, period))
}

func normal32(dst *float32, x *uint32, n int) { Normal32(of(dst, n), of(x, n)) }

func normal32x16(dst *float32, x *uint32, n int) { normal32(dst, x, n) }

func hazards32(r, p, all, table *float32, plane int, at *int32, delta, up *float32, k int) {
	Hazards32(of(r, k*Lanes32), of(p, Lanes32), of(all, Lanes32), reach(table, plane, Planes32, Lanes32, at, k), plane, of(at, k), of(delta, k), of(up, k))
}

func hazards64(r, p, all, table *float64, plane int, at *int32, delta, up *float64, k int) {
	Hazards64(of(r, k*Lanes64), of(p, Lanes64), of(all, Lanes64), reach(table, plane, Planes64, Lanes64, at, k), plane, of(at, k), of(delta, k), of(up, k))
}

// reach is what of a table the actions need.
func reach[T any](table *T, plane, planes, lanes int, at *int32, k int) []T {
	most := int32(0)
	for _, o := range of(at, k) {
		most = max(most, o)
	}
	return of(table, int(most)+(planes-1)*plane+lanes)
}

func dots32(dst, r, p *float32, k int) { dots(of(dst, k), of(r, k*Lanes32), of(p, Lanes32)) }

func dots64(dst, r, p *float64, k int) { dots(of(dst, k), of(r, k*Lanes64), of(p, Lanes64)) }

func pulls32(dst, r, p, all, t, gap, up *float32, k int) {
	Pulls32(of(dst, k), of(r, k*Lanes32), of(p, Lanes32), of(all, Lanes32), of(t, Lanes32), of(gap, k), of(up, k))
}

func pulls64(dst, r, p, all, t, gap, up *float64, k int) {
	Pulls64(of(dst, k), of(r, k*Lanes64), of(p, Lanes64), of(all, Lanes64), of(t, Lanes64), of(gap, k), of(up, k))
}

func gemm12x16(c *float32, ldc int, a *float32, second, ars, acs int, b *float32, ldb, k int, add bool) {
	gemm6x16(c, ldc, a, ars, acs, b, ldb, k, add)
	gemm6x16(after(c, tileRows*ldc), ldc, after(a, second), ars, acs, b, ldb, k, add)
}

func gemm12x32(c *float32, ldc int, a *float32, second, ars, acs int, b *float32, ldb, k int, add bool) {
	gemm12x16(c, ldc, a, second, ars, acs, b, ldb, k, add)
	gemm12x16(after(c, tileCols), ldc, a, second, ars, acs, after(b, tileCols), ldb, k, add)
}

func hazards32x16(r, p, all, table *float32, plane int, at *int32, delta, up *float32, k int) {
	hazards32(r, p, all, table, plane, at, delta, up, k)
}

func pulls32x16(dst, r, p, all, t, gap, up *float32, k int) { pulls32(dst, r, p, all, t, gap, up, k) }

func log1p64(dst, x *float64, n int) { Log1p(of(dst, n), of(x, n)) }

func rows4x16(c *float32, rows **float32, at int, b *float32, k int, add bool) {
	rowsOf(4, c, rows, at, b, k, add)
}

func rows8x16(c *float32, rows **float32, at int, b *float32, k int, add bool) {
	rowsOf(rowsBlock, c, rows, at, b, k, add)
}

func rows8x32(c *float32, rows **float32, at int, b *float32, second, k int, add bool) {
	rowsOf(rowsBlock, c, rows, at, b, k, add)
	rowsOf(rowsBlock, after(c, rowsBlock*rowsPanel), rows, at, after(b, second), k, add)
}

func rowsOf(n int, c *float32, rows **float32, at int, b *float32, k int, add bool) {
	for r, row := range of(rows, n) {
		var sum [rowsPanel]float32
		for t, v := range of(after(row, at), k) {
			for j, w := range of(after(b, t*rowsPanel), rowsPanel) {
				sum[j] += v * w
			}
		}
		for j, to := 0, of(after(c, r*rowsPanel), rowsPanel); j < rowsPanel; j++ {
			if !add {
				to[j] = 0
			}
			to[j] += sum[j]
		}
	}
}

func addRows16(dst *float32, ldd int, rows **float32, at, columns int, by *float32, n, groups int, add bool, keep *float32) {
	for k := range rowsFive * groups {
		to := of(after(dst, k*ldd), columns)
		if !add {
			clear(to)
		}
		for r, row := range of(rows, n) {
			v := *after(by, k/rowsFive*rowsFive*n+rowsFive*r+k%rowsFive)
			for j, w := range of(after(row, at), columns) {
				to[j] += v * w
			}
		}
	}
	if keep != nil {
		for r, row := range of(rows, n) {
			copy(of(after(keep, r*rowsKept), columns), of(after(row, at), columns))
		}
	}
}

func addRows64(dst *float32, ldd int, rows **float32, at, columns int, by *float32, n, groups int, add bool, keep *float32) {
	addRows16(dst, ldd, rows, at, columns, by, n, groups, add, keep)
}

func windows6x16(c *float32, ldc int, a *float32, row, step, run int, b *float32, ldb, jump, k, runs, tiles, atile, ctile, rows int, add bool) {
	const size = 4
	w := Windows{Rows: rows, CRow: ldc / size, Runs: runs, Len: k, Row: row / size, Run: (run + k*step) / size, Step: step / size,
		BRun: (jump + k*ldb) / size, BRow: ldb / size, Tiles: tiles, ATile: atile / size, CTile: ctile / size}
	w.slow(of(c, (tiles-1)*w.CTile+(rows-1)*w.CRow+16), of(a, (tiles-1)*w.ATile+(rows-1)*w.Row+(runs-1)*w.Run+(k-1)*w.Step+1),
		of(b, (runs-1)*w.BRun+(k-1)*w.BRow+16), 0, rows, add)
}

func windows12x16(c *float32, ldc int, a *float32, row, step, run int, b *float32, ldb, jump, k, runs, tiles, atile, ctile, rows int, add bool) {
	windows6x16(c, ldc, a, row, step, run, b, ldb, jump, k, runs, tiles, atile, ctile, rows, add)
}

func windows12x32(c *float32, ldc int, a *float32, row, step, run int, b *float32, ldb, jump, k, runs, tiles, atile, ctile, rows int, add bool) {
	for j := 0; j < 32; j += 16 {
		windows6x16(after(c, j), ldc, a, row, step, run, after(b, j), ldb, jump, k, runs, tiles, atile, ctile, rows, add)
	}
}
