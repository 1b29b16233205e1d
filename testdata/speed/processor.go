package main

import (
	"slices"
	"syscall"
	"time"
)

// processor is the time that all threads of this process have had of a processor: what other programs
// have does not count.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cost is the median of processor time that f takes, in µs, of batches of at least a millisecond, in
// about so long.
func cost(f func(), about time.Duration) float64 {
	f()
	var micros []float64
	n := 1
	for begin := time.Now(); len(micros) < 3 || time.Since(begin) < about; {
		from := processor()
		for range n {
			f()
		}
		took := processor() - from
		if took < time.Millisecond && n < 1<<30 {
			n *= 2
			continue
		}
		micros = append(micros, float64(took.Nanoseconds())/1e3/float64(n))
	}
	slices.Sort(micros)
	return micros[len(micros)/2]
}
