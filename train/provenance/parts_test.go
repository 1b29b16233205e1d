package provenance_test

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"opl/train/logs"
	"opl/train/provenance"
)

// Parts of shards state what one machine states of all rows, to a part in 10¹².
func TestParts(t *testing.T) {
	const n = 1000
	old := rows{seed: 1, d: 4}.draw(n)
	p := plays(t, old)
	draw := func(seed uint64) []logs.Decision { return rows{seed: seed, d: 4, explore: .2 * float64(seed)}.draw(n) }
	a, b := draw(2), draw(3)
	parts := func(ps provenance.Pool, o provenance.Options, of int) (all []provenance.Part) {
		t.Helper()
		for i := range of {
			part, err := ps.Part(context.Background(), p, o, logs.Shard{Number: i + 1, Of: of})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(part)
			var back provenance.Part
			if err == nil {
				err = json.Unmarshal(text, &back)
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, back)
		}
		return all
	}
	for what, c := range map[string]struct {
		files [][]logs.Decision
		o     provenance.Options
	}{
		"one":            {files: [][]logs.Decision{a}},
		"some taught":    {files: [][]logs.Decision{slices.Concat(old[:300], a)}},
		"several":        {files: [][]logs.Decision{a, b}, o: provenance.Options{Delta: .01, Gamma: 1.1}},
		"groups":         {files: [][]logs.Decision{grouped(a, "a", 7), grouped(b, "b", 5)}},
		"its own log":    {files: [][]logs.Decision{old}},
		"few rows":       {files: [][]logs.Decision{a[:10]}},
		"rows come back": {files: [][]logs.Decision{a, slices.Concat(a[500:], b)}},
	} {
		pool := func() (ps provenance.Pool) {
			for _, d := range c.files {
				ps = append(ps, collect(t, d))
			}
			return ps
		}
		o := c.o
		o.AnyTime = true
		cert, err := pool().File(context.Background(), p, o)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want := cert.Statement()
		for _, of := range []int{1, 3, 16} {
			all := parts(pool(), o, of)
			got, err := provenance.Conclude(append(all, all[of/2]))
			if err != nil {
				t.Fatalf("%s, %d shards: %v", what, of, err)
			}
			alike(t, what, got, want)
			if of > 1 {
				if _, err := provenance.Conclude(all[1:]); err == nil || !strings.Contains(err.Error(), " is missing: run these shards") {
					t.Errorf("without the first: %v", err)
				}
			}
		}
	}

	all, others := parts(provenance.Pool{collect(t, a)}, provenance.Options{}, 3), parts(provenance.Pool{collect(t, b)}, provenance.Options{}, 3)
	for what, c := range map[string]struct {
		change func(p *provenance.Part)
		want   string
	}{
		"log": {func(p *provenance.Part) { *p = others[1] }, "different policies, logs or options"},
		"options": {func(p *provenance.Part) {
			*p = parts(provenance.Pool{collect(t, a)}, provenance.Options{Gamma: 2}, 3)[1]
		}, "different policies, logs or options"},
		"shards":     {func(p *provenance.Part) { p.Shard.Of = 4 }, "another number of shards"},
		"none":       {func(p *provenance.Part) { p.On = nil }, "is none"},
		"rows":       {func(p *provenance.Part) { p.Sums.Rows-- }, "999 rows together, not the 1000"},
		"other sums": {func(p *provenance.Part) { p.Shard.Number = 1 }, "comes twice with different sums"},
		"delta":      {func(p *provenance.Part) { p.Sums.Delta = .5 }, "sums of other bounds"},
		"not a sum":  {func(p *provenance.Part) { p.Sums.Risk[0][0] = math.NaN() }, "no sums of bounds"},
	} {
		var changed []provenance.Part
		text, _ := json.Marshal(all)
		if err := json.Unmarshal(text, &changed); err != nil {
			t.Fatal(err)
		}
		c.change(&changed[1])
		if _, err := provenance.Conclude(changed); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	// What withholds a guarantee of all rows withholds the parts.
	_, err := provenance.Pool{collect(t, old[:400])}.Part(context.Background(), p, provenance.Options{}, logs.Shard{Number: 1, Of: 2})
	withheld(t, "rows that taught", err, "had a part in the policy")
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

// So they do of rows that offer sets of items, with how often the policy is played.
func TestPartsOfItems(t *testing.T) {
	p := suits(t, nil, "")
	for _, all := range []bool{true, false} {
		for _, n := range []int{3000, 60} {
			pool := provenance.Pool{provenance.New(collected(t, visits(n, 5, all))), provenance.New(collected(t, visits(n/2, 6, true)))}
			cert, err := pool.File(context.Background(), p, provenance.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var parts []provenance.Part
			for i := range 5 {
				part, err := pool.Part(context.Background(), p, provenance.Options{}, logs.Shard{Number: i + 1, Of: 5})
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, part)
			}
			got, err := provenance.Conclude(parts)
			if err != nil {
				t.Fatal(err)
			}
			alike(t, "items", got, cert.Statement())
			if got.Plays == 0 {
				t.Error("it is not said how often the policy is played")
			}
		}
	}
}
