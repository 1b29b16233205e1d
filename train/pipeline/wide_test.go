package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opl/train/logs"
	"opl/train/pipeline"
)

// A category of many values leaves what has numbers a table. Many numbers, or categories alone, leave it one learner.
func TestLearn_TakesLearnersOfTablesWhereFeaturesAreMany(t *testing.T) {
	draw := func(n int, show func(v float64) string, head string, rest func(r *rand.Rand) string) *logs.Log {
		var b strings.Builder
		fmt.Fprintf(&b, "action,reward,propensity,x_u,%s\n", head)
		r := rand.New(rand.NewPCG(7, 7))
		for range n {
			v, a, p := r.NormFloat64(), r.IntN(2), .15
			if (a == 0) == (v > 0) {
				p = .85
			}
			reward := 0
			if r.Float64() < p {
				reward = 1
			}
			fmt.Fprintf(&b, "a%d,%d,0.5,%s,%s\n", a, reward, show(v), rest(r))
		}
		path := filepath.Join(t.TempDir(), "log.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return open(t, path, logs.Options{})
	}
	number := func(v float64) string { return fmt.Sprintf("%.3f", v) }
	site := func(r *rand.Rand) string { return fmt.Sprintf("s%d", r.IntN(680)) }
	sites := draw(8000, number, "x_site", site)
	named := draw(8000, func(v float64) string { return fmt.Sprintf("u%v", v > 0) }, "x_site", site)
	var names []string
	for j := range 600 {
		names = append(names, fmt.Sprintf("x_%d", j))
	}
	numbers := draw(800, number, strings.Join(names, ","), func(r *rand.Rand) string {
		var of []string
		for range 600 {
			of = append(of, fmt.Sprintf("%.2f", r.NormFloat64()))
		}
		return strings.Join(of, ",")
	})
	for _, c := range []struct {
		log  *logs.Log
		want string
	}{{sites, "direct ("}, {numbers, "linear"}, {named, "l"}} { // linear, logistic, likelihood
		o := pipeline.Options{Chunks: 1}
		o.Settings.Epochs = 2
		l := mustLearn(t, c.log, o)
		if dim := l.File.Components[0].Encoder.Dim(); dim <= 512 {
			t.Errorf("%d features: want more than 512", dim)
		}
		if !strings.HasPrefix(l.Training.Learner, c.want) {
			t.Errorf("learned by %s: want %s", l.Training.Learner, c.want)
		}
	}
}
