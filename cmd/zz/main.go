package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"opl/policies/features"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"opl/policies/policyfile"
	"opl/train/bench/worlds"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
)

func main() {
	ws := flag.String("worlds", "", "")
	rows := flag.Int("n", 1000, "")
	seeds := flag.Int("seeds", 4, "")
	seed := flag.Uint64("seed", 0, "")
	learners := flag.String("l", "all:.55:6", "")
	peer := flag.String("peer", "/tmp/me/peer.sh", "")
	sets := flag.String("sets", "", "")
	force := flag.Bool("force", false, "")
	how := flag.Bool("how", false, "")
	temp := flag.Float64("t", -1, "")
	flag.Parse()
	lib := library.Standard()
	o := worlds.Options{Rows: []int{*rows}, Seeds: *seeds, Seed: *seed, Threads: 1}
	if *peer != "" {
		o.Peer = []string{*peer}
	}
	for _, variant := range strings.Split(*learners, ",") {
		f := strings.Split(variant, ":")
		share, _ := strconv.ParseFloat(f[1], 64)
		chunks, _ := strconv.Atoi(f[2])
		var only []string
		if f[0] != "all" {
			only = strings.Split(f[0], "+")
		}
		o.Learners = append(o.Learners, worlds.Learner{Name: "opl:" + variant, Learn: func(ctx context.Context, log *logs.Log, seed uint64) (worlds.Learned, error) {
			got, err := pipeline.Learn(ctx, lib, log, pipeline.Options{Floor: .05, Seed: seed, Learners: only, Share: share, Chunks: chunks, Scaling: logs.Scaling{Intercept: true}})
			if err != nil {
				return worlds.Learned{}, err
			}
			l := worlds.Learned{Guaranteed: math.NaN(), Gain: math.NaN(), How: got.Training.Learner}
			if c := got.Certificate; c != nil {
				l.Guaranteed, l.Gain = c.Guaranteed(), c.Statement().GainAtLeast()
			}
			if got.Worse && !*force {
				l.How += " WORSE"
				return l, nil
			}
			p, err := policyfile.New(got.File)
			if err != nil {
				return worlds.Learned{}, err
			}
			l.Policy = p.Propensities
			return l, nil
		}})
	}
	all := worlds.All()
	for _, f := range strings.Split(*sets, ",") {
		if f == "" {
			continue
		}
		for _, t := range []float64{0, 1, 3} {
			if *temp >= 0 && t != *temp {
				continue
			}
			all = append(all, load(f, t))
		}
	}
	for _, w := range all {
		if (*ws != "" || *sets != "") && w.Visits == 0 && !slices.Contains(strings.Split(*ws, ","), w.Name) {
			continue
		}
		begin := time.Now()
		o.Worlds = []worlds.World{w}
		cells, err := worlds.Measure(context.Background(), o)
		if err != nil {
			fmt.Println(w.Name, err)
			continue
		}
		best := -1.
		for _, c := range cells {
			if !strings.HasPrefix(c.Learner, "opl:") && c.Learner != "best" && c.Learner != "logging" {
				best = max(best, mean(c.Rewards))
			}
		}
		fmt.Printf("%-9s %6d ", w.Name, *rows)
		for _, c := range cells {
			m := mean(c.Rewards)
			fmt.Printf(" %s %.4f", c.Learner, m)
			if strings.HasPrefix(c.Learner, "opl:") {
				fmt.Printf(" (%+.4f; gain %.3f)", m-best, mean(c.Gains))
			}
		}
		fmt.Printf(" %.0fs\n", time.Since(begin).Seconds())
		for _, c := range cells {
			if *how && strings.HasPrefix(c.Learner, "opl:") {
				fmt.Println("   ", strings.Join(c.How, " | "))
			}
		}
	}
}

func load(name string, t float64) worlds.World {
	b, err := os.ReadFile("/tmp/me/sets/" + name + ".csv")
	if err != nil {
		panic(err)
	}
	var x [][]features.Value
	var c []int
	k := 0
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	for _, l := range lines[1:] {
		f := strings.Split(l, ",")
		y, _ := strconv.Atoi(f[0])
		c = append(c, y)
		k = max(k, y+1)
		var v []features.Value
		for j, s := range f[1:] {
			u, _ := strconv.ParseFloat(s, 64)
			v = append(v, features.Value{Name: "x" + strconv.Itoa(j), Number: u})
		}
		x = append(x, v)
	}
	return worlds.Classes(name+fmt.Sprint(t), x, c, k, t)
}

func mean(x []float64) float64 {
	s := 0.
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}
