package logs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/policies/features"
)

// Numbers far from 0 are centred, skewed ones bent, those that are mostly 0 keep it, what is missing is told, and a
// category of a row or two is left out.
func TestFitEncoder_CentresBendsAndLeavesRareCategoriesOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var decisions []Decision
	const n = 2000
	for i := range n {
		x := []features.Value{{Name: "year", Number: 2000 + float64(r.IntN(20))}, {Name: "amount", Number: math.Exp(3 + 1.5*r.NormFloat64())},
			{Name: "always", Number: 7}, {Name: "city=" + []string{"Oslo", "Rome"}[i%2], Number: 1}}
		if i%10 == 0 {
			x = append(x, features.Value{Name: "visits", Number: 1 + float64(r.IntN(5))})
		} else {
			x = append(x, features.Value{Name: "visits", Number: 0})
		}
		if r.Float64() < .7 {
			x = append(x, features.Value{Name: "age", Number: 40 + 10*r.NormFloat64()})
		}
		if i == 77 {
			x[3].Name = "city=Ur"
		}
		decisions = append(decisions, Decision{Context: x, Action: i % 2, Propensity: .5})
	}
	log, err := Collect([]string{"a", "b"}, decisions)
	if err != nil {
		t.Fatal(err)
	}
	e, err := log.FitEncoder(nil, Scaling{Kind: "robust", Intercept: true})
	if err != nil {
		t.Fatal(err)
	}
	at := e.Feature
	if at("city=Ur") >= 0 || at("city=Oslo") < 0 || !e.Impute || !slices.Equal(e.Missing, []string{"age"}) {
		t.Errorf("%+v", e)
	}
	if j := at("year"); math.Abs(e.Center[j]-2009.5) > 1 || math.Abs(1/e.Scale[j]-5.8) > .5 || e.Width[j] != 0 {
		t.Errorf("year: centre %v, scale %v, width %v", e.Center[j], e.Scale[j], e.Width[j])
	}
	if e.Width[at("amount")] == 0 || e.Width[at("age")] != 0 {
		t.Errorf("widths %v of %v", e.Width, e.Names)
	}
	if j := at("visits"); e.Center[j] != 0 || e.Width[j] != 0 || math.Abs(1/e.Scale[j]-math.Sqrt(11)) > .3 {
		t.Errorf("visits: centre %v, scale %v", e.Center[j], e.Scale[j])
	}
	// Every feature but the constant one has about mean 0 and variance 1, and reading the log is encoding its names.
	x, err := log.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	row, same := make([]float64, e.Dim()), make([]float64, e.Dim())
	var sum, square float64
	var d Decision
	for i := range n {
		x.X.Row64(i, row)
		log.Decision(i, &d)
		if _, err := e.Encode(same, d.Context); err != nil || !slices.Equal(row, same) {
			t.Fatalf("row %d: %v, encoded %v, %v", i, row, same, err)
		}
		v := row[at("amount")]
		sum, square = sum+v/n, square+v*v/n
		if row[at("always")] != 0 || row[e.Dim()-1] != 1 {
			t.Fatalf("row %d: %v", i, row)
		}
	}
	if math.Abs(sum) > 1e-9 || math.Abs(square-1) > .01 {
		t.Errorf("amounts have mean %v and mean square %v", sum, square)
	}
	// A context that lacks a column that the log always had counts as the mean.
	if _, err := e.Encode(row, nil); err != nil || row[at("year")] != 0 || row[len(e.Names)] != 1 {
		t.Errorf("an empty context gives %v, %v", row, err)
	}
}

// Extremes give features of ordinary size.
func TestFitEncoder_RobustExtremes(t *testing.T) {
	for _, values := range [][]float64{{1e308, -1e308, 0, 1}, {5e-324, 0, 1e-300, 2e-300}, {0, 0, 0, 1}, {1e300, 1e-300, 1, 2}, {3, 3, 3, 3}, {-1, -2, -4, -1e9}, {1e300, -1.5e300, 2e299, -7e298}} {
		var decisions []Decision
		for i := range 40 {
			decisions = append(decisions, Decision{Context: []features.Value{{Name: "x", Number: values[i%len(values)]}}, Action: i % 2, Propensity: .5})
		}
		log, err := Collect([]string{"a", "b"}, decisions)
		if err != nil {
			t.Fatal(err)
		}
		e, err := log.FitEncoder(nil, Scaling{Kind: "robust"})
		if err != nil {
			t.Fatalf("%v: %v", values, err)
		}
		phi := make([]float64, e.Dim())
		for _, v := range values {
			if _, err := e.Encode(phi, []features.Value{{Name: "x", Number: v}}); err != nil {
				t.Errorf("%v: %v", values, err)
			}
			if !(math.Abs(phi[0]) <= 1e3) {
				t.Errorf("%v of %v is read as %v", v, values, phi[0])
			}
		}
	}
}
