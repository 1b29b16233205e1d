#include "vector_amd64.h"

// BINARY makes a kernel of an instruction on two vectors: dst = x op y.
#define BINARY(name, OP) \
TEXT name(SB), NOSPLIT, $0-32 \
	MOVQ dst+0(FP), DI \
	MOVQ x+8(FP), SI \
	MOVQ y+16(FP), DX \
	MOVQ n+24(FP), CX \
	SUBQ $32, CX \
	JLT  eight \
loop: \
	LOAD4(SI, Y0, Y1, Y2, Y3) \
	OP (DX), Y0, Y0 \
	OP 32(DX), Y1, Y1 \
	OP 64(DX), Y2, Y2 \
	OP 96(DX), Y3, Y3 \
	STORE4(0, DI, Y0, Y1, Y2, Y3) \
	ADDQ $128, SI \
	ADDQ $128, DX \
	ADDQ $128, DI \
	SUBQ $32, CX \
	JGE  loop \
eight: \
	ADDQ $24, CX \
	JLT  rest \
loop8: \
	VMOVUPS (SI), Y0 \
	OP (DX), Y0, Y0 \
	VMOVUPS Y0, (DI) \
	ADDQ $32, SI \
	ADDQ $32, DX \
	ADDQ $32, DI \
	SUBQ $8, CX \
	JGE  loop8 \
rest: \
	ADDQ $8, CX \
	JLE  done \
	TAIL(CX, AX, Y4) \
	VMASKMOVPS (SI), Y4, Y0 \
	VMASKMOVPS (DX), Y4, Y1 \
	OP Y1, Y0, Y0 \
	VMASKMOVPS Y0, Y4, (DI) \
done: \
	VZEROUPPER \
	RET

// func add32(dst, x, y *float32, n int)
BINARY(·add32, VADDPS)

// func sub32(dst, x, y *float32, n int)
BINARY(·sub32, VSUBPS)

// func mul32(dst, x, y *float32, n int)
BINARY(·mul32, VMULPS)

// func div32(dst, x, y *float32, n int)
BINARY(·div32, VDIVPS)

// UNARY makes a kernel of a macro from Y0 to Y, with c in every lane of Y8 and d
// in those of Y9; Y1 to Y3 are scratch.
#define UNARY(name, F, Y) \
TEXT name(SB), NOSPLIT, $0-32 \
	MOVQ dst+0(FP), DI \
	MOVQ x+8(FP), SI \
	MOVQ n+16(FP), CX \
	VBROADCASTSS c+24(FP), Y8 \
	VBROADCASTSS d+28(FP), Y9 \
	SUBQ $8, CX \
	JLT  rest \
loop: \
	VMOVUPS (SI), Y0 \
	F \
	VMOVUPS Y, (DI) \
	ADDQ $32, SI \
	ADDQ $32, DI \
	SUBQ $8, CX \
	JGE  loop \
rest: \
	ADDQ $8, CX \
	JLE  done \
	TAIL(CX, AX, Y4) \
	VMASKMOVPS (SI), Y4, Y0 \
	F \
	VMASKMOVPS Y, Y4, (DI) \
done: \
	VZEROUPPER \
	RET

#define SCALE VMULPS Y8, Y0, Y0
#define AFFINE VMULPS Y8, Y0, Y0; VADDPS Y9, Y0, Y0
#define ATLEAST VMAXPS Y0, Y8, Y0
#define ABOVE VCMPPS $0x1E, Y8, Y0, Y0; VANDPS Y9, Y0, Y0
#define ABS VANDPS absMask<>(SB), Y0, Y0

// func scale32(dst, x *float32, n int, c, d float32)
UNARY(·scale32, SCALE, Y0)

// func affine32(dst, x *float32, n int, c, d float32)
UNARY(·affine32, AFFINE, Y0)

// func atLeast32(dst, x *float32, n int, c, d float32)
UNARY(·atLeast32, ATLEAST, Y0)

// func above32(dst, x *float32, n int, c, d float32)
UNARY(·above32, ABOVE, Y0)

// func abs32(dst, x *float32, n int, c, d float32)
UNARY(·abs32, ABS, Y0)

// func exp32(dst, x *float32, n int, c, d float32)
UNARY(·exp32, EXP(Y0, Y1, Y2, Y3), Y3)

// func across32(dst, x *float32, rows, k int)
TEXT ·across32(SB), NOSPLIT, $0-32
	ROWS
	COLUMNS(Y4)
row:
	VBROADCASTSS (SI), Y0
	ADDQ $4, SI
	MOVQ R9, DX
	SUBQ $8, DX
	JLT  rest
loop:
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	SUBQ $8, DX
	JGE  loop
rest:
	PUT(Y0, Y4, DI)
	LEAQ (DI)(CX*4), DI
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET

// func repeat32(dst, x *float32, rows, k, s, left int)
//
// Writes rows of k elements, each s times, the first one left times.
TEXT ·repeat32(SB), NOSPLIT, $0-48
	ROWS
	MOVQ left+40(FP), R10
	COLUMNS(Y4)
	ANDQ $-8, R9
row:
	VMASKMOVPS (SI)(R9*4), Y4, Y0
	XORQ DX, DX
	CMPQ DX, R9
	JGE  rest
