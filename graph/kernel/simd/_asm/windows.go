package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// windows writes a kernel of simd.Windows for a block of at most most rows, each of so many vectors of w bytes: for
// each of tiles,
//
//	c[i, j] (+)= Σ_{q<runs} Σ_{t<k} a[i·row + q·run' + t·step]·b[q·jump' + t·ldb + j]
//
// with distances in bytes, run and jump from the end of a run to the next one. What is added is added 16 columns
// after 16 columns, in each row after row. There is a loop for each number of rows.
func windows(name string, most, vectors int, w int, reg func(i int) VecPhysical) {
	TEXT(name, NOSPLIT, "func(c *float32, ldc int, a *float32, row, step, run int, b *float32, ldb, jump, k, runs, tiles, atile, ctile, rows int, add bool)")
	Pragma("noescape")
	MOVQ(arg("ldc"), RDX)
	MOVQ(arg("row"), R8)
	MOVQ(arg("step"), RAX)
	MOVQ(arg("ldb"), R15)
	LEAQ(Mem{Base: R8, Index: R8, Scale: 2}, R9)
	LEAQ(Mem{Base: R8, Index: R8, Scale: 4}, R11)
	MOVQ(arg("rows"), R13)
	for rows := most; rows > 1; rows-- {
		CMPQ(R13, Imm(uint64(rows)))
		JEQ(LabelRef(fmt.Sprint("rows", rows)))
	}
	zero := func(v VecPhysical) {
		if w == 64 {
			VPXORD(v, v, v)
		} else {
			VXORPS(v, v, v)
		}
	}
	tiles := func(name string, n, rows int) {
		sum := func(tile, r, v int) VecPhysical { return reg(vectors + 2 + (tile*rows+r)*vectors + v) }
		more := []GPPhysical{RSI} // pointers to a
		if n > 1 || rows > 6 {
			more = append(more, R10) // row 6, or the other tile
		}
		MOVQ(arg("a"), RSI)
		if n > 1 {
			MOVQ(RSI, R10)
			ADDQ(arg("atile"), R10)
		} else {
			LEAQ(Mem{Base: RSI, Index: R9, Scale: 2}, R10)
		}
		MOVQ(arg("b"), RBX)
		MOVQ(arg("runs"), R12)
		for i := range n * rows * vectors {
			zero(sum(0, 0, i))
		}
		Label(name + "run")
		MOVQ(arg("k"), RCX)
		Label(name + "loop")
		for v := range vectors {
			VMOVUPS(Mem{Base: RBX, Disp: v * w}, reg(v))
		}
		for i := range n * rows {
			tile, r := i/rows, i%rows
			at := Mem{Base: RSI}
			if tile > 0 || r >= 6 {
				at.Base = R10
			}
			switch r % 6 {
			case 1, 2, 4:
				at.Index, at.Scale = R8, uint8(r%6)
			case 3:
				at.Index, at.Scale = R9, 1
			case 5:
				at.Index, at.Scale = R11, 1
			}
			if w == 64 && vectors == 1 {
				VFMADD231PS_BCST(at, reg(0), sum(tile, r, 0))
				continue
			}
			x := reg(vectors + r%2)
			VBROADCASTSS(at, x)
			for v := range vectors {
				VFMADD231PS(reg(v), x, sum(tile, r, v))
			}
		}
		for _, p := range more {
			ADDQ(RAX, p)
		}
		ADDQ(R15, RBX)
		DECQ(RCX)
		JNZ(LabelRef(name + "loop"))
		for _, p := range more {
			ADDQ(arg("run"), p)
		}
		ADDQ(arg("jump"), RBX)
		DECQ(R12)
		JNZ(LabelRef(name + "run"))
		for tile := range n {
			label := fmt.Sprint(name, "of", tile)
			MOVQ(arg("c"), RDI)
			CMPB(arg("add"), Imm(0))
			JNE(LabelRef(label + "add"))
			for r := range rows {
				for v := range vectors {
					VMOVUPS(sum(tile, r, v), Mem{Base: RDI, Disp: v * w})
				}
				ADDQ(RDX, RDI)
			}
			JMP(LabelRef(label + "next"))
			Label(label + "add")
			for v := 0; v < vectors; v += 64 / w { // 16 columns
				if v > 0 {
					MOVQ(arg("c"), RDI)
				}
				for r := range rows {
					for u := v; u < v+64/w; u++ {
						VADDPS(Mem{Base: RDI, Disp: u * w}, sum(tile, r, u), sum(tile, r, u))
					}
					for u := v; u < v+64/w; u++ {
						VMOVUPS(sum(tile, r, u), Mem{Base: RDI, Disp: u * w})
					}
					ADDQ(RDX, RDI)
				}
			}
			Label(label + "next")
			MOVQ(arg("atile"), RCX)
			ADDQ(RCX, arg("a"))
			MOVQ(arg("ctile"), RCX)
			ADDQ(RCX, arg("c"))
			DECQ(arg("tiles"))
		}
	}
	// What few rows leave of the registers is for those of a second tile: a product of one would wait for that before.
	for rows := 1; rows <= most; rows++ {
		Label(fmt.Sprint("rows", rows))
		if 2*rows <= most {
			CMPQ(arg("tiles"), Imm(1))
			JEQ(LabelRef(fmt.Sprint("last", rows)))
			tiles(fmt.Sprint("both", rows), 2, rows)
			CMPQ(arg("tiles"), Imm(0))
			JNE(LabelRef(fmt.Sprint("rows", rows)))
			VZEROUPPER()
			RET()
			Label(fmt.Sprint("last", rows))
		}
		tiles(fmt.Sprint("one", rows), 1, rows)
		CMPQ(arg("tiles"), Imm(0))
		JNE(LabelRef(fmt.Sprint("rows", rows)))
		VZEROUPPER()
		RET()
	}
}

func ymm(i int) VecPhysical {
	return []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15}[i]
}

func zmm(i int) VecPhysical {
	return []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15,
		Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31}[i]
}
