package train

import (
	"errors"
	"math"

	"opl/graph"
	"opl/objectives"
	"opl/train/logs"
)

// itemTable is what actions are described by, for graphs, with the factor of the learning rate of W; nil of logs whose
// actions are not.
type itemTable struct {
	*graph.Items
	rate float64
	own  int // the first feature that is a row of an action's own, p: none
}

// ownScale is what the 1 of an action with a row of its own is while W is learned: a step changes
// such rows by less than what actions share, and penalties hold them the more, so that they learn
// what features do not explain. With 1 for all the rows of the actions that were logged would learn
// what is true of all actions, and others would lack it.
const ownScale = 0.1

// scaled divides, or with back multiplies, the rows of W [p×m] that are actions' own by ownScale, in place.
func (t *itemTable) scaled(w []float64, back bool) []float64 {
	if t == nil || w == nil || t.own == t.Dim() {
		return w
	}
	by := 1 / ownScale
	if back {
		by = ownScale
	}
	m := len(w) / t.Dim()
	for i := t.own * m; i < len(w); i++ {
		w[i] *= by
	}
	return w
}

// itemsOf reads the vectors z(a) of a log's actions. W = 0 learns from products h(x)z(a)ᵀ: with the
// rate divided by the root mean square of ‖z(a)‖ over the vectors, a step changes scores by about
// as much as one of actions with parameters of their own.
func itemsOf(log *logs.Log) (*itemTable, error) {
	if log.Choices == nil {
		return nil, nil
	}
	z := log.Choices.Z
	if z == nil {
		return nil, errors.New("train: the log's actions are described by values that are not encoded: see " +
			"FitItems and EncodeItems of its package")
	}
	var s float64
	for a := range z.Len() {
		s += z.Norm(a) * z.Norm(a)
	}
	t := &itemTable{rate: 1, own: z.Dim()}
	if parts, ok := z.(logs.ItemRows); ok {
		t.own = parts.Values.Dim()
	}
	t.Items = graph.NewItems(z.Len(), z.Dim(), func(a int, dst []float64) {
		z.Row64(a, dst)
		for j := t.own; j < len(dst); j++ {
			dst[j] *= ownScale
		}
	})
	if s > 0 {
		t.rate = math.Sqrt(float64(z.Len()) / s)
	}
	return t, nil
}

// factor multiplies the learning rate of W.
func (t *itemTable) factor() float64 {
	if t == nil {
		return 1
	}
	return t.rate
}

// setup is what an objective's problem knows of a log, its actions and the configuration.
func (c *Config) setup(log *logs.Log, p *objectives.Params) objectives.Setup {
	s := objectives.Setup{N: log.Len(), Actions: log.K(), Dim: log.Dim(), LoggedOnly: log.LoggedOnly(), Delta: c.Delta,
		Policy: c.Policy, Weight: c.Weight, Prior: c.Prior, Params: p, Representation: c.Representation}
	if t := c.items; t != nil {
		s.Items, s.Sets, s.Actions = t.Items, log.Sets(), log.MostOptions()
	}
	return s
}

// outputs is the number of rows of θ, K, or of W, p.
func (t *itemTable) outputs(log *logs.Log) int {
	if t != nil {
		return t.Dim()
	}
	return log.K()
}
