package explain

import (
	"math"
	"testing"

	"opl/train/logs"
)

// Rows of a group say one thing: ten times the same rows have the error of one copy.
func TestMoments_CountClusters(t *testing.T) {
	alone, copied := &Explanation{log: &logs.Log{}}, &Explanation{log: &logs.Log{}}
	var one, ten moments
	for i := range 200 {
		v := math.Sin(float64(i))
		alone.add(&one, v, i)
		for range 10 {
			copied.log.Group = append(copied.log.Group, int32(i))
			copied.add(&ten, v, len(copied.log.Group)-1)
		}
	}
	if one.se() == 0 || math.Abs(ten.se()/one.se()-1) > 1e-9 || math.Abs(one.mean()-ten.mean()) > 1e-12 {
		t.Errorf("%v ± %v of 200 rows, %v ± %v of ten copies", one.mean(), one.se(), ten.mean(), ten.se())
	}
}
