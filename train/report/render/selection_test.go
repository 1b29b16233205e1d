package render_test

import (
	"strings"
	"testing"

	"opl/train/ope"
	"opl/train/report/render"
	"opl/train/report/table"
)

// Lower bounds are rounded down where they are printed.
func TestLowerBounds_AreRoundedDown(t *testing.T) {
	value, gain := 0.7678, 0.2928
	var b strings.Builder
	s := ope.Selection{Targets: []ope.Candidate{{Name: "a", AtLeast: &value, GainAtLeast: &gain}}}
	if err := render.Selection(&b, table.Text, s); err != nil || !strings.Contains(b.String(), " 0.767 ") || !strings.Contains(b.String(), " +0.292 ") {
		t.Error(b.String(), err)
	}
}
