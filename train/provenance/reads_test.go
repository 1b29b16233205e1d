package provenance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// A policy that is better on a log is doubted by every door where the log has not the columns that it reads, or has names
// where it reads numbers: there it plays another policy than where it is served.
func TestUnread_DoubtsAPolicyWithoutItsColumns(t *testing.T) {
	const n = 2000
	d := rows{seed: 3, d: 4}.draw(n)
	p := plays(t, rows{seed: 1, d: 4}.draw(n))
	change := func(f func(i int, v features.Value) []features.Value) []logs.Decision {
		out := slices.Clone(d)
		for i := range out {
			var x []features.Value
			for _, v := range out[i].Context {
				x = append(x, f(i, v)...)
			}
			out[i].Context = x
		}
		return out
	}
	category := func(i int, v features.Value) []features.Value {
		if v.Name == "x2" {
			v = features.Value{Name: fmt.Sprintf("x2=%d", i%5), Number: 1}
		}
		return []features.Value{v}
	}
	for what, c := range map[string]struct {
		d    []logs.Decision
		want string
	}{
		"all there": {d, ""},
		"one not there": {change(func(_ int, v features.Value) []features.Value {
			if v.Name == "x2" {
				return nil
			}
			return []features.Value{v}
		}), "lacks 1 of the columns that the policy reads: x2"},
		"names for numbers": {change(category), "reads numbers in column x2, and the log has names there, such as x2="},
		"rare names, of which one is not there": {change(func(i int, v features.Value) []features.Value {
			switch {
			case v.Name == "x2":
				return []features.Value{{Name: fmt.Sprint("word", i%97), Number: 1}}
			case v.Name != fmt.Sprint("x", i%9):
				return nil
			}
			return []features.Value{v}
		}), ""},
	} {
		t.Run(what, func(t *testing.T) {
			j := collect(t, c.d)
			says := func(door string, cert *provenance.Certificate, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s, %s: %v", what, door, err)
				}
				s := cert.Statement()
				if c.want == "" && (s.Verdict != provenance.Better || s.Contradicted != "") || c.want != "" && (s.Verdict != provenance.Doubted || !strings.Contains(s.Contradicted, c.want)) {
					t.Errorf("%s, %s: %s, %q, want %q", what, door, s.Verdict, s.Contradicted, c.want)
				}
			}
			cert, err := j.File(context.Background(), p, provenance.Options{})
			says("one look", cert, err)
			cert, err = j.File(context.Background(), p, provenance.Options{AnyTime: true})
			says("any time", cert, err)
			play, err := provenance.Plays(p, collectLog(t, c.d))
			if err != nil {
				t.Fatal(err)
			}
			cert, err = j.Target(play, make([]float64, n), provenance.FromFile(p.File()), certify.Options{})
			says("target", cert, err)
		})
	}
}

// Names that differ by capitals alone, as True in CSV and true in JSON do, are no names that the policy knows.
func TestReads_NamesColumnsThatDifferByCapitals(t *testing.T) {
	for _, c := range []struct{ reads, has, want string }{
		{"x_flag=True x_flag=False", "x_flag=true x_flag=false", "it reads x_flag=True, and the log has x_flag=true"},
		{"x_flag=True x_flag=False", "x_flag=True x_flag=true", ""},
		{"x_day=monday", "x_day=tuesday", ""},
		{"x_day=monday", "x_day=Monday", "it reads x_day=monday, and the log has x_day=Monday"},
		{"x_size=S x_size=XL", "x_size", "reads names in column x_size, and the log has numbers there"},
		{"x_day=monday x_age", "x_day=monday", "lacks 1 of the columns that the policy reads: x_age"},
	} {
		absent, err := provenance.Lacks("contexts", strings.Fields(c.reads), strings.Fields(c.has))
		got := absent
		if err != nil {
			got = err.Error()
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.reads, c.has, got, c.want)
		}
	}
}

// Words that were changed, such as true for yes, are named by their column.
func TestStrange_NamesColumnsWithoutAKnownName(t *testing.T) {
	reads := strings.Fields("age premium=no premium=yes city=Oslo city=Rome shop=1")
	names := strings.Fields("age premium=true premium=false city=Rome city=Lima week=7")
	if got := provenance.Strange(reads, names); !slices.Equal(got, []string{"premium"}) {
		t.Errorf("%q", got)
	}
}

// Columns of which a policy knows names, some of them numbers, are codes; of one that it reads numbers in, too, nothing
// is known, and of what actions are described by both ways to call a column.
func TestCodes_AreNumbersThatAPolicyKnowsAsNames(t *testing.T) {
	f := &policyfile.File{Components: []policyfile.Component{{
		Encoder: &features.Encoder{Names: []string{"x_zip=53111", "x_zip=none", "age", "age=7", "city=Bonn", "shelf", "n=1"}},
		Items:   &features.Items{Encoder: &features.Encoder{Names: []string{"shelf=1", "kind=2", "kind=3", "price", "n"}}},
	}, {Encoder: &features.Encoder{Names: []string{"hour=1"}}}}}
	if got, want := provenance.Codes(f), []string{"hour", "kind", "x_zip", "z_kind", "z_shelf"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Of texts among numbers those that a policy knows are told apart from those that it takes for missing values.
func TestTexts_AreThoseThatAPolicyDoesNotKnow(t *testing.T) {
	f := &policyfile.File{Components: []policyfile.Component{{Encoder: &features.Encoder{Names: []string{"age", "age=none", "city=Bonn"}}}}}
	row := func(v features.Value) logs.Decision {
		return logs.Decision{Action: 1, Propensity: .5, Cost: -1, Context: []features.Value{v}}
	}
	known := []logs.Decision{row(features.Value{Name: "age", Number: 3}), row(features.Value{Name: "age=none", Number: 1}), row(features.Value{Name: "city=Ulm", Number: 1})}
	for want, d := range map[string][]logs.Decision{
		"": known,
		`column age: the policy reads numbers, and 2 rows have texts, such as "7", which count as missing`: append(known,
			row(features.Value{Name: "age=7", Number: 1}), row(features.Value{Name: "age=7", Number: 1})),
	} {
		log, err := logs.Collect([]string{"a", "b"}, d)
		if err != nil {
			t.Fatal(err)
		}
		if got := provenance.Texts(f, log); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
