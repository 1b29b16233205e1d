// What the kernels share. A constant is repeated over the eight lanes of a
// vector.

#include "textflag.h"

DATA expHigh<>+0(SB)/4, $0x42b20000
DATA expHigh<>+4(SB)/4, $0x42b20000
DATA expHigh<>+8(SB)/4, $0x42b20000
DATA expHigh<>+12(SB)/4, $0x42b20000
DATA expHigh<>+16(SB)/4, $0x42b20000
DATA expHigh<>+20(SB)/4, $0x42b20000
DATA expHigh<>+24(SB)/4, $0x42b20000
DATA expHigh<>+28(SB)/4, $0x42b20000
GLOBL expHigh<>(SB), RODATA|NOPTR, $32
DATA expLow<>+0(SB)/4, $0xc2d00000
DATA expLow<>+4(SB)/4, $0xc2d00000
DATA expLow<>+8(SB)/4, $0xc2d00000
DATA expLow<>+12(SB)/4, $0xc2d00000
DATA expLow<>+16(SB)/4, $0xc2d00000
DATA expLow<>+20(SB)/4, $0xc2d00000
DATA expLow<>+24(SB)/4, $0xc2d00000
DATA expLow<>+28(SB)/4, $0xc2d00000
GLOBL expLow<>(SB), RODATA|NOPTR, $32
DATA expLog2e<>+0(SB)/4, $0x3fb8aa3b
DATA expLog2e<>+4(SB)/4, $0x3fb8aa3b
DATA expLog2e<>+8(SB)/4, $0x3fb8aa3b
DATA expLog2e<>+12(SB)/4, $0x3fb8aa3b
DATA expLog2e<>+16(SB)/4, $0x3fb8aa3b
DATA expLog2e<>+20(SB)/4, $0x3fb8aa3b
DATA expLog2e<>+24(SB)/4, $0x3fb8aa3b
DATA expLog2e<>+28(SB)/4, $0x3fb8aa3b
GLOBL expLog2e<>(SB), RODATA|NOPTR, $32
DATA expLn2Hi<>+0(SB)/4, $0x3f318000
DATA expLn2Hi<>+4(SB)/4, $0x3f318000
DATA expLn2Hi<>+8(SB)/4, $0x3f318000
DATA expLn2Hi<>+12(SB)/4, $0x3f318000
DATA expLn2Hi<>+16(SB)/4, $0x3f318000
DATA expLn2Hi<>+20(SB)/4, $0x3f318000
DATA expLn2Hi<>+24(SB)/4, $0x3f318000
DATA expLn2Hi<>+28(SB)/4, $0x3f318000
GLOBL expLn2Hi<>(SB), RODATA|NOPTR, $32
DATA expLn2Lo<>+0(SB)/4, $0xb95e8083
DATA expLn2Lo<>+4(SB)/4, $0xb95e8083
DATA expLn2Lo<>+8(SB)/4, $0xb95e8083
DATA expLn2Lo<>+12(SB)/4, $0xb95e8083
DATA expLn2Lo<>+16(SB)/4, $0xb95e8083
DATA expLn2Lo<>+20(SB)/4, $0xb95e8083
DATA expLn2Lo<>+24(SB)/4, $0xb95e8083
DATA expLn2Lo<>+28(SB)/4, $0xb95e8083
GLOBL expLn2Lo<>(SB), RODATA|NOPTR, $32
DATA expP0<>+0(SB)/4, $0x39506967
DATA expP0<>+4(SB)/4, $0x39506967
DATA expP0<>+8(SB)/4, $0x39506967
DATA expP0<>+12(SB)/4, $0x39506967
DATA expP0<>+16(SB)/4, $0x39506967
DATA expP0<>+20(SB)/4, $0x39506967
DATA expP0<>+24(SB)/4, $0x39506967
DATA expP0<>+28(SB)/4, $0x39506967
GLOBL expP0<>(SB), RODATA|NOPTR, $32
DATA expP1<>+0(SB)/4, $0x3ab743ce
DATA expP1<>+4(SB)/4, $0x3ab743ce
DATA expP1<>+8(SB)/4, $0x3ab743ce
DATA expP1<>+12(SB)/4, $0x3ab743ce
DATA expP1<>+16(SB)/4, $0x3ab743ce
DATA expP1<>+20(SB)/4, $0x3ab743ce
DATA expP1<>+24(SB)/4, $0x3ab743ce
DATA expP1<>+28(SB)/4, $0x3ab743ce
GLOBL expP1<>(SB), RODATA|NOPTR, $32
DATA expP2<>+0(SB)/4, $0x3c088908
DATA expP2<>+4(SB)/4, $0x3c088908
DATA expP2<>+8(SB)/4, $0x3c088908
DATA expP2<>+12(SB)/4, $0x3c088908
DATA expP2<>+16(SB)/4, $0x3c088908
DATA expP2<>+20(SB)/4, $0x3c088908
DATA expP2<>+24(SB)/4, $0x3c088908
DATA expP2<>+28(SB)/4, $0x3c088908
GLOBL expP2<>(SB), RODATA|NOPTR, $32
DATA expP3<>+0(SB)/4, $0x3d2aa9c1
DATA expP3<>+4(SB)/4, $0x3d2aa9c1
DATA expP3<>+8(SB)/4, $0x3d2aa9c1
DATA expP3<>+12(SB)/4, $0x3d2aa9c1
DATA expP3<>+16(SB)/4, $0x3d2aa9c1
DATA expP3<>+20(SB)/4, $0x3d2aa9c1
DATA expP3<>+24(SB)/4, $0x3d2aa9c1
DATA expP3<>+28(SB)/4, $0x3d2aa9c1
GLOBL expP3<>(SB), RODATA|NOPTR, $32
DATA expP4<>+0(SB)/4, $0x3e2aaaaa
DATA expP4<>+4(SB)/4, $0x3e2aaaaa
DATA expP4<>+8(SB)/4, $0x3e2aaaaa
DATA expP4<>+12(SB)/4, $0x3e2aaaaa
DATA expP4<>+16(SB)/4, $0x3e2aaaaa
DATA expP4<>+20(SB)/4, $0x3e2aaaaa
DATA expP4<>+24(SB)/4, $0x3e2aaaaa
DATA expP4<>+28(SB)/4, $0x3e2aaaaa
GLOBL expP4<>(SB), RODATA|NOPTR, $32
DATA expP5<>+0(SB)/4, $0x3f000000
DATA expP5<>+4(SB)/4, $0x3f000000
DATA expP5<>+8(SB)/4, $0x3f000000
DATA expP5<>+12(SB)/4, $0x3f000000
DATA expP5<>+16(SB)/4, $0x3f000000
DATA expP5<>+20(SB)/4, $0x3f000000
DATA expP5<>+24(SB)/4, $0x3f000000
DATA expP5<>+28(SB)/4, $0x3f000000
GLOBL expP5<>(SB), RODATA|NOPTR, $32
DATA expOne<>+0(SB)/4, $0x3f800000
DATA expOne<>+4(SB)/4, $0x3f800000
DATA expOne<>+8(SB)/4, $0x3f800000
DATA expOne<>+12(SB)/4, $0x3f800000
DATA expOne<>+16(SB)/4, $0x3f800000
DATA expOne<>+20(SB)/4, $0x3f800000
DATA expOne<>+24(SB)/4, $0x3f800000
DATA expOne<>+28(SB)/4, $0x3f800000
GLOBL expOne<>(SB), RODATA|NOPTR, $32
DATA expBias<>+0(SB)/4, $0x0000007f
DATA expBias<>+4(SB)/4, $0x0000007f
DATA expBias<>+8(SB)/4, $0x0000007f
DATA expBias<>+12(SB)/4, $0x0000007f
DATA expBias<>+16(SB)/4, $0x0000007f
DATA expBias<>+20(SB)/4, $0x0000007f
DATA expBias<>+24(SB)/4, $0x0000007f
DATA expBias<>+28(SB)/4, $0x0000007f
GLOBL expBias<>(SB), RODATA|NOPTR, $32

// tailMask, read 4·(8−n) bytes from its start, selects the first n lanes.
DATA tailMask<>+0(SB)/4, $-1
DATA tailMask<>+4(SB)/4, $-1
DATA tailMask<>+8(SB)/4, $-1
DATA tailMask<>+12(SB)/4, $-1
DATA tailMask<>+16(SB)/4, $-1
DATA tailMask<>+20(SB)/4, $-1
DATA tailMask<>+24(SB)/4, $-1
DATA tailMask<>+28(SB)/4, $-1
DATA tailMask<>+32(SB)/4, $0
DATA tailMask<>+36(SB)/4, $0
DATA tailMask<>+40(SB)/4, $0
DATA tailMask<>+44(SB)/4, $0
DATA tailMask<>+48(SB)/4, $0
DATA tailMask<>+52(SB)/4, $0
DATA tailMask<>+56(SB)/4, $0
DATA tailMask<>+60(SB)/4, $0
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

// TAIL loads into M the mask of the first n lanes, 0 < n < 8. S is scratch.
#define TAIL(n, S, M) \
	LEAQ tailMask<>+32(SB), S \
	NEGQ n \
	VMOVUPS (S)(n*4), M \
	NEGQ n
