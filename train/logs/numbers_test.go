package logs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

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

// The propensities of all bins and atoms are derived where all numbers have one density, and with the atoms 1 in all.
func TestDerived_AreNumbersDrawnAlike(t *testing.T) {
	const all = "1,.1,\n2,.1,\n3,.1,\n4,.1,\n6,.1,\n7,.1,\n8,.1,\n9,.1,\n"
	const some = "1,.05,\n2,.05,\n3,.05,\n4,.05,\n6,.05,\n7,.05,\n8,.05,\n9,.05,\n"
	atom := strings.Repeat("5,,.5\n", 8)
	for _, c := range []struct {
		name, rows string
		want       []float64 // of the first row
	}{
		{"even", all, []float64{.25, .25, .25, .25}},
		{"even, rounded", strings.ReplaceAll(all, ".1,", ".10004,"), []float64{.25, .25, .25, .25}},
		{"with an atom", some + atom, []float64{.125, .125, .125, .125, .5}},
		{"one has another density", all + "9,.2,\n", nil},
		{"a part of the range is missing", strings.Replace(all, "9,.1,\n", "8.5,.1,\n", 1), nil},
		{"half of the density is missing", some, nil},
		{"an atom that is rare", some + "5,,.5\n", nil},
		{"an atom with two propensities", some + atom + "5,,.4\n", nil},
		{"too dense", strings.ReplaceAll(all, ".1,", ".101,"), nil},
	} {
		path := filepath.Join(t.TempDir(), "l.csv")
		if err := os.WriteFile(path, []byte("action,density,propensity,reward\n"+strings.ReplaceAll(c.rows, "\n", ",1\n")),
			0o600); err != nil {
			t.Fatal(err)
		}
		of := numeric.Even(0, 10, 4)
		l, err := logs.Open(t.Context(), path, logs.Options{Numbers: &of})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if l.Derived() != (c.want != nil) || !floats.EqualApprox(l.Pi0(0), c.want, 1e-12) {
			t.Errorf("%s: %v, want %v", c.name, l.Pi0(0), c.want)
		}
		if err := l.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if finer, err := l.Divided(8); err != nil || finer.LoggedOnly() == l.Derived() {
			t.Errorf("%s: in 8 bins: %v", c.name, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
