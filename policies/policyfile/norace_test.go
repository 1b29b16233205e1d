//go:build !race

package policyfile_test

// mayAllocate is how many allocations a hot path may make: none.
const mayAllocate = 0
