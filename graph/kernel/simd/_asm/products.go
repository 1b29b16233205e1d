package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// No fused multiply-adds: products are rounded, as in Go.
func products32() {
	TEXT("products32", NOSPLIT, "func(dst *float64, z *float32, by *float64, n, panels int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("z"), RSI)
	MOVQ(arg("by"), RDX)
	MOVQ(arg("n"), R8)
	MOVQ(arg("panels"), R9)
	Label("panel")
	VMOVUPD(Mem{Base: RDI}, Y0)
	VMOVUPD(Mem{Base: RDI, Disp: 32}, Y1)
	VMOVUPD(Mem{Base: RDI, Disp: 64}, Y2)
	VMOVUPD(Mem{Base: RDI, Disp: 96}, Y3)
	MOVQ(RDX, RBX)
	MOVQ(R8, RCX)
	Label("term")
	VBROADCASTSD(Mem{Base: RBX}, Y4)
	VCVTPS2PD(Mem{Base: RSI}, Y5)
	VCVTPS2PD(Mem{Base: RSI, Disp: 16}, Y6)
	VCVTPS2PD(Mem{Base: RSI, Disp: 32}, Y7)
	VCVTPS2PD(Mem{Base: RSI, Disp: 48}, Y8)
	VMULPD(Y4, Y5, Y5)
	VMULPD(Y4, Y6, Y6)
	VMULPD(Y4, Y7, Y7)
	VMULPD(Y4, Y8, Y8)
	VADDPD(Y5, Y0, Y0)
	VADDPD(Y6, Y1, Y1)
	VADDPD(Y7, Y2, Y2)
	VADDPD(Y8, Y3, Y3)
	ADDQ(Imm(64), RSI)
	ADDQ(Imm(8), RBX)
	DECQ(RCX)
	JNZ(LabelRef("term"))
	VMOVUPD(Y0, Mem{Base: RDI})
	VMOVUPD(Y1, Mem{Base: RDI, Disp: 32})
	VMOVUPD(Y2, Mem{Base: RDI, Disp: 64})
	VMOVUPD(Y3, Mem{Base: RDI, Disp: 96})
	ADDQ(Imm(128), RDI)
	DECQ(R9)
	JNZ(LabelRef("panel"))
	VZEROUPPER()
	RET()
}

// rows64 adds rows times numbers to dst, 32 columns and then 16, 12, 8 or 4 at a time; none of fewer. Few columns, whose
// sums wait for one another, skip numbers that are 0.
func rows64() {
	TEXT("rows64", NOSPLIT, "func(dst, w, by *float64, n, columns int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("w"), RSI)
	MOVQ(arg("by"), RDX)
	MOVQ(arg("n"), R8)
	MOVQ(arg("columns"), R9)
	MOVQ(R9, R10)
	SHLQ(Imm(3), R10) // from row to row
	sums := []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7}
	for _, block := range []struct {
		name  string
		lanes int
	}{{"eight", 8}, {"four", 4}, {"three", 3}, {"two", 2}, {"one", 1}} {
		Label(block.name)
		CMPQ(R9, U32(4*block.lanes))
		JLT(LabelRef(block.name + "Done"))
		for i, y := range sums[:block.lanes] {
			VMOVUPD(Mem{Base: RDI, Disp: 32 * i}, y)
		}
		MOVQ(RSI, RAX)
		MOVQ(RDX, RBX)
		MOVQ(R8, RCX)
		Label(block.name + "Row")
		if block.lanes < 8 {
			MOVQ(Mem{Base: RBX}, R11)
			SHLQ(Imm(1), R11) // without its sign
			JZ(LabelRef(block.name + "Next"))
		}
		VBROADCASTSD(Mem{Base: RBX}, Y8)
		for i, y := range sums[:block.lanes] {
			VMULPD(Mem{Base: RAX, Disp: 32 * i}, Y8, Y9)
			VADDPD(Y9, y, y)
		}
		Label(block.name + "Next")
		ADDQ(R10, RAX)
		ADDQ(Imm(8), RBX)
		DECQ(RCX)
		JNZ(LabelRef(block.name + "Row"))
		for i, y := range sums[:block.lanes] {
			VMOVUPD(y, Mem{Base: RDI, Disp: 32 * i})
		}
		ADDQ(U32(32*block.lanes), RDI)
		ADDQ(U32(32*block.lanes), RSI)
		SUBQ(U32(4*block.lanes), R9)
		JMP(LabelRef(block.name))
		Label(block.name + "Done")
	}
	VZEROUPPER()
	RET()
}
