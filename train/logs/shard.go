package logs

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard numbers one of several parts of long work that run apart.
type Shard struct {
	Number int `json:"number"` // from 1 to Of
	Of     int `json:"of"`     // how many parts there are
}

// MostShards bounds the number of shards.
const MostShards = 10_000

// ParseShard reads 3/8, the third of eight, which may also be written 2+1/8: engines count their tasks from 0.
func ParseShard(text string) (Shard, error) {
	bad := fmt.Errorf("shard %q: want i/n with 1 ≤ i ≤ n ≤ %d, such as 3/8", text, MostShards)
	i, n, ok := strings.Cut(text, "/")
	from, zero := strings.CutSuffix(i, "+1")
	number, err := strconv.ParseUint(from, 10, 31)
	of, errOf := strconv.ParseUint(n, 10, 31)
	if zero {
		number++
	}
	if !ok || err != nil || errOf != nil || number < 1 || number > of || of > MostShards {
		return Shard{}, bad
	}
	return Shard{int(number), int(of)}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }
