package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
	"opl/train/logs"
)

// Config says how to learn. The zero values of all but Objective and Epochs
// stand for the paper's setting.
type Config struct {
	Objective objectives.Objective // to minimize
	Weight    objectives.Weight    // none: IPS
	Policy    policies.Policy      // nil: softmax
	Prior     policies.Prior       // mean [K×d], or W [p×d] of actions with features; nil: zero. Learning starts there
	Delta     float64              // δ in (0, 1); 0: 0.05
	// Representation makes the features that the policy is linear in, and is learned along,
	// for policies without a posterior; nil: the log's contexts. It sees them scaled, so that
	// the mean of ‖φ(x)‖² is d/2. A prior's mean is then [K×m], and nil where it is zero.
	Representation objectives.Representation

	Epochs       int          // passes over the log, 0 or more
	BatchSize    int          // 0: 128
	LearningRate float64      // 0: 0.1, and 0.002 with a representation; of μ/s and log σ for a prior of scale s
	Schedule     Schedule     // of the learning rate; nil: constant
	WeightDecay  float64      // coupled, see Adam
	Decoupled    bool         // the weight decay is: AdamW
	Seed         uint64       // of the order of rows and of the noise
	Dtype        tensor.Dtype // zero: float32
	// Threads is how many threads a step of a large problem may use; 0: as many
	// as Go runs. The result is the same for any number. Where runs go side by
	// side, 1 is best.
	Threads int

	// Inputs are shared by trainings that take turns, a step each, as Progress can make them: those on the same rows,
	// with the same seed and batch size, read each minibatch and draw its noise once. nil: the training's own.
	Inputs *graph.Inputs

	// Progress, if not nil, is told after every step.
	Progress func(Progress)
	// Epoch, if not nil, is told after every epoch, and says whether to go on.
	Epoch func(Epoch) bool

	stage   string     // see Epoch
	items   *itemTable // of the log; nil: not read yet
	checked bool       // the log is some rows of one that is learnable
}

// Epoch reports one pass over the rows.
type Epoch struct {
	Stage       string             // of a recipe: what is being learned, such as "prior"
	Prior       bool               // that is the prior's mean
	Number      int                // from 1
	Objective   float64            // mean over the epoch's rows of the minibatches' objectives
	Terms       []objectives.Term  // their scalar terms, likewise
	Posterior   policies.Posterior // at the end of the epoch; Sigma 0 of a point policy
	Represented *Representation    // as it is; it learns on
}

// Schedule gives the factor of the learning rate at a share t of the training,
// from 0 at the first step to nearly 1 at the last.
type Schedule func(t float64) float64

// Linear falls from 1 to 0.
func Linear(t float64) float64 { return 1 - t }

// Progress says how far a training is.
type Progress struct {
	Stage         string  // see Epoch
	Epoch, Epochs int     // from 1
	Step, Steps   int     // of all epochs, from 1; 0 as a stage without steps begins
	Cost          float64 // objective of the step's minibatch
}

// Result is the outcome of a training.
type Result struct {
	Params      *objectives.Params // all that was learned, Mu and log σ among them
	Policy      policies.Policy    // that was learned
	Posterior   policies.Posterior // what the policy draws θ from; Sigma 0 of a point policy
	Steps       int                // of Adam
	Stopped     int                // the epoch after which Config.Epoch stopped the training; 0: it did not
	Seconds     float64            // of the training's steps
	Represented *Representation    // what was learned along; nil: none
}

// Fit minimizes an objective on a log by Adam over minibatches, reshuffled every
// epoch; the last, partial minibatch of an epoch keeps its true number of rows.
// Of a log whose actions have features, which must be encoded, it learns W [p×m] of the scores
// h(x)ᵀWᵀz(a): the rows of Posterior.Mu are then features of actions. The vectors z(a) are in
// memory, in the element type, without most of their zeros.
// The log is checked first.
// It stops with ctx's error when ctx ends, and with an error that names epoch and
// step when a value is not finite.
func Fit(ctx context.Context, log *logs.Log, c Config) (*Result, error) {
	f := fitting{Config: c, log: log, Result: &Result{}}
	if err := f.settle(); err != nil {
		return nil, err
	}
	if err := f.build(); err != nil {
		return nil, err
	}
	for number := 1; number <= f.Epochs && f.Stopped == 0; number++ {
		sums, err := f.epoch(ctx, number)
		if err != nil {
			return nil, err
		}
		if f.Config.Epoch != nil && !f.Config.Epoch(Epoch{f.stage, f.stage == learnsPrior, number, sums.objective,
			sums.terms, f.posterior(), f.Represented}) {
			f.Stopped = number
		}
	}
	f.Posterior = f.posterior()
	for _, v := range append([]float64{f.Posterior.Sigma}, f.Posterior.Mu...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("a learned parameter is %v at the end", v)
		}
	}
	return f.Result, nil
}

// fitting is a Fit on its way.
type fitting struct {
	Config // without zero values
	*Result
	log         *logs.Log
	slots       int            // of each list, where lists are what a minibatch has; 0: it has rows
	k, m        int            // actions, or features of actions, and features of contexts
	given       policies.Prior // as the caller has it; Config has it as it is learned from
	size        int            // rows of a minibatch, or lists
	whole, last *graph.Program // of a minibatch, and of the last of an epoch
	order       []int          // of rows, or lists
	steps       int            // of all epochs
	feed        objectives.Rows
	listed      []int // see rowsOf
	adam        Adam

	shuffle *rand.Rand
	noise   *rand.PCG
}

// mostHeld is how many bytes the vectors of a training's rows may take in memory.
const mostHeld = 256 << 20

// settle checks the log and the configuration, and fills in what the latter leaves open.
func (f *fitting) settle() (err error) {
	if !f.checked {
		if err := f.log.Learnable(); err != nil {
			return err
		}
	}
	f.log = f.log.Read(mostHeld)
	if f.items == nil {
		if f.items, err = itemsOf(f.log); err != nil {
			return err
		}
	}
	n, c := f.log.Len(), &f.Config
	f.k, f.m = f.items.outputs(f.log), f.log.Dim()
	c.BatchSize = cmp.Or(c.BatchSize, 128)
	c.Dtype, c.Threads = cmp.Or(c.Dtype, tensor.Float32), cmp.Or(c.Threads, runtime.GOMAXPROCS(0))
	c.Policy = cmp.Or[policies.Policy](c.Policy, policies.Softmax{})
	f.Params = &objectives.Params{Dtype: c.Dtype, Seed: c.Seed}
	if c.Representation == nil {
		c.LearningRate = cmp.Or(c.LearningRate, 0.1)
	} else {
		c.LearningRate = cmp.Or(c.LearningRate, 0.002)
		if c.Policy.HasPosterior() {
			return errPosterior
		}
		if f.m, err = f.Params.Width(c.Representation, f.m); err != nil {
			return err
		}
	}
	if c.Prior.Mean == nil {
		c.Prior.Mean = make([]float64, f.k*f.m)
	}
	switch {
	case n == 0:
		return errors.New("train: the log is empty")
	case c.Objective == nil:
		return errors.New("train: no objective")
	case c.Epochs < 0:
		return fmt.Errorf("train: %d epochs, want 0 or more", c.Epochs)
	case c.BatchSize < 0:
		return fmt.Errorf("train: batch size %d, want at least 1", c.BatchSize)
	case !(c.LearningRate > 0) || math.IsInf(c.LearningRate, 1):
		return fmt.Errorf("train: learning rate %v, want a positive number", c.LearningRate)
	case len(c.Prior.Mean) != f.k*f.m:
		return fmt.Errorf("train: prior mean of %d numbers for %d actions, or features of actions, and %d features",
			len(c.Prior.Mean), f.k, f.m)
	case c.items != nil && c.Policy.HasPosterior():
		return &objectives.UnfitError{Reason: objectives.Correlated}
	}
	if f.slots = f.slotsOf(); f.slots > 0 {
		n, c.BatchSize = n/f.slots, max(1, c.BatchSize/f.slots)
	}
	f.order = logs.Every(n)
	f.size, f.steps = min(c.BatchSize, n), c.Epochs*((n+c.BatchSize-1)/c.BatchSize)
	f.given, c.Prior.Mean = c.Prior, c.items.scaled(slices.Clone(c.Prior.Mean), false)
	return nil
}

// build makes the parameters, the programs of minibatches, and what goes through the log.
func (f *fitting) build() (err error) {
	f.Result.Policy = f.Config.Policy
	linear := objectives.NewParams(f.Dtype, f.Config.Policy, f.Prior, f.k, f.m)
	f.Params.Mu, f.Params.LogSigma = linear.Mu, linear.LogSigma
	if f.Representation != nil {
		f.Represented = &Representation{build: f.Representation, params: f.Params, scale: inputScale(f.log),
			d: f.log.Dim()}
		f.log = deepLog(f.log, f.Represented.scale)
	}
	n := len(f.order)
	if f.whole, err = f.compile(f.size); err != nil {
		return err
	}
	if f.last = f.whole; n%f.size > 0 {
		if f.last, err = f.compile(n % f.size); err != nil {
			return err
		}
	}
	f.shuffle, f.noise = Stream(f.Seed, "order"), source(f.Seed, "noise")
	f.feed = rows{f.log, &sync.Map{}, max(1, f.slots)}
	f.adam = Adam{LearningRate: f.LearningRate, WeightDecay: f.WeightDecay, Decoupled: f.Decoupled,
		Threads: f.Threads}
	if s := cmp.Or(f.Prior.Scale, 1) * f.items.factor(); s != 1 {
		f.adam.Rates = []float64{s} // of μ, the first of Params.All()
	}
	return nil
}

// compile compiles the objective on so many rows, or lists.
func (f *fitting) compile(rows int) (*graph.Program, error) {
	s := f.Config.setup(f.log, f.Params)
	s.Training, s.Slots, s.Inputs = true, f.slots, f.Inputs
	p, err := objectives.New(s, rows)
	if err != nil {
		return nil, err
	}
	return p.Graph().Compile(f.Objective(p), graph.Threads(f.Threads))
}

// epoch takes a step on each minibatch of the log, and sums up what they gave if Config.Epoch is to know.
func (f *fitting) epoch(ctx context.Context, number int) (sums epochSums, err error) {
	n, begin := len(f.order), time.Now()
	f.shuffle.Shuffle(n, func(i, j int) { f.order[i], f.order[j] = f.order[j], f.order[i] })
	for from := 0; from < n; from += f.size {
		if err := ctx.Err(); err != nil {
			return sums, err
		}
		p, rows := f.whole, f.order[from:min(from+f.size, n)]
		if len(rows) < f.size {
			p = f.last
		}
		if f.Schedule != nil {
			f.adam.LearningRate = f.LearningRate * f.Schedule(float64(f.Steps)/float64(f.steps))
		}
		f.Steps++
		err := p.Rows(f.log, rows, n, func() error { return f.feed.Feed(p, f.rowsOf(rows)) })
		if err == nil {
			p.RefillFrom(f.noise)
			err = p.Run()
		}
		if err == nil {
			err = stepOf(&f.adam, p, f.Params.All())
		}
		if err != nil {
			return sums, fmt.Errorf("epoch %d, step %d: %w", number, from/f.size+1, err)
		}
		f.Seconds += time.Since(begin).Seconds()
		if f.Progress != nil {
			f.Progress(Progress{f.stage, number, f.Epochs, f.Steps, f.steps, p.Cost()})
		}
		begin = time.Now()
		if f.Config.Epoch != nil {
			sums.add(p, float64(len(rows))/float64(n))
		}
	}
	return sums, nil
}

// posterior is the one that the parameters stand for.
func (f *fitting) posterior() policies.Posterior {
	q := policies.Posterior{Actions: f.k, Dim: f.m, Mu: f.items.scaled(f.Params.Mu.Float64s(), true), Prior: f.given}
	if f.Params.LogSigma != nil {
		q.Sigma = math.Exp(f.Params.LogSigma.Float64s()[0])
	}
	return q
}

// epochSums are the weighted sums of an epoch's minibatches.
type epochSums struct {
	objective float64
	terms     []objectives.Term
}

func (s *epochSums) add(p *graph.Program, weight float64) {
	s.objective += weight * p.Cost()
	i := 0
	for _, name := range p.Terms() {
		if v := p.Read(name); len(v) == 1 {
			if i == len(s.terms) {
				s.terms = append(s.terms, objectives.Term{Name: name})
			}
			s.terms[i].Value += weight * v[0]
			i++
		}
	}
}

// Propensities computes π_Q(·|x) of the learned policy for contexts, in float64,
// and hands each one's K probabilities to use, in a slice that is used again. They
// are exact where the family has an exact form, else means over 1,024 fixed draws. Of actions with features
// contexts do not say what is offered: see certify.Play.
func (r *Result) Propensities(x logs.Contexts, use func(i int, pi []float64)) {
	propensities(r.Policy, r.Posterior, x, func(i int, _, mean []float64, _ int, _ func(int) []float64) {
		use(i, mean)
	})
}

// ObjectiveValue returns the objective that c minimizes, on the whole log at the
// learned parameters, in float64.
func (r *Result) ObjectiveValue(log *logs.Log, c Config) (objectives.Value, error) {
	if c.Prior.Mean == nil {
		c.Prior.Mean = make([]float64, r.Params.Mu.Len())
	}
	if r.Represented != nil {
		log = deepLog(log, r.Represented.scale)
	}
	var err error
	if c.items, err = itemsOf(log); err != nil {
		return objectives.Value{}, err
	}
	c.Prior.Mean = c.items.scaled(slices.Clone(c.Prior.Mean), false)
	return objectives.Evaluate(c.Objective, c.setup(log, r.Params), Feed(log), c.Seed)
}
