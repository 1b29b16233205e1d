package features

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestNumber_IsWhatEncodeGives(t *testing.T) {
	e, err := New(Encoder{Names: []string{"a", "b", "c"}, Scale: []float64{1, .37, 1e-3}, Center: []float64{0, 4.1, -2},
		Width: []float64{0, 2.5, 0}, Impute: true, Missing: []string{"c"}})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := New(Encoder{Names: []string{"a"}, Scale: []float64{2}, Center: []float64{3}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		x, got := []Value{}, make([]float64, e.Dim())
		want := [3]float64{}
		for j, name := range e.Names {
			v := math.NaN()
			if r.IntN(4) > 0 {
				v = r.NormFloat64() * math.Pow(10, float64(r.IntN(7)-3))
				x = append(x, Value{name, v})
			}
			want[j] = e.Number(j, v)
		}
		if _, err := e.Encode(got, x); err != nil || [3]float64(got[:3]) != want {
			t.Fatalf("%v: %v, want %v (%v)", x, want, got, err)
		}
		for j := range e.Names {
			u := r.NormFloat64()
			v := e.AtMost(j, u)
			if next := math.Nextafter(v, math.Inf(1)); e.Number(j, v) > u || e.Number(j, next) <= u {
				t.Fatalf("name %d: %v and %v give %v and %v around %v", j, v, next, e.Number(j, v), e.Number(j, next), u)
			}
		}
	}
	if got := plain.Number(0, math.NaN()); got != -6 {
		t.Errorf("missing: %v", got)
	}
	if got := e.AtMost(1, 1e9); got != math.MaxFloat64 {
		t.Errorf("above all: %v", got)
	}
	if got := e.AtMost(1, -1e9); !math.IsInf(got, -1) {
		t.Errorf("below all: %v", got)
	}
}
