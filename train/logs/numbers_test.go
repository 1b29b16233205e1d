package logs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opl/policies/numeric"
	"opl/train/logs"
)

// The propensities of all bins are known where all numbers were drawn evenly from the whole range, and nowhere else.
func TestNumbers_KnowAllBinsOnlyIfDrawnEvenly(t *testing.T) {
	const even, part, bare = "3,.1,,uniform 0 10\n", "3,.2,,uniform 0 5\n", "3,.1,,\n"
	for _, c := range []struct {
		name, rows, policy string
		known              bool
		wrong              string
	}{
		{"even", even + "8,.1,,uniform 0 10\n", "", true, ""},
		{"a part of the range", even + part, "", false, ""},
		{"another family", even + "5,.16718,,truncated 5 2.5 0 10\n", "", false, ""},
		{"no family", even + bare, "", false, ""},
		{"said", bare + bare, "uniform", true, ""},
		{"said of others", bare + "3,.2,,\n", "uniform", false, "row 2, column density: 0.2 was logged, the uniform policy"},
		{"said beside an atom", bare + "5,,.5,\n", "uniform", false, "row 2, column density: 0 was logged, the uniform policy"},
		{"an atom", even + "5,,.5,\n", "", false, ""},
	} {
		path := filepath.Join(t.TempDir(), "l.csv")
		if err := os.WriteFile(path, []byte("action,density,propensity,density_family,reward\n"+strings.ReplaceAll(c.rows, "\n", ",1\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		of := numeric.Even(0, 10, 4)
		l, err := logs.Open(t.Context(), path, logs.Options{Numbers: &of, LoggingPolicy: c.policy})
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %s", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if l.LoggedOnly() == c.known {
			t.Errorf("%s: logged propensities only: %v", c.name, l.LoggedOnly())
		}
		if finer, err := l.Divided(8); err != nil || finer.LoggedOnly() == c.known {
			t.Errorf("%s: in 8 bins: %v", c.name, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
