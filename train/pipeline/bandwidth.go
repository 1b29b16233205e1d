package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"opl/policies/propensity"
	"opl/train"
	"opl/train/certify"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/regress"
)

// divisions are how many windows of one width a range of numbers may have room for, where [Options].Bins does
// not say them.
var divisions = []int{4, 8, 16, 32}

// Division says what windows of one width earn, by rows that teach.
type Division struct {
	Bins  int     `json:"intervals"` // windows that the range is divided into
	Value float64 `json:"value"`     // estimated reward of the policy that plays the best window
	Error float64 `json:"error"`     // standard error of that, doubly robust, of as many rows as certify
	Least float64 `json:"least"`     // about what of it as many rows as certify can guarantee
}

// bandwidth divides a log of numbers as finely as offered, and chooses the window of bins whose policy has the
// largest value less a quarter of what of it cannot be guaranteed. It returns the log with the options that divide its
// rows alike, and the rows it has looked at. Narrow windows may earn more, and are guaranteed less: weights are as large
// as windows are narrow. The rows that teach are halved, and each half teaches a model of the finest division. One model
// says which policies are best in the contexts of the other half. What is guaranteed is that of logs as large as the one
// which certifies, simulated by these models. The value is a mean
// of what both models say: the other model says what a policy earns that learned from half of these rows, its own what
// it would earn if it were right. The more rows later policies learn from, the less the other counts. No other row is
// looked at.
func bandwidth(ctx context.Context, lib library.Library, log *logs.Log, o Options, k known) (*logs.Log, Options, known,
	error) {
	if before := cmp.Or(o.PriorFile, o.Distil); before != nil { // the log was read as its policy divides it
		out, numbers := *log, *log.Numbers
		if of := before.File().Numbers; of != nil && of.Bins() == numbers.Of.Bins() {
			numbers.Of.Window = of.Window
		}
		out.Numbers = &numbers
		return &out, o, k, nil
	}
	ks := slices.Compact(slices.Sorted(slices.Values(o.Bins)))
	if len(ks) == 0 {
		ks = divisions
	}
	if ks[0] < 1 {
		return nil, o, k, fmt.Errorf("setting bins %d: want at least 1", ks[0])
	}
	most := ks[len(ks)-1]
	log, err := log.Divided(most)
	if err != nil || len(ks) == 1 {
		return log, o, k, err
	}
	l, err := prepare(lib, log, o, k)
	if err != nil {
		return nil, o, k, err
	}
	middle := len(l.teaching) / 2
	rows := [2][]int{l.teaching[:middle], l.teaching[middle:]}
	var rewards [2]func(row int) []float64
	for f := range rows {
		if rewards[f], err = l.rewards(ctx, l.encoded, rows[f]); err != nil {
			return nil, o, k, fmt.Errorf("%d bins: %w", most, err)
		}
	}
	chosen := most
	rowsTaught, chunks := float64(len(l.teaching)), float64(max(1, len(l.chunks)))
	half := rowsTaught / 2 / (rowsTaught + float64(len(l.certifying))*(chunks-1)/chunks/2)
	window := func(n int) propensity.ArgMax { return propensity.ArgMax{Window: (most + n/2) / n, Bins: most} }
	values, pi := make([]float64, len(ks)), make([]float64, log.K())
	var bounded []int
	var models [][]float64
	for f := range rows {
		each := max(1, 2*len(rows[f])/mostBounded)
		for j, i := range rows[f] {
			own, other := rewards[1-f](i), rewards[f](i)
			if j%each == 0 {
				bounded, models = append(bounded, i), append(models, own)
			}
			for at, n := range ks {
				window(n).AtMean(pi, own)
				values[at] += (half*floats.Dot(pi, other) + (1-half)*floats.Dot(pi, own)) / rowsTaught
			}
		}
	}
	on := log.Subset(bounded)
	size := min(len(l.certifying), mostBounded)
	if !log.LoggedOnly() { // a log as large as that which certifies, and several of them if that is small
		on, models = simulated(log, bounded, models, max(1, mostBounded/size)*size, l.o.Seed)
	}
	on.Group = nil
	best, u := math.Inf(-1), log.Units()
	for at, n := range ks {
		gap, e, err := l.gap(on, models, size, window(n))
		if err != nil {
			return nil, o, k, err
		}
		k.divisions = append(k.divisions, Division{n, u.At(values[at]), e * u.Span(), u.At(values[at] - gap)})
		if v := values[at] - gap/4; v > best {
			best, chosen, log.Numbers.Of.Window = v, n, window(n).Window
		}
	}
	if !l.objective.Recipe { // its policy plays single bins
		log, err = log.Divided(chosen)
	}
	k.looked = l.teaching
	return log, l.o, k, err // settled, so that the rows are divided alike
}

