package spelling

import "testing"

func TestDistance_CountsEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "", 3}, {"mnist", "mnits", 2}, {"kitten", "sitting", 3}, {"same", "same", 0}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestSuggest_NamesTheNearestOrNothing(t *testing.T) {
	formats := []string{"table", "markdown", "csv", "json"}
	for name, want := range map[string]string{"yaml": "", "xml": "", "jsno": `: did you mean "json"?`, "tabel": `: did you mean "table"?`, "": ""} {
		t.Run(name, func(t *testing.T) {
			if got := Suggest(name, formats); got != want {
				t.Errorf("Suggest(%q) = %q, want %q", name, got, want)
			}
		})
	}
}
