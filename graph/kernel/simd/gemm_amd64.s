#include "vector_amd64.h"

#define FMAROW(addr, Ya, Yb) \
	VBROADCASTSS addr, Y2 \
	VFMADD231PS Y0, Y2, Ya \
	VFMADD231PS Y1, Y2, Yb

#define STOREROW(Ya, Yb) \
	VMOVUPS Ya, (DI) \
	VMOVUPS Yb, 32(DI) \
	ADDQ DX, DI

#define ADDROW(Ya, Yb) \
	VADDPS (DI), Ya, Ya \
	VADDPS 32(DI), Yb, Yb \
	STOREROW(Ya, Yb)

// SPARSE loads the arguments of spmm64 and spmm16, and begins a row.
#define SPARSE \
	MOVQ dst+0(FP), DI \
	MOVQ rows+8(FP), CX \
	MOVQ ptr+16(FP), BX \
	MOVQ idx+24(FP), SI \
	MOVQ val+32(FP), DX \
	MOVQ p+40(FP), R8 \
row: \
	MOVLQSX (BX), R9 \
	MOVLQSX 4(BX), R10

// func gemm6x16(c *float32, ldc int, a *float32, ars, acs int, b *float32, ldb, k int, add bool)
//
// c [6×16] (+)= Σ_t a[r·ars + t·acs]·b[t·ldb + j]
TEXT ·gemm6x16(SB), NOSPLIT, $0-65
	MOVQ c+0(FP), DI
	MOVQ ldc+8(FP), DX
	MOVQ a+16(FP), SI
	MOVQ ars+24(FP), R8
	MOVQ acs+32(FP), R9
	MOVQ b+40(FP), BX
	MOVQ ldb+48(FP), R11
	MOVQ k+56(FP), CX
	SHLQ $2, R11
	SHLQ $2, DX
	SHLQ $2, R8
	SHLQ $2, R9
	LEAQ (SI)(R8*2), R10
	ADDQ R8, R10 // row 3
	ZERO4(Y4, Y5, Y6, Y7)
	ZERO4(Y8, Y9, Y10, Y11)
	ZERO4(Y12, Y13, Y14, Y15)
loop:
	VMOVUPS (BX), Y0
	VMOVUPS 32(BX), Y1
	FMAROW((SI), Y4, Y5)
	FMAROW((SI)(R8*1), Y6, Y7)
	FMAROW((SI)(R8*2), Y8, Y9)
	FMAROW((R10), Y10, Y11)
	FMAROW((R10)(R8*1), Y12, Y13)
	FMAROW((R10)(R8*2), Y14, Y15)
	ADDQ R9, SI
	ADDQ R9, R10
	ADDQ R11, BX
	DECQ CX
	JNZ  loop
	MOVBLZX add+64(FP), AX
	TESTL AX, AX
	JNZ  sum
	STOREROW(Y4, Y5)
	STOREROW(Y6, Y7)
	STOREROW(Y8, Y9)
	STOREROW(Y10, Y11)
	STOREROW(Y12, Y13)
	STOREROW(Y14, Y15)
	VZEROUPPER
	RET
sum:
	ADDROW(Y4, Y5)
	ADDROW(Y6, Y7)
	ADDROW(Y8, Y9)
	ADDROW(Y10, Y11)
	ADDROW(Y12, Y13)
	ADDROW(Y14, Y15)
	VZEROUPPER
	RET

