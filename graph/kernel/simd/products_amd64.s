#include "vector_amd64.h"

// func products32(dst *float64, z *float32, by *float64, n, panels int)
// No fused multiply-adds: products are rounded, as in Go.
TEXT ·products32(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ z+8(FP), SI
	MOVQ by+16(FP), DX
	MOVQ n+24(FP), R8
	MOVQ panels+32(FP), R9
panel:
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	MOVQ DX, BX
	MOVQ R8, CX
term:
	VBROADCASTSD (BX), Y4
	VCVTPS2PD (SI), Y5
	VCVTPS2PD 16(SI), Y6
	VCVTPS2PD 32(SI), Y7
	VCVTPS2PD 48(SI), Y8
	VMULPD Y4, Y5, Y5
	VMULPD Y4, Y6, Y6
	VMULPD Y4, Y7, Y7
	VMULPD Y4, Y8, Y8
	VADDPD Y5, Y0, Y0
	VADDPD Y6, Y1, Y1
	VADDPD Y7, Y2, Y2
	VADDPD Y8, Y3, Y3
	ADDQ $64, SI
	ADDQ $8, BX
	DECQ CX
	JNZ  term
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	ADDQ $128, DI
	DECQ R9
	JNZ  panel
	VZEROUPPER
	RET
