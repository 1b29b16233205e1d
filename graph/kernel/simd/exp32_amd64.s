#include "vector_amd64.h"

// func exp32(dst, x *float32, n int)
TEXT ·exp32(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	SUBQ $8, CX
	JLT  rest

loop:
	VMOVUPS (SI), Y0
	EXP(Y0, Y1, Y2, Y3)
	VMOVUPS Y3, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JGE     loop

rest:
	ADDQ $8, CX
	JLE  done
	TAIL(CX, AX, Y4)
	VMASKMOVPS (SI), Y4, Y0
	EXP(Y0, Y1, Y2, Y3)
	VMASKMOVPS Y3, Y4, (DI)

done:
	VZEROUPPER
	RET
