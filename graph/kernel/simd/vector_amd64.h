// What the kernels share.

#include "textflag.h"

// QUADS makes vector i of a table from four words.
#define QUADS(name, i, a, b, c, d) \
	DATA name<>+32*i+0(SB)/8, $a \
	DATA name<>+32*i+8(SB)/8, $b \
	DATA name<>+32*i+16(SB)/8, $c \
	DATA name<>+32*i+24(SB)/8, $d

// TERM makes vector i of a table, with v in all eight lanes.
#define TERM(name, i, v) QUADS(name, i, v<<32|v, v<<32|v, v<<32|v, v<<32|v)

// LANES makes a table of one such vector.
#define LANES(name, v) \
	TERM(name, 0, v) \
	GLOBL name<>(SB), RODATA|NOPTR, $32

LANES(expHigh, 0x42b20000)
LANES(expLow, 0xc2af0000)
LANES(expLog2e, 0x3fb8aa3b)
LANES(expLn2Hi, 0x3f318000)
LANES(expLn2Lo, 0xb95e8083)
LANES(expP0, 0x39506967)
LANES(expP1, 0x3ab743ce)
LANES(expP2, 0x3c088908)
LANES(expP3, 0x3d2aa9c1)
LANES(expP4, 0x3e2aaaaa)
LANES(expOne, 0x3f800000)
LANES(expBias, 126)
LANES(liftLow, 0xc28aa123)
LANES(liftScale, 0x64800000)
LANES(adamLow, 0x08800000)
LANES(adamSquare, 0x24000000)
LANES(adamVar, 0x03800000)
LANES(pullLow, 0x32800000)
LANES(least, 0x00800000)
LANES(softLow, 0x0d800000)
LANES(absMask, 0x7fffffff)
LANES(minusInf, 0xff800000)
QUADS(laneNumbers, 0, 1<<32, 3<<32|2, 5<<32|4, 7<<32|6)
GLOBL laneNumbers<>(SB), RODATA|NOPTR, $32
LANES(lanesEight, 8)
LANES(half, 0x3f000000)
LANES(over32, 0x2f800000)
LANES(over31, 0x30000000)
LANES(signBit, 0x80000000)
LANES(two, 0x40000000)
LANES(four, 0x40800000)
LANES(sqrtHalf, 0x3f3504f3)
LANES(minusHalf, 0xbf000000)
LANES(ln2, 0x3f317218)
LANES(five, 0x40a00000)
LANES(minusCentre, 0xc0200000)
LANES(minusTail, 0xc05c28f6)
LANES(hashA, 0x21f0aaad)
LANES(hashB, 0xd35a2d97)
LANES(scrambleA, 0x3d20adea)
LANES(scrambleB, 0x05526c56)
LANES(scrambleC, 0x53a22864)
LANES(nibbles, 0x0f0f0f0f)
TERM(logP, 0, 0x3d9021bb)
TERM(logP, 1, 0xbdebd1b8)
TERM(logP, 2, 0x3def251a)
TERM(logP, 3, 0xbdfe5d4f)
TERM(logP, 4, 0x3e11e9bf)
TERM(logP, 5, 0xbe2aae50)
TERM(logP, 6, 0x3e4cceac)
TERM(logP, 7, 0xbe7ffffc)
TERM(logP, 8, 0x3eaaaaaa)
GLOBL logP<>(SB), RODATA|NOPTR, $288
TERM(normP, 0, 0x332d5203)
TERM(normP, 1, 0x35027cc7)
TERM(normP, 2, 0xb6a77498)
TERM(normP, 3, 0xb6d0a41c)
TERM(normP, 4, 0x39a21570)
TERM(normP, 5, 0xbae86459)
TERM(normP, 6, 0xbbc19955)
TERM(normP, 7, 0x3eb29643)
TERM(normP, 8, 0x4007e45f)
GLOBL normP<>(SB), RODATA|NOPTR, $288
TERM(normQ, 0, 0x3883ceb0)
TERM(normQ, 1, 0xb6369149)
TERM(normQ, 2, 0xb9f2152b)
TERM(normQ, 3, 0x3a6b72a6)
TERM(normQ, 4, 0xba952eb3)
TERM(normQ, 5, 0x3aeb9651)
TERM(normQ, 6, 0xbb5b6fae)
TERM(normQ, 7, 0x3baaa5a7)
TERM(normQ, 8, 0x3fb64732)
TERM(normQ, 9, 0x4094364c)
GLOBL normQ<>(SB), RODATA|NOPTR, $320
QUADS(reversedNibbles, 0, 0x0e060a020c040800, 0x0f070b030d050901, 0x0e060a020c040800, 0x0f070b030d050901)
GLOBL reversedNibbles<>(SB), RODATA|NOPTR, $32
QUADS(byteOrder, 0, 0x0405060700010203, 0x0c0d0e0f08090a0b, 0x0405060700010203, 0x0c0d0e0f08090a0b)
GLOBL byteOrder<>(SB), RODATA|NOPTR, $32