// func transpose8(dst *float32, ldd int, src *float32, lds int, n int)
//
// dst[t·ldd + r] = src[r·lds + t] for r < 8 and t < n, a multiple of 8.
TEXT ·transpose8(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R9
	MOVQ src+16(FP), SI
	MOVQ lds+24(FP), R8
	MOVQ n+32(FP), CX
	SHLQ $2, R8
	SHLQ $2, R9
	LEAQ (R8)(R8*2), R11 // 3 rows
	LEAQ (R9)(R9*2), R12
loop:
	LEAQ (SI)(R8*4), R10
	VMOVUPS (SI), Y0
	VMOVUPS (SI)(R8*1), Y1
	VMOVUPS (SI)(R8*2), Y2
	VMOVUPS (SI)(R11*1), Y3
	VMOVUPS (R10), Y4
	VMOVUPS (R10)(R8*1), Y5
	VMOVUPS (R10)(R8*2), Y6
	VMOVUPS (R10)(R11*1), Y7
	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15
	VSHUFPS $0x44, Y10, Y8, Y0
	VSHUFPS $0xEE, Y10, Y8, Y1
	VSHUFPS $0x44, Y11, Y9, Y2
	VSHUFPS $0xEE, Y11, Y9, Y3
	VSHUFPS $0x44, Y14, Y12, Y4
	VSHUFPS $0xEE, Y14, Y12, Y5
	VSHUFPS $0x44, Y15, Y13, Y6
	VSHUFPS $0xEE, Y15, Y13, Y7
	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x20, Y5, Y1, Y9
	VPERM2F128 $0x20, Y6, Y2, Y10
	VPERM2F128 $0x20, Y7, Y3, Y11
	VPERM2F128 $0x31, Y4, Y0, Y12
	VPERM2F128 $0x31, Y5, Y1, Y13
	VPERM2F128 $0x31, Y6, Y2, Y14
	VPERM2F128 $0x31, Y7, Y3, Y15
	LEAQ (DI)(R9*4), R10
	VMOVUPS Y8, (DI)
	VMOVUPS Y9, (DI)(R9*1)
	VMOVUPS Y10, (DI)(R9*2)
	VMOVUPS Y11, (DI)(R12*1)
	VMOVUPS Y12, (R10)
	VMOVUPS Y13, (R10)(R9*1)
	VMOVUPS Y14, (R10)(R9*2)
	VMOVUPS Y15, (R10)(R12*1)
	ADDQ $32, SI
	LEAQ (DI)(R9*8), DI
	SUBQ $8, CX
	JG   loop
	VZEROUPPER
	RET

// func spmm64(dst *float32, rows int, ptr, idx *int32, val, p *float32)
//
// dst[64r + j] = Σ_{ptr[2r] ≤ e < ptr[2r+1]} val[e]·p[64·idx[e] + j]
TEXT ·spmm64(SB), NOSPLIT, $0-48
	SPARSE
	ZERO4(Y0, Y1, Y2, Y3)
	ZERO4(Y4, Y5, Y6, Y7)
	CMPQ R9, R10
	JGE  store
loop:
	MOVLQSX (SI)(R9*4), R11
	VBROADCASTSS (DX)(R9*4), Y8
	SHLQ $8, R11
	ADDQ R8, R11
	VFMADD231PS (R11), Y8, Y0
	VFMADD231PS 32(R11), Y8, Y1
	VFMADD231PS 64(R11), Y8, Y2
	VFMADD231PS 96(R11), Y8, Y3
	VFMADD231PS 128(R11), Y8, Y4
	VFMADD231PS 160(R11), Y8, Y5
	VFMADD231PS 192(R11), Y8, Y6
	VFMADD231PS 224(R11), Y8, Y7
	INCQ R9
	CMPQ R9, R10
	JLT  loop
store:
	STORE4(0, DI, Y0, Y1, Y2, Y3)
	STORE4(128, DI, Y4, Y5, Y6, Y7)
	ADDQ $256, DI
	ADDQ $8, BX
	DECQ CX
	JNZ  row
	VZEROUPPER
	RET

// func spmm16(dst *float32, rows int, ptr, idx *int32, val, p *float32)
//
// As spmm64, with 16 columns. Two sums for even and odd entries hide latency.
TEXT ·spmm16(SB), NOSPLIT, $0-48
	SPARSE
	ZERO4(Y0, Y1, Y2, Y3)
	DECQ R10
	CMPQ R9, R10
	JGE  last
loop:
	MOVLQSX (SI)(R9*4), R11
	MOVLQSX 4(SI)(R9*4), R12
	VBROADCASTSS (DX)(R9*4), Y8
	VBROADCASTSS 4(DX)(R9*4), Y9
	SHLQ $6, R11
	SHLQ $6, R12
	VFMADD231PS (R8)(R11*1), Y8, Y0
	VFMADD231PS 32(R8)(R11*1), Y8, Y1
	VFMADD231PS (R8)(R12*1), Y9, Y2
	VFMADD231PS 32(R8)(R12*1), Y9, Y3
	ADDQ $2, R9
	CMPQ R9, R10
	JLT  loop
last:
	JGT  store
	MOVLQSX (SI)(R9*4), R11
	VBROADCASTSS (DX)(R9*4), Y8
	SHLQ $6, R11
	VFMADD231PS (R8)(R11*1), Y8, Y0
	VFMADD231PS 32(R8)(R11*1), Y8, Y1
store:
	VADDPS Y2, Y0, Y0
	VADDPS Y3, Y1, Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $64, DI
	ADDQ $8, BX
	DECQ CX
	JNZ  row
	VZEROUPPER
	RET

// func compress32(val *float32, idx *int32, x *float32, n int, lanes *[256][8]uint8) int
//
// Writes the elements of x that are not 0, and their places, and returns how
// many there are. Up to 8 elements beyond them are overwritten. n is a multiple
// of 8.
TEXT ·compress32(SB), NOSPLIT, $0-48
	MOVQ val+0(FP), DI
	MOVQ idx+8(FP), BX
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), CX
	VXORPS Y7, Y7, Y7
	VMOVDQU laneNumbers<>(SB), Y6 // places of the present eight
	VMOVDQU lanesEight<>(SB), Y5
	MOVQ lanes+32(FP), R8
	XORQ R9, R9
loop:
	VMOVUPS (SI), Y0
	VCMPPS $4, Y7, Y0, Y1 // not equal, or NaN
	VMOVMSKPS Y1, AX
	VPMOVZXBD (R8)(AX*8), Y2
	VPERMPS Y0, Y2, Y0
	VPERMD  Y6, Y2, Y3
	VMOVUPS Y0, (DI)(R9*4)
	VMOVDQU Y3, (BX)(R9*4)
	POPCNTL AX, AX
	ADDQ AX, R9
	VPADDD Y5, Y6, Y6
	ADDQ $32, SI
	SUBQ $8, CX
	JG   loop
	MOVQ R9, ret+40(FP)
	VZEROUPPER
	RET
