package ope

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"opl/policies/features"
	"opl/train/logs"
)

// Model predicts rewards: it writes r̂(x_i, ·) to dst [K]. A model that has seen row
// i makes the direct and doubly robust estimates optimistic; see [Ridge], and for the model
// of a policy file [provenance.Judge.RewardModel].
type Model func(dst []float64, i int)

// RewardModel is a way to learn a [Model] from a log.
type RewardModel struct {
	Name, About string                                             // as settings name it, and one line of help
	Learn       func(log *logs.Log, o ModelOptions) (Model, error) // fits the model to the rows of a log
}

// RewardModels lists those of opl, the default first.
func RewardModels() []RewardModel {
	return []RewardModel{
		{"ridge", "ridge regression an action", Ridge},
		{"logistic", "logistic regression an action", Logistic},
		{"trees", "gradient boosted trees an action", Trees},
	}
}

// Averaged learns a model for each of several seeds of folds and averages their predictions, so
// that estimates depend less on how rows were dealt into folds. No model predicts a row that
// taught it.
func (m RewardModel) Averaged(seeds int) RewardModel {
	out := m
	out.Learn = func(log *logs.Log, o ModelOptions) (Model, error) {
		models := make([]Model, seeds)
		o.on = new(encoded)
		for i := range models {
			var err error
			if models[i], err = m.Learn(log, o); err != nil {
				return nil, err
			}
			o.Seed++
		}
		one := make([]float64, log.MostOptions())
		return func(dst []float64, i int) {
			clear(dst)
			for _, model := range models {
				model(one[:len(dst)], i)
				for a, v := range one[:len(dst)] {
					dst[a] += v / float64(len(models))
				}
			}
		}, nil
	}
	return out
}

// FoldSeeds are the seeds of folds that evaluations average r̂ over.
const FoldSeeds = 5

// ModelOptions says how rewards are learned. The zero value is useful.
//
// Each row is predicted by a model that has not seen it (cross-fitting), so that the doubly robust
// estimate stays unbiased. Rows of one group are in one fold.
//
// φ(x) is log.X. A log of named values that are not encoded is encoded,
// standardized and with an intercept, as φ should have; it must stay open. The Model keeps a scratch
// row and is for one goroutine.
//
// Of a log with choices one model is learned for all actions, of what they are described by: θᵀf(x,
// a) in place of θ_aᵀφ(x), f the products of φ(x) and z(a), or where these are more than 400
// numbers φ(x) and z(a) one after the other. z(a) is Choices.Z, or is encoded as φ is, with a 1 of
// its own for each action that was logged 20 times where actions have no features; it is held in 32
// bits.
type ModelOptions struct {
	Folds   int             // parts of the log, each predicted by the others; 0 means 5
	Penalty float64         // λ; 0 means 1
	Seed    uint64          // of the parts
	Weight  []float64       // ≥ 0 of rows beside the log's own, which are scaled to the mean 1; nil: all 1
	Context context.Context // whose end interrupts learning; nil: nothing does

	on *encoded // by models before; nil: there were none
}

// largest is the size of the largest system of equations that Ridge solves.
const largest = 2000

// crossFit learns r̂(x,a) = link(m, θ_aᵀφ(x)), θ_a by action as solve writes it for each fold; most is
// the largest min(rows of an action, features) for which it can.
func crossFit(log *logs.Log, o ModelOptions, link func(mean, score float64) float64,
	solve func(s system, mean []float64, at func(f int) []float64) error, most int) (Model, error) {
	t, fold, err := o.begin(log)
	if err != nil {
		return nil, err
	}
	mean := t.foldMeans(fold, o.Folds)
	log, x := t.log, t.log.X

	systems, d := t.k, x.Dim()
	read := func(i int, row []float64) { x.Row64(log.Context(i), row) }
	var c *crossed // of all actions together
	if log.Choices != nil {
		if c, err = cross(log); err != nil {
			return nil, err
		}
		systems, d, read = 1, c.width(), c.read
	}
	count := make([]int, systems)
	for _, a := range log.Action {
		count[min(int(a), systems-1)]++
	}
	rows := make([][]int32, systems)
	for a, n := range count {
		rows[a] = make([]int32, 0, n)
	}
	for i, a := range log.Action {
		at := &rows[min(int(a), systems-1)]
		*at = append(*at, int32(i))
	}
	theta := make([]float64, o.Folds*systems*d) // [F×K×d]
	for a, mine := range rows {
		if len(mine) == 0 {
			continue
		}
		if min(d, len(mine)) > most {
			return nil, fmt.Errorf("ope: %d features and %d rows of action %d: too many for the reward model, "+
				"which solves for at most %d", d, len(mine), a, most)
		}
		s := system{t: t, mine: mine, fold: fold, read: read, d: d, penalty: o.Penalty, ctx: o.context()}
		at := func(f int) []float64 { return theta[(f*systems+a)*d : (f*systems+a+1)*d] }
		if err := solve(s, mean, at); err != nil {
			return nil, fmt.Errorf("ope: reward model of action %d: %w", a, err)
		}
	}
	if c != nil {
		return c.model(theta, fold, mean, link), nil
	}
	scratch, k := make([]float64, d), t.k // the model keeps no sample
	return func(dst []float64, i int) {
		x.Row64(log.Context(i), scratch)
		f := int(fold[i])
		for a := range dst[:k] {
			dst[a] = link(mean[f], features.Dot(theta[(f*k+a)*d:(f*k+a+1)*d], scratch))
		}
	}, nil
}

// begin encodes the log, weighs its rows, and deals them into folds.
func (o *ModelOptions) begin(log *logs.Log) (*sample, []uint8, error) {
	o.Folds, o.Penalty = cmp.Or(o.Folds, 5), cmp.Or(o.Penalty, 1)
	o.on = cmp.Or(o.on, new(encoded))
	if err := o.on.encode(log); err != nil {
		return nil, nil, err
	}
	t := *o.on.sample
	switch {
	case o.Folds < 2 || o.Folds > 255:
		return nil, nil, fmt.Errorf("ope: %d folds, want 2 to 255", o.Folds)
	case !(o.Penalty > 0) || math.IsInf(o.Penalty, 0):
		return nil, nil, fmt.Errorf("ope: penalty %v, want a number above 0", o.Penalty)
	case o.Weight != nil:
		if err := t.reweigh(o.Weight); err != nil {
			return nil, nil, err
		}
	}
	return &t, t.folds(o.Folds, o.Seed), nil
}

func (o *ModelOptions) context() context.Context {
	if o.Context == nil {
		return context.Background()
	}
	return o.Context
}

// encoded is a log that models are learned from, and what they share.
type encoded struct {
	of     *logs.Log // as it was given
	sample *sample   // of it with encoded contexts
	groups [][]int32 // features of one category each
}

// encode encodes the contexts, if they are values by name; of the same log once.
func (e *encoded) encode(log *logs.Log) (err error) {
	if e.of == log {
		return nil
	}
	of := log
	if log.X == nil {
		if log.Names() == nil && log.Path() == "" {
			return errors.New("ope: the log has no contexts")
		}
		// Encoded refuses weights, as what reads a log mostly does not know them: this does
		bare, weight := *log, log.Weight
		bare.Weight = nil
		var by *features.Encoder
		if log, by, err = bare.Encoded(nil, logs.Scaling{Kind: "standard", Intercept: true}); err != nil {
			return err
		}
		log.Weight, e.groups = weight, by.Categories()
	}
	if e.sample, err = newSample(log, 0.5); err == nil {
		e.of = of
	}
	return err
}

// reweigh multiplies the weights of rows, with those of mean 1 that are proportional to more.
func (t *sample) reweigh(more []float64) error {
	if len(more) != t.n {
		return fmt.Errorf("ope: %d weights for the rows of the reward model, want %d", len(more), t.n)
	}
	sum, omega := 0.0, make([]float64, t.n)
	for i, v := range more {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("ope: row %d has the weight %v in the regression of rewards: want a number that is "+
				"not negative", i+1, v)
		}
		omega[i] = v * t.weight(i)
		sum += omega[i]
	}
	if sum == 0 {
		return errors.New("ope: all rows have weight 0 in the regression of rewards")
	}
	for i := range omega {
		omega[i] *= t.total / sum
	}
	t.omega = omega
	return nil
}

// Folds deals the rows of a log into folds, groups whole: row i is in fold[i]. Models that are
// cross-fitted with the same seed use these folds. Errors: fewer than 2 folds,
// or more than 255.
func Folds(log *logs.Log, folds int, seed uint64) (fold []uint8, err error) {
	if folds < 2 || folds > 255 {
		return nil, fmt.Errorf("ope: %d folds, want 2 to 255", folds)
	}
	t, err := newSample(log, 0.5)
	if err != nil {
		return nil, err
	}
	return t.folds(folds, seed), nil
}

func (t *sample) folds(folds int, seed uint64) []uint8 {
	r := rand.New(rand.NewPCG(seed, 0xf01d))
	deal := make([]uint8, t.groups)
	for j, at := range r.Perm(t.groups) {
		deal[at] = uint8(j % folds)
	}
	fold := make([]uint8, t.n)
	for i := range fold {
		fold[i] = deal[t.group(i)]
	}
	return fold
}

// foldMeans is the mean reward outside of each fold, 0 where there is no row.
func (t *sample) foldMeans(fold []uint8, folds int) []float64 {
	sum, total := make([]float64, folds), make([]float64, folds)
	for i, f := range fold {
		sum[f] += t.weight(i) * t.r[i]
		total[f] += t.weight(i)
	}
	mean := make([]float64, folds)
	for f := range mean {
		var rewards, rest float64
		for g := range folds {
			if g != f {
				rewards += sum[g]
				rest += total[g]
			}
		}
		if rest > 0 {
			mean[f] = rewards / rest
		}
	}
	return mean
}
