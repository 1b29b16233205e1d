package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func fmaRow(addr, Ya, Yb Op) {
	VBROADCASTSS(addr, Y2)
	VFMADD231PS(Y0, Y2, Ya)
	VFMADD231PS(Y1, Y2, Yb)
}

func storeRow(Ya, Yb Op) {
	VMOVUPS(Ya, Mem{Base: RDI})
	VMOVUPS(Yb, Mem{Base: RDI, Disp: 32})
	ADDQ(RDX, RDI)
}

func addRow(Ya, Yb Op) {
	VADDPS(Mem{Base: RDI}, Ya, Ya)
	VADDPS(Mem{Base: RDI, Disp: 32}, Yb, Yb)
	storeRow(Ya, Yb)
}

// sparse loads the arguments of spmm64 and spmm16, and begins a row.
func sparse() {
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("rows"), RCX)
	MOVQ(arg("ptr"), RBX)
	MOVQ(arg("idx"), RSI)
	MOVQ(arg("val"), RDX)
	MOVQ(arg("p"), R8)
	Label("row")
	MOVLQSX(Mem{Base: RBX}, R9)
	MOVLQSX(Mem{Base: RBX, Disp: 4}, R10)
}

// c [6×16] (+)= Σ_t a[r·ars + t·acs]·b[t·ldb + j]
func gemm6x16() {
	TEXT("gemm6x16", NOSPLIT, "func(c *float32, ldc int, a *float32, ars, acs int, b *float32, ldb, k int, add bool)")
	Pragma("noescape")
	MOVQ(arg("c"), RDI)
	MOVQ(arg("ldc"), RDX)
	MOVQ(arg("a"), RSI)
	MOVQ(arg("ars"), R8)
	MOVQ(arg("acs"), R9)
	MOVQ(arg("b"), RBX)
	MOVQ(arg("ldb"), R11)
	MOVQ(arg("k"), RCX)
	SHLQ(Imm(2), R11)
	SHLQ(Imm(2), RDX)
	SHLQ(Imm(2), R8)
	SHLQ(Imm(2), R9)
	LEAQ(Mem{Base: RSI, Index: R8, Scale: 2}, R10)
	ADDQ(R8, R10) // row 3
	zero4(Y4, Y5, Y6, Y7)
	zero4(Y8, Y9, Y10, Y11)
	zero4(Y12, Y13, Y14, Y15)
	Label("loop")
	VMOVUPS(Mem{Base: RBX}, Y0)
	VMOVUPS(Mem{Base: RBX, Disp: 32}, Y1)
	fmaRow(Mem{Base: RSI}, Y4, Y5)
	fmaRow(Mem{Base: RSI, Index: R8, Scale: 1}, Y6, Y7)
	fmaRow(Mem{Base: RSI, Index: R8, Scale: 2}, Y8, Y9)
	fmaRow(Mem{Base: R10}, Y10, Y11)
	fmaRow(Mem{Base: R10, Index: R8, Scale: 1}, Y12, Y13)
	fmaRow(Mem{Base: R10, Index: R8, Scale: 2}, Y14, Y15)
	ADDQ(R9, RSI)
	ADDQ(R9, R10)
	ADDQ(R11, RBX)
	DECQ(RCX)
	JNZ(LabelRef("loop"))
	MOVBLZX(arg("add"), EAX)
	TESTL(EAX, EAX)
	JNZ(LabelRef("sum"))
	storeRow(Y4, Y5)
	storeRow(Y6, Y7)
	storeRow(Y8, Y9)
	storeRow(Y10, Y11)
	storeRow(Y12, Y13)
	storeRow(Y14, Y15)
	VZEROUPPER()
	RET()
	Label("sum")
	addRow(Y4, Y5)
	addRow(Y6, Y7)
	addRow(Y8, Y9)
	addRow(Y10, Y11)
	addRow(Y12, Y13)
	addRow(Y14, Y15)
	VZEROUPPER()
	RET()
}

