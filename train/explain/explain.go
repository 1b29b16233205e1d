// Package explain says what a policy does on a log, where it differs from the logging policy, what it reads, and
// whom it serves. Use [Policy] before people decide to ship a policy. Its numbers are estimates, without a guarantee.
package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"opl/graph/kernel/workers"
	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Options says what is explained. The zero value is useful.
type Options struct {
	By    []string // columns whose values are segments
	Delta float64  // δ that the bounds of all segments share; 0: 0.05
	Gamma float64  // Γ, the factor that propensities are known up to; 0: 1
	Fresh bool     // no row of the log had a part in the policy, where that cannot be seen
	Depth int      // of the surrogate; 0: 3
}

// Explanation says what a policy does on a log. Rewards, gains and losses are in the log's units.
type Explanation struct {
	Rows   int `json:"rows"`        // of the log
	Judged int `json:"rows_judged"` // rows by which it is judged: those without a part in it, where there are some
	// no rows are known that had no part in it: all judge it, and those that had one flatter it
	Flattered bool     `json:"flattered,omitempty"`
	Notes     []string `json:"notes,omitempty"` // what a reader should know about the log
	Delta     float64  `json:"delta"`           // of the bounds by segment

	Actions []Action `json:"actions"` // in the order of the log's actions
	// Agreement is the mean probability that the policy gives to what was logged.
	Agreement  float64   `json:"agreement"`
	Reward     float64   `json:"reward"`             // doubly robust estimates, as gains and losses below
	Gain       float64   `json:"gain"`               // over the logging policy, doubly robust
	GainSE     float64   `json:"gain_se"`            // standard error of Gain
	Surrogate  Surrogate `json:"surrogate"`          // a tree that plays alike
	Importance []Column  `json:"importance"`         // the largest loss first
	Segments   []Segment `json:"segments,omitempty"` // whom it serves
	Unlike     Unlike    `json:"unlike"`             // contexts unlike those it learned from
	span       float64   // of rewards
	x          *contexts // raw values
	pi, scores []float64 // of rows judged [m×K]
	rows       []int     // judged
	log        *logs.Log // encoded, its actions those of the policy
	policy     *policyfile.Policy
}

// Action says how often an action is played.
type Action struct {
	Name    string  `json:"name"`    // as the log has it
	Policy  float64 `json:"policy"`  // share that the policy plays
	Logging float64 `json:"logging"` // share that was logged
}

// Column says what the policy loses if a column has the values of other rows.
type Column struct {
	Name string  `json:"name"` // as the log has it
	Loss float64 `json:"loss"` // of reward, with values of other rows
	SE   float64 `json:"se"`   // standard error of Loss
}

// Segment holds the gain over the logging policy in the rows of a segment.
type Segment struct {
	Column string  `json:"column"`  // that divides the rows
	Name   string  `json:"segment"` // value or range of the column
	Rows   int     `json:"rows"`    // how many of the rows judged
	Gain   float64 `json:"gain"`    // in reward per row, doubly robust
	// SE is the standard error of Gain; nil: fewer than [certify.Few] rows, or groups, have no interval.
	SE *float64 `json:"se"`
	// AtLeast is a lower bound; those of all segments hold together with probability 1 − δ. nil: there is none.
	AtLeast *float64 `json:"gain_at_least"`
	rows    []int    // of the log
}

// mostColumns columns are permuted in mostPermuted rows, which are evenly spaced: a log may be sorted. Fewer rows are
// read where that would play more than mostPlayed actions, or walk through more than mostWalked trees, but never fewer
// than leastPermuted.
const (
	mostColumns   = 100
	mostPermuted  = 2_000
	mostPlayed    = 1 << 19
	mostWalked    = 1 << 28
	leastPermuted = 200
	leastJudged   = 30
)

