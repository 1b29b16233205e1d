package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// clear sets vectors to 0.
func clear(vs []VecPhysical) {
	for _, v := range vs {
		if v.Size() == 64 {
			VPXORD(v, v, v)
		} else {
			VXORPS(v, v, v)
		}
	}
}

// rowsTimes is c [n×16] (+)= Σ_t rows[r][at+t]·b[16t + j], for n rows that lie anywhere, and with panels 2 the same
// of the b that begins second elements later, after it in c.
func rowsTimes(name string, n, panels int, wide bool) {
	second := map[int]string{1: "", 2: " second,"}[panels]
	TEXT(name, NOSPLIT, "func(c *float32, rows **float32, at int, b *float32,"+second+" k int, add bool)")
	Pragma("noescape")
	MOVQ(arg("rows"), RAX)
	MOVQ(arg("at"), RDX)
	MOVQ(arg("b"), RBX)
	MOVQ(arg("k"), RCX)
	if panels == 2 {
		MOVQ(arg("second"), R15)
		LEAQ(Mem{Base: RBX, Index: R15, Scale: 4}, R15)
	}
	ADDQ(RCX, RDX)
	from := []GPPhysical{RSI, RDI, R8, R9, R10, R11, R12, R13}[:n]
	for i, r := range from { // the end of the row's part
		MOVQ(Mem{Base: RAX, Disp: 8 * i}, r)
		LEAQ(Mem{Base: r, Index: RDX, Scale: 4}, r)
	}
	NEGQ(RCX)
	sums, b, x := []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7}, []VecPhysical{Y8, Y9}, VecPhysical(Y10)
	if wide {
		sums = []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15}[:n*panels]
		b, x = []VecPhysical{Z16, Z17}[:panels], Z18
	}
	size := int(x.Size())
	clear(sums)
	// Term t from where b is, the row's place being so much before that of the index.
	term := func(t, before int) {
		VMOVUPS(Mem{Base: RBX, Disp: 64 * t}, b[0])
		switch {
		case !wide:
			VMOVUPS(Mem{Base: RBX, Disp: 64*t + size}, b[1])
		case panels == 2:
			VMOVUPS(Mem{Base: R15, Disp: 64 * t}, b[1])
		}
		for i, r := range from {
			v := Mem{Base: r, Index: RCX, Scale: 4, Disp: 4 * (t - before)}
			if len(b) == 1 {
				VFMADD231PS_BCST(v, b[0], sums[i])
				continue
			}
			VBROADCASTSS(v, x)
			VFMADD231PS(b[0], x, sums[2*i])
			VFMADD231PS(b[1], x, sums[2*i+1])
		}
	}
	next := func(terms int) {
		ADDQ(U32(uint32(64*terms)), RBX)
		if panels == 2 {
			ADDQ(U32(uint32(64*terms)), R15)
		}
	}
	const unrolled = 4
	ADDQ(Imm(unrolled), RCX)
	JG(LabelRef("rest"))
	Label("loop")
	for t := range unrolled {
		term(t, unrolled)
	}
	next(unrolled)
	ADDQ(Imm(unrolled), RCX)
	JLE(LabelRef("loop"))
	Label("rest")
	SUBQ(Imm(unrolled), RCX)
	JGE(LabelRef("store"))
	Label("one")
	term(0, 0)
	next(1)
	INCQ(RCX)
	JNZ(LabelRef("one"))
	Label("store")
	MOVQ(arg("c"), RDX)
	to := func(i int) Mem {
		if panels == 2 {
			return Mem{Base: RDX, Disp: 64*(i/2) + 64*n*(i%2)}
		}
		return Mem{Base: RDX, Disp: size * i}
	}
	MOVBLZX(arg("add"), EAX)
	TESTL(EAX, EAX)
	JZ(LabelRef("put"))
	for i, v := range sums {
		VADDPS(to(i), v, v)
	}
	Label("put")
	for i, v := range sums {
		VMOVUPS(v, to(i))
	}
	VZEROUPPER()
	RET()
}

// rowsFive is how many rows of its result timesRows computes at a time.
const rowsFive = 5

