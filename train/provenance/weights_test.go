package provenance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/provenance"
)

// bySign is the file of a policy that plays a where x0 is positive, b where it is negative.
func bySign(t *testing.T) *policyfile.Policy {
	t.Helper()
	enc, err := features.New(features.Encoder{Names: []string{"x0"}, Scale: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policyfile.New(&policyfile.File{Actions: []string{"a", "b", "c"}, RewardMax: 1,
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.ArgMax, Encoder: enc, Weights: policyfile.Matrix{{1}, {-1}, {0}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Weights that average less than 1 are doubted unless they may be missing by chance: those of rare draws of what the
// policy plays, not of others. A machine and its shards say the same.
func TestAdmits_DoubtsWeightsBelowOne(t *testing.T) {
	const n = 3000
	type draw struct {
		action int
		x      float64
		reward float64
		pi0    [3]float64
	}
	for name, c := range map[string]struct {
		row    func(r *rand.Rand, i int) draw
		all    bool // propensities are known
		doubts bool
	}{
		// x0 tells what came of the row, as if it had taught the policy; the true mean is 0.3. The policy never plays c, which is rare.
		"what taught": {func(r *rand.Rand, i int) draw {
			d := draw{action: r.IntN(2), pi0: [3]float64{.4995, .4995, .001}, x: 1}
			if r.IntN(10) < 3 {
				d.reward = 1
			}
			if (d.action == 0) != (d.reward == 1) {
				d.x = -1
			}
			if i%1000 == 7 {
				d.action = 2
			}
			return d
		}, false, true},
		// b was never drawn where it would have been on average .15 times, or 1.5 times and once elsewhere.
		"rare": {func(r *rand.Rand, i int) draw {
			d := draw{pi0: [3]float64{.9995, .0005, 0}, x: 1, reward: float64(i % 2)}
			if i%10 == 0 {
				d.x = -1
			}
			return d
		}, false, false},
		"rare, logged once": {func(r *rand.Rand, i int) draw {
			d := draw{pi0: [3]float64{.9995, .0005, 0}, x: 1, reward: float64(i % 2)}
			if i%10 == 0 {
				d.x = -1
			}
			if i == 55 {
				d.action = 1
			}
			return d
		}, false, false},
		"rare, all known": {func(r *rand.Rand, i int) draw {
			d := draw{pi0: [3]float64{.9995, .0005, 0}, x: 1, reward: float64(i % 2)}
			if i%10 == 0 {
				d.x = -1
			}
			return d
		}, true, false},
		// b is no rare action, and rows in which the policy plays it are left out.
		"left out": {func(r *rand.Rand, i int) draw {
			d := draw{action: r.IntN(2), pi0: [3]float64{.499, .499, .002}, x: 1, reward: float64(i % 2)}
			if i%2 == 0 {
				d.x = -1
			}
			if d.x < 0 && r.IntN(2) == 0 {
				d.action = 0
			}
			if i%500 == 9 {
				d.action = 2
			}
			return d
		}, false, true},
	} {
		r := rand.New(rand.NewPCG(3, 4))
		var rows []logs.Decision
		for i := range n {
			d := c.row(r, i)
			row := logs.Decision{ID: fmt.Sprint(i), Context: []features.Value{{Name: "x0", Number: d.x * (1 + float64(i)/n)}}, Action: d.action, Cost: -d.reward, Propensity: d.pi0[d.action], Weight: 1}
			if c.all {
				row.Propensities = d.pi0[:]
			}
			rows = append(rows, row)
		}
		p, pool := bySign(t), provenance.Pool{collect(t, rows).Force()}
		for _, anyTime := range []bool{false, true} {
			o := provenance.Options{Fresh: true, AnyTime: anyTime}
			cert, err := pool[0].File(context.Background(), p, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := cert.Statement()
			if got := strings.Contains(want.Contradicted, "weights π/π₀"); got != c.doubts || got && want.Verdict == provenance.Better {
				t.Errorf("%s: %s, %q, want a doubt: %v", name, want.Verdict, want.Contradicted, c.doubts)
			}
			if !anyTime {
				continue
			}
			for _, shares := range []int{1, 3} {
				if got, err := pool[0].Weighed(p, o, shares); err != nil || got == "" == c.doubts {
					t.Errorf("%s, in %d shares: %q, %v", name, shares, got, err)
				}
			}
		}
	}
}
