package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"opl/train"
	"opl/train/library"
)

// Plan merges lists of runs without duplicates, problem by problem so that few
// logs are in memory at a time, and settles default hyperparameters, which need
// the length of the log. It opens the data sets.
func (e *Runner) Plan(lists ...[]train.Run) ([]train.Run, error) {
	var plan []train.Run
	rows, order := map[taskKey]int{}, map[taskKey]int{}
	seen := map[string]bool{}
	for _, r := range slices.Concat(lists...) {
		if r.Objective != train.LoggingPolicy {
			n, err := e.rows(r, rows)
			if err != nil {
				return nil, err
			}
			if r.Hyper, err = e.Library.Hyper(r, n); err != nil {
				return nil, err
			}
		}
		if key := Key(r); !seen[key] {
			seen[key] = true
			if _, known := order[keyOf(r)]; !known {
				order[keyOf(r)] = len(order)
			}
			plan = append(plan, r)
		}
	}
	slices.SortStableFunc(plan, func(a, b train.Run) int { return cmp.Compare(order[keyOf(a)], order[keyOf(b)]) })
	return plan, nil
}

// rows is the length of a run's log; known holds those asked for before.
func (e *Runner) rows(r train.Run, known map[taskKey]int) (int, error) {
	key := taskKey{dataset: r.Dataset, limit: r.Limit}
	if n, ok := known[key]; ok {
		return n, nil
	}
	d, err := e.Data(r.Dataset)
	if err != nil {
		return 0, err
	}
	if n := d.Train.Len(); r.Limit > n {
		return 0, &train.SettingError{Key: "limit", Reason: fmt.Sprintf("%d: data set %s has %d training examples",
			r.Limit, r.Dataset, n)}
	}
	slots, err := slotsOf(r.Dataset, d)
	if err != nil {
		return 0, err
	}
	_, log, err := train.Split(d.Train.Len(), r.Limit, r.Seed)
	if err != nil {
		return 0, fmt.Errorf("data set %s: %w", r.Dataset, err)
	}
	known[key] = len(log) * max(1, slots)
	return known[key], nil
}

// Work guesses how many seconds a run trains on a log of n rows, from the kind of
// its policy. A step of 128 rows and 10 actions, with its share of the evaluation
// after 20 epochs, takes 0.27 ms for policies without a posterior, 0.33 ms for exact
// posteriors, and 0.025 ms a draw for sampled ones. That is with vector kernels on
// a processor core of 2024. It serves progress, and estimates where no stored
// seconds are at hand.
func Work(l library.Library, r train.Run, n int) float64 {
	if r.Objective == train.LoggingPolicy {
		return 0.1
	}
	step := 0.27e-3
	switch {
	case r.Noise == library.Quadrature:
		step = 0.33e-3
	case r.Noise != "":
		step = 0.025e-3 * float64(r.Samples)
	}
	trainings := float64(max(1, len(r.PriorScales)))
	if o, err := l.Objective(r.Objective); err == nil && o.Recipe {
		trainings = 3
	}
	return step * trainings * float64(r.Epochs) * float64(n) / 128
}

// Estimate says how long runs will train on e.Jobs workers: as stored records of
// the same objective, policy and weight took, scaled by epochs and rows, or else
// as by Work. guessed is the number of runs without such records.
func (e *Runner) Estimate(runs []train.Run, stored []train.Record) (total time.Duration, guessed int, err error) {
	took, work := map[[3]string]float64{}, map[[3]string]float64{} // of an objective, policy and weight
	for _, rec := range stored {
		if rec.Seconds == 0 { // not known
			continue
		}
		k := [3]string{rec.Objective, rec.Policy, rec.Weight}
		took[k] += rec.Seconds
		work[k] += Work(e.Library, rec.Run, rec.N)
	}
	known := map[taskKey]int{}
	var seconds float64
	for _, r := range runs {
		n, err := e.rows(r, known)
		if err != nil {
			return 0, 0, err
		}
		w := Work(e.Library, r, n)
		k := [3]string{r.Objective, r.Policy, r.Weight}
		switch {
		case r.Objective == train.LoggingPolicy:
		case work[k] > 0:
			w *= took[k] / work[k]
		default:
			guessed++
		}
		seconds += w
	}
	return time.Duration(seconds / float64(max(1, e.Jobs)) * float64(time.Second)), guessed, nil
}
