package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
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
	Objective objectives.Objective
	Weight    objectives.Weight // none: IPS
	Policy    policies.Policy   // nil: softmax
	Prior     policies.Prior    // mean [K×d], or W [p×d] of actions with features; nil: zero. Learning starts there
	Delta     float64           // δ in (0, 1); 0: 0.05
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

	// Progress, if not nil, is told after every step.
	Progress func(Progress)
	// Epoch, if not nil, is told after every epoch, and says whether to go on.
	Epoch func(Epoch) bool

	stage   string     // see Epoch
	items   *itemTable // of the log; nil: not read yet
	checked bool       // the log is some rows of one that is learnable
}

// Epoch is what an epoch gave.
type Epoch struct {
	Stage       string            // of a recipe: what is being learned, such as "prior"
	Number      int               // from 1
	Objective   float64           // mean over the epoch's rows of the minibatches' objectives
	Terms       []objectives.Term // their scalar terms, likewise
	Posterior   policies.Posterior
	Represented *Representation // as it is; it learns on
}

// Schedule gives the factor of the learning rate at a share t of the training,
// from 0 at the first step to nearly 1 at the last.
type Schedule func(t float64) float64

// Linear falls from 1 to 0.
func Linear(t float64) float64 { return 1 - t }

// Progress is where a training is.
type Progress struct {
	Stage         string // see Epoch
	Epoch, Epochs int    // from 1
	Step, Steps   int    // of all epochs, from 1
	Cost          float64
}

// Result is what a training gives.
type Result struct {
	Params      *objectives.Params
	Policy      policies.Policy
	Posterior   policies.Posterior
	Steps       int
	Stopped     int             // the epoch after which Config.Epoch stopped the training; 0: it did not
	Seconds     float64         // of the training alone
	Represented *Representation // what was learned along; nil: none
}

