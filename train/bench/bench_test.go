package bench_test

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"opl/testdata/long"
	"opl/train/bench"
	"opl/train/dataset"
	"opl/train/ope"
)

func open(t *testing.T) *dataset.Data {
	data, err := dataset.Open("mnist", filepath.Join("..", "..", "testdata", "mnist"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func run(t *testing.T, o bench.Options) bench.Result {
	r, err := bench.Run(context.Background(), open(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cell finds one.
func cell(t *testing.T, r bench.Result, logging string, rows int, estimator string) bench.Cell {
	for _, c := range r.Cells {
		if c.Logging == logging && c.Rows == rows && c.Estimator == estimator {
			return c
		}
	}
	t.Fatalf("no cell of %s, %d rows, %s", logging, rows, estimator)
	return bench.Cell{}
}

// less is how many standard errors the squared errors of a are below those of b, on the same logs.
func less(a, b bench.Cell) float64 {
	var d []float64
	mean := 0.
	for i, e := range a.Errors {
		d = append(d, b.Errors[i]*b.Errors[i]-e*e)
		mean += d[i] / float64(len(a.Errors))
	}
	square := 0.
	for _, v := range d {
		square += (v - mean) * (v - mean)
	}
	n := float64(len(d))
	return mean / math.Sqrt(square/(n-1)/n)
}

// Estimators that are unbiased have the value of the target as their mean, and intervals that cover it; MSE is
// bias² + variance; one's own that is wrong is found out.
func TestRun_FindsUnbiasedEstimatorsUnbiased(t *testing.T) {
	long.Test(t)
	low := ope.Estimator{Name: "low", Of: func(d *ope.Data, _ float64) ope.Value {
		return d.Mean(func(i int) float64 { return .8 * d.W[i] * d.R[i] })
	}}
	o := bench.Options{Seeds: 150, Rows: []int{400}, Noise: .1, Estimators: []ope.Estimator{ope.IPS(), ope.DR(), ope.DM(), low}}
	r := run(t, o)
	for _, logging := range []string{"near", "uniform", "far"} {
		for _, name := range []string{"ips", "dr"} {
			c := cell(t, r, logging, 400, name)
			if math.Abs(c.Bias.Value) > 4*c.Bias.SE || logging != "far" && math.Abs(c.Coverage.Value-.95) > 4*c.Coverage.SE {
				t.Errorf("%s, %s: bias %v, coverage %v", logging, name, c.Bias, c.Coverage)
			}
		}
		c := cell(t, r, logging, 400, "low")
		if want := -.2 * r.Value; math.Abs(c.Bias.Value-want) > 4*c.Bias.SE || c.Coverage.Value > .95 {
			t.Errorf("%s: the bias of .8 ips is %v, want %v", logging, c.Bias, want)
		}
		for _, name := range []string{"ips", "dr", "dm", "low"} {
			c := cell(t, r, logging, 400, name)
			if n := float64(c.Logs); math.Abs(c.MSE.Value-c.Bias.Value*c.Bias.Value-c.Variance.Value*(n-1)/n) > 1e-12 {
				t.Errorf("%s, %s: MSE %v is not bias² + variance", logging, name, c.MSE.Value)
			}
		}
	}
	if !(r.Logged[0].ESS > r.Logged[1].ESS && r.Logged[1].ESS > r.Logged[2].ESS) {
		t.Errorf("overlap does not fall: %+v", r.Logged)
	}
	// Where rewards are flipped, so is what is true.
	if clean := run(t, bench.Options{Seeds: 2, Rows: []int{20}}).Value; math.Abs(r.Value-(.1+.8*clean)) > 1e-12 {
		t.Errorf("V = %v with noise, %v without", r.Value, clean)
	}
}

// The published orders, on the same logs: dr beats ips; at little overlap self-normalization beats dr (Swaminathan &
// Joachims 2015, Thomas & Brunskill 2016), as does a model that is learned for it (Farajtabar et al. 2018); optimistic shrinkage
// beats dr where the model is good (Su et al. 2020).
func TestBench_PutsEstimatorsInThePublishedOrders(t *testing.T) {
	long.Test(t)
	r := run(t, bench.Options{Seeds: 150, Rows: []int{250}, Noise: .1, Estimators: []ope.Estimator{ope.IPS(), ope.SNIPS(), ope.DR(), ope.SNDR(), ope.DRos(), ope.MRDR()}})
	for _, c := range []struct{ logging, better, worse string }{
		{"uniform", "dr", "ips"}, {"far", "dr", "ips"},
		{"uniform", "snips", "ips"}, {"far", "snips", "ips"},
		{"uniform", "sndr", "dr"}, {"far", "sndr", "dr"},
		{"uniform", "mrdr", "dr"}, {"far", "mrdr", "dr"},
		{"near", "dros", "dr"},
	} {
		a, b := cell(t, r, c.logging, 250, c.better), cell(t, r, c.logging, 250, c.worse)
		z := less(a, b)
		t.Logf("%s: MSE of %s %.4f, of %s %.4f, z = %.1f", c.logging, c.better, a.MSE.Value, c.worse, b.MSE.Value, z)
		if z < 2 {
			t.Errorf("%s: %s does not beat %s: z = %.1f", c.logging, c.better, c.worse, z)
		}
	}
}

// The same numbers for any number of threads; another seed gives others.
func TestRun_IsTheSameForAnyNumberOfThreads(t *testing.T) {
	o := bench.Options{Seeds: 4, Rows: []int{60}}
	a := run(t, o)
	o.Threads = 3
	if b := run(t, o); !reflect.DeepEqual(a, b) {
		t.Error("three threads give other numbers")
	}
	o.Seed = 9
	if b := run(t, o); reflect.DeepEqual(a.Cells, b.Cells) {
		t.Error("another seed gives the same numbers")
	}
}

func TestRun_RefusesOptionsOutsideTheirDomain(t *testing.T) {
	done, stop := context.WithCancel(context.Background())
	stop()
	if _, err := bench.Run(done, open(t), bench.Options{}); err != context.Canceled {
		t.Error(err)
	}
	for want, o := range map[string]bench.Options{
		"want at least 2": {Seeds: 1}, "[0, 1/2)": {Noise: .5}, "want at least 20": {Rows: []int{5}},
		"outside (0, 1)": {Delta: 2, Rows: []int{20}}, "no interval": {Interval: "best", Rows: []int{20}}, "comes twice": {Estimators: []ope.Estimator{ope.DM(), ope.DM()}, Rows: []int{20}},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := bench.Run(context.Background(), open(t), o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}
