package logs_test

import (
	"testing"

	"opl/train/logs"
)

func TestShard(t *testing.T) {
	for text, want := range map[string]logs.Shard{"1/1": {1, 1}, "3/8": {3, 8}, "2+1/8": {3, 8}, "0+1/1": {1, 1}, "10000/10000": {10000, 10000}} {
		if s, err := logs.ParseShard(text); err != nil || s != want {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "/", "1", "0/1", "1/0", "0/0", "2/1", "1+1/1", "-1/2", "+1/2", "1/2/3", " 1/2", "1/2 ", "a/b", "1/10001", "99999999999999999999/3", "1.0/2", "1++1/3"} {
		if s, err := logs.ParseShard(text); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
	// Every unit is of one shard, and shards are of about one size.
	for _, of := range []int{1, 2, 7, 64} {
		for unit := range 6400 {
			n := 0
			for i := range of {
				if (logs.Shard{Number: i + 1, Of: of}).Has(unit) {
					n++
				}
			}
			if n != 1 {
				t.Fatalf("unit %d is of %d of %d shards", unit, n, of)
			}
		}
		size := 0
		for unit := range 6400 {
			if (logs.Shard{Number: 1, Of: of}).Has(unit) {
				size++
			}
		}
		if mean := 6400 / of; size < mean*7/10 || size > mean*13/10 {
			t.Errorf("shard 1/%d has %d units of 6400", of, size)
		}
	}
}
