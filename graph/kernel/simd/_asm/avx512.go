package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The kernels of AVX-512 add in the order of those of AVX2: their results are the same bits.

// gemm12 is gemm6x16 for twelve rows of a, of which the seventh begins second elements after
// the first, and n times 16 columns.
func gemm12(name string, n int) {
	TEXT(name, NOSPLIT, "func(c *float32, ldc int, a *float32, second, ars, acs int, b *float32, ldb, k int, add bool)")
	Pragma("noescape")
	MOVQ(arg("c"), RDI)
	MOVQ(arg("ldc"), RDX)
	MOVQ(arg("a"), RSI)
	MOVQ(arg("second"), R12)
	MOVQ(arg("ars"), R8)
	MOVQ(arg("acs"), R9)
	MOVQ(arg("b"), RBX)
	MOVQ(arg("ldb"), R11)
	MOVQ(arg("k"), RCX)
	for _, r := range []GPPhysical{R11, RDX, R8, R9} {
		SHLQ(Imm(2), r)
	}
	LEAQ(Mem{Base: RSI, Index: R12, Scale: 4}, R12)
	LEAQ(Mem{Base: R8, Index: R8, Scale: 2}, R13)
	LEAQ(Mem{Base: RSI, Index: R13, Scale: 1}, R10) // row 3
	ADDQ(R12, R13)                                  // row 9
	all := []VecPhysical{Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15,
		Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27}
	sums := all[:12*n]
	for _, z := range sums {
		VPXORD(z, z, z)
	}
	Label("loop")
	for c, z := range []VecPhysical{Z0, Z1}[:n] {
		VMOVUPS(Mem{Base: RBX, Disp: 64 * c}, z)
	}
	for i, base := range []Register{RSI, R10, R12, R13} {
		for j := range 3 {
			from, to := Mem{Base: base}, sums[(3*i+j)*n:]
			if j > 0 {
				from.Index, from.Scale = R8, uint8(j)
			}
			if n == 1 {
				VFMADD231PS_BCST(from, Z0, to[0])
				continue
			}
			by := []VecPhysical{Z2, Z3}[j%2]
			VBROADCASTSS(from, by)
			VFMADD231PS(Z0, by, to[0])
			VFMADD231PS(Z1, by, to[1])
		}
	}
	for _, r := range []Register{RSI, R10, R12, R13} {
		ADDQ(R9, r)
	}
	ADDQ(R11, RBX)
	DECQ(RCX)
	JNZ(LabelRef("loop"))
	MOVBLZX(arg("add"), EAX)
	TESTL(EAX, EAX)
	JNZ(LabelRef("sum"))
	for i, z := range sums {
		VMOVUPS(z, Mem{Base: RDI, Disp: 64 * (i % n)})
		if i%n == n-1 {
			ADDQ(RDX, RDI)
		}
	}
	VZEROUPPER()
	RET()
	Label("sum")
	for i, z := range sums {
		VADDPS(Mem{Base: RDI, Disp: 64 * (i % n)}, z, z)
		VMOVUPS(z, Mem{Base: RDI, Disp: 64 * (i % n)})
		if i%n == n-1 {
			ADDQ(RDX, RDI)
		}
	}
	VZEROUPPER()
	RET()
}

