#include "vector_amd64.h"

// HASH makes eight random numbers of the counters in X, with the key in Y14 (low)
// and Y15 (high); T is scratch.
#define HASH(X, T) \
	VPADDD Y14, X, X \
	VPSRLD $16, X, T \
	VPXOR  T, X, X \
	VPMULLD hashA<>(SB), X, X \
	VPSRLD $15, X, T \
	VPXOR  T, X, X \
	VPADDD Y15, X, X \
	VPMULLD hashB<>(SB), X, X \
	VPSRLD $15, X, T \
	VPXOR  T, X, X

// COUNT loads a key for HASH, and into Y0 eight counters from the given one on.
#define COUNT(key, counter) \
	MOVQ key, AX \
	VMOVQ AX, X14 \
	SHRQ $32, AX \
	VMOVQ AX, X15 \
	VPBROADCASTD X14, Y14 \
	VPBROADCASTD X15, Y15 \
	VBROADCASTSS counter, Y0 \
	VPADDD laneNumbers<>(SB), Y0, Y0

// func strataKeys(buf *uint32, n int, key uint64, counter, step, mask uint32)
//
// buf[8s + l] = the hash of counter + s·step + l, its bits in mask replaced by s.
TEXT ·strataKeys(SB), NOSPLIT, $0-36
	MOVQ buf+0(FP), DI
	MOVQ n+8(FP), CX
	COUNT(key+16(FP), counter+24(FP))
	VBROADCASTSS step+28(FP), Y1
	VBROADCASTSS mask+32(FP), Y2
	VPXOR Y3, Y3, Y3 // s
	VPCMPEQD Y4, Y4, Y4
	VPSRLD $31, Y4, Y4 // 1
loop:
	VMOVDQA Y0, Y5
	HASH(Y5, Y6)
	VPANDN Y5, Y2, Y5
	VPOR Y3, Y5, Y5
	VMOVDQU Y5, (DI)
	VPADDD Y1, Y0, Y0
	VPADDD Y4, Y3, Y3
	ADDQ $32, DI
	DECQ CX
	JNZ  loop
	VZEROUPPER
	RET

// func sortLanes(buf *uint32, pairs *uint32, n int)
//
// Each pair is two offsets in bytes, first < second; the lesser numbers go first.
TEXT ·sortLanes(SB), NOSPLIT, $0-24
	MOVQ buf+0(FP), DI
	MOVQ pairs+8(FP), SI
	MOVQ n+16(FP), CX
loop:
	MOVL (SI), AX
	MOVL 4(SI), BX
	VMOVDQU (DI)(AX*1), Y0
	VMOVDQU (DI)(BX*1), Y1
	VPMINUD Y1, Y0, Y2
	VPMAXUD Y1, Y0, Y3
	VMOVDQU Y2, (DI)(AX*1)
	VMOVDQU Y3, (DI)(BX*1)
	ADDQ $8, SI
	DECQ CX
	JNZ  loop
	VZEROUPPER
	RET

