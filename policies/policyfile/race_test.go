//go:build race

package policyfile_test

// mayAllocate is how many allocations a hot path may make: the race detector
// drops at random what is put into a sync.Pool.
const mayAllocate = 10
