// Command speed measures training steps of opl beside the same steps in PyTorch.
//
//	go run ./testdata/speed              # the table
//	go run ./testdata/speed --check      # that both compute the same, nothing else
//	go run ./testdata/speed --scaling    # how a step's time grows
//	go run ./testdata/speed --limits     # a step's operations and bytes, and the share of the machine's peak
//	go run ./testdata/speed --regress    # kernels and steps beside the path in Go, and what baseline.json keeps
//	go run ./testdata/speed --evaluation # how certify and evaluate grow in rows and actions
//	go run ./testdata/speed --reading DIR --duckdb FOLDER --opl OPL   # reading logs beside DuckDB, see reading.go
//	go run ./testdata/speed --serving ADDRESS   # how long decisions of a server take, at a rate
//
// One step is forward, backward and the update by Adam, in float32. Ours is the
// step of train.Fit: rows fed from the log in shuffled order, dense contexts held in 32 bits as
// `opl train` does (logs.Hold), fresh noise, a run of
// the program, Adam. PyTorch's minibatches lie ready as tensors, its noise comes
// from torch.randn. Both have the same contexts, actions, costs, propensities and
// parameters, and run by turns, so that what else the machine does strikes both.
// Before they are measured, value and gradients are compared on the same noise, in
// float64 to 1e-9 and in float32 to 1e-4 relative; a difference is an error.
//
// PyTorch comes with Debian's packages python3-torch and libopenblas0-pthread.
// Without it ours is measured alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opl/graph/kernel"
	"opl/train/dataset"
	"opl/train/library"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command().ExecuteContext(ctx)
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// mnistDim is the number of features of MNIST.
const mnistDim = 784

// options are the flags.
type options struct {
	bench
	sizes                            map[string]*[]int // by their letters
	dense, checkOnly, scaling, alone bool
	noiseName, python, format, data  string
	steps, baseline                  string
	limits, regress, write           bool
	evaluation                       bool
	reading                          reading
	serving                          serving
	duckdb                           string
}

