package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// What the kernels share.

// exp computes T = exp(X) in eight float32. N and R are scratch; X is spent.
//
//	n = round(x·log₂e),  r = x − n·ln 2,  eˣ = 2ⁿ⁻¹·2(1 + r + r²·P(r))
//
// with Cephes' polynomial P. The factor 2ⁿ⁻¹ is finite where the result is. It is 0, and so is
// the result, for n = −126, the least that the clamp leaves: no result is subnormal.
func exp(X, N, R, T Op) {
	VMOVUPS(expHigh, N)
	VMINPS(X, N, X)
	VMOVUPS(expLow, N)
	VMAXPS(X, N, X)
	VMULPS(expLog2e, X, N)
	VROUNDPS(Imm(0), N, N)
	VFNMADD231PS(expLn2Hi, N, X)
	VFNMADD231PS(expLn2Lo, N, X)
	VMOVUPS(expP0, T)
	VFMADD213PS(expP1, X, T)
	VFMADD213PS(expP2, X, T)
	VFMADD213PS(expP3, X, T)
	VFMADD213PS(expP4, X, T)
	VFMADD213PS(half, X, T)
	VMULPS(X, X, R)
	VFMADD213PS(X, R, T)
	VADDPS(expOne, T, T)
	VADDPS(T, T, T)
	VCVTPS2DQ(N, N)
	VPADDD(expBias, N, N)
	VPSLLD(Imm(23), N, N)
	VMULPS(N, T, T)
}

// tail loads into M the mask of the first n lanes, 0 ≤ n < 8. S is scratch.
func tail(n, S Register, M Op) {
	LEAQ(tailMask.Offset(32), S)
	NEGQ(n)
	VMOVUPS(Mem{Base: S, Index: n, Scale: 4}, M)
	NEGQ(n)
}

// zero4 clears four vectors.
func zero4(A, B, C, D Op) {
	VXORPS(A, A, A)
	VXORPS(B, B, B)
	VXORPS(C, C, C)
	VXORPS(D, D, D)
}

// load4 loads four vectors from P on.
func load4(P Register, A, B, C, D Op) {
	VMOVUPS(Mem{Base: P}, A)
	VMOVUPS(Mem{Base: P, Disp: 32}, B)
	VMOVUPS(Mem{Base: P, Disp: 64}, C)
	VMOVUPS(Mem{Base: P, Disp: 96}, D)
}

// store4 stores four vectors from o(P) on.
func store4(o int, P Register, A, B, C, D Op) {
	VMOVUPS(A, Mem{Base: P, Disp: o})
	VMOVUPS(B, Mem{Base: P, Disp: o + 32})
	VMOVUPS(C, Mem{Base: P, Disp: o + 64})
	VMOVUPS(D, Mem{Base: P, Disp: o + 96})
}

// hsum adds the lanes of Y0 into X0; X1 is scratch.
func hsum() {
	VEXTRACTF128(Imm(1), Y0, X1)
	VADDPS(X1, X0, X0)
	VMOVHLPS(X0, X0, X1)
	VADDPS(X1, X0, X0)
	VMOVSHDUP(X0, X1)
	VADDSS(X1, X0, X0)
}

// hmax is the maximum of y, whose lower half is x, in the first lane of x.
func hmax(y, x, scratch Op) {
	VEXTRACTF128(Imm(1), y, scratch)
	VMAXPS(scratch, x, x)
	VMOVHLPS(x, x, scratch)
	VMAXPS(scratch, x, x)
	VMOVSHDUP(x, scratch)
	VMAXSS(scratch, x, x)
}

// rows loads the arguments dst, x, rows and k of a kernel of rows of k columns.
func rows() {
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("rows"), R8)
	MOVQ(arg("k"), R9)
}

// columns loads into M the mask of the last columns of R8 rows of R9 columns
// at DI, those beyond whole vectors, into CX how many these are, and into R11 the
// last place for a vector.
func columns(M Op) {
	MOVQ(R9, RCX)
	ANDQ(Imm(7), RCX)
	tail(RCX, RAX, M)
	MOVQ(R8, R11)
	IMULQ(R9, R11)
	LEAQ(Mem{Base: RDI, Disp: -32, Index: R11, Scale: 4}, R11)
}

// put stores Y in the last columns of a row, which begin at P. Masked stores are
// slow: but for the last rows they are stored with what follows them, which the
// next rows overwrite.
func put(Y, M Op, P Register) {
	CMPQ(P, R11)
	JGT(LabelRef("masked"))
	VMOVUPS(Y, Mem{Base: P})
	JMP(LabelRef("next"))
	Label("masked")
	VMASKMOVPS(Y, M, Mem{Base: P})
	Label("next")
}

// arg is where an argument or the result, "ret", is in memory.
func arg(name string) Mem {
	var c gotypes.Component = Param(name)
	if name == "ret" {
		c = ReturnIndex(0)
	}
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}
