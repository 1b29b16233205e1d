package server

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"opl/policies/features"
	"opl/policies/policyfile"
)

// A list has for each slot the propensity that the policy has among what the slots above left, in the context of the
// slot; and lists are drawn by these: counts of all lists of two slots agree.
func TestLists_HaveThePropensityOfEachSlot(t *testing.T) {
	for parts, of := range []string{"softmax", "argmax", "mixture"} {
		t.Run("of a "+of+" policy that reads no slot", func(t *testing.T) { testLists(t, false, parts) })
		t.Run("of a "+of+" policy that reads the slot", func(t *testing.T) { testLists(t, true, parts) })
	}
}

// knows makes a policy one that reads the first slot, or does not, and a mixture of so many argmax policies; 0: a softmax.
func knows(t testing.TB, reads bool, parts int) func(f *policyfile.File) {
	return func(f *policyfile.File) {
		e, err := features.New(features.Encoder{Names: []string{"f0", "f1", map[bool]string{false: "f2", true: "slot=1"}[reads],
			"f3"}, Scale: []float64{1, 1, 1, 1}, Intercept: true})
		if err != nil {
			t.Fatal(err)
		}
		c := &f.Components[0]
		c.Encoder = e
		for j := range c.Weights {
			c.Weights[j] = append(c.Weights[j], math.Sin(float64(3*j)), math.Cos(float64(5*j)))
			for len(c.Weights[j]) < e.Dim() {
				c.Weights[j] = append(c.Weights[j], 0.5)
			}
			c.Weights[j] = c.Weights[j][:e.Dim()]
		}
		f.Floor = 0.1
		for m := range parts {
			one := *c
			one.Kind, one.Weight, one.Weights = policyfile.ArgMax, 1/float64(parts), nil
			if parts == 2 {
				one.Weight = []float64{.3, .7}[m]
			}
			for j := range c.Weights {
				one.Weights = append(one.Weights, slices.Clone(c.Weights[(j+m)%len(c.Weights)]))
			}
			f.Components = append(f.Components, one)
		}
		if parts > 0 {
			f.Components = f.Components[1:]
		}
	}
}