// Policy explains a policy of a fixed list of actions on a log that is not encoded. Errors: actions or columns that
// are not those of the log, a column of a segment that the log does not have, logs without rewards or propensities.
func Policy(ctx context.Context, p *policyfile.Policy, log *logs.Log, judge *provenance.Judge,
	o Options) (*Explanation, error) {
	o.Delta, o.Depth = cmp.Or(o.Delta, .05), cmp.Or(o.Depth, 3)
	if p.HasItems() || log.Choices != nil {
		segments := "in segments by setting guardrail-by, "
		if log.Lists != nil { // whose segments have no bounds
			segments = ""
		}
		return nil, errors.New("only a policy of a fixed list of actions, without features of theirs, is explained; of this " +
			"one opl evaluate estimates the reward, " + segments + "and opl score writes what it plays")
	}
	if err := cmp.Or(log.RequirePropensities(), judge.Usable()); err != nil {
		return nil, err
	}
	if _, err := log.Known(p.Inputs()); err != nil {
		return nil, err
	}
	low, high := log.RewardRange()
	e := &Explanation{Rows: log.Len(), Delta: o.Delta, span: high - low, policy: p}
	var err error
	if e.rows, err = judge.Untaught(p, o.Fresh); err != nil || len(e.rows) < leastJudged {
		why := fmt.Sprintf("%d rows had no part in the policy", len(e.rows))
		if err != nil {
			why = err.Error()
		}
		e.note("all rows judge the policy, and flatter it if they had a part in it: %s", why)
		e.rows, e.Flattered = logs.Every(log.Len()), true
	}
	var encoder *features.Encoder
	if e.log, encoder, err = log.Encoded(nil, logs.Scaling{Kind: "robust", Intercept: true}); err == nil {
		e.x, err = read(log, encoder)
	}
	if err == nil {
		e.log, err = e.log.WithActions(p.Actions())
	}
	if err != nil {
		return nil, err
	}
	threads := runtime.GOMAXPROCS(0)
	if e.scores, e.rows, err = train.Scores(ctx, e.log, encoder, e.rows, threads); err != nil {
		return nil, err
	}
	e.Judged = len(e.rows)
	plays, err := provenance.Players(p, log)
	if err != nil {
		return nil, err
	}
	if err := e.play(plays, threads); err != nil {
		return nil, err
	}
	if err := e.surrogate(ctx, encoder, o.Depth, threads); err != nil {
		return nil, err
	}
	if err := e.permute(ctx, threads); err != nil {
		return nil, err
	}
	if err := e.segment(log, judge, o); err != nil {
		return nil, err
	}
	e.unlike()
	return e, ctx.Err()
}

