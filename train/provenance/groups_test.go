package provenance_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/cespare/xxhash/v2"

	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// in gives rows the groups g_from … g_to−1, in turn.
func in(d []logs.Decision, from, to int) []logs.Decision {
	for i := range d {
		d[i].Group = fmt.Sprint("g", from+i%(to-from))
	}
	return d
}

// A customer who taught a policy comes back in a later log: the rows depend on those that taught,
// and do not certify.
func TestCompare_RefusesGroupsThatReturn(t *testing.T) {
	first := rows{seed: 1, d: 3}.draw(400) // rows 0 to 199 teach: the groups 0 to 9 of 20
	in(first[:200], 0, 10)
	in(first[200:], 10, 20)
	argmax := learned(t, first).File()
	argmax.Components[0].Kind, argmax.Components[0].Sigma, argmax.Components[0].Prior = policyfile.ArgMax, 0, nil
	collect(t, first).Record(argmax, provenance.Made{Seed: 5, Taught: upTo(0, 200), Chosen: upTo(200, 400)})
	p, err := policyfile.New(argmax)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what     string
		p        *policyfile.Policy
		from, to int
		fresh    bool
		refused  int // of 300 rows
	}{
		{"customers who taught and new ones", p, 5, 30, false, 60},
		{"they are others", p, 5, 30, true, 0},
		{"new customers", p, 20, 45, false, 0},
		{"customers who certified it", p, 10, 20, false, 0},
		{"customers who chose a posterior", learned(t, first), 15, 25, false, 150},
		{"those of the prior's file", from(t, in(rows{seed: 3, d: 3}.draw(400), 60, 70), provenance.Made{Seed: 5, Before: p.File()}), 5, 30, false, 60},
	} {
		t.Run(c.what, func(t *testing.T) {
			j := collect(t, in(rows{seed: 2, d: 3}.draw(300), c.from, c.to))
			cert, err := j.File(context.Background(), c.p, provenance.Options{Fresh: c.fresh})
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if s := cert.Statement(); s.Refused != c.refused || (len(s.Notes) > 0) != (c.refused > 0) || (s.Relation == provenance.Fresh) != (c.refused == 0) {
				t.Errorf("%d rows refused, %s, %q; want %d", s.Refused, s.Relation, s.Notes, c.refused)
			}
			whole := func(dst []float64, _ int) error { dst[0], dst[1], dst[2] = 1, 0, 0; return nil }
			_, err = j.Fixed(whole, provenance.FromFile(c.p.File()), upTo(0, 300), certify.Options{})
			if want := c.refused > 0 || c.fresh; (err != nil) != want {
				t.Errorf("%s, as a fixed policy on all rows: %v", c.what, err)
			}
		})
	}
	j := collect(t, in(rows{seed: 2, d: 3}.draw(300), 0, 10))
	_, err = j.File(context.Background(), p, provenance.Options{})
	withheld(t, "all have taught", err, "300 rows are of groups that had a part in the policy")
	j = collect(t, rows{seed: 2, d: 3}.draw(300))
	if _, err := j.File(context.Background(), p, provenance.Options{}); err != nil {
		t.Error(err)
	}
}

