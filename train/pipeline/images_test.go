package pipeline_test

import (
	"context"
	"math"
	"opl/train/library"
	"path/filepath"
	"slices"
	"testing"

	"opl/policies/policyfile"
	"opl/testdata/long"
	"opl/train"
	"opl/train/experiment"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/pipeline"
)

// What is read from an exported log is what memory has; and from it, with the logging
// policy as the prior, Learn learns the policy of a run of compare, whose reward is
// what IPS says on the exported test set.
func TestExport_LearnsThePolicyOfCompare(t *testing.T) {
	long.Test(t)
	dir := t.TempDir()
	path, test := filepath.Join(dir, "log.csv.zst"), filepath.Join(dir, "test.parquet")
	e := &experiment.Runner{Library: library.Standard(), DataDir: filepath.Join("..", "..", "testdata", "mnist")}
	run := train.Run{Dataset: "mnist", Eta0: .5, Seed: 3, Objective: "corollary1", Weight: "ix", Hyper: train.None(), Policy: "gaussian", Lambda: "star",
		Settings: train.Settings{Delta: .05, Epochs: 2, LearningRate: .1, BatchSize: 128, Dtype: "float32", Samples: 32, Schedule: "constant"}}
	task, err := e.Task(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	export(t, path, task)
	if err := pipeline.ExportTest(test, task); err != nil {
		t.Fatal(err)
	}
	file, err := pipeline.ExportLogging(task)
	if err != nil {
		t.Fatal(err)
	}
	logging, err := policyfile.New(file)
	if err != nil {
		t.Fatal(err)
	}

	log := open(t, path, logs.Options{})
	got, err := log.Encode(logging.File().Components[0].Encoder)
	if err != nil {
		t.Fatal(err)
	}
	want := task.Log
	if !slices.Equal(got.Action, want.Action) || !slices.Equal(got.Cost, want.Cost) || !slices.Equal(got.Propensities, want.Propensities) {
		t.Error("what was logged differs")
	}
	x, y := make([]float64, want.Dim()), make([]float64, want.Dim())
	pi, k := make([]float64, want.K()), want.K()
	var d logs.Decision
	for i := range want.Len() {
		got.X.Row64(i, x)
		want.X.Row64(want.Context(i), y)
		for j := range x {
			if math.Abs(x[j]-y[j]) > 1e-15 {
				t.Fatalf("row %d: feature %d is %v, want %v", i, j, x[j], y[j])
			}
		}
		log.Decision(i, &d)
		if err := logging.Propensities(pi, d.Context); err != nil {
			t.Fatal(err)
		}
		for a, p := range pi {
			if q := want.Propensities[i*k+a]; math.Abs(p-q) > 1e-12*q {
				t.Fatalf("row %d: propensity of action %d by the policy %v, logged %v", i, a, p, q)
			}
		}
	}

	var rec train.Record
	if err := e.Each(context.Background(), []train.Run{run}, func(_ int, of train.Record, failure error) error {
		rec = of
		return failure
	}); err != nil {
		t.Fatal(err)
	}
	learned := mustLearn(t, log, pipeline.Options{Objective: "corollary1", Weight: "ix", Seed: 3, PriorFile: logging, Ancestry: pipeline.Ancestry{Fresh: true}, Settings: train.Settings{Epochs: 2}})
	tests := open(t, test, logs.Options{})
	if tests.Len() != k*task.Data.Test.Len() {
		t.Errorf("%d rows of %d images", tests.Len(), task.Data.Test.Len())
	}
	for _, c := range []struct {
		name string
		p    *policyfile.Policy
		want float64
	}{{"logging", logging, task.LoggingReward}, {"learned", policy(t, learned), float64(rec.Reward)}} {
		t.Run(c.name, func(t *testing.T) {
			target, err := ope.FromPolicy(c.name, c.p, tests)
			if err != nil {
				t.Fatal(err)
			}
			r, err := ope.Evaluate(tests, []ope.Target{target}, ope.Options{Estimators: []ope.Estimator{ope.IPS()}})
			if err != nil {
				t.Fatal(err)
			}
			if v := r.Policies[0].Estimates[0].Value; math.Abs(v-c.want) > 1e-6 {
				t.Errorf("the %s policy earns %v on the exported test set, %v in memory", c.name, v, c.want)
			}
		})
	}
}

// A log that cannot be written leaves nothing.
func TestExport_LeavesNothingWhereItFails(t *testing.T) {
	task := problem(t, filepath.Join("..", "..", "testdata", "mnist"))
	dir := t.TempDir()
	for _, name := range []string{"log.txt", "none/log.csv"} {
		if err := pipeline.Export(filepath.Join(dir, name), task); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if files, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}
