#include "vector_amd64.h"

// func columnMax32(m, s *float32, rows, w, ws int)
TEXT ·columnMax32(SB), NOSPLIT, $0-40
	MOVQ m+0(FP), DI
	MOVQ s+8(FP), SI
	MOVQ rows+16(FP), R8
	MOVQ w+24(FP), R9
	MOVQ ws+32(FP), R10
	SHLQ $2, R10
columns:
	VMOVUPS (DI), Y0
	MOVQ SI, R11
	MOVQ R8, CX
row:
	VMAXPS (R11), Y0, Y0
	ADDQ R10, R11
	DECQ CX
	JNZ  row
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, SI
	SUBQ $8, R9
	JG   columns
	VZEROUPPER
	RET

// func columnExp32(s, m, sum *float32, rows, w, ws int)
TEXT ·columnExp32(SB), NOSPLIT, $0-48
	MOVQ s+0(FP), SI
	MOVQ m+8(FP), DI
	MOVQ sum+16(FP), BX
	MOVQ rows+24(FP), R8
	MOVQ w+32(FP), R9
	MOVQ ws+40(FP), R10
	SHLQ $2, R10
columns:
	VMOVUPS (DI), Y9
	VMOVUPS (BX), Y10
	MOVQ SI, R11
	MOVQ R8, CX
row:
	VMOVUPS (R11), Y0
	VSUBPS  Y9, Y0, Y0
	EXP(Y0, Y1, Y2, Y3)
	VMOVUPS Y3, (R11)
	VADDPS  Y3, Y10, Y10
	ADDQ R10, R11
	DECQ CX
	JNZ  row
	VMOVUPS Y10, (BX)
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $32, BX
	SUBQ $8, R9
	JG   columns
	VZEROUPPER
	RET

// func axpy32(dst, x *float32, n int, c float32)
TEXT ·axpy32(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS c+24(FP), Y0
loop:
	VMOVUPS (DI), Y1
	VFMADD231PS (SI), Y0, Y1
	VMOVUPS Y1, (DI)
	ADDQ $32, DI
	ADDQ $32, SI
	SUBQ $8, CX
	JG   loop
	VZEROUPPER
	RET
