package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// below32 counts, of n ascending numbers, those below each of so many multiples of step.
func below32() {
	TEXT("below32", NOSPLIT, "func(dst, x *int32, n, step, bounds int)")
	Pragma("noescape")
	MOVQ(arg("dst"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("n"), RCX)
	MOVQ(arg("bounds"), R11)
	VPBROADCASTD(arg("step"), Y0)
	MOVQ(RCX, R8)
	ANDQ(Imm(7), R8)
	SUBQ(R8, RCX)
	LEAQ(Mem{Base: RSI, Index: RCX, Scale: 4}, R9) // the last
	tail(R8, RAX, Y3)
	VPMASKMOVD(Mem{Base: R9}, Y3, Y2)
	VMOVDQA(Y0, Y1)
	Label("bound")
	VPCMPGTD(Y2, Y1, Y4)
	VPAND(Y3, Y4, Y4)
	VMOVMSKPS(Y4, EAX)
	POPCNTL(EAX, EAX)
	MOVQ(RSI, RBX)
	CMPQ(RBX, R9)
	JGE(LabelRef("store"))
	Label("loop")
	VPCMPGTD(Mem{Base: RBX}, Y1, Y4)
	VMOVMSKPS(Y4, EDX)
	POPCNTL(EDX, EDX)
	ADDL(EDX, EAX)
	ADDQ(Imm(32), RBX)
	CMPQ(RBX, R9)
	JLT(LabelRef("loop"))
	Label("store")
	MOVL(EAX, Mem{Base: RDI})
	ADDQ(Imm(4), RDI)
	VPADDD(Y0, Y1, Y1)
	DECQ(R11)
	JNZ(LabelRef("bound"))
	VZEROUPPER()
	RET()
}

// tally32 adds 1 to the count that each of n numbers says.
func tally32() {
	TEXT("tally32", NOSPLIT, "func(counts, x *int32, n int)")
	Pragma("noescape")
	MOVQ(arg("counts"), RDI)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("n"), RCX)
	SUBQ(Imm(4), RCX)
	JLT(LabelRef("rest"))
	Label("loop")
	for i, r := range []GPPhysical{RAX, RBX, R8, R9} {
		MOVLQSX(Mem{Base: RSI, Disp: 4 * i}, r)
	}
	for _, r := range []GPPhysical{RAX, RBX, R8, R9} {
		INCL(Mem{Base: RDI, Index: r, Scale: 4})
	}
	ADDQ(Imm(16), RSI)
	SUBQ(Imm(4), RCX)
	JGE(LabelRef("loop"))
	Label("rest")
	ADDQ(Imm(4), RCX)
	JLE(LabelRef("done"))
	Label("one")
	MOVLQSX(Mem{Base: RSI}, RAX)
	INCL(Mem{Base: RDI, Index: RAX, Scale: 4})
	ADDQ(Imm(4), RSI)
	DECQ(RCX)
	JNZ(LabelRef("one"))
	Label("done")
	RET()
}

// deal32 puts each of n numbers, and row, to the next place of those that x says.
func deal32() {
	TEXT("deal32", NOSPLIT, "func(val *float32, idx, next *int32, from *float32, x *int32, n, row int)")
	Pragma("noescape")
	MOVQ(arg("val"), RDI)
	MOVQ(arg("idx"), R8)
	MOVQ(arg("next"), R9)
	MOVQ(arg("from"), RDX)
	MOVQ(arg("x"), RSI)
	MOVQ(arg("n"), RCX)
	MOVQ(arg("row"), R10)
	one := func(i int, j, to, v GPPhysical) {
		MOVLQSX(Mem{Base: RSI, Disp: 4 * i}, j)
		MOVLQSX(Mem{Base: R9, Index: j, Scale: 4}, to)
		MOVL(Mem{Base: RDX, Disp: 4 * i}, v.As32())
		MOVL(v.As32(), Mem{Base: RDI, Index: to, Scale: 4})
		MOVL(R10.As32(), Mem{Base: R8, Index: to, Scale: 4})
		INCL(to.As32())
		MOVL(to.As32(), Mem{Base: R9, Index: j, Scale: 4})
	}
	SUBQ(Imm(2), RCX)
	JLT(LabelRef("rest"))
	Label("loop")
	one(0, RAX, RBX, R11)
	one(1, R12, R13, R15)
	ADDQ(Imm(8), RSI)
	ADDQ(Imm(8), RDX)
	SUBQ(Imm(2), RCX)
	JGE(LabelRef("loop"))
	Label("rest")
	ADDQ(Imm(2), RCX)
	JLE(LabelRef("done"))
	one(0, RAX, RBX, R11)
	Label("done")
	RET()
}
