package provenance_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/provenance"
)

// byFiles are the parts of shards, each of which has read one of the files alone.
func byFiles(t *testing.T, p *policyfile.Policy, o provenance.Options, files ...[]logs.Decision) (parts []provenance.Partial, err error) {
	t.Helper()
	for i, d := range files {
		l := collectLog(t, d)
		l.FilesHash = "the files"
		j, err := provenance.OfShard(l, o.Gamma, logs.Shard{Number: i + 1, Of: len(files)})
		if err != nil {
			return nil, err
		}
		part, err := j.Partial(context.Background(), p, o)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(part)
		var back provenance.Partial
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, back)
	}
	return parts, nil
}

// concluded is what they state.
func concluded(t *testing.T, p *policyfile.Policy, o provenance.Options, files ...[]logs.Decision) (provenance.Statement, error) {
	t.Helper()
	parts, err := byFiles(t, p, o, files...)
	if err != nil {
		return provenance.Statement{}, err
	}
	return provenance.Conclude(append(parts, parts[len(parts)/2]))
}

// Shards that read their own files alone state what one machine states of all of them as one log.
func TestConclude_SaysWhatOneMachineSays(t *testing.T) {
	const n = 1000
	old := rows{seed: 1, d: 4}.draw(n)
	p := plays(t, old)
	a, b, c := rows{seed: 2, d: 4}.draw(n), rows{seed: 3, d: 4}.draw(n), rows{seed: 4, d: 4}.draw(n/2)
	odd := func(d []logs.Decision) []logs.Decision { // a group that comes back, and one at the end of the file
		d = slices.Clone(d)
		for _, i := range []int{3, 4, 9, len(d) - 2, len(d) - 1} {
			d[i].Group = fmt.Sprint(d[i].ID, i/5)
		}
		d[3].Group, d[4].Group = d[9].Group, d[9].Group
		return d
	}
	alone := func(d []logs.Decision) []logs.Decision {
		d = slices.Clone(d)
		for i := range d {
			d[i].Propensities = nil
		}
		return d
	}
	unpaid := slices.Clone(c[:20])
	for i := range unpaid {
		unpaid[i].Cost = 0
	}
	for what, x := range map[string]struct {
		files [][]logs.Decision
		o     provenance.Options
	}{
		"three":             {files: [][]logs.Decision{a, b, c}},
		"some taught":       {files: [][]logs.Decision{slices.Concat(old[:300], a), b}, o: provenance.Options{Delta: .01, Gamma: 1.1}},
		"a file taught":     {files: [][]logs.Decision{old, a, b}},
		"groups":            {files: [][]logs.Decision{grouped(a, "a", 7), grouped(b, "b", 5), grouped(c, "c", 3)}},
		"groups at ends":    {files: [][]logs.Decision{odd(a), odd(b), odd(c)}},
		"logged alone":      {files: [][]logs.Decision{alone(a), alone(b), alone(c)}},
		"no rewards in one": {files: [][]logs.Decision{a, unpaid, b}},
		"a row comes back":  {files: [][]logs.Decision{slices.Concat(a, a[10:12]), b}},
	} {
		t.Run(what, func(t *testing.T) {
			x.o.AnyTime = true
			cert, err := collect(t, slices.Concat(x.files...)).File(context.Background(), p, x.o)
			if err != nil {
				t.Fatalf("%v", err)
			}
			want := cert.Statement()
			got, err := concluded(t, p, x.o, x.files...)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if (len(got.Notes) == 0) != (len(want.Notes) == 0) || (len(got.Doubts) == 0) != (len(want.Doubts) == 0) {
				t.Errorf("notes %q, doubts %q, want %q and %q", got.Notes, got.Doubts, want.Notes, want.Doubts)
			}
			on := *got.Circumstances
			on.Notes, on.Doubts, on.DataHash = want.Notes, want.Doubts, want.DataHash
			got.Circumstances = &on
			alike(t, what, got, want)
		})
	}
}

