package simd

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// avx2 says whether the vector kernels are in use.
var avx2 = hasAVX2
