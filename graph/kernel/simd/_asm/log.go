package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// n is a multiple of 4. With u = 1 + x = 2ᵏm, m from √½ to √2, f = m − 1 and s = f/(2 + f),
//
//	log(1 + x) = k·ln 2 + f − (f²/2 − s(f²/2 + R(s²))) + (x − (u − 1))/u
//
// with R of FDLIBM's log1p; the last term is what rounding took from u. Numbers below −1, −1, infinite
// ones and NaN are the caller's.
func log1p64() {
	TEXT("log1p64", NOSPLIT, "func(dst, x *float64, n int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("n"), RCX)
	same := func(name string, v uint64) Mem { return words(name, v, v, v, v) }
	one, two, half := same("logOne", 0x3ff0000000000000), same("logTwo", 0x4000000000000000), same("logHalf", 0x3fe0000000000000)
	root := same("logRoot", 0x3fe6a09e667f3bcd)   // √½
	magic := same("logMagic", 0x4330000000000000) // 2⁵²: the last bits are a whole number
	bias, biased := same("logBias", 1023<<52), same("logBiased", 0x4330000000000000+1023)
	ln2hi, ln2lo := same("logLn2Hi", 0x3fe62e42fee00000), same("logLn2Lo", 0x3dea39ef35793c76)
	R := words("logR", 0x3fc2f112df3e5244, 0x3fc39a09d078c69f, 0x3fc7466496cb03de, 0x3fcc71c51d8e78af, 0x3fd2492494229359, 0x3fd999999997fa04, 0x3fe5555555555593)
	VMOVUPD(one, Y15)
	VMOVUPD(root, Y14)
	VMOVUPD(magic, Y13)
	VMOVUPD(half, Y12)
	Label("loop")
	VMOVUPD(Mem{Base: RSI}, Y0)
	VADDPD(Y15, Y0, Y1) // u
	VSUBPD(Y15, Y1, Y2)
	VSUBPD(Y2, Y0, Y2)
	VDIVPD(Y1, Y2, Y2) // (x − (u − 1))/u
	// k, as a float64, from the bits of u less those of √½
	VPSUBQ(Y14, Y1, Y3)
	VPSRLQ(Imm(52), Y3, Y5)
	VPSLLQ(Imm(52), Y5, Y5)
	VPSUBQ(Y5, Y1, Y1) // m
	VPADDQ(bias, Y3, Y4)
	VPSRLQ(Imm(52), Y4, Y4)
	VPOR(Y13, Y4, Y4)
	VSUBPD(biased, Y4, Y4)
	VSUBPD(Y15, Y1, Y1) // f
	VADDPD(two, Y1, Y5)
	VDIVPD(Y5, Y1, Y5) // s
	VMULPD(Y5, Y5, Y6) // s²
	VBROADCASTSD(R, Y7)
	for i := 1; i < 7; i++ {
		VBROADCASTSD(R.Offset(8*i), Y8)
		VFMADD213PD(Y8, Y6, Y7)
	}
	VMULPD(Y6, Y7, Y7) // R
	VMULPD(Y1, Y1, Y8)
	VMULPD(Y12, Y8, Y8) // f²/2
	VADDPD(Y8, Y7, Y7)
	VFMADD231PD(ln2lo, Y4, Y2)
	VFMADD231PD(Y5, Y7, Y2)
	VSUBPD(Y2, Y8, Y8)
	VSUBPD(Y8, Y1, Y1)
	VFMADD231PD(ln2hi, Y4, Y1)
	VMOVUPD(Y1, Mem{Base: RDI})
	ADDQ(Imm(32), RSI)
	ADDQ(Imm(32), RDI)
	SUBQ(Imm(4), RCX)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
