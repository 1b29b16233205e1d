package experiment_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"opl/graph"
	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
)

const data = "../../testdata"

func grid(objectives ...string) (runs []train.Run) {
	for _, seed := range []uint64{1, 2} {
		for _, o := range append([]string{train.LoggingPolicy}, objectives...) {
			r := train.Run{Dataset: "mnist", Eta0: 0.5, Objective: o, Policy: "softmax", Weight: "clip",
				Hyper: train.None(), Penalty: train.None(), Seed: seed, Settings: train.Settings{Delta: .05, Epochs: 1, LearningRate: .1, BatchSize: 64}}
			if o == "corollary1" || o == "ls" {
				r.Policy = "gaussian"
			}
			if o == train.LoggingPolicy || o == "ls" {
				r.Weight = ""
			}
			runs = append(runs, r)
		}
	}
	return runs
}

func runAll(t *testing.T, e *experiment.Runner, runs []train.Run) []train.Record {
	t.Helper()
	recs, ended := make([]train.Record, len(runs)), map[int]bool{}
	err := e.Each(context.Background(), runs, func(i int, rec train.Record, failure error) error {
		if ended[i] {
			t.Errorf("run %d was handed on twice", i)
		}
		rec.Seconds = 0
		recs[i], ended[i] = rec, true
		return failure
	})
	if len(ended) != len(runs) {
		t.Errorf("%d of %d runs were handed on", len(ended), len(runs))
	}
	if err != nil {
		t.Fatal(err)
	}
	return recs
}

// Results and their order do not depend on the number of workers.
func TestRunner_KeepsOrderForAnyNumberOfWorkers(t *testing.T) {
	runs := grid("heuristic", "corollary1", "ls")
	var first []byte
	for _, jobs := range []int{1, 2, 5} {
		recs := runAll(t, &experiment.Runner{Library: library.Standard(), DataDir: data, Jobs: jobs}, runs)
		b, err := json.Marshal(recs)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
			continue
		}
		if string(b) != string(first) {
			t.Errorf("%d jobs give other records than 1", jobs)
		}
	}
	var recs []train.Record
	if err := json.Unmarshal(first, &recs); err != nil {
		t.Fatal(err)
	}
	for i, r := range recs {
		logging := recs[i/4*4].Reward
		if r.LoggingReward != logging || r.N != 1900 {
			t.Errorf("%s: logging reward %v and n %d, want %v and 1900", experiment.Name(r.Run), r.LoggingReward, r.N, logging)
		}
		if r.Objective == "heuristic" && !(r.Reward > logging+.1) {
			t.Errorf("%s earns %v, the logging policy %v", experiment.Name(r.Run), r.Reward, logging)
		}
		if r.Objective != train.LoggingPolicy && (!r.ObjectiveValue.Valid() || len(r.Terms) == 0) {
			t.Errorf("%s has no objective value or no terms", experiment.Name(r.Run))
		}
		if (r.Weight == "clip") != (r.Hyper.Valid() && math.Abs(float64(r.Hyper)-math.Pow(1900, -.25)) < 1e-12) {
			t.Errorf("%s: hyperparameter %v", experiment.Name(r.Run), r.Hyper)
		}
	}
}

// Runs that take turns and share minibatches and noise give the records that each gives alone.
func TestRunner_GivesInTurnsWhatRunsGiveAlone(t *testing.T) {
	var runs []train.Run
	for _, objective := range []string{"theorem1", "heuristic"} {
		for _, weight := range []string{"clip", "har", "ix"} {
			r := grid(objective)[1]
			r.Weight, r.Samples, r.Epochs = weight, 4, 2
			if objective == "theorem1" {
				r.Policy = "softmax-posterior"
			}
			runs = append(runs, r)
		}
	}
	recs := runAll(t, &experiment.Runner{Library: library.Standard(), DataDir: data, Jobs: 1, Curves: true}, runs)
	alone := &experiment.Runner{Library: library.Standard(), DataDir: data, Jobs: 1, Curves: true}
	for i, r := range runs {
		want, _ := json.Marshal(runAll(t, alone, []train.Run{r})[0])
		if got, _ := json.Marshal(recs[i]); string(got) != string(want) {
			t.Errorf("%s: %s in turns, %s alone", experiment.Name(r), got, want)
		}
	}
}

// A user's own objective takes part by its name; an error names its run, and
// what finished is handed on.
func TestRunner_TakesAnOwnObjectiveAndKeepsWhatFinished(t *testing.T) {
	lib := library.Standard()
	lib.Objectives = append(lib.Objectives,
		library.Objective{Name: "mine", Policy: "softmax", Make: func(library.Args) objectives.Objective { return objectives.L2(0) }},
		library.Objective{Name: "broken", Policy: "softmax", Make: func(library.Args) objectives.Objective {
			return func(p objectives.Problem) graph.Expr { return p.Mean("log", p.PiLogged().Plus(-1).Log()) }
		}})
	e := &experiment.Runner{Library: lib, DataDir: data, Jobs: 2}
	recs := runAll(t, e, grid("mine", "risk"))
	if recs[1].Reward != recs[2].Reward {
		t.Errorf("the L2 heuristic without penalty earns %v, the risk %v", recs[1].Reward, recs[2].Reward)
	}
	handed := 0
	count := func(_ int, _ train.Record, failure error) error {
		if failure == nil {
			handed++
		}
		return nil
	}
	err := e.Each(context.Background(), grid("mine", "broken"), count)
	if err == nil || !strings.Contains(err.Error(), "broken × clip") || !strings.Contains(err.Error(), "epoch 1, step 1") || handed < 1 {
		t.Errorf("%d runs handed on before %v", handed, err)
	}
	// A run that fails does not keep the others from running.
	if handed != 4 {
		t.Errorf("%d runs handed on, want 4: two problems' logging policies and mine", handed)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = e.Each(ctx, grid("mine"), func(int, train.Record, error) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// Cancelled before anything runs, and as the last run ends.
	if err := e.Each(ctx, grid("mine"), count); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before the start: %v", err)
	}
}
