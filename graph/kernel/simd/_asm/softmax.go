package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// vectors goes through the whole vectors of a row, R10 elements.
func vectors(loop, end string, F func()) {
	XORQ(RDX, RDX)
	through(loop, end, 8, R10, F)
}

// through goes through vectors of a row from RDX on.
func through(loop, end string, lanes uint64, n GPPhysical, F func()) {
	CMPQ(RDX, n)
	JGE(LabelRef(end))
	Label(loop)
	F()
	ADDQ(Imm(lanes), RDX)
	CMPQ(RDX, n)
	JLT(LabelRef(loop))
	Label(end)
}

// pairs goes through the whole vectors of a row, two at a time by Z where wide, the rest by F. What is added up is in
// the order of F. Z9 is what X9 is in every lane.
func pairs(wide bool, Z, F func()) {
	XORQ(RDX, RDX)
	if wide {
		VBROADCASTSS(X9, Z9)
		MOVQ(R10, R12)
		ANDQ(I8(-16), R12)
		through("pairLoop", "pairRest", 16, R12, Z)
	}
	through("expLoop", "expRest", 8, R10, F)
}

// addHalves adds the halves of Z3 to Y10.
func addHalves() {
	VADDPS(Y3, Y10, Y10)
	VEXTRACTF64X4(Imm(1), Z3, Y3)
	VADDPS(Y3, Y10, Y10)
}

func maximum() {
	VMAXPS(Mem{Base: RSI, Index: RDX, Scale: 4}, Y0, Y0)
}

// rowMaximum is that of the row in Y9, with −Inf in Y8 and the mask of the last columns in Y7.
func rowMaximum() {
	VMOVUPS(Y8, Y0)
	vectors("maxLoop", "maxRest", maximum)
	VMASKMOVPS(Mem{Base: RSI, Index: R10, Scale: 4}, Y7, Y1)
	VBLENDVPS(Y7, Y1, Y8, Y1)
	VMAXPS(Y1, Y0, Y0)
	hmax(Y0, X0, X1)
	VBROADCASTSS(X0, Y9)
}

func expsum() {
	VMOVUPS(Mem{Base: RSI, Index: RDX, Scale: 4}, Y0)
	VSUBPS(Y9, Y0, Y0)
	exp(Y0, Y1, Y2, Y3)
	VMOVUPS(Y3, Mem{Base: RDI, Index: RDX, Scale: 4})
	VADDPS(Y3, Y10, Y10)
}

// scaleRow multiplies by Y0, 0 in place of what is below Y9 = 2⁻¹²⁶/Y0.
func scaleRow() {
	VMOVUPS(Mem{Base: RDI, Index: RDX, Scale: 4}, Y1)
	VCMPPS(Imm(0x15), Y9, Y1, Y2)
	VANDPS(Y2, Y1, Y1)
	VMULPS(Y1, Y0, Y1)
	VMOVUPS(Y1, Mem{Base: RDI, Index: RDX, Scale: 4})
}

