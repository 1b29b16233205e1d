package train

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream returns the random source of one purpose, such as "split" or "noise":
// sources of different purposes are independent, and each depends on the seed
// and its purpose alone.
func Stream(seed uint64, purpose string) *rand.Rand { return rand.New(source(seed, purpose)) }

func source(seed uint64, purpose string) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.NewPCG(seed, h.Sum64())
}
