// Command asm writes the vector kernels of package simd; go generate there runs it.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!purego")
	elementwise()
	adam32()
	softmax32()
	softmaxGrad32()
	pool32()
	unpool32()
	products32()
	gemm6x16()
	transpose8()
	spmm64()
	spmm16()
	compress32()
	columnMax32()
	columnExp32()
	axpy32()
	strataKeys()
	sortLanes()
	strataPoints()
	scramble32()
	normal32()
	hazards32()
	dots32()
	pulls32()
	hazards64()
	dots64()
	pulls64()
	log1p64()
	gemm12x16()
	hazards32x16()
	pulls32x16()
	Generate()
}
