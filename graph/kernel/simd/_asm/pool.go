package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// squares loads eight channels of four pixels into Y0 to Y3 and their maxima into Y4, NaN where one
// is; Y5 and Y6 are scratch.
func squares() {
	LEAQ(Mem{Base: RSI, Index: R8, Scale: 1}, RDX)
	VMOVUPS(Mem{Base: RSI}, Y0)
	VMOVUPS(Mem{Base: RSI, Index: R9, Scale: 1}, Y1)
	VMOVUPS(Mem{Base: RDX}, Y2)
	VMOVUPS(Mem{Base: RDX, Index: R9, Scale: 1}, Y3)
	VMAXPS(Y1, Y0, Y4)
	VMAXPS(Y3, Y2, Y5)
	VMAXPS(Y5, Y4, Y4)
	VCMPPS(Imm(3), Y1, Y0, Y5)
	VCMPPS(Imm(3), Y3, Y2, Y6)
	VORPS(Y5, Y6, Y6)
	VORPS(Y6, Y4, Y4)
}

func pool32() {
	TEXT("pool32", NOSPLIT, "func(dst, x *float32, row, c, n int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("row"), R8)
	MOVQ(arg("c"), R9)
	MOVQ(arg("n"), RCX)
	SHLQ(Imm(2), R8)
	SHLQ(Imm(2), R9)
	Label("square")
	MOVQ(R9, RBX)
	Label("loop")
	squares()
	VMOVUPS(Y4, Mem{Base: RDI})
	ADDQ(Imm(32), RSI)
	ADDQ(Imm(32), RDI)
	SUBQ(Imm(32), RBX)
	JNZ(LabelRef("loop"))
	ADDQ(R9, RSI)
	DECQ(RCX)
	JNZ(LabelRef("square"))
	VZEROUPPER()
	RET()
}

func unpool32() {
	TEXT("unpool32", NOSPLIT, "func(dst, x, grad *float32, row, c, n int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("grad"), R10)
	MOVQ(arg("row"), R8)
	MOVQ(arg("c"), R9)
	MOVQ(arg("n"), RCX)
	SHLQ(Imm(2), R8)
	SHLQ(Imm(2), R9)
	Label("square")
	MOVQ(R9, RBX)
	Label("loop")
	squares()
	LEAQ(Mem{Base: RDI, Index: R8, Scale: 1}, RDX)
	VMOVUPS(Mem{Base: R10}, Y7) // g, for the places that are left
	VCMPPS(Imm(0), Y4, Y0, Y0)
	VANDPS(Y7, Y0, Y5)
	VMOVUPS(Y5, Mem{Base: RDI})
	VANDNPS(Y7, Y0, Y7)
	VCMPPS(Imm(0), Y4, Y1, Y1)
	VANDPS(Y7, Y1, Y5)
	VMOVUPS(Y5, Mem{Base: RDI, Index: R9, Scale: 1})
	VANDNPS(Y7, Y1, Y7)
	VCMPPS(Imm(0), Y4, Y2, Y2)
	VANDPS(Y7, Y2, Y5)
	VMOVUPS(Y5, Mem{Base: RDX})
	VANDNPS(Y7, Y2, Y7)
	VMOVUPS(Y7, Mem{Base: RDX, Index: R9, Scale: 1})
	ADDQ(Imm(32), RSI)
	ADDQ(Imm(32), RDI)
	ADDQ(Imm(32), R10)
	SUBQ(Imm(32), RBX)
	JNZ(LabelRef("loop"))
	ADDQ(R9, RSI)
	ADDQ(R9, RDI)
	DECQ(RCX)
	JNZ(LabelRef("square"))
	VZEROUPPER()
	RET()
}
