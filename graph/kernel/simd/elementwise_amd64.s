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
	VMOVUPS (SI), Y0 \
	VMOVUPS 32(SI), Y1 \
	VMOVUPS 64(SI), Y2 \
	VMOVUPS 96(SI), Y3 \
	OP (DX), Y0, Y0 \
	OP 32(DX), Y1, Y1 \
	OP 64(DX), Y2, Y2 \
	OP 96(DX), Y3, Y3 \
	VMOVUPS Y0, (DI) \
	VMOVUPS Y1, 32(DI) \
	VMOVUPS Y2, 64(DI) \
	VMOVUPS Y3, 96(DI) \
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

// UNARY makes a kernel of a macro from Y0 to Y0, with c in every lane of Y8 and
// d in those of Y9; Y1 is scratch.
#define UNARY(name, F) \
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
	VMOVUPS Y0, (DI) \
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
	VMASKMOVPS Y0, Y4, (DI) \
done: \
	VZEROUPPER \
	RET

#define SCALE VMULPS Y8, Y0, Y0
#define AFFINE VMULPS Y8, Y0, Y0; VADDPS Y9, Y0, Y0
#define ATLEAST VMAXPS Y0, Y8, Y0
#define ABS VANDPS absMask<>(SB), Y0, Y0

// func scale32(dst, x *float32, n int, c, d float32)
UNARY(·scale32, SCALE)

// func affine32(dst, x *float32, n int, c, d float32)
UNARY(·affine32, AFFINE)

// func atLeast32(dst, x *float32, n int, c, d float32)
UNARY(·atLeast32, ATLEAST)

// func abs32(dst, x *float32, n int, c, d float32)
UNARY(·abs32, ABS)

// func fill32(dst *float32, n int, c float32)
TEXT ·fill32(SB), NOSPLIT, $0-20
	MOVQ dst+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS c+16(FP), Y0
	SUBQ $8, CX
	JLT  rest
loop:
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	SUBQ $8, CX
	JGE  loop
rest:
	ADDQ $8, CX
	JLE  done
	TAIL(CX, AX, Y4)
	VMASKMOVPS Y0, Y4, (DI)
done:
	VZEROUPPER
	RET

// func across32(dst, x *float32, rows, k int)
//
// The last columns of a row are stored with what follows them, which the next
// rows overwrite: masked stores are slow.
TEXT ·across32(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ rows+16(FP), R8
	MOVQ k+24(FP), R9
	MOVQ R9, CX
	ANDQ $7, CX
	TAIL(CX, AX, Y4)
	MOVQ R8, R11
	IMULQ R9, R11
	LEAQ -32(DI)(R11*4), R11 // the last place for a vector
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
	CMPQ DI, R11
	JGT  masked
	VMOVUPS Y0, (DI)
	JMP  next
masked:
	VMASKMOVPS Y0, Y4, (DI)
next:
	LEAQ (DI)(CX*4), DI
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET

// func repeat32(dst, x *float32, rows, k, s, left int)
//
// Writes rows of k elements, each s times, the first one left times.
TEXT ·repeat32(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ rows+16(FP), R8
	MOVQ k+24(FP), R9
	MOVQ left+40(FP), R10
	MOVQ R9, CX
	ANDQ $7, CX
	TAIL(CX, AX, Y4)
	MOVQ R8, R11
	IMULQ R9, R11
	LEAQ -32(DI)(R11*4), R11 // the last place for a vector
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
	CMPQ DI, R11
	JGT  masked
	VMOVUPS Y0, (DI)
	JMP  next
masked:
	VMASKMOVPS Y0, Y4, (DI)
next:
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
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ rows+16(FP), R8
	MOVQ k+24(FP), R9
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
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ rows+16(FP), R8
	MOVQ k+24(FP), R9
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
	VEXTRACTF128 $1, Y0, X1
	VADDPS X1, X0, X0
	VMOVHLPS X0, X0, X1
	VADDPS X1, X0, X0
	VMOVSHDUP X0, X1
	VADDSS X1, X0, X0
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
