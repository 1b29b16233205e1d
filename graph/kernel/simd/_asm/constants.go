package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// words makes a table of words of 64 bits.
func words(name string, w ...uint64) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, v := range w {
		DATA(8*i, U64(v))
	}
	return m
}

// lanes makes a table of vectors, each with one number in all of eight lanes.
func lanes(name string, bits ...uint32) Mem {
	var w []uint64
	for _, v := range bits {
		both := uint64(v)<<32 | uint64(v)
		w = append(w, both, both, both, both)
	}
	return words(name, w...)
}

var (
	expHigh         = lanes("expHigh", 0x42b20000)
	expLow          = lanes("expLow", 0xc2af0000)
	expLog2e        = lanes("expLog2e", 0x3fb8aa3b)
	expLn2Hi        = lanes("expLn2Hi", 0x3f318000)
	expLn2Lo        = lanes("expLn2Lo", 0xb95e8083)
	expP0           = lanes("expP0", 0x39506967)
	expP1           = lanes("expP1", 0x3ab743ce)
	expP2           = lanes("expP2", 0x3c088908)
	expP3           = lanes("expP3", 0x3d2aa9c1)
	expP4           = lanes("expP4", 0x3e2aaaaa)
	expOne          = lanes("expOne", 0x3f800000)
	expBias         = lanes("expBias", 126)
	liftLow         = lanes("liftLow", 0xc28aa123)
	liftScale       = lanes("liftScale", 0x64800000)
	adamLow         = lanes("adamLow", 0x08800000)
	adamSquare      = lanes("adamSquare", 0x24000000)
	adamVar         = lanes("adamVar", 0x03800000)
	pullLow         = lanes("pullLow", 0x32800000)
	least           = lanes("least", 0x00800000)
	softLow         = lanes("softLow", 0x0d800000)
	absMask         = lanes("absMask", 0x7fffffff)
	minusInf        = lanes("minusInf", 0xff800000)
	laneNumbers     = words("laneNumbers", 1<<32, 3<<32|2, 5<<32|4, 7<<32|6)
	lanesEight      = lanes("lanesEight", 8)
	half            = lanes("half", 0x3f000000)
	over32          = lanes("over32", 0x2f800000)
	over31          = lanes("over31", 0x30000000)
	signBit         = lanes("signBit", 0x80000000)
	two             = lanes("two", 0x40000000)
	four            = lanes("four", 0x40800000)
	sqrtHalf        = lanes("sqrtHalf", 0x3f3504f3)
	minusHalf       = lanes("minusHalf", 0xbf000000)
	ln2             = lanes("ln2", 0x3f317218)
	five            = lanes("five", 0x40a00000)
	minusCentre     = lanes("minusCentre", 0xc0200000)
	minusTail       = lanes("minusTail", 0xc05c28f6)
	hashA           = lanes("hashA", 0x21f0aaad)
	hashB           = lanes("hashB", 0xd35a2d97)
	scrambleA       = lanes("scrambleA", 0x3d20adea)
	scrambleB       = lanes("scrambleB", 0x05526c56)
	scrambleC       = lanes("scrambleC", 0x53a22864)
	nibbles         = lanes("nibbles", 0x0f0f0f0f)
	reversedNibbles = words("reversedNibbles", 0x0e060a020c040800, 0x0f070b030d050901, 0x0e060a020c040800, 0x0f070b030d050901)
	byteOrder       = words("byteOrder", 0x0405060700010203, 0x0c0d0e0f08090a0b, 0x0405060700010203, 0x0c0d0e0f08090a0b)
	// tailMask, read 4·(8−n) bytes from its start, selects the first n lanes.
	tailMask = words("tailMask", 1<<64-1, 1<<64-1, 1<<64-1, 1<<64-1, 0, 0, 0, 0)
	logP     = lanes("logP", 0x3d9021bb, 0xbdebd1b8, 0x3def251a, 0xbdfe5d4f, 0x3e11e9bf, 0xbe2aae50, 0x3e4cceac, 0xbe7ffffc, 0x3eaaaaaa)
	normP    = lanes("normP", 0x332d5203, 0x35027cc7, 0xb6a77498, 0xb6d0a41c, 0x39a21570, 0xbae86459, 0xbbc19955, 0x3eb29643, 0x4007e45f)
	normQ    = lanes("normQ", 0x3883ceb0, 0xb6369149, 0xb9f2152b, 0x3a6b72a6, 0xba952eb3, 0x3aeb9651, 0xbb5b6fae, 0x3baaa5a7, 0x3fb64732, 0x4094364c)
	one64    = words("one64", 0x3ff0000000000000)
	least64  = words("least64", 0x1a70000000000000) // 2⁻⁶⁰⁰
)
