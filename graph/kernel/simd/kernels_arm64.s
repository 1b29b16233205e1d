//go:build !purego

#include "textflag.h"

// Products of float32 with NEON, by hand: avo writes amd64 alone. Sums are fused, in the order of the kernels of AVX2, so that
// they are the same bits. Sums of two vectors are fused with 1 (V7), which rounds as a sum does.

// ROW adds to four vectors, a row of 16, those in V0 to V3 times the number at (p), and moves p on by step.
#define ROW(p, step, w, x, y, z) \
	VLD1R.P (p)(step), [V4.S4]; \
	VFMLA V0.S4, V4.S4, w.S4; \
	VFMLA V1.S4, V4.S4, x.S4; \
	VFMLA V2.S4, V4.S4, y.S4; \
	VFMLA V3.S4, V4.S4, z.S4

// SUM adds what is at R0 to four vectors.
#define SUM(w, x, y, z) \
	VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]; \
	VFMLA V7.S4, V0.S4, w.S4; \
	VFMLA V7.S4, V1.S4, x.S4; \
	VFMLA V7.S4, V2.S4, y.S4; \
	VFMLA V7.S4, V3.S4, z.S4

#define ZERO(w, x, y, z) \
	VEOR w.B16, w.B16, w.B16; \
	VEOR x.B16, x.B16, x.B16; \
	VEOR y.B16, y.B16, y.B16; \
	VEOR z.B16, z.B16, z.B16

#define ONES \
	FMOVS $1.0, F7; \
	VDUP V7.S[0], V7.S4

// SPARSE loads the arguments of spmm64 and spmm16.
#define SPARSE \
	MOVD dst+0(FP), R0; \
	MOVD rows+8(FP), R1; \
	MOVD ptr+16(FP), R2; \
	MOVD idx+24(FP), R3; \
	MOVD val+32(FP), R4; \
	MOVD p+40(FP), R5

// ENTRY loads an element's number to all of V4, and where its row of p begins to R10, and moves on to the next.
#define ENTRY(shift) \
	MOVW.P 4(R8), R10; \
	VLD1R.P 4(R9), [V4.S4]; \
	ADD R10<<shift, R5, R10

// FOUR adds the next 16 numbers at R10, times V4, to four vectors.
#define FOUR(w, x, y, z) \
	VLD1.P 64(R10), [V0.S4, V1.S4, V2.S4, V3.S4]; \
	VFMLA V0.S4, V4.S4, w.S4; \
	VFMLA V1.S4, V4.S4, x.S4; \
	VFMLA V2.S4, V4.S4, y.S4; \
	VFMLA V3.S4, V4.S4, z.S4

// BEGIN reads where a row's elements are: R7 of them, their places at R8, their numbers at R9.
#define BEGIN \
	MOVW.P 4(R2), R6; \
	MOVW.P 4(R2), R7; \
	ADD R6<<2, R3, R8; \
	ADD R6<<2, R4, R9; \
	SUB R6, R7

// c [6×16] (+)= Σ_t a[r·ars + t·acs]·b[t·ldb + j]
TEXT ·gemm6x16(SB), NOSPLIT, $0-65
	MOVD c+0(FP), R0
	MOVD ldc+8(FP), R1
	MOVD a+16(FP), R2
	MOVD ars+24(FP), R3
	MOVD acs+32(FP), R4
	MOVD b+40(FP), R5
	MOVD ldb+48(FP), R6
	MOVD k+56(FP), R7
	MOVBU add+64(FP), R8
	LSL $2, R1
	LSL $2, R3
	LSL $2, R4
	LSL $2, R6
	ADD R3, R2, R10
	ADD R3, R10, R11
	ADD R3, R11, R12
	ADD R3, R12, R13
	ADD R3, R13, R14
	ONES
	ZERO(V8, V9, V10, V11)
	ZERO(V12, V13, V14, V15)
	ZERO(V16, V17, V18, V19)
	ZERO(V20, V21, V22, V23)
	ZERO(V24, V25, V26, V27)
	ZERO(V28, V29, V30, V31)
loop:
	VLD1.P (R5)(R6), [V0.S4, V1.S4, V2.S4, V3.S4]
	ROW(R2, R4, V8, V9, V10, V11)
	ROW(R10, R4, V12, V13, V14, V15)
	ROW(R11, R4, V16, V17, V18, V19)
	ROW(R12, R4, V20, V21, V22, V23)
	ROW(R13, R4, V24, V25, V26, V27)
	ROW(R14, R4, V28, V29, V30, V31)
	SUBS $1, R7
	BNE loop
	CBNZ R8, sum
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], (R0)(R1)
	VST1.P [V12.S4, V13.S4, V14.S4, V15.S4], (R0)(R1)
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], (R0)(R1)
	VST1.P [V20.S4, V21.S4, V22.S4, V23.S4], (R0)(R1)
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], (R0)(R1)
	VST1.P [V28.S4, V29.S4, V30.S4, V31.S4], (R0)(R1)
	RET
sum:
	SUM(V8, V9, V10, V11)
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], (R0)(R1)
	SUM(V12, V13, V14, V15)
	VST1.P [V12.S4, V13.S4, V14.S4, V15.S4], (R0)(R1)
	SUM(V16, V17, V18, V19)
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], (R0)(R1)
	SUM(V20, V21, V22, V23)
	VST1.P [V20.S4, V21.S4, V22.S4, V23.S4], (R0)(R1)
	SUM(V24, V25, V26, V27)
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], (R0)(R1)
	SUM(V28, V29, V30, V31)
	VST1.P [V28.S4, V29.S4, V30.S4, V31.S4], (R0)(R1)
	RET

// dst[64r + j] = Σ_{ptr[2r] ≤ e < ptr[2r+1]} val[e]·p[64·idx[e] + j]
TEXT ·spmm64(SB), NOSPLIT, $0-48
	SPARSE
row:
	BEGIN
	ZERO(V8, V9, V10, V11)
	ZERO(V12, V13, V14, V15)
	ZERO(V16, V17, V18, V19)
	ZERO(V20, V21, V22, V23)
	CBZ R7, store
loop:
	ENTRY(8)
	FOUR(V8, V9, V10, V11)
	FOUR(V12, V13, V14, V15)
	FOUR(V16, V17, V18, V19)
	FOUR(V20, V21, V22, V23)
	SUBS $1, R7
	BNE loop
store:
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R0)
	VST1.P [V12.S4, V13.S4, V14.S4, V15.S4], 64(R0)
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R0)
	VST1.P [V20.S4, V21.S4, V22.S4, V23.S4], 64(R0)
	SUBS $1, R1
	BNE row
	RET

// As spmm64, with 16 columns. Two sums for even and odd entries hide latency.
TEXT ·spmm16(SB), NOSPLIT, $0-48
	SPARSE
	ONES
row:
	BEGIN
	ZERO(V8, V9, V10, V11)
	ZERO(V12, V13, V14, V15)
	SUBS $1, R7
	BLE last
loop:
	ENTRY(6)
	FOUR(V8, V9, V10, V11)
	ENTRY(6)
	FOUR(V12, V13, V14, V15)
	SUBS $2, R7
	BGT loop
last:
	BLT store
	ENTRY(6)
	FOUR(V8, V9, V10, V11)
store:
	VFMLA V7.S4, V12.S4, V8.S4
	VFMLA V7.S4, V13.S4, V9.S4
	VFMLA V7.S4, V14.S4, V10.S4
	VFMLA V7.S4, V15.S4, V11.S4
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R0)
	SUBS $1, R1
	BNE row
	RET
