package wholefile

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// Lines longer than the buffer are read whole, and those longer than a line may be are passed over.
func TestLines_LongerThanTheBufferAreReadWhole(t *testing.T) {
	lines := NewLines(strings.NewReader(strings.Repeat("x", 3<<20) + "\n" + strings.Repeat("y", maxLine+1<<16) +
		"\n\x00\x00z\n" + string(Seal([]byte(`{"a":1}`))) + "\n\x00rest"))
	var got []string
	for {
		wrong, err := lines.Next()
		if err != nil {
			if err != io.EOF || lines.Torn != 4 || lines.Zeros != 3 {
				t.Errorf("torn %d, zeros %d, %v", lines.Torn, lines.Zeros, err)
			}
			break
		}
		got = append(got, fmt.Sprint(min(len(lines.Raw), 3<<20+5), wrong != nil))
		if lines.Sealed {
			got = append(got, string(lines.Object))
		}
	}
	if want := []string{"3145729 false", "3145733 true", "2 false", "28 false", `{"a":1}`}; !slices.Equal(got, want) {
		t.Error(got)
	}
}
