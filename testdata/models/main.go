// Command models compares models of the reward: on logs of worlds whose truth is known it prints the width of the
// doubly robust interval of a good policy, the error of the estimate, how often the interval holds the truth, and the
// processor time of learning.
//
//	go run ./testdata/models -worlds linear,peaks -rows 1000,4000 -seeds 40
package main

import (
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"opl/policies/propensity"
	"opl/train/bench/worlds"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
)

var (
	names = flag.String("worlds", "linear,amounts,peaks,rules,crossed,products", "names of worlds")
	rows  = flag.String("rows", "1000,4000,16000", "sizes of logs")
	seeds = flag.Uint64("seeds", 40, "logs of each size, from seed 1")
	folds = flag.Int("folds", 1, "ways to deal rows into folds, averaged")
)

const (
	more   = 30_000 // visits that the truth is the mean of
	greedy = 0.9    // how often the target plays the best action, else a uniform one
)

// score is what logs of a size say of a model.
type score struct {
	width, square, covered float64
	cpu                    time.Duration
}

func main() {
	flag.Parse()
	var models []string
	for _, m := range ope.RewardModels() {
		models = append(models, m.Name)
	}
	models = append(models, "average", "stack", "truth")
	out := "world,rows"
	for _, m := range models {
		for _, what := range []string{"width", "rmse", "covered", "seconds"} {
			out += "," + m + " " + what
		}
	}
	fmt.Println(out)
	for _, w := range worlds.All() {
		if !slices.Contains(strings.Split(*names, ","), w.Name) {
			continue
		}
		for _, text := range strings.Split(*rows, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				log.Fatal(err)
			}
			got := make([]score, len(models))
			for seed := uint64(1); seed <= *seeds; seed++ {
				if err := compare(w, n, seed, got); err != nil {
					log.Fatal(err)
				}
			}
			fmt.Fprintf(os.Stdout, "%s,%d", w.Name, n)
			of := float64(*seeds)
			for _, s := range got {
				fmt.Printf(",%.5f,%.5f,%.3f,%.2f", s.width/of, math.Sqrt(s.square/of), s.covered/of, s.cpu.Seconds()/of)
			}
			fmt.Println()
		}
	}
}

// compare adds what one log says.
func compare(w worlds.World, n int, seed uint64, to []score) error {
	_, visits := w.Draw(0, n+more, seed)
	r := rand.New(rand.NewPCG(seed, 0x10de1))
	target := func(v worlds.Visit, dst []float64) {
		best := 0
		for a, m := range v.Mean {
			if dst[a] = (1 - greedy) / float64(len(v.Mean)); m > v.Mean[best] {
				best = a
			}
		}
		dst[best] += greedy
	}
	var truth float64
	pi := make([]float64, w.K)
	for _, v := range visits[n:] {
		target(v, pi)
		for a, p := range pi {
			truth += p * v.Mean[a] / more
		}
	}
	decisions := make([]logs.Decision, n)
	for i, v := range visits[:n] {
		a := propensity.Draw(v.Logging, r)
		decisions[i] = logs.Decision{Context: v.Context, Action: a, Propensity: v.Logging[a], Propensities: v.Logging}
		if r.Float64() < v.Mean[a] {
			decisions[i].Cost = -1
		}
	}
	l, err := logs.Collect(w.Actions(), decisions)
	if err != nil {
		return err
	}
	play := ope.Target{Name: "target", Origin: provenance.FixedBefore(), Row: func(dst []float64, i int) error {
		target(visits[i], dst)
		return nil
	}}
	var made []ope.Model
	for j, m := range ope.RewardModels() {
		before := cpu()
		model, err := m.Averaged(*folds).Learn(l, ope.ModelOptions{Seed: seed})
		if err != nil {
			return err
		}
		table := make([]float64, n*w.K)
		for i := range n {
			model(table[i*w.K:(i+1)*w.K], i)
		}
		made = append(made, func(dst []float64, i int) { copy(dst, table[i*w.K:(i+1)*w.K]) })
		to[j].cpu += cpu() - before
	}
	ridge, trees := made[0], made[2]
	share := stacked(l, ridge, trees)
	made = append(made, mixed(ridge, trees, .5), mixed(ridge, trees, share), func(dst []float64, i int) {
		copy(dst, visits[i].Mean)
	})
	for j, model := range made {
		got, err := ope.Evaluate(l, []ope.Target{play}, ope.Options{Delta: .05, Estimators: []ope.Estimator{ope.DR()},
			Model: model, Seed: seed, EstimatesAlone: true})
		if err != nil {
			return err
		}
		e := got.Policies[0].Estimates[0]
		to[j].width += e.High - e.Low
		to[j].square += (e.Value - truth) * (e.Value - truth)
		if e.Low <= truth && truth <= e.High {
			to[j].covered++
		}
	}
	return nil
}

// cpu is the processor time so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// mixed is a share of the second model, and the rest of the first.
func mixed(first, second ope.Model, share float64) ope.Model {
	return func(dst []float64, i int) {
		other := make([]float64, len(dst))
		first(dst, i)
		second(other, i)
		for a, v := range other {
			dst[a] += share * (v - dst[a])
		}
	}
}

// stacked is the share of the second model that minimizes the squared error in the rows of a log.
func stacked(l *logs.Log, first, second ope.Model) float64 {
	one, two := make([]float64, l.K()), make([]float64, l.K())
	var above, below float64
	for i, a := range l.Action {
		first(one, i)
		second(two, i)
		d := two[a] - one[a]
		above += d * (-l.Cost[i] - one[a])
		below += d * d
	}
	if below == 0 {
		return 0
	}
	return min(1, max(0, above/below))
}
