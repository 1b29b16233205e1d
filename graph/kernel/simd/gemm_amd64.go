package simd

//go:noescape
func gemm6x16(c *float32, ldc int, a *float32, ars, acs int, b *float32, k int, add bool)

//go:noescape
func transpose8(dst *float32, ldd int, src *float32, lds int, n int)

//go:noescape
func spmm64(dst *float32, rows int, ptr, idx *int32, val, p *float32)

//go:noescape
func spmm16(dst *float32, rows int, ptr, idx *int32, val, p *float32)

//go:noescape
func compress32(val *float32, idx *int32, x *float32, n int) int

// compressTable has, for each set of lanes of eight, their numbers in order.
var compressTable = newCompressTable()

func newCompressTable() (t [256][8]uint8) {
	for set := range t {
		n := 0
		for lane := range uint8(8) {
			if set>>lane&1 == 1 {
				t[set][n] = lane
				n++
			}
		}
	}
	return t
}
