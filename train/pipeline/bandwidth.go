package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
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
	Error float64 `json:"error"`     // standard error of that by weights of as many rows as certify
	Least float64 `json:"least"`     // about what of it as many rows can guarantee
}

// bandwidth divides a log of numbers as finely as offered, and chooses the window of bins whose policy has the
// largest value less a quarter of what of it is not to be guaranteed. It returns the log with the options that divide
// its rows alike, and the rows it has looked at. Narrow windows may earn more, and are guaranteed less: weights are as
// large as windows are narrow. The rows that teach are halved, and each half teaches a model of the finest division. One
// model says which policies are best in the contexts of the other half, and what may be guaranteed, see
// [certify.Expected]; of propensities of logged actions alone it is two errors less. The value is a mean of what both
// models say: the other model says what a policy earns that learned from half of these rows, its own what it would earn
// if it were right. The more rows later policies learn from, the less the other counts. No other row is looked at.
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
	best, pi, u := math.Inf(-1), make([]float64, log.K()), log.Units()
	rowsTaught, certifying, chunks := float64(len(l.teaching)), float64(len(l.certifying)), float64(max(1, len(l.chunks)))
	half := rowsTaught / 2 / (rowsTaught + certifying*(chunks-1)/chunks/2)
	y := logs.Pick(log.Cost, l.teaching)
	floats.Scale(-1, y)
	mean := stat.Mean(y, nil)
	phi := regress.Dispersion(y, func(int) float64 { return mean }) // about r̂ it is less: windows are rather too wide
	for _, n := range ks {
		var value, square float64
		expected := certify.Expect(len(l.certifying), cmp.Or(o.Settings.Delta, .05))
		policy := propensity.ArgMax{Window: (most + n/2) / n, Bins: most}
		for f := range rows {
			for j, i := range rows[f] {
				own := rewards[1-f](i)
				policy.AtMean(pi, own)
				value += (half*floats.Dot(pi, rewards[f](i)) + (1-half)*floats.Dot(pi, own)) / rowsTaught
				x := pi[log.Action[i]] * log.Cost[i] / log.Propensity[i]
				square += x * x / rowsTaught
				if !log.LoggedOnly() && j%max(1, len(rows[f])/mostExpected) == 0 {
					expected.Add(pi, log.Pi0(i), own, phi)
				}
			}
		}
		e := math.Sqrt(square / certifying)
		gap := 2 * e
		if !log.LoggedOnly() {
			gap = expected.Gap()
		}
		k.divisions = append(k.divisions, Division{n, u.At(value), e * u.Span(), u.At(value - gap)})
		if v := value - gap/4; v > best {
			best, chosen, log.Numbers.Of.Window = v, n, policy.Window
		}
	}
	if !l.objective.Recipe { // its policy plays single bins
		log, err = log.Divided(chosen)
	}
	k.looked = l.teaching
	return log, l.o, k, err // settled, so that the rows are divided alike
}

// mostExpected is about how many rows of each half say what may be guaranteed.
const mostExpected = 2000

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
