package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// memoryLimits are files that say how much memory there is, and the word before the bytes, or kB, in them.
var memoryLimits = [][2]string{{"/sys/fs/cgroup/memory.max", ""}, {"/sys/fs/cgroup/memory/memory.limit_in_bytes", ""},
	{"/proc/meminfo", "MemTotal:"}}

// memory is how many bytes the process may have: the least of what the machine and its container allow, as far as read
// tells it; else no limit.
func memory(read func(path string) ([]byte, error)) int64 {
	least, all := int64(math.MaxInt64), memoryLimits
	groups, _ := read("/proc/self/cgroup") // lines ID:CONTROLLERS:PATH; of version 2 without controllers
	for line := range strings.Lines(string(groups)) {
		of := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for at := of[len(of)-1]; len(of) == 3 && len(at) > 1; at = path.Dir(at) {
			switch of[1] {
			case "":
				all = append(all[:len(all):len(all)], [2]string{"/sys/fs/cgroup" + at + "/memory.max"})
			case "memory":
				all = append(all[:len(all):len(all)], [2]string{"/sys/fs/cgroup/memory" + at + "/memory.limit_in_bytes"})
			}
		}
	}
	for _, of := range all {
		b, err := read(of[0])
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			rest, is := strings.CutPrefix(line, of[1])
			words := strings.Fields(rest)
			if !is || len(words) == 0 {
				continue
			}
			n, err := strconv.ParseInt(words[0], 10, 64)
			if strings.HasSuffix(strings.TrimSpace(rest), "kB") {
				n *= 1024
			}
			if err == nil && n > 0 {
				least = min(least, n)
			}
		}
	}
	return least
}

// watchMemory says in a sentence that memory is used up, and ends the process, before the kernel kills it without a
// word or the runtime dies with a trace of all it does. From nine tenths on garbage is collected sooner.
func watchMemory(ctx context.Context, limit int64, end func(sentence string)) {
	if limit == math.MaxInt64 {
		return
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
	use := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for tick := time.Tick(50 * time.Millisecond); ctx.Err() == nil; <-tick {
		metrics.Read(use)
		if used := use[0].Value.Uint64() - use[1].Value.Uint64(); used > uint64(limit/100*97) {
			end(fmt.Sprintf("out of memory: %.3g of %.3g GB are in use: take fewer rows or columns, shards of the "+
				"files (--shard), or a machine with more memory", float64(used)/1e9, float64(limit)/1e9))
			return
		}
	}
}
