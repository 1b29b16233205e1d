#include "vector_amd64.h"

DATA one64<>+0(SB)/8, $1.0
GLOBL one64<>(SB), RODATA|NOPTR, $8

DATA least64<>+0(SB)/8, $0x1a70000000000000 // 2⁻⁶⁰⁰
GLOBL least64<>(SB), RODATA|NOPTR, $8

// HORNER takes a step of Horner's rule for a polynomial, from V to W with the
// coefficients at c, and for its derivative in Y10; Y8 is the variable.
#define HORNER(FMA231, FMA213, c, V, W) \
	VMOVUPS c, W \
	FMA231 V, Y8, W \
	FMA213 W, Y8, Y10

// CELL32 evaluates eight nodes of one action: R = Σ n·c_n δⁿ⁻¹ (the hazards),
// SUM += Σ c_n δⁿ (log Φ), Horner's rule for both at once, and ALL += up·R.
// SI is the table at the action's first node, DX the bytes of a plane, R8 of
// three, Y8 = δ, Y9 = up; o is the offset of the eight nodes.
#define CELL32(o, SUM, ALL) \
	VMOVUPS o(SI)(DX*4), Y10 \
	HORNER(VFMADD231PS, VFMADD213PS, o(SI)(R8*1), Y10, Y12) \
	HORNER(VFMADD231PS, VFMADD213PS, o(SI)(DX*2), Y12, Y13) \
	HORNER(VFMADD231PS, VFMADD213PS, o(SI)(DX*1), Y13, Y12) \
	VMOVUPS o(SI), Y13 \
	VFMADD231PS Y12, Y8, Y13 \
	VADDPS Y13, SUM, SUM \
	VMOVUPS Y10, o(DI) \
	VFMADD231PS Y10, Y9, ALL

// WIDEN adds eight float32 to eight float64 at o(SP).
#define WIDEN(Y, X, o) \
	VCVTPS2PD X, Y10 \
	VADDPD o(SP), Y10, Y10 \
	VMOVUPD Y10, o(SP) \
	VEXTRACTF128 $1, Y, X11 \
	VCVTPS2PD X11, Y11 \
	VADDPD (o+32)(SP), Y11, Y11 \
	VMOVUPD Y11, (o+32)(SP)

// NARROW writes eight float64 at o(SP) as float32.
#define NARROW(o, dst) \
	VCVTPD2PSY o(SP), X10 \
	VMOVUPS X10, dst \
	VCVTPD2PSY (o+32)(SP), X11 \
	VMOVUPS X11, 16+dst

// LIFT writes 2⁷⁴·exp of eight float64 at o(SP) as float32, 0 where exp is below 2⁻¹⁰⁰.
#define LIFT(o, dst) \
	NARROW(o, dst) \
	VMOVUPS dst, Y0 \
	VCMPPS $0x15, liftLow<>(SB), Y0, Y4 \
	EXP(Y0, Y1, Y2, Y3) \
	VMULPS liftScale<>(SB), Y3, Y3 \
	VANDPS Y4, Y3, Y3 \
	VMOVUPS Y3, dst

// HAZARDS loads the arguments of hazards32 and hazards64, and makes of plane, in
// numbers of 2^s bytes, the bytes of 1 and 3 planes.
#define HAZARDS(s) \
	MOVQ r+0(FP), DI \
	MOVQ table+24(FP), R11 \
	MOVQ plane+32(FP), DX \
	SHLQ $s, DX \
	LEAQ (DX)(DX*2), R8 \
	MOVQ at+40(FP), R10 \
	MOVQ delta+48(FP), R12 \
	MOVQ up+56(FP), R13 \
	MOVQ k+64(FP), CX

// PULLS loads the arguments of pulls32 and pulls64.
#define PULLS \
	MOVQ dst+0(FP), DI \
	MOVQ r+8(FP), SI \
	MOVQ p+16(FP), AX \
	MOVQ all+24(FP), BX \
	MOVQ t+32(FP), R10 \
	MOVQ gap+40(FP), R12 \
	MOVQ up+48(FP), R13 \
	MOVQ k+56(FP), CX

// func hazards32(r, p, all, table *float32, plane int, at *int32, delta, up *float32, k int)
TEXT ·hazards32(SB), NOSPLIT, $512-72
	HAZARDS(2)

	VXORPD Y0, Y0, Y0
	MOVQ   SP, AX
	MOVQ   $16, BX

clear:
	VMOVUPD Y0, (AX)
	ADDQ    $32, AX
	DECQ    BX
	JNZ     clear

chunk: // of at most 16 actions
	ZERO4(Y0, Y1, Y2, Y3)
	ZERO4(Y4, Y5, Y6, Y7)
	MOVQ    $16, BX
	CMPQ    CX, BX
	CMOVQLT CX, BX
	SUBQ    BX, CX

