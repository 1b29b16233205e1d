package cli

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"runtime/debug"
	"strings"
	"testing"
)

// The least of what files say is the limit, and at it a sentence ends the process.
func TestMemory_EndsWithASentenceAtTheLeastLimit(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, math.MaxInt64},
		"a machine":        {map[string]string{"/proc/meminfo": "MemFree: 5 kB\nMemTotal:       2048 kB\nMemAvailable: 9 kB\n"}, 2 << 20},
		"a container":      {map[string]string{"/proc/meminfo": "MemTotal: 2048 kB\n", "/sys/fs/cgroup/memory.max": "1000000\n"}, 1e6},
		"a group of systemd's": {map[string]string{"/proc/meminfo": "MemTotal: 2048 kB\n", "/proc/self/cgroup": "0::/a.slice/b.scope\n",
			"/sys/fs/cgroup/a.slice/b.scope/memory.max": "max\n", "/sys/fs/cgroup/a.slice/memory.max": "1000000\n"}, 1e6},
		"a group of version 1": {map[string]string{"/proc/meminfo": "MemTotal: 2048 kB\n", "/proc/self/cgroup": "9:cpu:/a\n4:memory:/b\n",
			"/sys/fs/cgroup/memory/b/memory.limit_in_bytes": "1000000\n", "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "10\n"}, 1e6},
		"without a limit": {map[string]string{"/proc/meminfo": "MemTotal: 2048 kB\n", "/sys/fs/cgroup/memory.max": "max\n"}, 2 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			got := memory(func(path string) ([]byte, error) {
				if text, is := c.files[path]; is {
					return []byte(text), nil
				}
				return nil, fs.ErrNotExist
			})
			if got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	said := ""
	watchMemory(t.Context(), 1e6, func(sentence string) { said = sentence })
	if !strings.HasPrefix(said, "out of memory: ") {
		t.Error(said)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	watchMemory(ended, 1e6, func(sentence string) { t.Error(fmt.Sprint("after the end: ", sentence)) })
}