// func strataPoints(dst *uint32, stride int, buf *uint32, n int, key uint64, counter, step, mask, width uint32)
//
// dst[stride·s + l] = (buf[8s + l] & mask)·width + ⌊h·width/2³²⌋ with the hash h of
// counter + s·step + l.
TEXT ·strataPoints(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ stride+8(FP), DX
	SHLQ $2, DX
	MOVQ buf+16(FP), SI
	MOVQ n+24(FP), CX
	COUNT(key+32(FP), counter+40(FP))
	VBROADCASTSS step+44(FP), Y1
	VBROADCASTSS mask+48(FP), Y2
	VBROADCASTSS width+52(FP), Y3
loop:
	VMOVDQA Y0, Y5
	HASH(Y5, Y6)
	VPSRLQ $32, Y5, Y6
	VPMULUDQ Y3, Y5, Y5
	VPMULUDQ Y3, Y6, Y6
	VPSRLQ $32, Y5, Y5
	VPBLENDD $0xAA, Y6, Y5, Y5
	VPAND (SI), Y2, Y7
	VPMULLD Y3, Y7, Y7
	VPADDD Y7, Y5, Y5
	VMOVDQU Y5, (DI)
	VPADDD Y1, Y0, Y0
	ADDQ $32, SI
	ADDQ DX, DI
	DECQ CX
	JNZ  loop
	VZEROUPPER
	RET

// func scramble32(dst, points *uint32, n int, seeds, shifts *uint32, period int)
//
// Numbers in bit-reversed order are scrambled, reversed and shifted, eight at a
// time; seeds and shifts repeat after period numbers. n and period are multiples
// of 8.
TEXT ·scramble32(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ points+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ seeds+24(FP), R8
	MOVQ shifts+32(FP), R9
	MOVQ period+40(FP), R10
	SHLQ $2, R10
	XORQ DX, DX
	VMOVDQU nibbles<>(SB), Y10
	VMOVDQU reversedNibbles<>(SB), Y11
	VMOVDQU byteOrder<>(SB), Y12
	VPCMPEQD Y13, Y13, Y13
	VPSRLD $31, Y13, Y13 // 1
loop:
	VMOVDQU (SI), Y0
	VMOVDQU (R8)(DX*1), Y1
	VPMULLD scrambleA<>(SB), Y0, Y2
	VPXOR   Y2, Y0, Y0
	VPADDD  Y1, Y0, Y0
	VPSRLD  $16, Y1, Y1
	VPOR    Y13, Y1, Y1
	VPMULLD Y1, Y0, Y0
	VPMULLD scrambleB<>(SB), Y0, Y2
	VPXOR   Y2, Y0, Y0
	VPMULLD scrambleC<>(SB), Y0, Y2
	VPXOR   Y2, Y0, Y0
	VPAND   Y10, Y0, Y2
	VPSRLD  $4, Y0, Y0
	VPAND   Y10, Y0, Y0
	VPSHUFB Y2, Y11, Y2
	VPSHUFB Y0, Y11, Y0
	VPSLLD  $4, Y2, Y2
	VPOR    Y2, Y0, Y0
	VPSHUFB Y12, Y0, Y0
	VPXOR   (R9)(DX*1), Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	ADDQ $32, DX
	CMPQ DX, R10
	JLT  next
	XORQ DX, DX
next:
	SUBQ $8, CX
	JG   loop
	VZEROUPPER
	RET

// POLYNOMIAL computes R, of degree 8 in r = Y1 with r² in Y4 and coefficients p,
// in pairs: ((p₀r + p₁)r² + (p₂r + p₃))r⁴ + …. Y9, A, B and C are scratch.
#define POLYNOMIAL(p, R, A, B, C) \
	VMULPS  Y4, Y4, Y9 \
	VMOVUPS p<>+32(SB), R \
	VFMADD231PS p<>+0(SB), Y1, R \
	VMOVUPS p<>+96(SB), A \
	VFMADD231PS p<>+64(SB), Y1, A \
	VMOVUPS p<>+160(SB), B \
	VFMADD231PS p<>+128(SB), Y1, B \
	VMOVUPS p<>+224(SB), C \
	VFMADD231PS p<>+192(SB), Y1, C \
	VFMADD213PS A, Y4, R \
	VFMADD213PS C, Y4, B \
	VFMADD213PS B, Y9, R \
	VFMADD213PS p<>+256(SB), Y1, R

// func normal32(dst *float32, x *uint32, n int)
//
// The quantiles of the standard normal distribution at (x + ½)/2³². With p the
// lesser of that and its complement, and v = 2p − 1 with the sign of the result,
//
//	w = −log 4p(1−p),  Φ⁻¹ = v·P(w − 2.5) for w < 5, else v·Q(√w − 3.44)
//
// n is a multiple of 8.
TEXT ·normal32(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
loop:
	VMOVDQU (SI), Y0
	VPSRAD  $31, Y0, Y1
	VPXOR   Y1, Y0, Y1 // below 2³¹
	VCVTDQ2PS Y1, Y1
	VADDPS  half<>(SB), Y1, Y1
	VMULPS  over32<>(SB), Y1, Y1 // p
	VPXOR   signBit<>(SB), Y0, Y0
	VCVTDQ2PS Y0, Y0
	VADDPS  half<>(SB), Y0, Y0
	VMULPS  over31<>(SB), Y0, Y0 // v
	VMOVUPS expOne<>(SB), Y2
	VSUBPS  Y1, Y2, Y2
	VMULPS  Y1, Y2, Y1
	VMULPS  four<>(SB), Y1, Y1 // 4p(1−p), in (0, 1]
	// w = −log of it = −(e·log 2 + log m), m from √½ to √2
	VPSUBD  sqrtHalf<>(SB), Y1, Y2
	VPSRAD  $23, Y2, Y2
	VPSLLD  $23, Y2, Y3
	VPSUBD  Y3, Y1, Y1
	VCVTDQ2PS Y2, Y2
	VSUBPS  expOne<>(SB), Y1, Y1
	VMULPS  Y1, Y1, Y4
	POLYNOMIAL(logP, Y3, Y6, Y7, Y8)
	VFMADD213PS minusHalf<>(SB), Y1, Y3 // log m = r + r²·(r·P − ½)
	VFMADD213PS Y1, Y4, Y3
	VFMADD231PS ln2<>(SB), Y2, Y3
	VXORPS  signBit<>(SB), Y3, Y3 // w
	VCMPPS  $13, five<>(SB), Y3, Y5 // w ≥ 5
	VADDPS  minusCentre<>(SB), Y3, Y1
	VMULPS  Y1, Y1, Y4
	POLYNOMIAL(normP, Y2, Y6, Y7, Y8)
	VMOVMSKPS Y5, AX
	TESTL AX, AX
	JZ    store
	VSQRTPS Y3, Y3
	VADDPS  minusTail<>(SB), Y3, Y3
	VMOVUPS normQ<>(SB), Y4
	VFMADD213PS normQ<>+32(SB), Y3, Y4
	VFMADD213PS normQ<>+64(SB), Y3, Y4
	VFMADD213PS normQ<>+96(SB), Y3, Y4
	VFMADD213PS normQ<>+128(SB), Y3, Y4
	VFMADD213PS normQ<>+160(SB), Y3, Y4
	VFMADD213PS normQ<>+192(SB), Y3, Y4
	VFMADD213PS normQ<>+224(SB), Y3, Y4
	VFMADD213PS normQ<>+256(SB), Y3, Y4
	VFMADD213PS normQ<>+288(SB), Y3, Y4
	VBLENDVPS Y5, Y4, Y2, Y2
store:
	VMULPS  Y0, Y2, Y2
	VMOVUPS Y2, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JG   loop
	VZEROUPPER
	RET
