package train

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream returns the random source of one purpose, such as "split" or "noise":
// sources of different purposes are independent, and each depends on the seed
// and its purpose alone.
func Stream(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
