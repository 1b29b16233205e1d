// What the kernels share.

#include "textflag.h"

// QUADS makes a constant of four words.
#define QUADS(name, a, b, c, d) \
	DATA name<>+0(SB)/8, $a; \
	DATA name<>+8(SB)/8, $b; \
	DATA name<>+16(SB)/8, $c; \
	DATA name<>+24(SB)/8, $d; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

// LANES makes a constant that has v in all eight lanes of a vector.
#define LANES(name, v) QUADS(name, v<<32|v, v<<32|v, v<<32|v, v<<32|v)

LANES(expHigh, 0x42b20000)
LANES(expLow, 0xc2d00000)
LANES(expLog2e, 0x3fb8aa3b)
LANES(expLn2Hi, 0x3f318000)
LANES(expLn2Lo, 0xb95e8083)
LANES(expP0, 0x39506967)
LANES(expP1, 0x3ab743ce)
LANES(expP2, 0x3c088908)
LANES(expP3, 0x3d2aa9c1)
LANES(expP4, 0x3e2aaaaa)
LANES(expP5, 0x3f000000)
LANES(expOne, 0x3f800000)
LANES(expBias, 0x0000007f)
LANES(absMask, 0x7fffffff)
LANES(minusInf, 0xff800000)
QUADS(laneNumbers, 0x0000000100000000, 0x0000000300000002, 0x0000000500000004, 0x0000000700000006)
LANES(lanesEight, 8)
LANES(half, 0x3f000000)
LANES(over32, 0x2f800000)
LANES(over31, 0x30000000)
LANES(signBit, 0x80000000)
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
LANES(logP0, 0x3d9021bb)
LANES(logP1, 0xbdebd1b8)
LANES(logP2, 0x3def251a)
LANES(logP3, 0xbdfe5d4f)
LANES(logP4, 0x3e11e9bf)
LANES(logP5, 0xbe2aae50)
LANES(logP6, 0x3e4cceac)
LANES(logP7, 0xbe7ffffc)
LANES(logP8, 0x3eaaaaaa)
LANES(normP0, 0x332d5203)
LANES(normP1, 0x35027cc7)
LANES(normP2, 0xb6a77498)
LANES(normP3, 0xb6d0a41c)
LANES(normP4, 0x39a21570)
LANES(normP5, 0xbae86459)
LANES(normP6, 0xbbc19955)
LANES(normP7, 0x3eb29643)
LANES(normP8, 0x4007e45f)
LANES(normQ0, 0x3883ceb0)
LANES(normQ1, 0xb6369149)
LANES(normQ2, 0xb9f2152b)
LANES(normQ3, 0x3a6b72a6)
LANES(normQ4, 0xba952eb3)
LANES(normQ5, 0x3aeb9651)
LANES(normQ6, 0xbb5b6fae)
LANES(normQ7, 0x3baaa5a7)
LANES(normQ8, 0x3fb64732)
LANES(normQ9, 0x4094364c)
QUADS(reversedNibbles, 0x0e060a020c040800, 0x0f070b030d050901, 0x0e060a020c040800, 0x0f070b030d050901)
QUADS(byteOrder, 0x0405060700010203, 0x0c0d0e0f08090a0b, 0x0405060700010203, 0x0c0d0e0f08090a0b)

// tailMask, read 4·(8−n) bytes from its start, selects the first n lanes.
DATA tailMask<>+0(SB)/8, $-1
DATA tailMask<>+8(SB)/8, $-1
DATA tailMask<>+16(SB)/8, $-1
DATA tailMask<>+24(SB)/8, $-1
GLOBL tailMask<>(SB), RODATA|NOPTR, $64

// EXP computes T = exp(X) in eight float32. N and R are scratch; X is spent.
//
//	n = round(x·log₂e),  r = x − n·ln 2,  eˣ = 2ⁿ·(1 + r + r²·P(r))
//
// with Cephes' polynomial P, and 2ⁿ in two factors, so that it neither
// overflows nor underflows before the result does.
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
	VFMADD213PS expP5<>(SB), X, T \
	VMULPS X, X, R \
	VFMADD213PS X, R, T \
	VADDPS expOne<>(SB), T, T \
	VCVTPS2DQ N, N \
	VPSRAD $1, N, R \
	VPSUBD R, N, N \
	VPADDD expBias<>(SB), R, R \
	VPSLLD $23, R, R \
	VMULPS R, T, T \
	VPADDD expBias<>(SB), N, N \
	VPSLLD $23, N, N \
	VMULPS N, T, T

// TAIL loads into M the mask of the first n lanes, 0 ≤ n < 8. S is scratch.
#define TAIL(n, S, M) \
	LEAQ tailMask<>+32(SB), S \
	NEGQ n \
	VMOVUPS (S)(n*4), M \
	NEGQ n
