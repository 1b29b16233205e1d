// Command tables measures how tight the guarantee of a fixed policy is on classification data
// turned into logs, by the protocol of Kuzborskij et al. (2021) and Sakhi et al. (2024).
//
//	go run ./testdata/tables [--seeds 10] [--delta 0.05] [--select 4|20] FILE.arff FILE.csv …
//
// The last column of a file is the class; a CSV file has a header. Classes are actions, in the order
// of their names, and the reward is 1 for the right one, flipped with a probability of 0, 0.1 or 0.2.
// The policy to bound plays softmax(1{a = y}/τ), τ = 0.1 … 0.5, the logging policy the same, τ = 0.3, 0.25
// or 0.2, of a label that is one too large in the first two classes. A seed shuffles
// the rows, draws 45 logs, and averages |U/R − 1|, U the bound and R the truth: 0 where U ≥ R.
//
// Columns: LS of the paper, λ = 1/√n with all of δ; ours, whose value has δ/2, without
// a model, with one of contexts and propensities that is learned from rows before, and with one that
// reads the policy's probabilities as well, which is what opl does; and how many of these bounds are above R.
//
// With --select, a seed is a trial: half of the rows, at most 2,000, logged by the policy of τ = 0.25 with a tenth of the rewards
// flipped, teach softmax policies by IPS, SNIPS and weighted imitation, and the other half selects among these and one that
// knows the labels, at τ = 0.2 with a floor of .2 (4), or these with scores times 1/2 and 2 and floors of .1, .3 and .6, and the uniform policy (20).
// Columns: how often the best, one within .01 of it, one worse than the logging policy, and none was selected; what is
// lost on average (of none: what the logging policy earns less than the best); and how often opl select says ship.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"opl/graph/kernel/workers"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/online"
)

// data is a classification data set: numbers of mean 0 and variance 1 and indicators of
// categories [n×d], and labels 0 … k−1.
type data struct {
	x     [][]float64
	label []int
	k     int
}

func main() {
	seeds := flag.Int("seeds", 10, "seeds")
	delta := flag.Float64("delta", 0.05, "δ")
	policies := flag.Int("select", 0, "select among 4 or 20 policies instead, in --seeds trials")
	flag.Parse()
	if *policies > 0 {
		fmt.Println("| data | policies | by | the best | within .01 | worse than logging | none | regret | shipped |\n|---|---|---|---|---|---|---|---|---|")
		for _, path := range flag.Args() {
			if err := selection(path, *policies, *seeds, *delta); err != nil {
				fmt.Fprintln(os.Stderr, "tables:", err)
				os.Exit(1)
			}
		}
		return
	}
	fmt.Println("| data | n | K | LS | ours, no model | contexts | contexts and π | above |\n|---|---|---|---|---|---|---|---|")
	for _, path := range flag.Args() {
		if err := table(path, *seeds, *delta); err != nil {
			fmt.Fprintln(os.Stderr, "tables:", err)
			os.Exit(1)
		}
	}
}

