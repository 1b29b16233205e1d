package render_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"opl/train/explain"
	"opl/train/report/render"
)

// Of many actions the text has those that are played most, and says so.
func TestExplanation_ShowsTheActionsPlayedMost(t *testing.T) {
	e := &explain.Explanation{Rows: 9000, Agreement: .0025}
	for a := range 300 {
		e.Actions = append(e.Actions, explain.Action{Name: fmt.Sprintf("a%03d", a), Policy: float64(a) / 44850, Logging: 1. / 300})
	}
	var text bytes.Buffer
	if err := render.Explanation(&text, e); err != nil {
		t.Fatal(err)
	}
	for want, has := range map[string]bool{"probability 0.0025 on average": true, "the 40 of 300 actions that it plays most": true, "a299": true, "a260": true, "a259": false} {
		if strings.Contains(text.String(), want) != has {
			t.Errorf("%q: want %v in\n%s", want, has, text.String())
		}
	}
}
