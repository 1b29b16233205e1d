package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/dataset"
	"opl/train/logs"
)

// The setting of all measurements, beside the shape.
const (
	logRows      = 57000 // n, what the objectives are over
	delta        = 0.05
	penalty      = 1e-5
	batches      = 8    // minibatches that the log is made of
	usualUnits   = 512  // of the hidden layer, H
	learningRate = 1e-3 // small: both sides stay at about the same parameters
	seed         = 1
)

// shape is what a step's time depends on.
type shape struct {
	Batch   int  `json:"batch"`   // B
	Dim     int  `json:"dim"`     // d
	Actions int  `json:"actions"` // K
	Samples int  `json:"samples"` // S
	Nodes   int  `json:"nodes"`   // J
	Units   int  `json:"units"`   // H
	Dense   bool `json:"dense"`   // random contexts in place of MNIST's
}

// task is a log, a prior and parameters near to it.
type task struct {
	shape
	log      *logs.Log
	prior    policies.Prior
	mu       []float64 // [K×d]
	logSigma float64

	// Of methods with a layer: contexts scaled as train.Fit scales them.
	deep        *logs.Log
	scale       float64
	layer, conv *network // conv: of images of MNIST's size, else nil
}

// network is a representation and the parameters that steps start at.
type network struct {
	build  objectives.Representation
	width  int
	prior  policies.Prior // of the head
	head   []float64      // [K×width]
	layers [][]float64    // weights and biases, one after another
}

// newTask makes a task of a shape: contexts of MNIST, or normal ones of norm 1,
// actions drawn from a softmax policy at normal parameters, which are the prior's
// mean, and costs of −1 for a random half of the rows.
func newTask(s shape, images *dataset.Data) *task {
	r := train.Stream(seed, "speed")
	var x logs.Contexts
	if s.Dense {
		x = logs.Hold(unitRows(r, s.Batch*batches, s.Dim), math.MaxInt) // as `opl train` does
	} else {
		x = images.Train
	}
	rows := make([]int, s.Batch*batches)
	for i := range rows {
		rows[i] = i % x.Len()
	}
	t := &task{shape: s, mu: make([]float64, s.Actions*s.Dim), logSigma: 0.1}
	t.prior.Mean = make([]float64, len(t.mu))
	for i := range t.mu {
		t.prior.Mean[i] = r.NormFloat64()
		t.mu[i] = t.prior.Mean[i] + 0.3*r.NormFloat64()
	}
	t.log = logs.FromLabels(x, make([]uint8, x.Len()), rows, t.prior.Mean, s.Actions, r)
	for i := range t.log.Cost {
		t.log.Cost[i] = -float64(r.IntN(2))
	}
	t.scale = math.Sqrt(float64(s.Dim) / 2) // contexts have norm 1
	t.deep = t.log.WithContexts(train.Scaled(t.log.X, t.scale), nil)
	r = train.Stream(seed, "speed layers")
	normal := func(n int, scale float64) []float64 {
		x := make([]float64, n)
		objectives.Spread(scale)(r, x)
		return x
	}
	// A network of layers of so many units, each of which sees so many numbers.
	of := func(build objectives.Representation, sizes ...[2]int) *network {
		n := &network{build: build, width: sizes[len(sizes)-1][0]}
		n.prior.Mean = normal(s.Actions*n.width, 1/math.Sqrt(float64(n.width)))
		n.head = normal(s.Actions*n.width, 1/math.Sqrt(float64(n.width)))
		for _, l := range sizes {
			n.layers = append(n.layers, normal(l[0]*l[1], math.Sqrt(2/float64(l[1]))), normal(l[0], 0.1))
		}
		return n
	}
	t.layer = of(objectives.MLP("relu", 0, s.Units), [2]int{s.Units, s.Dim})
	if s.Dim == mnistDim {
		t.conv = of(objectives.Conv(objectives.ConvNet{Kernels: []objectives.Kernels{{Number: 16, Size: 5}, {Number: 32, Size: 5}}, Widths: []int{128}}),
			[2]int{16, 25}, [2]int{32, 400}, [2]int{128, 512})
	}
	return t
}