// What no shard sees is refused of all of them.
func TestConclude_RefusesWhatNoShardSees(t *testing.T) {
	const n = 1000
	old := rows{seed: 1, d: 4}.draw(n)
	p := plays(t, old)
	a, b, c := rows{seed: 2, d: 4}.draw(n), rows{seed: 3, d: 4}.draw(n), rows{seed: 4, d: 4}.draw(n)
	with := func(d []logs.Decision, change func(d []logs.Decision)) []logs.Decision {
		d = slices.Clone(d)
		change(d)
		return d
	}
	parents := rows{seed: 9, d: 4}.draw(n)
	weighing := func(d []logs.Decision, w float64) []logs.Decision {
		return with(d, func(d []logs.Decision) {
			for i := range d {
				d[i].Weight = w
			}
		})
	}
	moved := func(d []logs.Decision) []logs.Decision { // to other contexts
		for i := range d {
			d[i].Context = b[i].Context
			d[i].Context = append(slices.Clone(d[i].Context[:3]), c[i].Context[3])
		}
		return d
	}
	cut := func(d []logs.Decision, n int) (files [][]logs.Decision) {
		for len(d) > 0 {
			files, d = append(files, d[:min(n, len(d))]), d[min(n, len(d)):]
		}
		return files
	}
	mixed := copied(a, "")
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	rounded := func(seed uint64, n int) []logs.Decision {
		return with(rows{seed: seed, d: 4}.draw(n), func(d []logs.Decision) {
			r := rand.New(rand.NewPCG(seed, 9))
			for i := range d {
				k := r.IntN(3)
				d[i].Action, d[i].Propensity, d[i].Propensities = k, .33, nil
				if i%2 == 0 {
					d[i].Propensity = 1. / 3
				}
			}
		})
	}
	for what, x := range map[string]struct {
		files [][]logs.Decision
		o     provenance.Options
		p     *policyfile.Policy
		want  string
	}{
		"an id in two":            {files: [][]logs.Decision{a, with(b, func(d []logs.Decision) { d[5].ID = a[7].ID })}, want: "1 decision ids have rows in files of several shards, as of 1/2 and 2/2"},
		"a group in two":          {files: [][]logs.Decision{grouped(a, "g", 400), grouped(b, "g", 400)}, want: "3 groups have rows in files of several shards"},
		"a copy, new ids":         {files: [][]logs.Decision{a, b, copied(a, "")}, want: "rows written twice: of 1000 pairs of rows of one context 1000 take the same action"},
		"part of a copy, new ids": {files: [][]logs.Decision{a, slices.Concat(b[:500], moved(copied(a[300:460], "")), b[500:])}, want: "rows written again"},
		"a shuffled copy":         {files: [][]logs.Decision{a, b, mixed}, want: "rows written twice"},
		"no ids":                  {files: [][]logs.Decision{bare(a), bare(b)}, want: "by decision_id alone, and the log has none"},
		"fresh":                   {files: [][]logs.Decision{a, b}, o: provenance.Options{Fresh: true}, want: "setting fresh is about"},
		"weights":                 {files: [][]logs.Decision{weighing(a, 2), weighing(b, 3)}, want: "rows of shards 1/2 and 2/2 have different weights"},
		"columns":                 {files: [][]logs.Decision{a, weighing(b, 3)}, want: "have other columns"},
		"ancestors":               {files: [][]logs.Decision{slices.Concat(parents[:20], a), b}, p: learned(t, old, learned(t, parents)), want: "20 rows of these files taught a policy that logged what this policy was learned from"},
		"ids that were changed":   {files: cut(copied(old[:500], ""), 8), want: "in this log under other decision ids: their ids were changed, and may not certify: what they are known by agrees in all shards"},
		"all of them":             {files: cut(old[:500], 100), want: "none is left to certify it"},
		"rounded":                 {files: cut(rounded(5, 6000), 600), want: "run all shards with setting propensity-error 1.01"},
		"wrong in one": {files: [][]logs.Decision{a, b, with(c, func(d []logs.Decision) {
			for i := range d {
				d[i].Propensity, d[i].Propensities = d[i].Propensity/2, nil
			}
		})}, want: ""},
	} {
		x.o.AnyTime = true
		_, err := concluded(t, cmp.Or(x.p, p), x.o, x.files...)
		if x.want == "" {
			if err == nil {
				t.Errorf("%s: certified", what)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", what, err, x.want)
		}
	}
	// So are parts that do not go together, and a shard by rows among those by files.
	o := provenance.Options{AnyTime: true}
	all, err := byFiles(t, p, o, a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	wider, err := byFiles(t, p, provenance.Options{AnyTime: true, Gamma: 2}, a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	others, err := byFiles(t, p, o, b, with(c, func(d []logs.Decision) { d[0].ID = "x" }), a)
	if err != nil {
		t.Fatal(err)
	}
	for want, parts := range map[string][]provenance.Partial{
		"2/3 is missing: run these shards":     {all[0], all[2]},
		"different policies, logs or options":  {all[0], wider[1], all[2]},
		"comes twice with different sums":      {all[0], all[1], others[1], all[2]},
		"1000 decision ids have rows in files": {all[0], others[0], all[1], others[2]},
	} {
		parts := slices.Clone(parts)
		if strings.HasPrefix(want, "1000") {
			parts = []provenance.Partial{all[0], all[1], others[2]} // the first file has become the last
		}
		if _, err := provenance.Conclude(parts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for what, c := range map[string]struct {
		change func(p *provenance.Partial)
		want   string
	}{
		"shards":    {func(p *provenance.Partial) { p.Shard.Of = 4 }, "another number of shards"},
		"none":      {func(p *provenance.Partial) { p.On = nil }, "is none"},
		"rows":      {func(p *provenance.Partial) { p.Sums.Rows-- }, "2999 rows together, not the 3000"},
		"delta":     {func(p *provenance.Partial) { p.Sums.Delta = .5 }, "sums of other bounds"},
		"not a sum": {func(p *provenance.Partial) { p.Sums.Risk[0][0] = math.NaN() }, "no sums of bounds"},
	} {
		changed := slices.Clone(all)
		text, _ := json.Marshal(all[1])
		if changed[1] = (provenance.Partial{}); json.Unmarshal(text, &changed[1]) != nil {
			t.Fatal(what)
		}
		c.change(&changed[1])
		if _, err := provenance.Conclude(changed); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	if _, err := provenance.OfShard(collectLog(t, a), 1, logs.Shard{Number: 1, Of: 2}); err == nil {
		t.Error("a log that was read whole is a shard's share")
	}
	var w *provenance.Withheld
	if _, err := concluded(t, p, provenance.Options{AnyTime: true}, a, with(b, func(d []logs.Decision) { d[0].ID = a[0].ID })); !errors.As(err, &w) {
		t.Error(err)
	}
}

// alike compares statements, numbers to a part in 10¹².
func alike(t *testing.T, what string, got, want provenance.Statement) {
	t.Helper()
	var walk func(path string, x, y reflect.Value)
	walk = func(path string, x, y reflect.Value) {
		switch x.Kind() {
		case reflect.Float64:
			if a, b := x.Float(), y.Float(); !(math.Abs(a-b) <= 1e-12*max(1, math.Abs(b))) {
				t.Errorf("%s: %s is %v, want %v", what, path, a, b)
			}
		case reflect.Pointer:
			if x.IsNil() != y.IsNil() {
				t.Errorf("%s: one of %s is nil", what, path)
			} else if !x.IsNil() {
				walk(path, x.Elem(), y.Elem())
			}
		case reflect.Struct:
			for i := range x.NumField() {
				walk(path+"."+x.Type().Field(i).Name, x.Field(i), y.Field(i))
			}
		case reflect.Slice:
			if x.Len() != y.Len() {
				t.Errorf("%s: %s has %d entries, want %d", what, path, x.Len(), y.Len())
				return
			}
			for i := range x.Len() {
				walk(path, x.Index(i), y.Index(i))
			}
		default:
			if !x.Equal(y) {
				t.Errorf("%s: %s is %v, want %v", what, path, x, y)
			}
		}
	}
	walk("", reflect.ValueOf(got), reflect.ValueOf(want))
}
