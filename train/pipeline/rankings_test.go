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
	"opl/policies/policyfile"
	"opl/testdata/lists"
	"opl/testdata/long"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
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
				value, logging = worth(t, w, visits, p)
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

// worth is what a policy's lists earn, and what the logging policy's do.
func worth(t *testing.T, w lists.World, visits int, p *policyfile.Policy) (value, logging float64) {
	return w.Value(visits, 1, func(v lists.Visit, left []int, slot int) []float64 {
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
}

// Of few lists, where nothing is to be guaranteed of any policy, one that draws is still estimated better.
func TestLearn_OfFewListsDraws(t *testing.T) {
	w := lists.All()[0]
	w.K = 8
	var text bytes.Buffer
	if err := w.Write(&text, 250, 5); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lists.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := logs.Open(t.Context(), path, logs.Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	got, err := pipeline.Learn(t.Context(), library.Standard(), log, pipeline.Options{Settings: settings(2), Floor: .05, Seed: 1,
		Scaling: logs.Scaling{Intercept: true}, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if c := got.File.Components[0]; c.Kind != policyfile.Softmax || got.Certificate.Statement().Proven() {
		t.Errorf("%s by %s, %v", c.Kind, got.Training.Learner, got.Certificate.Statement().Reward())
	}
}

// Of lists of three of eight items more is guaranteed of a policy that draws among the best than of one that fills each
// slot with the best, and it earns nearly as much. It is certified again as it was at first. Who wants the best alone can
// have that.
func TestLearn_OfListsDrawsAmongTheBest(t *testing.T) {
	w := lists.All()[0]
	w.K = 8
	const seeds = 2
	var earned, guaranteed [2]float64
	var uniform float64
	for seed := range uint64(seeds) {
		var text bytes.Buffer
		if err := w.Write(&text, 1500, 10+seed); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "lists.jsonl")
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := logs.Open(t.Context(), path, logs.Options{NoCache: true, Assume: "cascade"})
		if err != nil {
			t.Fatal(err)
		}
		for i, kind := range []string{policyfile.Softmax, policyfile.ArgMax} {
			o := pipeline.Options{Settings: settings(2), Floor: .05, Seed: 1, Scaling: logs.Scaling{Intercept: true}}
			if kind == policyfile.ArgMax {
				o.Policy = kind
			}
			got, err := pipeline.Learn(t.Context(), library.Standard(), log, o)
			if err != nil {
				t.Fatal(err)
			}
			if c := got.File.Components[0]; c.Kind != kind || !c.Joint {
				t.Errorf("seed %d: %s, learned by %s, where %s was wanted", seed, c.Kind, got.Training.Learner, kind)
			}
			p, g := policy(t, got), got.Certificate.Statement()
			again, err := provenance.New(log).File(t.Context(), p, provenance.Options{})
			if err != nil || math.Abs(again.Statement().Reward()-g.Reward()) > 1e-12 {
				t.Errorf("certified again: %v, %v", again.Statement().Reward(), err)
			}
			value, logging := worth(t, w, 400, p)
			earned[i], guaranteed[i], uniform = earned[i]+value/seeds, guaranteed[i]+g.Reward()/seeds, logging
			if g.Reward() > value {
				t.Errorf("seed %d: guarantees %v of %v", seed, g.Reward(), value)
			}
		}
		log.Close()
	}
	t.Logf("drawn earn %.3f, the largest %.3f, uniform %.3f; guaranteed %.3f and %.3f", earned[0], earned[1], uniform, guaranteed[0], guaranteed[1])
	if earned[0] < uniform+.75*(earned[1]-uniform) || guaranteed[0] < guaranteed[1]+.1*(earned[1]-uniform) {
		t.Error("drawing earns less, or nothing more is guaranteed of it")
	}
}
