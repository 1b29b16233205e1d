package pipeline_test

import (
	"context"
	"math"
	"opl/train/library"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"opl/objectives"
	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train"
	"opl/train/dataset"
	"opl/train/experiment"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// earns is what a policy file earns on labelled images.
func earns(t *testing.T, p *policyfile.Policy, test *dataset.Set) float64 {
	t.Helper()
	pixels, x, pi := make([]float64, test.Dim()), make([]features.Value, test.Dim()), make([]float64, len(p.Actions()))
	var sum float64
	for i := range test.Len() {
		test.Pixels(i, pixels)
		for j, v := range pixels {
			x[j] = features.Value{Name: "x_" + strconv.Itoa(j), Number: v}
		}
		if err := p.Propensities(pi, x); err != nil {
			t.Fatal(err)
		}
		sum += pi[test.Labels[i]]
	}
	return sum / float64(test.Len())
}

func export(t *testing.T, path string, task *experiment.Task) {
	t.Helper()
	if err := pipeline.Export(path, task); err != nil {
		t.Fatal(err)
	}
}

func problem(t *testing.T, dir string) *experiment.Task {
	t.Helper()
	e := &experiment.Runner{Library: library.Standard(), DataDir: dir}
	task, err := e.Task(context.Background(), train.Run{Dataset: "mnist", Eta0: .5, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func open(t *testing.T, path string, o logs.Options) *logs.Log {
	t.Helper()
	log, err := logs.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

func mustLearn(t *testing.T, log *logs.Log, o pipeline.Options) *pipeline.Learned {
	t.Helper()
	l, err := pipeline.Learn(context.Background(), library.Standard(), log, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func policy(t *testing.T, l *pipeline.Learned) *policyfile.Policy {
	t.Helper()
	p, err := policyfile.New(l.File)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// From a file the recipe learns what it learns from memory, on the same rows in the
// same order.
func TestLearn_FromAFileEqualsFromMemory(t *testing.T) {
	task := problem(t, filepath.Join("..", "..", "testdata", "mnist"))
	path := filepath.Join(t.TempDir(), "log.parquet")
	export(t, path, task)
	log := open(t, path, logs.Options{})
	o := pipeline.Options{Seed: 1, Settings: train.Settings{Epochs: 3, Representation: "mlp=64"}, Scaling: logs.Scaling{Kind: "none", Unit: true}, Chunks: 1}
	got := mustLearn(t, log, o)

	var c pipeline.SplitBy
	c.IDs = log.Keys
	teach, rest, err := pipeline.Split(pipeline.Random, .5, 1, log.Len(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(teach) != got.Training.Teaching || len(rest) != got.Training.Certifying {
		t.Fatalf("%d and %d rows, want %d and %d", got.Training.Teaching, got.Training.Certifying, len(teach), len(rest))
	}
	train.Stream(1, "order of teaching").Shuffle(len(teach), func(i, j int) { teach[i], teach[j] = teach[j], teach[i] })
	same := onlyUsed(task.Log, got.File.Components[0].Encoder)
	want, err := train.Recipe{Teaching: teach, Certifying: rest}.Learn(context.Background(), provenance.New(same), same, train.Config{Epochs: 3, Seed: 1, Representation: objectives.MLP(features.ReLU, 0, 64)})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := got.Certificate.Guaranteed(), want.Certificate.Guaranteed(); math.Abs(a-b) > 1e-3 {
		t.Errorf("guaranteed %v, from memory %v", a, b)
	}
	if got.Training.Learner != want.Learner {
		t.Errorf("prior by %s, from memory %s", got.Training.Learner, want.Learner)
	}
	p := policy(t, got)
	file := earns(t, p, task.Data.Test)
	used := features.Encoder{Names: got.File.Components[0].Encoder.Names, Scale: got.File.Components[0].Encoder.Scale, Unit: true}
	seen, err := want.Components[0].In.Of(chosen{task.Data.Test, columnsOf(used.Names)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	memory := train.Evaluate(want.Policy, want.Posterior, seen, task.Data.Test.Labels, 1).Mean
	if math.Abs(file-memory) > .01 {
		t.Errorf("earns %v, from memory %v", file, memory)
	}
	if file < got.Certificate.Guaranteed() {
		t.Errorf("earns %v, guaranteed %v", file, got.Certificate.Guaranteed())
	}
}

// onlyUsed is a log with the features that an encoder has.
func onlyUsed(l *logs.Log, e *features.Encoder) *logs.Log {
	out := *l
	out.X = chosen{l.X, columnsOf(e.Names)}
	return &out
}

func columnsOf(names []string) []int {
	columns := make([]int, len(names))
	for j, name := range names {
		columns[j], _ = strconv.Atoi(name[2:])
	}
	return columns
}

// chosen are some columns of contexts.
type chosen struct {
	logs.Contexts
	columns []int
}

func (c chosen) Dim() int { return len(c.columns) }

func (c chosen) Row64(i int, dst []float64) {
	all := make([]float64, c.Contexts.Dim())
	c.Contexts.Row64(i, all)
	for j, at := range c.columns {
		dst[j] = all[at]
	}
}

func (c chosen) Row32(i int, dst []float32) {
	all := make([]float32, c.Contexts.Dim())
	c.Contexts.Row32(i, all)
	for j, at := range c.columns {
		dst[j] = all[at]
	}
}

// With OPL_LONG=1: the whole of MNIST, from a file, against the rewards of compare.
func TestLearn_OfWholeMNISTEarnsAsCompareDoes(t *testing.T) {
	if os.Getenv("OPL_LONG") == "" {
		return
	}
	task := problem(t, "")
	path := filepath.Join(t.TempDir(), "mnist.parquet")
	export(t, path, task)
	if info, err := os.Stat(path); err == nil {
		t.Logf("%d MB", info.Size()>>20)
	}
	log := open(t, path, logs.Options{})
	for _, kind := range []string{"max", "none"} {
		l := mustLearn(t, log, pipeline.Options{Seed: 1, Scaling: logs.Scaling{Kind: kind, Intercept: true, Unit: true}})
		reward := earns(t, policy(t, l), task.Data.Test)
		t.Logf("scaling %s: earns %.4f on the test set (logging policy %.4f), guaranteed %.4f by %s, prior by %s of scale %v, %.0f s",
			kind, reward, task.LoggingReward, l.Certificate.Guaranteed(), l.Certificate.Statement().Best().Name, l.Training.Learner, l.File.Components[0].Prior.Scale, l.Training.Seconds)
		if reward < .90 || reward < l.Certificate.Guaranteed() {
			t.Errorf("scaling %s: earns %v, guaranteed %v", kind, reward, l.Certificate.Guaranteed())
		}
	}
}
