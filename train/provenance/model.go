package provenance

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"opl/policies/policyfile"
	"opl/train/certify"
)

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
