package cli

import (
	"bytes"
	"fmt"
	"testing"
)

// Settings of libraries are printed as flags; what is no flag stays.
func TestFlagText(t *testing.T) {
	var b bytes.Buffer
	w := flagWriter{&b, flagText{"reward-max": true, "actions": true}}
	for text, want := range map[string]string{
		"see setting reward-max 2, setting actions: x": "see --reward-max 2, --actions: x",
		"give setting\n      reward-max here":          "give\n      --reward-max here",
		"setting up, resetting actions":                "setting up, resetting actions",
	} {
		b.Reset()
		if n, err := fmt.Fprint(w, text); err != nil || n != len(text) || b.String() != want {
			t.Errorf("%q, %d, %v, want %q", b.String(), n, err, want)
		}
	}
}
