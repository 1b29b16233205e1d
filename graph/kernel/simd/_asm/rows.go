package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// rowsTimes is c [n×16] (+)= Σ_t rows[r][at+t]·b[16t + j], for n rows that lie anywhere.
func rowsTimes(name string, n int, wide bool) {
	TEXT(name, NOSPLIT, "func(c *float32, rows **float32, at int, b *float32, k int, add bool)")
	Pragma("noescape")
	MOVQ(arg("rows"), RAX)
	MOVQ(arg("at"), RDX)
	MOVQ(arg("b"), RBX)
	MOVQ(arg("k"), RCX)
	ADDQ(RCX, RDX)
	from := []GPPhysical{RSI, RDI, R8, R9, R10, R11, R12, R13}[:n]
	for i, r := range from { // the end of the row's part
		MOVQ(Mem{Base: RAX, Disp: 8 * i}, r)
		LEAQ(Mem{Base: r, Index: RDX, Scale: 4}, r)
	}
	NEGQ(RCX)
	all, size := []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11}, 32
	if wide {
		all, size = []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8}, 64
	}
	m := 64 / size // vectors of a row of c
	sums, b := all[:n*m], all[n*m:n*m+m]
	for _, v := range sums {
		if wide {
			VPXORD(v, v, v)
		} else {
			VXORPS(v, v, v)
		}
	}
	// Term t from where b is, the row's place being so much before that of the index.
	term := func(t, before int) {
		for j, v := range b {
			VMOVUPS(Mem{Base: RBX, Disp: 64*t + size*j}, v)
		}
		for i, r := range from {
			x := Mem{Base: r, Index: RCX, Scale: 4, Disp: 4 * (t - before)}
			if wide {
				VFMADD231PS_BCST(x, b[0], sums[i])
				continue
			}
			VBROADCASTSS(x, Y12)
			VFMADD231PS(b[0], Y12, sums[2*i])
			VFMADD231PS(b[1], Y12, sums[2*i+1])
		}
	}
	const unrolled = 4
	ADDQ(Imm(unrolled), RCX)
	JG(LabelRef("rest"))
	Label("loop")
	for t := range unrolled {
		term(t, unrolled)
	}
	ADDQ(U32(64*unrolled), RBX)
	ADDQ(Imm(unrolled), RCX)
	JLE(LabelRef("loop"))
	Label("rest")
	SUBQ(Imm(unrolled), RCX)
	JGE(LabelRef("store"))
	Label("one")
	term(0, 0)
	ADDQ(Imm(64), RBX)
	INCQ(RCX)
	JNZ(LabelRef("one"))
	Label("store")
	MOVQ(arg("c"), RDX)
	MOVBLZX(arg("add"), EAX)
	TESTL(EAX, EAX)
	JZ(LabelRef("put"))
	for i, v := range sums {
		VADDPS(Mem{Base: RDX, Disp: size * i}, v, v)
	}
	Label("put")
	for i, v := range sums {
		VMOVUPS(v, Mem{Base: RDX, Disp: size * i})
	}
	VZEROUPPER()
	RET()
}

// timesRows is dst[2p + q][j] (+)= Σ_r by[2(n·p + r) + q]·rows[r][at+j] for q = 0 and 1, pairs p, n rows that lie anywhere, and
// so many columns, a multiple of 32.
func timesRows(name string, wide bool) {
	TEXT(name, NOSPLIT, "func(dst *float32, ldd int, rows **float32, at, columns int, by *float32, n, pairs int, add bool)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("ldd"), R11)
	MOVQ(arg("rows"), RSI)
	MOVQ(arg("at"), RDX)
	MOVQ(arg("by"), R8)
	MOVQ(arg("n"), R9)
	MOVQ(arg("pairs"), R10)
	SHLQ(Imm(2), R11)
	SHLQ(Imm(2), RDX)
	Label("pair")
	XORQ(R12, R12)
	LEAQ(Mem{Base: RDI, Index: R11, Scale: 1}, R15)
	// A block of columns: as many vectors of each of the two rows of dst.
	block := func(name string, one, two, x []VecPhysical, g0, g1 VecPhysical, size int) {
		MOVBLZX(arg("add"), EAX)
		TESTL(EAX, EAX)
		JZ(LabelRef(name + "Zero"))
		for i := range one {
			VMOVUPS(Mem{Base: RDI, Index: R12, Scale: 1, Disp: size * i}, one[i])
			VMOVUPS(Mem{Base: R15, Index: R12, Scale: 1, Disp: size * i}, two[i])
		}
		JMP(LabelRef(name + "Begin"))
		Label(name + "Zero")
		for i := range one {
			if size == 64 {
				VPXORD(one[i], one[i], one[i])
				VPXORD(two[i], two[i], two[i])
			} else {
				VXORPS(one[i], one[i], one[i])
				VXORPS(two[i], two[i], two[i])
			}
		}
		Label(name + "Begin")
		MOVQ(RSI, R13)
		MOVQ(R8, RAX)
		MOVQ(R9, RCX)
		Label(name + "Row")
		MOVQ(Mem{Base: R13}, RBX)
		ADDQ(RDX, RBX)
		VBROADCASTSS(Mem{Base: RAX}, g0)
		VBROADCASTSS(Mem{Base: RAX, Disp: 4}, g1)
		for i := range one {
			v := x[i%len(x)]
			VMOVUPS(Mem{Base: RBX, Index: R12, Scale: 1, Disp: size * i}, v)
			VFMADD231PS(v, g0, one[i])
			VFMADD231PS(v, g1, two[i])
		}
		ADDQ(Imm(8), R13)
		ADDQ(Imm(8), RAX)
		DECQ(RCX)
		JNZ(LabelRef(name + "Row"))
		for i := range one {
			VMOVUPS(one[i], Mem{Base: RDI, Index: R12, Scale: 1, Disp: size * i})
			VMOVUPS(two[i], Mem{Base: R15, Index: R12, Scale: 1, Disp: size * i})
		}
		ADDQ(U32(uint32(size*len(one))), R12)
	}
	left := func() {
		MOVQ(arg("columns"), RCX)
		SHLQ(Imm(2), RCX)
		SUBQ(R12, RCX)
	}
	if wide {
		Label("wide")
		left()
		CMPQ(RCX, U32(512))
		JLT(LabelRef("narrow"))
		block("wide", []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7}, []VecPhysical{Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15},
			[]VecPhysical{Z16, Z17, Z18, Z19}, Z20, Z21, 64)
		JMP(LabelRef("wide"))
	}
	Label("narrow")
	left()
	JLE(LabelRef("next"))
	block("narrow", []VecPhysical{Y0, Y1, Y2, Y3}, []VecPhysical{Y4, Y5, Y6, Y7}, []VecPhysical{Y8, Y9, Y10, Y11}, Y12, Y13, 32)
	JMP(LabelRef("narrow"))
	Label("next")
	LEAQ(Mem{Base: RDI, Index: R11, Scale: 2}, RDI)
	LEAQ(Mem{Base: R8, Index: R9, Scale: 8}, R8)
	DECQ(R10)
	JNZ(LabelRef("pair"))
	VZEROUPPER()
	RET()
}