func (e *Explanation) note(format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// play compares what the policy plays with what was logged.
func (e *Explanation) play(plays func() certify.Policy, threads int) error {
	k, n := e.policy.Len(), float64(len(e.rows))
	e.pi = make([]float64, len(e.rows)*k)
	for a := range k {
		e.Actions = append(e.Actions, Action{Name: e.policy.Name(a)})
	}
	err := provenance.Each(plays, e.log, len(e.rows), func(i int) int { return e.rows[i] }, threads,
		func(i int, pi []float64) { copy(e.pi[i*k:(i+1)*k], pi) })
	if err != nil {
		return err
	}
	var all moments
	for i, r := range e.rows {
		pi := e.pi[i*k : (i+1)*k]
		for a, v := range pi {
			e.Actions[a].Policy += v / n
		}
		e.Actions[e.log.Action[r]].Logging += 1 / n
		e.Agreement += pi[e.log.Action[r]] / n
		value := e.value(pi, i)
		e.Reward += value * e.span / n
		e.add(&all, e.span*(value-e.reward(r)), r)
	}
	low, _ := e.log.RewardRange()
	e.Reward += low
	e.Gain, e.GainSE = all.mean(), all.se()
	return nil
}

// value is Σ_a π(a|x)Γ[i, a], and reward what was logged, both in [0, 1]'s units.
func (e *Explanation) value(pi []float64, i int) (v float64) {
	for a, p := range pi {
		v += p * e.scores[i*len(pi)+a]
	}
	return v
}

func (e *Explanation) reward(row int) float64 { return -e.log.Cost[row] }

// moments are those of numbers, whose rows may be in clusters.
type moments struct {
	n, sum, square float64
	clusters       map[int32]*[2]float64 // the number of rows of each, and their sum; nil: each row is one
}

// add adds the number of a row of the log.
func (e *Explanation) add(m *moments, v float64, row int) {
	m.n, m.sum, m.square = m.n+1, m.sum+v, m.square+v*v
	if e.log.Group == nil {
		return
	}
	if m.clusters == nil {
		m.clusters = map[int32]*[2]float64{}
	}
	c := e.log.Group[row]
	if c < 0 { // of its own
		c = int32(-1 - row)
	}
	if m.clusters[c] == nil {
		m.clusters[c] = &[2]float64{}
	}
	m.clusters[c][0]++
	m.clusters[c][1] += v
}

func (m *moments) mean() float64 { return m.sum / max(1, m.n) }

// units are the rows, or the clusters of them.
func (m *moments) units() float64 {
	if m.clusters != nil {
		return float64(len(m.clusters))
	}
	return m.n
}

func (m *moments) se() float64 {
	n, square := m.units(), m.square-m.sum*m.sum/max(1, m.n)
	if m.clusters != nil {
		square = 0
		for _, c := range slices.Sorted(maps.Keys(m.clusters)) {
			d := m.clusters[c][1] - m.clusters[c][0]*m.mean()
			square += d * d
		}
	}
	if n < 2 {
		return 0
	}
	return math.Sqrt(max(0, square)*n/(n-1)) / m.n
}

// permute measures what the policy loses if a column has the values of other rows.
func (e *Explanation) permute(ctx context.Context, threads int) error {
	inputs, k := e.policy.Inputs(), e.policy.Len()
	var columns []string
	places := map[string][]int{}
	for j, name := range inputs.Names {
		column, _, _ := strings.Cut(name, "=")
		if places[column] == nil {
			columns = append(columns, column)
		}
		places[column] = append(places[column], j)
	}
	if len(columns) > mostColumns {
		e.note("the importance of the first %d of %d columns is measured", mostColumns, len(columns))
		columns = columns[:mostColumns]
	}
	walks := 1 // of a row
	for _, c := range e.policy.File().Components {
		walks += len(columns) * trees(c.Layers)
	}
	n := min(len(e.rows), mostPermuted, max(leastPermuted, min(mostPlayed/k, mostWalked/walks)))
	x, at := make([][]float64, n), make([]int, n) // what the policy reads, and of which of the rows
	for i := range x {
		at[i] = i * len(e.rows) / n
		x[i] = e.x.of(inputs, e.rows[at[i]])
	}
	e.Importance = make([]Column, len(columns))
	errs := make([]error, len(columns))
	permuted := func(c int, column string) error {
		pi, other := make([]float64, k), make([]float64, inputs.Dim())
		var loss moments
		order := rand.New(rand.NewPCG(0, uint64(c))).Perm(n)
		for i, from := range order {
			copy(other, x[i])
			for _, j := range places[column] {
				other[j] = x[from][j]
			}
			if err := e.policy.PropensitiesOf(pi, other); err != nil {
				return err
			}
			e.add(&loss, e.span*(e.value(e.pi[at[i]*k:(at[i]+1)*k], at[i])-e.value(pi, at[i])), e.rows[at[i]])
		}
		e.Importance[c] = Column{column, loss.mean(), loss.se()}
		return nil
	}
	workers.Do(threads, len(columns), func(_, c int) {
		if errs[c] = ctx.Err(); errs[c] == nil {
			errs[c] = permuted(c, columns[c])
		}
	})
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	slices.SortStableFunc(e.Importance, func(a, b Column) int { return cmp.Compare(b.Loss, a.Loss) })
	return nil
}

// trees counts those of layers.
func trees(layers []features.Layer) (n int) {
	for _, l := range layers {
		if l.Trees != nil {
			n += len(l.Trees.Sizes)
		} else if l.Branches != nil {
			for _, chain := range l.Branches.Chains {
				n += trees(chain)
			}
		}
	}
	return n
}

// contexts are rows by the names of their values, as they are logged.
type contexts struct {
	names   *features.Encoder // raw; a name that a row lacks is NaN
	rows    logs.Contexts
	last    int // row that is in scratch
	scratch []float64
}

// read reads the rows of a log by all names that it has; e is an encoder that imputes.
func read(log *logs.Log, e *features.Encoder) (*contexts, error) {
	all, err := log.FitEncoder(nil, logs.Scaling{Kind: "none", Intercept: true})
	if err != nil {
		return nil, err
	}
	names, err := features.Vocabulary([]*features.Encoder{all, e})
	if err != nil {
		return nil, err
	}
	rows, err := log.Encode(names)
	if err != nil {
		return nil, err
	}
	return &contexts{names, rows.X, -1, make([]float64, names.Dim())}, nil
}

// at is the value of a name in a row, NaN where it is missing.
func (c *contexts) at(row int, name string) float64 {
	if c.last != row {
		c.rows.Row64(row, c.scratch)
		c.last = row
	}
	if j := c.names.Feature(name); j >= 0 {
		return c.scratch[j]
	}
	return math.NaN()
}

// of is a row as an encoder's raw values.
func (c *contexts) of(e *features.Encoder, row int) []float64 {
	out := make([]float64, e.Dim())
	e.Clear(out)
	for j, name := range e.Names {
		if v := c.at(row, name); v == v {
			out[j] = v
		}
	}
	return out
}