// A customer who taught is known again in another spelling, and by the hash of one that a file of an earlier version has.
func TestCompare_KnowsGroupsInOtherSpellings(t *testing.T) {
	spelled := func(seed uint64, group string) []logs.Decision {
		d := in(rows{seed: seed, d: 3}.draw(300), 0, 30)
		for i := range 100 {
			d[i].Group = group
		}
		return d
	}
	for _, c := range []struct {
		taught, back string
		old          bool // the file has the group as it was spelled
		refused      int
	}{
		{"46", "46.0", false, 100}, {"46.00", "46", false, 100}, {"46", " 46", false, 100}, {"46", "046", false, 100}, {"0046", "46", false, 100}, {"0046", "046.0", false, 100},
		{"46", "4.6e1", false, 100}, {"46", "47", false, 0}, {"46", "460", false, 0}, {"0", "000", false, 100},
		{"46.0", "46.0", true, 100}, {"46.0", "46", true, 100}, {"46.00", "46", true, 100}, {"046.0", "046.0", true, 100}, {"46.0", "046", true, 100}, {" 46", " 46", true, 100},
		{"c ", "c ", true, 100}, {"0046", "46", true, 100}, {"46.0", "47.0", true, 0},
	} {
		f := from(t, spelled(1, c.taught), provenance.Made{Seed: 5}).File()
		f.Components[0].Kind, f.Components[0].Sigma, f.Components[0].Prior = policyfile.ArgMax, 0, nil
		collect(t, spelled(1, c.taught)).Record(f, provenance.Made{Seed: 5, Taught: upTo(0, 100), Chosen: upTo(100, 300)})
		if c.old {
			f.History.Groups = policyfile.Hashes{provenance.Hash(5, xxhash.Sum64String(c.taught))}
		}
		p, err := policyfile.New(f)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := collect(t, spelled(2, c.back)).File(t.Context(), p, provenance.Options{})
		if err != nil || cert.Statement().Refused != c.refused {
			t.Errorf("%q taught, %q comes back (an old file: %v): %+v, %v, want %d rows refused", c.taught, c.back, c.old, cert, err, c.refused)
		}
	}
}

// A group counts once at any time, in whatever spelling another file has it.
func TestPool_CountsGroupsOfAllSpellingsOnce(t *testing.T) {
	for _, back := range []string{"46", "46.0", "046", " 46"} {
		var ps []*provenance.Judge
		for k, group := range []string{"46", back} {
			d := in(rows{seed: uint64(k + 1), d: 3}.draw(60), 100*k, 100*k+60)
			for i := range 20 {
				d[i].Group = group
			}
			ps = append(ps, collect(t, d))
		}
		kept, _, err := provenance.Lasting(ps...)
		if err != nil || len(kept[0]) != 60 || len(kept[1]) != 39 {
			t.Errorf("%q: %v, rows %v", back, err, kept)
		}
	}
}

// Two rows that do not certify change what is said of an outcome little: it is learned from the others all the same.
func TestFile_LearnsOutcomesWhereRowsAreRefused(t *testing.T) {
	first := rows{seed: 1, d: 3}.draw(400)
	in(first, 0, 20)
	argmax := learned(t, first).File()
	argmax.Components[0].Kind, argmax.Components[0].Sigma, argmax.Components[0].Prior = policyfile.ArgMax, 0, nil
	collect(t, first).Record(argmax, provenance.Made{Seed: 5, Taught: upTo(0, 400)})
	p, err := policyfile.New(argmax)
	if err != nil {
		t.Fatal(err)
	}
	var bounds [2]float64
	for returned := range bounds {
		d := rows{seed: 2, d: 3}.draw(3000)
		in(d, 100, 3100)
		for i := range 2 * returned {
			d[i].Group = "g0"
		}
		l, err := logs.Collect([]string{"a", "b", "c"}, d)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float64, l.Len())
		for i := range values {
			values[i] = float64(min(1, i%10)) // of no action
		}
		l.Outcomes = []logs.Outcome{{Column: "reward_kept", Values: values, Range: logs.Units{Low: 0, High: 1}}}
		c, err := provenance.New(l).File(t.Context(), p, provenance.Options{Requirements: []provenance.Requirement{{Name: "kept", Limit: -.05}}})
		if err != nil || c.Statement().Refused != 2*returned {
			t.Fatalf("%v, %+v", err, c)
		}
		bounds[returned] = c.Statement().Decision.Outcomes[1].Bound
	}
	if math.Abs(bounds[0]-bounds[1]) > .01 {
		t.Errorf("a change of at least %.3f, of %.3f where two rows are refused", bounds[0], bounds[1])
	}
}