func testLists(t *testing.T, reads bool, parts int) {
	p := shopPolicy(t, 4, knows(t, reads, parts))
	s, _ := testServer(t, p, Config{})
	type list struct {
		ID    string    `json:"decision_id"`
		Slots []string  `json:"slots"`
		P     []float64 `json:"slot_propensities"`
		Hash  string    `json:"policy_hash"`
	}
	offered := func(names []string) (all []features.Offer) {
		for _, name := range names {
			all = append(all, features.Offer{Action: name})
		}
		return all
	}
	joint := func(f0 float64, got list) float64 { // of the list, whose propensities it checks
		left, joint := slices.Clone(p.Actions()), 1.
		for l, name := range got.Slots {
			dst := make([]float64, len(left))
			x := []features.Value{{Name: "f0", Number: f0}, {Name: "f1", Number: -0.8},
				{Name: fmt.Sprint("slot=", l+1), Number: 1}}
			if err := p.PropensitiesOffered(dst, x, offered(left)); err != nil {
				t.Fatal(err)
			}
			at := slices.Index(left, name)
			if joint *= dst[at]; !(math.Abs(dst[at]-got.P[l]) <= 1e-12) || parts > 0 && dst[at] != got.P[l] {
				t.Fatalf("list %v, slot %d: propensity %v, want %v", got.Slots, l+1, got.P[l], dst[at])
			}
			left = slices.Delete(left, at, at+1)
		}
		return joint
	}
	ask := func(f0 float64, slots int) (got list) {
		w := do(s, "POST", "/decide", fmt.Sprintf(`{"context":{"f0":%v,"f1":-0.8},"slots":%d}`, f0, slots))
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Slots) != slots || len(got.P) != slots {
			t.Fatalf("%s: %v", w.Body, err)
		}
		return got
	}
	const draws = 4000
	count, want := map[string]float64{}, map[string]float64{}
	for range draws {
		got := ask(0.3, 2)
		key := fmt.Sprint(got.Slots)
		if count[key]++; want[key] == 0 {
			want[key] = joint(0.3, got)
		}
	}
	for _, f0 := range []float64{-100, -20, 3, 30, 300} { // where one action has nearly all of the weight
		for range 20 {
			joint(f0, ask(f0, 4))
		}
	}
	sum, chi := 0., 0.
	for key, p := range want {
		sum += p
		chi += (count[key] - draws*p) * (count[key] - draws*p) / (draws * p)
	}
	if math.Abs(sum-1) > 0.01 || chi > 40 { // 11 degrees of freedom
		t.Errorf("lists of probability %v were drawn, χ² = %v", sum, chi)
	}
	for body, wrong := range map[string]string{
		`{"context":{"f0":1},"slots":5}`:                        "slots: 5, of 4 actions",
		`{"context":{"f0":1},"slots":0}`:                        "slots: want a number of slots, 1 to 50, once",
		`{"context":{"f0":1},"slots":2,"top":2}`:                "leave out top",
		`{"context":{"f0":1},"slots":2,"slots":2}`:              "once",
		`{"context":{"f0":1}}`:                                  "could not be read as one",
		`{"context":{"f0":1},"slots":1,"offered":["i\"1"]}`:     "could not be read as one",
		`{"context":{"f0":1},"slots":2,"actions":[{"id":"x"}]}`: "slots: 2, of 1 actions",
	} {
		if w := do(s, "POST", "/decide", body); w.Code != 400 || !strings.Contains(w.Body.String(), wrong) {
			t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, wrong)
		}
	}
	for _, own := range []string{`"slot":"1"`, `"slot":1`, `"slot":"top"`, `"slot=1":1`} {
		own = `{"context":{"f0":1,` + own + `},"slots":2}`
		if w := do(s, "POST", "/decide", own); w.Code != 400 || !strings.Contains(w.Body.String(), "context.slot") {
			t.Errorf("%s: %d %s", own, w.Code, w.Body)
		}
	}
	// of the context alone, wherever it stands
	action := `"actions":[{"id":"a","price":1,"size":2},{"id":"b","price":2,"size":1}],"slots":2`
	other, _ := testServer(t, p, Config{})
	for _, ok := range []string{`{"context":{"f0":1,"note":",\"slot\":"},` + action + "}", `{` + action + `,"context":{"f0":1}}`} {
		if w := do(other, "POST", "/decide", ok); w.Code != 200 {
			t.Errorf("%s: %d %s", ok, w.Code, w.Body)
		}
	}
	// who asks again gets the same list
	again := `{"context":{"f0":0.3},"decision_id":"mine","slots":3}`
	first := do(s, "POST", "/decide", again).Body.String()
	if second := do(s, "POST", "/decide", again).Body.String(); second != first {
		t.Errorf("%s, then %s", first, second)
	}
}

// A list of ten slots among 100,000 items is answered well within the time of a request, by a policy that reads no
// slot, and by one that reads each.
func BenchmarkList(b *testing.B) {
	for name, names := range map[string][]string{"alike": {"x"}, "slots": slotNames(10)} {
		b.Run(name, func(b *testing.B) {
			p := shopPolicy(b, 100_000, func(f *policyfile.File) {
				c := &f.Components[0]
				for i, name := range names {
					c.Encoder.Names = append(c.Encoder.Names, name)
					c.Encoder.Scale = append(c.Encoder.Scale, 1)
					for j := range c.Weights {
						c.Weights[j] = append(c.Weights[j], math.Sin(float64(i+3*j)))
					}
				}
				e, err := features.New(features.Encoder{Names: c.Encoder.Names, Scale: c.Encoder.Scale, Intercept: true})
				if err != nil {
					b.Fatal(err)
				}
				c.Encoder = e
			})
			s, _ := testServer(b, p, Config{})
			var all []time.Duration
			for b.Loop() {
				at := time.Now()
				if w := do(s, "POST", "/decide", `{"context":{"x_0":0.3,"x_1":-0.8},"slots":10}`); w.Code != 200 {
					b.Fatal(w.Body)
				}
				all = append(all, time.Since(at))
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), "µs-median")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "µs-p99")
		})
	}
}

func slotNames(n int) (names []string) {
	for l := range n {
		names = append(names, fmt.Sprint("slot=", l+1))
	}
	return names
}