// unitRows returns normal vectors divided by their norms.
func unitRows(r *rand.Rand, n, d int) logs.Rows64 {
	x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
	for i := range n {
		row := x.Data[i*d : (i+1)*d]
		graph.Gaussian(r, row)
		norm := x.Norm(i)
		for j := range row {
			row[j] /= norm
		}
	}
	return x
}

// tau is Clip's default hyperparameter.
func tau() float64 { return objectives.DefaultHyper(logRows, 0) }

// method is an objective for a policy.
type method struct {
	name      string
	objective objectives.Objective
	policy    func(s shape, noise policies.Noise) policies.Policy
	noise     func(s shape) (draws, dim int) // of one row; nil: none
	through   func(t *task) *network         // nil: of the contexts
}

var (
	heuristic = method{
		name:      "heuristic",
		objective: objectives.Heuristic(objectives.Penalties{Distance: penalty, Variance: penalty, Bias: penalty}),
		policy:    func(shape, policies.Noise) policies.Policy { return policies.Softmax{} },
	}
	heuristicLayer = method{
		name: "heuristic through a layer", objective: heuristic.objective, policy: heuristic.policy,
		through: func(t *task) *network { return t.layer },
	}
	likelihoodLayer = method{
		name: "likelihood through a layer", objective: objectives.Likelihood(0), policy: heuristic.policy,
		through: func(t *task) *network { return t.layer },
	}
	likelihoodConv = method{
		name: "likelihood through convolutions", objective: objectives.Likelihood(0), policy: heuristic.policy,
		through: func(t *task) *network { return t.conv },
	}
	theorem1 = method{
		name:      "theorem1",
		objective: objectives.Theorem1(objectives.LambdaStar),
		policy: func(s shape, n policies.Noise) policies.Policy {
			return policies.SoftmaxPosterior{Samples: s.Samples, Noise: n}
		},
		noise: func(s shape) (int, int) { return s.Samples, s.Actions },
	}
	corollary1 = method{
		name:      "corollary1",
		objective: objectives.Corollary1(objectives.LambdaStar),
		policy:    func(s shape, _ policies.Noise) policies.Policy { return policies.Gaussian{Nodes: s.Nodes} },
	}
	// monteCarlo is the paper's estimator. It is compared in value, not in time:
	// the quadrature is what opl has in its place.
	monteCarlo = method{
		name:      "corollary1 by Monte Carlo",
		objective: objectives.Corollary1(objectives.LambdaStar),
		policy: func(s shape, n policies.Noise) policies.Policy {
			return policies.Gaussian{Samples: s.Samples, Noise: n}
		},
		noise: func(s shape) (int, int) { return s.Samples, 1 },
	}
)

// trainer takes the steps that train.Fit takes.
type trainer struct {
	*task
	rows    objectives.Rows
	params  *objectives.Params
	program *graph.Program
	network *network
	noise   *rand.Rand
	order   []int
	steps   int
	adam    train.Adam
}

