#include "textflag.h"

// func get() uint32
TEXT ·get(SB), NOSPLIT, $0-4
	STMXCSR ret+0(FP)
	RET

// func set(uint32)
TEXT ·set(SB), NOSPLIT, $0-4
	LDMXCSR arg+0(FP)
	RET
