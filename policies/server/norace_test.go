//go:build !race

package server

// mayAllocate is how many allocations a hot path may make: none.
const mayAllocate = 0