// newTrainer compiles a method for minibatches of the given number of rows.
func newTrainer(t *task, m method, noise policies.Noise, dt tensor.Dtype, rows int) (*trainer, error) {
	pol := m.policy(t.shape, noise)
	s := objectives.Setup{
		N: logRows, Delta: delta, Policy: pol, Weight: objectives.Clip(tau()), Prior: t.prior,
		Actions: t.Actions, Dim: t.Dim, Training: true,
	}
	log, width := t.log, t.Dim
	var net *network
	if m.through != nil {
		net = m.through(t)
		s.Representation, s.Prior = net.build, net.prior
		log, width = t.deep, net.width
	}
	params := objectives.NewParams(dt, pol, s.Prior, t.Actions, width)
	s.Params = params
	p, err := objectives.New(s, rows)
	if err != nil {
		return nil, err
	}
	program, err := p.Graph().Compile(m.objective(p), graph.Threads(runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	tr := &trainer{task: t, rows: train.Feed(log), params: params, program: program, network: net, order: make([]int, t.log.Len())}
	for i := range tr.order {
		tr.order[i] = i
	}
	tr.reset()
	return tr, nil
}

// reset goes back to the parameters of the task.
func (t *trainer) reset() {
	if t.network != nil {
		t.params.Mu.Set(t.network.head)
		for i, values := range t.network.layers {
			t.params.Layers[i].Set(values)
		}
	} else {
		t.params.Mu.Set(t.mu)
	}
	if t.params.LogSigma != nil {
		t.params.LogSigma.Set([]float64{t.logSigma})
	}
	t.noise = train.Stream(seed, "noise")
	t.adam = train.Adam{LearningRate: learningRate, Threads: t.program.Threads()}
	t.steps = 0
}

// step is one step of training: rows fed from the log in shuffled order, fresh
// noise, forward, backward, Adam.
func (t *trainer) step() error {
	at := t.steps % batches
	if at == 0 {
		t.noise.Shuffle(len(t.order), func(i, j int) { t.order[i], t.order[j] = t.order[j], t.order[i] })
	}
	t.steps++
	if err := t.rows.Feed(t.program, t.order[at*t.Batch:(at+1)*t.Batch]); err != nil {
		return err
	}
	t.program.Refill(t.noise)
	if err := t.program.Run(); err != nil {
		return err
	}
	return train.Step(&t.adam, t.program)
}

// time takes steps from the task's parameters for about so long, at least one,
// after one that does not count, and returns the median of µs a step.
func (t *trainer) time(about time.Duration) (float64, error) {
	t.reset()
	if err := t.step(); err != nil {
		return 0, err
	}
	var micros []float64
	for begin := time.Now(); len(micros) == 0 || time.Since(begin) < about; {
		from := time.Now()
		if err := t.step(); err != nil {
			return 0, err
		}
		micros = append(micros, float64(time.Since(from).Nanoseconds())/1e3)
	}
	return spreadOf(micros).Median, nil
}

// outcome is an objective's value and its gradients.
type outcome struct {
	value, logSigma float64
	gradients       [][]float64 // in the matrix μ, then those of the layer
}

// frozen returns noise for some rows of a method, and its shape; nil for methods
// without noise.
func (t *task) frozen(m method, rows int) (noise []float64, shape []int) {
	if m.noise == nil {
		return nil, nil
	}
	draws, dim := m.noise(t.shape)
	noise = make([]float64, rows*draws*dim)
	graph.Gaussian(train.Stream(seed, "frozen"), noise)
	return noise, []int{rows, draws, dim}
}

// evaluate computes a method on the first rows of the log, at given noise.
func (t *task) evaluate(m method, dt tensor.Dtype, rows int, noise []float64) (outcome, error) {
	tr, err := newTrainer(t, m, nil, dt, rows)
	if err != nil {
		return outcome{}, err
	}
	if err := tr.rows.Feed(tr.program, tr.order[:rows]); err != nil {
		return outcome{}, err
	}
	if m.noise != nil {
		if err := tr.program.Feed(policies.NoiseName, noise); err != nil {
			return outcome{}, err
		}
	}
	if err := tr.program.Run(); err != nil {
		return outcome{}, err
	}
	o := outcome{value: tr.program.Cost()}
	for _, q := range append([]*graph.Param{tr.params.Mu}, tr.params.Layers...) {
		o.gradients = append(o.gradients, tr.program.Gradient(q))
	}
	if tr.params.LogSigma != nil {
		o.logSigma = tr.program.Gradient(tr.params.LogSigma)[0]
	}
	return o, nil
}

// differ returns the largest relative difference of value and gradients, that of
// the gradient in one parameter relative to its largest element. The peer has the
// gradients next to each other.
func (o outcome) differ(p outcome) (float64, error) {
	gap := math.Max(relative(o.value, p.value), relative(o.logSigma, p.logSigma))
	theirs := slices.Concat(p.gradients...)
	if ours := slices.Concat(o.gradients...); len(ours) != len(theirs) {
		return 0, fmt.Errorf("gradients of %d and %d numbers", len(ours), len(theirs))
	}
	for _, ours := range o.gradients {
		var most, size float64
		for i, g := range ours {
			most, size = math.Max(most, math.Abs(g-theirs[i])), math.Max(size, math.Abs(g))
		}
		gap, theirs = math.Max(gap, most/size), theirs[len(ours):]
	}
	return gap, nil
}

func relative(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / math.Max(math.Abs(a), math.Abs(b))
}