// It returns the number of rows done; the next one has a maximum that is not
// finite. Y7 holds the mask of the last k mod 8 columns, Y8 −Inf. dst must not be
// x, see put.
func softmax32(name string, wide bool) {
	TEXT(name, NOSPLIT, "func(dst, x *float32, rows, k int) int")
	Pragma("noescape")
	rows()
	columns(Y7)
	VMOVUPS(minusInf, Y8)
	MOVQ(R9, R10)
	ANDQ(I8(-8), R10) // whole vectors of a row, in elements
	if wide {
		CMPQ(R9, Imm(16))
		JLE(LabelRef("narrow"))
	}

	Label("row")
	rowMaximum()

	// exp(x − max), and its sum.
	VXORPS(Y10, Y10, Y10)
	pairs(wide, func() {
		VMOVUPS(Mem{Base: RSI, Index: RDX, Scale: 4}, Z0)
		VSUBPS(Z9, Z0, Z0)
		expZ(Z0, Z1, Z2, Z3)
		VMOVUPS(Z3, Mem{Base: RDI, Index: RDX, Scale: 4})
		addHalves()
	}, expsum)
	TESTQ(RCX, RCX)
	JZ(LabelRef("sum"))
	VMASKMOVPS(Mem{Base: RSI, Index: R10, Scale: 4}, Y7, Y0)
	VSUBPS(Y9, Y0, Y0)
	exp(Y0, Y1, Y2, Y3)
	VANDPS(Y3, Y7, Y11)
	VADDPS(Y11, Y10, Y10)
	Label("sum")
	VMOVAPS(Y10, Y0)
	hsum()
	VUCOMISS(X0, X0)
	JPS(LabelRef("done")) // NaN
	VMOVSS(expOne, X1)
	VMULSS(least, X0, X9)
	VBROADCASTSS(X9, Y9)
	VDIVSS(X0, X1, X0)
	VBROADCASTSS(X0, Y0)
	vectors("scaleLoop", "scaleRest", scaleRow)
	TESTQ(RCX, RCX)
	JZ(LabelRef("next"))
	VCMPPS(Imm(0x15), Y9, Y11, Y2)
	VANDPS(Y2, Y11, Y11)
	VMULPS(Y11, Y0, Y1)
	LEAQ(Mem{Base: RDI, Index: R10, Scale: 4}, RDX)
	put(Y1, Y7, RDX)
	LEAQ(Mem{Base: RSI, Index: R9, Scale: 4}, RSI)
	LEAQ(Mem{Base: RDI, Index: R9, Scale: 4}, RDI)
	DECQ(R8)
	JNZ(LabelRef("row"))
	Label("done")
	MOVQ(arg("rows"), RAX)
	SUBQ(R8, RAX)
	MOVQ(RAX, arg("ret"))
	VZEROUPPER()
	RET()
	if wide {
		narrowSoftmax()
	}
}

// narrowSoftmax is softmax32 of at most sixteen columns, which one vector has.
func narrowSoftmax() {
	Label("narrow")
	MOVQ(R9, RCX)
	firstLanes()
	VBROADCASTSS(minusInf, Z8)
	VMOVSS(expOne, X13)
	Label("narrowRow")
	VMOVUPS_Z(Mem{Base: RSI}, K1, Z0)
	VBLENDMPS(Z0, Z8, K1, Z4)
	VEXTRACTF64X4(Imm(1), Z4, Y5)
	VMAXPS(Y5, Y4, Y4)
	hmax(Y4, X4, X5)
	VBROADCASTSS(X4, Z4)
	VSUBPS(Z4, Z0, Z0)
	expZ(Z0, Z1, Z2, Z3)
	VMOVAPS_Z(Z3, K1, Z3)
	VEXTRACTF64X4(Imm(1), Z3, Y0)
	VADDPS(Y0, Y3, Y0)
	hsum()
	VUCOMISS(X0, X0)
	JPS(LabelRef("done")) // NaN
	VMULSS(least, X0, X4)
	VBROADCASTSS(X4, Z4)
	VDIVSS(X0, X13, X0)
	VBROADCASTSS(X0, Z0)
	VCMPPS(Imm(0x15), Z4, Z3, K2)
	VMULPS_Z(Z0, Z3, K2, Z3)
	VMOVUPS(Z3, K1, Mem{Base: RDI})
	LEAQ(Mem{Base: RSI, Index: R9, Scale: 4}, RSI)
	LEAQ(Mem{Base: RDI, Index: R9, Scale: 4}, RDI)
	DECQ(R8)
	JNZ(LabelRef("narrowRow"))
	JMP(LabelRef("done"))
}

// tailSum adds up exp(x − max) of the X < max in Y10, how many are the maximum in Y13, and NaN for what is not finite in Y11.
func tailSum(mask func(Op)) {
	VSUBPS(Y0, Y0, Y1)
	mask(Y1)
	VORPS(Y1, Y11, Y11)
	VCMPPS(Imm(0), Y9, Y0, Y12)
	mask(Y12)
	VPSUBD(Y12, Y13, Y13)
	VSUBPS(Y9, Y0, Y0)
	exp(Y0, Y1, Y2, Y3)
	mask(Y3)
	VANDNPS(Y3, Y12, Y3)
	VADDPS(Y3, Y10, Y10)
}

