//go:build !amd64

// The kernels are never called here. Builds without optimization link them all the same.

#include "textflag.h"

#define NONE(a, b, c, d, e) \
TEXT a(SB), NOSPLIT, $0 \
	UNDEF \
TEXT b(SB), NOSPLIT, $0 \
	UNDEF \
TEXT c(SB), NOSPLIT, $0 \
	UNDEF \
TEXT d(SB), NOSPLIT, $0 \
	UNDEF \
TEXT e(SB), NOSPLIT, $0 \
	UNDEF

NONE(·add32, ·sub32, ·mul32, ·div32, ·scale32)
NONE(·affine32, ·atLeast32, ·abs32, ·exp32, ·across32)
NONE(·rowSums32, ·sum32, ·finite32, ·repeat32, ·sumRows32)
NONE(·narrow32, ·softmax32, ·softmaxGrad32, ·adam32, ·normal32)
NONE(·strataKeys, ·sortLanes, ·strataPoints, ·scramble32, ·compress32)
NONE(·hazards32, ·dots32, ·pulls32, ·gemm6x16, ·spmm16)
NONE(·hazards64, ·dots64, ·pulls64, ·transpose8, ·spmm64)

TEXT ·above32(SB), NOSPLIT, $0
	UNDEF
TEXT ·columnMax32(SB), NOSPLIT, $0
	UNDEF
TEXT ·columnExp32(SB), NOSPLIT, $0
	UNDEF
TEXT ·axpy32(SB), NOSPLIT, $0
	UNDEF
TEXT ·products32(SB), NOSPLIT, $0
	UNDEF
