package ope_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"opl/testdata/lists"
	"opl/testdata/long"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

// prefer is a Plackett–Luce policy.
func prefer(left []int) []float64 {
	p, sum := make([]float64, len(left)), 0.
	for j, a := range left {
		p[j] = math.Exp(0.5 * float64(a%2))
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return p
}

// listsOf is a log of n lists of a world, under the strongest assumption that its logging allows, that policy on it, and
// a model of its rewards.
func listsOf(t *testing.T, w lists.World, n int, seed uint64, slotWeights string) (*logs.Log, certify.Policy,
	ope.Model) {
	t.Helper()
	var text bytes.Buffer
	if err := w.Write(&text, n, seed); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lists.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	assume := certify.Cascade
	if w.Uniform {
		assume = certify.Independence
	}
	log, err := logs.Open(context.Background(), path, logs.Options{NoCache: true, Assume: string(assume),
		SlotWeights: slotWeights})
	if err != nil {
		t.Fatal(err)
	}
	row := func(dst []float64, i int) error {
		left := make([]int, log.Options(i))
		for j := range left {
			a, _ := log.Option(i, j)
			left[j] = int(a)
		}
		copy(dst, prefer(left))
		return nil
	}
	return log, row, func(dst []float64, i int) {
		for j := range dst[:log.Options(i)] {
			a, _ := log.Option(i, j)
			dst[j] = 0.1 + 0.05*float64(a) + 0.03*float64(log.Lists.Slot[i])
		}
	}
}

// Estimators of lists are those of plain loops over slots, and hit the truth where their assumption holds.
func TestListEstimators_EqualPlainLoops(t *testing.T) {
	for _, w := range lists.All() {
		truth, _ := w.Value(20000, 1, func(_ lists.Visit, left []int, _ int) []float64 { return prefer(left) })
		log, row, model := listsOf(t, w, 3000, 5, "dcg")
		defer log.Close()
		target := ope.Target{Name: "odd", Row: row}
		r, err := ope.Evaluate(log, []ope.Target{target}, ope.Options{EstimatesAlone: true, Model: model})
		if err != nil {
			t.Fatal(err)
		}
		if r.Rows != 3000 {
			t.Errorf("%s: %d rows, want a row a list", w.Name, r.Rows)
		}
		marginal := map[int]float64{} // π(a at l), by l and a: enumerated
		all := []int{0, 1, 2, 3, 4}
		var walk func(left []int, l int, p float64)
		walk = func(left []int, l int, p float64) {
			for j, q := range prefer(left) {
				marginal[10*l+left[j]] += p * q
				if l < 2 {
					rest := append(append([]int{}, left[:j]...), left[j+1:]...)
					walk(rest, l+1, p*q)
				}
			}
		}
		walk(all, 0, 1)
		want, one, hat := map[string]float64{}, make([]float64, 5), make([]float64, 5)
		var weights [3]float64
		alpha := [3]float64{1, 1 / math.Log2(3), 1 / 2.}
		sum := alpha[0] + alpha[1] + alpha[2]
		for i := 0; i < log.Len(); i += 3 {
			var w, reward [3]float64
			product, dr, plain := 1., 0., 0.
			for l := range 3 {
				reward[l] = -log.Cost[i+l]
				k := log.Options(i + l)
				if err := row(one[:k], i+l); err != nil {
					t.Fatal(err)
				}
				model(hat, i+l)
				direct := 0.
				for j := range k {
					direct += one[j] * hat[j]
				}
				above := product
				product *= one[log.Chosen(i+l)] / log.Propensity[i+l]
				w[l] = product
				plain += alpha[l] / sum * direct
				dr += alpha[l] / sum * (w[l]*(reward[l]-hat[log.Chosen(i+l)]) + above*direct)
			}
			want["cascade-dr"] += dr / 3000
			want["direct"] += plain / 3000
			for l := range 3 {
				a := alpha[l] / sum
				m := marginal[10*l+int(log.Action[i+l])] * 5 // of random orders
				want["ips"] += a * product * reward[l] / 3000
				want["rips"] += a * w[l] * reward[l] / 3000
				want["iips"] += a * m * reward[l] / 3000
				weights[0], weights[1], weights[2] = weights[0]+a*product/3000, weights[1]+a*w[l]/3000, weights[2]+a*m/3000
			}
		}
		if w.Uniform {
			pseudoinverse(log, marginal, alpha, want)
		}
		want["snips"], want["snrips"], want["sniips"] = want["ips"]/weights[0], want["rips"]/weights[1], want["iips"]/weights[2]
		seen := 0
		for _, e := range r.Policies[0].Estimates {
			v, ok := want[e.Estimator]
			if !ok || math.Abs(e.Value-v) > 1e-12 && !strings.HasSuffix(e.Estimator, "iips") && !strings.Contains(e.Estimator, "pi") ||
				math.Abs(e.Value-v) > 1e-10 {
				t.Errorf("%s: %s is %v, want %v", w.Name, e.Estimator, e.Value, v)
			}
			seen++
		}
		if seen < 5 || w.Uniform && seen < 10 {
			t.Errorf("%s: %d estimators", w.Name, seen)
		}
		t.Logf("%s: truth by mean weights %.4f, estimates %v", w.Name, truth, want)
	}
}

// The first click counts alone, as it is or by its reciprocal rank, as a plain loop has it; it is no reward of a slot by
// itself, so that independence is refused.
func TestListEstimators_OfFirstClicksRefuseIndependence(t *testing.T) {
	for _, spec := range []string{"first", "rank"} {
		log, row, model := listsOf(t, lists.All()[0], 1000, 6, spec)
		defer log.Close()
		o := ope.Options{EstimatesAlone: true, Model: model}
		targets := []ope.Target{{Name: "odd", Row: row}}
		if _, err := ope.Evaluate(log, targets, o); err == nil || !strings.Contains(err.Error(), "assume cascade") {
			t.Errorf("%s, under independence: %v", spec, err)
		}
		log.Lists.Assume = "cascade"
		r, err := ope.Evaluate(log, targets, o)
		if err != nil {
			t.Fatal(err)
		}
		var ips, rips, weights float64
		one := make([]float64, 5)
		for i := 0; i < log.Len(); i += 3 {
			w, first, reward := 1., 0., 0.
			for l := range 3 {
				if err := row(one[:log.Options(i+l)], i+l); err != nil {
					t.Fatal(err)
				}
				w *= one[log.Chosen(i+l)] / log.Propensity[i+l]
				alpha := 1.
				if spec == "rank" {
					alpha = 1 / float64(l+1)
				}
				weights += alpha * w
				if log.Cost[i+l] < 0 && reward == 0 {
					first, reward = w*alpha, alpha
				}
			}
			ips, rips = ips+w*reward/1000, rips+first/1000
		}
		each := map[string]float64{"first": 3, "rank": 1 + 1./2 + 1./3}[spec] // Σ_l α_l
		for name, want := range map[string]float64{"ips": ips, "rips": rips, "snrips": rips * 1000 * each / weights} {
			if got, ok := estimate(r.Policies[0], name); !ok || math.Abs(got.Value-want) > 1e-12 {
				t.Errorf("%s, %s: %v, want %v", spec, name, got.Value, want)
			}
		}
	}
}

// Where people use lists in two ways, which a column tells, aips takes each list's weights by it, as a plain loop does,
// and hits the truth, which independence of all lists misses; its error is below that of ips.
func TestListEstimators_ByColumn(t *testing.T) {
	worlds, policy := lists.All()[:2], func(v lists.Visit, left []int, _ int) []float64 {
		p, sum := make([]float64, len(left)), 0.
		for j, a := range left {
			p[j] = math.Exp(3 * v.Attraction[a])
			sum += p[j]
		}
		for j := range p {
			p[j] /= sum
		}
		return p
	}
	truth, draws := 0., 6
	errors := map[string][]float64{}
	if many, err := strconv.Atoi(os.Getenv("OPL_LOGS")); err == nil {
		draws = many
	}
	for i := range worlds {
		worlds[i].Uniform = true
		value, _ := worlds[i].Value(4000, 1, policy)
		truth += value / 2
	}
	for seed := range draws {
		var text strings.Builder
		for _, w := range worlds {
			var own bytes.Buffer
			if err := w.Write(&own, 400, uint64(100+seed+1000*len(w.Name))); err != nil {
				t.Fatal(err)
			}
			text.WriteString(strings.ReplaceAll(own.String(), `"context":{`, `"context":{"uses":"`+w.Name+`",`))
		}
		path := filepath.Join(t.TempDir(), "lists.jsonl")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		estimated := func(assume string) ope.Policy {
			log, err := logs.Open(t.Context(), path, logs.Options{NoCache: true, Assume: assume})
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			row := func(dst []float64, i int) error {
				var d logs.Decision
				log.Decision(i, &d)
				var x [2]float64
				left := make([]int, log.Options(i))
				for _, c := range d.Context {
					if c.Name == "x0" || c.Name == "x1" {
						x[c.Name[1]-'0'] = c.Number
					}
				}
				for j := range left {
					a, _ := log.Option(i, j)
					left[j] = int(a)
				}
				copy(dst, policy(lists.Visit{Attraction: worlds[0].Attractions(x[0], x[1])}, left, 0))
				return nil
			}
			r, err := ope.Evaluate(log, []ope.Target{{Name: "best", Row: row}}, ope.Options{EstimatesAlone: true})
			if err != nil {
				t.Fatal(err)
			}
			if seed == 0 && assume != "independence" {
				sum, weights, one := 0., 0., make([]float64, 5)
				for i := 0; i < log.Len(); i += 3 {
					// the marginals of the list, by enumeration
					var x [3]float64
					p, first := 1., make([]float64, 5)
					if err := row(first, i); err != nil {
						t.Fatal(err)
					}
					for l := range 3 {
						if err := row(one[:log.Options(i+l)], i+l); err != nil {
							t.Fatal(err)
						}
						p *= one[log.Chosen(i+l)] / log.Propensity[i+l]
						if x[l] = p; i >= log.Len()/2 {
							continue
						}
						x[l] = 5 * placed(first, int(log.Action[i+l]), l, 1)
					}
					for l, w := range x {
						sum, weights = sum-w*log.Cost[i+l]/3/800, weights+w/3/800
					}
				}
				for name, want := range map[string]float64{"aips": sum, "snaips": sum / weights} {
					if got, ok := estimate(r.Policies[0], name); !ok || got.Biased || math.Abs(got.Value-want) > 1e-12 {
						t.Errorf("%s is %v (biased: %v), want %v", name, got.Value, got.Biased, want)
					}
				}
			}
			return r.Policies[0]
		}
		p := estimated("column:uses")
		for _, name := range []string{"ips", "snips", "aips", "snaips", "snrips"} {
			e, _ := estimate(p, name)
			errors[name] = append(errors[name], e.Value-truth)
		}
		e, _ := estimate(estimated("independence"), "sniips")
		errors["sniips"] = append(errors["sniips"], e.Value-truth)
	}
	bias, spread := map[string]float64{}, map[string]float64{}
	for name, all := range errors {
		bias[name], spread[name] = stat.MeanStdDev(all, nil)
		t.Logf("%-7s truth %.4f, bias %+.4f ± %.4f, standard deviation %.4f, %d logs", name, truth, bias[name],
			spread[name]/math.Sqrt(float64(draws)), spread[name], draws)
	}
	limit := 4 / math.Sqrt(float64(draws))
	if math.Abs(bias["snaips"]) > limit*spread["snaips"] || bias["sniips"] < limit*spread["sniips"] ||
		spread["aips"] > spread["ips"] {
		t.Errorf("bias %v, standard deviations %v", bias, spread)
	}
}

// placed is the probability that a Plackett–Luce policy shows a at slot l, from 0; p are its probabilities in the first.
func placed(p []float64, a, l int, left float64) (sum float64) {
	if l == 0 {
		return p[a] / left
	}
	for b, q := range p {
		if b != a && q > 0 {
			rest := append([]float64{}, p...)
			rest[b] = 0
			sum += q / left * placed(rest, a, l-1, left-q)
		}
	}
	return sum
}

// pseudoinverse adds what the estimators of that name are, from the pseudoinverse of Γ = E₀[1_s 1_sᵀ] itself, of lists of
// three of five that are drawn evenly; marginal is π(a at l) by l and a.
func pseudoinverse(log *logs.Log, marginal map[int]float64, alpha [3]float64, want map[string]float64) {
	gamma := mat.NewDense(15, 15, nil)
	for i := range 15 {
		for j := range 15 {
			switch {
			case i == j:
				gamma.Set(i, j, 1./5)
			case i/5 != j/5 && i%5 != j%5:
				gamma.Set(i, j, 1./20)
			}
		}
	}
	var svd mat.SVD
	svd.Factorize(gamma, mat.SVDThin)
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	weight := make([]float64, 15) // qᵀ Γ⁺
	for k, s := range svd.Values(nil) {
		if s < 1e-9 {
			continue
		}
		q := 0.
		for i := range 15 {
			q += marginal[10*(i/5)+i%5] * v.At(i, k)
		}
		for i := range 15 {
			weight[i] += q / s * u.At(i, k)
		}
	}
	var w, x []float64
	var sum, pi, square, both float64
	for i := 0; i < log.Len(); i += 3 {
		one, r := 0., 0.
		for l := range 3 {
			one += weight[5*l+int(log.Action[i+l])]
			r -= alpha[l] / (alpha[0] + alpha[1] + alpha[2]) * log.Cost[i+l]
		}
		w, x = append(w, one), append(x, one*r)
		sum, pi = sum+one, pi+one*r
	}
	n := float64(len(w))
	for i := range w {
		square, both = square+(w[i]-sum/n)*(w[i]-sum/n), both+(w[i]-sum/n)*(x[i]-pi/n)
	}
	want["pi"], want["snpi"], want["pi-cv"] = pi/n, pi/sum, pi/n-both/square*(sum/n-1)
}

// Slots that have sets of their own, such as a banner and a title, are drawn each by itself: the weight of the
// pseudoinverse is a sum over slots, and marginals are the slots' own propensities.
func TestSlots_WithSetsOfTheirOwnAreDrawnIndependently(t *testing.T) {
	var text, vw strings.Builder
	r := rand.New(rand.NewPCG(1, 1))
	first, second := []float64{0.6, 0.3, 0.1}, []float64{0.2, 0.8}
	var iips, pi, whole float64
	for i := range 400 {
		a, b, x := r.IntN(3), r.IntN(2), [3]float64{r.Float64(), r.Float64(), r.Float64()}
		fmt.Fprintf(&text, `{"slate_id":"s%d","slot":1,"offered":["a0","a1","a2"],"action":"a%d","propensity":%.17g,"reward":%g}`+
			"\n", i, a, 1./3, x[0])
		fmt.Fprintf(&text, `{"slate_id":"s%d","slot":2,"offered":["b0","b1"],"action":"b%d","propensity":0.5,"reward":%g}`+"\n",
			i, b, x[1])
		fmt.Fprintf(&vw, "slates shared %g |\nslates action 0 | a\nslates action 0 | b\nslates action 0 | c\nslates action 1 | d\n"+
			"slates action 1 | e\nslates slot %d:%.17g |\nslates slot %d:0.5 |\n\n", -x[2], a, 1./3, b)
		w1, w2 := first[a]*3, second[b]*2
		iips += (w1*x[0] + w2*x[1]) / 2 / 400
		pi += (w1 + w2 - 1) * (x[0] + x[1]) / 2 / 400
		whole += (w1 + w2 - 1) * x[2] / 400
	}
	for name, c := range map[string]struct {
		text string
		want map[string]float64
	}{
		"slates.jsonl": {text.String(), map[string]float64{"iips": iips, "pi": pi}},
		"slates.vw":    {vw.String(), map[string]float64{"pi": whole}},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := logs.Open(context.Background(), path, logs.Options{NoCache: true, Assume: "independence"})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		target := ope.Target{Name: "odd", Origin: provenance.FixedBefore(), Row: func(dst []float64, i int) error {
			copy(dst, map[int32][]float64{1: first, 2: second}[log.Lists.Slot[i]])
			return nil
		}}
		res, err := ope.Evaluate(log, []ope.Target{target}, ope.Options{Delta: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		p := res.Policies[0]
		if one := log.Lists.Whole; (p.Guarantee == nil) != one || p.Recommended != "" && (p.Recommended == "snpi") != one {
			t.Errorf("%s: guaranteed %v (%s), recommended %s", name, p.Guarantee, p.Uncertified, p.Recommended)
		}
		for _, e := range p.Estimates {
			if v, ok := c.want[e.Estimator]; ok {
				if delete(c.want, e.Estimator); math.Abs(v-e.Value) > 1e-12 {
					t.Errorf("%s: %s: %v, want %v", name, e.Estimator, e.Value, v)
				}
			}
		}
		if len(c.want) > 0 {
			t.Errorf("%s: no %v", name, c.want)
		}
	}
}

// Estimators hit the truth, and intervals cover it, where their assumption holds; the table tells the others' bias, too.
// OPL_LOGS logs of 500 lists of each world, if set; it takes minutes with 200.
func TestLists_CoverWhereTheirAssumptionHolds(t *testing.T) {
	long.Test(t)
	logs, err := strconv.Atoi(os.Getenv("OPL_LOGS"))
	if err != nil {
		logs = 2
	}
	for _, uniform := range []bool{true, false} {
		for _, w := range lists.All() {
			if w.Uniform && !uniform {
				continue
			}
			w.Uniform = uniform
			truth, _ := w.Value(20000, 1, func(_ lists.Visit, left []int, _ int) []float64 { return prefer(left) })
			type told struct {
				bias, square, width float64
				covers, n           int
			}
			sums, names := map[string]*told{}, []string(nil)
			for seed := range logs {
				log, row, model := listsOf(t, w, 500, uint64(1000+seed), "mean")
				r, err := ope.Evaluate(log, []ope.Target{{Name: "odd", Row: row}}, ope.Options{EstimatesAlone: true, Model: model})
				if err != nil {
					t.Fatal(err)
				}
				log.Close()
				for _, e := range r.Policies[0].Estimates {
					s := sums[e.Estimator]
					if s == nil {
						s = &told{}
						sums[e.Estimator], names = s, append(names, e.Estimator)
					}
					d := e.Value - truth
					s.bias, s.square, s.n = s.bias+d, s.square+d*d, s.n+1
					s.width += e.High - e.Low
					if e.Low <= truth && truth <= e.High {
						s.covers++
					}
				}
			}
			for _, name := range names {
				s := sums[name]
				n := float64(s.n)
				bias, se := s.bias/n, math.Sqrt(max(0, s.square/n-s.bias/n*s.bias/n)/n)
				t.Logf("%-12s uniform %-5v %-10s truth %.4f bias %+.4f ± %.4f, sd %.4f, width %.4f, covers %.1f %%", w.Name,
					uniform, name, truth, bias, se, se*math.Sqrt(n), s.width/n, 100*float64(s.covers)/n)
				holds := strings.HasSuffix(name, "ips") && !strings.HasSuffix(name, "rips") && !strings.HasSuffix(name, "iips") ||
					w.Name == "independence" || w.Name == "cascade" && (strings.HasSuffix(name, "rips") || name == "cascade-dr")
				if holds && logs >= 100 && (math.Abs(bias) > 5*se+1e-3 || float64(s.covers) < 0.88*n) {
					t.Errorf("%s: %s has bias %v ± %v and covers %d of %v", w.Name, name, bias, se, s.covers, n)
				}
			}
		}
	}
}
