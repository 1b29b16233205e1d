package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// horner takes a step of Horner's rule for a polynomial, from V to W with the
// coefficients at c, and for its derivative in Y10; Y8 is the variable.
func horner(FMA231, FMA213 func(...Op), c, V, W Op) {
	VMOVUPS(c, W)
	FMA231(V, Y8, W)
	FMA213(W, Y8, Y10)
}

// cell32 evaluates eight nodes of one action: R = Σ n·c_n δⁿ⁻¹ (the hazards),
// SUM += Σ c_n δⁿ (log Φ), Horner's rule for both at once, and ALL += up·R.
// SI is the table at the action's first node, DX the bytes of a plane, R8 of
// three, Y8 = δ, Y9 = up; o is the offset of the eight nodes.
func cell32(o int, SUM, ALL Op) {
	VMOVUPS(Mem{Base: RSI, Disp: o, Index: RDX, Scale: 4}, Y10)
	horner(VFMADD231PS, VFMADD213PS, Mem{Base: RSI, Disp: o, Index: R8, Scale: 1}, Y10, Y12)
	horner(VFMADD231PS, VFMADD213PS, Mem{Base: RSI, Disp: o, Index: RDX, Scale: 2}, Y12, Y13)
	horner(VFMADD231PS, VFMADD213PS, Mem{Base: RSI, Disp: o, Index: RDX, Scale: 1}, Y13, Y12)
	VMOVUPS(Mem{Base: RSI, Disp: o}, Y13)
	VFMADD231PS(Y12, Y8, Y13)
	VADDPS(Y13, SUM, SUM)
	VMOVUPS(Y10, Mem{Base: RDI, Disp: o})
	VFMADD231PS(Y10, Y9, ALL)
}

// widen adds eight float32 to eight float64 at o(SP).
func widen(Y, X Op, o int) {
	VCVTPS2PD(X, Y10)
	VADDPD(Mem{Base: StackPointer, Disp: o}, Y10, Y10)
	VMOVUPD(Y10, Mem{Base: StackPointer, Disp: o})
	VEXTRACTF128(Imm(1), Y, X11)
	VCVTPS2PD(X11, Y11)
	VADDPD(Mem{Base: StackPointer, Disp: o + 32}, Y11, Y11)
	VMOVUPD(Y11, Mem{Base: StackPointer, Disp: o + 32})
}

// narrow writes eight float64 at o(SP) as float32.
func narrow(o int, dst Mem) {
	VCVTPD2PSY(Mem{Base: StackPointer, Disp: o}, X10)
	VMOVUPS(X10, dst)
	VCVTPD2PSY(Mem{Base: StackPointer, Disp: o + 32}, X11)
	VMOVUPS(X11, dst.Offset(16))
}

// lift writes 2⁷⁴·exp of eight float64 at o(SP) as float32, 0 where exp is below 2⁻¹⁰⁰.
func lift(o int, dst Mem) {
	narrow(o, dst)
	VMOVUPS(dst, Y0)
	VCMPPS(Imm(0x15), liftLow, Y0, Y4)
	exp(Y0, Y1, Y2, Y3)
	VMULPS(liftScale, Y3, Y3)
	VANDPS(Y4, Y3, Y3)
	VMOVUPS(Y3, dst)
}

// hazards loads the arguments of hazards32 and hazards64, and makes of plane, in
// numbers of 2^s bytes, the bytes of 1 and 3 planes.
func hazards(s uint64) {
	MOVQ(arg("r"), RDI)
	MOVQ(arg("table"), R11)
	MOVQ(arg("plane"), RDX)
	SHLQ(Imm(s), RDX)
	LEAQ(Mem{Base: RDX, Index: RDX, Scale: 2}, R8)
	MOVQ(arg("at"), R10)
	MOVQ(arg("delta"), R12)
	MOVQ(arg("up"), R13)
	MOVQ(arg("k"), RCX)
}

// pulls loads the arguments of pulls32 and pulls64.
func pulls() {
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("r"), RSI)
	MOVQ(arg("p"), RAX)
	MOVQ(arg("all"), RBX)
	MOVQ(arg("t"), R10)
	MOVQ(arg("gap"), R12)
	MOVQ(arg("up"), R13)
	MOVQ(arg("k"), RCX)
}

