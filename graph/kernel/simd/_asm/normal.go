package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// polynomialZ is polynomial for sixteen numbers, with r = Z1 and r² in Z4; Z9 is scratch.
func polynomialZ(p Mem, R, A, B, C Op) {
	VMULPS(Z4, Z4, Z9)
	for i, v := range []Op{R, A, B, C} {
		VBROADCASTSS(p.Offset(64*i+32), v)
		VFMADD231PS_BCST(p.Offset(64*i), Z1, v)
	}
	VFMADD213PS(A, Z4, R)
	VFMADD213PS(C, Z4, B)
	VFMADD213PS(B, Z9, R)
	VFMADD213PS_BCST(p.Offset(256), Z1, R)
}

// normal32x16 is normal32; n is a multiple of 16.
func normal32x16() {
	TEXT("normal32x16", NOSPLIT, "func(dst *float32, x *uint32, n int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("n"), RCX)
	VBROADCASTSS(half, Z16)
	VBROADCASTSS(expOne, Z17)
	VBROADCASTSS(signBit, Z18)
	Label("loop")
	VMOVDQU32(Mem{Base: RSI}, Z0)
	VPSRAD(Imm(31), Z0, Z1)
	VPXORD(Z1, Z0, Z1)
	VCVTDQ2PS(Z1, Z1)
	VADDPS(Z16, Z1, Z1)
	VMULPS_BCST(over32, Z1, Z1) // p
	VPXORD(Z18, Z0, Z0)
	VCVTDQ2PS(Z0, Z0)
	VADDPS(Z16, Z0, Z0)
	VMULPS_BCST(over31, Z0, Z0) // v
	VSUBPS(Z1, Z17, Z2)
	VMULPS(Z1, Z2, Z1)
	VMULPS_BCST(four, Z1, Z1)
	VPSUBD_BCST(sqrtHalf, Z1, Z2)
	VPSRAD(Imm(23), Z2, Z2)
	VPSLLD(Imm(23), Z2, Z3)
	VPSUBD(Z3, Z1, Z1)
	VCVTDQ2PS(Z2, Z2)
	VSUBPS(Z17, Z1, Z1)
	VMULPS(Z1, Z1, Z4)
	polynomialZ(logP, Z3, Z6, Z7, Z8)
	VFMADD213PS_BCST(minusHalf, Z1, Z3)
	VFMADD213PS(Z1, Z4, Z3)
	VFMADD231PS_BCST(ln2, Z2, Z3)
	VPXORD(Z18, Z3, Z3) // w
	VCMPPS_BCST(Imm(13), five, Z3, K1)
	VADDPS_BCST(minusCentre, Z3, Z1)
	VMULPS(Z1, Z1, Z4)
	polynomialZ(normP, Z2, Z6, Z7, Z8)
	KORTESTW(K1, K1)
	JZ(LabelRef("store"))
	VSQRTPS(Z3, Z3)
	VADDPS_BCST(minusTail, Z3, Z3)
	VBROADCASTSS(normQ, Z4)
	for i := 1; i < 10; i++ {
		VFMADD213PS_BCST(normQ.Offset(32*i), Z3, Z4)
	}
	VMOVAPS(Z4, K1, Z2)
	Label("store")
	VMULPS(Z0, Z2, Z2)
	VMOVUPS(Z2, Mem{Base: RDI})
	ADDQ(Imm(64), RSI)
	ADDQ(Imm(64), RDI)
	SUBQ(Imm(16), RCX)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