// spmm64x16 is spmm64. Two rows at a time hide latency: as many elements of both as the shorter has, then
// what is left of the other.
func spmm64x16(name string, more bool) {
	TEXT(name, NOSPLIT, "func(dst *float32, rows int, ptr, idx *int32, val, p *float32)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("rows"), RCX)
	MOVQ(arg("ptr"), RBX)
	MOVQ(arg("idx"), RSI)
	MOVQ(arg("val"), RDX)
	MOVQ(arg("p"), R8)
	one, two := []VecPhysical{Z0, Z1, Z2, Z3}, []VecPhysical{Z4, Z5, Z6, Z7}
	add := func(at, row GPPhysical, v VecPhysical, sums []VecPhysical) {
		MOVLQSX(Mem{Base: RSI, Index: at, Scale: 4}, row)
		VBROADCASTSS(Mem{Base: RDX, Index: at, Scale: 4}, v)
		SHLQ(Imm(8), row)
		ADDQ(R8, row)
		for i, z := range sums {
			VFMADD231PS(Mem{Base: row, Disp: 64 * i}, v, z)
		}
		INCQ(at)
	}
	// What is left of a row, which is stored.
	rest := func(name string, at, end GPPhysical, o int, sums []VecPhysical) {
		CMPQ(at, end)
		JGE(LabelRef(name + "Store"))
		Label(name)
		add(at, R11, Z8, sums)
		CMPQ(at, end)
		JLT(LabelRef(name))
		Label(name + "Store")
		for i, z := range sums {
			VMOVUPS(z, Mem{Base: RDI, Disp: o + 64*i})
		}
	}
	begin := func(sums []VecPhysical, o int) {
		for i, z := range sums {
			if more {
				VMOVUPS(Mem{Base: RDI, Disp: o + 64*i}, z)
			} else {
				VPXORD(z, z, z)
			}
		}
	}
	Label("row")
	begin(one, 0)
	MOVLQSX(Mem{Base: RBX}, R9)
	MOVLQSX(Mem{Base: RBX, Disp: 4}, R10)
	CMPQ(RCX, Imm(2))
	JLT(LabelRef("single"))
	begin(two, 256)
	MOVLQSX(Mem{Base: RBX, Disp: 8}, R12)
	MOVLQSX(Mem{Base: RBX, Disp: 12}, R13)
	MOVQ(R10, RAX)
	SUBQ(R9, RAX)
	MOVQ(R13, R11)
	SUBQ(R12, R11)
	CMPQ(R11, RAX)
	CMOVQLT(R11, RAX)
	TESTQ(RAX, RAX)
	JLE(LabelRef("rests"))
	Label("both")
	add(R9, R11, Z8, one)
	add(R12, R15, Z9, two)
	DECQ(RAX)
	JNZ(LabelRef("both"))
	Label("rests")
	rest("first", R9, R10, 0, one)
	rest("second", R12, R13, 256, two)
	ADDQ(U32(512), RDI)
	ADDQ(Imm(16), RBX)
	SUBQ(Imm(2), RCX)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
	Label("single")
	rest("last", R9, R10, 0, one)
	VZEROUPPER()
	RET()
}

// scatter16x16 is scatter16.
func scatter16x16() {
	TEXT("scatter16x16", NOSPLIT, "func(dst *float32, rows int, ptr, idx *int32, val, a *float32, lda, w int)")
	Pragma("noescape")
	MOVQ(arg("w"), RCX)
	MOVL(U32(1), EAX)
	SHLL(CL, EAX)
	DECL(EAX)
	KMOVW(EAX, K1)
	scatter()
	Label("row")
	MOVLQSX(Mem{Base: RBX}, R9)
	MOVLQSX(Mem{Base: RBX, Disp: 4}, R10)
	VMOVUPS_Z(Mem{Base: R8}, K1, Z0)
	CMPQ(R9, R10)
	JGE(LabelRef("next"))
	Label("loop")
	MOVLQSX(Mem{Base: RSI, Index: R9, Scale: 4}, R11)
	VBROADCASTSS(Mem{Base: RDX, Index: R9, Scale: 4}, Z2)
	SHLQ(Imm(6), R11)
	VFMADD213PS(Mem{Base: RDI, Index: R11, Scale: 1}, Z0, Z2)
	VMOVUPS(Z2, Mem{Base: RDI, Index: R11, Scale: 1})
	INCQ(R9)
	CMPQ(R9, R10)
	JLT(LabelRef("loop"))
	scattered()
}

// expZ is exp for sixteen numbers.
func expZ(X, N, R, T Op) {
	VBROADCASTSS(expHigh, N)
	VMINPS(X, N, X)
	VBROADCASTSS(expLow, N)
	VMAXPS(X, N, X)
	VMULPS_BCST(expLog2e, X, N)
	VRNDSCALEPS(Imm(0), N, N)
	VFNMADD231PS_BCST(expLn2Hi, N, X)
	VFNMADD231PS_BCST(expLn2Lo, N, X)
	VBROADCASTSS(expP0, T)
	for _, p := range []Mem{expP1, expP2, expP3, expP4, half} {
		VFMADD213PS_BCST(p, X, T)
	}
	VMULPS(X, X, R)
	VFMADD213PS(X, R, T)
	VADDPS_BCST(expOne, T, T)
	VADDPS(T, T, T)
	VCVTPS2DQ(N, N)
	VPADDD_BCST(expBias, N, N)
	VPSLLD(Imm(23), N, N)
	VMULPS(N, T, T)
}

// cell32Z is cell32 for sixteen nodes.
func cell32Z(o int, sum, all Op) {
	VMOVUPS(Mem{Base: RSI, Disp: o, Index: RDX, Scale: 4}, Z10)
	v, w := Z12, Z13
	VMOVAPS(Z10, v)
	for _, c := range []Mem{{Base: RSI, Disp: o, Index: R8, Scale: 1}, {Base: RSI, Disp: o, Index: RDX, Scale: 2}, {Base: RSI, Disp: o, Index: RDX, Scale: 1}} {
		VMOVUPS(c, w)
		VFMADD231PS(v, Z8, w)
		VFMADD213PS(w, Z8, Z10)
		v, w = w, v
	}
	VMOVUPS(Mem{Base: RSI, Disp: o}, w)
	VFMADD231PS(v, Z8, w)
	VADDPS(w, sum, sum)
	VMOVUPS(Z10, Mem{Base: RDI, Disp: o})
	VFMADD231PS(Z10, Z9, all)
}

// hazards32x16 is hazards32.
func hazards32x16() {
	TEXT("hazards32x16", NOSPLIT, "func(r, p, all, table *float32, plane int, at *int32, delta, up *float32, k int)")
	Pragma("noescape")
	hazards(2)
	acc, lower, wide := []VecPhysical{Z0, Z1, Z4, Z5}, []VecPhysical{Y0, Y1, Y4, Y5}, []VecPhysical{Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23}
	for _, z := range wide {
		VPXORD(z, z, z)
	}

	Label("chunk") // of at most 16 actions
	for _, z := range acc {
		VPXORD(z, z, z)
	}
	MOVQ(U32(16), RBX)
	CMPQ(RCX, RBX)
	CMOVQLT(RCX, RBX)
	SUBQ(RBX, RCX)

	Label("action")
	MOVLQSX(Mem{Base: R10}, RSI)
	LEAQ(Mem{Base: R11, Index: RSI, Scale: 4}, RSI)
	VBROADCASTSS(Mem{Base: R12}, Z8)
	VBROADCASTSS(Mem{Base: R13}, Z9)
	cell32Z(0, Z0, Z4)
	cell32Z(64, Z1, Z5)
	ADDQ(Imm(4), R10)
	ADDQ(Imm(4), R12)
	ADDQ(Imm(4), R13)
	SUBQ(I8(-128), RDI)
	DECQ(RBX)
	JNZ(LabelRef("action"))

	for i, z := range acc {
		VCVTPS2PD(lower[i], Z10)
		VADDPD(Z10, wide[2*i], wide[2*i])
		VEXTRACTF64X4(Imm(1), z, Y11)
		VCVTPS2PD(Y11, Z11)
		VADDPD(Z11, wide[2*i+1], wide[2*i+1])
	}
	TESTQ(RCX, RCX)
	JNZ(LabelRef("chunk"))

	for i := range acc {
		VCVTPD2PS(wide[2*i], lower[i])
		VCVTPD2PS(wide[2*i+1], Y10)
		VINSERTF64X4(Imm(1), Y10, acc[i], acc[i])
	}
	MOVQ(arg("p"), RDI)
	MOVQ(arg("all"), RSI)
	for i := range 2 {
		VCMPPS_BCST(Imm(0x15), liftLow, acc[i], K1)
		expZ(acc[i], Z10, Z11, Z12)
		VMULPS_BCST_Z(liftScale, Z12, K1, Z12)
		VMOVUPS(Z12, Mem{Base: RDI, Disp: 64 * i})
		VMOVUPS(acc[2+i], Mem{Base: RSI, Disp: 64 * i})
	}
	VZEROUPPER()
	RET()
}

// fold adds the sixteen lanes of Z14 to four in X.
func fold(X Op) {
	VEXTRACTF64X4(Imm(1), Z14, Y13)
	VADDPS(Y13, Y14, Y14)
	VEXTRACTF128(Imm(1), Y14, X13)
	VADDPS(X13, X14, X)
}

// pulls32x16 is pulls32.
func pulls32x16() {
	TEXT("pulls32x16", NOSPLIT, "func(dst, r, p, all, t, gap, up *float32, k int)")
	Pragma("noescape")
	pulls()
	p, all, t := []VecPhysical{Z0, Z1}, []VecPhysical{Z2, Z3}, []VecPhysical{Z4, Z5}
	for i := range 2 {
		VMOVUPS(Mem{Base: RAX, Disp: 64 * i}, p[i])
		VMOVUPS(Mem{Base: RBX, Disp: 64 * i}, all[i])
		VMOVUPS(Mem{Base: R10, Disp: 64 * i}, t[i])
	}
	VBROADCASTSS(pullLow, Z15)
	byFours(func(i int, x Op) {
		VBROADCASTSS(Mem{Base: R12, Disp: 4 * i}, Z16)
		VBROADCASTSS(Mem{Base: R13, Disp: 4 * i}, Z17)
		VPXORD(Z14, Z14, Z14)
		for h := range 2 {
			VMOVUPS(Mem{Base: RSI, Disp: 128*i + 64*h}, Z6)
			VADDPS(Z16, Z6, Z7)
			VADDPS(t[h], Z7, Z7)
			VFMSUB213PS(all[h], Z17, Z7)
			VMULPS(p[h], Z6, Z6)
			VCMPPS(Imm(0x15), Z15, Z6, K1)
			VMOVAPS_Z(Z6, K1, Z6)
			VFMADD231PS(Z6, Z7, Z14)
		}
		fold(x)
	}, func(n int) {
		ADDQ(U32(128*n), RSI)
		ADDQ(Imm(uint64(4*n)), R12)
		ADDQ(Imm(uint64(4*n)), R13)
	})
}

// firstLanes loads into K1 the mask of the first n of 16 lanes, 0 < n < 16; RCX is n, and RAX is spent.
func firstLanes() {
	MOVL(U32(1), EAX)
	SHLL(CL, EAX)
	DECL(EAX)
	KMOVW(EAX, K1)
}

// binaryZ is binary.
func binaryZ(name string, op func(...Op), masked func(mxyz, xyz, k, xyz1 Op)) {
	TEXT(name, NOSPLIT, "func(dst, x, y *float32, n int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("y"), RDX)
	MOVQ(arg("n"), RCX)
	SUBQ(Imm(64), RCX)
	JLT(LabelRef("sixteen"))
	Label("loop")
	for i, z := range []VecPhysical{Z0, Z1, Z2, Z3} {
		VMOVUPS(Mem{Base: RSI, Disp: 64 * i}, z)
		op(Mem{Base: RDX, Disp: 64 * i}, z, z)
		VMOVUPS(z, Mem{Base: RDI, Disp: 64 * i})
	}
	for _, r := range []GPPhysical{RSI, RDX, RDI} {
		ADDQ(U32(256), r)
	}
	SUBQ(Imm(64), RCX)
	JGE(LabelRef("loop"))
	Label("sixteen")
	ADDQ(Imm(48), RCX)
	JLT(LabelRef("rest"))
	Label("loop16")
	VMOVUPS(Mem{Base: RSI}, Z0)
	op(Mem{Base: RDX}, Z0, Z0)
	VMOVUPS(Z0, Mem{Base: RDI})
	for _, r := range []GPPhysical{RSI, RDX, RDI} {
		ADDQ(Imm(64), r)
	}
	SUBQ(Imm(16), RCX)
	JGE(LabelRef("loop16"))
	Label("rest")
	ADDQ(Imm(16), RCX)
	JLE(LabelRef("done"))
	firstLanes()
	VMOVUPS_Z(Mem{Base: RSI}, K1, Z0)
	masked(Mem{Base: RDX}, Z0, K1, Z0)
	VMOVUPS(Z0, K1, Mem{Base: RDI})
	Label("done")
	VZEROUPPER()
	RET()
}

// unaryZ is unary, of Z0 with c and d in Z8 and Z9.
func unaryZ(name string, f func()) {
	TEXT(name, NOSPLIT, "func(dst, x *float32, n int, c, d float32)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("n"), RCX)
	VBROADCASTSS(arg("c"), Z8)
	VBROADCASTSS(arg("d"), Z9)
	SUBQ(Imm(16), RCX)
	JLT(LabelRef("rest"))
	Label("loop")
	VMOVUPS(Mem{Base: RSI}, Z0)
	f()
	VMOVUPS(Z0, Mem{Base: RDI})
	ADDQ(Imm(64), RSI)
	ADDQ(Imm(64), RDI)
	SUBQ(Imm(16), RCX)
	JGE(LabelRef("loop"))
	Label("rest")
	ADDQ(Imm(16), RCX)
	JLE(LabelRef("done"))
	firstLanes()
	VMOVUPS_Z(Mem{Base: RSI}, K1, Z0)
	f()
	VMOVUPS(Z0, K1, Mem{Base: RDI})
	Label("done")
	VZEROUPPER()
	RET()
}

func elementwiseZ() {
	binaryZ("add32x16", VADDPS, VADDPS_Z)
	binaryZ("sub32x16", VSUBPS, VSUBPS_Z)
	binaryZ("mul32x16", VMULPS, VMULPS_Z)
	binaryZ("div32x16", VDIVPS, VDIVPS_Z)
	unaryZ("scale32x16", func() { VMULPS(Z8, Z0, Z0) })
	unaryZ("atLeast32x16", func() { VMAXPS(Z0, Z8, Z0) })
}
