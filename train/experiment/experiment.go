// Package experiment runs grids of configurations, named as in a [library.Library]: runs share data
// and logs, and go side by side without touching one another's results. Use it to compare many
// configurations; for one use train.Fit.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"

	"opl/graph"
	"opl/graph/kernel"
	"opl/policies"
	"opl/train"
	"opl/train/certify"
	"opl/train/dataset"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/provenance"

	"golang.org/x/sync/errgroup"
)

// Runner runs configurations on labelled data sets turned into logs.
type Runner struct {
	Library library.Library
	DataDir string // where data sets are, see dataset.Open; empty: the usual places
	Jobs    int    // runs side by side; 0: 1
	Curves  bool   // records have learning curves, but for recipes
	Brief   bool   // records have no value of the objective on the whole log, nor its terms

	// Progress, if not nil, is told how far run i is; it may be called from
	// several goroutines.
	Progress func(i int, p train.Progress)

	mu    sync.Mutex
	data  map[string]func() (*dataset.Data, error)
	fits  map[taskKey]func() (fitted, error)
	tasks map[taskKey]func() (*Task, error)
}

// taskKey is what runs must have in common to share a log. Runs that differ in eta0 alone share the fitted
// logging policy.
type taskKey struct {
	dataset string
	eta0    float64
	seed    uint64
	limit   int
}

func keyOf(r train.Run) taskKey { return taskKey{r.Dataset, r.Eta0, r.Seed, r.Limit} }

// once returns the value of a key of m. The first call for a key computes the value by f.
func once[K comparable, T any](e *Runner, m *map[K]func() (T, error), key K, f func() (T, error)) (T, error) {
	e.mu.Lock()
	if *m == nil {
		*m = map[K]func() (T, error){}
	}
	if (*m)[key] == nil {
		(*m)[key] = sync.OnceValues(f)
	}
	get := (*m)[key]
	e.mu.Unlock()
	return get()
}

// fitted is a fitted logging policy, with the rows that are left for the log.
type fitted struct {
	mu0  []float64
	rows []int
}

// Task is one problem of off-policy learning made of a labelled data set: the
// log of a softmax logging policy with parameters η₀μ₀, and a test set.
type Task struct {
	Data          *dataset.Data
	Log           *logs.Log
	Prior         policies.Prior // mean η₀μ₀, scale 1
	LoggingReward float64        // on the test set, exact
}

// Task makes, or returns again, the problem of a run.
func (e *Runner) Task(ctx context.Context, r train.Run) (*Task, error) {
	key := keyOf(r)
	return once(e, &e.tasks, key, func() (*Task, error) { return e.task(ctx, key) })
}

func (e *Runner) task(ctx context.Context, key taskKey) (*Task, error) {
	data, err := e.Data(key.dataset)
	if err != nil {
		return nil, err
	}
	slots, err := slotsOf(key.dataset, data)
	if err != nil {
		return nil, err
	}
	fitKey := key
	fitKey.eta0 = 0
	f, err := once(e, &e.fits, fitKey, func() (fitted, error) {
		logging, log, err := train.Split(data.Train.Len(), key.limit, key.seed)
		if err != nil {
			return fitted{}, err
		}
		mu0, err := train.FitLogging(ctx, data.Train, data.Train.Labels, logging, data.Classes, key.seed)
		return fitted{mu0, log}, err
	})
	if err != nil {
		return nil, err
	}
	k := data.Classes
	theta0 := make([]float64, len(f.mu0))
	for i, m := range f.mu0 {
		theta0[i] = key.eta0 * m
	}
	t := &Task{Data: data, Prior: policies.Prior{Mean: theta0, Scale: 1, Fixed: true}}
	actions := train.Stream(key.seed, "actions")
	if slots > 0 {
		t.Log = logs.ListsFromLabels(data.Train, data.Train.Labels, f.rows, theta0, k, slots, actions)
		t.LoggingReward = train.EvaluateLists(policies.Softmax{}, policies.Posterior{Actions: k, Mu: theta0}, data.Test,
			data.Test.Labels, slots, key.seed).Mean
		return t, nil
	}
	t.Log = logs.FromLabels(data.Train, data.Train.Labels, f.rows, theta0, k, actions)
	pi := make([]float64, k)
	logs.Scores(data.Test, nil, theta0, k, func(i int, scores []float64) {
		kernel.Softmax(pi, scores, k)
		t.LoggingReward += pi[data.Test.Labels[i]]
	})
	t.LoggingReward /= float64(data.Test.Len())
	return t, nil
}

// Data opens a data set, or returns it again.
func (e *Runner) Data(name string) (*dataset.Data, error) {
	name, _ = ListsOf(name)
	return once(e, &e.data, name, func() (*dataset.Data, error) { return dataset.Open(name, e.DataDir) })
}

// Hash returns the hash of a data set.
func (e *Runner) Hash(name string) (string, error) {
	d, err := e.Data(name)
	if err != nil {
		return "", err
	}
	return d.Hash, nil
}

func (e *Runner) do(ctx context.Context, r train.Run, inputs *graph.Inputs, progress func(train.Progress)) (train.Record,
	error) {
	rec := train.Record{Run: r, Versions: train.ThisVersion(), Extensions: train.Extensions(),
		Reward: train.None(), RewardSE: train.None(), RewardAtMean: train.None(), SampledReward: train.None(),
		ObjectiveValue: train.None(), Sigma: train.None(), PriorScale: train.None()}
	t, err := e.Task(ctx, r)
	if err != nil {
		return rec, err
	}
	rec.N, rec.DataHash, rec.LoggingReward = t.Log.Len(), t.Data.Hash, train.Number(t.LoggingReward)
	evaluate := func(p policies.Policy, q policies.Posterior, test logs.Contexts) {
		rw := rewardOf(t, r, p, q, test)
		rec.Reward, rec.RewardSE, rec.SampledReward = train.Number(rw.Mean), train.Number(rw.SE),
			train.Number(rw.Sampled)
		if p.HasPosterior() {
			rec.RewardAtMean, rec.Sigma, rec.PriorScale = train.Number(rw.AtMean), train.Number(q.Sigma),
				train.Number(q.Prior.Scale)
		}
	}
	if r.Objective == train.LoggingPolicy {
		evaluate(policies.Softmax{}, policies.Posterior{Actions: t.Data.Classes, Dim: t.Log.Dim(), Mu: t.Prior.Mean,
			Prior: t.Prior}, t.Data.Test)
		return rec, nil
	}
	c, r, err := e.Library.Config(r, t.Log.Len())
	if err != nil {
		return rec, err
	}
	rec.Hyper, c.Prior, c.Progress, c.Inputs = r.Hyper, t.Prior, progress, inputs
	c.Threads = max(1, runtime.GOMAXPROCS(0)/max(1, e.Jobs))
	if !c.Policy.Noisy() && c.Policy.HasPosterior() && r.Noise == "" {
		rec.Noise = library.Quadrature
	}
	o, err := e.Library.Objective(r.Objective)
	if err != nil {
		return rec, err
	}
	learn := e.learn
	if o.Recipe {
		learn = e.recipe
	}
	q, in, err := learn(ctx, t, r, c, &rec)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return rec, err
	}
	test, err := in.Of(t.Data.Test, c.Threads)
	if err != nil {
		return rec, err
	}
	evaluate(c.Policy, q, test)
	return rec, nil
}

func (e *Runner) recipe(ctx context.Context, t *Task, r train.Run, c train.Config,
	rec *train.Record) (policies.Posterior, *train.Representation, error) {
	out, err := train.Recipe{Share: r.PriorSplit, LayerRate: r.LayerRate}.Learn(ctx, provenance.New(t.Log), t.Log,
		c)
	if err != nil {
		return policies.Posterior{}, nil, err
	}
	s := out.Certificate.Statement()
	rec.Certificate, rec.Seconds, rec.Learner = &s, out.Seconds, out.Learner
	if t.Log.Lists != nil { // rows are slots below what the logging policy showed, and tell nothing of its own lists
		return out.Posterior, out.Components[0].In, nil
	}
	pi, err := out.Play(t.Log, c.Threads)
	if err == nil {
		rec.HeldOut, err = heldOut(t, pi, out.Rows)
	}
	return out.Posterior, out.Components[0].In, err
}

// heldOut evaluates a policy on rows of the log, whose labels are known.
func heldOut(t *Task, pi func(dst []float64, i int) error, rows []int) (*train.HeldOut, error) {
	dst, n := make([]float64, t.Log.K()), float64(len(rows))
	var sum, square float64
	for _, r := range rows {
		if err := pi(dst, r); err != nil {
			return nil, err
		}
		p := dst[t.Data.Train.Labels[t.Log.Context(r)]]
		sum, square = sum+p, square+p*p
	}
	mean := sum / n
	return &train.HeldOut{Rows: len(rows), Reward: mean, SE: math.Sqrt((square/n - mean*mean) / n)}, nil
}

// learn trains an objective, from a prior that is learned on a part of the log if
// the run says so, at each of its prior scales, of which it keeps the one with the
// best guarantee.
func (e *Runner) learn(ctx context.Context, t *Task, r train.Run, c train.Config,
	rec *train.Record) (policies.Posterior, *train.Representation, error) {
	var none policies.Posterior
	if c.Representation != nil { // learning starts at zero: the logging policy's parameters are of other features
		c.Prior = policies.Prior{Scale: 1, Fixed: true}
	}
	search := train.Search{Log: t.Log, Rows: logs.Every(t.Log.Len())}
	var in *train.Representation // learned on rows that do not certify
	if r.PriorSplit > 0 {
		teach, rest, err := train.SplitPrior(t.Log.Len(), r.PriorSplit, r.Seed)
		if err != nil {
			return none, nil, err
		}
		if c.Representation != nil {
			if in, c.Prior, err = train.Represent(ctx, t.Log, teach, c, r.LayerRate); err == nil {
				c.Representation = nil
				search.Log, err = in.View(t.Log, nil, c.Threads)
			}
		} else {
			c.Prior, _, err = train.LearnPrior(ctx, t.Log, teach, c)
		}
		if err != nil {
			return none, nil, err
		}
		search.Rows = rest
	}
	scales := r.PriorScales
	if len(scales) == 0 || !c.Policy.HasPosterior() {
		scales = []float64{1}
	}
	if r.Certify && c.Policy.HasPosterior() {
		var err error
		if search.Judge, err = provenance.New(t.Log).Of(search.Log); err != nil {
			return none, nil, err
		}
	}
	search.Options = certify.Options{Delta: r.Delta, Seed: r.Seed, Threads: c.Threads}
	var curves [][]train.CurvePoint // by scale
	best, res, seconds, err := search.FitScales(ctx, c, scales, func(c *train.Config) func(*train.Result) {
		var curve []train.CurvePoint
		if e.Curves {
			c.Epoch = func(p train.Epoch) bool {
				test, err := cmp.Or(in, p.Represented).Of(t.Data.Test, c.Threads)
				if err != nil {
					return false
				}
				rw := rewardOf(t, r, c.Policy, p.Posterior, test)
				curve = append(curve, train.CurvePoint{Epoch: p.Number, Objective: train.Number(p.Objective),
					Terms: p.Terms, Reward: train.Number(rw.Mean)})
				return true
			}
		}
		return func(*train.Result) { curves = append(curves, curve) }
	})
	if err != nil {
		return none, nil, err
	}
	part := search.Log
	if r.PriorSplit > 0 {
		part = part.Subset(search.Rows)
	}
	c.Prior = res.Posterior.Prior
	if !e.Brief {
		v, err := res.ObjectiveValue(part, c)
		if err != nil {
			return none, nil, err
		}
		rec.ObjectiveValue, rec.Terms = train.Number(v.Objective), v.Terms
	}
	rec.Curve, rec.Seconds = curves[best], seconds
	if search.Certificate != nil {
		s := search.Certificate.Statement()
		rec.Certificate = &s
	}
	return res.Posterior, cmp.Or(in, res.Represented), nil
}

// Each runs configurations, Jobs at a time. It calls done as each run ends, by one goroutine at a time, with the record
// of the run or the reason why it failed. A run that fails does not keep the others from running: Each returns the
// first failure at the end, with its run named. An error of done, or the end of ctx, stops everything and is returned.
// Records do not depend on Jobs. Runs on one log that follow one another go in turns, a step each, and share what they
// read.
func (e *Runner) Each(ctx context.Context, runs []train.Run, done func(i int, rec train.Record,
	err error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := map[taskKey]int{} // runs that still need a task
	for _, r := range runs {
		left[keyOf(r)]++
	}
	var (
		group   errgroup.Group
		ended   sync.Mutex
		stopped error // by done
		failed  []error
	)
	one := func(i int, r train.Run, inputs *graph.Inputs, wait func(struct{}) bool) {
		if ctx.Err() != nil {
			return
		}
		rec, err := e.do(ctx, r, inputs, func(p train.Progress) {
			if e.Progress != nil {
				e.Progress(i, p)
			}
			wait(struct{}{})
		})
		ended.Lock()
		defer ended.Unlock()
		e.mu.Lock()
		if k := keyOf(r); left[k] > 1 {
			left[k]--
		} else {
			delete(e.tasks, k)
		}
		e.mu.Unlock()
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", Name(r), err)
			failed = append(failed, err)
		}
		if err := done(i, rec, err); err != nil && stopped == nil {
			stopped = err
			cancel()
		}
	}
	group.SetLimit(max(1, e.Jobs))
	most := min(8, 1+(len(runs)-1)/(2*max(1, e.Jobs))) // few enough to keep all jobs busy to the end
	for from, to := 0, 0; from < len(runs); from = to {
		for to = from + 1; to < len(runs) && to-from < most && e.together(runs[from], runs[to]); {
			to++
		}
		group.Go(func() error {
			var inputs graph.Inputs
			var going []func() (struct{}, bool)
			for i := from; i < to; i++ {
				next, _ := iter.Pull(func(yield func(struct{}) bool) { one(i, runs[i], &inputs, yield) })
				going = append(going, next)
			}
			for len(going) > 0 {
				going = slices.DeleteFunc(going, func(next func() (struct{}, bool)) bool {
					_, more := next()
					return !more
				})
			}
			return nil
		})
	}
	_ = group.Wait() // failed has the errors
	if len(failed) > 1 {
		failed[0] = fmt.Errorf("%d of %d runs failed, the first: %w", len(failed), len(runs), failed[0])
	}
	return cmp.Or(append([]error{stopped, ctx.Err()}, failed...)...)
}

// together reports that two runs learn from the same log by the same objective, step by step.
func (e *Runner) together(r, s train.Run) bool {
	o, err := e.Library.Objective(r.Objective)
	return err == nil && !o.Recipe && keyOf(r) == keyOf(s) && r.Objective == s.Objective
}

// Name names a run in messages.
func Name(r train.Run) string {
	s := what(r)
	if r.Lambda != "" && r.Lambda != "star" {
		s += ", λ " + r.Lambda
	}
	if r.Penalty.Valid() {
		s += fmt.Sprintf(", penalty %v", r.Penalty)
	}
	return fmt.Sprintf("%s, %s η₀=%v seed %d", s, r.Dataset, r.Eta0, r.Seed)
}