action:
	MOVLQSX      (R10), SI
	LEAQ         (R11)(SI*4), SI
	VBROADCASTSS (R12), Y8
	VBROADCASTSS (R13), Y9
	CELL32(0, Y0, Y4)
	CELL32(32, Y1, Y5)
	CELL32(64, Y2, Y6)
	CELL32(96, Y3, Y7)
	ADDQ         $4, R10
	ADDQ         $4, R12
	ADDQ         $4, R13
	ADDQ         $128, DI
	DECQ         BX
	JNZ          action

	WIDEN(Y0, X0, 0)
	WIDEN(Y1, X1, 64)
	WIDEN(Y2, X2, 128)
	WIDEN(Y3, X3, 192)
	WIDEN(Y4, X4, 256)
	WIDEN(Y5, X5, 320)
	WIDEN(Y6, X6, 384)
	WIDEN(Y7, X7, 448)
	TESTQ CX, CX
	JNZ   chunk

	MOVQ p+8(FP), DI
	MOVQ all+16(FP), SI
	LIFT(0, 0(DI))
	LIFT(64, 32(DI))
	LIFT(128, 64(DI))
	LIFT(192, 96(DI))
	NARROW(256, 0(SI))
	NARROW(320, 32(SI))
	NARROW(384, 64(SI))
	NARROW(448, 96(SI))
	VZEROUPPER
	RET

// CELL64 evaluates four nodes of one action: Y10 = Σ n·c_n δⁿ⁻¹ (φ),
// Y13 = Σ c_n δⁿ (Φ), PROD *= Φ, 0 where that is below Y14, ALL += up·φ/Φ; Y15 is scratch. SI is the table at the action's
// first node; DX, R8, R9 and BX are the bytes of 1, 3, 5 and 7 planes.
#define CELL64(o, PROD, ALL) \
	VMOVUPD o(SI)(DX*8), Y10 \
	HORNER(VFMADD231PD, VFMADD213PD, o(SI)(BX*1), Y10, Y12) \
	HORNER(VFMADD231PD, VFMADD213PD, o(SI)(R8*2), Y12, Y13) \
	HORNER(VFMADD231PD, VFMADD213PD, o(SI)(R9*1), Y13, Y12) \
	HORNER(VFMADD231PD, VFMADD213PD, o(SI)(DX*4), Y12, Y13) \
	HORNER(VFMADD231PD, VFMADD213PD, o(SI)(R8*1), Y13, Y12) \
	HORNER(VFMADD231PD, VFMADD213PD, o(SI)(DX*2), Y12, Y13) \
	HORNER(VFMADD231PD, VFMADD213PD, o(SI)(DX*1), Y13, Y12) \
	VMOVUPD o(SI), Y13 \
	VFMADD231PD Y12, Y8, Y13 \
	VMULPD Y13, PROD, PROD \
	VCMPPD $0x15, Y14, PROD, Y15 \
	VANDPD Y15, PROD, PROD \
	VDIVPD Y13, Y10, Y10 \
	VMOVUPD Y10, o(DI) \
	VFMADD231PD Y10, Y9, ALL

// func hazards64(r, p, all, table *float64, plane int, at *int32, delta, up *float64, k int)
TEXT ·hazards64(SB), NOSPLIT, $0-72
	HAZARDS(3)
	LEAQ (DX)(DX*4), R9
	LEAQ (R8)(DX*4), BX

	VBROADCASTSD one64<>(SB), Y0
	VBROADCASTSD least64<>(SB), Y14
	VMOVAPD      Y0, Y1
	VXORPD       Y2, Y2, Y2
	VXORPD       Y3, Y3, Y3

action64:
	MOVLQSX      (R10), SI
	LEAQ         (R11)(SI*8), SI
	VBROADCASTSD (R12), Y8
	VBROADCASTSD (R13), Y9
	CELL64(0, Y0, Y2)
	CELL64(32, Y1, Y3)
	ADDQ         $4, R10
	ADDQ         $8, R12
	ADDQ         $8, R13
	ADDQ         $64, DI
	DECQ         CX
	JNZ          action64

	MOVQ    p+8(FP), DI
	MOVQ    all+16(FP), SI
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, (SI)
	VMOVUPD Y3, 32(SI)
	VZEROUPPER
	RET

// ADD32 adds the eight lanes of Y (low half X) to the float32 at (DI).
#define ADD32(Y, X) \
	VEXTRACTF128 $1, Y, X14 \
	VADDPS X14, X, X \
	VHADDPS X, X, X \
	VHADDPS X, X, X \
	VADDSS (DI), X, X \
	VMOVSS X, (DI)