// mostBounded is about how many rows say what can be guaranteed.
const mostBounded = 10_000

// simulated is a log of n rows by what a log and models say: their contexts and propensities, and rewards that are r̂, or
// to the dispersion of those of the log 0 or 1.
func simulated(log *logs.Log, rows []int, models [][]float64, n int, seed uint64) (*logs.Log, [][]float64) {
	r, phi := rand.New(rand.NewPCG(seed, 1)), dispersion(log, rows)
	again := make([]int, n)
	for j := range again {
		again[j] = j % len(rows)
	}
	on, models := log.Subset(logs.Pick(rows, again)), logs.Pick(models, again)
	for j, of := range models {
		pi0, u, a := on.Pi0(j), r.Float64(), 0
		for b, p := range pi0 {
			if p > 0 && u >= 0 {
				a = b
			}
			u -= p
		}
		y := of[a]
		if r.Float64() < phi {
			y = 0
			if r.Float64() < of[a] {
				y = 1
			}
		}
		on.Action[j], on.Propensity[j], on.Cost[j] = int32(a), pi0[a], -y
	}
	return on, models
}

// dispersion is that of the rewards of some rows about their mean.
func dispersion(log *logs.Log, rows []int) float64 {
	y := logs.Pick(log.Cost, rows)
	floats.Scale(-1, y)
	return regress.Dispersion(y, make([]int32, len(y)), 1)
}

// gap is how much less is guaranteed of a policy of windows than its estimate, and the standard error of that, as of so
// many rows as certify: a mean over parts of n rows, by the rewards [K] that models say of the rows. Of propensities of
// logged actions alone it is two errors: that of the matched rows is too noisy.
func (l *learning) gap(log *logs.Log, rewards [][]float64, n int, policy propensity.ArgMax) (gap, se float64, err error) {
	earned, pi := make([]float64, log.Len()), make([]float64, log.K())
	certifying := float64(len(l.certifying))
	for i, r := range rewards {
		a := log.Action[i]
		policy.AtMean(pi, r)
		e := -log.Cost[i]
		if !log.LoggedOnly() {
			earned[i], e = floats.Dot(pi, r), e-r[a]
		}
		earned[i] += pi[a] * e / log.Propensity[i]
	}
	if log.LoggedOnly() {
		se = floats.Norm(earned, 2) / math.Sqrt(float64(log.Len())*certifying)
		return 2 * se, se, nil
	}
	all, parts := logs.Every(log.Len()), 0.0
	model := &certify.RewardModel{Of: func(dst, _ []float64, i int) { copy(dst, rewards[i]) }, Fixed: true,
		Dispersion: dispersion(log, all)}
	for part := range slices.Chunk(all, n) {
		b, err := certify.Fixed(func(dst []float64, i int) error { policy.AtMean(dst, rewards[i]); return nil }, nil, log,
			part, certify.Options{Delta: l.o.Settings.Delta, Gamma: l.o.Gamma, Models: []*certify.RewardModel{model},
				Threads: runtime.GOMAXPROCS(0)})
		if err != nil {
			return 0, 0, err
		}
		gap += stat.Mean(earned[part[0]:part[0]+n], nil) - b.Reward()
		parts++
	}
	return gap / parts * math.Sqrt(float64(n)/certifying), stat.StdDev(earned, nil) / math.Sqrt(certifying), nil
}

// rewards learns a model of the rewards of actions from some rows.
func (l *learning) rewards(ctx context.Context, log *logs.Log, rows []int) (func(row int) []float64, error) {
	var scores func(row int) []float64
	if l.narrow() {
		direct := train.Direct{Encoder: l.encoder, Threads: runtime.GOMAXPROCS(0)}
		s, err := direct.Learn(ctx, log, rows)
		if err != nil {
			return nil, err
		}
		view, err := s.In.View(log, nil, runtime.GOMAXPROCS(0))
		if err != nil {
			return nil, err
		}
		scores = view.Scorers(s.Theta)()
	} else {
		theta, err := train.Logistic(ctx, log, rows, runtime.GOMAXPROCS(0))
		if err != nil {
			return nil, err
		}
		scores = log.Scorers(theta)()
	}
	return func(row int) []float64 {
		r := make([]float64, log.K())
		certify.LogisticLink(r, scores(row))
		return r
	}, nil
}
