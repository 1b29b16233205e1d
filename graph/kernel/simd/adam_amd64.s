#include "vector_amd64.h"

// UNLESS puts 0 in place of |X| below that in least; S is scratch.
#define UNLESS(X, least, S) \
	VANDPS absMask<>(SB), X, S \
	VCMPPS $0x15, least<>(SB), S, S \
	VANDPS S, X, X

// func adam32(x, d, m, v *float32, n int, c *AdamStep)
TEXT ·adam32(SB), NOSPLIT, $0-48
	MOVQ x+0(FP), DI
	MOVQ d+8(FP), SI
	MOVQ m+16(FP), R8
	MOVQ v+24(FP), R9
	MOVQ n+32(FP), CX
	MOVQ c+40(FP), AX
	VBROADCASTSS (AX), Y8
	VBROADCASTSS 4(AX), Y9
	VBROADCASTSS 8(AX), Y10
	VBROADCASTSS 12(AX), Y11
	VBROADCASTSS 16(AX), Y12
	VBROADCASTSS 20(AX), Y13
	VBROADCASTSS 24(AX), Y14
	VBROADCASTSS 28(AX), Y15
	SUBQ $8, CX
	JLT  done
loop:
	VMOVUPS (DI), Y0
	VMULPS  Y12, Y0, Y1
	VADDPS  (SI), Y1, Y1 // g + wd·x
	UNLESS(Y1, adamLow, Y5)
	VMULPS  (R8), Y8, Y2
	VMULPS  Y10, Y1, Y3
	VADDPS  Y3, Y2, Y2 // m
	UNLESS(Y2, adamLow, Y5)
	VMOVUPS Y2, (R8)
	UNLESS(Y1, adamSquare, Y5)
	VMULPS  (R9), Y9, Y3
	VMULPS  Y11, Y1, Y4
	VMULPS  Y1, Y4, Y4
	VADDPS  Y4, Y3, Y3 // v
	UNLESS(Y3, adamVar, Y5)
	VMOVUPS Y3, (R9)
	VSQRTPS Y3, Y3
	VMULPS  Y14, Y3, Y3
	VADDPS  Y15, Y3, Y3
	VMULPS  Y13, Y2, Y2
	VDIVPS  Y3, Y2, Y2
	VSUBPS  Y2, Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $32, R8
	ADDQ $32, R9
	SUBQ $8, CX
	JGE  loop
done:
	VZEROUPPER
	RET
