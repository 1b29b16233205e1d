package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// hash makes eight random numbers of the counters in X, with the key in Y14 (low)
// and Y15 (high); T is scratch.
func hash(X, T Op) {
	VPADDD(Y14, X, X)
	VPSRLD(Imm(16), X, T)
	VPXOR(T, X, X)
	VPMULLD(hashA, X, X)
	VPSRLD(Imm(15), X, T)
	VPXOR(T, X, X)
	VPADDD(Y15, X, X)
	VPMULLD(hashB, X, X)
	VPSRLD(Imm(15), X, T)
	VPXOR(T, X, X)
}

// count loads a key for hash, and into Y0 eight counters from the given one on.
func count(key, counter Op) {
	MOVQ(key, RAX)
	VMOVQ(RAX, X14)
	SHRQ(Imm(32), RAX)
	VMOVQ(RAX, X15)
	VPBROADCASTD(X14, Y14)
	VPBROADCASTD(X15, Y15)
	VBROADCASTSS(counter, Y0)
	VPADDD(laneNumbers, Y0, Y0)
}

// buf[8s + l] = the hash of counter + s·step + l, its bits in mask replaced by s.
func strataKeys() {
	TEXT("strataKeys", NOSPLIT, "func(buf *uint32, n int, key uint64, counter, step, mask uint32)")
	Pragma("noescape")
	MOVQ(arg("buf"), RDI)
	MOVQ(arg("n"), RCX)
	count(arg("key"), arg("counter"))
	VBROADCASTSS(arg("step"), Y1)
	VBROADCASTSS(arg("mask"), Y2)
	VPXOR(Y3, Y3, Y3) // s
	VPCMPEQD(Y4, Y4, Y4)
	VPSRLD(Imm(31), Y4, Y4) // 1
	Label("loop")
	VMOVDQA(Y0, Y5)
	hash(Y5, Y6)
	VPANDN(Y5, Y2, Y5)
	VPOR(Y3, Y5, Y5)
	VMOVDQU(Y5, Mem{Base: RDI})
	VPADDD(Y1, Y0, Y0)
	VPADDD(Y4, Y3, Y3)
	ADDQ(Imm(32), RDI)
	DECQ(RCX)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// Each pair is two offsets in bytes, first < second; the lesser numbers go first.
func sortLanes() {
	TEXT("sortLanes", NOSPLIT, "func(buf *uint32, pairs *uint32, n int)")
	Pragma("noescape")
	MOVQ(arg("buf"), RDI)
	MOVQ(arg("pairs"), RSI)
	MOVQ(arg("n"), RCX)
	Label("loop")
	MOVL(Mem{Base: RSI}, EAX)
	MOVL(Mem{Base: RSI, Disp: 4}, EBX)
	VMOVDQU(Mem{Base: RDI, Index: RAX, Scale: 1}, Y0)
	VMOVDQU(Mem{Base: RDI, Index: RBX, Scale: 1}, Y1)
	VPMINUD(Y1, Y0, Y2)
	VPMAXUD(Y1, Y0, Y3)
	VMOVDQU(Y2, Mem{Base: RDI, Index: RAX, Scale: 1})
	VMOVDQU(Y3, Mem{Base: RDI, Index: RBX, Scale: 1})
	ADDQ(Imm(8), RSI)
	DECQ(RCX)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// dst[stride·s + l] = (buf[8s + l] & mask)·width + ⌊h·width/2³²⌋ with the hash h of
// counter + s·step + l.
func strataPoints() {
	TEXT("strataPoints", NOSPLIT, "func(dst *uint32, stride int, buf *uint32, n int, key uint64, counter, step, mask, width uint32)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("stride"), RDX)
	SHLQ(Imm(2), RDX)
	MOVQ(arg("buf"), RSI)
	MOVQ(arg("n"), RCX)
	count(arg("key"), arg("counter"))
	VBROADCASTSS(arg("step"), Y1)
	VBROADCASTSS(arg("mask"), Y2)
	VBROADCASTSS(arg("width"), Y3)
	Label("loop")
	VMOVDQA(Y0, Y5)
	hash(Y5, Y6)
	VPSRLQ(Imm(32), Y5, Y6)
	VPMULUDQ(Y3, Y5, Y5)
	VPMULUDQ(Y3, Y6, Y6)
	VPSRLQ(Imm(32), Y5, Y5)
	VPBLENDD(Imm(0xAA), Y6, Y5, Y5)
	VPAND(Mem{Base: RSI}, Y2, Y7)
	VPMULLD(Y3, Y7, Y7)
	VPADDD(Y7, Y5, Y5)
	VMOVDQU(Y5, Mem{Base: RDI})
	VPADDD(Y1, Y0, Y0)
	ADDQ(Imm(32), RSI)
	ADDQ(RDX, RDI)
	DECQ(RCX)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// Numbers in bit-reversed order are scrambled, reversed and shifted, eight at a
// time; seeds and shifts repeat after period numbers. n and period are multiples
// of 8.
func scramble32() {
	TEXT("scramble32", NOSPLIT, "func(dst, points *uint32, n int, seeds, shifts *uint32, period int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("points"), RSI)
	MOVQ(arg("n"), RCX)
	MOVQ(arg("seeds"), R8)
	MOVQ(arg("shifts"), R9)
	MOVQ(arg("period"), R10)
	SHLQ(Imm(2), R10)
	XORQ(RDX, RDX)
	VMOVDQU(nibbles, Y10)
	VMOVDQU(reversedNibbles, Y11)
	VMOVDQU(byteOrder, Y12)
	VPCMPEQD(Y13, Y13, Y13)
	VPSRLD(Imm(31), Y13, Y13) // 1
	Label("loop")
	VMOVDQU(Mem{Base: RSI}, Y0)
	VMOVDQU(Mem{Base: R8, Index: RDX, Scale: 1}, Y1)
	VPMULLD(scrambleA, Y0, Y2)
	VPXOR(Y2, Y0, Y0)
	VPADDD(Y1, Y0, Y0)
	VPSRLD(Imm(16), Y1, Y1)
	VPOR(Y13, Y1, Y1)
	VPMULLD(Y1, Y0, Y0)
	VPMULLD(scrambleB, Y0, Y2)
	VPXOR(Y2, Y0, Y0)
	VPMULLD(scrambleC, Y0, Y2)
	VPXOR(Y2, Y0, Y0)
	VPAND(Y10, Y0, Y2)
	VPSRLD(Imm(4), Y0, Y0)
	VPAND(Y10, Y0, Y0)
	VPSHUFB(Y2, Y11, Y2)
	VPSHUFB(Y0, Y11, Y0)
	VPSLLD(Imm(4), Y2, Y2)
	VPOR(Y2, Y0, Y0)
	VPSHUFB(Y12, Y0, Y0)
	VPXOR(Mem{Base: R9, Index: RDX, Scale: 1}, Y0, Y0)
	VMOVDQU(Y0, Mem{Base: RDI})
	ADDQ(Imm(32), RSI)
	ADDQ(Imm(32), RDI)
	ADDQ(Imm(32), RDX)
	CMPQ(RDX, R10)
	JLT(LabelRef("next"))
	XORQ(RDX, RDX)
	Label("next")
	SUBQ(Imm(8), RCX)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// polynomial computes R, of degree 8 in r = Y1 with r² in Y4 and coefficients p,
// in pairs: ((p₀r + p₁)r² + (p₂r + p₃))r⁴ + …. Y9, A, B and C are scratch.
func polynomial(p Mem, R, A, B, C Op) {
	VMULPS(Y4, Y4, Y9)
	VMOVUPS(p.Offset(32), R)
	VFMADD231PS(p, Y1, R)
	VMOVUPS(p.Offset(96), A)
	VFMADD231PS(p.Offset(64), Y1, A)
	VMOVUPS(p.Offset(160), B)
	VFMADD231PS(p.Offset(128), Y1, B)
	VMOVUPS(p.Offset(224), C)
	VFMADD231PS(p.Offset(192), Y1, C)
	VFMADD213PS(A, Y4, R)
	VFMADD213PS(C, Y4, B)
	VFMADD213PS(B, Y9, R)
	VFMADD213PS(p.Offset(256), Y1, R)
}

// The quantiles of the standard normal distribution at (x + ½)/2³². With p the
// lesser of that and its complement, and v = 2p − 1 with the sign of the result,
//
//	w = −log 4p(1−p),  Φ⁻¹ = v·P(w − 2.5) for w < 5, else v·Q(√w − 3.44)
//
// n is a multiple of 8.
func normal32() {
	TEXT("normal32", NOSPLIT, "func(dst *float32, x *uint32, n int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("n"), RCX)
	Label("loop")
	VMOVDQU(Mem{Base: RSI}, Y0)
	VPSRAD(Imm(31), Y0, Y1)
	VPXOR(Y1, Y0, Y1) // below 2³¹
	VCVTDQ2PS(Y1, Y1)
	VADDPS(half, Y1, Y1)
	VMULPS(over32, Y1, Y1) // p
	VPXOR(signBit, Y0, Y0)
	VCVTDQ2PS(Y0, Y0)
	VADDPS(half, Y0, Y0)
	VMULPS(over31, Y0, Y0) // v
	VMOVUPS(expOne, Y2)
	VSUBPS(Y1, Y2, Y2)
	VMULPS(Y1, Y2, Y1)
	VMULPS(four, Y1, Y1) // 4p(1−p), in (0, 1]
	// w = −log of it = −(e·log 2 + log m), m from √½ to √2
	VPSUBD(sqrtHalf, Y1, Y2)
	VPSRAD(Imm(23), Y2, Y2)
	VPSLLD(Imm(23), Y2, Y3)
	VPSUBD(Y3, Y1, Y1)
	VCVTDQ2PS(Y2, Y2)
	VSUBPS(expOne, Y1, Y1)
	VMULPS(Y1, Y1, Y4)
	polynomial(logP, Y3, Y6, Y7, Y8)
	VFMADD213PS(minusHalf, Y1, Y3) // log m = r + r²·(r·P − ½)
	VFMADD213PS(Y1, Y4, Y3)
	VFMADD231PS(ln2, Y2, Y3)
	VXORPS(signBit, Y3, Y3)       // w
	VCMPPS(Imm(13), five, Y3, Y5) // w ≥ 5
	VADDPS(minusCentre, Y3, Y1)
	VMULPS(Y1, Y1, Y4)
	polynomial(normP, Y2, Y6, Y7, Y8)
	VMOVMSKPS(Y5, EAX)
	TESTL(EAX, EAX)
	JZ(LabelRef("store"))
	VSQRTPS(Y3, Y3)
	VADDPS(minusTail, Y3, Y3)
	VMOVUPS(normQ, Y4)
	VFMADD213PS(normQ.Offset(32), Y3, Y4)
	VFMADD213PS(normQ.Offset(64), Y3, Y4)
	VFMADD213PS(normQ.Offset(96), Y3, Y4)
	VFMADD213PS(normQ.Offset(128), Y3, Y4)
	VFMADD213PS(normQ.Offset(160), Y3, Y4)
	VFMADD213PS(normQ.Offset(192), Y3, Y4)
	VFMADD213PS(normQ.Offset(224), Y3, Y4)
	VFMADD213PS(normQ.Offset(256), Y3, Y4)
	VFMADD213PS(normQ.Offset(288), Y3, Y4)
	VBLENDVPS(Y5, Y4, Y2, Y2)
	Label("store")
	VMULPS(Y0, Y2, Y2)
	VMOVUPS(Y2, Mem{Base: RDI})
	ADDQ(Imm(32), RSI)
	ADDQ(Imm(32), RDI)
	SUBQ(Imm(8), RCX)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
