#include "vector_amd64.h"

// HSUM adds the lanes of Y0 into X0; X1 is scratch.
#define HSUM \
	VEXTRACTF128 $1, Y0, X1 \
	VADDPS X1, X0, X0 \
	VMOVHLPS X0, X0, X1 \
	VADDPS X1, X0, X0 \
	VMOVSHDUP X0, X1 \
	VADDSS X1, X0, X0

// func softmax32(dst, x *float32, rows, k int) int
//
// It returns the number of rows done; the next one has a maximum that is not
// finite. Y7 holds the mask of the last k mod 8 columns, Y8 −Inf. Masked stores
// are slow: but for the last rows the last columns are stored with what follows
// them, which the next rows overwrite, so dst must not be x.
TEXT ·softmax32(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ rows+16(FP), R8
	MOVQ k+24(FP), R9
	MOVQ R9, CX
	ANDQ $7, CX
	TAIL(CX, AX, Y7)
	VMOVUPS minusInf<>(SB), Y8
	MOVQ R9, R10
	ANDQ $-8, R10 // whole vectors of a row, in elements
	MOVQ R8, R11
	IMULQ R9, R11
	LEAQ -32(DI)(R11*4), R11 // the last place for a vector

row:
	// The maximum of the row.
	VMOVUPS Y8, Y0
	XORQ DX, DX
	CMPQ DX, R10
	JGE  maxRest
maxLoop:
	VMAXPS (SI)(DX*4), Y0, Y0
	ADDQ $8, DX
	CMPQ DX, R10
	JLT  maxLoop
maxRest:
	VMASKMOVPS (SI)(R10*4), Y7, Y1
	VBLENDVPS Y7, Y1, Y8, Y1
	VMAXPS Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMAXPS X1, X0, X0
	VMOVHLPS X0, X0, X1
	VMAXPS X1, X0, X0
	VMOVSHDUP X0, X1
	VMAXSS X1, X0, X0
	VBROADCASTSS X0, Y9

	// exp(x − max), and its sum.
	VXORPS Y10, Y10, Y10
	XORQ DX, DX
	CMPQ DX, R10
	JGE  expRest
expLoop:
	VMOVUPS (SI)(DX*4), Y0
	VSUBPS  Y9, Y0, Y0
	EXP(Y0, Y1, Y2, Y3)
	VMOVUPS Y3, (DI)(DX*4)
	VADDPS  Y3, Y10, Y10
	ADDQ $8, DX
	CMPQ DX, R10
	JLT  expLoop
expRest:
	TESTQ CX, CX
	JZ   sum
	VMASKMOVPS (SI)(R10*4), Y7, Y0
	VSUBPS  Y9, Y0, Y0
	EXP(Y0, Y1, Y2, Y3)
	VANDPS  Y3, Y7, Y11
	VADDPS  Y11, Y10, Y10
sum:
	VMOVAPS Y10, Y0
	HSUM
	VUCOMISS X0, X0
	JPS  done // NaN
	VMOVSS expOne<>(SB), X1
	VDIVSS X0, X1, X0
	VBROADCASTSS X0, Y0
	XORQ DX, DX
	CMPQ DX, R10
	JGE  scaleRest
scaleLoop:
	VMULPS (DI)(DX*4), Y0, Y1
	VMOVUPS Y1, (DI)(DX*4)
	ADDQ $8, DX
	CMPQ DX, R10
	JLT  scaleLoop
scaleRest:
	TESTQ CX, CX
	JZ   next
	VMULPS Y11, Y0, Y1
	LEAQ (DI)(R10*4), DX
	CMPQ DX, R11
	JGT  masked
	VMOVUPS Y1, (DX)
	JMP  next
masked:
	VMASKMOVPS Y1, Y7, (DX)
next:
	LEAQ (SI)(R9*4), SI
	LEAQ (DI)(R9*4), DI
	DECQ R8
	JNZ  row
done:
	MOVQ rows+16(FP), AX
	SUBQ R8, AX
	MOVQ AX, ret+32(FP)
	VZEROUPPER
	RET

// func softmaxGrad32(dst, y, dy *float32, rows, k int)
TEXT ·softmaxGrad32(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ y+8(FP), SI
	MOVQ dy+16(FP), BX
	MOVQ rows+24(FP), R8
	MOVQ k+32(FP), R9
	MOVQ R9, CX
	ANDQ $7, CX
	TAIL(CX, AX, Y7)
	MOVQ R9, R10
	ANDQ $-8, R10
	MOVQ R8, R11
	IMULQ R9, R11
	LEAQ -32(DI)(R11*4), R11

row:
	VMASKMOVPS (SI)(R10*4), Y7, Y5
	VMASKMOVPS (BX)(R10*4), Y7, Y6
	VMULPS Y5, Y6, Y0
	XORQ DX, DX
	CMPQ DX, R10
	JGE  sum
dot:
	VMOVUPS (SI)(DX*4), Y1
	VFMADD231PS (BX)(DX*4), Y1, Y0
	ADDQ $8, DX
	CMPQ DX, R10
	JLT  dot
sum:
	HSUM
	VBROADCASTSS X0, Y0
	XORQ DX, DX
	CMPQ DX, R10
	JGE  rest
loop:
	VMOVUPS (BX)(DX*4), Y1
	VSUBPS Y0, Y1, Y1
	VMULPS (SI)(DX*4), Y1, Y1
	VMOVUPS Y1, (DI)(DX*4)
	ADDQ $8, DX
	CMPQ DX, R10
	JLT  loop
rest:
	VSUBPS Y0, Y6, Y6
	VMULPS Y5, Y6, Y6
	TESTQ CX, CX
	JZ   next
	LEAQ (DI)(R10*4), DX
	CMPQ DX, R11
	JGT  masked
	VMOVUPS Y6, (DX)
	JMP  next
masked:
	VMASKMOVPS Y6, Y7, (DX)
next:
	LEAQ (SI)(R9*4), SI
	LEAQ (DI)(R9*4), DI
	LEAQ (BX)(R9*4), BX
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET
