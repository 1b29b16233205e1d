package ope

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"opl/train/logs"
	"opl/train/provenance"
)

// Balanced is the mean of r π/π̄, π̄ = Σ_j (n_j/n) π_j the mean policy of the loggers j, n_j their
// rows: a logger that rarely takes an action does not make its weight large if others take it.
// Agarwal et al. (2017), eq. 3. Unbiased where no logger learned from rows of others in the log.
func Balanced() Estimator {
	return Estimator{Name: "balanced", About: "mean of r π/π̄, π̄ the mean of the loggers' policies; unbiased",
		OnRequest: true, ByLogger: true, Balanced: true,
		Of: func(d *Data, _ float64) Value {
			return d.Mean(func(i int) float64 { return d.Balanced[i] * d.R[i] })
		}}
}

// Weighted is a mean over loggers j of their own ips, by the inverse of its variance,
//
//	Σ_j λ_j Σ_{i of j} ω w r/Σ_{i of j} ω,   λ_j ∝ 1/se_j²
//
// Agarwal et al. (2017), eq. 5, with variances estimated from the rows, which makes a bias of order
// 1/n towards loggers that earned little by chance. NaN where the rows of a logger do not vary:
// nothing says how to weight them.
func Weighted() Estimator {
	return Estimator{Name: "weighted", About: "mean of the loggers' ips, by their variances", Biased: true,
		OnRequest: true, ByLogger: true,
		Of: func(d *Data, _ float64) Value {
			var means []Value
			var inverse []float64
			var total float64
			for j := range 1 + slices.Max(d.Logger) {
				of := func(s float64) func(i int) float64 {
					return func(i int) float64 {
						if d.Logger[i] != j {
							return 0
						}
						return s
					}
				}
				mine := of(1)
				v := d.Ratio(func(i int) float64 { return mine(i) * d.W[i] * d.R[i] }, mine)
				if v.Value != v.Value {
					continue // no rows, of a bootstrap
				}
				se := d.SE(v)
				means, inverse = append(means, v), append(inverse, 1/(se*se))
				total += 1 / (se * se)
			}
			out := Value{Influence: make([]float64, d.N)}
			for j, v := range means {
				share := inverse[j] / total
				out.Value += share * v.Value
				for i, u := range v.Influence {
					out.Influence[i] += share * u
				}
			}
			return out
		}}
}

// mixture is π̄(a_i|x_i), the mean of the loggers' policies by the weight of their rows, in the order
// of log.Policies, from their targets by name.
func (t *sample) mixture(loggers []Target) ([]float64, error) {
	log := t.log
	if log.Logger == nil {
		return nil, errors.New("ope: setting logger: the log does not say who logged its rows, in a column policy")
	}
	share := make([]float64, len(log.Policies))
	for i, j := range log.Logger {
		if j < 0 {
			return nil, fmt.Errorf("ope: setting logger: row %d of the log names no policy that logged it",
				log.Row(i))
		}
		share[j] += t.weight(i) / t.total
	}
	for _, l := range loggers {
		if !slices.Contains(log.Policies, l.Name) {
			return nil, fmt.Errorf("ope: setting logger: no row is logged by %q: the log names %s", l.Name,
				strings.Join(log.Policies, ", "))
		}
	}
	mix, row := make([]float64, t.n), make([]float64, log.MostOptions())
	for j, name := range log.Policies {
		if !slices.Contains(log.Logger, int32(j)) {
			continue
		}
		at := slices.IndexFunc(loggers, func(l Target) bool { return l.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("ope: setting logger: rows are logged by %s, whose probabilities are not "+
				"given: want NAME=TARGET for each of %s", name, strings.Join(log.Policies, ", "))
		}
		for i := range t.n {
			p, err := loggers[at].logged(row, i, log)
			if err != nil {
				return nil, fmt.Errorf("ope: setting logger: %s, row %d: %w", name, log.Row(i), err)
			}
			if own := log.Logger[i] == int32(j); own && !logs.Near(log.Propensity[i], p, logs.Agreement) {
				return nil, fmt.Errorf("ope: setting logger: %s, row %d: it takes the action with probability "+
					"%v, %v was logged", name, log.Row(i), p, log.Propensity[i])
			}
			mix[i] += share[j] * p
		}
	}
	return mix, nil
}

// learned says which loggers learned from rows of the log, as far as their files tell.
func learned(loggers []Target, judge *provenance.Judge) string {
	for _, l := range loggers {
		if l.Policy == nil {
			continue
		}
		if o, err := judge.Compare(l.Policy.File(), false); err == nil && o.Relation != provenance.Fresh {
			return fmt.Sprintf("logger %s learned from rows of this log: the rows do not come from policies that "+
				"were fixed", l.Name)
		}
	}
	return ""
}

// logged is the probability of the logged action of row i; row is scratch.
func (target *Target) logged(row []float64, i int, log *logs.Log) (float64, error) {
	if target.Row == nil {
		if len(target.Logged) != log.Len() {
			return 0, fmt.Errorf("it has %d probabilities for %d rows", len(target.Logged), log.Len())
		}
		return target.Logged[i], probability(target.Logged[i])
	}
	row = row[:log.Options(i)]
	if err := target.Row(row, i); err != nil {
		return math.NaN(), err
	}
	names := log.Actions
	if log.Sets() {
		names = nil
	}
	_, err := logs.Distribution(row, names, logs.Exact)
	return row[log.Chosen(i)], err
}