// Fit minimizes an objective on a log by Adam over minibatches, reshuffled every
// epoch; the last, partial minibatch of an epoch keeps its true number of rows.
// Of a log whose actions have features, which must be encoded, it learns W [p×m] of the scores h(x)ᵀWᵀz(a): the rows of
// Posterior.Mu are then features of actions. The vectors z(a) are in memory, in the element type, without most of their zeros.
// The log is checked first.
// It stops with ctx's error when ctx ends, and with an error that names epoch and
// step when a value is not finite.
func Fit(ctx context.Context, log *logs.Log, c Config) (*Result, error) {
	if !c.checked {
		if err := log.Learnable(); err != nil {
			return nil, err
		}
	}
	if c.items == nil {
		var err error
		if c.items, err = itemsOf(log); err != nil {
			return nil, err
		}
	}
	n, k, d := log.Len(), c.items.outputs(log), log.Dim()
	c.BatchSize = cmp.Or(c.BatchSize, 128)
	if c.Representation == nil {
		c.LearningRate = cmp.Or(c.LearningRate, 0.1)
	}
	c.LearningRate = cmp.Or(c.LearningRate, 0.002)
	c.Dtype, c.Threads = cmp.Or(c.Dtype, tensor.Float32), cmp.Or(c.Threads, runtime.GOMAXPROCS(0))
	c.Policy = cmp.Or[policies.Policy](c.Policy, policies.Softmax{})
	params := &objectives.Params{Dtype: c.Dtype, Seed: c.Seed}
	m := d
	if c.Representation != nil {
		if c.Policy.HasPosterior() {
			return nil, errPosterior
		}
		var err error
		if m, err = params.Width(c.Representation, d); err != nil {
			return nil, err
		}
	}
	if c.Prior.Mean == nil {
		c.Prior.Mean = make([]float64, k*m)
	}
	switch {
	case n == 0:
		return nil, errors.New("train: the log is empty")
	case c.Objective == nil:
		return nil, errors.New("train: no objective")
	case c.Epochs < 0:
		return nil, fmt.Errorf("train: %d epochs, want 0 or more", c.Epochs)
	case c.BatchSize < 0:
		return nil, fmt.Errorf("train: batch size %d, want at least 1", c.BatchSize)
	case !(c.LearningRate > 0) || math.IsInf(c.LearningRate, 1):
		return nil, fmt.Errorf("train: learning rate %v, want a positive number", c.LearningRate)
	case len(c.Prior.Mean) != k*m:
		return nil, fmt.Errorf("train: prior mean of %d numbers for %d actions, or features of actions, and %d features", len(c.Prior.Mean), k, m)
	case c.items != nil && c.Policy.HasPosterior():
		return nil, &objectives.UnfitError{Reason: objectives.Correlated}
	}
	given := c.Prior
	c.Prior.Mean = c.items.scaled(slices.Clone(c.Prior.Mean), false)
	size := min(c.BatchSize, n)
	linear := objectives.NewParams(c.Dtype, c.Policy, c.Prior, k, m)
	params.Mu, params.LogSigma = linear.Mu, linear.LogSigma
	r := &Result{Params: params, Policy: c.Policy}
	if c.Representation != nil {
		r.Represented = &Representation{build: c.Representation, params: params, scale: inputScale(log), d: d}
		log = deepLog(log, r.Represented.scale)
	}
	compile := func(rows int) (*graph.Program, error) {
		p, err := objectives.New(c.items.setup(log, objectives.Setup{
			N: n, Delta: c.Delta, Policy: c.Policy, Weight: c.Weight, Prior: c.Prior,
			Params: params, Representation: c.Representation, Training: true,
		}), rows)
		if err != nil {
			return nil, err
		}
		return p.Graph().Compile(c.Objective(p), graph.Threads(c.Threads))
	}
	whole, err := compile(size)
	if err != nil {
		return nil, err
	}
	defer whole.Close()
	last := whole
	if n%size > 0 {
		if last, err = compile(n % size); err != nil {
			return nil, err
		}
		defer last.Close()
	}

	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	shuffle, noise := Stream(c.Seed, "order"), Stream(c.Seed, "noise")
	adam := Adam{LearningRate: c.LearningRate, WeightDecay: c.WeightDecay, Decoupled: c.Decoupled, Threads: c.Threads}
	if s := cmp.Or(c.Prior.Scale, 1) * c.items.factor(); s != 1 {
		adam.Rates = []float64{s} // of μ, the first of params.All()
	}
	steps := c.Epochs * ((n + size - 1) / size)
	feed := Feed(log)
	begin := time.Now()
	for epoch := 1; epoch <= c.Epochs; epoch++ {
		shuffle.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		var sums epochSums
		for from := 0; from < n; from += size {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			p, rows := whole, order[from:min(from+size, n)]
			if len(rows) < size {
				p = last
			}
			if c.Schedule != nil {
				adam.LearningRate = c.LearningRate * c.Schedule(float64(r.Steps)/float64(steps))
			}
			r.Steps++
			err := feed.Feed(p, rows)
			if err == nil {
				p.Refill(noise)
				err = p.Run()
			}
			if err == nil {
				err = stepOf(&adam, p, params.All())
			}
			if err != nil {
				return nil, fmt.Errorf("epoch %d, step %d: %w", epoch, from/size+1, err)
			}
			if c.Progress != nil {
				c.Progress(Progress{c.stage, epoch, c.Epochs, r.Steps, steps, p.Cost()})
			}
			if c.Epoch != nil {
				sums.add(p, float64(len(rows))/float64(n))
			}
		}
		if c.Epoch != nil && !c.Epoch(Epoch{c.stage, epoch, sums.objective, sums.terms, c.items.posterior(params, given, k, m), r.Represented}) {
			r.Stopped = epoch
			break
		}
	}
	r.Seconds = time.Since(begin).Seconds()
	r.Posterior = c.items.posterior(params, given, k, m)
	for _, v := range append([]float64{r.Posterior.Sigma}, r.Posterior.Mu...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("a learned parameter is %v at the end", v)
		}
	}
	return r, nil
}

// posterior is the one that parameters stand for.
func (t *itemTable) posterior(params *objectives.Params, prior policies.Prior, k, d int) policies.Posterior {
	q := policies.Posterior{Actions: k, Dim: d, Mu: t.scaled(params.Mu.Float64s(), true), Prior: prior}
	if params.LogSigma != nil {
		q.Sigma = math.Exp(params.LogSigma.Float64s()[0])
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
	propensities(r.Policy, r.Posterior, x, func(i int, _, mean []float64, _ int, _ [][]float64) { use(i, mean) })
}

// ObjectiveValue is the objective that c minimizes, on the whole log at the
// learned parameters, in float64.
func (r *Result) ObjectiveValue(log *logs.Log, c Config) (objectives.Value, error) {
	if c.Prior.Mean == nil {
		c.Prior.Mean = make([]float64, r.Params.Mu.Len())
	}
	if r.Represented != nil {
		log = deepLog(log, r.Represented.scale)
	}
	items, err := itemsOf(log)
	if err != nil {
		return objectives.Value{}, err
	}
	c.Prior.Mean = items.scaled(slices.Clone(c.Prior.Mean), false)
	return objectives.Evaluate(c.Objective, items.setup(log, objectives.Setup{
		Delta: c.Delta, Policy: c.Policy, Weight: c.Weight, Prior: c.Prior, Params: r.Params, Representation: c.Representation,
	}), Feed(log), c.Seed)
}
