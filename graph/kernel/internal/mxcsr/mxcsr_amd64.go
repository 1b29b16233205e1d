package mxcsr

func get() uint32

func set(uint32)