func hazards32() {
	TEXT("hazards32", NOSPLIT, "func(r, p, all, table *float32, plane int, at *int32, delta, up *float32, k int)")
	Pragma("noescape")
	AllocLocal(512)
	hazards(2)

	VXORPD(Y0, Y0, Y0)
	LEAQ(Mem{Base: StackPointer}, RAX)
	MOVQ(U32(16), RBX)

	Label("clear")
	VMOVUPD(Y0, Mem{Base: RAX})
	ADDQ(Imm(32), RAX)
	DECQ(RBX)
	JNZ(LabelRef("clear"))

	Label("chunk") // of at most 16 actions
	zero4(Y0, Y1, Y2, Y3)
	zero4(Y4, Y5, Y6, Y7)
	MOVQ(U32(16), RBX)
	CMPQ(RCX, RBX)
	CMOVQLT(RCX, RBX)
	SUBQ(RBX, RCX)

	Label("action")
	MOVLQSX(Mem{Base: R10}, RSI)
	LEAQ(Mem{Base: R11, Index: RSI, Scale: 4}, RSI)
	VBROADCASTSS(Mem{Base: R12}, Y8)
	VBROADCASTSS(Mem{Base: R13}, Y9)
	cell32(0, Y0, Y4)
	cell32(32, Y1, Y5)
	cell32(64, Y2, Y6)
	cell32(96, Y3, Y7)
	ADDQ(Imm(4), R10)
	ADDQ(Imm(4), R12)
	ADDQ(Imm(4), R13)
	ADDQ(Imm(128), RDI)
	DECQ(RBX)
	JNZ(LabelRef("action"))

	widen(Y0, X0, 0)
	widen(Y1, X1, 64)
	widen(Y2, X2, 128)
	widen(Y3, X3, 192)
	widen(Y4, X4, 256)
	widen(Y5, X5, 320)
	widen(Y6, X6, 384)
	widen(Y7, X7, 448)
	TESTQ(RCX, RCX)
	JNZ(LabelRef("chunk"))

	MOVQ(arg("p"), RDI)
	MOVQ(arg("all"), RSI)
	lift(0, Mem{Base: RDI, Disp: 0})
	lift(64, Mem{Base: RDI, Disp: 32})
	lift(128, Mem{Base: RDI, Disp: 64})
	lift(192, Mem{Base: RDI, Disp: 96})
	narrow(256, Mem{Base: RSI, Disp: 0})
	narrow(320, Mem{Base: RSI, Disp: 32})
	narrow(384, Mem{Base: RSI, Disp: 64})
	narrow(448, Mem{Base: RSI, Disp: 96})
	VZEROUPPER()
	RET()
}

// cell64 evaluates four nodes of one action: Y10 = Σ n·c_n δⁿ⁻¹ (φ),
// Y13 = Σ c_n δⁿ (Φ), PROD *= Φ, 0 where that is below Y14, ALL += up·φ/Φ; Y15 is scratch. SI is the table at the action's
// first node; DX, R8, R9 and BX are the bytes of 1, 3, 5 and 7 planes.
func cell64(o int, PROD, ALL Op) {
	VMOVUPD(Mem{Base: RSI, Disp: o, Index: RDX, Scale: 8}, Y10)
	horner(VFMADD231PD, VFMADD213PD, Mem{Base: RSI, Disp: o, Index: RBX, Scale: 1}, Y10, Y12)
	horner(VFMADD231PD, VFMADD213PD, Mem{Base: RSI, Disp: o, Index: R8, Scale: 2}, Y12, Y13)
	horner(VFMADD231PD, VFMADD213PD, Mem{Base: RSI, Disp: o, Index: R9, Scale: 1}, Y13, Y12)
	horner(VFMADD231PD, VFMADD213PD, Mem{Base: RSI, Disp: o, Index: RDX, Scale: 4}, Y12, Y13)
	horner(VFMADD231PD, VFMADD213PD, Mem{Base: RSI, Disp: o, Index: R8, Scale: 1}, Y13, Y12)
	horner(VFMADD231PD, VFMADD213PD, Mem{Base: RSI, Disp: o, Index: RDX, Scale: 2}, Y12, Y13)
	horner(VFMADD231PD, VFMADD213PD, Mem{Base: RSI, Disp: o, Index: RDX, Scale: 1}, Y13, Y12)
	VMOVUPD(Mem{Base: RSI, Disp: o}, Y13)
	VFMADD231PD(Y12, Y8, Y13)
	VMULPD(Y13, PROD, PROD)
	VCMPPD(Imm(0x15), Y14, PROD, Y15)
	VANDPD(Y15, PROD, PROD)
	VDIVPD(Y13, Y10, Y10)
	VMOVUPD(Y10, Mem{Base: RDI, Disp: o})
	VFMADD231PD(Y10, Y9, ALL)
}