// timesRows is dst[5p + q][j] (+)= Σ_r by[5(n·p + r) + q]·rows[r][at+j] for q < 5, groups p, n rows that lie anywhere, and
// so many columns, a multiple of 16. Unless keep is nil it copies the columns of the rows, 64 of each at most, to there, next to one another at
// distances of 64, and asks memory for as many that follow.
func timesRows(name string, wide bool) {
	TEXT(name, NOSPLIT, "func(dst *float32, ldd int, rows **float32, at, columns int, by *float32, n, groups int, add bool, keep *float32)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("ldd"), R11)
	MOVQ(arg("rows"), RSI)
	MOVQ(arg("at"), RDX)
	MOVQ(arg("by"), R8)
	MOVQ(arg("n"), R9)
	MOVQ(arg("groups"), R10)
	SHLQ(Imm(2), R11)
	SHLQ(Imm(2), RDX)
	Label("group")
	XORQ(R12, R12)
	// A block of columns, len(x) vectors of each of the rows of dst.
	block := func(name string, sums, x []VecPhysical, g VecPhysical) {
		size, m := int(g.Size()), len(x)
		// Row q of dst, from R15 = row 0 and R14 = row 2 on.
		to := func(q, i int) Mem {
			at := Mem{Base: R15, Disp: size * i}
			if q > 2 {
				at.Base, q = R14, q-2
			}
			if q > 0 {
				at.Index, at.Scale = R11, uint8(q)
			}
			return at
		}
		place := func() {
			LEAQ(Mem{Base: RDI, Index: R12, Scale: 1}, R15)
			LEAQ(Mem{Base: R15, Index: R11, Scale: 2}, R14)
		}
		MOVBLZX(arg("add"), EAX)
		TESTL(EAX, EAX)
		JZ(LabelRef(name + "Zero"))
		place()
		for i, v := range sums {
			VMOVUPS(to(i/m, i%m), v)
		}
		JMP(LabelRef(name + "Begin"))
		Label(name + "Zero")
		clear(sums)
		Label(name + "Begin")
		MOVQ(RSI, R13)
		MOVQ(R8, RAX)
		MOVQ(R9, RCX)
		row := func(label string, keep bool) {
			Label(label)
			MOVQ(Mem{Base: R13}, RBX)
			ADDQ(RDX, RBX)
			for i, v := range x {
				VMOVUPS(Mem{Base: RBX, Index: R12, Scale: 1, Disp: size * i}, v)
				if keep {
					if size == 64 || i == 0 { // the next 64 columns
						PREFETCHT1(Mem{Base: RBX, Index: R12, Scale: 1, Disp: 256 + size*i})
					}
					VMOVUPS(v, Mem{Base: R14, Index: R12, Scale: 1, Disp: size * i})
				}
			}
			for q := range rowsFive {
				VBROADCASTSS(Mem{Base: RAX, Disp: 4 * q}, g)
				for i, v := range x {
					VFMADD231PS(v, g, sums[q*m+i])
				}
			}
			if keep {
				ADDQ(U32(256), R14)
			}
			ADDQ(Imm(8), R13)
			ADDQ(Imm(4*rowsFive), RAX)
			DECQ(RCX)
			JNZ(LabelRef(label))
		}
		MOVQ(arg("keep"), R14)
		TESTQ(R14, R14)
		JZ(LabelRef(name + "Row"))
		row(name+"Keep", true)
		JMP(LabelRef(name + "Store"))
		row(name+"Row", false)
		Label(name + "Store")
		place()
		for i, v := range sums {
			VMOVUPS(v, to(i/m, i%m))
		}
		ADDQ(U32(uint32(size*m)), R12)
	}
	left := func() {
		MOVQ(arg("columns"), RCX)
		SHLQ(Imm(2), RCX)
		SUBQ(R12, RCX)
	}
	if wide {
		Label("wide")
		left()
		CMPQ(RCX, U32(256))
		JLT(LabelRef("narrow"))
		block("wide", []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15, Z16, Z17, Z18, Z19},
			[]VecPhysical{Z20, Z21, Z22, Z23}, Z24)
		JMP(LabelRef("wide"))
	}
	Label("narrow")
	left()
	JLE(LabelRef("next"))
	block("narrow", []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9}, []VecPhysical{Y10, Y11}, Y12)
	JMP(LabelRef("narrow"))
	Label("next")
	LEAQ(Mem{Base: R11, Index: R11, Scale: 4}, RAX)
	ADDQ(RAX, RDI)
	LEAQ(Mem{Base: R9, Index: R9, Scale: 4}, RAX)
	LEAQ(Mem{Base: R8, Index: RAX, Scale: 4}, R8)
	DECQ(R10)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}
