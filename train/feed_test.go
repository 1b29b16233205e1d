package train_test

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/logs"
)

// withoutZeros are contexts that know their zeros, and count how often they are read without and with them.
type withoutZeros struct {
	logs.Rows64
	sparse, full *int
}

func (w withoutZeros) Sparse32(i int, val []float32, at []int32) (n int) {
	*w.sparse++
	for j, v := range w.Data[i*w.Width : (i+1)*w.Width] {
		if v != 0 {
			val[n], at[n] = float32(v), int32(j)
			n++
		}
	}
	return n
}

func (w withoutZeros) Ahead(i int) { _ = w.Data[i*w.Width] } // panics beyond the end

func (w withoutZeros) Row32(i int, dst []float32) {
	*w.full++
	w.Rows64.Row32(i, dst)
}

// copied are contexts of which nothing is read but copies.
type copied struct{ logs.Contexts }

// Steps from contexts that lie in memory are those from copies of them, to the bit, scaled too.
func TestFeed_OfPlacedContextsEqualsCopies(t *testing.T) {
	const n, d, k, rows = 60, 300, 3, 20
	r := train.Stream(1, "placed")
	for _, share := range []float64{.1, 1} {
		x := logs.Rows32{Width: d, Data: make([]float32, n*d)}
		for i := range x.Data {
			if r.Float64() < share {
				x.Data[i] = float32(r.NormFloat64())
			}
		}
		log := &logs.Log{Actions: logs.Numbered(k), Rows: r.Perm(n)}
		for range n {
			log.Action, log.Cost = append(log.Action, int32(r.IntN(k))), append(log.Cost, -r.Float64())
			log.Propensity, log.Propensities = append(log.Propensity, 1./k), append(log.Propensities, 1./k, 1./k, 1./k)
		}
		fit := func(x logs.Contexts, c train.Config) []float64 {
			log := *log
			log.X = x
			c.Weight, c.Seed, c.Epochs, c.BatchSize = objectives.Clip(.1), 1, 2, rows
			res, err := train.Fit(t.Context(), &log, c)
			if err != nil {
				t.Fatal(err)
			}
			return res.Posterior.Mu
		}
		for name, c := range map[string]train.Config{
			"posterior": {Objective: objectives.Theorem1(objectives.LambdaStar), Policy: policies.SoftmaxPosterior{}},
			"layer":     {Objective: objectives.Likelihood(0), Representation: objectives.MLP("relu", 0, 5)},
			"float64":   {Objective: objectives.SampleVariance(1), Dtype: tensor.Float64},
		} {
			copies := copied{x}
			want := fit(copies, c)
			for _, x := range []logs.Contexts{x, logs.Hold(x, 0), logs.Hold(copies, 4*n*d), logs.Hold(copies, 0)} {
				if !slices.Equal(fit(x, c), want) {
					t.Errorf("%s, %v not 0, %T: other bits than from copies", name, share, x)
				}
			}
		}
	}
}

// Steps from contexts without zeros are those from the same in full, to the bit, scaled too, and
// are not fed in full beside.
func TestFeed_WithoutZerosEqualsInFull(t *testing.T) {
	const n, d, k = 60, 40, 3
	r := train.Stream(1, "zeros")
	x := logs.Rows64{Width: d, Data: make([]float64, n*d)}
	for i := range x.Data {
		if r.Float64() < .15 {
			x.Data[i] = r.NormFloat64()
		}
	}
	log := &logs.Log{Actions: logs.Numbered(k)}
	for range n {
		log.Action = append(log.Action, int32(r.IntN(k)))
		log.Cost = append(log.Cost, -r.Float64())
		log.Propensity = append(log.Propensity, 1./k)
		log.Propensities = append(log.Propensities, 1./k, 1./k, 1./k)
	}
	gradients := func(x logs.Contexts, dt tensor.Dtype) (all []float64) {
		s := objectives.Setup{N: n, Delta: .05, Policy: policies.Softmax{}, Weight: objectives.Clip(.1), Prior: policies.Prior{Mean: make([]float64, k*d)}, Actions: k, Dim: d, Training: true}
		s.Params = objectives.NewParams(dt, s.Policy, s.Prior, k, d)
		log := *log
		log.X = x
		const rows = 20
		p, err := objectives.New(s, rows)
		if err != nil {
			t.Fatal(err)
		}
		program, err := p.Graph().Compile(objectives.SampleVariance(1)(p))
		if err != nil {
			t.Fatal(err)
		}
		for from := 0; from < n; from += rows {
			batch := make([]int, rows)
			for i := range batch {
				batch[i] = from + i
			}
			if err := train.Feed(&log).Feed(program, batch); err != nil {
				t.Fatal(err)
			}
			if err := program.Run(); err != nil {
				t.Fatal(err)
			}
			all = append(append(all, program.Cost()), program.Gradient(s.Params.Mu)...)
		}
		return all
	}
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, by := range []float64{1, 1.7} {
			var sparse, full int
			got := gradients(train.Scaled(withoutZeros{x, &sparse, &full}, by), dt)
			if !slices.Equal(got, gradients(train.Scaled(x, by), dt)) {
				t.Errorf("%v, scaled by %v: other bits without zeros", dt, by)
			}
			if sparse > 0 && full > 0 {
				t.Errorf("%v, scaled by %v: rows read %d times without zeros and %d times in full", dt, by, sparse, full)
			}
		}
	}
}