func hazards64() {
	TEXT("hazards64", NOSPLIT, "func(r, p, all, table *float64, plane int, at *int32, delta, up *float64, k int)")
	Pragma("noescape")
	hazards(3)
	LEAQ(Mem{Base: RDX, Index: RDX, Scale: 4}, R9)
	LEAQ(Mem{Base: R8, Index: RDX, Scale: 4}, RBX)

	VBROADCASTSD(one64, Y0)
	VBROADCASTSD(least64, Y14)
	VMOVAPD(Y0, Y1)
	VXORPD(Y2, Y2, Y2)
	VXORPD(Y3, Y3, Y3)

	Label("action64")
	MOVLQSX(Mem{Base: R10}, RSI)
	LEAQ(Mem{Base: R11, Index: RSI, Scale: 8}, RSI)
	VBROADCASTSD(Mem{Base: R12}, Y8)
	VBROADCASTSD(Mem{Base: R13}, Y9)
	cell64(0, Y0, Y2)
	cell64(32, Y1, Y3)
	ADDQ(Imm(4), R10)
	ADDQ(Imm(8), R12)
	ADDQ(Imm(8), R13)
	ADDQ(Imm(64), RDI)
	DECQ(RCX)
	JNZ(LabelRef("action64"))

	MOVQ(arg("p"), RDI)
	MOVQ(arg("all"), RSI)
	VMOVUPD(Y0, Mem{Base: RDI})
	VMOVUPD(Y1, Mem{Base: RDI, Disp: 32})
	VMOVUPD(Y2, Mem{Base: RSI})
	VMOVUPD(Y3, Mem{Base: RSI, Disp: 32})
	VZEROUPPER()
	RET()
}

// byFours goes through the actions, CX of them, four at a time and then one: sum leaves a quarter of the
// block's sum for the action i places on in each lane of X, advance goes so many actions on. The sums are added to the float32
// at DI.
func byFours(sum func(i int, X Op), advance func(n int)) {
	x := []VecPhysical{X8, X9, X10, X11}
	SUBQ(Imm(4), RCX)
	JLT(LabelRef("rest"))
	Label("four")
	for i := range x {
		sum(i, x[i])
	}
	VHADDPS(X9, X8, X8)
	VHADDPS(X11, X10, X10)
	VHADDPS(X10, X8, X8)
	VADDPS(Mem{Base: RDI}, X8, X8)
	VMOVUPS(X8, Mem{Base: RDI})
	ADDQ(Imm(16), RDI)
	advance(4)
	SUBQ(Imm(4), RCX)
	JGE(LabelRef("four"))
	Label("rest")
	ADDQ(Imm(4), RCX)
	JZ(LabelRef("done"))
	Label("one")
	sum(0, X8)
	VHADDPS(X8, X8, X8)
	VHADDPS(X8, X8, X8)
	VADDSS(Mem{Base: RDI}, X8, X8)
	VMOVSS(X8, Mem{Base: RDI})
	ADDQ(Imm(4), RDI)
	advance(1)
	DECQ(RCX)
	JNZ(LabelRef("one"))
	Label("done")
	VZEROUPPER()
	RET()
}

// addTo64 adds the four lanes of Y (low half X) to the float64 at (DI).
func addTo64(Y, X Op) {
	VEXTRACTF128(Imm(1), Y, X14)
	VADDPD(X14, X, X)
	VHADDPD(X, X, X)
	VADDSD(Mem{Base: RDI}, X, X)
	VMOVSD(X, Mem{Base: RDI})
}

func dots32() {
	TEXT("dots32", NOSPLIT, "func(dst, r, p *float32, k int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("r"), RSI)
	MOVQ(arg("p"), RAX)
	MOVQ(arg("k"), RCX)
	load4(RAX, Y0, Y1, Y2, Y3)
	byFours(func(i int, X Op) {
		VMULPS(Mem{Base: RSI, Disp: 128 * i}, Y0, Y4)
		VMULPS(Mem{Base: RSI, Disp: 128*i + 32}, Y1, Y5)
		VFMADD231PS(Mem{Base: RSI, Disp: 128*i + 64}, Y2, Y4)
		VFMADD231PS(Mem{Base: RSI, Disp: 128*i + 96}, Y3, Y5)
		VADDPS(Y5, Y4, Y4)
		VEXTRACTF128(Imm(1), Y4, X5)
		VADDPS(X5, X4, X)
	}, func(n int) { ADDQ(U32(128*n), RSI) })
}

func dots64() {
	TEXT("dots64", NOSPLIT, "func(dst, r, p *float64, k int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("r"), RSI)
	MOVQ(arg("p"), RAX)
	MOVQ(arg("k"), RCX)
	VMOVUPD(Mem{Base: RAX}, Y0)
	VMOVUPD(Mem{Base: RAX, Disp: 32}, Y1)

	Label("dot64")
	VMULPD(Mem{Base: RSI}, Y0, Y4)
	VFMADD231PD(Mem{Base: RSI, Disp: 32}, Y1, Y4)
	addTo64(Y4, X4)
	ADDQ(Imm(64), RSI)
	ADDQ(Imm(8), RDI)
	DECQ(RCX)
	JNZ(LabelRef("dot64"))
	VZEROUPPER()
	RET()
}

// pull32: ACC += p·r·(up·(r + gap + t) − all) for the eight nodes at o, Y4 = gap, Y5 = up, without p·r below
// Y15, of the action i places on; all is at BX, t at R10; Y6, Y7 and Y14 are scratch.
func pull32(i, o int, P, ACC Op) {
	VMOVUPS(Mem{Base: RSI, Disp: 128*i + o}, Y6)
	VADDPS(Y4, Y6, Y7)
	VADDPS(Mem{Base: R10, Disp: o}, Y7, Y7)
	VFMSUB213PS(Mem{Base: RBX, Disp: o}, Y5, Y7)
	VMULPS(P, Y6, Y6)
	VCMPPS(Imm(0x15), Y15, Y6, Y14)
	VANDPS(Y14, Y6, Y6)
	VFMADD231PS(Y6, Y7, ACC)
}

func pulls32() {
	TEXT("pulls32", NOSPLIT, "func(dst, r, p, all, t, gap, up *float32, k int)")
	Pragma("noescape")
	pulls()
	load4(RAX, Y0, Y1, Y2, Y3)
	VMOVUPS(pullLow, Y15)
	byFours(func(i int, X Op) {
		VBROADCASTSS(Mem{Base: R12, Disp: 4 * i}, Y4)
		VBROADCASTSS(Mem{Base: R13, Disp: 4 * i}, Y5)
		VXORPS(Y12, Y12, Y12)
		VXORPS(Y13, Y13, Y13)
		pull32(i, 0, Y0, Y12)
		pull32(i, 32, Y1, Y13)
		pull32(i, 64, Y2, Y12)
		pull32(i, 96, Y3, Y13)
		VADDPS(Y13, Y12, Y12)
		VEXTRACTF128(Imm(1), Y12, X13)
		VADDPS(X13, X12, X)
	}, func(n int) {
		ADDQ(U32(128*n), RSI)
		ADDQ(Imm(uint64(4*n)), R12)
		ADDQ(Imm(uint64(4*n)), R13)
	})
}

// pull64 is pull32 for four nodes in float64.
func pull64(o int, P, ALL, T, ACC Op) {
	VMOVUPD(Mem{Base: RSI, Disp: o}, Y10)
	VADDPD(Y8, Y10, Y11)
	VADDPD(T, Y11, Y11)
	VFMSUB213PD(ALL, Y9, Y11)
	VMULPD(P, Y10, Y10)
	VFMADD231PD(Y10, Y11, ACC)
}

func pulls64() {
	TEXT("pulls64", NOSPLIT, "func(dst, r, p, all, t, gap, up *float64, k int)")
	Pragma("noescape")
	pulls()
	VMOVUPD(Mem{Base: RAX}, Y0)
	VMOVUPD(Mem{Base: RAX, Disp: 32}, Y1)
	VMOVUPD(Mem{Base: RBX}, Y2)
	VMOVUPD(Mem{Base: RBX, Disp: 32}, Y3)
	VMOVUPD(Mem{Base: R10}, Y4)
	VMOVUPD(Mem{Base: R10, Disp: 32}, Y5)

	Label("pull64")
	VBROADCASTSD(Mem{Base: R12}, Y8)
	VBROADCASTSD(Mem{Base: R13}, Y9)
	VXORPD(Y12, Y12, Y12)
	pull64(0, Y0, Y2, Y4, Y12)
	pull64(32, Y1, Y3, Y5, Y12)
	addTo64(Y12, X12)
	ADDQ(Imm(64), RSI)
	ADDQ(Imm(8), RDI)
	ADDQ(Imm(8), R12)
	ADDQ(Imm(8), R13)
	DECQ(RCX)
	JNZ(LabelRef("pull64"))
	VZEROUPPER()
	RET()
}
