#include "vector_amd64.h"

// VECTORS goes through the whole vectors of a row, R10 elements.
#define VECTORS(loop, end, F) \
	XORQ DX, DX \
	CMPQ DX, R10 \
	JGE  end \
loop: \
	F \
	ADDQ $8, DX \
	CMPQ DX, R10 \
	JLT  loop \
end:

#define MAXIMUM VMAXPS (SI)(DX*4), Y0, Y0

#define EXPSUM \
	VMOVUPS (SI)(DX*4), Y0 \
	VSUBPS  Y9, Y0, Y0 \
	EXP(Y0, Y1, Y2, Y3) \
	VMOVUPS Y3, (DI)(DX*4) \
	VADDPS  Y3, Y10, Y10

// SCALE multiplies by Y0, 0 in place of what is below Y9 = 2⁻¹²⁶/Y0.
#define SCALE \
	VMOVUPS (DI)(DX*4), Y1 \
	VCMPPS $0x15, Y9, Y1, Y2 \
	VANDPS Y2, Y1, Y1 \
	VMULPS Y1, Y0, Y1 \
	VMOVUPS Y1, (DI)(DX*4)

// func softmax32(dst, x *float32, rows, k int) int
//
// It returns the number of rows done; the next one has a maximum that is not
// finite. Y7 holds the mask of the last k mod 8 columns, Y8 −Inf. dst must not be
// x, see PUT.
TEXT ·softmax32(SB), NOSPLIT, $0-40
	ROWS
	COLUMNS(Y7)
	VMOVUPS minusInf<>(SB), Y8
	MOVQ R9, R10
	ANDQ $-8, R10 // whole vectors of a row, in elements

row:
	// The maximum of the row.
	VMOVUPS Y8, Y0
	VECTORS(maxLoop, maxRest, MAXIMUM)
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
	VECTORS(expLoop, expRest, EXPSUM)
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
	VMULSS least<>(SB), X0, X9
	VBROADCASTSS X9, Y9
	VDIVSS X0, X1, X0
	VBROADCASTSS X0, Y0
	VECTORS(scaleLoop, scaleRest, SCALE)
	TESTQ CX, CX
	JZ   next
	VCMPPS $0x15, Y9, Y11, Y2
	VANDPS Y2, Y11, Y11
	VMULPS Y11, Y0, Y1
	LEAQ (DI)(R10*4), DX
	PUT(Y1, Y7, DX)
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

#define DOT \
	VMOVUPS (SI)(DX*4), Y1 \
	VCMPPS $0x15, Y8, Y1, Y2 \
	VANDPS Y2, Y1, Y1 \
	VFMADD231PS (BX)(DX*4), Y1, Y0

// PRODUCT multiplies D by Y ≥ 0, 0 in place of what might be subnormal: where |D| is less than the
// number whose bits are those of 2, in Y9, less those of Y, at least 2⁻¹²⁶/Y. T and U are scratch, Y10 is
// the mask of |D|.
#define PRODUCT(Y, D, T, U) \
	VPSUBD Y, Y9, T \
	VANDPS Y10, D, U \
	VCMPPS $0x15, T, U, U \
	VANDPS U, D, D \
	VMULPS Y, D, D

#define PULL \
	VMOVUPS (BX)(DX*4), Y1 \
	VMOVUPS (SI)(DX*4), Y2 \
	VSUBPS Y0, Y1, Y1 \
	PRODUCT(Y2, Y1, Y3, Y4) \
	VMOVUPS Y1, (DI)(DX*4)

// func softmaxGrad32(dst, y, dy *float32, rows, k int)
TEXT ·softmaxGrad32(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ y+8(FP), SI
	MOVQ dy+16(FP), BX
	MOVQ rows+24(FP), R8
	MOVQ k+32(FP), R9
	COLUMNS(Y7)
	VMOVUPS softLow<>(SB), Y8
	VMOVUPS two<>(SB), Y9
	VMOVUPS absMask<>(SB), Y10
	MOVQ R9, R10
	ANDQ $-8, R10

row:
	VMASKMOVPS (SI)(R10*4), Y7, Y5
	VMASKMOVPS (BX)(R10*4), Y7, Y6
	VCMPPS $0x15, Y8, Y5, Y1
	VANDPS Y1, Y5, Y0
	VMULPS Y0, Y6, Y0
	VECTORS(dot, sum, DOT)
	HSUM
	VBROADCASTSS X0, Y0
	VECTORS(loop, rest, PULL)
	VSUBPS Y0, Y6, Y6
	PRODUCT(Y5, Y6, Y1, Y2)
	TESTQ CX, CX
	JZ   next
	LEAQ (DI)(R10*4), DX
	PUT(Y6, Y7, DX)
	LEAQ (SI)(R9*4), SI
	LEAQ (DI)(R9*4), DI
	LEAQ (BX)(R9*4), BX
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET
