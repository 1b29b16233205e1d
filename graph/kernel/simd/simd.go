// Package simd holds vector kernels with a pure Go path beside each. The kernels for amd64 are in
// assembly that go generate writes, by the module in _asm; those for arm64, products, by hand;
// which of them run is said by one table, routine by routine. On other processors the same routines
// are in Go. Use it through package kernel or graph, which choose between its paths; call it to add
// a kernel.
package simd

//go:generate go -C _asm run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg simd

import "unsafe"

// Float is the type of elements. Vector kernels are for float32, but for those of
// the quadrature.
type Float interface{ ~float32 | ~float64 }

// A routine is a row of the table of kernels.
type routine int

const (
	kAdd routine = iota
	kSub
	kMul
	kDiv
	kAffine
	kAtLeast
	kAbove
	kAbs
	kSign
	kExp
	kAcross
	kRepeat
	kAddRows
	kRowSums
	kSum
	kFinite
	kNarrow
	kBytes
	kPlaces
	kSoftmax
	kSoftmaxGrad
	kLogSoftmax
	kAdam
	kPool
	kUnpool
	kWindows
	kProducts
	kGemm
	kSparse
	kPanels
	kScatter
	kItems
	kRows
	kStrata
	kScramble
	kNormal
	kHazards32
	kDots32
	kPulls32
	kHazards64
	kDots64
	kPulls64
	kLog1p
	routines
)

// An isa is the instructions that a kernel is written in; each includes those before it.
type isa int

const (
	plain isa = iota // Go
	avx2             // with FMA
	avx512
)

// level says what each routine runs on: the best that it is written in and the processor has.
var level = upTo(processor)

// upTo is the table for a processor with so much.
func upTo(most isa) (t [routines]isa) {
	for r := range t {
		for _, v := range written[r] {
			if v <= most {
				t[r] = max(t[r], v)
			}
		}
	}
	return t
}

// has reports whether a routine has a vector kernel here.
func has(r routine) bool { return level[r] > plain }

// Vector reports whether the kernels are in use of which this package has no Go path: products of
// matrices and items.
func Vector() bool { return has(kGemm) && has(kSparse) && has(kItems) }

// Use turns the vector kernels on or off for tests; it reports whether they
// were on. Where the processor has none they stay off. Not for concurrent use.
func Use(on bool) bool {
	was := level != [routines]isa{}
	level = [routines]isa{}
	if on {
		level = upTo(processor)
	}
	return was
}

// vector reports whether a vector kernel is to compute on x.
func vector[T Float](r routine, x []T) bool {
	var z T
	return has(r) && len(x) > 0 && unsafe.Sizeof(z) == 4
}

// at returns where the elements of x are, which are float32.
func at[T Float](x []T) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }

// after returns where the element n places after p is.
func after[T any](p *T, n int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), n*int(unsafe.Sizeof(*p))))
}

// Prefetch asks memory for x, which will be read soon; it changes nothing.
func Prefetch[T any](x []T) {
	if n := len(x) * int(unsafe.Sizeof(*new(T))); n > 0 {
		prefetch((*uint8)(unsafe.Pointer(unsafe.SliceData(x))), n)
	}
}
