package pipeline_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/testdata/lists"
	"opl/testdata/long"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
)

// Learners and objectives side by side on lists whose truth is known: what their policies earn, beside the logging
// policy and the best lists, and what is guaranteed. OPL_LOGS logs of each world, if set, of OPL_ROWS lists.
func TestRankings_LearnersBesideLoggingAndBestLists(t *testing.T) {
	long.Test(t)
	draws, n, visits := 1, 1500, 400
	if many, err := strconv.Atoi(os.Getenv("OPL_LOGS")); err == nil {
		draws = many
	}
	if many, err := strconv.Atoi(os.Getenv("OPL_ROWS")); err == nil {
		n = many
	}
	ways := []struct{ name, objective, learner string }{{"train", "", ""}, {"logistic", "", "logistic"}, {"weighted", "weighted", ""},
		{"likelihood", "likelihood", ""}, {"risk", "risk", ""}, {"variance", "variance", ""}}
	for i, w := range lists.All() {
		assume := []string{"cascade", "cascade", "none"}[i]
		best, logging := w.Best(visits, 1), 0.
		for _, way := range ways {
			var all []float64
			least, wrong := 0., 0
			for seed := range draws {
				var text bytes.Buffer
				if err := w.Write(&text, n, uint64(seed+1)); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(t.TempDir(), "lists.jsonl")
				if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				log, err := logs.Open(t.Context(), path, logs.Options{NoCache: true, Assume: assume})
				if err != nil {
					t.Fatal(err)
				}
				o := pipeline.Options{Settings: settings(10), Scaling: logs.Scaling{Intercept: true}, Floor: .05, Seed: uint64(seed + 1),
					Objective: way.objective, Force: true}
				if way.learner != "" {
					o.Learners = []string{way.learner}
				}
				got, err := pipeline.Learn(t.Context(), library.Standard(), log, o)
				log.Close()
				if err != nil {
					t.Logf("%s, %s: %v", w.Name, way.name, err)
					break
				}
				p := policy(t, got)
				var value float64
				value, logging = w.Value(visits, 1, func(v lists.Visit, left []int, slot int) []float64 {
					x := append(slices.Clone(v.Context), features.Value{Name: fmt.Sprint("slot=", slot+1), Number: 1})
					pi, offers := make([]float64, len(left)), make([]features.Offer, len(left))
					for j, a := range left {
						offers[j].Action = fmt.Sprint("i", a)
					}
					if err := p.PropensitiesOffered(pi, x, offers); err != nil {
						t.Fatal(err)
					}
					return pi
				})
				all = append(all, value)
				if c := got.Certificate; c != nil {
					s := c.Statement()
					least += s.Reward() / float64(draws)
					if s.Reward() > value+.005 || s.GainAtLeast() > value-logging+.005 {
						wrong++
					}
				}
			}
			mean, square := 0., 0.
			for _, v := range all {
				mean, square = mean+v/float64(len(all)), square+v*v/float64(len(all))
			}
			t.Logf("%-12s %-10s earns %.4f ± %.4f; logging %.4f, best %.4f; guaranteed %.4f, false %d; %v", w.Name, way.name, mean,
				math.Sqrt(max(0, square-mean*mean)/max(1, float64(len(all)-1))), logging, best, least, wrong,
				strings.Trim(fmt.Sprintf("%.4f", all), "[]"))
			if way.name == "train" && mean < logging {
				t.Errorf("%s: train earns %v, less than %v of what logged", w.Name, mean, logging)
			}
		}
	}
}
