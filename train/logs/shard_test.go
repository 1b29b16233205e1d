package logs_test

import (
	"testing"

	"opl/train/logs"
)

func TestParseShard_TakesIOfNAndNothingElse(t *testing.T) {
	for text, want := range map[string]logs.Shard{"1/1": {1, 1}, "3/8": {3, 8}, "2+1/8": {3, 8}, "0+1/1": {1, 1}, "10000/10000": {10000, 10000}} {
		t.Run(text, func(t *testing.T) {
			if s, err := logs.ParseShard(text); err != nil || s != want {
				t.Errorf("%v, %v", s, err)
			}
		})
	}
	for _, text := range []string{"", "/", "1", "0/1", "1/0", "0/0", "2/1", "1+1/1", "-1/2", "+1/2", "1/2/3", " 1/2", "1/2 ", "a/b", "1/10001", "99999999999999999999/3", "1.0/2", "1++1/3"} {
		if s, err := logs.ParseShard(text); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
}