// dst[2i] = the maximum m of row i, NaN if an entry is not finite, dst[2i + 1] = Σ exp(x − m) over all entries but one that reaches it.
func logSums32(name string, wide bool) {
	TEXT(name, NOSPLIT, "func(dst, x *float32, rows, k int)")
	Pragma("noescape")
	rows()
	MOVQ(R9, RCX)
	ANDQ(Imm(7), RCX)
	tail(RCX, RAX, Y7)
	VMOVUPS(minusInf, Y8)
	MOVQ(R9, R10)
	ANDQ(I8(-8), R10) // whole vectors of a row, in elements

	Label("row")
	rowMaximum()

	VXORPS(Y10, Y10, Y10)
	VXORPS(Y11, Y11, Y11)
	VPXOR(Y13, Y13, Y13)
	if wide {
		XORL(R13.As32(), R13.As32()) // how many more are the maximum
	}
	pairs(wide, func() {
		VMOVUPS(Mem{Base: RSI, Index: RDX, Scale: 4}, Z0)
		VSUBPS(Z0, Z0, Z1)
		VEXTRACTF64X4(Imm(1), Z1, Y2)
		VORPS(Y1, Y11, Y11)
		VORPS(Y2, Y11, Y11)
		VCMPPS(Imm(0), Z9, Z0, K1)
		KMOVW(K1, EAX)
		POPCNTL(EAX, EAX)
		ADDL(EAX, R13.As32())
		KNOTW(K1, K1)
		VSUBPS(Z9, Z0, Z0)
		expZ(Z0, Z1, Z2, Z3)
		VMOVAPS_Z(Z3, K1, Z3)
		addHalves()
	}, func() {
		VMOVUPS(Mem{Base: RSI, Index: RDX, Scale: 4}, Y0)
		tailSum(func(Op) {})
	})
	TESTQ(RCX, RCX)
	JZ(LabelRef("sum"))
	VMASKMOVPS(Mem{Base: RSI, Index: R10, Scale: 4}, Y7, Y0)
	tailSum(func(Y Op) { VANDPS(Y7, Y, Y) })
	Label("sum")
	VMOVAPS(Y11, Y0)
	hsum()
	VADDSS(X0, X9, X0)
	VMOVSS(X0, Mem{Base: RDI})
	if wide {
		VMOVD(R13.As32(), X1)
		VPADDD(Y1, Y13, Y13)
	}
	VCVTDQ2PS(Y13, Y0)
	hsum()
	VSUBSS(expOne, X0, X13)
	VMOVAPS(Y10, Y0)
	hsum()
	VADDSS(X13, X0, X0)
	VMOVSS(X0, Mem{Base: RDI, Disp: 4})
	ADDQ(Imm(8), RDI)
	LEAQ(Mem{Base: RSI, Index: R9, Scale: 4}, RSI)
	DECQ(R8)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

func dotRow() {
	VMOVUPS(Mem{Base: RSI, Index: RDX, Scale: 4}, Y1)
	VCMPPS(Imm(0x15), Y8, Y1, Y2)
	VANDPS(Y2, Y1, Y1)
	VFMADD231PS(Mem{Base: RBX, Index: RDX, Scale: 4}, Y1, Y0)
}

// product multiplies D by Y ≥ 0, 0 in place of what might be subnormal: where |D| is less than the
// number whose bits are those of 2, in Y9, less those of Y, at least 2⁻¹²⁶/Y. T and U are scratch, Y10 is
// the mask of |D|.
func product(Y, D, T, U Op) {
	VPSUBD(Y, Y9, T)
	VANDPS(Y10, D, U)
	VCMPPS(Imm(0x15), T, U, U)
	VANDPS(U, D, D)
	VMULPS(Y, D, D)
}

func pullRow() {
	VMOVUPS(Mem{Base: RBX, Index: RDX, Scale: 4}, Y1)
	VMOVUPS(Mem{Base: RSI, Index: RDX, Scale: 4}, Y2)
	VSUBPS(Y0, Y1, Y1)
	product(Y2, Y1, Y3, Y4)
	VMOVUPS(Y1, Mem{Base: RDI, Index: RDX, Scale: 4})
}

// softmaxGrad32x16 is softmaxGrad32 of more than eight columns and less than sixteen, which one vector has.
func softmaxGrad32x16() {
	TEXT("softmaxGrad32x16", NOSPLIT, "func(dst, y, dy *float32, rows, k int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("y"), RSI)
	MOVQ(arg("dy"), RBX)
	MOVQ(arg("rows"), R8)
	MOVQ(arg("k"), R9)
	MOVQ(R9, RCX)
	firstLanes()
	VBROADCASTSS(softLow, Z8)
	VBROADCASTSS(two, Z9)
	VBROADCASTSS(absMask, Z10)
	Label("row")
	VMOVUPS_Z(Mem{Base: RSI}, K1, Z5)
	VMOVUPS_Z(Mem{Base: RBX}, K1, Z6)
	VCMPPS(Imm(0x15), Z8, Z5, K2)
	VMOVAPS_Z(Z5, K2, Z1)
	VEXTRACTF64X4(Imm(1), Z1, Y2)
	VEXTRACTF64X4(Imm(1), Z6, Y3)
	VMULPS(Y2, Y3, Y0)
	VFMADD231PS(Y6, Y1, Y0)
	hsum()
	VBROADCASTSS(X0, Z0)
	VSUBPS(Z0, Z6, Z6)
	VPSUBD(Z5, Z9, Z1)
	VANDPS(Z10, Z6, Z2)
	VCMPPS(Imm(0x15), Z1, Z2, K2)
	VMULPS_Z(Z5, Z6, K2, Z6)
	VMOVUPS(Z6, K1, Mem{Base: RDI})
	LEAQ(Mem{Base: RSI, Index: R9, Scale: 4}, RSI)
	LEAQ(Mem{Base: RDI, Index: R9, Scale: 4}, RDI)
	LEAQ(Mem{Base: RBX, Index: R9, Scale: 4}, RBX)
	DECQ(R8)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

func softmaxGrad32() {
	TEXT("softmaxGrad32", NOSPLIT, "func(dst, y, dy *float32, rows, k int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("y"), RSI)
	MOVQ(arg("dy"), RBX)
	MOVQ(arg("rows"), R8)
	MOVQ(arg("k"), R9)
	columns(Y7)
	VMOVUPS(softLow, Y8)
	VMOVUPS(two, Y9)
	VMOVUPS(absMask, Y10)
	MOVQ(R9, R10)
	ANDQ(I8(-8), R10)

	Label("row")
	VMASKMOVPS(Mem{Base: RSI, Index: R10, Scale: 4}, Y7, Y5)
	VMASKMOVPS(Mem{Base: RBX, Index: R10, Scale: 4}, Y7, Y6)
	VCMPPS(Imm(0x15), Y8, Y5, Y1)
	VANDPS(Y1, Y5, Y0)
	VMULPS(Y0, Y6, Y0)
	vectors("dot", "sum", dotRow)
	hsum()
	VBROADCASTSS(X0, Y0)
	vectors("loop", "rest", pullRow)
	VSUBPS(Y0, Y6, Y6)
	product(Y5, Y6, Y1, Y2)
	TESTQ(RCX, RCX)
	JZ(LabelRef("next"))
	LEAQ(Mem{Base: RDI, Index: R10, Scale: 4}, RDX)
	put(Y6, Y7, RDX)
	LEAQ(Mem{Base: RSI, Index: R9, Scale: 4}, RSI)
	LEAQ(Mem{Base: RDI, Index: R9, Scale: 4}, RDI)
	LEAQ(Mem{Base: RBX, Index: R9, Scale: 4}, RBX)
	DECQ(R8)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