loop:
	VMOVUPS (SI)(DX*4), Y1
	VMOVUPS Y1, (DI)(DX*4)
	ADDQ $8, DX
	CMPQ DX, R9
	JLT  loop
rest:
	LEAQ (DI)(R9*4), DI
	PUT(Y0, Y4, DI)
	LEAQ (DI)(CX*4), DI
	DECQ R10
	JNZ  same
	MOVQ s+32(FP), R10
	LEAQ (SI)(R9*4), SI
	LEAQ (SI)(CX*4), SI
same:
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET

// func sumRows32(dst, x *float32, rows, k int)
//
// Adds rows of k elements to dst, in order.
TEXT ·sumRows32(SB), NOSPLIT, $0-32
	ROWS
	MOVQ R9, R10
	SHLQ $2, R10 // bytes of a row
	SUBQ $8, R9
	JLT  rest
eight:
	VMOVUPS (DI), Y0
	MOVQ SI, DX
	MOVQ R8, CX
loop:
	VADDPS (DX), Y0, Y0
	ADDQ R10, DX
	DECQ CX
	JNZ  loop
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, SI
	SUBQ $8, R9
	JGE  eight
rest:
	ADDQ $8, R9
	JLE  done
	TAIL(R9, AX, Y4)
	VMASKMOVPS (DI), Y4, Y0
loopRest:
	VMASKMOVPS (SI), Y4, Y1
	VADDPS Y1, Y0, Y0
	ADDQ R10, SI
	DECQ R8
	JNZ  loopRest
	VMASKMOVPS Y0, Y4, (DI)
done:
	VZEROUPPER
	RET

// func rowSums32(dst, x *float32, rows, k int)
TEXT ·rowSums32(SB), NOSPLIT, $0-32
	ROWS
	MOVQ R9, CX
	ANDQ $7, CX
	TAIL(CX, AX, Y4)
row:
	VMASKMOVPS (SI), Y4, Y0
	VXORPS Y1, Y1, Y1
	LEAQ (SI)(CX*4), SI
	MOVQ R9, DX
	SUBQ $16, DX
	JLT  eight
loop:
	VADDPS (SI), Y0, Y0
	VADDPS 32(SI), Y1, Y1
	ADDQ $64, SI
	SUBQ $16, DX
	JGE  loop
eight:
	ADDQ $8, DX
	JLT  rest
	VADDPS (SI), Y0, Y0
	ADDQ $32, SI
rest:
	VADDPS Y1, Y0, Y0
	HSUM
	VMOVSS X0, (DI)
	ADDQ $4, DI
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET

// func sum32(x *float32, n int) float64
TEXT ·sum32(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	SUBQ $8, CX
	JLT  rest
loop:
	VCVTPS2PD (SI), Y2
	VCVTPS2PD 16(SI), Y3
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1
	ADDQ $32, SI
	SUBQ $8, CX
	JGE  loop
rest:
	ADDQ $8, CX
	JLE  done
	TAIL(CX, AX, Y4)
	VMASKMOVPS (SI), Y4, Y2
	VEXTRACTF128 $1, Y2, X3
	VCVTPS2PD X2, Y2
	VCVTPS2PD X3, Y3
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1
done:
	VADDPD Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPD X1, X0, X0
	VUNPCKHPD X0, X0, X1
	VADDSD X1, X0, X0
	VMOVSD X0, ret+16(FP)
	VZEROUPPER
	RET

// func finite32(x *float32, n int) bool
TEXT ·finite32(SB), NOSPLIT, $0-17
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	SUBQ $16, CX
	JLT  eight
loop:
	VMOVUPS (SI), Y2
	VMOVUPS 32(SI), Y3
	VSUBPS Y2, Y2, Y2
	VSUBPS Y3, Y3, Y3
	VORPS  Y2, Y0, Y0
	VORPS  Y3, Y1, Y1
	ADDQ $64, SI
	SUBQ $16, CX
	JGE  loop
eight:
	ADDQ $8, CX
	JLT  rest
	VMOVUPS (SI), Y2
	VSUBPS Y2, Y2, Y2
	VORPS  Y2, Y0, Y0
	ADDQ $32, SI
	SUBQ $8, CX
rest:
	ADDQ $8, CX
	JLE  done
	TAIL(CX, AX, Y4)
	VMASKMOVPS (SI), Y4, Y2
	VSUBPS Y2, Y2, Y2
	VORPS  Y2, Y0, Y0
done:
	VORPS Y1, Y0, Y0
	VXORPS Y1, Y1, Y1
	VCMPPS $4, Y1, Y0, Y0 // NaN
	VMOVMSKPS Y0, AX
	TESTL AX, AX
	SETEQ ret+16(FP)
	VZEROUPPER
	RET

// func narrow32(dst *float32, x *float64, n int)
//
// n is a multiple of 8.
TEXT ·narrow32(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
loop:
	VCVTPD2PSY (SI), X0
	VCVTPD2PSY 32(SI), X1
	VMOVUPS X0, (DI)
	VMOVUPS X1, 16(DI)
	ADDQ $64, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JG   loop
	VZEROUPPER
	RET
