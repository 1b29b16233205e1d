//go:build !race

package kernel

// mayAllocate is how many allocations a kernel may make: none.
const mayAllocate = 0
