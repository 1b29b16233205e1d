package mxcsr

import (
	"runtime"
	"testing"
)

var sink float32

func TestSubnormal_ReportsOperandsAndResults(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	least, tenth, tiny := float32(0x1p-126), float32(.1), float32(0x1p-140)
	for i, c := range []struct {
		f               func()
		operand, result bool
	}{
		{func() { sink = least * 2 }, false, false},
		{func() { sink = least * tenth }, false, true},
		{func() { sink = tiny + 1 }, true, false},
		{func() { sink = tiny * tenth }, true, true},
		{func() { sink = least * least }, false, true}, // 0
	} {
		operand, result := Subnormal(c.f)
		if operand != c.operand || result != c.result {
			t.Errorf("case %d: operand %v, result %v, want %v and %v", i, operand, result, c.operand, c.result)
		}
	}
}
