package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// unless puts 0 in place of |X| below that in least; S is scratch.
func unless(X Op, least Mem, S Op) {
	VANDPS(absMask, X, S)
	VCMPPS(Imm(0x15), least, S, S)
	VANDPS(S, X, X)
}

func adam32() {
	TEXT("adam32", NOSPLIT, "func(x, d, m, v *float32, n int, c *[8]float32)")
	Pragma("noescape")
	MOVQ(arg("x"), RDI)
	MOVQ(arg("d"), RSI)
	MOVQ(arg("m"), R8)
	MOVQ(arg("v"), R9)
	MOVQ(arg("n"), RCX)
	MOVQ(arg("c"), RAX)
	VBROADCASTSS(Mem{Base: RAX}, Y8)
	VBROADCASTSS(Mem{Base: RAX, Disp: 4}, Y9)
	VBROADCASTSS(Mem{Base: RAX, Disp: 8}, Y10)
	VBROADCASTSS(Mem{Base: RAX, Disp: 12}, Y11)
	VBROADCASTSS(Mem{Base: RAX, Disp: 16}, Y12)
	VBROADCASTSS(Mem{Base: RAX, Disp: 20}, Y13)
	VBROADCASTSS(Mem{Base: RAX, Disp: 24}, Y14)
	VBROADCASTSS(Mem{Base: RAX, Disp: 28}, Y15)
	SUBQ(Imm(8), RCX)
	JLT(LabelRef("done"))
	Label("loop")
	VMOVUPS(Mem{Base: RDI}, Y0)
	VMULPS(Y12, Y0, Y1)
	VADDPS(Mem{Base: RSI}, Y1, Y1) // g + wd·x
	unless(Y1, adamLow, Y5)
	VMULPS(Mem{Base: R8}, Y8, Y2)
	VMULPS(Y10, Y1, Y3)
	VADDPS(Y3, Y2, Y2) // m
	unless(Y2, adamLow, Y5)
	VMOVUPS(Y2, Mem{Base: R8})
	unless(Y1, adamSquare, Y5)
	VMULPS(Mem{Base: R9}, Y9, Y3)
	VMULPS(Y11, Y1, Y4)
	VMULPS(Y1, Y4, Y4)
	VADDPS(Y4, Y3, Y3) // v
	unless(Y3, adamVar, Y5)
	VMOVUPS(Y3, Mem{Base: R9})
	VSQRTPS(Y3, Y3)
	VMULPS(Y14, Y3, Y3)
	VADDPS(Y15, Y3, Y3)
	VMULPS(Y13, Y2, Y2)
	VDIVPS(Y3, Y2, Y2)
	VSUBPS(Y2, Y0, Y0)
	VMOVUPS(Y0, Mem{Base: RDI})
	ADDQ(Imm(32), RDI)
	ADDQ(Imm(32), RSI)
	ADDQ(Imm(32), R8)
	ADDQ(Imm(32), R9)
	SUBQ(Imm(8), RCX)
	JGE(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// adam32x16 is adam32 for a multiple of 16.
func adam32x16() {
	TEXT("adam32x16", NOSPLIT, "func(x, d, m, v *float32, n int, c *[8]float32)")
	Pragma("noescape")
	MOVQ(arg("x"), RDI)
	MOVQ(arg("d"), RSI)
	MOVQ(arg("m"), R8)
	MOVQ(arg("v"), R9)
	MOVQ(arg("n"), RCX)
	MOVQ(arg("c"), RAX)
	for i, z := range []VecPhysical{Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15} {
		VBROADCASTSS(Mem{Base: RAX, Disp: 4 * i}, z)
	}
	for i, least := range []Mem{absMask, adamLow, adamSquare, adamVar} {
		VBROADCASTSS(least, []VecPhysical{Z16, Z17, Z18, Z19}[i])
	}
	unless := func(X, least Op) {
		VANDPS(Z16, X, Z5)
		VCMPPS(Imm(0x15), least, Z5, K1)
		VMOVAPS_Z(X, K1, X)
	}
	Label("loop")
	VMOVUPS(Mem{Base: RDI}, Z0)
	VMULPS(Z12, Z0, Z1)
	VADDPS(Mem{Base: RSI}, Z1, Z1) // g + wd·x
	unless(Z1, Z17)
	VMULPS(Mem{Base: R8}, Z8, Z2)
	VMULPS(Z10, Z1, Z3)
	VADDPS(Z3, Z2, Z2) // m
	unless(Z2, Z17)
	VMOVUPS(Z2, Mem{Base: R8})
	unless(Z1, Z18)
	VMULPS(Mem{Base: R9}, Z9, Z3)
	VMULPS(Z11, Z1, Z4)
	VMULPS(Z1, Z4, Z4)
	VADDPS(Z4, Z3, Z3) // v
	unless(Z3, Z19)
	VMOVUPS(Z3, Mem{Base: R9})
	VSQRTPS(Z3, Z3)
	VMULPS(Z14, Z3, Z3)
	VADDPS(Z15, Z3, Z3)
	VMULPS(Z13, Z2, Z2)
	VDIVPS(Z3, Z2, Z2)
	VSUBPS(Z2, Z0, Z0)
	VMOVUPS(Z0, Mem{Base: RDI})
	for _, r := range []GPPhysical{RDI, RSI, R8, R9} {
		ADDQ(Imm(64), r)
	}
	SUBQ(Imm(16), RCX)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
