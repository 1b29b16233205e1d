package logs

import (
	"strings"
	"testing"
)

// The hashes of contexts that a cache holds are those of the values that it holds, read ahead or row by row, of rows with the same
// names and with others, of several files, and of a log that is put together.
func TestContextHash_IsTheSameFromCacheAndFile(t *testing.T) {
	var csv, same strings.Builder
	csv.WriteString("action,reward,x_a,x_b,x_c\n")
	for i := range 300 {
		c := []string{"", "red", "-0"}[i%3]
		csv.WriteString([]string{"0,1,", "1,0,"}[i%2] + []string{"-0", "0", "2.5", "1e-300"}[i%4] + ",7," + c + "\n")
		same.WriteString([]string{`{"action":0,"reward":1,"x_a":-0.0,"x_b":3}`, `{"action":1,"reward":0,"x_a":0.0,"x_b":0.1}`}[i%2] + "\n")
	}
	for name, text := range map[string]string{
		"mixed.csv": csv.String(), "same.jsonl": same.String(),
		"sets.jsonl": strings.Repeat(`{"action":"a","reward":1,"propensity":0.5,"x_u":1,"actions":[{"id":"a","x_p":1},{"id":"b","x_p":2}]}`+"\n"+
			`{"action":"b","reward":0,"propensity":0.5,"x_v":2,"actions":[{"id":"b","x_p":2},{"id":"c","x_p":3}]}`+"\n", 5),
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, name, text)
			first, again := mustOpen(t, path, Options{}), mustOpen(t, path, Options{})
			want := make([]uint64, again.Len())
			again.hashes(want, nil, nil, func(i int) ([]uint32, []float64) { return again.named.row(i) })
			for i, h := range again.contextHash {
				if h != want[i] || first.contextHash[i] != want[i] {
					t.Fatalf("%s, row %d: %x read, %x from the cache, want %x", name, i+1, first.contextHash[i], h, want[i])
				}
			}
		})
	}
}