// tailMask, read 4·(8−n) bytes from its start, selects the first n lanes.
QUADS(tailMask, 0, -1, -1, -1, -1)
GLOBL tailMask<>(SB), RODATA|NOPTR, $64

// EXP computes T = exp(X) in eight float32. N and R are scratch; X is spent.
//
//	n = round(x·log₂e),  r = x − n·ln 2,  eˣ = 2ⁿ⁻¹·2(1 + r + r²·P(r))
//
// with Cephes' polynomial P. The factor 2ⁿ⁻¹ is finite where the result is. It is 0, and so is
// the result, for n = −126, the least that the clamp leaves: no result is subnormal.
#define EXP(X, N, R, T) \
	VMOVUPS expHigh<>(SB), N \
	VMINPS X, N, X \
	VMOVUPS expLow<>(SB), N \
	VMAXPS X, N, X \
	VMULPS expLog2e<>(SB), X, N \
	VROUNDPS $0, N, N \
	VFNMADD231PS expLn2Hi<>(SB), N, X \
	VFNMADD231PS expLn2Lo<>(SB), N, X \
	VMOVUPS expP0<>(SB), T \
	VFMADD213PS expP1<>(SB), X, T \
	VFMADD213PS expP2<>(SB), X, T \
	VFMADD213PS expP3<>(SB), X, T \
	VFMADD213PS expP4<>(SB), X, T \
	VFMADD213PS half<>(SB), X, T \
	VMULPS X, X, R \
	VFMADD213PS X, R, T \
	VADDPS expOne<>(SB), T, T \
	VADDPS T, T, T \
	VCVTPS2DQ N, N \
	VPADDD expBias<>(SB), N, N \
	VPSLLD $23, N, N \
	VMULPS N, T, T

// TAIL loads into M the mask of the first n lanes, 0 ≤ n < 8. S is scratch.
#define TAIL(n, S, M) \
	LEAQ tailMask<>+32(SB), S \
	NEGQ n \
	VMOVUPS (S)(n*4), M \
	NEGQ n

// ZERO4 clears four vectors.
#define ZERO4(A, B, C, D) \
	VXORPS A, A, A \
	VXORPS B, B, B \
	VXORPS C, C, C \
	VXORPS D, D, D

// LOAD4 loads four vectors from P on.
#define LOAD4(P, A, B, C, D) \
	VMOVUPS (P), A \
	VMOVUPS 32(P), B \
	VMOVUPS 64(P), C \
	VMOVUPS 96(P), D

// STORE4 stores four vectors from o(P) on.
#define STORE4(o, P, A, B, C, D) \
	VMOVUPS A, o(P) \
	VMOVUPS B, (o+32)(P) \
	VMOVUPS C, (o+64)(P) \
	VMOVUPS D, (o+96)(P)

// HSUM adds the lanes of Y0 into X0; X1 is scratch.
#define HSUM \
	VEXTRACTF128 $1, Y0, X1 \
	VADDPS X1, X0, X0 \
	VMOVHLPS X0, X0, X1 \
	VADDPS X1, X0, X0 \
	VMOVSHDUP X0, X1 \
	VADDSS X1, X0, X0

// ROWS loads the arguments dst, x, rows and k of a kernel of rows of k columns.
#define ROWS \
	MOVQ dst+0(FP), DI \
	MOVQ x+8(FP), SI \
	MOVQ rows+16(FP), R8 \
	MOVQ k+24(FP), R9

// COLUMNS loads into M the mask of the last columns of R8 rows of R9 columns
// at DI, those beyond whole vectors, into CX how many these are, and into R11 the
// last place for a vector.
#define COLUMNS(M) \
	MOVQ R9, CX \
	ANDQ $7, CX \
	TAIL(CX, AX, M) \
	MOVQ R8, R11 \
	IMULQ R9, R11 \
	LEAQ -32(DI)(R11*4), R11

// PUT stores Y in the last columns of a row, which begin at P. Masked stores are
// slow: but for the last rows they are stored with what follows them, which the
// next rows overwrite.
#define PUT(Y, M, P) \
	CMPQ P, R11 \
	JGT  masked \
	VMOVUPS Y, (P) \
	JMP  next \
masked: \
	VMASKMOVPS Y, M, (P) \
next:
