package ope_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"opl/train/bench/worlds"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/ope"
)

// Estimators of lists are those of plain loops over slots, and hit the truth where their assumption holds.
func TestListEstimators(t *testing.T) {
	prefer := func(left []int) []float64 { // a Plackett–Luce policy
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
	for _, w := range worlds.Lists() {
		truth, _ := w.Value(20000, 1, func(_ worlds.ListVisit, left []int, _ int) []float64 { return prefer(left) })
		var text bytes.Buffer
		if err := w.Write(&text, 3000, 5); err != nil {
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
			SlotWeights: "dcg"})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		row := func(dst []float64, i int) error {
			left := make([]int, log.Options(i))
			for j := range left {
				a, _ := log.Option(i, j)
				left[j] = int(a)
			}
			copy(dst, prefer(left))
			return nil
		}
		model := func(dst []float64, i int) {
			for j := range dst[:log.Options(i)] {
				a, _ := log.Option(i, j)
				dst[j] = 0.1 + 0.05*float64(a) + 0.03*float64(log.Lists.Slot[i])
			}
		}
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
			product, dr := 1., 0.
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
				dr += alpha[l] / sum * (w[l]*(reward[l]-hat[log.Chosen(i+l)]) + above*direct)
			}
			want["cascade-dr"] += dr / 3000
			for l := range 3 {
				a := alpha[l] / sum
				m := marginal[10*l+int(log.Action[i+l])] * 5 // of random orders
				want["ips"] += a * product * reward[l] / 3000
				want["rips"] += a * w[l] * reward[l] / 3000
				want["iips"] += a * m * reward[l] / 3000
				weights[0], weights[1], weights[2] = weights[0]+a*product/3000, weights[1]+a*w[l]/3000, weights[2]+a*m/3000
			}
		}
		want["snips"], want["snrips"], want["sniips"] = want["ips"]/weights[0], want["rips"]/weights[1], want["iips"]/weights[2]
		seen := 0
		for _, e := range r.Policies[0].Estimates {
			v, ok := want[e.Estimator]
			if !ok || math.Abs(e.Value-v) > 1e-12 && e.Estimator != "iips" && e.Estimator != "sniips" ||
				math.Abs(e.Value-v) > 1e-10 {
				t.Errorf("%s: %s is %v, want %v", w.Name, e.Estimator, e.Value, v)
			}
			seen++
		}
		if seen < 5 || w.Uniform && seen < 7 {
			t.Errorf("%s: %d estimators", w.Name, seen)
		}
		t.Logf("%s: truth by mean weights %.4f, estimates %v", w.Name, truth, want)
	}
}