// table prints the line of a data set.
func table(path string, seeds int, delta float64) error {
	d, err := read(path)
	if err != nil {
		return err
	}
	all, errs := make([][5]float64, seeds), make([]error, seeds)
	workers.Do(runtime.GOMAXPROCS(0), seeds, func(_, seed int) {
		r := rand.New(rand.NewPCG(uint64(seed), 0x7ab1e5))
		for _, noise := range []float64{0, 0.1, 0.2} {
			for _, target := range []float64{0.1, 0.2, 0.3, 0.4, 0.5} {
				for _, logging := range []float64{0.3, 0.25, 0.2} {
					one, err := d.draw(r, noise, target, logging).bounds(delta)
					for j, v := range one {
						all[seed][j] += v / 45
					}
					errs[seed] = errors.Join(errs[seed], err)
				}
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Printf("| %s | %d | %d |", strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), len(d.label), d.k)
	for j := range 4 {
		var sum, square float64
		for _, one := range all {
			sum += one[j]
			square += one[j] * one[j]
		}
		n := float64(seeds)
		fmt.Printf(" %.3f ± %.3f |", sum/n, math.Sqrt(max(0, square-sum*sum/n)/max(1, n-1)/n))
	}
	above := 0.
	for _, one := range all {
		above += one[4] * 45
	}
	fmt.Printf(" %.0f of %d |\n", above, 3*45*seeds)
	return nil
}

// trial is a log with the policy to bound.
type trial struct {
	log   *logs.Log
	pi    []float64 // [n×k]
	value float64   // of pi
	label []int     // of the rows
}

// draw makes a log of 98 of 99 rows.
func (d data) draw(r *rand.Rand, noise, target, logging float64) trial {
	rows := r.Perm(len(d.label))[:len(d.label)*98/99]
	n, k := len(rows), d.k
	t := trial{log: &logs.Log{Actions: logs.Numbered(k), Propensities: make([]float64, n*k)}, pi: make([]float64, n*k)}
	var x []float64
	for i, at := range rows {
		y := d.label[at]
		t.label = append(t.label, y)
		wrong := y
		if y < 2 {
			wrong = (y + 1) % k
		}
		pi, pi0 := t.pi[i*k:(i+1)*k], t.log.Propensities[i*k:(i+1)*k]
		softmax(pi, y, target)
		softmax(pi0, wrong, logging)
		a, u := 0, r.Float64()
		for ; a < k-1 && u >= pi0[a]; a++ {
			u -= pi0[a]
		}
		reward := 0.
		if (a == y) != (r.Float64() < noise) {
			reward = 1
		}
		t.log.Action, t.log.Cost, t.log.Propensity = append(t.log.Action, int32(a)), append(t.log.Cost, -reward), append(t.log.Propensity, pi0[a])
		t.value += (pi[y]*(1-noise) + (1-pi[y])*noise) / float64(n)
		x = append(x, d.x[at]...)
	}
	t.log.X = logs.Rows64{Width: len(d.x[0]), Data: x}
	return t
}

// softmax is the policy of temperature tau around an action.
func softmax(dst []float64, at int, tau float64) {
	e := math.Exp(1 / tau)
	for a := range dst {
		dst[a] = 1 / (e + float64(len(dst)-1))
	}
	dst[at] *= e
}

// bounds are |U/R − 1| of the four bounds, and how many of the last three are above R.
func (t trial) bounds(delta float64) (out [5]float64, err error) {
	n, k := t.log.Len(), t.log.K()
	rows, logged, flat := make([]int, n), make([]float64, n), slices.Repeat([]float64{1 / float64(k)}, n)
	root, sum := math.Sqrt(float64(n)), 0.
	for i, a := range t.log.Action {
		rows[i], logged[i] = i, t.pi[i*k+int(a)]
		sum += math.Log1p(-logged[i] / t.log.Propensity[i] * t.log.Cost[i] / root)
	}
	off := func(u float64) float64 { return max(0, 1-max(0, u)/t.value) }
	out[0] = off(root * math.Expm1((sum+math.Log(delta))/float64(n)))
	play := func(dst []float64, i int) error { copy(dst, t.pi[i*k:(i+1)*k]); return nil }
	blind, err := online.Learn(t.log, rows, nil, flat)
	if err != nil {
		return out, err
	}
	of := blind.Of
	blind.Of = func(dst, _ []float64, i int) { of(dst, flat[:k], i) }
	seeing, err := online.Learn(t.log, rows, nil, logged)
	if err != nil {
		return out, err
	}
	for j, models := range [][]*certify.RewardModel{nil, {blind}, {seeing}} {
		b, err := certify.Fixed(play, nil, t.log, rows, certify.Options{Delta: delta, Models: models})
		if err != nil {
			return out, err
		}
		if out[1+j] = off(b.Reward()); b.Reward() > t.value {
			out[4]++
		}
	}
	return out, nil
}

// read reads a CSV file with a header, or an ARFF file.
func read(path string) (data, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return data{}, err
	}
	var rows [][]string
	csv := filepath.Ext(path) == ".csv"
	header := true
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '%':
		case header:
			header = !csv && !strings.EqualFold(line, "@data")
		default:
			cells := strings.Split(line, ",")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			if rows = append(rows, cells); len(cells) != len(rows[0]) {
				return data{}, fmt.Errorf("%s: row %d has %d columns, the first %d", path, len(rows), len(cells), len(rows[0]))
			}
		}
	}
	if len(rows) < 99 || len(rows[0]) < 2 {
		return data{}, fmt.Errorf("%s: want at least 99 rows of features and a class", path)
	}
	n, last := len(rows), len(rows[0])-1
	d := data{x: make([][]float64, n), label: make([]int, n)}
	for c := range last + 1 {
		numbers, names := make([]float64, n), make([]string, n)
		var sum, square float64
		var bad error
		for i, row := range rows {
			names[i] = row[c]
			v, err := strconv.ParseFloat(row[c], 64)
			bad = errors.Join(bad, err)
			numbers[i], sum, square = v, sum+v, square+v*v
		}
		if bad == nil && c < last {
			mean := sum / float64(n)
			sd := math.Sqrt(max(square/float64(n)-mean*mean, 1e-12))
			for i, v := range numbers {
				d.x[i] = append(d.x[i], (v-mean)/sd)
			}
			continue
		}
		kinds := slices.Compact(slices.Sorted(slices.Values(names)))
		for i, name := range names {
			at := slices.Index(kinds, name)
			if c == last {
				d.label[i], d.k = at, len(kinds)
				continue
			}
			one := make([]float64, len(kinds))
			one[at] = 1
			d.x[i] = append(d.x[i], one...)
		}
	}
	return d, nil
}
