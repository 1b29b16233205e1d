//go:build race

package kernel

// mayAllocate is how many allocations a kernel may make: the race detector drops
// at random what is put into a sync.Pool.
const mayAllocate = 10
