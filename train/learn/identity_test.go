package learn

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"opl/policies/features"
	"opl/train/logs"
)

// Rows of equal content are told apart, and the same ones in any order of the log.
func TestDistinct(t *testing.T) {
	a := distinct([]uint64{5, 7, 5, 5, 9, 7})
	b := distinct([]uint64{7, 9, 5, 7, 5, 5})
	if slices.Sort(a); len(slices.Compact(slices.Clone(a))) != 6 {
		t.Errorf("%v repeats", a)
	}
	if slices.Sort(b); !slices.Equal(a, b) {
		t.Errorf("in another order %v, want %v", b, a)
	}
	if more := distinct([]uint64{5, 7, 5, 5, 9, 7, 5, 1}); len(more) != 8 || !slices.Contains(more, 5) || more[7] != 1 {
		t.Errorf("of more rows %v", more)
	}
}

// The content of a decision does not depend on the order of its values.
func TestContent(t *testing.T) {
	d := logs.Decision{Context: []features.Value{{Name: "x", Number: 1}, {Name: "y", Number: 2}}, Action: 1, Time: time.Unix(5, 0)}
	actions := []string{"a", "b"}
	h := content(&d, actions)
	e := d
	e.Context = []features.Value{d.Context[1], d.Context[0]}
	if content(&e, actions) != h {
		t.Error("another order is another content")
	}
	for _, change := range []func(){
		func() { e.Context[0].Number = 3 }, func() { e.Context[0].Name = "z" }, func() { e.Action = 0 }, func() { e.Time = time.Unix(6, 0) },
	} {
		e = d
		e.Context = slices.Clone(d.Context)
		change()
		if content(&e, actions) == h {
			t.Errorf("%+v has the content of %+v", e, d)
		}
	}
}

// Contexts that are held are those that they were made of.
func TestHold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	m := logs.Rows64{Width: 3, Data: make([]float64, 30)}
	for i := range m.Data {
		m.Data[i] = r.NormFloat64()
	}
	h, tight := hold(m, 4*30), hold(m, 4*30-1)
	if h.data == nil || tight.data != nil {
		t.Fatalf("held: %v, and where there is no room %v", h.data, tight.data)
	}
	got, want, x := make([]float32, 3), make([]float32, 3), make([]float64, 3)
	for i := range m.Len() {
		h.Row32(i, got)
		m.Row32(i, want)
		rounded{h}.Row64(i, x)
		if !slices.Equal(got, want) || h.Norm(i) != m.Norm(i) || float32(x[2]) != want[2] {
			t.Fatalf("row %d: %v, want %v", i, got, want)
		}
		h.Row64(i, x)
		if !slices.Equal(x, m.Data[3*i:3*i+3]) {
			t.Fatalf("row %d: %v", i, x)
		}
		if tight.Row32(i, got); !slices.Equal(got, want) || tight.Norm(i) != m.Norm(i) {
			t.Fatalf("row %d without room: %v, want %v", i, got, want)
		}
	}
}