func command() *cobra.Command {
	o := options{bench: bench{log: os.Stderr}, sizes: map[string]*[]int{}}
	c := &cobra.Command{
		Use: "speed", Short: "measure training steps of opl beside PyTorch's", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	f := c.Flags()
	for _, s := range sizes {
		o.sizes[s.letter] = f.IntSlice(s.flag, s.usual, s.help)
	}
	f.BoolVar(&o.dense, "dense", false, "random dense contexts in place of MNIST's")
	f.BoolVar(&o.checkOnly, "check", false, "compare values and gradients, and measure nothing")
	f.BoolVar(&o.scaling, "scaling", false, "measure how the processor time of a step, on one thread, grows in B, K, d, S and H, and in actions offered, without PyTorch")
	f.BoolVar(&o.limits, "limits", false, "print each step's operations and bytes, and its share of the measured peak, on one thread")
	f.BoolVar(&o.regress, "regress", false, "compare kernels and steps, as ratios to the path in Go, with --baseline; fail if one is slower")
	f.StringVar(&o.baseline, "baseline", "testdata/speed/baseline.json", "file of the ratios that --regress compares with")
	f.BoolVar(&o.write, "write", false, "with --regress: keep today's ratios in --baseline")
	f.BoolVar(&o.evaluation, "evaluation", false, "measure how certificates and estimates grow in n and K")
	f.StringVar(&o.reading.dir, "reading", "", "measure how long opl inspect takes for log.parquet, log.csv and log.jsonl in this folder, which are made if they are not there, beside DuckDB, and nothing else")
	f.StringVar(&o.duckdb, "duckdb", ".", "folder where npm has installed @duckdb/node-api")
	f.StringVar(&o.reading.opl, "opl", "opl", "the opl that reads")
	f.IntVar(&o.reading.rows, "rows", 1_000_000, "rows of a log that is made")
	f.IntVar(&o.reading.features, "features", 50, "features of a log that is made")
	f.IntVar(&o.reading.digits, "digits", 3, "decimals of its features; negative: all")
	f.StringVar(&o.serving.address, "serving", "", "measure how long decisions of the server at this address take, and nothing else")
	f.IntVar(&o.serving.rate, "rate", 20_000, "decisions a second")
	f.IntVar(&o.serving.conns, "connections", 8, "connections that ask for them")
	f.IntVar(&o.serving.seconds, "seconds", 10, "how long")
	f.BoolVar(&o.alone, "alone", false, "measure without PyTorch")
	f.IntVar(&o.rounds, "rounds", 5, "rounds of turns")
	f.DurationVar(&o.budget, "budget", 300*time.Millisecond, "time of one side in one round, at least one step")
	f.Float64Var(&o.memory, "memory", 8, "GiB that PyTorch may take; what needs more does not fit")
	f.StringVar(&o.noiseName, "noise", "lowdiscrepancy", "our noise: lowdiscrepancy (that of train.Fit), iid or antithetic")
	f.StringVar(&o.steps, "steps", "", "only steps whose names contain this, such as layer; of --scaling as in its table")
	f.StringVar(&o.python, "python", "", "interpreter that has torch; none: /usr/bin/python3, then python3")
	f.StringVar(&o.format, "format", "markdown", "markdown or json")
	f.StringVar(&o.data, "data", "", "folder that holds MNIST; none: the module cache")
	return c
}

// size is one of the numbers that a shape is made of.
type size struct {
	letter, flag string
	usual        []int
	least        int
	of           func(s *shape) *int
	help, or     string // or: what 0 stands for, if it may be
}

var sizes = []size{
	{"B", "batch", []int{128}, 1, func(s *shape) *int { return &s.Batch },
		"B, rows of a minibatch; a list gives a table of all combinations, as with the next ones", ""},
	{"K", "actions", []int{10, 100, 1000}, 2, func(s *shape) *int { return &s.Actions },
		"K, actions; with --scaling the first is K where K does not vary, by default 100", ""},
	{"d", "dim", []int{mnistDim}, 1, func(s *shape) *int { return &s.Dim }, "d, features; other than 784 implies --dense", ""},
	{"S", "samples", []int{32}, 1, func(s *shape) *int { return &s.Samples }, "S, draws of noise", ""},
	{"H", "units", []int{usualUnits}, 1, func(s *shape) *int { return &s.Units }, "H, units of a hidden layer", ""},
	{"J", "nodes", []int{0}, 2, func(s *shape) *int { return &s.Nodes },
		"J, nodes of the quadrature on both sides; 0: 33 up to K = 12, 65 above", ", or 0 for the default"},
}

// shapes are all combinations of the lists.
func (o *options) shapes() ([]shape, error) {
	all := []shape{{Dense: o.dense}}
	for _, z := range sizes {
		var more []shape
		for _, s := range all {
			for _, v := range *o.sizes[z.letter] {
				if v < z.least && (v != 0 || z.or == "") {
					return nil, fmt.Errorf("--%s %d: want at least %d%s", z.flag, v, z.least, z.or)
				}
				*z.of(&s) = v
				more = append(more, s)
			}
		}
		all = more
	}
	for i := range all {
		s := &all[i]
		s.Dense = s.Dense || s.Dim != mnistDim
		if s.Nodes == 0 {
			s.Nodes = kernel.DefaultNodes(s.Actions)
		}
	}
	return all, nil
}

func (o *options) run(ctx context.Context) error {
	shapes, err := o.shapes()
	if err != nil {
		return err
	}
	write, ok := formats[o.format]
	if !ok {
		return fmt.Errorf("--format %s: want markdown or json", o.format)
	}
	if o.rounds < 1 {
		return fmt.Errorf("--rounds %d: want at least 1", o.rounds)
	}
	if r := o.reading; r.dir != "" {
		r.rounds, r.log, r.duckdb = o.rounds, o.log, o.duckdb
		return r.run(ctx, os.Stdout)
	}
	if o.serving.address != "" {
		return o.serving.run(ctx, os.Stdout)
	}
	noise, err := library.Standard().Noise(o.noiseName)
	if err != nil {
		return fmt.Errorf("--noise: %w", err)
	}
	b := &o.bench
	b.noise = noise.Noise

	switch {
	case o.regress:
		runtime.GOMAXPROCS(1)
		return b.regress(ctx, os.Stdout, o.baseline, o.write)
	case o.evaluation:
		return b.evaluation(ctx, os.Stdout)
	}
	var images *dataset.Data
	if o.scaling || slices.ContainsFunc(shapes, func(s shape) bool { return !s.Dense }) {
		if images, err = dataset.Open("mnist", o.data); err != nil {
			return err
		}
		if images.Train.Dim() != mnistDim {
			return fmt.Errorf("%s: images of %d pixels, want MNIST's %d", images.Dir, images.Train.Dim(), mnistDim)
		}
	}
	if !o.scaling && !o.alone {
		b.peer, err = newPeer(ctx, o.python)
		switch {
		case errors.Is(err, errNoPeer):
			fmt.Fprintln(os.Stderr, err)
		case err != nil:
			return err
		default:
			defer b.peer.Close()
		}
	}

	if o.limits {
		runtime.GOMAXPROCS(1)
		var tasks []*task
		for _, s := range shapes {
			tasks = append(tasks, newTask(s, images))
		}
		return b.limits(ctx, os.Stdout, tasks)
	}
	doc := newDocument(b)
	if o.scaling {
		runtime.GOMAXPROCS(1)
		if doc.Growth, err = b.scaling(ctx, o.base(shapes[0]), o.steps, images); err != nil {
			return err
		}
		return write(os.Stdout, doc)
	}
	if o.checkOnly && b.peer == nil {
		return nil // said above
	}
	for _, s := range shapes {
		if err := b.shape(ctx, newTask(s, images), o.steps, o.checkOnly, doc); err != nil {
			return err
		}
	}
	if o.checkOnly {
		return nil
	}
	return write(os.Stdout, doc)
}

// base is the shape that scaling starts from. The number of nodes stays the same
// while K varies.
func (o *options) base(s shape) shape {
	if len(*o.sizes["K"]) > 1 {
		s.Actions = 100
	}
	if (*o.sizes["J"])[0] == 0 {
		s.Nodes = kernel.DefaultNodes(s.Actions)
	}
	return s
}

// shape checks the rows of the table whose labels contain only for a task, then measures them.
func (b *bench) shape(ctx context.Context, t *task, only string, checkOnly bool, doc *document) error {
	all := slices.DeleteFunc(rows(), func(r row) bool {
		return !strings.Contains(r.label, only) || t.conv == nil && r.ours.name == likelihoodConv.name // no image
	})
	if len(all) == 0 {
		return fmt.Errorf("--steps %s: no step of these sizes has this in its name", only)
	}
	if b.peer != nil {
		if err := b.peer.load(t); err != nil {
			return err
		}
		for _, r := range all {
			if err := b.check(t, r); err != nil {
				return err
			}
		}
	} else {
		all = slices.CompactFunc(all, func(r, s row) bool { return r.ours.name == s.ours.name })
	}
	if checkOnly {
		return nil
	}
	for _, r := range all {
		res, err := b.row(ctx, t, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name(t.shape), err)
		}
		doc.Steps = append(doc.Steps, res)
		fmt.Fprintf(b.log, "%s, K=%d: %s\n", res.Step, res.Actions, strings.ReplaceAll(res.Ours.micros()+" µs, PyTorch "+res.Peer.micros()+" µs, ratio "+res.Ratio.ratio(), "*", ""))
	}
	return nil
}
