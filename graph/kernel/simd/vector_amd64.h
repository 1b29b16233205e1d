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
DATA absMask<>+0(SB)/4, $0x7fffffff
DATA absMask<>+4(SB)/4, $0x7fffffff
DATA absMask<>+8(SB)/4, $0x7fffffff
DATA absMask<>+12(SB)/4, $0x7fffffff
DATA absMask<>+16(SB)/4, $0x7fffffff
DATA absMask<>+20(SB)/4, $0x7fffffff
DATA absMask<>+24(SB)/4, $0x7fffffff
DATA absMask<>+28(SB)/4, $0x7fffffff
GLOBL absMask<>(SB), RODATA|NOPTR, $32
DATA minusInf<>+0(SB)/4, $0xff800000
DATA minusInf<>+4(SB)/4, $0xff800000
DATA minusInf<>+8(SB)/4, $0xff800000
DATA minusInf<>+12(SB)/4, $0xff800000
DATA minusInf<>+16(SB)/4, $0xff800000
DATA minusInf<>+20(SB)/4, $0xff800000
DATA minusInf<>+24(SB)/4, $0xff800000
DATA minusInf<>+28(SB)/4, $0xff800000
GLOBL minusInf<>(SB), RODATA|NOPTR, $32
DATA laneNumbers<>+0(SB)/4, $0
DATA laneNumbers<>+4(SB)/4, $1
DATA laneNumbers<>+8(SB)/4, $2
DATA laneNumbers<>+12(SB)/4, $3
DATA laneNumbers<>+16(SB)/4, $4
DATA laneNumbers<>+20(SB)/4, $5
DATA laneNumbers<>+24(SB)/4, $6
DATA laneNumbers<>+28(SB)/4, $7
GLOBL laneNumbers<>(SB), RODATA|NOPTR, $32
DATA lanesEight<>+0(SB)/4, $8
DATA lanesEight<>+4(SB)/4, $8
DATA lanesEight<>+8(SB)/4, $8
DATA lanesEight<>+12(SB)/4, $8
DATA lanesEight<>+16(SB)/4, $8
DATA lanesEight<>+20(SB)/4, $8
DATA lanesEight<>+24(SB)/4, $8
DATA lanesEight<>+28(SB)/4, $8
GLOBL lanesEight<>(SB), RODATA|NOPTR, $32
DATA half<>+0(SB)/4, $0x3f000000
DATA half<>+4(SB)/4, $0x3f000000
DATA half<>+8(SB)/4, $0x3f000000
DATA half<>+12(SB)/4, $0x3f000000
DATA half<>+16(SB)/4, $0x3f000000
DATA half<>+20(SB)/4, $0x3f000000
DATA half<>+24(SB)/4, $0x3f000000
DATA half<>+28(SB)/4, $0x3f000000
GLOBL half<>(SB), RODATA|NOPTR, $32
DATA over32<>+0(SB)/4, $0x2f800000
DATA over32<>+4(SB)/4, $0x2f800000
DATA over32<>+8(SB)/4, $0x2f800000
DATA over32<>+12(SB)/4, $0x2f800000
DATA over32<>+16(SB)/4, $0x2f800000
DATA over32<>+20(SB)/4, $0x2f800000
DATA over32<>+24(SB)/4, $0x2f800000
DATA over32<>+28(SB)/4, $0x2f800000
GLOBL over32<>(SB), RODATA|NOPTR, $32
DATA over31<>+0(SB)/4, $0x30000000
DATA over31<>+4(SB)/4, $0x30000000
DATA over31<>+8(SB)/4, $0x30000000
DATA over31<>+12(SB)/4, $0x30000000
DATA over31<>+16(SB)/4, $0x30000000
DATA over31<>+20(SB)/4, $0x30000000
DATA over31<>+24(SB)/4, $0x30000000
DATA over31<>+28(SB)/4, $0x30000000
GLOBL over31<>(SB), RODATA|NOPTR, $32
DATA signBit<>+0(SB)/4, $0x80000000
DATA signBit<>+4(SB)/4, $0x80000000
DATA signBit<>+8(SB)/4, $0x80000000
DATA signBit<>+12(SB)/4, $0x80000000
DATA signBit<>+16(SB)/4, $0x80000000
DATA signBit<>+20(SB)/4, $0x80000000
DATA signBit<>+24(SB)/4, $0x80000000
DATA signBit<>+28(SB)/4, $0x80000000
GLOBL signBit<>(SB), RODATA|NOPTR, $32
DATA four<>+0(SB)/4, $0x40800000
DATA four<>+4(SB)/4, $0x40800000
DATA four<>+8(SB)/4, $0x40800000
DATA four<>+12(SB)/4, $0x40800000
DATA four<>+16(SB)/4, $0x40800000
DATA four<>+20(SB)/4, $0x40800000
DATA four<>+24(SB)/4, $0x40800000
DATA four<>+28(SB)/4, $0x40800000
GLOBL four<>(SB), RODATA|NOPTR, $32
DATA sqrtHalf<>+0(SB)/4, $0x3f3504f3
DATA sqrtHalf<>+4(SB)/4, $0x3f3504f3
DATA sqrtHalf<>+8(SB)/4, $0x3f3504f3
DATA sqrtHalf<>+12(SB)/4, $0x3f3504f3
DATA sqrtHalf<>+16(SB)/4, $0x3f3504f3
DATA sqrtHalf<>+20(SB)/4, $0x3f3504f3
DATA sqrtHalf<>+24(SB)/4, $0x3f3504f3
DATA sqrtHalf<>+28(SB)/4, $0x3f3504f3
GLOBL sqrtHalf<>(SB), RODATA|NOPTR, $32
DATA minusHalf<>+0(SB)/4, $0xbf000000
DATA minusHalf<>+4(SB)/4, $0xbf000000
DATA minusHalf<>+8(SB)/4, $0xbf000000
DATA minusHalf<>+12(SB)/4, $0xbf000000
DATA minusHalf<>+16(SB)/4, $0xbf000000
DATA minusHalf<>+20(SB)/4, $0xbf000000
DATA minusHalf<>+24(SB)/4, $0xbf000000
DATA minusHalf<>+28(SB)/4, $0xbf000000
GLOBL minusHalf<>(SB), RODATA|NOPTR, $32
DATA ln2<>+0(SB)/4, $0x3f317218
DATA ln2<>+4(SB)/4, $0x3f317218
DATA ln2<>+8(SB)/4, $0x3f317218
DATA ln2<>+12(SB)/4, $0x3f317218
DATA ln2<>+16(SB)/4, $0x3f317218
DATA ln2<>+20(SB)/4, $0x3f317218
DATA ln2<>+24(SB)/4, $0x3f317218
DATA ln2<>+28(SB)/4, $0x3f317218
GLOBL ln2<>(SB), RODATA|NOPTR, $32
DATA five<>+0(SB)/4, $0x40a00000
DATA five<>+4(SB)/4, $0x40a00000
DATA five<>+8(SB)/4, $0x40a00000
DATA five<>+12(SB)/4, $0x40a00000
DATA five<>+16(SB)/4, $0x40a00000
DATA five<>+20(SB)/4, $0x40a00000
DATA five<>+24(SB)/4, $0x40a00000
DATA five<>+28(SB)/4, $0x40a00000
GLOBL five<>(SB), RODATA|NOPTR, $32
DATA minusCentre<>+0(SB)/4, $0xc0200000
DATA minusCentre<>+4(SB)/4, $0xc0200000
DATA minusCentre<>+8(SB)/4, $0xc0200000
DATA minusCentre<>+12(SB)/4, $0xc0200000
DATA minusCentre<>+16(SB)/4, $0xc0200000
DATA minusCentre<>+20(SB)/4, $0xc0200000
DATA minusCentre<>+24(SB)/4, $0xc0200000
DATA minusCentre<>+28(SB)/4, $0xc0200000
GLOBL minusCentre<>(SB), RODATA|NOPTR, $32
DATA minusTail<>+0(SB)/4, $0xc05c28f6
DATA minusTail<>+4(SB)/4, $0xc05c28f6
DATA minusTail<>+8(SB)/4, $0xc05c28f6
DATA minusTail<>+12(SB)/4, $0xc05c28f6
DATA minusTail<>+16(SB)/4, $0xc05c28f6
DATA minusTail<>+20(SB)/4, $0xc05c28f6
DATA minusTail<>+24(SB)/4, $0xc05c28f6
DATA minusTail<>+28(SB)/4, $0xc05c28f6
GLOBL minusTail<>(SB), RODATA|NOPTR, $32
DATA hashA<>+0(SB)/4, $0x21f0aaad
DATA hashA<>+4(SB)/4, $0x21f0aaad
DATA hashA<>+8(SB)/4, $0x21f0aaad
DATA hashA<>+12(SB)/4, $0x21f0aaad
DATA hashA<>+16(SB)/4, $0x21f0aaad
DATA hashA<>+20(SB)/4, $0x21f0aaad
DATA hashA<>+24(SB)/4, $0x21f0aaad
DATA hashA<>+28(SB)/4, $0x21f0aaad
GLOBL hashA<>(SB), RODATA|NOPTR, $32
DATA hashB<>+0(SB)/4, $0xd35a2d97
DATA hashB<>+4(SB)/4, $0xd35a2d97
DATA hashB<>+8(SB)/4, $0xd35a2d97
DATA hashB<>+12(SB)/4, $0xd35a2d97
DATA hashB<>+16(SB)/4, $0xd35a2d97
DATA hashB<>+20(SB)/4, $0xd35a2d97
DATA hashB<>+24(SB)/4, $0xd35a2d97
DATA hashB<>+28(SB)/4, $0xd35a2d97
GLOBL hashB<>(SB), RODATA|NOPTR, $32
DATA scrambleA<>+0(SB)/4, $0x3d20adea
DATA scrambleA<>+4(SB)/4, $0x3d20adea
DATA scrambleA<>+8(SB)/4, $0x3d20adea
DATA scrambleA<>+12(SB)/4, $0x3d20adea
DATA scrambleA<>+16(SB)/4, $0x3d20adea
DATA scrambleA<>+20(SB)/4, $0x3d20adea
DATA scrambleA<>+24(SB)/4, $0x3d20adea
DATA scrambleA<>+28(SB)/4, $0x3d20adea
GLOBL scrambleA<>(SB), RODATA|NOPTR, $32
DATA scrambleB<>+0(SB)/4, $0x05526c56
DATA scrambleB<>+4(SB)/4, $0x05526c56
DATA scrambleB<>+8(SB)/4, $0x05526c56
DATA scrambleB<>+12(SB)/4, $0x05526c56
DATA scrambleB<>+16(SB)/4, $0x05526c56
DATA scrambleB<>+20(SB)/4, $0x05526c56
DATA scrambleB<>+24(SB)/4, $0x05526c56
DATA scrambleB<>+28(SB)/4, $0x05526c56
GLOBL scrambleB<>(SB), RODATA|NOPTR, $32
DATA scrambleC<>+0(SB)/4, $0x53a22864
DATA scrambleC<>+4(SB)/4, $0x53a22864
DATA scrambleC<>+8(SB)/4, $0x53a22864
DATA scrambleC<>+12(SB)/4, $0x53a22864
DATA scrambleC<>+16(SB)/4, $0x53a22864
DATA scrambleC<>+20(SB)/4, $0x53a22864
DATA scrambleC<>+24(SB)/4, $0x53a22864
DATA scrambleC<>+28(SB)/4, $0x53a22864
GLOBL scrambleC<>(SB), RODATA|NOPTR, $32
DATA nibbles<>+0(SB)/4, $0x0f0f0f0f
DATA nibbles<>+4(SB)/4, $0x0f0f0f0f
DATA nibbles<>+8(SB)/4, $0x0f0f0f0f
DATA nibbles<>+12(SB)/4, $0x0f0f0f0f
DATA nibbles<>+16(SB)/4, $0x0f0f0f0f
DATA nibbles<>+20(SB)/4, $0x0f0f0f0f
DATA nibbles<>+24(SB)/4, $0x0f0f0f0f
DATA nibbles<>+28(SB)/4, $0x0f0f0f0f
GLOBL nibbles<>(SB), RODATA|NOPTR, $32
DATA logP0<>+0(SB)/4, $0x3d9021bb
DATA logP0<>+4(SB)/4, $0x3d9021bb
DATA logP0<>+8(SB)/4, $0x3d9021bb
DATA logP0<>+12(SB)/4, $0x3d9021bb
DATA logP0<>+16(SB)/4, $0x3d9021bb
DATA logP0<>+20(SB)/4, $0x3d9021bb
DATA logP0<>+24(SB)/4, $0x3d9021bb
DATA logP0<>+28(SB)/4, $0x3d9021bb
GLOBL logP0<>(SB), RODATA|NOPTR, $32
DATA logP1<>+0(SB)/4, $0xbdebd1b8
DATA logP1<>+4(SB)/4, $0xbdebd1b8
DATA logP1<>+8(SB)/4, $0xbdebd1b8
DATA logP1<>+12(SB)/4, $0xbdebd1b8
DATA logP1<>+16(SB)/4, $0xbdebd1b8
DATA logP1<>+20(SB)/4, $0xbdebd1b8
DATA logP1<>+24(SB)/4, $0xbdebd1b8
DATA logP1<>+28(SB)/4, $0xbdebd1b8
GLOBL logP1<>(SB), RODATA|NOPTR, $32
DATA logP2<>+0(SB)/4, $0x3def251a
DATA logP2<>+4(SB)/4, $0x3def251a
DATA logP2<>+8(SB)/4, $0x3def251a
DATA logP2<>+12(SB)/4, $0x3def251a
DATA logP2<>+16(SB)/4, $0x3def251a
DATA logP2<>+20(SB)/4, $0x3def251a
DATA logP2<>+24(SB)/4, $0x3def251a
DATA logP2<>+28(SB)/4, $0x3def251a
GLOBL logP2<>(SB), RODATA|NOPTR, $32
DATA logP3<>+0(SB)/4, $0xbdfe5d4f
DATA logP3<>+4(SB)/4, $0xbdfe5d4f
DATA logP3<>+8(SB)/4, $0xbdfe5d4f
DATA logP3<>+12(SB)/4, $0xbdfe5d4f
DATA logP3<>+16(SB)/4, $0xbdfe5d4f
DATA logP3<>+20(SB)/4, $0xbdfe5d4f
DATA logP3<>+24(SB)/4, $0xbdfe5d4f
DATA logP3<>+28(SB)/4, $0xbdfe5d4f
GLOBL logP3<>(SB), RODATA|NOPTR, $32
DATA logP4<>+0(SB)/4, $0x3e11e9bf
DATA logP4<>+4(SB)/4, $0x3e11e9bf
DATA logP4<>+8(SB)/4, $0x3e11e9bf
DATA logP4<>+12(SB)/4, $0x3e11e9bf
DATA logP4<>+16(SB)/4, $0x3e11e9bf
DATA logP4<>+20(SB)/4, $0x3e11e9bf
DATA logP4<>+24(SB)/4, $0x3e11e9bf
DATA logP4<>+28(SB)/4, $0x3e11e9bf
GLOBL logP4<>(SB), RODATA|NOPTR, $32
DATA logP5<>+0(SB)/4, $0xbe2aae50
DATA logP5<>+4(SB)/4, $0xbe2aae50
DATA logP5<>+8(SB)/4, $0xbe2aae50
DATA logP5<>+12(SB)/4, $0xbe2aae50
DATA logP5<>+16(SB)/4, $0xbe2aae50
DATA logP5<>+20(SB)/4, $0xbe2aae50
DATA logP5<>+24(SB)/4, $0xbe2aae50
DATA logP5<>+28(SB)/4, $0xbe2aae50
GLOBL logP5<>(SB), RODATA|NOPTR, $32
DATA logP6<>+0(SB)/4, $0x3e4cceac
DATA logP6<>+4(SB)/4, $0x3e4cceac
DATA logP6<>+8(SB)/4, $0x3e4cceac
DATA logP6<>+12(SB)/4, $0x3e4cceac
DATA logP6<>+16(SB)/4, $0x3e4cceac
DATA logP6<>+20(SB)/4, $0x3e4cceac
DATA logP6<>+24(SB)/4, $0x3e4cceac
DATA logP6<>+28(SB)/4, $0x3e4cceac
GLOBL logP6<>(SB), RODATA|NOPTR, $32
DATA logP7<>+0(SB)/4, $0xbe7ffffc
DATA logP7<>+4(SB)/4, $0xbe7ffffc
DATA logP7<>+8(SB)/4, $0xbe7ffffc
DATA logP7<>+12(SB)/4, $0xbe7ffffc
DATA logP7<>+16(SB)/4, $0xbe7ffffc
DATA logP7<>+20(SB)/4, $0xbe7ffffc
DATA logP7<>+24(SB)/4, $0xbe7ffffc
DATA logP7<>+28(SB)/4, $0xbe7ffffc
GLOBL logP7<>(SB), RODATA|NOPTR, $32
DATA logP8<>+0(SB)/4, $0x3eaaaaaa
DATA logP8<>+4(SB)/4, $0x3eaaaaaa
DATA logP8<>+8(SB)/4, $0x3eaaaaaa
DATA logP8<>+12(SB)/4, $0x3eaaaaaa
DATA logP8<>+16(SB)/4, $0x3eaaaaaa
DATA logP8<>+20(SB)/4, $0x3eaaaaaa
DATA logP8<>+24(SB)/4, $0x3eaaaaaa
DATA logP8<>+28(SB)/4, $0x3eaaaaaa
GLOBL logP8<>(SB), RODATA|NOPTR, $32
DATA normP0<>+0(SB)/4, $0x332d5203
DATA normP0<>+4(SB)/4, $0x332d5203
DATA normP0<>+8(SB)/4, $0x332d5203
DATA normP0<>+12(SB)/4, $0x332d5203
DATA normP0<>+16(SB)/4, $0x332d5203
DATA normP0<>+20(SB)/4, $0x332d5203
DATA normP0<>+24(SB)/4, $0x332d5203
DATA normP0<>+28(SB)/4, $0x332d5203
GLOBL normP0<>(SB), RODATA|NOPTR, $32
DATA normP1<>+0(SB)/4, $0x35027cc7
DATA normP1<>+4(SB)/4, $0x35027cc7
DATA normP1<>+8(SB)/4, $0x35027cc7
DATA normP1<>+12(SB)/4, $0x35027cc7
DATA normP1<>+16(SB)/4, $0x35027cc7
DATA normP1<>+20(SB)/4, $0x35027cc7
DATA normP1<>+24(SB)/4, $0x35027cc7
DATA normP1<>+28(SB)/4, $0x35027cc7
GLOBL normP1<>(SB), RODATA|NOPTR, $32
DATA normP2<>+0(SB)/4, $0xb6a77498
DATA normP2<>+4(SB)/4, $0xb6a77498
DATA normP2<>+8(SB)/4, $0xb6a77498
DATA normP2<>+12(SB)/4, $0xb6a77498
DATA normP2<>+16(SB)/4, $0xb6a77498
DATA normP2<>+20(SB)/4, $0xb6a77498
DATA normP2<>+24(SB)/4, $0xb6a77498
DATA normP2<>+28(SB)/4, $0xb6a77498
GLOBL normP2<>(SB), RODATA|NOPTR, $32
DATA normP3<>+0(SB)/4, $0xb6d0a41c
DATA normP3<>+4(SB)/4, $0xb6d0a41c
DATA normP3<>+8(SB)/4, $0xb6d0a41c
DATA normP3<>+12(SB)/4, $0xb6d0a41c
DATA normP3<>+16(SB)/4, $0xb6d0a41c
DATA normP3<>+20(SB)/4, $0xb6d0a41c
DATA normP3<>+24(SB)/4, $0xb6d0a41c
DATA normP3<>+28(SB)/4, $0xb6d0a41c
GLOBL normP3<>(SB), RODATA|NOPTR, $32
DATA normP4<>+0(SB)/4, $0x39a21570
DATA normP4<>+4(SB)/4, $0x39a21570
DATA normP4<>+8(SB)/4, $0x39a21570
DATA normP4<>+12(SB)/4, $0x39a21570
DATA normP4<>+16(SB)/4, $0x39a21570
DATA normP4<>+20(SB)/4, $0x39a21570
DATA normP4<>+24(SB)/4, $0x39a21570
DATA normP4<>+28(SB)/4, $0x39a21570
GLOBL normP4<>(SB), RODATA|NOPTR, $32
DATA normP5<>+0(SB)/4, $0xbae86459
DATA normP5<>+4(SB)/4, $0xbae86459
DATA normP5<>+8(SB)/4, $0xbae86459
DATA normP5<>+12(SB)/4, $0xbae86459
DATA normP5<>+16(SB)/4, $0xbae86459
DATA normP5<>+20(SB)/4, $0xbae86459
DATA normP5<>+24(SB)/4, $0xbae86459
DATA normP5<>+28(SB)/4, $0xbae86459
GLOBL normP5<>(SB), RODATA|NOPTR, $32
DATA normP6<>+0(SB)/4, $0xbbc19955
DATA normP6<>+4(SB)/4, $0xbbc19955
DATA normP6<>+8(SB)/4, $0xbbc19955
DATA normP6<>+12(SB)/4, $0xbbc19955
DATA normP6<>+16(SB)/4, $0xbbc19955
DATA normP6<>+20(SB)/4, $0xbbc19955
DATA normP6<>+24(SB)/4, $0xbbc19955
DATA normP6<>+28(SB)/4, $0xbbc19955
GLOBL normP6<>(SB), RODATA|NOPTR, $32
DATA normP7<>+0(SB)/4, $0x3eb29643
DATA normP7<>+4(SB)/4, $0x3eb29643
DATA normP7<>+8(SB)/4, $0x3eb29643
DATA normP7<>+12(SB)/4, $0x3eb29643
DATA normP7<>+16(SB)/4, $0x3eb29643
DATA normP7<>+20(SB)/4, $0x3eb29643
DATA normP7<>+24(SB)/4, $0x3eb29643
DATA normP7<>+28(SB)/4, $0x3eb29643
GLOBL normP7<>(SB), RODATA|NOPTR, $32
DATA normP8<>+0(SB)/4, $0x4007e45f
DATA normP8<>+4(SB)/4, $0x4007e45f
DATA normP8<>+8(SB)/4, $0x4007e45f
DATA normP8<>+12(SB)/4, $0x4007e45f
DATA normP8<>+16(SB)/4, $0x4007e45f
DATA normP8<>+20(SB)/4, $0x4007e45f
DATA normP8<>+24(SB)/4, $0x4007e45f
DATA normP8<>+28(SB)/4, $0x4007e45f
GLOBL normP8<>(SB), RODATA|NOPTR, $32
DATA normQ0<>+0(SB)/4, $0x3883ceb0
DATA normQ0<>+4(SB)/4, $0x3883ceb0
DATA normQ0<>+8(SB)/4, $0x3883ceb0
DATA normQ0<>+12(SB)/4, $0x3883ceb0
DATA normQ0<>+16(SB)/4, $0x3883ceb0
DATA normQ0<>+20(SB)/4, $0x3883ceb0
DATA normQ0<>+24(SB)/4, $0x3883ceb0
DATA normQ0<>+28(SB)/4, $0x3883ceb0
GLOBL normQ0<>(SB), RODATA|NOPTR, $32
DATA normQ1<>+0(SB)/4, $0xb6369149
DATA normQ1<>+4(SB)/4, $0xb6369149
DATA normQ1<>+8(SB)/4, $0xb6369149
DATA normQ1<>+12(SB)/4, $0xb6369149
DATA normQ1<>+16(SB)/4, $0xb6369149
DATA normQ1<>+20(SB)/4, $0xb6369149
DATA normQ1<>+24(SB)/4, $0xb6369149
DATA normQ1<>+28(SB)/4, $0xb6369149
GLOBL normQ1<>(SB), RODATA|NOPTR, $32
DATA normQ2<>+0(SB)/4, $0xb9f2152b
DATA normQ2<>+4(SB)/4, $0xb9f2152b
DATA normQ2<>+8(SB)/4, $0xb9f2152b
DATA normQ2<>+12(SB)/4, $0xb9f2152b
DATA normQ2<>+16(SB)/4, $0xb9f2152b
DATA normQ2<>+20(SB)/4, $0xb9f2152b
DATA normQ2<>+24(SB)/4, $0xb9f2152b
DATA normQ2<>+28(SB)/4, $0xb9f2152b
GLOBL normQ2<>(SB), RODATA|NOPTR, $32
DATA normQ3<>+0(SB)/4, $0x3a6b72a6
DATA normQ3<>+4(SB)/4, $0x3a6b72a6
DATA normQ3<>+8(SB)/4, $0x3a6b72a6
DATA normQ3<>+12(SB)/4, $0x3a6b72a6
DATA normQ3<>+16(SB)/4, $0x3a6b72a6
DATA normQ3<>+20(SB)/4, $0x3a6b72a6
DATA normQ3<>+24(SB)/4, $0x3a6b72a6
DATA normQ3<>+28(SB)/4, $0x3a6b72a6
GLOBL normQ3<>(SB), RODATA|NOPTR, $32
DATA normQ4<>+0(SB)/4, $0xba952eb3
DATA normQ4<>+4(SB)/4, $0xba952eb3
DATA normQ4<>+8(SB)/4, $0xba952eb3
DATA normQ4<>+12(SB)/4, $0xba952eb3
DATA normQ4<>+16(SB)/4, $0xba952eb3
DATA normQ4<>+20(SB)/4, $0xba952eb3
DATA normQ4<>+24(SB)/4, $0xba952eb3
DATA normQ4<>+28(SB)/4, $0xba952eb3
GLOBL normQ4<>(SB), RODATA|NOPTR, $32
DATA normQ5<>+0(SB)/4, $0x3aeb9651
DATA normQ5<>+4(SB)/4, $0x3aeb9651
DATA normQ5<>+8(SB)/4, $0x3aeb9651
DATA normQ5<>+12(SB)/4, $0x3aeb9651
DATA normQ5<>+16(SB)/4, $0x3aeb9651
DATA normQ5<>+20(SB)/4, $0x3aeb9651
DATA normQ5<>+24(SB)/4, $0x3aeb9651
DATA normQ5<>+28(SB)/4, $0x3aeb9651
GLOBL normQ5<>(SB), RODATA|NOPTR, $32
DATA normQ6<>+0(SB)/4, $0xbb5b6fae
DATA normQ6<>+4(SB)/4, $0xbb5b6fae
DATA normQ6<>+8(SB)/4, $0xbb5b6fae
DATA normQ6<>+12(SB)/4, $0xbb5b6fae
DATA normQ6<>+16(SB)/4, $0xbb5b6fae
DATA normQ6<>+20(SB)/4, $0xbb5b6fae
DATA normQ6<>+24(SB)/4, $0xbb5b6fae
DATA normQ6<>+28(SB)/4, $0xbb5b6fae
GLOBL normQ6<>(SB), RODATA|NOPTR, $32
DATA normQ7<>+0(SB)/4, $0x3baaa5a7
DATA normQ7<>+4(SB)/4, $0x3baaa5a7
DATA normQ7<>+8(SB)/4, $0x3baaa5a7
DATA normQ7<>+12(SB)/4, $0x3baaa5a7
DATA normQ7<>+16(SB)/4, $0x3baaa5a7
DATA normQ7<>+20(SB)/4, $0x3baaa5a7
DATA normQ7<>+24(SB)/4, $0x3baaa5a7
DATA normQ7<>+28(SB)/4, $0x3baaa5a7
GLOBL normQ7<>(SB), RODATA|NOPTR, $32
DATA normQ8<>+0(SB)/4, $0x3fb64732
DATA normQ8<>+4(SB)/4, $0x3fb64732
DATA normQ8<>+8(SB)/4, $0x3fb64732
DATA normQ8<>+12(SB)/4, $0x3fb64732
DATA normQ8<>+16(SB)/4, $0x3fb64732
DATA normQ8<>+20(SB)/4, $0x3fb64732
DATA normQ8<>+24(SB)/4, $0x3fb64732
DATA normQ8<>+28(SB)/4, $0x3fb64732
GLOBL normQ8<>(SB), RODATA|NOPTR, $32
DATA normQ9<>+0(SB)/4, $0x4094364c
DATA normQ9<>+4(SB)/4, $0x4094364c
DATA normQ9<>+8(SB)/4, $0x4094364c
DATA normQ9<>+12(SB)/4, $0x4094364c
DATA normQ9<>+16(SB)/4, $0x4094364c
DATA normQ9<>+20(SB)/4, $0x4094364c
DATA normQ9<>+24(SB)/4, $0x4094364c
DATA normQ9<>+28(SB)/4, $0x4094364c
GLOBL normQ9<>(SB), RODATA|NOPTR, $32
DATA reversedNibbles<>+0(SB)/1, $0
DATA reversedNibbles<>+1(SB)/1, $8
DATA reversedNibbles<>+2(SB)/1, $4
DATA reversedNibbles<>+3(SB)/1, $12
DATA reversedNibbles<>+4(SB)/1, $2
DATA reversedNibbles<>+5(SB)/1, $10
DATA reversedNibbles<>+6(SB)/1, $6
DATA reversedNibbles<>+7(SB)/1, $14
DATA reversedNibbles<>+8(SB)/1, $1
DATA reversedNibbles<>+9(SB)/1, $9
DATA reversedNibbles<>+10(SB)/1, $5
DATA reversedNibbles<>+11(SB)/1, $13
DATA reversedNibbles<>+12(SB)/1, $3
DATA reversedNibbles<>+13(SB)/1, $11
DATA reversedNibbles<>+14(SB)/1, $7
DATA reversedNibbles<>+15(SB)/1, $15
DATA reversedNibbles<>+16(SB)/1, $0
DATA reversedNibbles<>+17(SB)/1, $8
DATA reversedNibbles<>+18(SB)/1, $4
DATA reversedNibbles<>+19(SB)/1, $12
DATA reversedNibbles<>+20(SB)/1, $2
DATA reversedNibbles<>+21(SB)/1, $10
DATA reversedNibbles<>+22(SB)/1, $6
DATA reversedNibbles<>+23(SB)/1, $14
DATA reversedNibbles<>+24(SB)/1, $1
DATA reversedNibbles<>+25(SB)/1, $9
DATA reversedNibbles<>+26(SB)/1, $5
DATA reversedNibbles<>+27(SB)/1, $13
DATA reversedNibbles<>+28(SB)/1, $3
DATA reversedNibbles<>+29(SB)/1, $11
DATA reversedNibbles<>+30(SB)/1, $7
DATA reversedNibbles<>+31(SB)/1, $15
GLOBL reversedNibbles<>(SB), RODATA|NOPTR, $32
DATA byteOrder<>+0(SB)/1, $3
DATA byteOrder<>+1(SB)/1, $2
DATA byteOrder<>+2(SB)/1, $1
DATA byteOrder<>+3(SB)/1, $0
DATA byteOrder<>+4(SB)/1, $7
DATA byteOrder<>+5(SB)/1, $6
DATA byteOrder<>+6(SB)/1, $5
DATA byteOrder<>+7(SB)/1, $4
DATA byteOrder<>+8(SB)/1, $11
DATA byteOrder<>+9(SB)/1, $10
DATA byteOrder<>+10(SB)/1, $9
DATA byteOrder<>+11(SB)/1, $8
DATA byteOrder<>+12(SB)/1, $15
DATA byteOrder<>+13(SB)/1, $14
DATA byteOrder<>+14(SB)/1, $13
DATA byteOrder<>+15(SB)/1, $12
DATA byteOrder<>+16(SB)/1, $3
DATA byteOrder<>+17(SB)/1, $2
DATA byteOrder<>+18(SB)/1, $1
DATA byteOrder<>+19(SB)/1, $0
DATA byteOrder<>+20(SB)/1, $7
DATA byteOrder<>+21(SB)/1, $6
DATA byteOrder<>+22(SB)/1, $5
DATA byteOrder<>+23(SB)/1, $4
DATA byteOrder<>+24(SB)/1, $11
DATA byteOrder<>+25(SB)/1, $10
DATA byteOrder<>+26(SB)/1, $9
DATA byteOrder<>+27(SB)/1, $8
DATA byteOrder<>+28(SB)/1, $15
DATA byteOrder<>+29(SB)/1, $14
DATA byteOrder<>+30(SB)/1, $13
DATA byteOrder<>+31(SB)/1, $12
GLOBL byteOrder<>(SB), RODATA|NOPTR, $32

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

// TAIL loads into M the mask of the first n lanes, 0 ≤ n < 8. S is scratch.
#define TAIL(n, S, M) \
	LEAQ tailMask<>+32(SB), S \
	NEGQ n \
	VMOVUPS (S)(n*4), M \
	NEGQ n
