package ope

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Dose estimates what an interval or a number would have earned, if every row had drawn it.
type Dose struct {
	Number float64 `json:"number"` // the middle of an interval, or an atom
	From   float64 `json:"from"`   // of the interval in which a number is drawn evenly
	To     float64 `json:"to"`
	Value  float64 `json:"value"` // of that, by snips
	// Low and High hold the values of all doses with probability 1 − δ.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Point are estimates of the number itself, by kernels; none of an atom, whose value is its own.
	Point *Kernel `json:"point,omitempty"`
}

// Kernel are estimates of what a number earns from rows with numbers near it. They have a bias of the order of the
// square of the bandwidth where rewards are smooth, of the bandwidth at the ends of the range, and of a jump beside
// one. Nothing is guaranteed of them.
type Kernel struct {
	Bandwidth float64 `json:"bandwidth"`
	IPS       float64 `json:"ips"`
	SNIPS     float64 `json:"snips"`
	DR        float64 `json:"dr"` // doubly robust, with the model of the intervals
	SE        float64 `json:"se"` // of DR
}

// DoseCurve is the dose–response curve of a log of numbers.
type DoseCurve struct {
	Rows    int     `json:"rows"`
	Delta   float64 `json:"delta"`
	Logging float64 `json:"logging"` // mean reward of the log
	Doses   []Dose  `json:"doses"`
}

// Curve values each action of a log of numbers as if every row had taken it. The band divides δ among the ends of all
// intervals and atoms. The judge is that of the log.
func Curve(log *logs.Log, judge *provenance.Judge, model RewardModel, delta, gamma float64) (DoseCurve, error) {
	if log.Numbers == nil {
		return DoseCurve{}, errors.New("actions are names: setting action-range says that they are numbers")
	}
	if err := judge.Admits(); err != nil {
		return DoseCurve{}, err
	}
	n, of, units := log.Len(), log.Numbers.Of, log.Units()
	out := DoseCurve{Rows: n, Delta: delta}
	rows := make([]int, n)
	flipped := *log
	flipped.Cost = make([]float64, n)
	for i, c := range log.Cost {
		rows[i], flipped.Cost[i] = i, -1-c
		out.Logging -= c / float64(n)
	}
	out.Logging = units.At(out.Logging)
	opposite, err := judge.Of(&flipped)
	if err != nil {
		return out, err
	}
	predict := Model(func(dst []float64, _ int) { clear(dst) })
	if log.X != nil || len(log.Names()) > 0 {
		if predict, err = model.Learn(log, ModelOptions{}); err != nil {
			return out, err
		}
	}
	predicted := make([][]float64, n)
	for i := range predicted {
		predicted[i] = make([]float64, log.K())
		predict(predicted[i], i)
	}
	// Each end has the share of a value, half of what a certificate has.
	o := certify.Options{Delta: delta / float64(of.K()), Gamma: gamma}
	for c := range of.K() {
		always := func(dst []float64, _ int) error {
			clear(dst)
			dst[c] = 1
			return nil
		}
		d := Dose{Number: of.Center(c), From: of.Center(c), To: of.Center(c)}
		if c < of.Intervals() {
			d.From, d.To = of.Edges[c], of.Edges[c+1]
			d.Point = lepski(log, d.Number, predicted, c)
		}
		var ends [2]float64
		for k, j := range []*provenance.Judge{judge, opposite} {
			got, err := j.Fixed(always, provenance.FixedBefore(), rows, o)
			if err != nil {
				return out, fmt.Errorf("%s: %w", log.Actions[c], err)
			}
			ends[k] = min(1, max(0, got.Guaranteed()))
		}
		d.Low, d.High = ends[0], 1-ends[1]
		sum, weight := 0.0, 0.0
		for i, a := range log.Action {
			if int(a) == c {
				sum, weight = sum-log.Cost[i]/log.Propensity[i], weight+1/log.Propensity[i]
			}
		}
		d.Value = min(d.High, max(d.Low, sum/weight))
		for _, v := range []*float64{&d.Value, &d.Low, &d.High} {
			*v = units.At(*v)
		}
		if k := d.Point; k != nil {
			k.IPS, k.SNIPS, k.DR, k.SE = units.At(k.IPS), units.At(k.SNIPS), units.At(k.DR), k.SE*units.Span()
		}
		out.Doses = append(out.Doses, d)
	}
	return out, nil
}

// bandwidths are how many times the bandwidth is halved, from a quarter of the range on.
const bandwidths = 6

// lepski takes the largest bandwidth whose interval of two standard errors meets those of all smaller ones: its bias
// is no larger than its error. Lepski (1992); Su et al. (2020).
func lepski(log *logs.Log, at float64, predicted [][]float64, c int) *Kernel {
	low, high := log.Numbers.Of.Range()
	var best *Kernel
	from, to := math.Inf(-1), math.Inf(1)
	var all []*Kernel
	for h := (high - low) / 4; len(all) < bandwidths; h /= 2 {
		all = append(all, smoothed(log, at, h, predicted, c))
	}
	for _, k := range slices.Backward(all) {
		if !(k.SE > 0) { // no row is near
			continue
		}
		if k.DR-2*k.SE > to || k.DR+2*k.SE < from {
			break
		}
		from, to, best = max(from, k.DR-2*k.SE), min(to, k.DR+2*k.SE), k
	}
	return best
}

// smoothed are the estimates with Epanechnikov's kernel of a bandwidth h, which is divided by its mass within the
// range:
//
//	w_i = K((a_i − t)/h) / (h m_t π₀(a_i|x_i)),  K(u) = ¾(1 − u²) of |u| ≤ 1,  m_t = ∫ K((a − t)/h)/h da
//	ips = mean(w r),  snips = Σ w r / Σ w,  dr = mean(r̂(x, t) + w (r − r̂(x, a)))
//
// Kallus & Zhou (2018).
func smoothed(log *logs.Log, at, h float64, predicted [][]float64, c int) *Kernel {
	low, high := log.Numbers.Of.Range()
	whole := func(u float64) float64 { u = min(1, max(-1, u)); return .75*(u-u*u*u/3) + .5 }
	mass := whole((high-at)/h) - whole((low-at)/h)
	k, n, weights, squares := &Kernel{Bandwidth: h}, float64(log.Len()), 0.0, 0.0
	for i, a := range log.Numbers.Value {
		w, r := 0.0, -log.Cost[i]
		if u := (a - at) / h; u > -1 && u < 1 && log.Numbers.Density[i] > 0 {
			w = .75 * (1 - u*u) / (h * mass * log.Numbers.Density[i])
		}
		k.IPS, weights = k.IPS+w*r/n, weights+w
		x := predicted[i][c] + w*(r-predicted[i][log.Action[i]])
		k.DR, squares = k.DR+x/n, squares+x*x/n
	}
	if weights > 0 {
		k.SNIPS, k.SE = k.IPS*n/weights, math.Sqrt(max(0, squares-k.DR*k.DR)/n)
	}
	return k
}
