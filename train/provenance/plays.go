package provenance

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"opl/graph/kernel/workers"
	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
)

// Fits returns an error if the policy has nothing to play in the rows of the log. A policy of
// actions with features needs rows that say what they offered. A policy of fixed actions needs rows
// that offer them.
func Fits(f *policyfile.File, log *logs.Log) error {
	switch {
	case f.HasItems() && log.Choices == nil:
		return errors.New("the actions of the policy have features, and the log does not say what its rows " +
			"offered: give setting catalogue, or a log with the columns offered or actions")
	case !f.HasItems() && log.Sets():
		return fmt.Errorf("the rows of the log offer sets of their own, and the policy plays one of %d actions "+
			"that have no features, whatever is offered", len(f.Actions))
	case !f.HasItems() && log.Choices != nil:
		return fmt.Errorf("the policy plays one of %d actions that have no features: read the log without setting "+
			"catalogue", len(f.Actions))
	}
	return nil
}

// named is the log with the actions of a policy's file, those that rows offer if they have features.
func named(log *logs.Log, f *policyfile.File) (*logs.Log, error) {
	if f.HasItems() {
		return log, nil
	}
	return log.WithActions(f.Actions)
}

// Plays returns π(·|x_i) of a file's policy for the rows of a log that was not encoded. It covers
// the policy's K actions or, if actions have features, those that the row offers. Use the result in
// one goroutine only; for several see [Players].
func Plays(p *policyfile.Policy, log *logs.Log) (certify.Policy, error) {
	plays, err := Players(p, log)
	if err != nil {
		return nil, err
	}
	return plays(), nil
}

// Logged computes π(a_i|x_i) of the policy for the given rows of the log, on several threads. Other
// rows get 0.
func Logged(p *policyfile.Policy, log *logs.Log, rows []int, threads int) ([]float64, error) {
	plays, err := Players(p, log)
	if err != nil {
		return nil, err
	}
	return taken(plays, log, rows, threads)
}

// taken is π(a_i|x_i) of some rows, by row of the log.
func taken(plays func() certify.Policy, log *logs.Log, rows []int, threads int) ([]float64, error) {
	pi := make([]float64, log.Len())
	row := func(at int) int { return rows[at] }
	return pi, Each(plays, log, len(rows), row, threads, func(at int, dst []float64) {
		pi[rows[at]] = dst[log.Chosen(rows[at])]
	})
}

// Each plays a policy, which [Players] makes, in n rows of a log on several threads. It calls use with the place of
// each row, from 0, and with π(·|x) of what that row offers, which the next call overwrites. Calls run beside each
// other.
func Each(plays func() certify.Policy, log *logs.Log, n int, row func(at int) int, threads int,
	use func(at int, pi []float64)) error {
	const block = 64
	of, buffers, errs := make([]certify.Policy, threads), make([][]float64, threads), make([]error, threads)
	workers.Do(threads, (n+block-1)/block, func(worker, part int) {
		if of[worker] == nil {
			of[worker], buffers[worker] = plays(), make([]float64, log.MostOptions())
		}
		for at := part * block; at < min(n, (part+1)*block); at++ {
			dst := buffers[worker][:log.Options(row(at))]
			if err := of[worker](dst, row(at)); err != nil {
				errs[worker] = cmp.Or(errs[worker], err)
				return
			}
			use(at, dst)
		}
	})
	return cmp.Or(errs...)
}

// Players returns a function that makes policies as [Plays] does, one for each goroutine.
func Players(p *policyfile.Policy, log *logs.Log) (func() certify.Policy, error) {
	f := p.File()
	if !f.HasItems() {
		return func() certify.Policy {
			var d logs.Decision
			return func(dst []float64, i int) error {
				log.Decision(i, &d)
				if err := p.Propensities(dst, d.Context); err != nil {
					return fmt.Errorf("row %d of the log: %w", d.Row, err)
				}
				return nil
			}
		}, nil
	}
	views, thetas := make([]*logs.Log, len(f.Components)), make([][]float64, len(f.Components))
	for k := range f.Components {
		var err error
		if views[k], err = through(&f.Components[k], log, nil, false); err != nil {
			return nil, err
		}
		thetas[k] = slices.Concat(f.Components[k].Weights...)
	}
	return func() certify.Policy {
		parts := make([]certify.Policy, len(views))
		for k, view := range views {
			parts[k] = certify.Play(f.Family(&f.Components[k]), thetas[k], view)
		}
		one := make([]float64, log.MostOptions())
		return func(dst []float64, i int) error {
			clear(dst)
			for k, part := range parts {
				if err := part(one[:len(dst)], i); err != nil {
					return err
				}
				for a, v := range one[:len(dst)] {
					dst[a] += f.Components[k].Weight * v
				}
			}
			propensity.AddFloor(dst, f.Floor)
			return nil
		}
	}, nil
}

// modelled is the last component that a file has models of the reward for, learned from the most
// rows; 0 where there are none.
func modelled(f *policyfile.File) (at int) {
	for _, m := range f.RewardModels {
		at = max(at, m.Component)
	}
	return at
}

// RewardModel is a policy file's model of the reward, for the direct and doubly robust estimates
// of any policy: it predicts the log's actions, in their order, and is named by its kind. Of several it
// is that of the last component, learned from the most rows, and of these a logistic one, since that
// models the reward of each action, while a softmax says which one action is right.
//
// Refused as *Withheld: a log of which rows, or rows of their groups, had a part in the file, or
// where that cannot be told, since they flatter the model. Errors: a file without a model; contexts or actions
// that it does not know; rewards in other clusters.
func (j *Judge) RewardModel(f *policyfile.File) (*certify.RewardModel, error) {
	if len(f.RewardModels) == 0 {
		return nil, errors.New("the policy file holds no model of the reward: the objective certified of opl " +
			"train writes one")
	}
	if low, high := j.log.RewardRange(); low != f.RewardMin || high != f.RewardMax {
		return nil, fmt.Errorf("the model is of rewards from %v to %v, the log is read with %v to %v: say so by "+
			"setting reward-min and setting reward-max", f.RewardMin, f.RewardMax, low, high)
	}
	c := &f.Components[modelled(f)]
	if _, err := j.log.Known(c.Encoder); err != nil {
		return nil, err
	}
	if err := Fits(f, j.log); err != nil {
		return nil, err
	}
	var to []int32
	if !f.HasItems() {
		var err error
		if to, err = j.log.ActionsOf(f.Actions); err != nil {
			return nil, err
		}
	}
	if reason := j.flatters(f); reason != "" {
		return nil, &Withheld{reason}
	}
	bare := *j.log
	bare.Weight = nil // predictions are of single rows
	view, err := through(c, &bare, nil, false)
	if err != nil {
		return nil, err
	}
	all, err := models(f, modelled(f), view)
	if err != nil {
		return nil, err
	}
	m := *all[max(0, slices.IndexFunc(all, func(m *certify.RewardModel) bool { return m.Name == policyfile.Logistic }))]
	if to == nil {
		return &m, nil
	}
	predict, buffers := m.Predict, sync.Pool{New: func() any { r := make([]float64, len(f.Actions)); return &r }}
	m.Predict = func(dst []float64, i int) {
		r := buffers.Get().(*[]float64)
		predict(*r, i)
		for a, b := range to {
			dst[a] = (*r)[b]
		}
		buffers.Put(r)
	}
	return &m, nil
}
