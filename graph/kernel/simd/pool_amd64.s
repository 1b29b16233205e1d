#include "vector_amd64.h"

// SQUARES loads eight channels of four pixels into Y0 to Y3 and their maxima into Y4, NaN where one
// is; Y5 and Y6 are scratch.
#define SQUARES \
	LEAQ (SI)(R8*1), DX \
	VMOVUPS (SI), Y0 \
	VMOVUPS (SI)(R9*1), Y1 \
	VMOVUPS (DX), Y2 \
	VMOVUPS (DX)(R9*1), Y3 \
	VMAXPS Y1, Y0, Y4 \
	VMAXPS Y3, Y2, Y5 \
	VMAXPS Y5, Y4, Y4 \
	VCMPPS $3, Y1, Y0, Y5 \
	VCMPPS $3, Y3, Y2, Y6 \
	VORPS Y5, Y6, Y6 \
	VORPS Y6, Y4, Y4

// func pool32(dst, x *float32, row, c, n int)
TEXT ·pool32(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ row+16(FP), R8
	MOVQ c+24(FP), R9
	MOVQ n+32(FP), CX
	SHLQ $2, R8
	SHLQ $2, R9
square:
	MOVQ R9, BX
loop:
	SQUARES
	VMOVUPS Y4, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $32, BX
	JNZ  loop
	ADDQ R9, SI
	DECQ CX
	JNZ  square
	VZEROUPPER
	RET

// func unpool32(dst, x, grad *float32, row, c, n int)
TEXT ·unpool32(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ grad+16(FP), R10
	MOVQ row+24(FP), R8
	MOVQ c+32(FP), R9
	MOVQ n+40(FP), CX
	SHLQ $2, R8
	SHLQ $2, R9
square:
	MOVQ R9, BX
loop:
	SQUARES
	LEAQ (DI)(R8*1), DX
	VMOVUPS (R10), Y7 // g, for the places that are left
	VCMPPS $0, Y4, Y0, Y0
	VANDPS Y7, Y0, Y5
	VMOVUPS Y5, (DI)
	VANDNPS Y7, Y0, Y7
	VCMPPS $0, Y4, Y1, Y1
	VANDPS Y7, Y1, Y5
	VMOVUPS Y5, (DI)(R9*1)
	VANDNPS Y7, Y1, Y7
	VCMPPS $0, Y4, Y2, Y2
	VANDPS Y7, Y2, Y5
	VMOVUPS Y5, (DX)
	VANDNPS Y7, Y2, Y7
	VMOVUPS Y7, (DX)(R9*1)
	ADDQ $32, SI
	ADDQ $32, DI
	ADDQ $32, R10
	SUBQ $32, BX
	JNZ  loop
	ADDQ R9, SI
	ADDQ R9, DI
	DECQ CX
	JNZ  square
	VZEROUPPER
	RET
