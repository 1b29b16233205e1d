package numeric_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"opl/policies/numeric"
)

func TestNames_AreParsedBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		low := math.Exp(20*r.Float64()-10) * (r.Float64() - .5)
		a := numeric.Even(low, low+math.Exp(20*r.Float64()-10), 1+r.IntN(40))
		if r.IntN(2) == 0 {
			a.Atoms = []float64{a.Center(0)}
		}
		if a.Check() != nil {
			continue // a range too narrow for its size
		}
		b, ok := numeric.Parse(a.Names())
		if !ok || !slices.Equal(a.Edges, b.Edges) || !slices.Equal(a.Atoms, b.Atoms) {
			t.Fatalf("%v: %v, %v", a, b, ok)
		}
	}
	for _, names := range [][]string{nil, {"1", "2"}, {"a", "b"}, {"[0,1)"}, {"[0,1)", "[2,3]"}, {"[1,0]"}, {"[0,NaN]"}, {"[0,1]", "2"}} {
		if a, ok := numeric.Parse(names); ok {
			t.Errorf("%q were read as %v", names, a)
		}
	}
}

// A number is in one bin, of the density that the policy draws it with, whatever the division.
func TestDraw_IsInItsBin(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	a := numeric.Even(-3, 7.1, 13)
	a.Atoms = []float64{.5}
	for range 10_000 {
		c := r.IntN(a.Bins())
		v, density := a.Draw(c, .2, []float64{0, r.Float64(), math.Nextafter(1, 0)}[r.IntN(3)])
		if a.Bin(v) != c || math.Abs(density*a.Width(c)-.2) > 1e-12 {
			t.Fatalf("%v of bin %d is in %d, density %v", v, c, a.Bin(v), density)
		}
	}
	if v, density := a.Draw(13, .2, .3); v != .5 || density != 0 || a.Atom(v) != 13 || a.Atom(.6) != -1 {
		t.Errorf("the atom is %v, density %v", v, density)
	}
	if a.Bin(7.1) != 12 || a.Bin(7.2) != -1 || a.Bin(math.NaN()) != -1 {
		t.Error("the ends of the range")
	}
}

// A policy keeps its probabilities and its density when its division is refined.
func TestSpread_KeepsDensities(t *testing.T) {
	a, b := numeric.Even(0, 10, 4), numeric.Even(0, 10, 3)
	a.Atoms, b.Atoms = []float64{2}, []float64{9}
	fine := a.Refined(b)
	if !fine.Refines(a) || !fine.Refines(b) || a.Refines(b) {
		t.Fatal("what refines what")
	}
	pi, dst := []float64{.1, .2, .3, .15, .25}, make([]float64, fine.K())
	a.Spread(dst, pi, fine)
	var sum float64
	for f, p := range dst {
		sum += p
		if f < fine.Bins() {
			c := a.Bin(fine.Center(f))
			if math.Abs(p/fine.Width(f)-pi[c]/a.Width(c)) > 1e-12 {
				t.Errorf("the density in %v is %v", fine.Names()[f], p/fine.Width(f))
			}
		}
	}
	if math.Abs(sum-1) > 1e-12 || dst[fine.Bins()] != .25 || dst[fine.Bins()+1] != 0 {
		t.Errorf("%v, the sum is %v", dst, sum)
	}
}

func TestParseFamily_ReadsDensitiesAndRefusesOtherTexts(t *testing.T) {
	for text, at := range map[string][2]float64{"uniform 0 40": {7, .025}, "normal 5 2": {5, .19947114020071635}} {
		t.Run(text, func(t *testing.T) {
			f, err := numeric.ParseFamily(text)
			if err != nil || math.Abs(f.Prob(at[0])-at[1]) > 1e-12 {
				t.Errorf("%v", err)
				return
			}
			if err := numeric.Fits(f, at[0], at[1], -1e3, 1e3, 1e-6); err != nil && text[0] == 'n' {
				t.Errorf("%v", err)
			}
			if numeric.Fits(f, at[0], 2*at[1], -1e3, 1e3, 1e-6) == nil {
				t.Errorf("%s: twice the density fits", text)
			}
		})
	}
	if f, err := numeric.ParseFamily("normal 5 2"); err != nil || numeric.Fits(f, 5, f.Prob(5), 0, 10, 1e-6) == nil {
		t.Error("a normal distribution that the range cuts fits")
	}
	for _, text := range []string{"", "uniform", "uniform 3 1", "uniform 0 inf", "normal 0 -1", "normal 0 0", "normal NaN 1", "gamma 1 2", "normal 0 1 2 3 4 5"} {
		if f, err := numeric.ParseFamily(text); err == nil {
			t.Errorf("%q was read as %v", text, f)
		}
	}
}
