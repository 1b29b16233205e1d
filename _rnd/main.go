package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"opl/train/logs"
)

func user() (float64, float64) {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Sec) + float64(r.Utime.Usec)/1e6, float64(r.Stime.Sec) + float64(r.Stime.Usec)/1e6
}

func main() {
	l, err := logs.Open(context.Background(), os.Args[1], logs.Options{})
	if err != nil {
		panic(err)
	}
	p := rand.New(rand.NewPCG(1, 2)).Perm(l.Len())
	for _, threads := range []int{1, 2} {
		var ts []float64
		for range 3 {
			u, s := user()
			t := time.Now()
			var w sync.WaitGroup
			for k := range threads {
				w.Go(func() {
					var sum float64
					for i := k; i < len(p); i += threads {
						_, v := l.Values(p[i])
						sum += v[0] + v[len(v)-1]
					}
					if sum == 1e300 { println(sum) }
				})
			}
			w.Wait()
			u1, s1 := user()
			ts = append(ts, u1-u+s1-s, time.Since(t).Seconds())
		}
		slices.Sort(ts)
		fmt.Printf("%d threads: %.3f\n", threads, ts)
	}
}
