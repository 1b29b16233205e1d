//go:build !amd64

package mxcsr

func get() uint32 { return 0 }

func set(uint32) {}
