package simd

//go:noescape
func add32(dst, x, y *float32, n int)

//go:noescape
func sub32(dst, x, y *float32, n int)

//go:noescape
func mul32(dst, x, y *float32, n int)

//go:noescape
func div32(dst, x, y *float32, n int)

//go:noescape
func scale32(dst, x *float32, n int, c, d float32)

//go:noescape
func affine32(dst, x *float32, n int, c, d float32)

//go:noescape
func atLeast32(dst, x *float32, n int, c, d float32)

//go:noescape
func abs32(dst, x *float32, n int, c, d float32)

//go:noescape
func fill32(dst *float32, n int, c float32)

//go:noescape
func across32(dst, x *float32, rows, k int)

//go:noescape
func rowSums32(dst, x *float32, rows, k int)

//go:noescape
func sum32(x *float32, n int) float64

//go:noescape
func finite32(x *float32, n int) bool

//go:noescape
func repeat32(dst, x *float32, rows, k, s, left int)

//go:noescape
func sumRows32(dst, x *float32, rows, k int)

//go:noescape
func narrow32(dst *float32, x *float64, n int)
