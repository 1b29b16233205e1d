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