// dst[t·ldd + r] = src[r·lds + t] for r < 8 and t < n, a multiple of 8.
func transpose8() {
	TEXT("transpose8", NOSPLIT, "func(dst *float32, ldd int, src *float32, lds int, n int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("ldd"), R9)
	MOVQ(arg("src"), RSI)
	MOVQ(arg("lds"), R8)
	MOVQ(arg("n"), RCX)
	SHLQ(Imm(2), R8)
	SHLQ(Imm(2), R9)
	LEAQ(Mem{Base: R8, Index: R8, Scale: 2}, R11) // 3 rows
	LEAQ(Mem{Base: R9, Index: R9, Scale: 2}, R12)
	Label("loop")
	LEAQ(Mem{Base: RSI, Index: R8, Scale: 4}, R10)
	VMOVUPS(Mem{Base: RSI}, Y0)
	VMOVUPS(Mem{Base: RSI, Index: R8, Scale: 1}, Y1)
	VMOVUPS(Mem{Base: RSI, Index: R8, Scale: 2}, Y2)
	VMOVUPS(Mem{Base: RSI, Index: R11, Scale: 1}, Y3)
	VMOVUPS(Mem{Base: R10}, Y4)
	VMOVUPS(Mem{Base: R10, Index: R8, Scale: 1}, Y5)
	VMOVUPS(Mem{Base: R10, Index: R8, Scale: 2}, Y6)
	VMOVUPS(Mem{Base: R10, Index: R11, Scale: 1}, Y7)
	VUNPCKLPS(Y1, Y0, Y8)
	VUNPCKHPS(Y1, Y0, Y9)
	VUNPCKLPS(Y3, Y2, Y10)
	VUNPCKHPS(Y3, Y2, Y11)
	VUNPCKLPS(Y5, Y4, Y12)
	VUNPCKHPS(Y5, Y4, Y13)
	VUNPCKLPS(Y7, Y6, Y14)
	VUNPCKHPS(Y7, Y6, Y15)
	VSHUFPS(Imm(0x44), Y10, Y8, Y0)
	VSHUFPS(Imm(0xEE), Y10, Y8, Y1)
	VSHUFPS(Imm(0x44), Y11, Y9, Y2)
	VSHUFPS(Imm(0xEE), Y11, Y9, Y3)
	VSHUFPS(Imm(0x44), Y14, Y12, Y4)
	VSHUFPS(Imm(0xEE), Y14, Y12, Y5)
	VSHUFPS(Imm(0x44), Y15, Y13, Y6)
	VSHUFPS(Imm(0xEE), Y15, Y13, Y7)
	VPERM2F128(Imm(0x20), Y4, Y0, Y8)
	VPERM2F128(Imm(0x20), Y5, Y1, Y9)
	VPERM2F128(Imm(0x20), Y6, Y2, Y10)
	VPERM2F128(Imm(0x20), Y7, Y3, Y11)
	VPERM2F128(Imm(0x31), Y4, Y0, Y12)
	VPERM2F128(Imm(0x31), Y5, Y1, Y13)
	VPERM2F128(Imm(0x31), Y6, Y2, Y14)
	VPERM2F128(Imm(0x31), Y7, Y3, Y15)
	LEAQ(Mem{Base: RDI, Index: R9, Scale: 4}, R10)
	VMOVUPS(Y8, Mem{Base: RDI})
	VMOVUPS(Y9, Mem{Base: RDI, Index: R9, Scale: 1})
	VMOVUPS(Y10, Mem{Base: RDI, Index: R9, Scale: 2})
	VMOVUPS(Y11, Mem{Base: RDI, Index: R12, Scale: 1})
	VMOVUPS(Y12, Mem{Base: R10})
	VMOVUPS(Y13, Mem{Base: R10, Index: R9, Scale: 1})
	VMOVUPS(Y14, Mem{Base: R10, Index: R9, Scale: 2})
	VMOVUPS(Y15, Mem{Base: R10, Index: R12, Scale: 1})
	ADDQ(Imm(32), RSI)
	LEAQ(Mem{Base: RDI, Index: R9, Scale: 8}, RDI)
	SUBQ(Imm(8), RCX)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// dst[64r + j] = Σ_{ptr[2r] ≤ e < ptr[2r+1]} val[e]·p[64·idx[e] + j]
func spmm64() {
	TEXT("spmm64", NOSPLIT, "func(dst *float32, rows int, ptr, idx *int32, val, p *float32)")
	Pragma("noescape")
	sparse()
	zero4(Y0, Y1, Y2, Y3)
	zero4(Y4, Y5, Y6, Y7)
	CMPQ(R9, R10)
	JGE(LabelRef("store"))
	Label("loop")
	MOVLQSX(Mem{Base: RSI, Index: R9, Scale: 4}, R11)
	VBROADCASTSS(Mem{Base: RDX, Index: R9, Scale: 4}, Y8)
	SHLQ(Imm(8), R11)
	ADDQ(R8, R11)
	VFMADD231PS(Mem{Base: R11}, Y8, Y0)
	VFMADD231PS(Mem{Base: R11, Disp: 32}, Y8, Y1)
	VFMADD231PS(Mem{Base: R11, Disp: 64}, Y8, Y2)
	VFMADD231PS(Mem{Base: R11, Disp: 96}, Y8, Y3)
	VFMADD231PS(Mem{Base: R11, Disp: 128}, Y8, Y4)
	VFMADD231PS(Mem{Base: R11, Disp: 160}, Y8, Y5)
	VFMADD231PS(Mem{Base: R11, Disp: 192}, Y8, Y6)
	VFMADD231PS(Mem{Base: R11, Disp: 224}, Y8, Y7)
	INCQ(R9)
	CMPQ(R9, R10)
	JLT(LabelRef("loop"))
	Label("store")
	store4(0, RDI, Y0, Y1, Y2, Y3)
	store4(128, RDI, Y4, Y5, Y6, Y7)
	ADDQ(U32(256), RDI)
	ADDQ(Imm(8), RBX)
	DECQ(RCX)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// spmmPairs is spmm64 with 16 columns times n. Two sums for even and odd entries hide latency; wide has sixteen numbers in a vector.
func spmmPairs(name string, n int, wide bool) {
	TEXT(name, NOSPLIT, "func(dst *float32, rows int, ptr, idx *int32, val, p *float32)")
	Pragma("noescape")
	sparse()
	all, size := []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13}, 32
	if wide {
		all, size = []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7}, 64
	}
	m := 64 * n / size
	even, odd, by, next := all[:m], all[m:2*m], all[2*m], all[2*m+1]
	for _, v := range all[:2*m] {
		if wide {
			VPXORD(v, v, v)
		} else {
			VXORPS(v, v, v)
		}
	}
	// The row of p of an element.
	row := func(at int, to GPPhysical, v VecPhysical) {
		MOVLQSX(Mem{Base: RSI, Disp: at, Index: R9, Scale: 4}, to)
		VBROADCASTSS(Mem{Base: RDX, Disp: at, Index: R9, Scale: 4}, v)
		if n == 3 {
			LEAQ(Mem{Base: to, Index: to, Scale: 2}, to)
		}
		SHLQ(Imm(map[int]uint64{1: 6, 2: 7, 3: 6}[n]), to)
	}
	DECQ(R10)
	CMPQ(R9, R10)
	JGE(LabelRef("last"))
	Label("loop")
	row(0, R11, by)
	row(4, R12, next)
	for i := range m {
		VFMADD231PS(Mem{Base: R8, Disp: size * i, Index: R11, Scale: 1}, by, even[i])
		VFMADD231PS(Mem{Base: R8, Disp: size * i, Index: R12, Scale: 1}, next, odd[i])
	}
	ADDQ(Imm(2), R9)
	CMPQ(R9, R10)
	JLT(LabelRef("loop"))
	Label("last")
	JGT(LabelRef("store"))
	row(0, R11, by)
	for i := range m {
		VFMADD231PS(Mem{Base: R8, Disp: size * i, Index: R11, Scale: 1}, by, even[i])
	}
	Label("store")
	for i := range m {
		VADDPS(odd[i], even[i], even[i])
		VMOVUPS(even[i], Mem{Base: RDI, Disp: size * i})
	}
	ADDQ(U32(uint32(64*n)), RDI)
	ADDQ(Imm(8), RBX)
	DECQ(RCX)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// Adds row r of a, its first w numbers of 16, times each element of row r of a sparse matrix to the row of
// dst, of 16 numbers, that the element's column says.
func scatter16() {
	TEXT("scatter16", NOSPLIT, "func(dst *float32, rows int, ptr, idx *int32, val, a *float32, lda, w int)")
	Pragma("noescape")
	MOVQ(arg("w"), RAX)
	MOVQ(U32(8), R9)
	CMPQ(RAX, R9)
	CMOVQLT(RAX, R9)
	SUBQ(R9, RAX)
	tail(R9, R11, Y6)
	tail(RAX, R11, Y7)
	scatter()
	Label("row")
	MOVLQSX(Mem{Base: RBX}, R9)
	MOVLQSX(Mem{Base: RBX, Disp: 4}, R10)
	VMASKMOVPS(Mem{Base: R8}, Y6, Y0)
	VMASKMOVPS(Mem{Base: R8, Disp: 32}, Y7, Y1)
	CMPQ(R9, R10)
	JGE(LabelRef("next"))
	Label("loop")
	MOVLQSX(Mem{Base: RSI, Index: R9, Scale: 4}, R11)
	VBROADCASTSS(Mem{Base: RDX, Index: R9, Scale: 4}, Y2)
	VMOVAPS(Y2, Y3)
	SHLQ(Imm(6), R11)
	VFMADD213PS(Mem{Base: RDI, Index: R11, Scale: 1}, Y0, Y2)
	VFMADD213PS(Mem{Base: RDI, Disp: 32, Index: R11, Scale: 1}, Y1, Y3)
	VMOVUPS(Y2, Mem{Base: RDI, Index: R11, Scale: 1})
	VMOVUPS(Y3, Mem{Base: RDI, Disp: 32, Index: R11, Scale: 1})
	INCQ(R9)
	CMPQ(R9, R10)
	JLT(LabelRef("loop"))
	scattered()
}

// scatter loads the arguments of scatter16 but w.
func scatter() {
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("rows"), RCX)
	MOVQ(arg("ptr"), RBX)
	MOVQ(arg("idx"), RSI)
	MOVQ(arg("val"), RDX)
	MOVQ(arg("a"), R8)
	MOVQ(arg("lda"), R13)
	SHLQ(Imm(2), R13)
}

// scattered ends a row of scatter16.
func scattered() {
	Label("next")
	ADDQ(R13, R8)
	ADDQ(Imm(8), RBX)
	DECQ(RCX)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// Writes the elements of x that are not 0, and their places, and returns how
// many there are. Up to 8 elements beyond them are overwritten. n is a multiple
// of 8.
func compress32() {
	TEXT("compress32", NOSPLIT, "func(val *float32, idx *int32, x *float32, n int, lanes *[256][8]uint8) int")
	Pragma("noescape")
	MOVQ(arg("val"), RDI)
	MOVQ(arg("idx"), RBX)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("n"), RCX)
	VXORPS(Y7, Y7, Y7)
	VMOVDQU(laneNumbers, Y6) // places of the present eight
	VMOVDQU(lanesEight, Y5)
	MOVQ(arg("lanes"), R8)
	XORQ(R9, R9)
	Label("loop")
	VMOVUPS(Mem{Base: RSI}, Y0)
	VCMPPS(Imm(4), Y7, Y0, Y1) // not equal, or NaN
	VMOVMSKPS(Y1, EAX)
	VPMOVZXBD(Mem{Base: R8, Index: RAX, Scale: 8}, Y2)
	VPERMPS(Y0, Y2, Y0)
	VPERMD(Y6, Y2, Y3)
	VMOVUPS(Y0, Mem{Base: RDI, Index: R9, Scale: 4})
	VMOVDQU(Y3, Mem{Base: RBX, Index: R9, Scale: 4})
	POPCNTL(EAX, EAX)
	ADDQ(RAX, R9)
	VPADDD(Y5, Y6, Y6)
	ADDQ(Imm(32), RSI)
	SUBQ(Imm(8), RCX)
	JG(LabelRef("loop"))
	MOVQ(R9, arg("ret"))
	VZEROUPPER()
	RET()
}

// places32 writes the places of the bits that are set in n bytes to at, and returns how many they are. It writes
// beyond them, 8n numbers at most.
func places32() {
	TEXT("places32", NOSPLIT, "func(at *int32, bits *uint8, n int, lanes *[256][8]uint8) int")
	Pragma("noescape")
	MOVQ(arg("at"), RDI)
	MOVQ(arg("bits"), RSI)
	MOVQ(arg("n"), RCX)
	MOVQ(arg("lanes"), R8)
	VPXOR(Y6, Y6, Y6) // places before the present eight
	VMOVDQU(lanesEight, Y5)
	XORQ(R9, R9)
	Label("loop")
	MOVBLZX(Mem{Base: RSI}, EAX)
	VPMOVZXBD(Mem{Base: R8, Index: RAX, Scale: 8}, Y0)
	VPADDD(Y6, Y0, Y0)
	VMOVDQU(Y0, Mem{Base: RDI, Index: R9, Scale: 4})
	POPCNTL(EAX, EAX)
	ADDQ(RAX, R9)
	VPADDD(Y5, Y6, Y6)
	INCQ(RSI)
	DECQ(RCX)
	JNZ(LabelRef("loop"))
	MOVQ(R9, arg("ret"))
	VZEROUPPER()
	RET()
}

// most32 is the largest of n numbers without sign, n a multiple of 8, at least 8.
func most32() {
	TEXT("most32", NOSPLIT, "func(x *int32, n int) uint32")
	Pragma("noescape")
	MOVQ(arg("x"), RSI)
	MOVQ(arg("n"), RCX)
	VPXOR(Y0, Y0, Y0)
	Label("loop")
	VPMAXUD(Mem{Base: RSI}, Y0, Y0)
	ADDQ(Imm(32), RSI)
	SUBQ(Imm(8), RCX)
	JG(LabelRef("loop"))
	VEXTRACTI128(Imm(1), Y0, X1)
	VPMAXUD(X1, X0, X0)
	VPSHUFD(Imm(0x4e), X0, X1)
	VPMAXUD(X1, X0, X0)
	VPSHUFD(Imm(0xb1), X0, X1)
	VPMAXUD(X1, X0, X0)
	VMOVD(X0, EAX)
	MOVL(EAX, arg("ret"))
	VZEROUPPER()
	RET()
}
