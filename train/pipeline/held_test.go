package pipeline

import (
	"math"
	"strings"
	"testing"

	"opl/train/logs"
)

// counted are contexts that count how often a row is asked for.
type counted struct {
	logs.Rows64
	asked *int
}

func (c counted) Row64(i int, dst []float64) {
	*c.asked++
	c.Rows64.Row64(i, dst)
}

// A check of held contexts does not read them again where all norms are finite, and does where they are not: a feature that is
// not finite is found, also one that is so in 32 bits alone.
func TestHeld_FindsFeaturesThatAreNotFinite(t *testing.T) {
	for _, c := range []struct {
		v       float64
		rounded bool
		want    string
	}{{v: 1}, {v: 1e200}, {v: math.NaN(), want: "row 3: feature 1 is NaN"}, {v: math.Inf(-1), want: "row 3: feature 1 is -Inf"},
		{v: 1, rounded: true}, {v: 1e100, rounded: true, want: "row 3: feature 1 is +Inf"}} {
		asked := 0
		x := counted{logs.Rows64{Width: 2, Data: []float64{0, 1, 2, 3, 4, c.v, 6, 7}}, &asked}
		h := logs.Hold(x, room)
		l := &logs.Log{Actions: []string{"a", "b"}, Action: []int32{0, 1, 1, 0}, Cost: make([]float64, 4), X: h}
		if c.rounded {
			l.X = single{h.(logs.PlacedContexts)}
		}
		err := l.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.v, err, c.want)
		}
		if c.v == 1 && asked > 0 {
			t.Errorf("%d rows were read again", asked)
		}
	}
}
