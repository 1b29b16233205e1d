package render_test

import (
	"bytes"
	"errors"
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

// Segments of few rows have no interval, and none of them is named as the one that gains the least.
func TestExplanation_NamesTheWorstSegmentOfManyRows(t *testing.T) {
	e := &explain.Explanation{Rows: 500, Segments: []explain.Segment{{Column: "seg", Name: "rare", Rows: 2, Gain: -.5},
		{Column: "seg", Name: "large", Rows: 300, Gain: .1, SE: new(.02)}, {Column: "seg", Name: "worse", Rows: 198, Gain: .05, SE: new(.02)}}}
	for _, c := range []struct {
		of          []explain.Segment
		brief, long string
	}{
		{e.Segments, "3, of which seg worse gains the least: +0.050 ± 0.039", "-0.5, too few rows for an interval"},
		{e.Segments[:1], "1, each of too few rows for an interval", "-0.5, too few rows for an interval"},
	} {
		e.Segments = c.of
		var brief, long bytes.Buffer
		if err := errors.Join(render.BriefExplanation(&brief, e), render.Explanation(&long, e)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(brief.String(), c.brief) || !strings.Contains(long.String(), c.long) {
			t.Errorf("%s\n%s", brief.String(), long.String())
		}
		render.ExplanationPage(e)
	}
}
