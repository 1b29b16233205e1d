//go:build !linux

package dataset

func hugePages[T any]([]T) {}
