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