// ADD64 adds the four lanes of Y (low half X) to the float64 at (DI).
#define ADD64(Y, X) \
	VEXTRACTF128 $1, Y, X14 \
	VADDPD X14, X, X \
	VHADDPD X, X, X \
	VADDSD (DI), X, X \
	VMOVSD X, (DI)

// func dots32(dst, r, p *float32, k int)
TEXT ·dots32(SB), NOSPLIT, $0-32
	MOVQ    dst+0(FP), DI
	MOVQ    r+8(FP), SI
	MOVQ    p+16(FP), AX
	MOVQ    k+24(FP), CX
	LOAD4(AX, Y0, Y1, Y2, Y3)

dot32:
	VMULPS      (SI), Y0, Y4
	VMULPS      32(SI), Y1, Y5
	VFMADD231PS 64(SI), Y2, Y4
	VFMADD231PS 96(SI), Y3, Y5
	VADDPS      Y5, Y4, Y4
	ADD32(Y4, X4)
	ADDQ        $128, SI
	ADDQ        $4, DI
	DECQ        CX
	JNZ         dot32
	VZEROUPPER
	RET

// func dots64(dst, r, p *float64, k int)
TEXT ·dots64(SB), NOSPLIT, $0-32
	MOVQ    dst+0(FP), DI
	MOVQ    r+8(FP), SI
	MOVQ    p+16(FP), AX
	MOVQ    k+24(FP), CX
	VMOVUPD (AX), Y0
	VMOVUPD 32(AX), Y1

dot64:
	VMULPD      (SI), Y0, Y4
	VFMADD231PD 32(SI), Y1, Y4
	ADD64(Y4, X4)
	ADDQ        $64, SI
	ADDQ        $8, DI
	DECQ        CX
	JNZ         dot64
	VZEROUPPER
	RET

// PULL32: ACC += p·r·(up·(r + gap + t) − all) for eight nodes, Y8 = gap, Y9 = up, without p·r below
// Y15; Y14 is scratch.
#define PULL32(o, P, ALL, ACC) \
	VMOVUPS o(SI), Y10 \
	VADDPS Y8, Y10, Y11 \
	VADDPS o(R10), Y11, Y11 \
	VFMSUB213PS ALL, Y9, Y11 \
	VMULPS P, Y10, Y10 \
	VCMPPS $0x15, Y15, Y10, Y14 \
	VANDPS Y14, Y10, Y10 \
	VFMADD231PS Y10, Y11, ACC

// func pulls32(dst, r, p, all, t, gap, up *float32, k int)
TEXT ·pulls32(SB), NOSPLIT, $0-64
	PULLS
	LOAD4(AX, Y0, Y1, Y2, Y3)
	LOAD4(BX, Y4, Y5, Y6, Y7)
	VMOVUPS pullLow<>(SB), Y15

pull32:
	VBROADCASTSS (R12), Y8
	VBROADCASTSS (R13), Y9
	VXORPS       Y12, Y12, Y12
	VXORPS       Y13, Y13, Y13
	PULL32(0, Y0, Y4, Y12)
	PULL32(32, Y1, Y5, Y13)
	PULL32(64, Y2, Y6, Y12)
	PULL32(96, Y3, Y7, Y13)
	VADDPS       Y13, Y12, Y12
	ADD32(Y12, X12)
	ADDQ         $128, SI
	ADDQ         $4, DI
	ADDQ         $4, R12
	ADDQ         $4, R13
	DECQ         CX
	JNZ          pull32
	VZEROUPPER
	RET

// PULL64 is PULL32 for four nodes in float64.
#define PULL64(o, P, ALL, T, ACC) \
	VMOVUPD o(SI), Y10 \
	VADDPD Y8, Y10, Y11 \
	VADDPD T, Y11, Y11 \
	VFMSUB213PD ALL, Y9, Y11 \
	VMULPD P, Y10, Y10 \
	VFMADD231PD Y10, Y11, ACC

// func pulls64(dst, r, p, all, t, gap, up *float64, k int)
TEXT ·pulls64(SB), NOSPLIT, $0-64
	PULLS
	VMOVUPD (AX), Y0
	VMOVUPD 32(AX), Y1
	VMOVUPD (BX), Y2
	VMOVUPD 32(BX), Y3
	VMOVUPD (R10), Y4
	VMOVUPD 32(R10), Y5

pull64:
	VBROADCASTSD (R12), Y8
	VBROADCASTSD (R13), Y9
	VXORPD       Y12, Y12, Y12
	PULL64(0, Y0, Y2, Y4, Y12)
	PULL64(32, Y1, Y3, Y5, Y12)
	ADD64(Y12, X12)
	ADDQ         $64, SI
	ADDQ         $8, DI
	ADDQ         $8, R12
	ADDQ         $8, R13
	DECQ         CX
	JNZ          pull64
	VZEROUPPER
	RET
