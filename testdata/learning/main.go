// Command learning compares what opl learns with what other programs learn, in worlds whose truth is known.
//
//	go run ./testdata/learning --seeds 5 --rows 1000,4000 --peer '/usr/bin/python3 testdata/peers/peers.py'
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"opl/policies/policyfile"
	"opl/train/bench/worlds"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
)

func main() {
	names := flag.String("worlds", "", "")
	rows := flag.String("rows", "1000,4000", "")
	seeds := flag.Int("seeds", 5, "")
	seed := flag.Uint64("seed", 1, "")
	peer := flag.String("peer", "", "")
	jobs := flag.Int("jobs", runtime.GOMAXPROCS(0), "")
	out := flag.String("out", "", "")
	share := flag.Float64("share", 0, "")
	chunks := flag.Int("chunks", 0, "")
	flag.Parse()
	lib := library.Standard()
	o := worlds.Options{Seeds: *seeds, Seed: *seed, Threads: *jobs, Peer: strings.Fields(*peer)}
	for _, f := range strings.Split(*rows, ",") {
		n, _ := strconv.Atoi(f)
		o.Rows = append(o.Rows, n)
	}
	for _, w := range worlds.All() {
		if *names == "" || strings.Contains(","+*names+",", ","+w.Name+",") {
			o.Worlds = append(o.Worlds, w)
		}
	}
	o.Learners = []worlds.Learner{{Name: "opl", Learn: func(ctx context.Context, log *logs.Log, seed uint64) (worlds.Learned, error) {
		got, err := pipeline.Learn(ctx, lib, log, pipeline.Options{Floor: .05, Seed: seed, Scaling: logs.Scaling{Intercept: true}, Share: *share, Chunks: *chunks})
		if err != nil {
			return worlds.Learned{}, err
		}
		p, err := policyfile.New(got.File)
		if err != nil {
			return worlds.Learned{}, err
		}
		l := worlds.Learned{Policy: p.Propensities, Guaranteed: math.NaN(), Gain: math.NaN(), How: got.Training.Learner}
		if c := got.Certificate; c != nil {
			l.Guaranteed, l.Gain = c.Guaranteed(), c.Statement().GainAtLeast()
		}
		return l, nil
	}}}
	cells, err := worlds.Measure(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *out != "" {
		b, _ := json.Marshal(cells)
		os.WriteFile(*out, b, 0o644)
	}
	for _, c := range cells {
		m, se := mean(c.Rewards)
		g, _ := mean(c.Guaranteed)
		d, _ := mean(c.Gains)
		fmt.Printf("%-9s %6d %-10s %.4f ± %.4f", c.World, c.Rows, c.Learner, m, se)
		if len(c.Guaranteed) > 0 {
			fmt.Printf("  guaranteed %.3f gain %+.3f false %d", g, d, c.Violations)
		}
		if len(c.How) > 0 {
			fmt.Printf("  %s", c.How[0])
		}
		fmt.Println()
	}
}

func mean(x []float64) (m, se float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	for _, v := range x {
		se += (v - m) * (v - m)
	}
	return m, math.Sqrt(se / float64(len(x)) / max(1, float64(len(x)-1)))
}
