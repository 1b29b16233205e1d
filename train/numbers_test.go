package train

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/testdata/long"
	"opl/train/bench/worlds"
	"opl/train/logs"
)

// A few thousand uniform rows are enough to find the best dose of each context, and the cliff of each segment, to about
// a bin. Curves without cliffs lose .06 at the cliffs.
func TestCurves_FindPeaksAndCliffs(t *testing.T) {
	long.Test(t)
	for name, most := range map[string]float64{"peaked": .02, "cliff": .04} {
		w := worlds.OfNumbers()[slices.IndexFunc(worlds.OfNumbers(), func(w worlds.World) bool { return w.Name == name })]
		decisions, test := w.Draw(4000, 300, 2)
		for _, v := range test { // to be encoded, and not learned from
			decisions = append(decisions, logs.Decision{Context: v.Context, Number: 1, Density: 1})
		}
		log, err := w.Collect(decisions)
		if err != nil {
			t.Fatal(err)
		}
		rows := logs.Every(4000)
		e, err := log.FitEncoder(rows, logs.Scaling{Kind: "standard", Intercept: true})
		if err != nil {
			t.Fatal(err)
		}
		if log, err = log.Encode(e); err != nil {
			t.Fatal(err)
		}
		d := &Direct{Encoder: e, Threads: 2}
		scores, lost := scorers(t, d, log, rows), 0.
		for i, v := range test {
			lost += (slices.Max(v.Mean) - v.Mean[floats.MaxIdx(scores(4000+i))]) / float64(len(test))
		}
		if lost > most {
			t.Errorf("%s: %s loses %.3f beside the best bins, want at most %v", name, d, lost, most)
		}
		if slices.ContainsFunc(d.tuned, func(k tuned) bool { return k.name == "linear" || k.name == "trees" }) {
			t.Errorf("%s: %s, want learners alone that know that numbers are neighbours", name, d)
		}
		t.Logf("%s: %s loses %.4f", name, d, lost)
	}
}

// scorers are the scores of rows of a log by what d learns from some.
func scorers(t *testing.T, d *Direct, log *logs.Log, rows []int) func(row int) []float64 {
	s, err := d.Learn(t.Context(), log, rows)
	if err != nil {
		t.Fatal(err)
	}
	view, err := s.In.View(log, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	return view.Scorers(s.Theta)()
}

// The layers give an action the mean of the regression over its numbers.
func TestWaves_ActionsHaveTheirMean(t *testing.T) {
	n := &numbers{of: numeric.Even(0, 4, 2)}
	n.of.Atoms = []float64{1.2}
	x := &table{k: 3, numeric: n}
	f, theta := mat.NewDense(2, 2, []float64{.3, 1, -.7, 2}), []float64{1, 2, 3, 4}
	trend := []float64{.3, -.2, .1, .4, .5} // of x, ux, u, u² and 1
	net := features.NewNet(x.curve(f, theta, trend))
	got := make([]float64, 3)
	net.Apply(got, []float64{.9}, make([]float64, net.Scratch()))
	for a, s := range got {
		want, low, high := 0., 2*float64(a), 2*float64(a+1)
		if a == 2 {
			low, high = 1.2, 1.2
		}
		for p := range 1000 {
			v := low + (high-low)*(float64(p)+.5)/1000
			u := v/2 - 1
			want += (.3*.9 - .2*u*.9 + .1*u + .4*u*u + .5) / 1000
			for k := range 2 {
				sin, cos := math.Sincos(f.At(k, 0)*.9 + f.At(k, 1)*v)
				want += (theta[k]*cos + theta[2+k]*sin) / math.Sqrt2 / 1000
			}
		}
		if math.Abs(s-want) > .06 {
			t.Errorf("action %d: %v, want %v", a, s, want)
		}
	}
}
